//! The words that have an agent start this program, the same from every door.

use crate::plan::Change;
use crate::table::{Agent, Event, HookWish, Mcp, SERVER, Way};
use std::time::Duration;

impl Change {
    /// Has an agent ask by these ways, with this program as settings are to name it.
    pub fn connecting(agent: &Agent, ways: &[Way], program: &str) -> Self {
        let hook = ways.contains(&Way::Hook).then(|| HookWish {
            event: Event::BeforeTool,
            words: hook_words(agent, program, agent.patience()),
            patience: agent.patience(),
        });
        let mcp = ways.contains(&Way::Mcp).then(|| server_words(agent.mcp.as_ref(), program));
        Self::Connect { hook, mcp }
    }
}

impl Agent {
    /// How long a person has by its hook: as long as by any, and less where the agent itself would
    /// not wait so long.
    pub fn patience(&self) -> Duration {
        self.most_patience().map_or(PATIENCE, |most| most.min(PATIENCE))
    }

    /// How long its hook may take at most so that its answer still counts; `None` where the
    /// settings alone say that.
    pub fn most_patience(&self) -> Option<Duration> {
        self.hook.as_ref()?.longest.map(|longest| longest.saturating_sub(MARGIN))
    }
}

/// The words that start the hook of an agent.
pub fn hook_words(agent: &Agent, program: &str, patience: Duration) -> Vec<String> {
    let timeout = patience.as_secs_f64().to_string();
    [program, "hook", agent.name, "--timeout", &timeout].map(str::to_owned).to_vec()
}

fn server_words(mcp: Option<&Mcp>, program: &str) -> Vec<String> {
    let provider = mcp.and_then(|mcp| mcp.provider);
    // As the entry is called: calls of these tools are asked about once, also by Claude Code's
    // permission prompt.
    let words = [program, "mcp", "--name", SERVER];
    words
        .into_iter()
        .chain(provider.into_iter().flat_map(|name| ["--provider", name]))
        .map(str::to_owned)
        .collect()
}

/// How long a person has where the settings are ours too, and the agent is told to wait longer.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// What an agent that waits so long at most may take to start a hook and to read its answer,
/// on a busy machine.
const MARGIN: Duration = Duration::from_secs(8);
