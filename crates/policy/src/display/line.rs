//! One line for history, logs and terminals, and argument lists as such lines.

use super::hidden::Hiding;
use super::secrets::{self, MASK};
use countersign_commands::command::RESERVED;
use std::fmt::Write;
use std::ops::Range;

/// One line for history, logs and terminals: printable, no control, hidden or bidirectional character; `\`
/// doubled and everything hidden as `\u{HEX}`, so that [`unescape`] gives the original.
pub fn escape(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    escape_into(&mut line, text, &[], Quotes::Kept);
    line
}

/// The original of [`escape`].
pub fn unescape(text: &str) -> Option<String> {
    let mut original = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (plain, escape) = rest.split_at(at);
        original.push_str(plain);
        let (c, after) = read_escape(escape)?;
        original.push(c);
        rest = after;
    }
    original.push_str(rest);
    Some(original)
}

/// An argument list as one line: words that need it quoted, hidden characters escaped;
/// [`parse_argv_line`] gives it back.
pub fn argv_line(argv: &[String]) -> String {
    line_of(argv.iter().map(|argument| (argument.as_str(), [].as_slice())))
}

/// The argument list of an [`argv_line`].
pub fn parse_argv_line(line: &str) -> Option<Vec<String>> {
    let mut argv = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        if !argv.is_empty() {
            rest = rest.strip_prefix(' ')?;
        }
        if let Some(quoted) = rest.strip_prefix('"') {
            let (argument, after) = read_quoted(quoted)?;
            argv.push(argument);
            rest = after;
        } else {
            let (argument, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
            if needs_quotes(argument) {
                return None;
            }
            argv.push(argument.to_owned());
            rest = after;
        }
    }
    Some(argv)
}

/// The same line with secrets masked, for the history: not reversible.
pub fn masked_argv_line(argv: &[String]) -> String {
    let secrets = secrets::in_argv(argv);
    line_of(argv.iter().map(String::as_str).zip(secrets.iter().map(Vec::as_slice)))
}

/// A text with secrets masked and escaped, for the history: not reversible.
pub fn masked_text(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    escape_into(&mut line, text, &secrets::in_text(text), Quotes::Kept);
    line
}

/// Quoted for a POSIX shell, for the clipboard.
pub fn shell_quoted(argv: &[String]) -> String {
    let mut line = String::new();
    for (index, argument) in argv.iter().enumerate() {
        if index > 0 {
            line.push(' ');
        }
        // An equals sign is quoted because it would make the first word an assignment.
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_@%+:,./-".contains(&b);
        let is_grammar = index == 0 && RESERVED.contains(&argument.as_str());
        if !argument.is_empty() && argument.bytes().all(is_plain) && !is_grammar {
            line.push_str(argument);
        } else {
            let _ = write!(line, "'{}'", argument.replace('\'', "'\\''"));
        }
    }
    line
}

/// The argument list of a [`shell_quoted`] line. For tests, which read back what was written.
pub fn parse_shell_quoted(line: &str) -> Option<Vec<String>> {
    let mut argv = Vec::new();
    let mut rest = line;
    while !rest.is_empty() {
        if !argv.is_empty() {
            rest = rest.strip_prefix(' ')?;
        }
        let Some(quoted) = rest.strip_prefix('\'') else {
            let (word, after) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
            if word.is_empty() || word.contains('\'') {
                return None;
            }
            argv.push(word.to_owned());
            rest = after;
            continue;
        };
        let mut word = String::new();
        let mut inside = quoted;
        rest = loop {
            let (part, after) = inside.split_once('\'')?;
            word.push_str(part);
            match after.strip_prefix("\\''") {
                Some(more) => {
                    word.push('\'');
                    inside = more;
                }
                None => break after,
            }
        };
        argv.push(word);
    }
    Some(argv)
}

/// The end of `output`, at most `chars` characters, after the marker `... (truncated) ` when cut.
pub fn output_tail(output: &str, chars: usize) -> String {
    let Some(last) = chars.checked_sub(1) else {
        return if output.is_empty() { String::new() } else { TRUNCATED.to_owned() };
    };
    match output.char_indices().rev().nth(last) {
        Some((start, _)) if start > 0 => format!("{TRUNCATED}{}", output.get(start..).unwrap_or_default()),
        _ => output.to_owned(),
    }
}

/// Whether `"` ends something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Quotes {
    Kept,
    Escaped,
}

/// Writing to a string cannot fail, so its result is dropped here.
fn escape_into(line: &mut String, text: &str, secrets: &[Range<usize>], quotes: Quotes) {
    let mut hiding = Hiding::default();
    let mut secrets = secrets.iter().peekable();
    for (at, c) in text.char_indices() {
        while secrets.next_if(|secret| secret.end <= at).is_some() {}
        let hidden = hiding.hides(c);
        if let Some(secret) = secrets.peek().filter(|secret| secret.contains(&at)) {
            if secret.start == at {
                line.push_str(MASK);
            }
        } else if hidden {
            let _ = write!(line, "\\u{{{:X}}}", u32::from(c));
        } else if c == '\\' || (c == '"' && quotes == Quotes::Escaped) {
            line.push('\\');
            line.push(c);
        } else {
            line.push(c);
        }
    }
}

fn line_of<'a>(argv: impl Iterator<Item = (&'a str, &'a [Range<usize>])>) -> String {
    let mut line = String::new();
    for (index, (argument, secrets)) in argv.enumerate() {
        if index > 0 {
            line.push(' ');
        }
        if needs_quotes(argument) {
            line.push('"');
            escape_into(&mut line, argument, secrets, Quotes::Escaped);
            line.push('"');
        } else {
            escape_into(&mut line, argument, secrets, Quotes::Kept);
        }
    }
    line
}

fn needs_quotes(argument: &str) -> bool {
    let mut hiding = Hiding::default();
    argument.is_empty() || argument.chars().any(|c| hiding.hides(c) || matches!(c, ' ' | '"' | '\'' | '\\'))
}

/// One escape at the start of `text`, and what follows it.
fn read_escape(text: &str) -> Option<(char, &str)> {
    let body = text.strip_prefix('\\')?;
    if let Some(code) = body.strip_prefix("u{") {
        let (digits, after) = code.split_once('}')?;
        let is_code = (1..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_code)?;
        return Some((char::from_u32(code)?, after));
    }
    let c = body.chars().next().filter(|c| matches!(c, '\\' | '"'))?;
    Some((c, body.get(c.len_utf8()..)?))
}

/// An argument up to its closing quote, and what follows that.
fn read_quoted(text: &str) -> Option<(String, &str)> {
    let mut argument = String::new();
    let mut rest = text;
    loop {
        let at = rest.find(['"', '\\'])?;
        let (plain, special) = rest.split_at(at);
        argument.push_str(plain);
        if let Some(after) = special.strip_prefix('"') {
            return Some((argument, after));
        }
        let (c, after) = read_escape(special)?;
        argument.push(c);
        rest = after;
    }
}

/// What the peers put where output was cut off.
const TRUNCATED: &str = "... (truncated) ";
