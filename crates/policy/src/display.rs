//! What a person sees. Lossless: what is shown can be parsed back to exactly what runs. For the eye only: nothing
//! shown here ever feeds matching or execution.

use crate::analysis::Analysis;
use countersign_protocol::ui::{AllowBlocked, CommandView, Shown};

/// Whether look-alike secrets are covered.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Secrets {
    /// Masked, with the value kept beside the mask.
    Mask,
    /// Shown.
    Show,
}

/// Any text (agent, path, environment value) as spans: hidden, control and bidirectional characters as codes, look-alike
/// letters marked, blanks plain.
pub fn shown(text: &str, secrets: Secrets) -> Shown {
    let _ = (text, secrets);
    todo!()
}

/// The original of shown spans.
pub fn original(shown: &Shown) -> Option<String> {
    let _ = shown;
    todo!()
}

/// An argument list as boxes. `missed` is the segment index that no rule covers.
pub fn argv_view(argv: &[String], missed: Option<usize>) -> CommandView {
    let _ = (argv, missed);
    todo!()
}

/// A command text that somebody else interprets, as boxes when it could be taken apart, else as one text.
pub fn text_view(text: &str, analysis: &Analysis) -> CommandView {
    let _ = (text, analysis);
    todo!()
}

/// Why a command of this size cannot be allowed.
pub fn allow_blocked(view: &CommandView) -> Option<AllowBlocked> {
    let _ = view;
    todo!()
}

/// One line for history, logs and terminals: printable, no control, hidden or bidirectional character; `\` doubled and
/// everything hidden as `\u{HEX}`, so that [`unescape`] gives the original.
pub fn escape(text: &str) -> String {
    let _ = text;
    todo!()
}

/// The original of [`escape`].
pub fn unescape(text: &str) -> Option<String> {
    let _ = text;
    todo!()
}

/// An argument list as one line: words that need it quoted, hidden characters escaped; [`parse_argv_line`] gives it back.
pub fn argv_line(argv: &[String]) -> String {
    let _ = argv;
    todo!()
}

/// The argument list of an [`argv_line`].
pub fn parse_argv_line(line: &str) -> Option<Vec<String>> {
    let _ = line;
    todo!()
}

/// The same line with secrets masked, for the history: not reversible.
pub fn masked_argv_line(argv: &[String]) -> String {
    let _ = argv;
    todo!()
}

/// A text with secrets masked and escaped, for the history: not reversible.
pub fn masked_text(text: &str) -> String {
    let _ = text;
    todo!()
}

/// Quoted for a POSIX shell, for the clipboard.
pub fn shell_quoted(argv: &[String]) -> String {
    let _ = argv;
    todo!()
}

/// The end of `output`, at most `chars` characters, after the marker `... (truncated) ` when cut.
pub fn output_tail(output: &str, chars: usize) -> String {
    let _ = (output, chars);
    todo!()
}
