//! Codex: `PreToolUse` and `PermissionRequest` (developers.openai.com/codex/hooks).
//!
//! Before a tool Codex takes a no, and nothing else: an allow or a question makes it report a failed hook and
//! go on. So an allow is said by saying nothing, and Codex's own approvals follow. It also goes on when a
//! denial has an unknown member or no reason.

use super::claude_code::{EVENT_NAMES, EVENTS, MCP_PREFIX, PRE_TOOL_USE, permission_request};
use super::input::{BadInput, Called, Document};
use super::{Contract, Event, HookAnswer, NO_OTHER_COMMAND, Reply, Verdict};
use serde_json::json;
use std::time::Duration;

/// The contract.
pub(crate) struct Codex;

impl Contract for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn client(&self) -> Option<&'static str> {
        Some("codex")
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn event(&self, document: &Document) -> Option<Event> {
        document.event(&EVENTS)
    }

    fn read(&self, document: &Document) -> Result<Called, BadInput> {
        let mut called = document.call(EVENT_NAMES, &EVENTS)?;
        called.model = document.optional_text("model")?.map(str::to_owned);
        called.foreign = called.tool.starts_with(MCP_PREFIX);
        Ok(called)
    }

    fn can_ask(&self, event: Event) -> bool {
        event == Event::PermissionRequest
    }

    fn quiet(&self) -> &'static [&'static str] {
        &QUIET
    }

    fn questions(&self) -> &'static [&'static str] {
        &QUESTIONS
    }

    fn answer(&self, reply: &Reply<'_>) -> HookAnswer {
        match (reply.event, reply.verdict) {
            (Event::PermissionRequest, verdict) => permission_request(verdict),
            (Event::BeforeTool, Verdict::Deny(denial)) => {
                let document = json!({ "hookSpecificOutput": {
                    "hookEventName": PRE_TOOL_USE,
                    "permissionDecision": "deny",
                    "permissionDecisionReason": denial.message,
                } });
                HookAnswer::blocked(document, &denial.message)
            }
            // `can_ask` says that it cannot: had it to ask all the same, it would have to be a denial.
            (Event::BeforeTool, Verdict::AskThere(why)) => HookAnswer::blocked(json!({}), why),
            (Event::BeforeTool, Verdict::AllowWith(_)) => HookAnswer::blocked(json!({}), NO_OTHER_COMMAND),
            (Event::BeforeTool, Verdict::Allow | Verdict::NoOpinion) => HookAnswer::NOTHING,
        }
    }
}

/// Codex ends a hook after 600 s unless it is told otherwise.
const PATIENCE: Duration = Duration::from_secs(120);

/// Few tools but commands, patches and those of MCP servers come to a hook of Codex at all; these would be
/// its plan and goal, a folder's names, and a picture.
const QUIET: [&str; 6] = ["create_goal", "get_goal", "list_dir", "update_goal", "update_plan", "view_image"];

/// It asks the person.
const QUESTIONS: [&str; 1] = ["request_user_input"];
