//! One word: quotes and backslashes are taken away, expansions are refused, what a shell could still
//! expand is noted.

use super::lexer::{Lexer, Position, TokenKind};
use super::opaque::{Opaque, OpaqueReason};
use super::{Dialect, Extension, Word, opaque};

/// A word as far as it was read.
struct Partial {
    word: Word,
    role: Role,
}

/// What a word is for, as far as it is known.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Role {
    Argument,
    /// An executable, or the name of an assignment: no `=` and no `/` was seen.
    Undecided,
    Executable,
    /// The value of an assignment, from the `=` on.
    Value,
}

impl Role {
    const fn names_program(self) -> bool {
        matches!(self, Self::Undecided | Self::Executable)
    }
}

impl Lexer<'_> {
    pub(super) fn word(&mut self, position: Position) -> Result<TokenKind, Opaque> {
        self.count(WORD_NODES)?;
        let start = self.at;
        let word = Word { text: String::new(), span: start..start, expands: false, quoted: false };
        let role = match position {
            Position::Argument => Role::Argument,
            Position::Command => Role::Undecided,
        };
        let mut partial = Partial { word, role };
        if let Some(text) = self.bracket(position) {
            partial.word.text.push_str(text);
            partial.word.span.end = self.at;
            return Ok(TokenKind::Word(partial.word));
        }
        while let Some(next) = self.peek() {
            match next {
                ' ' | '\t' | '\n' | ';' | '|' | '&' | '(' | ')' => break,
                '\r' if self.follows("\r\n") => break,
                '<' | '>' => break,
                '\'' | '"' | '\\' => self.quoted_part(next, &mut partial)?,
                '$' if self.follows("$'") => self.quoted_part(next, &mut partial)?,
                '$' if self.follows("$\"") => {
                    // A translated string to some, a dollar sign and a string to others.
                    self.needs(Dialect::Divided);
                    self.at += 1;
                }
                '$' if partial.role == Role::Argument && self.known_variable(&mut partial.word) => {}
                '$' => self.exit_status_argument(&mut partial)?,
                _ => self.bare(next, &mut partial)?,
            }
        }
        partial.word.span.end = self.at;
        let Partial { word, role } = partial;
        Ok(if role == Role::Value { TokenKind::Assignment(word) } else { TokenKind::Word(word) })
    }

    fn quoted_part(&mut self, next: char, partial: &mut Partial) -> Result<(), Opaque> {
        self.count(QUOTE_NODES)?;
        partial.word.quoted = true;
        match next {
            '\'' => self.single_quoted(&mut partial.word.text),
            '"' => self.double_quoted(partial),
            '$' => self.ansi_quoted(&mut partial.word.text),
            _ => self.escaped(partial),
        }
    }

    /// An unquoted character.
    fn bare(&mut self, next: char, partial: &mut Partial) -> Result<(), Opaque> {
        let width = next.len_utf8();
        let at_start = self.at == partial.word.span.start;
        // In busybox a grammar of its own begins even where it is an argument.
        let opens_test = at_start && self.rest().strip_prefix("[[").is_some_and(ends_word);
        let reason = if opens_test {
            Some(OpaqueReason::Compound)
        } else if partial.role.names_program() {
            self.refused_in_program(next, partial)
        } else {
            match next {
                '`' => Some(OpaqueReason::CommandSubstitution),
                '{' | '}' if partial.role == Role::Value => Some(OpaqueReason::Expansion),
                _ => None,
            }
        };
        if let Some(reason) = reason.or_else(|| self.refused_anywhere(next)) {
            return Err(opaque(reason, self.at..self.at + width));
        }
        if next == '/' && partial.role == Role::Undecided {
            partial.role = Role::Executable;
        }
        // To zsh a word begins behind quotes with nothing between them.
        let begins = partial.word.text.is_empty();
        partial.word.expands |= match next {
            '[' | '{' if self.is_whole_word(next, partial) => false,
            '*' | '?' | '[' => true,
            '{' => !at_start || !self.rest().strip_prefix("{}").is_some_and(ends_word),
            '~' => begins || self.before().ends_with(['=', ':']),
            // To zsh the path of the program that is named behind it.
            '=' => begins && !self.is_whole_word(next, partial),
            _ => false,
        };
        partial.word.text.push(next);
        self.at += width;
        Ok(())
    }

    /// Whether the character here is all of the word.
    fn is_whole_word(&self, next: char, partial: &Partial) -> bool {
        self.at == partial.word.span.start
            && ends_word(self.rest().get(next.len_utf8()..).unwrap_or_default())
    }

    /// Why an unquoted character must not be in an executable. At the first `=` it turns out what
    /// the word is for.
    fn refused_in_program(&self, next: char, partial: &mut Partial) -> Option<OpaqueReason> {
        let undecided = partial.role == Role::Undecided;
        match next {
            '`' => Some(OpaqueReason::DynamicExecutable),
            '[' | '{' if self.is_whole_word(next, partial) => None,
            '*' | '?' | '[' => Some(OpaqueReason::DynamicExecutable),
            '{' => Some(OpaqueReason::Expansion),
            // A job to some shells, and an error to the peers' grammar.
            '#' | '%' | '@' => undecided.then_some(OpaqueReason::SyntaxError),
            '+' if undecided && matches!(self.rest().get(1..2), None | Some("" | ":")) => {
                Some(OpaqueReason::SyntaxError)
            }
            '=' if undecided && !partial.word.quoted => {
                let head = self.text.get(partial.word.span.start..self.at).unwrap_or_default();
                partial.role = if is_name(head) { Role::Value } else { Role::Executable };
                // Some shells or peers see an assignment in it nevertheless.
                (partial.role == Role::Executable).then_some(OpaqueReason::Assignment)
            }
            _ => None,
        }
    }

    /// Why an unquoted character must not be in any word.
    fn refused_anywhere(&self, next: char) -> Option<OpaqueReason> {
        let refused = match next {
            '#' => self.ends_number(),
            // An operator of tests to the peers' grammar.
            '~' => self.before().strip_suffix('=').is_some_and(|head| head.ends_with(['}', ']', ' ', '\t'])),
            // A range, of which the peers' grammar knows only the plain ones.
            '{' => self.rest().get(1..).is_some_and(|rest| {
                rest.trim_start_matches(|next: char| next.is_ascii_alphanumeric()).starts_with("..")
            }),
            '\0' | '\r' | '\u{b}' | '\u{c}' => true,
            _ => !next.is_ascii() && next.is_whitespace(),
        };
        refused.then_some(OpaqueReason::SyntaxError)
    }

    /// Whether the peers' grammar reads what stands before as the base of a number.
    fn ends_number(&self) -> bool {
        let before = self.before();
        let head = before.trim_end_matches(|digit: char| digit.is_ascii_digit());
        head.len() < before.len()
            && !head.ends_with(|last: char| last.is_ascii_alphabetic() || "/_".contains(last))
    }

    /// `$?` as a whole argument; any other unquoted `$` is refused.
    fn exit_status_argument(&mut self, partial: &mut Partial) -> Result<(), Opaque> {
        let start = self.at;
        let whole = start == partial.word.span.start
            && partial.role == Role::Argument
            && self.rest().strip_prefix("$?").is_some_and(ends_word);
        if !whole {
            return Err(self.dollar(partial));
        }
        self.exit_status(partial);
        Ok(())
    }

    fn exit_status(&mut self, partial: &mut Partial) {
        let start = self.at;
        self.at += 2;
        self.extend(Extension::ExitStatus, start..self.at);
        partial.word.text.push_str("$?");
        partial.word.expands = true;
    }

    /// Why the `$` here is refused.
    fn dollar(&self, partial: &Partial) -> Opaque {
        let start = self.at;
        let reason = if partial.role.names_program() {
            OpaqueReason::DynamicExecutable
        } else if self.follows("$(") && !self.follows("$((") {
            OpaqueReason::CommandSubstitution
        } else {
            OpaqueReason::DynamicArgument
        };
        opaque(reason, start..start + 1)
    }

    fn single_quoted(&mut self, value: &mut String) -> Result<(), Opaque> {
        let open = self.at;
        self.at += 1;
        while let Some(next) = self.take() {
            if next == '\'' {
                return Ok(());
            }
            if next == '\\' && self.follows("\n") {
                self.extend(Extension::LineContinuation, self.at - 1..self.at + 1);
            }
            self.quoted_char(next, value)?;
        }
        Err(opaque(OpaqueReason::SyntaxError, open..self.text.len()))
    }

    fn double_quoted(&mut self, partial: &mut Partial) -> Result<(), Opaque> {
        let open = self.at;
        self.at += 1;
        while let Some(next) = self.peek() {
            match next {
                '"' => {
                    self.at += 1;
                    return Ok(());
                }
                '$' if self.follows("$?") && partial.role == Role::Argument => self.exit_status(partial),
                '$' if partial.role == Role::Argument && self.known_variable(&mut partial.word) => {}
                '$' if partial.role == Role::Argument
                    && self.literal_substitution(&mut partial.word.text) => {}
                '$' if partial.role.names_program() || !self.is_literal_dollar() => {
                    return Err(self.dollar(partial));
                }
                '`' if partial.role.names_program() => {
                    return Err(opaque(OpaqueReason::DynamicExecutable, self.at..self.at + 1));
                }
                '`' => return Err(opaque(OpaqueReason::CommandSubstitution, self.at..self.at + 1)),
                '\\' => self.escaped_in_quotes(&mut partial.word.text)?,
                _ => {
                    self.at += next.len_utf8();
                    self.quoted_char(next, &mut partial.word.text)?;
                }
            }
        }
        Err(opaque(OpaqueReason::SyntaxError, open..self.text.len()))
    }

    /// Whether the `$` here, in double quotes, stands for itself to every shell.
    fn is_literal_dollar(&self) -> bool {
        let after = self.rest().chars().nth(1);
        after.is_some_and(|next| matches!(next, '"' | '\'' | ' ' | '%' | '.' | ',' | '/' | ':'))
    }

    /// A character between quotes, already taken. A carriage return there is kept by shells and
    /// lost by some peers.
    pub(super) fn quoted_char(&self, next: char, value: &mut String) -> Result<(), Opaque> {
        if matches!(next, '\0' | '\r') {
            return Err(opaque(OpaqueReason::SyntaxError, self.at - next.len_utf8()..self.at));
        }
        value.push(next);
        Ok(())
    }

    fn escaped(&mut self, partial: &mut Partial) -> Result<(), Opaque> {
        let start = self.at;
        let at_start = start == partial.word.span.start;
        // A peer joins a line to the one before when it begins with a backslash.
        let before = self.before();
        let begins_line = before.ends_with('\n');
        self.at += 1;
        let next = self.take();
        let reason = match next {
            Some('\n') => Some(OpaqueReason::LineContinuation),
            Some('\r') if self.follows("\n") => Some(OpaqueReason::LineContinuation),
            None | Some('\0' | '\r' | '\u{b}' | '\u{c}') => Some(OpaqueReason::SyntaxError),
            Some(blank @ (' ' | '\t')) if at_start || self.is_lost(before, blank) => {
                Some(OpaqueReason::SyntaxError)
            }
            Some(_) => begins_line.then_some(OpaqueReason::SyntaxError),
        };
        if let Some(reason) = reason {
            return Err(opaque(reason, start..self.at));
        }
        if next == Some('\\') && self.follows("\n") {
            self.extend(Extension::LineContinuation, self.at - 1..self.at + 1);
        }
        partial.word.text.extend(next);
        Ok(())
    }

    /// Whether the peers lose the escaped blank that was just taken: after quotes, and at the end of a
    /// word or the text.
    fn is_lost(&self, before: &str, blank: char) -> bool {
        let rest = self.rest();
        before.ends_with(['\'', '"'])
            || (blank == '\t' && ends_word(rest))
            || rest.trim_start_matches([' ', '\t', '\n']).is_empty()
    }

    /// Before anything but these every shell keeps the backslash.
    fn escaped_in_quotes(&mut self, value: &mut String) -> Result<(), Opaque> {
        let start = self.at;
        self.at += 1;
        match self.take() {
            Some('\n') => Err(opaque(OpaqueReason::LineContinuation, start..self.at)),
            None | Some('\0' | '\r') => Err(opaque(OpaqueReason::SyntaxError, start..self.at)),
            Some(next) => {
                if !matches!(next, '$' | '`' | '"' | '\\') {
                    value.push('\\');
                }
                if next == '\\' && self.follows("\n") {
                    self.extend(Extension::LineContinuation, self.at - 1..self.at + 1);
                }
                value.push(next);
                Ok(())
            }
        }
    }
}

/// Whether it could be the name of a variable.
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|next| next.is_ascii_alphanumeric() || next == b'_')
}

/// Whether a word that was read so far ends before `rest`.
fn ends_word(rest: &str) -> bool {
    rest.is_empty()
        || rest.starts_with([' ', '\t', '\n', ';', '|', '&', '(', ')', '<', '>'])
        || rest.starts_with("\r\n")
}

/// What a word may need in a syntax tree besides its token: the word, its name and its concatenation.
const WORD_NODES: usize = 2;

/// What a quoted part may need: itself, its content, its two quotes, and the unquoted part after it.
const QUOTE_NODES: usize = 6;
