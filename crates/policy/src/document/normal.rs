//! The peers' normal form (docs/protocol/document.md, "Normal form"), for answers that leave the host and for
//! documents that come in. Unlike the peers it keeps every member it does not know.

use super::{AGENTS, ALLOWLIST, DEFAULTS, LEGACY_MAIN, SOCKET, blank_is_absent};
use countersign_protocol::document::{Document, MAIN_AGENT, VERSION};
use countersign_protocol::vocabulary::{Ask, Security};
use serde_json::{Map, Value, json};
use std::collections::HashSet;

/// The peers' normal form. `new_id` makes ids for entries without one.
pub fn normalised(document: &Document, new_id: &mut dyn FnMut() -> String) -> Document {
    let mut root = Map::new();
    root.insert("version".into(), VERSION.into());
    root.insert(SOCKET.into(), Value::Object(normal_socket(&document.0)));
    root.insert(DEFAULTS.into(), Value::Object(normal_policy(object(document.0.get(DEFAULTS)))));
    root.insert(AGENTS.into(), Value::Object(normal_agents(object(document.0.get(AGENTS)), new_id)));
    for (name, value) in &document.0 {
        if !root.contains_key(name) {
            root.insert(name.clone(), value.clone());
        }
    }
    Document(root)
}

fn object(value: Option<&Value>) -> Map<String, Value> {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

fn normal_socket(root: &Map<String, Value>) -> Map<String, Value> {
    let mut socket = object(root.get(SOCKET));
    for name in ["path", "token"] {
        match blank_is_absent(socket.get(name)).map(str::trim).map(str::to_owned) {
            Some(text) => socket.insert(name.into(), text.into()),
            None => socket.shift_remove(name),
        };
    }
    socket
}

fn normal_policy(mut scope: Map<String, Value>) -> Map<String, Value> {
    for name in ["security", "ask", "askFallback"] {
        let Some(value) = scope.get(name) else { continue };
        let word = value.as_str().map(str::trim).filter(|word| match name {
            "ask" => Ask::from_word(word).is_some(),
            _ => Security::from_word(word).is_some(),
        });
        match word.map(str::to_owned) {
            Some(word) => scope.insert(name.into(), word.into()),
            None => scope.shift_remove(name),
        };
    }
    scope
}

fn normal_agents(mut agents: Map<String, Value>, new_id: &mut dyn FnMut() -> String) -> Map<String, Value> {
    if let Some(legacy) = agents.shift_remove(LEGACY_MAIN) {
        let legacy = object(Some(&legacy));
        let main = match agents.get(MAIN_AGENT) {
            Some(main) => merged(legacy, object(Some(main))),
            None => legacy,
        };
        agents.insert(MAIN_AGENT.into(), Value::Object(main));
    }
    for agent in agents.values_mut() {
        let mut scope = normal_policy(object(Some(agent)));
        if let Some(list) = scope.get(ALLOWLIST) {
            match normal_list(list, new_id) {
                Some(list) => scope.insert(ALLOWLIST.into(), Value::Array(list)),
                None => scope.shift_remove(ALLOWLIST),
            };
        }
        *agent = Value::Object(scope);
    }
    agents
}

/// `default` folded into `main`: members of `main` win, lists are joined without repeats.
fn merged(legacy: Map<String, Value>, main: Map<String, Value>) -> Map<String, Value> {
    let join = |name: &str, key: fn(&Value) -> Option<String>| {
        let mut seen = HashSet::new();
        let items = [&main, &legacy].into_iter().filter_map(|scope| scope.get(name)?.as_array()).flatten();
        let kept: Vec<Value> =
            items.filter(|item| key(item).is_some_and(|key| seen.insert(key))).cloned().collect();
        (!kept.is_empty()).then(|| Value::Array(kept))
    };
    let lists = [(ALLOWLIST, join(ALLOWLIST, entry_key)), ("mcpTools", join("mcpTools", tool_key))];
    let mut both = legacy;
    both.extend(main.clone());
    for (name, list) in lists {
        match list {
            Some(list) => both.insert(name.into(), list),
            None => both.shift_remove(name),
        };
    }
    both
}

fn entry_key(entry: &Value) -> Option<String> {
    let pattern = entry.as_str().or_else(|| entry.get("pattern")?.as_str())?.trim();
    let arguments = blank_is_absent(entry.get("argPattern")).unwrap_or_default().trim();
    (!pattern.is_empty()).then(|| format!("{}\0{arguments}", pattern.to_lowercase()))
}

fn tool_key(tool: &Value) -> Option<String> {
    Some(format!("{}\0{}", tool.get("server")?.as_str()?, tool.get("tool")?.as_str()?))
}

/// `None` when the list had entries but none of them was usable.
fn normal_list(list: &Value, new_id: &mut dyn FnMut() -> String) -> Option<Vec<Value>> {
    let list = list.as_array()?;
    let kept: Vec<Value> = list.iter().filter_map(|entry| normal_entry(entry, new_id)).collect();
    (list.is_empty() || !kept.is_empty()).then_some(kept)
}

fn normal_entry(entry: &Value, new_id: &mut dyn FnMut() -> String) -> Option<Value> {
    let mut members = match entry {
        Value::String(pattern) => object(Some(&json!({ "pattern": pattern.trim() }))),
        Value::Object(members) => members.clone(),
        _ => return None,
    };
    blank_is_absent(members.get("pattern"))?;
    let has_id = members.get("id").is_some_and(|id| id.as_str().is_none_or(|id| !id.trim().is_empty()));
    if !has_id {
        members.insert("id".into(), new_id().into());
    }
    members.shift_remove("commandText");
    Some(Value::Object(members))
}
