//! Ready-made rules for commands that only read: they never write, run something else, use the network, or
//! open what looks like the place of a secret. Made from the tables of programs, so that there is one place
//! that knows what is harmless.

use crate::knowledge::{self, Nature};
use countersign_protocol::document::WILDCARD_AGENT;
use countersign_protocol::rules::{
    ArgumentRule, ArgumentShape, CommandRule, FileContents, FlagPresence, FlagRule, FlagSet, FlagStyle,
    FlagValue, OperandRule, OrderWords, RuleEffect, RuleLimits, RuleOrigin, SecretPlaces,
};

/// A named set of rules.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Preset {
    /// Stable name, kept with its rules.
    pub name: &'static str,
    /// A few words for a list.
    pub title: &'static str,
    /// What it lets run, in a sentence.
    pub words: &'static str,
    parts: &'static [Part],
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Part {
    Files,
    Git,
    Versions,
}

/// All presets; the first is the one to propose.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "everyday",
        title: "Everyday reading",
        words: "Look at files, search in them, read the history of git repositories and ask tools for their version. Nothing \
                is written, no network is used, and files that look like keys or passwords are still asked about, as is what a \
                repository or project could make start a program of its own.",
        parts: &[Part::Files, Part::Git, Part::Versions],
    },
    Preset {
        name: "files",
        title: "Reading files",
        words: "List, print, search and compare files, except those that look like keys or passwords.",
        parts: &[Part::Files],
    },
    Preset {
        name: "git-history",
        title: "Reading git",
        words: "Status, differences, history and branches of git repositories. Nothing is changed, fetched or published. Where the \
                repository's own configuration could start a program, a person is still asked.",
        parts: &[Part::Git],
    },
    Preset {
        name: "versions",
        title: "Asking for versions",
        words: "Ask well-known tools for their version and nothing else. Where a file in the folder or above can decide which \
                program answers, a person is still asked.",
        parts: &[Part::Versions],
    },
];

impl Preset {
    /// Its rules, for every agent, with ids that are the same every time.
    pub fn rules(&self, created_at_ms: i64) -> Vec<CommandRule> {
        let mut rules = Vec::new();
        for part in self.parts {
            match part {
                Part::Files => self.reading(&mut rules, created_at_ms, |name| name != "git"),
                Part::Git => self.reading(&mut rules, created_at_ms, |name| name == "git"),
                Part::Versions => {
                    rules.extend(VERSIONED.iter().map(|(name, flags)| {
                        self.rule(name, "--version", ArgumentRule::Shape(version(flags)), created_at_ms)
                    }));
                }
            }
        }
        rules
    }

    /// Whether everything that `other` lets run, this one does too.
    pub fn includes(&self, other: &Self) -> bool {
        self != other && other.parts.iter().all(|part| self.parts.contains(part))
    }

    fn reading(&self, rules: &mut Vec<CommandRule>, created_at_ms: i64, wanted: fn(&str) -> bool) {
        for program in knowledge::programs() {
            let reads = |nature| matches!(nature, Nature::Prints | Nature::Reads | Nature::ReadsTrees);
            for command in program.commands.iter().filter(|command| reads(command.nature)) {
                for name in program.names.iter().filter(|name| wanted(name)) {
                    rules.push(self.rule(name, command.words, program.arguments(command), created_at_ms));
                }
            }
        }
    }

    fn rule(&self, program: &str, words: &str, arguments: ArgumentRule, created_at_ms: i64) -> CommandRule {
        let mut id = format!("{}:{program}", self.name);
        for word in words.split_whitespace() {
            id.push(':');
            id.push_str(word);
        }
        CommandRule {
            id,
            agent: WILDCARD_AGENT.to_owned(),
            effect: RuleEffect::Allow,
            program: program.to_owned(),
            arguments,
            folder: None,
            contents: FileContents::default(),
            limits: RuleLimits::default(),
            note: None,
            created_at_ms,
            from: RuleOrigin::Preset { name: self.name.to_owned() },
        }
    }
}

/// Exactly one flag.
fn version(flags: &str) -> ArgumentShape {
    let names = flags.split_whitespace().map(str::to_owned).collect();
    ArgumentShape {
        subcommand: Vec::new(),
        style: FlagStyle::Words,
        leading: Vec::new(),
        flags: FlagSet::Listed(vec![FlagRule {
            names,
            value: FlagValue::None,
            presence: FlagPresence::Required,
        }]),
        operands: OperandRule::default(),
        secrets: SecretPlaces::Refused,
        orders: OrderWords::Allowed,
    }
}

/// Tools, and the flags with which each prints its version and ends. Not `java`, which leaves a file in the
/// folder for temporary ones, and not `pip`, which opens a socket to see whether there is IPv6.
const VERSIONED: &[(&str, &str)] = &[
    ("bun", "--version -v"),
    ("cargo", "--version -V"),
    ("clang", "--version"),
    ("cmake", "--version"),
    ("deno", "--version -V"),
    ("docker", "--version -v"),
    ("dotnet", "--version"),
    ("gcc", "--version"),
    ("gh", "--version"),
    ("git", "--version"),
    ("jq", "--version"),
    ("make", "--version"),
    ("node", "--version -v"),
    ("npm", "--version -v"),
    ("php", "--version -v"),
    ("pnpm", "--version -v"),
    ("python", "--version -V"),
    ("python3", "--version -V"),
    ("ruby", "--version -v"),
    ("rustc", "--version -V"),
    ("rustup", "--version -V"),
    ("tsc", "--version -v"),
    ("uv", "--version -V"),
    ("yarn", "--version -v"),
];
