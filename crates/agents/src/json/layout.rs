//! Puts a part into a list or an object of a text, or takes one out, in the writing that the text has. Taking
//! out what was put in gives the bytes from before.

use super::spans;
use serde::Serialize as _;
use serde_json::Value;
use std::ops::Range;

/// A whole file with one value.
pub(super) fn whole(value: &Value) -> String {
    pretty(value, "  ", "", "\n") + "\n"
}

/// Replaces the value that stands at `span`.
pub(super) fn replace(text: &mut String, span: Range<usize>, value: &Value) {
    let style = Style::of(text);
    let rendered = pretty(value, &style.unit, &line_indent(text, span.start), style.newline);
    text.replace_range(span, &rendered);
}

/// Adds `value` as the last part of the list that stands at `container`, or of the object, where
/// it has a `name`.
pub(super) fn append(text: &mut String, container: Range<usize>, name: Option<&str>, value: &Value) {
    let parts = parts(text, &container, name.is_some());
    let style = Style::of(text);
    let part = |value: String| match name {
        Some(name) => format!("{}: {value}", Value::from(name)),
        None => value,
    };
    let Some(last) = parts.last() else {
        let outer = line_indent(text, container.start);
        let indent = format!("{outer}{}", style.unit);
        let rendered = part(pretty(value, &style.unit, &indent, style.newline));
        let newline = style.newline;
        let inside = container.start + 1..container.end - 1;
        // Comments in it stay in front.
        let kept = text[inside.clone()].trim_end();
        let kept = if kept.contains('/') { kept.to_owned() } else { String::new() };
        text.replace_range(inside, &format!("{kept}{newline}{indent}{rendered}{newline}{outer}"));
        return;
    };
    if !is_at_line_start(text, last.start) {
        let rendered = part(value.to_string());
        text.insert_str(last.end, &format!(", {rendered}"));
        return;
    }
    let indent = line_indent(text, last.start);
    let rendered = part(pretty(value, &style.unit, &indent, style.newline));
    let line_end = text[last.end..].find(['\n', '\r']).map_or(text.len(), |at| last.end + at);
    let behind = &text[last.end..line_end.min(container.end)];
    // A comment behind the last part is about that part, so it stays on its line.
    if !behind.contains("//") {
        text.insert_str(last.end, &format!(",{}{indent}{rendered}", style.newline));
        return;
    }
    let comma = spans::skip_blank(text, last.end);
    let has_comma = comma < line_end && text[comma..].starts_with(',');
    let after = if has_comma { "," } else { "" };
    text.insert_str(line_end, &format!("{}{indent}{rendered}{after}", style.newline));
    if !has_comma {
        text.insert(last.end, ',');
    }
}

/// Takes a part out of the list or object that stands at `container`, with its comma.
/// Comments around it stay.
pub(super) fn remove(text: &mut String, container: &Range<usize>, index: usize) {
    let is_object = text[container.clone()].starts_with('{');
    let parts = parts(text, container, is_object);
    let Some(part) = parts.get(index).cloned() else { return };
    let before = index.checked_sub(1).and_then(|before| parts.get(before));
    let comma = spans::skip_blank(text, part.end);
    let comma = text[comma..].starts_with(',').then_some(comma);
    match (before, parts.get(index + 1)) {
        (None, None)
            if !text[container.start..part.start].contains('/')
                && !text[part.end..container.end].contains('/') =>
        {
            text.replace_range(container.clone(), if is_object { "{}" } else { "[]" });
        }
        (None, None) => {
            if let Some(comma) = comma {
                text.replace_range(comma..=comma, "");
            }
            let start = text[..part.start].trim_end().len();
            text.replace_range(start..part.end, "");
        }
        (Some(before), None) => {
            if !text[before.end..part.start].contains('/') {
                text.replace_range(before.end..part.end, "");
                return;
            }
            let start = text[..part.start].trim_end().len();
            match comma {
                Some(comma) => text.replace_range(start..=comma, ""),
                None => {
                    text.replace_range(start..part.end, "");
                    let own = spans::skip_blank(text, before.end);
                    text.replace_range(own..=own, "");
                }
            }
        }
        (_, Some(next)) => {
            if text[part.end..next.start].contains('/') {
                let end = comma.map_or(part.end, |comma| comma + 1);
                text.replace_range(part.start..end, "");
            } else {
                text.replace_range(part.start..next.start, "");
            }
        }
    }
}

fn parts(text: &str, container: &Range<usize>, is_object: bool) -> Vec<Range<usize>> {
    if is_object {
        spans::members(text, container).into_iter().map(|member| member.whole).collect()
    } else {
        spans::elements(text, container)
    }
}

/// How a text is laid out.
struct Style {
    /// One step of indentation.
    unit: String,
    newline: &'static str,
}

impl Style {
    fn of(text: &str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = spans::members(text, &spans::root(text)).into_iter().next();
        let unit = first.map_or("", |member| leading_blank(text, member.whole.start));
        Self { unit: if unit.is_empty() { "  " } else { unit }.to_owned(), newline }
    }
}

/// The blanks before `at` on its line, if there is nothing else before it there.
fn leading_blank(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let before = &text[line..at];
    if line > 0 && before.bytes().all(|byte| matches!(byte, b' ' | b'\t')) { before } else { "" }
}

fn is_at_line_start(text: &str, at: usize) -> bool {
    text[..at].trim_end_matches([' ', '\t']).ends_with('\n')
}

/// The blanks that the line of `at` begins with.
fn line_indent(text: &str, at: usize) -> String {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[line..].chars().take_while(|c| matches!(c, ' ' | '\t')).collect()
}

/// A value over several lines, of which all but the first begin with `indent`.
fn pretty(value: &Value, unit: &str, indent: &str, newline: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(unit.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // A value always has a text, and a Vec takes it.
    value.serialize(&mut serializer).ok();
    // Line breaks within texts are escaped, so these are all of the layout.
    String::from_utf8_lossy(&bytes).replace('\n', &format!("{newline}{indent}"))
}
