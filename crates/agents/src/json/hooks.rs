//! Puts a hook into an agent's settings, takes it out, or says what is there.

use super::spans::{self, Member};
use super::{Comments, layout, object, shape, single, value_of};
use crate::error::Unfit;
use serde_json::{Value, json};
use std::ops::Range;

/// Tells whether a command is ours.
pub(crate) type IsOurs<'a> = &'a dyn Fn(&str) -> bool;

/// What is looked for in settings, and how they are read.
#[derive(Clone, Copy)]
pub(crate) struct Hooks<'a> {
    /// Whether the agent takes comments.
    pub(crate) comments: Comments,
    /// The events that we put something into, as this agent calls them.
    pub(crate) events: &'a [&'a str],
    /// Tells ours from others'.
    pub(crate) is_ours: IsOurs<'a>,
}

/// Settings that have nothing but this hook.
pub(crate) fn fresh(event: &str, group: &Value) -> String {
    layout::whole(&json!({ HOOKS: { event: [group] } }))
}

impl Hooks<'_> {
    /// The settings with `group` among the hooks of `event`, in the place of what of ours is there,
    /// else as the last.
    pub(crate) fn put(self, text: &str, event: &str, group: &Value) -> Result<String, Unfit> {
        let settings = Settings::read(text, self)?;
        let own = settings.groups(event)?;
        let kept = own.iter().find(|group| group.others == 0).map(|group| group.index);
        let mut text = text.to_owned();
        if let Some(kept) = kept {
            let span = settings.group_span(event, kept);
            if settings.value[HOOKS][event][kept] != *group {
                layout::replace(&mut text, span, group);
            }
        }
        // From the last one on, so that those before stay where they are.
        for group in own.iter().rev().filter(|group| Some(group.index) != kept) {
            if group.others == 0 {
                let list = Settings::read(&text, self)?.event_span(event);
                layout::remove(&mut text, &list, group.index);
                continue;
            }
            for handler in group.handlers.iter().rev() {
                let list = Settings::read(&text, self)?.handlers_span(event, group.index);
                layout::remove(&mut text, &list, *handler);
            }
        }
        if kept.is_none() {
            let settings = Settings::read(&text, self)?;
            let hooks = settings.value.get(HOOKS);
            let (container, name, value) = match hooks.map(|hooks| hooks.get(event)) {
                None => (spans::root(&text), Some(HOOKS), json!({ event: [group] })),
                Some(None) => (settings.hooks_span(), Some(event), json!([group])),
                Some(Some(_)) => (settings.event_span(event), None, group.clone()),
            };
            layout::append(&mut text, container, name, &value);
        }
        Ok(text)
    }

    /// The settings without anything of ours, and without what is empty by that.
    pub(crate) fn take_out(self, text: &str) -> Result<String, Unfit> {
        let mut text = text.to_owned();
        loop {
            let settings = Settings::read(&text, self)?;
            let mut found = None;
            for event in self.events {
                let own = settings.groups(event)?.into_iter().next();
                found = found.or(own.map(|own| (*event, own)));
            }
            let Some((event, own)) = found else { return Ok(text) };
            let (list, index) = if own.others > 0 {
                let handler = own.handlers.first().copied().unwrap_or_default();
                (settings.handlers_span(event, own.index), handler)
            } else {
                settings.emptied_by(event, own.index)
            };
            layout::remove(&mut text, &list, index);
        }
    }

    /// What of ours is there, those of the first event first.
    pub(crate) fn found(self, text: &str) -> Result<Vec<Found>, Unfit> {
        let settings = Settings::read(text, self)?;
        let mut found = Vec::new();
        for event in self.events {
            for own in settings.groups(event)? {
                let group = &settings.value[HOOKS][event][own.index];
                for handler in own.handlers.iter().map(|at| &group[HOOKS][at]) {
                    let Some(command) = handler["command"].as_str() else { continue };
                    found.push(Found {
                        event: (*event).to_owned(),
                        command: command.to_owned(),
                        matcher: group.get("matcher").cloned(),
                        handler: handler.clone(),
                    });
                }
            }
        }
        Ok(found)
    }
}

/// A hook of ours as it stands in settings.
pub(crate) struct Found {
    /// Its event, as the agent calls it.
    pub(crate) event: String,
    /// What is started.
    pub(crate) command: String,
    /// Which calls it is for.
    pub(crate) matcher: Option<Value>,
    /// The rest of it.
    pub(crate) handler: Value,
}

/// Settings that were looked at.
struct Settings<'a> {
    hooks: Hooks<'a>,
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
    fn read(text: &'a str, hooks: Hooks<'a>) -> Result<Self, Unfit> {
        let value = object(text, hooks.comments)?;
        let settings = Self { hooks, text, value };
        single(&settings.members(), HOOKS)?;
        match settings.value.get(HOOKS) {
            None => return Ok(settings),
            Some(Value::Object(events)) => {
                for (event, groups) in events {
                    if !groups.is_array() && hooks.events.contains(&event.as_str()) {
                        return Err(shape(&format!("{HOOKS}.{event}"), "a list", groups));
                    }
                }
            }
            Some(other) => return Err(shape(HOOKS, "an object", other)),
        }
        for event in hooks.events {
            single(&spans::members(text, &settings.hooks_span()), event)?;
        }
        Ok(settings)
    }

    fn groups(&self, event: &str) -> Result<Vec<OwnGroup>, Unfit> {
        let groups = self.value.get(HOOKS).and_then(|hooks| hooks.get(event)).and_then(Value::as_array);
        let mut own = Vec::new();
        for (index, group) in groups.into_iter().flatten().enumerate() {
            let handlers = group.get(HOOKS).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let is_own = |handler: &Value| {
                handler.get("command").and_then(Value::as_str).is_some_and(self.hooks.is_ours)
            };
            let found: Vec<usize> =
                (0..handlers.len()).filter(|index| handlers.get(*index).is_some_and(is_own)).collect();
            if !found.is_empty() {
                single(&spans::members(self.text, &self.group_span(event, index)), HOOKS)?;
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

const HOOKS: &str = "hooks";
