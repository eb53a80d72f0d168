//! Anthropic's messages, for Claude Code.

use super::{Answer, Question, Said, names, text};
use serde_json::{Value, json};

pub(super) fn question(body: &Value) -> Question {
    let mut said = Vec::new();
    for message in
        body["messages"].as_array().into_iter().flatten().filter(|message| message["role"] == "user")
    {
        let Some(parts) = message["content"].as_array() else {
            said.push(Said::Person(text(&message["content"])));
            continue;
        };
        for part in parts {
            match part["type"].as_str() {
                Some("tool_result") => said.push(Said::Tool(text(&part["content"]))),
                _ => said.push(Said::Person(text(part))),
            }
        }
    }
    Question { said, tools: names(&body["tools"], |tool| &tool["name"]) }
}

pub(super) fn events(answer: &Answer) -> Vec<Value> {
    let message = json!({
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let mut events = vec![json!({ "type": "message_start", "message": message })];
    let mut block = |index: usize, start: Value, delta: Value| {
        events.extend([
            json!({ "type": "content_block_start", "index": index, "content_block": start }),
            json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            json!({ "type": "content_block_stop", "index": index }),
        ]);
    };
    let reason = match answer {
        Answer::Text(words) => {
            let delta = json!({ "type": "text_delta", "text": words });
            block(0, json!({ "type": "text", "text": "" }), delta);
            "end_turn"
        }
        Answer::Calls(calls) => {
            for (index, (id, call)) in calls.iter().enumerate() {
                let start = json!({ "type": "tool_use", "id": format!("toolu_{id}"), "name": call.tool, "input": {} });
                let delta = json!({ "type": "input_json_delta", "partial_json": call.arguments.to_string() });
                block(index, start, delta);
            }
            "tool_use"
        }
    };
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 1 } }));
    events.push(json!({ "type": "message_stop" }));
    events
}
