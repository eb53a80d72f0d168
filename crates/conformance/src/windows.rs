//! Windows command texts (docs/protocol/commands.md, "Windows texts"): one program with its arguments or
//! nothing. Neither of the two shells there has a grammar that could be trusted, so whatever either of them
//! could read as more than words is opaque.
//!
//! ```
//! use countersign_conformance::windows::{analyze, escape};
//!
//! assert_eq!(analyze(r#"& scan.exe "a b""#), Ok(vec!["scan.exe".into(), "a b".into()]));
//! assert!(analyze("scan & deploy").is_err());
//! assert_eq!(escape("a b").as_deref(), Ok(r#""a b""#));
//! ```

use std::borrow::Cow;
use std::iter::Peekable;
use std::str::Chars;

/// Why a text is not understood; the words are the peers'.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowsOpaque {
    /// A character that one of the shells gives a meaning.
    #[error("unsupported windows shell token: {0}")]
    Token(char),
    /// More than one line.
    #[error("unsupported windows shell token: newline")]
    Newline,
    /// An open quote, or nothing to run.
    #[error("unable to parse windows command")]
    Unparsable,
}

/// A value that no quoting carries through both shells unchanged.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("the value would be expanded in spite of quotes")]
pub struct Unquotable;

/// The words of `text`, executable first; never empty. PowerShell around a text that it only runs is
/// taken off first.
pub fn analyze(text: &str) -> Result<Vec<String>, WindowsOpaque> {
    let mut text = Cow::Borrowed(text.trim());
    for _ in 0..WRAPPERS {
        let Some(inner) = without_wrapper(&text) else { break };
        text = Cow::Owned(inner);
    }
    refuse_syntax(&text)?;
    words(&text)
}

/// `value` as one word of a PowerShell command line that starts with `&`.
pub fn escape(value: &str) -> Result<String, Unquotable> {
    let expands = |(at, c): (usize, char)| match c {
        '$' => begins_expansion(value.get(at + 1..).and_then(|rest| rest.chars().next())),
        // PowerShell takes the typographic quotes for plain ones.
        '%' | '`' | '\n' | '\r' | '\0' | '\u{201c}' | '\u{201d}' | '\u{201e}' => true,
        _ => false,
    };
    if value.char_indices().any(expands) {
        return Err(Unquotable);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:~\\=-".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        return Ok(value.to_owned());
    }
    Ok(format!("\"{}\"", value.replace('"', "\"\"")))
}

/// The text inside `& …` and `powershell -Command …`, if it is one of them.
fn without_wrapper(text: &str) -> Option<String> {
    if let Some(called) = text.strip_prefix('&').filter(|rest| rest.starts_with(char::is_whitespace)) {
        return Some(called.trim().to_owned());
    }
    let (program, mut rest) = first_word(text)?;
    if !is_one_of(program, POWERSHELL) {
        return None;
    }
    loop {
        let (flag, after) = first_word(rest)?;
        rest = after;
        if is_one_of(flag, COMMAND_FLAGS) {
            return (!rest.is_empty()).then(|| unquoted(rest));
        }
        if is_one_of(flag, VALUE_FLAGS) {
            rest = first_word(rest)?.1;
        } else if !is_one_of(flag, PLAIN_FLAGS) {
            return None;
        }
    }
}

fn first_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| (text.get(..end).unwrap_or_default(), text.get(end..).unwrap_or_default().trim()))
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// The inside of one quoted word, or the text itself when it is something else.
fn unquoted(text: &str) -> String {
    for quote in ['"', '\''] {
        let Some(inside) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) else {
            continue;
        };
        let doubled = format!("{quote}{quote}");
        if !inside.replace(&doubled, "").contains(quote) {
            return inside.replace(&doubled, &quote.to_string()).trim().to_owned();
        }
    }
    text.to_owned()
}

/// Refuses what `cmd` or PowerShell could read as syntax. Only double quotes protect, since `cmd` knows no
/// others; where the shells disagree about what is inside them, nothing is.
fn refuse_syntax(text: &str) -> Result<(), WindowsOpaque> {
    let (mut quoted_in_cmd, mut quote) = (false, None);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let protected = quoted_in_cmd && quote == Some('"');
        match c {
            '\n' | '\r' => return Err(WindowsOpaque::Newline),
            '%' | '`' => return Err(WindowsOpaque::Token(c)),
            '$' if begins_expansion(chars.peek().copied()) => return Err(WindowsOpaque::Token(c)),
            '&' | '|' | '<' | '>' | ';' | '^' | '(' | ')' | '!' if !protected => {
                return Err(WindowsOpaque::Token(c));
            }
            _ => {}
        }
        if c == '"' {
            quoted_in_cmd = !quoted_in_cmd;
        }
        if matches!(c, '"' | '\'') {
            quote = match quote {
                None => Some(c),
                Some(open) if open == c => None,
                open => open,
            };
        }
    }
    Ok(())
}

/// Whether PowerShell expands a dollar sign that this follows.
fn begins_expansion(next: Option<char>) -> bool {
    next.is_some_and(|c| c.is_alphabetic() || "_{(?$^:".contains(c))
}

fn words(text: &str) -> Result<Vec<String>, WindowsOpaque> {
    let mut words = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(&c) = chars.peek() {
        if c.is_whitespace() {
            chars.next();
        } else {
            words.push(word(&mut chars)?);
        }
    }
    if words.is_empty() { Err(WindowsOpaque::Unparsable) } else { Ok(words) }
}

fn word(chars: &mut Peekable<Chars<'_>>) -> Result<String, WindowsOpaque> {
    let mut word = String::new();
    while let Some(c) = chars.next_if(|c| !c.is_whitespace()) {
        match c {
            '"' => loop {
                match chars.next().ok_or(WindowsOpaque::Unparsable)? {
                    '"' => break,
                    c => word.push(c),
                }
            },
            '\'' => loop {
                match chars.next().ok_or(WindowsOpaque::Unparsable)? {
                    '\'' if chars.next_if_eq(&'\'').is_some() => word.push('\''),
                    '\'' => break,
                    c => word.push(c),
                }
            },
            c => word.push(c),
        }
    }
    Ok(word)
}

/// Most wrappers taken off; what is behind more of them stays a call of PowerShell.
const WRAPPERS: usize = 5;

const POWERSHELL: &[&str] = &["powershell", "powershell.exe", "pwsh", "pwsh.exe"];

const COMMAND_FLAGS: &[&str] = &["-c", "-command"];

/// Flags that change nothing about what the text means.
const PLAIN_FLAGS: &[&str] = &["-mta", "-noexit", "-nologo", "-noninteractive", "-noprofile", "-sta"];

const VALUE_FLAGS: &[&str] =
    &["-executionpolicy", "-inputformat", "-outputformat", "-version", "-windowstyle"];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let words: Vec<String> = expected.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(analyze(text), Ok(words), "{text}");
    }

    #[test]
    fn words_are_what_both_shells_make_of_them() {
        check(r#"scan "a & b" 'c d' e'f g'h "" "#, &["scan", "a & b", "c d", "ef gh", ""]);
        check(r#""C:\Program Files\scan.exe" 'it''s'"#, &[r"C:\Program Files\scan.exe", "it's"]);
        check("scan $5 5$", &["scan", "$5", "5$"]);
    }

    #[test]
    fn a_powershell_that_only_runs_a_text_is_taken_off() {
        check(
            r#"powershell.exe -NoProfile -ExecutionPolicy Bypass -Command "scan ""a b""""#,
            &["scan", "a b"],
        );
        check("pwsh -c 'scan ''a b'''", &["scan", "a b"]);
        check(r#"pwsh -c "scan" "a""#, &["scan", "a"]);
        check("pwsh -File x.ps1 -Command y", &["pwsh", "-File", "x.ps1", "-Command", "y"]);
        check("pwsh -EncodedCommand eA==", &["pwsh", "-EncodedCommand", "eA=="]);
    }

    #[test]
    fn what_either_shell_reads_as_more_than_words_is_opaque() {
        for (text, opaque) in [
            ("scan & deploy", WindowsOpaque::Token('&')),
            ("scan '&'", WindowsOpaque::Token('&')),
            ("scan '\"' \"a & b\"", WindowsOpaque::Token('&')),
            ("scan '\"' & deploy '\"'", WindowsOpaque::Token('&')),
            ("scan \"%TEMP%\"", WindowsOpaque::Token('%')),
            ("scan \"$(id)\"", WindowsOpaque::Token('$')),
            ("pwsh -c \"scan; deploy\"", WindowsOpaque::Token(';')),
            ("scan\ndeploy", WindowsOpaque::Newline),
            ("scan \"a", WindowsOpaque::Unparsable),
            ("  ", WindowsOpaque::Unparsable),
        ] {
            assert_eq!(analyze(text), Err(opaque), "{text}");
        }
    }

    #[test]
    fn what_was_escaped_is_read_back_as_the_same_word() {
        for value in ["", "a", "a b", "it's", "C:\\x\\y z\\", "(x)", "*", "5$", "\u{e9}", "-x=~/y"] {
            let escaped = escape(value).unwrap();
            check(&format!("scan {escaped}"), &["scan", value]);
        }
        for value in ["%x%", "$x", "$(x)", "`", "a\nb", "\u{201d} & x \u{201c}"] {
            assert_eq!(escape(value), Err(Unquotable), "{value}");
        }
    }
}
