//! What a policy comes to, for people: combined from all values once, here, so that no sentence is made from
//! one switch alone. What this says is held against [`crate::evaluate()`] for every combination of layers.
//!
//! ```
//! use countersign_policy::{document, effective::Requested, meaning::meaning};
//! use countersign_protocol::meaning::{Refusals, Usually};
//!
//! let (policy, _) = document::resolve(&document::empty(), None, Requested::default());
//! assert_eq!(meaning(&policy, Refusals::None).usually, Usually::NothingRuns);
//! ```

mod view;

pub use view::{views, views_over};

use crate::allowlist::{Entry, is_path};
use crate::display::{Secrets, shown};
use crate::document::{resolve, resolve_over};
use crate::effective::{Effective, Requested};
use crate::evaluate::Covered;
use crate::rules::{Moment, RuleIndex, is_live};
use countersign_protocol::document::{Document, WILDCARD_AGENT};
use countersign_protocol::edits::Loosening;
use countersign_protocol::meaning::{Meaning, Reach, Refusals, Unanswered, Usually, Whose, Widening};
use countersign_protocol::rules::RuleEffect;
use countersign_protocol::vocabulary::{Ask, Security};
use std::collections::HashMap;

/// Whether it can be seen what a command runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Clarity {
    /// Its words say it.
    Plain,
    /// It could not be taken apart, or a program may stand in a word's text.
    Hidden,
}

/// What happens to one command that no rule refuses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fate {
    /// It runs unasked.
    Runs,
    /// A person is asked.
    Asks(Silence),
    /// It does not run.
    Refused,
}

/// What happens when nobody answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Silence {
    /// It runs.
    Runs,
    /// It does not run.
    Refused,
}

/// What `policy` comes to beside rules of the person's own.
#[must_use]
pub fn meaning(policy: &Effective, refusals: Refusals) -> Meaning {
    let usually = match (policy.security.value, policy.ask.value) {
        (Security::Deny, _) => Usually::NothingRuns,
        _ if refusals == Refusals::Unreadable => Usually::EverythingAsks,
        (Security::Allowlist | Security::Full, Ask::Always) => Usually::EverythingAsks,
        (Security::Allowlist, Ask::OnMiss) => Usually::RestAsks,
        (Security::Allowlist, Ask::Off) => Usually::RestRefused,
        (Security::Full, Ask::OnMiss | Ask::Off) => Usually::EverythingRuns,
    };
    let unanswered = match usually {
        Usually::NothingRuns => Unanswered::NeverAsked,
        // Nothing but what hides what it runs is asked about.
        Usually::EverythingRuns | Usually::RestRefused => match refusals {
            Refusals::None => Unanswered::NeverAsked,
            Refusals::Some | Refusals::Unreadable => Unanswered::Refused,
        },
        // What is covered is not asked about, and nothing else runs by a list.
        Usually::RestAsks => Unanswered::Refused,
        Usually::EverythingAsks if refusals == Refusals::Unreadable => Unanswered::Refused,
        Usually::EverythingAsks => match policy.clone().fallen_back().security.value {
            Security::Deny => Unanswered::Refused,
            Security::Allowlist => Unanswered::CoveredRuns,
            Security::Full => Unanswered::Runs,
        },
    };
    Meaning { usually, unanswered, refusals }
}

/// The same loosenings, each with what becomes of the commands of its scope under `document`, where it is
/// about what an entry or a rule allows. `built_in` holds when nothing is set.
#[must_use]
pub fn with_fates(document: &Document, built_in: &Effective, found: Vec<Loosening>) -> Vec<Loosening> {
    let told = |mut loosening: Loosening| {
        if loosening.field.is_none() && loosening.route.is_none() {
            let (policy, _) = resolve_over(document, &loosening.scope, built_in);
            loosening.usually = Some(meaning(&policy, Refusals::None).usually);
        }
        loosening
    };
    found.into_iter().map(told).collect()
}

/// What `meaning` says about a command that no rule refuses. For tests, which compare it with what
/// becomes of commands.
#[must_use]
pub fn fate(meaning: Meaning, covered: Covered, clarity: Clarity) -> Fate {
    let in_doubt = match meaning.refusals {
        Refusals::None => false,
        Refusals::Some => clarity == Clarity::Hidden,
        Refusals::Unreadable => true,
    };
    if in_doubt && meaning.usually != Usually::NothingRuns {
        return Fate::Asks(Silence::Refused);
    }
    let asks = Fate::Asks(match (meaning.unanswered, covered) {
        (Unanswered::Runs, _) | (Unanswered::CoveredRuns, Covered::ByRules) => Silence::Runs,
        (Unanswered::CoveredRuns, Covered::No) | (Unanswered::Refused | Unanswered::NeverAsked, _) => {
            Silence::Refused
        }
    });
    match (meaning.usually, covered) {
        (Usually::EverythingRuns, _) | (Usually::RestAsks | Usually::RestRefused, Covered::ByRules) => {
            Fate::Runs
        }
        (Usually::EverythingAsks, _) | (Usually::RestAsks, Covered::No) => asks,
        (Usually::RestRefused, Covered::No) | (Usually::NothingRuns, _) => Fate::Refused,
    }
}

/// What rules change for an agent in every session of its; `None` when they cannot be read.
#[must_use]
pub fn refusals(
    rules: Option<&RuleIndex>,
    agent: &str,
    now_ms: i64,
    uses: &HashMap<String, u32>,
) -> Refusals {
    let Some(rules) = rules else { return Refusals::Unreadable };
    let moment = Moment { agent, session: None, now_ms, uses };
    let refuses = rules.rules().iter().any(|rule| rule.effect == RuleEffect::Deny && is_live(rule, moment));
    if refuses { Refusals::Some } else { Refusals::None }
}

/// Whether `after` lets nearly everything run unasked that `before` does not: for whom, and what. `refusals`
/// says what rules change for an agent.
#[must_use]
pub fn widening(
    before: &Document,
    after: &Document,
    refusals: &dyn Fn(&str) -> Refusals,
) -> Option<Widening> {
    let agents: Vec<String> = views(after, refusals).1.into_iter().map(|view| view.agent).collect();
    let found: Vec<(&String, Wide)> = agents
        .iter()
        .filter_map(|agent| {
            let wide = wide(after, agent, refusals(agent))?;
            (self::wide(before, agent, refusals(agent)).as_ref() < Some(&wide)).then_some((agent, wide))
        })
        .collect();
    // Those that no document names come first.
    let (agent, wide) = found.first()?;
    let everywhere = agents.iter().all(|agent| self::wide(after, agent, refusals(agent)).is_some());
    let whose = match agent.as_str() {
        WILDCARD_AGENT if everywhere => Whose::Everybody,
        WILDCARD_AGENT => Whose::Unnamed,
        _ => Whose::Agent,
    };
    let (kind, folder) = match wide {
        Wide::Folder(folder) => (Reach::Programs, Some(shown(folder, Secrets::Show))),
        Wide::Programs => (Reach::Programs, None),
        Wide::Anything => (Reach::Anything, None),
    };
    Some(Widening { whose, shown: shown(agent, Secrets::Show), kind, folder })
}

/// What nearly everything is, from less to more.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Wide {
    /// Every program of a folder that holds a system's programs.
    Folder(String),
    /// Every program.
    Programs,
    /// Everything.
    Anything,
}

/// What an agent may run unasked, where that is nearly everything.
fn wide(document: &Document, agent: &str, refusals: Refusals) -> Option<Wide> {
    let (policy, rules) = resolve(document, Some(agent), Requested::default());
    match meaning(&policy, refusals).usually {
        Usually::EverythingRuns => Some(Wide::Anything),
        Usually::RestAsks | Usually::RestRefused => rules.iter().filter_map(reach_of).max(),
        Usually::EverythingAsks | Usually::NothingRuns => None,
    }
}

/// The programs that an entry covers, where they are nearly all.
fn reach_of(rule: &Entry) -> Option<Wide> {
    let pattern = rule.pattern.trim();
    if rule.generated || rule.arg_pattern.is_some() {
        return None;
    }
    if matches!(pattern, "*" | "**") {
        return Some(Wide::Programs);
    }
    let (folder, last) = pattern.rsplit_once('/').filter(|_| is_path(pattern))?;
    let below = format!("{folder}/");
    match last {
        "**" if folder.is_empty() => Some(Wide::Programs),
        "*" if folder == "/**" => Some(Wide::Programs),
        "**" if PROGRAM_FOLDERS.iter().any(|known| known.starts_with(&below)) => {
            Some(Wide::Folder(folder.to_owned()))
        }
        "*" | "**" if PROGRAM_FOLDERS.contains(&folder) => Some(Wide::Folder(folder.to_owned())),
        _ => None,
    }
}

/// Folders in which a system keeps its programs.
const PROGRAM_FOLDERS: [&str; 6] =
    ["/usr/local/bin", "/usr/local/sbin", "/usr/bin", "/usr/sbin", "/bin", "/sbin"];
