//! What gateways and nodes answer, taken apart. Nothing of it is trusted: every size is bounded, every kind
//! is looked at, and what does not fit is said in words instead of being guessed at.

use super::built_in::BuiltIn;
use crate::connections::operator;
use countersign_core::json::kind;
use countersign_policy::display::{self, Secrets};
use countersign_policy::document::{self, Parsed};
use countersign_protocol::document::Document;
use countersign_protocol::shown::Shown;
use countersign_protocol::ui::{NativeAction, NativePolicy, NativeRule, PolicyReach};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// What a machine keeps.
pub enum Content {
    /// A document.
    File(Box<FileContent>),
    /// Rules of a kind of its own.
    Native(NativePolicy),
    /// Such rules, switched off.
    Disabled(Option<Shown>),
}

/// A document and what came with it. Not in `Debug`: somebody's release may send a token.
pub struct FileContent {
    /// Where it is, in the machine's words.
    pub path: String,
    /// Whether anything is stored.
    pub exists: bool,
    /// Of what is stored.
    pub hash: Option<String>,
    /// What is wrong with it, if it is no document; not escaped.
    pub document: Result<Document, BadAnswer>,
    /// What holds where it sets nothing.
    pub built_in: BuiltIn,
}

/// What of an answer does not fit.
#[derive(Debug, thiserror::Error)]
pub enum BadAnswer {
    /// It is of another kind.
    #[error("expected an object, got {0}")]
    NoObject(&'static str),
    /// A member is of another kind, or missing.
    #[error("{member}: expected {expected}, got {got}")]
    Member {
        /// Its path.
        member: String,
        /// What can be there.
        expected: &'static str,
        /// What kind came.
        got: &'static str,
    },
    /// There is more of it than a page can show.
    #[error("{of}expected at most {most}{unit}, got {got}")]
    TooMuch {
        /// Of what, with a colon; nothing for all of it.
        of: &'static str,
        /// What there is room for.
        most: usize,
        /// In what.
        unit: &'static str,
        /// What came.
        got: usize,
    },
    /// An agent's name is longer than can be kept.
    #[error("agents: expected names of at most {MAX_ID} bytes")]
    LongName,
    /// It is no document.
    #[error(transparent)]
    Document(#[from] document::Problem),
    /// It is empty.
    #[error("nothing came")]
    Nothing,
}

impl BadAnswer {
    fn member(member: impl Into<String>, expected: &'static str, got: &Value) -> Self {
        Self::Member { member: member.into(), expected, got: kind(got) }
    }
}

/// One node as its gateway tells.
#[derive(Debug, PartialEq)]
pub(super) struct Node {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) release: Option<[u32; 3]>,
    pub(super) connected: bool,
    /// Whether it tells its document.
    pub(super) gives: bool,
    /// Whether it takes another.
    pub(super) takes: bool,
}

impl Node {
    /// One of which nothing is known but its id.
    pub(super) fn unknown(id: &str) -> Self {
        let name = short(id, MAX_NAME);
        Self { id: id.to_owned(), name, release: None, connected: true, gives: true, takes: true }
    }

    /// How what it keeps counts beside its gateway's settings (docs/protocol/document.md,
    /// "Beside a gateway's settings").
    pub(super) fn reach(&self) -> PolicyReach {
        match self.release {
            Some(release) if release >= STRICTER_OF_BOTH => PolicyReach::Node,
            Some(release) if (FIRST..=DOCUMENT_ALONE).contains(&release) => PolicyReach::NodeAlone,
            Some(_) | None => PolicyReach::NodeUnclear,
        }
    }
}

/// The nodes that run commands or keep a document, by name, and how many there was no room for.
pub(super) fn nodes(answer: &Value) -> Result<(Vec<Node>, usize), BadAnswer> {
    let Some(rows) = answer.get("nodes").and_then(Value::as_array) else {
        return Err(BadAnswer::member("node.list", "a list of nodes", &answer["nodes"]));
    };
    let mut ids = BTreeSet::new();
    let mut found = Vec::new();
    let mut left_out = 0;
    for row in rows {
        let Some(id) = row["nodeId"].as_str().filter(|id| is_id(id)) else {
            left_out += 1;
            continue;
        };
        let declares = |wanted: &str| {
            let commands = row["commands"].as_array().into_iter().flatten();
            commands.into_iter().any(|command| command.as_str() == Some(wanted))
        };
        let gives = declares("system.execApprovals.get");
        if !(gives || declares("system.run")) || !ids.insert(id.to_owned()) {
            continue;
        }
        if found.len() >= MAX_NODES {
            left_out += 1;
            continue;
        }
        let text = |name: &str| row[name].as_str().map(str::trim).filter(|text| !text.is_empty());
        let name = text("displayName").or_else(|| text("remoteIp")).unwrap_or(id);
        let version = text("coreVersion").or_else(|| text("version")).unwrap_or_default();
        found.push(Node {
            id: id.to_owned(),
            name: short(name, MAX_NAME),
            release: operator::release(version),
            connected: row["connected"] == true,
            gives,
            takes: declares("system.execApprovals.set"),
        });
    }
    found.sort_by(|one, other| (&one.name, &one.id).cmp(&(&other.name, &other.id)));
    Ok((found, left_out))
}

/// Whether it can be a node's id.
pub(super) fn is_id(id: &str) -> bool {
    !id.trim().is_empty() && id.len() <= MAX_ID
}

/// A gateway's answer, or a node's, whose rules may be of another kind.
pub(super) fn content(answer: Value, release: Option<[u32; 3]>) -> Result<Content, BadAnswer> {
    let Value::Object(mut members) = answer else {
        return Err(BadAnswer::NoObject(kind(&answer)));
    };
    match members.get("enabled") {
        None => file(&mut members, release).map(|file| Content::File(Box::new(file))),
        Some(Value::Bool(true)) => native(&members).map(Content::Native),
        Some(Value::Bool(false)) => {
            let message = members.get("message").and_then(Value::as_str);
            Ok(Content::Disabled(message.map(|message| shown(message, MAX_MESSAGE))))
        }
        Some(other) => Err(BadAnswer::member("enabled", "true or false", other)),
    }
}

/// The hash that a machine tells, if it can be one.
pub(super) fn hash(members: &Map<String, Value>) -> Option<String> {
    let hash = members.get("hash")?.as_str()?;
    (!hash.trim().is_empty() && hash.len() <= MAX_HASH).then(|| hash.to_owned())
}

fn file(members: &mut Map<String, Value>, release: Option<[u32; 3]>) -> Result<FileContent, BadAnswer> {
    let exists = match members.get("exists") {
        Some(Value::Bool(exists)) => *exists,
        other => {
            return Err(BadAnswer::member("exists", "true or false", other.unwrap_or(&Value::Null)));
        }
    };
    let document = match members.remove("file") {
        Some(Value::Object(root)) => checked(Document(root)),
        None | Some(Value::Null) if !exists => Ok(document::empty()),
        other => {
            return Err(BadAnswer::member("file", "an object", &other.unwrap_or_default()));
        }
    };
    let told = members.get("resolvedDefaults").unwrap_or(&Value::Null);
    let nothing = document::empty();
    let built_in = BuiltIn::of(document.as_ref().unwrap_or(&nothing), told, release);
    let path = members.get("path").and_then(Value::as_str).unwrap_or_default();
    Ok(FileContent { path: short(path, MAX_PATH), exists, hash: hash(members), document, built_in })
}

/// The document if it is one that the editor can hold: as strict as with this machine's own, and no larger
/// than a page can show.
fn checked(document: Document) -> Result<Document, BadAnswer> {
    let text = document::serialise(&document);
    if text.len() > MAX_DOCUMENT {
        return Err(BadAnswer::TooMuch { of: "", most: MAX_DOCUMENT, unit: " bytes", got: text.len() });
    }
    let agents = document.0.get("agents").and_then(Value::as_object);
    let count = agents.map_or(0, Map::len);
    if count > MAX_AGENTS {
        return Err(BadAnswer::TooMuch { of: "agents: ", most: MAX_AGENTS, unit: "", got: count });
    }
    if agents.is_some_and(|agents| agents.keys().any(|agent| agent.len() > MAX_ID)) {
        return Err(BadAnswer::LongName);
    }
    let lists = agents.into_iter().flat_map(Map::values).filter_map(|agent| agent["allowlist"].as_array());
    let entries: usize = lists.map(Vec::len).sum();
    if entries > MAX_ENTRIES {
        let (of, unit) = ("allowlists: ", " entries");
        return Err(BadAnswer::TooMuch { of, most: MAX_ENTRIES, unit, got: entries });
    }
    match document::parse(Some(text.as_bytes())) {
        Parsed::Usable(document) => Ok(document),
        Parsed::Unusable(problem) => Err(problem.into()),
        Parsed::Missing => Err(BadAnswer::Nothing),
    }
}

fn native(members: &Map<String, Value>) -> Result<NativePolicy, BadAnswer> {
    let action = |value: &Value, place: &str| match value.as_str() {
        Some("allow") => Ok(NativeAction::Allow),
        Some("deny") => Ok(NativeAction::Deny),
        Some("prompt") => Ok(NativeAction::Prompt),
        _ => Err(BadAnswer::member(place, "allow, deny or prompt", value)),
    };
    let null = Value::Null;
    let default_action = action(members.get("defaultAction").unwrap_or(&null), "defaultAction")?;
    let Some(Value::Array(all)) = members.get("rules") else {
        let found = members.get("rules").unwrap_or(&null);
        return Err(BadAnswer::member("rules", "a list", found));
    };
    let mut rules = Vec::new();
    for (at, rule) in all.iter().take(MAX_NATIVE_RULES).enumerate() {
        let Some(pattern) = rule["pattern"].as_str() else {
            let member = format!("rules[{at}].pattern");
            return Err(BadAnswer::member(member, "a text", &rule["pattern"]));
        };
        rules.push(NativeRule {
            pattern: shown(pattern, MAX_PATTERN),
            action: action(&rule["action"], "action")?,
            enabled: rule["enabled"] != false,
            description: rule["description"].as_str().map(|text| shown(text, MAX_MESSAGE)),
        });
    }
    let left_out = u32::try_from(all.len() - rules.len()).unwrap_or(u32::MAX);
    Ok(NativePolicy { default_action, rules, left_out })
}

fn shown(text: &str, most: usize) -> Shown {
    display::shown(&short(text, most), Secrets::Show)
}

/// The beginning of a text that somebody else chose, in characters.
pub(super) fn short(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Nodes of one gateway that are listed: more than a person can tell apart.
const MAX_NODES: usize = 64;

/// Longest id of a node or name of an agent, in bytes.
const MAX_ID: usize = 256;

/// Longest name that is shown, in characters.
const MAX_NAME: usize = 80;

/// Longest hash that is kept, in bytes: a SHA-256 with a word before it takes 72.
const MAX_HASH: usize = 200;

/// Longest place that is shown, in characters.
const MAX_PATH: usize = 500;

/// Longest words of another machine that are shown, in characters.
pub(super) const MAX_MESSAGE: usize = 500;

/// Longest pattern of a node's own kind that is shown, in characters.
const MAX_PATTERN: usize = 2_000;

/// Rules of a node's own kind that are shown: they are there to be looked at only.
const MAX_NATIVE_RULES: usize = 500;

/// Largest document of another machine that is taken or sent, in bytes: thousands of entries.
pub(super) const MAX_DOCUMENT: usize = 1_024 * 1_024;

/// Most agents in it: each is a choice on the page.
const MAX_AGENTS: usize = 500;

/// Most entries in it: each is a row on the page.
const MAX_ENTRIES: usize = 5_000;

/// Numbers below it are no release of OpenClaw.
const FIRST: [u32; 3] = [2026, 1, 0];

/// A node of this release lets its document decide alone.
const DOCUMENT_ALONE: [u32; 3] = [2026, 2, 19];

/// From this release on a node takes the stricter of its document and its gateway's settings.
const STRICTER_OF_BOTH: [u32; 3] = [2026, 9, 6];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(answer: Value) -> String {
        match content(answer, None) {
            Err(bad) => bad.to_string(),
            Ok(Content::File(file)) => file.document.expect_err("no document").to_string(),
            Ok(_) => panic!("expected an error"),
        }
    }

    #[test]
    fn a_hostile_answer_is_refused_in_words() {
        let with = |file: Value| json!({"path": "p", "exists": true, "hash": "h", "file": file});
        let many = |count: usize| -> Map<String, Value> {
            (0..count).map(|at| (format!("a{at}"), json!({}))).collect()
        };
        let long: Vec<Value> = (0..=MAX_ENTRIES).map(|at| json!(format!("/{at}"))).collect();
        for (answer, expected) in [
            (json!(null), "expected an object, got nothing"),
            (json!([1]), "expected an object, got a list"),
            (json!({}), "exists: expected true or false, got nothing"),
            (json!({"exists": "yes"}), "exists: expected true or false, got a text"),
            (json!({"exists": true}), "file: expected an object, got nothing"),
            (with(json!("{}")), "file: expected an object, got a text"),
            (with(json!({})), "version: expected 1"),
            (with(json!({"version": 2})), "version: expected 1"),
            (with(json!({"version": 1, "agents": []})), "agents: expected an object"),
            (
                with(json!({"version": 1, "agents": many(MAX_AGENTS + 1)})),
                "agents: expected at most 500, got 501",
            ),
            (
                with(json!({"version": 1, "agents": {"x".repeat(257): {}}})),
                "agents: expected names of at most",
            ),
            (
                with(json!({"version": 1, "agents": {"a": {"allowlist": long}}})),
                "allowlists: expected at most 5000",
            ),
            (with(json!({"version": 1, "note": "x".repeat(MAX_DOCUMENT)})), "expected at most 1048576 bytes"),
            (with(json!({"version": 1, "agents": {"__proto__": {}}})), "agents: __proto__ is no agent id"),
            (json!({"enabled": 1}), "enabled: expected true or false"),
            (json!({"enabled": true}), "defaultAction: expected allow, deny or prompt, got nothing"),
            (json!({"enabled": true, "defaultAction": "allow", "rules": {}}), "rules: expected a list"),
            (
                json!({"enabled": true, "defaultAction": "allow", "rules": [{}]}),
                "rules[0].pattern: expected a text",
            ),
        ] {
            let text = error(answer);
            assert!(text.starts_with(expected), "{text}");
        }
    }

    #[test]
    fn a_document_without_a_usable_hash_is_one_without_a_hash() {
        for (hash, expected) in [
            (json!("abc"), Some("abc")),
            (json!("missing:abc"), Some("missing:abc")),
            (json!(" "), None),
            (json!(7), None),
            (json!("x".repeat(MAX_HASH + 1)), None),
        ] {
            let answer = json!({"exists": false, "hash": hash});
            let Ok(Content::File(file)) = content(answer, None) else { panic!("a document") };
            assert_eq!(file.hash.as_deref(), expected);
            assert!(file.document.is_ok() && !file.exists);
        }
    }

    #[test]
    fn rules_of_a_nodes_own_kind_are_told_apart_from_a_document() {
        let rules =
            vec![json!({"pattern": "rm\u{202e}", "action": "deny", "enabled": false}); MAX_NATIVE_RULES + 2];
        let answer = json!({"enabled": true, "hash": "h", "defaultAction": "prompt", "rules": rules});
        let Ok(Content::Native(native)) = content(answer, None) else { panic!("rules of its own") };
        assert_eq!((native.default_action, native.left_out), (NativeAction::Prompt, 2));
        assert_eq!((native.rules[0].action, native.rules[0].enabled), (NativeAction::Deny, false));
        assert!(native.rules[0].pattern.spans.iter().any(|span| span.text == "U+202E"));
        let off = content(json!({"enabled": false, "message": "x".repeat(9_000)}), None);
        let Ok(Content::Disabled(Some(text))) = off else { panic!("switched off") };
        assert_eq!(text.spans[0].text.chars().count(), MAX_MESSAGE + 1);
    }

    #[test]
    fn only_nodes_that_run_commands_are_listed_and_no_more_than_there_is_room_for() {
        let get = ["system.execApprovals.get"];
        let answer = json!({"nodes": [
            {"nodeId": "b", "displayName": " pi ", "commands": get, "connected": true, "coreVersion": "2026.9.6"},
            {"nodeId": "b", "displayName": "twice", "commands": get},
            {"nodeId": "a", "remoteIp": "10.0.0.1", "commands": ["system.run"], "version": "2026.2.19"},
            {"nodeId": "camera", "commands": ["camera.snap"]},
            {"nodeId": "odd", "commands": "system.run"},
            {"nodeId": 7, "commands": get},
            {"nodeId": "x".repeat(257), "commands": get},
            7,
        ]});
        let (found, left_out) = nodes(&answer).unwrap();
        let names: Vec<_> =
            found.iter().map(|node| (node.name.as_str(), node.connected, node.gives)).collect();
        assert_eq!((names, left_out), (vec![("10.0.0.1", false, false), ("pi", true, true)], 3));
        let reaches: Vec<_> = found.iter().map(Node::reach).collect();
        assert_eq!(reaches, [PolicyReach::NodeAlone, PolicyReach::Node]);
        let crowd: Vec<_> =
            (0..MAX_NODES + 5).map(|at| json!({"nodeId": format!("{at}"), "commands": get})).collect();
        let (found, left_out) = nodes(&json!({ "nodes": crowd })).unwrap();
        assert_eq!((found.len(), left_out), (MAX_NODES, 5));
        assert_eq!(found[0].reach(), PolicyReach::NodeUnclear);
        assert!(nodes(&json!([])).is_err());
    }
}
