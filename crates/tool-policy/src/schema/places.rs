//! Where schemas stand within a schema: a property may be called `type` or `$ref`, and a default may
//! look like a schema.

use serde_json::{Map, Value};

/// What stands at a keyword.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum KeywordValue {
    /// A value that is no schema, whatever it looks like.
    Data,
    /// A schema, or a list of some.
    Schemas,
    /// Schemas by name.
    Named,
}

/// What stands at a keyword of a schema.
pub(super) fn place(keyword: &str) -> KeywordValue {
    match keyword {
        "additionalItems"
        | "additionalProperties"
        | "allOf"
        | "anyOf"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "oneOf"
        | "prefixItems"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => KeywordValue::Schemas,
        "dependentSchemas" | "patternProperties" | "properties" => KeywordValue::Named,
        _ => KeywordValue::Data,
    }
}

/// The schemas at a keyword changed one by one; everything else stays.
pub(super) fn changed(keyword: &str, value: Value, change: &mut impl FnMut(Value) -> Value) -> Value {
    match (place(keyword), value) {
        (KeywordValue::Schemas, Value::Array(schemas)) => {
            Value::Array(schemas.into_iter().map(change).collect())
        }
        (KeywordValue::Schemas, schema) => change(schema),
        (KeywordValue::Named, Value::Object(schemas)) => {
            Value::Object(schemas.into_iter().map(|(name, schema)| (name, change(schema))).collect())
        }
        (KeywordValue::Data | KeywordValue::Named, value) => value,
    }
}

/// The variants of a union, if there are any.
pub(super) fn variants<'a>(schema: &'a Map<String, Value>, keyword: &str) -> Option<&'a Vec<Value>> {
    schema.get(keyword).and_then(Value::as_array).filter(|variants| !variants.is_empty())
}

/// Whether `type` names a type, alone or among others.
pub(super) fn has_type(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only == name,
        Some(Value::Array(types)) => types.iter().any(|one| one == name),
        _ => false,
    }
}

/// The JSON type that values share, if it is one that an enumeration can be of.
pub(super) fn shared_type<'a>(values: impl IntoIterator<Item = &'a Value>) -> Option<&'static str> {
    let mut types = values.into_iter().map(|value| match value {
        Value::String(_) => Some("string"),
        Value::Number(_) => Some("number"),
        Value::Bool(_) => Some("boolean"),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    });
    let first = types.next()??;
    types.all(|other| other == Some(first)).then_some(first)
}

/// What is said about a schema and not about its values.
pub(super) const METADATA: [&str; 3] = ["title", "description", "default"];
