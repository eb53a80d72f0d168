//! What a command reaches beyond this user's rights and this machine, told by the names of all programs that
//! it starts: for the facts on a card. Nothing is allowed because of them; which programs are known there
//! also says where a refusal may be hidden.
//!
//! Texts that were not taken apart are read roughly: a name in the place of a program counts, and nothing
//! is denied of them.

mod tables;

use crate::facts::Facts;
use countersign_commands::analysis::Analysis;
use countersign_commands::command::carriers::rough;
use countersign_commands::command::is_assignment;
use countersign_commands::programs::Name;
use tables::reaches;
pub(crate) use tables::{Starts, elevates, is_known, runs_others, starts, subcommand, talks};

/// What a command reaches.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Powers {
    /// What gives it another user's rights, each once.
    pub elevation: Vec<String>,
    /// What talks to other machines, each once.
    pub network: Vec<String>,
    /// Whether that is all.
    pub seen: Seen,
}

/// How much of what a command starts was seen.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Seen {
    /// Every program, and none that is known to start others.
    All,
    /// There may be more.
    Part,
}

/// What the command of `analysis` and `facts` reaches; `argv` is its argument list, empty for a text.
pub fn powers(analysis: &Analysis, argv: &[String], facts: &Facts) -> Powers {
    let mut look = Look::default();
    if analysis.opaque.is_some() {
        look.part();
        if argv.is_empty() { look.text(&analysis.source, 0) } else { look.command(&strs(argv), 0) }
    }
    for segment in &analysis.segments {
        if !analysis.is_harmless_builtin(segment) {
            let words: Vec<&str> = segment.words.iter().map(|word| word.text.as_str()).collect();
            look.command(&words, 0);
            look.probed(&words, segment.execution().map(|word| word.text.as_str()), facts);
        }
    }
    let Look { elevation, network, part } = look;
    Powers { elevation, network, seen: if part { Seen::Part } else { Seen::All } }
}

#[derive(Default)]
struct Look {
    elevation: Vec<String>,
    network: Vec<String>,
    part: bool,
}

impl Look {
    fn part(&mut self) {
        self.part = true;
    }

    /// Every command in a text for a shell.
    fn text(&mut self, text: &str, depth: usize) {
        self.part();
        if depth < DEPTH {
            for command in rough::commands(text) {
                self.command(&strs(&command), depth + 1);
            }
        }
    }

    /// A program with its arguments, and whatever it starts.
    fn command(&mut self, words: &[&str], depth: usize) {
        let assigned = words.iter().take_while(|word| is_assignment(word)).count();
        let Some((program, arguments)) = words.get(assigned..).and_then(<[&str]>::split_first) else {
            return;
        };
        let name = Name::of(program);
        if let Some(how) = elevates(&name, arguments) {
            once(&mut self.elevation, how);
        }
        if let Some(how) = reaches(&name, arguments) {
            once(&mut self.network, how);
        }
        let started = starts(&name, arguments);
        if started != Starts::Nothing {
            self.part();
        }
        if depth >= DEPTH {
            return;
        }
        match started {
            Starts::Nothing | Starts::Unknown => {}
            Starts::Module(module) => self.command(module, depth + 1),
            Starts::Carried(commands, texts) => {
                for command in commands {
                    self.command(command, depth + 1);
                }
                for text in texts {
                    self.text(text, depth + 1);
                }
            }
        }
    }

    /// What the files of the programs say: some have another user's rights by themselves, and one that this
    /// user could write may do anything.
    fn probed(&mut self, words: &[&str], execution: Option<&str>, facts: &Facts) {
        for name in words.first().copied().into_iter().chain(execution) {
            let Some(program) = facts.programs.get(name).filter(|found| found.real_path.is_some()) else {
                self.part();
                continue;
            };
            let has_rights = program.identity.as_ref().is_some_and(|file| file.mode & SET_USER_ID != 0);
            if has_rights {
                once(&mut self.elevation, Name::of(name).as_str().to_owned());
            }
            if program.writable {
                self.part();
            }
        }
    }
}

fn once(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) && names.len() < NAMES {
        names.push(name);
    }
}

fn strs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// Programs within programs that are looked at.
const DEPTH: usize = 8;

/// Most names that are told: who reads so many was warned.
const NAMES: usize = 8;

/// The bit of a file's mode that makes a program run as its owner.
const SET_USER_ID: u32 = 0o4000;

#[cfg(test)]
mod tests;
