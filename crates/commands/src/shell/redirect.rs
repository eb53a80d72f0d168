//! Redirections: the few that only join streams or throw them away are tokens, all others make
//! the text opaque.

use super::lexer::{Lexer, TokenKind};
use super::opaque::{Opaque, OpaqueReason};
use super::{Dialect, Extension, Word, opaque};

impl Lexer<'_> {
    /// Whether the digit here is the number of a stream and not the begin of a word.
    pub(super) fn is_descriptor(&self) -> bool {
        self.rest().trim_start_matches(|next: char| next.is_ascii_digit()).starts_with(['<', '>'])
    }

    /// A harmless redirection. Glued to a word it is refused: who reads `a2>&1` sees something else
    /// than a shell does.
    pub(super) fn redirection(&mut self) -> Result<TokenKind, Opaque> {
        let start = self.at;
        let rest = self.rest();
        let operator = rest.trim_start_matches(|next: char| next.is_ascii_digit());
        let recognised = if self.after_blank() { harmless(rest) } else { None };
        if recognised.is_none()
            && let Some(file) = self.input_file()
        {
            return Ok(TokenKind::Input(file));
        }
        let Some((extension, length)) = recognised else {
            let end = start + (rest.len() - operator.len()) + 1;
            return Err(opaque(refused(operator), start..end));
        };
        if rest.starts_with('&') {
            self.needs(Dialect::Bash);
        }
        self.at += length;
        self.extend(extension, start..self.at);
        Ok(TokenKind::Redirection)
    }
}

impl Lexer<'_> {
    /// A file as input, behind a blank: `<` and a plain name that no shell makes anything else of.
    fn input_file(&mut self) -> Option<Word> {
        let rest = self.rest();
        let behind = rest.strip_prefix('<')?;
        let name = behind.trim_start_matches(' ');
        let length = name.bytes().take_while(|byte| is_plain(*byte)).count();
        let (name, after) = name.split_at(length);
        if !self.after_blank() || name.is_empty() || name.starts_with('-') || !ends_here(after) {
            return None;
        }
        let span = self.at..self.at + rest.len() - after.len();
        let word = Word { text: name.to_owned(), span: span.clone(), expands: false, quoted: false };
        self.at = span.end;
        self.extend(Extension::InputFile, span);
        Some(word)
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_./-+,@%".contains(&byte)
}

/// Which extension `text` begins with, and its length in bytes.
fn harmless(text: &str) -> Option<(Extension, usize)> {
    for operator in ["2>&1", "1>&2", ">&2", "2>&2", "1>&1", ">&1"] {
        if let Some(rest) = text.strip_prefix(operator) {
            return ends_here(rest).then_some((Extension::StreamDuplicate, operator.len()));
        }
    }
    let operators = ["&>", "1>>", "2>>", ">>", "1>", "2>", ">", "0<", "<"];
    let rest = operators.into_iter().find_map(|operator| text.strip_prefix(operator))?;
    let rest = rest.trim_start_matches([' ', '\t']).strip_prefix("/dev/null")?;
    ends_here(rest).then_some((Extension::NullDevice, text.len() - rest.len()))
}

/// Whether a word that was read so far ends before `rest`. A further redirection must not be
/// glued to it either.
fn ends_here(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', ')', '&']) || rest.starts_with("\r\n")
}

fn refused(operator: &str) -> OpaqueReason {
    if operator.starts_with("<(") || operator.starts_with(">(") {
        OpaqueReason::ProcessSubstitution
    } else if operator.starts_with("<<<") {
        OpaqueReason::HereString
    } else if operator.starts_with("<<") {
        OpaqueReason::Heredoc
    } else {
        OpaqueReason::Redirect
    }
}
