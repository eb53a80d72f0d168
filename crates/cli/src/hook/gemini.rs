//! Gemini CLI: `BeforeTool` (geminicli.com/docs/hooks/reference).
//!
//! An allow skips nothing: Gemini CLI's own policy follows and may ask again. What is printed and is no JSON
//! counts as an allow with exit code 0, so something is always printed, and a denial ends with
//! exit code 2 besides.

use super::input::{BadInput, Called, Document};
use super::{Contract, Event, HookAnswer, NO_OTHER_COMMAND, Reply, Verdict};
use serde_json::json;
use std::time::Duration;

/// The contract.
pub(crate) struct Gemini;

impl Contract for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn client(&self) -> Option<&'static str> {
        Some("gemini-cli")
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn event(&self, document: &Document) -> Option<Event> {
        document.event(&[(BEFORE_TOOL, Event::BeforeTool)])
    }

    fn read(&self, document: &Document) -> Result<Called, BadInput> {
        let mut called = document.call(BEFORE_TOOL, &[(BEFORE_TOOL, Event::BeforeTool)])?;
        // Older releases gave tools of MCP servers the names that the servers chose.
        called.foreign = called.tool.starts_with(MCP_PREFIX) || document.has("mcp_context");
        Ok(called)
    }

    /// Releases from 2026-03 on have a decision `ask`, which their reference does not name; older ones go
    /// on without asking.
    fn can_ask(&self, _event: Event) -> bool {
        false
    }

    fn quiet(&self) -> &'static [&'static str] {
        &QUIET
    }

    fn questions(&self) -> &'static [&'static str] {
        &QUESTIONS
    }

    fn answer(&self, reply: &Reply<'_>) -> HookAnswer {
        let blocked = |why: &str| HookAnswer::blocked(json!({ "decision": "deny", "reason": why }), why);
        match reply.verdict {
            Verdict::Allow => HookAnswer::printed(json!({ "decision": "allow" })),
            Verdict::Deny(denial) => blocked(&denial.message),
            // `can_ask` says that it cannot: had it to ask all the same, it would have to be a denial.
            Verdict::AskThere(why) => blocked(why),
            Verdict::AllowWith(_) => blocked(NO_OTHER_COMMAND),
            Verdict::NoOpinion => HookAnswer::printed(json!({})),
        }
    }
}

const BEFORE_TOOL: &str = "BeforeTool";

/// What tools of MCP servers begin with.
const MCP_PREFIX: &str = "mcp_";

/// Gemini CLI ends a hook after 60 000 ms unless it is told otherwise.
const PATIENCE: Duration = Duration::from_secs(50);

/// They read files under Gemini CLI's own rules, or keep its own notes. `search_file_content` is
/// of older releases.
const QUIET: [&str; 11] = [
    "complete_task",
    "enter_plan_mode",
    "get_internal_docs",
    "glob",
    "grep_search",
    "list_directory",
    "read_file",
    "read_many_files",
    "search_file_content",
    "update_topic",
    "write_todos",
];

/// They ask the person.
const QUESTIONS: [&str; 2] = ["ask_user", "exit_plan_mode"];
