//! What every provider needs and nobody minds: OpenAPI's `nullable` in JSON Schema's own words, and lists
//! that say of what.

use super::places::{changed, has_type, variants};
use serde_json::{Map, Value, json};

/// The schema with both, at every level. Recursive: the schema is not deep.
pub(super) fn normalised(schema: Value) -> Value {
    let Value::Object(members) = schema else { return schema };
    let members = members.into_iter().map(|(keyword, value)| {
        let value = changed(&keyword, value, &mut normalised);
        (keyword, value)
    });
    let mut members: Map<String, Value> = members.collect();
    if let Some(Value::Bool(nullable)) = members.get("nullable") {
        let is_nullable = *nullable;
        members.shift_remove("nullable");
        if is_nullable {
            let_null_in(&mut members);
        }
    }
    if has_type(&members, "array") && !members.contains_key("items") {
        members.insert("items".to_owned(), json!({}));
    }
    Value::Object(members)
}

/// Null beside the values of a schema. One that says nothing of its values has it already.
fn let_null_in(members: &mut Map<String, Value>) {
    match members.get_mut("type") {
        Some(Value::String(only)) if only != "null" => {
            let both = json!([only.clone(), "null"]);
            members.insert("type".to_owned(), both);
        }
        Some(Value::Array(types)) if !types.iter().any(|one| one == "null") => types.push(json!("null")),
        _ => {}
    }
    if let Some(only) = members.get("const").filter(|only| !only.is_null()).cloned() {
        members.shift_remove("const");
        members.insert("enum".to_owned(), json!([only]));
    }
    if let Some(Value::Array(values)) = members.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    for union in ["anyOf", "oneOf"] {
        let is_null = |variant: &Value| variant.get("type").is_some_and(|only| only == "null");
        if variants(members, union).is_some_and(|variants| !variants.iter().any(is_null))
            && let Some(Value::Array(variants)) = members.get_mut(union)
        {
            variants.push(json!({"type": "null"}));
        }
    }
}
