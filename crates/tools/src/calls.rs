//! A call of a tool: who calls what, and what comes of it.

use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::tools::SubAgent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// What agents are told about a tool.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Declaration {
    /// Name, normalised.
    pub name: String,
    /// What it does, for the agent.
    pub description: String,
    /// JSON schema of its parameters; the root is an object.
    pub parameters: Value,
}

/// Who calls, on whose behalf.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Caller {
    /// The agent, as claimed.
    pub agent: AgentId,
    /// The session, as claimed.
    pub session: Option<SessionKey>,
    /// The agent that really calls, where it works for the one above; as claimed.
    pub sub_agent: Option<SubAgent>,
    /// The program that brought the call, as it says: `claude-code 2.1`.
    pub client: Option<String>,
    /// The channel that the turn came from; decides who may be asked besides the windows.
    pub channel: Channel,
    /// How the call got here.
    pub entrance: Entrance,
    /// Which process brought the call, where that is known for certain.
    pub brought_by: Option<BroughtBy>,
    /// How long a person has to answer, where that is not as long as usual.
    pub approval_wait: Option<Duration>,
}

/// A process, by the kernel's word.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct BroughtBy {
    /// Its id.
    pub pid: Option<i32>,
    /// Real path of its program.
    pub program: Option<String>,
}

/// Where the turn of a call came from (docs/protocol/pet-channel.md, "Connection").
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Channel {
    /// Nowhere that asks by itself.
    #[default]
    None,
    /// A companion client's session.
    Pet {
        /// The connection that pushes go to.
        session_id: String,
    },
}

/// How a call got to the tools; decides what a workspace is worth that its caller names.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Entrance {
    /// From a program that the kernel says is this user's: what it may read it can read itself.
    #[default]
    Machine,
    /// From whoever holds the gateway's token.
    Gateway,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct Call {
    /// Unique id of this call.
    pub id: String,
    /// The run that it belongs to, where the caller says.
    pub run_id: Option<String>,
    /// Name of the tool as the agent wrote it; normalised from when it was looked up.
    pub tool: String,
    /// Parameters as the agent wrote them.
    pub params: Map<String, Value>,
    /// Who calls.
    pub caller: Caller,
    /// Folder that file tools are kept in and commands start in: absolute.
    pub workspace: PathBuf,
}

impl Call {
    /// What tells it from all other calls that are under way.
    pub fn key(&self) -> CallKey {
        CallKey { run: self.run_id.clone(), call: self.id.clone() }
    }
}

/// The ids of a call, shown as the peers join them: `runId:callId` (docs/protocol/tools.md, "Hooks").
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct CallKey {
    run: Option<String>,
    call: String,
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(run) = &self.run {
            write!(f, "{run}:")?;
        }
        f.write_str(&self.call)
    }
}

/// Takes what a tool reports while it runs. Full or gone, reports are dropped: they are no results.
pub type Progress = tokio::sync::mpsc::Sender<String>;

/// What a call brought.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Output {
    /// For the agent to read.
    pub text: String,
    /// The same as data, where there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// Why a call brought nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// Its caller has no such tool.
    #[error("{}", not_there(tool, removed_by.as_deref()))]
    NotThere {
        /// As it was called.
        tool: String,
        /// The step of the tool policy that removed it, where there is such a tool.
        removed_by: Option<String>,
    },
    /// A call of this id is under way.
    #[error("a call with the id {0:?} is under way already: expected an id of its own for each call")]
    Duplicate(String),
    /// Too many calls are under way.
    #[error("too many calls at once: {limit} {what}; try again when some have ended")]
    Busy {
        /// How many there can be.
        limit: usize,
        /// What they do: `wait for an answer`.
        what: &'static str,
    },
    /// A parameter is missing or wrong.
    #[error("{tool}: {problem}")]
    Params {
        /// Which tool.
        tool: String,
        /// What was expected and what came.
        problem: String,
    },
    /// It was not allowed, by policy, a hook or a person.
    #[error("{0}")]
    Denied(String),
    /// It was called off.
    #[error("Aborted")]
    Aborted,
    /// It failed.
    #[error("{0}")]
    Failed(String),
}

fn not_there(tool: &str, removed_by: Option<&str>) -> String {
    match removed_by {
        None => format!("there is no tool {tool:?}"),
        Some(step) => format!("the tool {tool:?} is not available here: removed by {step}"),
    }
}
