//! Where the newest peer reads texts in another way than shells: its parser takes some words of the grammar for
//! programs, and some literal words for dynamic ones.

use super::{Opaque, OpaqueReason};
use crate::shell::{self, Script};
use std::ops::Range;

/// Takes a text apart as the peer does where no shell would: a word of the grammar that closes or continues nothing is a
/// program's name to it, and `!` may stand behind a `|`.
pub(super) fn parse(text: &str) -> Result<Script, Opaque> {
    let mut patched = text.to_owned();
    let mut names: Vec<Range<usize>> = Vec::new();
    let mut values: Vec<Opaque> = Vec::new();
    for _ in 0..PATCHES {
        let opaque = match shell::parse(&patched) {
            Ok(mut script) => {
                if let Some(argument) = values.into_iter().find(|value| !is_assigned(&script, &value.span)) {
                    return Err(argument);
                }
                restore(&mut script, text, &names);
                return Ok(script);
            }
            Err(opaque) => opaque,
        };
        let span = opaque.span.clone();
        let word = patched.get(span.clone()).unwrap_or_default();
        let before = patched.get(..span.start).unwrap_or_default().trim_end_matches([' ', '\t']);
        let after = patched.get(span.end..).unwrap_or_default();
        let filler = match (opaque.reason, word) {
            (OpaqueReason::SyntaxError, "!") if before.ends_with('|') && !before.ends_with("||") => " ",
            (OpaqueReason::SyntaxError, name) if NAMES.contains(&name) => {
                names.push(span.clone());
                "x"
            }
            // What is assigned is not looked at, because a person has to look anyway.
            (OpaqueReason::DynamicArgument, "$") if after.starts_with(is_name) => {
                values.push(opaque);
                "x"
            }
            _ => return Err(opaque),
        };
        patched.replace_range(span.clone(), &filler.repeat(span.len()));
    }
    shell::parse(text)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

fn is_assigned(script: &Script, span: &Range<usize>) -> bool {
    let assigned = script.commands.iter().flat_map(|command| &command.assignments);
    assigned.into_iter().any(|word| word.span.start <= span.start && span.end <= word.span.end)
}

/// Puts the words back that stood where the parser saw fillers.
fn restore(script: &mut Script, text: &str, names: &[Range<usize>]) {
    for word in script.commands.iter_mut().flat_map(|command| &mut command.words) {
        if names.contains(&word.span) {
            word.text = text.get(word.span.clone()).unwrap_or_default().to_owned();
        }
    }
}

/// Whether the peer would call a word dynamic that shells take literally. `raw` is the word as typed.
///
/// It looks for wildcards and brackets anywhere in a word that is not one quoted string, inside its quotes too, and
/// then for anything that looks like an expansion, escaped or not.
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

/// Words of the grammar that are names to the peer when nothing is open.
const NAMES: &[&str] = &["do", "done", "else", "fi", "in", "then", "}"];

/// Most of them in one text.
const PATCHES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammar_that_closes_nothing_is_a_name_to_the_peer() {
        for (text, words) in [
            ("fi", &["fi"][..]),
            ("deploy && done x", &["deploy", "done x"]),
            ("nice if a; then b; fi", &["nice if a", "then b", "fi"]),
            ("a | ! b | c", &["a", "b", "c"]),
            ("A=$B C=$D scan", &["scan"]),
        ] {
            let script = parse(text).unwrap();
            let found: Vec<String> = script
                .commands
                .iter()
                .map(|command| {
                    command.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
                })
                .collect();
            assert_eq!(found, words, "{text}");
        }
        for text in [
            "if a; then b; fi",
            "a || | b",
            "a |",
            "fi |",
            "for x in a; do b; done",
            "esac",
            "A=$B scan $C",
            "A=$(b) c",
        ] {
            assert!(parse(text).is_err(), "{text}");
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
