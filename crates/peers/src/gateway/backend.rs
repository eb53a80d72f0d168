//! The approvals actor as the gateway's backend.

use super::approval_log::ApprovalLog;
use super::policies::Policies;
use super::tools::Offered;
use crate::forward::Forward;
use countersign_approvals::actor::{Approvals, PresenterGuard, SubmitError, Ticket};
use countersign_approvals::book::{Ending, NotAnswered, Record, RequestedBy};
use countersign_approvals::ports::Ports;
use countersign_commands::raw_command;
use countersign_core::identity::{OwnNode, gateway_on};
use countersign_core::session_events::SessionEvents;
use countersign_gateway::embedded::{
    self, Agreed, Backend, Happened, KnownApproval, Listing, NotCounted, NotHeard, NotTaken, PolicyError,
    Subject, Submission, ToolError, Use, Verdict,
};
use countersign_node::host::{Ended, Host, Inquired, Inquiry, Waiting};
use countersign_node::shortage;
use countersign_policy::display::{self, Secrets};
use countersign_protocol::gateway::approval::Requested;
use countersign_protocol::gateway::policy::PolicyFile;
use countersign_protocol::gateway::unified::Reason;
use countersign_protocol::ids::{RequestId, SessionKey};
use countersign_protocol::question::{CancelCause, Via};
use countersign_protocol::session_events::SessionEvent;
use countersign_protocol::shown::{Shown, SpanKind};
use countersign_protocol::tools::{ToolCall, ToolCaller, ToolOutput};
use countersign_protocol::vocabulary::Decision;
use countersign_questions::gateway::{asked, asked_by_plugin, run_of, would_run_here};
use serde_json::{Map, Value};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// In front of a client's name where it stands beside `window` and `command-line`.
const CLIENT: &str = "gateway: ";

/// Who can answer.
#[derive(Clone)]
pub(super) enum Presence {
    /// Nobody but the gateway's clients, and whoever is told by what is handed on.
    ClientsOnly(Forward),
    /// The app's windows too. What is asked goes through its host: the person's refusing rules hold, and the
    /// history gets its lines.
    App(Arc<App>),
}

/// The app that the gateway belongs to.
pub(super) struct App {
    pub(super) host: Arc<Host>,
    /// This machine as a node, of this gateway too.
    pub(super) node: OwnNode,
    /// Where it serves; 0 as long as it never did.
    pub(super) port: AtomicU16,
}

impl App {
    /// How this machine's runner calls the gateway.
    pub(super) fn name(&self) -> String {
        gateway_on(self.port.load(Ordering::Relaxed))
    }
}

/// Keeps the gateway's approvals in the book, and what only the gateway needs of them beside it.
pub(super) struct GatewayBackend {
    approvals: Approvals,
    policies: Policies,
    ports: Ports,
    presence: Presence,
    tools: Offered,
    events: SessionEvents,
    log: ApprovalLog,
    tracker: TaskTracker,
    /// Cancelled for what is withdrawn; what comes later has another.
    asking: Mutex<CancellationToken>,
    /// Without windows the gateway decides by itself whether anybody can answer.
    _presenter: Option<PresenterGuard>,
}

/// A request in the book.
enum Submitted {
    Alone(Ticket),
    App(Box<Waiting>, Arc<Host>),
}

impl Submitted {
    fn record(&self) -> &Arc<Record> {
        match self {
            Self::Alone(ticket) => ticket.record(),
            Self::App(question, _) => question.record(),
        }
    }

    /// Waits for the end; what is still to be written comes along.
    async fn ended(self) -> (Ending, Option<Ended>) {
        match self {
            Self::Alone(ticket) => (ticket.ended().await, None),
            Self::App(question, host) => {
                let ended = question.ended(&host).await;
                (ended.ending().clone(), Some(ended))
            }
        }
    }
}

/// What became of a request.
enum Placed {
    Waits(Submitted),
    /// It has ended already.
    Ended {
        id: String,
        decision: Option<Decision>,
    },
}

impl GatewayBackend {
    pub(super) fn new(
        approvals: Approvals,
        policies: Policies,
        ports: Ports,
        presence: Presence,
        tools: Offered,
        tracker: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let presenter = match presence {
            Presence::ClientsOnly(_) => Some(approvals.presenter()),
            Presence::App(_) => None,
        };
        let log = ApprovalLog::new();
        tracker.spawn(log.clone().sweep(stop));
        Self {
            approvals,
            policies,
            ports,
            presence,
            tools,
            events: SessionEvents::default(),
            log,
            tracker,
            asking: Mutex::default(),
            _presenter: presenter,
        }
    }

    /// With the events of sessions that others know of too.
    pub(super) fn with_events(self, events: SessionEvents) -> Self {
        Self { events, ..self }
    }

    /// Takes back everything that came so far and waits: its askers can no longer be told.
    pub(super) fn withdraw_all(&self) {
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *asking).cancel();
    }

    async fn ask(&self, inquiry: Inquiry, deliverable: bool) -> Result<Placed, SubmitError> {
        match &self.presence {
            Presence::ClientsOnly(_) if deliverable => {
                let Inquiry { question, wait, id, by, .. } = inquiry;
                self.approvals
                    .submit(question, wait, id, by)
                    .await
                    .map(|ticket| Placed::Waits(Submitted::Alone(ticket)))
            }
            Presence::App(app) if deliverable => Ok(match app.host.inquire(inquiry).await? {
                Inquired::Waits(question) => Placed::Waits(Submitted::App(question, Arc::clone(&app.host))),
                Inquired::Refused { id, .. } => {
                    Placed::Ended { id: id.into(), decision: Some(Decision::Deny) }
                }
            }),
            Presence::ClientsOnly(_) | Presence::App(_) => {
                if let Presence::App(app) = &self.presence {
                    app.host.unasked(&inquiry).await;
                }
                let id = inquiry.id.unwrap_or_else(|| self.ports.ids.uuid());
                Ok(Placed::Ended { id, decision: None })
            }
        }
    }

    /// Follows an approval to its end, whoever asked for it.
    fn follow(&self, asked: Submitted, withdrawn: CancellationToken) {
        let (approvals, log) = (self.approvals.clone(), self.log.clone());
        let ports = self.ports.clone();
        self.tracker.spawn(async move {
            let id = asked.record().id.clone();
            let ended = asked.ended();
            tokio::pin!(ended);
            let (ending, unwritten) = tokio::select! {
                ended = &mut ended => ended,
                () = withdrawn.cancelled() => {
                    approvals.cancel(&id, CancelCause::Withdrawn).await;
                    ended.await
                }
            };
            log.end(id.as_str(), &ending, ports.clock.now_ms());
            if let Some(unwritten) = unwritten {
                unwritten.written().await;
            }
        });
    }
}

impl Backend for GatewayBackend {
    async fn submit(&self, submission: Submission) -> Result<Arc<KnownApproval>, NotTaken> {
        let Submission { id, command, cwd, mut subject, binding, timeout, by, deliverable, announced } =
            submission;
        if id.as_ref().is_some_and(|id| self.log.find(id).is_some()) {
            return Err(NotTaken::Pending);
        }
        // Before it is asked: what ends the serving from now on ends it too.
        let withdrawn = self.asking.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (question, analysis, run) = match &subject {
            Subject::Exec(request) => {
                let (mut asked, analysis) = asked(&command, cwd.as_deref(), request, Via::Gateway, None);
                let run = match &self.presence {
                    Presence::App(app) => {
                        would_run_here(&mut asked, request, app.node.id().map(|id| id.as_str()));
                        // One without an id of its own gets the book's.
                        run_of(id.as_deref().unwrap_or_default(), request, &app.name())
                    }
                    Presence::ClientsOnly(_) => None,
                };
                (asked, analysis, run)
            }
            Subject::Plugin(request) => (asked_by_plugin(request, Via::Gateway, None), None, None),
        };
        if question.blocked.is_some() {
            subject.only_deny();
        }
        let inquiry = Inquiry {
            question,
            analysis,
            run,
            wait: timeout,
            id,
            by: RequestedBy {
                // A second request under an id is another one, even of the same client.
                connection: Some(by.conn_id.clone()),
                device: by.device_id.clone(),
                client: Some(by.client_id.clone()),
                gateway: None,
            },
        };
        let now = self.moment();
        let wait_ms = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
        let requested = |id: String, created_at_ms: i64, expires_at_ms: i64| Requested {
            id,
            request: subject.clone(),
            created_at_ms,
            expires_at_ms,
        };
        match self.ask(inquiry, deliverable).await.map_err(not_taken)? {
            Placed::Waits(asked) => {
                let record = asked.record();
                let requested = requested(record.id.to_string(), record.created_at_ms, record.expires_at_ms);
                let left_ms = record.expires_at_ms.saturating_sub(now.now_ms);
                let until_steady_ms = now.steady_ms.saturating_add(left_ms);
                let known = Arc::new(KnownApproval { requested, by, binding, ended: None, until_steady_ms });
                self.log.put(&known, announced);
                self.follow(asked, withdrawn);
                Ok(known)
            }
            Placed::Ended { id, decision } => {
                let reason = if decision.is_some() { Reason::User } else { Reason::NoRoute };
                let ended = embedded::Ended { decision, reason, at_ms: now.now_ms, by: None };
                let requested = requested(id, now.now_ms, now.now_ms.saturating_add(wait_ms));
                let until_steady_ms = now.steady_ms.saturating_add(wait_ms);
                let known =
                    Arc::new(KnownApproval { requested, by, binding, ended: Some(ended), until_steady_ms });
                self.log.put_past(&known);
                if decision.is_some() {
                    // Whoever asks how it ended must find it.
                    self.log.put(&known, false);
                }
                Ok(known)
            }
        }
    }

    async fn resolve(&self, id: &str, verdict: Verdict) -> Result<(), NotCounted> {
        // A client's own name must not read like one of ours.
        let by = format!("{CLIENT}{}", display::escape(&verdict.by.label));
        let decision = verdict.decision;
        self.log.note(id, &by, verdict);
        let applied = self.approvals.resolve(&RequestId::from(id), decision, &by).await;
        let ending = match applied {
            Ok(()) => Some(Ending::Decided { decision, by }),
            Err(_) => {
                self.approvals.snapshot(&RequestId::from(id)).await.and_then(|record| record.ending.clone())
            }
        };
        // Whoever looks next finds the end, whether or not the one who follows has seen it.
        if let Some(ending) = ending {
            self.log.end(id, &ending, self.ports.clock.now_ms());
        }
        applied.map_err(|why| match why {
            NotAnswered::Gone => NotCounted::Gone,
            why => NotCounted::Refused(why.to_string()),
        })
    }

    async fn pending(&self) -> Vec<Arc<KnownApproval>> {
        self.log.pending()
    }

    async fn find(&self, id: &str) -> Option<Arc<KnownApproval>> {
        self.log.find(id)
    }

    fn past(&self) -> Vec<Arc<KnownApproval>> {
        self.log.past()
    }

    async fn wait(&self, id: &str) -> Option<Option<Decision>> {
        if let Some(ended) = self.log.find(id).and_then(|known| known.ended.clone()) {
            return Some(ended.decision);
        }
        let ending = self.approvals.wait(&RequestId::from(id)).await?;
        self.log.end(id, &ending, self.ports.clock.now_ms());
        Some(ending.decision())
    }

    async fn consume(&self, id: &str, how: Use) -> bool {
        match how {
            Use::AllowOnce => self.approvals.consume_allow_once(&RequestId::from(id)).await,
            Use::AskFallback => self.log.consume_fallback(id),
        }
    }

    fn agreed(&self, argv: &[String], raw: Option<&str>) -> Option<Agreed> {
        raw_command::check(argv, raw).ok().map(|agreed| Agreed { preview: agreed.preview })
    }

    fn events(&self) -> broadcast::Receiver<Happened> {
        self.log.events()
    }

    fn has_own_presenter(&self) -> bool {
        match self.presence {
            Presence::ClientsOnly(_) => false,
            Presence::App(_) => self.approvals.has_presenter(),
        }
    }

    fn is_handed_on(&self, submission: &Submission) -> bool {
        match &self.presence {
            Presence::ClientsOnly(forward) => {
                let Submission { id, subject, .. } = submission;
                forward.takes(id.as_deref(), subject.agent_id(), subject.session_key())
            }
            // Its windows are what counts there.
            Presence::App(_) => false,
        }
    }

    async fn policy(&self) -> Result<PolicyFile, PolicyError> {
        self.policies.read().await
    }

    async fn set_policy(
        &self,
        file: Map<String, Value>,
        base_hash: String,
    ) -> Result<PolicyFile, PolicyError> {
        self.policies.write(file, base_hash).await
    }

    async fn tools(&self, caller: ToolCaller) -> Result<Listing, ToolError> {
        self.tools.get()?.list(caller).await
    }

    async fn call_tool(&self, call: ToolCall, gone: CancellationToken) -> Result<ToolOutput, ToolError> {
        self.tools.get()?.call(call, gone).await
    }

    async fn say(&self, agent: &str, session: &str, text: &str) -> Result<embedded::Heard, NotHeard> {
        let sessions = self.tools.sessions()?;
        sessions.say(agent.to_owned(), session.to_owned(), text.to_owned()).await
    }

    fn tell_session(&self, session: &SessionKey, run_id: &str, text: String) {
        self.events.put(session, run_id, text, self.now_ms());
    }

    fn take_events(&self, session: &SessionKey) -> Vec<SessionEvent> {
        self.events.take(session)
    }

    fn shown(&self, text: &str) -> String {
        written(&display::shown(text, Secrets::Mask))
    }

    fn has_room_for(&self, connection: BorrowedFd<'_>) -> bool {
        shortage::has_room_for(connection)
    }

    fn now_ms(&self) -> i64 {
        self.ports.clock.now_ms()
    }

    fn steady_ms(&self) -> i64 {
        self.ports.clock.steady_ms()
    }
}

fn not_taken(error: SubmitError) -> NotTaken {
    match error {
        SubmitError::AlreadyResolved(_) | SubmitError::AnotherRequest(_) => NotTaken::Pending,
        other => NotTaken::Unavailable(other.to_string()),
    }
}

/// What is hidden as `\u{202e}`, secrets as their mask.
fn written(shown: &Shown) -> String {
    let mut text = String::new();
    for span in &shown.spans {
        let is_code = matches!(span.kind, SpanKind::Escape | SpanKind::Layout);
        match span.text.strip_prefix("U+").filter(|_| is_code) {
            Some(code) => text.push_str(&format!("\\u{{{}}}", code.to_lowercase())),
            None => text.push_str(&span.text),
        }
    }
    text
}
