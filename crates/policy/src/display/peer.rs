//! Commands, warnings and output as the peers show them (docs/protocol/commands.md, "Shown text"). They cut
//! what is long; this program shows all of it or does not let it be allowed.

use countersign_protocol::limits::DISPLAY_INPUT_UNITS;
use std::borrow::Cow;
use std::fmt::Write;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// A text as it is painted.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Painted {
    /// What is seen.
    pub text: String,
    /// Whether its end is missing.
    pub truncated: bool,
    /// Whether a remark stands for all of it.
    pub oversized: bool,
}

/// A command: every line end and every hidden character as `\\u{HEX}`.
pub fn command(text: &str) -> Painted {
    painted(text, |_| false)
}

/// A warning, which may have lines.
pub fn warning(text: &str) -> Painted {
    let lines = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}'], "\n");
    painted(&lines, |c| c == '\n')
}

/// The short form beside a command, unless it is blank or says the same.
pub fn preview(command_text: &str, preview: Option<&str>) -> Option<String> {
    let shown = command(preview?.trim()).text;
    (!shown.is_empty() && shown != command(command_text).text).then_some(shown)
}

/// The end of `output`, at most `units` UTF-16 units, never half a character, after a marker when cut.
pub fn output_tail(output: &str, units: usize) -> String {
    let mut left = units;
    let mut start = output.len();
    for (at, c) in output.char_indices().rev() {
        let Some(rest) = left.checked_sub(c.len_utf16()) else {
            return format!("{OUTPUT_CUT}{}", output.get(start..).unwrap_or_default());
        };
        (left, start) = (rest, at);
    }
    output.to_owned()
}

fn painted(text: &str, keeps: fn(char) -> bool) -> Painted {
    if text.encode_utf16().count() > DISPLAY_INPUT_UNITS {
        return Painted { text: OVERSIZED.to_owned(), truncated: false, oversized: true };
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && !keeps(c) {
            // Writing to a string cannot fail.
            let _ = write!(shown, "\\u{{{:X}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    match cut(&shown) {
        Cow::Owned(text) => Painted { text, truncated: true, oversized: false },
        Cow::Borrowed(_) => Painted { text: shown, truncated: false, oversized: false },
    }
}

fn cut(shown: &str) -> Cow<'_, str> {
    let mut units = 0;
    for (at, c) in shown.char_indices() {
        units += c.len_utf16();
        if units > SHOWN_UNITS {
            return Cow::Owned(format!("{}{SHOWN_CUT}", shown.get(..at).unwrap_or_default()));
        }
    }
    Cow::Borrowed(shown)
}

/// What the peers know to be invisible; marks without a shape are not among it.
fn is_hidden(c: char) -> bool {
    match c.general_category() {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator
        | GeneralCategory::Surrogate => true,
        GeneralCategory::SpaceSeparator => c != ' ',
        _ => matches!(c, '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'),
    }
}

/// Most UTF-16 units of a shown text.
const SHOWN_UNITS: usize = 16_384;

const SHOWN_CUT: &str = "\u{2026}[truncated]";

const OUTPUT_CUT: &str = "... (truncated) ";

const OVERSIZED: &str = "[exec approval command exceeds display size limit; full text suppressed]";
