//! The gateway that comes with Countersign: for one machine and one user, on loopback (system.md P15).
//!
//! It speaks to peers' clients and knows nothing of policies or people: a [`Backend`] keeps the approvals.

mod approvals;
mod connection;
mod devices;
mod door;

use crate::access::Scope;
use crate::pairing::{Device, LocalPairing};
use crate::session::Client;
use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use axum::serve::ListenerExt as _;
use connection::{Outbox, Slow};
use countersign_protocol::gateway::approval::{RequestView, Requested, Resolved};
use countersign_protocol::gateway::{MAX_PAYLOAD_BYTES, TICK_INTERVAL_MS};
use countersign_protocol::vocabulary::Decision;
use door::Door;
use serde::Serialize;
use serde_json::json;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

/// Connections that may be in their handshake at once (gateway-protocol.md §1.1).
const MAX_HANDSHAKES: usize = 32;

/// Connections that may be open at once: more than programs on one machine.
const MAX_CONNECTIONS: usize = 512;

/// Who asked for an approval.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Requester {
    /// Id of the connection.
    pub conn_id: String,
    /// Device, proved.
    pub device_id: Option<String>,
    /// Program, as it says.
    pub client_id: String,
}

/// A request for an approval, checked.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Chosen by the requester.
    pub id: Option<String>,
    /// The command's text as it was given.
    pub command: String,
    /// As everybody will see it.
    pub request: RequestView,
    /// How long it waits.
    pub timeout: Duration,
    /// Who asks.
    pub by: Requester,
    /// Whether anybody can be there to answer; when not, it ends at once.
    pub deliverable: bool,
    /// Whether others are to be told.
    pub announced: bool,
}

/// An approval that waits or ended a moment ago.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// Id, request and times.
    pub requested: Requested,
    /// Who asked.
    pub by: Requester,
    /// How it ended: `Some(None)` is "no decision".
    pub ended: Option<Option<Decision>>,
}

/// Why a request was not taken.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotTaken {
    /// Its id is in use.
    #[error("approval id already pending")]
    Pending,
    /// No room, or the end of the program.
    #[error("approval request unavailable: {0}")]
    Unavailable(String),
}

/// What happened to approvals.
#[derive(Clone, Debug)]
pub enum Happened {
    /// One waits.
    Requested(Arc<Known>),
    /// One ended with a decision.
    Resolved(Arc<Resolved>),
}

/// Whoever keeps the approvals.
pub trait Backend: Send + Sync + 'static {
    /// Takes a request: it waits, and is told to [`Backend::events`], before this returns.
    fn submit(&self, submission: Submission) -> impl Future<Output = Result<Arc<Known>, NotTaken>> + Send;

    /// Answers once; false when it is unknown or has ended. `by`: how the resolver calls itself.
    fn resolve(&self, id: &str, decision: Decision, by: &str) -> impl Future<Output = bool> + Send;

    /// What waits, oldest first.
    fn pending(&self) -> impl Future<Output = Vec<Arc<Known>>> + Send;

    /// One that waits or ended a moment ago.
    fn find(&self, id: &str) -> impl Future<Output = Option<Arc<Known>>> + Send;

    /// Waits for the end; `None` when unknown.
    fn wait(&self, id: &str) -> impl Future<Output = Option<Option<Decision>>> + Send;

    /// Follows what happens.
    fn events(&self) -> broadcast::Receiver<Happened>;

    /// Whether somebody besides the gateway's clients can answer.
    fn has_own_presenter(&self) -> bool;

    /// A text as it may be shown to a person.
    fn shown(&self, text: &str) -> String;

    /// Unix milliseconds.
    fn now_ms(&self) -> i64;
}

/// Stores devices.
pub type Keep = Box<dyn Fn(&[Device]) + Send + Sync>;

/// How a gateway behaves.
pub struct Config {
    /// The secret of every client.
    pub token: Zeroizing<String>,
    /// What happens to devices that are not known.
    pub local_pairing: LocalPairing,
    /// Devices that were let in before.
    pub devices: Vec<Device>,
    /// Told whenever these change, to store them.
    pub keep: Keep,
}

/// A gateway and everything that its connections share.
struct Gateway<B> {
    backend: B,
    door: Mutex<Door>,
    clients: Mutex<HashMap<String, Seat>>,
    handshakes: AtomicUsize,
    started: Instant,
    stop: CancellationToken,
}

/// An open connection.
#[derive(Clone)]
struct Seat {
    client: Arc<Client>,
    outbox: Outbox,
}

/// Serves on `listener` until `stop` is cancelled; then every client is told and closed. The listener must be bound to
/// loopback: this gateway trusts the machine that it runs on.
pub async fn serve<B: Backend>(
    listener: TcpListener,
    backend: B,
    config: Config,
    stop: CancellationToken,
) -> std::io::Result<()> {
    if !listener.local_addr()?.ip().is_loopback() {
        return Err(std::io::Error::other("expected a loopback address to listen on"));
    }
    let gateway = Arc::new(Gateway {
        backend,
        door: Mutex::new(Door::new(config)),
        clients: Mutex::default(),
        handshakes: AtomicUsize::new(0),
        started: Instant::now(),
        stop: stop.clone(),
    });
    let telling = tokio::spawn(tell(Arc::clone(&gateway)));
    let ticking = tokio::spawn(tick(Arc::clone(&gateway)));
    // Small frames leave at once: a client would wait 40 ms for the second of two.
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::warn!(%error, "a connection will be slow");
        }
    });
    let router = Router::new().fallback(any(upgrade::<B>)).with_state(Arc::clone(&gateway));
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let served = axum::serve(listener, service).with_graceful_shutdown(stop.clone().cancelled_owned()).await;
    telling.abort();
    ticking.abort();
    served
}

/// Only programs on this machine that mean this gateway: no pages of browsers, no names that were bent to loopback.
async fn upgrade<B: Backend>(
    State(gateway): State<Arc<Gateway<B>>>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    if !peer.ip().is_loopback() || !is_local(&headers) {
        return (StatusCode::FORBIDDEN, "expected a client of this machine, addressed to it\n")
            .into_response();
    }
    if headers.contains_key(header::ORIGIN) {
        return (StatusCode::FORBIDDEN, "expected no Origin: pages of a browser are not served\n")
            .into_response();
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Some(waiting) = Handshake::begin(&gateway) else {
        return (StatusCode::SERVICE_UNAVAILABLE, "Too many unauthenticated sockets").into_response();
    };
    upgrade
        .max_message_size(MAX_PAYLOAD_BYTES)
        .max_frame_size(MAX_PAYLOAD_BYTES)
        .on_upgrade(move |socket| connection::run(gateway, socket, waiting))
}

/// Whether the address that was typed is this machine's own (gateway-protocol.md §1).
fn is_local(headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    };
    let forwarded = ["x-forwarded-for", "x-forwarded-host", "x-real-ip", "forwarded"];
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
        && !forwarded.iter().any(|name| headers.contains_key(*name))
}

/// A connection that is in its handshake; counted while it lives.
struct Handshake<B> {
    gateway: Arc<Gateway<B>>,
}

impl<B> Handshake<B> {
    fn begin(gateway: &Arc<Gateway<B>>) -> Option<Self> {
        let before = gateway.handshakes.fetch_add(1, Ordering::SeqCst);
        let waiting = Self { gateway: Arc::clone(gateway) };
        let open = gateway.clients.lock().unwrap_or_else(PoisonError::into_inner).len();
        (before < MAX_HANDSHAKES && open < MAX_CONNECTIONS).then_some(waiting)
    }
}

impl<B> Drop for Handshake<B> {
    fn drop(&mut self) {
        self.gateway.handshakes.fetch_sub(1, Ordering::SeqCst);
    }
}

impl<B: Backend> Gateway<B> {
    /// Sends an event to every operator with a scope; `skip`: not to this connection.
    fn broadcast(&self, event: &str, payload: &impl Serialize, scope: Option<Scope>, skip: Option<&str>) {
        let payload = match serde_json::to_string(payload) {
            Ok(payload) => payload,
            Err(error) => {
                tracing::error!(%error, event, "an event could not be written");
                return;
            }
        };
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        for (conn_id, seat) in clients.iter() {
            let may = scope.is_none_or(|scope| seat.client.may(scope));
            if may && skip != Some(conn_id.as_str()) {
                seat.outbox.event(event, &payload, Slow::Skip);
            }
        }
    }

    /// Whether another client than `conn_id` could answer an approval.
    fn has_other_approver(&self, conn_id: &str) -> bool {
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        clients.iter().any(|(other, seat)| other != conn_id && seat.client.may(Scope::Approvals))
    }
}

/// Tells clients what happens to approvals. After a gap there is nothing to make up for: clients list what waits.
async fn tell<B: Backend>(gateway: Arc<Gateway<B>>) {
    let mut events = gateway.backend.events();
    loop {
        match events.recv().await {
            Ok(Happened::Requested(known)) => gateway.broadcast(
                "exec.approval.requested",
                &known.requested,
                Some(Scope::Approvals),
                Some(&known.by.conn_id),
            ),
            Ok(Happened::Resolved(resolved)) => {
                gateway.broadcast("exec.approval.resolved", &*resolved, Some(Scope::Approvals), None);
            }
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "clients were not told of some approvals");
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

async fn tick<B: Backend>(gateway: Arc<Gateway<B>>) {
    let mut interval = tokio::time::interval(Duration::from_millis(TICK_INTERVAL_MS));
    interval.tick().await;
    loop {
        interval.tick().await;
        gateway.broadcast("tick", &json!({ "ts": gateway.backend.now_ms() }), None, None);
    }
}

#[cfg(test)]
mod tests;
