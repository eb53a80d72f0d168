//! This machine's document as each release of a gateway takes it, and back again.
//!
//! A release refuses members that its schema does not know, and asks a person again about what it does not
//! understand to be allowed always. Neither changes what runs: every command that a gateway sends is judged
//! here, by the document as it is stored.

use crate::connections::release;
use countersign_policy::allowlist::exact_of_marker;
use countersign_protocol::gateway::policy::PolicyFile;
use serde_json::{Map, Value, json};

/// The document for a gateway of this release.
pub(super) fn as_taken(mut snapshot: PolicyFile, version: &str) -> PolicyFile {
    let is_from = |first: [u32; 3]| release(version).is_some_and(|release| release >= first);
    if !is_from(TAKES_DEFAULTS) {
        snapshot.resolved_defaults = None;
    }
    if !is_from(KNOWS_MARKERS) {
        for list in lists(&mut snapshot.file) {
            let exact = exact_commands(list);
            list.extend(
                exact
                    .map(|pattern| json!({ "pattern": pattern, "source": "allow-always" }))
                    .collect::<Vec<_>>(),
            );
        }
    }
    snapshot
}

/// What a gateway sent back, without what [`as_taken`] put in and `stored` does not have.
pub(super) fn as_stored(mut file: Map<String, Value>, stored: &Map<String, Value>) -> Map<String, Value> {
    let mut stored = stored.clone();
    let own: Vec<Value> = lists(&mut stored).flat_map(|list| list.iter().map(pattern)).collect();
    for list in lists(&mut file) {
        let exact: Vec<String> = exact_commands(list).collect();
        list.retain(|entry| {
            let pattern = pattern(entry);
            own.contains(&pattern) || !exact.iter().any(|exact| pattern == exact.as_str())
        });
    }
    file
}

/// The allowlists of all agents.
fn lists(file: &mut Map<String, Value>) -> impl Iterator<Item = &mut Vec<Value>> {
    let agents = file.get_mut("agents").and_then(Value::as_object_mut).into_iter().flatten();
    agents.filter_map(|(_, agent)| agent.get_mut("allowlist")?.as_array_mut())
}

/// Patterns for the commands that this list's markers stand for, and that it has no entry for.
fn exact_commands(list: &[Value]) -> impl Iterator<Item = String> + use<> {
    let patterns: Vec<Value> = list.iter().map(pattern).collect();
    let exact: Vec<String> =
        patterns.iter().filter_map(|pattern| exact_of_marker(pattern.as_str()?)).collect();
    exact.into_iter()
}

fn pattern(entry: &Value) -> Value {
    entry.get("pattern").cloned().unwrap_or_default()
}

/// The first release that was seen to take `resolvedDefaults` from a node; 2026.7.35 refuses it
/// (docs/protocol/document.md, "Over a gateway").
const TAKES_DEFAULTS: [u32; 3] = [2026, 8, 2];

/// The first release whose gateways look for the marker beside generated entries. Those before know an exact
/// command, and no entry that is bound to arguments (docs/protocol/document.md, "Special patterns").
const KNOWS_MARKERS: [u32; 3] = [2026, 7, 1];

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn file(list: Value) -> Map<String, Value> {
        json!({ "version": 1, "agents": { "main": { "allowlist": list } } }).as_object().unwrap().clone()
    }

    fn snapshot(list: Value) -> PolicyFile {
        PolicyFile {
            path: "/p".to_owned(),
            exists: true,
            hash: "h".to_owned(),
            file: file(list),
            resolved_defaults: None,
        }
    }

    #[test]
    fn an_older_gateway_is_told_exact_commands_and_what_comes_back_is_what_was_stored() {
        let bound =
            json!({ "pattern": "/bin/a", "argPattern": "sha256:cwd-argv:v1:00", "source": "allow-always" });
        let marker = json!({ "pattern": "=node-command:0123456789abcdef", "source": "allow-always" });
        let exact = json!({ "pattern": "=command:0123456789abcdef", "source": "allow-always" });
        let stored = json!([bound, marker]);
        for (version, told) in [
            ("2026.5.28", json!([bound, marker, exact])),
            ("2026.7.35", stored.clone()),
            ("2026.9.6", stored.clone()),
        ] {
            let taken = as_taken(snapshot(stored.clone()), version).file;
            assert_eq!(taken, file(told), "{version}");
            assert_eq!(as_stored(taken, &file(stored.clone())), file(stored.clone()), "{version}");
        }
        // One that is stored already stays, and one that a gateway made up without a marker is its own.
        let both = json!([marker, exact]);
        assert_eq!(as_stored(file(both.clone()), &file(both.clone())), file(both));
        let made_up = json!([{ "pattern": "=command:ffffffffffffffff", "source": "allow-always" }]);
        assert_eq!(as_stored(file(made_up.clone()), &file(json!([]))), file(made_up));
    }
}
