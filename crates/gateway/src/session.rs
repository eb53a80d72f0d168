//! The server's end of one connection, sans IO: challenge, handshake, who may call what
//! (docs/protocol/gateway.md, "Handshake").
//!
//! A [`Session`] is told the time and every frame, asks its [`Gate`] about secrets and devices, and answers
//! with what to do. It keeps no socket, task or timer.

use crate::access::{Method, Role, Scope, Scopes};
use crate::identity::{self, Proof};
use crate::pairing::{self, Admission, Applicant, Pending, Reason};
use countersign_protocol::gateway::connect::{
    Auth, ClientInfo, ConnectParams, DeviceProof, Features, Granted, HelloOk, Policy, ServerInfo,
};
use countersign_protocol::gateway::node::{command, event};
use countersign_protocol::gateway::{
    ErrorShape, Event, Frame, MAX_BUFFERED_BYTES, MAX_HANDSHAKE_BYTES, MAX_PAYLOAD_BYTES, OLDEST_PROTOCOL,
    PROTOCOL, Request, Response, TICK_INTERVAL_MS, close, code,
};
use countersign_protocol::ids::DeviceId;
use serde_json::{Value, json};
use std::sync::Arc;

/// Milliseconds that a client's clock may differ.
pub const SKEW_MS: i64 = 120_000;

/// Wrong calls of a node or an operator for the other's methods before it is sent away.
pub const MAX_ROLE_ERRORS: u32 = 10;

/// What a session asks about the outside.
pub trait Gate {
    /// Whether the secret is right. Compares in constant time, counts failures.
    /// `device` is the one that proved to be there: a device that was let in is never kept out for
    /// what others guessed.
    fn secret(&mut self, auth: Option<&Auth>, device: Option<&DeviceId>) -> Result<(), Locked>;

    /// Whether a device that proved who it is may come in.
    fn admit(&mut self, applicant: &Applicant<'_>) -> Admission;

    /// Whether the right secret alone is enough for the command line of the peers, which has no device.
    fn lets_in_by_secret(&self) -> bool;

    /// Milliseconds that the gateway has been up.
    fn uptime_ms(&self) -> u64;
}

/// Why a secret did not open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Locked {
    /// None was given.
    Missing,
    /// It is another one.
    Mismatch,
    /// Too many were wrong; milliseconds to wait.
    RateLimited(u64),
}

/// Who is at the other end.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    /// Id of the connection.
    pub conn_id: String,
    /// Its role.
    pub role: Role,
    /// What it may do.
    pub scopes: Scopes,
    /// Its device, proved by a signature.
    pub device_id: Option<DeviceId>,
    /// Its program, as it says.
    pub client: ClientInfo,
    /// What it can do, as it says.
    pub caps: Vec<String>,
    /// The version that is spoken with it.
    pub protocol: u32,
    /// What it takes as a node: those of [`command::ALL`] that it declared, sorted. Nothing else is ever
    /// passed to a node.
    pub commands: Vec<&'static str>,
    /// Its search path as a node, as it says.
    pub path_env: Option<String>,
}

impl Client {
    /// Whether it may do what needs a scope.
    pub fn may(&self, scope: Scope) -> bool {
        self.role == Role::Operator && self.scopes.allow(scope)
    }

    /// How it calls itself: no proof of anything.
    pub fn name(&self) -> &str {
        let display = self.client.display_name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        display.unwrap_or(&self.client.id)
    }
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send this.
    Send(Frame),
    /// The handshake is over.
    Opened(Arc<Client>),
    /// A device waits; others are to be told.
    Knocked(Box<Pending>),
    /// Answer this call.
    Call {
        /// Id of its frame.
        id: String,
        /// Which.
        method: Method,
        /// With what.
        params: Value,
    },
    /// Close after everything was sent.
    Close {
        /// One of [`close`].
        code: u16,
        /// For people.
        reason: String,
    },
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    conn_id: String,
    nonce: String,
    state: State,
    role_errors: u32,
}

#[derive(Debug)]
enum State {
    Challenged,
    Open(Arc<Client>),
    Closed,
}

impl Session {
    /// A new connection; the frame is to be sent first. `nonce` is fresh and not to be guessed.
    pub fn new(conn_id: String, nonce: String, now_ms: i64) -> (Self, Frame) {
        let challenge = Frame::Event(Event {
            event: "connect.challenge".to_owned(),
            payload: Some(json!({ "nonce": nonce, "ts": now_ms })),
            seq: None,
        });
        (Self { conn_id, nonce, state: State::Challenged, role_errors: 0 }, challenge)
    }

    /// Whether the handshake is over and the connection lives.
    pub fn client(&self) -> Option<&Arc<Client>> {
        match &self.state {
            State::Open(client) => Some(client),
            State::Challenged | State::Closed => None,
        }
    }

    /// A text frame came.
    pub fn receive(&mut self, text: &str, gate: &mut impl Gate, now_ms: i64) -> Vec<Output> {
        match &self.state {
            State::Closed => Vec::new(),
            State::Challenged => self.handshake(text, gate, now_ms),
            State::Open(client) => {
                let client = Arc::clone(client);
                self.call(text, &client)
            }
        }
    }

    fn close(&mut self, code: u16, reason: impl Into<String>) -> Output {
        self.state = State::Closed;
        Output::Close { code, reason: reason.into() }
    }

    fn handshake(&mut self, text: &str, gate: &mut impl Gate, now_ms: i64) -> Vec<Output> {
        if text.len() > MAX_HANDSHAKE_BYTES {
            return vec![self.close(close::TOO_BIG, PREAUTH_TOO_LARGE)];
        }
        let request = match serde_json::from_str(text) {
            Ok(Frame::Req(request)) if request.method == "connect" && !request.id.is_empty() => request,
            other => {
                let reason = "invalid handshake: first request must be connect";
                let mut outputs = Vec::new();
                if let Ok(Frame::Req(request)) = other
                    && !request.id.is_empty()
                {
                    let answer = Response::failed(request.id, ErrorShape::invalid(reason));
                    outputs.push(Output::Send(Frame::Res(answer)));
                }
                outputs.push(self.close(close::POLICY, reason));
                return outputs;
            }
        };
        match self.accept(&request.params, gate, now_ms) {
            Ok((client, hello)) => {
                let client = Arc::new(client);
                self.state = State::Open(Arc::clone(&client));
                let answer = Response::ok(request.id, hello);
                vec![Output::Opened(client), Output::Send(Frame::Res(answer))]
            }
            Err(refused) => {
                let Refused { error, close_code, knocked } = *refused;
                let reason = error.message.clone();
                let mut outputs: Vec<Output> =
                    knocked.map(|pending| Output::Knocked(Box::new(pending))).into_iter().collect();
                outputs.push(Output::Send(Frame::Res(Response::failed(request.id, error))));
                outputs.push(self.close(close_code, reason));
                outputs
            }
        }
    }

    fn accept(
        &self,
        params: &Value,
        gate: &mut impl Gate,
        now_ms: i64,
    ) -> Result<(Client, Value), Box<Refused>> {
        let mut params: ConnectParams = serde_json::from_value(params.clone()).map_err(|error| {
            Refused::policy(ErrorShape::invalid(format!("invalid connect params: {error}")))
        })?;
        bounded(&params)
            .map_err(|why| Refused::policy(ErrorShape::invalid(format!("invalid connect params: {why}"))))?;
        params.client.display_name = params.client.display_name.as_deref().and_then(pairing::tidy_name);
        if params.min_protocol > PROTOCOL || params.max_protocol < OLDEST_PROTOCOL {
            return Err(protocol_mismatch(&params));
        }
        let role = Role::parse(params.role.as_deref())
            .ok_or_else(|| Refused::policy(ErrorShape::invalid("invalid role")))?;
        let proved = params.device.as_ref().map(|device| self.prove(device, &params, role, now_ms));
        let device = proved.as_ref().and_then(|proved| proved.as_ref().ok());
        // Whether a proof is good is told to those who know the secret.
        gate.secret(params.auth.as_ref(), device).map_err(locked)?;
        let mut scopes = match role {
            Role::Operator => Scopes::of(&params.scopes),
            Role::Node => Scopes::default(),
        };
        let device_id = match proved {
            Some(proved) => Some(proved?),
            None if role == Role::Node => return Err(no_device()),
            None if is_command_line(&params.client) && gate.lets_in_by_secret() => None,
            // Whoever does not say who it is may do nothing.
            None => {
                scopes = Scopes::default();
                None
            }
        };
        if let (Some(device), Some(id)) = (&params.device, &device_id) {
            let applicant = Applicant {
                device_id: id,
                public_key: &device.public_key,
                client: &params.client,
                role,
                scopes: &scopes,
            };
            match gate.admit(&applicant) {
                Admission::Admitted { .. } => {}
                Admission::Waits { request, is_new } => return Err(not_paired(*request, is_new)),
                Admission::Full => {
                    let error = ErrorShape::unavailable("too many devices wait to be let in");
                    return Err(Refused::policy(error));
                }
            }
        }
        let client = Client {
            conn_id: self.conn_id.clone(),
            role,
            scopes,
            device_id,
            protocol: params.max_protocol.min(PROTOCOL),
            commands: taken(role, &params.commands),
            path_env: params.path_env.filter(|_| role == Role::Node),
            client: params.client,
            caps: params.caps,
        };
        let hello = hello(&client, gate.uptime_ms());
        Ok((client, hello))
    }

    /// The id of the device, if it has the key and signed this very connection.
    fn prove(
        &self,
        device: &DeviceProof,
        params: &ConnectParams,
        role: Role,
        now_ms: i64,
    ) -> Result<DeviceId, Box<Refused>> {
        let key = identity::decode_public_key(&device.public_key).ok_or_else(|| {
            unproved("device public key invalid", "PUBLIC_KEY_INVALID", "device-public-key")
        })?;
        let id = identity::device_id(&key);
        if id != device.id.as_str() {
            return Err(unproved("device identity mismatch", "DEVICE_ID_MISMATCH", "device-id-mismatch"));
        }
        if now_ms.abs_diff(device.signed_at) > SKEW_MS.unsigned_abs() {
            return Err(unproved("device signature expired", "SIGNATURE_EXPIRED", "device-signature-stale"));
        }
        match device.nonce.as_deref().map(str::trim) {
            None | Some("") => {
                return Err(unproved("device nonce required", "NONCE_REQUIRED", "device-nonce-missing"));
            }
            Some(nonce) if nonce != self.nonce => {
                return Err(unproved("device nonce mismatch", "NONCE_MISMATCH", "device-nonce-mismatch"));
            }
            Some(_) => {}
        }
        let proof = Proof {
            device_id: &id,
            client_id: &params.client.id,
            client_mode: &params.client.mode,
            role: role.as_str(),
            scopes: &params.scopes,
            signed_at_ms: device.signed_at,
            token: params.auth.as_ref().map(Auth::signed_token).unwrap_or_default(),
            nonce: &self.nonce,
            platform: &params.client.platform,
            device_family: params.client.device_family.as_deref().unwrap_or_default(),
        };
        let signed = |text: &str| identity::verify(&key, text, &device.signature);
        if signed(&proof.text_with_platform()) || signed(&proof.text()) {
            Ok(id)
        } else {
            Err(unproved("device signature invalid", "SIGNATURE_INVALID", "device-signature"))
        }
    }

    fn call(&mut self, text: &str, client: &Client) -> Vec<Output> {
        let fail = |id: &str, error| Output::Send(Frame::Res(Response::failed(id, error)));
        let request = match parse(text) {
            Ok(request) => request,
            Err((id, why)) => {
                return vec![fail(&id, ErrorShape::invalid(format!("invalid request frame: {why}")))];
            }
        };
        let Some(method) = Method::parse(&request.method) else {
            let error = ErrorShape::invalid(format!("unknown method: {}", request.method));
            return vec![fail(&request.id, error)];
        };
        let (scope, is_its_role) = match method {
            Method::Operator(method) => (method.scope(), client.role == Role::Operator),
            Method::Node(method) => (method.scope(), client.role == Role::Node),
        };
        let allowed = match scope.filter(|scope| !client.may(*scope)) {
            _ if !is_its_role => Err(None),
            Some(missing) => Err(Some(missing)),
            None => Ok(()),
        };
        match allowed {
            Ok(()) => vec![Output::Call { id: request.id, method, params: request.params }],
            Err(Some(scope)) => {
                vec![fail(&request.id, missing_scope(scope))]
            }
            Err(None) => {
                let role = client.role.as_str();
                let error = ErrorShape::invalid(format!("unauthorized role: {role}"));
                let mut outputs = vec![fail(&request.id, error)];
                self.role_errors += 1;
                if self.role_errors > MAX_ROLE_ERRORS {
                    outputs.push(self.close(close::POLICY, "too many calls of another role's methods"));
                }
                outputs
            }
        }
    }
}

/// More than is kept of what a program says of itself.
#[derive(Debug, thiserror::Error)]
#[error("{member}: expected at most {most}{unit}, got {got}")]
struct TooLarge {
    member: &'static str,
    most: usize,
    unit: &'static str,
    got: usize,
}

/// What is wrong with the sizes of what a program says of itself: it is kept, and shown to people.
fn bounded(params: &ConnectParams) -> Result<(), TooLarge> {
    let ClientInfo { id, version, platform, device_family, model_identifier, mode, instance_id, .. } =
        &params.client;
    let words = [
        ("client.id", Some(id)),
        ("client.version", Some(version)),
        ("client.platform", Some(platform)),
        ("client.deviceFamily", device_family.as_ref()),
        ("client.modelIdentifier", model_identifier.as_ref()),
        ("client.mode", Some(mode)),
        ("client.instanceId", instance_id.as_ref()),
    ];
    let lists = [("caps", &params.caps), ("commands", &params.commands), ("scopes", &params.scopes)];
    let entries = lists.iter().flat_map(|(name, list)| list.iter().map(|word| (*name, Some(word))));
    for (name, word) in words.into_iter().chain(entries) {
        let bytes = word.map_or(0, String::len);
        if bytes > MAX_WORD_BYTES {
            return Err(TooLarge { member: name, most: MAX_WORD_BYTES, unit: " bytes", got: bytes });
        }
    }
    for (name, list) in lists {
        if list.len() > MAX_WORDS {
            return Err(TooLarge { member: name, most: MAX_WORDS, unit: "", got: list.len() });
        }
    }
    Ok(())
}

/// Longest word of what a program says of itself, in bytes: far longer than any of the peers'.
const MAX_WORD_BYTES: usize = 256;

/// Most words of one kind: four times as many as the peers' largest node declares.
const MAX_WORDS: usize = 256;

/// What of the declared commands a node may be told to do, sorted.
fn taken(role: Role, declared: &[String]) -> Vec<&'static str> {
    let is_declared = |known: &&str| role == Role::Node && declared.iter().any(|word| word.trim() == *known);
    let mut taken: Vec<&'static str> = command::ALL.into_iter().filter(is_declared).collect();
    taken.sort_unstable();
    taken
}

/// A caller may not do what needs this scope.
pub(crate) fn missing_scope(scope: Scope) -> ErrorShape {
    let scope = scope.as_str();
    let details = json!({"code": "MISSING_SCOPE", "missingScope": scope, "requiredScopes": [scope]});
    ErrorShape::new(code::FORBIDDEN, format!("missing scope: {scope}")).with(details)
}

/// The command line of newer releases leaves its device out when it was given a token
/// (docs/protocol/gateway.md, "Roles and scopes").
fn is_command_line(client: &ClientInfo) -> bool {
    client.id == "cli" && client.mode == "cli"
}

/// A call, or the id to answer under and what is wrong.
fn parse(text: &str) -> Result<Request, (String, String)> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| (INVALID_ID.to_owned(), error.to_string()))?;
    let id = value.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
    let id = id.unwrap_or(INVALID_ID).to_owned();
    match serde_json::from_value(value) {
        Ok(Frame::Req(request)) if request.id.is_empty() => Err((id, "expected an id".to_owned())),
        Ok(Frame::Req(request)) if request.method.is_empty() => Err((id, "expected a method".to_owned())),
        Ok(Frame::Req(request)) => Ok(request),
        Ok(Frame::Res(_) | Frame::Event(_)) => Err((id, "expected a request".to_owned())),
        Err(error) => Err((id, error.to_string())),
    }
}

/// What is said of a first frame that is too long.
pub(crate) const PREAUTH_TOO_LARGE: &str = "preauth payload too large";

/// Under which a frame without a usable id is answered.
const INVALID_ID: &str = "invalid";

/// Why a handshake failed.
struct Refused {
    error: ErrorShape,
    close_code: u16,
    /// A device that waits since now.
    knocked: Option<Pending>,
}

impl Refused {
    fn policy(error: ErrorShape) -> Box<Self> {
        Box::new(Self { error, close_code: close::POLICY, knocked: None })
    }
}

fn protocol_mismatch(params: &ConnectParams) -> Box<Refused> {
    let details = json!({
        "code": "PROTOCOL_MISMATCH",
        "clientMinProtocol": params.min_protocol,
        "clientMaxProtocol": params.max_protocol,
        "expectedProtocol": PROTOCOL,
        "minimumProbeProtocol": OLDEST_PROTOCOL,
    });
    let error = ErrorShape::invalid("protocol mismatch").with(details);
    Box::new(Refused { error, close_code: close::PROTOCOL, knocked: None })
}

fn locked(why: Locked) -> Box<Refused> {
    let (text, word, reason, step) = match why {
        Locked::Missing => (
            "unauthorized: gateway token missing (provide gateway auth token)",
            "AUTH_TOKEN_MISSING",
            "token_missing",
            "update_auth_configuration",
        ),
        Locked::Mismatch => (
            "unauthorized: gateway token mismatch (provide gateway auth token)",
            "AUTH_TOKEN_MISMATCH",
            "token_mismatch",
            "update_auth_credentials",
        ),
        Locked::RateLimited(_) => (
            "unauthorized: too many failed authentication attempts (retry later)",
            "AUTH_RATE_LIMITED",
            "rate_limited",
            "wait_then_retry",
        ),
    };
    let details = json!({
        "code": word, "authReason": reason, "canRetryWithDeviceToken": false, "recommendedNextStep": step,
    });
    let mut error = ErrorShape::invalid(text).with(details);
    if let Locked::RateLimited(after_ms) = why {
        error.retryable = Some(true);
        error.retry_after_ms = Some(after_ms);
    }
    Refused::policy(error)
}

fn no_device() -> Box<Refused> {
    let details = json!({"code": "DEVICE_IDENTITY_REQUIRED"});
    Refused::policy(ErrorShape::new(code::NOT_PAIRED, "device identity required").with(details))
}

fn unproved(text: &str, word: &str, reason: &str) -> Box<Refused> {
    let details = json!({"code": format!("DEVICE_AUTH_{word}"), "reason": reason});
    Refused::policy(ErrorShape::invalid(text).with(details))
}

fn not_paired(request: Pending, is_new: bool) -> Box<Refused> {
    let reason = request.reason;
    let details = json!({
        "code": "PAIRING_REQUIRED",
        "reason": reason.as_str(),
        "requestId": request.request_id,
        "deviceId": request.device_id,
        "requestedRole": request.role,
        "requestedScopes": request.scopes,
        "recommendedNextStep": "wait_then_retry",
    });
    let text = match reason {
        Reason::NotPaired => "pairing required: this device is not known here yet",
        Reason::RoleUpgrade => "pairing required: this device asks for another role",
        Reason::ScopeUpgrade => "pairing required: this device asks for more than it was allowed",
        Reason::MetadataUpgrade => "pairing required: this device says to be another machine",
    };
    let error = ErrorShape::new(code::NOT_PAIRED, text).with(details);
    Box::new(Refused { error, close_code: close::POLICY, knocked: is_new.then_some(request) })
}

fn hello(client: &Client, uptime_ms: u64) -> Value {
    let mut methods: Vec<_> = Method::all().map(|method| method.as_str().to_owned()).collect();
    methods.sort_unstable();
    let hello = HelloOk {
        kind: "hello-ok".to_owned(),
        protocol: client.protocol,
        server: ServerInfo { version: VERSION.to_owned(), conn_id: client.conn_id.clone() },
        features: Features { methods, events: EVENTS.map(str::to_owned).into() },
        snapshot: json!({
            "presence": [],
            "health": {},
            "stateVersion": {"presence": 0, "health": 0},
            "uptimeMs": uptime_ms,
            "authMode": "token",
        }),
        auth: Some(Granted {
            role: client.role.as_str().to_owned(),
            scopes: Some(client.scopes.words()),
            ..Granted::default()
        }),
        policy: Policy {
            max_payload: MAX_PAYLOAD_BYTES as u64,
            max_buffered_bytes: MAX_BUFFERED_BYTES as u64,
            tick_interval_ms: TICK_INTERVAL_MS,
        },
    };
    serde_json::to_value(hello).unwrap_or_default()
}

/// What is told in the handshake.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Events that the embedded gateway sends.
const EVENTS: [&str; 10] = [
    "device.pair.requested",
    "device.pair.resolved",
    "exec.approval.requested",
    "exec.approval.resolved",
    event::CANCEL,
    event::INVOKE,
    "plugin.approval.requested",
    "plugin.approval.resolved",
    "shutdown",
    "tick",
];

#[cfg(test)]
mod tests;
