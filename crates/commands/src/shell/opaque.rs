//! How commands are joined, and why a text cannot be taken apart.

use std::ops::Range;

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

/// Causes; the words are those of docs/protocol/commands.md, "Texts".
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
