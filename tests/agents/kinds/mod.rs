//! The agents, each as its vendor publishes it: how it is set up and started, and what its tools are called.

mod claude_code;
mod codex;
mod copilot;
mod gemini;
mod opencode;
mod qwen;

use crate::model::{Call, Model};
use crate::{NoSuchThing, Story};
use anyhow::{Context, Result, bail, ensure};
use countersign_tests::home::Home;
use serde_json::{Value, json};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// An agent that is installed on this machine.
#[derive(Debug)]
pub(crate) struct Agent {
    pub(crate) kind: &'static dyn Kind,
    /// What the vendor's package holds.
    program: PathBuf,
    /// What runs it where it is a script.
    node: PathBuf,
}

/// What agents differ in.
pub(crate) trait Kind: std::fmt::Debug + Sync {
    /// As `countersign hook` and people on a command line call it.
    fn name(&self) -> &'static str;

    /// Whether its program is a script for Node.
    fn is_script(&self) -> bool {
        false
    }

    /// The settings that its hook is put into.
    fn hooks_file(&self, home: &Home) -> PathBuf;

    /// How the limit of a hook is written there.
    fn limit(&self, limit: Duration) -> u64 {
        limit.as_secs()
    }

    /// Whether it goes on as if a hook had said nothing when that reaches the limit that the agent gave it.
    fn goes_on_after_limit(&self) -> bool {
        true
    }

    /// How long it waits for its hook at most, whatever its settings say.
    fn waits_at_most(&self) -> Option<Duration> {
        None
    }

    /// Whether it changes a file only after it has read it.
    fn reads_first(&self) -> bool {
        true
    }

    /// The call of a tool of its own by which it does this; an error with [`NoSuchThing`] where it has none.
    fn call(&self, deed: &Deed) -> Result<Call>;

    /// The call by which it waits for an agent below, where handing over does not wait.
    fn await_below(&self) -> Option<Call> {
        None
    }

    /// The call by which an agent below says that it has done its task, where saying something is not enough.
    fn end_below(&self) -> Option<Call> {
        None
    }

    /// Has it talk to the scripted model, and to nobody else.
    fn settle(&self, home: &Home, model: &Model) -> Story;

    /// Makes the program's command line into one that does what the prompt says and ends.
    fn prompt(&self, program: &mut Command, model: &Model, prompt: &str, mode: Mode);

    /// Makes the program's command line into one that does what the prompt says in a terminal and stays, with
    /// everything settled that it would ask there first.
    fn converse(&self, _program: &mut Command, _home: &Home, _model: &Model, _prompt: &str) -> Story {
        Err(without("no story has it in a terminal yet"))
    }

    /// What it says after Escape in its terminal where it stops only at a second one.
    fn says_to_press_again(&self) -> Option<&'static str> {
        None
    }

    /// Whether it ends its hooks when a turn is stopped, so that they can know.
    fn ends_hooks_with_turn(&self) -> bool {
        true
    }

    /// Adds the server of tools to its settings, as the documentation says.
    fn add_tools(&self, agent: &Agent, home: &Home, door: &Door) -> Story;

    /// The settings that the server stands in.
    fn tools_file(&self, home: &Home) -> PathBuf {
        self.hooks_file(home)
    }

    /// Gives calls of the server's tools this limit, as the agent and not we would.
    fn limit_calls(&self, home: &Home, seconds: u64) -> Story {
        let path = self.tools_file(home);
        let mut settings: Value = serde_json::from_slice(&fs::read(&path)?)?;
        let servers = ["mcpServers", "mcp"].into_iter().find(|name| settings.get(*name).is_some());
        let servers = servers.with_context(|| format!("a list of servers should be in {settings}"))?;
        settings[servers]["countersign"]["timeout"] = (seconds * 1_000).into();
        Ok(fs::write(path, format!("{settings:#}\n"))?)
    }

    /// Says in its settings that the person trusts the hook and the folder, where that has to be said.
    fn trust_hook(&self, _home: &Home) -> Story {
        Ok(())
    }

    /// Files that may switch its hook off, and others that look like it.
    fn switched_by(&self) -> &'static [Switched] {
        &[]
    }

    /// Whether its tool that fetches is given an address, and not a text that has some in it.
    fn fetches_an_address(&self) -> bool {
        true
    }
}

/// Settings in a file, and what comes of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switched {
    pub(crate) place: Place,
    pub(crate) text: &'static str,
    /// Whether no call comes here then.
    pub(crate) turns_off: bool,
}

impl Switched {
    const fn off(place: Place, text: &'static str) -> Self {
        Self { place, text, turns_off: true }
    }

    const fn on(place: Place, text: &'static str) -> Self {
        Self { place, text, turns_off: false }
    }
}

/// Where a file of settings is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// Below the home directory.
    Home(&'static str),
    /// Below the folder that the agent works in.
    Work(&'static str),
    /// Anywhere on the machine.
    Machine(&'static str),
}

/// Something that an agent is told to do, with a tool of its own.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Run a command text.
    Run(String),
    /// Run a command text and go on meanwhile.
    Background(String),
    /// Run a command text by a tool that is not its shell.
    Watch(String),
    /// Write a file that is not there yet.
    Write { path: String, text: String },
    /// Put one text in the place of another.
    Edit { path: String, old: String, new: String },
    /// Read a file.
    Read(String),
    /// Fetch a page.
    Fetch(String),
    /// Hand this prompt to an agent below it.
    Delegate(String),
    /// Call a tool of ours.
    Ours { tool: &'static str, arguments: Value },
}

/// How freely an agent is let work by its own settings.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Mode {
    /// As a person starts it who has set nothing.
    Usual,
    /// Without any permissions of its own.
    Unchecked,
}

/// How our tools are reached.
#[derive(Clone, Debug)]
pub(crate) enum Door {
    /// The agent starts this program.
    Started(PathBuf),
    /// It calls this address with this token.
    Called { url: String, token: String },
}

impl Agent {
    /// The one that the environment names, as `cargo xtask interop agents` sets it.
    pub(crate) fn from_env() -> Result<Self> {
        let set = |name: &str| -> Result<OsString> {
            env::var_os(name)
                .with_context(|| format!("{name} is not set: cargo xtask interop agents sets it"))
        };
        let name = set("COUNTERSIGN_AGENT")?;
        let Some(kind) = KINDS.iter().find(|kind| name == *kind.name()) else {
            bail!("expected one of the agents that stories are told with, got {name:?}");
        };
        Ok(Self {
            kind: *kind,
            program: set("COUNTERSIGN_AGENT_PROGRAM")?.into(),
            node: set("COUNTERSIGN_AGENT_NODE")?.into(),
        })
    }

    /// Its program in this home, without arguments. It finds the Node that runs it first, and our command.
    pub(crate) fn program(&self, home: &Home, ours: &Path) -> Result<Command> {
        let mut program = if self.kind.is_script() {
            let mut node = home.command(&self.node);
            node.arg(&self.program);
            node
        } else {
            home.command(&self.program)
        };
        let folders = [self.node.parent(), ours.parent()].into_iter().flatten().map(Path::to_owned);
        let rest = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(folders.chain(env::split_paths(&rest)))?;
        program.env("PATH", path).env("TERM", "xterm");
        Ok(program)
    }
}

/// Gives all hooks in an agent's settings this limit, as the agent and not we would.
pub(crate) fn limit_hooks(kind: &dyn Kind, home: &Home, limit: Duration) -> Story {
    let path = kind.hooks_file(home);
    let mut settings: Value = serde_json::from_slice(&fs::read(&path)?)?;
    let changed = shorten(&mut settings["hooks"], kind.limit(limit));
    ensure!(changed > 0, "a hook with a limit should be in {settings}");
    Ok(fs::write(path, format!("{settings:#}\n"))?)
}

fn shorten(value: &mut Value, limit: u64) -> usize {
    match value {
        Value::Array(items) => items.iter_mut().map(|item| shorten(item, limit)).sum(),
        Value::Object(members) => {
            let own = members.get_mut("timeout").map(|slot| *slot = limit.into()).is_some();
            usize::from(own) + members.values_mut().map(|member| shorten(member, limit)).sum::<usize>()
        }
        _ => 0,
    }
}

/// The server in the settings of Gemini CLI and of those that came from it.
fn served(door: &Door, arguments: &[&str]) -> Value {
    let mut server = match door {
        Door::Started(ours) => json!({ "command": ours, "args": arguments }),
        Door::Called { url, token } => {
            json!({ "httpUrl": url, "headers": { "Authorization": format!("Bearer {token}") } })
        }
    };
    server["trust"] = true.into();
    server["timeout"] = 600_000.into();
    server
}

/// An error that says that an agent has no tool for something.
fn without(what: &str) -> anyhow::Error {
    NoSuchThing(what.to_owned()).into()
}

/// All that stories can be told with.
const KINDS: &[&dyn Kind] = &[
    &claude_code::ClaudeCode,
    &codex::Codex,
    &copilot::Copilot,
    &gemini::Gemini,
    &opencode::Opencode,
    &qwen::Qwen,
];
