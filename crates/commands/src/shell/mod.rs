//! A command text as a POSIX shell would split it: simple commands joined by `&&`, `||`, `;`, newlines and
//! pipes, every word literal, or the reason why it is opaque (docs/protocol/commands.md, "Texts"). It never
//! guesses: what two shells might read differently is opaque, or says so in [`Script::dialect`].
//!
//! ```
//! let script = countersign_commands::shell::parse("make -s 'all of it' && ls").unwrap();
//! let words: Vec<&str> = script.commands[0].words.iter().map(|word| word.text.as_str()).collect();
//! assert_eq!(words, ["make", "-s", "all of it"]);
//! ```

mod ansi;
mod lexer;
mod literal;
mod moved;
mod opaque;
mod parser;
mod redirect;
mod told;
mod word;

pub use moved::{Moved, leading_cd};
pub use opaque::{Opaque, OpaqueReason, Operator};
use std::ops::Range;

/// A text taken apart.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Script {
    /// Simple commands in the order of the text; never empty.
    pub commands: Vec<SimpleCommand>,
    /// Where the text goes beyond what the newest peer understands, in the order of the text. A profile that
    /// does not know an extension treats the whole text as opaque, for [`Extension::reason`].
    pub extensions: Vec<(Extension, Range<usize>)>,
    /// Which shells read the text as it is taken apart here.
    pub dialect: Dialect,
}

/// One simple command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SimpleCommand {
    /// How it is joined to the one before; `None` for the first. The first of a group has the operator
    /// before the group.
    pub operator: Option<Operator>,
    /// Whether `!` turns its (pipeline's) status around.
    pub negated: bool,
    /// `NAME=value` words before the executable.
    pub assignments: Vec<Word>,
    /// Executable first; never empty.
    pub words: Vec<Word>,
    /// Bytes of the source it covers, redirections included. What stands for an [`Extension::InputFile`] lies
    /// in the span of the command that reads it, which comes next.
    pub span: Range<usize>,
}

/// One word after quote removal.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Word {
    /// Its value, with unquoted wildcards, braces and tildes left as they are.
    pub text: String,
    /// Bytes of the source it covers, quotes included.
    pub span: Range<usize>,
    /// Whether a shell could make something else of it: an unquoted `*`, `?`, `[` or `{`, a `~` in front or
    /// after an unquoted `=` or `:`, [`Extension::ExitStatus`] or [`Extension::KnownVariable`]. The words `[`
    /// and `{}` alone stay what they are.
    pub expands: bool,
    /// Whether any part of it is quoted or escaped: such a word is never a keyword or a redirection.
    pub quoted: bool,
}

impl Word {
    /// A word as a text says it, wherever that stands.
    pub fn said(text: &str) -> Self {
        Self { text: text.to_owned(), span: 0..0, expands: text.contains(['$', '`']), quoted: false }
    }
}

/// Who reads a text as it is taken apart here. Later variants include what the earlier ones allow.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Dialect {
    /// Every POSIX shell.
    Posix,
    /// Only bash: `|&`, `$'…'`, `&>`. The text must not be given to a plain `sh`.
    Bash,
    /// Shells are divided: `time`, `coproc` and `]]` are grammar to some and programs to others, some keep
    /// the carriage return of a CRLF in the word before, some take a text that begins with `-` for options.
    /// The text as it is must not be given to any shell; programs may be started with its words.
    Divided,
}

/// Something that the newest peer refuses to analyse although it cannot run, read or write anything else.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Extension {
    /// `2>&1`, `1>&2`, `>&2`: one of the command's own streams becomes another.
    StreamDuplicate,
    /// `>/dev/null`, `2>/dev/null`, `&>/dev/null`, `</dev/null`.
    NullDevice,
    /// Backslash-newline that joins nothing: between words, where every shell removes it before it reads on,
    /// or where it is not one at all, as in single quotes and comments.
    LineContinuation,
    /// `$?` as a whole argument or in double quotes: nothing but digits.
    ExitStatus,
    /// `"$(cat <<'EOF' … EOF)"`: what stands between the lines, without the line ends at its end.
    /// `cat` is not run.
    LiteralSubstitution,
    /// `( … )` and `{ …; }` around commands: they run the same commands. The span covers the whole group.
    Group,
    /// `*.rs` and `~/notes`, for which names of files were put in. No text has it
    /// before that.
    PathNames,
    /// Nothing but comments, taken for the command that does nothing. The span covers the whole text.
    Comments,
    /// `$HOME`, `${PWD}`: a variable that everybody has and whose value is no secret
    /// ([`crate::environment::TOLD`]). Only what prints may have it.
    KnownVariable,
    /// `[[ -f README.md ]]`: one test of a plain word, or of two, that is the same in `[`; the words are
    /// those of `[`. The span covers what opens it.
    DoubleBracket,
    /// `< notes.txt`: a file as input, taken for a `cat` of it in a pipe, by which it is judged. The span
    /// covers sign and name.
    InputFile,
    /// `if`, `then`, `elif`, `else` and `fi` around commands: some of the same commands run, in their order.
    /// A span for each of these words.
    Conditional,
    /// `for NAME in WORD…`, `do` and `done` around commands: the same commands run, once for each word. What
    /// stands before `do` counts as a command that does nothing, and in the loop the name stands for one of
    /// the words, as an [`Extension::KnownVariable`]. A span for `for`, `do` and `done`.
    Loop,
}

impl Extension {
    /// The word for cards and programs, such as `stream-duplicate`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StreamDuplicate => "stream-duplicate",
            Self::NullDevice => "null-device",
            Self::LineContinuation => "line-continuation",
            Self::ExitStatus => "exit-status",
            Self::LiteralSubstitution => "literal-substitution",
            Self::Group => "group",
            Self::PathNames => "path-names",
            Self::Comments => "comments",
            Self::KnownVariable => "known-variable",
            Self::DoubleBracket => "double-bracket",
            Self::InputFile => "input-file",
            Self::Conditional => "conditional",
            Self::Loop => "loop",
        }
    }

    /// Why the newest peer refuses a text with it.
    pub const fn reason(self) -> OpaqueReason {
        match self {
            Self::StreamDuplicate | Self::NullDevice | Self::InputFile => OpaqueReason::Redirect,
            Self::LineContinuation => OpaqueReason::LineContinuation,
            Self::ExitStatus | Self::KnownVariable => OpaqueReason::DynamicArgument,
            Self::DoubleBracket => OpaqueReason::Compound,
            Self::Conditional => OpaqueReason::If,
            Self::Loop => OpaqueReason::For,
            Self::LiteralSubstitution => OpaqueReason::CommandSubstitution,
            Self::Comments => OpaqueReason::Empty,
            Self::Group => OpaqueReason::Group,
            Self::PathNames => OpaqueReason::Expansion,
        }
    }
}

/// Takes `text` apart. Total: never panics, linear in time and memory, bounded (docs/protocol/commands.md,
/// "Limits of a text").
pub fn parse(text: &str) -> Result<Script, Opaque> {
    parser::parse(text)
}

fn opaque(reason: OpaqueReason, span: Range<usize>) -> Opaque {
    Opaque { reason, span }
}
