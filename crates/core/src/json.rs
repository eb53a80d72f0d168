//! JSON that somebody else wrote.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::fmt;

/// What a value is, for "expected …, got …".
pub const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Any value that lists and objects nest no deeper than serde_json takes. For formats whose reader goes as
/// deep as a text does: that ends the process when its stack is full.
#[derive(Debug)]
pub struct Shallow(pub Value);

impl<'de> Deserialize<'de> for Shallow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Nested { left: MOST_LEVELS }.deserialize(deserializer).map(Self)
    }
}

/// A value within which so many levels may follow.
#[derive(Clone, Copy)]
struct Nested {
    left: usize,
}

impl Nested {
    fn below<E: Error>(self) -> Result<Self, E> {
        let left = self.left.checked_sub(1);
        let left =
            left.ok_or_else(|| E::custom(format_args!("expected at most {MOST_LEVELS} levels, got more")))?;
        Ok(Self { left })
    }
}

impl<'de> DeserializeSeed<'de> for Nested {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Nested {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut list = Vec::new();
        while let Some(element) = elements.next_element_seed(below)? {
            list.push(element);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut object = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            object.insert(name, members.next_value_seed(below)?);
        }
        Ok(Value::Object(object))
    }
}

/// Lists and objects within each other: where serde_json stops too.
const MOST_LEVELS: usize = 128;
