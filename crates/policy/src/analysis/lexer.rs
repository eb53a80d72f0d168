//! Splits a command text into words exactly as a POSIX shell would, or says why it does not.
//!
//! The subset is small on purpose: one simple command of plain, quoted and backslash-escaped words, every character of
//! which means the same to all shells. Whatever else a shell gives a meaning to makes the text opaque.

use super::{Opaque, OpaqueReason, Word};
use std::ops::Range;

/// The words of `text`. Total and linear. No words is no error here.
pub(crate) fn split(text: &str) -> Result<Vec<Word>, Opaque> {
    if text.len() > SOURCE_BYTES {
        return Err(opaque(OpaqueReason::TooLong, 0..text.len()));
    }
    let tail = text.trim_end_matches(BLANKS).len();
    let mut lexer = Lexer { text, at: 0, tail, words: Vec::new() };
    while let Some(start) = lexer.skip_blanks() {
        let word = lexer.word(start)?;
        lexer.words.push(word);
    }
    Ok(lexer.words)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// From here on there are only blanks and newlines, unless a backslash or a quote is still open.
    tail: usize,
    words: Vec<Word>,
}

impl<'a> Lexer<'a> {
    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Start of the next word. Newlines around the command separate nothing; one inside it does.
    fn skip_blanks(&mut self) -> Option<usize> {
        let outside = self.words.is_empty() || self.at >= self.tail;
        let blanks: &[char] = if outside { BLANKS } else { &[' ', '\t'] };
        let rest = self.rest();
        let trimmed = rest.trim_start_matches(blanks);
        self.at += rest.len() - trimmed.len();
        (!trimmed.is_empty()).then_some(self.at)
    }

    fn word(&mut self, start: usize) -> Result<Word, Opaque> {
        let mut value = String::new();
        let mut bare = true;
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' => break,
                '\n' if self.at >= self.tail => break,
                '\'' => {
                    bare = false;
                    self.single_quoted(&mut value)?;
                }
                '"' => {
                    bare = false;
                    self.double_quoted(&mut value)?;
                }
                '\\' => {
                    bare = false;
                    self.escaped(&mut value)?;
                }
                _ => {
                    if let Some(reason) = self.special(next, self.at == start) {
                        return Err(self.opaque_here(reason));
                    }
                    value.push(next);
                    self.at += next.len_utf8();
                }
            }
        }
        let span = start..self.at;
        if self.words.is_empty() {
            check_executable(&value, bare, &span)?;
        }
        Ok(Word { text: value, span })
    }

    /// The meaning that a shell gives to an unquoted character, if any.
    fn special(&self, next: char, at_start: bool) -> Option<OpaqueReason> {
        let follows =
            |text: &str| self.rest().get(next.len_utf8()..).is_some_and(|rest| rest.starts_with(text));
        Some(match next {
            '|' | ';' | '\n' => OpaqueReason::Sequence,
            '&' if follows("&") => OpaqueReason::Sequence,
            '&' if follows(">") => OpaqueReason::Redirect,
            '&' => OpaqueReason::Background,
            '<' | '>' if follows("(") => OpaqueReason::ProcessSubstitution,
            '<' if follows("<") => OpaqueReason::Heredoc,
            '<' | '>' => OpaqueReason::Redirect,
            '(' | ')' => OpaqueReason::Compound,
            '{' if at_start && (follows(" ") || follows("\t") || follows("\n")) => OpaqueReason::Compound,
            '$' => self.dollar(next),
            '`' => OpaqueReason::CommandSubstitution,
            '*' | '?' | '[' | '{' | '~' => OpaqueReason::Expansion,
            '#' if at_start => OpaqueReason::SyntaxError,
            _ if next.is_control() || (next.is_whitespace() && !next.is_ascii()) => OpaqueReason::SyntaxError,
            _ => return None,
        })
    }

    /// What a `$`, quoted by `"` or not, stands for.
    fn dollar(&self, next: char) -> OpaqueReason {
        let rest = self.rest().get(next.len_utf8()..).unwrap_or_default();
        if rest.starts_with('(') && !rest.starts_with("((") {
            OpaqueReason::CommandSubstitution
        } else if self.words.is_empty() {
            OpaqueReason::DynamicExecutable
        } else {
            OpaqueReason::DynamicArgument
        }
    }

    fn single_quoted(&mut self, value: &mut String) -> Result<(), Opaque> {
        let open = self.at;
        self.at += 1;
        while let Some(next) = self.take() {
            if next == '\'' {
                return Ok(());
            }
            self.quoted_char(next, value)?;
        }
        Err(opaque(OpaqueReason::SyntaxError, open..self.text.len()))
    }

    fn double_quoted(&mut self, value: &mut String) -> Result<(), Opaque> {
        let open = self.at;
        self.at += 1;
        while let Some(next) = self.peek() {
            match next {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '$' => return Err(self.opaque_here(self.dollar(next))),
                '`' => return Err(self.opaque_here(OpaqueReason::CommandSubstitution)),
                '\\' => self.escaped_in_quotes(value)?,
                _ => {
                    self.at += next.len_utf8();
                    self.quoted_char(next, value)?;
                }
            }
        }
        Err(opaque(OpaqueReason::SyntaxError, open..self.text.len()))
    }

    /// Some shells use control characters for themselves even inside quotes; only line feed and tab are safe.
    fn quoted_char(&self, next: char, value: &mut String) -> Result<(), Opaque> {
        if next.is_control() && !matches!(next, '\n' | '\t') {
            return Err(opaque(OpaqueReason::SyntaxError, self.at - next.len_utf8()..self.at));
        }
        value.push(next);
        Ok(())
    }

    fn escaped(&mut self, value: &mut String) -> Result<(), Opaque> {
        let start = self.at;
        self.at += 1;
        match self.take() {
            None => Err(opaque(OpaqueReason::SyntaxError, start..self.at)),
            Some('\n') => Err(opaque(OpaqueReason::LineContinuation, start..self.at)),
            Some(next) if next.is_control() && next != '\t' => {
                Err(opaque(OpaqueReason::SyntaxError, start..self.at))
            }
            Some(next) => {
                value.push(next);
                Ok(())
            }
        }
    }

    /// Before anything but these a shell keeps the backslash and some peers drop it (N437): nobody may guess.
    fn escaped_in_quotes(&mut self, value: &mut String) -> Result<(), Opaque> {
        let start = self.at;
        self.at += 1;
        match self.take() {
            Some(next @ ('$' | '`' | '"' | '\\')) => {
                value.push(next);
                Ok(())
            }
            Some('\n') => Err(opaque(OpaqueReason::LineContinuation, start..self.at)),
            _ => Err(opaque(OpaqueReason::SyntaxError, start..self.at)),
        }
    }

    fn opaque_here(&self, reason: OpaqueReason) -> Opaque {
        let width = self.peek().map_or(0, char::len_utf8);
        opaque(reason, self.at..self.at + width)
    }
}

/// The first word may be an assignment or a word of the grammar instead of a program.
fn check_executable(value: &str, bare: bool, span: &Range<usize>) -> Result<(), Opaque> {
    let reason = if value.trim().is_empty() {
        OpaqueReason::Empty
    } else if value.contains('=') {
        OpaqueReason::Assignment
    } else if bare && RESERVED.contains(&value) {
        OpaqueReason::Compound
    } else {
        return Ok(());
    };
    Err(opaque(reason, span.clone()))
}

fn opaque(reason: OpaqueReason, span: Range<usize>) -> Opaque {
    Opaque { reason, span }
}

/// Words of the grammar where a command is expected, those of bash included.
pub(crate) const RESERVED: &[&str] = &[
    "!",
    "[[",
    "]]",
    "case",
    "coproc",
    "do",
    "done",
    "elif",
    "else",
    "esac",
    "fi",
    "for",
    "function",
    "if",
    "in",
    "namespace",
    "select",
    "then",
    "time",
    "until",
    "while",
    "{",
    "}",
];

/// What separates words; newlines only around a command.
const BLANKS: &[char] = &[' ', '\t', '\n'];

/// Longest text that is taken apart, in bytes; the peers' limit counts characters and is no smaller.
const SOURCE_BYTES: usize = 131_072;
