//! Loosenings asked for from the command line, waiting for a person in the window.

use super::{LooseningAnswer, error, gone};
use countersign_protocol::edits::Confirmation;
use countersign_protocol::ids::RequestId;
use countersign_protocol::ui::{CommandError, ErrorCode};
use tokio::sync::oneshot;

/// What waits, oldest first.
#[derive(Debug, Default)]
pub(super) struct Confirmations {
    waiting: Vec<(Confirmation, oneshot::Sender<LooseningAnswer>)>,
}

impl Confirmations {
    /// Adds one; refused when too many wait.
    pub(super) fn add(
        &mut self,
        confirmation: Confirmation,
    ) -> Result<oneshot::Receiver<LooseningAnswer>, CommandError> {
        if self.waiting.len() >= MAX_WAITING {
            return Err(error(
                ErrorCode::Invalid,
                format!("{MAX_WAITING} changes already wait for confirmation"),
            ));
        }
        let (sender, receiver) = oneshot::channel();
        self.waiting.push((confirmation, sender));
        Ok(receiver)
    }

    /// Answers one. Applying needs it to have been visible for `arm_delay` milliseconds.
    pub(super) fn answer(
        &mut self,
        id: &str,
        answer: LooseningAnswer,
        now_ms: i64,
        arm_delay: i64,
    ) -> Result<(), CommandError> {
        let index = self
            .waiting
            .iter()
            .position(|(waiting, _)| waiting.id == id)
            .ok_or_else(|| gone(&RequestId::from(id)))?;
        let created_at_ms = self.waiting[index].0.created_at_ms;
        if answer == LooseningAnswer::Apply && now_ms.saturating_sub(created_at_ms) < arm_delay {
            return Err(error(ErrorCode::NotArmed, "the change was not in view long enough"));
        }
        let (_, sender) = self.waiting.remove(index);
        sender.send(answer).map_err(|_| gone(&RequestId::from(id)))
    }

    /// Takes one back. False when it is no longer there.
    pub(super) fn remove(&mut self, id: &str) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|(waiting, _)| waiting.id != id);
        self.waiting.len() < before
    }

    /// All of them.
    pub(super) fn list(&self) -> Vec<Confirmation> {
        self.waiting.iter().map(|(confirmation, _)| confirmation.clone()).collect()
    }
}

/// Changes that may wait at once: one person's terminals, not a flood.
const MAX_WAITING: usize = 8;

/// Milliseconds after which an unanswered change is refused.
pub(super) const WAIT_MS: i64 = 120_000;
