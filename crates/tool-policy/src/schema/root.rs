//! The root of a tool's parameters: one object, whatever was written.

use super::places::{METADATA, has_type, shared_type, variants};
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};

/// The root without a union: one object with the properties of all variants. `anyOf` counts before `oneOf`;
/// without either, `allOf` stays.
///
/// What the union said of how properties go together is lost, and so is what else stood beside it: the object
/// that comes out takes all that a variant takes.
pub(super) fn flattened(mut root: Map<String, Value>) -> Map<String, Value> {
    let Some(union) = variants(&root, "anyOf").or_else(|| variants(&root, "oneOf")) else {
        // A list of no variants is no union, and refused as if it were one.
        for keyword in ["anyOf", "oneOf"] {
            if root.get(keyword).is_some_and(|variants| variants == &json!([])) {
                root.shift_remove(keyword);
            }
        }
        return root;
    };
    let mut objects = Vec::new();
    for variant in union {
        collect_objects(variant, &mut objects);
    }
    let mut flat = Map::new();
    flat.insert("type".to_owned(), json!("object"));
    for keyword in ["title", "description"] {
        if let Some(text) = root.get(keyword) {
            flat.insert(keyword.to_owned(), text.clone());
        }
    }
    flat.insert("properties".to_owned(), Value::Object(properties(&root, &objects)));
    let required = match root.get("required").and_then(Value::as_array).filter(|names| !names.is_empty()) {
        Some(names) => names.clone(),
        None => required_by_all(&objects),
    };
    if !required.is_empty() {
        flat.insert("required".to_owned(), Value::Array(required));
    }
    let additional = root.get("additionalProperties").cloned().unwrap_or(Value::Bool(true));
    flat.insert("additionalProperties".to_owned(), additional);
    flat
}

/// An object's type and properties, where they are not said. No tool takes null in its place, whatever
/// the schema says.
pub(super) fn complete(root: &mut Map<String, Value>) {
    let is_object = has_type(root, "object");
    if is_object || !root.contains_key("type") {
        root.insert("type".to_owned(), json!("object"));
        root.entry("properties").or_insert_with(|| json!({}));
    }
}

/// The variants that objects can be of; those of unions within too.
fn collect_objects<'a>(variant: &'a Value, objects: &mut Vec<&'a Map<String, Value>>) {
    let Value::Object(members) = variant else { return };
    let says = |keyword: &str, kind: fn(&Value) -> bool| members.get(keyword).is_some_and(kind);
    if says("properties", Value::is_object)
        || says("required", Value::is_array)
        || has_type(members, "object")
    {
        objects.push(members);
    } else if let Some(union) = variants(members, "anyOf").or_else(|| variants(members, "oneOf")) {
        for variant in union {
            collect_objects(variant, objects);
        }
    }
}

/// The root's properties and those of all variants, in the order in which they come.
fn properties(root: &Map<String, Value>, objects: &[&Map<String, Value>]) -> Map<String, Value> {
    let mut found: Vec<(&String, Vec<&Value>)> = Vec::new();
    let mut places = HashMap::new();
    for object in std::iter::once(&root).chain(objects) {
        for (name, schema) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let at = *places.entry(name).or_insert(found.len());
            match found.get_mut(at) {
                Some((_, schemas)) => schemas.push(schema),
                None => found.push((name, vec![schema])),
            }
        }
    }
    found.into_iter().map(|(name, schemas)| (name.clone(), merged(&schemas))).collect()
}

/// One schema of those that a property has: all values where one of them lists its values, else the first.
fn merged(schemas: &[&Value]) -> Value {
    let first = schemas.first().map_or(Value::Null, |first| (*first).clone());
    let mut values = Vec::new();
    for schema in schemas {
        collect_values(schema, &mut values);
    }
    if schemas.len() < 2 || values.is_empty() {
        return first;
    }
    let mut seen = HashSet::new();
    values.retain(|value| seen.insert(*value));
    let mut merged = Map::new();
    for keyword in METADATA {
        if let Some(said) = schemas.iter().find_map(|schema| schema.get(keyword)) {
            merged.insert(keyword.to_owned(), said.clone());
        }
    }
    if let Some(shared) = shared_type(values.iter().copied()) {
        merged.insert("type".to_owned(), json!(shared));
    }
    merged.insert("enum".to_owned(), values.into_iter().cloned().collect());
    Value::Object(merged)
}

/// The values that a schema lists; those of unions within too.
fn collect_values<'a>(schema: &'a Value, values: &mut Vec<&'a Value>) {
    let Value::Object(members) = schema else { return };
    if let Some(Value::Array(listed)) = members.get("enum") {
        values.extend(listed);
    } else if let Some(only) = members.get("const") {
        values.push(only);
    } else if let Some(union) = variants(members, "anyOf").or_else(|| variants(members, "oneOf")) {
        for variant in union {
            collect_values(variant, values);
        }
    }
}

/// What every variant requires, in the order of the first.
fn required_by_all(objects: &[&Map<String, Value>]) -> Vec<Value> {
    let required = |object: &Map<String, Value>| -> HashSet<String> {
        let names = object.get("required").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let Some((first, others)) = objects.split_first() else { return Vec::new() };
    let others: Vec<HashSet<String>> = others.iter().map(|object| required(object)).collect();
    let names = first.get("required").and_then(Value::as_array).into_iter().flatten();
    let by_all =
        |name: &&Value| name.as_str().is_some_and(|name| others.iter().all(|other| other.contains(name)));
    names.filter(by_all).cloned().collect()
}
