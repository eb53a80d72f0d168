//! `countersign hook`: what other agents start before they call a tool, and setting them up to do so.

use super::Exit;
use super::exec::seconds;
use super::output::Output;
use crate::hook::{
    self, Cause, ClaudeCode, Codex, Contract, Copilot, End, Event, Gemini, Generic, HookAnswer, Options,
    Qwen, WhenAbsent, WhichCalls,
};
use clap::{Args, Subcommand, ValueEnum};
use countersign_agents::{
    Agent, Change, ConnectError, FileChange, HookWish, Note, Plan, Record, Request, SYSTEM, Scope,
    Surroundings, by_name, hook_words,
};
use countersign_approvals::ports::Ports;
use countersign_companion::alone;
use countersign_core::paths::{Paths, process_environment};
use countersign_policy::display;
use countersign_protocol::ids::AgentId;
use countersign_protocol::tools::ToolCall;
use serde::Serialize;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

// Which agent calls, or is to be set up.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum HookCommand {
    /// Answer Claude Code's PreToolUse and PermissionRequest hooks.
    ///
    /// Reads one call as JSON from standard input, asks the app, and prints Claude Code's answer. Exit code 2
    /// denies, whatever is printed.
    ClaudeCode(CallArgs),
    /// Answer Codex's PreToolUse and PermissionRequest hooks.
    ///
    /// Reads one call as JSON from standard input, asks the app, and prints Codex's answer. Before a tool
    /// Codex takes only a no: an allow prints nothing, and Codex's own approvals follow. Exit code 2 denies.
    Codex(CallArgs),
    /// Answer Gemini CLI's BeforeTool hooks.
    ///
    /// Reads one call as JSON from standard input, asks the app, and prints Gemini CLI's answer. Its own
    /// policy follows an allow. Exit code 2 denies.
    Gemini(CallArgs),
    /// Answer Qwen Code's PreToolUse and PermissionRequest hooks.
    ///
    /// Reads one call as JSON from standard input, asks the app, and prints Qwen Code's answer. Exit code 2
    /// denies, whatever is printed.
    Qwen(CallArgs),
    /// Answer Copilot CLI's PreToolUse hooks.
    ///
    /// Reads one call as JSON from standard input, asks the app, and prints Copilot CLI's answer: a denial is
    /// printed with exit code 0, since Copilot CLI tells its model no reason with any other.
    Copilot(CallArgs),
    /// Answer anything else that can start a program and read JSON.
    ///
    /// Reads {"tool": …, "params": {…}, "cwd"?, "agent"?, "session"?, "id"?} from standard input, asks the
    /// app, and prints {"decision": "allow" or "deny", "message"?, "id"?}. Only exit code 0 allows; 200
    /// denied, 201 nobody answered, 202 no app, 203 bad input, 1 anything else.
    Generic(CallArgs),
    /// Put this hook into an agent's settings, or take it out.
    ///
    /// The change is shown, and what was there before stays beside the file. `countersign connect` does the
    /// same for all agents of this machine, and tells what each asks here then.
    Install(InstallArgs),
}

// How calls are answered. What is printed is always the agent's JSON, with --json and without.
#[derive(Args, Clone, Debug)]
pub(super) struct CallArgs {
    /// The agent's name in the inbox and in rules [default: the hook's; for generic what the call
    /// says, else main].
    #[arg(long, short)]
    agent: Option<String>,
    /// Deny when there is no answer after this many seconds. It has to be less than the agent's own limit for
    /// its hook: an agent that ends a hook goes on without an answer [default: 120; without a limit that
    /// `hook install` wrote 50 for Claude Code, Gemini CLI and Qwen Code, 25 for Copilot CLI].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// Ask about every tool, not only about those that could do harm.
    #[arg(long)]
    all: bool,
    /// What holds when the app is not running: deny, or ask, where the agent can ask the person itself
    /// (Claude Code, Qwen Code and Copilot CLI; Codex at permission requests).
    #[arg(long, value_enum, default_value_t)]
    when_absent: WhenAbsentArg,
    /// Which calls this is for; others are denied [default: any].
    #[arg(long, value_enum)]
    event: Option<EventArg>,
}

// What to set up.
#[derive(Args, Clone, Debug)]
pub(super) struct InstallArgs {
    /// Which agent.
    #[arg(value_enum)]
    target: TargetArg,
    /// Whose settings: yours in all projects, or those of the project in the current folder.
    #[arg(long, value_enum, default_value_t)]
    scope: ScopeArg,
    /// Take the hook out again.
    #[arg(long)]
    remove: bool,
    /// Show what would change, and write nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    call: CallArgs,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
enum WhenAbsentArg {
    #[default]
    Deny,
    Ask,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum EventArg {
    /// Every call of a tool.
    BeforeTool,
    /// Where the agent would ask the person itself.
    PermissionRequest,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum TargetArg {
    ClaudeCode,
    Codex,
    Gemini,
    Qwen,
    Copilot,
}

/// Whose settings.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, ValueEnum)]
pub(super) enum ScopeArg {
    /// Yours, in all projects.
    #[default]
    User,
    /// Those of the project in the current folder.
    Project,
}

impl ScopeArg {
    /// As settings know it.
    pub(super) const fn scope(self) -> Scope {
        match self {
            Self::Project => Scope::Project,
            Self::User => Scope::User,
        }
    }
}

/// What `hook install --json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InstallReport<'a> {
    agent: &'static str,
    /// What the agent reads.
    path: &'a Path,
    /// What would be written: another file where links lead to it.
    file: &'a Path,
    /// Whether it is not as it is wanted.
    changes: bool,
    /// Whether it was written.
    applied: bool,
    diff: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    backup: Option<&'a Path>,
    notes: Vec<String>,
}

/// What `hook install --json` prints when it leaves settings alone.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeftReport<'a> {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_hand: Option<&'a str>,
}

impl HookCommand {
    /// Whether an agent waits for the answer. Whatever fails then has to end in a way that stops the agent.
    pub(super) const fn is_call(&self) -> bool {
        !matches!(self, Self::Install(_))
    }
}

pub(super) async fn hook(paths: &Paths, command: HookCommand, output: &Output) -> anyhow::Result<Exit> {
    match command {
        HookCommand::ClaudeCode(args) => Ok(call(paths, &ClaudeCode, args).await),
        HookCommand::Codex(args) => Ok(call(paths, &Codex, args).await),
        HookCommand::Gemini(args) => Ok(call(paths, &Gemini, args).await),
        HookCommand::Qwen(args) => Ok(call(paths, &Qwen, args).await),
        HookCommand::Copilot(args) => Ok(call(paths, &Copilot, args).await),
        HookCommand::Generic(args) => Ok(call(paths, &Generic, args).await),
        HookCommand::Install(args) => set_up(paths, &args, output),
    }
}

async fn call(paths: &Paths, contract: &'static dyn Contract, args: CallArgs) -> Exit {
    let options = args.options();
    let event = options.event;
    let socket = paths.control_socket();
    let own = paths.clone();
    // A task of its own, so that a fault in it ends in an answer too.
    let answered = tokio::spawn(async move {
        let alone = |call: &ToolCall| {
            let caller = &call.caller;
            alone::refuses_tool(
                &own,
                &AgentId::of(Some(&caller.agent)),
                caller.session.as_deref(),
                &call.tool,
            )
        };
        let record = Record::at(own.connected());
        // A sign that cannot be left costs a doubt later, and no call now.
        let ports = Ports::system();
        let heard = |name: &'static str| {
            let _ = by_name(name).map(|agent| record.hear(agent, ports.clock.now_ms()));
        };
        hook::answer(contract, &options, &socket, (&alone, &heard), &*ports.ids, hook::of_stdin).await
    });
    let answer = tokio::select! {
        biased;
        // What was asked is taken back with the end of this process.
        () = hook::listener::gone() => return Exit::Blocked,
        answered = answered => match answered {
            Ok(answer) => answer,
            Err(error) => hook::could_not_ask(contract, event, Cause::Failed, &error),
        },
    };
    tell(&answer)
}

/// Prints an answer. One that cannot be printed must not look like an allow.
fn tell(answer: &HookAnswer) -> Exit {
    let mut told = Ok(());
    if let Some(document) = &answer.document {
        let mut stdout = io::stdout().lock();
        told = writeln!(stdout, "{document}").and_then(|()| stdout.flush());
    }
    if let Some(reason) = &answer.reason {
        // The exit code says it too.
        let _ = writeln!(io::stderr(), "{}", readable(reason));
    }
    match (told, answer.end) {
        (Err(_), End::Printed | End::Blocked) | (Ok(()), End::Blocked) => Exit::Blocked,
        (Ok(()), End::Printed) => Exit::Ok,
        (_, End::Told(cause)) => match cause {
            Cause::Absent => Exit::NoApp,
            Cause::Denied => Exit::Denied,
            Cause::Expired => Exit::Expired,
            Cause::Failed => Exit::Failed,
            Cause::Refused => Exit::Refused,
        },
    }
}

impl CallArgs {
    fn options(self) -> Options {
        Options {
            agent: self.agent,
            timeout: self.timeout,
            asked: if self.all { WhichCalls::All } else { WhichCalls::Risky },
            when_absent: match self.when_absent {
                WhenAbsentArg::Ask => WhenAbsent::Ask,
                WhenAbsentArg::Deny => WhenAbsent::Deny,
            },
            event: self.event.map(|event| match event {
                EventArg::BeforeTool => Event::BeforeTool,
                EventArg::PermissionRequest => Event::PermissionRequest,
            }),
        }
    }
}

fn set_up(paths: &Paths, args: &InstallArgs, output: &Output) -> anyhow::Result<Exit> {
    let request = args.request()?;
    let (folder, environment) = (std::env::current_dir()?, process_environment());
    let system = Path::new(SYSTEM);
    let around = Surroundings { home: &paths.home, folder: &folder, system, environment: &environment };
    let record = Record::at(paths.connected());
    let plan = match Plan::of(&request, around, &record) {
        Ok(plan) => plan,
        Err(error) => return left_alone(&error, output),
    };
    let changes = plan.changes();
    let applied = changes && !args.dry_run;
    let backups = match args.dry_run {
        true => Vec::new(),
        false => plan.apply(&record, Ports::system().clock.now_ms())?.backups,
    };
    // A hook stands in one file.
    let Some(file) = plan.files.first() else { anyhow::bail!("expected a file of settings, got none") };
    let report = InstallReport {
        agent: request.agent.name,
        path: &file.path,
        file: &file.file,
        changes,
        applied,
        diff: &file.diff,
        backup: backups.first().map(PathBuf::as_path),
        notes: plan.notes.iter().map(Note::to_string).collect(),
    };
    output.result(&report, |out| {
        write_change(out, file)?;
        match (applied, changes) {
            (true, _) => writeln!(out, "Written.")?,
            (false, true) => writeln!(out, "Nothing was written. Without --dry-run it is.")?,
            (false, false) => writeln!(out, "It is so already.")?,
        }
        write_backups(out, &backups)?;
        write_notes(out, &report.notes)
    })?;
    Ok(Exit::Ok)
}

/// The file and its difference.
pub(super) fn write_change(out: &mut dyn Write, change: &FileChange) -> io::Result<()> {
    let shown = |path: &Path| display::escape(&path.display().to_string());
    write!(out, "{}", shown(&change.path))?;
    if change.file != change.path {
        write!(out, ", which is {}", shown(&change.file))?;
    }
    writeln!(out)?;
    if change.diff.is_empty() { Ok(()) } else { writeln!(out, "\n{}", readable(&change.diff)) }
}

/// Where the bytes from before are.
pub(super) fn write_backups(out: &mut dyn Write, backups: &[PathBuf]) -> io::Result<()> {
    let shown = |path: &PathBuf| display::escape(&path.display().to_string());
    backups.iter().try_for_each(|backup| writeln!(out, "What was there before: {}", shown(backup)))
}

/// What else a person has to know.
pub(super) fn write_notes(out: &mut dyn Write, notes: &[String]) -> io::Result<()> {
    notes.iter().try_for_each(|note| writeln!(out, "Note: {}", display::escape(note)))
}

/// Settings that stay as they are, and what could be put into them by hand.
pub(super) fn left_alone(error: &ConnectError, output: &Output) -> anyhow::Result<Exit> {
    let by_hand = error.by_hand();
    if output.is_json() {
        output.result(&LeftReport { error: error.to_string(), by_hand }, |_| Ok(()))?;
    } else {
        output.note(&error.to_string());
        if let Some(by_hand) = by_hand {
            output.result(&(), |out| {
                writeln!(out, "To be put in by hand, into what is there:\n\n{}", readable(by_hand))
            })?;
        }
    }
    Ok(Exit::Failed)
}

impl TargetArg {
    const fn contract(self) -> &'static dyn Contract {
        match self {
            Self::ClaudeCode => &ClaudeCode,
            Self::Codex => &Codex,
            Self::Copilot => &Copilot,
            Self::Gemini => &Gemini,
            Self::Qwen => &Qwen,
        }
    }
}

impl InstallArgs {
    fn request(&self) -> anyhow::Result<Request> {
        let contract = self.target.contract();
        let name = contract.name();
        let Some(agent) = by_name(name) else { anyhow::bail!("expected a known agent, got {name}") };
        let scope = self.scope.scope();
        if self.remove {
            return Ok(Request { agent, scope, change: Change::RemoveHook });
        }
        let options = self.call.clone().options();
        let event = options.event.unwrap_or(Event::BeforeTool);
        anyhow::ensure!(
            agent.has_event(event),
            "--event permission-request: {} has no hook where it asks the person",
            agent.title
        );
        anyhow::ensure!(
            options.when_absent == WhenAbsent::Deny || contract.can_ask(event),
            "--when-absent ask: {name} has no answer that makes it ask the person at {event}"
        );
        let patience = options.timeout.unwrap_or_else(|| agent.patience());
        if let Some(most) = agent.most_patience() {
            anyhow::ensure!(
                patience <= most,
                "--timeout: {} goes on without an answer soon after that; expected at most {} s, got {} s",
                agent.title,
                most.as_secs(),
                patience.as_secs_f64()
            );
        }
        let words = self.words(agent, event, patience)?;
        let hook = Some(HookWish { event, words, patience });
        Ok(Request { agent, scope, change: Change::Connect { hook, mcp: None } })
    }

    /// The command line that the agent is to start.
    fn words(&self, agent: &Agent, event: Event, patience: Duration) -> anyhow::Result<Vec<String>> {
        let mut words = hook_words(agent, &program(self.scope.scope())?, patience);
        let mut flag = |flag: &str, value: &str| words.extend([flag.to_owned(), value.to_owned()]);
        if let Some(agent) = &self.call.agent {
            flag("--agent", agent);
        }
        if self.call.when_absent == WhenAbsentArg::Ask {
            flag("--when-absent", "ask");
        }
        if event == Event::PermissionRequest {
            flag("--event", "permission-request");
        }
        if self.call.all {
            words.push("--all".to_owned());
        }
        Ok(words)
    }
}

/// This program, as settings are to name it.
pub(super) fn program(scope: Scope) -> anyhow::Result<String> {
    let program = match scope {
        // Whoever else uses the project has it elsewhere.
        Scope::Project => PathBuf::from("countersign"),
        Scope::User => std::env::current_exe()?,
    };
    let program = program.into_os_string().into_string();
    program.map_err(|path| anyhow::anyhow!("this program's path is not UTF-8: {}", path.display()))
}

/// A text of several lines for the eye: hidden and control characters as codes, quotes and
/// backslashes as they are.
pub(super) fn readable(text: &str) -> String {
    let line = |line: &str| {
        let spread = line.replace('\t', "    ");
        let escaped = display::escape(&spread);
        // Only backslashes were doubled: nothing hides in it.
        if escaped.replace("\\\\", "\\") == spread { spread } else { escaped }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readable_lines_keep_what_is_plain_and_show_what_hides() {
        assert_eq!(readable("+\t\"a\\\"b\"\n c"), "+    \"a\\\"b\"\n c");
        let hidden = readable("a\u{202e}b\u{1b}[2J");
        assert!(!hidden.contains(['\u{202e}', '\u{1b}']), "{hidden:?}");
    }
}
