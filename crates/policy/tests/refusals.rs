//! A refusal by name reaches what any carrier starts, and only that.

use crate::support::World;
use countersign_commands::analysis::analyze_text;
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
}

fn judge(case: &Case) -> String {
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
    let analysis = analyze_text(&case.text);
    let subject = Subject {
        argv: &[],
        analysis: &analysis,
        facts: &world.facts,
        policy: &world.policy,
        entries: &world.entries(),
        local: LocalRules::Known { rules: &index, folders: &folders, moment, is_unclear: false },
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
        let found = judge(&case);
        if found != case.verdict {
            wrong.push(format!("{found} for {line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
