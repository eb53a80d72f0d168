//! The agents. Formats are those of the releases that [`Agent::tested`] names, read from the programs themselves and tried with them;
//! Cursor, Visual Studio Code and Zed are written as their documentation says.

mod hooked;
mod others;

use crate::table::{Agent, Part};

pub(crate) const AGENTS: &[Agent] = &[
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

/// Ten minutes, in milliseconds: longer than a person has, so that it is never the agent who gives up first.
const CALL_LIMIT: Part = Part::Number(600_000);

const OWN_TOOLS: &str = "its own tools: take its shell away, or connect it by a hook where it has one";
