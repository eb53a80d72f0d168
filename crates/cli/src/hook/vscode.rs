//! The agent of Visual Studio Code, as its documentation says
//! (code.visualstudio.com/docs/agent-customization/hooks): it runs the hooks of Claude Code's settings, and
//! says of a call the same in other members and with names of tools that are its own. There is no command
//! for it: it calls that of another agent.
//!
//! What is printed counts with exit code 0; 2 stops the call whatever is printed, and its model reads
//! standard error then.

use super::claude_code::PRE_TOOL_USE;
use super::input::{BadInput, Called, Document};
use super::{ClaudeCode, Contract, Event, HookAnswer, Reply, Verdict};
use std::time::Duration;

/// The contract.
pub(crate) struct VsCode;

impl Contract for VsCode {
    fn name(&self) -> &'static str {
        "vscode"
    }

    fn client(&self) -> Option<&'static str> {
        Some("visual-studio-code")
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn event(&self, document: &Document) -> Option<Event> {
        document.event(&EVENTS)
    }

    fn read(&self, document: &Document) -> Result<Called, BadInput> {
        let mut called = document.call(PRE_TOOL_USE, &EVENTS)?;
        // Some extensions' tools begin so too, and are not its own either.
        called.foreign = called.tool.starts_with(MCP_PREFIX);
        Ok(called)
    }

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
        match reply.verdict {
            // It takes another input only where that fits the tool's own description, and leaves it out else.
            Verdict::AllowWith(_) => {
                let verdict = Verdict::deny(super::Cause::Refused, super::NO_OTHER_COMMAND);
                ClaudeCode.answer(&Reply { verdict: &verdict, ..*reply })
            }
            _ => ClaudeCode.answer(reply),
        }
    }
}

const EVENTS: [(&str, Event); 1] = [(PRE_TOOL_USE, Event::BeforeTool)];

/// What tools of MCP servers begin with.
const MCP_PREFIX: &str = "mcp_";

/// It ends a hook after 30 s unless it is told otherwise, and then makes the call.
const PATIENCE: Duration = Duration::from_secs(25);

/// They look at files, at what was found wrong in them, or at what its own terminals printed, or keep its own
/// notes.
const QUIET: [&str; 15] = [
    "copilot_getNotebookSummary",
    "file_search",
    "get_changed_files",
    "get_errors",
    "get_terminal_output",
    "grep_search",
    "list_code_usages",
    "list_dir",
    "manage_todo_list",
    "read_file",
    "semantic_search",
    "terminal_last_command",
    "terminal_selection",
    "test_search",
    "tool_search",
];

/// An allow alone does not answer it.
const QUESTIONS: [&str; 1] = ["vscode_askQuestions"];
