//! One replay of a stream under one setting.

use crate::boxes::{Boxes, Taken};
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
    /// Whether folders can be opened, and what runs there runs in boxes.
    pub(crate) boxed: Boxed,
}

/// Where commands run that no rule covers.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Boxed {
    /// Nowhere, until a person was asked.
    #[default]
    No,
    /// In a box, where the folder is open.
    Yes,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Start {
    Nothing,
    Everyday,
}

/// Every setting.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting { name: "nothing", start: Start::Nothing, learned: None, boxed: Boxed::No },
    Setting { name: "everyday", start: Start::Everyday, learned: None, boxed: Boxed::No },
    Setting { name: "exact", start: Start::Everyday, learned: Some(Rung::Exact), boxed: Boxed::No },
    Setting { name: "shape", start: Start::Everyday, learned: Some(Rung::Shape), boxed: Boxed::No },
    Setting { name: "subcommand", start: Start::Everyday, learned: Some(Rung::Subcommand), boxed: Boxed::No },
    Setting { name: "program", start: Start::Everyday, learned: Some(Rung::Program), boxed: Boxed::No },
    Setting { name: "shape only", start: Start::Nothing, learned: Some(Rung::Shape), boxed: Boxed::No },
];

/// The setting that boxes are measured against, and the same with boxes.
pub(crate) const BOX_SETTINGS: &[Setting] = &[
    Setting { name: "shape", start: Start::Everyday, learned: Some(Rung::Shape), boxed: Boxed::No },
    Setting { name: "shape, boxed", start: Start::Everyday, learned: Some(Rung::Shape), boxed: Boxed::Yes },
];

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The setting.
    pub(crate) name: &'static str,
    /// Whether there were boxes.
    pub(crate) boxed: Boxed,
    /// Prompts about commands by source.
    pub(crate) prompts: BTreeMap<String, usize>,
    /// Prompts about destinations that a box wanted, by source.
    pub(crate) crossings: BTreeMap<String, usize>,
    /// Prompts that opened a folder, by source.
    pub(crate) openings: BTreeMap<String, usize>,
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
    let mut outcome = Outcome { name: setting.name, boxed: setting.boxed, ..Outcome::default() };
    let start = match setting.start {
        Start::Nothing => Vec::new(),
        Start::Everyday => PRESETS.first().map(|preset| preset.rules(0)).unwrap_or_default(),
    };
    let mut memory: HashMap<&str, RuleIndex> = HashMap::new();
    let uses = HashMap::new();
    let mut boxes = Boxes::default();
    for (line, judged) in lines.iter().zip(judged) {
        let moment = Moment { agent: AGENT, session: Some(&line.session), now_ms: 0, uses: &uses };
        let rules = memory.entry(&line.source).or_insert_with(|| RuleIndex::new(start.clone()));
        let (cause, choices) = match judged.decide(rules, moment) {
            Decision::Refused { cause } => (cause, Vec::new()),
            Decision::Asked { cause, choices } => match setting.boxed {
                Boxed::No => (cause, choices),
                Boxed::Yes => match boxes.take(line, judged) {
                    Taken::Asked(cause) => (cause, choices),
                    Taken::Ran { crossings, openings } => {
                        *outcome.crossings.entry(line.source.clone()).or_default() += crossings;
                        *outcome.openings.entry(line.source.clone()).or_default() += openings;
                        outcome.ran(line);
                        continue;
                    }
                },
            },
            Decision::Unasked => {
                outcome.ran(line);
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

impl Outcome {
    /// It ran, and nobody was asked about it.
    fn ran(&mut self, line: &Line) {
        if line.sensitive {
            self.sensitive_unasked.push(line.command.clone());
        }
    }
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
