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
                    for (names, words, flags) in VERSIONED {
                        let firsts = flags.split(' ').filter_map(|flag| flag.split(',').next());
                        let said: Vec<&str> = std::iter::once(*words).chain(firsts).collect();
                        let said = said.join(" ");
                        rules.extend(names.split(' ').map(|name| {
                            let arguments = ArgumentRule::Shape(version(words, flags));
                            self.rule(name, &said, arguments, created_at_ms)
                        }));
                    }
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

/// These words and nothing else: a subcommand, or one of some flags.
fn version(words: &str, flags: &str) -> ArgumentShape {
    let one_of = |names: &str| FlagRule {
        names: names.split(',').map(str::to_owned).collect(),
        value: FlagValue::None,
        presence: FlagPresence::Required,
    };
    ArgumentShape {
        subcommand: words.split_whitespace().map(str::to_owned).collect(),
        style: FlagStyle::Words,
        leading: Vec::new(),
        flags: FlagSet::Listed(flags.split_whitespace().map(one_of).collect()),
        operands: OperandRule::default(),
        secrets: SecretPlaces::Refused,
        orders: OrderWords::Allowed,
    }
}

/// Whether a rule lets a program say its version and nothing else, as a group of these does: then it does not
/// matter what else the program could be told.
pub(crate) fn asks_for_a_version(rule: &CommandRule) -> bool {
    let ArgumentRule::Shape(shape) = &rule.arguments else { return false };
    VERSIONED.iter().any(|(names, words, flags)| {
        names.split(' ').any(|name| name == rule.program) && *shape == version(words, flags)
    })
}

/// Tools, the subcommand with which each says its version, and the flags that do or that have to be there,
/// with other names of each behind a comma; nothing else is done with them. Left out are those that look for
/// a newer one (`terraform`, `brew`), that load what the project brings (`pytest`, `bundle`, `ansible`,
/// `turbo`, `poetry`), that leave files (`gcloud`, `gdb`) or that begin to listen to their person (`erl`).
/// While it runs, `java` keeps a file of its own among the temporary ones, and `pip` sees by a socket of its
/// own whether there is IPv6. What decides in the folder which program answers is looked at elsewhere
/// ([`crate::surroundings`]).
const VERSIONED: &[(&str, &str, &str)] = &[
    ("bun node npm pnpm yarn tsc php", "", "--version,-v"),
    ("cargo rustc rustdoc rustfmt rustup uv deno", "", "--version,-V"),
    ("cargo", "version", ""),
    ("rustc", "", "-vV"),
    ("rustc", "", "--version,-V --verbose,-v"),
    ("python python2 python3", "", "--version,-V"),
    ("perl ruby", "", "--version,-v"),
    ("lua luajit", "", "-v"),
    ("go", "version", ""),
    ("zig hugo gh helm openssl", "version", ""),
    ("java javac", "", "--version,-version"),
    ("kotlinc scalac", "", "-version"),
    ("elixir ghc R Rscript swift swiftc dart", "", "--version"),
    ("julia", "", "--version,-v"),
    ("gcc cc g++ c++ clang clang++", "", "--version"),
    ("gcc cc g++ c++", "", "-dumpversion"),
    ("gcc cc g++ c++", "", "-dumpmachine"),
    ("make gmake ld", "", "--version,-v"),
    ("cmake ninja meson ccache dotnet podman", "", "--version"),
    ("docker", "", "--version,-v"),
    ("kubectl", "version", "--client"),
    ("helm", "version", "--short"),
    ("gh glab jq", "", "--version"),
    ("curl wget rsync", "", "--version,-V"),
    ("ssh tmux", "", "-V"),
    ("strace", "", "--version,-V"),
    ("gpg vim nvim emacs nano less", "", "--version"),
    ("mysql mariadb", "", "--version,-V"),
    ("sqlite3", "", "--version,-version"),
    ("redis-cli", "", "--version,-v"),
    ("ffmpeg ffprobe", "", "-version"),
    ("aws pre-commit", "", "--version"),
    ("pip pip3 conda ruff mypy black pip-compile", "", "--version,-V"),
    ("eslint prettier esbuild", "", "--version"),
    ("just shellcheck hyperfine", "", "--version,-V"),
    ("rg fd fdfind bat batcat", "", "--version,-V"),
    ("apt apt-get apt-cache dpkg rpm", "", "--version"),
    ("git", "", "--version"),
    ("awk gawk sed gsed grep egrep fgrep find tar gtar gzip diff cmp tree file", "", "--version"),
    ("ls cat head tail wc sort uniq cut tr stat du df date uname id", "", "--version"),
];
