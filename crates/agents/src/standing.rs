//! How an agent stands now: what of ours is in its settings, since when, whether it would be started, and
//! what keeps it from being called.

use crate::entry;
use crate::error::ConnectError;
use crate::files;
use crate::json::hooks::Hooks;
use crate::json::{self};
use crate::known::AGENTS;
use crate::note::{Note, SwitchedOff};
use crate::places::{Scope, Sighting, Surroundings, is_program};
use crate::record::{Record, Written};
use crate::table::{Agent, File, Hook, Off, Switch, Syntax, Way};
use crate::toml;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// How an agent stands.
#[derive(Debug)]
pub struct Standing {
    /// Which.
    pub agent: &'static Agent,
    /// How it was found.
    pub sighting: Sighting,
    /// What of ours is in its settings.
    pub connected: Vec<Connected>,
    /// What keeps its hooks from being called at the moment.
    pub switched_off: Vec<SwitchedOff>,
    /// Settings that could not be looked at, a sentence each.
    pub unread: Vec<String>,
}

/// Something of ours in settings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Connected {
    /// What it is.
    pub way: Way,
    /// Where it holds.
    pub scope: Scope,
    /// The settings.
    pub path: PathBuf,
    /// When it was put there, in Unix milliseconds, where that is known.
    pub since_ms: Option<i64>,
    /// What it starts.
    pub program: Program,
    /// Whether the agent trusts it, where that matters.
    pub trust: Option<Trust>,
}

/// A program that an agent is to start.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Program {
    /// As the settings name it.
    pub name: String,
    /// Whether it is there.
    pub is_there: bool,
}

/// Whether the agent calls the hook, as far as its own record says.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// The person never trusted a hook in this place.
    No,
    /// A hook in this place was trusted; whether it was this very one only the agent can tell.
    NotKnown,
}

impl Standing {
    /// How every known agent stands. Blocking.
    pub fn all(around: Surroundings<'_>, record: &Record) -> Vec<Self> {
        AGENTS.iter().map(|agent| Self::of(agent, around, record)).collect()
    }

    /// Looks at an agent's settings, those of the person and those of the project in the current
    /// folder. Blocking.
    pub fn of(agent: &'static Agent, around: Surroundings<'_>, record: &Record) -> Self {
        let mut standing = Self {
            agent,
            sighting: Sighting::of(agent, around),
            connected: Vec::new(),
            switched_off: switched_off(agent, around),
            unread: Vec::new(),
        };
        let written = match record.read() {
            Ok(written) => written,
            Err(error) => {
                standing.unread.push(error.to_string());
                Written::default()
            }
        };
        for scope in [Scope::User, Scope::Project] {
            let found = [hook(agent, scope, around, &written), server(agent, scope, around, &written)];
            for found in found {
                match found {
                    Ok(found) => standing.connected.extend(found),
                    Err(error) => {
                        let told = error.to_string();
                        if !standing.unread.contains(&told) {
                            standing.unread.push(told);
                        }
                    }
                }
            }
        }
        // In the home folder both are the same file.
        let mut seen = Vec::new();
        standing.connected.retain(|one| {
            let is_new = !seen.contains(&(one.way, one.path.clone()));
            seen.push((one.way, one.path.clone()));
            is_new
        });
        standing
    }

    /// Whether it asks here before it acts, as far as its settings say.
    pub fn is_connected(&self) -> bool {
        !self.connected.is_empty()
    }

    /// The tested release, where another one is installed.
    pub fn other_release(&self) -> Option<(&str, &'static str)> {
        let (installed, tested) = (self.sighting.release.as_deref()?, self.agent.tested?);
        (installed != tested).then_some((installed, tested))
    }
}

/// What a person has to know about a hook that is put in.
pub(crate) fn hook_notes(agent: &Agent, scope: Scope, around: Surroundings<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    if scope == Scope::Project {
        notes.push(Note::OnPath);
    }
    let Some(hook) = &agent.hook else { return notes };
    notes.extend(hook.cautions.iter().map(|caution| Note::Caution { agent: agent.title, caution: *caution }));
    notes.extend(switched_off(agent, around).into_iter().map(Note::SwitchedOff));
    // Codex alone reads hooks from two files of one folder.
    if let Some((_, text)) = hook.trust.as_ref().and_then(|file| text_of(agent, file, scope, around).ok()?) {
        let has_hooks = toml::get(&text, &["hooks"]).ok().flatten();
        let events = has_hooks.as_ref().and_then(Value::as_object).into_iter().flatten();
        if events.into_iter().any(|(name, _)| name != STATE) {
            notes.push(Note::HooksTwice { agent: agent.title });
        }
    }
    notes
}

fn hook(
    agent: &'static Agent,
    scope: Scope,
    around: Surroundings<'_>,
    written: &Written,
) -> Result<Vec<Connected>, ConnectError> {
    let Some(hook) = &agent.hook else { return Ok(Vec::new()) };
    let Some((path, text)) = text_of(agent, &hook.file, scope, around)? else { return Ok(Vec::new()) };
    let is_ours = |command: &str| entry::is_our_hook(command, agent);
    let comments = hook.file.syntax.comments();
    let events = hook.event_names();
    let found = Hooks { comments, events: &events, is_ours: &is_ours }.commands(&text);
    let found = found.map_err(|source| ConnectError::Unfit { path: path.clone(), source, by_hand: None })?;
    let mut connected = Vec::new();
    for (event, command) in found.into_iter().take(1) {
        let trust = hook.trust.as_ref().map(|file| trust(agent, file, &path, &event, around));
        let since_ms = since(agent, Way::Hook, &path, written);
        let program = program(entry::program_of(&command), around);
        connected.push(Connected { way: Way::Hook, scope, path: path.clone(), since_ms, program, trust });
    }
    Ok(connected)
}

fn server(
    agent: &'static Agent,
    scope: Scope,
    around: Surroundings<'_>,
    written: &Written,
) -> Result<Vec<Connected>, ConnectError> {
    let Some(mcp) = &agent.mcp else { return Ok(Vec::new()) };
    let Some((path, text)) = text_of(agent, &mcp.file, scope, around)? else { return Ok(Vec::new()) };
    let found = mcp.there(&text);
    let found = found.map_err(|source| ConnectError::Unfit { path: path.clone(), source, by_hand: None })?;
    let Some(Ok(name)) = found.map(|found| entry::our_server(&found)) else { return Ok(Vec::new()) };
    let since_ms = since(agent, Way::Mcp, &path, written);
    let program = program(name, around);
    Ok(vec![Connected { way: Way::Mcp, scope, path, since_ms, program, trust: None }])
}

fn since(agent: &Agent, way: Way, path: &Path, written: &Written) -> Option<i64> {
    let file = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    written.since(agent.name, way, &file)
}

fn program(name: String, around: Surroundings<'_>) -> Program {
    let is_there = match name.contains('/') {
        true => is_program(Path::new(&name)),
        false => around.program(&name).is_some(),
    };
    Program { name, is_there }
}

/// Where a file is, and what is in it; nothing where it is not there.
fn text_of(
    agent: &Agent,
    file: &File,
    scope: Scope,
    around: Surroundings<'_>,
) -> Result<Option<(PathBuf, String)>, ConnectError> {
    let Some(path) = agent.path(file, scope, around) else { return Ok(None) };
    Ok(files::text(&path)?.map(|text| (path, text)))
}

/// What keeps the hooks of an agent from being called, wherever it is set.
fn switched_off(agent: &Agent, around: Surroundings<'_>) -> Vec<SwitchedOff> {
    let mut found = Vec::new();
    for switch in agent.hook.iter().flat_map(|hook: &Hook| hook.switches) {
        for scope in [Scope::User, Scope::Project] {
            // Settings that cannot be read are told about elsewhere.
            let Ok(Some((path, text))) = text_of(agent, &switch.file, scope, around) else { continue };
            if switch.is_off(&text) {
                let off =
                    SwitchedOff { agent: agent.title, setting: switch.way.join("."), path, off: switch.off };
                if !found.contains(&off) {
                    found.push(off);
                }
            }
        }
    }
    found
}

impl Switch {
    fn is_off(&self, text: &str) -> bool {
        let there = match self.file.syntax {
            Syntax::Toml => toml::get(text, self.way).ok().flatten(),
            syntax => json::parse(text, syntax.comments()).ok().and_then(|settings| {
                self.way.iter().try_fold(&settings, |value, name| value.get(name)).cloned()
            }),
        };
        match self.off {
            Off::Is(off) => there == Some(Value::Bool(off)),
            Off::Names(name) => {
                there.as_ref().and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == name))
            }
        }
    }
}

/// What the agent keeps of hooks that were trusted: a table of hashes, each under the file, the
/// event and two places.
fn trust(agent: &Agent, file: &File, hooks: &Path, event: &str, around: Surroundings<'_>) -> Trust {
    // The person's trust is kept among the person's settings, for hooks of projects too.
    let Ok(Some((_, text))) = text_of(agent, file, Scope::User, around) else { return Trust::No };
    let state = toml::get(&text, &["hooks", STATE]).ok().flatten().unwrap_or_default();
    let canonical = std::fs::canonicalize(hooks).unwrap_or_else(|_| hooks.to_owned());
    let event = snake(event);
    let is_of_it = |key: &str| {
        let mut parts = key.rsplitn(4, ':').skip(2);
        let (of_event, of_file) = (parts.next(), parts.next().map(Path::new));
        of_event == Some(event.as_str()) && (of_file == Some(hooks) || of_file == Some(&canonical))
    };
    let entries = state.as_object().into_iter().flatten();
    let is_trusted =
        entries.into_iter().any(|(key, entry)| is_of_it(key) && entry["trusted_hash"].is_string());
    if is_trusted { Trust::NotKnown } else { Trust::No }
}

/// `PreToolUse` as `pre_tool_use`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (at, letter) in name.char_indices() {
        if letter.is_ascii_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

const STATE: &str = "state";
