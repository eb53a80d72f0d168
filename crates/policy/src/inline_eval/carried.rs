//! Which words a wrapper starts. Only for finding what is inside: an option that is not known is passed over here, where
//! a decision about the wrapper itself would refuse it.

use crate::programs::Name;

/// The words that run in the end, with all known wrappers taken off.
pub(super) fn innermost<'a, 'b>(words: &'a [&'b str]) -> &'a [&'b str] {
    let mut words = words;
    while let Some(inner) = started_by(words) {
        words = inner;
    }
    words
}

/// The words that the first one starts, when it is a known wrapper.
fn started_by<'a, 'b>(words: &'a [&'b str]) -> Option<&'a [&'b str]> {
    let (wrapper, rest) = words.split_first()?;
    let name = Name::of(wrapper.trim());
    if name.reads_posix_text() {
        return positional(rest);
    }
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name.as_str())?;
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        match *word {
            "--" => {
                at += 1;
                break;
            }
            flag if wrapper.values.contains(&flag) => at += 2,
            // Most read their options in any case.
            flag if wrapper.assigns == Assigns::No
                && wrapper.values.contains(&flag.to_lowercase().as_str()) =>
            {
                at += 2
            }
            flag if flag.starts_with('-') => at += 1,
            _ => break,
        }
    }
    at += wrapper.operands;
    if wrapper.assigns == Assigns::Yes {
        at += rest.get(at..)?.iter().take_while(|word| is_assignment(word)).count();
    }
    rest.get(at..).filter(|inner| !inner.is_empty())
}

/// `sh -c '"$0" "$@"' program …`: the text only starts the words behind it.
fn positional<'a, 'b>(rest: &'a [&'b str]) -> Option<&'a [&'b str]> {
    let flag = rest
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'))?;
    let mut text = rest.get(flag + 1)?.split_whitespace().skip_while(|word| matches!(*word, "exec" | "--"));
    let first = match unquoted(text.next()?) {
        "$0" | "${0}" => flag + 2,
        "$@" | "${@}" | "$1" | "${1}" => flag + 3,
        _ => return None,
    };
    text.all(|word| unquoted(word).starts_with('$')).then_some(())?;
    rest.get(first..).filter(|inner| !inner.is_empty())
}

fn unquoted(word: &str) -> &str {
    word.strip_prefix('"').and_then(|word| word.strip_suffix('"')).unwrap_or(word)
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.contains('/'))
}

struct Wrapper {
    name: &'static str,
    /// Options whose value is the next word.
    values: &'static [&'static str],
    /// Words of its own between options and command.
    operands: usize,
    assigns: Assigns,
}

/// Whether `NAME=value` words may stand before the command.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Assigns {
    No,
    Yes,
}

const fn wrapper(name: &'static str, values: &'static [&'static str]) -> Wrapper {
    Wrapper { name, values, operands: 0, assigns: Assigns::No }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("builtin", &[]),
    wrapper("caffeinate", &["-t", "-w"]),
    wrapper("command", &[]),
    wrapper("doas", &["-C", "-a", "-u"]),
    Wrapper {
        assigns: Assigns::Yes,
        ..wrapper("env", &["-C", "--chdir", "-u", "--unset", "-S", "--split-string"])
    },
    wrapper("exec", &["-a"]),
    Wrapper { operands: 1, ..wrapper("flock", &["-E", "--conflict-exit-code", "-w", "--timeout", "--wait"]) },
    wrapper("nice", &["-n", "--adjustment", "--priority"]),
    wrapper("nohup", &[]),
    wrapper("sandbox-exec", &["-D", "-d", "-f", "-n", "-p"]),
    wrapper("stdbuf", &["-e", "--error", "-i", "--input", "-o", "--output"]),
    Wrapper {
        assigns: Assigns::Yes,
        ..wrapper(
            "sudo",
            &[
                "-C",
                "--close-from",
                "-D",
                "--chdir",
                "-R",
                "--chroot",
                "-T",
                "--command-timeout",
                "-U",
                "--other-user",
                "-g",
                "--group",
                "-h",
                "--host",
                "-p",
                "--prompt",
                "-r",
                "--role",
                "-t",
                "--type",
                "-u",
                "--user",
            ],
        )
    },
    wrapper("time", &["-f", "--format", "-o", "--output"]),
    Wrapper { operands: 1, ..wrapper("timeout", &["-k", "--kill-after", "-s", "--signal"]) },
];
