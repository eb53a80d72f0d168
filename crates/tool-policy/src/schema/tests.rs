use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

fn check_for(cleaning: Cleaning, schema: Value, expected: Value) {
    let once = normalised(Some(&schema), cleaning).unwrap();
    assert_eq!(once, expected, "{schema}");
    assert_eq!(normalised(Some(&once), cleaning).unwrap(), once, "{schema}");
}

/// What every provider is told.
fn check(schema: Value, expected: Value) {
    check_for(Cleaning::None, schema, expected);
}

/// What Gemini is told.
fn gemini(schema: Value, expected: Value) {
    check_for(Cleaning::Gemini, schema, expected);
}

/// What Gemini is told of one property.
fn gemini_property(schema: Value, expected: Value) {
    let around = |property| json!({"type": "object", "properties": {"p": property}});
    gemini(around(schema), around(expected));
}

/// What every provider is told of one property.
fn property(schema: Value, expected: Value) {
    let around = |property| json!({"type": "object", "properties": {"p": property}});
    check(around(schema), around(expected));
}

#[test]
fn the_root_is_an_object_with_properties() {
    let empty = json!({"type": "object", "properties": {}});
    assert_eq!(normalised(None, Cleaning::None), Ok(empty.clone()));
    check(json!({}), empty.clone());
    check(json!({"type": "object"}), empty.clone());
    check(json!({"type": ["object", "null"]}), empty.clone());
    check(json!({"type": "object", "nullable": true}), empty.clone());
    check(json!({"anyOf": [], "oneOf": []}), empty);
    check(
        json!({"properties": {"a": {"type": "string"}}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
    );
    check(json!({"required": ["a"]}), json!({"type": "object", "required": ["a"], "properties": {}}));
    let all = json!({"type": "object", "properties": {"a": {}}, "allOf": [{"required": ["a"]}]});
    check(all.clone(), all);
    check(json!({"type": "string"}), json!({"type": "string"}));
}

#[test]
fn a_union_at_the_root_becomes_one_object() {
    check(
        json!({
            "title": "T", "description": "D", "$schema": "s",
            "anyOf": [
                {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}, "required": ["b", "a"]},
                {"type": "object", "properties": {"a": {"type": "boolean"}, "c": {}}, "required": ["a", "b", "c"]},
                {"type": "object", "properties": {"a": {}}, "required": ["a"]},
                {"type": "null"},
            ],
        }),
        json!({
            "type": "object", "title": "T", "description": "D",
            "properties": {"a": {"type": "string"}, "b": {"type": "number"}, "c": {}},
            "required": ["a"],
            "additionalProperties": true,
        }),
    );
    // Also where the root says type and properties itself, and with `oneOf`.
    check(
        json!({
            "type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"],
            "oneOf": [{"required": ["b"]}, {"properties": {"a": {"type": "null"}, "c": {}}}],
            "additionalProperties": false,
        }),
        json!({
            "type": "object", "properties": {"a": {"type": "string"}, "b": {}, "c": {}}, "required": ["a"],
            "additionalProperties": false,
        }),
    );
    // Unions within unions, and `anyOf` before `oneOf`.
    check(
        json!({
            "anyOf": [{"oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}],
            "oneOf": [{"properties": {"c": {}}}],
        }),
        json!({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": true}),
    );
    // What an object without properties requires is nothing.
    check(
        json!({"anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"type": "object"}]}),
        json!({"type": "object", "properties": {"a": {}}, "additionalProperties": true}),
    );
}

#[test]
fn values_that_variants_list_are_put_together() {
    let merged = |variants: &[Value], expected: Value| {
        let variants: Vec<Value> =
            variants.iter().map(|property| json!({"properties": {"p": property}})).collect();
        let expected = json!({"type": "object", "properties": {"p": expected}, "additionalProperties": true});
        check(json!({"anyOf": variants}), expected);
    };
    merged(
        &[
            json!({"const": "a", "description": "A"}),
            json!({"enum": ["b", "a"], "description": "B", "title": "T"}),
        ],
        json!({"title": "T", "description": "A", "type": "string", "enum": ["a", "b"]}),
    );
    merged(&[json!({"const": 1}), json!({"const": "1"})], json!({"enum": [1, "1"]}));
    merged(&[json!({"const": 1}), json!({"const": 2.5})], json!({"type": "number", "enum": [1, 2.5]}));
    merged(&[json!({"const": null}), json!({"const": null})], json!({"enum": [null]}));
    merged(
        &[json!({"type": "string"}), json!({"anyOf": [{"const": "a"}, {"oneOf": [{"enum": ["b"]}]}]})],
        json!({"type": "string", "enum": ["a", "b"]}),
    );
    merged(&[json!({"type": "string"}), json!({"type": "number"})], json!({"type": "string"}));
    merged(&[json!({"const": "a"})], json!({"const": "a"}));
}

#[test]
fn references_are_put_in_place() {
    let defs = json!({"x": {"type": "string", "description": "X"}, "a/b~c": {"const": 1}, "list": {"type": "array"}});
    let all = |keyword: &str| {
        check(
            json!({
                "properties": {
                    "x": {"$ref": format!("#/{keyword}/x")},
                    "y": {"$ref": format!("#/{keyword}/x"), "description": "Y", "default": "d", "type": "number"},
                    "z": {"$ref": format!("#/{keyword}/a~1b~0c"), "nullable": true},
                    "l": {"$ref": format!("#/{keyword}/list")},
                    "gone": {"$ref": format!("#/{keyword}/gone"), "title": "G", "minLength": 1, "nullable": true},
                    "far": {"$ref": "https://example.com/schema"},
                    "same": {"$ref": "#/properties/x"},
                },
                keyword: defs,
            }),
            json!({
                "type": "object",
                "properties": {
                    "x": {"type": "string", "description": "X"},
                    "y": {"type": "string", "description": "Y", "default": "d"},
                    "z": {"enum": [1, null]},
                    "l": {"type": "array", "items": {}},
                    "gone": {"title": "G"},
                    "far": {},
                    "same": {"type": "string", "description": "X"},
                },
            }),
        );
    };
    all("$defs");
    all("definitions");
    check(
        json!({"$ref": "#/$defs/root", "$defs": {"root": {"properties": {"a": {}}}}}),
        json!({"type": "object", "properties": {"a": {}}}),
    );
}

#[test]
fn circles_of_references_end() {
    check(
        json!({
            "properties": {"tree": {"$ref": "#/$defs/tree"}, "self": {"$ref": "#"}, "a": {"$ref": "#/$defs/a"}},
            "$defs": {
                "tree": {"type": "object", "properties": {"left": {"$ref": "#/$defs/tree"}}},
                "a": {"$ref": "#/$defs/b"},
                "b": {"$ref": "#/$defs/a"},
            },
        }),
        json!({
            "type": "object",
            "properties": {"tree": {"type": "object", "properties": {"left": {}}}, "self": {}, "a": {}},
        }),
    );
}

#[test]
fn names_and_values_that_look_like_keywords_are_left_alone() {
    let schema = json!({
        "type": "object",
        "properties": {
            "$ref": {"type": "string"},
            "nullable": {"type": "boolean"},
            "type": {"type": "string", "default": {"$ref": "#/x", "nullable": true, "type": "array"}},
            "$defs": {"enum": [{"$ref": "#/x"}]},
        },
        "required": ["$ref"],
    });
    check(schema.clone(), schema.clone());
    gemini(schema.clone(), schema);
}

#[test]
fn nullable_is_said_in_json_schemas_words() {
    property(json!({"type": "string", "nullable": true}), json!({"type": ["string", "null"]}));
    property(json!({"type": "string", "nullable": false}), json!({"type": "string"}));
    property(
        json!({"type": ["string", "number"], "nullable": true}),
        json!({"type": ["string", "number", "null"]}),
    );
    property(json!({"type": ["string", "null"], "nullable": true}), json!({"type": ["string", "null"]}));
    property(
        json!({"type": "string", "enum": ["a"], "nullable": true}),
        json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    property(
        json!({"anyOf": [{"type": "string"}], "nullable": true}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
    );
    property(json!({"nullable": true}), json!({}));
    property(
        json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "null", "nullable": true}}}}),
        json!({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "null"}}}}),
    );
}

#[test]
fn lists_say_of_what() {
    property(json!({"type": "array"}), json!({"type": "array", "items": {}}));
    property(json!({"type": ["array", "null"]}), json!({"type": ["array", "null"], "items": {}}));
    property(
        json!({"oneOf": [{"type": "array"}, {"not": {"type": "array"}}]}),
        json!({"oneOf": [{"type": "array", "items": {}}, {"not": {"type": "array", "items": {}}}]}),
    );
    let named = json!({"type": "array", "items": {"type": "string"}});
    property(named.clone(), named);
}

#[test]
fn gemini_is_told_nothing_that_it_refuses() {
    let refused = [
        "patternProperties",
        "additionalProperties",
        "$schema",
        "$id",
        "$ref",
        "$defs",
        "definitions",
        "examples",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "multipleOf",
        "pattern",
        "format",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "not",
        "~optional",
    ];
    for keyword in refused {
        let mut schema =
            json!({"type": "object", "properties": {"a": {"type": "string", keyword: 1}}, keyword: {}});
        let expected = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        gemini(schema.clone(), expected);
        schema["properties"][keyword] = json!({"type": "string"});
        let kept = normalised(Some(&schema), Cleaning::Gemini).unwrap();
        assert!(kept["properties"][keyword].is_object(), "a property may be called {keyword}");
    }
}

#[test]
fn gemini_is_told_of_values_and_null_in_its_own_words() {
    gemini_property(json!({"const": "a"}), json!({"enum": ["a"]}));
    gemini_property(json!({"type": ["string", "null"]}), json!({"type": "string"}));
    gemini_property(json!({"type": ["string", "number", "null"]}), json!({"type": ["string", "number"]}));
    gemini_property(json!({"type": ["null"]}), json!({"type": "null"}));
    gemini_property(
        json!({"type": "string", "enum": ["a"], "nullable": true}),
        json!({"type": "string", "enum": ["a"]}),
    );
    gemini_property(json!(true), json!({}));
    gemini(
        json!({"type": "object", "properties": {"a": {}}, "required": ["a", "b", "a", 1]}),
        json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
    );
    gemini_property(json!({"type": "object", "required": ["a"]}), json!({"type": "object"}));
}

#[test]
fn gemini_is_told_of_unions_that_are_some() {
    gemini_property(
        json!({"description": "D", "type": "object", "anyOf": [{"type": "string", "description": "V"}, {"type": "null"}]}),
        json!({"description": "D", "type": "string"}),
    );
    gemini_property(
        json!({"anyOf": [{"const": "a"}, {"enum": ["b", "a"], "type": "string"}, {"const": null}], "title": "T"}),
        json!({"title": "T", "type": "string", "enum": ["a", "b"]}),
    );
    gemini_property(
        json!({"oneOf": [{"const": "a"}, {"const": 1}]}),
        json!({"oneOf": [{"enum": ["a"]}, {"enum": [1]}]}),
    );
    gemini_property(
        json!({"type": "string", "anyOf": [{"type": "string"}, {"type": "number", "minimum": 1}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "number"}]}),
    );
    gemini_property(json!({"type": "string", "anyOf": [{"type": "null"}]}), json!({"type": "string"}));
    gemini_property(
        json!({
            "properties": {"a": {"type": "string"}}, "required": ["a"],
            "oneOf": [{"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}],
        }),
        json!({"properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", "b"], "type": "object"}),
    );
    gemini_property(
        json!({"anyOf": [{"anyOf": [{"type": "string"}, {"type": "number"}]}, {"type": "null"}]}),
        json!({"anyOf": [{"type": "string"}, {"type": "number"}]}),
    );
    gemini(
        json!({"anyOf": [{"properties": {"a": {"const": "x"}}}, {"properties": {"a": {"const": "y"}}}]}),
        json!({"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}}}),
    );
}

#[test]
fn what_is_no_object_is_refused() {
    let check = |schema: Value, got: &'static str| {
        assert_eq!(normalised(Some(&schema), Cleaning::None), Err(SchemaError::NotAnObject { got }));
    };
    check(json!(true), "true or false");
    check(json!([]), "a list");
    check(json!({"$ref": "#/x", "x": "text"}), "a text");
    assert!(normalised(Some(&Value::Null), Cleaning::None).is_ok());
}

/// A schema of objects within each other.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({"properties": {"p": inner}}))
}

#[test]
fn what_is_too_deep_is_refused_before_it_is_followed() {
    let check = |schema: Value, expected: Result<(), SchemaError>| {
        for cleaning in [Cleaning::None, Cleaning::Gemini] {
            assert_eq!(normalised(Some(&schema), cleaning).map(|_| ()), expected);
        }
        // Dropping is recursive too, and none of ours.
        std::mem::forget(schema);
    };
    let too_deep = Err(SchemaError::TooDeep { most: MAX_DEPTH });
    check(nested(31), Ok(()));
    check(nested(32), too_deep.clone());
    let around = |keyword: &str, inner| Value::Object(Map::from_iter([(keyword.to_owned(), inner)]));
    check((0..200_000).fold(json!({}), |inner, _| around("items", inner)), too_deep.clone());
    check(
        around("enum", (0..200_000).fold(json!([]), |inner, _| Value::Array(vec![inner]))),
        too_deep.clone(),
    );
    // What nobody refers to counts too.
    check(json!({"$defs": {"unused": nested(32)}}), too_deep.clone());
    // References add what they stand for: to depth, to the way there, and to size.
    let half = json!({"properties": {"p": nested(20)}, "$defs": {"d": nested(20)}});
    let mut whole = half.clone();
    check(half, Ok(()));
    *whole.pointer_mut(&format!("/properties/p{}", "/properties/p".repeat(20))).unwrap() =
        json!({"$ref": "#/$defs/d"});
    check(whole, too_deep.clone());
    let chain = |length: usize| {
        let link = |at: usize| (format!("d{at}"), json!({"$ref": format!("#/$defs/d{}", at + 1)}));
        json!({"$ref": "#/$defs/d0", "$defs": (0..length).map(link).collect::<Map<_, _>>()})
    };
    check(chain(50), Ok(()));
    check(chain(2_000), too_deep);
}

#[test]
fn what_is_too_large_is_refused_with_what_references_add() {
    let check = |schema: Value, what: &'static str, most: usize| {
        assert_eq!(normalised(Some(&schema), Cleaning::None), Err(SchemaError::TooLarge { what, most }));
    };
    let many: Map<String, Value> = (0..MAX_NODES).map(|at| (at.to_string(), json!({}))).collect();
    check(json!({"properties": many}), "values", MAX_NODES);
    check(json!({"enum": vec![0; 10 * MAX_NODES]}), "values", MAX_NODES);
    check(json!({"description": "x".repeat(MAX_BYTES)}), "bytes of text", MAX_BYTES);
    let doubled = |at: usize| {
        let next = json!({"$ref": format!("#/$defs/d{}", at + 1)});
        (format!("d{at}"), json!({"properties": {"a": next, "b": next}}))
    };
    let defs: Map<String, Value> = (0..20).map(doubled).collect();
    check(json!({"$ref": "#/$defs/d0", "$defs": defs}), "values", MAX_NODES);
}

#[test]
fn a_provider_is_told_of_a_tool_in_its_own_shape() {
    let parameters = json!({"properties": {"a": {"type": "string", "format": "uri"}}});
    let tool = Declaration { name: "fetch", description: "Fetches", parameters: Some(&parameters) };
    let check = |provider: &str, model: Option<&str>, expected: Value| {
        assert_eq!(tool.render(Dialect::of(provider, model)).unwrap(), expected, "{provider} {model:?}");
    };
    let full = json!({"type": "object", "properties": {"a": {"type": "string", "format": "uri"}}});
    let clean = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let function = |schema: &Value| {
        let function = json!({"name": "fetch", "description": "Fetches", "parameters": schema});
        json!({"type": "function", "function": function})
    };
    let anthropic = json!({"name": "fetch", "description": "Fetches", "input_schema": full});
    let gemini = json!({"name": "fetch", "description": "Fetches", "parameters": clean});
    check("anthropic", None, anthropic.clone());
    check("Google-Vertex-Anthropic", Some("claude"), anthropic.clone());
    check("anthropic", Some("gemini-like"), anthropic);
    check("google", None, gemini.clone());
    check("GEMINI-cli", None, gemini);
    check("openai", Some("gpt-5"), function(&full));
    check("unknown", None, function(&full));
    check("openrouter", Some("google/Gemini-3"), function(&clean));
}
