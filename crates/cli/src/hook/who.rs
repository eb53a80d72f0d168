//! Who really calls. Agents run hooks that stand in the settings of others: Copilot CLI those of Claude Code
//! in a repository, Visual Studio Code's agent those of Claude Code altogether. So what a call says of
//! itself decides whose it is, and whose words answer it, and the command that its settings name does not.

use super::input::Document;
use super::{ClaudeCode, Codex, Contract, Copilot, Gemini, Qwen, VsCode};

/// The contract of the agent that wrote a document, where that can be told by what only that one writes:
/// nothing is told where it has marks of several, or of none.
///
/// Tried with Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, Qwen Code 0.24.4 and Copilot CLI
/// 1.0.102; Visual Studio Code's as its documentation says.
pub(super) fn calls(document: &Document) -> Option<&'static dyn Contract> {
    let has = |member| document.has(member);
    let event = document.text("hook_event_name").unwrap_or_default();
    let is_shared = matches!(event, "PreToolUse" | "PermissionRequest");
    match (has("turn_id"), has("permission_mode"), has("timestamp")) {
        _ if event == "BeforeTool" => Some(&Gemini),
        (false, false, true) if has("sessionId") || has("hookEventName") => Some(&VsCode),
        (true, _, false) if is_shared => Some(&Codex),
        (false, true, true) if is_shared => Some(&Qwen),
        (false, true, false) if is_shared => Some(&ClaudeCode),
        // Neither says how it asks its person, and both say when.
        (false, false, true) if is_shared => {
            Some(if has("tool_use_id") || has("transcript_path") { &VsCode } else { &Copilot })
        }
        _ => None,
    }
}
