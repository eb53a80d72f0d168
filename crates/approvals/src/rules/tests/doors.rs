//! What a door stores is what it says: rules in their normal form, refusals that refuse their own words, and
//! what is looser however little of a rule differs.

use super::*;
use countersign_protocol::rules::ArgumentRule;
use pretty_assertions::assert_eq;

fn refusing(program: &str, words: &str) -> RuleEdit {
    let arguments = serde_json::to_value(ArgumentRule::beginning_with(words)).unwrap();
    adding(json!({ "effect": "deny", "program": program, "arguments": arguments }))
}

#[test]
fn a_program_is_stored_in_one_form_however_it_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    let at = |name: &str| real.join(name).to_str().unwrap().to_owned();
    fs::create_dir(at("bin")).unwrap();
    fs::write(at("bin/tool"), "").unwrap();
    std::os::unix::fs::symlink("bin", at("link")).unwrap();
    for written in ["bin/tool", "link/tool", "bin/../link/./tool", "link//tool/"] {
        let mut rig = Rig::empty();
        rig.apply(vec![refusing(&at(written), "go")]);
        let stored = rig.refreshed().document.as_ref().unwrap().rules[0].program.clone();
        assert_eq!(stored, at("bin/tool"), "{written}");
        assert_eq!(rig.apply(vec![refusing(&at("bin/tool"), "go")]).undo, [], "it is there already");
    }
    for written in ["./tool", "tool go", "/usr/bin/to[o]l", "{a,b}", ""] {
        let mut rig = Rig::empty();
        assert!(rig.owner.edit(&confirmed(vec![refusing(written, "")])).is_err(), "{written}");
        assert_eq!(rig.ids(), Vec::<String>::new());
    }
}

#[test]
fn a_refusal_that_would_not_refuse_its_own_words_is_not_stored() {
    let mut rig = Rig::empty();
    rig.apply(vec![refusing("git", "push")]);
    let [id] = rig.ids().try_into().unwrap();
    let only_with_more = json!({ "shape": {
        "subcommand": ["push"], "flags": "any", "operands": { "min": 1, "max": 9, "kinds": ["any"] },
    }});
    let less = json!({ "effect": "deny", "program": "git", "arguments": only_with_more });
    for edit in [adding(less.clone()), RuleEdit::ReplaceRule { id, rule: draft(less) }] {
        let error = rig.owner.edit(&confirmed(vec![edit])).unwrap_err().to_string();
        assert_eq!(error, "the rule cannot be stored: it would not refuse what it says: git push");
    }
    assert_eq!(rig.ids().len(), 1);
}

#[test]
fn a_permission_that_can_never_count_is_not_stored_and_says_why() {
    let allowing = |program: &str, words: &str| {
        let arguments = serde_json::to_value(ArgumentRule::beginning_with(words)).unwrap();
        json!({ "effect": "allow", "program": program, "arguments": arguments })
    };
    let mut rig = Rig::empty();
    rig.apply(vec![adding(allowing("npm", "run build")), adding(allowing("bun", "run build"))]);
    let [first, _] = rig.ids().try_into().unwrap();
    for (program, words, why) in [
        ("sudo", "", "it starts other programs"),
        ("bash", "x.sh", "a shell is judged by the programs in its text"),
        ("npm", "exec", "it starts other programs"),
        ("bun", "run", "name that word too"),
    ] {
        let rule = allowing(program, words);
        for edit in [adding(rule.clone()), RuleEdit::ReplaceRule { id: first.clone(), rule: draft(rule) }] {
            let error = rig.owner.edit(&confirmed(vec![edit])).unwrap_err().to_string();
            assert!(error.starts_with("the rule cannot be stored: it never counts: "), "{error}");
            assert!(error.contains(why), "{program} {words}: {error}");
        }
    }
    assert_eq!(rig.ids().len(), 2);
}

#[test]
fn a_permission_that_was_stored_before_and_never_counts_can_be_given_an_end() {
    let idle = json!({ "program": "sudo", "arguments": "any" });
    let mut rig = Rig::with(&[rule("old", idle.clone())]);
    let ends = with(idle, json!({ "limits": { "untilMs": 5 } }));
    let edit = RuleEdit::ReplaceRule { id: "old".to_owned(), rule: draft(ends) };
    assert!(rig.owner.edit(&confirmed(vec![edit])).unwrap().applied);
}

#[test]
fn the_same_command_without_what_its_files_contained_is_looser() {
    let digest = "a".repeat(64);
    let exact =
        json!({ "program": "/src/tool", "arguments": { "exact": { "args": ["go"], "folder": "/src" } } });
    let pinned = |contents: Value| with(exact.clone(), json!({ "contents": contents, "from": "answer" }));
    for contents in [json!({ "program": digest }), json!({ "script": digest })] {
        let mut rig = Rig::with(&[rule("answer", pinned(contents.clone()))]);
        for more in [
            json!({}),
            json!({ "contents": { "program": "b".repeat(64) } }),
            json!({ "limits": { "untilMs": START_MS + 1 } }),
        ] {
            let edit = adding(with(exact.clone(), more));
            let result = rig.owner.edit(&refused(vec![edit.clone()])).unwrap();
            assert!(!result.applied, "{edit:?}");
        }
    }
}

#[test]
fn a_refusal_for_a_session_lasts_as_long_as_that_is_named() {
    let in_session = |effect: &str| {
        let limits = json!({ "limits": { "session": "s" } });
        with(with(json!({ "effect": effect }), limits), json!({ "program": effect }))
    };
    let mut rig = Rig::with(&[rule("no", in_session("deny")), rule("yes", in_session("allow"))]);
    rig.clock.set(START_MS + DAY_MS - 1_000);
    assert_eq!((rig.state("no"), rig.state("yes")), (RuleState::Live, RuleState::Live));
    rig.clock.set(START_MS + 100 * DAY_MS);
    rig.apply(vec![adding(json!({ "program": "other" }))]);
    assert_eq!(rig.state("no"), RuleState::Live);
    assert!(!rig.ids().contains(&"yes".to_owned()), "what it allowed is over");
}

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
