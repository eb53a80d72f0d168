//! Where the newest peer reads texts in another way than shells: its parser takes some words of the grammar
//! for programs, some literal words for dynamic ones, and some characters and assignments for
//! others than shells do.
//!
//! A text is changed, without changing its length, until the parser understands it, and what was changed is
//! put back into the words. Where a shell would run or pass on something else the place is noted in
//! [`Reading::divided`].

mod characters;
mod draft;
mod test;

use super::{Opaque, OpaqueReason};
use crate::command::{
    Candidate, Divided, Language, Mode, ShellUse, StartUp, WrapperKind, base_name, is_assignment,
};
use crate::lists;
use crate::shell::{self, Script, Word};
use draft::Draft;
use std::ops::Range;
pub use test::is_pattern;

/// A text as the peer takes it apart.
#[derive(Debug)]
pub(super) struct Reading {
    pub(super) script: Script,
    /// Places of the text that shells read otherwise.
    pub(super) divided: Vec<Disputed>,
}

/// A place of a text that shells read otherwise.
#[derive(Debug)]
pub(super) struct Disputed {
    pub(super) span: Range<usize>,
    /// What depends on it behind the program.
    pub(super) behind: Divided,
    /// What depends on it anywhere else.
    pub(super) at_program: Divided,
}

/// Takes a text apart as the peer does.
pub(super) fn parse(text: &str) -> Result<Reading, Opaque> {
    if let Some(at) = text.find("\\\r") {
        return Err(Opaque { reason: OpaqueReason::LineContinuation, span: at..at + 2 });
    }
    let mut draft = Draft::of(text);
    for _ in 0..PATCHES {
        match as_the_peer(shell::parse(&draft.patched)) {
            Ok(script) if draft.glued_negation(&script) => {}
            Ok(script) => return draft.finished(script),
            Err(opaque) => draft.patch(opaque)?,
        }
    }
    Err(Opaque { reason: OpaqueReason::TooLong, span: 0..text.len() })
}

/// A reading without what the peer reads otherwise: a test between double brackets is a program and its words
/// to it, and a conditional or a loop nothing that it takes apart.
fn as_the_peer(parsed: Result<Script, Opaque>) -> Result<Script, Opaque> {
    let script = parsed?;
    let unread = script.extensions.iter().find_map(|(used, span)| match used {
        shell::Extension::DoubleBracket => Some((used.reason(), span.start..span.start + 1)),
        shell::Extension::Conditional | shell::Extension::Loop => Some((used.reason(), span.clone())),
        _ => None,
    });
    match unread {
        Some((reason, span)) => Err(Opaque { reason, span }),
        None => Ok(script),
    }
}

/// Whether the peer sees a variable in front of a command, so that a person has to look. It does not in
/// `NAME+=value` and the like.
pub(super) fn is_prelude(assignments: &[Word]) -> bool {
    assignments.iter().any(|word| is_assignment(&word.text))
}

/// What shells take for a further option behind `-c`, the peer takes for the text. It is none, so
/// nothing may cover it.
pub(super) fn read_option_as_text(words: &[Word], candidate: &mut Candidate) {
    if candidate.shell != Some(ShellUse::Other) {
        return;
    }
    let rest = words.get(candidate.arguments..).unwrap_or_default();
    let is_text = |pair: &[Word]| {
        pair.first().is_some_and(tells) && pair.get(1).is_some_and(|text| text.text.starts_with(['-', '+']))
    };
    if let Some(at) = rest.windows(2).position(is_text) {
        candidate.shell = Some(ShellUse::Inline {
            payload: at + 1,
            starts_up: StartUp::Nothing,
            language: Language::Posix,
            carried: None,
        });
        candidate.mode = Mode::ExactCommand;
        candidate.divided = Divided::Words;
    }
}

/// Whether the peer asks about a shell because its text is missing behind a wrapper that
/// hides what it starts.
pub(super) fn asks_about_shell(words: &[Word], candidate: &Candidate) -> bool {
    let rest = words.get(candidate.arguments..).unwrap_or_default();
    let hides = candidate.wrappers.iter().any(|wrapper| {
        let name = words.get(wrapper.at).map(|word| base_name(&word.text));
        wrapper.kind == WrapperKind::Builtin || name.is_some_and(|name| name == "env")
    });
    hides
        && match candidate.shell {
            None => false,
            Some(ShellUse::Inline { payload, .. }) => {
                rest.get(payload).is_none_or(|text| text.text.trim().is_empty())
            }
            Some(ShellUse::Bare | ShellUse::Script { .. } | ShellUse::Other) => {
                rest.iter().skip(1).any(tells)
            }
        }
}

/// Whether the peer takes the text apart that these words, a shell first, hand over.
pub(super) fn parses_text(words: &[Word]) -> bool {
    lists::parses_text(&words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>())
}

/// The text that the peer sees handed to a shell by words in which nothing else sees it.
pub(super) fn unseen_text(words: &[Word]) -> Option<String> {
    let argv: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
    let payload = lists::payload(&argv, None).filter(|payload| payload.is_parsed)?;
    let expands = words.iter().any(|word| word.expands && lists::trim(&word.text) == payload.text);
    (!expands).then_some(payload.text)
}

/// Whether the peer takes a word for a shell.
pub(super) fn is_shell(words: &[Word]) -> bool {
    words.first().is_some_and(|word| lists::is_shell(&word.text))
}

/// Whether it is a flag that announces a shell's text.
fn tells(word: &Word) -> bool {
    word.text.strip_prefix('-').is_some_and(|flags| flags.contains('c') && !flags.starts_with('-'))
}

/// Whether the peer would call a word dynamic that shells take literally. `raw` is the word as typed.
///
/// It looks for wildcards and brackets anywhere in a word that is not one quoted string, inside its quotes
/// too, and then for anything that looks like an expansion, escaped or not.
pub(super) fn is_dynamic_to_the_peer(raw: &str) -> bool {
    raw.contains(['$', '`', '(']) && !is_one_string(raw) && has_pattern(raw) && has_expansion(raw)
}

fn is_one_string(raw: &str) -> bool {
    let body = raw.strip_prefix('$').unwrap_or(raw);
    let Some(quote) = body.chars().next().filter(|c| matches!(c, '\'' | '"')) else { return false };
    let escapes = quote == '"' || raw.starts_with('$');
    let mut chars = body.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        if c == '\\' && escapes {
            chars.next();
        } else if c == quote {
            return at + 1 == body.len();
        }
    }
    false
}

fn has_pattern(raw: &str) -> bool {
    let mut chars = raw.char_indices();
    while let Some((at, c)) = chars.next() {
        let closed = |close: char| {
            raw.get(at + 1..).and_then(|rest| rest.find(close)).is_some_and(|distance| distance > 0)
        };
        match c {
            '\\' => drop(chars.next()),
            '*' | '?' => return true,
            '[' if closed(']') => return true,
            '{' if closed('}') => return true,
            _ => {}
        }
    }
    false
}

fn has_expansion(raw: &str) -> bool {
    let names =
        |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || "_@*?#$!-{(".contains(c));
    raw.contains('`')
        || raw.contains("<(")
        || raw.contains(">(")
        || raw.match_indices('$').any(|(at, _)| names(raw.get(at + 1..).unwrap_or_default()))
}

/// Most patches of one text.
const PATCHES: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::SimpleCommand;

    /// The commands of a text, a bar between words, and what of the text shells read otherwise.
    fn check(text: &str, commands: &[&str], divided: &[&str]) {
        let reading = parse(text).unwrap();
        let words = |command: &SimpleCommand| {
            command.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join("|")
        };
        let found: Vec<String> = reading.script.commands.iter().map(words).collect();
        assert_eq!(found, commands, "{text:?}");
        let places: Vec<&str> = reading.divided.iter().map(|place| &text[place.span.clone()]).collect();
        assert_eq!(places, divided, "{text:?}");
    }

    #[test]
    fn grammar_that_closes_nothing_is_a_name_to_the_peer() {
        check("fi", &["fi"], &[]);
        check("deploy && done x", &["deploy", "done|x"], &[]);
        check("nice if a; then b; fi", &["nice|if|a", "then|b", "fi"], &[]);
        check("a | ! b | c", &["a", "b", "c"], &[]);
        check("A=$B C=$D scan", &["scan"], &[]);
        check("! { scan; }; deploy", &["{|scan", "}", "deploy"], &[]);
        check("a == b", &["a|b"], &["=="]);
        check("a {b..c} {1..2}", &["a|{b..c}"], &["{b..c}", "{1..2}"]);
    }

    #[test]
    fn assignments_of_many_kinds_are_left_out_by_the_peer() {
        check("V+=x scan", &["scan"], &["V+="]);
        check("V=(a b) scan", &["scan"], &["(a b)"]);
        check("1V=x scan", &["scan"], &["1V="]);
        check("é=x scan", &["scan"], &["é="]);
        check("V[0]=x scan", &["scan"], &["V[0]"]);
        check("-V=x scan", &["-V=x|scan"], &[]);
        check("V={a,b} scan", &["scan"], &[]);
    }

    #[test]
    fn names_that_are_empty_or_blank_are_names_to_the_peer() {
        check("\"\" scan | a", &["a"], &[]);
        check("\" \" scan", &[" |scan"], &[]);
        check("\u{a0} scan", &["\u{a0}|scan"], &["\u{a0}"]);
    }

    #[test]
    fn characters_that_shells_read_otherwise_are_noted() {
        check("a \\\tb", &["a|b"], &["\\\t"]);
        check("a\u{b}b", &["a|b"], &["\u{b}"]);
        check("a $'\\q' c$", &["a|q|c"], &["\\q", "$"]);
        check("a \"$[1]\" \"$+\"", &["a|$[1]|$+"], &["$", "$"]);
        check("a 'b c'*", &["a|'b c'*"], &[]);
        check("a \"b\r\n\"", &["a|b\r\n"], &["\r"]);
    }

    #[test]
    fn tests_are_commands_without_their_operators() {
        check("[[ -d a && b == c ]] && d", &["[[|-d|a|b", "d"], &[]);
        check("! [[ \"a b\" ]]", &["[[|a b"], &[]);
    }

    #[test]
    fn what_the_peer_cannot_take_apart_stays_opaque() {
        for text in [
            "if a; then b; fi",
            "a || | b",
            "a |",
            "fi |",
            "for x in a; do b; done",
            "esac",
            "A=$B scan $C",
            "A=$(b) c",
            "A=(`b`) c",
            "A=x",
            "{ a }",
            "[[ -d a ]] b",
            "[[ $a ]]",
            "a $[`b`]",
            "a $[",
            "a ${",
            "a $1",
            "s'*'c",
            "''",
            "a \\\r b",
            "export a\\ b",
            "a {..}",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn mixed_words_with_wildcards_and_escaped_expansions_are_dynamic_to_the_peer() {
        for raw in ["body=\"a\\`b\\` *c*\"", "*\\$HOME", "x'{a}$y'"] {
            assert!(is_dynamic_to_the_peer(raw), "{raw}");
        }
        for raw in ["\"a\\`b\\` *c*\"", "'$x*'", "body='$x'", "a*b", "x\"$\"*", "$'a\\'*$b'"] {
            assert!(!is_dynamic_to_the_peer(raw), "{raw}");
        }
    }
}
