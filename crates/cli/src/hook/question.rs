//! Asking the app about a call, for no longer than there is time.

use countersign_companion::control::{self, ControlError};
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::limits::CONTROL_LINE_BYTES;
use countersign_protocol::session_events::SessionEvent;
use countersign_protocol::tools::{Permission, ToolCall};
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// Why the app said neither yes nor no.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum Unanswered {
    /// It is not running.
    #[error("{0}")]
    Absent(#[source] ControlError),
    /// The connection broke, or what came is no answer.
    #[error("{0}")]
    Broken(#[source] ControlError),
    /// It understood the question and does not answer it.
    #[error("the Countersign app refused the question: {0}")]
    Refused(String),
    /// It answered another question.
    #[error("the Countersign app answered something else than a permission")]
    Beside,
    /// Nobody answered.
    #[error("Nobody answered within {} s. Nothing was done.", .0.as_secs_f32().round().max(1.0))]
    Silent(Duration),
    /// The call does not fit into a question.
    #[error("expected a call of at most {CONTROL_LINE_BYTES} bytes, got {bytes}")]
    TooLong {
        /// As a line of the control channel.
        bytes: usize,
    },
}

/// What the app says.
pub(super) struct Answer {
    pub(super) permission: Permission,
    /// What the agent's session was not told yet of runs.
    pub(super) events: Vec<SessionEvent>,
}

/// Asks, and waits until `until` at most. Dropping the future closes the connection, which takes
/// the question back.
pub(super) async fn ask(
    socket: &Path,
    mut call: ToolCall,
    takes_events: bool,
    until: Instant,
) -> Result<Answer, Unanswered> {
    let left = until.saturating_duration_since(Instant::now());
    let person = left.saturating_sub(ANSWER_MARGIN.min(left / 10));
    call.approval_timeout_ms = Some(u64::try_from(person.as_millis()).unwrap_or(u64::MAX).max(1));
    let request = ControlRequest::PermitTool { call: Box::new(call), takes_events };
    let bytes = serde_json::to_vec(&request)
        .map_err(|error| Unanswered::Broken(std::io::Error::from(error).into()))?
        .len();
    // The app reads its line with the line break.
    if bytes + 1 >= CONTROL_LINE_BYTES {
        return Err(Unanswered::TooLong { bytes });
    }
    match timeout_at(until, control::follow(socket, &request, |_| {})).await {
        Ok(Ok(ControlResponse::Permitted { permission, events })) => Ok(Answer { permission, events }),
        Ok(Ok(ControlResponse::Error { message })) => Err(Unanswered::Refused(message)),
        Ok(Ok(_)) => Err(Unanswered::Beside),
        Ok(Err(error @ ControlError::NotRunning)) => Err(Unanswered::Absent(error)),
        Ok(Err(error)) => Err(Unanswered::Broken(error)),
        Err(_) => Err(Unanswered::Silent(left)),
    }
}

/// What the app may take beyond the person, so that its own "nobody answered" comes before this end gives up.
const ANSWER_MARGIN: Duration = Duration::from_secs(2);
