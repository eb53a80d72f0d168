//! How a line of the list is held against a command.

use super::Cause;
use super::place::{Ground, is_below};
use super::walk::Invoked;
use crate::powers::subcommand;
use countersign_commands::programs::Name;
use countersign_protocol::rules::{PlaceAccess, Workspace};

/// One line of the list: what is asked about wherever it runs.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Names of programs, with blanks between them; `*` for every program.
    pub programs: &'static str,
    /// Subcommands, `|` between them: `pr merge|pr close`; empty for any.
    pub words: &'static str,
    /// Flags one of which has to be there, with blanks between them; empty for none.
    pub flags: &'static str,
    /// Flags that make it something else.
    pub unless: &'static str,
    /// What else has to be so.
    pub(super) test: Test,
    /// Why it is on the list.
    pub cause: Cause,
    /// A command that it is about.
    pub example: &'static str,
    /// One that looks like it and is none.
    pub neighbour: &'static str,
}

/// What a line looks at beyond words and flags.
pub(super) type Test = fn(&Seen<'_>) -> bool;

/// A command as lines see it.
#[derive(Debug)]
pub(super) struct Seen<'a> {
    /// All of it.
    pub(super) invoked: &'a Invoked,
    /// What stands behind the program.
    pub(super) arguments: Vec<&'a str>,
    /// Where its words are read.
    pub(super) ground: Ground<'a>,
    /// What the person opened; `None` where that does not matter.
    workspace: Option<&'a Workspace>,
}

impl<'a> Seen<'a> {
    /// A command in the open folder.
    pub(super) fn new(invoked: &'a Invoked, workspace: &'a Workspace, home: &'a str) -> Self {
        let ground = Ground { open: &workspace.folder, home, folder: invoked.folder.as_deref() };
        Self { invoked, arguments: invoked.arguments(), ground, workspace: Some(workspace) }
    }

    /// A command wherever it is.
    pub(super) fn anywhere(invoked: &'a Invoked, home: &'a str) -> Self {
        let ground = Ground { open: "", home, folder: invoked.folder.as_deref() };
        Self { invoked, arguments: invoked.arguments(), ground, workspace: None }
    }

    /// Whether the person opened what a word names for that: to be written, or to be read.
    pub(super) fn is_opened(&self, word: &str, access: PlaceAccess) -> bool {
        let Some(path) = self.ground.resolve(word) else { return false };
        self.workspace.is_some_and(|open| open.with(access).any(|opened| is_below(&path, opened)))
    }

    /// Whether one of `flags` is among the arguments, alone, with a value, or in a cluster of letters.
    pub(super) fn has(&self, flags: &str) -> bool {
        self.arguments.iter().any(|word| flags.split(' ').any(|flag| is_flag(word, flag)))
    }

    /// What follows a flag, in the next word or glued to it.
    pub(super) fn values(&self, flags: &str) -> Vec<&'a str> {
        let glued = |word: &'a str, flag: &str| {
            let rest = word.strip_prefix(flag)?;
            rest.strip_prefix('=').or_else(|| (flag.len() == 2 && !rest.is_empty()).then_some(rest))
        };
        let mut values = Vec::new();
        for (at, word) in self.arguments.iter().enumerate() {
            for flag in flags.split(' ') {
                if *word == flag {
                    values.extend(self.arguments.get(at + 1));
                } else {
                    values.extend(glued(word, flag));
                }
            }
        }
        values
    }

    /// Words that are no flags.
    pub(super) fn operands(&self) -> impl Iterator<Item = &'a str> {
        let mut open = true;
        self.arguments.iter().copied().filter(move |word| {
            let is_end = *word == "--" && open;
            open &= !is_end;
            !is_end && (!open || !word.starts_with('-') || *word == "-")
        })
    }

    /// Words of the subcommand and behind it that are no flags.
    pub(super) fn verbs(&self) -> Vec<&str> {
        let rest = subcommand(&self.invoked.name, &self.arguments).unwrap_or_default();
        rest.iter().copied().filter(|word| !word.starts_with('-')).collect()
    }

    /// Whether the subcommand is one of `words`. What stands in front of it may be the value of an option
    /// that nobody described.
    pub(super) fn says(&self, words: &str) -> bool {
        let verbs = self.verbs();
        let has_option = self.arguments.first().is_some_and(|word| word.starts_with('-'));
        let behind = verbs.get(1..).filter(|_| has_option).unwrap_or_default();
        words.split('|').any(|wanted| is_said(&verbs, wanted) || is_said(behind, wanted))
    }
}

/// The first word of a subcommand stands first; options with values of their own may stand before the others.
fn is_said(verbs: &[&str], wanted: &str) -> bool {
    let mut wanted = wanted.split(' ');
    let Some((first, mut rest)) = verbs.split_first() else { return false };
    if wanted.next() != Some(first) {
        return false;
    }
    wanted.all(|word| {
        let near = rest.iter().take(BETWEEN).position(|verb| *verb == word);
        rest = near.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
        near.is_some()
    })
}

fn is_flag(word: &str, flag: &str) -> bool {
    let Some(rest) = word.strip_prefix('-') else { return false };
    if flag.starts_with("--") || flag.len() > "-x".len() {
        return word.strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with('='));
    }
    !rest.starts_with('-')
        && flag.strip_prefix('-').is_some_and(|letter| !letter.is_empty() && rest.contains(letter))
}

impl Line {
    /// Whether the line is about programs of this name.
    pub(super) fn is_about(&self, name: &Name) -> bool {
        self.programs == ANY_PROGRAM || self.programs.split(' ').any(|known| known == name.as_str())
    }

    /// Whether the line is about this command.
    pub(super) fn holds(&self, seen: &Seen<'_>) -> bool {
        self.is_about(&seen.invoked.name)
            && (self.words.is_empty() || seen.says(self.words))
            && (self.flags.is_empty() || seen.has(self.flags))
            && (self.unless.is_empty() || !seen.has(self.unless))
            && (self.test)(seen)
    }

    /// With one of these flags only.
    pub(super) const fn with(self, flags: &'static str) -> Self {
        Self { flags, ..self }
    }

    /// With none of these flags.
    pub(super) const fn unless(self, unless: &'static str) -> Self {
        Self { unless, ..self }
    }

    /// When this is so, too.
    pub(super) const fn when(self, test: Test) -> Self {
        Self { test, ..self }
    }
}

/// A line about programs with these subcommands, a command that it is about, and one that it is not about.
pub(super) const fn line(
    cause: Cause,
    programs: &'static str,
    words: &'static str,
    example: &'static str,
    neighbour: &'static str,
) -> Line {
    Line { programs, words, flags: "", unless: "", test: |_| true, cause, example, neighbour }
}

/// Stands for every program.
pub(super) const ANY_PROGRAM: &str = "*";

/// Words that may stand between those of a subcommand.
const BETWEEN: usize = 3;
