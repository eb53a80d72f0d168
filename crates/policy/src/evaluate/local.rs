//! What rules of our own come to for a command, see [`crate::rules`].

use super::AskReason;
use crate::bind::Allowed;
use crate::facts::Facts;
use crate::rules::{self, Folders, Moment, RuleIndex, Ruling, folders_of, is_live, rulings};
use crate::surroundings::{self, Doubt as Surrounding};
use countersign_commands::analysis::{Analysis, Segment};
use countersign_commands::command::ShellUse;
use countersign_protocol::rules::{ArgumentRule, CommandRule, RuleEffect};
use std::collections::BTreeSet;

/// Rules of our own. They stand beside the entries of the document: an allowing one counts like an entry, a
/// refusing one wins over everything.
#[derive(Clone, Copy, Debug)]
pub enum LocalRules<'a> {
    /// There are none.
    None,
    /// These.
    Known {
        /// Prepared for lookup.
        rules: &'a RuleIndex,
        /// Real paths of folders that the command moves to.
        folders: &'a Folders,
        /// Under which circumstances they are asked.
        moment: Moment<'a>,
        /// The rule about calls, in words, that refuses what the command may do without saying so.
        unclear: Option<&'a str>,
    },
    /// They could not be read, and one of them may refuse the command.
    Unreadable,
}

impl LocalRules<'_> {
    /// How much the rule with this index allows.
    pub(super) fn allowed(self, index: usize) -> Allowed {
        match self {
            Self::Known { rules, .. } => match rules.rules().get(index) {
                Some(rule) if rules::names_its_tasks(rule) => Allowed::Tasks,
                Some(rule) if rules::asks_for_a_version(rule) => Allowed::Version,
                Some(CommandRule { arguments: ArgumentRule::Exact { .. }, .. }) => Allowed::Words,
                Some(_) => Allowed::Named,
                None => Allowed::Program,
            },
            Self::None | Self::Unreadable => Allowed::Program,
        }
    }
}

/// Why rules of ours need a person, whatever else allows the command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Doubt {
    /// It hides what it runs or does, and there are rules that refuse.
    Hidden,
    /// Nobody knows what the rules say.
    Unreadable,
}

impl From<Doubt> for AskReason {
    fn from(doubt: Doubt) -> Self {
        match doubt {
            Doubt::Hidden => Self::MayBeRefused,
            Doubt::Unreadable => Self::RulesUnreadable,
        }
    }
}

/// What they come to.
#[derive(Debug, Default)]
pub(super) struct Ruled {
    /// Index of a rule that refuses.
    pub(super) refused: Option<usize>,
    /// Index of the rule that allows each segment; empty for an opaque command.
    pub(super) allowed: Vec<Option<usize>>,
    /// What lies around a segment and keeps a rule from allowing it.
    pub(super) held: Vec<Option<Surrounding>>,
    pub(super) doubt: Option<Doubt>,
}

impl Ruled {
    pub(super) fn of(local: LocalRules<'_>, analysis: &Analysis, facts: &Facts) -> Self {
        let (rules, folders, moment, unclear) = match local {
            LocalRules::None => return Self::default(),
            LocalRules::Unreadable => return Self { doubt: Some(Doubt::Unreadable), ..Self::default() },
            LocalRules::Known { rules, folders, moment, unclear } => (rules, folders, moment, unclear),
        };
        let mut ruled = Self { doubt: unclear.map(|_| Doubt::Hidden), ..Self::default() };
        if rules.rules().is_empty() {
            return ruled;
        }
        let places = folders_of(analysis, facts, folders);
        // One use lets one command run, however many of a text it covers.
        let mut used = BTreeSet::new();
        for (at, ruling) in rulings(analysis, facts, folders, rules, moment).into_iter().enumerate() {
            let (mut allowed, mut held) = (None, None);
            match ruling {
                Some(Ruling::Deny(index)) => {
                    ruled.refused.get_or_insert(index);
                }
                Some(Ruling::Allow(index)) => {
                    let around = places.get(at).map(Vec::as_slice).unwrap_or_default();
                    held = surroundings::doubt(analysis, at, around, facts);
                    let says_enough =
                        |segment: &Segment| held.is_none() && says_enough(rules, index, segment);
                    let is_counted = rules.rules().get(index).is_some_and(|rule| rule.limits.uses.is_some());
                    let has_use = !is_counted || (!analysis.has_loop() && used.insert(index));
                    allowed = analysis
                        .segments
                        .get(at)
                        .is_some_and(|one| has_use && says_enough(one))
                        .then_some(index);
                }
                None => {}
            }
            ruled.allowed.push(allowed);
            ruled.held.push(held);
        }
        if one_refuses(rules, moment) && may_refuse(rules, (analysis, facts), (folders, moment)) {
            ruled.doubt = Some(Doubt::Hidden);
        }
        ruled
    }

    /// What they come to for a command that was not looked through to its end.
    pub(super) fn unknown(local: LocalRules<'_>) -> Self {
        let doubt = match local {
            LocalRules::None => None,
            LocalRules::Unreadable => Some(Doubt::Unreadable),
            LocalRules::Known { rules, moment, unclear, .. } => {
                (unclear.is_some() || one_refuses(rules, moment)).then_some(Doubt::Hidden)
            }
        };
        Self { doubt, ..Self::default() }
    }
}

/// Whether rules that refuse may be about a command that does not say so.
fn may_refuse(
    rules: &RuleIndex,
    (analysis, facts): (&Analysis, &Facts),
    (folders, moment): (&Folders, Moment<'_>),
) -> bool {
    rules::may_be_hidden(analysis, facts, rules, moment)
        || rules::may_be_refused(analysis, facts, folders, rules, moment)
}

/// The first rule that by itself would have a command asked about that does not say what it runs, as it is
/// named; `None` where that takes more than [`DOUBTED`] of them.
pub(super) fn doubted_by(local: LocalRules<'_>, analysis: &Analysis, facts: &Facts) -> Option<String> {
    let LocalRules::Known { rules, folders, moment, unclear } = local else { return None };
    if let Some(unclear) = unclear {
        return Some(unclear.to_owned());
    }
    let refusing =
        rules.rules().iter().filter(|rule| rule.effect == RuleEffect::Deny && is_live(rule, moment));
    let alone = |rule: &&CommandRule| RuleIndex::new(vec![(*rule).clone()]);
    refusing
        .take(DOUBTED)
        .find(|rule| may_refuse(&alone(rule), (analysis, facts), (folders, moment)))
        .map(rules::named_as_refused)
}

/// Most rules that are asked one by one which of them raises a doubt.
const DOUBTED: usize = 32;

fn one_refuses(rules: &RuleIndex, moment: Moment<'_>) -> bool {
    rules.rules().iter().any(|rule| rule.effect == RuleEffect::Deny && is_live(rule, moment))
}

/// For a shell that was told something its name alone says nothing about what runs.
fn says_enough(rules: &RuleIndex, index: usize, segment: &Segment) -> bool {
    let any = rules.rules().get(index).is_none_or(|rule| rule.arguments == ArgumentRule::Any);
    match segment.candidate.shell {
        None | Some(ShellUse::Bare) => true,
        Some(_) => !any,
    }
}
