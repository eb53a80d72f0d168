//! Copilot CLI: `PreToolUse` in the form of Claude Code, with the names that Claude Code has for tools (tried
//! with release 1.0.102).
//!
//! What is printed counts only with exit code 0: with 2 the call is not made either, and the model is told
//! nothing but that code. So a denial is printed, and 2 is left for an answer that cannot be.

use super::claude_code::PRE_TOOL_USE;
use super::input::{BadInput, Called, Document};
use super::{Contract, End, Event, HookAnswer, NO_OTHER_COMMAND, Reply, Verdict};
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

    fn runs_hooks_in_turn(&self) -> bool {
        true
    }

    fn event(&self, document: &Document) -> Option<Event> {
        document.event(&EVENTS)
    }

    fn read(&self, document: &Document) -> Result<Called, BadInput> {
        let mut called = document.call(PRE_TOOL_USE, &EVENTS)?;
        // A tool of a server has the server's name before its own; no tool of its own has a dash.
        called.foreign = called.tool.contains('-');
        // It runs hooks one after the other, and says of a call the same to each.
        called.own_id = called.own_id.or(document.optional_text("timestamp")?.map(str::to_owned));
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
            Verdict::AllowWith(_) => ("deny", NO_OTHER_COMMAND),
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

/// They read files or what its own shells printed, or keep its own notes.
const QUIET: [&str; 9] = [
    "Glob",
    "Grep",
    "Read",
    "TodoWrite",
    "list_agents",
    "list_bash",
    "read_agent",
    "read_bash",
    "report_intent",
];

/// An allow alone does not answer them.
const QUESTIONS: [&str; 2] = ["AskUserQuestion", "exit_plan_mode"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::{Cause, Denial};
    use pretty_assertions::assert_eq;

    fn answered(verdict: &Verdict) -> HookAnswer {
        Copilot.answer(&Reply { event: Event::BeforeTool, id: None, verdict, context: "" })
    }

    #[test]
    fn a_denial_is_printed_with_the_code_that_has_it_read() {
        let denial = Denial { cause: Cause::Denied, message: "not on a Friday".to_owned() };
        let answer = answered(&Verdict::Deny(denial));
        let said = &answer.document.as_ref().unwrap()["hookSpecificOutput"];
        assert_eq!(
            (&said["permissionDecision"], &said["permissionDecisionReason"]),
            (&json!("deny"), &json!("not on a Friday"))
        );
        assert_eq!((answer.end, answer.reason.as_deref()), (End::Printed, Some("not on a Friday")));
        for (verdict, decision) in [(Verdict::Allow, "allow"), (Verdict::AskThere("why".to_owned()), "ask")] {
            let document = answered(&verdict).document.unwrap();
            assert_eq!(document["hookSpecificOutput"]["permissionDecision"], decision);
        }
        assert_eq!(answered(&Verdict::NoOpinion), HookAnswer::NOTHING);
    }
}
