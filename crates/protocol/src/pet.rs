//! The pet channel: tool approval for companion clients, API version 2.11 (docs/protocol/pet-channel.md). One
//! JSON object a text frame.
//!
//! Unknown members, push types and actions are read and mean nothing. Whoever reads a frame here gets it with
//! every bound already checked.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};
use std::fmt;

/// Port of a pet server whose address names none.
pub const DEFAULT_PORT: u16 = 8_080;

/// Path of the channel.
pub const PATH: &str = "/ws";

/// Query member that names the session.
pub const SESSION_PARAM: &str = "sessionId";

/// Query member with the token, for clients that cannot send a header.
pub const TOKEN_PARAM: &str = "token";

/// Milliseconds between two `heartbeat` pushes.
pub const HEARTBEAT_MS: u64 = 30_000;

/// Milliseconds after which a request that nobody answered is denied.
pub const APPROVAL_MS: u64 = 60_000;

/// The action that answers a `tool_approval`.
pub const RESPONSE_ACTION: &str = "tool_approval_response";

/// In front of the Unix nanoseconds of a request's id.
pub const REQUEST_ID_PREFIX: &str = "tool_approval_";

/// Tools that need an approval unless somebody configured others.
pub const GATED_TOOLS: [&str; 6] = ["exec", "write_file", "edit_file", "append_file", "subagent", "spawn"];

/// Longest frame of a client, in bytes: an answer has a few hundred.
pub const MAX_ACTION_BYTES: usize = 65_536;

/// Longest frame of a server, in bytes: others than the ones that count here may carry speech.
pub const MAX_FRAME_BYTES: usize = 16 * 1024 * 1024;

/// Longest arguments of a call as JSON, in bytes: whole files may be written.
pub const MAX_ARGUMENTS_BYTES: usize = 1024 * 1024;

/// Longest name of an action, a push type or a tool, in bytes.
pub const MAX_NAME_BYTES: usize = 200;

/// Longest id of a session or a request, in bytes.
pub const MAX_ID_BYTES: usize = 200;

/// Push types that count here. The API has more.
pub mod push_type {
    /// The first push of a connection.
    pub const INIT_STATUS: &str = "init_status";
    /// The connection lives.
    pub const HEARTBEAT: &str = "heartbeat";
    /// Something is wrong.
    pub const ERROR: &str = "error";
    /// A call waits for an answer.
    pub const TOOL_APPROVAL: &str = "tool_approval";
}

/// Close codes (RFC 6455 §7.4.1).
pub mod close {
    /// Nobody serves this any more.
    pub const GOING_AWAY: u16 = 1_001;
    /// Not text.
    pub const UNSUPPORTED: u16 = 1_003;
    /// Too many frames that were no actions.
    pub const POLICY: u16 = 1_008;
    /// A frame was too long.
    pub const TOO_BIG: u16 = 1_009;
    /// The server goes down and comes back.
    pub const RESTART: u16 = 1_012;
}

/// The session that a connection is for: not empty, no control characters, at most [`MAX_ID_BYTES`].
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SessionId(String);

impl SessionId {
    /// Takes the text as it is, without trimming.
    pub fn parse(text: &str) -> Result<Self, FrameError> {
        bounded(SESSION_PARAM, text, MAX_ID_BYTES)?;
        if text.chars().any(char::is_control) {
            return Err(FrameError::Control { member: SESSION_PARAM });
        }
        Ok(Self(text.to_owned()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a client wants.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Action {
    /// Its name.
    pub action: String,
    /// What belongs to it.
    #[serde(default)]
    pub data: Value,
    /// Comes back with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

impl Action {
    /// Reads a client's frame.
    pub fn read(text: &str) -> Result<Self, FrameError> {
        let action: Self = object("a frame", parsed(text, MAX_ACTION_BYTES)?)?;
        bounded("action", &action.action, MAX_NAME_BYTES)?;
        if let Some(id) = &action.request_id {
            bounded("request_id", id, MAX_ID_BYTES)?;
        }
        Ok(action)
    }
}

/// How an action went.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It was done.
    Ok,
    /// It was not.
    Error,
    /// Another answer follows.
    Pending,
}

/// A server's answer to an action.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Response {
    /// How it went.
    pub status: Status,
    /// The action's name.
    pub action: String,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Why nothing did, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The action's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
}

/// What a server says unasked.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Push {
    #[serde(rename = "type")]
    tag: PushTag,
    /// One of [`push_type`], or one that means nothing here.
    pub push_type: String,
    /// What belongs to it.
    #[serde(default)]
    pub data: Value,
    /// Unix seconds. Parts of a second are dropped, and without any it is 0: nothing here depends on it.
    #[serde(default, deserialize_with = "seconds")]
    pub timestamp: i64,
    /// Whether it is the last part of what comes in several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_final: Option<bool>,
}

/// Tells a push from an answer.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
enum PushTag {
    #[serde(rename = "push")]
    Push,
}

impl Push {
    /// One of [`push_type`] at a moment, in Unix seconds.
    pub fn new(push_type: &str, data: Value, timestamp: i64) -> Self {
        Self { tag: PushTag::Push, push_type: push_type.to_owned(), data, timestamp, is_final: None }
    }
}

/// A frame of a server.
#[derive(Clone, Debug, PartialEq)]
pub enum FromServer {
    /// It says something.
    Push(Push),
    /// It answers.
    Response(Response),
    /// An object of another kind, which a later version may have.
    Other,
}

impl FromServer {
    /// Reads a server's frame.
    pub fn read(text: &str) -> Result<Self, FrameError> {
        let value = parsed(text, MAX_FRAME_BYTES)?;
        if !value.is_object() {
            return Err(FrameError::NoObject { what: "a frame", got: kind(&value) });
        }
        if value["type"] == "push" {
            object("a push", value).map(Self::Push)
        } else if value.get("status").is_some() {
            object("an answer", value).map(Self::Response)
        } else {
            Ok(Self::Other)
        }
    }
}

/// Data of a `tool_approval` push: a call that waits for an answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ToolApproval {
    /// Comes back with the answer, letter for letter.
    pub request_id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments; `null` where it has none.
    #[serde(default)]
    pub arguments: Value,
}

impl ToolApproval {
    /// Reads a push's data.
    pub fn read(data: Value) -> Result<Self, FrameError> {
        let approval: Self = object("tool_approval: data", data)?;
        approval.check()?;
        Ok(approval)
    }

    /// Whether it keeps to the bounds; its arguments as JSON.
    pub fn check(&self) -> Result<String, FrameError> {
        bounded("request_id", &self.request_id, MAX_ID_BYTES)?;
        bounded("tool", &self.tool, MAX_NAME_BYTES)?;
        let arguments = serde_json::to_string(&self.arguments)
            .map_err(|source| FrameError::Shape { what: "arguments", source })?;
        let bytes = arguments.len();
        if bytes > MAX_ARGUMENTS_BYTES {
            return Err(FrameError::Length { member: "arguments", bytes, max: MAX_ARGUMENTS_BYTES });
        }
        Ok(arguments)
    }
}

/// Data of a `tool_approval_response`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ToolApprovalResponse {
    /// That of the push.
    pub request_id: String,
    /// Whether the call may go on.
    pub approved: bool,
    /// Whether the same answer holds for exactly the same call for as long as this connection lives. An
    /// addition of Countersign's: servers that do not know it pass over it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub remember: bool,
}

impl ToolApprovalResponse {
    /// Reads an action's data.
    pub fn read(data: Value) -> Result<Self, FrameError> {
        let response: Self = object("data", data)?;
        bounded("data.request_id", &response.request_id, MAX_ID_BYTES)?;
        Ok(response)
    }
}

/// Data of an `error` push.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ErrorData {
    /// How bad it is, such as `error`.
    pub level: String,
    /// For programs; ours are in [`fault`].
    pub code: String,
    /// For people.
    pub message: String,
    /// Unix seconds.
    #[serde(default, deserialize_with = "seconds")]
    pub timestamp: i64,
    /// More about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
}

/// Codes of the `error` pushes of Countersign's own server.
pub mod fault {
    /// A frame was longer than [`MAX_ACTION_BYTES`](super::MAX_ACTION_BYTES); the connection ends.
    pub const TOO_LONG: &str = "frame_too_long";
    /// A frame was no action; the connection stays, unless it was one too many.
    pub const NO_ACTION: &str = "invalid_frame";
    /// A frame was not text; the connection ends.
    pub const BINARY: &str = "binary_frame";
}

/// Why a frame was not understood.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// It is too long to be read.
    #[error("expected a frame of at most {max} bytes, got {bytes}")]
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// It is no JSON.
    #[error("expected JSON: {0}")]
    Json(#[source] serde_json::Error),
    /// Something else stands where an object is expected.
    #[error("{what}: expected an object, got {got}")]
    NoObject {
        /// What it would be.
        what: &'static str,
        /// What it is.
        got: &'static str,
    },
    /// A member is missing or of another type.
    #[error("{what}: {source}")]
    Shape {
        /// What it would be.
        what: &'static str,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// A text is empty or too long.
    #[error("{member}: expected 1 to {max} bytes, got {bytes}")]
    Length {
        /// Which one.
        member: &'static str,
        /// Its bytes.
        bytes: usize,
        /// The bound.
        max: usize,
    },
    /// A text has control characters.
    #[error("{member}: expected no control characters")]
    Control {
        /// Which one.
        member: &'static str,
    },
}

fn parsed(text: &str, max: usize) -> Result<Value, FrameError> {
    if text.len() > max {
        return Err(FrameError::TooLong { bytes: text.len(), max });
    }
    serde_json::from_str(text).map_err(FrameError::Json)
}

/// An object as a type; a list whose items happen to fit is none.
fn object<T: DeserializeOwned>(what: &'static str, value: Value) -> Result<T, FrameError> {
    if !value.is_object() {
        return Err(FrameError::NoObject { what, got: kind(&value) });
    }
    serde_json::from_value(value).map_err(|source| FrameError::Shape { what, source })
}

fn bounded(member: &'static str, text: &str, max: usize) -> Result<(), FrameError> {
    let bytes = text.len();
    if bytes == 0 || bytes > max { Err(FrameError::Length { member, bytes, max }) } else { Ok(()) }
}

const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Whole seconds of any number; nothing here depends on them.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    let number = Number::deserialize(deserializer)?;
    // A cast of a float ends at the bounds of the integer.
    Ok(number.as_i64().unwrap_or_else(|| number.as_f64().unwrap_or_default() as i64))
}

#[cfg(test)]
mod tests;
