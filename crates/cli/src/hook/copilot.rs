//! Copilot CLI: `PreToolUse` in the form of Claude Code, with the names that Claude Code has for tools (tried with release 1.0.102).
//!
//! What is printed counts only with exit code 0: with 2 the call is not made either, and the model is told nothing but that code. So a
//! denial is printed, and 2 is left for an answer that cannot be.

use super::claude_code::{MCP_PREFIX, PRE_TOOL_USE};
use super::input::{BadInput, Called, Document};
use super::{Contract, End, Event, HookAnswer, Reply, Verdict};
use serde_json::json;
use std::time::Duration;

/// The contract.
pub(crate) struct Copilot;

impl Contract for Copilot {
    fn name(&self) -> &'static str {
        "copilot"
    }

    fn client(&self) -> Option<&'static str> {
        Some("copilot-cli")
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn event(&self, document: &Document) -> Option<Event> {
        document.event(&EVENTS)
    }

    fn read(&self, document: &Document) -> Result<Called, BadInput> {
        let mut called = document.call(PRE_TOOL_USE, &EVENTS)?;
        called.foreign = called.tool.starts_with(MCP_PREFIX);
        Ok(called)
    }

    /// Where nobody sits in front of it, its question is a denial.
    fn can_ask(&self, _event: Event) -> bool {
        true
    }

    fn quiet(&self) -> &'static [&'static str] {
        &QUIET
    }

    fn questions(&self) -> &'static [&'static str] {
        &QUESTIONS
    }

    fn answer(&self, reply: &Reply<'_>) -> HookAnswer {
        let (decision, reason) = match reply.verdict {
            Verdict::Allow => ("allow", "Allowed in Countersign."),
            Verdict::AskThere(why) => ("ask", why.as_str()),
            Verdict::Deny(denial) => ("deny", denial.message.as_str()),
            Verdict::NoOpinion => return HookAnswer::NOTHING,
        };
        let document = json!({ "hookSpecificOutput": {
            "hookEventName": PRE_TOOL_USE,
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        } });
        let reason = (decision == "deny").then(|| reason.to_owned());
        HookAnswer { document: Some(document), reason, end: End::Printed }
    }
}

const EVENTS: [(&str, Event); 1] = [(PRE_TOOL_USE, Event::BeforeTool)];

/// Copilot CLI ends a hook after 30 s unless it is told otherwise, and then makes the call.
const PATIENCE: Duration = Duration::from_secs(25);

/// They read files under Copilot CLI's own rules, or keep its own notes.
const QUIET: [&str; 3] = ["Glob", "Grep", "Read"];

/// An allow alone does not answer them.
const QUESTIONS: [&str; 2] = ["AskUserQuestion", "ExitPlanMode"];
