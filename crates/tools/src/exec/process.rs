//! `process`: runs that outlived their call, for the agent and session that started them.

use crate::parameters::Parameters;
use crate::runs::{Owner, RunState, Runs, Success, View};
use crate::tool::{Act, Call, Declaration, Output, Plan, Preview, Progress, Tool, ToolError};
use futures_util::future::{BoxFuture, ready};
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The tool `process`.
pub struct Process {
    declaration: Declaration,
    runs: Runs,
}

/// A checked call.
struct Look {
    runs: Runs,
    owner: Owner,
    action: Action,
}

/// What is wanted.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Action {
    Clear(Option<String>),
    Kill(String),
    List,
    Log { id: String, offset: Option<usize>, limit: usize },
    Poll { id: String, wait: Duration },
    Remove(String),
    Write { id: String, text: String },
}

impl Process {
    /// A tool that follows these runs.
    pub fn new(runs: Runs) -> Self {
        let count = |about: &str| json!({"type": "integer", "description": about});
        let declaration = Declaration {
            name: NAME.to_owned(),
            description:
                "Follows what runs in the background in this session: list, poll for new output, log, \
                          write to a terminal (a person is asked), kill, remove, clear what has ended."
                    .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "action": {"type": "string", "enum": ACTIONS, "description": "What to do"},
                    "sessionId": {
                        "type": "string",
                        "description": "Which run, as exec named it; clear without it takes all that have ended",
                    },
                    "timeout": count("For poll: milliseconds to wait for something new, up to 120000"),
                    "data": {
                        "type": "string",
                        "description": "For write: what to type, to a command that was started with pty and background; \\n is Enter",
                    },
                    "eof": {"type": "boolean", "description": "For write: whether input ends after it (Ctrl-D)"},
                    "offset": count("For log: first line, from 0"),
                    "limit": count("For log: number of lines"),
                },
                "required": ["action"],
            }),
        };
        Self { declaration, runs }
    }
}

impl Tool for Process {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn plan<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Result<Plan, ToolError>> {
        let plan = || {
            let (action, owner) = (Action::read(call)?, Owner::of(&call.caller));
            let preview = match &action {
                Action::Write { id, text } => {
                    let into = self.runs.reader(&owner, id);
                    let into = into.map_err(|error| ToolError::Failed(error.to_string()))?;
                    Preview::Typed { into, text: text.clone() }
                }
                _ => Preview::Harmless,
            };
            Ok(Plan { preview, act: Box::new(Look { runs: self.runs.clone(), owner, action }) })
        };
        Box::pin(ready(plan()))
    }
}

impl Action {
    fn read(call: &Call) -> Result<Self, ToolError> {
        let from = Parameters::new(NAME, &call.params, KNOWN)?;
        let id = || from.needed_text("sessionId").map(str::to_owned);
        let lines = |count: Option<u64>| count.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        match from.needed_text("action")? {
            "clear" => Ok(Self::Clear(from.text("sessionId")?.map(str::to_owned))),
            "kill" => Ok(Self::Kill(id()?)),
            "list" => Ok(Self::List),
            "log" => Ok(Self::Log {
                id: id()?,
                offset: lines(from.count("offset")?),
                limit: lines(from.count("limit")?).unwrap_or(LOG_LINES),
            }),
            "poll" => {
                let wait = Duration::from_millis(from.count("timeout")?.unwrap_or_default());
                Ok(Self::Poll { id: id()?, wait: wait.min(LONGEST_POLL) })
            }
            "remove" => Ok(Self::Remove(id()?)),
            "write" => {
                let mut text = from.text("data")?.unwrap_or_default().to_owned();
                if text.len() > LONGEST_TEXT {
                    return Err(
                        from.bad(format!("data: expected at most {LONGEST_TEXT} bytes, got {}", text.len()))
                    );
                }
                if from.flag("eof")? == Some(true) {
                    text.push(END_OF_INPUT);
                }
                if text.is_empty() {
                    return Err(from.bad("data: expected what to type, got nothing".to_owned()));
                }
                Ok(Self::Write { id: id()?, text })
            }
            other => Err(from.bad(format!("action: expected one of {}, got {other:?}", ACTIONS.join(", ")))),
        }
    }
}

impl Act for Look {
    fn run(
        self: Box<Self>,
        _progress: Progress,
        abort: CancellationToken,
    ) -> BoxFuture<'static, Result<Output, ToolError>> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = abort.cancelled() => Err(ToolError::Aborted),
                output = self.look() => output,
            }
        })
    }
}

impl Look {
    async fn look(&self) -> Result<Output, ToolError> {
        let Self { runs, owner, action } = self;
        let output = match action {
            Action::List => Ok(listed(&runs.list(owner))),
            Action::Poll { id, wait } => runs.poll(owner, id, *wait).await.map(polled),
            Action::Log { id, offset, limit } => {
                runs.log(owner, id).map(|view| logged(view, *offset, *limit))
            }
            Action::Kill(id) => runs.kill(owner, id).await.map(polled),
            Action::Remove(id) => runs.remove(owner, id).map(|()| said(format!("Removed {id}."))),
            Action::Write { id, text } => runs.write(owner, id, text.clone().into_bytes()).map(typed),
            Action::Clear(id) => {
                runs.clear(owner, id.as_deref()).map(|count| said(format!("Cleared {count}.")))
            }
        };
        output.map_err(|error| ToolError::Failed(error.to_string()))
    }
}

fn said(text: String) -> Output {
    Output { text, details: None }
}

fn typed(view: View) -> Output {
    let text = format!("Typed into {}. Follow what it answers with poll.", view.id);
    Output { text, details: Some(Value::Object(details(&view))) }
}

fn listed(views: &[View]) -> Output {
    let line = |view: &View| {
        let View { id, label, age, .. } = view;
        format!("{id}  {}  {} s  {}", state(view), age.as_secs(), label.replace(['\n', '\r'], " "))
    };
    let lines: Vec<String> = views.iter().map(line).collect();
    let text = if lines.is_empty() { "Nothing runs in this session.".to_owned() } else { lines.join("\n") };
    let of_one = |view: &View| {
        let mut members = details(view);
        members.insert("command".to_owned(), Value::from(view.label.as_str()));
        Value::Object(members)
    };
    let sessions: Vec<Value> = views.iter().map(of_one).collect();
    Output { text, details: Some(json!({"sessions": sessions})) }
}

fn polled(view: View) -> Output {
    let output = if view.output.is_empty() { "(no new output)" } else { view.output.trim_end() };
    let text = match &view.state {
        RunState::Running => format!("{output}\n\nStill running."),
        RunState::Ended { .. } | RunState::Failed(_) => format!("{output}\n\nEnded: {}.", state(&view)),
    };
    Output { text, details: Some(Value::Object(details(&view))) }
}

fn logged(view: View, offset: Option<usize>, limit: usize) -> Output {
    let total = view.output.lines().count();
    let offset = offset.unwrap_or(total.saturating_sub(limit));
    let lines: Vec<&str> = view.output.lines().skip(offset).take(limit).collect();
    let text = if lines.is_empty() { "(no output)".to_owned() } else { lines.join("\n") };
    let mut members = details(&view);
    members.insert("totalLines".to_owned(), Value::from(total));
    Output { text, details: Some(Value::Object(members)) }
}

fn state(view: &View) -> &str {
    match &view.state {
        RunState::Running => "running",
        RunState::Ended { status, .. } => status,
        RunState::Failed(error) => error,
    }
}

fn details(view: &View) -> Map<String, Value> {
    let mut members = Map::new();
    let word = match &view.state {
        RunState::Running => "running",
        RunState::Ended { success: Success::Yes, .. } => "completed",
        RunState::Ended { success: Success::No, .. } | RunState::Failed(_) => "failed",
    };
    members.insert("status".to_owned(), Value::from(word));
    members.insert("sessionId".to_owned(), Value::from(view.id.as_str()));
    if let RunState::Ended { details, .. } = &view.state {
        members.extend(details.clone());
    }
    members
}

/// The tool's name.
const NAME: &str = "process";

const ACTIONS: [&str; 7] = ["list", "poll", "log", "write", "kill", "remove", "clear"];

const KNOWN: &[&str] = &["action", "sessionId", "timeout", "offset", "limit", "data", "eof"];

/// Bytes that are typed at once: as many as a terminal keeps for a line.
const LONGEST_TEXT: usize = 4_095;

/// Ctrl-D.
const END_OF_INPUT: char = '\u{4}';

/// Lines of a log when the call names no number.
const LOG_LINES: usize = 200;

/// Longest wait of one poll: as long as `exec` waits at most.
const LONGEST_POLL: Duration = Duration::from_secs(120);
