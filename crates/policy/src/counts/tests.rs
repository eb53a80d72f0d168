#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;
use crate::rules::PRESETS;
use countersign_protocol::rules::{RuleDraft, RuleOrigin};

fn rule(program: &str, arguments: ArgumentRule) -> CommandRule {
    let draft = RuleDraft {
        agent: "*".to_owned(),
        effect: RuleEffect::Allow,
        program: program.to_owned(),
        arguments,
        folder: None,
        contents: Default::default(),
        limits: Default::default(),
        note: None,
    };
    draft.into_rule("1".to_owned(), 0, RuleOrigin::Typed)
}

fn entry(pattern: &str) -> Entry {
    Entry {
        agent: "*".to_owned(),
        id: "1".to_owned(),
        pattern: pattern.to_owned(),
        arg_pattern: None,
        generated: false,
    }
}

#[track_caller]
fn check_rule(program: &str, words: &str, expected: Option<UncountedCause>) {
    let idle = rule_never(&rule(program, ArgumentRule::beginning_with(words)));
    assert_eq!(idle.map(|idle| idle.cause), expected, "{program} {words}");
}

#[track_caller]
fn check_entry(pattern: &str, expected: Option<UncountedCause>) {
    assert_eq!(entry_never(&entry(pattern)).map(|idle| idle.cause), expected, "{pattern}");
}

#[test]
fn a_rule_for_what_starts_others_never_counts() {
    use UncountedCause::{Evaluates, Shell, StartsOthers};
    for program in ["sudo", "env", "nice", "xargs", "timeout", "npx", "pipx", "/usr/bin/env"] {
        check_rule(program, "", Some(StartsOthers));
    }
    for (program, words) in [("bash", ""), ("sh", "x.sh"), ("/bin/zsh", "")] {
        check_rule(program, words, Some(Shell));
    }
    for (program, words) in [("npm", "exec"), ("pnpm", "dlx"), ("bun", "x")] {
        check_rule(program, words, Some(UncountedCause::StartsOthers));
    }
    for program in ["eval", "source", "alias"] {
        check_rule(program, "", Some(Evaluates));
    }
}

#[test]
fn a_rule_for_a_program_counts() {
    for program in ["git", "ls", "cargo", "make", "python3", "find", "/opt/*/bin/t?", "*", "~/bin/tool", "cd"]
    {
        check_rule(program, "", None);
    }
    for (program, words) in [
        ("git", "log"),
        ("cargo", "build"),
        ("npm", ""),
        ("npm", "ci"),
        ("npm", "run"),
        ("pnpm", ""),
        ("pnpm", "build"),
        ("bun", ""),
        ("bun", "install"),
        ("npm", "run build"),
        ("bun", "run build"),
        ("terraform", "plan"),
    ] {
        check_rule(program, words, None);
    }
}

#[test]
fn a_rule_for_a_file_with_a_content_counts_and_so_does_what_is_too_long_to_look_at() {
    let exact = || ArgumentRule::Exact { args: vec!["go".to_owned()], folder: "/src".to_owned() };
    let plain = rule("/src/tool", exact());
    assert_eq!(rule_never(&plain), None);
    let mut pinned = rule("/src/tool", exact());
    pinned.contents.program = Some("b".repeat(64));
    assert_eq!(rule_never(&pinned), None);
    let mut ends = rule("/src/tool", exact());
    ends.limits.until_ms = Some(1);
    assert_eq!(rule_never(&ends), None);
    check_entry(&format!("/{}", "x".repeat(1_000_000)), None);
}

#[test]
fn a_rule_for_any_word_that_may_be_a_program_says_so() {
    check_rule("bun", "run", Some(UncountedCause::AnyTask));
    check_rule("bun", "run build", None);
}

#[test]
fn every_rule_of_the_groups_counts() {
    let idle: Vec<String> = PRESETS
        .iter()
        .flat_map(|preset| preset.rules(0))
        .filter_map(|rule| Some(format!("{}: {}", crate::rules::describe(&rule), rule_never(&rule)?)))
        .collect();
    assert_eq!(idle, Vec::<String>::new());
}

#[test]
fn an_entry_that_no_program_can_meet_never_counts() {
    for pattern in ["git *", "git status", "{rm,mv}"] {
        check_entry(pattern, Some(UncountedCause::Words));
    }
    for pattern in ["./tool", "bin/tool", "~ann/tool", "bin\\tool"] {
        check_entry(pattern, Some(UncountedCause::Relative));
    }
    for pattern in ["/usr//bin/ls", "/usr/bin/../bin/ls", "/usr/bin/", "/opt/./*"] {
        check_entry(pattern, Some(UncountedCause::Elsewhere));
    }
    for pattern in ["sudo", "/usr/bin/xargs"] {
        check_entry(pattern, Some(UncountedCause::StartsOthers));
    }
    check_entry("bash", Some(UncountedCause::Shell));
    for pattern in [
        "npm",
        "/usr/bin/pnpm",
        "bun",
        "git",
        "/usr/bin/git",
        "~/bin/*",
        "**/rg",
        "*",
        "/opt/my app/x",
        "python?",
    ] {
        check_entry(pattern, None);
    }
}

#[test]
fn what_older_releases_stored_without_its_arguments_never_counts() {
    let outdated = Entry { generated: true, ..entry("/usr/bin/ls") };
    assert_eq!(entry_never(&outdated).map(|idle| idle.cause), Some(UncountedCause::Outdated));
    let bound = Entry { arg_pattern: Some(allowlist::bound_arguments("/w", &[])), ..outdated };
    assert_eq!(entry_never(&bound), None);
    let nothing = Entry { arg_pattern: Some("x".to_owned()), ..entry("*") };
    assert_eq!(entry_never(&nothing).map(|idle| idle.cause), Some(UncountedCause::Words));
}

#[test]
fn this_machine_has_a_say_in_whether_it_counts_now() {
    let home = Path::new("/home/ann");
    let find = |name: &str| match name {
        "here" | "/usr/bin/here" => made_up("/usr/bin/here", home),
        "/bin/here" => ProgramFacts { path: Some("/bin/here".into()), ..made_up("/usr/bin/here", home) },
        "/home/ann/bin/cargo" => {
            ProgramFacts { path: Some(name.into()), ..made_up("/home/ann/bin/rustup", home) }
        }
        "box" => ProgramFacts { path: Some("/usr/bin/box".into()), ..made_up("/usr/bin/busybox", home) },
        "/home/ann/bin/own" | "own" => ProgramFacts { writable: true, ..made_up("/home/ann/bin/own", home) },
        _ => ProgramFacts::default(),
    };
    let machine = Machine { find: &find, home };
    let check = |program: &str, of_rule: Option<UncountedCause>, of_entry: Option<UncountedCause>| {
        let idle = rule_now(&rule(program, ArgumentRule::Any), machine).map(|idle| idle.cause);
        assert_eq!(idle, of_rule, "{program}");
        assert_eq!(entry_now(&entry(program), machine).map(|idle| idle.cause), of_entry, "{program}");
    };
    check("here", None, None);
    check("/usr/bin/here", None, None);
    check("/bin/here", Some(UncountedCause::Elsewhere), Some(UncountedCause::Elsewhere));
    check("gone", Some(UncountedCause::Missing), Some(UncountedCause::Missing));
    check("box", Some(UncountedCause::StartsOthers), Some(UncountedCause::StartsOthers));
    check("own", Some(UncountedCause::Replaceable), None);
    // A link to a file that is many programs: rules say which one, entries do not.
    check("/home/ann/bin/cargo", None, Some(UncountedCause::Unpinned));
    check("~/bin/own", None, None);
    check("go*", None, None);
}
