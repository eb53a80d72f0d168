//! The gateway that comes with Countersign: for one machine and one user, on loopback (docs/gateway.md).
//!
//! It speaks to peers' clients and knows nothing of policies or people: a [`Backend`] keeps the approvals.

mod approvals;
mod asked;
mod binding;
mod commands;
mod connection;
mod devices;
mod door;
mod events;
mod forwarding;
mod invoke;
mod messages;
mod nodes;
mod owner;
mod params;
mod pets;
mod plugins;
mod policies;
mod port;
mod reports;
mod tools;
mod unified;

#[cfg(fuzzing)]
pub use tools::fuzzing;

pub use asked::{Ended, KnownApproval, Resolver, Subject, Verdict};
pub use binding::Binding;
pub use events::{RunPlace, run_text};
pub use messages::{Heard, NotHeard};
pub use port::{Cause, Peer, TurnedAway};

use crate::READ_BYTES;
use crate::access::Scope;
use crate::pairing::{Device, LocalPairing, Moment};
use crate::pet::Pets;
use crate::session::Client;
use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use connection::{Outbox, Slow};
use countersign_protocol::gateway::policy::PolicyFile;
use countersign_protocol::gateway::{MAX_PAYLOAD_BYTES, TICK_INTERVAL_MS};
use countersign_protocol::ids::{DeviceId, SessionKey};
use countersign_protocol::pet;
use countersign_protocol::session_events::SessionEvent;
use countersign_protocol::tools::{ToolCall, ToolCaller, ToolOutput};
use countersign_protocol::vocabulary::Decision;
use door::Door;
use nodes::Nodes;
pub use owner::Embedded;
pub use policies::PolicyError;
use port::{Arrival, Places, Port};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
pub use tools::{Catalogued, Listing, ToolError};
use zeroize::Zeroizing;

/// How long the connections may take to end when the serving ends: a little longer than one takes
/// for its farewell.
const ENDING: Duration = Duration::from_secs(3);

/// Who asked for an approval.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Requester {
    /// Id of the connection.
    pub conn_id: String,
    /// Device, proved.
    pub device_id: Option<DeviceId>,
    /// Program, as it says.
    pub client_id: String,
}

impl Requester {
    /// This very program, where it uses its own gateway: no connection has such an id.
    pub fn own() -> Self {
        Self { conn_id: "own".to_owned(), device_id: None, client_id: "countersign".to_owned() }
    }
}

/// A request for an approval, checked.
#[derive(Clone, Debug)]
pub struct Submission {
    /// Chosen by the requester.
    pub id: Option<String>,
    /// The command's text as it was given; empty where the subject is no command.
    pub command: String,
    /// Its folder as it was given.
    pub cwd: Option<String>,
    /// As everybody will see it.
    pub subject: Subject,
    /// What an answer will count for, where it is a command on a node.
    pub binding: Option<Box<Binding>>,
    /// How long it waits.
    pub timeout: Duration,
    /// Who asks.
    pub by: Requester,
    /// Whether anybody can be there to answer; when not, it ends at once.
    pub deliverable: bool,
    /// Whether others are to be told.
    pub announced: bool,
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

/// Why an answer does not count.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NotCounted {
    /// It is unknown, or has ended.
    #[error("the approval no longer waits")]
    Gone,
    /// It cannot be answered so; why, for people.
    #[error("{0}")]
    Refused(String),
}

/// What happened to approvals.
#[derive(Clone, Debug)]
pub enum Happened {
    /// One waits.
    Requested(Arc<KnownApproval>),
    /// One ended with a decision.
    Ended(Arc<KnownApproval>),
}

/// What becomes of an approval that ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Use {
    /// What was allowed once is run.
    AllowOnce,
    /// Nobody answered in time, and the node's fallback is to decide.
    AskFallback,
}

/// What an argument list and the text beside it agree on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Agreed {
    /// What a shell is told to run, where it may stand for the whole list.
    pub preview: Option<String>,
}

/// Whoever keeps the approvals.
pub trait Backend: Send + Sync + 'static {
    /// Takes a request: it waits, and is told to [`Backend::events`], before this returns.
    fn submit(
        &self,
        submission: Submission,
    ) -> impl Future<Output = Result<Arc<KnownApproval>, NotTaken>> + Send;

    /// Answers once, if the approval can be answered so. Afterwards [`Backend::find`] tells the end.
    fn resolve(&self, id: &str, verdict: Verdict) -> impl Future<Output = Result<(), NotCounted>> + Send;

    /// What waits, oldest first.
    fn pending(&self) -> impl Future<Output = Vec<Arc<KnownApproval>>> + Send;

    /// One that waits or ended a moment ago.
    fn find(&self, id: &str) -> impl Future<Output = Option<Arc<KnownApproval>>> + Send;

    /// The last ones that ended, as far as they are kept.
    fn past(&self) -> Vec<Arc<KnownApproval>>;

    /// Waits for the end; `None` when unknown.
    fn wait(&self, id: &str) -> impl Future<Output = Option<Option<Decision>>> + Send;

    /// Uses an approval up: true exactly once for one that ended so, as long as it is found.
    fn consume(&self, id: &str, how: Use) -> impl Future<Output = bool> + Send;

    /// Whether a text says what an argument list, not empty, does; `None` when it says something else.
    fn agreed(&self, argv: &[String], raw: Option<&str>) -> Option<Agreed>;

    /// Follows what happens.
    fn events(&self) -> broadcast::Receiver<Happened>;

    /// Whether somebody besides the gateway's clients can answer.
    fn has_own_presenter(&self) -> bool;

    /// Whether a request would be handed on to somebody who may find a way to answer.
    fn is_handed_on(&self, submission: &Submission) -> bool;

    /// The policy document of this machine.
    fn policy(&self) -> impl Future<Output = Result<PolicyFile, PolicyError>> + Send;

    /// Replaces it if it is still the one with this hash. Only for callers that may administer the
    /// gateway: it may loosen.
    fn set_policy(
        &self,
        file: Map<String, Value>,
        base_hash: String,
    ) -> impl Future<Output = Result<PolicyFile, PolicyError>> + Send;

    /// The tools that a caller gets. All that the caller says of itself, the workspace too, is its own word
    /// here; without a workspace nothing is known of one.
    fn tools(&self, caller: ToolCaller) -> impl Future<Output = Result<Listing, ToolError>> + Send;

    /// Calls a tool, for a caller as of [`Backend::tools`]: by policy, hooks and people, as anybody else's
    /// call. `gone` is cancelled when nobody waits for it any more; it is to be called off then. Not
    /// dropped before it ends.
    fn call_tool(
        &self,
        call: ToolCall,
        gone: CancellationToken,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;

    /// Takes a message to a session, and asks a person where a directive in it loosens something. Dropping
    /// the future takes the question back.
    fn say(
        &self,
        agent: &str,
        session: &str,
        text: &str,
    ) -> impl Future<Output = Result<Heard, NotHeard>> + Send;

    /// Keeps what a session is to be told of a run at its next turn.
    fn tell_session(&self, session: &SessionKey, run_id: &str, text: String);

    /// What a session was not told yet, oldest first. It counts as told.
    fn take_events(&self, session: &SessionKey) -> Vec<SessionEvent>;

    /// A text as it may be shown to a person.
    fn shown(&self, text: &str) -> String;

    /// Whether a connection that was just accepted leaves enough files for what else this process does.
    fn has_room_for(&self, connection: BorrowedFd<'_>) -> bool;

    /// Unix milliseconds.
    fn now_ms(&self) -> i64;

    /// Milliseconds of a clock that nobody sets, and that goes on while the machine sleeps.
    fn steady_ms(&self) -> i64;

    /// Both.
    fn moment(&self) -> Moment {
        Moment { now_ms: self.now_ms(), steady_ms: self.steady_ms() }
    }
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
    backend: Arc<B>,
    door: Mutex<Door>,
    clients: Mutex<HashMap<String, OpenConnection>>,
    nodes: Mutex<Nodes>,
    pets: Pets,
    places: Arc<Places>,
    tool_seats: tools::http::CallSlots,
    started: Instant,
    /// Told when clients or devices change.
    changes: watch::Sender<()>,
}

/// A gateway on one port.
struct Serving<B> {
    gateway: Arc<Gateway<B>>,
    connections: TaskTracker,
    stop: CancellationToken,
}

impl<B> Clone for Serving<B> {
    fn clone(&self) -> Self {
        Self {
            gateway: Arc::clone(&self.gateway),
            connections: self.connections.clone(),
            stop: self.stop.clone(),
        }
    }
}

/// An open connection.
#[derive(Clone)]
struct OpenConnection {
    client: Arc<Client>,
    outbox: Outbox,
}

impl<B: Backend> Embedded<B> {
    /// Serves on `listener` until `stop` is cancelled; then every client is told and closed. The listener
    /// must be bound to loopback: this gateway trusts the machine that it runs on. Serves on
    /// one port at a time.
    pub async fn serve(&self, listener: TcpListener, stop: CancellationToken) -> std::io::Result<()> {
        if !listener.local_addr()?.ip().is_loopback() {
            return Err(std::io::Error::other("expected a loopback address to listen on"));
        }
        let gateway = Arc::clone(self.gateway());
        let has_room = move |stream: BorrowedFd<'_>| gateway.backend.has_room_for(stream);
        let port = Port::new(listener, Arc::clone(&self.gateway().places), Box::new(has_room))?;
        let connections = TaskTracker::new();
        let serving = Serving {
            gateway: Arc::clone(self.gateway()),
            connections: connections.clone(),
            stop: stop.clone(),
        };
        let router = Router::new()
            .route(pet::PATH, any(pets::upgrade::<B>))
            .route(tools::http::INVOKE, any(tools::http::invoke::<B>))
            .route(tools::http::LIST, any(tools::http::list::<B>))
            .fallback(any(upgrade::<B>))
            .with_state(serving)
            .layer(map_response(last));
        let service = router.into_make_service_with_connect_info::<Arrival>();
        let ended = stop.clone().cancelled_owned();
        let served = async {
            let served = axum::serve(port, service).with_graceful_shutdown(ended).await;
            connections.close();
            connections.wait().await;
            served
        };
        let late = async {
            stop.cancelled().await;
            tokio::time::sleep(ENDING).await;
        };
        tokio::select! {
            served = served => served,
            () = late => {
                tracing::warn!("some clients of the gateway did not end in time");
                Ok(())
            }
            () = tell(self.gateway()) => Err(std::io::Error::other("the approvals ended")),
            () = tick(self.gateway()) => Err(std::io::Error::other("the clock ended")),
            () = forget(self.gateway()) => Err(std::io::Error::other("the clock ended")),
        }
    }
}

/// Each connection is for one request: what comes after it would have no time of its own to come in.
async fn last(mut response: Response) -> Response {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn upgrade<B: Backend>(
    State(serving): State<Serving<B>>,
    ConnectInfo(Arrival(place)): ConnectInfo<Arrival>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    if let Some(why) = stranger(place.address, &headers) {
        return (StatusCode::FORBIDDEN, format!("{why}\n")).into_response();
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Serving { gateway, connections, stop } = serving;
    place.upgraded();
    upgrade
        .read_buffer_size(READ_BYTES)
        .max_message_size(MAX_PAYLOAD_BYTES)
        .max_frame_size(MAX_PAYLOAD_BYTES)
        .on_upgrade(move |socket| connections.track_future(connection::run(gateway, socket, place, stop)))
}

/// Why somebody is not heard: only programs on this machine that mean this gateway are, no pages of browsers,
/// and no names that were bent to loopback.
fn stranger(peer: SocketAddr, headers: &HeaderMap) -> Option<&'static str> {
    if !peer.ip().is_loopback() || !is_local(headers) {
        return Some("expected a client of this machine, addressed to it");
    }
    headers.contains_key(header::ORIGIN).then_some("expected no Origin: pages of a browser are not served")
}

/// Whether the address that was typed is this machine's own (docs/protocol/gateway.md, "Address").
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

/// Tells clients what happens to approvals. After a gap there is nothing to make up for: clients
/// list what waits.
async fn tell<B: Backend>(gateway: &Gateway<B>) {
    let mut events = gateway.backend.events();
    loop {
        match events.recv().await {
            Ok(Happened::Requested(known)) => gateway.broadcast(
                event(&known, "exec.approval.requested", "plugin.approval.requested"),
                &approvals::announcement(&known),
                Some(Scope::Approvals),
                Some(&known.by.conn_id),
            ),
            Ok(Happened::Ended(known)) => {
                let name = event(&known, "exec.approval.resolved", "plugin.approval.resolved");
                if let Some(end) = approvals::end(&known) {
                    gateway.broadcast(name, &end, Some(Scope::Approvals), None);
                }
            }
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "clients were not told of some approvals");
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

/// The name of what happened, by what the approval is about.
fn event(known: &KnownApproval, exec: &'static str, plugin: &'static str) -> &'static str {
    match known.subject() {
        Subject::Exec(_) => exec,
        Subject::Plugin(_) => plugin,
    }
}

async fn tick<B: Backend>(gateway: &Gateway<B>) {
    let mut interval = tokio::time::interval(Duration::from_millis(TICK_INTERVAL_MS));
    interval.tick().await;
    loop {
        interval.tick().await;
        gateway.broadcast("tick", &json!({ "ts": gateway.backend.now_ms() }), None, None);
    }
}

/// Forgets devices that nobody let in, when their time is over.
async fn forget<B: Backend>(gateway: &Gateway<B>) {
    let mut changes = gateway.changes.subscribe();
    loop {
        let steady_ms = gateway.backend.steady_ms();
        let over = gateway.door().devices.next_forgotten_ms();
        let forgotten = async {
            match over {
                Some(at_ms) => {
                    // A timer may be early by a part of a millisecond.
                    let left_ms = u64::try_from(at_ms.saturating_sub(steady_ms)).unwrap_or(0) + 1;
                    tokio::time::sleep(Duration::from_millis(left_ms)).await;
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = forgotten => {
                let steady_ms = gateway.backend.steady_ms();
                gateway.door().devices.forget_old(steady_ms);
                gateway.changed();
            }
        }
    }
}

#[cfg(test)]
mod tests;
