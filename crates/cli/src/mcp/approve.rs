//! The tool `approve`, by which a client asks about a tool of its own: the contract of Claude Code's
//! `--permission-prompt-tool`.
//!
//! It is called with `{tool_name, input, tool_use_id?}`. Its result is one text, and that text is JSON:
//! `behavior` is `allow` with the input as `updatedInput`, or `deny` with a message. A result of any other
//! form would leave open what is meant.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Its name, as in `--permission-prompt-tool mcp__countersign__approve`.
pub(super) const NAME: &str = "approve";

/// What clients are told about it.
pub(super) fn tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "tool_name": { "type": "string", "description": "The tool that wants permission" },
            "input": { "type": "object", "description": "What it would be called with" },
            "tool_use_id": { "type": "string", "description": "Id of that call" },
        },
        "required": ["tool_name", "input"],
    });
    let schema = match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    Tool::new(
        NAME,
        "Asks the person at this machine whether another tool may be called. For the program that calls tools, not for the \
         model: it is Claude Code's permission prompt.",
        schema,
    )
}

/// What is asked about.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Question {
    /// The tool.
    pub(super) tool: String,
    /// What it would be called with, members in their order.
    pub(super) input: Map<String, Value>,
}

/// Arguments that ask nothing.
#[derive(Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum Malformed {
    /// The tool has no name.
    #[error("tool_name: expected the name of a tool, got {0}")]
    Tool(String),
    /// The tool is called with nothing, or with something that is no object.
    #[error("input: expected an object, got {0}")]
    Input(&'static str),
}

/// Reads the arguments. What else is in them changes nothing.
pub(super) fn question(arguments: Option<JsonObject>) -> Result<Question, Malformed> {
    let mut arguments = arguments.unwrap_or_default();
    let tool = match arguments.get("tool_name") {
        Some(Value::String(name)) if !name.trim().is_empty() => name.clone(),
        Some(Value::String(name)) => return Err(Malformed::Tool(format!("{name:?}"))),
        other => return Err(Malformed::Tool(kind(other).to_owned())),
    };
    match arguments.get_mut("input").map(Value::take) {
        Some(Value::Object(input)) => Ok(Question { tool, input }),
        other => Err(Malformed::Input(kind(other.as_ref()))),
    }
}

fn kind(value: Option<&Value>) -> &'static str {
    match value {
        None => "nothing",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "a boolean",
        Some(Value::Number(_)) => "a number",
        Some(Value::String(_)) => "a text",
        Some(Value::Array(_)) => "a list",
        Some(Value::Object(_)) => "an object",
    }
}

/// A yes to what was asked, which is a yes to exactly that.
#[cfg(fuzzing)]
pub fn answered(arguments: JsonObject) {
    let Ok(asked) = question(Some(arguments)) else { return };
    let allowed = serde_json::to_value(allowed(&asked.input)).unwrap();
    let said: Value = serde_json::from_str(allowed["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(said, json!({ "behavior": "allow", "updatedInput": asked.input }));
}

#[derive(Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase", rename_all_fields = "camelCase")]
enum Verdict<'a> {
    Allow { updated_input: &'a Map<String, Value> },
    Deny { message: &'a str },
}

/// A yes to exactly this input.
pub(super) fn allowed(input: &Map<String, Value>) -> CallToolResult {
    result(&Verdict::Allow { updated_input: input })
}

/// A no, and why.
pub(super) fn denied(message: &str) -> CallToolResult {
    let message = if message.trim().is_empty() { "It is not allowed." } else { message };
    result(&Verdict::Deny { message })
}

fn result(verdict: &Verdict<'_>) -> CallToolResult {
    let text = serde_json::to_string(verdict).unwrap_or_else(|_| UNWRITABLE.to_owned());
    CallToolResult::success(vec![ContentBlock::text(text)])
}

/// Said when an answer cannot be written down.
const UNWRITABLE: &str = r#"{"behavior":"deny","message":"The answer could not be written."}"#;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn object(text: &str) -> JsonObject {
        serde_json::from_str(text).unwrap()
    }

    fn said(result: &CallToolResult) -> String {
        assert_eq!((result.content.len(), result.is_error), (1, Some(false)));
        assert_eq!(result.structured_content, None);
        result.content[0].as_text().unwrap().text.clone()
    }

    #[test]
    fn an_input_comes_back_as_it_came() {
        for input in [
            r#"{"command":"ls","description":"look"}"#,
            r#"{"z":1,"a":{"y":[1,2,{"x":null}],"b":true},"":"","𝄞\u0000":"\u202e\\\""}"#,
            r#"{"file_path":"/tmp/ä b","old_string":"a\n\tb","new_string":"","replace_all":false}"#,
            r#"{"n":[0,-1,18446744073709551615,0.1,1.7976931348623157e308,-2.2250738585072014e-308,5e-324]}"#,
            // Read carelessly, these come out one digit off.
            r#"{"n":[51.24817837550540,0.3135859340590205,1.0000000000000002,123456789.12345679]}"#,
            "{}",
        ] {
            let asked =
                question(Some(object(&format!(r#"{{"tool_name":"Bash","input":{input}}}"#)))).unwrap();
            let answer = said(&allowed(&asked.input));
            let back = answer.strip_prefix(r#"{"behavior":"allow","updatedInput":"#).unwrap();
            let back = back.strip_suffix('}').unwrap();
            let order = |text: &str| serde_json::from_str::<Value>(text).unwrap().to_string();
            assert_eq!(back, order(input));
            let numbers = |text: &str| -> Vec<u64> {
                let value: Value = serde_json::from_str(text).unwrap();
                let list = value["n"].as_array().cloned().unwrap_or_default();
                list.iter().map(|number| number.to_string().parse::<f64>().unwrap().to_bits()).collect()
            };
            let written = |text: &str| -> Vec<u64> {
                let Some((_, list)) = text.split_once(r#""n":["#) else { return Vec::new() };
                list.trim_end_matches("]}").split(',').map(|n| n.parse::<f64>().unwrap().to_bits()).collect()
            };
            assert_eq!(numbers(back), written(input), "{input}");
        }
    }

    #[test]
    fn what_asks_nothing_is_malformed() {
        for (arguments, problem) in [
            (None, "tool_name: expected the name of a tool, got nothing"),
            (Some("{}"), "tool_name: expected the name of a tool, got nothing"),
            (Some(r#"{"tool_name":7,"input":{}}"#), "tool_name: expected the name of a tool, got a number"),
            (Some(r#"{"tool_name":" ","input":{}}"#), r#"tool_name: expected the name of a tool, got " ""#),
            (Some(r#"{"tool_name":"Bash"}"#), "input: expected an object, got nothing"),
            (Some(r#"{"tool_name":"Bash","input":null}"#), "input: expected an object, got null"),
            (Some(r#"{"tool_name":"Bash","input":"ls"}"#), "input: expected an object, got a text"),
            (Some(r#"{"tool_name":"Bash","input":[]}"#), "input: expected an object, got a list"),
        ] {
            assert_eq!(question(arguments.map(object)).unwrap_err().to_string(), problem);
        }
    }

    #[test]
    fn a_no_always_says_why() {
        assert_eq!(said(&denied("not \"today\"")), r#"{"behavior":"deny","message":"not \"today\""}"#);
        assert_eq!(said(&denied(" ")), r#"{"behavior":"deny","message":"It is not allowed."}"#);
        let fallback: Value = serde_json::from_str(UNWRITABLE).unwrap();
        assert_eq!(fallback["behavior"], "deny");
    }

    #[test]
    fn members_that_are_not_known_change_nothing() {
        let arguments =
            r#"{"behavior":"allow","tool_use_id":"toolu_1","input":{"command":"ls"},"tool_name":"Bash"}"#;
        let asked = question(Some(object(arguments))).unwrap();
        assert_eq!((asked.tool.as_str(), asked.input), ("Bash", object(r#"{"command":"ls"}"#)));
    }
}
