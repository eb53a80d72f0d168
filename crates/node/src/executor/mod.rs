//! The only place that starts processes: exactly the approved argument list, nothing that a shell reads.

use crate::facts::Drift;
use countersign_policy::ApprovedCommand;
use countersign_protocol::socket::ExecPayload;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutput {
    /// For the wire: capped and decoded.
    pub payload: ExecPayload,
    /// From spawn to end.
    pub duration: Duration,
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotStarted {
    /// Cancelled before it started.
    #[error("cancelled before it started")]
    Cancelled,
    /// Something is no longer what was shown.
    #[error(transparent)]
    Drift(#[from] Drift),
}

/// Runs an approved command to its end. `base_env` is the sanitised inherited environment. Cancelling ends the whole
/// process group (TERM, then KILL) and returns what it had printed; dropping the future does the same.
pub async fn run(
    command: ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    cancel: CancellationToken,
) -> Result<RunOutput, NotStarted> {
    let _ = (command, base_env, cancel);
    todo!()
}
