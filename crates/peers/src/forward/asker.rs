//! A target that can answer: a request is raised at another gateway too, so that people there can decide. A
//! denial from there always counts; an allow only if the person wanted that, and only for what was
//! told there whole.

use super::message::{self, cwd, told};
use super::meter::Meter;
use super::post::{Again, Undelivered};
use crate::connections::Connections;
use crate::connections::onward::{Answered, Onward};
use countersign_approvals::Approvals;
use countersign_approvals::book::Record;
use countersign_approvals::ports::Ports;
use countersign_gateway::client::{Answers, CallError, Live};
use countersign_policy::display;
use countersign_protocol::question::QuestionKind;
use countersign_protocol::vocabulary::Decision;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, broadcast};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A gateway where requests are raised too. Clones are the same one.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) connections: Connections,
    pub(super) approvals: Approvals,
    pub(super) ports: Ports,
    pub(super) meter: Meter,
    /// Our id of the gateway.
    pub(super) gateway: String,
    /// The person's name for the target.
    pub(super) name: String,
    /// Whether an allow from there may count.
    pub(super) may_allow: bool,
    pub(super) room: Arc<Semaphore>,
    pub(super) tracker: TaskTracker,
    /// The target is no longer wanted.
    pub(super) gone: CancellationToken,
    /// The app ends.
    pub(super) closing: CancellationToken,
}

/// What came of asking there.
enum AskedThere {
    /// Somebody decided.
    Decided { decision: Decision, by: Option<String> },
    /// It ended there without a decision.
    Silence,
}

/// One request there: the connection that it was raised over, and its id.
type Raised = Arc<Mutex<Option<(Live, String)>>>;

impl Asker {
    /// Whether a request is one for this gateway: not one that came from there, and a command.
    pub(super) fn takes(&self, record: &Record) -> bool {
        record.requested_by.gateway.as_deref() != Some(self.gateway.as_str())
            && matches!(
                record.question.subject.kind(),
                QuestionKind::Exec | QuestionKind::Ask | QuestionKind::Permit
            )
    }

    /// Raises a request there and follows it to its end, here or there.
    pub(super) fn ask(&self, record: Arc<Record>) {
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
            return self.meter.dropped(record.id.as_str());
        };
        self.meter.waits();
        let this = self.clone();
        self.tracker.spawn(async move {
            let _room = room;
            this.follow(&record).await;
        });
    }

    async fn follow(&self, record: &Record) {
        let raised = Raised::default();
        let delivered = CancellationToken::new();
        tokio::select! {
            _ = self.approvals.wait(&record.id) => self.withdraw(&raised, &delivered).await,
            told = self.converse(record, &raised, &delivered) => {
                let arrived = delivered.is_cancelled();
                match told {
                    Ok(AskedThere::Silence) if !arrived => self.meter.failed(record.id.as_str(), NOBODY.to_owned()),
                    Ok(told) => {
                        if !arrived {
                            self.meter.delivered();
                        }
                        self.count(record, told).await;
                    }
                    Err(undelivered) if arrived => self.meter.lost(record.id.as_str(), undelivered.text),
                    Err(undelivered) => self.meter.failed(record.id.as_str(), undelivered.text),
                }
            }
            () = self.gone.cancelled() => self.withdraw(&raised, &delivered).await,
            // The connection ends with the app: what was raised there expires there.
            () = self.closing.cancelled() => {}
        }
    }

    /// Raises the request and waits for a decision, over as many connections as that takes.
    async fn converse(
        &self,
        record: &Record,
        raised: &Raised,
        delivered: &CancellationToken,
    ) -> Result<AskedThere, Undelivered> {
        let mut tries = 0;
        loop {
            let (onward, live) = self.connected().await?;
            let mut answers = onward.answers();
            let known =
                raised.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(_, id)| id.clone());
            let id = known.clone().unwrap_or_else(|| onward.fresh_id(&self.ports));
            let waited = async {
                if known.is_none() {
                    // Before it is sent: what may have arrived is withdrawn or asked about.
                    *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some((live.clone(), id.clone()));
                    let first = self.raise(&live, record, &id).await?;
                    if let Some(decision) = first {
                        return Ok(decision);
                    }
                    self.meter.delivered();
                    delivered.cancel();
                }
                self.decision(&live, &id, record).await
            };
            tokio::pin!(waited);
            let error = tokio::select! {
                Some(answered) = answer_to(&mut answers, &id) => return Ok(answered),
                waited = &mut waited => match waited {
                    Ok(AskedThere::Decided { decision, .. }) => {
                        // Who it was is told by the event, which may be a moment behind.
                        let named = tokio::time::timeout(NAME_WAIT, answer_to(&mut answers, &id)).await;
                        return Ok(named.ok().flatten().unwrap_or(AskedThere::Decided { decision, by: None }));
                    }
                    Ok(AskedThere::Silence) => return Ok(AskedThere::Silence),
                    Err(error) => error,
                },
            };
            tries += 1;
            let text = match &error {
                CallError::Refused(error) if known.is_some() && error.message.contains("not found") => {
                    // That gateway has forgotten it, so it is raised again.
                    *raised.lock().unwrap_or_else(PoisonError::into_inner) = None;
                    error.message.clone()
                }
                CallError::Refused(error) => {
                    *raised.lock().unwrap_or_else(PoisonError::into_inner) = None;
                    return Err(Undelivered::new(error.message.clone(), Again::No));
                }
                other => other.to_string(),
            };
            let undelivered = Undelivered::new(text, Again::Yes);
            if tries >= TRIES {
                return Err(undelivered);
            }
            self.meter.retries(record.id.as_str(), undelivered.text);
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits for a connection. The request's own end is the limit.
    async fn connected(&self) -> Result<(Onward, Live), Undelivered> {
        let mut changes = self.connections.changes();
        loop {
            changes.mark_unchanged();
            match self.connections.onward(&self.gateway) {
                Some(onward) => {
                    if let Some(live) = onward.live() {
                        return Ok((onward, live));
                    }
                }
                None => return Err(Undelivered::new(self.absent(), Again::No)),
            }
            if changes.changed().await.is_err() {
                return Err(Undelivered::new(self.absent(), Again::No));
            }
        }
    }

    fn absent(&self) -> String {
        match self.connections.name_of(&self.gateway) {
            Some(name) => format!("the connection to {name} is turned off"),
            None => "that gateway is no longer among the connections".to_owned(),
        }
    }

    /// What is left of its time. Its record may be older than the last setting of the clock.
    async fn left_ms(&self, record: &Record) -> i64 {
        let known = self.approvals.snapshot(&record.id).await;
        let expires_at_ms = known.map_or(record.expires_at_ms, |known| known.expires_at_ms);
        expires_at_ms.saturating_sub(self.ports.clock.now_ms())
    }

    /// Raises it; a decision when there is one at once.
    async fn raise(&self, live: &Live, record: &Record, id: &str) -> Result<Option<AskedThere>, CallError> {
        let left_ms = self.left_ms(record).await.max(1);
        let question = &record.question;
        // The members that the oldest release knows: its schema is closed. With `ask` it offers
        // no allow-always.
        let mut params = json!({
            "id": id,
            "command": told(question).text,
            "host": "gateway",
            "security": question.why.security,
            "ask": "always",
            "agentId": question.agent,
            "timeoutMs": left_ms,
            "twoPhase": true,
        });
        if let Some(session) = &question.session {
            params["sessionKey"] = json!(session);
        }
        if let Some(cwd) = cwd(question) {
            params["cwd"] = json!(cwd);
        }
        if release(&live.hello().server.version).is_some_and(|release| release >= WARNS) {
            params["warningText"] = json!(self.warning(record));
        }
        let answer = live.call_within(REQUEST, params, Answers::One, CALL_WAIT).await?;
        if answer["status"] == "accepted" {
            return Ok(None);
        }
        Ok(Some(read(&answer)))
    }

    /// What people there must know before they answer.
    fn warning(&self, record: &Record) -> String {
        let counts = self.may_allow && message::is_told_whole(&record.question);
        let answer = match counts {
            true => "An answer from here counts there.",
            false => "A denial from here counts there. To allow it, answer there.",
        };
        format!("Handed on by Countersign: this runs somewhere else, not on this gateway. {answer}")
    }

    async fn decision(&self, live: &Live, id: &str, record: &Record) -> Result<AskedThere, CallError> {
        let left_ms = self.left_ms(record).await;
        let left = Duration::from_millis(u64::try_from(left_ms).unwrap_or_default()) + CALL_WAIT;
        live.call_within(WAIT, json!({ "id": id }), Answers::One, left).await.map(|answer| read(&answer))
    }

    /// Takes an answer from there for as much as it counts here.
    async fn count(&self, record: &Record, told: AskedThere) {
        let AskedThere::Decided { decision, by } = told else { return };
        let counts = match decision {
            Decision::Deny => true,
            // An allow-always there is no rule here.
            Decision::AllowOnce | Decision::AllowAlways => {
                self.may_allow
                    && message::is_told_whole(&record.question)
                    && record.question.objection(Decision::AllowOnce).is_none()
            }
        };
        if !counts {
            return self.meter.not_counted(record.id.as_str());
        }
        let taken = if decision.allows() { Decision::AllowOnce } else { Decision::Deny };
        let who: Option<String> = by.map(|by| display::escape(&by.chars().take(MAX_WHO).collect::<String>()));
        let by = match who {
            Some(who) => format!("{HANDED_ON}{}: {who}", display::escape(&self.name)),
            None => format!("{HANDED_ON}{}", display::escape(&self.name)),
        };
        if self.approvals.resolve(&record.id, taken, &by).await.is_err() {
            tracing::debug!(request_id = %record.id, "it had ended here before the answer came");
        }
    }

    /// It has ended here, so nobody there needs to look at it any more. The protocol knows no withdrawal: it
    /// is denied there, where nothing hangs on it. Never allowed, whatever the answer was here.
    async fn withdraw(&self, raised: &Raised, delivered: &CancellationToken) {
        if !delivered.is_cancelled() {
            self.meter.forgotten();
        }
        let raised = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((live, id)) = raised else { return };
        let live = self.connections.onward(&self.gateway).and_then(|onward| onward.live()).unwrap_or(live);
        let params = json!({ "id": id, "decision": Decision::Deny });
        let withdrawn = live.call_within(RESOLVE, params, Answers::One, WITHDRAW_WAIT);
        tokio::select! {
            withdrawn = withdrawn => if let Err(error) = withdrawn {
                tracing::debug!(%error, gateway = self.gateway, "a request that was handed on could not be withdrawn");
            },
            () = self.closing.cancelled() => {}
        }
    }

    /// Raises a sample for a moment. Milliseconds until it was taken there.
    pub(super) async fn sample(&self, record: &Record) -> Result<u64, Undelivered> {
        let (onward, live) = tokio::time::timeout(SAMPLE_WAIT, self.connected())
            .await
            .map_err(|_| Undelivered::new("not connected to that gateway".to_owned(), Again::No))??;
        let (id, started) = (onward.fresh_id(&self.ports), Instant::now());
        let first = self.raise(&live, record, &id).await;
        let first = first.map_err(|error| Undelivered::new(error.to_string(), Again::No))?;
        match first {
            None => Ok(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)),
            Some(_) => Err(Undelivered::new(NOBODY.to_owned(), Again::No)),
        }
    }
}

/// The next answer to the request with this id; `None` when no more can come.
async fn answer_to(answers: &mut broadcast::Receiver<Answered>, id: &str) -> Option<AskedThere> {
    loop {
        match answers.recv().await {
            Ok(Answered { id: of, decision: Some(decision), by }) if of == id => {
                return Some(AskedThere::Decided { decision, by });
            }
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}

/// A decision that we do not know is none.
fn read(answer: &Value) -> AskedThere {
    match serde_json::from_value(answer["decision"].clone()) {
        Ok(decision) => AskedThere::Decided { decision, by: None },
        Err(_) => AskedThere::Silence,
    }
}

/// `2026.5.28` as numbers; what follows a dash does not count.
fn release(version: &str) -> Option<[u32; 3]> {
    let mut numbers = version.split('-').next()?.split('.').map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?])
}

const REQUEST: &str = "exec.approval.request";
const WAIT: &str = "exec.approval.waitDecision";
const RESOLVE: &str = "exec.approval.resolve";

/// From this release on a request may carry a warning (docs/protocol/approvals.md, "Asking").
const WARNS: [u32; 3] = [2026, 5, 28];

/// In front of a target's name in the history, so that it never reads like one of this machine's
/// own ways to answer.
pub(super) const HANDED_ON: &str = "handed on to ";

/// Why a gateway takes no request.
const NOBODY: &str = "nobody there can answer";

/// Characters of the name of whoever answered.
const MAX_WHO: usize = 200;

/// Requests that may be followed at one gateway at once: as many as may wait here.
pub(super) const MAX_ASKED: usize = 256;

/// How often one request is raised or asked about again after a lost connection.
const TRIES: u32 = 4;

/// Before it is: the connection has a back-off of its own.
const PAUSE: Duration = Duration::from_secs(1);

/// How long the gateway may take to say that it has a request.
const CALL_WAIT: Duration = Duration::from_secs(15);

/// How long to wait for the name of whoever decided.
const NAME_WAIT: Duration = Duration::from_millis(500);

/// How long a withdrawal may take.
const WITHDRAW_WAIT: Duration = Duration::from_secs(5);

/// How long a sample waits for a connection.
const SAMPLE_WAIT: Duration = Duration::from_secs(2);
