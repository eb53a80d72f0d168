//! `countersign box`: folders that are open for agents. What opens one needs a person in the app's window.

use super::Exit;
use super::output::Output;
use super::rules::{self, Row, edit, here, lasting, read, until_ms};
use anyhow::ensure;
use clap::{Args, Subcommand};
use countersign_core::paths::Paths;
use countersign_node::executor::sandbox::{self, Grounds, Means, Unavailable, Workspace};
use countersign_policy::display;
use countersign_protocol::rule_edits::RuleEdit;
use countersign_protocol::rules::{Attendance, RuleLimits, WorkspaceDraft};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum BoxCommand {
    /// Open a folder: what would be asked about there runs in a box; takes effect after a confirmation in the app's window.
    Open(OpenArgs),
    /// Say whether a box can be made around a folder, and what the kernel gives it. Opens nothing.
    Test {
        /// The folder [default: the current one].
        folder: Option<PathBuf>,
    },
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
        BoxCommand::Test { folder } => test(paths, &here(folder.as_deref())?, output).await,
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

/// What `box test` says.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tested<'a> {
    folder: &'a str,
    /// Why there can be no box around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'static str>,
    /// What is mounted outside while a box runs does not appear in it.
    apart: bool,
    /// Caches are seen as the person has them, with what a box changes laid over.
    layered_caches: bool,
    /// The kernel looks at what is written a second time.
    landlock: bool,
}

async fn test(paths: &Paths, folder: &str, output: &Output) -> anyhow::Result<Exit> {
    let grounds = Grounds {
        home: paths.home.clone(),
        openclaw: paths.openclaw_state.clone(),
        private: vec![paths.state.clone(), paths.config.clone()],
    };
    let checked = sandbox::check_box(&Workspace::around(folder), &grounds).await;
    let means = match &checked {
        Ok(()) => sandbox::box_means(&paths.boxes()).await?,
        Err(_) => Means { apart: false, layers: false, landlock: false },
    };
    let tested = Tested {
        folder,
        problem: checked.as_ref().err().map(ToString::to_string),
        remedy: checked.as_ref().err().map(Unavailable::remedy),
        apart: means.apart,
        layered_caches: means.layers,
        landlock: means.landlock,
    };
    output.result(&tested, |out| {
        if let (Some(problem), Some(remedy)) = (&tested.problem, tested.remedy) {
            return writeln!(
                out,
                "no box can be made around {}: {problem}; {remedy}",
                display::escape(folder)
            );
        }
        writeln!(out, "a box can be made around {}", display::escape(folder))?;
        let caches = if tested.layered_caches { "seen, with changes laid over" } else { "begin empty" };
        writeln!(out, "caches of package managers: {caches}")?;
        let mounts = match tested.apart {
            true => "does not appear",
            false => "would appear only below /media and /mnt, which are closed",
        };
        writeln!(out, "what is mounted outside while it runs: {mounts}")?;
        let walls =
            if tested.landlock { "mounts and Landlock" } else { "mounts alone; this kernel has no Landlock" };
        writeln!(out, "what keeps it from writing elsewhere: {walls}")
    })?;
    Ok(if checked.is_ok() { Exit::Ok } else { Exit::Failed })
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
