//! Tools over the control channel: who calls, what is listed, and what comes of a call.

use crate::session_events::SessionEvent;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who calls a tool. All but the workspace is the caller's own word.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCaller {
    /// The agent; blank means `main`.
    #[serde(default)]
    pub agent: String,
    /// The session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The program, as it names itself: `claude-code 2.1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// Provider of the model, such as `anthropic`: layers of the tool policy are for single providers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The agent that really calls, where it works for the one above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_agent: Option<SubAgent>,
    /// Absolute folder that file tools are kept in and commands start in.
    pub workspace: String,
    /// Session of the pet channel that the turn came from (docs/protocol/pet-channel.md, "Connection").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pet_session: Option<String>,
    /// Its own id of the call: several hooks that ask about one call ask one question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// Whose hook it called for that, by the agent's name, where it runs several hooks for a call one after
    /// the other: all of them together ask one question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook: Option<String>,
}

/// An agent that works for another one, as that one tells it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubAgent {
    /// Which one of them.
    pub id: String,
    /// What it was made for, such as `general-purpose`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}

/// A call.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    /// Unique id of this call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its parameters.
    #[serde(default)]
    pub params: Map<String, Value>,
    /// Who calls.
    pub caller: ToolCaller,
    /// How long a person has, in milliseconds; absent means as long as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_timeout_ms: Option<u64>,
    /// Whether its caller can be told to run another command instead.
    #[serde(default)]
    pub takes_command: bool,
    /// Whether its caller asks nobody about it: only a refusal matters.
    #[serde(default)]
    pub is_quiet: bool,
}

/// A tool as a caller may know it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolView {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON schema of its parameters.
    pub parameters: Value,
}

/// A tool that a caller does not get.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemovedTool {
    /// Its name.
    pub name: String,
    /// Label of the step of the tool policy that removed it (docs/protocol/tools.md, "Steps").
    pub step: String,
}

/// What is known of a caller besides what it says of itself.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolStanding {
    /// Whether its commands run in a sandbox where it names no place.
    pub sandboxed: bool,
    /// Runs above it, as its session's key tells; 0 for none.
    pub sub_agent_depth: u32,
    /// The group that it speaks for, `CHANNEL ID`, as its session's key tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// What a call brought.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutput {
    /// For the agent to read.
    pub text: String,
    /// The same as data, where there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What its session was not told yet of runs that nobody waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<SessionEvent>,
}

/// Why a call brought nothing.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolFailure {
    /// It was called off.
    Aborted,
    /// Policy, a hook or a person does not allow it.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// It was allowed, and failed.
    Failed,
    /// Its parameters make no sense.
    Invalid,
    /// There is no such tool for this caller.
    NotFound,
}

/// What becomes of a tool of somebody else's.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "behavior", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Permission {
    /// It may be called, exactly as it was asked about.
    Allow,
    /// It may be called with a command that runs in a box instead of the one that was asked about. Only for
    /// callers that take one ([`ToolCall::takes_command`]).
    Inside {
        /// What stays in the agent's own shell, so that it finds itself in another folder afterwards; empty
        /// for nothing. Begins the command as it stands.
        stays: String,
        /// What `countersign exec --box` is to run in that folder.
        argv: Vec<String>,
    },
    /// Nothing refuses it, and nobody was asked: what its caller does with such a call is its own affair.
    Unasked,
    /// It may not.
    Deny {
        /// Why, for the agent.
        message: String,
        /// Which kind of no it is.
        failure: ToolFailure,
    },
}
