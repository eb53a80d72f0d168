//! Changing the document: edits with their undo, and the record of an entry's last use.

use super::resolve::field_name;
use super::{
    AGENTS, ALLOWLIST, DEFAULTS, EditError, Edited, FORBIDDEN_AGENT, GENERATED, Use,
    arg_pattern as stored_arg_pattern, blank_is_absent, entry_ids, is_generated_arguments,
};
use crate::allowlist::Entry;
use countersign_protocol::document::Document;
use countersign_protocol::edits::{DocumentEdit, PolicyField};
use countersign_protocol::vocabulary::{Ask, Security};
use serde_json::{Map, Value, json};

/// Applies edits, all or none. Adding an entry that is there already changes nothing.
pub fn apply(
    document: &Document,
    edits: &[DocumentEdit],
    new_id: &mut dyn FnMut() -> String,
) -> Result<Edited, EditError> {
    let mut document = document.clone();
    let mut undo = Vec::new();
    for edit in edits {
        let back = apply_one(&mut document.0, edit, new_id)?;
        undo.splice(0..0, back);
    }
    Ok(Edited { document, undo })
}

/// The entry that a person's edit makes; `None` where it makes none, or puts back what was there.
pub fn made_by(edit: &DocumentEdit) -> Option<Entry> {
    let (agent, pattern, arg_pattern, generated) = match edit {
        DocumentEdit::AddEntry { agent, pattern, arg_pattern, source } => {
            (agent, pattern, arg_pattern.clone(), source.as_deref() == Some(GENERATED))
        }
        DocumentEdit::EditEntry { agent, pattern, .. } => (agent, pattern, None, false),
        DocumentEdit::SetPolicy { .. }
        | DocumentEdit::DeleteEntry { .. }
        | DocumentEdit::RestoreEntry { .. } => return None,
    };
    Some(Entry { agent: agent.clone(), id: String::new(), pattern: pattern.clone(), arg_pattern, generated })
}

/// The document with `lastUsedAt`, `lastUsedCommand` and `lastResolvedPath` set; no empty lists are created.
pub fn with_uses(document: &Document, uses: &[Use]) -> Document {
    let mut document = document.clone();
    for one in uses {
        let Some(list) = existing_list(&mut document.0, &one.agent) else { continue };
        for entry in list.iter_mut().filter(|entry| is_used(entry, one)) {
            record_use(entry, one);
        }
    }
    document
}

fn is_used(entry: &Value, one: &Use) -> bool {
    let pattern = entry.as_str().or_else(|| entry.get("pattern")?.as_str());
    pattern == Some(&one.pattern)
        && stored_arg_pattern(entry) == one.arg_pattern.as_deref().filter(|pattern| !pattern.is_empty())
}

fn record_use(entry: &mut Value, one: &Use) {
    if let Value::String(pattern) = entry {
        *entry = json!({ "pattern": pattern });
    }
    let Some(members) = entry.as_object_mut() else { return };
    members.insert("lastUsedAt".into(), one.at_ms.into());
    if is_generated_arguments(members.get("argPattern")) {
        // The arguments are stored as a hash so that the document does not carry them; the text would.
        members.shift_remove("lastUsedCommand");
    } else {
        members.insert("lastUsedCommand".into(), one.command.clone().into());
    }
    if let Some(path) = &one.resolved_path {
        members.insert("lastResolvedPath".into(), path.clone().into());
    }
}

fn apply_one(
    root: &mut Map<String, Value>,
    edit: &DocumentEdit,
    new_id: &mut dyn FnMut() -> String,
) -> Result<Vec<DocumentEdit>, EditError> {
    match edit {
        DocumentEdit::SetPolicy { scope, field, value } => set_policy(root, scope, *field, value.as_deref()),
        DocumentEdit::AddEntry { agent, pattern, arg_pattern, source } => {
            add_entry(root, agent, pattern, arg_pattern.as_deref(), source.as_deref(), new_id)
        }
        DocumentEdit::EditEntry { agent, entry, pattern } => edit_entry(root, agent, entry, pattern, new_id),
        DocumentEdit::DeleteEntry { agent, entry } => delete_entry(root, agent, entry),
        DocumentEdit::RestoreEntry { agent, index, json } => restore_entry(root, agent, *index, json),
    }
}

fn set_policy(
    root: &mut Map<String, Value>,
    scope: &str,
    field: PolicyField,
    value: Option<&str>,
) -> Result<Vec<DocumentEdit>, EditError> {
    if scope != DEFAULTS {
        check_agent(scope)?;
    }
    let name = field_name(field);
    let value = value.map(|word| policy_value(field, word)).transpose()?;
    let before = if scope == DEFAULTS {
        let defaults = root.entry(DEFAULTS).or_insert_with(|| json!({}));
        set_member(defaults, name, value)
    } else {
        let agents = root.entry(AGENTS).or_insert_with(|| json!({}));
        let Some(agents) = agents.as_object_mut() else { return Err(EditError::BadAgent(scope.to_owned())) };
        let agent = agents.entry(scope).or_insert_with(|| json!({}));
        let before = set_member(agent, name, value);
        if agent.as_object().is_some_and(Map::is_empty) {
            agents.shift_remove(scope);
        }
        before
    };
    let value = before.map(|value| match value {
        Value::String(word) => word,
        other => other.to_string(),
    });
    Ok(vec![DocumentEdit::SetPolicy { scope: scope.to_owned(), field, value }])
}

fn set_member(scope: &mut Value, name: &str, value: Option<Value>) -> Option<Value> {
    let members = scope.as_object_mut()?;
    match value {
        Some(value) => members.insert(name.to_owned(), value),
        None => members.shift_remove(name),
    }
}

fn policy_value(field: PolicyField, word: &str) -> Result<Value, EditError> {
    let (fits, expected) = match field {
        PolicyField::Security | PolicyField::AskFallback => {
            (Security::from_word(word).is_some(), "full, allowlist, deny")
        }
        PolicyField::Ask => (Ask::from_word(word).is_some(), "off, on-miss, always"),
        PolicyField::AutoAllowSkills => match word {
            "true" => return Ok(Value::Bool(true)),
            "false" => return Ok(Value::Bool(false)),
            _ => (false, "true, false"),
        },
    };
    if fits {
        return Ok(Value::String(word.to_owned()));
    }
    Err(EditError::BadValue { field: field_name(field), expected, got: word.to_owned() })
}

fn add_entry(
    root: &mut Map<String, Value>,
    agent: &str,
    pattern: &str,
    arg_pattern: Option<&str>,
    source: Option<&str>,
    new_id: &mut dyn FnMut() -> String,
) -> Result<Vec<DocumentEdit>, EditError> {
    check_agent(agent)?;
    if let Some(source) = source.filter(|source| *source != GENERATED) {
        return Err(EditError::BadValue { field: "source", expected: GENERATED, got: source.to_owned() });
    }
    let pattern = checked_pattern(pattern, source)?;
    let arg_pattern = arg_pattern.filter(|pattern| !pattern.is_empty());
    let same = |entry: &Value| {
        let stored = entry.as_str().or_else(|| entry.get("pattern")?.as_str());
        stored.map(str::trim) == Some(pattern)
            && stored_arg_pattern(entry) == arg_pattern
            && (entry.get("source").and_then(Value::as_str) == Some(GENERATED)) == source.is_some()
    };
    if existing_list(root, agent).is_some_and(|list| list.iter().any(same)) {
        return Ok(Vec::new());
    }
    let id = new_id();
    let mut entry = Map::new();
    entry.insert("id".into(), id.clone().into());
    entry.insert("pattern".into(), pattern.into());
    if let Some(arg_pattern) = arg_pattern {
        entry.insert("argPattern".into(), arg_pattern.into());
    }
    if let Some(source) = source {
        entry.insert("source".into(), source.into());
    }
    list_or_new(root, agent)?.push(Value::Object(entry));
    Ok(vec![DocumentEdit::DeleteEntry { agent: agent.to_owned(), entry: id }])
}

fn edit_entry(
    root: &mut Map<String, Value>,
    agent: &str,
    entry: &str,
    pattern: &str,
    new_id: &mut dyn FnMut() -> String,
) -> Result<Vec<DocumentEdit>, EditError> {
    check_agent(agent)?;
    let pattern = checked_pattern(pattern, None)?;
    let (list, index) = find_entry(root, agent, entry)?;
    let before = list[index].clone();
    let mut members = before.as_object().cloned().unwrap_or_default();
    if members.get("source").and_then(Value::as_str) == Some(GENERATED) {
        members.shift_remove("source");
        members.shift_remove("argPattern");
    }
    // These tell of uses of the pattern that was, and some peers rewrite patterns from the last of them.
    for name in ["lastUsedAt", "lastUsedCommand", "lastResolvedPath"] {
        members.shift_remove(name);
    }
    members.insert("pattern".into(), pattern.into());
    if blank_is_absent(members.get("id")).is_none() {
        members.insert("id".into(), new_id().into());
    }
    list[index] = Value::Object(members);
    let edited = entry_ids(list).swap_remove(index);
    let remove = DocumentEdit::DeleteEntry { agent: agent.to_owned(), entry: edited };
    Ok(vec![remove, restored(agent, index, &before)])
}

fn delete_entry(
    root: &mut Map<String, Value>,
    agent: &str,
    entry: &str,
) -> Result<Vec<DocumentEdit>, EditError> {
    check_agent(agent)?;
    let (list, index) = find_entry(root, agent, entry)?;
    let before = list.remove(index);
    if list.is_empty() {
        remove_empty_list(root, agent);
    }
    Ok(vec![restored(agent, index, &before)])
}

/// Puts an entry back in its place, before whatever is there now: two entries may carry the same id.
fn restore_entry(
    root: &mut Map<String, Value>,
    agent: &str,
    index: u32,
    text: &str,
) -> Result<Vec<DocumentEdit>, EditError> {
    check_agent(agent)?;
    let entry: Value =
        serde_json::from_str(text).map_err(|error| EditError::BadPattern(error.to_string()))?;
    if super::resolve::rule(agent, &entry, String::new()).is_none() {
        return Err(EditError::BadPattern(String::new()));
    }
    let list = list_or_new(root, agent)?;
    let index = usize::try_from(index).unwrap_or(usize::MAX).min(list.len());
    list.insert(index, entry);
    let id = entry_ids(list).swap_remove(index);
    Ok(vec![DocumentEdit::DeleteEntry { agent: agent.to_owned(), entry: id }])
}

fn restored(agent: &str, index: usize, entry: &Value) -> DocumentEdit {
    DocumentEdit::RestoreEntry {
        agent: agent.to_owned(),
        index: u32::try_from(index).unwrap_or(u32::MAX),
        json: entry.to_string(),
    }
}

fn check_agent(agent: &str) -> Result<(), EditError> {
    if agent.trim().is_empty() || agent == FORBIDDEN_AGENT || agent == DEFAULTS {
        return Err(EditError::BadAgent(agent.to_owned()));
    }
    Ok(())
}

/// The pattern trimmed. `=command:` and `=node-command:` are no patterns that a person writes.
fn checked_pattern<'a>(pattern: &'a str, source: Option<&str>) -> Result<&'a str, EditError> {
    let trimmed = pattern.trim();
    let reserved = trimmed.starts_with('=') && source.is_none();
    if trimmed.is_empty() || trimmed.contains('\0') || reserved {
        return Err(EditError::BadPattern(pattern.to_owned()));
    }
    Ok(trimmed)
}

fn find_entry<'a>(
    root: &'a mut Map<String, Value>,
    agent: &str,
    entry: &str,
) -> Result<(&'a mut Vec<Value>, usize), EditError> {
    let missing = || EditError::NoEntry { agent: agent.to_owned(), entry: entry.to_owned() };
    let list = existing_list(root, agent).ok_or_else(missing)?;
    let index = entry_ids(list).iter().position(|id| id == entry).ok_or_else(missing)?;
    Ok((list, index))
}

fn existing_list<'a>(root: &'a mut Map<String, Value>, agent: &str) -> Option<&'a mut Vec<Value>> {
    root.get_mut(AGENTS)?.get_mut(agent)?.get_mut(ALLOWLIST)?.as_array_mut()
}

fn list_or_new<'a>(root: &'a mut Map<String, Value>, agent: &str) -> Result<&'a mut Vec<Value>, EditError> {
    let misfit = || EditError::BadAgent(agent.to_owned());
    let agents = root.entry(AGENTS).or_insert_with(|| json!({})).as_object_mut().ok_or_else(misfit)?;
    let scope = agents.entry(agent).or_insert_with(|| json!({})).as_object_mut().ok_or_else(misfit)?;
    scope.entry(ALLOWLIST).or_insert_with(|| json!([])).as_array_mut().ok_or_else(misfit)
}

fn remove_empty_list(root: &mut Map<String, Value>, agent: &str) {
    let Some(agents) = root.get_mut(AGENTS).and_then(Value::as_object_mut) else { return };
    let Some(scope) = agents.get_mut(agent).and_then(Value::as_object_mut) else { return };
    scope.shift_remove(ALLOWLIST);
    if scope.is_empty() {
        agents.shift_remove(agent);
    }
}
