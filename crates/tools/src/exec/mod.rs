//! `exec` runs a command, and `process` follows those that outlive their call.
//!
//! `exec` decides nothing: where the command runs, whether it may and who is asked is up to the [`ExecHost`].

mod command;
mod host;
mod process;

use crate::runs::{Finish, Followed, Owner, Runs, Success};
use crate::tool::{
    Act, Call, CallKey, Caller, Declaration, Output, Plan, Preview, Progress, Tool, ToolError,
};
use command::Order;
use countersign_protocol::socket::ExecPayload;
use futures_util::future::{BoxFuture, ready};
pub use host::{ExecHost, HostRun, Ran};
pub use process::Process;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The tool `exec`.
pub struct Exec {
    declaration: Declaration,
    host: Arc<dyn ExecHost>,
    runs: Runs,
    settings: Settings,
}

/// What holds where a call says nothing else.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Settings {
    /// After that a command is ended.
    pub timeout: Duration,
    /// How long after its start a call waits for its command before that goes on without it.
    pub patience: Duration,
}

impl Default for Settings {
    /// Half an hour (docs/protocol/tools.md, "Time limits"), and ten seconds.
    fn default() -> Self {
        Self { timeout: Duration::from_secs(1_800), patience: Duration::from_secs(10) }
    }
}

/// A command as it will run.
struct Command {
    host: Arc<dyn ExecHost>,
    runs: Runs,
    order: Order,
    caller: Caller,
    call: CallKey,
}

impl Exec {
    /// A tool that runs commands at `host`. Those that outlive their calls are among `runs`.
    pub fn new(host: Arc<dyn ExecHost>, runs: Runs, settings: Settings) -> Self {
        Self { declaration: Self::declared(), host, runs, settings }
    }

    /// What agents are told of it.
    pub fn declared() -> Declaration {
        Declaration {
            name: NAME.to_owned(),
            description:
                "Runs a shell command and returns what it prints. A command that takes long goes on in \
                          the background; follow it with process."
                    .to_owned(),
            parameters: command::schema(),
        }
    }
}

impl Tool for Exec {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn plan<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let plan = Order::read(call, &self.settings).map(|order| Plan {
            preview: Preview::AskedThere { exec: Box::new(order.exec.clone()), types: order.types },
            act: Box::new(Command {
                host: Arc::clone(&self.host),
                runs: self.runs.clone(),
                order,
                caller: call.caller.clone(),
                call: call.key(),
            }),
        });
        Box::pin(ready(plan))
    }
}

impl Act for Command {
    fn run(
        self: Box<Self>,
        progress: Progress,
        abort: CancellationToken,
    ) -> BoxFuture<'static, Result<Output, ToolError>> {
        Box::pin(async move {
            let Self { host, runs, order, caller, call } = *self;
            let Order { text, exec, types, tool, patience } = order;
            let owner = Owner::of(&caller);
            let job = |ear, stop| async move {
                match host.run(HostRun { exec, types, tool, caller, call }, ear, stop).await {
                    Ok(ran) => Ok(finish(ran)),
                    Err(error) => Err(ToolError::Denied(error.message)),
                }
            };
            match runs.run(owner, &text, progress, patience, &abort, job).await? {
                Followed::Ended(finish) => Ok(ended(finish)),
                Followed::Left { id, output } => Ok(left(id, output)),
            }
        })
    }
}

/// What a command came to.
fn finish(ran: Ran) -> Finish {
    let Ran { host, node, payload } = ran;
    let ExecPayload { exit_code, timed_out, success, stdout, stderr, error } = payload;
    let status = match (&error, exit_code) {
        _ if timed_out => "ended by its time limit".to_owned(),
        (Some(error), _) => error.clone(),
        (None, Some(code)) => format!("exit {code}"),
        (None, None) => "ended without a status".to_owned(),
    };
    let mut details = Map::new();
    details.insert("exitCode".to_owned(), json!(exit_code));
    details.insert("timedOut".to_owned(), json!(timed_out));
    details.extend(host.map(|host| ("host".to_owned(), Value::from(host.as_str()))));
    details.extend(node.map(|node| ("node".to_owned(), Value::from(node))));
    let output = match (stdout.is_empty(), stderr.is_empty()) {
        (_, true) => stdout,
        (true, false) => stderr,
        (false, false) if stdout.ends_with('\n') => stdout + &stderr,
        (false, false) => stdout + "\n" + &stderr,
    };
    let success = if success { Success::Yes } else { Success::No };
    Finish { output, status, success, details }
}

/// What an agent is told of something that ended while its call waited.
pub(crate) fn ended(finish: Finish) -> Output {
    let Finish { output, status, success, mut details } = finish;
    let output = or_none(output);
    let (text, word) = match success {
        Success::Yes => (output, "completed"),
        Success::No => (format!("{}\n\n({status})", output.trim_end()), "failed"),
    };
    details.insert("status".to_owned(), Value::from(word));
    Output { text, details: Some(Value::Object(details)) }
}

/// What an agent is told of something that goes on without its call.
pub(crate) fn left(id: String, output: String) -> Output {
    let so_far = if output.is_empty() { String::new() } else { format!("{}\n\n", output.trim_end()) };
    Output {
        text: format!(
            "{so_far}Still running (session {id}). Follow it with process: list, poll, log, write, \
             kill, remove, clear."
        ),
        details: Some(json!({"status": "running", "sessionId": id})),
    }
}

fn or_none(output: String) -> String {
    if output.trim().is_empty() { "(no output)".to_owned() } else { output }
}

/// The tool's name.
const NAME: &str = "exec";

#[cfg(test)]
mod tests;
