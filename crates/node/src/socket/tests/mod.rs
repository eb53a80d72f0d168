//! The socket from both ends, on real sockets in folders of their own. Case numbers are those of
//! the peers' cases.

mod following;
mod frames;
mod full;
mod lifecycle;
mod limits;
mod listener;
mod lost;

use super::connection::{Gate, Shared};
use super::listener::Listener;
use super::places::Room;
use super::server::Watchers;
use super::server::{Call, Handler, serve};
use super::vigil::Restored;
use super::{auth, client};
use crate::testing::PATIENCE;
use countersign_approvals::ports::{Clock, IdSource, Ports};
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::{AskRequest, ExecError, ExecPayload, ExecRequest};
use countersign_protocol::state::SocketState;
use countersign_protocol::vocabulary::Decision;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Where the fake clock stands, in Unix milliseconds.
const NOW: i64 = 1_760_000_000_000;

/// It stands at [`NOW`]; how much time has passed is what a test says, and none by itself.
#[derive(Default)]
struct FakeClock(AtomicI64);

impl Clock for FakeClock {
    fn now_ms(&self) -> i64 {
        NOW
    }

    fn steady_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

struct FixedIds;

impl IdSource for FixedIds {
    fn uuid(&self) -> String {
        "00000000-0000-4000-8000-000000000001".into()
    }

    fn token(&self) -> SocketToken {
        token("a-fresh-token")
    }
}

fn fake_ports() -> Ports {
    Ports { clock: Arc::new(FakeClock::default()), ids: Arc::new(FixedIds) }
}

fn token(text: &str) -> SocketToken {
    SocketToken::parse(text).unwrap()
}

/// A request that waits for the test to answer it.
struct Waiting<R, A> {
    call: Call<R>,
    reply: oneshot::Sender<A>,
}

type Asked = Waiting<AskRequest, Option<Decision>>;
type Ordered = Waiting<ExecRequest, Result<ExecPayload, ExecError>>;

/// Hands every request to the test.
struct Answering {
    asked: mpsc::UnboundedSender<Asked>,
    ordered: mpsc::UnboundedSender<Ordered>,
}

impl Handler for Answering {
    async fn ask(&self, call: Call<AskRequest>) -> Option<Decision> {
        let gone = call.gone.clone();
        let (reply, answer) = oneshot::channel();
        let _ = self.asked.send(Waiting { call, reply });
        tokio::select! {
            answer = answer => answer.unwrap_or(None),
            () = gone.cancelled() => None,
        }
    }

    async fn exec(&self, call: Call<ExecRequest>) -> Result<ExecPayload, ExecError> {
        let gone = call.gone.clone();
        let (reply, answer) = oneshot::channel();
        let _ = self.ordered.send(Waiting { call, reply });
        tokio::select! {
            answer = answer => answer.unwrap(),
            () = gone.cancelled() => Ok(ExecPayload::default()),
        }
    }
}

/// A serving socket, seen from outside and from its handler.
struct Rig {
    folder: TempDir,
    clock: Arc<FakeClock>,
    token: Arc<Mutex<Option<SocketToken>>>,
    asked: mpsc::UnboundedReceiver<Asked>,
    ordered: mpsc::UnboundedReceiver<Ordered>,
    stop: CancellationToken,
    server: JoinHandle<()>,
    state: watch::Receiver<SocketState>,
    restored: mpsc::Receiver<Restored>,
}

impl Rig {
    fn start() -> Self {
        Self::owned_by(rustix::process::geteuid().as_raw())
    }

    /// A server that listens to `owner` only.
    fn owned_by(owner: u32) -> Self {
        let folder = private_folder();
        let listener = Listener::bind(&folder.path().join("s")).unwrap();
        let token = Arc::new(Mutex::new(Some(token("right"))));
        let (asked_in, asked) = mpsc::unbounded_channel();
        let (ordered_in, ordered) = mpsc::unbounded_channel();
        let current = Arc::clone(&token);
        let clock = Arc::new(FakeClock::default());
        let ports = Ports { clock: clock.clone(), ids: Arc::new(FixedIds) };
        let gate = Gate::new(clock.clone());
        let shared = Arc::new(Shared {
            handler: Arc::new(Answering { asked: asked_in, ordered: ordered_in }),
            ports,
            token: Box::new(move || current.lock().unwrap().clone()),
            owner,
            gate,
            room: Room::new(),
        });
        let stop = CancellationToken::new();
        let ended = stop.clone();
        let (tell, state) = watch::channel(SocketState::Listening);
        let (restored_in, restored) = mpsc::channel(8);
        let told = Watchers { state: tell, restored: restored_in };
        let server =
            tokio::spawn(
                async move { serve(listener, &shared, &ended, std::future::pending(), &told).await },
            );
        Self { folder, clock, token, asked, ordered, stop, server, state, restored }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    async fn connect(&self) -> UnixStream {
        UnixStream::connect(self.path()).await.unwrap()
    }

    /// Sends `bytes` and leaves the connection open.
    async fn send(&self, bytes: impl AsRef<[u8]>) -> UnixStream {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_ref()).await.unwrap();
        stream
    }

    /// Sends a line and returns everything that comes back.
    async fn answer_to(&self, line: &Value) -> String {
        let stream = self.send(format!("{line}\n")).await;
        read_all(stream).await
    }

    async fn asked(&mut self) -> Asked {
        within(self.asked.recv()).await.unwrap()
    }

    async fn ordered(&mut self) -> Ordered {
        within(self.ordered.recv()).await.unwrap()
    }

    /// A second passes for those who sent too much.
    fn second_passes(&self) {
        self.clock.0.fetch_add(1_000, Ordering::Relaxed);
    }

    fn heard_nothing(&mut self) -> bool {
        self.asked.try_recv().is_err() && self.ordered.try_recv().is_err()
    }

    async fn finish(self) {
        self.stop.cancel();
        within(self.server).await.unwrap();
    }
}

fn private_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    folder
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("it happens in time")
}

/// Everything until the server closes. A server that closes before it has read everything
/// resets the connection.
async fn read_all(mut stream: UnixStream) -> String {
    let mut text = Vec::new();
    let _ = within(stream.read_to_end(&mut text)).await;
    String::from_utf8(text).unwrap()
}

fn question(token: &str) -> Value {
    json!({"type": "request", "token": token, "id": "q1", "request": {"command": "id"}})
}

fn order(token_text: &str, nonce: &str, ts: i64, request: &str) -> Value {
    let hmac = auth::sign(&token(token_text), nonce, ts, request);
    json!({"type": "exec", "id": "e1", "nonce": nonce, "ts": ts, "hmac": hmac, "requestJson": request})
}

fn refusal(message: &str, reason: &str) -> String {
    let error = json!({"code": "INVALID_REQUEST", "message": message, "reason": reason});
    format!("{}\n", json!({"type": "exec-res", "id": "e1", "ok": false, "error": error}))
}

fn decision(id: &str, decision: &str) -> String {
    format!("{}\n", json!({"type": "decision", "id": id, "decision": decision}))
}
