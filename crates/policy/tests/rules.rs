//! Rules of our own: what an allowing rule covers and nothing else, what a refusing one catches,
//! when a rule ends.

use countersign_policy::facts::{ProgramFacts, Reached};
use countersign_policy::rules::{self, Argument, Invocation, Moment, RuleProblem, Ruling};
use countersign_protocol::rules::CommandRule;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// One command in one place.
struct Case {
    program: ProgramFacts,
    words: Vec<String>,
    expands: Vec<usize>,
    folder: Option<&'static str>,
}

impl Case {
    /// `git` at `/usr/bin/git` in a folder of the home directory.
    fn new(words: &[&str]) -> Self {
        Self {
            program: ProgramFacts {
                path: Some(PathBuf::from("/usr/bin").join(words[0])),
                real_path: Some(PathBuf::from("/usr/bin").join(words[0])),
                ..ProgramFacts::default()
            },
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            expands: Vec::new(),
            folder: Some("/home/u/src/app"),
        }
    }

    fn ask<T>(&self, question: impl FnOnce(Invocation<'_>) -> T) -> T {
        let word = |(index, text)| Argument { text, expands: self.expands.contains(&index) };
        let arguments: Vec<Argument<'_>> =
            self.words[1..].iter().map(String::as_str).enumerate().map(word).collect();
        question(Invocation {
            typed: &self.words[0],
            program: &self.program,
            arguments: &arguments,
            folder: self.folder,
            home: Path::new("/home/u"),
            script: None,
            settled: true,
            reached: Reached::NOT_LOOKED,
        })
    }
}

fn rule(effect: &str, program: &str, arguments: Value) -> CommandRule {
    serde_json::from_value(json!({
        "id": "r", "agent": "*", "effect": effect, "program": program, "arguments": arguments,
        "createdAtMs": 0, "from": "typed",
    }))
    .unwrap()
}

fn check(rule: &CommandRule, expected: bool, commands: &[&[&str]]) {
    assert_eq!(rules::check(rule), Ok(()));
    for words in commands {
        assert_eq!(
            Case::new(words).ask(|invocation| rules::matches(rule, invocation)),
            expected,
            "{words:?}"
        );
    }
}

fn log() -> CommandRule {
    let mut log = rule(
        "allow",
        "git",
        json!({"shape": {
            "subcommand": ["log"],
            "leading": [{"names": ["--no-pager"]}, {"names": ["-C"], "value": {"path": {"below": ["/home/u/src"]}}}],
            "flags": {"listed": [
                {"names": ["--oneline"]}, {"names": ["-p", "--patch"]}, {"names": ["-z"]}, {"names": ["-#"]},
                {"names": ["-n", "--max-count"], "value": "number"}, {"names": ["--author"], "value": "any"},
                {"names": ["--decorate"], "value": "optional"}, {"names": ["--date"], "value": {"one-of": ["iso", "short"]}},
                {"names": ["--"]},
            ]},
            "operands": {"max": 3, "kinds": [{"plain-path": {"below": []}}, {"one-of": ["main", "HEAD"]}]},
        }}),
    );
    log.folder = Some("/home/u/src".into());
    log
}

#[test]
fn status_and_log_anywhere_below_a_folder_can_be_said() {
    let status = {
        let mut status = rule("allow", "/usr/bin/git", json!({"shape": {"subcommand": ["status"]}}));
        status.folder = Some("/home/u/src".into());
        status
    };
    check(&status, true, &[&["git", "status"], &["/usr/bin/git", "status"]]);
    check(
        &status,
        false,
        &[&["git", "log"], &["git", "status", "-s"], &["git", "status", "x"], &["git"], &["hg", "status"]],
    );
    let mut outside = Case::new(&["git", "status"]);
    for (folder, expected) in [
        (Some("/home/u/src"), true),
        (Some("/home/u/src/a/b"), true),
        (Some("/home/u/source"), false),
        (Some("/home/u"), false),
        (None, false),
    ] {
        outside.folder = folder;
        assert_eq!(outside.ask(|invocation| rules::matches(&status, invocation)), expected, "{folder:?}");
    }
}

#[test]
fn a_shape_takes_its_flags_in_every_spelling_and_no_other() {
    check(
        &log(),
        true,
        &[
            &["git", "log"],
            &["git", "--no-pager", "log", "--oneline"],
            &["git", "-C", "/home/u/src/x", "log"],
            &["git", "-C", "../x", "log"],
            &["git", "log", "-5"],
            &["git", "log", "-n5", "-n", "5", "--max-count=5", "--max-count", "5"],
            &["git", "log", "-pz", "-zpn3"],
            &["git", "log", "--author=a b", "--author", "c"],
            &["git", "log", "--decorate", "--decorate=full"],
            &["git", "log", "--date", "iso", "--date=short"],
            &["git", "log", "HEAD", "--", "src/a.rs", "./b"],
        ],
    );
    check(
        &log(),
        false,
        &[
            &["git", "log", "--output=x"],
            &["git", "log", "-o"],
            &["git", "log", "-po"],
            &["git", "log", "--one"],
            &["git", "log", "--oneline=x"],
            &["git", "log", "-n"],
            &["git", "log", "-n", "x"],
            &["git", "log", "--author", "--output=x"],
            &["git", "log", "--author"],
            &["git", "log", "--date", "raw"],
            &["git", "-c", "core.pager=x", "log"],
            &["git", "-C", "/etc", "log"],
            &["git", "-C", "log"],
            &["git", "log", "../x"],
            &["git", "log", "other"],
            &["git", "log", "a/1", "a/2", "a/3", "a/4"],
            &["git", "log", "--", "-n"],
            &["git", "show"],
            &["git", "main", "log"],
        ],
    );
}

#[test]
fn a_word_that_a_shell_could_expand_fits_no_shape_and_no_exact_rule() {
    let exact = rule("allow", "git", json!({"exact": {"args": ["log"], "folder": "/home/u/src/app"}}));
    let any = rule("allow", "git", json!("any"));
    let mut case = Case::new(&["git", "log"]);
    for rule in [&log(), &exact, &any] {
        assert!(case.ask(|invocation| rules::matches(rule, invocation)));
    }
    case.expands = vec![0];
    assert!(!case.ask(|invocation| rules::matches(&log(), invocation)));
    assert!(!case.ask(|invocation| rules::matches(&exact, invocation)));
    assert!(case.ask(|invocation| rules::matches(&any, invocation)));
}

#[test]
fn flags_of_one_dash_are_whole_words_in_their_style() {
    let find = rule(
        "allow",
        "find",
        json!({"shape": {
            "style": "words",
            "flags": {"listed": [{"names": ["-name"], "value": "any"}, {"names": ["-print"]}, {"names": ["-mtime"], "value": "number"}]},
            "operands": {"max": 9, "kinds": [{"path": {"below": []}}]},
        }}),
    );
    check(&find, true, &[&["find", ".", "-name", "*.rs", "-print"], &["find", "src", "-mtime", "-7"]]);
    check(
        &find,
        false,
        &[
            &["find", ".", "-delete"],
            &["find", ".", "-exec", "rm"],
            &["find", ".", "-n", "x"],
            &["find", ".", "-name", "-delete"],
        ],
    );
}

#[test]
fn an_exact_rule_covers_these_words_in_this_folder() {
    let exact = rule(
        "allow",
        "/usr/bin/make",
        json!({"exact": {"args": ["-j2", "all"], "folder": "/home/u/src/app"}}),
    );
    check(&exact, true, &[&["make", "-j2", "all"]]);
    check(
        &exact,
        false,
        &[&["make", "all", "-j2"], &["make", "-j2"], &["make", "-j2 all"], &["make", "-j2", "all", ""]],
    );
    let mut elsewhere = Case::new(&["make", "-j2", "all"]);
    elsewhere.folder = Some("/home/u/src");
    assert!(!elsewhere.ask(|invocation| rules::matches(&exact, invocation)));
}

#[test]
fn words_that_look_like_secrets_fit_only_where_that_was_said() {
    let mut cat = json!({"shape": {"operands": {"max": 9, "kinds": ["any"]}}});
    let careful = rule("allow", "cat", cat.clone());
    check(&careful, true, &[&["cat", "src/main.rs", "/etc/passwd"]]);
    check(
        &careful,
        false,
        &[&["cat", ".env"], &["cat", "a", "/home/u/.ssh/id_rsa"], &["cat", "../../.aws/credentials"]],
    );
    cat["shape"]["secrets"] = json!("allowed");
    check(&rule("allow", "cat", cat), true, &[&["cat", ".env"]]);
}

#[test]
fn a_bare_name_never_covers_a_program_that_this_user_could_put_there() {
    let any = rule("allow", "git", json!("any"));
    let by_path = rule("allow", "/usr/bin/*", json!("any"));
    check(&any, true, &[&["git", "x"]]);
    let mut case = Case::new(&["git", "x"]);
    case.program.writable = true;
    assert!(!case.ask(|invocation| rules::matches(&any, invocation)));
    assert!(case.ask(|invocation| rules::matches(&by_path, invocation)));
    let mut typed_path = Case::new(&["git", "x"]);
    typed_path.words[0] = "/usr/bin/git".into();
    assert!(!typed_path.ask(|invocation| rules::matches(&any, invocation)));
    let mut unknown = Case::new(&["git", "x"]);
    unknown.program = ProgramFacts::default();
    assert!(!unknown.ask(|invocation| rules::matches(&any, invocation)));
    assert!(!unknown.ask(|invocation| rules::matches(&by_path, invocation)));
}

#[test]
fn a_refusal_catches_what_could_be_meant() {
    let push = rule(
        "deny",
        "git",
        json!({"shape": {"subcommand": ["push"], "flags": {"listed": [{"names": ["-f", "--force"]}]}, "secrets": "allowed"}}),
    );
    check(
        &push,
        true,
        &[
            &["git", "push", "--force"],
            &["git", "-C", "/x", "push", "-uf"],
            &["git", "--no-pager", "push", "origin", "--for"],
            &["/usr/bin/git", "push", "--force=x"],
        ],
    );
    check(
        &push,
        false,
        &[
            &["git", "push"],
            &["git", "log", "push", "-f"],
            &["hg", "push", "-f"],
            &["git", "push", "--", "x"],
        ],
    );
    let keys = rule(
        "deny",
        "cat",
        json!({"shape": {"operands": {"kinds": [{"path": {"below": ["/home/u/.ssh"]}}]}, "flags": "any", "secrets": "allowed"}}),
    );
    check(&keys, true, &[&["cat", "a", "../../.ssh/x"], &["cat", "--number", "/home/u/.ssh/id"]]);
    check(&keys, false, &[&["cat", "a"]]);
    let mut glob = Case::new(&["cat", "*"]);
    glob.expands = vec![0];
    assert!(glob.ask(|invocation| rules::matches(&keys, invocation)));
    let mut other_place = Case::new(&["git", "push", "-f"]);
    other_place.program.path = Some("/opt/x/git".into());
    other_place.program.real_path = Some("/opt/x/git-2".into());
    other_place.words[0] = "/opt/x/git".into();
    assert!(other_place.ask(|invocation| rules::matches(&push, invocation)));
}

fn moment(uses: &HashMap<String, u32>) -> Moment<'_> {
    Moment { agent: "main", session: Some("s"), now_ms: 1_000, uses }
}

#[test]
fn a_refusal_wins_whatever_its_place() {
    let allow = rule("allow", "git", json!("any"));
    let deny = rule("deny", "git", json!({"shape": {"subcommand": ["push"]}}));
    let uses = HashMap::new();
    let case = Case::new(&["git", "push"]);
    let judge =
        |rules: &[CommandRule]| case.ask(|invocation| rules::ruling(rules, invocation, moment(&uses)));
    assert_eq!(judge(&[allow.clone(), allow.clone(), deny.clone()]), Some(Ruling::Deny(2)));
    assert_eq!(judge(&[deny, allow.clone()]), Some(Ruling::Deny(0)));
    assert_eq!(judge(&[allow.clone(), allow]), Some(Ruling::Allow(0)));
    assert_eq!(judge(&[]), None);
}

#[test]
fn a_rule_ends_with_its_time_its_uses_and_its_session() {
    fn check(change: impl FnOnce(&mut CommandRule), expected: bool) {
        let mut changed = rule("allow", "git", json!("any"));
        change(&mut changed);
        let uses = HashMap::from([("r".to_owned(), 3)]);
        assert_eq!(rules::is_live(&changed, moment(&uses)), expected, "{changed:?}");
    }
    check(|_| {}, true);
    check(|rule| rule.limits.until_ms = Some(1_001), true);
    check(|rule| rule.limits.until_ms = Some(1_000), false);
    check(|rule| rule.limits.uses = Some(4), true);
    check(|rule| rule.limits.uses = Some(3), false);
    check(|rule| rule.limits.session = Some("s".into()), true);
    check(|rule| rule.limits.session = Some("t".into()), false);
    check(|rule| rule.agent = "main".into(), true);
    check(|rule| rule.agent = "other".into(), false);
}

#[test]
fn a_rule_that_contradicts_itself_is_not_stored() {
    fn check(change: impl FnOnce(&mut CommandRule), expected: RuleProblem) {
        let mut changed = log();
        change(&mut changed);
        assert_eq!(rules::check(&changed), Err(expected), "{changed:?}");
    }
    fn shape(value: Value) -> impl FnOnce(&mut CommandRule) {
        move |rule| rule.arguments = serde_json::from_value(json!({ "shape": value })).unwrap()
    }
    check(|rule| rule.program = " ".into(), RuleProblem::Program);
    check(|rule| rule.program = " git".into(), RuleProblem::Program);
    check(|rule| rule.agent = String::new(), RuleProblem::Agent);
    check(|rule| rule.folder = Some("src".into()), RuleProblem::Folder);
    check(shape(json!({"flags": {"listed": [{"names": ["force"]}]}})), RuleProblem::Shape);
    check(shape(json!({"flags": {"listed": [{"names": []}]}})), RuleProblem::Shape);
    check(shape(json!({"operands": {"min": 2, "max": 1}})), RuleProblem::Shape);
    check(shape(json!({"subcommand": [""]})), RuleProblem::Shape);
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(
            &[
                "git",
                "log",
                "push",
                "-n",
                "-5",
                "-p",
                "--oneline",
                "--author=x",
                "--",
                "-",
                "src/a",
                "..",
                "/etc/x",
                "HEAD",
                "",
                "-C"
            ][..]
        )
        .prop_map(str::to_owned),
        ".{0,8}",
    ]
}

proptest! {
    #[test]
    fn what_an_allowing_shape_covers_a_refusal_of_its_subcommand_catches(words in prop::collection::vec(word(), 0..7)) {
        let mut case = Case::new(&["git"]);
        case.words.extend(words);
        let refusal = rule("deny", "git", json!({"shape": {"subcommand": ["log"], "flags": "any"}}));
        if case.ask(|invocation| rules::matches(&log(), invocation)) {
            prop_assert!(case.ask(|invocation| rules::matches(&refusal, invocation)), "{:?}", case.words);
        }
    }

    #[test]
    fn an_exact_rule_covers_its_words_and_not_one_more(words in prop::collection::vec(word(), 0..7), extra in word()) {
        let exact = rule("allow", "git", json!({"exact": {"args": words, "folder": "/home/u/src/app"}}));
        let mut case = Case::new(&["git"]);
        case.words.extend(words);
        prop_assert!(case.ask(|invocation| rules::matches(&exact, invocation)));
        case.words.push(extra);
        prop_assert!(!case.ask(|invocation| rules::matches(&exact, invocation)));
    }
}
