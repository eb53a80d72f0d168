//! The rules on disk, by one rig that every test sits at.

mod changes;
mod crashes;
mod doors;
mod files;
mod opened;
mod spending;

use super::owner::RulesOwner;
use super::*;
use crate::owned::Owned as _;
use crate::testing::{FakeClock, IMPATIENCE, PATIENCE, ports};
use countersign_protocol::rule_edits::RuleState;
use countersign_protocol::rules::{CommandRule, FILE_NAME, RuleDraft};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tempfile::TempDir;

/// The clock of `testing::ports` when nobody moved it.
const START_MS: i64 = 1_000_000;

/// Two folders and who keeps the rules in them.
struct Rig {
    dir: TempDir,
    clock: Arc<FakeClock>,
    owner: RulesOwner,
}

impl Rig {
    fn empty() -> Self {
        Self::prepared(|_| {})
    }

    fn with(rules: &[Value]) -> Self {
        Self::prepared(|dir| write(&dir.join("config").join(FILE_NAME), &document(rules).to_string()))
    }

    fn prepared(prepare: impl FnOnce(&Path)) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["config", "state"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        prepare(dir.path());
        let (ports, clock) = ports();
        let owner = RulesOwner::open(&folders(dir.path()), ports).with_patience(PATIENCE);
        Self { dir, clock, owner }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("config").join(FILE_NAME)
    }

    fn uses_path(&self) -> PathBuf {
        self.dir.path().join("state").join(USES_FILE_NAME)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn refreshed(&mut self) -> Arc<Current> {
        self.owner.refresh();
        Arc::clone(self.owner.current())
    }

    fn problem(&mut self) -> String {
        match &self.refreshed().state {
            RulesState::Unreadable { problem } => problem.clone(),
            state => panic!("{state:?}"),
        }
    }

    fn ids(&mut self) -> Vec<String> {
        let current = self.refreshed();
        current.document.as_ref().unwrap().rules.iter().map(|rule| rule.id.clone()).collect()
    }

    fn state(&mut self, id: &str) -> RuleState {
        let current = self.refreshed();
        let rule =
            current.document.as_ref().unwrap().rules.iter().find(|rule| rule.id == id).unwrap().clone();
        state(&rule, &current.counts, self.now_ms())
    }

    fn now_ms(&self) -> i64 {
        crate::ports::Clock::now_ms(self.clock.as_ref())
    }

    fn apply(&mut self, edits: Vec<RuleEdit>) -> RuleEditResult {
        self.owner.edit(&confirmed(edits)).unwrap()
    }

    fn spend(&mut self, id: &str) -> bool {
        spent(&mut self.owner, id)
    }

    fn writers(&mut self) -> Vec<Writer> {
        self.owner.take_changes().iter().map(|change| change.writer).collect()
    }
}

fn spent(owner: &mut RulesOwner, id: &str) -> bool {
    match owner.spend(&[id.to_owned()]) {
        Ok(()) => true,
        Err(NotSpent::Dead { id: dead }) => {
            assert_eq!(dead, id);
            false
        }
        Err(NotSpent::Failed(error)) => panic!("{error}"),
    }
}

fn folders(dir: &Path) -> Folders {
    Folders { config: dir.join("config"), state: dir.join("state") }
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}

fn document(rules: &[Value]) -> Value {
    json!({ "version": 1, "rules": rules })
}

/// `base` with the members of `more` on top.
fn with(mut base: Value, more: Value) -> Value {
    base.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    base
}

/// A stored rule that allows `git`, changed by `more`.
fn rule(id: &str, more: Value) -> Value {
    let base = with(draft_json(json!({})), json!({ "id": id, "createdAtMs": START_MS, "from": "typed" }));
    with(base, more)
}

fn stored(id: &str, more: Value) -> CommandRule {
    serde_json::from_value(rule(id, more)).unwrap()
}

fn draft_json(more: Value) -> Value {
    with(json!({ "agent": "*", "effect": "allow", "program": "git", "arguments": "any" }), more)
}

fn draft(more: Value) -> RuleDraft {
    serde_json::from_value(draft_json(more)).unwrap()
}

fn adding(more: Value) -> RuleEdit {
    RuleEdit::AddRule { rule: draft(more) }
}

fn confirmed(edits: Vec<RuleEdit>) -> RuleChange {
    RuleChange { base_hash: None, edits, looser: Looser::Confirmed, writer: Writer::Window }
}

fn refused(edits: Vec<RuleEdit>) -> RuleChange {
    RuleChange { looser: Looser::Refuse, ..confirmed(edits) }
}
