//! OpenAI's chat completions, which most other agents speak to servers that are not their vendor's.

use super::{Answer, Question, Said, arguments, names, text};
use serde_json::{Value, json};

pub(super) fn question(body: &Value) -> Question {
    let messages = body["messages"].as_array().into_iter().flatten();
    let said = messages.filter_map(|message| match message["role"].as_str() {
        Some("user") => Some(Said::Person(text(&message["content"]))),
        Some("tool") => Some(Said::Tool(text(&message["content"]))),
        _ => None,
    });
    Question { said: said.collect(), tools: names(&body["tools"], |tool| &tool["function"]["name"]) }
}

pub(super) fn events(answer: &Answer) -> Vec<Value> {
    let (delta, reason) = message(answer);
    let frame = |delta: Value, reason: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        framed("chat.completion.chunk", choice)
    };
    vec![frame(delta, Value::Null), frame(json!({}), reason.into())]
}

pub(super) fn document(answer: &Answer) -> Value {
    let (message, reason) = message(answer);
    framed("chat.completion", json!({ "index": 0, "message": message, "finish_reason": reason }))
}

fn framed(object: &str, choice: Value) -> Value {
    let usage = json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 });
    json!({
        "id": "scripted", "object": object, "created": 0, "model": "scripted", "choices": [choice],
        "usage": usage,
    })
}

fn message(answer: &Answer) -> (Value, &'static str) {
    match answer {
        Answer::Text(words) => (json!({ "role": "assistant", "content": words }), "stop"),
        Answer::Calls(calls) => {
            let call = |(index, (id, call)): (usize, &(String, super::Call))| {
                let function = json!({ "name": call.tool, "arguments": arguments(call).unwrap_or_default() });
                json!({ "index": index, "id": id, "type": "function", "function": function })
            };
            let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
            (json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
        }
    }
}
