//! Answers that an earlier version stored, judged by what is known today.

use countersign_policy::facts::{ProgramFacts, Reached};
use countersign_policy::rules::{Argument, Invocation, Longest, Rung, ladder, matches};
use countersign_protocol::rules::CommandRule;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const FOLDER: &str = "/home/u/src/app";

/// A working day, in milliseconds.
const DAY_MS: i64 = 8 * 60 * 60 * 1_000;

fn about<T>(words: &[&str], question: impl FnOnce(Invocation<'_>) -> T) -> T {
    let path = Some(PathBuf::from("/usr/bin").join(words[0]));
    let program = ProgramFacts { path: path.clone(), real_path: path, ..ProgramFacts::default() };
    let arguments: Vec<Argument<'_>> =
        words[1..].iter().map(|text| Argument { text, expands: false }).collect();
    question(Invocation {
        typed: words[0],
        program: &program,
        arguments: &arguments,
        folder: Some(FOLDER),
        home: Path::new("/home/u"),
        script: None,
        settled: true,
        reached: Reached::NOT_LOOKED,
    })
}

/// A rule about the program of `words`, as the store holds it.
fn stored(program: &str, arguments: &Value, from: &str, limits: &Value) -> CommandRule {
    serde_json::from_value(json!({
        "id": "r", "agent": "*", "effect": "allow", "program": format!("/usr/bin/{program}"), "arguments": arguments,
        "limits": limits, "createdAtMs": 1_000, "from": from,
    }))
    .unwrap()
}

/// Whether a stored answer lets words run that it covers.
#[track_caller]
fn check(arguments: &Value, words: &[&str], expected: bool) {
    let answered = stored(words[0], arguments, "answer", &json!({}));
    assert_eq!(about(words, |invocation| matches(&answered, invocation)), expected, "{words:?}");
    let typed = stored(words[0], arguments, "typed", &json!({}));
    assert!(about(words, |invocation| matches(&typed, invocation)), "not what the rule says: {words:?}");
}

#[test]
fn a_wide_answer_about_a_program_that_nobody_described_no_longer_counts() {
    let any = json!({ "shape": { "style": "words", "flags": "any", "operands": { "max": 256, "kinds": ["any"] } } });
    for words in [
        &["mytool", "a.json"][..],
        &["mytool", "--script", "./evil"],
        &["man", "-l", "./x"],
        &["less", "+!sh", "f"],
        &["pandoc", "a.md", "--lua-filter=./evil.lua"],
        &["bazel", "--output_base=/tmp/x", "build", "//x"],
    ] {
        check(&any, words, false);
    }
    check(&json!("any"), &["mytool", "a.json"], false);
    check(&any, &["gcc", "-wrapper", "./evil", "b.c"], false);
    check(&any, &["gcc", "@args.c"], false);
    check(&any, &["gcc", "-c", "b.c"], true);
    check(&any, &["tsc", "-p", "conf"], false);
    check(&any, &["tree", "-L", "2"], true);
    check(&any, &["rg", "--pre", "x", "y"], false);
}

#[test]
fn a_kind_of_words_is_what_it_is_today() {
    let paths = json!({ "shape": { "style": "words", "operands": { "max": 9, "kinds": [{ "plain-path": { "below": [] } }] } } });
    for word in ["b.json", "src/a.json"] {
        check(&paths, &["mytool", word], false);
    }
    let data = json!({ "shape": { "subcommand": ["/bin/bash", "-c"], "operands": { "max": 1, "kinds": ["data"] } } });
    check(&data, &["cmd", "/bin/bash", "-c", "sudo apt-get install 1"], false);
    let data = json!({ "shape": { "operands": { "max": 1, "kinds": ["data"] } } });
    check(&data, &["mytool", "rm 1"], false);
    check(&data, &["mytool", "12"], true);
    let packages = json!({ "shape": { "subcommand": ["test"], "style": "words",
        "operands": { "max": 9, "kinds": [{ "path": { "below": [] } }] } } });
    check(&packages, &["go", "test", "evil.com/x"], false);
    check(&packages, &["go", "test", "./..."], true);
    let flags = json!({ "shape": { "flags": { "listed": [{ "names": ["-W"], "value": "any" },
        { "names": ["-q", "--quiet"] }] } } });
    check(&flags, &["pytest", "-W", "ignore::evil.X"], false);
    check(&flags, &["pytest", "-q"], true);
    let seen = json!({ "shape": { "flags": { "listed": [{ "names": ["-W"], "value": { "one-of": ["error"] } }] } } });
    check(&seen, &["pytest", "-W", "error"], true);
}

#[test]
fn t05_exact_words_that_destroy_are_kept_for_the_session_at_most() {
    let exact = |words: &[&str]| json!({ "exact": { "args": words[1..], "folder": FOLDER } });
    for words in [
        &["rm", "x"][..],
        &["git", "checkout", "--", "f"],
        &["git", "reset"],
        &["git", "branch", "-D", "x"],
        &["git", "push"],
        &["npx", "pkg@latest"],
        &["find", ".", "-delete"],
        &["sort", "-o", "a", "b"],
        &["mytool", "delete", "x"],
        &["kubectl", "apply", "x"],
    ] {
        check(&exact(words), words, false);
        let lets_run = |limits: &Value| {
            let rule = stored(words[0], &exact(words), "answer", limits);
            about(words, |invocation| matches(&rule, invocation))
        };
        assert!(lets_run(&json!({ "session": "s" })), "{words:?}");
        assert!(lets_run(&json!({ "untilMs": 1_000 + DAY_MS })), "{words:?}");
        assert!(!lets_run(&json!({ "untilMs": 1_001 + DAY_MS })), "{words:?}");
        assert!(!lets_run(&json!({ "uses": 3 })), "{words:?}");
        let offers = about(words, ladder);
        let exact = offers.into_iter().find(|step| step.rung == Rung::Exact).unwrap().offer.unwrap();
        assert_eq!(exact.longest, Longest::Session, "{words:?}");
        assert_eq!(exact.into_rule("r".into(), "main".into(), 5).limits.until_ms, Some(5 + DAY_MS));
    }
    for words in [
        &["git", "status"][..],
        &["git", "commit", "-m", "x"],
        &["cat", ".env"],
        &["npm", "run", "lint"],
        &["npx", "eslint", "-c", "x", "src"],
        &["mytool", "show", "x"],
        &["cargo", "test"],
        &["gh", "pr", "view", "12"],
    ] {
        check(&exact(words), words, true);
    }
}
