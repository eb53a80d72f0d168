//! The way of a rule from the command line through the window into document and history, with
//! everything running.

mod given;

use super::LooseningAnswer;
use crate::control::{self, ControlError};
use crate::testing::{PATIENCE, paths};
use crate::wiring::Companion;
use countersign_core::paths::Paths;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::counting::{Comes, UncountedCause, UncountedFor};
use countersign_protocol::edits::RuleLoosening;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::meaning::Usually;
use countersign_protocol::remember::RuleSaid;
use countersign_protocol::rule_edits::{PresetSwitch, RuleEdit, RuleEditParams, RuleEditResult, RuleState};
use countersign_protocol::rules::{ArgumentRule, FILE_NAME};
use countersign_protocol::ui::{EditParams, ErrorCode, Expected, UiEvent, UiMessage};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use tokio::sync::broadcast;

struct Rig {
    home: TempDir,
    paths: Paths,
    companion: Companion,
}

impl Rig {
    fn start() -> Self {
        Self::with(&json!({}), &json!({}))
    }

    /// With these defaults in the document and these rules stored, if there are any.
    fn with(defaults: &Value, rules: &Value) -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        let write = |path: &Path, value: &Value| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, value.to_string()).unwrap();
        };
        if *defaults != json!({}) {
            write(&paths.document(), &json!({ "version": 1, "defaults": defaults, "agents": {} }));
        }
        if *rules != json!({}) {
            write(&paths.rules().config.join(FILE_NAME), rules);
        }
        let (companion, _presenter) = Companion::start(&paths).unwrap();
        Self { home, paths, companion }
    }

    /// What the command line asks for, answered in the window as soon as that takes an answer.
    async fn ask(&self, edit: Value, answer: LooseningAnswer) -> RuleEditResult {
        let edits = vec![serde_json::from_value::<RuleEdit>(edit).unwrap()];
        let request = ControlRequest::EditRules { base_hash: None, edits };
        let socket = self.paths.control_socket();
        let calling = control::call(&socket, &request, PATIENCE);
        tokio::select! {
            response = calling => result(response),
            () = self.answer_all(answer) => unreachable!("it answers until the caller is gone"),
        }
    }

    async fn answer_all(&self, answer: LooseningAnswer) {
        let desk = self.companion.desk();
        loop {
            for confirmation in desk.snapshot().await.confirmations {
                assert!(!confirmation.loosenings.is_empty());
                // Too early is the only thing that it may be.
                if let Err(error) = desk.answer_confirmation(&confirmation.id, answer) {
                    assert_eq!(error.code, ErrorCode::NotArmed);
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn history(&self) -> Vec<(String, Vec<Option<RuleLoosening>>)> {
        let page = self.companion.desk().history(None, 50).await.unwrap();
        let lines = page.entries.into_iter().rev().filter_map(|entry| match entry.event {
            HistoryEvent::Rules { writer, loosenings, .. } => {
                Some((writer, loosenings.iter().map(|loosening| loosening.rule).collect()))
            }
            _ => None,
        });
        lines.collect()
    }
}

fn result(response: Result<ControlResponse, ControlError>) -> RuleEditResult {
    match response.unwrap() {
        ControlResponse::RulesEdited { result } => result,
        other => panic!("{other:?}"),
    }
}

fn rule(effect: &str, program: &str) -> Value {
    json!({
        "kind": "add-rule",
        "rule": { "agent": "*", "effect": effect, "program": program, "arguments": "any" },
    })
}

async fn next_hash(messages: &mut broadcast::Receiver<UiMessage>) -> String {
    loop {
        let message = tokio::time::timeout(PATIENCE, messages.recv()).await.unwrap().unwrap();
        if let UiEvent::RulesChanged { hash, .. } = message.event {
            return hash;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_loosens_from_the_command_line_needs_the_window_and_what_tightens_does_not() {
    let rig = Rig::start();
    let desk = rig.companion.desk();
    let mut messages = desk.messages();
    let refused = rig.ask(rule("allow", "git"), LooseningAnswer::Keep).await;
    assert!(!refused.applied && refused.loosenings.len() == 1, "{refused:?}");
    assert_eq!(desk.rules().await.rules.len(), 0);
    let applied = rig.ask(rule("allow", "git"), LooseningAnswer::Apply).await;
    assert!(applied.applied, "{applied:?}");
    assert_eq!(next_hash(&mut messages).await, applied.hash);
    let preset = json!({ "kind": "switch-preset", "name": "everyday", "to": "on" });
    assert!(rig.ask(preset, LooseningAnswer::Apply).await.applied);
    // Nobody has to answer for a refusal.
    let request = ControlRequest::EditRules {
        base_hash: None,
        edits: vec![serde_json::from_value(rule("deny", "rm")).unwrap()],
    };
    assert!(result(control::call(&rig.paths.control_socket(), &request, PATIENCE).await).applied);
    let view = desk.rules().await;
    assert_eq!(view.rules.len(), 2);
    let on = view.presets.iter().filter(|preset| preset.switch == PresetSwitch::On).count();
    assert_eq!(on, 1);
    // The history follows by itself; it is complete when the last change is in it.
    let lines = tokio::time::timeout(PATIENCE, async {
        loop {
            let lines = rig.history().await;
            if lines.len() >= 3 {
                return lines;
            }
            tokio::task::yield_now().await;
        }
    });
    let by = |loosenings: &[Option<RuleLoosening>]| ("command-line".to_owned(), loosenings.to_vec());
    let expected = [by(&[Some(RuleLoosening::Allows)]), by(&[Some(RuleLoosening::Preset)]), by(&[])];
    assert_eq!(lines.await.unwrap(), expected);
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_loosens_only_when_the_person_confirmed() {
    let rig = Rig::start();
    let desk = rig.companion.desk();
    let edit = |base_hash: String, confirmed: bool| RuleEditParams {
        base_hash,
        edits: vec![serde_json::from_value(rule("allow", "git")).unwrap()],
        confirmed,
    };
    let hash = desk.rules().await.hash;
    assert!(!desk.edit_rules(edit(hash.clone(), false)).await.unwrap().applied);
    let applied = desk.edit_rules(edit(hash.clone(), true)).await.unwrap();
    assert!(applied.applied && applied.undo.len() == 1);
    assert_eq!(desk.edit_rules(edit(hash, true)).await.unwrap_err().code, ErrorCode::Stale);
    assert_eq!(desk.reset_rules().await.unwrap_err().code, ErrorCode::Store, "nothing is in the way");
    let named = json!({
        "kind": "add-rule",
        "rule": { "agent": "a\u{202e}b", "effect": "allow", "program": "make", "arguments": "any" },
    });
    let hostile = RuleEditParams {
        base_hash: desk.rules().await.hash,
        edits: vec![serde_json::from_value(named).unwrap()],
        confirmed: true,
    };
    let applied = desk.edit_rules(hostile).await.unwrap();
    assert_eq!(applied.loosenings[0].scope, "a\\u{202E}b");
    let view = desk.rules().await;
    let agent = &view.rules[1].agent;
    assert!(agent.spans.iter().any(|span| span.text == "U+202E"), "{agent:?}");
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_confirmation_says_what_the_policy_makes_of_a_rule_and_leaves_its_words_to_the_reader() {
    for (ask, usually) in [("on-miss", Usually::RestAsks), ("always", Usually::EverythingAsks)] {
        let rig = Rig::with(&json!({ "security": "allowlist", "ask": ask }), &json!({}));
        let desk = rig.companion.desk();
        let mut rule = rule("allow", "git");
        rule["rule"]["limits"] = json!({ "untilMs": 4_107_542_340_000_i64 });
        // In the window, and from the command line.
        let edits = vec![serde_json::from_value(rule.clone()).unwrap()];
        let params = RuleEditParams { base_hash: desk.rules().await.hash, edits, confirmed: false };
        let mut told = desk.edit_rules(params).await.unwrap().loosenings;
        let mut messages = desk.messages();
        assert!(!rig.ask(rule, LooseningAnswer::Keep).await.applied);
        while let Ok(UiMessage { event, .. }) = messages.try_recv() {
            if let UiEvent::ConfirmationAdded { confirmation } = event {
                told.extend(confirmation.loosenings);
            }
        }
        assert_eq!(told.len(), 2, "{told:?}");
        for loosening in told {
            assert_eq!(loosening.usually, Some(usually), "{ask}");
            let Some(RuleSaid::Commands { end, .. }) = loosening.becomes.as_deref() else {
                panic!("{loosening:?}")
            };
            assert_eq!(end.until_ms, Some(4_107_542_340_000), "no text of one language and one zone");
        }
        // The same of an entry.
        let entry = json!({ "kind": "add-entry", "agent": "*", "pattern": "/usr/bin/git" });
        let edits = vec![serde_json::from_value(entry).unwrap()];
        let base_hash = desk.document().await.hash;
        let told = desk.edit(EditParams { base_hash, edits, confirmed: false }).await.unwrap().loosenings;
        let fates: Vec<_> = told.iter().map(|loosening| loosening.usually).collect();
        assert_eq!(fates, [Some(usually)], "{ask}");
        rig.companion.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_became_a_link_keeps_nobody_from_changing_another_one() {
    let rig = Rig::start();
    let home = std::fs::canonicalize(rig.home.path()).unwrap();
    let folder = home.join("src/project");
    std::fs::create_dir_all(folder.join("diary")).unwrap();
    let named = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let hidden = |name: &str| json!({ "path": named(&folder.join(name)), "access": "hidden" });
    let draft = |places: Value| json!({ "agent": "coder", "folder": named(&folder), "places": places });
    let opened = json!({ "kind": "open-workspace", "rule": draft(json!([hidden("diary")])) });
    assert!(rig.ask(opened, LooseningAnswer::Apply).await.applied);
    // What is hidden is known from now on, whoever renames it before the first box.
    // Beside the folder of this one lies whatever else boxes keep.
    let kept = std::fs::read_dir(rig.paths.boxes()).unwrap();
    let mut noted =
        kept.filter_map(|kept| std::fs::read_to_string(kept.ok()?.path().join("hidden.json")).ok());
    let noted = noted.next().expect("it is noted");
    assert!(noted.contains("/diary\""), "{noted}");

    std::fs::rename(folder.join("diary"), folder.join("old")).unwrap();
    std::os::unix::fs::symlink("old", folder.join("diary")).unwrap();
    let id = rig.companion.desk().rules().await.workspaces[0].rule.id.clone();
    let both = json!([hidden("diary"), hidden("letters")]);
    let replaced = json!({ "kind": "replace-workspace", "id": id, "rule": draft(both) });
    assert!(rig.ask(replaced, LooseningAnswer::Keep).await.applied);
    // A new one by the name of a link is refused as ever.
    let link = json!([hidden("diary"), { "path": named(&folder.join("diary")), "access": "read" }]);
    let edit = json!({ "kind": "replace-workspace", "id": id, "rule": draft(link) });
    let edits = vec![serde_json::from_value::<RuleEdit>(edit).unwrap()];
    let request = ControlRequest::EditRules { base_hash: None, edits };
    let said = control::call(&rig.paths.control_socket(), &request, PATIENCE).await;
    let Ok(ControlResponse::Error { message }) = said else { panic!("{said:?}") };
    assert!(message.contains("leads to"), "{message}");
    rig.companion.stop().await;
}

fn beginning(effect: &str, program: &str, words: &str) -> Value {
    json!({ "kind": "add-rule", "rule": {
        "agent": "*", "effect": effect, "program": program,
        "arguments": serde_json::to_value(ArgumentRule::beginning_with(words)).unwrap(),
    }})
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_stores_a_permission_hears_what_comes_of_it() {
    let rig = Rig::with(&json!({ "security": "allowlist", "ask": "on-miss" }), &json!({}));
    let comes = async |edit: Value| rig.ask(edit, LooseningAnswer::Apply).await.comes;
    assert_eq!(comes(beginning("allow", "ls", "")).await, [Comes::InForce]);
    assert_eq!(
        comes(beginning("deny", "sleep", "")).await,
        [],
        "a refusal proves itself before it is stored"
    );
    assert_eq!(comes(beginning("allow", "sleep", "5")).await, [Comes::Refused]);
    let [Comes::Idle { why }] = &comes(beginning("allow", "no-such-program", "")).await[..] else {
        panic!("there is no such program")
    };
    assert_eq!((why.cause, why.lasts), (UncountedCause::Missing, UncountedFor::Now));
    // The same words in the window.
    let desk = rig.companion.desk();
    let params = |edit: Value, base_hash: String| RuleEditParams {
        base_hash,
        edits: vec![serde_json::from_value(edit).unwrap()],
        confirmed: true,
    };
    let hash = desk.rules().await.hash;
    let result = desk.edit_rules(params(beginning("allow", "cat", ""), hash)).await.unwrap();
    assert_eq!(result.comes, [Comes::InForce]);
    let error = desk.edit_rules(params(beginning("allow", "sudo", ""), result.hash)).await.unwrap_err();
    let mistake = error.mistake.unwrap();
    assert_eq!((error.code, mistake.field.as_deref()), (ErrorCode::Invalid, Some("program")));
    assert_eq!(mistake.expected, Expected::Counting { cause: UncountedCause::StartsOthers, what: None });
    rig.companion.stop().await;
    for (defaults, expected) in [
        (json!({ "security": "deny" }), Comes::NothingRuns),
        (json!({ "security": "allowlist", "ask": "always" }), Comes::AlwaysAsked),
    ] {
        let rig = Rig::with(&defaults, &json!({}));
        let result = rig.ask(beginning("allow", "ls", ""), LooseningAnswer::Apply).await;
        assert_eq!(result.comes, [expected], "{defaults}");
        rig.companion.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stored_permission_that_lets_nothing_run_is_shown_as_that() {
    let stored = |id: &str, effect: &str, program: &str| {
        json!({
            "id": id, "agent": "*", "effect": effect, "program": program, "arguments": "any",
            "createdAtMs": 0, "from": "typed",
        })
    };
    let rules = json!({ "version": 1, "presets": [], "rules": [
        stored("idle", "allow", "sudo"),
        stored("gone", "allow", "/opt/no/such/program"),
        stored("counts", "allow", "ls"),
        stored("refuses", "deny", "sudo"),
    ]});
    let rig = Rig::with(&json!({}), &rules);
    let view = rig.companion.desk().rules().await;
    let told = |at: usize| (view.rules[at].state, view.rules[at].uncounted.as_ref().map(|why| why.cause));
    assert_eq!(told(0), (RuleState::NeverCounts, Some(UncountedCause::StartsOthers)));
    assert_eq!(told(1), (RuleState::NotNow, Some(UncountedCause::Missing)));
    assert_eq!((told(2), told(3)), ((RuleState::Live, None), (RuleState::Live, None)));
    rig.companion.stop().await;
}
