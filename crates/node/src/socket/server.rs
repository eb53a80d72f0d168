//! The app's side of the approval socket: limits, peer check, framing, authentication; then a [`Handler`].

use super::connection::{self, BUSY, GONE_GRACE, Gate, Shared};
use super::listener::{self, BindError, Listener};
use super::places::{MAX_RUNNING, MAX_UNDECIDED, Readers, Room};
use super::vigil::{Look, Restored, Vigil};
use crate::executor::Outlet;
use countersign_approvals::ports::Ports;
use countersign_approvals::store::{Current, Store, StoreError};
use countersign_policy::document;
use countersign_protocol::history::SocketDoor;
use countersign_protocol::question::Via;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::{AskRequest, ExecError, ExecPayload, ExecRequest};
use countersign_protocol::state::{SocketState, StoreState};
use countersign_protocol::vocabulary::Decision;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Who is at the other end, from the kernel.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Peer {
    /// Process id.
    pub pid: Option<i32>,
    /// Real path of its executable, when readable.
    pub program: Option<String>,
    /// Through which door it came, where that is not the one of the whole host.
    pub via: Option<Via>,
}

/// One authenticated request.
#[derive(Clone, Debug)]
pub struct Call<R> {
    /// The frame's id.
    pub id: String,
    /// Who asks.
    pub peer: Peer,
    /// What.
    pub request: R,
    /// Cancelled when the requester closed its connection entirely (never on half-close), and when the server
    /// stops. The handler's future is dropped a few seconds later if it has not ended by then.
    pub gone: CancellationToken,
    /// To be cancelled when a command's process is started.
    pub started: CancellationToken,
    /// Takes what a command prints, where that is wanted.
    pub outlet: Option<Outlet>,
}

/// What the server does with authenticated requests.
pub trait Handler: Send + Sync + 'static {
    /// Asks the person. `None` means silence: the connection is closed without an answer.
    fn ask(&self, call: Call<AskRequest>) -> impl Future<Output = Option<Decision>> + Send;
    /// Asks if needed, runs, returns the output.
    fn exec(&self, call: Call<ExecRequest>) -> impl Future<Output = Result<ExecPayload, ExecError>> + Send;
}

/// Starts the server: endpoint from `store.ensure_socket()`, re-read on every try; back-off 1 s doubling to
/// 30 s. Ends, answering nothing more and removing the socket, when `stop` is cancelled. The receiver tells
/// its state; `restored` hears when the socket was lost and is bound again.
///
/// The token is looked up in the document at each authentication: a rotated one takes effect at once.
pub fn start<H: Handler>(
    store: Store,
    ports: Ports,
    handler: Arc<H>,
    restored: mpsc::Sender<Restored>,
    tracker: &TaskTracker,
    stop: CancellationToken,
) -> watch::Receiver<SocketState> {
    let (state, receiver) = watch::channel(SocketState::Off { reason: "starting".into() });
    let token = {
        let store = store.clone();
        Box::new(move || token_of(&store.current()))
    };
    let owner = rustix::process::geteuid().as_raw();
    let gate = Gate::new(Arc::clone(&ports.clock));
    let shared = Arc::new(Shared { handler, ports, token, owner, gate, room: Room::new() });
    tracker.spawn(keep_listening(store, shared, stop, Watchers { state, restored }));
    receiver
}

/// Who hears how the socket is.
pub(super) struct Watchers {
    pub(super) state: watch::Sender<SocketState>,
    pub(super) restored: mpsc::Sender<Restored>,
}

/// Binds, serves, and tries again, until `stop`.
async fn keep_listening<H: Handler>(
    store: Store,
    shared: Arc<Shared<H>>,
    stop: CancellationToken,
    told: Watchers,
) {
    let Watchers { state, .. } = &told;
    let mut documents = store.watch();
    let mut pause = FIRST_PAUSE;
    while !stop.is_cancelled() {
        let seen = Endpoint::of(&documents.borrow_and_update());
        match open(&store).await {
            Ok(listener) => {
                pause = FIRST_PAUSE;
                // What was filled in just now is no change.
                let seen = Endpoint::of(&store.current());
                tracing::info!(path = %listener.path().display(), "approval socket: listening");
                state.send_replace(SocketState::Listening);
                let moved = seen.moves(&mut documents);
                serve(listener, &shared, &stop, moved, &told).await;
                continue;
            }
            Err(NotOpen::Off(reason)) => {
                tracing::info!(reason, "approval socket: off");
                state.send_replace(SocketState::Off { reason });
                wait(&stop, LAST_PAUSE, seen.changes(&mut documents)).await;
            }
            Err(NotOpen::Later(problem)) => {
                tracing::warn!(problem, pause_s = pause.as_secs(), "approval socket: not listening");
                state.send_replace(SocketState::Retrying { problem });
                wait(&stop, pause, seen.changes(&mut documents)).await;
                pause = (pause * 2).min(LAST_PAUSE);
            }
        }
    }
    state.send_replace(SocketState::Off { reason: "stopped".into() });
}

/// Why there is no socket.
enum NotOpen {
    /// There should be none as long as the document is as it is.
    Off(String),
    /// Something is in the way.
    Later(String),
}

async fn open(store: &Store) -> Result<Listener, NotOpen> {
    let (path, _) = store.ensure_socket().await.map_err(|error| match error {
        StoreError::NoDocument { .. }
        | StoreError::Sqlite { .. }
        | StoreError::Unreadable { .. }
        | StoreError::ShortToken { .. } => NotOpen::Off(error.to_string()),
        other => NotOpen::Later(other.to_string()),
    })?;
    Listener::bind(&path).map_err(|error: BindError| NotOpen::Later(error.to_string()))
}

/// Accepts until `stop`, or until the document names another endpoint. A socket file that is removed
/// meanwhile is bound again, and whoever is told hears of it, and when that cannot be. On the way out the
/// file goes at once; its lock is held until the last connection has ended.
pub(super) async fn serve<H: Handler>(
    mut listener: Listener,
    shared: &Arc<Shared<H>>,
    stop: &CancellationToken,
    moved: impl Future<Output = ()>,
    told: &Watchers,
) {
    let connections = TaskTracker::new();
    let ending = stop.child_token();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let readers = Readers::new(MAX_READERS);
    let mut vigil = Vigil::over(&listener, SocketDoor::Approval, told.restored.clone());
    let mut moved = pin!(moved);
    loop {
        let caller = async {
            let reader = readers.enter().await;
            (reader, listener.accept(&BUSY).await)
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            () = &mut moved => {
                tracing::info!("approval socket: the document names another endpoint");
                break;
            }
            () = vigil.stirs() => {
                let found = match vigil.look(&mut listener) {
                    Look::AsBound | Look::Restored(_) => SocketState::Listening,
                    Look::Lost(error) => SocketState::Retrying { problem: format!("the socket was lost: {error}") },
                };
                tell(&told.state, found);
            }
            (reader, stream) = caller => match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => {
                    let conversation = connection::serve(stream, Arc::clone(shared), reader, ending.clone());
                    connections.spawn(async move {
                        Box::pin(conversation).await;
                        drop(place);
                    });
                }
                Err(_) => listener::refuse(&stream, &BUSY),
            },
        }
    }
    let lock = listener.retire();
    ending.cancel();
    connections.close();
    if tokio::time::timeout(DRAIN_TIMEOUT, connections.wait()).await.is_err() {
        tracing::warn!(left = connections.len(), "approval socket: connections did not end in time");
    }
    drop(lock);
}

fn tell(state: &watch::Sender<SocketState>, found: SocketState) {
    state.send_if_modified(|told| {
        let is_news = *told != found;
        *told = found;
        is_news
    });
}

async fn wait(stop: &CancellationToken, pause: Duration, changed: impl Future<Output = ()>) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = tokio::time::sleep(pause) => {}
        () = changed => {}
    }
}

/// The part of the document that decides whether and where to listen.
#[derive(Clone, Debug, PartialEq)]
struct Endpoint {
    state: StoreState,
    path: Option<String>,
    is_guarded: bool,
}

impl Endpoint {
    fn of(current: &Current) -> Self {
        let path = current.document.as_ref().and_then(|document| document::socket(document).0);
        Self { state: current.state.clone(), path, is_guarded: token_of(current).is_some() }
    }

    /// Resolves when the document has named another endpoint for a while. What is written piece by piece is
    /// unreadable in between: that authenticates nobody, but is no reason to withdraw what waits.
    async fn moves(self, documents: &mut watch::Receiver<Arc<Current>>) {
        loop {
            self.clone().changes(documents).await;
            let back = documents.wait_for(|current| Self::of(current) == self);
            if !matches!(tokio::time::timeout(SETTLE, back).await, Ok(Ok(_))) {
                return;
            }
        }
    }

    /// Resolves when the document names another endpoint; never when the store is closed.
    async fn changes(self, documents: &mut watch::Receiver<Arc<Current>>) {
        if documents.wait_for(|current| Self::of(current) != self).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// One that is too short lets nobody in.
fn token_of(current: &Current) -> Option<SocketToken> {
    let token = current.document.as_ref().and_then(|document| document::socket(document).1);
    token.filter(SocketToken::is_long_enough)
}

/// Connections served at once, whatever they are about: those counted below, and as many more that still take
/// their answer. The next are told that the app is busy.
const MAX_CONNECTIONS: usize = 2 * (MAX_READERS + MAX_UNDECIDED + MAX_RUNNING);

/// Connections that have not said what they want: each may hold a line of 256 000 bytes.
const MAX_READERS: usize = 128;

/// First and longest pause between tries to listen (docs/protocol/approval-socket.md, "Binding").
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);

/// How long a document must name another endpoint before this one is given up: longer than a write takes on a
/// busy machine, short beside the patience of whoever edits it.
const SETTLE: Duration = Duration::from_secs(2);

/// How long the end of connections is waited for: their handlers get [`GONE_GRACE`] each, all
/// at the same time.
const DRAIN_TIMEOUT: Duration = GONE_GRACE.saturating_add(Duration::from_secs(1));
