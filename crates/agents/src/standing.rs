//! How an agent stands now: what of ours is in its settings, since when, whether it would be started, and
//! what keeps it from being called.

use crate::activity::Activity;
use crate::entry;
use crate::error::ConnectError;
use crate::files;
use crate::json::hooks::{Found, Hooks};
use crate::known::AGENTS;
use crate::note::{Note, SwitchedOff};
use crate::places::{Scope, Sighting, Surroundings, is_program};
use crate::record::{Record, Written};
use crate::switches::switched_off;
use crate::table::{Agent, Event, File, Way};
use crate::toml;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How an agent stands.
#[derive(Debug)]
pub struct Standing {
    /// Which.
    pub agent: &'static Agent,
    /// How it was found.
    pub sighting: Sighting,
    /// What of ours is in its settings.
    pub connected: Vec<Connected>,
    /// What keeps its hooks from being called, wherever it is set.
    pub(crate) switched_off: Vec<SwitchedOff>,
    /// When it last had a tool do something, by what it keeps of its sessions.
    pub(crate) acted_ms: Option<i64>,
    /// When its hook was last called, whatever it was called for.
    pub(crate) heard_ms: Option<i64>,
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
    /// Which calls come by it.
    pub(crate) extent: Extent,
    /// From when on calls were to come by it, in Unix milliseconds, where that is known: since it stands
    /// there, and its program is the one that it is.
    pub(crate) begun_ms: Option<i64>,
}

/// Which calls come by something that stands in settings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Extent {
    /// All that can come that way.
    All,
    /// Those that the agent would ask the person about.
    Questions,
    /// Nobody knows which: it is not what is written there.
    NotKnown,
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
        let activity = Activity::of(agent, around);
        let (switched_off, unread) = switched_off(agent, around, &activity.folders);
        let mut standing = Self {
            agent,
            sighting: Sighting::of(agent, around),
            connected: Vec::new(),
            switched_off,
            acted_ms: activity.acted_ms,
            heard_ms: record.heard_ms(agent),
            unread,
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
    notes.extend(switched_off(agent, around, &[]).0.into_iter().map(Note::SwitchedOff));
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
    let found = Hooks { comments, events: &events, is_ours: &is_ours }.found(&text);
    let found = found.map_err(|source| ConnectError::Unfit { path: path.clone(), source, by_hand: None })?;
    // Of several the one that most comes by.
    let extent = |found: &Found| match hook.event_name(Event::BeforeTool) == Some(found.event.as_str()) {
        _ if hook.is_narrowed(found) => Extent::NotKnown,
        true => Extent::All,
        false => Extent::Questions,
    };
    let best = found.iter().find(|one| extent(one) == Extent::All).or(found.first());
    let Some(one) = best else { return Ok(Vec::new()) };
    let trust = hook.trust.as_ref().map(|file| trust(agent, file, &path, &one.event, around));
    let since_ms = since(agent, Way::Hook, &path, written);
    let program = program(entry::program_of(&one.command), around);
    let (extent, begun_ms) = (extent(one), begun(since_ms, &path, &program, around));
    Ok(vec![Connected { way: Way::Hook, scope, path, since_ms, program, trust, extent, begun_ms }])
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
    let (trust, extent, begun_ms) = (None, Extent::All, None);
    Ok(vec![Connected { way: Way::Mcp, scope, path, since_ms, program, trust, extent, begun_ms }])
}

fn since(agent: &Agent, way: Way, path: &Path, written: &Written) -> Option<i64> {
    let file = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    written.since(agent.name, way, &file)
}

/// Releases from before left no sign of calls, so what an older program was called for counts for nothing.
fn begun(since_ms: Option<i64>, path: &Path, program: &Program, around: Surroundings<'_>) -> Option<i64> {
    let milliseconds = |at: SystemTime| {
        let since = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()
    };
    let written = || milliseconds(fs::metadata(path).ok()?.modified().ok()?);
    let file = match program.name.contains('/') {
        true => PathBuf::from(&program.name),
        false => around.program(&program.name)?,
    };
    // When it came here: its other time may be that of its build.
    let came_ms = fs::metadata(file).ok()?.ctime().checked_mul(1_000)?;
    Some(since_ms.or_else(written)?.max(came_ms))
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

/// What the agent keeps of hooks that were trusted: a table of hashes, each under the file, the
/// event and two places.
fn trust(agent: &Agent, file: &File, hooks: &Path, event: &str, around: Surroundings<'_>) -> Trust {
    // The person's trust is kept among the person's settings, for hooks of projects too.
    let Ok(Some((_, text))) = text_of(agent, file, Scope::User, around) else { return Trust::No };
    let state = toml::get(&text, &["hooks", STATE]).ok().flatten().unwrap_or_default();
    let canonical = fs::canonicalize(hooks).unwrap_or_else(|_| hooks.to_owned());
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
