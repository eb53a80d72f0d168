//! Which differences are bookkeeping: whoever runs a command notes it in the entry that let it run
//! (docs/protocol/document.md, "Uses").

use super::{AGENTS, ALLOWLIST};
use countersign_protocol::document::Document;
use serde_json::Value;

/// Whether two documents say the same but for the last uses of their entries.
pub fn differ_in_uses_only(one: &Document, other: &Document) -> bool {
    one == other || without_uses(one) == without_uses(other)
}

fn without_uses(document: &Document) -> Document {
    let mut document = document.clone();
    let agents = document.0.get_mut(AGENTS).and_then(Value::as_object_mut);
    for agent in agents.into_iter().flat_map(|agents| agents.values_mut()) {
        for list in [ALLOWLIST, "mcpTools"] {
            let items = agent.get_mut(list).and_then(Value::as_array_mut);
            for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
                for name in ["lastUsedAt", "lastUsedCommand", "lastResolvedPath"] {
                    item.shift_remove(name);
                }
            }
        }
    }
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(one: Value, other: Value, expected: bool) {
        let document = |entry: Value| {
            let root = json!({"version": 1, "agents": {"main": {"allowlist": [entry], "mcpTools": []}}});
            Document(root.as_object().cloned().unwrap_or_default())
        };
        assert_eq!(
            differ_in_uses_only(&document(one.clone()), &document(other.clone())),
            expected,
            "{one} {other}"
        );
    }

    #[test]
    fn a_later_use_is_no_other_policy_and_everything_else_is() {
        let used = json!({"id": "a", "pattern": "/x", "lastUsedAt": 5, "lastUsedCommand": "x", "lastResolvedPath": "/x"});
        check(json!({"id": "a", "pattern": "/x"}), used.clone(), true);
        check(used.clone(), json!({"id": "a", "pattern": "/x", "lastUsedAt": 6.5}), true);
        check(used.clone(), json!({"id": "b", "pattern": "/x"}), false);
        check(used.clone(), json!({"id": "a", "pattern": "/y"}), false);
        check(used, json!({"id": "a", "pattern": "/x", "note": 1}), false);
        check(json!("/x"), json!("/x"), true);
    }
}
