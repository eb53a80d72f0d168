//! Rows M404–M429, N430–N443 and P476–P505: what the app decides, what it can pin, and when
//! it must ask.

use crate::support;
use crate::support::{World, person, strings};
use countersign_commands::analysis::{OpaqueReason, analyze_argv};
use countersign_policy::always::proposals;
use countersign_policy::approved::{ApprovedCommand, NotRunnable, Plan};
use countersign_policy::bind::{Bound, Unbound, bind};
use countersign_policy::evaluate::{
    Answer, AskReason, Covered, DenyReason, Evidence, Origin, Verdict, needs_prompt,
};
use countersign_protocol::question::AlwaysUnavailable;
use countersign_protocol::trace::{Advice, EntryFit, MissCause, TestVerdict, TraceStep, VerdictCause};
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use std::collections::BTreeMap;

const DEMO: &[&str] = &["scan", "-q"];

fn world(security: Security, ask: Ask) -> World {
    World::new(DEMO, security, ask)
}

fn check(world: &World, expected: Verdict) {
    let evaluation = world.judge(None);
    assert_eq!(evaluation.verdict, expected, "{world:?}\n{:?}", world.trace());
}

#[test]
fn m404_security_deny_outranks_a_forwarded_grant() {
    let world = world(Security::Deny, Ask::Always).from(Origin::Forwarded(Decision::AllowOnce));
    check(&world, Verdict::Deny(DenyReason::SecurityDeny));
}

#[test]
fn m405_a_forwarded_deny_is_the_persons() {
    let world = world(Security::Full, Ask::Off).from(Origin::Forwarded(Decision::Deny));
    check(&world, Verdict::Deny(DenyReason::UserDenied));
}

#[test]
fn m406_m407_full_without_always_runs_by_policy() {
    check(&world(Security::Full, Ask::Off), Verdict::Allow(Evidence::Policy));
    check(&world(Security::Full, Ask::OnMiss), Verdict::Allow(Evidence::Policy));
}

#[test]
fn m408_full_with_always_asks() {
    check(&world(Security::Full, Ask::Always), Verdict::Ask(AskReason::Always));
}

#[test]
fn m409_m410_a_miss_is_denied_or_asked_about() {
    check(&world(Security::Allowlist, Ask::Off), Verdict::Deny(DenyReason::AllowlistMiss));
    check(&world(Security::Allowlist, Ask::OnMiss), Verdict::Ask(AskReason::Miss));
}

#[test]
fn m411_a_match_runs_by_its_real_path() {
    let world = world(Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/scan"]);
    check(&world, Verdict::Allow(Evidence::Entries));
    let evaluation = world.judge(None);
    assert_eq!(evaluation.bound, Some(support::one_program("/usr/bin/scan", &["scan", "-q"])));
    assert_eq!(evaluation.matched, [0]);
}

#[test]
fn m412_a_match_that_cannot_be_pinned_is_a_miss() {
    let argv = ["bash", "-lc", "scan -q"];
    let login = World::new(&argv, Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/*"]);
    check(&login, Verdict::Ask(AskReason::Miss));
    let mut unresolved = world(Security::Allowlist, Ask::OnMiss).with_rules(&["*"]);
    unresolved.facts.programs.clear();
    check(&unresolved, Verdict::Ask(AskReason::Unbound(Unbound::Unresolved)));
    unresolved.policy.ask.value = Ask::Off;
    check(&unresolved, Verdict::Deny(DenyReason::AllowlistUnbound));
}

#[test]
fn n432_the_form_that_gateways_send_runs_without_a_login_shell() {
    for shell in ["sh", "/bin/sh"] {
        let argv = [shell, "-lc", "scan -q"];
        let world = World::new(&argv, Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/scan"]);
        check(&world, Verdict::Allow(Evidence::Entries));
        assert_eq!(world.judge(None).bound, Some(support::one_program("/usr/bin/scan", &["scan", "-q"])));
        let missed = World::new(&argv, Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/other"]);
        check(&missed, Verdict::Ask(AskReason::Miss));
        // With one more word the text is not all that decides.
        let more = [shell, "-lc", "scan -q", "x"];
        let more = World::new(&more, Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/scan"]);
        assert!(matches!(more.judge(None).verdict, Verdict::Ask(_)));
    }
}

#[test]
fn m414_a_match_is_asked_about_when_everything_is() {
    let world = world(Security::Allowlist, Ask::Always).with_rules(&["/usr/bin/scan"]);
    check(&world, Verdict::Ask(AskReason::Always));
}

#[test]
fn m415_m416_a_forwarded_grant_lets_a_miss_run() {
    for decision in [Decision::AllowOnce, Decision::AllowAlways] {
        let world = world(Security::Allowlist, Ask::OnMiss).from(Origin::Forwarded(decision));
        check(&world, Verdict::Allow(Evidence::Forwarded(decision)));
    }
}

#[test]
fn m417_always_stores_nothing_when_security_is_full() {
    let full = world(Security::Full, Ask::Off);
    let refused = proposals(&full.analysis(), &full.facts, &full.policy);
    assert_eq!(refused, Err(AlwaysUnavailable::SecurityNotAllowlist));
}

#[test]
fn m418_m419_m420_the_fallback_decides_where_nobody_could_be_asked() {
    let at = |fallback| world(Security::Full, Ask::Always).with_fallback(fallback);
    for (world, answer) in
        [(at(Security::Full).from(Origin::AskFallback), None), (at(Security::Full), Some(Answer::Nobody))]
    {
        assert_eq!(world.judge(answer.as_ref()).verdict, Verdict::Allow(Evidence::Fallback));
    }
    check(&at(Security::Allowlist).from(Origin::AskFallback), Verdict::Deny(DenyReason::AllowlistMiss));
    check(&at(Security::Deny).from(Origin::AskFallback), Verdict::Deny(DenyReason::SecurityDeny));
    let covered = at(Security::Allowlist).from(Origin::AskFallback).with_rules(&["/usr/bin/scan"]);
    check(&covered, Verdict::Allow(Evidence::FallbackEntries));
}

#[test]
fn m421_m422_a_reviewer_counts_unless_a_person_must_answer() {
    check(
        &world(Security::Allowlist, Ask::OnMiss).from(Origin::AutoReview),
        Verdict::Allow(Evidence::AutoReview),
    );
    check(&world(Security::Full, Ask::Always).from(Origin::AutoReview), Verdict::Deny(DenyReason::AskAlways));
}

#[test]
fn m429_a_missing_folder_gives_nothing_to_run() {
    let mut world = world(Security::Full, Ask::Off);
    world.facts.cwd = None;
    assert_eq!(approve(&world, None).unwrap_err(), NotRunnable::CwdUnavailable);
}

#[test]
fn a_person_outranks_a_miss_but_not_a_denying_policy() {
    let allow = person(Decision::AllowOnce);
    let evidence = Evidence::Person { request_id: "r-1".into(), decision: Decision::AllowOnce };
    let miss = world(Security::Allowlist, Ask::OnMiss);
    assert_eq!(miss.judge(Some(&allow)).verdict, Verdict::Allow(evidence));
    let denied = miss.judge(Some(&person(Decision::Deny)));
    assert_eq!(denied.verdict, Verdict::Deny(DenyReason::UserDenied));
    let policy = world(Security::Deny, Ask::OnMiss);
    assert_eq!(policy.judge(Some(&allow)).verdict, Verdict::Deny(DenyReason::SecurityDeny));
}

fn approve(world: &World, answer: Option<&Answer>) -> Result<ApprovedCommand, NotRunnable> {
    let plan = Plan { argv: world.argv.clone(), env: BTreeMap::new(), timeout: None };
    ApprovedCommand::new(world.judge(answer), &world.facts, plan)
}

#[test]
fn what_runs_is_the_bound_list_under_a_rule_and_the_requested_one_under_a_grant() {
    let argv = ["sh", "-c", "scan -q"];
    let world = World::new(&argv, Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/scan"]);
    let ruled = approve(&world, None).unwrap();
    assert_eq!(ruled.argv(), ["scan", "-q"]);
    assert_eq!(ruled.program(), std::path::Path::new("/usr/bin/scan"));
    let granted = approve(&world, Some(&person(Decision::AllowOnce))).unwrap();
    assert_eq!(granted.argv(), argv);
    assert_eq!(granted.program(), std::path::Path::new("/usr/bin/sh"));
    assert_eq!(granted.pins().programs[0].1, support::identity("/usr/bin/sh"));
}

#[test]
fn nothing_runs_without_an_allowing_verdict_or_a_program() {
    let miss = world(Security::Allowlist, Ask::OnMiss);
    assert_eq!(approve(&miss, None).unwrap_err(), NotRunnable::NotAllowed);
    let mut lost = world(Security::Full, Ask::Off);
    lost.facts.programs.clear();
    assert_eq!(approve(&lost, None).unwrap_err(), NotRunnable::ProgramNotFound("scan".into()));
}

/// `argv` binds to `expected`, or is refused, or was opaque before.
fn check_bind(argv: &[&str], expected: Result<&[&str], Unbound>) {
    let world = World::new(argv, Security::Allowlist, Ask::OnMiss);
    let bound = bind(&world.analysis(), &world.facts);
    let started = bound.map(|bound| match bound {
        Bound::Argv { path, argv } => [&[path][..], &argv[1..]].concat(),
        Bound::Shell { text, .. } => vec![text],
    });
    assert_eq!(started, expected.map(strings), "{argv:?}");
}

#[test]
fn n430_n431_n436_n442_static_commands_bind_to_the_real_path() {
    check_bind(&["/usr/bin/id", "-u"], Ok(&["/usr/bin/id", "-u"]));
    check_bind(&["sh", "-c", "id -u"], Ok(&["/usr/bin/id", "-u"]));
    check_bind(&["sh", "-c", "id \"a\\\\b\""], Ok(&["/usr/bin/id", "a\\b"]));
    check_bind(&["sh", "-c", "scan '$(date)'"], Ok(&["/usr/bin/scan", "$(date)"]));
}

#[test]
fn what_a_shell_must_join_binds_to_a_text_of_real_paths_and_quoted_words() {
    let check = |text: &str, expected: Result<&str, Unbound>| {
        let world = World::new(&["sh", "-c", text], Security::Allowlist, Ask::OnMiss);
        let bound = bind(&world.analysis(), &world.facts);
        let ours = match &bound {
            Ok(Bound::Shell { shell, text, .. }) if shell == "/usr/bin/sh" => Ok(text.as_str()),
            Ok(other) => panic!("{text}: {other:?}"),
            Err(unbound) => Err(*unbound),
        };
        assert_eq!(ours, expected, "{text}");
    };
    check("id && whoami", Ok("'/usr/bin/id' && '/usr/bin/whoami'"));
    check("id -u|wc -l ; true", Ok("'/usr/bin/id' '-u'|'/usr/bin/wc' '-l' ; 'true'"));
    check(
        "cd /tmp && nice -n 3 scan 'a b'\n! id # why",
        Ok("'cd' '/tmp' &&    '/usr/bin/scan' 'a b'\n! '/usr/bin/id' "),
    );
    check("id 2>&1 >/dev/null", Ok("'/usr/bin/id' 2>&1 >/dev/null"));
    check("scan x &>/dev/null", Ok("'/usr/bin/scan' 'x' >/dev/null 2>&1"));
    check("(cd /tmp; id) || { id -u; }", Ok("('cd' '/tmp'; '/usr/bin/id') || { '/usr/bin/id' '-u'; }"));
    check("LANG=C id", Ok("LANG='C' '/usr/bin/id'"));
    check("scan; echo \"done: $?\" $?", Ok("'/usr/bin/scan'; 'echo' \"done: $?\" \"$?\""));
    check("scan $'a\\tb' it\\'s; id", Ok("'/usr/bin/scan' 'a\tb' 'it'\\''s'; '/usr/bin/id'"));
    check("scan &&\r\nid", Ok("'/usr/bin/scan' &&\n'/usr/bin/id'"));
    check("scan *.txt; id", Err(Unbound::Expansion));
    check("scan ~/x; id", Err(Unbound::Expansion));
    check("scan |& id", Err(Unbound::NotStatic));
    check("cd /tmp && ./scan", Err(Unbound::RelativeAfterMove));
    check("scan && sudo id", Err(Unbound::Carrier));
    check("scan | sh", Err(Unbound::Carrier));
    check("scan | xargs id", Err(Unbound::Carrier));
    check("scan && npx id", Err(Unbound::Carrier));
    check(
        "scan && python3 -c 1 && [ -n x ]",
        Ok("'/usr/bin/scan' && '/usr/bin/python3' '-c' '1' && '[' '-n' 'x' ]"),
    );
}

#[test]
fn a_chain_that_nobody_would_read_is_asked_about() {
    let chain = |commands: usize| {
        let text = vec!["scan"; commands].join("; ");
        World::new(&["sh", "-c", &text], Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/scan"])
    };
    check(&chain(128), Verdict::Allow(Evidence::Entries));
    assert!(matches!(chain(129).verdict(), Verdict::Ask(_)));
}

#[test]
fn every_program_of_a_bound_text_is_pinned() {
    let world = World::new(&["sh", "-c", "scan a && nice id | scan b"], Security::Allowlist, Ask::OnMiss)
        .with_rules(&["/usr/bin/scan", "/usr/bin/id"]);
    let command = approve(&world, None).unwrap();
    assert_eq!(command.argv(), ["sh", "-c", "'/usr/bin/scan' 'a' &&  '/usr/bin/id' | '/usr/bin/scan' 'b'"]);
    assert_eq!(command.program(), std::path::Path::new("/usr/bin/sh"));
    let pinned: Vec<_> = command.pins().programs.iter().map(|(path, _)| path.to_str().unwrap()).collect();
    assert_eq!(pinned, ["/usr/bin/sh", "/usr/bin/scan", "/usr/bin/id"]);
}

#[test]
fn n433_to_n441_what_cannot_be_pinned_does_not_bind() {
    for shell in [
        &["bash", "-c", "id"][..],
        &["sh", "-lc", "id", "x"],
        &["sh", "-c", "id $HOME"],
        &["sh", "-c", "X=1 id"],
        &["sh", "-c", "id `date`"],
        &["sh", "-c", "id $(date)"],
        &["sh", "-c", "id <(date)"],
        &["sh", "-c", "id > out"],
        &["sh", "-c", "id", "x"],
        &["sh", "-c", "-e", "id"],
        &["sh", "-c", "sh -c id"],
        &["env", "X=1", "sh", "-c", "id"],
        &["nice", "sh", "-c", "id"],
        &["npx", "id"],
    ] {
        let world = World::new(shell, Security::Allowlist, Ask::OnMiss);
        assert!(bind(&world.analysis(), &world.facts).is_err(), "{shell:?}");
    }
    check_bind(&["nice", "id", "-u"], Ok(&["/usr/bin/id", "-u"]));
}

#[test]
fn n443_always_is_not_offered_for_an_interpreter_that_a_rule_may_name() {
    let python =
        World::new(&["python3", "x.py"], Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/python3"]);
    let refused = proposals(&python.analysis(), &python.facts, &python.policy);
    assert_eq!(refused, Err(AlwaysUnavailable::Interpreter));
    check(&python, Verdict::Allow(Evidence::Entries));
}

#[test]
fn p476_to_p505_a_prompt_is_needed_exactly_where_the_table_says() {
    for security in Security::ALL {
        for covered in [Covered::ByRules, Covered::No] {
            assert!(!needs_prompt(*security, Ask::Off, covered));
            assert!(needs_prompt(*security, Ask::Always, covered));
            let miss = *security == Security::Allowlist && covered == Covered::No;
            assert_eq!(needs_prompt(*security, Ask::OnMiss, covered), miss);
        }
    }
}

#[test]
fn o474_o475_a_grant_for_the_exact_text_counts_only_from_an_answer_and_never_under_always() {
    let mut granted = World::new(&["scan", "--now"], Security::Allowlist, Ask::OnMiss)
        .with_rules(&["=command:aeeea9528b56de06"]);
    check(&granted, Verdict::Ask(AskReason::Miss));
    granted.rules[0].generated = true;
    check(&granted, Verdict::Allow(Evidence::Entries));
    granted.policy.ask.value = Ask::Always;
    check(&granted, Verdict::Ask(AskReason::Always));
}

#[test]
fn a_grant_for_a_text_does_not_cover_another_list_with_the_same_text() {
    let text = countersign_policy::allowlist::exact_command("scan && wipe");
    let mut world =
        World::new(&["scan", "&&", "wipe"], Security::Allowlist, Ask::OnMiss).with_rules(&[&text]);
    world.rules[0].generated = true;
    check(&world, Verdict::Ask(AskReason::Miss));
}

#[test]
fn an_unusual_environment_is_asked_about_although_a_rule_covers_the_command() {
    let mut world = world(Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/scan"]);
    world.unusual_env = vec!["SCAN_PLUGIN".into()];
    check(&world, Verdict::Ask(AskReason::Environment));
    world.policy.ask.value = Ask::Off;
    check(&world, Verdict::Deny(DenyReason::AllowlistMiss));
}

#[test]
fn the_trace_names_the_step_that_missed_and_what_would_have_helped() {
    let miss = world(Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/other"]);
    let steps = miss.trace();
    assert!(steps.contains(&TraceStep::Missed { cause: MissCause::NoEntry, detail: None }), "{steps:?}");
    let subject = Some("/usr/bin/scan".to_owned());
    let advice = TraceStep::Advice { advice: Advice::AddEntry, subject, more: 0 };
    assert!(steps.contains(&advice), "{steps:?}");
    assert_eq!(miss.judge(None).missed_segments, [0]);

    let hit = world(Security::Allowlist, Ask::OnMiss).with_rules(&["/usr/bin/scan"]);
    let steps = hit.trace();
    let covers = |step: &TraceStep| matches!(step, TraceStep::Entry { fit: EntryFit::Covers, .. });
    assert!(steps.iter().any(covers), "{steps:?}");
    let verdict = TraceStep::Verdict { verdict: TestVerdict::Allow, cause: VerdictCause::Allowlist };
    assert_eq!(steps.last(), Some(&verdict));
    assert_eq!(hit.judge(None).missed_segments, [0; 0]);
}

#[test]
fn the_trace_looks_for_no_program_where_the_shell_does_it_by_itself() {
    let resolved = |argv: &[&str]| {
        let steps = World::new(argv, Security::Allowlist, Ask::OnMiss).trace();
        steps.iter().filter(|step| matches!(step, TraceStep::Resolution { .. })).count()
    };
    assert_eq!(resolved(&["sh", "-c", "set -e; scan"]), 1, "only scan is one");
    assert_eq!(resolved(&["set", "-e"]), 1, "no shell reads it");
}

#[test]
fn an_empty_list_is_nothing_to_run() {
    for argv in [&[][..], &[""], &["  ", "x"]] {
        let analysis = analyze_argv(&strings(argv));
        assert_eq!(analysis.opaque.map(|opaque| opaque.reason), Some(OpaqueReason::Empty));
    }
}
