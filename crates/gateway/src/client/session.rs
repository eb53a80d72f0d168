//! The client's end of one connection, sans IO: handshake, calls and their answers, events and gaps between
//! them (docs/protocol/gateway.md).
//!
//! A [`Session`] is told every frame and answers with what to do. It keeps no socket, task or timer.

use super::problem::{self, LinkProblem};
use crate::identity::{Identity, Proof};
use countersign_protocol::gateway::connect::{
    Auth, Challenge, ClientInfo, ConnectParams, DeviceProof, HelloOk,
};
use countersign_protocol::gateway::{ErrorShape, Event, Frame, OLDEST_PROTOCOL, PROTOCOL, Request, Response};
use serde_json::Value;
use std::collections::HashMap;

/// Calls that may wait for their answers at once.
pub const MAX_CALLS: usize = 1_024;

/// As whom to connect.
#[derive(Debug)]
pub struct Introduction {
    /// The device.
    pub identity: Identity,
    /// The program. Its platform and family must never change: peers pin them (docs/protocol/gateway.md,
    /// "Pairing").
    pub client: ClientInfo,
    /// `operator` or `node`.
    pub role: &'static str,
    /// What it wants to be allowed.
    pub scopes: Vec<String>,
    /// What it can do.
    pub caps: Vec<String>,
    /// Commands that it takes as a node.
    pub commands: Vec<String>,
    /// Its secret.
    pub auth: Option<Auth>,
}

/// Names a call.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct CallId(u64);

/// How many answers a call has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answers {
    /// One.
    One,
    /// Perhaps one that it was accepted, and then the one that counts (docs/protocol/gateway.md,
    /// "Calls with two answers").
    AcceptedFirst,
}

/// What to do.
#[derive(Debug, PartialEq)]
pub enum Output {
    /// Send this text.
    Send(String),
    /// The handshake is over.
    Opened(Box<HelloOk>),
    /// The handshake failed; the connection is of no more use.
    Refused(Box<Refused>),
    /// A call is answered.
    Answered(CallId, Result<Value, ErrorShape>),
    /// Something happened.
    Happened(Event),
    /// Events were lost before this moment.
    Gap,
    /// The other end does not keep to the protocol; the connection is of no more use.
    Broken(String),
}

/// Why a handshake failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// What helps.
    pub problem: LinkProblem,
    /// The gateway's words.
    pub error: ErrorShape,
}

/// One connection.
#[derive(Debug)]
pub struct Session {
    introduction: Introduction,
    state: State,
    calls: HashMap<String, (CallId, Answers)>,
    next_call: u64,
    last_seq: Option<u64>,
    counts: Counts,
    challenged_at_ms: i64,
}

#[derive(Debug)]
enum State {
    /// Waits for the challenge.
    Fresh,
    /// Waits for the answer to `connect`.
    Introduced,
    Open,
    Over,
}

/// What a gap between numbers of events means (docs/protocol/gateway.md, "Event numbers").
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Counts {
    /// All events of the gateway, also those for others: a gap means nothing.
    Everything,
    /// The events for this connection: a gap is a loss.
    Ours,
}

impl Session {
    /// A new connection; the gateway speaks first.
    pub fn new(introduction: Introduction) -> Self {
        Self {
            introduction,
            state: State::Fresh,
            calls: HashMap::new(),
            next_call: 0,
            last_seq: None,
            counts: Counts::Everything,
            challenged_at_ms: 0,
        }
    }

    /// The gateway's clock when it sent its challenge, Unix milliseconds.
    pub fn challenged_at_ms(&self) -> i64 {
        self.challenged_at_ms
    }

    /// Makes a call; the text is to be sent. `None` when too many wait or the handshake is not over.
    pub fn call(&mut self, method: &str, params: Value, answers: Answers) -> Option<(CallId, String)> {
        if !matches!(self.state, State::Open) || self.calls.len() >= MAX_CALLS {
            return None;
        }
        let call = CallId(self.next_call);
        self.next_call += 1;
        let id = format!("c{}", call.0);
        let request = Request { id: id.clone(), method: method.to_owned(), params };
        let text = serde_json::to_string(&Frame::Req(request)).ok()?;
        self.calls.insert(id, (call, answers));
        Some((call, text))
    }

    /// Nobody waits for this answer any more.
    pub fn forget(&mut self, call: CallId) {
        self.calls.remove(&format!("c{}", call.0));
    }

    /// A text frame came.
    pub fn receive(&mut self, text: &str) -> Vec<Output> {
        if matches!(self.state, State::Over) {
            return Vec::new();
        }
        let frame = match serde_json::from_str(text) {
            Ok(frame) => frame,
            // Frames of kinds that a later release may add are none of ours; what is no frame at
            // all is an error.
            Err(_) if is_typed_object(text) => return Vec::new(),
            Err(error) => return vec![self.broken(format!("expected a frame: {error}"))],
        };
        match (&self.state, frame) {
            (State::Fresh, Frame::Event(event)) if event.event == "connect.challenge" => {
                self.introduce(event)
            }
            (State::Introduced, Frame::Res(response)) if response.id == CONNECT_ID => self.opened(response),
            (State::Open, Frame::Event(event)) => self.happened(event),
            (State::Open, Frame::Res(response)) => self.answered(response),
            // Before the handshake is over nothing else counts; a gateway asks a client for nothing.
            (State::Fresh | State::Introduced | State::Open | State::Over, _) => Vec::new(),
        }
    }

    fn broken(&mut self, why: String) -> Output {
        self.state = State::Over;
        Output::Broken(why)
    }

    fn introduce(&mut self, event: Event) -> Vec<Output> {
        let challenge = event.payload.map(serde_json::from_value::<Challenge>);
        let Some(Ok(Challenge { nonce, ts: Some(signed_at) })) = challenge else {
            return vec![self.broken("connect.challenge: expected a nonce and a time".to_owned())];
        };
        let nonce = nonce.trim().to_owned();
        self.challenged_at_ms = signed_at;
        let Introduction { identity, client, role, scopes, caps, commands, auth } = &self.introduction;
        let device_id = identity.device_id();
        // The older text, which every release accepts; the gateway's own time, so that our clock
        // does not matter.
        let proof = Proof {
            device_id: &device_id,
            client_id: &client.id,
            client_mode: &client.mode,
            role,
            scopes,
            signed_at_ms: signed_at,
            token: auth.as_ref().map(Auth::signed_token).unwrap_or_default(),
            nonce: &nonce,
            platform: &client.platform,
            device_family: client.device_family.as_deref().unwrap_or_default(),
        };
        let signature = identity.sign(&proof.text());
        let params = ConnectParams {
            min_protocol: OLDEST_PROTOCOL,
            max_protocol: PROTOCOL,
            client: client.clone(),
            caps: caps.clone(),
            commands: commands.clone(),
            permissions: None,
            path_env: None,
            role: Some((*role).to_owned()),
            scopes: scopes.clone(),
            device: Some(DeviceProof {
                id: device_id.into(),
                public_key: identity.public_key(),
                signature,
                signed_at,
                nonce: Some(nonce),
            }),
            auth: auth.clone(),
            locale: None,
            user_agent: None,
        };
        let text = serde_json::to_value(params).and_then(|params| {
            let request = Request { id: CONNECT_ID.to_owned(), method: "connect".to_owned(), params };
            serde_json::to_string(&Frame::Req(request))
        });
        match text {
            Ok(text) => {
                self.state = State::Introduced;
                vec![Output::Send(text)]
            }
            Err(error) => vec![self.broken(format!("connect could not be written: {error}"))],
        }
    }

    fn opened(&mut self, response: Response) -> Vec<Output> {
        if !response.ok {
            self.state = State::Over;
            let error = response.error.unwrap_or_else(|| ErrorShape::invalid("no reason given"));
            let problem = problem::of_handshake(&error);
            return vec![Output::Refused(Box::new(Refused { problem, error }))];
        }
        let hello: Result<HelloOk, _> = serde_json::from_value(response.payload.unwrap_or_default());
        match hello {
            Ok(hello) if hello.kind == "hello-ok" => {
                // Protocol 4 numbers what it sends to each connection, older ones what they send at all.
                self.counts = if hello.protocol >= PROTOCOL { Counts::Ours } else { Counts::Everything };
                self.state = State::Open;
                vec![Output::Opened(Box::new(hello))]
            }
            Ok(other) => {
                let why = format!("connect: expected hello-ok, got {:?}", other.kind);
                vec![self.broken(why)]
            }
            Err(error) => vec![self.broken(format!("connect: expected hello-ok: {error}"))],
        }
    }

    fn happened(&mut self, event: Event) -> Vec<Output> {
        let mut outputs = Vec::new();
        if let Some(seq) = event.seq {
            let follows = self.last_seq.is_none_or(|last| seq <= last.saturating_add(1));
            if !follows && self.counts == Counts::Ours {
                outputs.push(Output::Gap);
            }
            self.last_seq = Some(self.last_seq.map_or(seq, |last| last.max(seq)));
        }
        outputs.push(Output::Happened(event));
        outputs
    }

    fn answered(&mut self, response: Response) -> Vec<Output> {
        let Response { id, ok, payload, error } = response;
        let Some((call, answers)) = self.calls.get(&id).copied() else {
            // A second answer, or one to a call that nobody waits for.
            return Vec::new();
        };
        let is_accepted = payload.as_ref().is_some_and(|payload| payload["status"] == "accepted");
        if ok && is_accepted && answers == Answers::AcceptedFirst {
            return Vec::new();
        }
        self.calls.remove(&id);
        let result = if ok {
            Ok(payload.unwrap_or_default())
        } else {
            Err(error.unwrap_or_else(|| ErrorShape::invalid("no reason given")))
        };
        vec![Output::Answered(call, result)]
    }
}

/// Whether a text is an object that says what kind of frame it is.
fn is_typed_object(text: &str) -> bool {
    let value: Result<Value, _> = serde_json::from_str(text);
    value.is_ok_and(|value| {
        value["type"].as_str().is_some_and(|kind| !matches!(kind, "req" | "res" | "event"))
    })
}

/// Id of the first call.
const CONNECT_ID: &str = "connect";

#[cfg(test)]
mod tests;
