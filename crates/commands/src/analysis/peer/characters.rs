//! What the newest peer's parser makes of single characters: which blanks separate words, what an escape
//! stands for. Shells read each of these otherwise, or are divided among themselves.

use std::iter::Peekable;
use std::ops::Range;
use std::str::CharIndices;

/// A change of a text that does not change its length.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct Edit {
    pub(super) span: Range<usize>,
    pub(super) reading: Reading,
}

/// What the peer reads in place of a few characters.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Reading {
    /// Nothing: they separate words. A shell takes them for a part of one.
    Blank,
    /// The same of a blank behind a backslash.
    EscapedBlank,
    /// This, as part of a word. Some take it for a blank.
    BlankLetter(String),
    /// This, as part of a word.
    Literal(String),
    /// This too, and so does every shell.
    Undisputed(String),
}

/// Where the peer reads `text` otherwise than the parser that it will be given to.
pub(super) fn edits(text: &str) -> Vec<Edit> {
    let mut scan =
        Scan { text, chars: text.char_indices().peekable(), last: Last::Boundary, edits: Vec::new() };
    while scan.bare().is_some() {}
    scan.edits
}

/// What the character before was.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Last {
    /// None of a word.
    Boundary,
    /// A quote that was closed.
    Quote,
    Word,
}

struct Scan<'a> {
    text: &'a str,
    chars: Peekable<CharIndices<'a>>,
    last: Last,
    edits: Vec<Edit>,
}

impl Scan<'_> {
    /// Reads what begins at an unquoted character; `None` at the end.
    fn bare(&mut self) -> Option<()> {
        let (at, next) = self.chars.next()?;
        let before = std::mem::replace(&mut self.last, Last::Word);
        match next {
            '\'' => self.quoted('\'', Escapes::None)?,
            '"' => self.quoted('"', Escapes::Kept)?,
            '$' if self.chars.next_if(|(_, c)| *c == '\'').is_some() => {
                self.quoted('\'', Escapes::Decoded)?
            }
            '\\' => self.escaped(at, before)?,
            '#' if before == Last::Boundary => while self.chars.next_if(|(_, c)| *c != '\n').is_some() {},
            '\u{b}' | '\u{c}' => self.edit(at..at + 1, Reading::Blank),
            '\r' if self.chars.peek().is_none_or(|(_, c)| *c != '\n') => {
                self.edit(at..at + 1, Reading::Blank)
            }
            '\0' if self.follows_letter(at) => self.literal(at, '\0'),
            blank if !blank.is_ascii() && blank.is_whitespace() => {
                let span = at..at + blank.len_utf8();
                self.edits.push(Edit { span, reading: Reading::BlankLetter(blank.into()) });
            }
            ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => self.last = Last::Boundary,
            _ => {}
        }
        Some(())
    }

    /// A backslash outside quotes. Right after a quote it begins another word, unless it stands before a
    /// quote or another one; most blanks separate words, escaped or not.
    fn escaped(&mut self, at: usize, before: Last) -> Option<()> {
        let (_, next) = self.chars.next()?;
        let end = at + 1 + next.len_utf8();
        match next {
            // The peer joins such a line to the one before.
            _ if self.text.get(..at).is_some_and(|before| before.ends_with('\n')) => {}
            ' ' if before != Last::Word && self.is_followed_by_something(end) => {
                self.edit(at..end, Reading::EscapedBlank);
            }
            // Followed by nothing it is kept, as by shells.
            ' ' if !self.is_followed_by_something(end) && self.follows_letter(at) => {
                self.edits.push(Edit { span: at..end, reading: Reading::Undisputed(" ".into()) });
            }
            '\t' | '\u{b}' | '\u{c}' if self.is_followed_by_something(end) => {
                self.edit(at..end, Reading::EscapedBlank);
            }
            next if before == Last::Quote && next.is_ascii_alphanumeric() => {
                self.edit(at..at + 1, Reading::EscapedBlank);
                self.last = Last::Word;
            }
            _ => {}
        }
        Some(())
    }

    fn is_followed_by_something(&self, end: usize) -> bool {
        self.text.get(end..).is_some_and(|rest| rest.contains(|c| !" \t\n\u{b}\u{c}\r".contains(c)))
    }

    fn follows_letter(&self, at: usize) -> bool {
        self.text.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric))
    }

    /// Up to the closing quote.
    fn quoted(&mut self, quote: char, escapes: Escapes) -> Option<()> {
        loop {
            let (at, next) = self.chars.next()?;
            match next {
                '\\' if escapes == Escapes::Decoded => self.decoded(at)?,
                '\\' if escapes == Escapes::Kept => drop(self.chars.next()?),
                '\r' => {
                    self.edits.push(Edit { span: at..at + 1, reading: Reading::Literal("\r".into()) });
                }
                next if next == quote => {
                    self.last = Last::Quote;
                    return Some(());
                }
                _ => {}
            }
        }
    }

    /// An escape of `$'…'`.
    fn decoded(&mut self, at: usize) -> Option<()> {
        let rest = self.text.get(at + 1..)?;
        if rest.starts_with("\\'") {
            // To the peer it escapes the quote too when there is a further one.
            let last = !rest.get(2..)?.contains('\'');
            self.chars.next()?;
            if last {
                self.edits.push(Edit { span: at..at + 2, reading: Reading::Undisputed("\\".into()) });
            }
            return Some(());
        }
        let (length, value) = escape(rest)?;
        let end = at + 1 + length;
        while self.chars.next_if(|(position, _)| *position < end).is_some() {}
        if let Some(value) = value {
            self.edits.push(Edit { span: at..end, reading: Reading::Literal(value) });
        }
        Some(())
    }

    fn literal(&mut self, at: usize, c: char) {
        self.edits.push(Edit { span: at..at + c.len_utf8(), reading: Reading::Literal(c.into()) });
    }

    fn edit(&mut self, span: Range<usize>, reading: Reading) {
        self.edits.push(Edit { span, reading });
        self.last = Last::Boundary;
    }
}

/// What a backslash in quotes does.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Escapes {
    None,
    /// It only keeps the next character from ending the quotes.
    Kept,
    Decoded,
}

/// How many bytes after a backslash in `$'…'` belong to it, and what the peer reads; without a value all read
/// the same, or the parser refuses it.
fn escape(rest: &str) -> Option<(usize, Option<String>)> {
    let first = rest.chars().next()?;
    let digits = |from: usize, most: usize, radix: u32| {
        let all = rest.get(from..).unwrap_or_default();
        let length = all.bytes().take(most).take_while(|byte| (*byte as char).is_digit(radix)).count();
        (length, all.get(..length).and_then(|text| u32::from_str_radix(text, radix).ok()))
    };
    let other = |number: Option<u32>| number.and_then(char::from_u32).map(String::from);
    let kept = |length: usize| rest.get(..length).map(|digits| format!("\\{digits}"));
    Some(match first {
        '0'..='7' => {
            let (length, number) = digits(0, 3, 8);
            (length, other(number.filter(|number| !(1..0x80).contains(number))))
        }
        'x' => {
            let (length, number) = digits(1, 2, 16);
            let more = rest.as_bytes().get(1 + length).is_some_and(u8::is_ascii_hexdigit);
            match number {
                None => (1, Some("x".into())),
                Some(1..0x80) if !more => (1 + length, None),
                number => (1 + length, other(number)),
            }
        }
        'u' | 'U' => {
            let most = if first == 'u' { 4 } else { 8 };
            let (length, number) = digits(1, most, 16);
            match number {
                None => (1, Some(first.into())),
                Some(0x11_0000..) => (1 + length, kept(1 + length)),
                Some(1..) if length == most => (1 + length, None),
                number => (1 + length, other(number)),
            }
        }
        'a' | 'b' | 'e' | 'E' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' | '\'' | '"' | '?' | '\n' | '\r'
        | '\0' => (first.len_utf8(), None),
        other => (other.len_utf8(), Some(other.into())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, Option<&str>)]) {
        let edits = edits(text);
        let found: Vec<(&str, Option<&str>)> = edits
            .iter()
            .map(|edit| {
                let value = match &edit.reading {
                    Reading::Blank | Reading::EscapedBlank => None,
                    Reading::BlankLetter(value) | Reading::Literal(value) | Reading::Undisputed(value) => {
                        Some(value.as_str())
                    }
                };
                (&text[edit.span.clone()], value)
            })
            .collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn blanks_that_shells_keep_separate_words_for_the_peer() {
        check("a\u{b}b \u{c} '\u{b}' \"\u{c}\" # \u{b}", &[("\u{b}", None), ("\u{c}", None)]);
        check("a\r\nb\rc", &[("\r", None)]);
        check("a \\ b\\ c \\\td\\\te", &[("\\ ", None), ("\\\t", None), ("\\\t", None)]);
        check("'a'\\ b 'a'\\b 'a'\\'b' 'a'\\\\", &[("\\ ", None), ("\\", None)]);
        check("a \\ ", &[]);
        check("a b\\ ", &[("\\ ", Some(" "))]);
    }

    #[test]
    fn characters_that_somebody_takes_for_blanks_are_parts_of_words_to_the_peer() {
        check("a\u{a0}b '\u{a0}'", &[("\u{a0}", Some("\u{a0}"))]);
        check("a\0 \0", &[("\0", Some("\0"))]);
        check("'a\r\nb' \"\\\r\"", &[("\r", Some("\r"))]);
    }

    #[test]
    fn escapes_are_decoded_as_the_peer_decodes_them() {
        check(
            r"$'\q\0\x\x411\x41\xe9\777'",
            &[
                (r"\q", Some("q")),
                (r"\0", Some("\0")),
                (r"\x", Some("x")),
                (r"\x41", Some("A")),
                (r"\xe9", Some("é")),
                (r"\777", Some("ǿ")),
            ],
        );
        check(
            r"$'\u41\u0041\U1F600\ud800\u{41}'",
            &[(r"\u41", Some("A")), (r"\U1F600", Some("😀")), (r"\u", Some("u"))],
        );
        check(r"$'\\' a", &[(r"\\", Some("\\"))]);
        check(r"$'\\' a'b'", &[]);
        check(r"$'it\'s \n\t'", &[]);
    }
}
