//! Programs that start what their arguments name run unasked only when a person allowed exactly their words.

use crate::support;
use crate::support::{CWD, World};
use countersign_commands::analysis::analyze_text;
use countersign_policy::bind::{Allowed, Bound, Unbound, bind, bind_allowed};
use countersign_policy::evaluate::{AskReason, Evidence, LocalRules, Subject, Verdict, Walls, evaluate};
use countersign_policy::facts::{Facts, FileIdentity, ProgramFacts};
use countersign_policy::rules::{Folders, Moment, RuleIndex};
use countersign_protocol::rules::ArgumentRule;
use countersign_protocol::vocabulary::{Ask, Security};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;

/// Programs of a machine by name, with their real paths.
const PROGRAMS: &[(&str, &str)] = &[
    ("npm", "/usr/lib/npm/bin/npm-cli.js"),
    ("npx", "/usr/lib/npm/bin/npx-cli.js"),
    ("bun", "/usr/bin/bun"),
    ("bunx", "/usr/bin/bun"),
    ("bash", "/usr/bin/bash"),
    ("sh", "/usr/bin/dash"),
    ("ls", "/usr/bin/busybox"),
    ("cargo", "/usr/bin/rustup"),
    ("gcc", "/usr/lib/gcc-12"),
    ("tail", "/usr/bin/tail"),
];

fn facts() -> Facts {
    let mut facts = Facts { home: PathBuf::from("/home/u"), ..Facts::default() };
    for (name, path) in PROGRAMS {
        let identity =
            FileIdentity { dev: 1, ino: 2, size: 3, mtime_ns: 4, ctime_ns: 5, mode: 0o100_755, sha256: None };
        let program = ProgramFacts {
            path: Some(PathBuf::from("/usr/bin").join(name)),
            real_path: Some(PathBuf::from(path)),
            identity: Some(identity),
            writable: false,
            ..ProgramFacts::default()
        };
        facts.programs.insert((*name).to_owned(), program);
    }
    facts
}

fn bound(text: &str, allowed: Allowed) -> Result<Vec<String>, Unbound> {
    let analysis = analyze_text(text);
    let facts = facts();
    let allowed = vec![allowed; analysis.segments.len()];
    let bound = bind_allowed(&analysis, &facts, &allowed);
    if allowed.first() == Some(&Allowed::Program) {
        assert_eq!(bind(&analysis, &facts), bound, "{text}");
    }
    bound.map(|bound| match bound {
        Bound::Argv { path, argv } => [&[path][..], &argv[1..]].concat(),
        Bound::Shell { text, .. } => vec![text],
    })
}

#[track_caller]
fn check(text: &str, expected: Result<&[&str], Unbound>) {
    let expected = expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert_eq!(bound(text, Allowed::Words), expected, "{text}");
    assert_eq!(bound(text, Allowed::Program), Err(Unbound::Carrier), "{text}");
}

/// What an entry or a rule for the program alone comes to.
#[track_caller]
fn check_alone(text: &str, expected: Result<&[&str], Unbound>) {
    let expected = expected.map(|words| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    for allowed in [Allowed::Program, Allowed::Named] {
        assert_eq!(bound(text, allowed), expected, "{text} {allowed:?}");
    }
}

#[test]
fn a_runner_whose_words_were_allowed_runs_them_itself() {
    check("npm exec -- tsc", Ok(&["/usr/bin/npm", "exec", "--", "tsc"]));
    check("npx tsc --noEmit", Ok(&["/usr/bin/npx", "tsc", "--noEmit"]));
    check("bun run lint | tail -5", Ok(&["'/usr/bin/bun' 'run' 'lint' | '/usr/bin/tail' '-5'"]));
}

#[test]
fn a_package_manager_that_was_allowed_does_what_names_no_program() {
    check_alone("npm run lint", Ok(&["/usr/bin/npm", "run", "lint"]));
    check_alone("npm ci --ignore-scripts", Ok(&["/usr/bin/npm", "ci", "--ignore-scripts"]));
    check_alone("bun install", Ok(&["/usr/bin/bun", "install"]));
    for text in [
        "npm exec -- tsc",
        "npm init vite",
        "npm run lint --script-shell=/tmp/x",
        "npm config set script-shell /tmp/x",
        "bun run lint",
        "bun x tsc",
        // Another name of the same file.
        "bunx install",
    ] {
        check_alone(text, Err(Unbound::Carrier));
    }
}

#[test]
fn a_task_that_was_allowed_gets_no_other_shell() {
    let tasks = |text: &str| bound(text, Allowed::Tasks);
    assert!(tasks("npm run lint --workspace=a -- --fix").is_ok());
    for text in ["npm run lint --script-shell=/tmp/x", "bun run --shell=system lint"] {
        assert_eq!(tasks(text), Err(Unbound::Carrier), "{text}");
    }
}

#[test]
fn what_its_name_or_another_text_decides_stays_with_the_person() {
    // Only a file that has the name itself is known to be the runner.
    check("bunx biome", Err(Unbound::Carrier));
    check("ls -l", Err(Unbound::Carrier));
    check("bash x.sh", Err(Unbound::Carrier));
    check("sudo npm run lint", Err(Unbound::Carrier));
    check("xargs npm run", Err(Unbound::Carrier));
}

#[test]
fn a_program_is_started_under_the_name_that_was_typed() {
    let started = |text: &str, allowed| {
        let analysis = analyze_text(text);
        bind_allowed(&analysis, &facts(), &vec![allowed; analysis.segments.len()])
    };
    for name in ["cargo", "gcc"] {
        let expected = support::one_program(&format!("/usr/bin/{name}"), &[name, "-v"]);
        assert_eq!(started(&format!("{name} -v"), Allowed::Named), Ok(expected), "{name}");
    }
    let expected = support::one_program("/usr/bin/tail", &["tail", "-5"]);
    assert_eq!(started("tail -5", Allowed::Named), Ok(expected));
    let Ok(Bound::Shell { text, programs, .. }) = started("cargo check | tail -5", Allowed::Named) else {
        panic!("not bound to a text")
    };
    assert_eq!(text, "'/usr/bin/cargo' 'check' | '/usr/bin/tail' '-5'");
    assert_eq!(programs, ["/usr/bin/cargo", "/usr/bin/tail"]);
    // An entry says which file may run, and nothing about the name.
    assert_eq!(started("cargo check", Allowed::Program), Err(Unbound::Carrier));
}

/// The verdict on a command under one rule for its program.
fn verdict(argv: &[&str], arguments: Value) -> Verdict {
    let world = World::new(argv, Security::Allowlist, Ask::OnMiss);
    let rule = json!({
        "id": "r", "agent": "*", "effect": "allow", "program": argv[0], "arguments": arguments,
        "createdAtMs": 0, "from": "typed",
    });
    let rules = RuleIndex::new(vec![serde_json::from_value(rule).unwrap()]);
    let (folders, uses) = (Folders::new(), HashMap::new());
    let moment = Moment { agent: "main", session: None, now_ms: 0, uses: &uses };
    let analysis = world.analysis();
    let entries = world.entries();
    let subject = Subject {
        argv: &world.argv,
        analysis: &analysis,
        facts: &world.facts,
        policy: &world.policy,
        entries: &entries,
        local: LocalRules::Known { rules: &rules, folders: &folders, moment, unclear: None },
        trust: &world.trust,
        walls: Walls::None,
        unusual_env: &world.unusual_env,
        origin: world.origin,
    };
    evaluate(&subject, None).verdict
}

#[test]
fn a_rule_for_a_runner_counts_where_it_says_what_is_started() {
    let lint = &["npm", "run", "lint"];
    let unbound = || Verdict::Ask(AskReason::Unbound(Unbound::Carrier));
    let allowed = || Verdict::Allow(Evidence::Entries);
    assert_eq!(verdict(lint, json!({"exact": {"args": ["run", "lint"], "folder": CWD}})), allowed());
    assert_eq!(
        verdict(lint, json!({"exact": {"args": ["run", "test"], "folder": CWD}})),
        Verdict::Ask(AskReason::Miss)
    );
    assert_eq!(verdict(lint, json!("any")), allowed());
    let open = |words: &str| serde_json::to_value(ArgumentRule::beginning_with(words)).unwrap();
    assert_eq!(verdict(lint, open("run lint")), allowed());
    assert_eq!(verdict(lint, open("run")), allowed());
    assert_eq!(verdict(&["npm", "ci"], open("ci")), allowed());
    let other_shell = &["npm", "run", "lint", "--script-shell=/tmp/x"];
    assert!(matches!(verdict(other_shell, open("run lint")), Verdict::Ask(_)));
    // What is no task of the package is a program to it.
    assert_eq!(verdict(&["bun", "run", "lint"], open("run lint")), allowed());
    assert_eq!(verdict(&["bun", "run", "lint"], open("run")), unbound());
    assert_eq!(verdict(&["bun", "run", "lint"], json!("any")), unbound());
}
