//! What a command may change, as far as its words tell: what it is known to make, change or remove, where it
//! changes more than it names, and whether it says so at all.

use super::line::Seen;
use super::walk::{APPEND, Invoked, find_starts, walk};
use super::written::{How, by_words};
use crate::facts::Facts;
use crate::knowledge::same;
use crate::powers::{Starts, starts};
use crate::rules::{is_input, names_its_program, reads_by_its_name};
use countersign_commands::analysis::{Analysis, Word};
use countersign_commands::command::{Language, ShellUse, resolve};
use countersign_commands::interpreters::brings_its_text;
use std::path::PathBuf;

/// Everything that a command may change. What a program writes by itself is not known here.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    /// Each with how it is changed, as absolute paths without `.` and `..`.
    pub(crate) places: Vec<(PathBuf, How)>,
    /// Whether more may be changed in a place that no word tells: a shell or a program makes the name, or a
    /// text that nobody reads here does the work.
    pub(crate) elsewhere: bool,
}

/// What the command of `analysis` may change; `argv` is its argument list, empty for a text.
pub(crate) fn writes(analysis: &Analysis, argv: &[String], facts: &Facts) -> Writes {
    let home = facts.home.to_str().unwrap_or_default();
    let walked = walk(analysis, argv, facts);
    let mut found = Writes { elsewhere: walked.more, ..Writes::default() };
    let appended = walked.commands.iter().any(appends);
    for invoked in &walked.commands {
        let seen = Seen::anywhere(invoked, home);
        for file in &invoked.written {
            found.add(&seen, file, How::Changed);
        }
        // What `find` prints may be what `xargs` has changed.
        for start in find_starts(&invoked.name, &seen.arguments).iter().filter(|_| appended) {
            found.add(&seen, start, How::Below);
        }
        if reads(&invoked.words) {
            continue;
        }
        for (word, how) in by_words(&seen) {
            found.add(&seen, &word, how);
        }
        found.elsewhere |= hides_what_it_writes(&seen, analysis.source.contains('|'));
    }
    found.places.sort();
    found.places.dedup();
    found
}

impl Writes {
    fn add(&mut self, seen: &Seen<'_>, word: &str, how: How) {
        if word.is_empty() || word == "-" || word.starts_with('&') {
            return;
        }
        let Some(made) = made_from(word) else {
            match seen.ground.resolve(word) {
                Some(path) => self.places.push((path.into(), how)),
                None => self.elsewhere = true,
            }
            return;
        };
        // What a pattern leads to is somewhere in the folder that stands before it; what a variable or a list
        // begins with can be anywhere.
        let before = word.get(..made).unwrap_or_default();
        let is_pattern = word.get(made..).is_some_and(|rest| rest.starts_with(['*', '?', '[']));
        let folder = before.rfind('/').map_or(".", |end| word.get(..=end).unwrap_or("."));
        match seen.ground.resolve(folder).filter(|_| is_pattern || before.contains('/')) {
            Some(path) if !word.contains("..") => self.places.push((path.into(), How::Below)),
            _ => self.elsewhere = true,
        }
    }
}

/// Where in a word something begins that a shell makes a name of.
fn made_from(word: &str) -> Option<usize> {
    let known = ["$HOME/", "${HOME}/"].iter().find(|home| word.starts_with(**home));
    let from = known.map_or(0, |home| home.len());
    word.get(from..)?.find(['$', '`', '*', '?', '[', '{']).map(|at| from + at)
}

/// Whether a command puts words of its input behind one that does more than read.
fn appends(invoked: &Invoked) -> bool {
    if !invoked.name.is_one_of(APPEND) {
        return false;
    }
    match starts(&invoked.name, &invoked.arguments()) {
        Starts::Carried(commands, texts) => {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            !texts.is_empty() || commands.iter().any(|words| !reads(&owned(words)))
        }
        Starts::Nothing | Starts::Unknown | Starts::Module(_) => true,
    }
}

/// Whether words call a program by a bare name under which it only reads.
pub(super) fn reads(words: &[String]) -> bool {
    reads_by_its_name(words.iter().map(|word| (word.as_str(), false)))
}

/// Whether what does the work stands in no word that is read here: code for an interpreter, commands from the
/// input, which a pipe may bring, a name that stands for something else.
fn hides_what_it_writes(seen: &Seen<'_>, may_be_fed: bool) -> bool {
    let Invoked { name, words, .. } = seen.invoked;
    match name.as_str() {
        "" | "find" | "gfind" => return false,
        // They write what their programs say; those that only print were told apart before.
        "awk" | "gawk" | "mawk" | "nawk" => return true,
        "sed" | "gsed" => return !reads(&without_in_place(words)),
        "git" => {
            let verb = countersign_commands::git::subcommand(&seen.arguments);
            return verb.first().is_some_and(|word| !same::is_gits_own(word));
        }
        _ => {}
    }
    let said: Vec<Word> = words.iter().map(|word| Word::said(word)).collect();
    let candidate = resolve(&said);
    let is_told = match candidate.shell {
        None => true,
        Some(ShellUse::Inline { language: Language::Posix, .. }) => true,
        Some(ShellUse::Script { operand }) => {
            let file = said.get(candidate.arguments + operand).map(|word| word.text.as_str());
            !may_be_fed || file.is_some_and(|file| !file.starts_with('-') && !is_input(file))
        }
        Some(ShellUse::Bare) => !may_be_fed,
        Some(_) => false,
    };
    !is_told || !names_its_program(&said) || brings_its_text(words)
}

/// The words of `sed` without those that have it write into its files.
fn without_in_place(words: &[String]) -> Vec<String> {
    let is_in_place = |word: &String| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        word.starts_with("--in-place")
            || letters.trim_start_matches(['n', 'E', 'r', 's', 'u', 'z']).starts_with('i')
    };
    words.iter().filter(|word| !is_in_place(word)).cloned().collect()
}
