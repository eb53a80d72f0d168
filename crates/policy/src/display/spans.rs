//! Text as spans, and back.

use super::hidden::{Hiding, lookalikes};
use super::secrets::MASK;
use countersign_protocol::shown::{Shown, Span, SpanKind};
use std::ops::Range;

/// What a text is to its reader, which decides how blanks, tabs and ends of lines are painted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reading {
    /// Any text: blanks are blanks, and nothing else belongs in it.
    Plain,
    /// One word on one line, such as a program: blanks are painted, and the end of a line hides something.
    Name,
    /// One argument, perhaps of several lines: blanks are painted.
    Word,
    /// A text of several lines: blanks are painted where nothing follows them.
    Text,
}

impl Reading {
    /// How an argument is read. One that looks like a path has no lines: whoever puts one into
    /// it hides the rest.
    pub(super) fn of_argument(argument: &str) -> Self {
        if argument.contains('/') && !argument.contains(' ') { Self::Name } else { Self::Word }
    }

    fn has_lines(self) -> bool {
        matches!(self, Self::Word | Self::Text)
    }

    fn paints_blank(self, is_trailing: bool) -> bool {
        match self {
            Self::Plain => false,
            Self::Name | Self::Word => true,
            Self::Text => is_trailing,
        }
    }
}

/// `text` as spans, with `secrets` (in order, apart) masked.
pub(super) fn spans(text: &str, secrets: &[Range<usize>], reading: Reading) -> Shown {
    let mut builder = Builder::default();
    let mut hiding = Hiding::default();
    let mut secrets = secrets.iter().peekable();
    for (((at, c), lookalike), is_trailing) in text.char_indices().zip(lookalikes(text)).zip(trailing(text)) {
        while secrets.next_if(|secret| secret.end <= at).is_some() {}
        let masked = secrets.peek().is_some_and(|secret| secret.contains(&at));
        let kind = if hiding.hides(c) {
            if reading.has_lines() && matches!(c, '\n' | '\t') { SpanKind::Layout } else { SpanKind::Escape }
        } else if masked {
            SpanKind::Secret
        } else if lookalike {
            SpanKind::Lookalike
        } else if c == ' ' && reading.paints_blank(is_trailing) {
            SpanKind::Space
        } else {
            SpanKind::Plain
        };
        builder.push(kind, c, secrets.peek().map_or(0, |secret| secret.start));
    }
    builder.finish()
}

/// For each character, whether it is a blank behind which its line has nothing.
fn trailing(text: &str) -> Vec<bool> {
    let mut flags = Vec::with_capacity(text.len());
    let mut is_end = true;
    for c in text.chars().rev() {
        is_end = c == '\n' || (is_end && matches!(c, ' ' | '\t'));
        flags.push(is_end);
    }
    flags.reverse();
    flags
}

/// The original of shown spans.
pub(super) fn original(shown: &Shown) -> Option<String> {
    let mut text = String::new();
    for span in &shown.spans {
        match span.kind {
            SpanKind::Plain | SpanKind::Lookalike | SpanKind::Space => text.push_str(&span.text),
            SpanKind::Escape | SpanKind::Layout => text.push(decode(&span.text)?),
            SpanKind::Secret => text.push_str(span.raw.as_deref()?),
        }
    }
    Some(text)
}

fn decode(code: &str) -> Option<char> {
    let digits = code.strip_prefix("U+")?;
    let is_code = (4..=6).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if !is_code {
        return None;
    }
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

#[derive(Default)]
struct Builder {
    spans: Vec<Span>,
    kind: Option<SpanKind>,
    run: String,
    secret: usize,
}

impl Builder {
    /// Codes stand alone; other runs of one kind are one span, two secrets side by side are two.
    fn push(&mut self, kind: SpanKind, c: char, secret: usize) {
        let continues = self.kind == Some(kind)
            && !matches!(kind, SpanKind::Escape | SpanKind::Layout)
            && (kind != SpanKind::Secret || self.secret == secret);
        if !continues {
            self.close();
        }
        self.kind = Some(kind);
        self.secret = secret;
        self.run.push(c);
    }

    fn close(&mut self) {
        let run = std::mem::take(&mut self.run);
        let Some(kind) = self.kind.take() else { return };
        let span = match kind {
            SpanKind::Plain | SpanKind::Lookalike | SpanKind::Space => Span { kind, text: run, raw: None },
            SpanKind::Escape | SpanKind::Layout => {
                let code = run.chars().next().map_or(0, u32::from);
                Span { kind, text: format!("U+{code:04X}"), raw: None }
            }
            SpanKind::Secret => Span { kind, text: MASK.to_owned(), raw: Some(run) },
        };
        self.spans.push(span);
    }

    fn finish(mut self) -> Shown {
        self.close();
        Shown { spans: self.spans }
    }
}
