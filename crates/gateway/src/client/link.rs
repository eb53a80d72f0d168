//! Keeps a connection up: dial, handshake, frames both ways, watch for silence, back off, again.

use super::problem::{self, LinkProblem, Retry};
use super::session::{CallId, Introduction, Output, Refused, Session};
use super::socket::{self, Dial, Socket, farewell, heard, send};
use super::widening;
use super::{CallError, Clock, Credentials, DeviceToken, Live, Notice, Options, Outgoing, Withheld};
use crate::access::Role;
use countersign_protocol::gateway::connect::{Auth, ClientInfo, HelloOk};
use countersign_protocol::gateway::{MAX_PAYLOAD_BYTES, close};
use futures_util::StreamExt as _;
use serde_json::Value;
use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The task behind a link.
pub(super) struct LinkTask<C> {
    options: Options,
    credentials: C,
    notices: mpsc::Sender<Notice>,
    stop: CancellationToken,
    again: Arc<Notify>,
    /// The name by which the gateway knows this program.
    client_id: &'static str,
    /// Whether a notice could not be delivered.
    gap: bool,
    /// Tells two starts of this program apart.
    instance: String,
}

/// Why one connection is over.
enum Over {
    /// The handshake failed.
    Refused(Refused),
    /// Anything else.
    Problem(LinkProblem),
    /// The gateway gave this device a better token.
    Again,
    /// Nobody wants it any more.
    Stopped,
}

impl From<LinkProblem> for Over {
    fn from(problem: LinkProblem) -> Self {
        Self::Problem(problem)
    }
}

impl<C: Credentials> LinkTask<C> {
    pub(super) fn new(
        options: Options,
        credentials: C,
        notices: mpsc::Sender<Notice>,
        stop: CancellationToken,
        again: Arc<Notify>,
    ) -> Self {
        let instance = uuid::Uuid::new_v4().to_string();
        let client_id = if options.role == Role::Node.as_str() { NODE_CLIENT_ID } else { OWN_CLIENT_ID };
        Self { options, credentials, notices, stop, again, client_id, gap: false, instance }
    }

    pub(super) async fn run(mut self) {
        let mut wait = FIRST_WAIT;
        let mut with_device_token = false;
        loop {
            self.tell(Notice::Connecting).await;
            let opened_before = Instant::now();
            let (over, was_open) = self.connection(with_device_token).await;
            if was_open {
                wait = FIRST_WAIT;
            }
            let problem = match over {
                Over::Stopped => return,
                Over::Again => {
                    with_device_token = true;
                    continue;
                }
                Over::Problem(problem) => problem,
                Over::Refused(Refused { problem, error }) => {
                    if self.client_id == OWN_CLIENT_ID && problem::is_unknown_client(&error) {
                        self.client_id = COMMON_CLIENT_ID;
                        continue;
                    }
                    if problem::rejects_device_token(&error) {
                        self.credentials.keep_device_token(None).await;
                    }
                    // Once, if there is one, and only where nobody in between can keep it.
                    if !with_device_token
                        && problem::takes_device_token(&error)
                        && self.is_private()
                        && matches!(self.credentials.device_token().await, Ok(Some(_)))
                    {
                        with_device_token = true;
                        continue;
                    }
                    if let Some(after_ms) = error.retry_after_ms {
                        wait = Duration::from_millis(after_ms).clamp(SOONEST, LONGEST_WAIT);
                    }
                    problem
                }
            };
            with_device_token = false;
            tracing::info!(address = %self.options.address, ?problem, after = ?opened_before.elapsed(), "no connection to a gateway");
            let retry_in = match problem::retry(&problem) {
                Retry::BackOff => Some(wait),
                Retry::Slowly => Some(SLOW_WAIT),
                Retry::Never => None,
            };
            self.tell(Notice::Lost { problem, retry_in }).await;
            let pause = async {
                match retry_in {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.again.notified() => wait = FIRST_WAIT,
                () = pause => wait = (wait * 2).min(LONGEST_WAIT),
            }
        }
    }

    fn is_private(&self) -> bool {
        self.options.address.is_loopback() || self.options.pin.is_some()
    }

    /// One connection from dialing to its end, and whether it was ever open.
    async fn connection(&mut self, with_device_token: bool) -> (Over, bool) {
        let stop = self.stop.clone();
        let dialing = async {
            let introduction = self.introduction(with_device_token).await;
            let introduction = introduction.map_err(|Withheld| LinkProblem::SecretWithheld)?;
            let request = socket::request(&self.options.address.to_string())?;
            let socket = socket::dial(Dial {
                address: &self.options.address,
                pin: self.options.pin,
                request,
                max_bytes: MAX_PAYLOAD_BYTES,
            });
            Ok::<_, LinkProblem>((socket.await?, introduction))
        };
        let dialed = tokio::select! {
            dialed = dialing => dialed,
            () = stop.cancelled() => return (Over::Stopped, false),
        };
        match dialed {
            Ok((socket, (introduction, missing))) => {
                self.attend(socket, Session::new(introduction), missing).await
            }
            Err(problem) => (problem.into(), false),
        }
    }

    /// As whom to connect, and all scopes together where fewer than wanted can be asked for at first.
    async fn introduction(
        &self,
        with_device_token: bool,
    ) -> Result<(Introduction, Option<Vec<String>>), Withheld> {
        let secret = if with_device_token { None } else { self.credentials.secret().await? };
        let (mut scopes, mut missing) = (self.options.scopes.clone(), None);
        let auth = match secret {
            Some(secret) => Some(secret),
            // A token is good for the scopes that it was given for; with others it would be refused.
            None => self.credentials.device_token().await?.map(|kept| {
                missing = widening::wider(&kept.scopes, &scopes);
                scopes = kept.scopes;
                Auth { token: Some(kept.token), ..Auth::default() }
            }),
        };
        let introduction = Introduction {
            identity: self.options.identity.clone(),
            client: ClientInfo {
                id: self.client_id.to_owned(),
                display_name: Some(self.options.display_name.clone()),
                version: env!("CARGO_PKG_VERSION").to_owned(),
                platform: PLATFORM.to_owned(),
                device_family: Some(DEVICE_FAMILY.to_owned()),
                model_identifier: None,
                mode: if self.options.role == Role::Node.as_str() { NODE_MODE } else { CLIENT_MODE }
                    .to_owned(),
                instance_id: Some(self.instance.clone()),
            },
            role: self.options.role,
            scopes,
            caps: self.options.caps.clone(),
            commands: self.options.commands.clone(),
            auth,
        };
        Ok((introduction, missing))
    }

    /// Attends to an open socket until one end has enough. Scopes that are `missing` are asked for over it.
    async fn attend(
        &mut self,
        mut socket: Socket,
        mut session: Session,
        mut missing: Option<Vec<String>>,
    ) -> (Over, bool) {
        let (calls, mut outgoing) = mpsc::channel::<Outgoing>(OUTGOING);
        let mut waiting: HashMap<CallId, oneshot::Sender<Result<Value, CallError>>> = HashMap::new();
        let mut calls = Some(calls);
        let mut silence = HANDSHAKE_WAIT;
        let mut sweep = tokio::time::interval(SWEEP);
        let mut deadline = pin!(tokio::time::sleep(silence));
        let mut are_calls_over = false;
        let mut challenged_at = None;
        let mut widening: JoinSet<Option<DeviceToken>> = JoinSet::new();
        let stop = self.stop.clone();
        let over = loop {
            let outputs = tokio::select! {
                message = socket.next() => match heard(message) {
                    Ok(Some(text)) => {
                        // During the handshake its own limit counts, afterwards every frame
                        // is a sign of life.
                        if calls.is_none() {
                            deadline.as_mut().reset(Instant::now() + silence);
                        }
                        session.receive(&text)
                    }
                    Ok(None) => {
                        if calls.is_none() {
                            deadline.as_mut().reset(Instant::now() + silence);
                        }
                        continue;
                    }
                    Err(problem) => break problem.into(),
                },
                call = outgoing.recv(), if calls.is_none() && !are_calls_over => match call {
                    Some(Outgoing { method, params, answers, reply }) => match session.call(method, params, answers) {
                        Some((id, text)) => {
                            waiting.insert(id, reply);
                            vec![Output::Send(text)]
                        }
                        None => {
                            let _ = reply.send(Err(CallError::Full));
                            continue;
                        }
                    },
                    // Whoever took the connection let go of it; it still brings events.
                    None => {
                        are_calls_over = true;
                        continue;
                    }
                },
                _ = sweep.tick() => {
                    waiting.retain(|id, reply| {
                        let is_wanted = !reply.is_closed();
                        if !is_wanted {
                            session.forget(*id);
                        }
                        is_wanted
                    });
                    continue;
                }
                Some(widened) = widening.join_next() => match widened {
                    Ok(Some(token)) => {
                        self.credentials.keep_device_token(Some(token.clone())).await;
                        // One that could not be kept would be asked for again and again.
                        if self.credentials.device_token().await != Ok(Some(token)) {
                            continue;
                        }
                        farewell(&mut socket, close::NORMAL, "").await;
                        break Over::Again;
                    }
                    // What there is stays.
                    Ok(None) | Err(_) => continue,
                },
                () = &mut deadline => {
                    farewell(&mut socket, TICK_TIMEOUT, "tick timeout").await;
                    break LinkProblem::TimedOut.into();
                }
                () = stop.cancelled() => {
                    farewell(&mut socket, close::NORMAL, "").await;
                    break Over::Stopped;
                }
            };
            let mut ended = None;
            for output in outputs {
                match output {
                    Output::Send(text) => {
                        // The first that is sent answers the challenge.
                        challenged_at.get_or_insert_with(Instant::now);
                        if let Err(problem) = send(&mut socket, text).await {
                            ended = Some(problem.into());
                        }
                    }
                    Output::Opened(hello) => {
                        silence = Duration::from_millis(hello.policy.tick_interval_ms)
                            .saturating_mul(2)
                            .clamp(SHORTEST_SILENCE, LONGEST_SILENCE);
                        deadline.as_mut().reset(Instant::now() + silence);
                        self.keep(&hello).await;
                        if let Some(calls) = calls.take() {
                            let clock = Clock {
                                gateway_ms: session.challenged_at_ms(),
                                at: challenged_at.unwrap_or_else(Instant::now),
                            };
                            let live = Live { hello: Arc::new(*hello), calls, clock };
                            self.tell(Notice::Opened(live.clone())).await;
                            if let Some(scopes) = missing.take() {
                                widening.spawn(widening::ask(live, scopes, self.notices.clone()));
                            }
                        }
                    }
                    Output::Refused(refused) => ended = Some(Over::Refused(*refused)),
                    Output::Answered(id, result) => {
                        if let Some(reply) = waiting.remove(&id) {
                            let _ = reply.send(result.map_err(CallError::Refused));
                        }
                    }
                    Output::Happened(event) => self.pass(Notice::Event(event)),
                    Output::Gap => self.pass(Notice::Gap),
                    Output::Broken(text) => ended = Some(LinkProblem::NotAGateway { text }.into()),
                }
                if ended.is_some() {
                    break;
                }
            }
            if let Some(over) = ended {
                farewell(&mut socket, close::NORMAL, "").await;
                break over;
            }
        };
        (over, calls.is_none())
    }

    /// The gateway may have given this device a token.
    async fn keep(&self, hello: &HelloOk) {
        let Some(granted) = &hello.auth else { return };
        let Some(token) = &granted.device_token else { return };
        let known = self.credentials.device_token().await.unwrap_or_default();
        let scopes = match (&granted.scopes, known) {
            (_, Some(known)) if known.token == *token => return,
            (Some(scopes), _) => scopes.clone(),
            (None, _) => self.options.scopes.clone(),
        };
        self.credentials.keep_device_token(Some(DeviceToken { token: token.clone(), scopes })).await;
    }

    /// Tells something that must arrive: waits for a slow taker, unless it is time to stop.
    async fn tell(&mut self, notice: Notice) {
        if std::mem::take(&mut self.gap) {
            // The list that follows an opening brings what was left out.
            tracing::debug!("events of a gateway were left out");
        }
        tokio::select! {
            _ = self.notices.send(notice) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Tells something that may be left out when the taker is slow; then it hears of a gap.
    fn pass(&mut self, notice: Notice) {
        if self.gap && self.notices.try_send(Notice::Gap).is_ok() {
            self.gap = false;
        }
        if self.gap || self.notices.try_send(notice).is_err() {
            self.gap = true;
        }
    }
}

/// Our own name, which only releases from 2026.8 know.
const OWN_CLIENT_ID: &str = "openclaw-linux";

/// A name that every release knows.
const COMMON_CLIENT_ID: &str = "gateway-client";

const CLIENT_MODE: &str = "ui";

/// What every release knows a node by (docs/protocol/nodes.md, "Introduction").
const NODE_CLIENT_ID: &str = "node-host";

const NODE_MODE: &str = "node";

/// Must never change: peers pin it when they let a device in (docs/protocol/gateway.md, "Pairing").
const PLATFORM: &str = "linux";

/// Must never change either.
const DEVICE_FAMILY: &str = "Linux";

/// Close code of a client that heard nothing for too long (docs/protocol/gateway.md, "Codes").
const TICK_TIMEOUT: u16 = 4_000;

/// How long to wait before the second try; doubled for each further one (docs/protocol/gateway.md,
/// "Connecting again").
pub(crate) const FIRST_WAIT: Duration = Duration::from_secs(1);

/// Longest wait between two tries (docs/protocol/gateway.md, "Connecting again").
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Shortest wait that a gateway may ask for.
const SOONEST: Duration = Duration::from_millis(100);

/// How often to look whether somebody let this device in.
pub(crate) const SLOW_WAIT: Duration = Duration::from_secs(20);

/// How long the handshake may take: as long as gateways give it (docs/protocol/gateway.md, "Limits"), and a
/// little for the way.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(20);

/// Bounds of the silence after which a connection counts as lost, whatever the gateway says of its ticks.
const SHORTEST_SILENCE: Duration = Duration::from_secs(10);
const LONGEST_SILENCE: Duration = Duration::from_secs(300);

/// How often calls that nobody waits for are forgotten.
const SWEEP: Duration = Duration::from_secs(10);

/// Calls that may wait to be sent.
const OUTGOING: usize = 64;
