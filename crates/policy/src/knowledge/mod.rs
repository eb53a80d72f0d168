//! What well-known programs do with which arguments, from their manuals: subcommands that only read, their
//! harmless flags, and what must never be generalised. A flag that is not listed may write, execute or send.
//!
//! Flags are written as in `-n,--max-count=#`: nothing after the names for no value, `=` any value, `=#` a
//! number, `=/` a path, `=2` two values, `=a|b` one of these, `[=]` a glued value or none. `-#` is a dash and
//! digits, `--` ends flags.

mod builds;
mod files;
mod git;
mod orders;
mod readings;
pub(crate) mod same;
mod servers;

pub(crate) use orders::{is_order, is_uncovered};
pub(crate) use readings::{is_read_otherwise, starts_by_name, takes_orders_from_files, without_columns};

use crate::work;
use countersign_protocol::rules::{
    ArgumentRule, ArgumentShape, FlagPresence, FlagRule, FlagSet, FlagStyle, FlagValue, OperandKind,
    OperandRule, OrderWords, SecretPlaces,
};

/// A program and its subcommands. One that is not listed is only ever covered exactly.
#[derive(Debug)]
pub(crate) struct Program {
    /// Its names.
    pub(crate) names: &'static [&'static str],
    /// How it reads flags.
    pub(crate) style: FlagStyle,
    /// Flags before the subcommand.
    pub(crate) leading: &'static str,
    /// Longer ones first where one begins with another.
    pub(crate) commands: &'static [Command],
}

/// A subcommand, or the whole program when it has none.
#[derive(Debug)]
pub(crate) struct Command {
    /// `remote show`; empty when the program has no subcommands.
    pub(crate) words: &'static str,
    /// What it does.
    pub(crate) nature: Nature,
    /// Its harmless flags.
    pub(crate) flags: &'static str,
    /// What else it takes.
    pub(crate) operands: Operands,
}

/// What a subcommand does with its harmless flags.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Nature {
    /// Prints its own words.
    Prints,
    /// Prints what it reads on this machine.
    Reads,
    /// Prints what it reads in whole trees of folders.
    ReadsTrees,
    /// Prints what it reads over the network.
    Asks,
    /// Runs the project's own code or tools, or writes build results.
    Builds,
    /// Adds to the working tree or the repository; can be taken back.
    Adds,
}

/// What a subcommand takes besides flags.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Operands {
    /// Nothing.
    None,
    /// Anything, also what looks like a flag and what a shell could expand: it only repeats its words.
    Anything,
    /// Anything literal.
    Text,
    /// One file that is read, of which no program makes anything but a path.
    File,
    /// The same, and names of what is in it.
    Archive,
    /// At least one of these words, and no other.
    Named(&'static [&'static str]),
    /// Files that are read or worked on; when generalised they stay below the working directory.
    Paths,
    /// The same, but what does not begin like a path is code from elsewhere.
    Packages,
    /// What is looked for, unless a flag says that, and then paths.
    Search,
    /// Names that decide what happens: never generalised.
    Names,
    /// A name that decides what happens, and words for what it stands for: in their places, data and paths
    /// below the working directory are generalised to others.
    Task,
    /// Ids and numbers: generalised to others.
    Ids,
    /// One word that begins so.
    Prefixed(&'static [&'static str]),
    /// Any number of these words.
    Words(&'static [&'static str]),
    /// A script first, then paths.
    Script(Script),
}

/// Language of a script.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Script {
    Awk,
    Jq,
    Sed,
    SedInPlace,
}

impl Script {
    fn kind(self) -> OperandKind {
        match self {
            Self::Awk => OperandKind::AwkPrint,
            Self::Jq => OperandKind::JqFilter,
            Self::Sed => OperandKind::SedPrint,
            Self::SedInPlace => OperandKind::SedEdit,
        }
    }
}

/// The program of this name or path.
pub(crate) fn program(name: &str) -> Option<&'static Program> {
    let base = name.rsplit('/').next().unwrap_or(name);
    programs().find(|program| program.names.contains(&base))
}

/// Every program.
pub(crate) fn programs() -> impl Iterator<Item = &'static Program> {
    [files::PROGRAMS, git::PROGRAMS, servers::PROGRAMS, builds::PROGRAMS].into_iter().flatten()
}

/// Whether a program starts what its arguments name or reads a program from them. [`program`]
/// may know better.
pub(crate) fn runs_its_arguments(name: &str) -> bool {
    countersign_commands::command::carries_code([name])
}

impl Program {
    /// The subcommand that these words (after leading flags) call.
    pub(crate) fn command(&self, words: &[&str]) -> Option<&'static Command> {
        self.commands.iter().find(|command| {
            command.words.split_whitespace().enumerate().all(|(at, word)| words.get(at) == Some(&word))
        })
    }

    /// Everything harmless that a subcommand takes, as a rule says it.
    pub(crate) fn arguments(&self, command: &Command) -> ArgumentRule {
        match command.operands {
            Operands::Anything => ArgumentRule::Any,
            _ => ArgumentRule::Shape(self.shape(command)),
        }
    }

    /// Everything harmless that a subcommand takes.
    pub(crate) fn shape(&self, command: &Command) -> ArgumentShape {
        ArgumentShape {
            subcommand: command.words.split_whitespace().map(str::to_owned).collect(),
            style: self.style,
            leading: flags(self.leading),
            flags: FlagSet::Listed(flags(command.flags)),
            operands: command.operands.rule(),
            secrets: command.nature.secrets(),
            orders: OrderWords::Allowed,
        }
    }
}

impl Command {
    /// How many operands come before those that are files and nothing else; `None` where none certainly is.
    /// `words` are those after the program.
    pub(crate) fn before_files(&self, words: &[&str]) -> Option<usize> {
        match self.operands {
            Operands::Anything | Operands::File | Operands::Paths => Some(0),
            Operands::Script(_) => Some(1),
            Operands::Search => {
                let gives = |word: &&str| {
                    *word == "--files" || SEARCH_GIVEN.iter().any(|flag| word.starts_with(flag))
                };
                Some(usize::from(!words.iter().any(gives)))
            }
            Operands::Archive
            | Operands::Ids
            | Operands::Named(_)
            | Operands::Names
            | Operands::None
            | Operands::Packages
            | Operands::Prefixed(_)
            | Operands::Task
            | Operands::Text
            | Operands::Words(_) => None,
        }
    }
}

impl Nature {
    /// Whether something below the working directory is another afterwards.
    pub(crate) fn changes(self) -> bool {
        match self {
            Self::Builds | Self::Adds => true,
            Self::Prints | Self::Reads | Self::ReadsTrees | Self::Asks => false,
        }
    }

    pub(crate) fn secrets(self) -> SecretPlaces {
        match self {
            Self::Prints => SecretPlaces::Allowed,
            Self::ReadsTrees => SecretPlaces::RefusedInTrees,
            Self::Reads | Self::Asks | Self::Builds | Self::Adds => SecretPlaces::Refused,
        }
    }
}

impl Operands {
    /// Everything it takes.
    fn rule(self) -> OperandRule {
        let some = |kind| OperandRule { min: 0, max: OPERANDS, first: Vec::new(), kinds: vec![kind] };
        match self {
            Self::None | Self::Names | Self::Task => OperandRule::default(),
            Self::Anything | Self::Packages | Self::Paths | Self::Search | Self::Text => {
                some(OperandKind::Any)
            }
            Self::File => OperandRule { max: 1, ..some(anywhere()) },
            Self::Archive => OperandRule { min: 1, first: vec![anywhere()], ..some(OperandKind::Any) },
            Self::Named(words) => OperandRule { min: 1, ..some(OperandKind::OneOf(owned(words))) },
            Self::Ids => some(OperandKind::Data),
            Self::Words(words) => some(OperandKind::OneOf(owned(words))),
            Self::Prefixed(prefixes) => OperandRule { max: 1, ..some(OperandKind::Prefix(owned(prefixes))) },
            Self::Script(script) => {
                OperandRule { min: 1, first: vec![script.kind()], ..some(OperandKind::Any) }
            }
        }
    }
}

/// A path, wherever it leads.
fn anywhere() -> OperandKind {
    OperandKind::Path { below: vec!["/".to_owned()] }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The flags of a table.
pub(crate) fn flags(text: &str) -> Vec<FlagRule> {
    // A decision that has no work left comes to nothing, with whatever flags.
    if !work::pay(FLAG_BYTE_UNITS * text.len()) {
        return Vec::new();
    }
    text.split_whitespace().map(flag).collect()
}

fn flag(text: &str) -> FlagRule {
    let (names, value) = match text.split_once("[=]") {
        Some((names, _)) => (names, FlagValue::Optional),
        None => match text.split_once('=') {
            None => (text, FlagValue::None),
            Some((names, "")) => (names, FlagValue::Any),
            Some((names, "#")) => (names, FlagValue::Number),
            Some((names, "/")) => (names, FlagValue::Path { below: Vec::new() }),
            Some((names, "2")) => (names, FlagValue::Pair),
            Some((names, "!")) => (names, FlagValue::OneOf(Vec::new())),
            Some((names, words)) => (names, FlagValue::OneOf(words.split('|').map(str::to_owned).collect())),
        },
    };
    FlagRule { names: names.split(',').map(str::to_owned).collect(), value, presence: FlagPresence::Optional }
}

/// Flags after which every operand of a search is a path.
const SEARCH_GIVEN: &[&str] = &["-e", "-f", "--file=", "--regexp="];
/// Work of making a rule of one byte of a table.
const FLAG_BYTE_UNITS: usize = 8;

/// Most operands of a generalised rule; more is a list that nobody reads.
pub(crate) const OPERANDS: u32 = 256;

/// Whether a program of this name is described: what it does with which words is known.
pub(crate) fn is_described(name: &str) -> bool {
    program(name).is_some()
}

/// Whether a program of this name is described as one that does work of its own: it builds, tests or adds.
pub(crate) fn does_work(name: &str) -> bool {
    program(name).is_some_and(|program| program.commands.iter().any(|command| command.nature.changes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::shape::is_sound;

    #[test]
    fn every_table_gives_sound_shapes() {
        for program in programs() {
            for command in program.commands {
                assert!(is_sound(&program.shape(command)), "{} {}", program.names[0], command.words);
            }
        }
    }

    #[test]
    fn no_name_is_listed_twice() {
        let mut names: Vec<&str> = programs().flat_map(|program| program.names).copied().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_longer_subcommand_is_found_before_a_shorter_one() {
        for program in programs() {
            for command in program.commands {
                let words: Vec<&str> = command.words.split_whitespace().collect();
                let found = program.command(&words).map(|found| found.words);
                assert_eq!(found, Some(command.words), "{}", program.names[0]);
            }
        }
    }

    #[test]
    fn what_is_uncovered_is_known_for_nothing_but_reading() {
        for program in programs() {
            let reads = |command: &Command| matches!(command.nature, Nature::Prints | Nature::Reads);
            for name in program.names.iter().filter(|name| is_uncovered(name)) {
                assert!(program.commands.iter().all(reads), "{name}");
            }
        }
    }
}
