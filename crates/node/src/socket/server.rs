//! The app's side of the approval socket: limits, peer check, framing, authentication; then a [`Handler`].

use countersign_approvals::ports::Ports;
use countersign_approvals::store::Store;
use countersign_protocol::socket::{AskRequest, ExecError, ExecPayload, ExecRequest};
use countersign_protocol::ui::SocketState;
use countersign_protocol::vocabulary::Decision;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Who is at the other end, from the kernel.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Peer {
    /// Process id.
    pub pid: Option<i32>,
    /// Real path of its executable, when readable.
    pub program: Option<String>,
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
    /// Cancelled when the requester closed its connection entirely (never on half-close).
    pub gone: CancellationToken,
}

/// What the server does with authenticated requests.
pub trait Handler: Send + Sync + 'static {
    /// Asks the person. `None` means silence: the connection is closed without an answer.
    fn ask(&self, call: Call<AskRequest>) -> impl Future<Output = Option<Decision>> + Send;
    /// Asks if needed, runs, returns the output.
    fn exec(&self, call: Call<ExecRequest>) -> impl Future<Output = Result<ExecPayload, ExecError>> + Send;
}

/// Starts the server: endpoint from `store.ensure_socket()`, re-read on every try; back-off 1 s doubling to 30 s. Ends,
/// answering nothing more and removing the socket, when `stop` is cancelled. The receiver tells its state.
pub fn start<H: Handler>(
    store: Store,
    ports: Ports,
    handler: Arc<H>,
    tracker: &TaskTracker,
    stop: CancellationToken,
) -> watch::Receiver<SocketState> {
    let _ = (store, ports, handler, tracker, stop);
    todo!()
}
