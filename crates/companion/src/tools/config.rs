//! What `tools.json` says of ours besides the peers' keys: hooks, hand-overs, and what is always asked about.
//!
//! ```json
//! {"tools": {
//!   "hooks": [{"name": "audit", "command": ["/usr/local/bin/audit"], "priority": 0, "when": "after"}],
//!   "subagent": {"command": ["/usr/local/bin/agent", "--task-on-stdin"]},
//!   "spawn": {"command": ["/usr/local/bin/agent"]},
//!   "askAbout": ["read_file"],
//!   "pet": {"askAbout": ["exec", "write_file"]}
//! }}
//! ```
//!
//! As with the peers' keys, members of `tools` that mean nothing here stay, and in the small objects
//! they are an error.

use crate::routing::{Problem, document_in};
use countersign_node::executor::program::Program;
use countersign_tool_policy as tool_policy;
use countersign_tool_policy::normalised;
use countersign_tools::exec;
use countersign_tools::gate::Gating;
use countersign_tools::hand_over::HandOvers;
use countersign_tools::hooks::external::{Command, External, Moments};
use countersign_tools::hooks::{Hook, Merge};
use countersign_tools::programs::Programs;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// What is set.
#[derive(Debug, PartialEq)]
pub(super) struct Own {
    hooks: Vec<Command>,
    pub(super) merge: Merge,
    pub(super) hand_overs: HandOvers,
    pub(super) gating: Gating,
    /// What holds for commands where a call says nothing else.
    pub(super) exec: exec::Settings,
    /// Whether a session is told how a command ended that went on in the background.
    pub(super) tells_ends: bool,
}

/// Why all of it counts for nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum OwnError {
    /// A value that is not understood.
    #[error("{path}: {source}")]
    Value {
        /// Where.
        path: String,
        /// What was expected and what came.
        source: serde_json::Error,
    },
    /// A number that is none of those that can be.
    #[error("{path}: expected {least} to {most}, got {got}")]
    Range {
        /// Where.
        path: &'static str,
        /// Smallest.
        least: u64,
        /// Largest.
        most: u64,
        /// What came.
        got: u64,
    },
    /// A program that cannot be started.
    #[error("{path}: {source}")]
    Program {
        /// Where.
        path: String,
        /// Why not.
        source: countersign_node::executor::program::BadProgram,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HookEntry {
    name: String,
    command: Vec<String>,
    #[serde(default)]
    priority: i32,
    when: When,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum When {
    After,
    Before,
    Both,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Handed {
    command: Vec<String>,
}

/// The peers' keys for commands that are read here; others of `tools.exec` are about where commands run.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExecKeys {
    timeout_sec: Option<u64>,
    /// The same in the newest release, and before the other.
    timeout_seconds: Option<u64>,
    background_ms: Option<u64>,
    notify_on_exit: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Asking {
    ask_about: Option<Vec<String>>,
}

/// What is wrong with `tools.json`.
#[derive(Debug, thiserror::Error)]
pub enum BadFile {
    /// It cannot be read, or says nothing about where commands run.
    #[error(transparent)]
    Routing(#[from] Problem),
    /// What it says of tools makes no sense.
    #[error("{}: {why}", path.display())]
    ToolsDocument {
        /// The file.
        path: PathBuf,
        /// What exactly.
        why: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// What is wrong with `tools.json`, if anything is, for where commands run as for tools. Blocking.
pub fn check_file(file: &Path) -> Result<(), BadFile> {
    let document = document_in(file)?;
    check(&document).map_err(|why| BadFile::ToolsDocument { path: file.to_owned(), why })
}

fn check(document: &Map<String, Value>) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    tool_policy::Config::read(document)?;
    read(document)?;
    Ok(())
}

/// What of the document is understood, for a look at whether each key is.
#[cfg(test)]
pub(crate) fn reading(document: &Map<String, Value>) -> String {
    format!("{:?}{:?}", tool_policy::Config::read(document), read(document))
}

/// Reads the document.
pub(super) fn read(document: &Map<String, Value>) -> Result<Own, OwnError> {
    let none = Map::new();
    // That it is an object is looked at with the peers' keys.
    let tools = document.get("tools").and_then(Value::as_object).unwrap_or(&none);
    let hooks: Vec<HookEntry> = member(tools, "hooks")?.unwrap_or_default();
    let hooks = hooks.into_iter().enumerate().map(|(index, entry)| {
        let HookEntry { name, command, priority, when } = entry;
        let argv = program(command, || format!("tools.hooks[{index}].command"))?;
        let moments = match when {
            When::After => Moments::After,
            When::Before => Moments::Before,
            When::Both => Moments::Both,
        };
        Ok(Command { name, argv, priority, moments })
    });
    let handed = |name: &str| {
        let handed: Option<Handed> = member(tools, name)?;
        handed.map(|handed| program(handed.command, || format!("tools.{name}.command"))).transpose()
    };
    let mut gating = Gating::default();
    if let Some(names) = member::<Vec<String>>(tools, "askAbout")? {
        gating.everywhere = names_of(&names);
    }
    for (name, listed) in [("pet", &mut gating.pet), ("gateway", &mut gating.gateway)] {
        if let Some(names) = member::<Asking>(tools, name)?.unwrap_or_default().ask_about {
            *listed = names_of(&names);
        }
    }
    let is_strict: bool = member(tools, "strict")?.unwrap_or_default();
    let keys: ExecKeys = member(tools, "exec")?.unwrap_or_default();
    let seconds = keys.timeout_seconds.or(keys.timeout_sec);
    let standard = exec::Settings::default();
    let timeout =
        seconds.map(|seconds| within("tools.exec.timeoutSeconds", 1, MAX_TIMEOUT_S, seconds)).transpose()?;
    let patience = keys.background_ms;
    let patience =
        patience.map(|ms| within("tools.exec.backgroundMs", 10, MAX_PATIENCE_MS, ms)).transpose()?;
    Ok(Own {
        exec: exec::Settings {
            timeout: timeout.map_or(standard.timeout, Duration::from_secs),
            patience: patience.map_or(standard.patience, Duration::from_millis),
        },
        tells_ends: keys.notify_on_exit.unwrap_or(true),
        hooks: hooks.collect::<Result<_, _>>()?,
        merge: if is_strict { Merge::Strict } else { Merge::LastWins },
        hand_overs: HandOvers { subagent: handed("subagent")?, spawn: handed("spawn")? },
        gating,
    })
}

impl Own {
    /// The hooks, started by `programs`.
    pub(super) fn hooks(&self, programs: &Arc<dyn Programs>) -> Vec<Arc<dyn Hook>> {
        let hook = |command: &Command| {
            Arc::new(External::new(command.clone(), Arc::clone(programs))) as Arc<dyn Hook>
        };
        self.hooks.iter().map(hook).collect()
    }
}

fn member<T: DeserializeOwned>(tools: &Map<String, Value>, name: &str) -> Result<Option<T>, OwnError> {
    let Some(value) = tools.get(name).filter(|value| !value.is_null()) else { return Ok(None) };
    let read = serde_json::from_value(value.clone());
    read.map(Some).map_err(|source| OwnError::Value { path: format!("tools.{name}"), source })
}

fn within(path: &'static str, least: u64, most: u64, got: u64) -> Result<u64, OwnError> {
    if (least..=most).contains(&got) { Ok(got) } else { Err(OwnError::Range { path, least, most, got }) }
}

fn program(argv: Vec<String>, path: impl Fn() -> String) -> Result<Vec<String>, OwnError> {
    match Program::parse(argv.clone()) {
        Ok(_) => Ok(argv),
        Err(source) => Err(OwnError::Program { path: path(), source }),
    }
}

/// Longest limit of a command that can be set, in seconds, and longest wait for one, in milliseconds:
/// those of a call.
const MAX_TIMEOUT_S: u64 = 24 * 60 * 60;
const MAX_PATIENCE_MS: u64 = 120_000;

fn names_of(names: &[String]) -> BTreeSet<String> {
    names.iter().map(|name| normalised(name).into_owned()).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use serde_json::json;

    fn check(tools: Value, expected: Result<(), &str>) {
        let document = json!({ "tools": tools });
        let read = read(document.as_object().unwrap());
        match (read, expected) {
            (Ok(_), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{tools}: {error}"),
            (read, expected) => panic!("{tools}: expected {expected:?}, got {read:?}"),
        }
    }

    #[test]
    fn everything_that_is_understood_counts() {
        let document = json!({ "tools": {
            "profile": "coding",
            "strict": true,
            "hooks": [{ "name": "audit", "command": ["/bin/audit", "-q"], "priority": 3, "when": "both" }],
            "subagent": { "command": ["/bin/agent"] },
            "askAbout": [" Read_File "],
            "pet": { "askAbout": [] },
            "gateway": { "askAbout": ["Process"] },
        }});
        let own = read(document.as_object().unwrap()).unwrap();
        let audit = Command {
            name: "audit".into(),
            argv: vec!["/bin/audit".into(), "-q".into()],
            priority: 3,
            moments: Moments::Both,
        };
        assert_eq!(own.hooks, [audit]);
        assert_eq!(own.merge, Merge::Strict);
        assert_eq!(own.hand_overs, HandOvers { subagent: Some(vec!["/bin/agent".into()]), spawn: None });
        assert_eq!(own.gating.everywhere, BTreeSet::from(["read_file".to_owned()]));
        assert_eq!(own.gating.pet, BTreeSet::new());
        assert_eq!(own.gating.gateway, BTreeSet::from(["process".to_owned()]));
    }

    #[test]
    fn what_is_not_understood_counts_for_nothing_and_says_where() {
        check(json!({}), Ok(()));
        check(json!({ "subagents": { "tools": {} } }), Ok(()));
        check(json!({ "hooks": {} }), Err("tools.hooks"));
        check(
            json!({ "hooks": [{ "name": "a", "command": ["a"], "when": "before" }] }),
            Err("tools.hooks[0].command"),
        );
        check(
            json!({ "hooks": [{ "name": "a", "command": [], "when": "before" }] }),
            Err("tools.hooks[0].command"),
        );
        check(json!({ "hooks": [{ "name": "a", "command": ["/a"], "when": "never" }] }), Err("never"));
        check(json!({ "hooks": [{ "name": "a", "command": ["/a"] }] }), Err("when"));
        check(json!({ "spawn": { "command": "/bin/agent" } }), Err("tools.spawn"));
        check(json!({ "spawn": { "comand": ["/bin/agent"] } }), Err("comand"));
        check(json!({ "askAbout": "exec" }), Err("tools.askAbout"));
        check(json!({ "pet": { "ask": [] } }), Err("tools.pet"));
        check(json!({ "gateway": { "askAbout": "exec" } }), Err("tools.gateway"));
        check(json!({ "strict": "yes" }), Err("tools.strict"));
    }
}
