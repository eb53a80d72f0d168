//! Puts a hook into an agent's settings, or takes it out. All but what is ours stays byte for byte as it was: order, blanks, members
//! that nobody here knows.

use super::spans::{self, Member};
use countersign_core::json;
use serde::Serialize as _;
use serde_json::{Value, json};
use std::ops::Range;

/// Why settings are left alone.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Unfit {
    /// They are no JSON: broken, or with comments.
    #[error("expected JSON without comments: {0}")]
    NotJson(#[from] serde_json::Error),
    /// They are JSON of another shape.
    #[error("{place}: expected {expected}, got {got}")]
    Shape {
        /// Where.
        place: String,
        /// What has to be there.
        expected: &'static str,
        /// What is.
        got: &'static str,
    },
    /// A member is there more than once, and programs differ in which one they take.
    #[error("{0} is there more than once")]
    Twice(String),
}

/// Tells whether a command is ours.
pub(super) type IsOurs<'a> = &'a dyn Fn(&str) -> bool;

/// Settings that have nothing but this hook.
pub(super) fn fresh(event: &str, group: &Value) -> String {
    pretty(&json!({ HOOKS: { event: [group] } }), "  ", "", "\n") + "\n"
}

/// The settings with `group` among the hooks of `event`, in the place of what of ours is there, else as the last.
pub(super) fn put(text: &str, event: &str, group: &Value, is_ours: IsOurs<'_>) -> Result<String, Unfit> {
    let settings = Settings::read(text)?;
    let own = settings.groups(event, is_ours)?;
    let kept = own.iter().find(|group| group.others == 0).map(|group| group.index);
    let mut text = text.to_owned();
    if let Some(kept) = kept {
        let span = settings.group_span(event, kept);
        if parsed(&text[span.clone()]) != *group {
            let style = Style::of(&text);
            text.replace_range(
                span.clone(),
                &pretty(group, style.unit, &line_indent(&text, span.start), style.newline),
            );
        }
    }
    // From the last one on, so that those before stay where they are.
    for group in own.iter().rev().filter(|group| Some(group.index) != kept) {
        if group.others == 0 {
            let list = Settings::read(&text)?.event_span(event);
            remove(&mut text, &list, group.index);
            continue;
        }
        for handler in group.handlers.iter().rev() {
            let list = Settings::read(&text)?.handlers_span(event, group.index);
            remove(&mut text, &list, *handler);
        }
    }
    if kept.is_none() {
        append(&mut text, event, group)?;
    }
    Ok(text)
}

/// The settings without anything of ours, and without what is empty by that.
pub(super) fn take_out(text: &str, is_ours: IsOurs<'_>) -> Result<String, Unfit> {
    let mut text = text.to_owned();
    loop {
        let settings = Settings::read(&text)?;
        let mut found = None;
        for event in EVENTS {
            let own = settings.groups(event, is_ours)?.into_iter().next();
            found = found.or(own.map(|own| (event, own)));
        }
        let Some((event, own)) = found else { return Ok(text) };
        let (list, index) = if own.others > 0 {
            let handler = own.handlers.first().copied().unwrap_or_default();
            (settings.handlers_span(event, own.index), handler)
        } else {
            settings.emptied_by(event, own.index)
        };
        remove(&mut text, &list, index);
    }
}

/// Settings that were looked at.
struct Settings<'a> {
    text: &'a str,
    value: Value,
}

/// A group of hooks that has some of ours.
struct OwnGroup {
    /// Its place among the groups of its event.
    index: usize,
    /// Places of ours in it.
    handlers: Vec<usize>,
    /// How many others it has.
    others: usize,
}

impl<'a> Settings<'a> {
    fn read(text: &'a str) -> Result<Self, Unfit> {
        let value: Value = serde_json::from_str(text)?;
        let settings = Self { text, value };
        let shape = |place: &str, expected, value: &Value| Unfit::Shape {
            place: place.to_owned(),
            expected,
            got: json::kind(value),
        };
        if !settings.value.is_object() {
            return Err(shape("the file", "an object", &settings.value));
        }
        single(settings.members(), HOOKS)?;
        match settings.value.get(HOOKS) {
            None => return Ok(settings),
            Some(Value::Object(events)) => {
                for (event, groups) in events {
                    if !groups.is_array() && EVENTS.contains(&event.as_str()) {
                        return Err(shape(&format!("{HOOKS}.{event}"), "a list", groups));
                    }
                }
            }
            Some(other) => return Err(shape(HOOKS, "an object", other)),
        }
        for event in EVENTS {
            single(spans::members(text, &settings.hooks_span()), event)?;
        }
        Ok(settings)
    }

    fn groups(&self, event: &str, is_ours: IsOurs<'_>) -> Result<Vec<OwnGroup>, Unfit> {
        let groups = self.value.get(HOOKS).and_then(|hooks| hooks.get(event)).and_then(Value::as_array);
        let mut own = Vec::new();
        for (index, group) in groups.into_iter().flatten().enumerate() {
            let handlers = group.get(HOOKS).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let is_own =
                |handler: &Value| handler.get("command").and_then(Value::as_str).is_some_and(is_ours);
            let found: Vec<usize> =
                (0..handlers.len()).filter(|index| handlers.get(*index).is_some_and(is_own)).collect();
            if !found.is_empty() {
                single(spans::members(self.text, &self.group_span(event, index)), HOOKS)?;
                own.push(OwnGroup { index, others: handlers.len() - found.len(), handlers: found });
            }
        }
        Ok(own)
    }

    fn members(&self) -> Vec<Member> {
        spans::members(self.text, &spans::root(self.text))
    }

    fn hooks_span(&self) -> Range<usize> {
        value_of(&self.members(), HOOKS)
    }

    fn event_span(&self, event: &str) -> Range<usize> {
        value_of(&spans::members(self.text, &self.hooks_span()), event)
    }

    fn group_span(&self, event: &str, group: usize) -> Range<usize> {
        spans::elements(self.text, &self.event_span(event)).into_iter().nth(group).unwrap_or_default()
    }

    fn handlers_span(&self, event: &str, group: usize) -> Range<usize> {
        value_of(&spans::members(self.text, &self.group_span(event, group)), HOOKS)
    }

    /// What goes when a group goes: its list where it is the only one, all hooks where that list is.
    fn emptied_by(&self, event: &str, group: usize) -> (Range<usize>, usize) {
        let list = self.event_span(event);
        if spans::elements(self.text, &list).len() > 1 {
            return (list, group);
        }
        let hooks = self.hooks_span();
        let events = spans::members(self.text, &hooks);
        let place = |members: &[Member], name: &str| {
            members.iter().position(|member| member.name == name).unwrap_or_default()
        };
        if events.len() > 1 {
            return (hooks, place(&events, event));
        }
        (spans::root(self.text), place(&self.members(), HOOKS))
    }
}

fn single(members: Vec<Member>, name: &str) -> Result<(), Unfit> {
    let times = members.iter().filter(|member| member.name == name).count();
    if times > 1 { Err(Unfit::Twice(name.to_owned())) } else { Ok(()) }
}

fn value_of(members: &[Member], name: &str) -> Range<usize> {
    let found = members.iter().find(|member| member.name == name);
    found.map(|member| member.value.clone()).unwrap_or_default()
}

/// Removes a part of an object or a list with its comma.
fn remove(text: &mut String, container: &Range<usize>, index: usize) {
    let is_object = text[container.clone()].starts_with('{');
    let parts: Vec<Range<usize>> = if is_object {
        spans::members(text, container).into_iter().map(|member| member.whole).collect()
    } else {
        spans::elements(text, container)
    };
    let before = index.checked_sub(1).and_then(|before| parts.get(before));
    match (before, parts.get(index), parts.get(index + 1)) {
        (None, Some(_), None) => {
            text.replace_range(container.clone(), if is_object { "{}" } else { "[]" });
        }
        (Some(before), Some(part), None) => text.replace_range(before.end..part.end, ""),
        (_, Some(part), Some(next)) => text.replace_range(part.start..next.start, ""),
        (_, None, _) => {}
    }
}

/// Adds a group as the last one of its event, and what of the way there is missing.
fn append(text: &mut String, event: &str, group: &Value) -> Result<(), Unfit> {
    let settings = Settings::read(text)?;
    let hooks = settings.value.get(HOOKS);
    let (container, name, value) = match hooks.map(|hooks| hooks.get(event)) {
        None => (spans::root(text), Some(HOOKS), json!({ event: [group] })),
        Some(None) => (settings.hooks_span(), Some(event), json!([group])),
        Some(Some(_)) => (settings.event_span(event), None, group.clone()),
    };
    let parts: Vec<Range<usize>> = match name {
        Some(_) => spans::members(text, &container).into_iter().map(|member| member.whole).collect(),
        None => spans::elements(text, &container),
    };
    let style = Style::of(text);
    let part = |value: String| match name {
        Some(name) => format!("{}: {value}", Value::from(name)),
        None => value,
    };
    let (span, new) = match parts.last() {
        Some(last) if is_at_line_start(text, last.start) => {
            let indent = line_indent(text, last.start);
            let rendered = part(pretty(&value, style.unit, &indent, style.newline));
            (last.end..last.end, format!(",{}{indent}{rendered}", style.newline))
        }
        Some(last) => (last.end..last.end, format!(", {}", part(value.to_string()))),
        None => {
            let outer = line_indent(text, container.start);
            let indent = format!("{outer}{}", style.unit);
            let rendered = part(pretty(&value, style.unit, &indent, style.newline));
            let (open, close) = if name.is_some() { ('{', '}') } else { ('[', ']') };
            let newline = style.newline;
            (container, format!("{open}{newline}{indent}{rendered}{newline}{outer}{close}"))
        }
    };
    text.replace_range(span, &new);
    Ok(())
}

/// How a text is laid out.
struct Style<'a> {
    /// One step of indentation.
    unit: &'a str,
    newline: &'static str,
}

impl<'a> Style<'a> {
    fn of(text: &'a str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let first = spans::members(text, &spans::root(text)).into_iter().next();
        let unit = first.map_or("", |member| leading_blank(text, member.whole.start));
        Self { unit: if unit.is_empty() { "  " } else { unit }, newline }
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

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

const HOOKS: &str = "hooks";

/// The events that we put something into.
pub(super) const EVENTS: [&str; 3] = ["BeforeTool", "PermissionRequest", "PreToolUse"];
