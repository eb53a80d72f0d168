//! The ladder for a whole command: at each rung the rules of our own that it lacks. A rung is offered only
//! when the same evaluation would let the command run with these rules, so that no answer promises what
//! it does not keep.

use crate::evaluate::{Evaluation, Evidence, LocalRules, Subject, Verdict, evaluate};
use crate::rules::{Offer, RuleIndex, Rung, Step, Withheld, folders_of, ladder, with_invocations};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::rules::{CommandRule, RuleEffect};

/// One rung for a whole command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Choice {
    /// Which.
    pub rung: Rung,
    /// The rules that would be stored together, or why none would.
    pub rules: Result<Vec<Offer>, Withheld>,
}

/// The four rungs for what was asked about, narrowest first. `evaluation` is that of `subject`, unanswered.
pub fn choices(subject: &Subject<'_>, evaluation: &Evaluation) -> Vec<Choice> {
    let mut offered: Vec<Vec<Offer>> = Vec::new();
    let ladders = ladders(subject, evaluation);
    RUNGS
        .into_iter()
        .map(|rung| {
            let rules = ladders.as_ref().map_err(|cause| *cause).and_then(|ladders| at(ladders, rung));
            let rules = rules.and_then(|rules| {
                if offered.contains(&rules) {
                    Err(Withheld::NothingMore)
                } else if is_enough(subject, evaluation, &rules) {
                    Ok(rules)
                } else {
                    Err(Withheld::NoEffect)
                }
            });
            offered.extend(rules.clone().ok());
            Choice { rung, rules }
        })
        .collect()
}

/// A ladder for each place in which a part that nothing covers may run.
fn ladders(subject: &Subject<'_>, evaluation: &Evaluation) -> Result<Vec<Vec<Step>>, Withheld> {
    let LocalRules::Known { folders, moment, .. } = subject.local else { return Err(Withheld::NoEffect) };
    // An agent that calls itself all agents gets no rule for all agents.
    if moment.agent == WILDCARD_AGENT {
        return Err(Withheld::NoEffect);
    }
    let places = folders_of(subject.analysis, subject.facts, folders);
    let mut ladders = Vec::new();
    for (at, (places, _)) in
        places.iter().zip(&evaluation.covers).enumerate().filter(|(_, (_, cover))| cover.is_err())
    {
        ladders.extend(with_invocations(subject.analysis, at, places, subject.facts, ladder));
    }
    if ladders.is_empty() || ladders.len() > MAX_RULES {
        return Err(Withheld::NoEffect);
    }
    Ok(ladders)
}

/// The rules of one rung: for each part the widest offer that is not wider. At least one part must reach the
/// rung itself, else it would be the rung below.
fn at(ladders: &[Vec<Step>], rung: Rung) -> Result<Vec<Offer>, Withheld> {
    let mut rules = Vec::new();
    let mut missing = None;
    let mut is_reached = false;
    for steps in ladders {
        let mut upwards = steps.iter().filter(|step| step.rung <= rung);
        let top = upwards.clone().next_back().map(|step| &step.offer);
        match top {
            Some(Ok(_)) => is_reached = true,
            Some(Err(cause)) => missing = missing.or(Some(*cause)),
            None => {}
        }
        let widest = upwards.rfind(|step| step.offer.is_ok()).and_then(|step| step.offer.as_ref().ok());
        let offer = widest.ok_or(missing.unwrap_or(Withheld::NoEffect))?;
        if !rules.contains(offer) {
            rules.push(offer.clone());
        }
    }
    if is_reached { Ok(rules) } else { Err(missing.unwrap_or(Withheld::NoEffect)) }
}

/// Whether the command would run with these rules and those that have a say already.
fn is_enough(subject: &Subject<'_>, evaluation: &Evaluation, offers: &[Offer]) -> bool {
    let LocalRules::Known { rules, folders, moment, unclear } = subject.local else { return false };
    let has_a_say = |(index, rule): &(usize, &CommandRule)| {
        rule.effect == RuleEffect::Deny || evaluation.covers_by_rule(*index)
    };
    let mut all: Vec<CommandRule> =
        rules.rules().iter().enumerate().filter(has_a_say).map(|(_, rule)| rule.clone()).collect();
    for (index, offer) in offers.iter().enumerate() {
        let id = format!("{}offer {index}", all.len());
        all.push(offer.clone().into_rule(id, moment.agent.to_owned(), moment.now_ms));
    }
    let index = RuleIndex::new(all);
    let local = LocalRules::Known { rules: &index, folders, moment, unclear };
    matches!(evaluate(&Subject { local, ..*subject }, None).verdict, Verdict::Allow(Evidence::Entries))
}

const RUNGS: [Rung; 4] = [Rung::Exact, Rung::Shape, Rung::Subcommand, Rung::Program];

/// Most rules that one answer may leave behind: more are not read before they are stored.
const MAX_RULES: usize = 6;
