//! Changes to settings in JSON that leave every other byte as it is: order, blanks, comments where the agent
//! takes them, and members that nobody here knows.

pub(crate) mod hooks;
mod layout;
pub(crate) mod members;
mod spans;

use crate::error::Unfit;
use countersign_core::json;
use serde_json::Value;
use spans::Member;
use std::ops::Range;

/// Whether an agent reads settings that have comments and a comma after the last member.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Comments {
    /// It does.
    Taken,
    /// It takes such a file for a broken one.
    Refused,
}

/// What settings say; an empty text is no JSON.
pub(crate) fn parse(text: &str, comments: Comments) -> Result<Value, Unfit> {
    match comments {
        Comments::Refused => serde_json::from_str(text).map_err(Unfit::NotPlainJson),
        Comments::Taken => serde_json::from_str(&spans::without_comments(text)).map_err(Unfit::NotJson),
    }
}

/// The same, where they are an object, as all settings are.
fn object(text: &str, comments: Comments) -> Result<Value, Unfit> {
    let value = parse(text, comments)?;
    if value.is_object() { Ok(value) } else { Err(shape("the file", "an object", &value)) }
}

fn shape(place: &str, expected: &'static str, value: &Value) -> Unfit {
    Unfit::Shape { place: place.to_owned(), expected, got: json::kind(value) }
}

/// A member that is there twice is not touched: programs differ in which one they take.
fn single(members: &[Member], name: &str) -> Result<(), Unfit> {
    let times = members.iter().filter(|member| member.name == name).count();
    if times > 1 { Err(Unfit::Twice(name.to_owned())) } else { Ok(()) }
}

fn value_of(members: &[Member], name: &str) -> Range<usize> {
    let found = members.iter().find(|member| member.name == name);
    found.map(|member| member.value.clone()).unwrap_or_default()
}
