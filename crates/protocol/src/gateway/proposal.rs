//! Changes that a gateway's own agent proposes to make to the gateway (docs/protocol/approvals.md,
//! "Proposals").

use super::approval::known_decisions;
use crate::vocabulary::Decision;
use serde::{Deserialize, Serialize};

/// The request as everybody sees it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProposalView {
    /// What it is, in a line.
    pub title: String,
    /// What would be changed.
    pub description: String,
    /// The same for those who show commands.
    pub command: Option<String>,
    /// Exactly what may be answered.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "known_decisions")]
    pub allowed_decisions: Option<Vec<Decision>>,
    /// The agent that it was proposed for.
    pub agent_id: Option<String>,
    /// Its session.
    pub session_key: Option<String>,
}

impl ProposalView {
    /// What may be answered: what is named and known, and it can always be denied. Where nothing is named,
    /// once and no more: a change is never made for good.
    pub fn decisions(&self) -> Vec<Decision> {
        let named = self.allowed_decisions.as_deref().unwrap_or(&[Decision::AllowOnce]);
        let mut decisions = Vec::new();
        for decision in named.iter().chain(&[Decision::Deny]) {
            if !decisions.contains(decision) {
                decisions.push(*decision);
            }
        }
        decisions
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_is_named_and_known_can_be_answered() {
        let check = |request: serde_json::Value, expected: &[Decision]| {
            let view: ProposalView = serde_json::from_value(request.clone()).unwrap();
            assert_eq!(view.decisions(), expected, "{request}");
        };
        let once = [Decision::AllowOnce, Decision::Deny];
        check(json!({"allowedDecisions": ["allow-once", "deny"]}), &once);
        check(json!({"allowedDecisions": ["allow-once"]}), &once);
        check(json!({}), &once);
        check(json!({"allowedDecisions": null}), &once);
        check(json!({"allowedDecisions": []}), &[Decision::Deny]);
        check(json!({"allowedDecisions": ["allow-forever"]}), &[Decision::Deny]);
    }
}
