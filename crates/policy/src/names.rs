//! Names of files in place of the patterns that stand for them. A shell looks for the files when it comes to
//! the word; here they are looked up before anything is judged, and exactly these names are judged, pinned
//! and run: what lies in the folder a moment later is not.

use crate::rules;
use crate::work::{self, Effort};
use countersign_commands::analysis::{Analysis, Form, Operator, Segment, Transport, Word};
use countersign_commands::command;
use countersign_commands::profile::Extension;
use countersign_commands::shell;
use countersign_protocol::limits::DISPLAY_ARGUMENTS;

/// A word of which a shell makes names of files.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pattern {
    /// Index of its segment.
    pub segment: usize,
    /// Index of its word.
    pub word: usize,
    /// The word: `*` and `?` stand for parts of names, `~` in front for the home directory, all
    /// else for itself.
    pub text: String,
}

/// Words that names can take the place of: nothing in them is quoted, every shell reads them alike, and the
/// shell comes to them before anything of the command has run.
pub fn patterns(analysis: &Analysis) -> Vec<Pattern> {
    if analysis.form != Form::Text
        || analysis.transport != Transport::Direct
        || !analysis.profile.understands(Extension::Text(shell::Extension::PathNames))
    {
        return Vec::new();
    }
    let (patterns, effort) = work::limited(|| every_pattern(analysis));
    match effort {
        Effort::Done => patterns,
        Effort::TooMuch => Vec::new(),
    }
}

fn every_pattern(analysis: &Analysis) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    if analysis.has_loop() && !analysis.segments.iter().all(|segment| changes_nothing(analysis, segment)) {
        return patterns;
    }
    // How many commands from the first on make and remove no file; what is known of them holds for all
    // that come later.
    let mut still = 0;
    for (at, segment) in analysis.segments.iter().enumerate() {
        if segment.words.iter().any(|word| word.expands) && is_still(analysis, at, &mut still) {
            patterns.extend(segment.words.iter().enumerate().filter_map(|(index, word)| {
                let text = pattern(analysis, word, index)?;
                Some(Pattern { segment: at, word: index, text: text.to_owned() })
            }));
        }
    }
    patterns
}

/// Puts names in place of patterns, each of [`patterns`] at most once. A pattern without names stays as it
/// is, for nobody to run unasked, and so does one with more names than can be shown; one that no file matches
/// has itself as its name, as shells do it.
pub fn insert_names(analysis: &mut Analysis, mut found: Vec<(Pattern, Vec<String>)>) {
    // From the end, so that positions stay true.
    found.sort_by_key(|(pattern, _)| std::cmp::Reverse((pattern.segment, pattern.word)));
    for (pattern, names) in found {
        let Some(segment) = analysis.segments.get_mut(pattern.segment) else { continue };
        let Some(word) = segment.words.get(pattern.word).filter(|word| word.expands) else { continue };
        let too_many = segment.words.len() + names.len() > DISPLAY_ARGUMENTS;
        if names.is_empty() || too_many {
            continue;
        }
        let span = word.span.clone();
        let named =
            names.into_iter().map(|text| Word { text, span: span.clone(), expands: false, quoted: true });
        segment.words.splice(pattern.word..=pattern.word, named.collect::<Vec<_>>());
        let mode = segment.candidate.mode;
        segment.candidate = command::resolve(&segment.words);
        if !segment.assignments.is_empty() && mode != command::Mode::Executable {
            segment.candidate.mode = mode;
        }
        analysis.extensions.push((shell::Extension::PathNames, span));
    }
    analysis.extensions.sort_by_key(|(_, span)| span.start);
    analysis.mark_builtins();
}

/// The text of a word that is a pattern and nothing more.
fn pattern<'a>(analysis: &'a Analysis, word: &Word, index: usize) -> Option<&'a str> {
    let text = analysis.source.get(word.span.clone()).filter(|source| *source == word.text)?;
    if !word.expands || text.contains(['\\', '\'', '"', '$', '`', '[', '{', '\n']) {
        return None;
    }
    let rest = match text.strip_prefix('~') {
        None => text,
        Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
        // Another user's home directory.
        Some(_) => return None,
    };
    let is_assigned = rest.contains("=~") || rest.contains(":~");
    let is_program_by_pattern = index == 0 && rest.contains(['*', '?']);
    (!is_assigned && !is_program_by_pattern).then_some(text)
}

/// Whether nothing that could make or remove a file has run when the shell comes to the segment at `at`: what
/// its pipeline runs, runs with it.
fn is_still(analysis: &Analysis, at: usize, still: &mut usize) -> bool {
    let is_piped = |segment: &Segment| matches!(segment.operator, Some(Operator::Pipe | Operator::PipeBoth));
    let mut first = at;
    while first > 0 && analysis.segments.get(first).is_some_and(is_piped) {
        first -= 1;
    }
    let before = analysis.segments.iter().take(first).skip(*still);
    *still += before
        .take_while(|segment| {
            command::moves(&segment.words)
                || analysis.is_harmless_builtin(segment)
                || reads_by_its_name(analysis, segment)
        })
        .count();
    *still >= first
}

/// Whether a segment only reads, prints, or says what a loop goes through, and leaves the shell where it is.
pub(crate) fn changes_nothing(analysis: &Analysis, segment: &Segment) -> bool {
    !command::moves(&segment.words)
        && (analysis.is_loop_head(segment)
            || analysis.is_harmless_builtin(segment)
            || reads_by_its_name(analysis, segment))
}

/// Whether it calls a program by a name under which it only reads. What is really behind the name does not
/// matter here: it could only make other files appear than those that were named, and only these
/// are judged and run.
fn reads_by_its_name(analysis: &Analysis, segment: &Segment) -> bool {
    let plain = segment.candidate.mode == command::Mode::Executable
        && segment.candidate.wrappers.is_empty()
        && segment.assignments.is_empty();
    let may_be_anything = |index: usize, word: &Word| {
        let is_printed = segment.words.first().is_some_and(|first| analysis.is_printed_by(first, word));
        word.expands && !is_printed && pattern(analysis, word, index).is_none()
    };
    let words = segment.words.iter().enumerate();
    plain
        && rules::reads_by_its_name(
            words.map(|(index, word)| (word.text.as_str(), may_be_anything(index, word))),
        )
}
