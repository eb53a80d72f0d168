//! `xargs` with a program that only reads what it gets: as harmless as the search whose names it reads, with
//! every folder that is searched in the place of what is found there, and only where each name
//! stays that one name.

use super::{Argument, Invocation, trees};
use crate::facts::{Names, ProgramFacts, Reached, Tree};
use countersign_commands::analysis::{Analysis, Segment, Word};
use countersign_commands::command::find::{FOUND, starts};
use countersign_commands::command::xargs::{Ends, fed};
use countersign_commands::command::{Mode, PromptReason};
use countersign_commands::shell::Operator;
use std::path::Path;

/// The words of the program that the `xargs` at this index starts, with what stands for a name behind them.
pub(super) fn program(segment: &Segment) -> Option<Vec<Word>> {
    if segment.candidate.mode != Mode::PromptOnly(PromptReason::Carrier)
        || !segment.candidate.wrappers.is_empty()
        || !segment.assignments.is_empty()
    {
        return None;
    }
    let fed = fed(&segment.words)?;
    let found = Word { text: FOUND.to_owned(), span: 0..0, expands: false, quoted: false };
    Some(segment.words.get(fed.program..)?.iter().cloned().chain([found]).collect())
}

/// The folders whose files the `xargs` at this index is told by the command in front of it, as they are
/// written; `None` when that may print anything else than names of files in them.
pub(super) fn trees(analysis: &Analysis, at: usize, folder: &str) -> Option<Vec<(String, Tree)>> {
    let segment = analysis.segments.get(at).filter(|segment| segment.operator == Some(Operator::Pipe))?;
    let ends = fed(&segment.words)?.ends;
    let search = analysis.segments.get(at.checked_sub(1)?)?;
    if search.candidate.mode != Mode::Executable
        || !search.candidate.wrappers.is_empty()
        || search.words.iter().any(|word| word.expands)
    {
        return None;
    }
    let (typed, words) = search.words.split_first()?;
    let words: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let (prints, found) = match typed.text.as_str() {
        "find" => {
            let all: Vec<&str> = search.words.iter().map(|word| word.text.as_str()).collect();
            let starts = starts(&search.words);
            let trees = trees::of_find(&all, &starts, folder);
            (find_prints(&words)?, starts.into_iter().zip(trees).collect())
        }
        name => searched(name, &words, folder)?,
    };
    if prints != ends {
        return None;
    }
    // A name in front of which a folder stands is no flag, and with zero bytes nothing is read into it.
    let begins = |root: &str| root != HERE || typed.text == "find";
    let names = |root: &str| match ends {
        Ends::Zero if begins(root) => Names::Any,
        Ends::Zero | Ends::Blanks => Names::Plain,
    };
    let is_plain = |root: &str| Names::Plain.include(root);
    let told = |(root, tree): (&str, Tree)| {
        is_plain(root).then(|| (root.to_owned(), Tree { names: names(root), ..tree }))
    };
    found.into_iter().map(told).collect()
}

/// What a `find` with these words prints between names; `None` when it may print anything else or do more.
fn find_prints(words: &[&str]) -> Option<Ends> {
    let starts =
        words.iter().take_while(|word| !word.starts_with('-') && !matches!(**word, "(" | "!")).count();
    let mut ends = None;
    let mut words = words.get(starts..)?.iter();
    while let Some(word) = words.next() {
        match *word {
            "-print0" if ends.is_none() => ends = Some(Ends::Zero),
            "-print" if ends.is_none() => ends = Some(Ends::Blanks),
            word if FIND_TESTS.contains(&word) => {
                words.next()?;
            }
            word if FIND_WORDS.contains(&word) => {}
            _ => return None,
        }
    }
    Some(ends.unwrap_or(Ends::Blanks))
}

/// The same of a search for content that prints the names of the files that have it, and where it looks.
fn searched<'a>(name: &str, words: &[&'a str], folder: &str) -> Option<(Ends, Vec<(&'a str, Tree)>)> {
    let (letters, names_alone, zero): (&str, &[&str], char) = match name {
        "grep" => ("rRlLiwFEZ", &[], 'Z'),
        "rg" => ("liwFS0", &["--files", "--files-with-matches"], '0'),
        _ => return None,
    };
    let mut ends = Ends::Blanks;
    let (mut names, mut lists, mut recurses) = (false, false, name == "rg");
    for word in words {
        if let Some(long) = word.strip_prefix("--") {
            let (long, value) =
                long.split_once('=').map_or((long, None), |(long, value)| (long, Some(value)));
            let is_glob = value.is_some() && SEARCH_GLOBS.contains(&long);
            names |= names_alone.contains(word);
            lists |= *word == "--files";
            if !is_glob && !names_alone.contains(word) {
                return None;
            }
        } else if let Some(cluster) = word.strip_prefix('-') {
            if cluster.is_empty() || !cluster.chars().all(|letter| letters.contains(letter)) {
                return None;
            }
            names |= cluster.contains(['l', 'L']);
            recurses |= cluster.contains(['r', 'R']);
            ends = if cluster.contains(zero) { Ends::Zero } else { ends };
        }
    }
    if !names || !recurses {
        return None;
    }
    let arguments: Vec<Argument<'a>> = words.iter().map(|text| Argument { text, expands: false }).collect();
    let invocation = Invocation {
        typed: name,
        program: &ProgramFacts::default(),
        arguments: &arguments,
        folder: Some(folder),
        home: Path::new("/"),
        script: None,
        settled: false,
        reached: Reached::NOT_LOOKED,
    };
    let trees = trees::of_search(invocation, lists, folder)?;
    let told =
        |(root, tree): (&str, Tree)| Some((*words.iter().find(|word| **word == root).unwrap_or(&HERE), tree));
    Some((ends, trees.into_iter().map(told).collect::<Option<_>>()?))
}

/// Where a search looks that was not told where.
const HERE: &str = ".";

/// Tests of `find` with a value.
const FIND_TESTS: &[&str] =
    &["-iname", "-ipath", "-maxdepth", "-mindepth", "-mmin", "-mtime", "-name", "-path", "-size", "-type"];

/// Words of `find` without one.
const FIND_WORDS: &[&str] = &["!", "(", ")", "-a", "-and", "-empty", "-not", "-o", "-or", "-xdev"];

/// Flags of searches that say which files are looked at.
const SEARCH_GLOBS: &[&str] = &["exclude", "exclude-dir", "glob", "iglob", "include", "type"];
