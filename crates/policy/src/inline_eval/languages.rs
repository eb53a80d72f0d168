//! Which options and operands of which interpreters are programs.

/// One family of interpreters.
pub(super) struct Language {
    /// Sorted names, without versions unless they have a name of their own.
    pub(super) names: &'static [&'static str],
    /// Options whose value is a program. A lower-case one is also found in upper case.
    flags: &'static [&'static str],
    /// Whether a short one may have its value glued to it.
    glued: Glued,
    /// Letters that may stand before the letter of a short one.
    clusters: &'static str,
    /// Shortest beginnings of long ones that are understood for them.
    abbreviations: &'static [(&'static str, &'static str)],
    /// Whether the letter of a short one has the same meaning in upper case.
    either_case: bool,
    /// What begins like a short one with its value and is none.
    others: &'static [&'static str],
    /// Whether `--` ends the options.
    terminator: Terminator,
    /// What the first operand is.
    pub(super) operand: Operand,
    /// Options that name a file with the program, so that operands are data.
    pub(super) file_flags: &'static [&'static str],
    /// Options with a value that is no operand.
    pub(super) value_flags: &'static [&'static str],
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Glued {
    No,
    Yes,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Terminator {
    EndsOptions,
    Ignored,
}

/// What the first operand of a program is.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Operand {
    /// A file or other data.
    Data,
    /// A command to run.
    Command,
    /// A program in the interpreter's language.
    Program,
}

impl Language {
    /// The first option among `args` that carries a program.
    pub(super) fn flag_in(&self, args: &[&str]) -> Option<&'static str> {
        args.iter()
            .take_while(|arg| self.terminator == Terminator::Ignored || **arg != "--")
            .find_map(|arg| self.flag_of(arg))
    }

    fn flag_of(&self, arg: &str) -> Option<&'static str> {
        let flags = || self.flags.iter().copied();
        let abbreviated = || {
            let lower = arg.to_lowercase();
            let name = lower.split('=').next().unwrap_or_default();
            let stands =
                |(least, whole): &&(&str, &str)| name.len() >= least.len() && whole.starts_with(name);
            self.abbreviations.iter().find(stands).map(|(_, whole)| *whole)
        };
        flags()
            .find(|flag| *flag == arg)
            .or_else(|| flags().find(|flag| self.is_given(arg, flag)))
            .or_else(abbreviated)
    }

    /// Whether `arg` is this option in another case, with its value, or with others in one word.
    fn is_given(&self, arg: &str, flag: &str) -> bool {
        if arg.to_lowercase() == flag {
            return true;
        }
        if flag.starts_with("--") {
            return carries_value(&arg.to_lowercase(), flag);
        }
        if self.others.iter().any(|other| arg.to_lowercase().starts_with(other)) {
            return false;
        }
        let (Some(letter), Some(letters)) = (short_letter(flag), arg.strip_prefix('-')) else { return false };
        if letters.starts_with('-') {
            return false;
        }
        let before = letters.trim_start_matches(|c| self.clusters.contains(c));
        let is_letter = |text: &str| {
            text.starts_with(letter) || (self.either_case && text.starts_with(letter.to_ascii_uppercase()))
        };
        let is_clustered = before.len() < letters.len() && is_letter(before);
        is_clustered || (self.glued == Glued::Yes && is_letter(letters))
    }
}

/// Whether `arg` is `flag`, or `flag` with a value behind `=` or, for a short one, glued to it.
pub(super) fn carries_value(arg: &str, flag: &str) -> bool {
    let Some(rest) = arg.strip_prefix(flag) else { return false };
    rest.is_empty() || rest.starts_with('=') || short_letter(flag).is_some()
}

/// The letter of an option with one dash and one letter.
fn short_letter(flag: &str) -> Option<char> {
    let mut letters = flag.strip_prefix('-')?.chars();
    let letter = letters.next()?;
    (letter != '-' && letters.next().is_none()).then_some(letter)
}

const PLAIN: Language = Language {
    names: &[],
    flags: &[],
    glued: Glued::No,
    clusters: "",
    abbreviations: &[],
    either_case: false,
    others: &[],
    terminator: Terminator::EndsOptions,
    operand: Operand::Data,
    file_flags: &[],
    value_flags: &[],
};

const GDB_ABBREVIATIONS: &[(&str, &str)] = &[
    ("-ev", "-eval-command"),
    ("--ev", "--eval-command"),
    ("-ex", "-ex"),
    ("-iex", "-iex"),
    ("-eiex", "-eiex"),
    ("-init-e", "-init-eval-command"),
    ("--init-e", "--init-eval-command"),
    ("-early-init-e", "-early-init-eval-command"),
    ("--early-init-e", "--early-init-eval-command"),
];

pub(super) const LANGUAGES: &[Language] = &[
    Language {
        names: &["pypy", "pypy3", "python", "python2", "python3"],
        flags: &["-c"],
        glued: Glued::Yes,
        clusters: "BEIOPRSbdiqsuvx",
        ..PLAIN
    },
    Language {
        names: &["bun", "deno", "node", "nodejs"],
        flags: &["-e", "--eval", "-p", "--print"],
        glued: Glued::Yes,
        ..PLAIN
    },
    Language {
        names: &["perl"],
        flags: &["-e"],
        glued: Glued::Yes,
        clusters: "0123456789STUVWXacdflnpstuw",
        either_case: true,
        ..PLAIN
    },
    Language { names: &["perl6", "raku"], flags: &["-e"], glued: Glued::Yes, clusters: "np", ..PLAIN },
    Language {
        names: &["ruby"],
        flags: &["-e"],
        glued: Glued::Yes,
        clusters: "0123456789SUWacdlnpsvw",
        ..PLAIN
    },
    Language { names: &["php"], flags: &["-r", "-B", "-E", "-R"], glued: Glued::Yes, ..PLAIN },
    Language { names: &["lua"], flags: &["-e"], glued: Glued::Yes, ..PLAIN },
    Language { names: &["osascript", "r", "rscript"], flags: &["-e"], glued: Glued::Yes, ..PLAIN },
    Language { names: &["julia"], flags: &["-e", "--eval", "-E", "--print"], glued: Glued::Yes, ..PLAIN },
    Language { names: &["elixir", "iex"], flags: &["-e", "--eval", "--rpc-eval"], ..PLAIN },
    Language { names: &["guile"], flags: &["-c", "-e"], ..PLAIN },
    Language {
        names: &["groovy"],
        flags: &["-e"],
        glued: Glued::Yes,
        clusters: "np",
        others: &["-encoding"],
        ..PLAIN
    },
    Language { names: &["ghc", "ghci"], flags: &["-e"], ..PLAIN },
    Language {
        names: &["scala", "scala-cli"],
        flags: &[
            "-e",
            "--execute-java",
            "--execute-markdown",
            "--execute-md",
            "--execute-sc",
            "--execute-scala",
            "--execute-scala-script",
            "--execute-script",
            "--java-snippet",
            "--markdown-snippet",
            "--md-snippet",
            "--scala-snippet",
            "--script-snippet",
        ],
        ..PLAIN
    },
    Language { names: &["clj", "clojure"], flags: &["-e", "--eval"], ..PLAIN },
    Language { names: &["erl", "werl"], flags: &["-eval", "-run", "-s"], ..PLAIN },
    Language {
        names: &["gdb"],
        flags: &[
            "-ex",
            "-iex",
            "-eiex",
            "-eval-command",
            "-init-eval-command",
            "-early-init-eval-command",
            "--ex",
            "--iex",
            "--eiex",
            "--eval-command",
            "--init-eval-command",
            "--early-init-eval-command",
        ],
        abbreviations: GDB_ABBREVIATIONS,
        ..PLAIN
    },
    Language { names: &["expect"], flags: &["-c"], glued: Glued::Yes, ..PLAIN },
    Language {
        names: &["find"],
        flags: &["-exec", "-execdir", "-ok", "-okdir"],
        terminator: Terminator::Ignored,
        ..PLAIN
    },
    Language {
        names: &["gmake", "make"],
        flags: &["-f", "--file", "--makefile", "--eval", "-E"],
        glued: Glued::Yes,
        either_case: true,
        abbreviations: &[("--ev", "--eval")],
        ..PLAIN
    },
    Language {
        names: &["gsed", "sed"],
        flags: &["-e", "--expression"],
        glued: Glued::Yes,
        operand: Operand::Program,
        file_flags: &["-f", "--file"],
        value_flags: &["-l", "--line-length"],
        ..PLAIN
    },
    Language {
        names: &["awk", "gawk", "mawk", "nawk"],
        flags: &["-e", "--source"],
        glued: Glued::Yes,
        abbreviations: &[("--s", "--source")],
        operand: Operand::Program,
        file_flags: &["-f", "--file"],
        value_flags: &["-F", "--field-separator", "-v", "--assign", "-i", "--include", "-l", "--load", "-W"],
        ..PLAIN
    },
    Language {
        names: &["xargs"],
        operand: Operand::Command,
        value_flags: &[
            "-a",
            "--arg-file",
            "-d",
            "--delimiter",
            "-E",
            "-I",
            "-L",
            "--max-lines",
            "-n",
            "--max-args",
            "-P",
            "--max-procs",
            "-s",
            "--max-chars",
        ],
        ..PLAIN
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_commands::programs::Name;

    #[test]
    fn names_are_sorted_for_the_search_by_halves() {
        for language in LANGUAGES {
            assert!(language.names.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", language.names);
            assert!(language.names.iter().all(|name| Name::of(name).is_one_of(language.names)));
        }
    }
}
