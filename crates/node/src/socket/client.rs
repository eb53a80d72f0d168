//! One request over the approval socket, as the command line and the headless runner send it.

use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::{AskRequest, ExecAnswer, ExecRequest};
use countersign_protocol::vocabulary::Decision;
use std::path::Path;
use std::time::Duration;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Nobody listens.
    #[error("no app listens on {path}: {source}")]
    NoApp {
        /// The socket.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The app closed the connection without an answer: expired, dismissed or not understood.
    #[error("the app closed the connection without an answer")]
    NoAnswer,
    /// Nothing came in time.
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// What came is not an answer.
    #[error("the answer was not understood: {0}")]
    BadAnswer(String),
}

/// Asks for a decision. Dropping the future closes the connection, which withdraws the request.
pub async fn ask(
    path: &Path,
    token: &SocketToken,
    request: &AskRequest,
    wait: Duration,
) -> Result<Decision, ClientError> {
    let _ = (path, token, request, wait);
    todo!()
}

/// Has a command run. Dropping the future closes the connection, which withdraws or ends it.
pub async fn exec(
    path: &Path,
    token: &SocketToken,
    request: &ExecRequest,
    now_ms: i64,
    wait: Duration,
) -> Result<ExecAnswer, ClientError> {
    let _ = (path, token, request, now_ms, wait);
    todo!()
}
