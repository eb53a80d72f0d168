//! One question of another program's pet server, from its way in to its end: it is asked here, and a person's
//! decision is told over the connection that brought it, once and only within its time.

use crate::connections::NotTaken;
use countersign_approvals::Approvals;
use countersign_approvals::book::{Ending, RequestedBy};
use countersign_approvals::ports::Ports;
use countersign_gateway::pet::client::{AnswerError, PetCall};
use countersign_gateway::pet::{Choice, Keep};
use countersign_node::host::{Host, Inquired, Inquiry};
use countersign_policy::display::{self, Secrets};
use countersign_protocol::question::{CancelCause, Outcome};
use countersign_questions::tools as questions;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// What every server needs.
#[derive(Clone)]
pub(super) struct FollowerParts {
    pub(super) approvals: Approvals,
    pub(super) host: Arc<Host>,
    pub(super) ports: Ports,
    /// Hears of answers that a server did not take.
    pub(super) not_taken: mpsc::Sender<NotTaken>,
}

/// One question from its way in to its end.
pub(super) struct Asking {
    pub(super) tools: FollowerParts,
    /// Our id for the server.
    pub(super) source: String,
    /// The person's name for it.
    pub(super) name: String,
    pub(super) session_id: String,
    pub(super) asked: PetCall,
    /// Nobody wants the server any more.
    pub(super) stop: CancellationToken,
    /// The whole app ends.
    pub(super) closing: CancellationToken,
}

impl Asking {
    /// Asks, and tells what was answered.
    pub(super) async fn run(self) {
        let Self { tools, source, name, session_id, asked, stop, closing } = self;
        let wait = asked.deadline.saturating_duration_since(Instant::now());
        if wait.is_zero() || asked.is_gone() {
            return;
        }
        let inquiry = Inquiry {
            question: questions::of_pet_server(&asked.tool, &asked.arguments, &name, &session_id),
            analysis: None,
            wait,
            id: None,
            by: RequestedBy { gateway: Some(source.clone()), ..RequestedBy::default() },
            run: None,
        };
        let question = match tools.host.inquire(inquiry).await {
            Ok(Inquired::Waits(question)) => question,
            Ok(Inquired::Refused { .. }) => {
                if let Err(error) = asked.answer(Choice::Deny, Keep::Once).await {
                    tracing::info!(%error, source, "a refusal did not reach a pet server");
                }
                return;
            }
            Err(error) => {
                tracing::warn!(%error, source, "a call of a pet server is not asked about");
                return;
            }
        };
        let id = question.record().id.clone();
        let mut ended = std::pin::pin!(question.ended(&tools.host));
        let withdrawn = async {
            tokio::select! {
                biased;
                () = stop.cancelled() => match closing.is_cancelled() {
                    true => CancelCause::Shutdown,
                    false => CancelCause::Withdrawn,
                },
                () = asked.gone() => CancelCause::ConnectionLost,
            }
        };
        let ended = tokio::select! {
            ended = &mut ended => ended,
            cause = withdrawn => {
                tools.approvals.cancel(&id, cause).await;
                ended.await
            }
        };
        // Silence is an answer too: only a decision is ever told.
        let Ending::Decided { decision, .. } = *ended.ending() else {
            ended.written().await;
            return;
        };
        let choice = if decision.allows() { Choice::Approve } else { Choice::Deny };
        match asked.answer(choice, Keep::Once).await {
            Ok(()) => ended.written().await,
            Err(error) => {
                let text = text(&error);
                let gateway = display::shown(&name, Secrets::Show);
                let not_taken = NotTaken { id, gateway, text: text.clone() };
                // A full queue means that many were told a moment ago; the history has every one.
                let _ = tools.not_taken.try_send(not_taken);
                ended.written_as(Outcome::Refused { reason: text }).await;
            }
        }
    }
}

/// Why an answer was not taken; the server's words escaped.
fn text(error: &AnswerError) -> String {
    display::escape(&error.to_string())
}
