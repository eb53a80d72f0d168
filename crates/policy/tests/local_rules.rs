//! Rules of our own beside the document: a refusal wins over everything, an allowance counts like an entry,
//! and rules that cannot be read free nothing.

use crate::support;
use crate::support::{CWD, World, person};
use countersign_commands::analysis::{Analysis, analyze_argv};
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::bind::Bound;
use countersign_policy::evaluate::{
    Answer, AskReason, DenyReason, Evaluation, Evidence, LocalRules, Origin, Subject, Verdict, Walls,
    evaluate,
};
use countersign_policy::facts::{Repository, Surroundings};
use countersign_policy::rules::{Folders, Moment, PRESETS, RuleIndex};
use countersign_protocol::rules::CommandRule;
use countersign_protocol::trace::{MissCause, RuleStanding, TraceStep};
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashMap;

/// What is known of our own rules.
#[derive(Clone, Debug)]
enum Own {
    Rules(Vec<CommandRule>),
    Unreadable,
}

fn own(rules: &[Value]) -> Own {
    Own::Rules(rules_of(rules))
}

fn rules_of(rules: &[Value]) -> Vec<CommandRule> {
    let rule = |(at, more): (usize, &Value)| {
        let mut rule = json!({
            "id": at.to_string(), "agent": "*", "effect": "allow", "program": "scan", "arguments": "any",
            "createdAtMs": 0, "from": "typed",
        });
        rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(rule).unwrap()
    };
    rules.iter().enumerate().map(rule).collect()
}

fn deny(program: &str) -> Value {
    json!({ "effect": "deny", "program": program })
}

/// A command in a world under rules of our own.
fn subject<'a>(
    world: &'a World,
    analysis: &'a Analysis,
    entries: &'a EntryIndex,
    local: LocalRules<'a>,
) -> Subject<'a> {
    Subject {
        argv: &world.argv,
        analysis,
        facts: &world.facts,
        policy: &world.policy,
        entries,
        local,
        trust: &world.trust,
        walls: world.walls(),
        unusual_env: &world.unusual_env,
        origin: world.origin,
    }
}

/// The verdict on a command in a world, and which rules it would spend.
fn judge(world: &World, own: &Own, answer: Option<&Answer>) -> (Verdict, Vec<usize>) {
    let analysis = analyze_argv(&world.argv);
    let (index, folders, uses) = match own {
        Own::Rules(rules) => {
            (RuleIndex::new(rules.clone()), Folders::new(), HashMap::from([("1".to_owned(), 1)]))
        }
        Own::Unreadable => (RuleIndex::default(), Folders::new(), HashMap::new()),
    };
    let moment = Moment { agent: "main", session: Some("s"), now_ms: 100, uses: &uses };
    let local = match own {
        Own::Rules(_) => LocalRules::Known { rules: &index, folders: &folders, moment, unclear: None },
        Own::Unreadable => LocalRules::Unreadable,
    };
    let entries = world.entries();
    let subject = subject(world, &analysis, &entries, local);
    let evaluation = evaluate(&subject, answer);
    let trace = evaluation.trace(&subject);
    if evaluation.refused.is_some() || matches!(own, Own::Unreadable) {
        let says_no = |step: &TraceStep| matches!(step, TraceStep::Rule { standing, .. } if *standing != RuleStanding::Allows);
        assert!(trace.iter().any(says_no), "{trace:?}");
    }
    (evaluation.verdict, evaluation.spends)
}

fn check(world: &World, rules: &[Value], expected: Verdict, spends: &[usize]) {
    assert_eq!(judge(world, &own(rules), None), (expected, spends.to_vec()), "{:?} {rules:?}", world.argv);
}

fn miss(argv: &[&str]) -> World {
    World::new(argv, Security::Allowlist, Ask::OnMiss)
}

const ALLOWED: Verdict = Verdict::Allow(Evidence::Entries);
const REFUSED: Verdict = Verdict::Deny(DenyReason::Rule);
const ASKED: Verdict = Verdict::Ask(AskReason::Miss);

#[test]
fn an_allowing_rule_counts_like_an_entry() {
    check(&miss(&["scan"]), &[], ASKED, &[]);
    check(&miss(&["scan"]), &[json!({})], ALLOWED, &[0]);
    check(&miss(&["scan"]), &[json!({ "program": "/usr/bin/scan" })], ALLOWED, &[0]);
    check(&miss(&["scan"]), &[json!({ "program": "other" })], ASKED, &[]);
    let entry = miss(&["scan"]).with_rules(&["/usr/bin/scan"]);
    check(&entry, &[json!({ "limits": { "uses": 1 } })], ALLOWED, &[]);
    let chain = miss(&["sh", "-c", "scan a && scan b && wipe"]);
    check(&chain, &[json!({})], ASKED, &[]);
    check(&chain, &[json!({}), json!({ "program": "wipe" })], ALLOWED, &[0, 1]);
    let bound = miss(&["scan"]).with_rules(&[]);
    check(
        &World { unusual_env: vec!["X".into()], ..bound },
        &[json!({})],
        Verdict::Ask(AskReason::Environment),
        &[],
    );
}

#[test]
fn what_no_entry_may_cover_no_rule_covers() {
    for argv in
        [&["sh", "-c", "eval scan"][..], &["xargs", "scan"], &["bash", "x.sh"], &["bash", "-lc", "scan"]]
    {
        let any = |program: &str| json!({ "program": program });
        let rules = own(&["sh", "bash", "xargs", "eval", "scan"].map(any));
        let (verdict, spends) = judge(&miss(argv), &rules, None);
        assert!(matches!(verdict, Verdict::Ask(_)) && spends.is_empty(), "{argv:?}: {verdict:?}");
    }
}

#[test]
fn one_use_lets_one_command_of_a_text_run() {
    let limited = |uses: u32| [json!({}), json!({ "limits": { "uses": uses } })];
    // The rule called 1 was used once.
    let once = |rules: &[Value], text: &str, expected| {
        let rules: Vec<Value> = rules.iter().skip(1).cloned().collect();
        let found = judge(&miss(&["sh", "-c", text]), &own(&rules), None).0;
        assert_eq!(found, expected, "{text}");
    };
    once(&limited(2), "scan a", ALLOWED);
    once(&limited(2), "scan a; scan b", ASKED);
    once(&limited(9), "scan a && scan b && scan c && scan d", ASKED);
    once(&[json!({}), json!({})], "scan a; scan b", ALLOWED);
}

#[test]
fn a_rule_counts_for_its_agent_its_session_its_time_and_its_uses() {
    for (more, expected) in [
        (json!({ "agent": "main" }), ALLOWED),
        (json!({ "agent": "other" }), ASKED),
        (json!({ "limits": { "session": "s" } }), ALLOWED),
        (json!({ "limits": { "session": "t" } }), ASKED),
        (json!({ "limits": { "untilMs": 101 } }), ALLOWED),
        (json!({ "limits": { "untilMs": 100 } }), ASKED),
    ] {
        let spends: &[usize] = if expected == ALLOWED { &[0] } else { &[] };
        check(&miss(&["scan"]), &[more], expected, spends);
    }
    let limited = |uses: u32| [deny("x"), json!({ "limits": { "uses": uses } })];
    check(&miss(&["scan"]), &limited(2), ALLOWED, &[1]);
    check(&miss(&["scan"]), &limited(1), ASKED, &[]);
}

#[test]
fn a_refusing_rule_wins_over_everything() {
    let rules = [json!({}), deny("scan")];
    let open = World::new(&["scan"], Security::Full, Ask::Off).with_rules(&["*"]);
    check(&open, &rules, REFUSED, &[]);
    let full = open.clone().with_fallback(Security::Full);
    for (world, answer) in [
        (open.clone(), Some(person(Decision::AllowOnce))),
        (open.clone(), Some(person(Decision::AllowAlways))),
        (full.clone(), Some(Answer::Nobody)),
        (open.clone().from(Origin::Forwarded(Decision::AllowOnce)), None),
        (open.from(Origin::AutoReview), None),
        (full.from(Origin::AskFallback), None),
    ] {
        assert_eq!(judge(&world, &own(&rules), answer.as_ref()).0, REFUSED, "{answer:?} {:?}", world.origin);
    }
    let hidden = World::new(&["sh", "-c", "ls && nice scan x"], Security::Full, Ask::Off);
    check(&hidden, &rules, REFUSED, &[]);
    let denied = Verdict::Deny(DenyReason::SecurityDeny);
    check(&World::new(&["scan"], Security::Deny, Ask::Off), &rules, denied, &[]);
}

#[test]
fn what_hides_its_program_needs_a_person_when_something_is_refused() {
    let asked = Verdict::Ask(AskReason::MayBeRefused);
    for argv in [
        &["sh", "-c", "$X y"][..],
        &["sh", "-c", "$(scan) wipe"],
        &["bash", "-lc", "$X scan"],
        &["eval", "scan x"],
    ] {
        let world = World::new(argv, Security::Full, Ask::Off);
        check(&world, &[json!({})], Verdict::Allow(Evidence::Policy), &[]);
        check(&world, &[deny("wipe2")], asked.clone(), &[]);
        check(
            &world,
            &[json!({ "effect": "deny", "agent": "other" })],
            Verdict::Allow(Evidence::Policy),
            &[],
        );
        let answered = |answer: &Answer| judge(&world, &own(&[deny("wipe2")]), Some(answer)).0;
        assert!(matches!(answered(&person(Decision::AllowOnce)), Verdict::Allow(Evidence::Person { .. })));
        assert_eq!(answered(&Answer::Nobody), Verdict::Deny(DenyReason::RuleDoubt));
    }
}

#[test]
fn rules_that_cannot_be_read_leave_everything_to_a_person() {
    let asked = Verdict::Ask(AskReason::RulesUnreadable);
    let open =
        World::new(&["scan"], Security::Full, Ask::Off).with_rules(&["*"]).with_fallback(Security::Full);
    for origin in [Origin::Fresh, Origin::AutoReview, Origin::Forwarded(Decision::AllowAlways)] {
        let world = open.clone().from(origin);
        assert_eq!(judge(&world, &Own::Unreadable, None).0, asked, "{origin:?}");
        let yes = judge(&world, &Own::Unreadable, Some(&person(Decision::AllowOnce))).0;
        assert!(matches!(yes, Verdict::Allow(Evidence::Person { .. })), "{origin:?}");
        let nobody = judge(&world, &Own::Unreadable, Some(&Answer::Nobody)).0;
        assert_eq!(nobody, Verdict::Deny(DenyReason::RuleDoubt), "{origin:?}");
    }
    let elsewhere = open.from(Origin::AskFallback);
    assert_eq!(judge(&elsewhere, &Own::Unreadable, None).0, Verdict::Deny(DenyReason::RuleDoubt));
}

/// How a command is judged under rules for its program, of every kind, when its folder says this.
#[track_caller]
fn check_around(argv: &[&str], around: Option<Surroundings>, expected: Result<(), (MissCause, &str)>) {
    let args = &argv[1..];
    let mut kinds = vec![
        rules_of(&[json!({ "program": argv[0], "arguments": { "exact": { "args": args, "folder": CWD } } })]),
        rules_of(&[json!({ "program": argv[0], "arguments": "any" })]),
    ];
    kinds.push(PRESETS[0].rules(0));
    for rules in kinds {
        let mut world = World::new(argv, Security::Allowlist, Ask::OnMiss);
        world.facts.surroundings = around.clone().map(|around| (CWD.into(), around)).into_iter().collect();
        let (index, folders, uses) = (RuleIndex::new(rules), Folders::new(), HashMap::new());
        let moment = Moment { agent: "main", session: None, now_ms: 100, uses: &uses };
        let analysis = analyze_argv(&world.argv);
        let entries = world.entries();
        let local = LocalRules::Known { rules: &index, folders: &folders, moment, unclear: None };
        let subject = subject(&world, &analysis, &entries, local);
        let evaluation = evaluate(&subject, None);
        match expected {
            Ok(()) => assert_eq!(evaluation.verdict, Verdict::Allow(Evidence::Entries), "{argv:?}"),
            Err((cause, detail)) => {
                assert_eq!(evaluation.verdict, Verdict::Ask(AskReason::Uncoverable(cause)), "{argv:?}");
                let missed = TraceStep::Missed { cause, detail: Some(detail.to_owned()) };
                assert!(
                    evaluation.trace(&subject).contains(&missed),
                    "{argv:?} {:?}",
                    evaluation.trace(&subject)
                );
            }
        }
    }
}

#[test]
fn what_lies_around_a_command_keeps_every_rule_from_covering_it() {
    let doubtful = |why: &str| {
        Some(Surroundings { repository: Some(Repository::Doubtful(why.to_owned())), ..support::silent() })
    };
    let why = "core.fsmonitor: /srv/app/.git/config";
    for argv in [&["git", "status"][..], &["git", "log", "-p"], &["git", "--no-pager", "diff"]] {
        check_around(argv, Some(support::silent()), Ok(()));
        check_around(argv, doubtful(why), Err((MissCause::Repository, why)));
        check_around(argv, None, Err((MissCause::Repository, "?")));
    }
    check_around(&["git", "--version"], doubtful(why), Ok(()));
    let told = |names: &[&str]| {
        let told = Some(names.iter().map(|name| (*name).to_owned()).collect());
        Some(Surroundings { told, ..support::silent() })
    };
    check_around(&["cargo", "--version"], told(&[]), Ok(()));
    check_around(&["cargo", "--version"], told(&["global.json"]), Ok(()));
    check_around(
        &["cargo", "--version"],
        told(&["rust-toolchain.toml"]),
        Err((MissCause::Launcher, "rust-toolchain.toml")),
    );
    check_around(&["dotnet", "--version"], told(&["global.json"]), Err((MissCause::Launcher, "global.json")));
    check_around(&["rustc", "-V"], None, Err((MissCause::Launcher, "rustc")));
    check_around(&["jq", "--version"], None, Ok(()));
}

#[test]
fn no_shape_covers_what_has_signatures_checked() {
    for argv in [
        &["git", "log", "--format=%G?"][..],
        &["git", "log", "--pretty=mine"],
        &["git", "tag", "-l", "--sort=signature"],
    ] {
        let world = World::new(argv, Security::Allowlist, Ask::OnMiss);
        let (verdict, _) = judge(&world, &Own::Rules(PRESETS[0].rules(0)), None);
        assert_eq!(verdict, Verdict::Ask(AskReason::Miss), "{argv:?}");
    }
}

fn any_rule() -> impl Strategy<Value = Value> {
    let programs = vec!["scan", "wipe", "*", "/usr/bin/*", "sh", "git"];
    let limits = [json!({}), json!({ "untilMs": 50 }), json!({ "untilMs": 500 }), json!({ "session": "t" })];
    (any::<bool>(), proptest::sample::select(programs), proptest::sample::select(limits.to_vec())).prop_map(
        |(allow, program, limits)| {
            let effect = if allow { "allow" } else { "deny" };
            json!({ "effect": effect, "program": program, "limits": limits })
        },
    )
}

proptest! {
    #[test]
    fn an_allowance_less_or_a_refusal_more_frees_nothing(
        world in support::inputs::world(),
        answer in support::inputs::answer(),
        rules in proptest::collection::vec(any_rule(), 0..5),
        change in any_rule(),
        at in any::<proptest::sample::Index>(),
    ) {
        let free = |rules: &[Value]| {
            matches!(judge(&world, &own(rules), answer.as_ref()).0, Verdict::Allow(_))
        };
        let mut more = rules.clone();
        more.insert(at.index(rules.len() + 1), change.clone());
        let (stricter, looser) = if change["effect"] == "deny" { (more, rules) } else { (rules, more) };
        prop_assert!(!free(&stricter) || free(&looser), "{stricter:?} frees more than {looser:?}");
        let unread = judge(&world, &Own::Unreadable, answer.as_ref()).0;
        let by_person = matches!(unread, Verdict::Allow(Evidence::Person { .. }));
        prop_assert!(by_person || !matches!(unread, Verdict::Allow(_)), "{unread:?}");
    }

    #[test]
    fn without_rules_of_our_own_nothing_is_different(
        world in support::inputs::world(),
        answer in support::inputs::answer(),
    ) {
        prop_assert_eq!(judge(&world, &own(&[]), answer.as_ref()).0, world.judge(answer.as_ref()).verdict);
    }
}

/// What these rules alone come to for a text.
fn judge_text(text: &str, rules: Vec<CommandRule>, folders: &Folders) -> Evaluation {
    let world = miss(&["sh", "-c", text]);
    let (index, uses) = (RuleIndex::new(rules), HashMap::new());
    let moment = Moment { agent: "main", session: None, now_ms: 100, uses: &uses };
    evaluate(
        &Subject {
            argv: &world.argv,
            analysis: &analyze_argv(&world.argv),
            facts: &world.facts,
            policy: &world.policy,
            entries: &world.entries(),
            local: LocalRules::Known { rules: &index, folders, moment, unclear: None },
            trust: &world.trust,
            walls: Walls::None,
            unusual_env: &[],
            origin: Origin::Fresh,
        },
        None,
    )
}

#[test]
fn a_rule_for_a_folder_follows_only_moves_that_reach_the_command() {
    let in_tmp = json!({ "folder": "/tmp" });
    let folders = Folders::from([("/tmp".into(), "/tmp".into())]);
    let check = |text: &str, expected: Verdict| {
        let rules = rules_of(std::slice::from_ref(&in_tmp));
        assert_eq!(judge_text(text, rules, &folders).verdict, expected, "{text}");
    };
    check("cd /tmp && scan", ALLOWED);
    check("cd /tmp && scan && scan -v", ALLOWED);
    check("(cd /tmp && scan)", ALLOWED);
    check("cd /tmp && (scan)", ALLOWED);
    check("cd /tmp; scan", ASKED);
    check("cd /tmp || scan", ASKED);
    check("cd /tmp && scan; scan", ASKED);
    check("cd /tmp && scan || scan", ASKED);
    check("{ cd /tmp && scan; }; scan", ASKED);
    check("cd /tmp | scan", ASKED);
    check("(cd /tmp && scan) && scan", ASKED);
    check("(cd /tmp && scan); scan", ASKED);
    check("( (cd /tmp && scan) && scan)", ASKED);
    check("{ cd /tmp && scan; } | scan", ASKED);
    check("{ cd /tmp && true; } | true && scan", ASKED);
    check("scan", ASKED);
}

#[test]
fn a_loop_of_what_only_reads_runs_as_its_parts_do() {
    let check = |more: Vec<CommandRule>, text: &str, expected: Option<&str>| {
        let rules = PRESETS.first().unwrap().rules(0).into_iter().chain(more).collect();
        let evaluation = judge_text(text, rules, &Folders::new());
        let ours = match (evaluation.verdict, evaluation.bound) {
            (ALLOWED, Some(Bound::Shell { text, .. })) => Some(text),
            (Verdict::Ask(_), _) => None,
            (verdict, _) => panic!("{text}: {verdict:?}"),
        };
        assert_eq!(ours.as_deref(), expected, "{text}");
    };
    check(
        Vec::new(),
        "for f in a.md b.md; do echo $f; wc -l c.md; done",
        Some("for f in 'a.md' 'b.md'; do 'echo' \"$f\"; '/usr/bin/wc' '-l' 'c.md'; done"),
    );
    check(
        Vec::new(),
        "for dir in a 'b c'; do basename \"$dir\"; done",
        Some("for dir in 'a' 'b c'; do '/usr/bin/basename' \"$dir\"; done"),
    );
    check(Vec::new(), "true; basename $PWD", Some("'true'; '/usr/bin/basename' \"$PWD\""));
    let scan = || rules_of(&[json!({ "program": "/usr/bin/scan" })]);
    check(scan(), "scan && scan", Some("'/usr/bin/scan' && '/usr/bin/scan'"));
    // It may do something, and then the order of the rounds matters.
    check(scan(), "for f in a; do scan; done", None);
    for text in
        ["for f in a; do wc -l $f; done", "for f in a; do cd b; done", "for f in *; do basename $f; done"]
    {
        check(Vec::new(), text, None);
    }
}

#[test]
fn a_find_runs_programs_that_only_read_what_it_finds() {
    let everyday = || PRESETS.first().unwrap().rules(0);
    let check_with = |rules: Vec<CommandRule>, text: &str, expected: Result<&str, Verdict>| {
        let evaluation = judge_text(text, rules, &Folders::new());
        let ours = match (evaluation.verdict, evaluation.bound) {
            (ALLOWED, Some(Bound::Shell { text, .. })) => Ok(text),
            (verdict, _) => Err(verdict),
        };
        assert_eq!(ours, expected.map(str::to_owned), "{text}");
    };
    let check = |text: &str, expected: Result<&str, Verdict>| check_with(everyday(), text, expected);
    check(
        "find src -name '*.rs' -exec grep -l 'a b' {} +",
        Ok("'/usr/bin/find' 'src' '-name' '*.rs' '-exec' '/usr/bin/grep' '-l' 'a b' '{}' '+'"),
    );
    check(
        "find . -type f -exec wc -l {} \\; -print | sort",
        Ok("'/usr/bin/find' '.' '-type' 'f' '-exec' '/usr/bin/wc' '-l' '{}' ';' '-print' | '/usr/bin/sort'"),
    );
    for file in [
        "cat",
        "awk '{print}'",
        "sed -n 5p",
        "jq .a",
        "grep -e x",
        "head -n 5",
        "stat",
        "basename",
        "test -f",
        "echo",
    ] {
        let text = format!("find src -exec {file} {{}} \\;");
        assert_eq!(judge_text(&text, everyday(), &Folders::new()).verdict, ALLOWED, "{text}");
    }
    let asked = || Err(Verdict::Ask(AskReason::Uncoverable(MissCause::Carrier)));
    for text in [
        "find . -exec rm {} \\;",
        "find . -exec sh -c id {} \\;",
        "find . -exec sed -i s/a/b/ {} \\;",
        "find . -exec sort -o x {} \\;",
        "find . -exec grep -f {} x \\; -delete",
        "find . -delete -exec cat {} \\;",
        "find . -exec git push {} \\;",
        "find / -exec cat {} \\;",
        "find ~ -exec cat {} \\;",
        "find /home -exec cat {} +",
        "find .ssh -exec cat {} \\;",
        "find . -name .env -exec cat {} \\;",
        "find -L . -exec cat {} \\;",
        "find . -execdir cat {} \\;",
        "find . -exec ./cat {} \\;",
        "find . -exec find {} -delete \\;",
        "nice find . -exec cat {} \\;",
        "find . -exec xargs cat {} \\;",
        "find . -exec cat {} \\; -exec rm {} \\;",
        // Where the name is a script, a pattern, a value or what is set, it says what is done.
        "find x -type f -exec awk {} \\;",
        "find x -exec mawk {} data \\;",
        "find x -exec sed -n {} data \\;",
        "find x -exec sed {} +",
        "find x -exec jq -n {} \\;",
        "find x -exec jq {} data.json \\;",
        "find x -exec grep {} data \\;",
        "find x -exec rg -n {} data \\;",
        "find x -exec tr {} a \\;",
        "find x -exec cut -d {} -f 1 data \\;",
        "find x -exec head -n {} data \\;",
        "find x -exec date -r {} \\;",
        "find x -exec printf {} \\;",
        "find x -exec uniq data {} \\;",
        "find x -exec git config core.pager {} \\;",
        "find x -exec git log {} \\;",
        "find /inet/tcp/0/h/80 -exec gawk 1 {} \\;",
    ] {
        check(text, asked());
    }
    // A rule for the find says nothing about what it starts, and a number of uses would not be counted.
    let text = "find . -exec cat {} \\;";
    let of =
        |program: &str| everyday().into_iter().filter(|rule| rule.program == program).collect::<Vec<_>>();
    check_with(of("find"), text, asked());
    check_with(of("cat"), text, asked());
    check_with(
        [of("find"), of("cat")].concat(),
        text,
        Ok("'/usr/bin/find' '.' '-exec' '/usr/bin/cat' '{}' ';'"),
    );
    let mut once = of("cat");
    once.iter_mut().for_each(|rule| rule.limits.uses = Some(1));
    check_with([of("find"), once].concat(), text, asked());
}
