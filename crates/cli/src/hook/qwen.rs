//! Qwen Code: `PreToolUse` and `PermissionRequest`, in the words of Claude Code (its own documentation of
//! hooks, release 0.24.4).
//!
//! Its tools have names of their own. With exit code 2 it reads standard error alone, with 0 what is printed.

use super::claude_code::{EVENT_NAMES, EVENTS, MCP_PREFIX};
use super::input::{BadInput, Called, Document};
use super::{ClaudeCode, Contract, End, Event, HookAnswer, Reply, Verdict};
use std::time::Duration;

/// The contract.
pub(crate) struct Qwen;

impl Contract for Qwen {
    fn name(&self) -> &'static str {
        "qwen"
    }

    fn client(&self) -> Option<&'static str> {
        Some("qwen-code")
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn event(&self, document: &Document) -> Option<Event> {
        document.event(&EVENTS)
    }

    fn read(&self, document: &Document) -> Result<Called, BadInput> {
        let mut called = document.call(EVENT_NAMES, &EVENTS)?;
        called.foreign = called.tool.starts_with(MCP_PREFIX);
        Ok(called)
    }

    /// Without a terminal, and in the background, its question is a denial.
    fn can_ask(&self, _event: Event) -> bool {
        true
    }

    fn takes_context(&self, event: Event) -> bool {
        event == Event::BeforeTool
    }

    fn quiet(&self) -> &'static [&'static str] {
        &QUIET
    }

    fn questions(&self) -> &'static [&'static str] {
        &QUESTIONS
    }

    fn answer(&self, reply: &Reply<'_>) -> HookAnswer {
        let answer = ClaudeCode.answer(reply);
        match (reply.event, reply.verdict) {
            // It was seen to stop at exit code 2, and to tell its model what stands on standard error: all
            // that was to be printed.
            (Event::BeforeTool, Verdict::Deny(denial)) => {
                let printed = answer.document.as_ref().map(|document| &document["hookSpecificOutput"]);
                let printed = printed.and_then(|said| said["permissionDecisionReason"].as_str());
                let reason = printed.unwrap_or(&denial.message).to_owned();
                HookAnswer { reason: Some(reason), end: End::Blocked, ..answer }
            }
            _ => answer,
        }
    }
}

/// Qwen Code ends a hook after 60 s unless it is told otherwise.
const PATIENCE: Duration = Duration::from_secs(50);

/// They read files under Qwen Code's own rules, or keep its own notes.
const QUIET: [&str; 11] = [
    "enter_plan_mode",
    "get_goal",
    "glob",
    "grep_search",
    "list_agents",
    "list_directory",
    "read_file",
    "task_list",
    "todo_write",
    "tool_search",
    "zoom_image",
];

/// An allow alone does not answer them.
const QUESTIONS: [&str; 2] = ["ask_user_question", "exit_plan_mode"];
