//! Shells: whether a program is one, what it was told to run, and the multi-call files that can be one.

use super::names::base_name;
use super::{Layer, names};
use crate::shell::Word;

/// What a shell was told to do. Indexes count from the word that names the shell.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ShellUse {
    /// Nothing: it reads its input.
    Bare,
    /// To run a text.
    Inline {
        /// The word with the text.
        payload: usize,
        /// Whether it reads start-up files first.
        starts_up: StartUp,
        /// Whether the text is in a language that is taken apart here.
        language: Language,
        /// Whether the text only runs the words behind it.
        carried: Option<Carried>,
    },
    /// To run a file.
    Script {
        /// The word that names the file.
        operand: usize,
    },
    /// Something else.
    Other,
}

/// Whether a shell reads start-up files of its user.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StartUp {
    /// A login or interactive shell.
    Files,
    /// A plain one.
    Nothing,
}

/// The language of a shell's text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Language {
    /// Close enough to POSIX.
    Posix,
    /// Something of its own.
    Foreign,
}

/// Which of the words behind a text such as `"$0" "$@"` run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Carried {
    /// All of them.
    All,
    /// The program without arguments.
    ProgramAlone,
    /// The program with some of them.
    Some,
}

/// Whether this is a command interpreter for text.
pub(super) fn is_shell(name: &str) -> bool {
    POSIX.contains(&name) || FOREIGN.contains(&name)
}

/// A multi-call file is looked through only when it is told to be a shell.
pub(super) fn multi_call(name: &str, words: &[Word]) -> Layer {
    if !matches!(name, "busybox" | "toybox") {
        return Layer::Program;
    }
    let dashes = words.get(1).is_some_and(|word| word.text == "--");
    let applet = if dashes { 2 } else { 1 };
    let is_shell = words.get(applet).is_some_and(|word| is_shell(&base_name(&word.text)));
    Layer::through(words, is_shell.then_some(applet))
}

/// What `words` tell their first one to do; `None` when it is no shell.
pub(super) fn usage(words: &[Word]) -> Option<ShellUse> {
    let name = base_name(&words.first()?.text);
    if !is_shell(&name) {
        return None;
    }
    if words.len() == 1 {
        return Some(ShellUse::Bare);
    }
    let language = if POSIX.contains(&&*name) { Language::Posix } else { Language::Foreign };
    if OPAQUE.contains(&&*name) {
        return Some(script(words));
    }
    Some(match inline(&name, words) {
        Inline::At { payload, starts_up } => {
            // fish starts with commands of its own option too.
            let init =
                name == "fish" && options(words).any(|word| word.starts_with("-C") || word.contains("init"));
            let starts_up = if init { StartUp::Files } else { starts_up };
            let plain = language == Language::Posix && starts_up == StartUp::Nothing;
            let carried = words.get(payload).filter(|_| plain).and_then(|text| {
                let program = words.get(payload + 1)?;
                carried(&text.text, &program.text)
            });
            ShellUse::Inline { payload, starts_up, language, carried }
        }
        Inline::Unclear => ShellUse::Other,
        Inline::None => script(words),
    })
}

/// Where the text is.
enum Inline {
    At {
        payload: usize,
        starts_up: StartUp,
    },
    None,
    /// An option of a form that shells read differently.
    Unclear,
}

fn inline(name: &str, words: &[Word]) -> Inline {
    let mut starts_up = StartUp::Nothing;
    let mut at = 1;
    while let Some(word) = words.get(at).map(|word| word.text.as_str()) {
        let is_option = word.starts_with(['-', '+']) && word.len() > 1;
        if !is_option || word == "--" {
            return Inline::None;
        }
        let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        if matches!(word, "--login" | "--interactive") || letters.is_some_and(|set| set.contains(['l', 'i']))
        {
            starts_up = StartUp::Files;
        }
        let values = match letters.or(word.strip_prefix('+')) {
            Some(set) => set.bytes().filter(|b| matches!(b, b'o' | b'O')).count(),
            None => usize::from(matches!(word, "--init-file" | "--rcfile")),
        };
        let tells = matches!(word, "--command" | "--commands" | "--cmdline")
            || letters.is_some_and(|set| set.contains('c'));
        if tells {
            // Behind the letter some shells read more options and others the text itself.
            let behind = letters.and_then(|set| set.split_once('c')).map_or("", |(_, behind)| behind);
            if !behind.bytes().all(|b| PLAIN_OPTIONS.contains(&b)) || (!behind.is_empty() && name == "fish") {
                return Inline::Unclear;
            }
            let payload = at + 1 + values;
            return match words.get(payload) {
                // Options may follow, and then they are none of the text.
                Some(text) if text.text.starts_with(['-', '+']) => Inline::Unclear,
                Some(text) if !text.text.trim().is_empty() => Inline::At { payload, starts_up },
                _ => Inline::Unclear,
            };
        }
        at += 1 + values;
    }
    Inline::None
}

/// The file operand, unless an option reads something else first.
fn script(words: &[Word]) -> ShellUse {
    let mut at = 1;
    while let Some(word) = words.get(at).map(|word| word.text.as_str()) {
        if word == "--" {
            at += 1;
            break;
        }
        if !word.starts_with(['-', '+']) {
            break;
        }
        let letters = word.strip_prefix('-').filter(|rest| !rest.contains('-')).unwrap_or_default();
        let reads_other = letters.contains(['c', 'C', 's', 'S'])
            || word.starts_with("--command")
            || STARTUP_FILES.iter().any(|option| word.starts_with(option));
        if reads_other || word == "+o" {
            return ShellUse::Other;
        }
        // Each of these letters takes a word of its own.
        let options = word.get(1..).filter(|options| !options.contains('-')).unwrap_or_default();
        at += 1 + options.bytes().filter(|byte| matches!(byte, b'o' | b'O')).count();
    }
    match words.get(at) {
        Some(word) if !names::is_odd(&word.text) => ShellUse::Script { operand: at },
        _ => ShellUse::Other,
    }
}

fn options(words: &[Word]) -> impl Iterator<Item = &str> {
    words.iter().skip(1).map(|word| word.text.as_str()).take_while(|word| word.starts_with(['-', '+']))
}

/// What a text runs of the words behind it, the first of which is `program`:
/// `[exec [--]] "$0" [$1 … | "$@"]`.
fn carried(text: &str, program: &str) -> Option<Carried> {
    if text.contains(['\n', '\r']) {
        return None;
    }
    let mut words = text.split([' ', '\t']).filter(|word| !word.is_empty()).peekable();
    if words.next_if_eq(&"exec").is_some() {
        words.next_if_eq(&"--");
    }
    let zero = words.next()?;
    if positional(zero)? != '0' {
        return None;
    }
    // Without quotes the shell splits and expands the name once more.
    let plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | ',' | '@' | '%');
    if !zero.starts_with('"') && !program.chars().all(plain) {
        return None;
    }
    let rest: Vec<&str> = words.collect();
    if rest.iter().any(|word| !matches!(positional(word), Some('@' | '1'..='9'))) {
        return None;
    }
    Some(match rest.as_slice() {
        [] => Carried::ProgramAlone,
        ["\"$@\"" | "\"${@}\""] => Carried::All,
        _ => Carried::Some,
    })
}

/// The name of a positional parameter: `$0`, `${0}`, `"$0"`, `"${0}"`.
fn positional(word: &str) -> Option<char> {
    let inner = match word.strip_prefix('"') {
        Some(rest) => rest.strip_suffix('"')?,
        None => word,
    };
    let name = inner.strip_prefix('$')?;
    let name = match name.strip_prefix('{') {
        Some(rest) => rest.strip_suffix('}')?,
        None => name,
    };
    let mut chars = name.chars();
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

/// Shells whose text is close enough to POSIX to be taken apart.
const POSIX: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "yash", "zsh"];

/// Shells with a language or options of their own.
const FOREIGN: &[&str] = &["cmd", "csh", "elvish", "nu", "osh", "powershell", "pwsh", "tcsh", "xonsh"];

/// Shells that read start-up files whatever they are told.
const OPAQUE: &[&str] = &["cmd", "csh", "osh", "tcsh"];

/// Options without values that may share a word with `-c`.
const PLAIN_OPTIONS: &[u8] = b"abefhmnpuvx";

const STARTUP_FILES: &[&str] = &["--rcfile", "--init-file", "--startup-file"];
