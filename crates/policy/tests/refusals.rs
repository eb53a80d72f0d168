//! A refusal by name reaches what any carrier starts, and only that.

use crate::support::World;
use countersign_commands::analysis::{analyze_argv, analyze_text};
use countersign_policy::evaluate::{
    AskReason, DenyReason, Evidence, LocalRules, Origin, Subject, Verdict, Walls, evaluate,
};
use countersign_policy::rules::{Folders, Moment, RuleIndex};
use countersign_protocol::rules::ArgumentRule;
use countersign_protocol::vocabulary::{Ask, Security};
use serde::Deserialize;
use serde_json::json;
use std::collections::HashMap;

/// A command text, what is refused, and what comes of it when all else is allowed.
#[derive(Deserialize)]
struct Case {
    text: String,
    refuse: String,
    verdict: String,
    /// The same for a list that hands the text to a shell, where more of it is seen.
    list: Option<String>,
}

/// Judges a case as the text that it is, or as the list with which doors hand a text to a shell.
fn judge(case: &Case, argv: &[String]) -> String {
    let (program, words) = case.refuse.split_once(' ').unwrap_or((&case.refuse, ""));
    let arguments = ArgumentRule::beginning_with(words);
    let rule = json!({
        "id": "refused", "agent": "*", "effect": "deny", "program": program, "arguments": arguments, "createdAtMs": 0,
        "from": "typed",
    });
    let (index, uses) = (RuleIndex::new(vec![serde_json::from_value(rule).unwrap()]), HashMap::new());
    let (folders, moment) =
        (Folders::new(), Moment { agent: "main", session: None, now_ms: 100, uses: &uses });
    let world = World::new(&["sh", "-c", &case.text], Security::Full, Ask::Off);
    let analysis = if argv.is_empty() { analyze_text(&case.text) } else { analyze_argv(argv) };
    let subject = Subject {
        argv,
        analysis: &analysis,
        facts: &world.facts,
        policy: &world.policy,
        entries: &world.entries(),
        local: LocalRules::Known { rules: &index, folders: &folders, moment, unclear: None },
        trust: &world.trust,
        walls: Walls::None,
        unusual_env: &[],
        origin: Origin::Fresh,
    };
    match evaluate(&subject, None).verdict {
        Verdict::Allow(Evidence::Policy) => "allow".to_owned(),
        Verdict::Ask(AskReason::MayBeRefused) => "ask".to_owned(),
        Verdict::Deny(DenyReason::Rule) => "deny".to_owned(),
        other => format!("{other:?}"),
    }
}

#[test]
fn refusals_reach_what_carriers_start_and_nothing_else() {
    let mut wrong = Vec::new();
    for line in include_str!("refusals.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let list = ["sh", "-c", &case.text].map(str::to_owned);
        for (form, argv) in [("text", &[][..]), ("list", &list)] {
            let found = judge(&case, argv);
            let expected = case.list.as_ref().filter(|_| form == "list").unwrap_or(&case.verdict);
            if found != *expected {
                wrong.push(format!("{found} as a {form} for {line}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
