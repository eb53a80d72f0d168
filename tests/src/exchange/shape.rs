//! Values without what changes from run to run.

use serde_json::{Map, Value, json};

/// A value with numbers, ids, hashes and paths replaced by their kind.
pub(super) fn of(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Number(_) => "<number>".into(),
        Value::String(text) => of_text(text).into(),
        Value::Array(items) => items.iter().map(of).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), member(name, value))).collect()
        }
    }
}

/// An answer; what a validator says in its own words is left out.
pub(super) fn of_answer(answer: &Value) -> Value {
    if answer["ok"] == true {
        return json!({"ok": true, "payload": of(&answer["payload"])});
    }
    let error = &answer["error"];
    let mut shaped = Map::new();
    shaped.insert("code".to_owned(), error["code"].clone());
    shaped.insert("message".to_owned(), of_message(error["message"].as_str().unwrap_or_default()).into());
    for name in ["details", "retryable"] {
        if let Some(value) = error.get(name) {
            shaped.insert(name.to_owned(), of(value));
        }
    }
    json!({"ok": false, "error": shaped})
}

/// A text for people; what a validator says in its own words is left out.
pub(super) fn of_message(text: &str) -> String {
    for end in [" params: ", "invalid request frame: "] {
        if let Some((start, _)) = text.split_once(end) {
            return format!("{start}{end}…");
        }
    }
    text.split(' ')
        .map(|word| if is_uuid(word) { "<uuid>".to_owned() } else { word.to_owned() })
        .collect::<Vec<_>>()
        .join(" ")
}

fn member(name: &str, value: &Value) -> Value {
    match (name, value) {
        // Every release has an order of its own, and one row tells what a row is.
        ("paired", Value::Array(rows)) => {
            let row = rows.iter().find(|row| row["displayName"] == "person").or(rows.first());
            row.into_iter().map(of).collect()
        }
        ("nextCursor", Value::String(_)) => "<cursor>".into(),
        ("publicKey", Value::String(_)) => "<key>".into(),
        _ => of(value),
    }
}

fn of_text(text: &str) -> String {
    let (kind, rest) = match text.rsplit_once(['/', ':']) {
        Some((kind, rest)) if is_uuid(rest) => (&text[..=kind.len()], rest),
        _ => ("", text),
    };
    if is_uuid(rest) {
        return format!("{kind}<uuid>");
    }
    let hash = text.strip_prefix("missing:").unwrap_or(text);
    if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return "<hash>".to_owned();
    }
    let is_path = text.starts_with(['/', '~']) && !text.starts_with("/approve/") && text.contains("openclaw");
    if is_path { "<path>".to_owned() } else { text.replace("%3A", ":") }
}

fn is_uuid(text: &str) -> bool {
    let text = text.trim_end_matches([',', '.', ';']);
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_from_run_to_run_is_replaced_and_nothing_else() {
        let check = |value: Value, expected: Value| assert_eq!(of(&value), expected, "{value}");
        let uuid = "11111111-2222-4333-8444-555555555555";
        check(json!({"a": 1, "b": [true, null]}), json!({"a": "<number>", "b": [true, null]}));
        check(json!([uuid, format!("plugin:{uuid}")]), json!(["<uuid>", "plugin:<uuid>"]));
        check(json!("a".repeat(64)), json!("<hash>"));
        check(json!("/home/u/.openclaw/exec-approvals.json"), json!("<path>"));
        check(json!("/usr/bin/id"), json!("/usr/bin/id"));
        check(json!({"paired": [{"n": 1}, {"n": "2"}]}), json!({"paired": [{"n": "<number>"}]}));
    }

    #[test]
    fn a_validators_own_words_are_left_out() {
        assert_eq!(of_message("invalid x.y params: at root: no"), "invalid x.y params: …");
        assert_eq!(of_message("unknown method: x"), "unknown method: x");
    }
}
