//! What a command is made of: segments with byte spans, or the reason why it is opaque (command-analysis.md §4).
//!
//! Accepted for now: one simple command of plain and quoted words. Everything else is opaque, which means: ask.

use std::ops::Range;

/// A command taken apart.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Analysis {
    /// The text that the spans point into: the typed text, or for an argument list its canonical text.
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
    /// `<<` or `<<<`.
    Heredoc,
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
    /// Unbalanced quotes, a control character, or the like.
    SyntaxError,
    /// Over a limit.
    TooLong,
}

/// Takes a command text apart. Total: never panics, linear in `text`.
pub fn analyze_text(text: &str) -> Analysis {
    let _ = text;
    todo!()
}

/// Takes an argument list apart: elements are literal, no shell reads them. `sh -c TEXT` (exactly so) is looked
/// through when TEXT is one static simple command; other shells, wrappers and carriers are opaque.
pub fn analyze_argv(argv: &[String]) -> Analysis {
    let _ = argv;
    todo!()
}

impl Analysis {
    /// Names of programs whose facts an evaluation needs, each once.
    pub fn programs(&self) -> Vec<&str> {
        todo!()
    }
}
