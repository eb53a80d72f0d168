//! The agents of this machine as windows show them: how each stands, what a change of its settings comes to,
//! and that very change, written. What is known of agents, and what their settings look like, is up to
//! [`countersign_agents`].
//!
//! A change is kept from its preview on and written by the preview's id, so nothing is ever written that was
//! not shown. Everything here blocks.
//!
//! ```ignore
//! let preview = agents.preview(&params, ports.ids.uuid())?;
//! let backups = agents.write(&id, ports.clock.now_ms())?;
//! ```

mod names;
mod seen;
#[cfg(test)]
mod tests;
mod view;

pub use names::{ids_in_document_edits, ids_in_rule_edits, nobody};
pub use seen::{Asked, MOST_LINES, Stand};

use countersign_agents::{
    Agent, Change, ConnectError, Plan, Record, Request, SYSTEM, Scope, Standing, Surroundings, Way, by_name,
};
use countersign_core::paths::{Paths, process_environment};
use countersign_core::private;
use countersign_policy::display;
use countersign_protocol::ui::{
    AgentChange, AgentPreview, AgentPreviewParams, AgentWay, AgentsView, FirstSteps,
};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What looks after agents' settings for windows.
#[derive(Debug)]
pub struct Agents {
    places: Places,
    /// Those that can still be written, the oldest first. Held while one is written: two changes at once
    /// could leave half of each.
    previews: Mutex<VecDeque<(String, Plan)>>,
}

/// Where things are on this machine.
#[derive(Debug)]
pub struct Places {
    /// The user's home folder.
    pub home: PathBuf,
    /// Where the machine's own folders begin.
    pub system: PathBuf,
    /// Variables that move settings, and the search path of programs.
    pub environment: BTreeMap<String, String>,
    /// What was written into settings.
    pub record: Record,
    /// The folder of the history.
    pub history: PathBuf,
    /// Where OpenClaw keeps its state.
    pub openclaw: PathBuf,
    /// The `countersign` command, which agents are to start.
    pub command: PathBuf,
    /// Says that the first steps are over.
    pub first_steps: PathBuf,
}

/// Why something about an agent could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentsError {
    /// No such agent.
    #[error("agent: expected one that is known, got {0}")]
    Unknown(String),
    /// It has no such way, or none was named.
    #[error("ways: expected at least one of those that {0} has")]
    Ways(&'static str),
    /// There is nothing to be started.
    #[error("expected the command countersign at {0}, found none")]
    NoCommand(PathBuf),
    /// The change was not shown, was written already, or is too long ago.
    #[error("this change has to be looked at again before it can be written")]
    NotShown,
    /// It cannot be written.
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl Places {
    /// Those of this process.
    pub fn of(paths: &Paths) -> Self {
        // Beside the app, as it is built and installed.
        let own = std::env::current_exe().unwrap_or_default();
        Self {
            home: paths.home.clone(),
            system: PathBuf::from(SYSTEM),
            environment: process_environment(),
            record: Record::at(paths.connected()),
            history: paths.history(),
            openclaw: paths.openclaw_state.clone(),
            command: own.with_file_name(COMMAND),
            first_steps: paths.first_steps(),
        }
    }

    /// The person's settings alone are meant: a window is in no project.
    fn around(&self) -> Surroundings<'_> {
        let Self { home, system, environment, .. } = self;
        Surroundings { home, folder: home, system, environment }
    }
}

impl Agents {
    /// Nothing is looked at yet.
    pub fn new(places: Places) -> Self {
        Self { places, previews: Mutex::default() }
    }

    /// How all of them stand.
    pub fn view(&self) -> AgentsView {
        let asked = Asked::in_history(&self.places.history);
        let stands = Stand::all(self.places.around(), &self.places.record, &asked);
        let is_known = |name: &str| stands.iter().any(|stand| stand.standing.agent.is_called(name));
        let others = asked.names().filter(|name| !is_known(name)).map(str::to_owned).collect();
        view::agents(&stands, others, &self.places.openclaw)
    }

    /// Those that ask here.
    pub fn connected(&self) -> Vec<&'static Agent> {
        let standings = Standing::all(self.places.around(), &self.places.record);
        let connected = standings.into_iter().filter(Standing::is_connected);
        connected.map(|standing| standing.agent).collect()
    }

    /// What a change comes to. It can be written under this id for as long as no more than [`MOST_PREVIEWS`]
    /// others were looked at.
    pub fn preview(&self, params: &AgentPreviewParams, id: String) -> Result<AgentPreview, AgentsError> {
        let agent =
            by_name(&params.agent).ok_or_else(|| AgentsError::Unknown(display::escape(&params.agent)))?;
        let change = match &params.change {
            AgentChange::Connect { ways } => {
                Change::connecting(agent, &wanted(agent, ways)?, &self.command()?)
            }
            AgentChange::TakeBack => Change::Undo,
        };
        let request = Request { agent, scope: Scope::User, change };
        let plan = match Plan::of(&request, self.places.around(), &self.places.record) {
            Ok(plan) => plan,
            Err(error) => return Ok(view::left_alone(&error)),
        };
        let Some(preview) = view::ready(&plan, &id) else { return Ok(view::too_long(agent)) };
        let mut previews = self.previews.lock().unwrap_or_else(PoisonError::into_inner);
        previews.push_back((id, plan));
        if previews.len() > MOST_PREVIEWS {
            previews.pop_front();
        }
        Ok(preview)
    }

    /// Writes exactly what was shown under this id, at `now_ms`, and says where the bytes from before are.
    /// Where a file is not what it was then, nothing is written. An id counts once.
    pub fn write(&self, id: &str, now_ms: i64) -> Result<Vec<PathBuf>, AgentsError> {
        let mut previews = self.previews.lock().unwrap_or_else(PoisonError::into_inner);
        let at = previews.iter().position(|(shown, _)| shown == id).ok_or(AgentsError::NotShown)?;
        let (_, plan) = previews.remove(at).ok_or(AgentsError::NotShown)?;
        Ok(plan.apply(&self.places.record, now_ms)?.backups)
    }

    /// Whether somebody went through the first steps.
    pub fn first_steps(&self) -> FirstSteps {
        // What lies there says nothing: even a file that cannot be read means that they were shown.
        if self.places.first_steps.symlink_metadata().is_ok() { FirstSteps::Over } else { FirstSteps::Due }
    }

    /// They are not shown by themselves again.
    pub fn end_first_steps(&self, now_ms: i64) -> std::io::Result<()> {
        let said = serde_json::json!({ "overAtMs": now_ms }).to_string();
        private::write_if_missing(&self.places.first_steps, said.as_bytes())
    }

    /// The command as settings are to name it.
    fn command(&self) -> Result<String, AgentsError> {
        let command = &self.places.command;
        let named = command.to_str().filter(|_| Path::new(command).is_file());
        named.map(str::to_owned).ok_or_else(|| AgentsError::NoCommand(command.clone()))
    }
}

fn wanted(agent: &'static Agent, ways: &[AgentWay]) -> Result<Vec<Way>, AgentsError> {
    let wanted: Vec<Way> = agent.ways().into_iter().filter(|way| ways.contains(&view::way(*way))).collect();
    let are_all = ways.iter().all(|way| wanted.iter().any(|wanted| view::way(*wanted) == *way));
    if wanted.is_empty() || !are_all { Err(AgentsError::Ways(agent.title)) } else { Ok(wanted) }
}

/// What the command's file is called.
const COMMAND: &str = "countersign";

/// Previews that can still be written: one for each agent that somebody compares.
const MOST_PREVIEWS: usize = 16;
