//! Which tools a caller gets, and which step of the tool policy takes the others.

use crate::shown::Shown;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui! {
    /// For whom tools are listed.
    pub struct ToolsQuery {
        /// The agent.
        pub agent: String,
        /// Its session; keys as OpenClaw gives them tell sub-agents and groups.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<String>,
        /// Provider of its model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub provider: Option<String>,
        /// Its model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub model: Option<String>,
    }

    /// What comes of it.
    pub struct ToolsExplained {
        /// Whether its commands run in a sandbox where it names no place.
        pub sandboxed: bool,
        /// Runs above it, as its session's key tells; 0 for none.
        pub sub_agent_depth: u32,
        /// The group that it speaks for, as its session's key tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub group: Option<Shown>,
        /// Every tool: those that it gets first.
        pub tools: Vec<ToolExplained>,
        /// The steps that were taken, in order, by their labels (docs/protocol/tools.md, "Steps").
        pub steps: Vec<Shown>,
        /// What is odd about the policy.
        pub warnings: Vec<Shown>,
    }

    /// One tool.
    pub struct ToolExplained {
        /// Its name.
        pub name: Shown,
        /// The step that takes it; absent where the caller gets it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub taken_by: Option<Shown>,
    }
}
