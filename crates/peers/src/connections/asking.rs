//! One question of a gateway, from its way in to its end: it is asked here, and only a person's decision is
//! told there, once, over the connection that brought it.

use super::onward;
use super::presented::{Kind, Presented};
use countersign_approvals::Approvals;
use countersign_approvals::SubmitError;
use countersign_approvals::book::{Ending, RequestedBy};
use countersign_approvals::ports::Ports;
use countersign_core::identity::OwnNode;
use countersign_gateway::client::{Answers, CallError, Live};
use countersign_node::host::{Host, Inquired, Inquiry};
use countersign_policy::display::{self, Secrets};
use countersign_protocol::gateway::unified::Reason;
use countersign_protocol::ids::RequestId;
use countersign_protocol::question::{CancelCause, Outcome};
use countersign_protocol::shown::Shown;
use countersign_protocol::vocabulary::Decision;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// What every operator needs.
#[derive(Clone)]
pub(super) struct OperatorParts {
    pub(super) approvals: Approvals,
    pub(super) host: Arc<Host>,
    pub(super) ports: Ports,
    /// This machine as a node.
    pub(super) own_node: Arc<OwnNode>,
    /// Hears of answers that a gateway did not take.
    pub(super) not_taken: mpsc::Sender<NotTaken>,
}

/// A person's answer that a gateway did not take.
#[derive(Clone, Debug)]
pub struct NotTaken {
    /// The request.
    pub id: RequestId,
    /// The gateway.
    pub gateway: Shown,
    /// Why, escaped.
    pub text: String,
}

/// Why a question ends without an answer of this person.
#[derive(Debug)]
pub(super) enum Withdrawal {
    /// It was answered there.
    Elsewhere { decision: Option<Decision>, by: Option<String> },
    /// It can no longer be answered.
    Cancelled(CancelCause),
}

/// One question from its way in to its end.
pub(super) struct Asking {
    pub(super) tools: OperatorParts,
    /// Our id for the gateway.
    pub(super) gateway: String,
    /// Of the connection.
    pub(super) generation: u32,
    pub(super) live: Live,
    pub(super) presented: Presented,
    /// When it expires.
    pub(super) until: Instant,
}

impl Asking {
    pub(super) async fn run(self, mut withdrawn: oneshot::Receiver<Withdrawal>) {
        let mut decisions = self.presented.decisions();
        loop {
            let question = match self.inquire(decisions.clone()).await {
                Ok(Inquired::Waits(question)) => question,
                // A rule of the person's refuses it, and the history says so.
                Ok(Inquired::Refused { .. }) => {
                    if let Err(why) = self.answer(Decision::Deny).await {
                        tracing::info!(?why, gateway = self.gateway, "a refusal did not reach a gateway");
                    }
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, gateway = self.gateway, "a request of a gateway is not asked");
                    return;
                }
            };
            let id = question.record().id.clone();
            let mut ended = std::pin::pin!(question.ended(&self.tools.host));
            let ended = tokio::select! {
                ended = &mut ended => ended,
                withdrawal = &mut withdrawn => {
                    let approvals = &self.tools.approvals;
                    match withdrawal.unwrap_or(Withdrawal::Cancelled(CancelCause::Shutdown)) {
                        Withdrawal::Elsewhere { decision, by } => approvals.elsewhere(&id, decision, by).await,
                        Withdrawal::Cancelled(cause) => approvals.cancel(&id, cause).await,
                    };
                    ended.await
                }
            };
            // Silence is an answer too: only a decision is ever told.
            let Ending::Decided { decision, .. } = *ended.ending() else {
                ended.written().await;
                return;
            };
            match self.answer(decision).await {
                Ok(()) => {
                    ended.written().await;
                    return;
                }
                Err(Why::NotOffered)
                    if decision == Decision::AllowAlways && decisions.contains(&decision) =>
                {
                    self.not_taken(id.as_str(), NOT_OFFERED).await;
                    ended.written_as(Outcome::Refused { reason: NOT_OFFERED.to_owned() }).await;
                    decisions.retain(|offered| *offered != Decision::AllowAlways);
                }
                Err(why) => {
                    let text = why.text();
                    self.not_taken(id.as_str(), &text).await;
                    ended.written_as(Outcome::Refused { reason: text }).await;
                    return;
                }
            }
        }
    }

    async fn inquire(&self, decisions: Vec<Decision>) -> Result<Inquired, SubmitError> {
        let mut question = self.presented.question.clone();
        question.door.generation = self.generation;
        question.offer.decisions = decisions;
        let inquiry = Inquiry {
            question,
            analysis: self.presented.analysis.clone(),
            wait: self.until.saturating_duration_since(Instant::now()),
            // Its id is the gateway's affair: two gateways may use the same. That it was
            // handed on is ours too.
            id: onward::is_handed_on(&self.presented.id).then(|| onward::marked(&self.tools.ports)),
            by: RequestedBy { gateway: Some(self.gateway.clone()), ..RequestedBy::default() },
            run: self.presented.run.clone(),
        };
        self.tools.host.inquire(inquiry).await
    }

    /// Tells the gateway, once. That only an offered decision is sent is the book's doing.
    async fn answer(&self, decision: Decision) -> Result<(), Why> {
        let Presented { kind, id, .. } = &self.presented;
        let params = kind.answer(id, decision);
        match self.live.call_within(kind.resolve(), params, Answers::One, ANSWER_WAIT).await {
            Ok(payload) if *kind == Kind::SystemAgent => recorded(payload, decision),
            Ok(_) => Ok(()),
            Err(CallError::Refused(error)) => {
                let reason = error.details.as_deref().and_then(|details| details["reason"].as_str());
                let not_offered = reason == Some("APPROVAL_ALLOW_ALWAYS_UNAVAILABLE")
                    || error.message.contains("allow-always is unavailable");
                Err(if not_offered { Why::NotOffered } else { Why::Refused(display::escape(&error.message)) })
            }
            Err(error) => Err(Why::Unknown(error)),
        }
    }

    async fn not_taken(&self, id: &str, text: &str) {
        let Some(gateway) = &self.presented.question.door.gateway else { return };
        let gateway = display::shown(gateway, Secrets::Show);
        let not_taken = NotTaken { id: id.to_owned().into(), gateway, text: text.to_owned() };
        // A full queue means that many were told a moment ago; the history has every one.
        let _ = self.tools.not_taken.try_send(not_taken);
    }
}

/// Reads what a gateway recorded: one that names the kind of an approval answers also to say that somebody
/// else was faster, or that it understood something else.
fn recorded(payload: Value, decision: Decision) -> Result<(), Why> {
    let Resolved { applied, approval } = serde_json::from_value(payload).map_err(|error| {
        Why::Refused(display::escape(&format!("expected what was recorded of the answer: {error}")))
    })?;
    if applied && approval.decision == Some(decision) && approval.reason != Some(Reason::MalformedVerdict) {
        return Ok(());
    }
    let before = if applied { "the gateway recorded" } else { "it was answered before:" };
    let held = approval.decision.map_or("no decision", Decision::as_str);
    Err(Why::Refused(format!("{before} {held}")))
}

/// What a gateway says of an answer that named the kind.
#[derive(Deserialize)]
struct Resolved {
    applied: bool,
    approval: Recorded,
}

/// As far as it matters here.
#[derive(Deserialize)]
struct Recorded {
    #[serde(default)]
    decision: Option<Decision>,
    #[serde(default)]
    reason: Option<Reason>,
}

/// Why an answer was not taken.
#[derive(Debug)]
enum Why {
    /// This decision is not to be had.
    NotOffered,
    /// The gateway's words, escaped.
    Refused(String),
    /// Whether it arrived is not known.
    Unknown(CallError),
}

impl Why {
    fn text(&self) -> String {
        match self {
            Self::NotOffered => NOT_OFFERED.to_owned(),
            Self::Refused(text) => text.clone(),
            Self::Unknown(error) => error.to_string(),
        }
    }
}

/// For the history.
const NOT_OFFERED: &str = "allow-always is not offered for this command";

/// How long a gateway may take to acknowledge an answer.
const ANSWER_WAIT: Duration = Duration::from_secs(15);
