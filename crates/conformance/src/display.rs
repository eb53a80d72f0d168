//! Cases about what is shown.

use super::Profile;
use countersign_policy::display::peer as peers;
use countersign_policy::display::{self, Secrets};
use countersign_protocol::limits::DISPLAY_INPUT_UNITS;
use countersign_protocol::shown::SpanKind;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Case {
    Command { text: String },
    Warning { text: String },
    Preview { request: Request },
    OutputTail { text: String, max: usize },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    #[serde(default)]
    command: String,
    command_preview: Option<String>,
}

pub(crate) const EXPECTED: &str =
    "kind command, warning or output-tail (with max) and text, or kind preview and request";

pub(crate) fn answer(case: Case, profile: Profile) -> Value {
    match (case, profile) {
        (Case::Command { text }, Profile::Reference) => painted(peers::command(&text)),
        (Case::Warning { text }, Profile::Reference) => painted(peers::warning(&text)),
        (Case::Preview { request }, Profile::Reference) => json!({
            "commandText": peers::command(&request.command).text,
            "commandPreview": peers::preview(&request.command, request.command_preview.as_deref()),
        }),
        (Case::OutputTail { text, max }, Profile::Reference) => {
            json!({ "text": peers::output_tail(&text, max) })
        }
        // Nothing is cut: what is too long is shown and cannot be allowed.
        (Case::Command { text } | Case::Warning { text }, Profile::Attentive) => json!({
            "text": with_codes(&text),
            "truncated": false,
            "oversized": text.encode_utf16().count() > DISPLAY_INPUT_UNITS,
        }),
        // Only what runs is shown.
        (Case::Preview { request }, Profile::Attentive) => {
            json!({ "commandText": with_codes(&request.command), "commandPreview": null })
        }
        (Case::OutputTail { text, max }, Profile::Attentive) => {
            json!({ "text": display::output_tail(&text, max) })
        }
    }
}

fn painted(painted: peers::Painted) -> Value {
    json!({ "text": painted.text, "truncated": painted.truncated, "oversized": painted.oversized })
}

/// What is painted, with codes as the peers write them.
fn with_codes(text: &str) -> String {
    let shown = display::shown(text, Secrets::Show);
    let span = |span: &countersign_protocol::shown::Span| match span.kind {
        SpanKind::Escape | SpanKind::Layout => {
            let digits = span.text.trim_start_matches("U+").trim_start_matches('0');
            format!("\\u{{{}}}", if digits.is_empty() { "0" } else { digits })
        }
        SpanKind::Plain | SpanKind::Lookalike | SpanKind::Space | SpanKind::Secret => span.text.clone(),
    };
    shown.spans.iter().map(span).collect()
}
