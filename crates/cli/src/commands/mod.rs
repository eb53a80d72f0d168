//! The `countersign` command. It can ask, run what a person or a rule allows, show, put back what a run
//! changed, tighten, list and deny; it can never allow, and what it loosens waits for a person in
//! the app's window.

mod absent;
mod boxes;
mod connect;
mod counting;
mod doctor;
mod document;
mod events;
mod exec;
mod explain;
mod gateway;
mod history;
mod hook;
mod inbox;
mod mcp;
mod output;
mod policy_eval;
pub(crate) mod rules;
mod run;
mod service;
mod session;
mod status;
mod tool_policy;
mod waiting;

use clap::{Args, Parser, Subcommand};
use countersign_companion::control::{self, ControlError};
use countersign_core::paths::Paths;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use output::Output;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::timeout;

/// What a command line ended with, beyond a command's own exit code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// Everything went well.
    Ok,
    /// Exit code of the command that ran.
    Command(u8),
    /// Something failed; the message says what.
    Failed,
    /// A person, or the policy, said no.
    Denied,
    /// Nobody answered in time.
    Expired,
    /// No app is running and the fallback does not allow it.
    NoApp,
    /// The request was not runnable: bad input, or something changed since it was shown.
    Refused,
    /// The command's time limit ended it.
    TimedOut,
    /// A hook says no: the code that agents take for it.
    Blocked,
}

impl Exit {
    /// The process's exit code.
    pub const fn code(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Command(code) => code,
            Self::Failed => 1,
            Self::Blocked => 2,
            Self::Denied => 200,
            Self::Expired => 201,
            Self::NoApp => 202,
            Self::Refused => 203,
            Self::TimedOut => 204,
        }
    }
}

/// Stand between an agent and this machine: ask before it runs, remember what is allowed.
#[derive(Debug, Parser)]
#[command(name = "countersign", version, after_help = EXIT_CODES)]
struct Cli {
    /// Print JSON instead of text: one document, or for `history` one a line.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

// Deferred like those of all groups: to describe every command takes longer than a hook may
// take for the start.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
enum Command {
    /// Run a command, asking if the policy says so; prints its output and exits with its code.
    Exec(exec::ExecArgs),
    /// Ask whether a command may run, without running it; prints the decision.
    Ask(exec::AskArgs),
    /// List what waits for an answer.
    Pending,
    /// Deny what waits. There is no allow here: whoever may run commands could otherwise approve itself.
    Deny(inbox::DenyArgs),
    /// Show or change the policy.
    #[command(subcommand)]
    Policy(document::PolicyCommand),
    /// Show, change or try the allowlist.
    #[command(subcommand)]
    Allowlist(document::AllowlistCommand),
    /// Show or change Countersign's own rules: structured, temporary, refusing, and presets.
    #[command(subcommand)]
    Rules(rules::RulesCommand),
    /// Open folders for agents, whose commands run there in a box instead of being asked about.
    #[command(subcommand)]
    Box(boxes::BoxCommand),
    /// Show or change where single sessions' commands run; what gets looser waits for a person in
    /// the app's window.
    #[command(subcommand)]
    Session(session::SessionCommand),
    /// Say which tools a caller gets, and why not the others.
    #[command(subcommand)]
    ToolPolicy(tool_policy::ToolPolicyCommand),
    /// Show what a session is told of runs on nodes and of commands that went on in the background.
    ///
    /// Its agent is told at its next turn whether or not this is called.
    Events(events::EventsArgs),
    /// Show what happened, or check that nobody changed the record.
    History(history::HistoryArgs),
    /// Serve the embedded gateway without a desktop, for programs of this machine that speak the
    /// gateway protocol.
    Gateway(gateway::GatewayArgs),
    /// Take commands from a gateway as one of its nodes, without a window.
    ///
    /// Agents behind the gateway can then have commands run on this machine. What it says of approvals counts
    /// for nothing: the policy of this machine decides, the app asks when it runs, and askFallback holds when
    /// it does not. Somebody has to let this node in at the gateway once. Ends with 0 when it is told to end,
    /// with 1 when the gateway will not take it.
    Run(run::RunArgs),
    /// Serve tools to an agent over MCP, on standard input and output or over HTTP on this machine.
    ///
    /// An agent that speaks the Model Context Protocol, such as Claude Code, Codex or Gemini CLI, gets the
    /// tools that the tool policy leaves for it. The app looks at every call, asks when the policy wants
    /// that, and carries out what was allowed; while it does not run, nothing is done. The tool `approve` is
    /// Claude Code's permission prompt: `--permission-prompt-tool mcp__countersign__approve`. --json has only
    /// `--http` print where it listens as JSON.
    Mcp(mcp::McpArgs),
    /// Have `countersign run` started by itself, as a service of yours.
    ///
    /// The service is a unit of the systemd user manager. It starts with every log-on and ends with the last
    /// log-off, or runs from boot on after `loginctl enable-linger`.
    #[command(subcommand)]
    Service(service::ServiceCommand),
    /// Have the agents of this machine ask here before they act, or take that back.
    ///
    /// Looks for Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, opencode, Cursor, Visual Studio
    /// Code, Zed and OpenClaw. Without AGENT and --all nothing is written: what is found is listed, and what
    /// connecting it would do. A connection is an entry in the agent's own settings. It is shown as a
    /// difference, what was there before is kept, and --undo brings it back.
    Connect(connect::ConnectArgs),
    /// Say which agent of this machine asks here, how, since when, and what keeps it from that.
    Status,
    /// Answer the hooks of other agents, such as Claude Code, Codex and Gemini CLI, through the same inbox.
    #[command(subcommand)]
    Hook(hook::HookCommand),
    /// Check the installation and say how to mend what is wrong.
    Doctor,
}

// Which agent. Arguments have no `///` of their own anywhere here: it would stand above the help of each
// command that takes them, in place of what the command does.
#[derive(Args, Clone, Debug)]
pub(crate) struct AgentArg {
    /// Agent id, or the name that the app shows; `*` means all agents where that makes sense.
    #[arg(long, short, default_value = "main", value_parser = agent_id)]
    agent: String,
}

/// The id that a name of an agent stands for.
#[expect(clippy::unnecessary_wraps, reason = "a parser of clap's may fail")]
fn agent_id(name: &str) -> Result<String, std::convert::Infallible> {
    Ok(countersign_agents::id_of(name).to_owned())
}

/// Says who there is, where something was said about nobody.
fn tell_nobody<'a>(paths: &Paths, ids: impl IntoIterator<Item = &'a str>, output: &Output) {
    let ids: std::collections::BTreeSet<&str> = ids.into_iter().collect();
    for nobody in ids.into_iter().filter_map(|id| countersign_companion::agents::nobody(paths, id)) {
        output.note(&nobody);
    }
}

// Where a command runs.
#[derive(Args, Clone, Debug)]
pub(crate) struct CwdArg {
    /// Working directory [default: the current one].
    #[arg(long)]
    cwd: Option<PathBuf>,
}

impl CwdArg {
    fn absolute(&self) -> std::io::Result<String> {
        let path = match &self.cwd {
            Some(path) => std::path::absolute(path)?,
            None => std::env::current_dir()?,
        };
        path.into_os_string().into_string().map_err(|path| {
            std::io::Error::new(
                std::io::ErrorKind::InvalidInput,
                format!("the working directory must be UTF-8, got {path:?}"),
            )
        })
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let source = error.downcast_ref::<std::io::Error>();
    source.is_some_and(|source| source.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Parses this process's arguments and runs the command.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    let agent_waits = matches!(&cli.command, Command::Hook(hook) if hook.is_call());
    let exit = match run(cli.command, &output) {
        Ok(exit) => exit,
        // An agent goes on after any other code.
        Err(error) if agent_waits => {
            output.note(&format!("{error:#}"));
            Exit::Blocked
        }
        // Whoever read the output has seen enough, as `head` has.
        Err(error) if is_broken_pipe(&error) => Exit::Ok,
        Err(error) => {
            output.failure(&error);
            Exit::Failed
        }
    };
    ExitCode::from(exit.code())
}

fn run(command: Command, output: &Output) -> anyhow::Result<Exit> {
    let paths = Paths::of_process()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let exit = runtime.block_on(async {
        match command {
            Command::Exec(args) => Box::pin(exec::exec(&paths, args, output)).await,
            Command::Ask(args) => exec::ask(&paths, args, output).await,
            Command::Pending => inbox::pending(&paths, output).await,
            Command::Deny(args) => inbox::deny(&paths, args, output).await,
            Command::Policy(command) => document::policy(&paths, command, output).await,
            Command::Allowlist(command) => document::allowlist(&paths, command, output).await,
            Command::Rules(command) => rules::rules(&paths, command, output).await,
            Command::Box(command) => boxes::boxes(&paths, command, output).await,
            Command::ToolPolicy(command) => tool_policy::tool_policy(&paths, command, output).await,
            Command::Events(args) => events::events(&paths, args, output).await,
            Command::Session(command) => session::session(&paths, command, output).await,
            Command::History(args) => history::history(&paths, args, output).await,
            Command::Gateway(args) => gateway::run(&paths, args, output).await,
            Command::Run(args) => run::run(&paths, args, output).await,
            Command::Mcp(args) => mcp::mcp(&paths, args, output).await,
            Command::Service(command) => service::service(&paths, command, output).await,
            Command::Connect(args) => connect::connect(&paths, &args, output),
            Command::Status => status::status(&paths, output),
            Command::Hook(command) => hook::hook(&paths, command, output).await,
            Command::Doctor => doctor::doctor(&paths, output).await,
        }
    });
    // A blocked reader or watcher thread must not keep a finished command alive.
    runtime.shutdown_background();
    exit
}

/// Sends a request that may have to be confirmed in the app's window, and says so when that seems to be what
/// it waits for. Dropping the future takes back what still waits.
async fn confirmed(
    paths: &Paths,
    request: &ControlRequest,
    output: &Output,
) -> Result<ControlResponse, ControlError> {
    let socket = paths.control_socket();
    let mut answer = pin!(control::call(&socket, request, CONFIRM_WAIT));
    if let Ok(answer) = timeout(AT_ONCE, &mut answer).await {
        return answer;
    }
    output.note("this waits for your click in the app's window; Ctrl+C takes it back");
    answer.await
}

/// Whether somebody was there to confirm what loosens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Asked {
    /// The app runs, and nobody said yes in its window.
    InVain,
    /// No app runs.
    Nobody,
}

impl Asked {
    /// Why a change that loosens was not made.
    pub(crate) const fn not_changed(self) -> &'static str {
        match self {
            Self::InVain => {
                "Not changed: it lets more run than before, and nobody confirmed that in the app's window."
            }
            Self::Nobody => {
                "Not changed: it lets more run than before, and the app is not running, so nobody can confirm that. \
                 Start it, give this command again, and confirm in its window:"
            }
        }
    }
}

/// A person may take two minutes to confirm in the window.
const CONFIRM_WAIT: Duration = Duration::from_secs(130);

/// What nobody has to confirm is done long before.
const AT_ONCE: Duration = Duration::from_millis(700);

const EXIT_CODES: &str = "\
Exit codes: the command's own for `exec`, else 0 done, 1 failed, 2 wrong usage or a hook's no, 200 denied,
201 nobody answered, 202 no app is running and the fallback denies, 203 refused (bad input, or
something changed since it was shown), 204 the command's time limit ended it.";

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed_and_offers_no_allow() {
        Cli::command().debug_assert();
        assert!(Cli::try_parse_from(["countersign", "allow", "x"]).is_err());
        assert!(Cli::try_parse_from(["countersign", "approve", "x"]).is_err());
        assert!(Cli::try_parse_from(["countersign", "exec", "--", "id", "--json"]).is_ok());
    }

    /// The help of a command, by the words that lead to it.
    fn help(path: &[String]) -> String {
        let words = std::iter::once("countersign").chain(path.iter().map(String::as_str)).chain(["--help"]);
        Cli::try_parse_from(words).unwrap_err().to_string()
    }

    fn check_help(path: &[String]) {
        let help = help(path);
        let Some((_, listed)) = help.split_once("\nCommands:\n") else { return };
        let rows = listed.lines().take_while(|line| !line.is_empty());
        let rows = rows.filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')));
        for (name, said) in rows.filter_map(|row| row.split_once(' ')).filter(|(name, _)| *name != "help") {
            let inner = [path, &[name.to_owned()]].concat();
            let own = self::help(&inner).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                own.starts_with(said.trim()),
                "{inner:?}: {said:?} is listed, and its help begins {own:?}"
            );
            check_help(&inner);
        }
    }

    #[test]
    fn the_help_of_each_command_begins_as_it_is_listed() {
        check_help(&[]);
    }

    #[test]
    fn every_way_to_end_has_its_own_code() {
        let ends = [
            Exit::Ok,
            Exit::Failed,
            Exit::Blocked,
            Exit::Denied,
            Exit::Expired,
            Exit::NoApp,
            Exit::Refused,
            Exit::TimedOut,
        ];
        let codes: std::collections::BTreeSet<u8> = ends.iter().map(|end| end.code()).collect();
        assert_eq!(codes.len(), ends.len());
    }
}
