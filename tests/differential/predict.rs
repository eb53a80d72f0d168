//! What a shell must start for a text that was taken apart, given which programs fail.

use crate::printer::fails;
use countersign_commands::analysis::Operator;
use countersign_commands::shell::{Extension, Script, SimpleCommand, Word};
use std::ops::Range;

/// What must happen.
#[derive(Debug)]
pub(crate) struct Prediction<'a> {
    /// Commands that run, in order unless there is a pipe.
    pub(crate) started: Vec<&'a SimpleCommand>,
    pub(crate) ordered: bool,
    pub(crate) succeeds: bool,
}

/// Whether everything that runs is a printer or does not exist, and which of them run is told here. A literal
/// substitution needs a real `cat`; what a conditional or a loop runs is compared where trees of commands are
/// made up (`crates/policy/tests/extensions.rs`).
pub(crate) fn is_predictable(script: &Script) -> bool {
    let is_other = |(extension, _): &(Extension, Range<usize>)| {
        matches!(extension, Extension::LiteralSubstitution | Extension::Conditional | Extension::Loop)
    };
    !script.extensions.iter().any(is_other)
        && script.commands.iter().all(|command| {
            let name = command.words[0].text.as_str();
            let assigned = command.assignments.iter().any(|word| !word.text.starts_with("V_"));
            !BUILTINS.contains(&name) && !assigned && name.len() <= NAME_BYTES
        })
}

/// Names that printers need.
pub(crate) fn names(script: &Script) -> impl Iterator<Item = &str> {
    script.commands.iter().filter(|command| is_printer(command)).map(|command| command.words[0].text.as_str())
}

pub(crate) fn predict(script: &Script, seed: u64) -> Prediction<'_> {
    let groups = script.extensions.iter().filter(|(extension, _)| *extension == Extension::Group);
    let mut groups: Vec<Range<usize>> = groups.map(|(_, span)| span.clone()).collect();
    groups.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut run = Run { commands: &script.commands, groups, seed, started: Vec::new() };
    let succeeds = run.list(0..script.commands.len(), None);
    let pipe =
        |command: &SimpleCommand| matches!(command.operator, Some(Operator::Pipe | Operator::PipeBoth));
    Prediction { started: run.started, ordered: !script.commands.iter().any(pipe), succeeds }
}

struct Run<'a> {
    commands: &'a [SimpleCommand],
    groups: Vec<Range<usize>>,
    seed: u64,
    started: Vec<&'a SimpleCommand>,
}

/// A command or a group.
struct Element {
    commands: Range<usize>,
    /// Index of the group.
    group: Option<usize>,
}

impl<'a> Run<'a> {
    /// Runs the commands of `range`, which are those of the group `within`; whether the last one
    /// that ran succeeded.
    fn list(&mut self, range: Range<usize>, within: Option<usize>) -> bool {
        let elements = self.elements(range, within);
        let mut succeeded = true;
        let mut at = 0;
        while at < elements.len() {
            let pipe = |element: &Element| {
                matches!(self.operator(element), Some(Operator::Pipe | Operator::PipeBoth))
            };
            let length = 1 + elements[at + 1..].iter().take_while(|element| pipe(element)).count();
            let skipped = at > 0
                && match self.operator(&elements[at]) {
                    Some(Operator::And) => !succeeded,
                    Some(Operator::Or) => succeeded,
                    _ => false,
                };
            if !skipped {
                succeeded = self.pipeline(&elements[at..at + length]);
            }
            at += length;
        }
        succeeded
    }

    fn pipeline(&mut self, elements: &[Element]) -> bool {
        let mut succeeded = true;
        for element in elements {
            succeeded = match element.group {
                Some(_) => self.list(element.commands.clone(), element.group),
                None => self.command(element.commands.start),
            };
        }
        let first = &elements[0];
        succeeded != (first.group.is_none() && self.commands[first.commands.start].negated)
    }

    fn command(&mut self, index: usize) -> bool {
        let command = &self.commands[index];
        if !is_printer(command) {
            return false;
        }
        self.started.push(command);
        !fails(command.words[0].text.as_bytes(), self.seed)
    }

    fn elements(&self, range: Range<usize>, within: Option<usize>) -> Vec<Element> {
        let mut elements = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let start = self.commands[at].span.start;
            let after = within.map_or(0, |group| group + 1);
            let found = self.groups.iter().enumerate().skip(after).find(|(_, span)| span.contains(&start));
            let element = match found {
                None => Element { commands: at..at + 1, group: None },
                Some((index, span)) => {
                    let inside = self.commands[at..range.end]
                        .iter()
                        .take_while(|next| span.contains(&next.span.start));
                    Element { commands: at..at + inside.count(), group: Some(index) }
                }
            };
            at = element.commands.end;
            elements.push(element);
        }
        elements
    }

    fn operator(&self, element: &Element) -> Option<Operator> {
        self.commands[element.commands.start].operator
    }
}

/// Whether the arguments of a printer are those of `command`. What expands may be any number of words.
pub(crate) fn matches(command: &SimpleCommand, argv: &[Vec<u8>]) -> bool {
    let same = |(word, argument): (&Word, &Vec<u8>)| word.text.as_bytes() == argument.as_slice();
    let words = &command.words;
    let Some(first) = words.iter().position(|word| word.expands) else {
        return words.len() == argv.len() && words.iter().zip(argv).all(same);
    };
    let last = words.iter().rposition(|word| word.expands).unwrap_or(first);
    let behind = words.len() - last - 1;
    argv.len() >= first + behind
        && words[..first].iter().zip(argv).all(same)
        && words[last + 1..].iter().zip(&argv[argv.len() - behind..]).all(same)
}

/// Whether its executable is looked for in PATH, where there are printers only. Paths lead nowhere.
fn is_printer(command: &SimpleCommand) -> bool {
    let executable = &command.words[0];
    !executable.text.contains('/') && !executable.expands && ![".", ".."].contains(&executable.text.as_str())
}

/// Longest name of a file.
const NAME_BYTES: usize = 255;

/// What some shell does itself: nobody could predict it without being a shell.
const BUILTINS: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "autoload",
    "bg",
    "bind",
    "break",
    "builtin",
    "bye",
    "caller",
    "cat",
    "cd",
    "chdir",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disable",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "float",
    "getopts",
    "global",
    "hash",
    "help",
    "history",
    "integer",
    "jobs",
    "kill",
    "let",
    "limit",
    "local",
    "login",
    "logout",
    "mapfile",
    "mkdir",
    "newgrp",
    "nameref",
    "popd",
    "print",
    "printf",
    "pushd",
    "pwd",
    "r",
    "read",
    "readarray",
    "readonly",
    "realpath",
    "rename",
    "return",
    "rmdir",
    "sched",
    "set",
    "setopt",
    "shift",
    "shopt",
    "sleep",
    "source",
    "stop",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "unsetopt",
    "wait",
    "whence",
    "where",
    "which",
    "-",
    "namespace",
    "array",
    "bindkey",
    "emulate",
    "enum",
    "log",
    "functions",
    "noglob",
    "nocorrect",
    "repeat",
    "foreach",
    "end",
    "ttyctl",
    "unfunction",
    "unhash",
    "unlimit",
    "vared",
    "zcompile",
    "zle",
    "zmodload",
    "zparseopts",
    "zstyle",
    "ztcp",
    "rehash",
    "whatis",
    "getln",
    "pushln",
    "private",
    "comparguments",
    "echotc",
    "echoti",
    "getcap",
];
