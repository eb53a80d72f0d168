//! The approvals actor as the gateway's backend.

use countersign_approvals::actor::{Approvals, PresenterGuard, SubmitError, Ticket};
use countersign_approvals::book::{Ending, GRACE_MS, Request, RequestedBy};
use countersign_approvals::ports::Ports;
use countersign_gateway::embedded::{Backend, Happened, Known, NotTaken, Submission};
use countersign_policy::analysis::analyze_text;
use countersign_policy::display::{self, Secrets};
use countersign_protocol::document::MAIN_AGENT;
use countersign_protocol::gateway::approval::{RequestView, Requested, Resolved};
use countersign_protocol::ui::{
    Card, CardKind, HostKind, HostView, OnExpiry, PolicyLayer, Shown, SpanKind, Via, Why, WhyReason,
};
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Happenings that a slow reader may be behind; it lists what waits instead.
const EVENTS: usize = 1_024;

/// Who can answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Presence {
    /// Nobody but the gateway's clients.
    ClientsOnly,
}

/// Keeps the gateway's approvals in the book, and what only the gateway needs of them beside it.
pub(super) struct Keeper {
    approvals: Approvals,
    ports: Ports,
    presence: Presence,
    known: Arc<Mutex<HashMap<String, Arc<Known>>>>,
    events: broadcast::Sender<Happened>,
    tracker: TaskTracker,
    stop: CancellationToken,
    /// The gateway decides by itself whether anybody can answer.
    _presenter: PresenterGuard,
}

impl Keeper {
    pub(super) fn new(
        approvals: Approvals,
        ports: Ports,
        presence: Presence,
        tracker: TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let presenter = approvals.presenter();
        Self {
            approvals,
            ports,
            presence,
            known: Arc::default(),
            events: broadcast::channel(EVENTS).0,
            tracker,
            stop,
            _presenter: presenter,
        }
    }

    /// Follows an approval to its end and a little longer, whoever asked for it.
    fn follow(&self, ticket: Ticket, known: Arc<Known>, announced: bool) {
        let (all, events, ports) = (Arc::clone(&self.known), self.events.clone(), self.ports.clone());
        let stop = self.stop.clone();
        self.tracker.spawn(async move {
            let id = known.requested.id.clone();
            let ending = ticket.ended().await;
            let decision = decision(&ending);
            let ended = Arc::new(Known { ended: Some(decision), ..(*known).clone() });
            lock(&all).insert(id.clone(), Arc::clone(&ended));
            if let (Ending::Decided { decision, by }, true) = (&ending, announced) {
                let resolved = Resolved {
                    id: id.clone(),
                    decision: Some(*decision),
                    resolved_by: Some(by.clone()),
                    ts: ports.clock.now_ms(),
                    request: Some(ended.requested.request.clone()),
                };
                // Nobody follows when no client is there.
                let _ = events.send(Happened::Resolved(Arc::new(resolved)));
            }
            let grace = Duration::from_millis(GRACE_MS.unsigned_abs());
            let _ = tokio::time::timeout(grace, stop.cancelled()).await;
            lock(&all).remove(&id);
        });
    }
}

fn lock(
    known: &Mutex<HashMap<String, Arc<Known>>>,
) -> std::sync::MutexGuard<'_, HashMap<String, Arc<Known>>> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

fn decision(ending: &Ending) -> Option<Decision> {
    match ending {
        Ending::Decided { decision, .. } => Some(*decision),
        Ending::Expired | Ending::Cancelled(_) | Ending::NotShown => None,
    }
}

impl Backend for Keeper {
    async fn submit(&self, submission: Submission) -> Result<Arc<Known>, NotTaken> {
        let Submission { id, command, request, timeout, by, deliverable, announced } = submission;
        if id.as_ref().is_some_and(|id| lock(&self.known).contains_key(id)) {
            return Err(NotTaken::Pending);
        }
        if !deliverable {
            let now_ms = self.ports.clock.now_ms();
            let requested = Requested {
                id: id.unwrap_or_else(|| self.ports.ids.uuid()),
                request,
                created_at_ms: now_ms,
                expires_at_ms: now_ms.saturating_add(i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX)),
            };
            return Ok(Arc::new(Known { requested, by, ended: Some(None) }));
        }
        let requested_by = RequestedBy {
            // A second request under an id is another one, even of the same client.
            connection: Some(by.conn_id.clone()),
            device: by.device_id.clone(),
            client: Some(by.client_id.clone()),
        };
        let asked = asked(&command, &request);
        let ticket = self.approvals.submit(asked, timeout, id, requested_by).await.map_err(not_taken)?;
        let record = ticket.record();
        let requested = Requested {
            id: record.id.clone(),
            request,
            created_at_ms: record.created_at_ms,
            expires_at_ms: record.expires_at_ms,
        };
        let known = Arc::new(Known { requested, by, ended: None });
        lock(&self.known).insert(known.requested.id.clone(), Arc::clone(&known));
        if announced {
            let _ = self.events.send(Happened::Requested(Arc::clone(&known)));
        }
        self.follow(ticket, Arc::clone(&known), announced);
        Ok(known)
    }

    async fn resolve(&self, id: &str, decision: Decision, by: &str) -> bool {
        self.approvals.resolve(id, decision, by).await
    }

    async fn pending(&self) -> Vec<Arc<Known>> {
        let mut waiting: Vec<Arc<Known>> =
            lock(&self.known).values().filter(|known| known.ended.is_none()).cloned().collect();
        waiting.sort_by(|a, b| {
            (a.requested.created_at_ms, &a.requested.id).cmp(&(b.requested.created_at_ms, &b.requested.id))
        });
        waiting
    }

    async fn find(&self, id: &str) -> Option<Arc<Known>> {
        lock(&self.known).get(id).cloned()
    }

    async fn wait(&self, id: &str) -> Option<Option<Decision>> {
        self.approvals.wait(id).await.as_ref().map(decision)
    }

    fn events(&self) -> broadcast::Receiver<Happened> {
        self.events.subscribe()
    }

    fn has_own_presenter(&self) -> bool {
        match self.presence {
            Presence::ClientsOnly => false,
        }
    }

    fn shown(&self, text: &str) -> String {
        written(&display::shown(text, Secrets::Mask))
    }

    fn now_ms(&self) -> i64 {
        self.ports.clock.now_ms()
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
        match span.text.strip_prefix("U+").filter(|_| span.kind == SpanKind::Escape) {
            Some(code) => text.push_str(&format!("\\u{{{}}}", code.to_lowercase())),
            None => text.push_str(&span.text),
        }
    }
    text
}

/// The request as the book keeps it.
fn asked(command: &str, request: &RequestView) -> Request {
    let plain = |text: &str| display::shown(text, Secrets::Show);
    let agent = request.agent_id.clone().unwrap_or_else(|| MAIN_AGENT.to_owned());
    let analysis = analyze_text(command);
    let view = display::text_view(command, &analysis);
    let kind = match request.host.as_deref() {
        Some("sandbox") => HostKind::Sandbox,
        Some("node") => HostKind::Remote,
        Some(_) | None => HostKind::ThisMachine,
    };
    let card = Card {
        id: String::new(),
        generation: 0,
        kind: CardKind::Ask,
        via: Via::Gateway,
        agent: plain(&agent),
        session: request.session_key.as_deref().map(plain),
        peer: None,
        host: HostView { kind, name: request.node_id.as_deref().map(plain) },
        created_at_ms: 0,
        expires_at_ms: 0,
        on_expiry: OnExpiry::NoAnswer,
        allow_blocked: display::allow_blocked(&view),
        command: view,
        facts: Vec::new(),
        why: Why {
            reason: WhyReason::PeerAsks,
            opaque: analysis.opaque.as_ref().map(|opaque| opaque.reason.as_str().to_owned()),
            segment: None,
            security: word(request.security.as_deref()).unwrap_or(Security::Allowlist),
            ask: word(request.ask.as_deref()).unwrap_or(Ask::OnMiss),
            layer: PolicyLayer::Requested,
            entries_checked: 0,
            trace: Vec::new(),
        },
        decisions: request.allowed_decisions.clone().unwrap_or_default(),
        always: Vec::new(),
        always_unavailable: None,
    };
    Request { card, proposals: Vec::new(), choices: Vec::new(), agent, session: request.session_key.clone() }
}

fn word<T: serde::de::DeserializeOwned>(word: Option<&str>) -> Option<T> {
    serde_json::from_value(word?.trim().into()).ok()
}
