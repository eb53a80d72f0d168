//! Is a command covered, and can what is covered be pinned?

use super::local::Ruled;
use super::segments::{Cover, Miss, Skills, covers};
use super::{AskReason, Covered, Subject};
use crate::analysis::{OpaqueReason, Segment};
use crate::bind::{Allowed, Bound, Unbound, bind_allowed};
use crate::command::{Mode, PromptReason};
use crate::programs::Name;
use crate::raw_command::canonical_text;
use crate::shell;
use countersign_protocol::vocabulary::Ask;

/// What entries, safe bins, builtins and skills come to for a command.
pub(super) struct Coverage {
    pub(super) covered: Covered,
    pub(super) covers: Vec<Result<Cover, Miss>>,
    /// The first segment that nothing covers.
    pub(super) missed_segment: Option<usize>,
    pub(super) bound: Result<Bound, Unbound>,
    pub(super) ruled: Ruled,
    /// Whether everything is covered, pinned or not.
    satisfied: bool,
    /// A grant for this very text.
    grant: Option<usize>,
    plain_environment: bool,
    /// What makes it more than a plain miss.
    reason: Option<OpaqueReason>,
}

impl Coverage {
    pub(super) fn of(subject: &Subject<'_>) -> Self {
        let analysis = subject.analysis;
        let grant = exact_grant(subject).filter(|_| analysis.opaque.is_none());
        let skills = if subject.policy.auto_allow_skills { Skills::Allowed } else { Skills::NotAllowed };
        let ruled = Ruled::of(subject.local, analysis, subject.facts);
        let mut covers = covers(analysis, subject.facts, subject.rules, subject.trust, skills);
        for (cover, rule) in covers.iter_mut().zip(&ruled.allowed) {
            // What entries may not cover, rules may not either, but for programs that they know to read what `find` finds
            // and what a project calls its tasks.
            let may = matches!(
                cover,
                Err(Miss::NoEntry(_) | Miss::PromptOnly(PromptReason::Carrier | PromptReason::PackageScript))
            );
            if let (true, Some(index)) = (may, rule) {
                *cover = Ok(Cover::Rule(*index));
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
        let missed_segment = match grant {
            Some(_) => None,
            None => covers.iter().position(Result::is_err),
        };
        let satisfied = analysis.opaque.is_none() && missed_segment.is_none();
        let plain_environment = subject.unusual_env.is_empty();
        let covered =
            if satisfied && bound.is_ok() && plain_environment { Covered::ByRules } else { Covered::No };
        let reason = match &analysis.opaque {
            Some(opaque) => Some(opaque.reason),
            None if satisfied => bound.as_ref().err().copied().and_then(unbound_reason),
            None => missed_segment.and_then(|index| missed_reason(analysis.segments.get(index)?)),
        };
        Self { covered, covers, missed_segment, bound, ruled, satisfied, grant, plain_environment, reason }
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

    pub(super) fn ask_reason(&self, ask: Ask) -> AskReason {
        match (ask, self.reason) {
            (Ask::Always, _) => AskReason::Always,
            (Ask::Off | Ask::OnMiss, Some(reason)) => AskReason::Opaque(reason),
            (Ask::Off | Ask::OnMiss, None) if self.satisfied && !self.plain_environment => {
                AskReason::Environment
            }
            (Ask::Off | Ask::OnMiss, None) => AskReason::Miss,
        }
    }
}

/// A grant for the exact text counts only when the text means these very arguments to a shell: it was given for a text,
/// and different argument lists can have the same one.
fn exact_grant(subject: &Subject<'_>) -> Option<usize> {
    if !subject.rules.grants_texts() {
        return None;
    }
    let text = canonical_text(subject.argv);
    let index = subject.rules.exact_grant(&text)?;
    let script = shell::parse(&text).ok()?;
    let [command] = script.commands.as_slice() else { return None };
    let plain = script.extensions.is_empty() && command.assignments.is_empty() && !command.negated;
    let literal = command.words.iter().all(|word| !word.expands);
    let same = command.words.iter().map(|word| &word.text).eq(subject.argv);
    (plain && literal && same).then_some(index)
}

/// What a person is told about a command that entries cover and that cannot be pinned.
fn unbound_reason(unbound: Unbound) -> Option<OpaqueReason> {
    match unbound {
        Unbound::Carrier => Some(OpaqueReason::Carrier),
        Unbound::Expansion => Some(OpaqueReason::Expansion),
        Unbound::NotStatic => Some(OpaqueReason::Sequence),
        Unbound::ShellText => Some(OpaqueReason::Shell),
        Unbound::RelativeAfterMove | Unbound::Unresolved => None,
    }
}

/// What a person is told about a segment that nothing covers, where it is more than that.
fn missed_reason(segment: &Segment) -> Option<OpaqueReason> {
    match segment.candidate.mode {
        Mode::PromptOnly(PromptReason::Assignment) => return Some(OpaqueReason::Assignment),
        Mode::PromptOnly(PromptReason::OddName) => return None,
        Mode::PromptOnly(_) => return Some(OpaqueReason::Carrier),
        Mode::ExactCommand => return Some(OpaqueReason::Shell),
        Mode::Executable => {}
    }
    let (program, arguments) = segment.effective().split_first()?;
    let name = Name::of(&program.text);
    if segment.candidate.shell.is_some() || name.is_shell() {
        Some(OpaqueReason::Shell)
    } else if name.is_multi_call() || name.is_carrier(arguments.iter().map(|word| word.text.as_str())) {
        Some(OpaqueReason::Carrier)
    } else {
        None
    }
}
