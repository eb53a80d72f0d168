//! What Gemini refuses, taken out or said in other words (docs/protocol/tools.md, "Schemas"). Constraints
//! that are lost are still checked by whoever runs the tool.
//!
//! What comes out has no keyword of [`REFUSED`], no `const`, null nowhere beside other values, at most one
//! union, which is of two variants or more and has no `type` beside it, and requires only what it has.

use super::places::{METADATA, changed, shared_type};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// The schema as Gemini takes it. Recursive: the schema is not deep.
pub(super) fn cleaned(schema: Map<String, Value>) -> Map<String, Value> {
    let mut clean = Map::with_capacity(schema.len());
    for (keyword, value) in schema {
        if !REFUSED.contains(&keyword.as_str()) {
            let value = changed(&keyword, value, &mut clean_value);
            clean.insert(keyword, value);
        }
    }
    if let Some(only) = clean.shift_remove("const") {
        clean.insert("enum".to_owned(), json!([only]));
    }
    drop_null(&mut clean);
    settle_union(&mut clean);
    settle_required(&mut clean);
    clean
}

fn clean_value(schema: Value) -> Value {
    match schema {
        Value::Object(members) => Value::Object(cleaned(members)),
        // Anything or nothing: there is no word for either.
        Value::Bool(_) => json!({}),
        other => other,
    }
}

/// Null beside other types and values: that something may be missing is said by not requiring it.
fn drop_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get("type") {
        let mut seen = HashSet::new();
        let mut others: Vec<Value> =
            types.iter().filter(|one| **one != "null" && seen.insert(*one)).cloned().collect();
        match (others.len(), types.is_empty()) {
            (0, true) => drop(schema.shift_remove("type")),
            (0, false) => drop(schema.insert("type".to_owned(), json!("null"))),
            (1, _) => drop(schema.insert("type".to_owned(), others.remove(0))),
            _ => drop(schema.insert("type".to_owned(), Value::Array(others))),
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && values.iter().any(|value| !value.is_null())
    {
        values.retain(|value| !value.is_null());
    }
}

/// One union at most, of what is left of its variants.
fn settle_union(schema: &mut Map<String, Value>) {
    let mut union = None;
    for keyword in ["anyOf", "oneOf"] {
        if let Some(Value::Array(variants)) = schema.shift_remove(keyword)
            && union.is_none()
            && !variants.is_empty()
        {
            union = Some((keyword, variants));
        }
    }
    let Some((keyword, mut variants)) = union else { return };
    variants.retain(|variant| !is_null(variant));
    if variants.len() < 2 {
        if let Some(Value::Object(only)) = variants.pop() {
            take_in(schema, only);
        }
        return;
    }
    schema.shift_remove("type");
    match literals(&variants) {
        Some((shared, values)) => {
            schema.insert("type".to_owned(), json!(shared));
            schema.insert("enum".to_owned(), Value::Array(values));
        }
        None => drop(schema.insert(keyword.to_owned(), Value::Array(variants))),
    }
}

fn is_null(variant: &Value) -> bool {
    let says = |keyword: &str, null: Value| variant.get(keyword).is_some_and(|said| *said == null);
    says("type", json!("null")) || says("enum", json!([null]))
}

/// The only variant that is left in place of its union. What is said beside the union is said of this
/// place, so it stays.
fn take_in(schema: &mut Map<String, Value>, only: Map<String, Value>) {
    schema.shift_remove("type");
    for (keyword, value) in only {
        match (schema.get_mut(&keyword), value) {
            (None, value) => drop(schema.insert(keyword, value)),
            (Some(Value::Object(own)), Value::Object(more)) if keyword == "properties" => {
                for (name, property) in more {
                    own.entry(name).or_insert(property);
                }
            }
            (Some(Value::Array(own)), Value::Array(more)) if keyword == "required" => own.extend(more),
            (Some(_), _) => {}
        }
    }
}

/// The values of variants that do nothing but list some, if they are all of one type.
fn literals(variants: &[Value]) -> Option<(&'static str, Vec<Value>)> {
    let mut values: Vec<&Value> = Vec::new();
    for variant in variants {
        let members = variant.as_object()?;
        let is_known = |keyword: &str| matches!(keyword, "enum" | "type") || METADATA.contains(&keyword);
        if !members.keys().all(|keyword| is_known(keyword)) {
            return None;
        }
        values.extend(members.get("enum")?.as_array().filter(|values| !values.is_empty())?);
    }
    let shared = shared_type(values.iter().copied())?;
    let mut seen = HashSet::new();
    Some((shared, values.into_iter().filter(|value| seen.insert(*value)).cloned().collect()))
}

/// Only what there is can be required.
fn settle_required(schema: &mut Map<String, Value>) {
    let Some(required) = schema.get("required") else { return };
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut seen = HashSet::new();
    let names = required.as_array().into_iter().flatten().filter(|name| {
        let is_there = name.as_str().is_some_and(|name| properties.is_some_and(|own| own.contains_key(name)));
        is_there && seen.insert(*name)
    });
    let names: Vec<Value> = names.cloned().collect();
    if names.is_empty() {
        schema.shift_remove("required");
    } else {
        schema.insert("required".to_owned(), Value::Array(names));
    }
}

/// Keywords that make Gemini refuse a schema: the older release's list, and the last two of the newest one.
const REFUSED: [&str; 22] = [
    "$defs",
    "$id",
    "$ref",
    "$schema",
    "additionalProperties",
    "definitions",
    "examples",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "patternProperties",
    "uniqueItems",
    "not",
    "~optional",
];
