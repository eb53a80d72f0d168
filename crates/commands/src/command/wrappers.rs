//! Programs that start the rest of their arguments: the ones that can be looked through, with the options
//! under which the rest is still what runs, and the ones that never are (`carriers::table` says which).

use super::Layer;
use super::carriers::{self, Through};
use super::names::is_assignment;
use crate::shell::Word;

/// What `words` come to when their first one, called `name`, is a wrapper.
pub(super) fn dispatch(name: &str, words: &[Word]) -> Layer {
    match name {
        "env" => Layer::through(words, env(words)),
        "nice" => Layer::through(words, operand(words, nice_option)),
        "nohup" => Layer::through(words, operand(words, |option| flag(option, &["--help", "--version"]))),
        "stdbuf" => Layer::through(words, operand(words, |option| valued(option, STDBUF_VALUES))),
        "time" => Layer::through(words, operand(words, time_option)),
        "timeout" => {
            // The duration stands between the options and the command.
            Layer::through(words, operand(words, timeout_option).map(|duration| duration + 1))
        }
        "flock" => flock(words),
        "caffeinate" => Layer::through(words, operand(words, caffeinate_option)),
        "sandbox-exec" => Layer::through(words, operand(words, |option| valued(option, SANDBOX_VALUES))),
        _ => match carriers::by_exact_name(name).map(|row| row.through) {
            Some(Through::Blocked | Through::Searched) => Layer::Blocked,
            Some(Through::Transparent | Through::Builtin | Through::Never) | None => Layer::Program,
        },
    }
}

/// What an option takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Takes {
    /// Nothing, or its value is glued to it.
    Nothing,
    /// The next word.
    NextWord,
    /// Not an option that is understood.
    Unknown,
}

/// Index of the first word after the options; `None` when an option is not understood or lacks its value.
fn operand(words: &[Word], takes: impl Fn(&str) -> Takes) -> Option<usize> {
    let mut at = 1;
    loop {
        let word = words.get(at)?.text.as_str();
        if word == "--" {
            return Some(at + 1);
        }
        if !word.starts_with('-') || word == "-" {
            return Some(at);
        }
        at += match takes(word) {
            Takes::Nothing => 1,
            Takes::NextWord => 2,
            Takes::Unknown => return None,
        };
    }
}

fn flag(option: &str, known: &[&str]) -> Takes {
    if known.contains(&option) { Takes::Nothing } else { Takes::Unknown }
}

/// An option of `known` with its value in the next word or, for long ones, behind `=`.
fn valued(option: &str, known: &[&str]) -> Takes {
    if known.contains(&option) {
        return Takes::NextWord;
    }
    match option.split_once('=') {
        Some((name, _)) if name.starts_with("--") && known.contains(&name) => Takes::Nothing,
        _ => Takes::Unknown,
    }
}

/// Only without anything that changes the environment or folder: `env cmd`, `env -- cmd`, `env - cmd`.
fn env(words: &[Word]) -> Option<usize> {
    let first = words.get(1)?.text.as_str();
    let command = if matches!(first, "--" | "-") { 2 } else { 1 };
    let next = words.get(command)?.text.as_str();
    // The program takes any word with `=` for an assignment, portable name or not.
    (!next.starts_with('-') && !next.contains('=') && !is_assignment(next)).then_some(command)
}

fn nice_option(option: &str) -> Takes {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if option.strip_prefix('-').is_some_and(digits) || (option.starts_with("-n") && option.len() > 2) {
        return Takes::Nothing;
    }
    valued(option, &["-n", "--adjustment", "--priority"])
}

fn time_option(option: &str) -> Takes {
    match flag(option, TIME_FLAGS) {
        Takes::Unknown => valued(option, &["-f", "--format"]),
        known => known,
    }
}

fn timeout_option(option: &str) -> Takes {
    match flag(option, &["--foreground", "--preserve-status", "-v", "--verbose"]) {
        Takes::Unknown => valued(option, &["-k", "--kill-after", "-s", "--signal"]),
        known => known,
    }
}

fn caffeinate_option(option: &str) -> Takes {
    match flag(option, &["-d", "-i", "-m", "-s", "-u"]) {
        Takes::Unknown => valued(option, &["-t", "-w"]),
        known => known,
    }
}

/// Options, then the lock file, then the command. A lock file that `~` leads to is somebody's: taking the
/// lock would create it.
fn flock(words: &[Word]) -> Layer {
    let is_cluster = |option: &str| {
        option
            .strip_prefix('-')
            .is_some_and(|letters| !letters.is_empty() && letters.bytes().all(|b| b"eFnosx".contains(&b)))
    };
    let takes = |option: &str| {
        if is_cluster(option) || FLOCK_FLAGS.contains(&option) {
            Takes::Nothing
        } else {
            valued(option, &["-E", "-w", "--conflict-exit-code", "--timeout", "--wait"])
        }
    };
    let Some(lock) = operand(words, takes) else { return Layer::Blocked };
    let named = words.get(lock).is_some_and(|word| !word.text.is_empty() && !word.text.starts_with('~'));
    let command = words.get(lock + 1);
    if !named || command.is_none_or(|command| command.text.starts_with('-')) {
        return Layer::Blocked;
    }
    match Layer::through(words, Some(lock + 1)) {
        Layer::Through { skip, .. } => Layer::Through { skip, touches: Some(lock) },
        other => other,
    }
}

const STDBUF_VALUES: &[&str] = &["-i", "-o", "-e", "--input", "--output", "--error"];

const SANDBOX_VALUES: &[&str] = &["-f", "-p", "-d"];

/// Not `-o`: it writes a file.
const TIME_FLAGS: &[&str] =
    &["-a", "--append", "-h", "--help", "-l", "-p", "-q", "--quiet", "-v", "--verbose", "-V", "--version"];

const FLOCK_FLAGS: &[&str] = &["--close", "--exclusive", "--no-fork", "--nonblock", "--shared", "--verbose"];
