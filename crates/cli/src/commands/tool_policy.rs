//! `countersign tool-policy`: which tools a caller gets, and which step takes the others.

use super::output::Output;
use super::{AgentArg, Exit};
use clap::{Args, Subcommand};
use countersign_companion::control::{self, ControlError};
use countersign_core::paths::Paths;
use countersign_policy::display;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::tools::{RemovedTool, ToolCaller, ToolStanding, ToolView};
use serde::Serialize;
use std::time::Duration;

// Subcommands of `tool-policy`.
#[derive(Clone, Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum ToolPolicyCommand {
    /// Say of each tool whether a caller gets it, and which step of the tool policy takes it if not.
    /// Nothing is called.
    Explain(ExplainArgs),
}

// For whom.
#[derive(Args, Clone, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    agent: AgentArg,
    /// Its session; keys as OpenClaw gives them tell sub-agents and groups.
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Provider of its model, such as anthropic.
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
    /// Its model.
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
}

/// What `tool-policy explain --json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    standing: &'a ToolStanding,
    steps: &'a [String],
    tools: Vec<&'a str>,
    removed: &'a [RemovedTool],
    warnings: &'a [String],
}

pub(super) async fn tool_policy(
    paths: &Paths,
    command: ToolPolicyCommand,
    output: &Output,
) -> anyhow::Result<Exit> {
    let ToolPolicyCommand::Explain(args) = command;
    let caller = ToolCaller {
        agent: args.agent.agent,
        session: args.session,
        provider: args.provider,
        model: args.model,
        workspace: std::env::current_dir()?.display().to_string(),
        ..ToolCaller::default()
    };
    let request = ControlRequest::Tools { caller };
    match control::call(&paths.control_socket(), &request, WAIT).await {
        Ok(ControlResponse::Tools { tools, removed, warnings, steps, standing }) => {
            let report = Report {
                standing: &standing,
                steps: &steps,
                tools: tools.iter().map(|tool| tool.name.as_str()).collect(),
                removed: &removed,
                warnings: &warnings,
            };
            output.result(&report, |out| print(out, &tools, &report))?;
            Ok(Exit::Ok)
        }
        Ok(ControlResponse::Error { message }) => anyhow::bail!(message),
        Ok(other) => anyhow::bail!("expected the tools of a caller, got {other:?}"),
        Err(ControlError::NotRunning) => {
            output.failure(&anyhow::anyhow!(NO_APP));
            Ok(Exit::NoApp)
        }
        Err(error) => Err(error.into()),
    }
}

fn print(out: &mut dyn std::io::Write, tools: &[ToolView], report: &Report<'_>) -> std::io::Result<()> {
    let ToolStanding { sandboxed, sub_agent_depth, group } = report.standing;
    let place = if *sandboxed { "in a sandbox" } else { "not in a sandbox" };
    let below = match sub_agent_depth {
        0 => "no sub-agent".to_owned(),
        depth => format!("a sub-agent, {depth} below the first"),
    };
    let group = group
        .as_ref()
        .map_or_else(|| "no group".to_owned(), |group| format!("group {}", display::escape(group)));
    writeln!(out, "The caller is {place}, {below}, of {group}; nothing shows that it is the owner.")?;
    let names = report.tools.iter().copied().chain(report.removed.iter().map(|gone| gone.name.as_str()));
    let width = names.map(str::len).max().unwrap_or_default();
    for tool in tools {
        writeln!(out, "  {:width$}  yes", display::escape(&tool.name))?;
    }
    for RemovedTool { name, step } in report.removed {
        writeln!(out, "  {:width$}  no: taken by {}", display::escape(name), display::escape(step))?;
    }
    let steps: Vec<String> = report.steps.iter().map(|step| display::escape(step)).collect();
    writeln!(out, "Steps, in order: {}", steps.join("; "))?;
    report.warnings.iter().try_for_each(|warning| writeln!(out, "Warning: {}", display::escape(warning)))
}

/// How long the app may take: it looks nothing up elsewhere.
const WAIT: Duration = Duration::from_secs(10);

const NO_APP: &str = "the Countersign app is not running, and the tools are its";
