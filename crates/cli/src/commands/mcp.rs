//! `countersign mcp`: tools for agents that speak the Model Context Protocol.

use super::exec::seconds;
use super::output::Output;
use super::{CwdArg, Exit};
use crate::mcp::{self, Approve, Http, Identity, Options, PORT};
use anyhow::bail;
use clap::Args;
use countersign_core::paths::Paths;
use serde::Serialize;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

// For whom, and over what.
#[derive(Args, Clone, Debug)]
pub(crate) struct McpArgs {
    /// Agent that the calls count as [default: the name that the client gives itself].
    #[arg(long, short)]
    agent: Option<String>,
    /// The session that they belong to, shown on the prompt [default: a new one for each client].
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Folder that file tools are kept in and commands start in [default: the current one].
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Provider of the agent's model, such as anthropic or openai: the tool policy has layers
    /// for single ones.
    #[arg(long)]
    provider: Option<String>,
    /// The agent's model.
    #[arg(long)]
    model: Option<String>,
    /// Session of the pet channel that the calls come from; its client is asked too.
    #[arg(long, value_name = "ID")]
    pet_session: Option<String>,
    /// How long the person may take to answer, in seconds [default: as long as usual].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    approval_timeout: Option<Duration>,
    /// Serve over HTTP on this port of 127.0.0.1 instead of standard input and output; without a number it is
    /// 18796, with 0 a free one. Clients need the token in the file that is named then.
    #[arg(long, value_name = "PORT")]
    http: Option<Option<u16>>,
    /// What the client's settings call this server: then `approve` leaves its own tools to the app, which
    /// asks about them itself.
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Offer the tool `approve`, by which a client asks about its own tools, to every client [default: to
    /// Claude Code alone].
    #[arg(long, conflicts_with = "no_approve")]
    approve: bool,
    /// Leave it out.
    #[arg(long)]
    no_approve: bool,
}

/// What `--http` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ready<'a> {
    url: String,
    token_file: &'a Path,
}

/// Serves until its client goes, or until it is interrupted or told to end.
pub(super) async fn mcp(paths: &Paths, args: McpArgs, output: &Output) -> anyhow::Result<Exit> {
    if args.http.is_some() {
        return serve(paths, args, output).await;
    }
    // Standard output is the client's, so errors never go there, whatever form was asked for.
    let output = Output::new(false);
    Ok(serve(paths, args, &output).await.unwrap_or_else(|error| {
        output.failure(&error);
        Exit::Failed
    }))
}

async fn serve(paths: &Paths, args: McpArgs, output: &Output) -> anyhow::Result<Exit> {
    let http = args.http;
    let options = options(args)?;
    let stop = told_to_end()?;
    if let Some(port) = http {
        let http = Http::bind(paths, options, port.unwrap_or(PORT), stop).await?;
        let ready = Ready { url: http.url(), token_file: http.token_file() };
        output.result(&ready, |out| {
            writeln!(out, "listening on {}", ready.url)?;
            writeln!(out, "token in {}", ready.token_file.display())
        })?;
        http.serve().await;
    } else {
        if std::io::stdin().is_terminal() {
            output.note("an MCP client is expected on standard input; `countersign mcp --help` says more");
        }
        mcp::serve(paths, options, rmcp::transport::stdio_pipes(), stop).await?;
    }
    Ok(Exit::Ok)
}

fn options(args: McpArgs) -> anyhow::Result<Options> {
    if args.agent.as_deref().map(str::trim) == Some("*") {
        bail!("--agent: expected one agent, got `*`, which means all of them");
    }
    let workspace = CwdArg { cwd: args.workspace }.absolute()?;
    if !Path::new(&workspace).is_dir() {
        bail!("--workspace: expected a folder, and {workspace} is none");
    }
    let identity = Identity {
        agent: args.agent,
        session: args.session,
        provider: args.provider,
        model: args.model,
        workspace,
        pet_session: args.pet_session,
    };
    let approve = match (args.approve, args.no_approve) {
        (true, _) => Approve::Offered,
        (false, true) => Approve::Withheld,
        (false, false) => Approve::WhereUsed,
    };
    let known_as = args.name.filter(|name| !name.trim().is_empty());
    Ok(Options { identity, approval_timeout: args.approval_timeout, approve, known_as })
}

/// Cancelled when somebody wants this process to end.
fn told_to_end() -> std::io::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let told = stop.clone();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        told.cancel();
    });
    Ok(stop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory as _, Parser};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: McpArgs,
    }

    fn parsed(words: &[&str]) -> Result<McpArgs, clap::Error> {
        Line::try_parse_from([&["mcp"], words].concat()).map(|line| line.args)
    }

    #[test]
    fn a_port_may_be_named_and_need_not() {
        for (words, port) in [
            (&[][..], None),
            (&["--http"], Some(None)),
            (&["--http", "0"], Some(Some(0))),
            (&["--http", "8080", "--no-approve"], Some(Some(8_080))),
            (&["--http", "--no-approve"], Some(None)),
        ] {
            assert_eq!(parsed(words).unwrap().http, port, "{words:?}");
        }
        assert!(parsed(&["--http", "65536"]).is_err());
        let help = Line::command().render_long_help().to_string();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(&format!("without a number it is {PORT},")), "{help}");
        assert!(parsed(&["--approval-timeout", "0"]).is_err());
    }

    #[test]
    fn a_workspace_is_an_absolute_folder_and_an_agent_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let made = options(parsed(&["--workspace", path, "--approval-timeout", "1.5"]).unwrap()).unwrap();
        assert_eq!(
            (made.identity.workspace.as_str(), made.approval_timeout),
            (path, Some(Duration::from_millis(1_500)))
        );
        let here = options(parsed(&[]).unwrap()).unwrap().identity.workspace;
        assert_eq!(Path::new(&here), std::env::current_dir().unwrap());
        let missing = format!("{path}/missing");
        assert!(options(parsed(&["--workspace", &missing]).unwrap()).is_err());
        assert!(options(parsed(&["--agent", " * "]).unwrap()).is_err());
    }
}
