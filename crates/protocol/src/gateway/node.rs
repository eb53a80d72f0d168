//! What a gateway asks of a node and what a node tells it (docs/protocol/nodes.md).

use super::approval::Plan;
use crate::ids::NodeId;

use crate::vocabulary::{Ask, Security};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Commands that a node takes.
pub mod command {
    /// Runs a command.
    pub const RUN: &str = "system.run";
    /// Says what a run would be, before anybody is asked about it.
    pub const PREPARE: &str = "system.run.prepare";
    /// Finds programs.
    pub const WHICH: &str = "system.which";
    /// Reads the node's approvals document.
    pub const POLICY_GET: &str = "system.execApprovals.get";
    /// Replaces it.
    pub const POLICY_SET: &str = "system.execApprovals.set";

    /// All of them.
    pub const ALL: [&str; 5] = [RUN, PREPARE, WHICH, POLICY_GET, POLICY_SET];
}

/// Events between a gateway and its nodes.
pub mod event {
    /// Gateway to node: [`super::InvokeRequest`].
    pub const INVOKE: &str = "node.invoke.request";
    /// Gateway to node, newer releases: [`super::InvokeCancel`].
    pub const CANCEL: &str = "node.invoke.cancel";
    /// In a node's `node.event`: a command runs ([`super::RunEvent`]).
    pub const STARTED: &str = "exec.started";
    /// It ended.
    pub const FINISHED: &str = "exec.finished";
    /// It was not run.
    pub const DENIED: &str = "exec.denied";
}

/// Parameters of `node.invoke`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InvokeParams {
    /// Which node.
    pub node_id: String,
    /// One of [`command`].
    pub command: String,
    /// Its parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Milliseconds to wait for the node; releases differ about 0, so none of ours sends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// Chosen by the caller.
    pub idempotency_key: String,
    /// The session that it is for, where a release tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

/// Payload of [`event::INVOKE`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InvokeRequest {
    /// Of this call; the answer and a cancellation name it.
    pub id: String,
    /// The node that is meant.
    pub node_id: NodeId,
    /// One of [`command`].
    pub command: String,
    /// Its parameters as JSON text; releases that send an object instead are read too, see
    /// [`InvokeRequest::params`].
    #[serde(rename = "paramsJSON")]
    pub params_json: Option<String>,
    /// Its parameters as an object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Value>,
    /// Milliseconds that the gateway waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Chosen by the gateway's caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// The session that it is for, where a release tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

impl InvokeRequest {
    /// The parameters: the text wins, nothing is an empty object.
    pub fn parameters(&self) -> Result<Value, serde_json::Error> {
        match (&self.params_json, &self.params) {
            (Some(text), _) => serde_json::from_str(text),
            (None, Some(params)) => Ok(params.clone()),
            (None, None) => Ok(Value::Object(serde_json::Map::new())),
        }
    }
}

/// Payload of [`event::CANCEL`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InvokeCancel {
    /// The call.
    pub invoke_id: String,
    /// The node.
    pub node_id: NodeId,
}

/// Parameters of `node.invoke.progress`, newer releases.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InvokeProgress {
    /// The call.
    pub invoke_id: String,
    /// The node.
    pub node_id: NodeId,
    /// Counts from 0.
    pub seq: u64,
    /// At most [`MAX_PROGRESS_BYTES`].
    pub chunk: String,
}

/// Largest chunk of an [`InvokeProgress`], in bytes (docs/protocol/nodes.md, "Calls").
pub const MAX_PROGRESS_BYTES: usize = 16 * 1_024;

/// Parameters of `node.invoke.result`. Absent members stay absent: some releases refuse a null.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InvokeResult {
    /// The call.
    pub id: String,
    /// The node's own id.
    pub node_id: NodeId,
    /// Whether there is a payload and no error.
    pub ok: bool,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// The same as JSON text.
    #[serde(rename = "payloadJSON", skip_serializing_if = "Option::is_none")]
    pub payload_json: Option<String>,
    /// Why nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<NodeError>,
}

/// Why a node did not do something.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(default)]
pub struct NodeError {
    /// `INVALID_REQUEST`, `UNAVAILABLE`, `SYSTEM_RUN_DENIED`, `TIMEOUT`, …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl NodeError {
    /// An error with both.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: Some(code.to_owned()), message: Some(message.into()) }
    }
}

/// Parameters of [`command::RUN`] (docs/protocol/nodes.md, "Parameters of a run"). What says that it was
/// approved comes from the wire: it is never believed alone.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunParams {
    /// The argument list.
    pub command: Vec<String>,
    /// Text that must agree with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_command: Option<String>,
    /// Working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment overrides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Run limit in milliseconds; absent or 0 means none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// No such permission exists on Linux.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_screen_recording: Option<bool>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The session; echoed as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// The run, which is the approval's id where there is one; echoed as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// What this node prepared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_run_plan: Option<Plan>,
    /// Whether it gets a terminal of its own. Ours: asked only of nodes that say [`CAP_TERMINAL`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pty: Option<bool>,
    /// Whether the agent's session is not to be told of the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_notify_on_exit: Option<bool>,
    /// Claimed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved: Option<bool>,
    /// Claimed: `allow-once` or `allow-always`; anything else counts for nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_decision: Option<String>,
    /// Claimed: `ask-fallback` or `auto-review`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_source: Option<String>,
}

/// A capability of nodes that give a run a terminal of its own where that is wanted. Ours.
pub const CAP_TERMINAL: &str = "pty";

/// Parameters of [`command::PREPARE`] (docs/protocol/nodes.md, "Preparing").
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PrepareParams {
    /// The argument list.
    pub command: Vec<String>,
    /// Text that must agree with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_command: Option<String>,
    /// Working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Environment overrides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// What the gateway's configuration says; it can only harden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<String>,
    /// What the gateway's configuration says; it can only harden.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
}

/// What [`command::PREPARE`] answers.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Prepared {
    /// What would run.
    pub plan: Plan,
    /// The policy that it would run under.
    pub exec_policy: ExecPolicy,
    /// What an allow-always would store.
    pub allow_always_coverage: Coverage,
}

/// Effective *security* and *ask*.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ExecPolicy {
    /// Security.
    pub security: Security,
    /// Ask.
    pub ask: Ask,
}

/// Which entries an allow-always would store.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Coverage {
    /// Whether they cover all of the command.
    pub complete: bool,
    /// The entries.
    pub patterns: Vec<CoveredPattern>,
}

/// One entry of a [`Coverage`].
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CoveredPattern {
    /// Pattern.
    pub pattern: String,
    /// Argument pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arg_pattern: Option<String>,
}

/// The script that a plan pins: the first argument that an interpreter would read as a program.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileOperand {
    /// Where it is in the argument list.
    pub argv_index: usize,
    /// Its real path.
    pub path: String,
    /// Its content, 64 lowercase hex digits.
    pub sha256: String,
}

/// Parameters of [`command::WHICH`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct WhichParams {
    /// Names; those with a slash or backslash are never found.
    pub bins: Vec<String>,
}

/// What [`command::WHICH`] answers: only what was found.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct Which {
    /// Path by name.
    pub bins: BTreeMap<String, String>,
}

/// Parameters of `node.event`. A text wins over an object.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeEvent {
    /// One of [`event`].
    pub event: String,
    /// What belongs to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// The same as JSON text.
    #[serde(rename = "payloadJSON", skip_serializing_if = "Option::is_none")]
    pub payload_json: Option<String>,
}

/// What a node tells of a run (docs/protocol/nodes.md, "Events of a run"). `exec.finished` has the members
/// from `exitCode` on, `exec.denied` the reason.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RunEvent {
    /// As the run named it.
    #[serde(deserialize_with = "text")]
    pub session_key: String,
    /// As the run named it.
    #[serde(deserialize_with = "text")]
    pub run_id: String,
    /// `node`.
    #[serde(deserialize_with = "text")]
    pub host: String,
    /// The command's text.
    #[serde(deserialize_with = "text")]
    pub command: String,
    /// Exit code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Whether the run limit ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timed_out: Option<bool>,
    /// Exit code 0 and not timed out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// The end of what it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Whether the agent's session is not to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_notify_on_exit: Option<bool>,
    /// Why it was not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A node as `node.list` and `node.describe` tell it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeView {
    /// Its id: the device's.
    pub node_id: NodeId,
    /// What it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// What it says it runs on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub platform: Option<String>,
    /// What it says its version is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// What it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_family: Option<String>,
    /// Where it connected from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_ip: Option<String>,
    /// Name of its program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// What it can do; sorted.
    pub caps: Vec<String>,
    /// What it takes; sorted.
    pub commands: Vec<String>,
    /// Its search path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_env: Option<String>,
    /// Unix milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connected_at_ms: Option<i64>,
    /// Whether it was let in.
    pub paired: bool,
    /// Whether it is there.
    pub connected: bool,
}

/// A text; whatever else it is counts as none.
fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => text,
        _ => String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parameters_are_read_from_text_or_object_and_the_text_wins() {
        let check = |request: Value, expected: Option<Value>| {
            let request: InvokeRequest = serde_json::from_value(request).unwrap();
            assert_eq!(request.parameters().ok(), expected);
        };
        check(json!({ "paramsJSON": "{\"a\":1}", "params": { "a": 2 } }), Some(json!({ "a": 1 })));
        check(json!({ "paramsJSON": null, "params": { "a": 2 } }), Some(json!({ "a": 2 })));
        check(json!({ "paramsJSON": null }), Some(json!({})));
        check(json!({ "paramsJSON": "{" }), None);
    }

    #[test]
    fn a_result_leaves_out_what_it_has_not() {
        let result = InvokeResult {
            id: "1".into(),
            node_id: "n".into(),
            error: Some(NodeError::new("UNAVAILABLE", "no")),
            ..InvokeResult::default()
        };
        assert_eq!(
            serde_json::to_value(result).unwrap(),
            json!({ "id": "1", "nodeId": "n", "ok": false, "error": { "code": "UNAVAILABLE", "message": "no" } })
        );
    }

    #[test]
    fn an_event_of_any_node_is_read_for_what_it_is_worth() {
        let event: RunEvent =
            serde_json::from_value(json!({ "runId": 7, "sessionKey": null, "exitCode": 3, "more": [] }))
                .unwrap();
        assert_eq!((event.run_id.as_str(), event.session_key.as_str(), event.exit_code), ("", "", Some(3)));
    }
}
