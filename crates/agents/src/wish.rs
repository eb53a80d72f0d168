//! The words that have an agent start this program, the same from every door.

use crate::plan::Change;
use crate::table::{Agent, Event, HookWish, Mcp, SERVER, Way};
use std::time::Duration;

impl Change {
    /// Has an agent ask by these ways, with this program as settings are to name it.
    pub fn connecting(agent: &Agent, ways: &[Way], program: &str) -> Self {
        let hook = ways.contains(&Way::Hook).then(|| HookWish {
            event: Event::BeforeTool,
            words: hook_words(agent, program, PATIENCE),
            patience: PATIENCE,
        });
        let mcp = ways.contains(&Way::Mcp).then(|| server_words(agent.mcp.as_ref(), program));
        Self::Connect { hook, mcp }
    }
}

/// The words that start the hook of an agent.
pub fn hook_words(agent: &Agent, program: &str, patience: Duration) -> Vec<String> {
    let timeout = patience.as_secs_f64().to_string();
    [program, "hook", agent.name, "--timeout", &timeout].map(str::to_owned).to_vec()
}

fn server_words(mcp: Option<&Mcp>, program: &str) -> Vec<String> {
    let provider = mcp.and_then(|mcp| mcp.provider);
    // As the entry is called: calls of these tools are asked about once, also by Claude Code's permission prompt.
    let words = [program, "mcp", "--name", SERVER];
    words
        .into_iter()
        .chain(provider.into_iter().flat_map(|name| ["--provider", name]))
        .map(str::to_owned)
        .collect()
}

/// How long a person has where the settings are ours too, and the agent is told to wait longer.
pub const PATIENCE: Duration = Duration::from_secs(120);
