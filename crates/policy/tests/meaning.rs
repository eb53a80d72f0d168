//! What windows, tray and command line say of a policy, held against the evaluator for every
//! combination of layers.

use crate::support;
use crate::support::World;
use crate::support::inputs::{ask, security, world};
use countersign_commands::analysis::analyze_argv;
use countersign_policy::document::{Parsed, parse, resolve};
use countersign_policy::effective::{Effective, Requested};
use countersign_policy::evaluate::{Answer, Covered, LocalRules, Origin, Subject, Verdict, Walls, evaluate};
use countersign_policy::meaning::{Clarity, Fate, Silence, fate, meaning, refusals, views, widening};
use countersign_policy::rules::{Folders, Moment, RuleIndex};
use countersign_protocol::document::Document;
use countersign_protocol::meaning::{Reach, Refusals, Unanswered, Usually, Whose};
use countersign_protocol::rules::CommandRule;
use countersign_protocol::vocabulary::{Ask, Security};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashMap;

/// Rules of the person's own, as far as they matter here: none of the commands is the one that is refused.
fn own(refusals: Refusals) -> Option<RuleIndex> {
    let refusing: CommandRule = serde_json::from_value(json!({
        "id": "0", "agent": "*", "effect": "deny", "program": "never-asked-about", "arguments": "any",
        "createdAtMs": 0, "from": "typed",
    }))
    .unwrap();
    match refusals {
        Refusals::None => Some(RuleIndex::default()),
        Refusals::Some => Some(RuleIndex::new(vec![refusing])),
        Refusals::Unreadable => None,
    }
}

fn judge(world: &World, policy: &Effective, rules: Option<&RuleIndex>, answer: Option<&Answer>) -> Verdict {
    let (analysis, entries) = (analyze_argv(&world.argv), world.entries());
    let (folders, uses) = (Folders::new(), HashMap::new());
    let moment = Moment { agent: "main", session: None, now_ms: 0, uses: &uses };
    let local = match rules {
        Some(rules) => LocalRules::Known { rules, folders: &folders, moment, unclear: None },
        None => LocalRules::Unreadable,
    };
    let subject = Subject {
        argv: &world.argv,
        analysis: &analysis,
        facts: &world.facts,
        policy,
        entries: &entries,
        local,
        trust: &world.trust,
        walls: Walls::None,
        unusual_env: &world.unusual_env,
        origin: Origin::Fresh,
    };
    evaluate(&subject, answer).verdict
}

/// What the evaluator does with a command, and with the question about it when nobody answers.
fn done(world: &World, policy: &Effective, rules: Option<&RuleIndex>) -> Fate {
    match judge(world, policy, rules, None) {
        Verdict::Allow(_) => Fate::Runs,
        Verdict::Contain(_) => panic!("no folder is open"),
        Verdict::Deny(_) => Fate::Refused,
        Verdict::Ask(_) => match judge(world, policy, rules, Some(&Answer::Nobody)) {
            Verdict::Allow(_) => Fate::Asks(Silence::Runs),
            Verdict::Contain(_) | Verdict::Ask(_) | Verdict::Deny(_) => Fate::Asks(Silence::Refused),
        },
    }
}

/// What kind of command it is, found out by asking the evaluator under policies where nothing else counts.
fn kind(world: &World) -> (Covered, Clarity) {
    let with = |security, ask| support::policy(security, ask, Security::Deny);
    let listed = judge(world, &with(Security::Allowlist, Ask::Off), own(Refusals::None).as_ref(), None);
    let covered = if matches!(listed, Verdict::Allow(_)) { Covered::ByRules } else { Covered::No };
    let doubted = judge(world, &with(Security::Full, Ask::Off), own(Refusals::Some).as_ref(), None);
    let clarity = if matches!(doubted, Verdict::Ask(_)) { Clarity::Hidden } else { Clarity::Plain };
    (covered, clarity)
}

fn check(world: &World, policy: &Effective) {
    let (covered, clarity) = kind(world);
    for standing in [Refusals::None, Refusals::Some, Refusals::Unreadable] {
        let rules = own(standing);
        assert_eq!(refusals(rules.as_ref(), "main", 0, &HashMap::new()), standing);
        let said = meaning(policy, standing);
        assert_eq!(
            fate(said, covered, clarity),
            done(world, policy, rules.as_ref()),
            "{:?}: {said:?}, {covered:?}, {clarity:?}, {policy:?}",
            world.argv
        );
    }
}

#[test]
fn what_is_said_of_every_policy_is_what_happens_to_every_kind_of_command() {
    let world = |argv: &[&str]| World::new(argv, Security::Deny, Ask::Off);
    let commands = [
        world(&["scan"]),
        world(&["scan"]).with_rules(&["/usr/bin/scan"]),
        world(&["sh", "-c", "eval scan"]),
        world(&["sh", "-c", "scan"]).with_rules(&["/usr/bin/scan"]),
        world(&["sh", "-c", "scan $(id)"]),
    ];
    let mut kinds = Vec::new();
    for command in &commands {
        kinds.push(kind(command));
        for security in Security::ALL {
            for ask in Ask::ALL {
                for fallback in Security::ALL {
                    check(command, &support::policy(*security, *ask, *fallback));
                }
            }
        }
    }
    for expected in
        [(Covered::No, Clarity::Plain), (Covered::ByRules, Clarity::Plain), (Covered::No, Clarity::Hidden)]
    {
        assert!(kinds.contains(&expected), "no command is {expected:?}: {kinds:?}");
    }
}

#[test]
fn full_asks_nobody_on_a_miss() {
    let full = meaning(&support::policy(Security::Full, Ask::OnMiss, Security::Deny), Refusals::None);
    assert_eq!((full.usually, full.unanswered), (Usually::EverythingRuns, Unanswered::NeverAsked));
}

#[test]
fn what_lets_nearly_everything_run_is_told_by_whom_and_from_where() {
    let of = |document: serde_json::Value| {
        let Parsed::Usable(document) = parse(Some(document.to_string().as_bytes())) else { panic!() };
        document
    };
    let asking = json!({ "security": "allowlist", "ask": "on-miss" });
    let before = of(json!({ "version": 1, "defaults": asking, "agents": { "ops": { "ask": "off" } } }));
    let entry = |pattern: &str| {
        of(json!({ "version": 1, "defaults": asking, "agents": {
            "*": { "allowlist": [{ "pattern": pattern }] }, "ops": { "ask": "off" } } }))
    };
    let told = |after: &Document| {
        let found = widening(&before, after, &|_| Refusals::None)?;
        let folder = found.folder.map(|folder| folder.spans[0].text.clone());
        Some((found.whose, found.kind, folder))
    };
    let folder = |folder: &str| Some((Whose::Everybody, Reach::Programs, Some(folder.to_owned())));
    assert_eq!(told(&entry("/usr/bin/*")), folder("/usr/bin"));
    assert_eq!(told(&entry("/usr/**")), folder("/usr"));
    assert_eq!(told(&entry("*")), Some((Whose::Everybody, Reach::Programs, None)));
    assert_eq!(told(&entry("/**")), Some((Whose::Everybody, Reach::Programs, None)));
    for narrow in ["/usr/bin/git", "/usr/bin/g*", "/home/ada/bin/*", "/usr/*", "git"] {
        assert_eq!(told(&entry(narrow)), None, "{narrow}");
    }
    let full = |agent: &str| {
        let mut agents = json!({ "ops": { "ask": "off" } });
        agents[agent] = json!({ "security": "full" });
        of(json!({ "version": 1, "defaults": asking, "agents": agents }))
    };
    assert_eq!(told(&full("coder")), Some((Whose::Agent, Reach::Anything, None)));
    assert_eq!(told(&full("*")), Some((Whose::Everybody, Reach::Anything, None)));
    let but_ops = of(json!({ "version": 1, "defaults": asking, "agents": {
        "*": { "security": "full" }, "ops": { "security": "deny" } } }));
    assert_eq!(told(&but_ops), Some((Whose::Unnamed, Reach::Anything, None)));
    assert_eq!(told(&before), None);
}

/// What one layer of the document sets.
type Layer = (Option<Security>, Option<Ask>, Option<Security>);

fn layer() -> impl Strategy<Value = Layer> {
    (option::of(security()), option::of(ask()), option::of(security()))
}

fn document(defaults: Layer, everybody: Layer, agent: Layer) -> Document {
    let scope = |(security, ask, fallback): Layer| {
        let mut scope = serde_json::Map::new();
        for (name, value) in
            [("security", json!(security)), ("ask", json!(ask)), ("askFallback", json!(fallback))]
        {
            if !value.is_null() {
                scope.insert(name.to_owned(), value);
            }
        }
        scope
    };
    let document = json!({
        "version": 1, "defaults": scope(defaults), "agents": { "*": scope(everybody), "main": scope(agent) },
    });
    let Parsed::Usable(document) = parse(Some(document.to_string().as_bytes())) else {
        unreachable!("no usable document: {document}")
    };
    document
}

proptest! {
    #[test]
    fn what_is_said_of_layers_is_what_happens_under_them(
        world in world(), defaults in layer(), everybody in layer(), agent in layer(),
        wants in (option::of(security()), option::of(ask())),
    ) {
        let document = document(defaults, everybody, agent);
        let requested = Requested { security: wants.0, ask: wants.1 };
        let (policy, _) = resolve(&document, Some("main"), requested);
        check(&world, &policy);
        // What the pages show of the agent is what holds for a request without wishes.
        let (_, effective) = views(&document, &|_| Refusals::None);
        for view in effective {
            let (policy, _) = resolve(&document, Some(&view.agent), Requested::default());
            prop_assert_eq!(view.meaning, meaning(&policy, Refusals::None));
        }
    }
}
