//! Google's contents, for Gemini CLI.

use super::{Answer, Question, Said};
use serde_json::{Value, json};

pub(super) fn question(body: &Value) -> Question {
    let mut said = Vec::new();
    for content in body["contents"].as_array().into_iter().flatten() {
        for part in content["parts"].as_array().into_iter().flatten() {
            if let Some(response) = part.get("functionResponse") {
                said.push(Said::Tool(response["response"].to_string()));
            } else if content["role"] == "user" {
                said.push(Said::Person(part["text"].as_str().unwrap_or_default().to_owned()));
            }
        }
    }
    let groups = body["tools"].as_array().into_iter().flatten();
    let tools = groups.flat_map(|group| group["functionDeclarations"].as_array().into_iter().flatten());
    let tools = tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect();
    Question { said, tools }
}

pub(super) fn events(answer: &Answer) -> Vec<Value> {
    vec![document(answer)]
}

pub(super) fn document(answer: &Answer) -> Value {
    let parts: Vec<Value> = match answer {
        Answer::Text(words) => vec![json!({ "text": words })],
        Answer::Calls(calls) => {
            let call = |(id, call): &(String, super::Call)| json!({ "functionCall": { "id": id, "name": call.tool, "args": call.arguments } });
            calls.iter().map(call).collect()
        }
    };
    json!({
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 },
        "modelVersion": "scripted",
    })
}
