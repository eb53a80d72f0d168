//! `countersign box`: folders that are open for agents. What opens one needs a person in the app's window.

use super::Exit;
use super::output::Output;
use super::rules::{self, Row, edit, here, lasting, read, until_ms};
use anyhow::ensure;
use clap::{Args, Subcommand};
use countersign_core::paths::Paths;
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{Attendance, RuleLimits, WorkspaceDraft};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum BoxCommand {
    /// Open a folder: what would be asked about there runs in a box; takes effect after a confirmation in the app's window.
    Open(OpenArgs),
    /// List the open folders and whether each still counts.
    List {
        /// Only those of this agent; `*` for those of all agents.
        #[arg(long, short)]
        agent: Option<String>,
    },
    /// Close a folder: what runs there is asked about again.
    Close {
        /// The folder [default: the current one], or the rule's id.
        folder: Option<PathBuf>,
        /// Only for this agent.
        #[arg(long, short)]
        agent: Option<String>,
    },
}

/// Arguments of `box open`.
#[derive(Args, Clone, Debug)]
pub(crate) struct OpenArgs {
    /// The folder, with everything below it [default: the current one].
    folder: Option<PathBuf>,
    /// Agent id [default: * for all agents].
    #[arg(long, short)]
    agent: Option<String>,
    /// How long: `15m`, `1h`, `7d` [default: until it is closed].
    #[arg(long = "for", value_name = "TIME", value_parser = lasting)]
    lasting: Option<Duration>,
    /// Only in this session.
    #[arg(long)]
    session: Option<String>,
    /// Also where the policy asks nobody.
    #[arg(long)]
    unattended: bool,
    /// Why, in your own words.
    #[arg(long)]
    note: Option<String>,
}

pub(super) async fn boxes(paths: &Paths, command: BoxCommand, output: &Output) -> anyhow::Result<Exit> {
    match command {
        BoxCommand::Open(args) => edit(paths, vec![opened(args)?], output).await,
        BoxCommand::List { agent } => {
            let rules = read(paths);
            let open = rules.workspaces.iter().map(Row::Workspace);
            rules::list(&rules, open, agent.as_deref(), "No folder is open.", output)
        }
        BoxCommand::Close { folder, agent } => {
            let edits = closed(paths, folder.as_deref(), agent.as_deref())?;
            edit(paths, edits, output).await
        }
    }
}

fn opened(args: OpenArgs) -> anyhow::Result<RuleEdit> {
    let OpenArgs { folder, agent, lasting, session, unattended, note } = args;
    let attendance = if unattended { Attendance::Unattended } else { Attendance::Attended };
    let limits = RuleLimits { until_ms: lasting.map(until_ms), uses: None, session };
    let agent = agent.unwrap_or_else(|| "*".to_owned());
    let rule = WorkspaceDraft { agent, folder: here(folder.as_deref())?, attendance, limits, note };
    Ok(RuleEdit::OpenWorkspace { rule })
}

/// The edits that close a folder, by its path, which may be gone, or by the id of one rule.
fn closed(paths: &Paths, folder: Option<&Path>, agent: Option<&str>) -> anyhow::Result<Vec<RuleEdit>> {
    let typed = folder.unwrap_or(Path::new("."));
    let real = here(folder).unwrap_or_else(|_| typed.to_string_lossy().into_owned());
    let rules = read(paths);
    let is_meant = |id: &str, open: &str| open == real || typed == Path::new(id);
    let meant = rules.workspaces.iter().map(|view| &view.rule);
    let meant = meant.filter(|rule| is_meant(&rule.id, &rule.folder));
    let meant = meant.filter(|rule| agent.is_none_or(|agent| rule.agent == agent));
    let edits: Vec<RuleEdit> = meant.map(|rule| RuleEdit::RemoveRule { id: rule.id.clone() }).collect();
    ensure!(!edits.is_empty(), "{real} is not open; `countersign box list` says what is");
    Ok(edits)
}
