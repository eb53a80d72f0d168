//! What programs are known to do, by name: shells, carriers that run another program, interpreters,
//! multi-call files (docs/protocol/commands.md, "Wrappers"). Names are compared as the peers do: base name,
//! lower case, without a Windows extension, and without a trailing version so that `python3.12` is `python`.

/// Whether a file is another program under each name that leads to it, so that started by its own name it is
/// not what was asked for: `cargo` behind `rustup`.
pub fn is_another_by_name(path: &str, typed: &str) -> bool {
    Name::of(path).is_one_of(BY_NAME) && Name::of(typed) != Name::of(path)
}

/// A program's name as the tables spell it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Name {
    full: String,
    unversioned: String,
}

impl Name {
    /// The name of a typed word or a path.
    pub fn of(program: &str) -> Self {
        let base = program.rsplit(['/', '\\']).next().unwrap_or(program);
        let mut full = base.to_lowercase();
        for extension in [".exe", ".cmd", ".bat", ".com"] {
            if let Some(stem) = full.strip_suffix(extension) {
                full.truncate(stem.len());
                break;
            }
        }
        let unversioned =
            full.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_')).to_owned();
        Self { full, unversioned }
    }

    /// Base name in lower case, without a Windows extension, version included.
    pub fn as_str(&self) -> &str {
        &self.full
    }

    /// The same without a trailing version; empty when that is all of it.
    pub(crate) fn unversioned(&self) -> &str {
        &self.unversioned
    }

    /// Whether the name, with or without its version, is one of these, which are sorted.
    pub fn is_one_of(&self, sorted: &[&str]) -> bool {
        self.is_in(sorted)
    }

    /// Whether this is a command interpreter for text.
    pub fn is_shell(&self) -> bool {
        self.is_in(SHELLS)
    }

    /// Whether it is a shell whose `-c` takes POSIX text.
    pub fn reads_posix_text(&self) -> bool {
        matches!(
            self.full.as_str(),
            "ash" | "bash" | "dash" | "ksh" | "mksh" | "sh" | "yash" | "zsh" | "fish"
        )
    }

    /// Whether it is the shell that is called by its standard name.
    pub(crate) fn is_plain_sh(&self) -> bool {
        self.full == "sh"
    }

    /// Whether one file contains many programs and picks by its first argument or name.
    pub fn is_multi_call(&self) -> bool {
        // Builds carry what they are for in their names: `toybox-x86_64`, `busybox.static`.
        let stem = self.full.split(['_', '.']).next().unwrap_or(&self.full);
        let names = |known: &&str| {
            stem.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.is_in(MULTI_CALL) || MULTI_CALL.iter().any(names)
    }

    /// Whether it is known to take a program for itself, whatever it starts.
    pub(crate) fn reads_programs(&self) -> bool {
        self.is_in(INTERPRETERS)
    }

    fn is_in(&self, sorted: &[&str]) -> bool {
        sorted.binary_search(&self.full.as_str()).is_ok()
            || (!self.unversioned.is_empty() && sorted.binary_search(&self.unversioned.as_str()).is_ok())
    }
}

/// Sorted; searched by halves.
const SHELLS: &[&str] = &[
    "ash",
    "bash",
    "cmd",
    "csh",
    "dash",
    "elvish",
    "fish",
    "ksh",
    "lksh",
    "mksh",
    "nu",
    "osh",
    "posh",
    "powershell",
    "pwsh",
    "rbash",
    "rksh",
    "rzsh",
    "sash",
    "sh",
    "tcsh",
    "xonsh",
    "yash",
    "zsh",
];

/// Sorted; one file with many programs inside.
const MULTI_CALL: &[&str] = &["busybox", "coreutils", "sbase-box", "toybox", "ubase-box", "uutils"];

/// Sorted; one file that picks another program by the name it is called by.
const BY_NAME: &[&str] = &["asdf", "mise", "rustup", "volta-shim"];

/// Sorted; without trailing versions. Those that start other programs too are in
/// [`crate::command::carriers`].
const INTERPRETERS: &[&str] = &[
    "awk",
    "clj",
    "clojure",
    "ed",
    "elixir",
    "erl",
    "gawk",
    "ghc",
    "ghci",
    "gmake",
    "groovy",
    "gsed",
    "guile",
    "iex",
    "irb",
    "java",
    "jjs",
    "jshell",
    "julia",
    "lua",
    "luajit",
    "m4",
    "make",
    "mawk",
    "nawk",
    "node",
    "nodejs",
    "octave",
    "osascript",
    "perl",
    "php",
    "pypy",
    "python",
    "pythonw",
    "r",
    "raku",
    "rscript",
    "ruby",
    "runghc",
    "runhaskell",
    "scala",
    "scala-cli",
    "sed",
    "sqlite",
    "swift",
    "tclsh",
    "ts-node",
    "tsx",
    "werl",
    "wish",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_sorted_so_that_the_search_finds_all_of_it() {
        for table in [SHELLS, MULTI_CALL, BY_NAME, INTERPRETERS] {
            for name in table {
                assert!(Name::of(name).is_in(table), "{name}");
            }
            assert!(table.windows(2).all(|pair| pair[0] < pair[1]), "{table:?}");
        }
    }

    #[test]
    fn names_ignore_folder_case_extension_and_version() {
        for name in ["/usr/bin/python3.12", "PYTHON3", "python.exe", "python-3.12", "Python"] {
            assert!(Name::of(name).is_interpreter(), "{name}");
        }
        assert!(Name::of("/bin/BASH").is_shell());
        assert!(Name::of("bash-5.2").is_shell());
        assert!(!Name::of("bashful").is_shell());
    }
}
