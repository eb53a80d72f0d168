//! `subagent` and `spawn`: a task goes to a program that the person configured, always gated. `subagent`
//! waits for its answer, `spawn` leaves it to go on, where `process` follows it. Neither is there unless a
//! program is configured.
//!
//! The program gets one JSON object on stdin, `{"tool", "task", "callId", "runId"?, "agentId", "sessionKey"?,
//! "workspace"}`, and answers on stdout. Nothing of a call gets into its arguments, and nothing that an agent
//! wrote gets to it but the task, which is what whoever allows it has seen.

use crate::exec::{ended, left};
use crate::parameters::Parameters;
use crate::programs::{Limits, Printed, ProgramError, Programs};
use crate::runs::{Ear, Finish, Followed, Heard, Owner, Patience, Runs, Success};
use crate::tool::{Act, Call, Declaration, Output, Plan, Preview, Progress, Tool, ToolError};
use countersign_policy::display;
use countersign_protocol::ids::SessionKey;
use countersign_protocol::limits::OUTPUT_BYTES;
use futures_util::future::{BoxFuture, ready};
use serde::Serialize;
use serde_json::{Map, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What the person configured: programs, absolute, with their arguments.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HandOvers {
    /// For `subagent`.
    pub subagent: Option<Vec<String>>,
    /// For `spawn`.
    pub spawn: Option<Vec<String>>,
}

impl HandOvers {
    /// The tools that there are programs for.
    pub fn tools(self, programs: &Arc<dyn Programs>, runs: &Runs) -> Vec<Arc<dyn Tool>> {
        let configured = [(Kind::Subagent, self.subagent), (Kind::Spawn, self.spawn)];
        let tool = |(kind, argv): (Kind, Option<Vec<String>>)| {
            let argv = argv.filter(|argv| !argv.is_empty())?;
            let (programs, runs) = (Arc::clone(programs), runs.clone());
            Some(Arc::new(HandOver { declaration: kind.declaration(), kind, argv, programs, runs })
                as Arc<dyn Tool>)
        };
        configured.into_iter().filter_map(tool).collect()
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Spawn,
    Subagent,
}

struct HandOver {
    declaration: Declaration,
    kind: Kind,
    argv: Vec<String>,
    programs: Arc<dyn Programs>,
    runs: Runs,
}

/// A task that is ready to be handed over.
struct Task {
    kind: Kind,
    argv: Vec<String>,
    input: Vec<u8>,
    label: String,
    owner: Owner,
    programs: Arc<dyn Programs>,
    runs: Runs,
}

/// What goes to stdin.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskInput<'a> {
    tool: &'a str,
    task: &'a str,
    call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<&'a str>,
    agent_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_key: Option<&'a str>,
    workspace: String,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::Subagent => "subagent",
        }
    }

    fn declaration(self) -> Declaration {
        let description = match self {
            Self::Spawn => {
                "Hands a task to another agent, which works on it in the background; follow it with process."
            }
            Self::Subagent => "Hands a task to another agent and returns its answer.",
        };
        Declaration {
            name: self.name().to_owned(),
            description: description.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"task": {"type": "string", "description": "What is to be done, in full"}},
                "required": ["task"]
            }),
        }
    }
}

impl Tool for HandOver {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn plan<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Plan, ToolError>> {
        Box::pin(ready(self.checked(call)))
    }
}

impl HandOver {
    fn checked(&self, call: &Call) -> Result<Plan, ToolError> {
        let name = self.kind.name();
        let from = Parameters::new(name, &call.params, &["task"])?;
        let task = from.needed_text("task")?;
        if task.len() > MAX_TASK {
            return Err(from.bad(format!("task: expected at most {MAX_TASK} bytes, got {}", task.len())));
        }
        let told = TaskInput {
            tool: name,
            task,
            call_id: &call.id,
            run_id: call.run_id.as_deref(),
            agent_id: call.caller.agent.as_str(),
            session_key: call.caller.session.as_ref().map(SessionKey::as_str),
            workspace: call.workspace.to_string_lossy().into_owned(),
        };
        let input = serde_json::to_vec(&told).map_err(|error| ToolError::Failed(error.to_string()))?;
        Ok(Plan {
            preview: Preview::HandOver { command: self.argv.clone(), task: task.to_owned() },
            act: Box::new(Task {
                kind: self.kind,
                argv: self.argv.clone(),
                input,
                label: format!("{name}: {task}"),
                owner: Owner::of(&call.caller),
                programs: Arc::clone(&self.programs),
                runs: self.runs.clone(),
            }),
        })
    }
}

impl Act for Task {
    fn run(
        self: Box<Self>,
        progress: Progress,
        abort: CancellationToken,
    ) -> BoxFuture<'static, Result<Output, ToolError>> {
        Box::pin(async move {
            let Self { kind, argv, input, label, owner, programs, runs } = *self;
            let patience = match kind {
                Kind::Spawn => Patience::AtOnce,
                Kind::Subagent => Patience::ToTheEnd,
            };
            let job = |ear: Ear, stop| async move {
                ear.hear(Heard::Started);
                finish(programs.call(&argv, &input, LIMITS, stop).await)
            };
            match runs.run(owner, &label, progress, patience, &abort, job).await? {
                Followed::Ended(finish) => Ok(ended(finish)),
                Followed::Left { id, output } => Ok(left(id, output)),
            }
        })
    }
}

/// What a program came to. One that failed brought no answer; what it said is why.
fn finish(result: Result<Printed, ProgramError>) -> Result<Finish, ToolError> {
    match result {
        Ok(Printed { stdout, stderr }) => {
            if !stderr.trim().is_empty() {
                let said = display::output_tail(stderr.trim(), MAX_SAID);
                tracing::info!(said = display::escape(&said), "a program that was handed a task says");
            }
            let (status, details) = ("exit 0".to_owned(), Map::new());
            Ok(Finish { output: stdout, status, success: Success::Yes, details })
        }
        Err(ProgramError::Aborted) => Err(ToolError::Aborted),
        Err(ProgramError::Failed { text, said }) if !said.trim().is_empty() => {
            let said = display::output_tail(said.trim(), MAX_SAID);
            Err(ToolError::Failed(format!("the program failed: {text}: {said}")))
        }
        Err(error) => Err(ToolError::Failed(format!("the program {error}"))),
    }
}

/// Bytes of a task: more than a person reads before allowing it.
const MAX_TASK: usize = 64 * 1_024;

/// What a program may take for a task: as long as a command (docs/protocol/tools.md, "Time limits"), and as
/// much output as any run returns.
const LIMITS: Limits = Limits { time: Duration::from_secs(1_800), output: OUTPUT_BYTES };

/// Characters of what a program said, from the end.
const MAX_SAID: usize = 2_000;

#[cfg(test)]
mod tests;
