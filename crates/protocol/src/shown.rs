//! Text that is safe to paint, and commands made of it.

use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// What a span of shown text is.
    pub enum SpanKind {
        /// Printable text, painted as it is.
        Plain,
        /// A hidden, control or bidirectional character; `text` is its code such as `U+202E`.
        Escape,
        /// The end of a line, or a tab, where a reader expects one: in a text, or in an argument that may
        /// have lines; `text` is its code such as `U+000A`.
        Layout,
        /// A letter of another script among look-alikes; `text` is the letter itself.
        Lookalike,
        /// A blank inside an argument, painted visibly; `text` is the blank.
        Space,
        /// A masked secret; `text` is the mask, `raw` the value.
        Secret,
    }

    /// What an argument is in its command.
    pub enum ArgRole {
        /// The program that runs.
        Executable,
        /// One argument.
        Argument,
        /// Command text that could not be split into arguments.
        Text,
    }

    /// Where a command's words come from.
    pub enum CommandForm {
        /// Exactly this argument list runs; no shell reads it.
        Argv,
        /// A text that somebody else interprets.
        Text,
    }
}

ui! {
    /// One run of characters of the same kind.
    pub struct Span {
        /// How to paint it.
        pub kind: SpanKind,
        /// What to paint.
        pub text: String,
        /// The masked value, only for secrets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub raw: Option<String>,
    }

    /// Text made safe to look at. Joining the spans (codes decoded, masks replaced) gives the
    /// original exactly.
    pub struct Shown {
        /// In order.
        pub spans: Vec<Span>,
    }

    /// One argument as a visible box.
    pub struct ArgView {
        /// What it is.
        pub role: ArgRole,
        /// Its text; empty for an empty argument, which is still a box.
        pub shown: Shown,
        /// Whether this is the argument that missed the rule.
        pub missed: bool,
    }

    /// One simple command.
    pub struct SegmentView {
        /// How it is joined to the one before: `&&`, `||`, `;`, `|`, `|&`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub operator: Option<String>,
        /// Executable first.
        pub args: Vec<ArgView>,
        /// Whether no rule covers it.
        pub missed: bool,
    }

    /// A command as a person reads it.
    pub struct CommandView {
        /// Where the words come from.
        pub form: CommandForm,
        /// The words in front of the text that the segments are made of, such as `sh` and `-c`; empty where
        /// no shell was looked through.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[ts(optional, as = "Option<Vec<ArgView>>")]
        pub shell: Vec<ArgView>,
        /// In order.
        pub segments: Vec<SegmentView>,
        /// The exact command for the clipboard: argv quoted for a POSIX shell, or the text itself.
        pub copy: String,
        /// Arguments in all segments, executables not counted.
        pub arguments: u32,
        /// Hidden characters shown as codes.
        pub hidden: u32,
        /// Look-alike letters marked.
        pub lookalikes: u32,
        /// Secrets masked.
        pub secrets: u32,
    }
}
