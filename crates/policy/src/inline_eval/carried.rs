//! Which words a wrapper starts. Only for finding what is inside: an option that is not known is passed over
//! here, where a decision about the wrapper itself would refuse it.

use countersign_commands::command::carriers::{self, Starts, Through};
use countersign_commands::programs::Name;

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
    let wrapper = carriers::by_exact_name(name.as_str()).filter(|row| match row.through {
        Through::Transparent | Through::Builtin | Through::Searched => true,
        Through::Blocked | Through::Never => false,
    })?;
    let (operands, assigns) = match wrapper.starts {
        Starts::Words(operands) => (operands, false),
        Starts::Assigned => (0, true),
        Starts::Behind(..) | Starts::After(_) | Starts::Texts | Starts::Options | Starts::Elsewhere => {
            return None;
        }
    };
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        match *word {
            "--" => {
                at += 1;
                break;
            }
            flag if wrapper.takes_next(flag) => at += 2,
            // Most read their options in any case.
            flag if !assigns && wrapper.takes_next(&flag.to_lowercase()) => at += 2,
            flag if flag.starts_with('-') => at += 1,
            _ => break,
        }
    }
    at += operands;
    if assigns {
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
