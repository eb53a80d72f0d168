//! One connection: frames in, answers and events out, both bounded.

use super::door::Opening;
use super::params::Params;
use super::port::Admission;
use super::{
    Backend, Gateway, OpenConnection, approvals, commands, devices, invoke, messages, plugins, policies,
    reports, tools, unified,
};
use crate::access::{Method, OperatorMethod, Scope};
use crate::session::PREAUTH_TOO_LARGE;
use crate::session::{Client, Output, Session};
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use countersign_protocol::gateway::unified::ApprovalKind;
use countersign_protocol::gateway::{ErrorShape, Frame, MAX_BUFFERED_BYTES, Response, close};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How long a handshake may take.
const HANDSHAKE: Duration = Duration::from_secs(15);

/// How often a client is asked for a sign of life, as its connection may be open at this end alone. Every
/// WebSocket answers.
const PING: Duration = Duration::from_secs(30);

/// After this long without one it counts as gone: three pings.
const SILENCE: Duration = Duration::from_secs(90);

/// How long the last frames and the close may take to leave.
const FAREWELL: Duration = Duration::from_secs(2);

/// Calls of one connection that may be under way at once.
const MAX_CALLS: usize = 1_024;

/// Runs a connection to its end.
pub(super) async fn run<B: Backend>(
    gateway: Arc<Gateway<B>>,
    mut socket: WebSocket,
    place: Arc<Admission>,
    stop: CancellationToken,
) {
    let conn_id = Uuid::new_v4().to_string();
    let (mut session, challenge) =
        Session::new(conn_id.clone(), Uuid::new_v4().to_string(), gateway.backend.now_ms());
    let (outbox, mut leaving) = Outbox::new();
    outbox.frame(&challenge);
    let mut is_known = false;
    let deadline = tokio::time::sleep(HANDSHAKE);
    tokio::pin!(deadline);
    let mut ping = interval_at(Instant::now() + PING, PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard_at = Instant::now();
    let calls = Arc::new(Semaphore::new(MAX_CALLS));
    let gone = CancellationToken::new();
    let farewell = loop {
        tokio::select! {
            text = leaving.recv() => match text {
                Some(Leaving::Text(text)) => {
                    outbox.left(text.len());
                    if socket.send(Message::Text(text.into())).await.is_err() {
                        break None;
                    }
                }
                Some(Leaving::Removed) => {
                    break Some(CloseFrame { code: close::REMOVED, reason: "device removed".into() });
                }
                Some(Leaving::TooSlow) | None => {
                    break Some(CloseFrame { code: close::POLICY, reason: "slow consumer".into() });
                }
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Text(text))) => {
                    heard_at = Instant::now();
                    let outputs = receive(&gateway, &mut session, &place, text.as_str());
                    if session.client().is_some() {
                        is_known = true;
                        place.known();
                    }
                    match act(&gateway, outputs, &outbox, &session, &calls, &gone) {
                        Some(farewell) => break Some(farewell),
                        None => continue,
                    }
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => heard_at = Instant::now(),
                Some(Ok(Message::Binary(_))) => {
                    break Some(CloseFrame { code: close::POLICY, reason: "expected text frames".into() });
                }
                Some(Err(_)) if place.had_too_much() => {
                    break Some(CloseFrame { code: close::TOO_BIG, reason: PREAUTH_TOO_LARGE.into() });
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => break None,
            },
            _ = ping.tick(), if is_known => {
                if heard_at.elapsed() > SILENCE {
                    break Some(CloseFrame { code: close::POLICY, reason: "no sign of life".into() });
                }
                if socket.send(Message::Ping(Bytes::new())).await.is_err() {
                    break None;
                }
            }
            () = &mut deadline, if !is_known => {
                break Some(CloseFrame { code: close::NORMAL, reason: "handshake timeout".into() });
            }
            () = stop.cancelled() => {
                outbox.event("shutdown", &json!({"reason": "stopping"}).to_string(), Slow::Skip);
                break Some(CloseFrame { code: close::RESTART, reason: "service restart".into() });
            }
        }
    };
    gone.cancel();
    gateway.left(&conn_id);
    // What was answered before the close still leaves, as far as the other end takes it.
    let part = async {
        while let Ok(Leaving::Text(text)) = leaving.try_recv() {
            socket.send(Message::Text(text.into())).await?;
        }
        socket.send(Message::Close(farewell)).await
    };
    let _ = tokio::time::timeout(FAREWELL, part).await;
}

fn receive<B: Backend>(
    gateway: &Gateway<B>,
    session: &mut Session,
    place: &Admission,
    text: &str,
) -> Vec<Output> {
    let now = gateway.backend.moment();
    let mut door = gateway.door.lock().unwrap_or_else(PoisonError::into_inner);
    let mut opening = Opening {
        door: &mut door,
        places: &gateway.places,
        peer: place.peer,
        now,
        uptime: gateway.started.elapsed(),
    };
    session.receive(text, &mut opening, now.now_ms)
}

/// Does what the session says; the close, if it says so.
fn act<B: Backend>(
    gateway: &Arc<Gateway<B>>,
    outputs: Vec<Output>,
    outbox: &Outbox,
    session: &Session,
    calls: &Arc<Semaphore>,
    gone: &CancellationToken,
) -> Option<CloseFrame> {
    for output in outputs {
        match output {
            Output::Send(frame) => outbox.frame(&frame),
            Output::Opened(client) => {
                gateway.seated(OpenConnection { client, outbox: outbox.clone() });
            }
            Output::Knocked(pending) => {
                gateway.changed();
                gateway.broadcast("device.pair.requested", &pending, Some(Scope::Pairing), None);
            }
            Output::Call { id, method, params } => {
                let Some(client) = session.client() else { continue };
                let method = match method {
                    Method::Operator(method) => method,
                    Method::Node(method) => {
                        // In the order in which they came: events of a run may belong before its answer.
                        outbox.answer(id, reports::told(gateway, client, method, params));
                        continue;
                    }
                };
                let Ok(permit) = Arc::clone(calls).try_acquire_owned() else {
                    let mut error = ErrorShape::unavailable("too many calls are under way");
                    error.retryable = Some(true);
                    outbox.frame(&Frame::Res(Response::failed(id, error)));
                    continue;
                };
                let call = Call {
                    gateway: Arc::clone(gateway),
                    client: Arc::clone(client),
                    outbox: outbox.clone(),
                    gone: gone.clone(),
                };
                tokio::spawn(async move {
                    let answer = call.outcome(&id, method, params).await;
                    call.outbox.answer(id, answer);
                    drop(permit);
                });
            }
            Output::Close { code, reason } => return Some(CloseFrame { code, reason: reason.into() }),
        }
    }
    None
}

/// A call that is answered.
pub(super) struct Call<B> {
    pub(super) gateway: Arc<Gateway<B>>,
    pub(super) client: Arc<Client>,
    pub(super) outbox: Outbox,
    /// Cancelled with the connection.
    pub(super) gone: CancellationToken,
}

impl<B: Backend> Call<B> {
    async fn outcome(&self, id: &str, method: OperatorMethod, params: Value) -> Result<Value, ErrorShape> {
        use OperatorMethod as M;
        let (exec, plugin) = (ApprovalKind::Exec, ApprovalKind::Plugin);
        let read = |params| Params::of(method.as_str(), params);
        match method {
            M::ExecApprovalRequest => commands::request(self, id, params).await,
            M::ExecApprovalWaitDecision => approvals::wait(self, exec, &read(params)?).await,
            M::PluginApprovalRequest => plugins::request(self, id, params).await,
            M::PluginApprovalWaitDecision => approvals::wait(self, plugin, &read(params)?).await,
            // In room of their own, as all that follows: hundreds may wait for a person, and each would hold
            // what these take.
            M::NodeInvoke => Box::pin(invoke::answer(self, params)).await,
            M::NodeList => Ok(invoke::list(self)),
            M::NodeDescribe => invoke::describe(self, &read(params)?),
            M::ExecApprovalsGet => Box::pin(policies::get(self, &read(params)?)).await,
            M::ExecApprovalsSet => Box::pin(policies::set(self, &read(params)?)).await,
            M::ExecApprovalsNodeGet => Box::pin(policies::get_of_node(self, &read(params)?)).await,
            M::ExecApprovalsNodeSet => Box::pin(policies::set_of_node(self, &read(params)?)).await,
            M::ToolsCatalog => Box::pin(tools::catalog(self, &read(params)?)).await,
            M::ToolsEffective => Box::pin(tools::effective(self, &read(params)?)).await,
            M::ChatSend => Box::pin(messages::chat(self, &read(params)?)).await,
            M::Agent => Box::pin(messages::agent(self, &read(params)?)).await,
            M::ExecEventsTake => reports::take_events(self, &read(params)?),
            M::Health => Ok(json!({"ok": true, "ts": self.gateway.backend.now_ms()})),
            M::Status => Ok(Box::pin(self.status()).await),
            M::ExecApprovalResolve => Box::pin(approvals::resolve(self, exec, &read(params)?)).await,
            M::ExecApprovalList => Ok(Box::pin(approvals::list(self, exec)).await),
            M::ExecApprovalGet => Box::pin(commands::get(self, &read(params)?)).await,
            M::PluginApprovalResolve => Box::pin(approvals::resolve(self, plugin, &read(params)?)).await,
            M::PluginApprovalList => Ok(Box::pin(approvals::list(self, plugin)).await),
            // Nobody asks for any, but newer command lines want to hear that.
            M::OpenclawApprovalList => Ok(Box::pin(approvals::list(self, ApprovalKind::SystemAgent)).await),
            M::ApprovalGet => Box::pin(unified::get(self, params)).await,
            M::ApprovalResolve => Box::pin(unified::resolve(self, params)).await,
            M::ApprovalHistory => unified::history(self, params),
            M::DevicePairList => Ok(devices::list(self)),
            M::DevicePairApprove => devices::approve(self, &read(params)?),
            M::DevicePairReject => devices::reject(self, &read(params)?),
            M::DevicePairRemove => devices::remove(self, &read(params)?),
        }
    }

    async fn status(&self) -> Value {
        let connections = self.gateway.clients.lock().unwrap_or_else(PoisonError::into_inner).len();
        let turned_away: Vec<Value> = self
            .gateway
            .places
            .turned_away()
            .iter()
            .map(|one| {
                let who = one.peer.to_string();
                json!({ "who": who, "cause": one.cause, "times": one.times, "lastAtMs": one.last_at_ms })
            })
            .collect();
        json!({
            "ok": true,
            "version": env!("CARGO_PKG_VERSION"),
            "uptimeMs": u64::try_from(self.gateway.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            "connections": connections,
            "pendingApprovals": self.gateway.backend.pending().await.len(),
            "turnedAway": turned_away,
        })
    }
}

/// What becomes of an event for a reader that does not read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Slow {
    /// It is left out; the next number shows the gap.
    Skip,
    /// The connection ends.
    Close,
}

/// What leaves through a connection.
pub(super) enum Leaving {
    Text(String),
    /// The device was sent away.
    Removed,
    TooSlow,
}

/// The way out of a connection, bounded in bytes.
#[derive(Clone)]
pub(super) struct Outbox {
    texts: mpsc::UnboundedSender<Leaving>,
    buffered: Arc<AtomicUsize>,
    events: Arc<AtomicU64>,
}

impl Outbox {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<Leaving>) {
        let (texts, leaving) = mpsc::unbounded_channel();
        (Self { texts, buffered: Arc::default(), events: Arc::default() }, leaving)
    }

    /// Sends an answer, or ends the connection when it does not read.
    pub(super) fn frame(&self, frame: &Frame) {
        match serde_json::to_string(frame) {
            Ok(text) => self.send(text, Slow::Close),
            Err(error) => tracing::error!(%error, "a frame could not be written"),
        }
    }

    /// Answers a call.
    fn answer(&self, id: String, answer: Result<Value, ErrorShape>) {
        self.frame(&Frame::Res(match answer {
            Ok(payload) => Response::ok(id, payload),
            Err(error) => Response::failed(id, error),
        }));
    }

    /// Sends an event with the next number; `payload` is JSON.
    pub(super) fn event(&self, event: &str, payload: &str, slow: Slow) {
        let seq = self.events.fetch_add(1, Ordering::SeqCst) + 1;
        let text = format!(r#"{{"type":"event","event":"{event}","payload":{payload},"seq":{seq}}}"#);
        self.send(text, slow);
    }

    /// Ends the connection because its device is no longer let in.
    pub(super) fn removed(&self) {
        // The other end is gone when the connection is.
        let _ = self.texts.send(Leaving::Removed);
    }

    fn send(&self, text: String, slow: Slow) {
        let bytes = text.len();
        let buffered = self.buffered.fetch_add(bytes, Ordering::SeqCst) + bytes;
        let leaving = match slow {
            _ if buffered <= MAX_BUFFERED_BYTES => Leaving::Text(text),
            Slow::Skip => {
                self.left(bytes);
                return;
            }
            Slow::Close => {
                self.left(bytes);
                Leaving::TooSlow
            }
        };
        // The other end is gone when the connection is.
        let _ = self.texts.send(leaving);
    }

    pub(super) fn left(&self, bytes: usize) {
        self.buffered.fetch_sub(bytes, Ordering::SeqCst);
    }
}
