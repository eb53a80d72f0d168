//! What changes while no app runs, between starts of a whole one.

use crate::alone;
use crate::testing::{PATIENCE, paths};
use crate::wiring::Companion;
use countersign_core::paths::Paths;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::state::SocketState;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

struct Machine {
    _home: TempDir,
    paths: Paths,
}

impl Machine {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        Self { _home: home, paths }
    }

    /// Starts the app, waits until it listens and `lines` changes of document or rules are told, and ends it.
    async fn app_tells(&self, lines: usize) -> Vec<Value> {
        let (companion, _presenter) = Companion::start(&self.paths).unwrap();
        let desk = companion.desk();
        let settled = async {
            loop {
                let page = desk.history(None, 200).await.unwrap();
                let found = page.entries.iter().filter_map(|entry| told(&entry.event)).count();
                if found >= lines && desk.snapshot().await.status.socket == SocketState::Listening {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, settled).await.unwrap();
        let page = desk.history(None, 200).await.unwrap();
        let found = page.entries.iter().rev().filter_map(|entry| told(&entry.event)).collect();
        companion.stop().await;
        found
    }

    /// Another program writes a file.
    fn write(path: &Path, value: &Value) {
        fs::write(path, value.to_string()).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn document(&self) -> Value {
        serde_json::from_slice(&fs::read(self.paths.document()).unwrap()).unwrap()
    }

    fn change_document(&self, change: impl FnOnce(&mut Value)) {
        let mut document = self.document();
        change(&mut document);
        Self::write(&self.paths.document(), &document);
    }
}

/// Of a line: which of the two, by whom, and how much it loosens.
fn told(event: &HistoryEvent) -> Option<Value> {
    match event {
        HistoryEvent::Document { writer, loosenings, .. } => {
            Some(json!(["document", writer, loosenings.len()]))
        }
        HistoryEvent::Rules { writer, loosenings, .. } => Some(json!(["rules", writer, loosenings.len()])),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_changes_or_goes_while_no_app_runs_is_told_at_the_next_start() {
    let machine = Machine::new();
    let first = machine.app_tells(1).await;
    machine.change_document(|document| document["defaults"]["security"] = json!("full"));
    let mut expected = first.clone();
    expected.push(json!(["document", "another-program", 1]));
    assert_eq!(machine.app_tells(expected.len()).await, expected);
    // Once.
    assert_eq!(machine.app_tells(expected.len()).await, expected);

    // A use is no change.
    machine.change_document(|document| {
        document["agents"]["main"]["allowlist"] = json!([{"id": "a", "pattern": "/usr/bin/true"}]);
    });
    expected.push(json!(["document", "another-program", 1]));
    assert_eq!(machine.app_tells(expected.len()).await, expected);
    machine.change_document(|document| {
        document["agents"]["main"]["allowlist"][0]["lastUsedAt"] = json!(1_700_000_000_000_i64);
    });
    assert_eq!(machine.app_tells(expected.len()).await, expected);

    fs::remove_file(machine.paths.document()).unwrap();
    expected.push(json!(["document", "another-program", 0]));
    let found = machine.app_tells(expected.len()).await;
    assert_eq!(found[..expected.len()], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_command_line_did_without_an_app_is_not_told_twice_and_rules_that_go_are_told() {
    let machine = Machine::new();
    let mut expected = machine.app_tells(1).await;
    assert_eq!(expected, [json!(["document", "first-run", 1])]);
    let refusal = json!({
        "kind": "add-rule",
        "rule": {"agent": "*", "effect": "deny", "program": "curl", "arguments": "any"},
    });
    let edits = vec![serde_json::from_value(refusal).unwrap()];
    assert!(alone::edit_rules(&machine.paths, edits).await.unwrap().applied);
    expected.push(json!(["rules", "command-line", 0]));
    assert_eq!(machine.app_tells(expected.len()).await, expected);

    fs::remove_file(machine.paths.config.join("rules.json")).unwrap();
    expected.push(json!(["rules", "another-program", 1]));
    assert_eq!(machine.app_tells(expected.len()).await, expected);
}
