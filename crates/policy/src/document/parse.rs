//! From stored bytes to a document and back. Strict: a value of the wrong kind makes the whole document
//! unusable, so that nothing runs under a half-understood policy (docs/protocol/document.md, "Reading").

use super::{ALLOWLIST, Parsed, Problem};
use countersign_protocol::digits::hex;
use countersign_protocol::document::{Document, VERSION};
use countersign_protocol::vocabulary::{Ask, Security};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Reads stored bytes; `None` means nothing is stored. Bad UTF-8, JSON, version or a value of the wrong kind
/// is a problem, never an empty document.
pub fn parse(bytes: Option<&[u8]>) -> Parsed {
    let Some(bytes) = bytes else { return Parsed::Missing };
    match read(bytes) {
        Ok(document) => Parsed::Usable(document),
        Err(problem) => Parsed::Unusable(problem),
    }
}

/// Two-space indent and a final newline, as the peers write it.
pub fn serialise(document: &Document) -> String {
    let mut text = serde_json::to_string_pretty(&document.0).unwrap_or_default();
    text.push('\n');
    text
}

/// SHA-256 of the stored bytes in hex; of the empty string when nothing is stored.
pub fn hash(bytes: Option<&[u8]>) -> String {
    hex(Sha256::digest(bytes.unwrap_or_default()))
}

fn read(bytes: &[u8]) -> Result<Document, Problem> {
    if bytes.len() > DOCUMENT_BYTES {
        return Err(Problem::TooLarge);
    }
    let text = std::str::from_utf8(bytes).map_err(Problem::NotUtf8)?;
    let value: Value = serde_json::from_str(text).map_err(|error| Problem::NotJson(error.to_string()))?;
    let Value::Object(root) = value else { return Err(expected("document", "an object")) };
    check_root(&root)?;
    Ok(Document(root))
}

fn check_root(root: &Map<String, Value>) -> Result<(), Problem> {
    if root.get("version").and_then(Value::as_f64) != Some(VERSION as f64) {
        return Err(expected("version", "1"));
    }
    if let Some(socket) = object(root, "socket", "socket")? {
        string(socket, "path", "socket")?;
        string(socket, "token", "socket")?;
    }
    if let Some(defaults) = object(root, "defaults", "defaults")? {
        check_policy(defaults, "defaults")?;
    }
    for (index, (name, agent)) in object(root, "agents", "agents")?.into_iter().flatten().enumerate() {
        if name == super::FORBIDDEN_AGENT {
            return Err(Problem::NoAgentId(name.clone()));
        }
        let place = format!("agents entry #{}", index + 1);
        let Value::Object(agent) = agent else { return Err(expected(&place, "an object")) };
        check_policy(agent, &place)?;
        check_list(agent, ALLOWLIST, &place, check_entry)?;
        check_list(agent, "mcpTools", &place, check_tool)?;
    }
    Ok(())
}

fn check_policy(scope: &Map<String, Value>, place: &str) -> Result<(), Problem> {
    word::<Security>(scope, "security", place)?;
    word::<Ask>(scope, "ask", place)?;
    word::<Security>(scope, "askFallback", place)?;
    match scope.get("autoAllowSkills") {
        None | Some(Value::Bool(_)) => Ok(()),
        Some(_) => Err(expected(&format!("{place}.autoAllowSkills"), "a boolean")),
    }
}

fn check_entry(entry: &Value, place: &str) -> Result<(), Problem> {
    let pattern = match entry {
        Value::String(pattern) => pattern,
        Value::Object(members) => {
            for name in ["id", "source", "argPattern", "lastResolvedPath", "commandText"] {
                string(members, name, place)?;
            }
            // Null is what releases up to 2026.2 left of entries that were never used.
            if !is_null(members, "lastUsedCommand") {
                string(members, "lastUsedCommand", place)?;
            }
            if !is_null(members, "lastUsedAt") {
                number(members, "lastUsedAt", place)?;
            }
            let Some(Value::String(pattern)) = members.get("pattern") else {
                return Err(expected(&format!("{place}.pattern"), "a string"));
            };
            pattern
        }
        _ => return Err(expected(place, "an object or a string")),
    };
    if is_blank(pattern) {
        return Err(expected(place, "a pattern that is not blank"));
    }
    Ok(())
}

fn check_tool(tool: &Value, place: &str) -> Result<(), Problem> {
    let Value::Object(members) = tool else { return Err(expected(place, "an object")) };
    for name in ["server", "tool"] {
        match members.get(name) {
            Some(Value::String(text)) if !is_blank(text) => {}
            _ => return Err(expected(&format!("{place}.{name}"), "a string that is not blank")),
        }
    }
    if members.get("source").and_then(Value::as_str) != Some(super::GENERATED) {
        return Err(expected(&format!("{place}.source"), super::GENERATED));
    }
    let is_time = |name: &str| members.get(name).and_then(Value::as_f64).is_some_and(|at| at >= 0.0);
    for name in ["addedAt", "lastUsedAt"] {
        let may_lack = name == "lastUsedAt" && !members.contains_key(name);
        if !may_lack && !is_time(name) {
            return Err(expected(&format!("{place}.{name}"), "a number that is not negative"));
        }
    }
    Ok(())
}

/// Whether nothing is left when a peer trims it, or this program does.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || c == '\u{feff}')
}

fn check_list(
    agent: &Map<String, Value>,
    name: &str,
    place: &str,
    check: fn(&Value, &str) -> Result<(), Problem>,
) -> Result<(), Problem> {
    match agent.get(name) {
        None => Ok(()),
        Some(Value::Array(items)) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check(item, &format!("{place}.{name}[{index}]"))),
        Some(_) => Err(expected(&format!("{place}.{name}"), "an array")),
    }
}

fn object<'a>(
    parent: &'a Map<String, Value>,
    name: &str,
    place: &str,
) -> Result<Option<&'a Map<String, Value>>, Problem> {
    match parent.get(name) {
        None => Ok(None),
        Some(Value::Object(members)) => Ok(Some(members)),
        Some(_) => Err(expected(place, "an object")),
    }
}

fn string(parent: &Map<String, Value>, name: &str, place: &str) -> Result<(), Problem> {
    match parent.get(name) {
        None | Some(Value::String(_)) => Ok(()),
        Some(_) => Err(expected(&format!("{place}.{name}"), "a string")),
    }
}

fn number(parent: &Map<String, Value>, name: &str, place: &str) -> Result<(), Problem> {
    match parent.get(name) {
        None | Some(Value::Number(_)) => Ok(()),
        Some(_) => Err(expected(&format!("{place}.{name}"), "a number")),
    }
}

fn is_null(parent: &Map<String, Value>, name: &str) -> bool {
    parent.get(name).is_some_and(Value::is_null)
}

fn word<T: std::str::FromStr>(scope: &Map<String, Value>, name: &str, place: &str) -> Result<(), Problem> {
    match scope.get(name) {
        None => Ok(()),
        Some(Value::String(word)) if word.parse::<T>().is_ok() => Ok(()),
        Some(_) => Err(expected(&format!("{place}.{name}"), "one of its words")),
    }
}

fn expected(place: &str, what: &'static str) -> Problem {
    Problem::Expected { place: place.to_owned(), what }
}

/// Largest document that is read, in bytes; the peers import no larger file (docs/protocol/document.md,
/// "Where it is").
pub(super) const DOCUMENT_BYTES: usize = 4 * 1024 * 1024;
