//! Puts one member into an object below the root of settings, or one text into a list there, and takes it out
//! again with what is empty by that.

use super::spans::{self, Member};
use super::{Comments, layout, object, shape, single, value_of};
use crate::error::Unfit;
use serde_json::{Value, json};
use std::ops::Range;

/// A place in settings: names of objects in each other, from the root on.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Whether the agent takes comments.
    pub(crate) comments: Comments,
    /// The way there.
    pub(crate) way: &'a [&'a str],
}

impl Place<'_> {
    /// The settings with `value` as the member `name` of the object there.
    pub(crate) fn put(self, text: &str, name: &str, value: &Value) -> Result<String, Unfit> {
        let root = self.read(text)?;
        let (depth, span) = self.descend(text, &root, Kind::Object)?;
        let mut text = text.to_owned();
        if depth < self.way.len() {
            self.append_missing(&mut text, span, depth, json!({ name: value }));
            return Ok(text);
        }
        let members = spans::members(&text, &span);
        single(&members, name)?;
        match self.at(&root).and_then(|object| object.get(name)) {
            Some(there) if there == value => {}
            Some(_) => layout::replace(&mut text, value_of(&members, name), value),
            None => layout::append(&mut text, span, Some(name), value),
        }
        Ok(text)
    }

    /// The member `name` of the object there.
    pub(crate) fn get(self, text: &str, name: &str) -> Result<Option<Value>, Unfit> {
        let root = self.read(text)?;
        let (depth, span) = self.descend(text, &root, Kind::Object)?;
        if depth < self.way.len() {
            return Ok(None);
        }
        single(&spans::members(text, &span), name)?;
        Ok(self.at(&root).and_then(|object| object.get(name)).cloned())
    }

    /// The settings without that member.
    pub(crate) fn take_out(self, text: &str, name: &str) -> Result<String, Unfit> {
        if self.get(text, name)?.is_none() {
            return Ok(text.to_owned());
        }
        let mut way: Vec<&str> = self.way.to_vec();
        way.push(name);
        Ok(self.without(text, &way, None))
    }

    /// The settings with `entry` in the list there.
    pub(crate) fn list(self, text: &str, entry: &str) -> Result<String, Unfit> {
        let root = self.read(text)?;
        let (depth, span) = self.descend(text, &root, Kind::List)?;
        let mut text = text.to_owned();
        if depth < self.way.len() {
            self.append_missing(&mut text, span, depth, json!([entry]));
        } else if self.position(&root, entry).is_none() {
            layout::append(&mut text, span, None, &json!(entry));
        }
        Ok(text)
    }

    /// The settings without `entry` in the list there.
    pub(crate) fn unlist(self, text: &str, entry: &str) -> Result<String, Unfit> {
        let root = self.read(text)?;
        let (depth, _) = self.descend(text, &root, Kind::List)?;
        match self.position(&root, entry) {
            Some(index) if depth == self.way.len() => Ok(self.without(text, self.way, Some(index))),
            _ => Ok(text.to_owned()),
        }
    }

    fn read(self, text: &str) -> Result<Value, Unfit> {
        object(text, self.comments)
    }

    fn at(self, root: &Value) -> Option<&Value> {
        self.way.iter().try_fold(root, |value, name| value.get(name))
    }

    fn position(self, root: &Value, entry: &str) -> Option<usize> {
        self.at(root)?.as_array()?.iter().position(|there| there == entry)
    }

    /// How many of the way's names are there, and where the value of the last of those stands.
    fn descend(self, text: &str, root: &Value, end: Kind) -> Result<(usize, Range<usize>), Unfit> {
        let (mut value, mut span) = (root, spans::root(text));
        for (depth, name) in self.way.iter().enumerate() {
            let members = spans::members(text, &span);
            single(&members, name)?;
            let Some(next) = value.get(name) else { return Ok((depth, span)) };
            let is_last = depth + 1 == self.way.len();
            let kind = if is_last { end } else { Kind::Object };
            if !kind.is(next) {
                return Err(shape(&self.way[..=depth].join("."), kind.name(), next));
            }
            (value, span) = (next, value_of(&members, name));
        }
        Ok((self.way.len(), span))
    }

    /// What of the way is missing from `depth` on, with `innermost` at its end.
    fn append_missing(self, text: &mut String, span: Range<usize>, depth: usize, innermost: Value) {
        let inner = self.way[depth + 1..].iter().rev().fold(innermost, |value, name| json!({ *name: value }));
        layout::append(text, span, self.way.get(depth).copied(), &inner);
    }

    /// Without the member at the end of `way`, or the element of it; objects and lists that are
    /// empty by that go too.
    fn without(self, text: &str, way: &[&str], element: Option<usize>) -> String {
        let mut text = text.to_owned();
        let mut spans_on_way = vec![spans::root(&text)];
        for name in way {
            let outer = spans_on_way.last().cloned().unwrap_or_default();
            spans_on_way.push(value_of(&spans::members(&text, &outer), name));
        }
        let mut depth = way.len();
        if let Some(index) = element {
            let list = spans_on_way.last().cloned().unwrap_or_default();
            if spans::elements(&text, &list).len() > 1 {
                layout::remove(&mut text, &list, index);
                return text;
            }
        }
        // Up to the outermost that has nothing else in it.
        while depth > 1 && spans::members(&text, &spans_on_way[depth - 1]).len() == 1 {
            depth -= 1;
        }
        let container = spans_on_way[depth - 1].clone();
        let index = position(&spans::members(&text, &container), way[depth - 1]);
        layout::remove(&mut text, &container, index);
        text
    }
}

fn position(members: &[Member], name: &str) -> usize {
    members.iter().position(|member| member.name == name).unwrap_or_default()
}

/// What the last of a way has to be.
#[derive(Clone, Copy)]
enum Kind {
    List,
    Object,
}

impl Kind {
    fn is(self, value: &Value) -> bool {
        match self {
            Self::List => value.is_array(),
            Self::Object => value.is_object(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

/// Settings that have nothing but this member.
pub(crate) fn fresh(way: &[&str], name: &str, value: &Value) -> String {
    let inner = way.iter().rev().fold(json!({ name: value }), |value, name| json!({ *name: value }));
    layout::whole(&inner)
}

/// Settings that have nothing but this list.
pub(crate) fn fresh_list(way: &[&str], entry: &str) -> String {
    let inner = way.iter().rev().fold(json!([entry]), |value, name| json!({ *name: value }));
    layout::whole(&inner)
}
