//! What holds for whatever a tool says that it takes.

use countersign_tool_policy::schema::{Cleaning, MAX_DEPTH, normalised};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

/// Values that look like schemas, with keywords in every place, right and wrong.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({})),
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (0..3).prop_map(Value::from),
        select(TEXTS).prop_map(Value::from),
        subsequence(TYPES, 0..3).prop_map(|types| json!({"type": types})),
        select(TYPES).prop_map(|kind| json!({"type": kind, "nullable": true})),
        select(REFERENCES)
            .prop_map(|reference| json!({"$ref": reference, "title": "here", "nullable": true})),
        vec(literal(), 0..3).prop_map(|values| json!({"enum": values})),
        literal().prop_map(|value| json!({"const": value})),
    ];
    leaf.prop_recursive(5, 48, 5, |inner| {
        let named = btree_map(select(TEXTS), inner.clone(), 0..4).prop_map(|named| json!(named));
        let some = vec(inner.clone(), 0..4).prop_map(Value::from);
        let value = prop_oneof![
            4 => inner,
            3 => named,
            3 => some,
            1 => subsequence(TEXTS, 0..3).prop_map(|names| json!(names)),
            1 => subsequence(TYPES, 0..3).prop_map(|types| json!(types)),
            1 => select(TYPES).prop_map(Value::from),
        ];
        btree_map(select(KEYWORDS), value, 0..6).prop_map(|members| json!(members))
    })
}

fn literal() -> impl Strategy<Value = Value> {
    select(&[0, 1, 2, 3, 4, 5][..]).prop_map(|at: usize| {
        [json!(null), json!("a"), json!("b"), json!(1), json!(true), json!({"type": "x"})][at].clone()
    })
}

const TEXTS: &[&str] = &["a", "b", "$ref", "type", "properties", "nullable", "anyOf"];

const TYPES: &[&str] = &["object", "array", "string", "number", "null"];

const REFERENCES: &[&str] = &[
    "#",
    "#/$defs/a",
    "#/$defs/b",
    "#/definitions/a",
    "#/properties/a",
    "#/properties",
    "#/anyOf/0",
    "#/nowhere",
    "x",
];

const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "properties",
    "required",
    "anyOf",
    "anyOf",
    "oneOf",
    "allOf",
    "items",
    "prefixItems",
    "not",
    "additionalProperties",
    "patternProperties",
    "$defs",
    "definitions",
    "$ref",
    "enum",
    "const",
    "default",
    "nullable",
    "title",
    "description",
    "format",
    "unknown",
];

/// Every schema within one that has only known keywords, with what stands at `properties` by name.
fn each(schema: &Value, look: &mut impl FnMut(&Map<String, Value>)) {
    let Value::Object(members) = schema else { return };
    look(members);
    for (keyword, value) in members {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(named)) => named.values().for_each(|schema| each(schema, look)),
            ("anyOf" | "oneOf" | "allOf" | "items" | "prefixItems", Value::Array(some)) => {
                some.iter().for_each(|schema| each(schema, look));
            }
            ("items", schema) => each(schema, look),
            _ => {}
        }
    }
}

fn depth(value: &Value) -> usize {
    let inner: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    1 + inner.into_iter().map(depth).max().unwrap_or_default()
}

proptest! {
    /// Never panics, ends, and a second time changes nothing, not even the order.
    #[test]
    fn a_schema_is_normalised_once_and_for_all(schema in schema(), gemini in any::<bool>()) {
        let cleaning = if gemini { Cleaning::Gemini } else { Cleaning::None };
        if let Ok(once) = normalised(Some(&schema), cleaning) {
            let again = normalised(Some(&once), cleaning).unwrap();
            prop_assert_eq!(again.to_string(), once.to_string(), "{}", schema);
            prop_assert!(depth(&once) <= MAX_DEPTH);
            let root = once.as_object().unwrap();
            prop_assert!(root.get("anyOf").and_then(Value::as_array).is_none(), "{}", once);
            prop_assert!(root.get("oneOf").and_then(Value::as_array).is_none(), "{}", once);
            prop_assert!(root.contains_key("type"), "{}", once);
        }
    }

    /// Wherever a schema stands, no reference to follow is left; for Gemini nothing that it refuses.
    #[test]
    fn nothing_is_left_that_providers_refuse(schema in schema(), gemini in any::<bool>()) {
        let cleaning = if gemini { Cleaning::Gemini } else { Cleaning::None };
        let Ok(schema) = normalised(Some(&schema), cleaning) else { return Ok(()) };
        let mut refused = Vec::new();
        each(&schema, &mut |members| {
            let says = |keyword: &str| members.contains_key(keyword);
            let is_bad = members.get("$ref").is_some_and(Value::is_string)
                || says("$defs")
                || says("definitions")
                || members.get("nullable").is_some_and(Value::is_boolean)
                || members.get("type").is_some_and(|kind| kind == "array") && !says("items");
            let union = |keyword: &str| members.get(keyword).and_then(Value::as_array).map(Vec::len);
            let is_worse = says("format")
                || says("const")
                || says("not")
                || says("additionalProperties")
                || (says("anyOf") || says("oneOf")) && (says("type") || says("anyOf") && says("oneOf"))
                || union("anyOf").or_else(|| union("oneOf")).is_some_and(|variants| variants < 2);
            if is_bad || gemini && is_worse {
                refused.push(json!(members));
            }
        });
        prop_assert_eq!(refused, Vec::<Value>::new(), "{}", schema);
    }
}
