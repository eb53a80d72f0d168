//! One connection: one line in, and one line out, after those that tell of what a command prints where they
//! are wanted. What is malformed, unauthenticated or in a hurry ends here; nothing of a frame is ever logged.

use super::auth::{self, Replays, Seen};
use super::hangup::Hangup;
use super::places::{Reader, Room};
use super::rate::Bucket;
use super::server::{Call, Handler, Peer};
use crate::executor::Outlet;
use countersign_approvals::ports::{Clock, Ports};
use countersign_protocol::limits::{SOCKET_REQUEST_LINE_BYTES, SOCKET_RESPONSE_LINE_BYTES};
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::{
    AnswerLine, AskFrame, ExecAnswer, ExecError, ExecFrame, ExecPayload, ExecRequest, Printed, RequestLine,
};
use countersign_protocol::vocabulary::Decision;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// What all connections of a server share.
pub(super) struct Shared<H> {
    pub(super) handler: Arc<H>,
    pub(super) ports: Ports,
    /// The token in force now; none while the document is not usable.
    pub(super) token: Box<dyn Fn() -> Option<SocketToken> + Send + Sync>,
    /// The only user that is listened to.
    pub(super) owner: u32,
    pub(super) gate: Gate,
    pub(super) room: Room,
}

/// Limits over all connections.
pub(super) struct Gate {
    clock: Arc<dyn Clock>,
    /// The same moment twice: when this was made, and what the clock said then.
    began: (Instant, i64),
    counters: Mutex<Counters>,
}

#[derive(Debug)]
struct Counters {
    failures: Bucket,
    requests: Bucket,
    replays: Replays,
}

impl Gate {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let began = (Instant::now(), clock.steady_ms());
        let counters = Mutex::new(Counters {
            failures: Bucket::new(FAILURE_BURST, FAILURES_PER_SECOND, began.0),
            requests: Bucket::new(REQUEST_BURST, REQUESTS_PER_SECOND, began.0),
            replays: Replays::default(),
        });
        Self { clock, began, counters }
    }

    fn now(&self) -> Instant {
        let (began, began_ms) = self.began;
        let since = u64::try_from(self.clock.steady_ms().saturating_sub(began_ms)).unwrap_or_default();
        began + Duration::from_millis(since)
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        // The counters stay meaningful whatever a panicking holder was doing.
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a failed authentication is still worth an answer.
    fn answers_failure(&self) -> bool {
        self.counters().failures.take(self.now())
    }

    fn admits_request(&self) -> bool {
        self.counters().requests.take(self.now())
    }

    fn admits_frame(&self, frame: &ExecFrame) -> Result<(), ExecError> {
        let now = self.now();
        let mut counters = self.counters();
        if !counters.requests.take(now) {
            return Err(too_many());
        }
        match counters.replays.note(frame, now) {
            Seen::First => Ok(()),
            Seen::Again => Err(invalid("replayed request", "replay")),
            Seen::Full => Err(too_many()),
        }
    }
}

/// Serves one connection to its end. Its place among the readers is free as soon as its line is read.
/// Cancelling `stop` ends it without an answer.
pub(super) async fn serve<H: Handler>(
    mut stream: UnixStream,
    shared: Arc<Shared<H>>,
    reader: Reader,
    stop: CancellationToken,
) {
    let answer = match peer_of(&stream, shared.owner) {
        Some(peer) => {
            let line = tokio::select! {
                line = tokio::time::timeout(READ_TIMEOUT, read_line(&mut stream)) => line,
                () = reader.shown_out() => return,
                () = stop.cancelled() => return,
            };
            drop(reader);
            let Ok(Ok(line)) = line else { return };
            match serde_json::from_slice(&line) {
                Ok(RequestLine::Request(frame)) => ask(&stream, &shared, &stop, peer, *frame).await,
                Ok(RequestLine::Exec(frame)) => exec(&mut stream, &shared, &stop, peer, frame).await,
                Err(_) => {
                    tracing::debug!(bytes = line.len(), "approval socket: line not understood");
                    None
                }
            }
        }
        None => {
            tracing::warn!("approval socket: connection of another user refused");
            Some(AnswerLine::Decision { id: shared.ports.ids.uuid(), decision: Decision::Deny })
        }
    };
    if let Some(answer) = answer {
        tokio::select! {
            _ = tokio::time::timeout(WRITE_TIMEOUT, write_line(&mut stream, &answer)) => {}
            () = stop.cancelled() => {}
        }
    }
}

/// The peer, if the kernel says that it is `owner`'s.
fn peer_of(stream: &UnixStream, owner: u32) -> Option<Peer> {
    let credentials = stream.peer_cred().ok().filter(|credentials| credentials.uid() == owner)?;
    let pid = credentials.pid();
    let program = pid
        .and_then(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).ok())
        .map(|path| path.to_string_lossy().into_owned());
    Some(Peer { pid, program, via: None })
}

/// Reads up to the first newline, the end of the stream, or the limit, whichever comes first.
pub(crate) async fn read_line(mut stream: impl AsyncRead + Unpin) -> std::io::Result<Vec<u8>> {
    let mut line = Vec::with_capacity(READ_CHUNK_BYTES);
    let mut chunk = [0; READ_CHUNK_BYTES];
    while line.len() < SOCKET_REQUEST_LINE_BYTES {
        let room = READ_CHUNK_BYTES.min(SOCKET_REQUEST_LINE_BYTES - line.len());
        let reading = stream.read(chunk.get_mut(..room).unwrap_or_default());
        // Somebody who connects and says nothing must not keep the place of somebody who asks.
        let wait = if line.is_empty() { FIRST_BYTE_TIMEOUT } else { READ_TIMEOUT };
        let count = tokio::time::timeout(wait, reading).await??;
        let read = chunk.get(..count).unwrap_or_default();
        let newline = read.iter().position(|byte| *byte == b'\n');
        line.extend_from_slice(read.get(..newline.unwrap_or(count)).unwrap_or_default());
        if newline.is_some() || count == 0 {
            break;
        }
    }
    Ok(line)
}

async fn write_line(stream: &mut UnixStream, answer: &AnswerLine) {
    let Ok(mut line) = serde_json::to_vec(answer) else { return };
    line.push(b'\n');
    if line.len() > SOCKET_RESPONSE_LINE_BYTES {
        tracing::error!(bytes = line.len(), "approval socket: answer is longer than a client reads");
        return;
    }
    let is_last = !matches!(answer, AnswerLine::ExecStarted { .. });
    if stream.write_all(&line).await.is_ok() && is_last {
        let _ = stream.shutdown().await;
    }
}

async fn ask<H: Handler>(
    stream: &UnixStream,
    shared: &Shared<H>,
    stop: &CancellationToken,
    peer: Peer,
    frame: AskFrame,
) -> Option<AnswerLine> {
    let AskFrame { token: given, id, request } = frame;
    if !(shared.token)().is_some_and(|token| auth::token_matches(&token, &given)) {
        tracing::warn!(pid = peer.pid, "approval socket: wrong token");
        let denied = AnswerLine::Decision { id, decision: Decision::Deny };
        return shared.gate.answers_failure().then_some(denied);
    }
    if !shared.gate.admits_request() {
        tracing::warn!(pid = peer.pid, "approval socket: too many requests");
        return None;
    }
    let Some(_guest) = shared.room.enter() else {
        tracing::warn!(pid = peer.pid, "approval socket: busy");
        return None;
    };
    let gone = CancellationToken::new();
    let started = CancellationToken::new();
    let call = Call { id: id.clone(), peer, request, gone: gone.clone(), started, outlet: None };
    let decision = attend(stream, stop, gone, shared.handler.ask(call)).await??;
    Some(AnswerLine::Decision { id, decision })
}

async fn exec<H: Handler>(
    stream: &mut UnixStream,
    shared: &Shared<H>,
    stop: &CancellationToken,
    peer: Peer,
    frame: ExecFrame,
) -> Option<AnswerLine> {
    let id = frame.id.clone();
    let result = match authenticate(shared, &frame) {
        Authentication::Passed(request) => {
            let Some(mut guest) = shared.room.enter() else {
                tracing::warn!(pid = peer.pid, "approval socket: busy");
                return Some(AnswerLine::ExecRes(exec_answer(id, Err(busy()))));
            };
            let (gone, started) = (CancellationToken::new(), CancellationToken::new());
            let wants_start = request.node_run.is_some();
            let (outlet, pieces) = request.follow.then(Outlet::new).unzip();
            let call = Call {
                id: id.clone(),
                peer,
                request: *request,
                gone: gone.clone(),
                started: started.clone(),
                outlet,
            };
            let mut working = pin!(async {
                let mut working = pin!(shared.handler.exec(call));
                tokio::select! {
                    biased;
                    result = working.as_mut() => return result,
                    () = started.cancelled() => guest.runs(),
                }
                working.await
            });
            if let Some(pieces) = pieces {
                let followed = follow(stream, &id, pieces, &gone, working);
                let mut result = attend(stream, stop, gone.clone(), followed).await?;
                if let (Ok(payload), true) = (&mut result, started.is_cancelled()) {
                    (payload.stdout, payload.stderr) = (String::new(), String::new());
                }
                return Some(AnswerLine::ExecRes(exec_answer(id, result)));
            }
            let early = attend(stream, stop, gone.clone(), async {
                tokio::select! {
                    biased;
                    result = working.as_mut() => Some(result),
                    () = lasts(&started), if wants_start => None,
                }
            });
            match early.await? {
                Some(result) => result,
                None => {
                    let line = AnswerLine::ExecStarted { id: id.clone() };
                    let told = tokio::time::timeout(WRITE_TIMEOUT, write_line(stream, &line)).await;
                    if told.is_err() {
                        gone.cancel();
                    }
                    attend(stream, stop, gone, working).await?
                }
            }
        }
        Authentication::Refused(error) => {
            tracing::warn!(pid = peer.pid, reason = error.reason, "approval socket: frame refused");
            Err(error)
        }
        Authentication::Ignored => return None,
    };
    Some(AnswerLine::ExecRes(exec_answer(id, result)))
}

/// Tells what a command prints as long as `working` works, and what is left of it then. Whoever does not read
/// any more has `gone`.
async fn follow<T>(
    stream: &UnixStream,
    id: &str,
    mut pieces: mpsc::Receiver<(Printed, String)>,
    gone: &CancellationToken,
    working: impl Future<Output = T>,
) -> T {
    let done = CancellationToken::new();
    let ended = done.clone();
    // Ends with its first error, and then the command prints on unread.
    let telling = async move {
        loop {
            let piece = tokio::select! {
                biased;
                piece = pieces.recv() => piece,
                () = ended.cancelled() => None,
            };
            let Some((on, text)) = piece else { return Ok(()) };
            let line = AnswerLine::ExecPrinted { id: id.to_owned(), on, text };
            let mut line = serde_json::to_vec(&line)?;
            line.push(b'\n');
            let written = write_all(stream, &line);
            // As long as it runs it waits for its reader, as it would at a pipe.
            tokio::select! {
                written = written => written?,
                () = unread(&ended) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
    };
    let working = async {
        let result = working.await;
        done.cancel();
        result
    };
    let telling = async {
        let told: io::Result<()> = telling.await;
        if told.is_err() {
            gone.cancel();
        }
    };
    tokio::join!(working, telling).0
}

/// The longest wait for a reader once all was said.
async fn unread(done: &CancellationToken) {
    done.cancelled().await;
    tokio::time::sleep(WRITE_TIMEOUT).await;
}

async fn write_all(stream: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a command that started is still running a moment later: one that ends at once is told of by
/// its answer alone.
async fn lasts(started: &CancellationToken) {
    started.cancelled().await;
    tokio::time::sleep(STARTED_PAUSE).await;
}

enum Authentication {
    Passed(Box<ExecRequest>),
    Refused(ExecError),
    Ignored,
}

/// In the peers' order: time, signature, then what only a signed frame may cause
/// (docs/protocol/approval-socket.md, "Proof").
fn authenticate<H>(shared: &Shared<H>, frame: &ExecFrame) -> Authentication {
    if !auth::is_fresh(frame, shared.ports.clock.now_ms()) {
        return Authentication::Refused(invalid("expired request", "ttl"));
    }
    if !(shared.token)().is_some_and(|token| auth::is_signed(&token, frame)) {
        return match shared.gate.answers_failure() {
            true => Authentication::Refused(invalid("invalid auth", "hmac")),
            false => Authentication::Ignored,
        };
    }
    if let Err(error) = shared.gate.admits_frame(frame) {
        return Authentication::Refused(error);
    }
    match serde_json::from_str(&frame.request_json) {
        Ok(request) => Authentication::Passed(Box::new(request)),
        Err(_) => Authentication::Refused(invalid("invalid payload", "json")),
    }
}

fn exec_answer(id: String, result: Result<ExecPayload, ExecError>) -> ExecAnswer {
    match result {
        Ok(payload) => ExecAnswer { id, ok: true, payload: Some(payload), error: None },
        Err(error) => ExecAnswer { id, ok: false, payload: None, error: Some(error) },
    }
}

/// Runs `work` for as long as somebody waits for it. `None` when the requester left or the server stops:
/// `gone` is cancelled, and `work` gets a moment to end by itself before it is dropped.
async fn attend<T>(
    stream: &UnixStream,
    stop: &CancellationToken,
    gone: CancellationToken,
    work: impl Future<Output = T>,
) -> Option<T> {
    let hangup = match Hangup::watch(stream) {
        Ok(hangup) => hangup,
        Err(error) => {
            tracing::error!(%error, "approval socket: connection cannot be watched");
            return None;
        }
    };
    let mut work = pin!(work);
    tokio::select! {
        biased;
        () = hangup.wait() => {}
        () = stop.cancelled() => {}
        answer = work.as_mut() => return Some(answer),
    }
    gone.cancel();
    if tokio::time::timeout(GONE_GRACE, work).await.is_err() {
        tracing::warn!("approval socket: a request did not end after its requester left; dropped");
    }
    None
}

fn invalid(message: &str, reason: &str) -> ExecError {
    ExecError { code: "INVALID_REQUEST".into(), message: message.into(), reason: Some(reason.into()) }
}

fn too_many() -> ExecError {
    ExecError {
        code: "UNAVAILABLE".into(),
        message: "too many requests".into(),
        reason: Some("rate-limited".into()),
    }
}

fn busy() -> ExecError {
    ExecError {
        code: "UNAVAILABLE".into(),
        message: "the app is busy: too many requests wait or run; try again later".into(),
        reason: Some("busy".into()),
    }
}

/// The line for a caller that cannot even be listened to. Whoever sent a question takes it for silence,
/// which is no yes.
pub(super) static BUSY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let answer = AnswerLine::ExecRes(exec_answer(String::new(), Err(busy())));
    let mut line = serde_json::to_vec(&answer).unwrap_or_default();
    line.push(b'\n');
    line
});

/// Longest wait for a request line, as the peers set it.
const READ_TIMEOUT: Duration = Duration::from_secs(15);

/// Longest wait for the first bytes of a request line: the peers write as soon as they are connected.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(2);

/// Longest wait for a client that does not read its answer, as the peers set it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(15);

/// How long a command must run to be told of before its answer: another line would only slow
/// down a shorter one.
const STARTED_PAUSE: Duration = Duration::from_millis(30);

/// How long a request may take to end once nobody waits for it: longer than the executor's bounds for ending
/// a process group that resists, so that its end is recorded.
pub(super) const GONE_GRACE: Duration = Duration::from_secs(5);

/// Bytes read at once, as the peers do.
const READ_CHUNK_BYTES: usize = 4_096;

/// Failed authentications that get an answer: 20 at once, then 2 a second (20 in 10 s). More are closed
/// without one, so that guessing is slow to learn from and cheap to refuse; right tokens are not affected.
pub(super) const FAILURE_BURST: u32 = 20;
const FAILURES_PER_SECOND: u32 = 2;

/// Authenticated requests: 64 a second with bursts of twice that. An agent that sends more floods its person.
pub(super) const REQUEST_BURST: u32 = 128;
const REQUESTS_PER_SECOND: u32 = 64;
