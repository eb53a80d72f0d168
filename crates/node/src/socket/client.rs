//! One request over the approval socket, as the command line and the headless runner send it.

use super::auth;
use countersign_protocol::limits::SOCKET_RESPONSE_LINE_BYTES;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::{
    AnswerLine, AskFrame, AskRequest, ExecAnswer, ExecRequest, Printed, RequestLine,
};
use countersign_protocol::vocabulary::Decision;
use serde_json::Value;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// It could not be reached. That does not prove that none runs: [`super::lock::Holder`] does.
    #[error("no app answers on {path}: {source}")]
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
    /// What came of what a command printed could not be passed on.
    #[error("what the command prints cannot be written: {0}")]
    NotPrinted(io::Error),
    /// The request has no JSON form.
    #[error("the request cannot be sent: {0}")]
    BadRequest(String),
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
    let frame = RequestLine::Request(Box::new(AskFrame {
        token: token.expose().to_owned(),
        id: fresh_id(),
        request: request.clone(),
    }));
    converse(path, &frame, wait, |line| match line.get("type").and_then(Value::as_str) {
        Some("decision") => {
            let word = line.get("decision").and_then(Value::as_str).filter(|word| !word.is_empty())?;
            Some(
                Decision::from_word(word).ok_or_else(|| ClientError::BadAnswer(format!("decision {word:?}"))),
            )
        }
        _ => None,
    })
    .await
}

/// Has a command run. Dropping the future closes the connection, which withdraws or ends it.
pub async fn exec(
    path: &Path,
    token: &SocketToken,
    request: &ExecRequest,
    now_ms: i64,
    wait: Duration,
) -> Result<ExecAnswer, ClientError> {
    exec_watched(path, token, request, now_ms, wait, || {}).await
}

/// The same; `started` is called when the command's process was started, if the request has a `nodeRun`.
pub async fn exec_watched(
    path: &Path,
    token: &SocketToken,
    request: &ExecRequest,
    now_ms: i64,
    wait: Duration,
    started: impl Fn(),
) -> Result<ExecAnswer, ClientError> {
    let json = serde_json::to_string(request).map_err(|error| ClientError::BadRequest(error.to_string()))?;
    let frame = RequestLine::Exec(auth::signed_frame(token, fresh_id(), now_ms, json));
    converse(path, &frame, wait, |line| match line.get("type").and_then(Value::as_str) {
        Some("exec-res") => Some(exec_answer(line)),
        Some("exec-started") => {
            started();
            None
        }
        _ => None,
    })
    .await
}

/// The same; `printed` gets what the command prints as it prints it, and the answer has none of that. An
/// error of `printed` ends the command, and comes back. An app that knows nothing of this has all of
/// it in its answer.
pub async fn exec_followed(
    path: &Path,
    token: &SocketToken,
    request: &ExecRequest,
    now_ms: i64,
    wait: Duration,
    printed: impl Fn(Printed, &str) -> io::Result<()>,
) -> Result<ExecAnswer, ClientError> {
    let request = ExecRequest { follow: true, ..request.clone() };
    let json = serde_json::to_string(&request).map_err(|error| ClientError::BadRequest(error.to_string()))?;
    let frame = RequestLine::Exec(auth::signed_frame(token, fresh_id(), now_ms, json));
    converse(path, &frame, wait, |line| match line.get("type").and_then(Value::as_str) {
        Some("exec-res") => Some(exec_answer(line)),
        Some("exec-printed") => {
            let AnswerLine::ExecPrinted { on, text, .. } = serde_json::from_value(line).ok()? else {
                return None;
            };
            printed(on, &text).err().map(|error| Err(ClientError::NotPrinted(error)))
        }
        _ => None,
    })
    .await
}

/// An answer says either what came of the run or why there was none; anything else counts as no app.
fn exec_answer(line: Value) -> Result<ExecAnswer, ClientError> {
    let answer: ExecAnswer =
        serde_json::from_value(line).map_err(|error| ClientError::BadAnswer(error.to_string()))?;
    match (answer.ok, &answer.payload, &answer.error) {
        (true, Some(_), _) | (false, _, Some(_)) => Ok(answer),
        (true, None, _) => Err(ClientError::BadAnswer("ok without a payload".into())),
        (false, _, None) => Err(ClientError::BadAnswer("refused without an error".into())),
    }
}

async fn converse<T>(
    path: &Path,
    frame: &RequestLine,
    wait: Duration,
    accept: impl Fn(Value) -> Option<Result<T, ClientError>>,
) -> Result<T, ClientError> {
    let mut line = serde_json::to_vec(frame).map_err(|error| ClientError::BadRequest(error.to_string()))?;
    line.push(b'\n');
    let talk = async {
        let mut stream = connect(path).await?;
        // An app that refuses this peer answers before it reads, so a failed write is no reason not to look.
        if stream.write_all(&line).await.is_ok() {
            let _ = stream.shutdown().await;
        }
        let mut reader =
            BufReader::with_capacity(CHUNK_BYTES, stream).take(SOCKET_RESPONSE_LINE_BYTES as u64);
        let mut text = Vec::new();
        loop {
            text.clear();
            reader.set_limit(SOCKET_RESPONSE_LINE_BYTES as u64);
            match reader.read_until(b'\n', &mut text).await {
                Ok(0) | Err(_) => return Err(ClientError::NoAnswer),
                Ok(_) if reader.limit() == 0 && !text.ends_with(b"\n") => {
                    return Err(ClientError::BadAnswer(format!(
                        "longer than {SOCKET_RESPONSE_LINE_BYTES} bytes"
                    )));
                }
                Ok(_) => {}
            }
            if let Some(answer) = serde_json::from_slice(&text).ok().and_then(&accept) {
                return answer;
            }
        }
    };
    tokio::time::timeout(wait, talk).await.unwrap_or(Err(ClientError::TimedOut(wait)))
}

/// Whether whoever listens at `path` still takes callers, and its process as the kernel tells it. It says
/// nothing and wants nothing, which costs the app a moment.
pub async fn knock(path: &Path, wait: Duration) -> Result<Option<i32>, ClientError> {
    let knocking = async {
        let mut stream = connect(path).await?;
        let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
        let _ = stream.shutdown().await;
        // It is closed as soon as somebody looks at it; whatever is said before counts as a sign of life too.
        let _ = stream.read(&mut [0]).await;
        Ok(pid)
    };
    tokio::time::timeout(wait, knocking).await.unwrap_or(Err(ClientError::TimedOut(wait)))
}

/// Connects; waits while the app has more callers than the kernel queues.
async fn connect(path: &Path) -> Result<UnixStream, ClientError> {
    loop {
        match UnixStream::connect(path).await {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == ErrorKind::WouldBlock => tokio::time::sleep(CONNECT_PAUSE).await,
            Err(source) => return Err(ClientError::NoApp { path: path.display().to_string(), source }),
        }
    }
}

fn fresh_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Between tries while the app's queue is full: short beside a person's answer, long beside a system call.
const CONNECT_PAUSE: Duration = Duration::from_millis(10);

/// Read at once, in bytes: most answers fit.
const CHUNK_BYTES: usize = 8 * 1_024;
