//! Frames of the approval socket (docs/protocol/approval-socket.md): one JSON object a line, one request a
//! connection.

use crate::ids::NodeId;
use crate::vocabulary::{Decision, Security};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A request line, by its `type`. Unknown members are ignored; an unknown type is an error (no
/// answer is sent).
#[derive(Clone, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum RequestLine {
    /// Ask the person.
    Request(Box<AskFrame>),
    /// Ask if needed, run here, return the output.
    Exec(ExecFrame),
}

/// `{"type":"request"}`: the token travels in clear, so this type has no `Debug`.
#[derive(Clone, Deserialize, Serialize)]
pub struct AskFrame {
    /// The document's socket token.
    pub token: String,
    /// Echoed in the answer.
    pub id: String,
    /// What is asked.
    pub request: AskRequest,
}

/// The subject of an [`AskFrame`]. `security` and `ask` are free text for display.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AskRequest {
    /// The command text as the agent gave it.
    pub command: String,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Where it would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Security as the requester sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security: Option<String>,
    /// Ask as the requester sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// The agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The executable as the requester resolved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Decisions to offer, in this order. Unknown members are dropped; anything but an array counts as empty.
    #[serde(default, deserialize_with = "lenient_decisions", skip_serializing_if = "Vec::is_empty")]
    pub allowed_decisions: Vec<Decision>,
    /// How long the person may take, in milliseconds. Ours: peers do not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_timeout_ms: Option<u64>,
    /// The run of a node that it is about: an answer that allows lets it through here, once. Ours:
    /// peers do not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_run: Option<NodeRun>,
}

/// `{"type":"exec"}`: proves the token by `hmac` over the exact bytes of `request_json`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ExecFrame {
    /// Echoed in the answer.
    pub id: String,
    /// Fresh random text.
    pub nonce: String,
    /// Unix milliseconds.
    pub ts: i64,
    /// 64 lowercase hex digits.
    pub hmac: String,
    /// The signed [`ExecRequest`]; never re-serialise it before checking.
    #[serde(rename = "requestJson")]
    pub request_json: String,
}

/// The signed inner request of an [`ExecFrame`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecRequest {
    /// Final argv.
    pub command: Vec<String>,
    /// Text that must agree with `command` (docs/protocol/commands.md, "The text beside a list").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_command: Option<String>,
    /// Working directory; absent means the home folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Environment overrides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Run limit in milliseconds; absent or 0 means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// Always refused here: no such permission exists on Linux.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_screen_recording: Option<bool>,
    /// The agent; blank means `main`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// A grant that a person gave elsewhere; untrusted (docs/protocol/approval-socket.md,
    /// "Grants from elsewhere").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_decision: Option<Decision>,
    /// `ask-fallback` or `auto-review`; anything else is refused, hence text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_source: Option<String>,
    /// The policy under which the forwarded grant was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy_snapshot: Option<PolicySnapshot>,
    /// How long the person may take, in milliseconds. Ours: peers do not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_timeout_ms: Option<u64>,
    /// Whether it gets a terminal of its own. Ours: peers do not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pty: Option<bool>,
    /// Whether a box around it is wanted or not; absent: where its folder is open. Ours:
    /// peers do not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confinement: Option<Confinement>,
    /// What of its asker's environment it gets in a box, as far as that lets it. It counts nowhere else.
    /// Ours: peers do not send it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub box_env: BTreeMap<String, String>,
    /// Whether what it prints is wanted as it prints it, by [`AnswerLine::ExecPrinted`]. Ours:
    /// peers do not send it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follow: bool,
    /// The run that this is, when it came over the network. Ours: peers do not send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_run: Option<NodeRun>,
}

/// Whether a command wants a box around it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confinement {
    /// It runs in one or not at all, whatever else would let it run.
    Box,
    /// It does not, and is asked about as where no folder is open.
    Outside,
}

/// Which run of which node, and who wanted it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeRun {
    /// The gateway's address.
    pub gateway: String,
    /// The node.
    pub node_id: NodeId,
    /// The run, which is the approval's id where there is one.
    pub run_id: String,
}

/// The policy in force when a grant was given (docs/protocol/approval-socket.md, "Policy snapshot").
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicySnapshot {
    /// Effective security.
    pub security: Security,
    /// Effective ask.
    pub ask: crate::vocabulary::Ask,
    /// Effective fallback.
    pub ask_fallback: Security,
    /// Whether skill programs were trusted.
    pub auto_allow_skills: bool,
    /// Unique, sorted by the UTF-8 bytes of (pattern, argPattern, source), absent before present.
    pub allowlist_rules: Vec<SnapshotRule>,
}

/// One rule of a [`PolicySnapshot`].
#[derive(Clone, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotRule {
    /// Pattern, trimmed.
    pub pattern: String,
    /// Argument pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arg_pattern: Option<String>,
    /// `allow-always` or absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// An answer line.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum AnswerLine {
    /// Answer to `request`.
    Decision {
        /// The request's id.
        id: String,
        /// What was decided.
        decision: Decision,
    },
    /// The command of an `exec` with a `nodeRun` was started; its answer follows. Ours: peers skip lines of
    /// types that they do not know.
    ExecStarted {
        /// The request's id.
        id: String,
    },
    /// The command of an `exec` that says `follow` printed this, decoded lossily. Its answer follows, without
    /// any of it. Ours, as well.
    ExecPrinted {
        /// The request's id.
        id: String,
        /// Where it printed it.
        on: Printed,
        /// What.
        text: String,
    },
    /// Answer to `exec`.
    ExecRes(ExecAnswer),
}

/// What a command prints on.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Printed {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Answer to an [`ExecFrame`]: `ok` with `payload`, or not `ok` with `error`. A command that ran
/// and failed is `ok`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ExecAnswer {
    /// The request's id.
    pub id: String,
    /// Whether the command was started.
    pub ok: bool,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<ExecPayload>,
    /// Why it was not started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ExecError>,
}

/// What a run returned.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecPayload {
    /// Exit code; the signal's number when signalled; absent on timeout and when it could not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether the run limit ended it.
    pub timed_out: bool,
    /// Exit code 0 and not timed out.
    pub success: bool,
    /// Decoded output.
    pub stdout: String,
    /// Decoded error output.
    pub stderr: String,
    /// `exit N`, `timeout`, `failed to start: …`, or null.
    pub error: Option<String>,
}

/// Why a command was not started.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ExecError {
    /// `INVALID_REQUEST` or `UNAVAILABLE`.
    pub code: String,
    /// For people and logs.
    pub message: String,
    /// For programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn lenient_decisions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Decision>, D::Error> {
    let Value::Array(items) = Value::deserialize(deserializer)? else { return Ok(Vec::new()) };
    Ok(items.iter().filter_map(Value::as_str).filter_map(Decision::from_word).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn ask(extra: &str) -> Result<RequestLine, serde_json::Error> {
        serde_json::from_str(&format!(
            r#"{{"type":"request","token":"t","id":"1","request":{{"command":"id"{extra}}},"more":1}}"#
        ))
    }

    #[test]
    fn allowed_decisions_keep_order_and_drop_what_is_unknown() {
        for (extra, expected) in [
            (
                r#","allowedDecisions":["deny","bogus",7,"allow-once"]"#,
                vec![Decision::Deny, Decision::AllowOnce],
            ),
            (r#","allowedDecisions":"deny""#, vec![]),
            (r#","allowedDecisions":null"#, vec![]),
            ("", vec![]),
        ] {
            let Ok(RequestLine::Request(frame)) = ask(extra) else { panic!("{extra} did not parse") };
            assert_eq!(frame.request.allowed_decisions, expected);
        }
    }

    #[test]
    fn a_line_without_a_mandatory_member_or_known_type_is_an_error() {
        for line in [
            r#"{"type":"ping"}"#,
            r#"{"id":"1"}"#,
            r#"{"type":"request","token":"t","id":"1","request":{}}"#,
            r#"{"type":"request","token":7,"id":"1","request":{"command":"id"}}"#,
            r#"{"type":"exec","id":"1","nonce":"n","ts":1.5,"hmac":"","requestJson":""}"#,
            "[]",
            "null",
        ] {
            assert!(serde_json::from_str::<RequestLine>(line).is_err(), "{line}");
        }
    }

    #[test]
    fn answers_have_the_peers_shape() {
        let answer = AnswerLine::ExecRes(ExecAnswer {
            id: "1".into(),
            ok: true,
            payload: Some(ExecPayload { exit_code: Some(0), success: true, ..ExecPayload::default() }),
            error: None,
        });
        assert_eq!(
            serde_json::to_string(&answer).unwrap(),
            r#"{"type":"exec-res","id":"1","ok":true,"payload":{"exitCode":0,"timedOut":false,"success":true,"stdout":"","stderr":"","error":null}}"#
        );
        assert_eq!(
            serde_json::to_string(&AnswerLine::Decision { id: "x".into(), decision: Decision::AllowOnce })
                .unwrap(),
            r#"{"type":"decision","id":"x","decision":"allow-once"}"#
        );
    }
}
