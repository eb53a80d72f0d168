//! What plugins of a gateway ask people for (docs/protocol/approvals.md, "Plugins").

use super::approval::known_decisions;
use crate::question::Severity;
use crate::vocabulary::Decision;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Parameters of `plugin.approval.request`. Members that no part of Countersign needs are ignored.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginParams {
    /// Which plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugin_id: Option<String>,
    /// What it wants, in a line.
    pub title: String,
    /// What it wants.
    pub description: String,
    /// More, for whoever decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// How grave it says it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    /// The call of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// What may be answered; every decision when missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_decisions: Option<Vec<Decision>>,
    /// The agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// The session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Milliseconds until nobody answered, at least 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<i64>,
    /// Whether the requester wants to hear that it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub two_phase: Option<bool>,
}

/// The request as everybody sees it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PluginView {
    /// Which plugin.
    pub plugin_id: Option<String>,
    /// What it wants, in a line.
    pub title: String,
    /// What it wants.
    pub description: String,
    /// More, for whoever decides.
    pub detail: Option<String>,
    /// How grave it says it is; a warning when it does not say or says something else.
    #[serde(deserialize_with = "known_severity")]
    pub severity: Option<Severity>,
    /// The tool.
    pub tool_name: Option<String>,
    /// The call of the tool.
    pub tool_call_id: Option<String>,
    /// Exactly what may be answered; every decision when missing.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known_decisions")]
    pub allowed_decisions: Option<Vec<Decision>>,
    /// The agent.
    pub agent_id: Option<String>,
    /// The session.
    pub session_key: Option<String>,
}

impl PluginView {
    /// What may be answered: it can always be denied.
    pub fn decisions(&self) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for decision in self.allowed_decisions.iter().flatten() {
            if !decisions.contains(decision) {
                decisions.push(*decision);
            }
        }
        if decisions.is_empty() {
            return vec![Decision::AllowOnce, Decision::AllowAlways, Decision::Deny];
        }
        if !decisions.contains(&Decision::Deny) {
            decisions.push(Decision::Deny);
        }
        decisions
    }
}

/// A word of a later release is none that we could show.
fn known_severity<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Severity>, D::Error> {
    let word: Option<Value> = Deserialize::deserialize(from)?;
    Ok(word.and_then(|word| serde_json::from_value(word).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_can_always_be_denied() {
        let check = |allowed: Option<&[Decision]>, expected: &[Decision]| {
            let view =
                PluginView { allowed_decisions: allowed.map(<[Decision]>::to_vec), ..PluginView::default() };
            assert_eq!(view.decisions(), expected, "{allowed:?}");
        };
        let every = [Decision::AllowOnce, Decision::AllowAlways, Decision::Deny];
        check(None, &every);
        check(Some(&[]), &every);
        check(Some(&[Decision::AllowOnce, Decision::AllowOnce]), &[Decision::AllowOnce, Decision::Deny]);
        check(Some(&[Decision::Deny]), &[Decision::Deny]);
    }
}
