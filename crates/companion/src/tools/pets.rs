//! Companion clients as people who can answer: a call of a turn of theirs is shown to the one that it came
//! from, and to no other (docs/protocol/pet-channel.md, "Whose answer counts").

use countersign_approvals::Approvals;
use countersign_approvals::ports::Ports;
use countersign_approvals::question::Question;
use countersign_gateway::pet::{APPROVAL_WAIT, AskOutcome, By, Call, Pets};
use countersign_peers::gateway::EmbeddedGateway;
use countersign_policy::display;
use countersign_protocol::digits::hex;
use countersign_protocol::ids::RequestId;
use countersign_protocol::vocabulary::Decision;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::time::Duration;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// A question that a companion client sees for as long as this lives.
#[must_use]
pub(super) struct Pet(#[expect(dead_code, reason = "dropping it is what it is for")] Option<DropGuard>);

/// Shows calls to companion clients of the app's own gateway.
pub(crate) struct Companions {
    pub(crate) gateway: EmbeddedGateway,
    pub(crate) approvals: Approvals,
    pub(crate) ports: Ports,
    pub(crate) tracker: TaskTracker,
}

impl Companions {
    /// Shows the question `request` about a call to the client of `session_id`, as long as what comes back
    /// lives. Its answer goes to the book.
    pub(super) fn show(
        &self,
        session_id: &str,
        request: &RequestId,
        tool: &str,
        params: &Map<String, Value>,
    ) -> Pet {
        let Some(pets) = self.gateway.pets() else { return Pet(None) };
        let stop = CancellationToken::new();
        let (asking, stopped) = (
            Asking {
                pets,
                approvals: self.approvals.clone(),
                ports: self.ports.clone(),
                session_id: session_id.to_owned(),
                request: request.clone(),
                tool: tool.to_owned(),
                arguments: Value::Object(params.clone()),
            },
            stop.clone(),
        );
        // Dropping the question withdraws it there.
        self.tracker.spawn(async move {
            tokio::select! {
                biased;
                () = stopped.cancelled() => {}
                () = asking.run() => {}
            }
        });
        Pet(Some(stop.drop_guard()))
    }
}

/// One question to one client.
struct Asking {
    pets: Pets,
    approvals: Approvals,
    ports: Ports,
    session_id: String,
    request: RequestId,
    tool: String,
    arguments: Value,
}

impl Asking {
    /// Only an answer gets into the book. Whatever else comes of asking leaves the question to the desk,
    /// until its time is over and it is denied.
    async fn run(self) {
        let Some(record) = self.approvals.snapshot(&self.request).await else { return };
        if record.question.objection(Decision::AllowOnce).is_some() {
            // Nobody may allow it, so a client must not be made to believe that it did.
            return;
        }
        let left_ms = record.expires_at_ms.saturating_sub(self.ports.clock.now_ms());
        let wait = Duration::from_millis(u64::try_from(left_ms).unwrap_or(0)).min(APPROVAL_WAIT);
        let context = context(&record.question).unwrap_or_else(|| self.request.to_string());
        let call = Call { tool: &self.tool, arguments: &self.arguments, context: &context };
        let answer = self.pets.ask(&self.session_id, call, wait).await;
        let (decision, by) = match answer {
            AskOutcome::Approved(by) => (Decision::AllowOnce, by),
            AskOutcome::Denied(by) => (Decision::Deny, by),
            AskOutcome::Expired
            | AskOutcome::Full
            | AskOutcome::Gone
            | AskOutcome::NoSuchSession
            | AskOutcome::TooLarge => {
                tracing::info!(request_id = %self.request, ?answer, "no answer over the pet channel");
                return;
            }
        };
        let by = match by {
            By::Client => format!("pet {}", self.session_id),
            By::Memory => format!("pet {} (remembered)", self.session_id),
        };
        if let Err(why) = self.approvals.resolve(&self.request, decision, &display::escape(&by)).await {
            tracing::info!(request_id = %self.request, %why, "an answer over the pet channel did not count");
        }
    }
}

/// What a call is like, so that a remembered choice counts only while all that a person sees of it is the
/// same: agent, folder, the file that would change, the script that would run. Nothing where not all of it is
/// seen: such a call is like no other.
fn context(question: &Question) -> Option<String> {
    let likeness = question.likeness()?;
    Some(hex(Sha256::digest(likeness)))
}
