//! One-shot approvals over a gateway (docs/protocol/approvals.md).

use super::node::FileOperand;
use crate::socket::PolicySnapshot;
use crate::vocabulary::Decision;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Parameters of `exec.approval.request`. Members that no part of Countersign needs yet are ignored.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestParams {
    /// Chosen by the requester; a fresh one when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The command's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The argument list that would run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_argv: Option<Vec<String>>,
    /// What a node prepared; the truth about what would run there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_run_plan: Option<Plan>,
    /// Environment overrides; only their names are shown and kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, Value>>,
    /// Working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The node that would run it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
    /// `gateway`, `node`, `sandbox`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Security as the requester sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<String>,
    /// Ask as the requester sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    /// Something that the person should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning_text: Option<String>,
    /// Decisions that are not offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable_decisions: Option<Vec<String>>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The executable as the requester resolved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_path: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Milliseconds until nobody answered, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// Whether the requester wants to hear that it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub two_phase: Option<bool>,
    /// `false`: it may wait although nobody is there to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub require_delivery_route: Option<bool>,
    /// Nobody is told; whoever asks finds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppress_delivery: Option<bool>,
}

/// What a node prepared.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Plan {
    /// The argument list.
    pub argv: Vec<String>,
    /// Working directory.
    pub cwd: Option<String>,
    /// Its text.
    pub command_text: String,
    /// The agent.
    pub agent_id: Option<String>,
    /// The session.
    pub session_key: Option<String>,
    /// What the person is shown where the text says too much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_preview: Option<String>,
    /// The node's policy when it prepared this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy_snapshot: Option<PolicySnapshot>,
    /// The script that it would read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mutable_file_operand: Option<FileOperand>,
}

/// The request as everybody sees it (docs/protocol/approvals.md, "The shown request").
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RequestView {
    /// Text for the eye, not what runs.
    pub command: String,
    /// The argument list that would run, elsewhere than on a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command_argv: Option<Vec<String>>,
    /// Names of environment overrides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_keys: Option<Vec<String>>,
    /// Working directory.
    pub cwd: Option<String>,
    /// Where it would run.
    pub host: Option<String>,
    /// On which node.
    pub node_id: Option<String>,
    /// What a node prepared.
    pub system_run_plan: Option<Plan>,
    /// Security as the requester sees it.
    pub security: Option<String>,
    /// Ask as the requester sees it.
    pub ask: Option<String>,
    /// Something that the person should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning_text: Option<String>,
    /// Exactly what may be answered; derived from `ask` where a release does not tell.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known_decisions")]
    pub allowed_decisions: Option<Vec<Decision>>,
    /// The agent.
    pub agent_id: Option<String>,
    /// The executable as the requester resolved it.
    pub resolved_path: Option<String>,
    /// The session.
    pub session_key: Option<String>,
}

impl RequestView {
    /// What may be answered: what is named, else what `ask` leaves (docs/protocol/approvals.md,
    /// "What may be answered").
    pub fn decisions(&self) -> Vec<Decision> {
        match &self.allowed_decisions {
            Some(named) if !named.is_empty() => named.clone(),
            _ if self.ask.as_deref() == Some("always") => vec![Decision::AllowOnce, Decision::Deny],
            _ => vec![Decision::AllowOnce, Decision::AllowAlways, Decision::Deny],
        }
    }
}

/// Payload of `exec.approval.requested`, and a row of `exec.approval.list`; with another `R` those
/// of another kind.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requested<R = RequestView> {
    /// The approval.
    pub id: String,
    /// What is asked.
    pub request: R,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub expires_at_ms: i64,
}

/// Payload of `exec.approval.resolved`; with another `R` that of another kind.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "R: Deserialize<'de>"))]
pub struct Resolved<R = RequestView> {
    /// The approval.
    pub id: String,
    /// What was answered; `None` for no decision.
    pub decision: Option<Decision>,
    /// Who says so, in their own words: no proof of anything.
    pub resolved_by: Option<String>,
    /// Unix milliseconds.
    pub ts: i64,
    /// What was asked, where a release tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<R>,
}

/// How an approval ended, for whoever asked or waited.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decided {
    /// The approval.
    pub id: String,
    /// `None`: nobody answered.
    pub decision: Option<Decision>,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub expires_at_ms: i64,
}

/// The decisions that we know among those that a peer names: what a later release adds is none
/// that we could give.
pub(super) fn known_decisions<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<Decision>>, D::Error> {
    let words: Option<Vec<Value>> = Deserialize::deserialize(from)?;
    Ok(words.map(|words| words.into_iter().filter_map(|word| serde_json::from_value(word).ok()).collect()))
}
