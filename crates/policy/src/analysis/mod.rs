//! What a command is made of: segments with byte spans, or the reason why it is opaque (command-analysis.md §4).
//!
//! Accepted for now: one simple command of plain and quoted words. Everything else is opaque, which means: ask.

pub(crate) mod lexer;

use crate::programs::Name;
use crate::raw_command::canonical_word;
use std::ops::Range;

/// A command taken apart.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Analysis {
    /// The text that the spans point into: the typed text, for an argument list its canonical text, for a shell that
    /// was looked through its inline text.
    pub source: String,
    /// Simple commands in order; empty when opaque.
    pub segments: Vec<Segment>,
    /// Why it could not be taken apart.
    pub opaque: Option<Opaque>,
}

/// One simple command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Segment {
    /// How it is joined to the one before.
    pub operator: Option<Operator>,
    /// Executable first; never empty.
    pub words: Vec<Word>,
    /// Bytes of the source it covers.
    pub span: Range<usize>,
}

/// One word after quote removal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Word {
    /// Its value.
    pub text: String,
    /// Bytes of the source it covers, quotes included.
    pub span: Range<usize>,
}

/// How two segments are joined.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Operator {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `|&`
    PipeBoth,
    /// `;` or newline
    Then,
}

impl Operator {
    /// As it is typed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::And => "&&",
            Self::Or => "||",
            Self::Pipe => "|",
            Self::PipeBoth => "|&",
            Self::Then => ";",
        }
    }
}

/// Why a command is opaque, and where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Opaque {
    /// The cause.
    pub reason: OpaqueReason,
    /// Bytes of the source that caused it.
    pub span: Range<usize>,
}

/// Causes; the words are those of command-analysis.md §4.1.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum OpaqueReason {
    /// `NAME=value` before a command.
    Assignment,
    /// `&`.
    Background,
    /// A program that runs another one.
    Carrier,
    /// `case`.
    Case,
    /// `$(…)` or backticks.
    CommandSubstitution,
    /// `if`, `for`, `{`, `(`, functions.
    Compound,
    /// `$x` in arguments.
    DynamicArgument,
    /// The executable is not literal.
    DynamicExecutable,
    /// Nothing to run.
    Empty,
    /// Unquoted `*`, `?`, `[`, `{`, or `~`.
    Expansion,
    /// `for` and `select`.
    For,
    /// `name() …` and `function name …`.
    FunctionDefinition,
    /// `{ … }` and `((…))`.
    Group,
    /// `<<`.
    Heredoc,
    /// `<<<`.
    HereString,
    /// `if`.
    If,
    /// Backslash-newline.
    LineContinuation,
    /// `<(…)` or `>(…)`.
    ProcessSubstitution,
    /// `<`, `>`.
    Redirect,
    /// Several commands.
    Sequence,
    /// A shell whose text cannot be pinned to one program.
    Shell,
    /// `( … )`.
    Subshell,
    /// Unbalanced quotes, a control character, or the like.
    SyntaxError,
    /// Over a limit.
    TooLong,
    /// `while` and `until`.
    While,
}

impl OpaqueReason {
    /// The word for cards and programs, such as `dynamic-argument`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Assignment => "assignment",
            Self::Background => "background",
            Self::Carrier => "carrier",
            Self::Case => "case",
            Self::CommandSubstitution => "command-substitution",
            Self::Compound => "compound",
            Self::DynamicArgument => "dynamic-argument",
            Self::DynamicExecutable => "dynamic-executable",
            Self::Empty => "empty",
            Self::Expansion => "expansion",
            Self::For => "for",
            Self::FunctionDefinition => "function-definition",
            Self::Group => "group",
            Self::Heredoc => "heredoc",
            Self::HereString => "here-string",
            Self::If => "if",
            Self::LineContinuation => "line-continuation",
            Self::ProcessSubstitution => "process-substitution",
            Self::Redirect => "redirect",
            Self::Sequence => "sequence",
            Self::Shell => "shell",
            Self::Subshell => "subshell",
            Self::SyntaxError => "syntax-error",
            Self::TooLong => "too-long",
            Self::While => "while",
        }
    }
}

/// Takes a command text apart. Total: never panics, linear in `text`.
pub fn analyze_text(text: &str) -> Analysis {
    let words = lexer::split(text).and_then(|words| match words.first() {
        None => Err(Opaque { reason: OpaqueReason::Empty, span: 0..text.len() }),
        Some(_) => Ok(words),
    });
    match words {
        Ok(words) => classified(text.to_owned(), words),
        Err(opaque) => Analysis::opaque(text.to_owned(), opaque),
    }
}

/// Takes an argument list apart: elements are literal, no shell reads them. `sh -c TEXT` (exactly so) is looked
/// through when TEXT is one static simple command; other shells, wrappers and carriers are opaque.
pub fn analyze_argv(argv: &[String]) -> Analysis {
    match argv {
        [shell, flag, text] if is_plain_sh(shell) && flag == "-c" => look_through(argv, text),
        _ => literal(argv),
    }
}

impl Analysis {
    /// Names of programs whose facts an evaluation needs, each once.
    pub fn programs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for word in self.segments.iter().filter_map(|segment| segment.words.first()) {
            if !names.contains(&word.text.as_str()) {
                names.push(&word.text);
            }
        }
        names
    }

    fn opaque(source: String, opaque: Opaque) -> Self {
        Self { source, segments: Vec::new(), opaque: Some(opaque) }
    }
}

/// Only the plain name: `bash`, `dash` and the like read start-up files or have a grammar of their own (N433).
fn is_plain_sh(shell: &str) -> bool {
    shell.rsplit('/').next() == Some("sh")
}

fn look_through(argv: &[String], text: &str) -> Analysis {
    let inner = analyze_text(text);
    if inner.opaque.is_none() {
        return inner;
    }
    literal(argv)
}

fn literal(argv: &[String]) -> Analysis {
    let mut source = String::new();
    let mut words = Vec::with_capacity(argv.len());
    for argument in argv {
        if !source.is_empty() {
            source.push(' ');
        }
        let start = source.len();
        source.push_str(&canonical_word(argument));
        words.push(Word { text: argument.clone(), span: start..source.len() });
    }
    let blank = argv.first().is_none_or(|executable| executable.trim().is_empty());
    if blank {
        let span = 0..source.len();
        return Analysis::opaque(source, Opaque { reason: OpaqueReason::Empty, span });
    }
    if source.len() > ARGUMENT_BYTES || argv.len() > ARGUMENTS {
        let span = 0..source.len();
        return Analysis::opaque(source, Opaque { reason: OpaqueReason::TooLong, span });
    }
    classified(source, words)
}

/// One segment, unless its program runs something else than its name says.
fn classified(source: String, words: Vec<Word>) -> Analysis {
    let (Some(first), Some(last)) = (words.first(), words.last()) else {
        return Analysis::opaque(source, Opaque { reason: OpaqueReason::Empty, span: 0..0 });
    };
    let name = Name::of(&first.text);
    let reason = if name.is_shell() {
        Some(OpaqueReason::Shell)
    } else if name.is_multi_call() || name.is_carrier(words.iter().skip(1).map(|word| word.text.as_str())) {
        Some(OpaqueReason::Carrier)
    } else {
        None
    };
    if let Some(reason) = reason {
        let span = first.span.clone();
        return Analysis::opaque(source, Opaque { reason, span });
    }
    let span = first.span.start..last.span.end;
    let segments = vec![Segment { operator: None, words, span }];
    Analysis { source, segments, opaque: None }
}

/// Longest canonical text of an argument list that is taken apart, in bytes: the peers' limit for command texts.
const ARGUMENT_BYTES: usize = 131_072;

/// Most arguments that are taken apart: what cannot be shown one by one is not remembered or run unasked either.
const ARGUMENTS: usize = countersign_protocol::limits::DISPLAY_ARGUMENTS;
