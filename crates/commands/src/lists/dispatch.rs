//! Wrappers as the peer reads their options.

use super::{name_of, trim};

/// What the first word of a list is.
pub(super) enum Layer {
    /// No wrapper.
    Program,
    /// A wrapper that is not looked through, or with options that are not known.
    Blocked,
    /// A wrapper; what it starts begins behind `skip` words.
    Through { skip: usize, changes: bool },
}

/// Looks at the first word.
pub(super) fn unwrapped(argv: &[String]) -> Layer {
    let Some(first) = argv.first() else { return Layer::Program };
    let name = name_of(trim(first));
    let through = |skip: Option<usize>| match skip.filter(|skip| *skip < argv.len()) {
        Some(skip) => Layer::Through { skip, changes: false },
        None => Layer::Blocked,
    };
    match name.as_str() {
        "env" => env(argv),
        "flock" => flock(argv),
        _ if BLOCKED.binary_search(&name.as_str()).is_ok() => Layer::Blocked,
        _ => match WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
            Some(wrapper) => {
                through(operand(argv, |word| wrapper.takes(word)).map(|at| at + wrapper.operands))
            }
            None => Layer::Program,
        },
    }
}

/// What an option takes.
enum Takes {
    Nothing,
    NextWord,
    Unknown,
}

/// Index of the first word that is no option; blank words count for nothing.
fn operand(argv: &[String], takes: impl Fn(&str) -> Takes) -> Option<usize> {
    let mut at = 1;
    let mut wants_value = false;
    while let Some(word) = argv.get(at).map(|word| trim(word)) {
        match word {
            "" => {}
            _ if wants_value => wants_value = false,
            "--" => return Some(at + 1),
            word if !word.starts_with('-') || word == "-" => return Some(at),
            word => match takes(word) {
                Takes::Nothing => {}
                Takes::NextWord => wants_value = true,
                Takes::Unknown => return None,
            },
        }
        at += 1;
    }
    (!wants_value).then_some(at)
}

struct Wrapper {
    name: &'static str,
    flags: &'static [&'static str],
    /// Options with a value in the next word or behind `=`.
    values: &'static [&'static str],
    /// Words of its own between options and command.
    operands: usize,
}

impl Wrapper {
    fn takes(&self, word: &str) -> Takes {
        let lower = word.to_lowercase();
        let (flag, has_value) = match lower.split_once('=') {
            Some((flag, _)) => (flag, true),
            None => (lower.as_str(), false),
        };
        if self.flags.contains(&flag) || self.is_number(&lower) {
            Takes::Nothing
        } else if !self.values.contains(&flag) {
            Takes::Unknown
        } else if has_value {
            Takes::Nothing
        } else {
            Takes::NextWord
        }
    }

    /// `nice -5` and `nice -n5`.
    fn is_number(&self, lower: &str) -> bool {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let glued =
            lower.strip_prefix("-n").is_some_and(|value| !value.is_empty() && !value.starts_with('='));
        self.name == "nice" && (lower.strip_prefix('-').is_some_and(digits) || glued)
    }
}

/// Assignments and options, then the command. A text that is split is not looked into: what it
/// sets is not known.
fn env(argv: &[String]) -> Layer {
    let mut changes = false;
    let mut at = 1;
    while let Some(word) = argv.get(at).map(String::as_str) {
        if word.is_empty() {
            return Layer::Blocked;
        }
        if is_assignment(word) {
            changes = true;
            at += 1;
        } else if matches!(word, "--" | "-") {
            at += 1;
            return if at < argv.len() { Layer::Through { skip: at, changes } } else { Layer::Blocked };
        } else if word.starts_with('-') {
            changes = true;
            match env_option(word) {
                Takes::Nothing => at += 1,
                Takes::NextWord => at += 2,
                Takes::Unknown => return Layer::Blocked,
            }
        } else {
            return Layer::Through { skip: at, changes };
        }
    }
    Layer::Blocked
}

fn env_option(word: &str) -> Takes {
    if let Some(long) = word.strip_prefix("--") {
        let (name, has_value) = match long.split_once('=') {
            Some((name, _)) => (name, true),
            None => (long, false),
        };
        return match name {
            "ignore-environment" | "null" => Takes::Nothing,
            _ if !ENV_VALUES.contains(&name) => Takes::Unknown,
            _ if has_value => Takes::Nothing,
            _ => Takes::NextWord,
        };
    }
    let letters = word.get(1..).unwrap_or_default();
    for (at, letter) in letters.char_indices() {
        match letter {
            '0' | 'i' => {}
            'C' | 'P' | 'u' => {
                return if at + 1 < letters.len() { Takes::Nothing } else { Takes::NextWord };
            }
            _ => return Takes::Unknown,
        }
    }
    Takes::Nothing
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// Options, the lock, then a command that is no option.
fn flock(argv: &[String]) -> Layer {
    let takes = |word: &str| {
        let (flag, has_value) = match word.split_once('=') {
            Some((flag, _)) => (flag, true),
            None => (word, false),
        };
        let lower = flag.to_lowercase();
        let letters = word.strip_prefix('-').unwrap_or_default();
        if FLOCK_FLAGS.contains(&lower.as_str()) || letters.bytes().all(|byte| b"eFnosx".contains(&byte)) {
            Takes::Nothing
        } else if FLOCK_VALUES.contains(&lower.as_str()) || matches!(flag, "-E" | "-w") {
            if has_value { Takes::Nothing } else { Takes::NextWord }
        } else {
            Takes::Unknown
        }
    };
    let Some(lock) = operand(argv, takes) else { return Layer::Blocked };
    match argv.get(lock + 1).map(|word| trim(word)) {
        Some(command) if !command.is_empty() && (!command.starts_with('-') || command == "-") => {
            Layer::Through { skip: lock + 1, changes: false }
        }
        _ => Layer::Blocked,
    }
}

const ENV_VALUES: &[&str] = &["argv0", "block-signal", "chdir", "default-signal", "ignore-signal", "unset"];

const FLOCK_FLAGS: &[&str] =
    &["--close", "--exclusive", "--nb", "--no-fork", "--nonblock", "--shared", "--verbose"];

const FLOCK_VALUES: &[&str] = &["--conflict-exit-code", "--timeout", "--wait"];

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "caffeinate",
        flags: &["-d", "-i", "-m", "-s", "-u"],
        values: &["-t", "-w"],
        operands: 0,
    },
    Wrapper { name: "nice", flags: &[], values: &["-n", "--adjustment", "--priority"], operands: 0 },
    Wrapper { name: "nohup", flags: &["--help", "--version"], values: &[], operands: 0 },
    Wrapper { name: "sandbox-exec", flags: &[], values: &["-f", "-p", "-d"], operands: 0 },
    Wrapper {
        name: "stdbuf",
        flags: &[],
        values: &["-i", "--input", "-o", "--output", "-e", "--error"],
        operands: 0,
    },
    Wrapper {
        name: "time",
        flags: &[
            "-a",
            "--append",
            "-h",
            "--help",
            "-l",
            "-p",
            "-q",
            "--quiet",
            "-v",
            "--verbose",
            "--version",
        ],
        values: &["-f", "--format", "-o", "--output"],
        operands: 0,
    },
    Wrapper {
        name: "timeout",
        flags: &["--foreground", "--preserve-status", "-v", "--verbose"],
        values: &["-k", "--kill-after", "-s", "--signal"],
        operands: 1,
    },
];

/// Sorted. Never looked through.
pub(super) const BLOCKED: &[&str] = &[
    "arch",
    "bwrap",
    "catchsegv",
    "chroot",
    "chrt",
    "cpulimit",
    "doas",
    "eatmydata",
    "firejail",
    "gosu",
    "ionice",
    "linux32",
    "linux64",
    "nsenter",
    "numactl",
    "pkexec",
    "proot",
    "proxychains",
    "proxychains4",
    "runuser",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "torify",
    "torsocks",
    "unbuffer",
    "unshare",
    "watch",
    "xcrun",
    "xvfb-run",
];
