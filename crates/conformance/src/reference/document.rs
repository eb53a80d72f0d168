//! The approvals document as the peers read it (docs/protocol/document.md). The older release takes what it
//! cannot read for an empty document and keeps words that mean nothing; the newest denies everything then,
//! and has permissive values where nothing is said.

use super::Release;
use countersign_policy::document::{self, Parsed};
use countersign_protocol::document::{Document, WILDCARD_AGENT};
use countersign_protocol::socket::{PolicySnapshot, SnapshotRule};
use countersign_protocol::vocabulary::{Ask, Security};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::str::FromStr;

/// Stored bytes as a release takes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Whether anything is stored.
    pub exists: bool,
    /// Why the newest release does not use it.
    pub problem: Option<String>,
    /// Hash of what is stored.
    pub hash: String,
    /// What is in force.
    pub document: Map<String, Value>,
}

/// Values of one layer or of their combination.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Values {
    /// Security.
    pub security: Security,
    /// Ask.
    pub ask: Ask,
    /// What may run when nobody can be asked.
    pub ask_fallback: Security,
    /// Trust in skills.
    pub auto_allow_skills: bool,
}

/// What a gateway's configuration puts below the document's defaults.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Overrides {
    /// Security.
    pub security: Option<Security>,
    /// Ask.
    pub ask: Option<Ask>,
    /// What may run when nobody can be asked.
    pub ask_fallback: Option<Security>,
    /// Trust in skills.
    pub auto_allow_skills: Option<bool>,
}

/// What is in force for an agent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Resolved {
    /// For the agent.
    pub agent: Values,
    /// For an agent that is not named.
    pub defaults: Values,
    /// Patterns of `*`, then of the agent.
    pub patterns: Vec<String>,
}

/// Reads what is stored; `new_id` makes ids for entries without one.
pub fn load(release: Release, text: Option<&str>, new_id: &mut dyn FnMut() -> String) -> Loaded {
    let hash = document::hash(text.map(str::as_bytes));
    let empty = Map::new();
    let (problem, stored) = match release {
        Release::Older => (None, text.and_then(older_document).unwrap_or(empty)),
        Release::Newest => match document::parse(text.map(str::as_bytes)) {
            Parsed::Missing => (None, empty),
            Parsed::Usable(document) if has_null_use(&document.0) => {
                (Some("an entry's use: expected a time or a command, got null".to_owned()), Map::new())
            }
            Parsed::Usable(mut document) => {
                read_entries(&mut document.0);
                (None, document.0)
            }
            Parsed::Unusable(problem) => (Some(problem.to_string()), Map::new()),
        },
    };
    let mut document = normalised(release, &stored, new_id);
    if problem.is_some() {
        let closed =
            json!({ "security": "deny", "ask": "off", "askFallback": "deny", "autoAllowSkills": false });
        document.insert("defaults".into(), closed);
    }
    let missing = text.is_none() && release == Release::Newest;
    let hash = if missing { format!("missing:{hash}") } else { hash };
    Loaded { exists: text.is_some(), problem, hash, document }
}

/// Whether an entry has a use that is null: taken for absent here and by the release's import of older files,
/// and for a fault in what it reads itself.
fn has_null_use(document: &Map<String, Value>) -> bool {
    let agents = document.get("agents").and_then(Value::as_object).into_iter().flatten();
    let mut entries = agents.filter_map(|(_, scope)| scope.get("allowlist")?.as_array()).flatten();
    entries.any(|entry| {
        ["lastUsedAt", "lastUsedCommand"].iter().any(|name| entry.get(name) == Some(&Value::Null))
    })
}

/// An entry that is read back is an object and knows one source; every other word for it is dropped.
fn read_entries(document: &mut Map<String, Value>) {
    let agents = document.get_mut("agents").and_then(Value::as_object_mut).into_iter().flatten();
    let lists = agents.filter_map(|(_, scope)| scope.get_mut("allowlist")?.as_array_mut());
    for entry in lists.flatten() {
        if let Some(pattern) = entry.as_str() {
            *entry = json!({ "pattern": pattern.trim() });
        }
        if let Some(members) = entry.as_object_mut() {
            members.retain(|name, value| name != "source" || *value == GENERATED);
        }
    }
}

/// Where two names of one agent are joined, entries that are nothing but a pattern are lost.
fn lose_plain_entries(document: &mut Map<String, Value>) {
    let Some(agents) = document.get_mut("agents").and_then(Value::as_object_mut) else { return };
    if !agents.contains_key("main") || !agents.contains_key("default") {
        return;
    }
    for name in ["main", "default"] {
        let list = agents.get_mut(name).and_then(|scope| scope.get_mut("allowlist")?.as_array_mut());
        list.into_iter().for_each(|list| list.retain(|entry| !entry.is_string()));
    }
}

/// The normal form that a release writes and answers with.
pub fn normalised(
    release: Release,
    stored: &Map<String, Value>,
    new_id: &mut dyn FnMut() -> String,
) -> Map<String, Value> {
    let known = |document: Map<String, Value>| {
        let part = |name: &str, members: &[&str]| {
            let object = document.get(name).and_then(Value::as_object);
            let kept = |member: &&str| Some(((*member).to_owned(), object?.get(*member)?.clone()));
            Value::Object(members.iter().filter_map(kept).collect())
        };
        let mut root = Map::new();
        root.insert("version".into(), 1.into());
        root.insert("socket".into(), part("socket", &["path", "token"]));
        root.insert(
            "defaults".into(),
            part("defaults", &["security", "ask", "askFallback", "autoAllowSkills"]),
        );
        root.insert("agents".into(), document.get("agents").cloned().unwrap_or_else(|| json!({})));
        root
    };
    match release {
        Release::Newest => {
            let mut stored = stored.clone();
            lose_plain_entries(&mut stored);
            known(document::normalised(&Document(stored), new_id).0)
        }
        Release::Older => {
            let mut document = stored.clone();
            document.insert("socket".into(), normal_socket(stored));
            document.insert("agents".into(), older_agents(stored, new_id));
            known(document)
        }
    }
}

/// What is in force for `agent`.
pub fn resolve(release: Release, text: Option<&str>, agent: Option<&str>, overrides: &Overrides) -> Resolved {
    let document = load(release, text, &mut String::new).document;
    let unnamed = match release {
        Release::Older => "main",
        // Nothing is stored under this name any more, so only `*` and the defaults speak.
        Release::Newest => "default",
    };
    let agent = agent.unwrap_or(unnamed);
    let layers = Layers::of(release, &document, &document, agent);
    let defaults = layers.defaults(overrides);
    let patterns = layers.entries().filter_map(|entry| entry.get("pattern")?.as_str()).map(str::to_owned);
    Resolved { agent: layers.agent(defaults), defaults, patterns: patterns.collect() }
}

/// What a forwarded grant is compared with. Which layer decides is looked up in the document as it is stored,
/// what it says in the normal form of it.
pub fn snapshot(release: Release, document: &Map<String, Value>, agent: Option<&str>) -> PolicySnapshot {
    let normal = normalised(release, document, &mut String::new);
    let layers = Layers::of(release, document, &normal, agent.unwrap_or("default"));
    let values = layers.agent(layers.defaults(&Overrides::default()));
    let rule = |entry: &Value| {
        let text = |name: &str| Some(entry.get(name)?.as_str()?.to_owned());
        let source = text("source").filter(|source| source == GENERATED);
        Some(SnapshotRule { pattern: text("pattern")?, arg_pattern: text("argPattern"), source })
    };
    let rules: BTreeSet<SnapshotRule> = layers.entries().filter_map(rule).collect();
    PolicySnapshot {
        security: values.security,
        ask: values.ask,
        ask_fallback: values.ask_fallback,
        auto_allow_skills: values.auto_allow_skills,
        allowlist_rules: rules.into_iter().collect(),
    }
}

/// Socket path and token of a document that comes in: its own, else the stored ones, else new ones.
pub fn merged_socket(
    release: Release,
    incoming: &Document,
    current: Option<&Document>,
    default_path: &str,
    new_token: &str,
) -> (String, String) {
    let text = |document: &Document, name: &str| {
        Some(document.0.get("socket")?.get(name)?.as_str()?.trim().to_owned())
    };
    let stored = |name: &str| {
        let text = text(current?, name)?;
        // The newest release takes a blank one that is stored for one.
        (release == Release::Newest || !text.is_empty()).then_some(text)
    };
    let member = |name: &str| text(incoming, name).filter(|text| !text.is_empty()).or_else(|| stored(name));
    let token = match release {
        // The next start makes one.
        Release::Older => String::new(),
        Release::Newest => new_token.to_owned(),
    };
    (member("path").unwrap_or_else(|| default_path.to_owned()), member("token").unwrap_or(token))
}

struct Layers<'a> {
    release: Release,
    own: Option<&'a Map<String, Value>>,
    wildcard: Option<&'a Map<String, Value>>,
    defaults: Option<&'a Map<String, Value>>,
    /// The same as they are stored.
    stored_own: Option<&'a Map<String, Value>>,
    stored_wildcard: Option<&'a Map<String, Value>>,
}

impl<'a> Layers<'a> {
    fn of(
        release: Release,
        stored: &'a Map<String, Value>,
        normal: &'a Map<String, Value>,
        agent: &str,
    ) -> Self {
        let scope =
            |document: &'a Map<String, Value>, name: &str| document.get("agents")?.get(name)?.as_object();
        Self {
            release,
            own: scope(normal, agent),
            wildcard: scope(normal, WILDCARD_AGENT),
            defaults: normal.get("defaults").and_then(Value::as_object),
            stored_own: scope(stored, agent),
            stored_wildcard: scope(stored, WILDCARD_AGENT),
        }
    }

    /// Entries of `*`, then of the agent.
    fn entries(&self) -> impl Iterator<Item = &'a Value> {
        let scopes = [self.wildcard, self.own].into_iter().flatten();
        scopes.filter_map(|scope| scope.get("allowlist")?.as_array()).flatten()
    }

    fn defaults(&self, overrides: &Overrides) -> Values {
        let (security, ask) = match self.release {
            Release::Older => (Security::Deny, Ask::OnMiss),
            Release::Newest => (Security::Full, Ask::Off),
        };
        let skills = self.defaults.and_then(|scope| scope.get("autoAllowSkills")).map(is_truthy);
        Values {
            security: word(self.defaults, "security").or(overrides.security).unwrap_or(security),
            ask: word(self.defaults, "ask").or(overrides.ask).unwrap_or(ask),
            ask_fallback: word(self.defaults, "askFallback")
                .or(overrides.ask_fallback)
                .unwrap_or(Security::Deny),
            auto_allow_skills: skills.or(overrides.auto_allow_skills).unwrap_or(false),
        }
    }

    fn agent(&self, defaults: Values) -> Values {
        let layers = || [self.own, self.wildcard].into_iter().flatten();
        let skills = layers().find_map(|scope| scope.get("autoAllowSkills").filter(|value| !value.is_null()));
        Values {
            security: self.field("security").unwrap_or(defaults.security),
            ask: self.field("ask").unwrap_or(defaults.ask),
            ask_fallback: self.field("askFallback").unwrap_or(defaults.ask_fallback),
            auto_allow_skills: skills.map_or(defaults.auto_allow_skills, is_truthy),
        }
    }

    /// The first layer that says anything decides; when that is no word of the field, the defaults do.
    fn field<T: FromStr>(&self, name: &str) -> Option<T> {
        let says = |scope: Option<&Map<String, Value>>| {
            scope.and_then(|scope| scope.get(name)).is_some_and(|value| !value.is_null())
        };
        if says(self.stored_own) {
            word(self.own, name)
        } else if says(self.stored_wildcard) {
            word(self.wildcard, name)
        } else {
            None
        }
    }
}

fn word<T: FromStr>(scope: Option<&Map<String, Value>>, name: &str) -> Option<T> {
    scope?.get(name)?.as_str()?.parse().ok()
}

/// What JavaScript takes for true.
fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(_) | Value::Object(_) => true,
    }
}

fn older_document(text: &str) -> Option<Map<String, Value>> {
    let Ok(Value::Object(root)) = serde_json::from_str(text) else { return None };
    (root.get("version").and_then(Value::as_f64) == Some(1.0)).then_some(root)
}

fn normal_socket(stored: &Map<String, Value>) -> Value {
    let text = |name: &str| {
        let text = stored.get("socket")?.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| (name.to_owned(), Value::from(text)))
    };
    Value::Object(["path", "token"].into_iter().filter_map(text).collect())
}

fn older_agents(stored: &Map<String, Value>, new_id: &mut dyn FnMut() -> String) -> Value {
    let mut agents = stored.get("agents").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(legacy) = agents.shift_remove("default") {
        let main = match agents.get("main") {
            Some(main) => older_merged(main, &legacy),
            None => legacy,
        };
        agents.insert("main".into(), main);
    }
    for agent in agents.values_mut() {
        let Some(scope) = agent.as_object_mut() else { continue };
        let Some(list) = scope.get("allowlist") else { continue };
        match older_list(list, new_id) {
            Some(list) => scope.insert("allowlist".into(), list),
            None => scope.shift_remove("allowlist"),
        };
    }
    Value::Object(agents)
}

/// Only the members that every release knew, those of `main` first.
fn older_merged(main: &Value, legacy: &Value) -> Value {
    let member = |name: &str| main.get(name).filter(|value| !value.is_null()).or_else(|| legacy.get(name));
    let names = ["security", "ask", "askFallback", "autoAllowSkills"];
    let mut merged: Map<String, Value> =
        names.iter().filter_map(|name| Some(((*name).to_owned(), member(name)?.clone()))).collect();
    let mut seen = std::collections::HashSet::new();
    let lists = [main, legacy].into_iter().filter_map(|scope| scope.get("allowlist")?.as_array()).flatten();
    let entries: Vec<Value> = lists
        .filter(|entry| {
            let pattern = entry.as_str().or_else(|| entry.get("pattern")?.as_str()).map(str::trim);
            pattern.is_some_and(|pattern| !pattern.is_empty() && seen.insert(pattern.to_lowercase()))
        })
        .cloned()
        .collect();
    if !entries.is_empty() {
        merged.insert("allowlist".into(), entries.into());
    }
    Value::Object(merged)
}

fn older_list(list: &Value, new_id: &mut dyn FnMut() -> String) -> Option<Value> {
    let list = list.as_array()?;
    let entry = |entry: &Value| {
        let mut members = match entry {
            Value::String(pattern) => Map::from_iter([("pattern".to_owned(), pattern.trim().into())]),
            Value::Object(members) => members.clone(),
            _ => return None,
        };
        members.get("pattern")?.as_str().filter(|pattern| !pattern.trim().is_empty())?;
        if members.get("id").is_none_or(|id| !is_truthy(id)) {
            members.insert("id".into(), new_id().into());
        }
        Some(Value::Object(members))
    };
    let mut entry = entry;
    let kept: Vec<Value> = list.iter().filter_map(&mut entry).collect();
    (list.is_empty() || !kept.is_empty()).then(|| kept.into())
}

/// The `source` of an entry that an answer made.
const GENERATED: &str = "allow-always";
