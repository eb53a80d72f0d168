mod commands;
mod crossings;

use super::*;
use countersign_protocol::question::AlwaysUnavailable;
use countersign_protocol::remember::{Longest, Rung};
use countersign_protocol::rules::{RuleLimits, RuleOrigin};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::collections::HashMap;

const HOME: &str = "/home/u";
const WORK: &str = "/home/u/src/web";

fn file(path: &str, plain_below: Option<&str>) -> TouchedFile {
    TouchedFile {
        paths: vec![path.to_owned()],
        plain_below: plain_below.map(str::to_owned),
        has_other_names: false,
    }
}

fn changes(files: Vec<TouchedFile>) -> CallFacts {
    CallFacts {
        tool: "Write".to_owned(),
        files,
        folder: Some(WORK.to_owned()),
        home: Some(HOME.to_owned()),
        ..CallFacts::default()
    }
}

fn fetch(hosts: &[&str]) -> CallFacts {
    CallFacts {
        tool: "WebFetch".to_owned(),
        hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
        nature: CallNature::Fetches,
        ..CallFacts::default()
    }
}

fn tool(name: &str, nature: CallNature) -> CallFacts {
    CallFacts { tool: name.to_owned(), nature, ..CallFacts::default() }
}

fn files(below: &str, names: Option<&str>) -> CallSubject {
    CallSubject::Files { below: below.to_owned(), names: names.map(str::to_owned) }
}

fn host(host: &str) -> CallSubject {
    CallSubject::Host { host: host.to_owned() }
}

fn named(name: &str) -> CallSubject {
    CallSubject::Tool { name: name.to_owned() }
}

fn rule(effect: RuleEffect, about: CallSubject) -> CallRule {
    CallRule {
        id: format!("{effect:?} {about:?}"),
        agent: "coder".to_owned(),
        effect,
        about,
        limits: RuleLimits::default(),
        note: None,
        created_at_ms: 0,
        from: RuleOrigin::Typed,
    }
}

fn says(rules: &[CallRule], call: &CallFacts) -> Option<CallRuling> {
    let uses = HashMap::new();
    ruling(rules, call, Moment { agent: "coder", session: Some("s"), now_ms: 10, uses: &uses })
}

/// What one allowing rule says.
fn check(about: CallSubject, call: &CallFacts, allows: bool) {
    let expected = allows.then(|| CallRuling::Allow(vec![0]));
    assert_eq!(says(&[rule(RuleEffect::Allow, about.clone())], call), expected, "{about:?} {call:?}");
}

#[test]
fn changes_in_a_folder_are_allowed_by_a_rule_about_it() {
    let inside = changes(vec![file("/home/u/src/web/a/b.ts", Some("/"))]);
    check(files(WORK, None), &inside, true);
    check(files("/home/u/src/web/a", Some("*.ts")), &inside, true);
    check(files(WORK, Some("b.*")), &inside, true);
    check(files(WORK, Some("*.js")), &inside, false);
    check(files("/home/u/src/we", None), &inside, false);
    check(files("/home/u/src/web/a/b.ts", None), &inside, false);
    check(named("Write"), &inside, false);
    check(host("example.org"), &inside, false);
}

#[test]
fn t12_what_runs_by_itself_is_a_secret_or_leaves_the_folder_is_never_allowed_by_a_rule() {
    for (path, plain) in [
        ("/home/u/src/web/.git/hooks/x", None),
        // Below `hooks` nothing of its name is special; the rule says more than that.
        ("/home/u/src/web/.git/hooks/x", Some("/home/u/src/web/.git/hooks")),
        ("/home/u/src/web/.ssh/id_ed25519", Some("/")),
        ("/home/u/src/other/a.ts", Some("/")),
        ("/home/u/src/webby/a.ts", Some("/")),
    ] {
        check(files(WORK, None), &changes(vec![file(path, plain)]), false);
    }
    let mut moved = file("/home/u/src/web/a.ts", Some("/"));
    moved.paths.push("/home/u/src/elsewhere.ts".to_owned());
    check(files(WORK, None), &changes(vec![moved]), false);
    check(
        files(WORK, None),
        &changes(vec![TouchedFile { plain_below: Some("/".into()), ..TouchedFile::default() }]),
        false,
    );
    check(files(WORK, None), &changes(Vec::new()), false);
}

#[test]
fn every_file_of_a_call_needs_a_rule() {
    let both =
        changes(vec![file("/home/u/src/web/a.ts", Some("/")), file("/home/u/src/web/b.md", Some("/"))]);
    let rules = [
        rule(RuleEffect::Allow, files(WORK, Some("*.ts"))),
        rule(RuleEffect::Allow, files(WORK, Some("*.md"))),
    ];
    assert_eq!(says(&rules[..1], &both), None);
    assert_eq!(says(&rules, &both), Some(CallRuling::Allow(vec![0, 1])));
}

#[test]
fn a_refusal_wins_whatever_its_place() {
    let call =
        changes(vec![file("/home/u/src/web/a.ts", Some("/")), file("/home/u/src/web/b.md", Some("/"))]);
    let rules =
        [rule(RuleEffect::Allow, files(WORK, None)), rule(RuleEffect::Deny, files(WORK, Some("*.md")))];
    assert_eq!(says(&rules, &call), Some(CallRuling::Deny(1)));
    let refuses = |about, call: &CallFacts| says(&[rule(RuleEffect::Deny, about)], call).is_some();
    // Also the folder itself, and what no rule could allow.
    assert!(refuses(
        files("/home/u/src/web/.git", None),
        &changes(vec![file("/home/u/src/web/.git/config", None)])
    ));
    assert!(refuses(host("*.example.org"), &fetch(&["docs.rs", "a.example.org"])));
    assert!(refuses(named("mcp__db__*"), &tool("mcp__db__drop", CallNature::Acts)));
    assert!(!refuses(named("mcp__db__*"), &tool("mcp__web__get", CallNature::Unknown)));
}

#[test]
fn hosts_are_compared_whole() {
    check(host("docs.rs"), &fetch(&["docs.rs"]), true);
    check(host("*.docs.rs"), &fetch(&["a.docs.rs"]), true);
    for other in ["evildocs.rs", "docs.rs.evil.example", "a.docs.rs", ".docs.rs"] {
        check(host("docs.rs"), &fetch(&[other]), false);
    }
    for other in ["docs.rs", "evildocs.rs", ".docs.rs"] {
        check(host("*.docs.rs"), &fetch(&[other]), false);
    }
    check(host("docs.rs"), &fetch(&["docs.rs", "example.org"]), false);
    check(host("docs.rs"), &fetch(&[]), false);
    check(named("WebFetch"), &fetch(&["docs.rs"]), false);
}

#[test]
fn a_tool_that_may_act_is_not_allowed_by_its_name() {
    for (nature, allows) in [
        (CallNature::Acts, false),
        (CallNature::Fetches, false),
        (CallNature::Unknown, true),
        (CallNature::SaysItReads, true),
        (CallNature::Reads, true),
    ] {
        check(named("look"), &tool("look", nature), allows);
        // Wildcards are for refusals.
        check(named("lo*"), &tool("look", nature), false);
    }
}

#[test]
fn rules_end_as_others_do() {
    let call = fetch(&["docs.rs"]);
    let with = |limits: RuleLimits, agent: &str| {
        says(
            &[CallRule { limits, agent: agent.to_owned(), ..rule(RuleEffect::Allow, host("docs.rs")) }],
            &call,
        )
        .is_some()
    };
    let none = RuleLimits::default;
    assert!(with(none(), "*") && with(none(), "coder") && !with(none(), "other"));
    assert!(with(RuleLimits { until_ms: Some(11), ..none() }, "*"));
    assert!(!with(RuleLimits { until_ms: Some(10), ..none() }, "*"));
    assert!(with(RuleLimits { session: Some("s".into()), ..none() }, "*"));
    assert!(!with(RuleLimits { session: Some("t".into()), ..none() }, "*"));
}

fn rungs(call: &CallFacts) -> Vec<(Rung, Vec<CallSubject>)> {
    choices(call).unwrap().into_iter().map(|choice| (choice.rung, choice.about)).collect()
}

#[test]
fn files_in_the_folder_are_offered_from_narrow_to_wide() {
    let call = changes(vec![file("/home/u/src/web/a/b.ts", Some("/"))]);
    assert_eq!(
        rungs(&call),
        [
            (Rung::File, vec![files("/home/u/src/web/a", Some("b.ts"))]),
            (Rung::Kind, vec![files(WORK, Some("*.ts"))]),
            (Rung::Folder, vec![files(WORK, None)]),
        ]
    );
}

#[test]
fn outside_of_a_folder_to_work_in_only_the_file_is_offered() {
    let at = |path: &str, folder: &str| {
        let mut call = changes(vec![file(path, Some("/"))]);
        call.folder = Some(folder.to_owned());
        rungs(&call).into_iter().map(|(rung, _)| rung).collect::<Vec<_>>()
    };
    assert_eq!(at("/home/u/src/other/a.ts", WORK), [Rung::File]);
    for wide in ["/", "/home", "/home/u", "/tmp"] {
        assert_eq!(at("/home/u/src/web/a.ts", wide), [Rung::File], "{wide}");
    }
}

#[test]
fn what_no_rule_would_allow_is_not_offered() {
    let nothing = |call: &CallFacts| choices(call).unwrap_err();
    let two = changes(vec![file("/home/u/src/web/a.ts", Some("/")), file("/home/u/src/web/Makefile", None)]);
    assert_eq!(nothing(&two), AlwaysUnavailable::RunsByItself);
    assert_eq!(nothing(&changes(vec![file("/home/u/src/web/.env", Some("/"))])), AlwaysUnavailable::NoEffect);
    for host in ["localhost", "127.0.0.1", "printer.local", "[::1]", "db.internal", "intranet"] {
        assert_eq!(nothing(&fetch(&[host])), AlwaysUnavailable::NoEffect, "{host}");
    }
    assert_eq!(nothing(&fetch(&["docs.rs", "crates.io"])), AlwaysUnavailable::NoEffect);
    assert_eq!(nothing(&tool("Spawn", CallNature::Unknown)), AlwaysUnavailable::NoEffect);
    assert_eq!(rungs(&fetch(&["docs.rs"])), [(Rung::Host, vec![host("docs.rs")])]);
    let longest = |nature| choices(&tool("look", nature)).unwrap()[0].longest;
    assert_eq!(
        (longest(CallNature::Reads), longest(CallNature::SaysItReads)),
        (Longest::Always, Longest::Session)
    );
}

#[test]
fn what_cannot_be_stored_is_told() {
    for (about, problem) in [
        (files("src", None), CallProblem::Folder),
        (files("/a/../b", None), CallProblem::Folder),
        (files("/a/.", None), CallProblem::Folder),
        (files("/a", Some("")), CallProblem::Names),
        (files("/a", Some("b/*")), CallProblem::Names),
        (host(""), CallProblem::Host),
        (host("*."), CallProblem::Host),
        (host("Docs.rs"), CallProblem::Host),
        (host("https://docs.rs"), CallProblem::Host),
        (host("*"), CallProblem::Host),
        (named(" "), CallProblem::Tool),
    ] {
        assert_eq!(super::check(&about), Err(problem), "{about:?}");
    }
    for sound in [files("/a", Some("*.rs")), host("*.docs.rs"), host("127.0.0.1"), host("[::1]"), named("x")]
    {
        assert_eq!(super::check(&sound), Ok(()), "{sound:?}");
    }
}

#[test]
fn rules_are_described_in_a_line() {
    let mut one = rule(RuleEffect::Allow, files("/src", Some("*.rs")));
    one.limits.session = Some("s".to_owned());
    assert_eq!(describe(&one), "allow changes of *.rs below /src, in session s");
    assert_eq!(describe(&rule(RuleEffect::Deny, host("x.org"))), "refuse fetching from x.org");
    assert_eq!(describe(&rule(RuleEffect::Allow, named("Read"))), "allow calls of the tool Read");
}

proptest! {
    /// Whatever is offered lets the very call through, and nothing outside of what it names.
    #[test]
    fn an_offer_keeps_what_it_promises(
        names in proptest::collection::vec("(\\.?[a-z*?]{1,3}/){0,3}[a-z*?]{1,4}(\\.[a-z]{1,3})?", 1..9),
        plain in proptest::collection::vec(any::<bool>(), 9),
    ) {
        let touched = |(name, plain): (&String, &bool)| file(&format!("{WORK}/{name}"), plain.then_some("/"));
        let call = changes(names.iter().zip(&plain).map(touched).collect());
        for choice in choices(&call).unwrap_or_default() {
            let rules: Vec<CallRule> =
                choice.about.iter().map(|about| rule(RuleEffect::Allow, about.clone())).collect();
            prop_assert!(matches!(says(&rules, &call), Some(CallRuling::Allow(_))), "{choice:?}");
            let outside = changes(vec![file("/home/u/src/else.ts", Some("/"))]);
            prop_assert_eq!(says(&rules, &outside), None);
        }
    }
}
