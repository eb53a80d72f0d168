//! `tools.json`: where commands run, in the peers' own keys, and ours for the sandbox beside them.
//!
//! The file is kept as it was written but for what is changed: members that mean nothing here stay. A value
//! that is not understood makes all of it count for nothing, because what it was to shut would be open.

use countersign_core::json::kind;
use countersign_core::private::{self, Others};
use countersign_core::trust::{self, TrustError};
use countersign_protocol::digits::hex;
use countersign_protocol::ui::{RouteSetting, SandboxKind};
use countersign_protocol::vocabulary::ExecMode;
use countersign_routing::elevated::Gates;
use countersign_routing::route::Settings;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

/// The file.
#[derive(Debug)]
pub(super) struct ToolsFile {
    path: PathBuf,
    /// One change at a time, and what was read last.
    last: Mutex<Option<Arc<Current>>>,
}

/// What the file says at one time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Current {
    /// Of its bytes; empty when there is no file.
    pub(super) hash: String,
    /// What it says, or why that cannot be told.
    pub(super) tools: Result<ToolsDocument, Problem>,
}

/// What is set.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ToolsDocument {
    document: Map<String, Value>,
    /// For all agents.
    pub(super) global: Scope,
    /// For single ones.
    pub(super) agents: BTreeMap<String, Scope>,
    /// What sandboxes are made of.
    pub(super) sandbox: SandboxSettings,
}

/// What is set for one agent or for all.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Scope {
    /// `tools.exec`.
    pub(super) exec: Settings,
    /// `tools.elevated`.
    pub(super) gates: Gates,
}

/// `tools.exec.sandbox`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SandboxSettings {
    pub(super) kind: SandboxKind,
    pub(super) image: Option<String>,
    pub(super) network: bool,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        Self { kind: SandboxKind::Bubblewrap, image: None, network: false }
    }
}

/// Why `tools.json` counts for nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{path}: {why}")]
pub struct Problem {
    path: String,
    why: Why,
}

/// The same without the file's path. Kept with what the file says, so what others say of it is written out.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
enum Why {
    /// What lies there is no such file, or nobody could look.
    #[error("{0}")]
    Unread(String),
    /// It is no JSON.
    #[error("expected JSON: {0}")]
    NoJson(String),
    /// Something in it makes no sense.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// What in the file, or in a change of it, makes no sense.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// The whole of it is no object.
    #[error("expected an object, got {got}")]
    NoObject {
        /// What it is.
        got: &'static str,
    },
    /// Another value than one of those that can be.
    #[error("{path}: expected {expected}, got {got}")]
    Value {
        /// Where.
        path: String,
        /// What can be there.
        expected: String,
        /// What is.
        got: String,
    },
    /// Something is missing, or too long.
    #[error("{path}: expected {expected}")]
    Expected {
        /// Where.
        path: String,
        /// What should be there.
        expected: String,
    },
    /// A text that is empty or too long.
    #[error("{field}: expected {least} to {most} characters")]
    Length {
        /// The member of the setting.
        field: &'static str,
        /// Fewest characters.
        least: usize,
        /// Most of them.
        most: usize,
    },
    /// What runs without an entry.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// Two entries for one agent.
    #[error("agents: {0:?} is there twice")]
    Twice(String),
}

impl Invalid {
    fn value(path: impl Into<String>, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self::Value { path: path.into(), expected: expected.into(), got: got.into() }
    }

    fn expected(path: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::Expected { path: path.into(), expected: expected.into() }
    }
}

/// Why an edit was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum EditError {
    /// The file is another one by now.
    #[error("the file changed meanwhile: expected {expected:?}, found {found:?}")]
    Stale {
        /// Hash that the edit was made from.
        expected: String,
        /// Hash of what is there.
        found: String,
    },
    /// Something in it makes no sense.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// What is there cannot be understood, so it is not written over.
    #[error(transparent)]
    Broken(#[from] Problem),
    /// The system refused.
    #[error("cannot write {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl ToolsFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, last: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What it says now. Read each time, so that another program's change counts at once. Blocking.
    pub(super) fn current(&self) -> Arc<Current> {
        self.read(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes another setting for an agent or for all, if the file is still the one that `base_hash`
    /// names. Blocking.
    pub(super) fn set(
        &self,
        base_hash: &str,
        agent: Option<&str>,
        setting: &RouteSetting,
    ) -> Result<Arc<Current>, EditError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.read(&mut last);
        if current.hash != base_hash {
            return Err(EditError::Stale { expected: base_hash.to_owned(), found: current.hash.clone() });
        }
        let changed = current.tools.clone()?.with(agent, setting)?;
        let io = |source| EditError::Io { path: self.path.clone(), source };
        let mut bytes = serde_json::to_vec_pretty(&changed.document).map_err(|error| io(error.into()))?;
        bytes.push(b'\n');
        private::write(&self.path, &bytes).map_err(io)?;
        Ok(self.read(&mut last))
    }

    fn read(&self, last: &mut Option<Arc<Current>>) -> Arc<Current> {
        let current = match private::read(&self.path, MAX_BYTES, Others::MayRead) {
            Ok(None) => Current { hash: String::new(), tools: Ok(ToolsDocument::default()) },
            Ok(Some(text)) => {
                let hash = hash(text.as_bytes());
                if let Some(last) = last.as_ref().filter(|last| last.hash == hash) {
                    return Arc::clone(last);
                }
                Current {
                    hash,
                    tools: ToolsDocument::parse(text.as_bytes()).map_err(|why| self.problem(why)),
                }
            }
            Err(spoiled) => Current { hash: UNREADABLE.to_owned(), tools: Err(self.unread(&spoiled)) },
        };
        let current = Arc::new(current);
        *last = Some(Arc::clone(&current));
        current
    }

    fn problem(&self, why: Why) -> Problem {
        Problem { path: self.path.display().to_string(), why }
    }

    /// Nobody could look at it.
    pub(super) fn unread(&self, error: &impl std::error::Error) -> Problem {
        self.problem(Why::Unread(error.to_string()))
    }
}

/// All that the file says, or why it counts for nothing. Blocking.
pub(crate) fn document_in(file: &Path) -> Result<Map<String, Value>, Problem> {
    let current = ToolsFile::new(file.to_owned()).current();
    current.tools.as_ref().map(|tools| tools.document.clone()).map_err(Clone::clone)
}

/// What of the file is understood, for a look at whether each key is.
#[cfg(test)]
pub(crate) fn reading(file: &Path) -> String {
    match &ToolsFile::new(file.to_owned()).current().tools {
        Ok(ToolsDocument { global, agents, sandbox, document: _ }) => {
            format!("{global:?}{agents:?}{sandbox:?}")
        }
        Err(problem) => problem.to_string(),
    }
}

impl ToolsDocument {
    /// Everything that the file says.
    pub(super) fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// What is set for an agent.
    pub(super) fn of(&self, agent: &str) -> Scope {
        self.agents.get(agent).cloned().unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Result<Self, Why> {
        let value: Value = serde_json::from_slice(bytes).map_err(|error| Why::NoJson(error.to_string()))?;
        let Value::Object(document) = value else {
            return Err(Invalid::NoObject { got: kind(&value) }.into());
        };
        Ok(Self::read(document)?)
    }

    fn read(document: Map<String, Value>) -> Result<Self, Invalid> {
        let root = At { path: String::new(), members: Some(&document) };
        let tools = root.object("tools")?;
        let global = Scope::read(&tools)?;
        let sandbox = SandboxSettings::read(&tools.object("exec")?.object("sandbox")?)?;
        let mut agents = BTreeMap::new();
        let all = root.object("agents")?;
        for (id, scope) in all.object("entries")?.objects()? {
            agents.insert(id, Scope::read(&scope.object("tools")?)?);
        }
        for entry in all.list("list")? {
            let id = entry.text("id")?.ok_or_else(|| Invalid::expected(entry.below("id"), "a text"))?;
            if agents.insert(id.clone(), Scope::read(&entry.object("tools")?)?).is_some() {
                return Err(Invalid::Twice(id));
            }
        }
        if agents.len() > MAX_AGENTS {
            let most = format!("at most {MAX_AGENTS}");
            return Err(Invalid::value("agents", most, agents.len().to_string()));
        }
        trust::check(&document)?;
        Ok(Self { document, global, agents, sandbox })
    }

    /// With another setting for an agent or for all.
    pub(super) fn with(self, agent: Option<&str>, setting: &RouteSetting) -> Result<Self, EditError> {
        let mut document = self.document;
        let no_object = |path: &str| Invalid::expected(path, "an object");
        let place = match agent.map(str::trim) {
            None => &mut document,
            Some(id) if id.is_empty() || id.chars().count() > MAX_ID => {
                return Err(Invalid::Length { field: "agent", least: 1, most: MAX_ID }.into());
            }
            Some(id) => agent_place(&mut document, id).ok_or_else(|| no_object("agents"))?,
        };
        let tools = object(place, "tools").ok_or_else(|| no_object("tools"))?;
        let exec = object(tools, "exec").ok_or_else(|| no_object("tools.exec"))?;
        let put = |exec: &mut Map<String, Value>, key: &str, value: Option<String>| match value {
            Some(value) => {
                exec.insert(key.to_owned(), Value::String(value));
            }
            // Not `remove`: the others keep their order.
            None => drop(exec.shift_remove(key)),
        };
        let node = setting.node.as_deref().map(str::trim).filter(|node| !node.is_empty());
        if node.is_some_and(|node| node.chars().count() > MAX_ID) {
            return Err(Invalid::Length { field: "node", least: 0, most: MAX_ID }.into());
        }
        put(exec, "host", setting.host.map(|host| host.to_string()));
        put(exec, "node", node.map(str::to_owned));
        // One word for both stands alone: it stays where it already says the same, else both are written out.
        let mode = exec.get("mode").and_then(Value::as_str).and_then(|mode| ExecMode::from_str(mode).ok());
        if mode.is_none_or(|mode| Some(mode.policy()) != setting.security.zip(setting.ask)) {
            exec.shift_remove("mode");
            put(exec, "security", setting.security.map(|security| security.to_string()));
            put(exec, "ask", setting.ask.map(|ask| ask.to_string()));
        }
        prune(place);
        if agent.is_some() {
            prune_agents(&mut document);
        }
        Ok(Self::read(document)?)
    }
}

impl Scope {
    fn read(tools: &At<'_>) -> Result<Self, Invalid> {
        let exec = tools.object("exec")?;
        let settings = Settings {
            host: exec.word("host", "auto, sandbox, gateway or node")?,
            node: exec.text("node")?.map(|node| node.trim().to_owned()).filter(|node| !node.is_empty()),
            mode: exec.word("mode", "deny, allowlist, ask, auto or full")?,
            security: exec.word("security", "deny, allowlist or full")?,
            ask: exec.word("ask", "off, on-miss or always")?,
            sandbox_required: exec.object("sandbox")?.truth("required")?.unwrap_or_default(),
        };
        if settings.mode.is_some() && (settings.security.is_some() || settings.ask.is_some()) {
            return Err(Invalid::value(exec.path, "mode alone", "security or ask beside it"));
        }
        let elevated = tools.object("elevated")?;
        let mut allow_from = None;
        if elevated.has("allowFrom") {
            let mut from = BTreeMap::new();
            for (provider, entries) in elevated.object("allowFrom")?.members() {
                let path = format!("{}.allowFrom.{provider}", elevated.path);
                from.insert(provider.clone(), senders(entries, &path)?);
            }
            allow_from = Some(from);
        }
        let gates = Gates { enabled: elevated.truth("enabled")?, allow_from };
        Ok(Self { exec: settings, gates })
    }

    /// As a window sets it.
    pub(super) fn setting(&self) -> RouteSetting {
        let (security, ask) = match self.exec.mode.map(ExecMode::policy) {
            Some((security, ask)) => (Some(security), Some(ask)),
            None => (self.exec.security, self.exec.ask),
        };
        RouteSetting { host: self.exec.host, node: self.exec.node.clone(), security, ask }
    }
}

impl SandboxSettings {
    fn read(sandbox: &At<'_>) -> Result<Self, Invalid> {
        let kind = match sandbox.text("backend")?.as_deref() {
            None | Some("bubblewrap") => SandboxKind::Bubblewrap,
            Some("docker") => SandboxKind::Docker,
            Some("podman") => SandboxKind::Podman,
            Some(other) => {
                let expected = "bubblewrap, docker or podman";
                return Err(Invalid::value(sandbox.below("backend"), expected, format!("{other:?}")));
            }
        };
        let image = sandbox.text("image")?.map(|image| image.trim().to_owned());
        if kind != SandboxKind::Bubblewrap {
            let path = sandbox.below("image");
            // A word that the container's program would take for one of its own options is no image.
            match image.as_deref() {
                None | Some("") => {
                    return Err(Invalid::expected(path, "one, as the backend needs it"));
                }
                Some(image) if image.starts_with('-') || image.chars().any(char::is_whitespace) => {
                    return Err(Invalid::value(path, "an image's name", format!("{image:?}")));
                }
                Some(_) => {}
            }
        }
        Ok(Self { kind, image, network: sandbox.truth("network")?.unwrap_or_default() })
    }
}

/// An object and where it is; one that is not there has no members.
struct At<'a> {
    path: String,
    members: Option<&'a Map<String, Value>>,
}

impl<'a> At<'a> {
    fn below(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn get(&self, key: &str) -> Option<&'a Value> {
        self.members?.get(key)
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    fn members(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.members.into_iter().flatten()
    }

    fn object(&self, key: &str) -> Result<Self, Invalid> {
        let path = self.below(key);
        match self.get(key) {
            None => Ok(Self { path, members: None }),
            Some(Value::Object(members)) => Ok(Self { path, members: Some(members) }),
            Some(other) => Err(Invalid::value(path, "an object", kind(other))),
        }
    }

    fn objects(&self) -> Result<Vec<(String, Self)>, Invalid> {
        self.members().map(|(key, _)| Ok((key.clone(), self.object(key)?))).collect()
    }

    fn list(&self, key: &str) -> Result<Vec<Self>, Invalid> {
        let path = self.below(key);
        match self.get(key) {
            None => Ok(Vec::new()),
            Some(Value::Array(entries)) => entries
                .iter()
                .enumerate()
                .map(|(at, entry)| match entry {
                    Value::Object(members) => {
                        Ok(Self { path: format!("{path}[{at}]"), members: Some(members) })
                    }
                    other => Err(Invalid::value(format!("{path}[{at}]"), "an object", kind(other))),
                })
                .collect(),
            Some(other) => Err(Invalid::value(path, "a list", kind(other))),
        }
    }

    fn text(&self, key: &str) -> Result<Option<String>, Invalid> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(Invalid::value(self.below(key), "a text", kind(other))),
        }
    }

    fn truth(&self, key: &str) -> Result<Option<bool>, Invalid> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(*truth)),
            Some(other) => Err(Invalid::value(self.below(key), "true or false", kind(other))),
        }
    }

    fn word<T: FromStr>(&self, key: &str, expected: &str) -> Result<Option<T>, Invalid> {
        let wrong = |got: String| Invalid::value(self.below(key), expected, got);
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => text.parse().map(Some).map_err(|_| wrong(format!("{text:?}"))),
            Some(other) => Err(wrong(kind(other).to_owned())),
        }
    }
}

/// Who is let through; peers write numbers too.
fn senders(value: &Value, path: &str) -> Result<Vec<String>, Invalid> {
    let Value::Array(entries) = value else {
        return Err(Invalid::value(path, "a list", kind(value)));
    };
    let sender = |entry: &Value| match entry {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        other => Err(Invalid::value(path, "texts", kind(other))),
    };
    entries.iter().map(sender).collect()
}

fn object<'a>(members: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    members.entry(key).or_insert_with(|| Value::Object(Map::new())).as_object_mut()
}

/// Where an agent's settings are: in the older list if it is there, else among the entries.
fn agent_place<'a>(document: &'a mut Map<String, Value>, id: &str) -> Option<&'a mut Map<String, Value>> {
    let agents = object(document, "agents")?;
    let is_it = |entry: &Value| entry.get("id").and_then(Value::as_str) == Some(id);
    let listed = agents.get("list").and_then(Value::as_array).and_then(|list| list.iter().position(is_it));
    match listed {
        Some(at) => agents.get_mut("list")?.as_array_mut()?.get_mut(at)?.as_object_mut(),
        None => object(object(agents, "entries")?, id),
    }
}

/// Takes out what became empty.
fn prune(place: &mut Map<String, Value>) {
    if let Some(tools) = place.get_mut("tools").and_then(Value::as_object_mut) {
        if is_empty(tools.get("exec")) {
            tools.shift_remove("exec");
        }
        if tools.is_empty() {
            place.shift_remove("tools");
        }
    }
}

fn prune_agents(document: &mut Map<String, Value>) {
    let Some(agents) = document.get_mut("agents").and_then(Value::as_object_mut) else { return };
    if let Some(entries) = agents.get_mut("entries").and_then(Value::as_object_mut) {
        entries.retain(|_, entry| !is_empty(Some(entry)));
    }
    if is_empty(agents.get("entries")) {
        agents.shift_remove("entries");
    }
    if agents.is_empty() {
        document.shift_remove("agents");
    }
}

fn is_empty(value: Option<&Value>) -> bool {
    value.and_then(Value::as_object).is_some_and(Map::is_empty)
}

fn hash(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes))
}

/// Hash of what cannot be read: no edit is made from it.
const UNREADABLE: &str = "unreadable";

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1_024 * 1_024;

/// Agents that may have settings of their own: more than anybody runs.
const MAX_AGENTS: usize = 256;

/// Longest id of an agent or text for a node, in characters.
const MAX_ID: usize = 200;

#[cfg(test)]
mod tests;
