//! One replay of a stream under one setting.

use crate::judge::{Decision, Judged};
use crate::stream::Line;
use countersign_policy::always::Choice;
use countersign_policy::rules::{Longest, Moment, Offer, PRESETS, RuleIndex, Rung, Withheld};
use countersign_protocol::rules::{CommandRule, RuleLimits};
use std::collections::{BTreeMap, HashMap};

/// What is stored at the beginning, and what an answer stores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// For tables.
    pub(crate) name: &'static str,
    start: Start,
    learned: Option<Rung>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Start {
    Nothing,
    Everyday,
}

/// Every setting.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting { name: "nothing", start: Start::Nothing, learned: None },
    Setting { name: "everyday", start: Start::Everyday, learned: None },
    Setting { name: "exact", start: Start::Everyday, learned: Some(Rung::Exact) },
    Setting { name: "shape", start: Start::Everyday, learned: Some(Rung::Shape) },
    Setting { name: "subcommand", start: Start::Everyday, learned: Some(Rung::Subcommand) },
    Setting { name: "program", start: Start::Everyday, learned: Some(Rung::Program) },
    Setting { name: "shape only", start: Start::Nothing, learned: Some(Rung::Shape) },
];

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The setting.
    pub(crate) name: &'static str,
    /// Prompts by source.
    pub(crate) prompts: BTreeMap<String, usize>,
    /// Sensitive commands that ran without a prompt.
    pub(crate) sensitive_unasked: Vec<String>,
    /// Prompts by what caused them: why the text is opaque, or the first program that no rule covers.
    pub(crate) causes: BTreeMap<String, usize>,
    /// Rules that answers stored.
    pub(crate) stored: usize,
    /// Why an answer could store nothing for a part, and how often.
    pub(crate) withheld: BTreeMap<Withheld, usize>,
}

/// Replays all lines; what is learned is forgotten when the source changes.
pub(crate) fn replay(setting: Setting, lines: &[Line], judged: &[Judged]) -> Outcome {
    let mut outcome = Outcome { name: setting.name, ..Outcome::default() };
    let start = match setting.start {
        Start::Nothing => Vec::new(),
        Start::Everyday => PRESETS.first().map(|preset| preset.rules(0)).unwrap_or_default(),
    };
    let mut memory: HashMap<&str, RuleIndex> = HashMap::new();
    let uses = HashMap::new();
    for (line, judged) in lines.iter().zip(judged) {
        let moment = Moment { agent: AGENT, session: Some(&line.session), now_ms: 0, uses: &uses };
        let rules = memory.entry(&line.source).or_insert_with(|| RuleIndex::new(start.clone()));
        let (cause, choices) = match judged.decide(rules, moment) {
            Decision::Asked { cause, choices } => (cause, choices),
            Decision::Unasked => {
                if line.sensitive {
                    outcome.sensitive_unasked.push(line.command.clone());
                }
                continue;
            }
        };
        *outcome.prompts.entry(line.source.clone()).or_default() += 1;
        *outcome.causes.entry(cause).or_default() += 1;
        if let (Some(rung), false) = (setting.learned, line.sensitive) {
            let learned = learn(choices, rung, &line.session, &mut outcome);
            if !learned.is_empty() {
                let mut all = rules.rules().to_vec();
                all.extend(learned);
                *rules = RuleIndex::new(all);
            }
        }
    }
    outcome
}

/// Answers with `rung`, or with the widest narrower one that is offered, for as long as that may be kept.
fn learn(choices: Vec<Choice>, rung: Rung, session: &str, outcome: &mut Outcome) -> Vec<CommandRule> {
    let wanted = choices.iter().find(|choice| choice.rung == rung);
    if let Some(Err(withheld)) = wanted.map(|choice| &choice.rules) {
        *outcome.withheld.entry(*withheld).or_default() += 1;
    }
    let narrower = choices.into_iter().filter(|choice| choice.rung <= rung);
    let offers = narrower.filter_map(|choice| choice.rules.ok()).next_back().unwrap_or_default();
    let rule = |offer: Offer| {
        outcome.stored += 1;
        let longest = offer.longest;
        let mut rule = offer.into_rule(outcome.stored.to_string(), AGENT.to_owned(), 0);
        rule.limits = match longest {
            Longest::Always => RuleLimits::default(),
            Longest::Session => RuleLimits { session: Some(session.to_owned()), ..RuleLimits::default() },
        };
        rule
    };
    offers.into_iter().map(rule).collect()
}

const AGENT: &str = "main";
