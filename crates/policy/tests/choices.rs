//! The ladder for whole commands: what is offered lets the command run the next time, and nothing
//! else is offered.

use crate::support::World;
use countersign_commands::analysis::analyze_argv;
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::always::{Choice, choices};
use countersign_policy::evaluate::{Evidence, LocalRules, Subject, Verdict, Walls, evaluate};
use countersign_policy::rules::{Folders, Moment, RuleIndex};
use countersign_protocol::remember::{Rung, Withheld};
use countersign_protocol::rules::CommandRule;
use countersign_protocol::vocabulary::{Ask, Security};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::collections::HashMap;

fn in_world<T>(
    world: &World,
    rules: Vec<CommandRule>,
    agent: &str,
    ask: impl FnOnce(&Subject<'_>) -> T,
) -> T {
    let analysis = analyze_argv(&world.argv);
    let (index, folders, uses) = (RuleIndex::new(rules), Folders::new(), HashMap::new());
    let moment = Moment { agent, session: None, now_ms: 100, uses: &uses };
    ask(&Subject {
        argv: &world.argv,
        analysis: &analysis,
        facts: &world.facts,
        policy: &world.policy,
        entries: &EntryIndex::new(world.rules.clone()),
        local: LocalRules::Known { rules: &index, folders: &folders, moment, unclear: None },
        trust: &world.trust,
        walls: Walls::None,
        unusual_env: &world.unusual_env,
        origin: world.origin,
    })
}

fn offered(world: &World, rules: &[CommandRule], agent: &str) -> Vec<Choice> {
    in_world(world, rules.to_vec(), agent, |subject| choices(subject, &evaluate(subject, None)))
}

/// What each rung offers: how many rules, or why none. Whatever is offered must keep what it promises.
fn check(world: &World, rules: &[CommandRule], expected: [Result<usize, Withheld>; 4]) {
    let choices = offered(world, rules, "main");
    let found: Vec<_> =
        choices.iter().map(|choice| choice.rules.as_ref().map(Vec::len).map_err(|cause| *cause)).collect();
    assert_eq!(found, expected, "{:?}", world.argv);
    for choice in &choices {
        let Ok(offers) = &choice.rules else { continue };
        let mut all = rules.to_vec();
        for (at, offer) in offers.iter().enumerate() {
            all.push(offer.clone().into_rule(format!("new {at}"), "main".to_owned(), 0));
        }
        let verdict = in_world(world, all, "main", |subject| evaluate(subject, None).verdict);
        assert_eq!(verdict, Verdict::Allow(Evidence::Entries), "{:?} {:?}", world.argv, choice.rung);
    }
}

fn world(argv: &[&str]) -> World {
    World::new(argv, Security::Allowlist, Ask::OnMiss)
}

fn rule(id: &str, effect: &str, program: &str) -> CommandRule {
    let rule = json!({
        "id": id, "agent": "*", "effect": effect, "program": program, "arguments": "any",
        "createdAtMs": 0, "from": "typed",
    });
    serde_json::from_value(rule).unwrap()
}

#[test]
fn each_rung_lets_the_command_run_or_says_why_it_is_missing() {
    use Withheld::{Dangerous, NoSubcommand, RunsItsArguments};
    check(&world(&["git", "log", "--oneline"]), &[], [Ok(1), Ok(1), Ok(1), Err(Dangerous)]);
    check(&world(&["ls", "-l"]), &[], [Ok(1), Ok(1), Err(NoSubcommand), Ok(1)]);
    check(&world(&["rm", "x"]), &[], [Ok(1), Err(Dangerous), Err(Dangerous), Err(Dangerous)]);
    check(&world(&["python3", "x.py"]), &[], [Err(RunsItsArguments); 4]);
}

#[test]
fn a_program_that_this_user_could_replace_is_offered_on_no_rung() {
    let mut world = world(&["ls", "-l"]);
    world.facts.programs.get_mut("ls").unwrap().writable = true;
    check(&world, &[], [Err(Withheld::Writable); 4]);
}

#[test]
fn a_chain_gets_a_rule_for_each_part_that_nothing_covers() {
    let chain = world(&["sh", "-c", "git log --oneline | ls -l"]);
    check(&chain, &[], [Ok(2), Ok(2), Ok(2), Ok(2)]);
    let git = rule("g", "allow", "git");
    check(&chain, &[git], [Ok(1), Ok(1), Err(Withheld::NoSubcommand), Ok(1)]);
    let many = "ls 1; ls 2; ls 3; ls 4; ls 5; ls 6; ls 7";
    check(&world(&["sh", "-c", many]), &[], [Err(Withheld::NoEffect); 4]);
}

#[test]
fn nothing_is_offered_that_would_not_help() {
    let always = World::new(&["ls", "-l"], Security::Allowlist, Ask::Always);
    let mut unusual = world(&["ls", "-l"]);
    unusual.unusual_env = vec!["ODD".to_owned()];
    let refused = [rule("d", "deny", "ls")];
    let hidden = world(&["sh", "-c", "while ls; do ls; done"]);
    let no_effect = Err(Withheld::NoEffect);
    let nothing = [no_effect, no_effect, Err(Withheld::NoSubcommand), no_effect];
    check(&always, &[], nothing);
    check(&unusual, &[], nothing);
    check(&world(&["ls", "-l"]), &refused, nothing);
    check(&hidden, &[], [Err(Withheld::RunsItsArguments); 4]);
}

#[test]
fn an_agent_that_calls_itself_all_agents_gets_no_rule_for_all_agents() {
    let choices = offered(&world(&["ls", "-l"]), &[], "*");
    assert!(choices.iter().all(|choice| choice.rules == Err(Withheld::NoEffect)), "{choices:?}");
    let choices = offered(&world(&["ls", "-l"]), &[], "main");
    assert!(choices.iter().any(|choice| choice.rung == Rung::Program && choice.rules.is_ok()));
}
