//! Tokens of a command text, one at a time: the parser says where in a command it stands, since a word there
//! may be an assignment, and an expansion there would choose the program.

use super::opaque::{Opaque, OpaqueReason, Operator};
use super::{Dialect, Extension, Word, opaque};
use std::ops::Range;

/// What the parser meets next.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) span: Range<usize>,
}

#[derive(Debug)]
pub(super) enum TokenKind {
    Word(Word),
    /// `NAME=value` where a command may begin.
    Assignment(Word),
    /// `&&`, `||`, `|`, `|&`.
    Operator(Operator),
    Semicolon,
    Newline,
    /// `(`
    Open,
    /// `)`
    Close,
    /// One that is an [`Extension`].
    Redirection,
    /// A file as input: what is read, without the sign.
    Input(Word),
    End,
}

/// Where in a command a word would stand.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Position {
    /// Where the executable is expected.
    Command,
    Argument,
}

#[derive(Debug)]
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    /// Byte of the next character.
    pub(super) at: usize,
    pub(super) extensions: Vec<(Extension, Range<usize>)>,
    pub(super) dialect: Dialect,
    /// Names that stand for a word of a loop around what is read, innermost last.
    pub(super) loop_names: Vec<String>,
    /// Where the `]]` of an open `[[` begins.
    pub(super) test_end: Option<usize>,
    nodes: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self, Opaque> {
        if text.encode_utf16().count() > SOURCE_UNITS {
            return Err(opaque(OpaqueReason::TooLong, 0..text.len()));
        }
        let dialect = if text.starts_with(['-', '+']) { Dialect::Divided } else { Dialect::Posix };
        Ok(Self {
            text,
            at: 0,
            extensions: Vec::new(),
            dialect,
            loop_names: Vec::new(),
            test_end: None,
            nodes: 0,
        })
    }

    /// The next token; at the end of the text always [`TokenKind::End`].
    pub(super) fn next(&mut self, position: Position) -> Result<Token, Opaque> {
        self.skip_blanks()?;
        self.count(TOKEN_NODES)?;
        let start = self.at;
        let kind = match self.peek() {
            None => TokenKind::End,
            Some('\n') => self.symbol("\n", TokenKind::Newline),
            Some('\r') if self.follows("\r\n") => {
                self.needs(Dialect::Divided);
                self.symbol("\r\n", TokenKind::Newline)
            }
            Some(';') => self.symbol(";", TokenKind::Semicolon),
            Some('(') => self.symbol("(", TokenKind::Open),
            Some(')') => self.symbol(")", TokenKind::Close),
            Some('|') => self.pipe(),
            Some('&') if self.follows("&&") => self.symbol("&&", TokenKind::Operator(Operator::And)),
            Some('&') if self.follows("&>") => self.redirection()?,
            Some('&') => return Err(opaque(OpaqueReason::Background, start..start + 1)),
            Some('<' | '>') => self.redirection()?,
            Some(digit) if digit.is_ascii_digit() && self.is_descriptor() => self.redirection()?,
            Some(_) => self.word(position)?,
        };
        Ok(Token { kind, span: start..self.at })
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// What was read so far.
    pub(super) fn before(&self) -> &'a str {
        self.text.get(..self.at).unwrap_or_default()
    }

    pub(super) fn follows(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    pub(super) fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Whether the character before is a blank or newline, or there is none.
    pub(super) fn after_blank(&self) -> bool {
        self.at == 0 || self.before().ends_with([' ', '\t', '\n'])
    }

    pub(super) fn needs(&mut self, dialect: Dialect) {
        self.dialect = self.dialect.max(dialect);
    }

    pub(super) fn extend(&mut self, extension: Extension, span: Range<usize>) {
        self.extensions.push((extension, span));
    }

    /// Nodes of a syntax tree are limited; ours are counted generously, so that the peers' limit
    /// is never passed.
    pub(super) fn count(&mut self, nodes: usize) -> Result<(), Opaque> {
        self.nodes += nodes;
        if self.nodes > NODES {
            return Err(opaque(OpaqueReason::TooLong, 0..self.text.len()));
        }
        Ok(())
    }

    fn symbol(&mut self, symbol: &str, kind: TokenKind) -> TokenKind {
        self.at += symbol.len();
        kind
    }

    fn pipe(&mut self) -> TokenKind {
        if self.follows("||") {
            self.symbol("||", TokenKind::Operator(Operator::Or))
        } else if self.follows("|&") {
            self.needs(Dialect::Bash);
            self.symbol("|&", TokenKind::Operator(Operator::PipeBoth))
        } else {
            self.symbol("|", TokenKind::Operator(Operator::Pipe))
        }
    }

    fn skip_blanks(&mut self) -> Result<(), Opaque> {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
            if self.follows("\\\n") {
                // Right after anything but a blank it could join two operators into another one.
                let span = self.at..self.at + 2;
                if !self.after_blank() {
                    return Err(opaque(OpaqueReason::LineContinuation, span));
                }
                self.extend(Extension::LineContinuation, span);
                self.at += 2;
            } else if self.follows("#") {
                self.comment()?;
            } else {
                return Ok(());
            }
        }
    }

    /// Everything up to the end of the line, which is not part of it.
    fn comment(&mut self) -> Result<(), Opaque> {
        while let Some(next) = self.peek() {
            match next {
                '\n' => {
                    if self.before().ends_with('\\') {
                        self.extend(Extension::LineContinuation, self.at - 1..self.at + 1);
                    }
                    return Ok(());
                }
                '\r' if self.follows("\r\n") => {
                    let continued = self.text.get(..self.at).is_some_and(|before| before.ends_with('\\'));
                    let span = self.at.saturating_sub(1)..self.at + 2;
                    return if continued {
                        Err(opaque(OpaqueReason::LineContinuation, span))
                    } else {
                        Ok(())
                    };
                }
                '\r' | '\0' => return Err(opaque(OpaqueReason::SyntaxError, self.at..self.at + 1)),
                _ => self.at += next.len_utf8(),
            }
        }
        Ok(())
    }
}

/// Longest text, in UTF-16 units as the peers count.
const SOURCE_UNITS: usize = 131_072;

/// Most nodes of a syntax tree, the peers' limit.
const NODES: usize = 50_000;

/// What one token may need in a syntax tree: itself, its command, its list and its name.
const TOKEN_NODES: usize = 2;
