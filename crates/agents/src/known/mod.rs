//! The agents. Formats are those of the releases that [`Agent::tested`] names, read from the programs
//! themselves and tried with them; Cursor, Visual Studio Code and Zed are written as their
//! documentation says.

mod hooked;
mod others;
mod switches;

use crate::table::{Agent, Part};

/// All of them, in the order in which they are listed.
pub const AGENTS: &[Agent] = &[
    hooked::CLAUDE_CODE,
    hooked::CODEX,
    hooked::GEMINI,
    hooked::QWEN,
    hooked::COPILOT,
    others::OPENCODE,
    others::CURSOR,
    others::VSCODE,
    others::ZED,
    others::OPENCLAW,
];

/// The agent of a name, or of one of its other names.
pub fn by_name(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.is_called(name))
}

/// Ten minutes, in milliseconds: longer than a person has, so that it is never the agent who gives up first.
const CALL_LIMIT: Part = Part::Number(600_000);

/// The id that a name stands for, at every door at which one is typed or picked: that of a known agent for
/// each of its names, as its makers write it too; any other name is an id itself.
pub fn id_of(name: &str) -> &str {
    by_name(name.trim()).map_or(name, |agent| agent.name)
}

const OWN_TOOLS: &str = "its own tools: take its shell away, or connect it by a hook where it has one";
