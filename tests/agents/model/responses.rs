//! OpenAI's responses, for Codex.

use super::{Answer, Question, Said, arguments, text};
use serde_json::{Value, json};

pub(super) fn question(body: &Value) -> Question {
    let items = body["input"].as_array().into_iter().flatten();
    let said = items.filter_map(|item| match item["type"].as_str() {
        Some(kind) if kind.ends_with("_output") => Some(Said::Tool(text(&item["output"]))),
        Some("message") | None if item["role"] == "user" => Some(Said::Person(text(&item["content"]))),
        _ => None,
    });
    let mut tools = Vec::new();
    for tool in body["tools"].as_array().into_iter().flatten() {
        let name = tool["name"].as_str().or(tool["type"].as_str()).unwrap_or_default();
        tools.push(name.to_owned());
        let grouped = tool["tools"].as_array().into_iter().flatten();
        tools.extend(grouped.filter_map(|tool| Some(format!("{name}.{}", tool["name"].as_str()?))));
    }
    Question { said: said.collect(), tools }
}

pub(super) fn events(answer: &Answer) -> Vec<Value> {
    let items: Vec<Value> = match answer {
        Answer::Text(words) => vec![json!({
            "type": "message", "id": "msg_scripted", "role": "assistant",
            "content": [{ "type": "output_text", "text": words }],
        })],
        Answer::Calls(calls) => calls
            .iter()
            .map(|(id, call)| {
                // A text that cannot be one is told to the agent, which complains.
                let arguments = arguments(call).unwrap_or_default();
                let (kind, slot) = if call.is_plain {
                    ("custom_tool_call", "input")
                } else {
                    ("function_call", "arguments")
                };
                let mut item =
                    json!({ "type": kind, "id": format!("fc_{id}"), "call_id": id, "name": call.tool });
                item[slot] = arguments.into();
                if let Some(namespace) = call.namespace {
                    item["namespace"] = namespace.into();
                }
                item
            })
            .collect(),
    };
    let mut events = vec![json!({ "type": "response.created", "response": { "id": "resp_scripted" } })];
    let done = |(index, item): (usize, &Value)| json!({ "type": "response.output_item.done", "output_index": index, "item": item });
    events.extend(items.iter().enumerate().map(done));
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null, "output_tokens": 1, "output_tokens_details": null,
        "total_tokens": 2,
    });
    let response = json!({ "id": "resp_scripted", "status": "completed", "output": items, "usage": usage });
    events.push(json!({ "type": "response.completed", "response": response }));
    events
}
