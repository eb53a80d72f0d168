//! Frames of the gateway protocol, versions 3 and 4 (docs/protocol/gateway.md, "Frames"): one JSON object
//! a text frame.
//!
//! Unknown members are ignored when reading; nothing is written that the oldest release does not know, unless
//! a type says otherwise.

pub mod approval;
pub mod connect;
pub mod node;
pub mod plugin;
pub mod policy;
pub mod proposal;
pub mod unified;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The newest version that is spoken.
pub const PROTOCOL: u32 = 4;

/// The oldest version that is spoken.
pub const OLDEST_PROTOCOL: u32 = 3;

/// Largest frame after the handshake, in bytes (docs/protocol/gateway.md, "Limits").
pub const MAX_PAYLOAD_BYTES: usize = 26_214_400;

/// Largest frame before it, in bytes (docs/protocol/gateway.md, "Limits").
pub const MAX_HANDSHAKE_BYTES: usize = 65_536;

/// Bytes that may wait for a slow reader (docs/protocol/gateway.md, "Limits").
pub const MAX_BUFFERED_BYTES: usize = 52_428_800;

/// Milliseconds between two `tick` events (docs/protocol/gateway.md, "Ticks and silence").
pub const TICK_INTERVAL_MS: u64 = 30_000;

/// Close codes (docs/protocol/gateway.md, "Codes").
pub mod close {
    /// Nothing is wrong.
    pub const NORMAL: u16 = 1_000;
    /// No common version.
    pub const PROTOCOL: u16 = 1_002;
    /// The other end said nothing; never sent (RFC 6455 §7.4.1).
    pub const NO_CODE: u16 = 1_005;
    /// Handshake, authentication or a slow reader.
    pub const POLICY: u16 = 1_008;
    /// A frame before the handshake was too large.
    pub const TOO_BIG: u16 = 1_009;
    /// The server goes down and comes back.
    pub const RESTART: u16 = 1_012;
    /// The device is no longer let in.
    pub const REMOVED: u16 = 4_001;
}

/// A frame.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Frame {
    /// A call.
    Req(Request),
    /// An answer to one; a call can have two (docs/protocol/gateway.md, "Calls with two answers").
    Res(Response),
    /// Something that happened.
    Event(Event),
}

/// A call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Request {
    /// Chosen by the caller, not empty.
    pub id: String,
    /// Not empty.
    pub method: String,
    /// Anything; most methods take an object.
    #[serde(default)]
    pub params: Value,
}

/// An answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Response {
    /// The call's id.
    pub id: String,
    /// Whether there is a payload and no error.
    pub ok: bool,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Why nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorShape>,
}

/// Something that happened.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Its name.
    pub event: String,
    /// What belongs to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// Counts events, by release in another way (docs/protocol/gateway.md, "Event numbers").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// Why a call failed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorShape {
    /// One of [`code`].
    pub code: String,
    /// For people.
    pub message: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Value>>,
    /// Whether the same call may work later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Milliseconds to wait before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
}

/// Error codes (docs/protocol/gateway.md, "Codes").
pub mod code {
    /// The call is wrong.
    pub const INVALID_REQUEST: &str = "INVALID_REQUEST";
    /// The device needs an approval first.
    pub const NOT_PAIRED: &str = "NOT_PAIRED";
    /// A scope is missing.
    pub const FORBIDDEN: &str = "FORBIDDEN";
    /// Not now.
    pub const UNAVAILABLE: &str = "UNAVAILABLE";
}

impl Response {
    /// A success.
    pub fn ok(id: impl Into<String>, payload: Value) -> Self {
        Self { id: id.into(), ok: true, payload: Some(payload), error: None }
    }

    /// A failure.
    pub fn failed(id: impl Into<String>, error: ErrorShape) -> Self {
        Self { id: id.into(), ok: false, payload: None, error: Some(error) }
    }
}

impl ErrorShape {
    /// An error with nothing but a text.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            details: None,
            retryable: None,
            retry_after_ms: None,
        }
    }

    /// The call is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }

    /// Not now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(code::UNAVAILABLE, message)
    }

    /// With something for programs.
    #[must_use]
    pub fn with(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(frame: &Frame, text: &Value) {
        assert_eq!(&serde_json::to_value(frame).unwrap(), text);
        assert_eq!(&serde_json::from_value::<Frame>(text.clone()).unwrap(), frame);
    }

    #[test]
    fn frames_have_the_peers_shape() {
        let request = Request { id: "c1".into(), method: "exec.approval.list".into(), params: json!({}) };
        check(
            &Frame::Req(request),
            &json!({"type": "req", "id": "c1", "method": "exec.approval.list", "params": {}}),
        );
        check(
            &Frame::Res(Response::ok("c1", json!([]))),
            &json!({"type": "res", "id": "c1", "ok": true, "payload": []}),
        );
        let error = ErrorShape::invalid("no").with(json!({"reason": "X"}));
        check(
            &Frame::Res(Response::failed("c1", error)),
            &json!({"type": "res", "id": "c1", "ok": false,
                    "error": {"code": "INVALID_REQUEST", "message": "no", "details": {"reason": "X"}}}),
        );
        let tick = Event { event: "tick".into(), payload: Some(json!({"ts": 1})), seq: Some(41) };
        check(
            &Frame::Event(tick),
            &json!({"type": "event", "event": "tick", "payload": {"ts": 1}, "seq": 41}),
        );
    }

    #[test]
    fn members_of_later_releases_are_ignored() {
        let text = json!({"type": "req", "id": "1", "method": "health", "traceparent": "00-…"});
        let Frame::Req(request) = serde_json::from_value(text).unwrap() else { panic!("a request") };
        assert_eq!(request.params, Value::Null);
        let text = json!({"type": "event", "event": "tick", "stateVersion": {"presence": 1, "health": 2}});
        assert!(serde_json::from_value::<Frame>(text).is_ok());
        assert!(serde_json::from_value::<Frame>(json!({"type": "other"})).is_err());
    }
}
