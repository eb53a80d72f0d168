//! `find` with programs that only read what it finds: as harmless as both are alone. Each program must be
//! covered by a rule of its own and known to only read ([`crate::knowledge`]), with every folder that is
//! searched in the place of what is found there.

use super::places::ReadingPlace;
use super::{Argument, Invocation, handed, reads, shape, trees};
use crate::facts::{Facts, Tree};
use crate::knowledge::{self, Command, Nature, Operands, Program};
use crate::work;
use countersign_commands::analysis::{Analysis, Segment, Word};
use countersign_commands::command::find::{FOUND, actions, starts};
use countersign_commands::command::{Mode, PromptReason};
use countersign_protocol::rules::SecretPlaces;
use std::path::Path;

/// The words of a `find` without the programs that it starts, if all of these only read and
/// `covered` says so too.
pub(super) fn without_readers(
    segment: &Segment,
    folder: Option<&str>,
    facts: &Facts,
    covered: impl Fn(Invocation<'_>) -> Option<usize>,
) -> Option<Vec<Word>> {
    if segment.candidate.mode != Mode::PromptOnly(PromptReason::Carrier)
        || !segment.candidate.wrappers.is_empty()
        || !segment.assignments.is_empty()
    {
        return None;
    }
    let actions = actions(&segment.words)?;
    let starts = starts(&segment.words);
    if !work::pay(PAIR_UNITS * actions.len() * starts.len()) {
        return None;
    }
    let place = ReadingPlace::new(folder, facts.home.to_str(), &facts.reached);
    let texts: Vec<&str> = segment.words.iter().map(|word| word.text.as_str()).collect();
    let mut kept = Vec::with_capacity(segment.words.len());
    let mut at = 0;
    for action in actions {
        let words = segment.words.get(action.clone())?;
        let below = |start: &str| folder.map(|folder| trees::of_find(&texts, &[start], folder));
        if !starts.iter().all(|start| {
            below(start)
                .is_some_and(|below| only_reads(words, start, &below, place, facts, &covered).is_some())
        }) {
            return None;
        }
        // Without `-exec` in front and the sign at the end.
        kept.extend_from_slice(segment.words.get(at..action.start - 1)?);
        at = action.end + 1;
    }
    kept.extend_from_slice(segment.words.get(at..)?);
    Some(kept)
}

/// The rule that covers the program which an `xargs` starts for the names that the command in front of it
/// prints, if it only reads them and `covered` says so too.
pub(super) fn fed_with_names(
    analysis: &Analysis,
    at: usize,
    folder: Option<&str>,
    facts: &Facts,
    covered: impl Fn(Invocation<'_>) -> Option<usize>,
) -> Option<usize> {
    let words = handed::program(analysis.segments.get(at)?)?;
    let trees = handed::trees(analysis, at, folder?)?;
    if !work::pay(PAIR_UNITS * trees.len()) {
        return None;
    }
    let place = ReadingPlace::new(folder, facts.home.to_str(), &facts.reached);
    let mut rule = None;
    for (root, tree) in trees {
        if !reads::is_harmless(&tree, &facts.reached) {
            return None;
        }
        rule = Some(only_reads(&words, &root, &[tree], place, facts, &covered)?);
    }
    rule
}

/// Work of holding one program with one folder against what is known and against the rules.
const PAIR_UNITS: usize = 20_000;

/// Whether names stand only where a program takes files to read. `words` are the arguments
/// with a name in them.
fn stands_for_files(
    program: &'static Program,
    command: &Command,
    words: &[&str],
    arguments: &[Word],
    place: ReadingPlace<'_>,
) -> bool {
    let named: Vec<usize> =
        arguments.iter().enumerate().filter(|(_, word)| word.text == FOUND).map(|(at, _)| at).collect();
    if named.is_empty() || command.operands == Operands::Anything {
        return true;
    }
    let Some(before) = command.before_files(words) else { return false };
    let words: Vec<Argument<'_>> = words.iter().map(|text| Argument { text, expands: false }).collect();
    let operands = shape::operand_places(&program.shape(command), &words, place);
    operands.is_some_and(|operands| {
        operands.get(before..).is_some_and(|files| named.iter().all(|at| files.contains(at)))
    })
}

/// The rule that covers a program which only reads files below `start`, and no secret among them.
fn only_reads(
    words: &[Word],
    start: &str,
    below: &[Tree],
    place: ReadingPlace<'_>,
    facts: &Facts,
    covered: impl Fn(Invocation<'_>) -> Option<usize>,
) -> Option<usize> {
    let (typed, arguments) = words.split_first()?;
    // What git would obey in the folders that are found, nobody looks at.
    if countersign_commands::git::is_git(&typed.text) {
        return None;
    }
    let known = facts.programs.get(&typed.text)?;
    let real = known.real_path.as_deref().and_then(Path::to_str).and_then(knowledge::program);
    let (program, real) = (knowledge::program(&typed.text)?, real?);
    // What a name is known for is known of what was installed under it.
    if !std::ptr::eq(program, real) || known.writable || typed.text.contains('/') {
        return None;
    }
    let found = reads::below(start);
    let text = |word: &Word| if word.text == FOUND { found.clone() } else { word.text.clone() };
    let texts: Vec<String> = arguments.iter().map(text).collect();
    let words: Vec<&str> = texts.iter().map(String::as_str).collect();
    let command = program.command(&words)?;
    if !matches!(command.nature, Nature::Prints | Nature::Reads | Nature::ReadsTrees) {
        return None;
    }
    // A name is only ever a file that is read: as a script, a pattern or the value of a flag it would
    // be what is done.
    if !stands_for_files(program, command, &words, arguments, place) {
        return None;
    }
    // What lies below may be a secret although nothing in its name was seen.
    if place.is_secret(SecretPlaces::RefusedInTrees, start) {
        return None;
    }
    let arguments: Vec<Argument<'_>> = words.iter().map(|text| Argument { text, expands: false }).collect();
    let harmless =
        command.operands == Operands::Anything || shape::fits(&program.shape(command), &arguments, place);
    let invocation = Invocation {
        typed: &typed.text,
        program: known,
        arguments: &arguments,
        folder: place.folder,
        home: &facts.home,
        script: None,
        settled: false,
        reached: &facts.reached,
    };
    let opens = command.nature != Nature::Prints && !reads::only_lists(invocation);
    let may = harmless
        && !knowledge::is_read_otherwise(&typed.text, &words)
        && (!opens || below.iter().all(|tree| reads::is_harmless(tree, &facts.reached)));
    if may { covered(invocation) } else { None }
}
