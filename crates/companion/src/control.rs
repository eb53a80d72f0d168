//! The control channel: the command line talks to the running app. One JSON line each way, then the
//! connection ends.

mod kept;
mod listing;

use crate::desk::Desk;
use crate::routing::RunRequest;
use crate::tools::{Failure, Listing};
use countersign_core::presence::{Presence, Unreached};
use countersign_node::socket::listener::{self, BindError, Listener};
use countersign_node::socket::places::{Reader, Readers};
use countersign_node::socket::server::Peer;
use countersign_node::socket::vigil::{Restored, Vigil};
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::history::SocketDoor;
use countersign_protocol::ids::RequestId;
use countersign_protocol::limits::CONTROL_LINE_BYTES;
use countersign_protocol::question::Via;
use countersign_protocol::tools::{Permission, ToolCall, ToolFailure};
use countersign_routing::route::Tool;
use std::io;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Why the app gave no answer. Whoever asks decides about each reason, so one that is added has to be decided
/// about everywhere.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// Its lock is free, so it certainly does not run.
    #[error("the Countersign app is not running")]
    NotRunning,
    /// It cannot be reached, and is not proven absent.
    #[error("{0}")]
    Unreachable(#[from] Unreached),
    /// The connection broke or the answer made no sense.
    #[error("the Countersign app did not answer: {0}")]
    Broken(#[from] io::Error),
}

/// Binds the control socket; it doubles as the single-instance lock of a state directory.
pub fn bind(path: &Path) -> Result<Listener, BindError> {
    Listener::bind(path)
}

/// Serves the channel until `stop`. A socket file that is removed meanwhile is bound again, of which
/// `restored` hears.
pub fn serve(
    mut listener: Listener,
    desk: Desk,
    restored: mpsc::Sender<Restored>,
    tracker: &TaskTracker,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let readers = Readers::new(MAX_READERS);
    let room = Arc::new(Semaphore::new(MAX_RUNS));
    let connections = tracker.clone();
    tracker.spawn(async move {
        let mut vigil = Vigil::over(&listener, SocketDoor::Control, restored);
        loop {
            let caller = async {
                let reader = readers.enter().await;
                (reader, listener.accept(&NO_FILES).await)
            };
            let (reader, stream) = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = vigil.stirs() => {
                    vigil.look(&mut listener);
                    continue;
                }
                caller = caller => caller,
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                listener::refuse(&stream, &BUSY);
                continue;
            };
            let (desk, stop) = (desk.clone(), stop.clone());
            let runs = Runs { room: Arc::clone(&room), tracker: connections.clone(), stop: stop.clone() };
            connections.spawn(async move {
                let _place = place;
                tokio::select! {
                    () = stop.cancelled() => {}
                    result = answer(stream, reader, desk, runs) => if let Err(error) = result {
                        tracing::debug!(%error, "a control connection ended early");
                    }
                }
            });
        }
    });
}

/// Sends one request to the app and waits for the answer, at most `wait`. Dropping the future closes the
/// connection, which takes back a confirmation that still waits.
pub async fn call(
    path: &Path,
    request: &ControlRequest,
    wait: Duration,
) -> Result<ControlResponse, ControlError> {
    let followed = follow(path, request, |_| {});
    timeout(wait, followed)
        .await
        .unwrap_or_else(|_| Err(ControlError::Broken(io::ErrorKind::TimedOut.into())))
}

/// The same for as long as it takes; `progress` hears what is reported on the way.
pub async fn follow(
    path: &Path,
    request: &ControlRequest,
    mut progress: impl FnMut(String),
) -> Result<ControlResponse, ControlError> {
    let mut stream = match UnixStream::connect(path).await {
        Ok(stream) => stream,
        Err(error) => {
            return Err(match Presence::at(&[path]) {
                Presence::Absent => ControlError::NotRunning,
                there => Unreached::new(there, error.to_string()).into(),
            });
        }
    };
    let mut line = serde_json::to_vec(request).map_err(io::Error::from)?;
    line.push(b'\n');
    // An app that is busy says so before it reads, and closes: a failed write is no reason not to look.
    let _ = stream.write_all(&line).await;
    let mut reader = BufReader::new(stream);
    loop {
        let answer = read_line(&mut reader).await?;
        match serde_json::from_slice(&answer).map_err(io::Error::from)? {
            ControlResponse::Progress { text } => progress(text),
            response => return Ok(response),
        }
    }
}

/// Where runs of this channel have their place.
struct Runs {
    room: Arc<Semaphore>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

async fn answer(mut stream: UnixStream, reader: Reader, desk: Desk, runs: Runs) -> io::Result<()> {
    let credentials = stream.peer_cred()?;
    if credentials.uid() != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let pid = credentials.pid();
    let program = pid.and_then(|pid| std::fs::read_link(format!("/proc/{pid}/exe")).ok());
    let program = program.map(|path| path.to_string_lossy().into_owned());
    let peer = Peer { pid, program, via: None };
    let mut buffered = BufReader::new(&mut stream);
    let line = tokio::select! {
        line = timeout(READ_WAIT, read_line(&mut buffered)) => line??,
        () = reader.shown_out() => return Err(io::ErrorKind::TimedOut.into()),
    };
    drop(reader);
    let (mut reading, mut writing) = stream.split();
    let response = match serde_json::from_slice::<ControlRequest>(&line) {
        Ok(request) => {
            let (progress, mut reports) = mpsc::channel(REPORTS);
            let mut responding = pin!(respond(request, &desk, peer, runs, progress));
            let mut rest = [0_u8; 1];
            let mut left = pin!(reading.read(&mut rest));
            let response = loop {
                tokio::select! {
                    biased;
                    Some(text) = reports.recv() => {
                        write_line(&mut writing, &ControlResponse::Progress { text }).await?;
                    }
                    response = &mut responding => break response,
                    // The asker's going away takes back what it asked for.
                    _ = &mut left => return Ok(()),
                }
            };
            while let Ok(text) = reports.try_recv() {
                write_line(&mut writing, &ControlResponse::Progress { text }).await?;
            }
            response
        }
        Err(error) => ControlResponse::Error { message: format!("expected a control request, got: {error}") },
    };
    write_line(&mut writing, &response).await
}

async fn write_line(writing: &mut (impl AsyncWrite + Unpin), response: &ControlResponse) -> io::Result<()> {
    let mut line = serde_json::to_vec(response)?;
    line.push(b'\n');
    timeout(READ_WAIT, writing.write_all(&line)).await?
}

async fn respond(
    request: ControlRequest,
    desk: &Desk,
    peer: Peer,
    runs: Runs,
    progress: mpsc::Sender<String>,
) -> ControlResponse {
    match request {
        ControlRequest::Run { exec, host, node, security, ask } => {
            let tool = Tool { host, node, security, ask };
            run(RunRequest { exec: *exec, tool }, desk, peer, runs).await
        }
        ControlRequest::Sessions => ControlResponse::Sessions { sessions: desk.sessions() },
        ControlRequest::Say { agent, session, text } => {
            match desk.say_to_session(&agent, &session, &text).await {
                Ok(said) => {
                    let (reply, cleaned, applied) = (said.reply, said.cleaned, said.applied);
                    ControlResponse::Said { reply, cleaned, applied }
                }
                Err(error) => ControlResponse::Error { message: error.message },
            }
        }
        ControlRequest::ClearSession { agent, session } => {
            match desk.clear_session_from_command_line(&agent, &session).await {
                Ok(cleared) => {
                    let (applied, found) = (cleared.applied, cleared.found);
                    ControlResponse::SessionCleared { applied, found }
                }
                Err(error) => ControlResponse::Error { message: error.message },
            }
        }
        ControlRequest::Status => ControlResponse::Status {
            status: Box::new(desk.looked_at().await),
            pid: std::process::id(),
            gateway: desk.embedded().state,
            turned_away: desk.turned_away(),
            gateways: desk.gateways(),
            ignored: desk.ignored(),
        },
        ControlRequest::Pending => {
            let snapshot = desk.snapshot().await;
            listing::pending(snapshot.cards, snapshot.confirmations)
        }
        ControlRequest::Deny { id: Some(id) } => {
            let denied = desk.deny(&RequestId::from(id.as_str()), "command-line").await;
            if denied {
                ControlResponse::Denied { ids: vec![id] }
            } else {
                ControlResponse::Error { message: format!("no request {id} is waiting") }
            }
        }
        ControlRequest::Deny { id: None } => ControlResponse::Denied {
            ids: desk.deny_all("command-line").await.into_iter().map(String::from).collect(),
        },
        ControlRequest::Edit { base_hash, edits } => {
            match desk.edit_from_command_line(base_hash, edits).await {
                Ok(result) => ControlResponse::Edited { result },
                Err(error) => ControlResponse::Error { message: error.message },
            }
        }
        ControlRequest::EditRules { base_hash, edits } => {
            match desk.edit_rules_from_command_line(base_hash, edits).await {
                Ok(result) => ControlResponse::RulesEdited { result },
                Err(error) => ControlResponse::Error { message: error.message },
            }
        }
        ControlRequest::Changes { seq, session: false } => kept::changes(desk, seq).await,
        ControlRequest::Changes { seq, session: true } => kept::session_changes(desk, seq).await,
        ControlRequest::PutBack { seq, session: false } => kept::put_back(desk, seq, None).await,
        ControlRequest::PutBack { seq, session: true } => kept::put_session_back(desk, seq).await,
        ControlRequest::Events { session, after, wait_ms } => {
            let wait = Duration::from_millis(wait_ms).min(LONGEST_EVENTS_WAIT);
            match desk.events_of(&session, after, wait).await {
                Ok(events) => ControlResponse::Events { events },
                Err(error) => ControlResponse::Error { message: error.message },
            }
        }
        ControlRequest::Tools { caller } => match desk.tools().list(&caller).await {
            Ok(Listing { tools, removed, warnings, steps, standing }) => {
                let steps = steps.iter().map(ToString::to_string).collect();
                ControlResponse::Tools { tools, removed, warnings, steps, standing }
            }
            Err(failure) => ControlResponse::Error { message: failure.message },
        },
        ControlRequest::CallTool { call } => call_tool(*call, desk, peer, runs, progress).await,
        ControlRequest::PermitTool { call, takes_events } => {
            permit_tool(*call, takes_events, desk, peer, runs).await
        }
        ControlRequest::Show { page } => {
            desk.show_page(page);
            ControlResponse::Shown
        }
    }
}

/// Calls a tool.
async fn call_tool(
    call: ToolCall,
    desk: &Desk,
    peer: Peer,
    runs: Runs,
    progress: mpsc::Sender<String>,
) -> ControlResponse {
    let tools = desk.tools().clone();
    let called = runs.own(move |gone| async move { tools.call(call, &peer, progress, gone).await }).await;
    let failed = |failure, message| ControlResponse::Called { output: None, failure: Some(failure), message };
    match called {
        Ok(Ok(output)) => {
            ControlResponse::Called { output: Some(output), failure: None, message: String::new() }
        }
        Ok(Err(Failure { failure, message })) => failed(failure, message),
        Err(why) => failed(ToolFailure::Failed, why.to_string()),
    }
}

/// Asks about a tool of somebody else's.
async fn permit_tool(
    call: ToolCall,
    takes_events: bool,
    desk: &Desk,
    peer: Peer,
    runs: Runs,
) -> ControlResponse {
    let session = takes_events.then(|| call.caller.session.clone()).flatten();
    let tools = desk.tools().clone();
    let permitted = runs.own(move |gone| async move { tools.permit(call, &peer, gone).await }).await;
    let denied = |why: NotDone| Permission::Deny { message: why.to_string(), failure: ToolFailure::Failed };
    let events = session.map(|session| desk.take_events(&session)).unwrap_or_default();
    ControlResponse::Permitted { permission: permitted.unwrap_or_else(denied), events }
}

impl Runs {
    /// Has something done in a task of its own, so that it is ended and written down also when nobody waits
    /// for it any more.
    async fn own<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        self,
        work: impl FnOnce(CancellationToken) -> F,
    ) -> Result<T, NotDone> {
        let Ok(permit) = self.room.try_acquire_owned() else { return Err(NotDone::Full) };
        let gone = self.stop.child_token();
        let _guard = gone.clone().drop_guard();
        let working = work(gone);
        let working = self.tracker.spawn(async move {
            let _permit = permit;
            working.await
        });
        Ok(working.await?)
    }
}

/// Why something was not done for the command line.
#[derive(Debug, thiserror::Error)]
enum NotDone {
    #[error("{MAX_RUNS} commands already run through the app")]
    Full,
    /// The task panicked.
    #[error(transparent)]
    Broken(#[from] tokio::task::JoinError),
}

/// Runs a command.
async fn run(request: RunRequest, desk: &Desk, peer: Peer, runs: Runs) -> ControlResponse {
    let (desk, peer) = (desk.clone(), Peer { via: Some(Via::CommandLine), ..peer });
    match runs.own(move |gone| async move { desk.run_routed(request, &peer, gone).await }).await {
        Ok(routed) => {
            let (payload, error) = match routed.result {
                Ok(payload) => (Some(payload), None),
                Err(refusal) => (None, Some(refusal.error)),
            };
            ControlResponse::Ran { taken: routed.taken, payload, error }
        }
        Err(why) => ControlResponse::Error { message: why.to_string() },
    }
}

pub(crate) async fn read_line(reader: &mut BufReader<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let limit = u64::try_from(CONTROL_LINE_BYTES).unwrap_or(u64::MAX);
    reader.take(limit).read_until(b'\n', &mut line).await?;
    if line.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    if line.len() >= CONTROL_LINE_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the line is too long"));
    }
    Ok(line)
}

/// The line for a caller that cannot even be listened to.
static BUSY: LazyLock<Vec<u8>> = LazyLock::new(|| turned_away("the app is busy; try again later"));

/// The same when no descriptor is left.
static NO_FILES: LazyLock<Vec<u8>> =
    LazyLock::new(|| turned_away("the app can open no more files, so it takes no callers; try again later"));

fn turned_away(message: &str) -> Vec<u8> {
    let response = ControlResponse::Error { message: message.to_owned() };
    let mut line = serde_json::to_vec(&response).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Connections served at once: one person's terminals, the runs of their agents, and those that have not said
/// what they want. The next are told that the app is busy.
const MAX_CONNECTIONS: usize = MAX_READERS + MAX_RUNS + 64;

/// Connections that have not said what they want: each may hold a line of 4 MiB, and goes when others wait.
const MAX_READERS: usize = 32;

/// Runs at once, so many fewer that there is always room to look and to deny.
const MAX_RUNS: usize = 128;

/// Reports of a tool that wait for a slow client; more are dropped.
const REPORTS: usize = 64;

/// How long a look at a session's events waits for one.
const LONGEST_EVENTS_WAIT: Duration = Duration::from_secs(60);

/// How long a connected client may take to send its line, or to take the answer.
const READ_WAIT: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixListener;

    #[tokio::test]
    async fn who_is_turned_away_before_its_line_is_read_hears_that_the_app_is_busy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        // More than a socket holds, so that it is still being written when the other end closes.
        let text = "x".repeat(8 * 1_024 * 1_024);
        let request = ControlRequest::Say { agent: "main".to_owned(), session: "s".to_owned(), text };
        let refusing = async {
            let (caller, _) = listener.accept().await.unwrap();
            caller.readable().await.unwrap();
            listener::refuse(&caller, &BUSY);
        };
        let (answer, ()) = tokio::join!(call(&path, &request, Duration::from_secs(20)), refusing);
        assert!(
            matches!(&answer, Ok(ControlResponse::Error { message }) if message.contains("busy")),
            "{answer:?}"
        );
    }
}
