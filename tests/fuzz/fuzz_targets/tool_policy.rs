//! Any JSON is a tool policy or is refused, and no policy adds a tool; any JSON is a schema or is refused,
//! and what comes of one comes of itself.
#![no_main]

use countersign_tool_policy::schema::{Cleaning, normalised};
use countersign_tool_policy::{Config, Origin, Pipeline, Run, Tool};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|text: &str| {
    let Ok(value) = serde_json::from_str::<Value>(text) else { return };
    if let Some(document) = value.as_object()
        && let Ok(config) = Config::read(document)
    {
        let run = Run { provider: Some("openai"), agent: Some("main"), ..Run::default() };
        let tools = ["exec", "read_file", "apply_patch", "hub__get"].map(|name| Tool {
            name,
            owner_only: false,
            origin: Origin::Core,
        });
        let outcome = Pipeline::new(&config, &run).unwrap().apply(&tools).unwrap();
        assert_eq!(outcome.kept.len() + outcome.removed.len(), tools.len());
    }
    for cleaning in [Cleaning::None, Cleaning::Gemini] {
        if let Ok(schema) = normalised(Some(&value), cleaning) {
            assert!(schema.get("type").is_some());
            assert_eq!(normalised(Some(&schema), cleaning), Ok(schema.clone()));
        }
    }
});
