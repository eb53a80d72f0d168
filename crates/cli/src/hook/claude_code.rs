//! Claude Code: `PreToolUse` and `PermissionRequest` (code.claude.com/docs/en/hooks).
//!
//! Before a tool, what could not be asked about is denied three times: as JSON, on standard error, and by
//! exit code 2, which no printed text can undo. What policy or a person denied is no fault of the hook's, and
//! Claude Code shows every exit code 2 as one: there the JSON says it alone, in the words of all releases.
//! Newer releases (2.1.330) put "PreToolUse:TOOL hook error: " before the reason of any denial, in JSON too:
//! no answer to this event is without it.
//! Where Claude Code would ask the person, only the printed decision counts.

use super::input::{BadInput, Called, Document};
use super::{Cause, Contract, Event, HookAnswer, Reply, Verdict};
use serde_json::{Value, json};
use std::time::Duration;

/// The contract.
pub(crate) struct ClaudeCode;

impl Contract for ClaudeCode {
    fn name(&self) -> &'static str {
        "claude-code"
    }

    fn client(&self) -> Option<&'static str> {
        Some("claude-code")
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

    fn can_ask(&self, _event: Event) -> bool {
        true
    }

    /// From release 2.1.9 on; older ones leave it out.
    fn takes_context(&self, event: Event) -> bool {
        event == Event::BeforeTool
    }

    fn takes_command(&self, event: Event) -> bool {
        event == Event::BeforeTool
    }

    fn quiet(&self) -> &'static [&'static str] {
        &QUIET
    }

    fn questions(&self) -> &'static [&'static str] {
        &QUESTIONS
    }

    fn answer(&self, reply: &Reply<'_>) -> HookAnswer {
        match reply.event {
            Event::BeforeTool => before_tool(reply.verdict, reply.context),
            Event::PermissionRequest => permission_request(reply.verdict),
        }
    }
}

fn before_tool(verdict: &Verdict, context: &str) -> HookAnswer {
    let decided = |decision: &str, reason: &str| {
        let mut said = json!({
            "hookEventName": PRE_TOOL_USE,
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        });
        if !context.is_empty() {
            said["additionalContext"] = context.into();
        }
        json!({ "hookSpecificOutput": said })
    };
    match verdict {
        Verdict::Allow => HookAnswer::printed(decided("allow", ALLOWED)),
        Verdict::AllowWith(params) => {
            let mut document = decided("allow", CONTAINED);
            document["hookSpecificOutput"]["updatedInput"] = Value::Object(params.clone());
            HookAnswer::printed(document)
        }
        Verdict::AskThere(why) => HookAnswer::printed(decided("ask", why)),
        Verdict::Deny(denial) => {
            // Of a denial only the reason is read, so what it is to know stands there.
            let lines = [denial.message.as_str(), context];
            let reason = lines.into_iter().filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
            let mut document = decided("deny", &reason);
            match denial.cause {
                Cause::Denied | Cause::Expired => {
                    // Releases of before 2025-08 read this and not the rest.
                    document["decision"] = "block".into();
                    document["reason"] = reason.into();
                    HookAnswer::printed(document)
                }
                Cause::Absent | Cause::Failed | Cause::Refused => HookAnswer::blocked(document, &reason),
            }
        }
        Verdict::NoOpinion => HookAnswer::NOTHING,
    }
}

/// Codex has the same words here.
pub(super) fn permission_request(verdict: &Verdict) -> HookAnswer {
    let decided = |decision: Value| {
        HookAnswer::printed(json!({ "hookSpecificOutput": {
            "hookEventName": PERMISSION_REQUEST,
            "decision": decision,
        } }))
    };
    match verdict {
        Verdict::Allow => decided(json!({ "behavior": "allow" })),
        Verdict::AllowWith(params) => decided(json!({ "behavior": "allow", "updatedInput": params })),
        Verdict::Deny(denial) => decided(json!({ "behavior": "deny", "message": denial.message })),
        // The agent is about to ask: with nothing said it does.
        Verdict::AskThere(_) | Verdict::NoOpinion => HookAnswer::NOTHING,
    }
}

pub(super) const EVENTS: [(&str, Event); 2] =
    [(PRE_TOOL_USE, Event::BeforeTool), (PERMISSION_REQUEST, Event::PermissionRequest)];
pub(super) const EVENT_NAMES: &str = "PreToolUse or PermissionRequest";
pub(super) const PRE_TOOL_USE: &str = "PreToolUse";
pub(super) const PERMISSION_REQUEST: &str = "PermissionRequest";

/// What tools of MCP servers begin with: their names say nothing of what they do.
pub(super) const MCP_PREFIX: &str = "mcp__";

/// What the person reads in Claude Code; Claude does not.
const ALLOWED: &str = "Allowed in Countersign.";

/// The same of a command that runs in a box.
const CONTAINED: &str = "Runs in Countersign's box: its folder is open.";

/// Releases before 2.1.3 end a hook after 60 s unless they are told otherwise; newer ones after 600 s.
const PATIENCE: Duration = Duration::from_secs(50);

/// They read files under Claude Code's own rules, keep lists that only Claude reads, or say when it goes on.
/// `LS`, `NotebookRead`, `BashOutput`, `TodoRead` are of older releases.
const QUIET: [&str; 20] = [
    "BashOutput",
    "EnterPlanMode",
    "Glob",
    "Grep",
    "LS",
    "ListAgents",
    "ListMcpResourcesTool",
    "NotebookRead",
    "Read",
    "ReportFindings",
    "ScheduleWakeup",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WaitForMcpServers",
];

/// An allow alone does not answer them.
const QUESTIONS: [&str; 2] = ["AskUserQuestion", "ExitPlanMode"];
