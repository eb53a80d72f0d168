//! What edits do, how they are taken back, and which of them need a person.

use super::*;
use countersign_policy::facts::{ProgramFacts, Reached};
use countersign_policy::rules::{Invocation, Moment, RuleIndex, Ruling};
use countersign_protocol::edits::RuleLoosening;
use countersign_protocol::remember::RuleSaid;
use countersign_protocol::rule_edits::PresetSwitch;
use countersign_protocol::rules::{RuleEffect, RuleOrigin};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

#[test]
fn an_added_rule_is_stamped_and_stored_privately() {
    let mut rig = Rig::empty();
    let result = rig.apply(vec![adding(json!({ "note": "mine" }))]);
    let current = rig.refreshed();
    assert_eq!((&current.state, &current.hash), (&RulesState::Ready, &result.hash));
    let stored = &current.document.as_ref().unwrap().rules[0];
    assert_eq!((stored.created_at_ms, &stored.from), (START_MS, &RuleOrigin::Typed));
    assert_eq!(stored.id.len(), 36);
    assert_eq!(fs::metadata(rig.path()).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(rig.writers(), [Writer::Window]);
    assert_eq!(rig.apply(vec![adding(json!({ "note": "mine" }))]).undo, [], "it is there already");
    assert_eq!(rig.ids().len(), 1);
}

#[test]
fn a_rule_from_an_answer_says_so() {
    let mut rig = Rig::empty();
    let change = RuleChange { writer: Writer::Answer, ..confirmed(vec![adding(json!({}))]) };
    rig.owner.edit(&change).unwrap();
    let current = rig.refreshed();
    assert_eq!(current.document.as_ref().unwrap().rules[0].from, RuleOrigin::Answer);
}

#[test]
fn every_edit_is_taken_back_by_its_undo() {
    let check = |edits: Vec<RuleEdit>| {
        let mut rig = Rig::with(&[
            rule("a", json!({})),
            rule("b", json!({ "effect": "deny", "program": "rm" })),
            rule("c", json!({ "program": "ls" })),
        ]);
        let before = rig.refreshed().document.clone();
        let result = rig.apply(edits.clone());
        assert!(result.applied);
        assert_ne!(rig.refreshed().document, before, "{edits:?}");
        rig.apply(result.undo);
        assert_eq!(rig.refreshed().document, before, "{edits:?}");
    };
    let id = |id: &str| id.to_owned();
    check(vec![adding(json!({ "program": "cat" }))]);
    check(vec![RuleEdit::RemoveRule { id: id("a") }]);
    check(vec![RuleEdit::RemoveRule { id: id("a") }, RuleEdit::RemoveRule { id: id("b") }]);
    check(vec![RuleEdit::MoveRule { id: id("a"), index: 9 }, RuleEdit::MoveRule { id: id("b"), index: 1 }]);
    check(vec![RuleEdit::ReplaceRule { id: id("b"), rule: draft(json!({ "program": "dd" })) }]);
    check(vec![RuleEdit::SwitchPreset { name: id("everyday"), to: PresetSwitch::On }]);
}

#[test]
fn an_edit_that_makes_no_sense_changes_nothing() {
    let check = |edit: RuleEdit| {
        let mut rig = Rig::with(&[rule("a", json!({}))]);
        let before = rig.text();
        let error = rig.owner.edit(&confirmed(vec![adding(json!({ "program": "ls" })), edit])).unwrap_err();
        assert!(matches!(error, RulesError::Edit(_)), "{error}");
        assert_eq!(rig.text(), before, "all or none");
    };
    let none = || "none".to_owned();
    check(RuleEdit::RemoveRule { id: none() });
    check(RuleEdit::MoveRule { id: none(), index: 0 });
    check(RuleEdit::ReplaceRule { id: none(), rule: draft(json!({})) });
    check(RuleEdit::SwitchPreset { name: none(), to: PresetSwitch::On });
    check(RuleEdit::RestoreRule { index: 0, rule: stored("a", json!({})) });
    check(RuleEdit::RestoreRule { index: 0, rule: stored(" ", json!({})) });
    check(adding(json!({ "program": "" })));
    check(adding(json!({ "folder": "src" })));
    check(adding(json!({ "limits": { "uses": 0 } })));
    check(adding(json!({ "limits": { "session": " " } })));
    check(adding(json!({ "effect": "deny", "limits": { "uses": 1 } })));
    check(adding(json!({ "note": "x".repeat(501) })));
}

/// What a change of one rule loosens; `Null` stands for no rule.
fn check(before: Value, after: Value, expected: &[RuleLoosening]) {
    let side = |side: &Value| RuleDocument {
        rules: if side.is_null() { Vec::new() } else { vec![stored("a", side.clone())] },
        ..RuleDocument::empty()
    };
    let found = loosenings(&side(&before), &side(&after), START_MS);
    let kinds: Vec<_> = found.iter().filter_map(|loosening| loosening.rule).collect();
    assert_eq!(kinds, expected, "{before} -> {after}");
}

#[test]
fn what_lets_more_run_is_told_from_what_does_not() {
    use RuleLoosening::{Allows, RefusesLess};
    let limits = |limits: Value| json!({ "limits": limits });
    let deny = |more: Value| with(json!({ "effect": "deny" }), more);
    for (before, after, expected) in [
        (Value::Null, json!({}), &[Allows][..]),
        (json!({}), Value::Null, &[]),
        (json!({}), json!({ "agent": "main" }), &[]),
        (json!({ "agent": "main" }), json!({}), &[Allows]),
        (json!({}), json!({ "folder": "/src" }), &[]),
        (json!({ "folder": "/src" }), json!({ "folder": "/src/app" }), &[]),
        (json!({ "folder": "/src" }), json!({ "folder": "/src/../etc" }), &[Allows]),
        (json!({ "folder": "/src" }), json!({ "folder": "/srcs" }), &[Allows]),
        (json!({ "folder": "/src" }), json!({}), &[Allows]),
        (json!({}), json!({ "program": "ls" }), &[Allows]),
        (json!({}), json!({ "arguments": { "exact": { "args": [], "folder": "/" } } }), &[]),
        (json!({ "arguments": { "exact": { "args": [], "folder": "/" } } }), json!({}), &[Allows]),
        (limits(json!({ "uses": 3 })), limits(json!({ "uses": 2 })), &[]),
        (limits(json!({ "uses": 3 })), limits(json!({ "uses": 4 })), &[Allows]),
        (limits(json!({ "uses": 3 })), json!({}), &[Allows]),
        (json!({}), limits(json!({ "uses": 3 })), &[]),
        (limits(json!({ "untilMs": START_MS + 9 })), limits(json!({ "untilMs": START_MS + 8 })), &[]),
        (limits(json!({ "untilMs": START_MS + 9 })), limits(json!({ "untilMs": START_MS + 10 })), &[Allows]),
        (Value::Null, limits(json!({ "untilMs": START_MS })), &[]),
        (limits(json!({ "session": "s" })), limits(json!({ "session": "t" })), &[Allows]),
        (json!({}), json!({ "note": "x" }), &[]),
        (json!({}), deny(json!({})), &[]),
        (Value::Null, deny(json!({})), &[]),
        (deny(json!({})), Value::Null, &[RefusesLess]),
        (deny(json!({})), json!({}), &[Allows, RefusesLess]),
        (deny(json!({ "folder": "/src" })), deny(json!({})), &[]),
        (deny(json!({})), deny(json!({ "folder": "/src" })), &[RefusesLess]),
        (deny(json!({ "agent": "main" })), deny(json!({})), &[]),
        (deny(json!({})), deny(json!({ "agent": "main" })), &[RefusesLess]),
        (deny(json!({})), deny(limits(json!({ "untilMs": START_MS + 9 }))), &[RefusesLess]),
        (deny(limits(json!({ "untilMs": START_MS }))), Value::Null, &[]),
    ] {
        check(before, after, expected);
    }
}

#[test]
fn what_a_rule_said_and_says_is_told_for_every_language() {
    let side = |program: &str| RuleDocument {
        rules: vec![stored("a", json!({ "program": program }))],
        ..RuleDocument::empty()
    };
    let found = loosenings(&side("git"), &side("make"), START_MS);
    let [loosening] = found.as_slice() else { panic!("{found:?}") };
    let program = |said: &Option<Box<RuleSaid>>| match said.as_deref() {
        Some(RuleSaid::Commands { reach, .. }) => reach.program.spans.first().map(|span| span.text.clone()),
        _ => None,
    };
    assert_eq!(program(&loosening.was).as_deref(), Some("git"));
    assert_eq!(program(&loosening.becomes).as_deref(), Some("make"));
}

#[test]
fn the_same_uses_under_another_id_are_new_uses() {
    let limited = |id: &str| RuleDocument {
        rules: vec![stored(id, json!({ "limits": { "uses": 3 } }))],
        ..RuleDocument::empty()
    };
    assert_eq!(loosenings(&limited("a"), &limited("b"), START_MS).len(), 1);
}

#[test]
fn what_loosens_is_written_only_when_confirmed() {
    let mut rig = Rig::with(&[rule("a", json!({ "effect": "deny", "program": "rm" }))]);
    let before = rig.text();
    for edit in [
        adding(json!({})),
        RuleEdit::RemoveRule { id: "a".to_owned() },
        RuleEdit::SwitchPreset { name: "everyday".to_owned(), to: PresetSwitch::On },
    ] {
        let result = rig.owner.edit(&refused(vec![edit.clone()])).unwrap();
        assert!(!result.applied && !result.loosenings.is_empty() && result.undo.is_empty(), "{edit:?}");
        assert_eq!(rig.text(), before);
    }
    let tighter = refused(vec![adding(json!({ "effect": "deny", "program": "dd" }))]);
    assert!(rig.owner.edit(&tighter).unwrap().applied, "what tightens needs no word");
}

#[test]
fn a_preset_that_is_on_brings_its_rules_and_takes_them_along() {
    let mut rig = Rig::empty();
    let switch = |to| RuleEdit::SwitchPreset { name: "everyday".to_owned(), to };
    rig.apply(vec![switch(PresetSwitch::On)]);
    let rules = rig.refreshed().index.rules().len();
    assert!(rules > 20, "{rules}");
    assert_eq!(rig.apply(vec![switch(PresetSwitch::Off)]).loosenings, []);
    assert_eq!(rig.refreshed().index.rules().len(), 0);
}

#[test]
fn no_preset_refuses_anything() {
    // Switching one off, or a version that does not know it, would otherwise let more run.
    let rules = countersign_policy::rules::PRESETS.iter().flat_map(|preset| preset.rules(0));
    assert!(rules.into_iter().all(|rule| rule.effect == RuleEffect::Allow));
}

/// A few programs, folders, agents and limits that overlap in many ways.
fn any_rule() -> impl Strategy<Value = CommandRule> {
    let pick = |words: &'static [&'static str]| proptest::sample::select(words);
    let arguments = proptest::sample::select(vec![
        json!("any"),
        json!({ "exact": { "args": ["log"], "folder": "/src" } }),
        json!({ "shape": { "subcommand": ["log"] } }),
    ]);
    let limits = proptest::sample::select(vec![
        json!({}),
        json!({ "uses": 1 }),
        json!({ "uses": 2 }),
        json!({ "untilMs": START_MS - 1 }),
        json!({ "untilMs": START_MS + 10 }),
        json!({ "session": "s" }),
    ]);
    let folder = pick(&["", "/src", "/src/app"]);
    (pick(&["a", "b", "c"]), pick(&["allow", "deny"]), pick(&["*", "main"]), pick(&["git", "g*"]), arguments, folder, limits)
        .prop_map(|(id, effect, agent, program, arguments, folder, limits)| {
            let limits = if effect == "deny" && limits.get("uses").is_some() { json!({}) } else { limits };
            let mut more = json!({
                "effect": effect, "agent": agent, "program": program, "arguments": arguments, "limits": limits,
            });
            if !folder.is_empty() {
                more["folder"] = json!(folder);
            }
            stored(id, more)
        })
}

fn any_document() -> impl Strategy<Value = RuleDocument> {
    proptest::collection::vec(any_rule(), 0..4).prop_map(|mut rules| {
        let mut seen = std::collections::HashSet::new();
        rules.retain(|rule| seen.insert(rule.id.clone()));
        RuleDocument { rules, ..RuleDocument::empty() }
    })
}

/// How free a command is: refused, asked about, allowed.
fn freedom(document: &RuleDocument, agent: &str, folder: &str, now_ms: i64, used: u32) -> u8 {
    let program = ProgramFacts {
        path: Some("/usr/bin/git".into()),
        real_path: Some("/usr/bin/git".into()),
        ..ProgramFacts::default()
    };
    let arguments = [countersign_policy::rules::Argument { text: "log", expands: false }];
    let invocation = Invocation {
        typed: "git",
        program: &program,
        arguments: &arguments,
        folder: Some(folder),
        home: Path::new("/home/u"),
        script: None,
        settled: true,
        reached: Reached::NOT_LOOKED,
    };
    let uses = ["a", "b", "c"].map(|id| (id.to_owned(), used)).into_iter().collect();
    let moment = Moment { agent, session: Some("s"), now_ms, uses: &uses };
    match RuleIndex::new(document.rules.clone()).ruling(invocation, moment) {
        Some(Ruling::Deny(_)) => 0,
        None => 1,
        Some(Ruling::Allow(_)) => 2,
    }
}

proptest! {
    // Most pairs of documents loosen something and say nothing here.
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn a_change_without_loosenings_frees_no_command(before in any_document(), after in any_document()) {
        if !loosenings(&before, &after, START_MS).is_empty() {
            return Ok(());
        }
        for agent in ["main", "other"] {
            for folder in ["/src", "/src/app", "/else"] {
                for now_ms in [START_MS, START_MS + 20] {
                    for used in [0, 1] {
                        let free = |document| freedom(document, agent, folder, now_ms, used);
                        prop_assert!(free(&after) <= free(&before), "{agent} {folder} {now_ms} {used}");
                    }
                }
            }
        }
    }
}
