//! What the newest peer would store for "always" (docs/protocol/document.md, "Always"), for comparing with it
//! and for saying why this program offers less.

use crate::allowlist::bound_arguments;
use crate::evaluate::{InlineEval, place_of};
use crate::facts::Facts;
use crate::inline_eval;
use countersign_commands::analysis::{Analysis, Operator, Segment, Word};
use countersign_commands::command::{Divided, Mode, ShellUse};
use countersign_commands::lists::{is_opaque_shell, payload};

/// Entries for a command, or why an answer can only be for once.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Remembered {
    /// In the order of the command, each once.
    pub entries: Vec<Entry>,
    /// Whether the entries cover all of it, so that the peer marks its text too.
    pub marker: bool,
}

/// One entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entry {
    /// The program's or script's real path.
    pub pattern: String,
    /// Folder and arguments, bound.
    pub arg_pattern: String,
}

/// Why an answer can only be for once.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum OneShot {
    /// There is nothing that could be named.
    NoReusablePattern,
    /// No entry may cover a part of it.
    PromptOnly,
    /// A shell's text says what it runs only when it runs.
    RuntimePayload,
    /// It cannot be taken apart.
    Unplanned,
}

impl OneShot {
    /// The peer's word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoReusablePattern => "no-reusable-pattern",
            Self::PromptOnly => "prompt-only",
            Self::RuntimePayload => "runtime-payload",
            Self::Unplanned => "unplanned",
        }
    }
}

/// What "always" would store, where programs on the command line are treated as `strictness` says.
pub fn remembered(analysis: &Analysis, facts: &Facts, strictness: InlineEval) -> Result<Remembered, OneShot> {
    if analysis.opaque.is_some() || analysis.segments.is_empty() {
        return Err(OneShot::Unplanned);
    }
    let segments = &analysis.segments;
    let asks = |segment: &Segment| {
        matches!(segment.candidate.mode, Mode::PromptOnly(_)) || segment.candidate.divided != Divided::Nothing
    };
    if segments.iter().any(asks) {
        return Err(OneShot::PromptOnly);
    }
    if segments.iter().any(is_runtime_payload) {
        return Err(OneShot::RuntimePayload);
    }
    let reusable = |(index, segment): (usize, &Segment)| is_reusable(segment, is_piped(segments, index));
    if !segments.iter().enumerate().all(reusable) {
        return Err(OneShot::NoReusablePattern);
    }
    let mut found = Remembered { entries: Vec::new(), marker: true };
    for segment in segments {
        found.marker &= segment.candidate.shell.is_none();
        match entry(segment, facts, strictness) {
            Some(entry) if found.entries.contains(&entry) => {}
            Some(entry) => found.entries.push(entry),
            None => found.marker = false,
        }
    }
    if found.entries.is_empty() { Err(OneShot::NoReusablePattern) } else { Ok(found) }
}

/// Whether the peer would name this segment at all; `piped` is whether it stands in a pipeline.
fn is_reusable(segment: &Segment, piped: Piped) -> bool {
    let shell_in_pipe = piped == Piped::Yes && segment.candidate.shell.is_some();
    segment.candidate.mode == Mode::Executable
        && !shell_in_pipe
        && inline_eval::detect(&texts(segment.effective())).is_none()
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Piped {
    Yes,
    No,
}

fn is_piped(segments: &[Segment], index: usize) -> Piped {
    let pipes = |segment: Option<&Segment>| {
        matches!(segment.and_then(|segment| segment.operator), Some(Operator::Pipe | Operator::PipeBoth))
    };
    if pipes(segments.get(index)) || pipes(segments.get(index + 1)) { Piped::Yes } else { Piped::No }
}

/// Whether a shell's text has something that only the shell can read.
fn is_runtime_payload(segment: &Segment) -> bool {
    let Some(ShellUse::Inline { payload, .. }) = segment.candidate.shell else { return false };
    let Some(text) = segment.effective().get(payload).map(|word| word.text.as_str()) else { return false };
    let names = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || "_@*#?!-${(".contains(c));
    segment.candidate.mode == Mode::ExactCommand
        && (text.contains('`')
            || text.match_indices('$').any(|(at, _)| names(text.get(at + 1..).unwrap_or_default())))
}

fn entry(segment: &Segment, facts: &Facts, strictness: InlineEval) -> Option<Entry> {
    let cwd = facts.cwd.as_ref()?.real_path.to_str()?;
    let (program, arguments) = segment.effective().split_first()?;
    // What starts must be there even where something else is named.
    let pattern = path_of(&program.text, facts)?;
    if is_opaque_shell(&program.text) {
        return None;
    }
    if let Some(script) = segment.script() {
        let words = texts(segment.effective());
        if payload(&words, None).is_some() {
            return None;
        }
        let pattern = path_of(&script, facts)?;
        // The peer takes the first word that leads to the same place for the script, and be it
        // the shell's name.
        let place = place_of(&script, facts);
        let leads = |word: &String| place_of(&format!("./{word}"), facts) == place;
        let arguments = match words.iter().position(leads) {
            Some(at) => words.get(at + 1..).unwrap_or_default().to_vec(),
            None => texts(segment.script_arguments()),
        };
        return Some(Entry { pattern, arg_pattern: bound_arguments(cwd, &arguments) });
    }
    // A shell that reads its input has no program to name.
    if segment.candidate.shell.is_some() {
        return None;
    }
    if strictness == InlineEval::Covered && inline_eval::interpreter_like(&pattern) {
        return None;
    }
    Some(Entry { pattern, arg_pattern: bound_arguments(cwd, &texts(arguments)) })
}

/// The real path, or the place that a name with a slash stands for.
fn path_of(name: &str, facts: &Facts) -> Option<String> {
    let known =
        facts.programs.get(name).and_then(|program| program.real_path.clone().or(program.path.clone()));
    known.or_else(|| place_of(name, facts))?.to_str().map(str::to_owned)
}

fn texts(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.text.clone()).collect()
}
