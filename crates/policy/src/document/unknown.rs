//! Members that no peer knows. The peers' programs cannot send them back, so a whole document that comes from
//! one would lose them (docs/protocol/document.md, "Members").

use super::{AGENTS, ALLOWLIST, DEFAULTS, SOCKET};
use countersign_protocol::document::Document;
use serde_json::{Map, Value};

/// `incoming` with the members of `current` that no peer knows, where it has none of that name: at the root,
/// in the socket and the defaults, in agents that are in both, and in entries with the same id.
pub fn with_unknown_of(incoming: &Document, current: &Document) -> Document {
    let mut merged = incoming.clone();
    keep(&mut merged.0, &current.0, ROOT);
    for (name, known) in [(SOCKET, &["path", "token"][..]), (DEFAULTS, POLICY)] {
        let before = current.0.get(name).and_then(Value::as_object);
        if let (Some(Value::Object(after)), Some(before)) = (merged.0.get_mut(name), before) {
            keep(after, before, known);
        }
    }
    let before = current.0.get(AGENTS).and_then(Value::as_object);
    if let (Some(Value::Object(after)), Some(before)) = (merged.0.get_mut(AGENTS), before) {
        for (name, agent) in after {
            if let (Value::Object(agent), Some(Value::Object(before))) = (agent, before.get(name)) {
                keep_in_agent(agent, before);
            }
        }
    }
    merged
}

fn keep_in_agent(agent: &mut Map<String, Value>, before: &Map<String, Value>) {
    keep(agent, before, AGENT);
    let (Some(Value::Array(after)), Some(Value::Array(before))) =
        (agent.get_mut(ALLOWLIST), before.get(ALLOWLIST))
    else {
        return;
    };
    for entry in after.iter_mut().filter_map(Value::as_object_mut) {
        let Some(id) = entry.get("id").filter(|id| id.is_string()).cloned() else { continue };
        let same = before.iter().filter_map(Value::as_object).find(|before| before.get("id") == Some(&id));
        if let Some(before) = same {
            keep(entry, before, ENTRY);
        }
    }
}

fn keep(after: &mut Map<String, Value>, before: &Map<String, Value>, known: &[&str]) {
    for (name, value) in before {
        if !known.contains(&name.as_str()) && !after.contains_key(name) {
            after.insert(name.clone(), value.clone());
        }
    }
}

const ROOT: &[&str] = &["version", SOCKET, DEFAULTS, AGENTS];
const POLICY: &[&str] = &["security", "ask", "askFallback", "autoAllowSkills"];
const AGENT: &[&str] = &["security", "ask", "askFallback", "autoAllowSkills", ALLOWLIST, "mcpTools"];
const ENTRY: &[&str] = &[
    "id",
    "pattern",
    "source",
    "commandText",
    "argPattern",
    "lastUsedAt",
    "lastUsedCommand",
    "lastResolvedPath",
];

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn check(incoming: Value, current: Value, expected: Value) {
        let document = |value: Value| Document(value.as_object().cloned().unwrap_or_default());
        let merged = with_unknown_of(&document(incoming), &document(current));
        assert_eq!(Value::Object(merged.0), expected);
    }

    #[test]
    fn what_no_peer_knows_stays_and_what_they_know_can_be_removed() {
        check(
            json!({"version": 1, "defaults": {"ask": "off"}, "agents": {
                "main": {"allowlist": [{"id": "a", "pattern": "/x"}, {"id": "c", "pattern": "/y"}]},
            }}),
            json!({"version": 1, "note": 1, "defaults": {"security": "deny", "note": 2}, "agents": {
                "main": {"ask": "off", "note": 3, "allowlist": [
                    {"id": "a", "pattern": "/x", "argPattern": "^a$", "note": 4},
                    {"id": "b", "pattern": "/y", "note": 5},
                ]},
                "other": {"note": 6},
            }}),
            json!({"version": 1, "note": 1, "defaults": {"ask": "off", "note": 2}, "agents": {
                "main": {"note": 3, "allowlist": [
                    {"id": "a", "pattern": "/x", "note": 4}, {"id": "c", "pattern": "/y"},
                ]},
            }}),
        );
    }

    #[test]
    fn what_comes_wins_and_the_wrong_kind_is_left_alone() {
        check(json!({"note": 1}), json!({"note": 2}), json!({"note": 1}));
        check(
            json!({"defaults": 1, "agents": {"main": {"allowlist": ["/x", {"id": 7, "pattern": "/y"}]}}}),
            json!({"defaults": {"n": 1}, "agents": {"main": {"allowlist": [{"id": 7, "n": 1}]}}}),
            json!({"defaults": 1, "agents": {"main": {"allowlist": ["/x", {"id": 7, "pattern": "/y"}]}}}),
        );
    }
}
