//! An evaluation in words, written from its own data.

use super::segments::{Cover, Miss};
use super::{Evaluation, Subject, Verdict};
use crate::allowlist::Rule;
use crate::analysis::{OpaqueReason, Segment};
use crate::bind::Unbound;
use crate::command::PromptReason;
use crate::display::escape;
use crate::effective::{Effective, Layered};
use crate::safe_bins::Refusal;
use countersign_protocol::ui::{PolicyLayer, TraceStep};
use std::path::Path;

/// The steps of `evaluation`, which judged `subject`.
pub(super) fn steps(subject: &Subject<'_>, evaluation: &Evaluation) -> Vec<TraceStep> {
    let mut steps = vec![policy(subject.policy)];
    if let Some(opaque) = &subject.analysis.opaque {
        let text = subject.analysis.source.get(opaque.span.clone()).unwrap_or_default();
        let detail = format!("{} at {}: {}", opaque.reason.as_str(), opaque.span.start, shortened(text));
        steps.push(step("opaque", Some(false), detail));
    }
    for (extension, span) in &subject.analysis.extensions {
        let text = subject.analysis.source.get(span.clone()).unwrap_or_default();
        steps.push(step("extension", None, format!("{}: {}", extension.as_str(), shortened(text))));
    }
    match evaluation.matched.as_slice() {
        [grant] if evaluation.covers.iter().any(Result::is_err) => {
            steps.push(entry(subject.rules.get(*grant)));
        }
        _ => {
            for (segment, cover) in subject.analysis.segments.iter().zip(&evaluation.covers) {
                segment_steps(&mut steps, subject, segment, cover);
            }
        }
    }
    steps.push(match (&evaluation.bound, evaluation.unbound) {
        (Some(bound), _) => {
            let programs: Vec<String> = bound.programs().map(escape).collect();
            step("bind", Some(true), programs.join(", "))
        }
        (None, unbound) => {
            step("bind", Some(false), unbound.unwrap_or(Unbound::NotStatic).as_str().to_owned())
        }
    });
    if !subject.unusual_env.is_empty() {
        let names: Vec<String> = subject.unusual_env.iter().map(|name| escape(name)).collect();
        steps.push(step("environment", Some(false), names.join(", ")));
    }
    if !matches!(evaluation.verdict, Verdict::Allow(_)) {
        steps.extend(advice(subject, evaluation).map(|detail| step("advice", None, detail)));
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
    let typed = segment.words.first().map(|word| escape(&word.text)).unwrap_or_default();
    steps.push(step("segment", None, typed));
    if !segment.candidate.wrappers.is_empty() {
        let names = segment.candidate.wrappers.iter().filter_map(|wrapper| segment.words.get(wrapper.at));
        let names: Vec<String> = names.map(|word| escape(&word.text)).collect();
        let inner = segment.effective().first().map(|word| escape(&word.text)).unwrap_or_default();
        steps.push(step("wrapper", None, format!("{} → {inner}", names.join(" → "))));
    }
    if matches!(cover, Ok(Cover::SafeBuiltin)) {
        steps.push(step("builtin", Some(true), "the shell's own, and harmless".to_owned()));
        return;
    }
    if let Err(Miss::PromptOnly(reason)) = cover {
        steps.push(step("entry", Some(false), format!("{}: no entry counts", reason.as_str())));
        return;
    }
    steps.push(match path_of(subject, segment) {
        Some(path) => step("resolution", Some(true), escape(&path.to_string_lossy())),
        None => step("resolution", Some(false), "not found".to_owned()),
    });
    match cover {
        Ok(Cover::Entry(index)) => steps.push(entry(subject.rules.get(*index))),
        Ok(Cover::SafeBin) => steps.push(step("safe-bin", Some(true), "only filters its input".to_owned())),
        Ok(Cover::SafeBuiltin) => {}
        Ok(Cover::Skill) => steps.push(step("skill", Some(true), "an installed skill's program".to_owned())),
        Err(miss) => missed(steps, subject, segment, miss),
    }
}

fn missed(steps: &mut Vec<TraceStep>, subject: &Subject<'_>, segment: &Segment, miss: &Miss) {
    let detail = match miss {
        Miss::NoEntry(_) => {
            steps.extend(near_entries(subject, segment));
            "no entry covers it".to_owned()
        }
        Miss::PromptOnly(reason) => reason.as_str().to_owned(),
        Miss::InlineEval(hit) => format!("a program on the command line: {}", escape(&hit.label())),
        Miss::RelativeAfterMove => "a relative program after the folder changed".to_owned(),
        Miss::TouchesHome => "would create a file in the home directory".to_owned(),
    };
    steps.push(step("entry", Some(false), detail));
    if let Miss::NoEntry(Some(refusal)) = miss {
        // For most programs this would only say that they are no filter.
        if !matches!(refusal, Refusal::NotListed(_)) {
            steps.push(step("safe-bin", Some(false), escape(&refusal.to_string())));
        }
    }
}

/// Entries for the same program or a program of the same name that do not cover this use of it, and why.
fn near_entries(subject: &Subject<'_>, segment: &Segment) -> Vec<TraceStep> {
    let path = path_of(subject, segment);
    let name = path.and_then(Path::file_name).and_then(|name| name.to_str());
    let name = name.or_else(|| segment.policy()?.text.rsplit('/').next());
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Vec::new() };
    let near = subject.rules.iter().filter_map(|rule| {
        let pattern = rule.pattern.trim();
        if pattern.starts_with('=') || pattern.rsplit('/').next() != Some(name) {
            return None;
        }
        let same_path = path.is_some_and(|path| Path::new(pattern) == path);
        let why = if same_path && rule.generated {
            "other arguments or another folder"
        } else if same_path || !pattern.contains('/') {
            "other arguments"
        } else {
            "another file"
        };
        Some(step("entry", Some(false), format!("{}: {why}", escape(pattern))))
    });
    near.take(NEAR_ENTRIES).collect()
}

/// The smallest change that would have let the command run without asking, as far as there is one.
fn advice(subject: &Subject<'_>, evaluation: &Evaluation) -> Option<String> {
    let analysis = subject.analysis;
    if let Some(opaque) = &analysis.opaque {
        let text = shortened(analysis.source.get(opaque.span.clone()).unwrap_or_default());
        return match opaque.reason {
            OpaqueReason::Redirect | OpaqueReason::Heredoc | OpaqueReason::HereString => {
                Some(format!("drop the redirection {text}"))
            }
            OpaqueReason::DynamicArgument | OpaqueReason::DynamicExecutable => {
                Some(format!("write the value of {text} out"))
            }
            OpaqueReason::CommandSubstitution | OpaqueReason::ProcessSubstitution => {
                Some(format!("run {text} as a command of its own"))
            }
            OpaqueReason::Background => Some("run it in the foreground".to_owned()),
            OpaqueReason::LineContinuation => Some("write it on one line".to_owned()),
            _ => None,
        };
    }
    let Some(index) = evaluation.missed_segment else {
        return match evaluation.unbound? {
            Unbound::Expansion => Some("write the names out instead of a wildcard, braces or ~".to_owned()),
            Unbound::RelativeAfterMove => Some("name the program by its whole path".to_owned()),
            Unbound::ShellText => Some("run the inner text without the shell around it".to_owned()),
            Unbound::Carrier | Unbound::NotStatic | Unbound::Unresolved => None,
        };
    };
    let segment = analysis.segments.get(index)?;
    match evaluation.covers.get(index)? {
        Err(Miss::PromptOnly(PromptReason::Assignment)) => {
            let names = segment.assignments.iter().map(|word| shortened(&word.text));
            Some(format!("drop {}", names.collect::<Vec<_>>().join(" ")))
        }
        Err(Miss::PromptOnly(PromptReason::BlockedWrapper | PromptReason::TooDeep)) => {
            let outer = segment.words.first()?;
            Some(format!("run the command without {}", escape(&outer.text)))
        }
        Err(Miss::RelativeAfterMove) => Some("name the program by its whole path".to_owned()),
        Err(Miss::NoEntry(_)) => {
            let path = path_of(subject, segment)?;
            let others = evaluation.covers.iter().filter(|cover| cover.is_err()).count() - 1;
            let more = if others > 0 { format!(" and {others} more") } else { String::new() };
            Some(format!("an entry for {}{more}", escape(&path.to_string_lossy())))
        }
        _ => None,
    }
}

fn path_of<'a>(subject: &Subject<'a>, segment: &Segment) -> Option<&'a Path> {
    let program = subject.facts.programs.get(&segment.policy()?.text)?;
    program.real_path.as_deref().or(program.path.as_deref())
}

fn entry(rule: Option<&Rule>) -> TraceStep {
    match rule {
        Some(rule) => {
            step("entry", Some(true), format!("{} ({})", escape(&rule.pattern), escape(&rule.agent)))
        }
        None => step("entry", Some(false), "no entry covers it".to_owned()),
    }
}

fn policy(policy: &Effective) -> TraceStep {
    fn part<T: std::fmt::Display>(name: &str, value: &Layered<T>) -> String {
        format!("{name} {} ({})", value.value, layer_name(value.layer))
    }
    let parts = [
        part("security", &policy.security),
        part("ask", &policy.ask),
        part("fallback", &policy.ask_fallback),
    ];
    step("policy", None, parts.join(", "))
}

fn layer_name(layer: PolicyLayer) -> &'static str {
    match layer {
        PolicyLayer::Requested => "requested",
        PolicyLayer::Agent => "agent",
        PolicyLayer::Wildcard => "*",
        PolicyLayer::Defaults => "defaults",
        PolicyLayer::BuiltIn => "built-in",
    }
}

fn verdict(verdict: &Verdict) -> TraceStep {
    let (ok, detail) = match verdict {
        Verdict::Allow(evidence) => (Some(true), format!("allow: {}", evidence.as_str())),
        Verdict::Ask(reason) => (None, format!("ask: {}", reason.as_str())),
        Verdict::Deny(reason) => (Some(false), format!("deny: {}", reason.as_str())),
    };
    step("verdict", ok, detail)
}

/// One line of the trace; `detail` must be escaped where it repeats what was asked for.
fn step(step: &str, ok: Option<bool>, detail: String) -> TraceStep {
    TraceStep { step: step.to_owned(), detail, ok }
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
