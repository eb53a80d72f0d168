//! `$'…'`: the escapes on which all shells that know them agree.

use super::lexer::Lexer;
use super::opaque::{Opaque, OpaqueReason};
use super::{Dialect, opaque};

impl Lexer<'_> {
    /// From `$'` to the closing quote, decoded into `value`.
    pub(super) fn ansi_quoted(&mut self, value: &mut String) -> Result<(), Opaque> {
        let open = self.at;
        self.needs(Dialect::Bash);
        self.at += 2;
        loop {
            let start = self.at;
            match self.take() {
                None => return Err(opaque(OpaqueReason::SyntaxError, open..self.text.len())),
                Some('\'') => return Ok(()),
                // Some read the quote as escaped.
                Some('\\') if self.follows("\\'") => {
                    return Err(opaque(OpaqueReason::SyntaxError, start..self.at + 2));
                }
                Some('\\') if self.follows("\n") => {
                    return Err(opaque(OpaqueReason::LineContinuation, start..self.at + 1));
                }
                Some('\\') => {
                    let Some(decoded) = self.ansi_escape() else {
                        return Err(opaque(OpaqueReason::SyntaxError, start..self.at));
                    };
                    value.push(decoded);
                }
                Some(next) => self.quoted_char(next, value)?,
            }
        }
    }

    /// What stands after a backslash; `None` when shells differ about it or it is no character.
    fn ansi_escape(&mut self) -> Option<char> {
        Some(match self.take()? {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            quoted @ ('\\' | '\'' | '"' | '?') => quoted,
            first @ '0'..='7' => {
                self.at -= first.len_utf8();
                return self.ascii(8, 1..=3);
            }
            'x' => return self.ascii(16, 1..=2),
            'u' => return self.code_point(4),
            'U' => return self.code_point(8),
            _ => return None,
        })
    }

    /// A character by number. Bytes over 0x7f would be parts of characters, and a NUL ends an argument.
    fn ascii(&mut self, radix: u32, digits: std::ops::RangeInclusive<usize>) -> Option<char> {
        let number = self.number(radix, *digits.end())?;
        // Some shells take as many hexadecimal digits as there are.
        let more = radix == 16 && self.peek().is_some_and(|next| next.is_digit(radix));
        ((1..0x80).contains(&number) && !more).then(|| char::from_u32(number)).flatten()
    }

    /// A character by code point, written with all `digits`. Over ASCII it depends on the locale what a
    /// shell makes of it.
    fn code_point(&mut self, digits: usize) -> Option<char> {
        let start = self.at;
        let number = self.number(16, digits)?;
        if self.at - start != digits || number == 0 {
            return None;
        }
        if number >= 0x80 {
            self.needs(Dialect::Divided);
        }
        char::from_u32(number)
    }

    /// Up to `most` digits, at least one.
    fn number(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut number = None;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(radix)) else { break };
            self.at += 1;
            number = Some(number.unwrap_or(0u32).checked_mul(radix)?.checked_add(digit)?);
        }
        number
    }
}
