//! What an open folder changes about a verdict, and that it changes nothing else.

use crate::support::inputs::{answer, security, world};
use crate::support::{CWD, World, workspace};
use countersign_commands::analysis::analyze_argv;
use countersign_commands::shell::OpaqueReason;
use countersign_policy::approved::{ApprovedCommand, ContainedCommand, NotRunnable, Plan};
use countersign_policy::effective::Requested;
use countersign_policy::evaluate::{
    AskReason, DenyReason, Evaluation, Evidence, LocalRules, Subject, Verdict, Walls, evaluate,
};
use countersign_policy::rules::{Folders, Moment, RuleIndex};
use countersign_policy::workspaces::around;
use countersign_protocol::rules::{Attendance, CommandRule, Workspace};
use countersign_protocol::trace::{HeldCause, TraceStep};
use countersign_protocol::vocabulary::{Ask, Security};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

const OPAQUE: &[&str] = &["sh", "-c", "for x in *; do scan $x > out; done"];

fn word(world: &World) -> String {
    match world.verdict() {
        Verdict::Allow(Evidence::Entries) => "entries".to_owned(),
        Verdict::Allow(Evidence::Policy) => "policy".to_owned(),
        Verdict::Contain(contained) => format!("contain {}", contained.folder),
        Verdict::Ask(reason) => format!("ask {}", reason.as_str()),
        Verdict::Deny(reason) => format!("deny {}", reason.as_str()),
        other => format!("{other:?}"),
    }
}

#[test]
fn what_no_rule_covers_is_contained_in_an_open_folder() {
    let check = |argv: &[&str], security, ask, attendance, expected: &str| {
        let world = World::new(argv, security, ask).with_rules(&["/usr/bin/scan"]).open(attendance);
        assert_eq!(word(&world), expected, "{argv:?} {security:?} {ask:?} {attendance:?}");
    };
    let (attended, unattended) = (Attendance::Attended, Attendance::Unattended);
    let contain = "contain /srv/app";
    for argv in [&["mend"][..], OPAQUE] {
        check(argv, Security::Allowlist, Ask::OnMiss, attended, contain);
        check(argv, Security::Allowlist, Ask::OnMiss, unattended, contain);
        check(argv, Security::Allowlist, Ask::Always, unattended, "ask ask=always");
        check(argv, Security::Allowlist, Ask::Off, unattended, contain);
        check(argv, Security::Allowlist, Ask::Off, attended, "deny allowlist-miss");
        check(argv, Security::Deny, Ask::OnMiss, unattended, "deny security=deny");
        check(argv, Security::Full, Ask::OnMiss, unattended, "policy");
    }
    check(&["scan"], Security::Allowlist, Ask::OnMiss, unattended, "entries");
    let mut unusual = World::new(OPAQUE, Security::Allowlist, Ask::OnMiss).open(unattended);
    unusual.unusual_env = vec!["LD_ODD".to_owned()];
    assert!(matches!(unusual.verdict(), Verdict::Ask(_)), "{:?}", unusual.verdict());
}

#[test]
fn t22_a_request_for_questions_opens_no_folder() {
    let check = |security, attendance, requested: Requested, expected: &str| {
        let mut world = World::new(OPAQUE, security, Ask::Off).open(attendance);
        world.policy = world.policy.hardened(requested);
        assert_eq!(word(&world), expected, "{security:?} {attendance:?} {requested:?}");
    };
    let asks = Requested { security: None, ask: Some(Ask::OnMiss) };
    let asks_about_all_but_entries = Requested { security: Some(Security::Allowlist), ..asks };
    // Without the request it would not run at all.
    let uncoverable = format!("ask {}", OpaqueReason::For.as_str());
    check(Security::Allowlist, Attendance::Attended, asks, &uncoverable);
    check(Security::Allowlist, Attendance::Unattended, asks, "contain /srv/app");
    // Without it it would run outside.
    check(Security::Full, Attendance::Attended, asks_about_all_but_entries, "contain /srv/app");
}

#[test]
fn the_trace_says_where_it_is_contained_or_why_not() {
    let step = |world: &World| {
        let steps = world.trace();
        steps.into_iter().find(|step| matches!(step, TraceStep::Open { .. } | TraceStep::Held { .. }))
    };
    let world = |ask| World::new(&["mend"], Security::Allowlist, ask);
    let open = world(Ask::OnMiss).open(Attendance::Attended);
    let told = TraceStep::Open { folder: CWD.to_owned(), agent: "*".to_owned() };
    assert_eq!(step(&open), Some(told));
    let held =
        |cause, detail: Option<&str>| Some(TraceStep::Held { cause, detail: detail.map(str::to_owned) });
    assert_eq!(step(&world(Ask::Always).open(Attendance::Attended)), held(HeldCause::AskAlways, None));
    assert_eq!(step(&world(Ask::Off).open(Attendance::Attended)), held(HeldCause::Unattended, None));
    let mut unusual = world(Ask::OnMiss).open(Attendance::Attended);
    unusual.unusual_env = vec!["LD_\nODD".to_owned()];
    assert_eq!(step(&unusual), held(HeldCause::Environment, Some("LD_\\u{A}ODD")));
    assert_eq!(step(&world(Ask::OnMiss)), None);
}

#[test]
fn what_reaches_beyond_the_folder_is_asked_about_all_the_same() {
    for (text, cause) in [
        ("make && git push", HeldCause::Sends),
        ("for x in 1; do git reset --hard; done", HeldCause::Discards),
        ("sudo make install", HeldCause::Rights),
        ("cat .env", HeldCause::Secrets),
        ("ssh host uptime", HeldCause::Remote),
        ("npm install -g tool", HeldCause::Machine),
    ] {
        let argv = ["sh", "-c", text];
        let evaluation =
            World::new(&argv, Security::Allowlist, Ask::OnMiss).open(Attendance::Attended).judge(None);
        assert!(matches!(evaluation.verdict, Verdict::Ask(_)), "{text}: {:?}", evaluation.verdict);
        let advised = World::new(&argv, Security::Allowlist, Ask::OnMiss).open(Attendance::Attended).trace();
        let advises = advised.iter().any(|step| matches!(step, TraceStep::Advice { .. }));
        assert!(!advises, "{text}: it is for a person, however it is written: {advised:?}");
        assert_eq!(evaluation.held.map(|held| held.cause), Some(cause), "{text}");
    }
}

#[test]
fn a_box_that_cannot_be_made_leaves_the_question_and_its_reason() {
    let world = World::new(&["mend"], Security::Allowlist, Ask::OnMiss);
    let (analysis, entries) = (world.analysis(), world.entries());
    let subject = Subject {
        argv: &world.argv,
        analysis: &analysis,
        facts: &world.facts,
        policy: &world.policy,
        entries: &entries,
        local: LocalRules::None,
        walls: Walls::Missing("there is no bubblewrap"),
        trust: &world.trust,
        unusual_env: &[],
        origin: world.origin,
    };
    let evaluation = evaluate(&subject, None);
    assert_eq!(evaluation.verdict, Verdict::Ask(AskReason::Miss));
    let held = TraceStep::Held { cause: HeldCause::NoBox, detail: Some("there is no bubblewrap".to_owned()) };
    assert!(evaluation.trace(&subject).contains(&held));
}

#[test]
fn t22_what_is_contained_runs_nowhere_else() {
    let plan = |argv: &[String]| Plan { argv: argv.to_vec(), env: BTreeMap::new(), timeout: None };
    let world = World::new(OPAQUE, Security::Allowlist, Ask::OnMiss).open(Attendance::Attended);
    let outside = ApprovedCommand::new(world.judge(None), &world.facts, plan(&world.argv));
    assert_eq!(outside.err(), Some(NotRunnable::NotAllowed));
    let inside = ContainedCommand::new(world.judge(None), &world.facts, plan(&world.argv)).unwrap();
    assert_eq!(inside.contained().folder, CWD);
    assert_eq!(inside.command().argv(), world.argv);
    assert_eq!(inside.command().evidence(), &Evidence::Contained);
    let programs: Vec<&Path> =
        inside.command().pins().programs.iter().map(|(path, _)| path.as_path()).collect();
    assert_eq!(programs, [Path::new("/usr/bin/sh")]);
    let other = ContainedCommand::new(world.judge(None), &world.facts, plan(&["mend".to_owned()]));
    assert_eq!(other.err(), Some(NotRunnable::NotTheJudgedCommand));
    let closed = World { open: None, ..world };
    let asked = ContainedCommand::new(closed.judge(None), &closed.facts, plan(&closed.argv));
    assert_eq!(asked.err(), Some(NotRunnable::NotAllowed));
}

/// What the evaluator says with rules of our own that refuse `refused`, and these folders open.
fn judge(world: &World, workspaces: &[Workspace], cwd: &str, refused: Option<&str>) -> Evaluation {
    let rules = refused.map(|program| {
        let rule = json!({
            "id": "no", "agent": "*", "effect": "deny", "program": program, "arguments": "any", "createdAtMs": 0,
            "from": "typed",
        });
        serde_json::from_value::<CommandRule>(rule).unwrap()
    });
    let (index, folders, uses) =
        (RuleIndex::new(rules.into_iter().collect()), Folders::new(), HashMap::new());
    let moment = Moment { agent: "main", session: None, now_ms: 0, uses: &uses };
    let mut facts = world.facts.clone();
    if let Some(folder) = &mut facts.cwd {
        folder.given = PathBuf::from(cwd);
        folder.real_path = PathBuf::from(cwd);
    }
    let analysis = analyze_argv(&world.argv);
    let open = around(workspaces, Path::new(cwd), Attendance::Attended, moment);
    let subject = Subject {
        argv: &world.argv,
        analysis: &analysis,
        facts: &facts,
        policy: &world.policy,
        entries: &world.entries(),
        local: LocalRules::Known { rules: &index, folders: &folders, moment, unclear: None },
        walls: open.as_ref().map_or(Walls::None, Walls::Around),
        trust: &world.trust,
        unusual_env: &world.unusual_env,
        origin: world.origin,
    };
    evaluate(&subject, None)
}

/// Programs that a refusal may be about: those of the worlds, and others.
fn refused() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["scan", "sh", "wipe", "python3", "**/scan", "*"][..])
}

/// Folders inside and outside of the ones that are opened.
fn folder() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["/srv/app", "/srv/app/deep", "/srv/application", "/srv", "/", "/other"][..])
}

proptest! {
    #[test]
    fn t22_nothing_is_contained_where_a_refusal_or_deny_applies(world in world(), program in refused(), security in security()) {
        let mut world = world;
        world.policy.security.value = security;
        let without = judge(&world, &[], CWD, Some(program)).verdict;
        let with = judge(&world, &[workspace(CWD, Attendance::Unattended)], CWD, Some(program)).verdict;
        let applies = matches!(
            without,
            Verdict::Deny(DenyReason::Rule | DenyReason::RuleDoubt | DenyReason::SecurityDeny | DenyReason::UserDenied)
                | Verdict::Ask(AskReason::MayBeRefused | AskReason::RulesUnreadable | AskReason::Always)
        );
        if applies {
            prop_assert_eq!(&with, &without);
        }
        if security == Security::Deny {
            prop_assert_eq!(with, Verdict::Deny(DenyReason::SecurityDeny));
        }
    }

    #[test]
    fn opening_a_folder_changes_no_verdict_outside_of_it(world in world(), cwd in folder(), program in prop::option::of(refused())) {
        let opened = [workspace("/srv/app", Attendance::Unattended)];
        let (before, after) = (judge(&world, &[], cwd, program), judge(&world, &opened, cwd, program));
        if !Path::new(cwd).starts_with("/srv/app") {
            prop_assert_eq!(before, after);
        } else if before != after {
            let contained = matches!(after.verdict, Verdict::Contain(_)) || after.held.is_some();
            prop_assert!(contained, "{:?} then {:?}", before, after);
            let was_open = matches!(
                before.verdict,
                Verdict::Ask(_) | Verdict::Deny(DenyReason::AllowlistMiss | DenyReason::AllowlistUnbound)
            );
            prop_assert!(was_open, "{:?} then {:?}", before, after);
        }
    }

    #[test]
    fn closing_a_folder_restores_every_verdict(world in world(), cwd in folder(), program in prop::option::of(refused())) {
        let mut rules = vec![workspace("/srv", Attendance::Attended)];
        let before = judge(&world, &rules, cwd, program);
        rules.push(workspace("/srv/app", Attendance::Unattended));
        let _ = judge(&world, &rules, cwd, program);
        rules.retain(|rule| rule.folder != "/srv/app");
        prop_assert_eq!(judge(&world, &rules, cwd, program), before);
    }

    #[test]
    fn who_answered_is_never_answered_by_a_box(world in world(), given in answer()) {
        let evaluation = world.judge(given.as_ref());
        prop_assert!(given.is_none() || !matches!(evaluation.verdict, Verdict::Contain(_)));
    }
}
