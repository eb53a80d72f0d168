//! An evaluation as steps for a reader, written from its own data.

use super::local::doubted_by;
use super::segments::{Cover, Miss};
use super::{AskReason, DenyReason, Evaluation, Evidence, LocalRules, Subject, Verdict, Walls};
use crate::allowlist::Entry;
use crate::bind::Unbound;
use crate::display::escape;
use crate::effective::Effective;
use crate::rules::named_as_refused;
use crate::safe_bins::Refusal;
use crate::surroundings::Doubt;
use countersign_commands::analysis::{Analysis, OpaqueReason, Segment};
use countersign_commands::command::PromptReason;
use countersign_protocol::trace::{
    Advice, EntryFit, HeldCause, MissCause, RuleStanding, TestVerdict, TraceStep, UnboundCause, VerdictCause,
};
use std::path::Path;

/// The steps of `evaluation`, which judged `subject`.
pub(super) fn steps(subject: &Subject<'_>, evaluation: &Evaluation) -> Vec<TraceStep> {
    let unread = subject.analysis.unread_text();
    let mut steps = vec![policy(subject.policy)];
    // A part that nobody came to: judging it all took too much work.
    let unjudged = evaluation.covers.len() < subject.analysis.segments.len();
    let too_long = unjudged.then(|| (OpaqueReason::TooLong, shortened(&subject.analysis.source)));
    if let Some((reason, text)) = too_long.or_else(|| opaque(unread.as_ref().unwrap_or(subject.analysis))) {
        steps.push(TraceStep::Opaque { cause: reason.as_str().to_owned(), text });
    }
    steps.extend(refusal(subject, evaluation));
    for (extension, span) in subject.analysis.extensions.iter().take(LISTED) {
        let text = shortened(subject.analysis.source.get(span.clone()).unwrap_or_default());
        steps.push(TraceStep::Extension { name: extension.as_str().to_owned(), text });
    }
    match evaluation.matched.as_slice() {
        [grant] if evaluation.covers.iter().any(Result::is_err) => {
            steps.extend(entry(subject.entries.entries().get(*grant)));
        }
        _ => {
            for (segment, cover) in subject.analysis.segments.iter().zip(&evaluation.covers).take(LISTED) {
                segment_steps(&mut steps, subject, segment, cover);
            }
        }
    }
    steps.push(match (&evaluation.bound, evaluation.unbound) {
        (Some(bound), _) => {
            let real = |path| {
                real_path(subject, path).map_or_else(|| escape(path), |real| escape(&real.to_string_lossy()))
            };
            TraceStep::Bound { programs: bound.programs().map(real).collect() }
        }
        (None, unbound) => TraceStep::Unbound { cause: unbound_cause(unbound.unwrap_or(Unbound::NotStatic)) },
    });
    if !subject.unusual_env.is_empty() {
        let names = subject.unusual_env.iter().map(|name| escape(name)).collect();
        steps.push(TraceStep::Environment { names });
    }
    steps.extend(containment(subject, evaluation));
    if a_change_would_help(evaluation) {
        steps.extend(match unread.as_ref() {
            Some(unread) => advice_on_text(unread).or_else(|| advice(subject, evaluation)),
            None => advice(subject, evaluation),
        });
    }
    steps.push(verdict(&evaluation.verdict));
    steps
}

fn segment_steps(
    steps: &mut Vec<TraceStep>,
    subject: &Subject<'_>,
    segment: &Segment,
    cover: &Result<Cover, Miss>,
) {
    let typed = segment.words.first().map(|word| shortened(&word.text)).unwrap_or_default();
    steps.push(TraceStep::Segment { typed });
    if !segment.candidate.wrappers.is_empty() {
        let names = segment.candidate.wrappers.iter().filter_map(|wrapper| segment.words.get(wrapper.at));
        let through = names.map(|word| shortened(&word.text)).collect();
        let program = segment.effective().first().map(|word| shortened(&word.text)).unwrap_or_default();
        steps.push(TraceStep::Wrapper { through, program });
    }
    if matches!(cover, Ok(Cover::SafeBuiltin)) {
        steps.push(TraceStep::Builtin);
        return;
    }
    if let Err(Miss::PromptOnly(reason)) = cover {
        steps.push(TraceStep::Missed { cause: prompt_cause(*reason), detail: None });
        return;
    }
    let by_shell = segment.policy().is_some_and(|word| subject.analysis.is_by_shell(segment, word));
    if !by_shell {
        let path = path_of(subject, segment).map(|path| escape(&path.to_string_lossy()));
        steps.push(TraceStep::Resolution { path });
    }
    match cover {
        Ok(Cover::Entry(index)) => steps.extend(entry(subject.entries.entries().get(*index))),
        Ok(Cover::Rule(index)) => {
            let rule = local_rule(subject, *index);
            steps.push(TraceStep::Rule { standing: RuleStanding::Allows, rule });
        }
        Ok(Cover::SafeBin) => steps.push(TraceStep::SafeBin { refusal: None }),
        Ok(Cover::SafeBuiltin) => {}
        Ok(Cover::Skill) => steps.push(TraceStep::Skill),
        Err(miss) => missed(steps, subject, segment, miss),
    }
}

fn missed(steps: &mut Vec<TraceStep>, subject: &Subject<'_>, segment: &Segment, miss: &Miss) {
    let detail = match miss {
        Miss::NoEntry(_) => {
            steps.extend(near_entries(subject, segment));
            None
        }
        Miss::InlineEval(hit) => Some(escape(&hit.label())),
        Miss::Surroundings(Doubt::Launcher(what) | Doubt::Repository(what)) => Some(escape(what)),
        Miss::PromptOnly(_) | Miss::RelativeAfterMove | Miss::TouchesHome => None,
    };
    steps.push(TraceStep::Missed { cause: miss_cause(miss), detail });
    if let Miss::NoEntry(Some(refusal)) = miss {
        // For most programs this would only say that they are no filter.
        if !matches!(refusal, Refusal::NotListed(_)) {
            steps.push(TraceStep::SafeBin { refusal: Some(escape(&refusal.to_string())) });
        }
    }
}

/// Entries for the same program or a program of the same name that do not cover this use of it, and why.
fn near_entries(subject: &Subject<'_>, segment: &Segment) -> Vec<TraceStep> {
    let path = path_of(subject, segment);
    let name = path.and_then(Path::file_name).and_then(|name| name.to_str());
    let name = name.or_else(|| segment.policy()?.text.rsplit('/').next());
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Vec::new() };
    let near = subject.entries.entries().iter().filter_map(|rule| {
        let pattern = rule.pattern.trim();
        if pattern.starts_with('=') || pattern.rsplit('/').next() != Some(name) {
            return None;
        }
        let same_path = path.is_some_and(|path| Path::new(pattern) == path);
        let fit = if same_path && rule.generated {
            EntryFit::OtherArgumentsOrFolder
        } else if same_path || !pattern.contains('/') {
            EntryFit::OtherArguments
        } else {
            EntryFit::OtherFile
        };
        Some(TraceStep::Entry { pattern: escape(pattern), agent: escape(&rule.agent), fit })
    });
    near.take(NEAR_ENTRIES).collect()
}

/// Whether it is the command or the entries that stand in the way, and not a refusal, a policy that asks
/// about all, or what it does.
fn a_change_would_help(evaluation: &Evaluation) -> bool {
    let for_a_person = evaluation.held.as_ref().is_some_and(|held| is_for_a_person(held.cause));
    let by_a_change = matches!(
        evaluation.verdict,
        Verdict::Ask(
            AskReason::Miss | AskReason::Opaque(_) | AskReason::Uncoverable(_) | AskReason::Unbound(_)
        ) | Verdict::Deny(DenyReason::AllowlistMiss | DenyReason::AllowlistUnbound)
    );
    by_a_change && !for_a_person
}

/// Whether a box would hold it and it is for a person all the same, however it is written.
fn is_for_a_person(cause: HeldCause) -> bool {
    match cause {
        HeldCause::Discards
        | HeldCause::Machine
        | HeldCause::Remote
        | HeldCause::Rights
        | HeldCause::Secrets
        | HeldCause::Sends => true,
        HeldCause::AskAlways | HeldCause::Environment | HeldCause::NoBox | HeldCause::Unattended => false,
    }
}

/// The smallest change that would have let the command run without asking, as far as there is one.
fn advice(subject: &Subject<'_>, evaluation: &Evaluation) -> Option<TraceStep> {
    let plain = |advice| Some(TraceStep::Advice { advice, subject: None, more: 0 });
    let about = |advice, text: String| Some(TraceStep::Advice { advice, subject: Some(text), more: 0 });
    let analysis = subject.analysis;
    if analysis.opaque.is_some() {
        return advice_on_text(analysis);
    }
    let Some(index) = evaluation.missed_segments.first().copied() else {
        return match evaluation.unbound? {
            Unbound::Expansion => plain(Advice::NameFiles),
            Unbound::RelativeAfterMove => plain(Advice::WholePath),
            Unbound::ShellText => plain(Advice::WithoutShell),
            Unbound::Carrier | Unbound::NotStatic | Unbound::Unresolved => None,
        };
    };
    let segment = analysis.segments.get(index)?;
    match evaluation.covers.get(index)? {
        Err(Miss::PromptOnly(PromptReason::Assignment)) => {
            let names = segment.assignments.iter().map(|word| shortened(&word.text));
            about(Advice::DropAssignments, names.collect::<Vec<_>>().join(" "))
        }
        Err(Miss::PromptOnly(
            PromptReason::BlockedWrapper | PromptReason::PackageScript | PromptReason::TooDeep,
        )) => about(Advice::WithoutWrapper, shortened(&segment.words.first()?.text)),
        Err(Miss::RelativeAfterMove) => plain(Advice::WholePath),
        Err(Miss::NoEntry(_)) => {
            let path = path_of(subject, segment)?;
            let others = evaluation.covers.iter().filter(|cover| cover.is_err()).count() - 1;
            Some(TraceStep::Advice {
                advice: Advice::AddEntry,
                subject: Some(escape(&path.to_string_lossy())),
                more: u32::try_from(others).unwrap_or(u32::MAX),
            })
        }
        _ => None,
    }
}

/// The same for a text that could not be taken apart.
fn advice_on_text(analysis: &Analysis) -> Option<TraceStep> {
    let (reason, text) = opaque(analysis)?;
    let (advice, subject) = match reason {
        OpaqueReason::Redirect | OpaqueReason::Heredoc | OpaqueReason::HereString => {
            (Advice::DropRedirection, Some(text))
        }
        OpaqueReason::DynamicArgument | OpaqueReason::DynamicExecutable => {
            (Advice::WriteValueOut, Some(text))
        }
        OpaqueReason::CommandSubstitution | OpaqueReason::ProcessSubstitution => {
            (Advice::RunSeparately, Some(text))
        }
        OpaqueReason::Background => (Advice::RunInForeground, None),
        OpaqueReason::LineContinuation => (Advice::OneLine, None),
        _ => return None,
    };
    Some(TraceStep::Advice { advice, subject, more: 0 })
}

/// Why a text could not be taken apart, and the part of it that is the reason.
fn opaque(analysis: &Analysis) -> Option<(OpaqueReason, String)> {
    let opaque = analysis.opaque.as_ref()?;
    let text = analysis.source.get(opaque.span.clone()).unwrap_or_default();
    Some((opaque.reason, shortened(text)))
}

fn path_of<'a>(subject: &Subject<'a>, segment: &Segment) -> Option<&'a Path> {
    let program = subject.facts.programs.get(&segment.policy()?.text)?;
    program.real_path.as_deref().or(program.path.as_deref())
}

/// Where what is started at a path really lies.
fn real_path<'a>(subject: &Subject<'a>, path: &str) -> Option<&'a Path> {
    subject.facts.started_at(path)?.real_path.as_deref()
}

fn entry(rule: Option<&Entry>) -> Option<TraceStep> {
    let rule = rule?;
    Some(TraceStep::Entry {
        pattern: escape(&rule.pattern),
        agent: escape(&rule.agent),
        fit: EntryFit::Covers,
    })
}

/// What became of the open folder around the command.
fn containment(subject: &Subject<'_>, evaluation: &Evaluation) -> Option<TraceStep> {
    if let Some(held) = &evaluation.held {
        let detail = Some(held.what.clone()).filter(|what| !what.is_empty());
        return Some(TraceStep::Held { cause: held.cause, detail });
    }
    let (Verdict::Contain(_), Walls::Around(workspace)) = (&evaluation.verdict, subject.walls) else {
        return None;
    };
    Some(TraceStep::Open { folder: escape(&workspace.folder), agent: escape(&workspace.agent) })
}

/// What rules of our own have against the command.
fn refusal(subject: &Subject<'_>, evaluation: &Evaluation) -> Option<TraceStep> {
    let (standing, rule) = match (subject.local, evaluation.refused, &evaluation.verdict) {
        (_, Some(index), _) => (RuleStanding::Refuses, local_rule(subject, index)),
        (LocalRules::Unreadable, ..) => (RuleStanding::Unreadable, None),
        (_, None, Verdict::Ask(AskReason::MayBeRefused) | Verdict::Deny(DenyReason::RuleDoubt)) => {
            let rule = doubted_by(subject.local, subject.analysis, subject.facts);
            (RuleStanding::MayRefuse, rule.map(|rule| escape(&rule)))
        }
        (LocalRules::None | LocalRules::Known { .. }, None, _) => return None,
    };
    Some(TraceStep::Rule { standing, rule })
}

fn local_rule(subject: &Subject<'_>, index: usize) -> Option<String> {
    let LocalRules::Known { rules, .. } = subject.local else { return None };
    rules.rules().get(index).map(|rule| escape(&named_as_refused(rule)))
}

fn policy(policy: &Effective) -> TraceStep {
    TraceStep::Policy {
        security: policy.security.value,
        security_layer: policy.security.layer,
        ask: policy.ask.value,
        ask_layer: policy.ask.layer,
        fallback: policy.ask_fallback.value,
        fallback_layer: policy.ask_fallback.layer,
    }
}

fn prompt_cause(reason: PromptReason) -> MissCause {
    match reason {
        PromptReason::Alias => MissCause::Alias,
        PromptReason::Assignment => MissCause::Assignment,
        PromptReason::Builtin => MissCause::Builtin,
        PromptReason::BlockedWrapper | PromptReason::PackageScript => MissCause::BlockedWrapper,
        PromptReason::Carrier => MissCause::Carrier,
        PromptReason::Eval => MissCause::Eval,
        PromptReason::OddName => MissCause::OddName,
        PromptReason::Renamed => MissCause::Renamed,
        PromptReason::ShellThroughCarrier => MissCause::ShellThroughCarrier,
        PromptReason::Source => MissCause::Source,
        PromptReason::TooDeep => MissCause::TooDeep,
    }
}

/// The cause of a miss, as readers know it.
pub(super) fn miss_cause(miss: &Miss) -> MissCause {
    match miss {
        Miss::InlineEval(_) => MissCause::InlineEval,
        Miss::NoEntry(_) => MissCause::NoEntry,
        Miss::PromptOnly(reason) => prompt_cause(*reason),
        Miss::RelativeAfterMove => MissCause::RelativeAfterMove,
        Miss::Surroundings(Doubt::Launcher(_)) => MissCause::Launcher,
        Miss::Surroundings(Doubt::Repository(_)) => MissCause::Repository,
        Miss::TouchesHome => MissCause::TouchesHome,
    }
}

/// Why a command cannot be pinned, as readers know it.
pub fn unbound_cause(unbound: Unbound) -> UnboundCause {
    match unbound {
        Unbound::Carrier => UnboundCause::Carrier,
        Unbound::Expansion => UnboundCause::Expansion,
        Unbound::NotStatic => UnboundCause::NotStatic,
        Unbound::RelativeAfterMove => UnboundCause::RelativeAfterMove,
        Unbound::ShellText => UnboundCause::ShellText,
        Unbound::Unresolved => UnboundCause::Unresolved,
    }
}

fn verdict(verdict: &Verdict) -> TraceStep {
    let (verdict, cause) = match verdict {
        Verdict::Allow(evidence) => (TestVerdict::Allow, evidence_cause(evidence)),
        Verdict::Contain(_) => (TestVerdict::Contain, VerdictCause::Contained),
        Verdict::Ask(reason) => (TestVerdict::Ask, ask_cause(*reason)),
        Verdict::Deny(reason) => (TestVerdict::Deny, deny_cause(*reason)),
    };
    TraceStep::Verdict { verdict, cause }
}

fn evidence_cause(evidence: &Evidence) -> VerdictCause {
    match evidence {
        Evidence::Policy => VerdictCause::SecurityFull,
        Evidence::Entries => VerdictCause::Allowlist,
        Evidence::Person { .. } => VerdictCause::Person,
        Evidence::Forwarded(_) => VerdictCause::Forwarded,
        Evidence::AutoReview => VerdictCause::Reviewer,
        Evidence::Fallback => VerdictCause::Fallback,
        Evidence::FallbackEntries => VerdictCause::FallbackAllowlist,
        Evidence::Contained => VerdictCause::Contained,
    }
}

fn ask_cause(reason: AskReason) -> VerdictCause {
    match reason {
        AskReason::Always => VerdictCause::AskAlways,
        AskReason::Miss | AskReason::Uncoverable(_) => VerdictCause::AllowlistMiss,
        AskReason::Unbound(_) => VerdictCause::AllowlistUnbound,
        AskReason::Opaque(_) => VerdictCause::Opaque,
        AskReason::Environment => VerdictCause::Environment,
        AskReason::MayBeRefused | AskReason::RulesUnreadable => VerdictCause::RuleDoubt,
    }
}

fn deny_cause(reason: DenyReason) -> VerdictCause {
    match reason {
        DenyReason::SecurityDeny => VerdictCause::SecurityDeny,
        DenyReason::UserDenied => VerdictCause::UserDenied,
        DenyReason::AskAlways => VerdictCause::AskAlways,
        DenyReason::AllowlistMiss => VerdictCause::AllowlistMiss,
        DenyReason::AllowlistUnbound => VerdictCause::AllowlistUnbound,
        DenyReason::Rule => VerdictCause::RuleRefuses,
        DenyReason::RuleDoubt => VerdictCause::RuleDoubt,
    }
}

fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(QUOTED_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    escape(&short)
}

/// Most of the asked-for text that one line repeats, in characters.
const QUOTED_CHARS: usize = 60;

/// Most entries of the same name that are listed; a document can have hundreds.
const NEAR_ENTRIES: usize = 5;

/// Most segments and extensions that are listed; nobody reads more, and a card must stay small.
const LISTED: usize = 40;
