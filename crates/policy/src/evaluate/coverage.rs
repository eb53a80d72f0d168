//! Do entries cover a command, and can what they cover be pinned? The steps go into the trace as they happen.

use super::{AskReason, Covered, Subject, step};
use crate::allowlist::{self, Rule, Target};
use crate::analysis::{OpaqueReason, Segment, lexer};
use crate::bind::{Unbound, bind};
use crate::display::escape;
use crate::facts::ProgramFacts;
use crate::raw_command::canonical_text;
use countersign_protocol::ui::TraceStep;
use countersign_protocol::vocabulary::Ask;

/// What the entries say about a command.
pub(super) struct Coverage {
    pub(super) covered: Covered,
    /// The first segment that no entry covers.
    pub(super) missed_segment: Option<usize>,
    pub(super) bound: Result<Vec<String>, Unbound>,
    opaque: Option<OpaqueReason>,
    /// Index of the winning entry of each segment; empty unless every segment has one.
    winners: Vec<usize>,
    plain_environment: bool,
}

impl Coverage {
    pub(super) fn of(subject: &Subject<'_>, trace: &mut Vec<TraceStep>) -> Self {
        let bound = bind(subject.argv, subject.analysis, subject.facts);
        let (winners, missed_segment) = winners(subject, trace);
        trace.push(match &bound {
            Ok(argv) => step("bind", Some(true), argv.first().map(|path| escape(path)).unwrap_or_default()),
            Err(unbound) => step("bind", Some(false), unbound_text(*unbound).to_owned()),
        });
        let plain_environment = subject.unusual_env.is_empty();
        if !plain_environment {
            let names: Vec<String> = subject.unusual_env.iter().map(|name| escape(name)).collect();
            trace.push(step("environment", Some(false), names.join(", ")));
        }
        let covered = if !winners.is_empty() && bound.is_ok() && plain_environment {
            Covered::ByRules
        } else {
            Covered::No
        };
        let opaque = subject.analysis.opaque.as_ref().map(|opaque| opaque.reason);
        Self { covered, missed_segment, bound, opaque, winners, plain_environment }
    }

    /// The winning entries, when they cover everything.
    pub(super) fn winners(&self, rules: &[Rule]) -> Vec<Rule> {
        match self.covered {
            Covered::ByRules => self.winners.iter().filter_map(|index| rules.get(*index)).cloned().collect(),
            Covered::No => Vec::new(),
        }
    }

    /// Whether entries matched everything and only pinning failed.
    pub(super) fn only_binding_failed(&self) -> bool {
        !self.winners.is_empty() && self.bound.is_err()
    }

    pub(super) fn ask_reason(&self, ask: Ask) -> AskReason {
        match (ask, self.opaque) {
            (Ask::Always, _) => AskReason::Always,
            (Ask::Off | Ask::OnMiss, Some(reason)) => AskReason::Opaque(reason),
            (Ask::Off | Ask::OnMiss, None) if !self.winners.is_empty() && !self.plain_environment => {
                AskReason::Environment
            }
            (Ask::Off | Ask::OnMiss, None) => AskReason::Miss,
        }
    }
}

/// The winning entry of each segment and no miss, or no winners and the first miss.
fn winners(subject: &Subject<'_>, trace: &mut Vec<TraceStep>) -> (Vec<usize>, Option<usize>) {
    let analysis = subject.analysis;
    if let Some(opaque) = &analysis.opaque {
        trace.push(step("segment", Some(false), opaque.reason.as_str().to_owned()));
        return (Vec::new(), None);
    }
    if let Some(index) = exact_grant(subject) {
        trace.push(entry_step(subject.rules.get(index)));
        return (vec![index], None);
    }
    let mut winners = Vec::with_capacity(analysis.segments.len());
    for (position, segment) in analysis.segments.iter().enumerate() {
        let Some(index) = segment_winner(subject, segment, trace) else {
            return (Vec::new(), Some(position));
        };
        winners.push(index);
    }
    (winners, None)
}

/// A grant for the exact text counts only when the text means these very arguments to a shell: it was given for a text,
/// and different argument lists can have the same one.
fn exact_grant(subject: &Subject<'_>) -> Option<usize> {
    let text = canonical_text(subject.argv);
    let index = allowlist::exact_grant(subject.rules, &text)?;
    let words = lexer::split(&text).ok()?;
    words.iter().map(|word| &word.text).eq(subject.argv).then_some(index)
}

fn segment_winner(subject: &Subject<'_>, segment: &Segment, trace: &mut Vec<TraceStep>) -> Option<usize> {
    let (executable, arguments) = segment.words.split_first()?;
    trace.push(step("segment", None, escape(&executable.text)));
    let unknown = ProgramFacts::default();
    let program = subject.facts.programs.get(&executable.text).unwrap_or(&unknown);
    trace.push(match program.real_path.as_deref().or(program.path.as_deref()) {
        Some(path) => step("resolution", Some(true), escape(&path.to_string_lossy())),
        None => step("resolution", Some(false), "not found".to_owned()),
    });
    let args: Vec<String> = arguments.iter().map(|word| word.text.clone()).collect();
    let winner = allowlist::matching(
        subject.rules,
        Target {
            typed: &executable.text,
            program,
            args: &args,
            cwd: subject.facts.cwd.as_ref().and_then(|folder| folder.real_path.to_str()),
            home: &subject.facts.home,
        },
    );
    trace.push(entry_step(winner.and_then(|index| subject.rules.get(index))));
    winner
}

fn entry_step(rule: Option<&Rule>) -> TraceStep {
    match rule {
        Some(rule) => {
            step("entry", Some(true), format!("{} ({})", escape(&rule.pattern), escape(&rule.agent)))
        }
        None => step("entry", Some(false), "no entry covers it".to_owned()),
    }
}

fn unbound_text(unbound: Unbound) -> &'static str {
    match unbound {
        Unbound::Carrier => "runs another program",
        Unbound::NotStatic => "not one plain command",
        Unbound::Unresolved => "program not found",
    }
}
