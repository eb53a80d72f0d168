//! Is a command covered, and can what is covered be pinned?

use super::local::Ruled;
use super::segments::{Cover, Miss, Skills, covers};
use super::trace::miss_cause;
use super::{AskReason, Covered, Subject};
use crate::bind::{Allowed, Bound, Unbound, bind_allowed};
use crate::work::{self, Effort};
use countersign_commands::analysis::{Analysis, OpaqueReason};
use countersign_commands::command::{Mode, PromptReason};
use countersign_commands::raw_command::canonical_text;
use countersign_commands::shell;
use countersign_protocol::trace::MissCause;
use countersign_protocol::vocabulary::Ask;

/// What entries, safe bins, builtins and skills come to for a command.
pub(super) struct Coverage {
    pub(super) covered: Covered,
    pub(super) covers: Vec<Result<Cover, Miss>>,
    /// The segments that nothing covers.
    pub(super) missed_segments: Vec<usize>,
    pub(super) bound: Result<Bound, Unbound>,
    pub(super) ruled: Ruled,
    /// Whether everything is covered, pinned or not.
    satisfied: bool,
    /// A grant for this very text.
    grant: Option<usize>,
    plain_environment: bool,
    /// Why it could not be taken apart.
    opaque: Option<OpaqueReason>,
}

impl Coverage {
    /// What they come to; nothing, as for a command that could not be taken apart, when that
    /// takes too much work.
    pub(super) fn of(subject: &Subject<'_>) -> Self {
        let (coverage, effort) = work::limited(|| Self::worked_out(subject));
        match effort {
            Effort::Done => coverage,
            Effort::TooMuch => Self::too_much(subject),
        }
    }

    fn too_much(subject: &Subject<'_>) -> Self {
        Self {
            covered: Covered::No,
            covers: Vec::new(),
            missed_segments: Vec::new(),
            bound: Err(Unbound::NotStatic),
            ruled: Ruled::unknown(subject.local),
            satisfied: false,
            grant: None,
            plain_environment: subject.unusual_env.is_empty(),
            opaque: Some(OpaqueReason::TooLong),
        }
    }

    fn worked_out(subject: &Subject<'_>) -> Self {
        let analysis = subject.analysis;
        let grant = exact_grant(subject).filter(|_| analysis.opaque.is_none());
        let skills = if subject.policy.auto_allow_skills { Skills::Allowed } else { Skills::NotAllowed };
        let ruled = Ruled::of(subject.local, analysis, subject.facts);
        let mut covers = covers(analysis, subject.facts, subject.entries, subject.trust, skills);
        for (cover, rule) in covers.iter_mut().zip(&ruled.allowed) {
            // What entries may not cover, rules may not either, but for programs that they know to read what
            // `find` finds and what a project calls its tasks.
            let may = matches!(
                cover,
                Err(Miss::NoEntry(_) | Miss::PromptOnly(PromptReason::Carrier | PromptReason::PackageScript))
            );
            if let (true, Some(index)) = (may, rule) {
                *cover = Ok(Cover::Rule(*index));
            }
        }
        for (cover, held) in covers.iter_mut().zip(&ruled.held) {
            if let (Err(Miss::NoEntry(_)), Some(doubt)) = (&cover, held) {
                *cover = Err(Miss::Surroundings(doubt.clone()));
            }
        }
        let allowed: Vec<Allowed> = covers
            .iter()
            .zip(&analysis.segments)
            .map(|(cover, segment)| match cover {
                Ok(Cover::Rule(index))
                    if segment.candidate.mode == Mode::Executable
                        || segment.candidate.is_package_script() =>
                {
                    subject.local.allowed(*index)
                }
                Ok(Cover::Rule(_)) => Allowed::Readers,
                Ok(Cover::Entry(_) | Cover::SafeBin | Cover::SafeBuiltin | Cover::Skill) | Err(_) => {
                    Allowed::Program
                }
            })
            .collect();
        let bound = bind_allowed(analysis, subject.facts, &allowed);
        let missed_segments: Vec<usize> = match grant {
            Some(_) => Vec::new(),
            None => covers.iter().enumerate().filter(|(_, cover)| cover.is_err()).map(|(at, _)| at).collect(),
        };
        let satisfied = analysis.opaque.is_none() && missed_segments.is_empty();
        let plain_environment = subject.unusual_env.is_empty();
        let covered =
            if satisfied && bound.is_ok() && plain_environment { Covered::ByRules } else { Covered::No };
        let opaque = analysis.opaque.as_ref().map(|opaque| opaque.reason);
        Self { covered, covers, missed_segments, bound, ruled, satisfied, grant, plain_environment, opaque }
    }

    /// Indexes of the entries that cover it, each once.
    pub(super) fn winners(&self) -> Vec<usize> {
        if self.covered == Covered::No {
            return Vec::new();
        }
        if let Some(grant) = self.grant {
            return vec![grant];
        }
        let mut winners = Vec::new();
        for cover in &self.covers {
            if let Ok(Cover::Entry(index)) = cover
                && !winners.contains(index)
            {
                winners.push(*index);
            }
        }
        winners
    }

    /// Indexes of the rules of our own that cover it, each once.
    pub(super) fn spends(&self) -> Vec<usize> {
        if self.covered == Covered::No || self.grant.is_some() {
            return Vec::new();
        }
        let mut rules = Vec::new();
        for cover in &self.covers {
            if let Ok(Cover::Rule(index)) = cover
                && !rules.contains(index)
            {
                rules.push(*index);
            }
        }
        rules
    }

    /// Whether everything is covered and only pinning failed.
    pub(super) fn only_binding_failed(&self) -> bool {
        self.satisfied && self.bound.is_err()
    }

    pub(super) fn ask_reason(&self, ask: Ask, analysis: &Analysis) -> AskReason {
        if ask == Ask::Always {
            return AskReason::Always;
        }
        if let Some(reason) = self.opaque {
            return AskReason::Opaque(reason);
        }
        if let Some(miss) = self.missed_segments.first().and_then(|at| self.covers.get(*at)?.as_ref().err()) {
            return match miss_cause(miss) {
                // The text that a shell is given could not be taken apart, so that no entry for a
                // part of it is found.
                MissCause::NoEntry => match analysis.unread_text().and_then(|unread| unread.opaque) {
                    Some(opaque) => AskReason::Opaque(opaque.reason),
                    None => AskReason::Miss,
                },
                cause => AskReason::Uncoverable(cause),
            };
        }
        match &self.bound {
            Err(unbound) => AskReason::Unbound(*unbound),
            Ok(_) if !self.plain_environment => AskReason::Environment,
            Ok(_) => AskReason::Miss,
        }
    }
}

/// A grant for the exact text counts only when the text means these very arguments to a shell: it was given
/// for a text, and different argument lists can have the same one.
fn exact_grant(subject: &Subject<'_>) -> Option<usize> {
    if !subject.entries.grants_texts() {
        return None;
    }
    let text = canonical_text(subject.argv);
    let index = subject.entries.exact_grant(&text)?;
    let script = shell::parse(&text).ok()?;
    let [command] = script.commands.as_slice() else { return None };
    let plain = script.extensions.is_empty() && command.assignments.is_empty() && !command.negated;
    let literal = command.words.iter().all(|word| !word.expands);
    let same = command.words.iter().map(|word| &word.text).eq(subject.argv);
    (plain && literal && same).then_some(index)
}
