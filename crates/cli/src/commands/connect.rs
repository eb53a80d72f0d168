//! `countersign connect`: the agents of this machine, and the entries in their settings that
//! have them ask here.

use super::Exit;
use super::hook::{ScopeArg, program, readable, write_backups, write_change, write_notes};
use super::output::Output;
use clap::{Args, ValueEnum};
use countersign_agents::{
    AGENTS, Agent, Change, ConnectError, Note, Plan, Record, Request, SYSTEM, Standing, Surroundings, Way,
    by_name,
};
use countersign_approvals::ports::Ports;
use countersign_core::paths::{Paths, process_environment};
use countersign_policy::display;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

// What to connect, and how.
#[derive(Args, Clone, Debug)]
pub(super) struct ConnectArgs {
    /// Which agents, by name.
    #[arg(value_name = "AGENT", value_parser = agent, conflicts_with = "all")]
    agents: Vec<&'static Agent>,
    /// All that are found here; with --undo all that are connected.
    #[arg(long)]
    all: bool,
    /// Show what would change, and write nothing.
    #[arg(long)]
    dry_run: bool,
    /// Take it back: the bytes from before where nothing else changed them since, else only what is ours.
    #[arg(long, conflicts_with = "by")]
    undo: bool,
    /// How they ask: the hook is called before each call of the agent's own tools, MCP gives it tools of
    /// Countersign beside those [default: hook where the agent has one, else mcp].
    #[arg(long, value_enum)]
    by: Option<ByArg>,
    /// Whose settings: yours in all projects, or those of the project in the current folder.
    #[arg(long, value_enum, default_value_t)]
    scope: ScopeArg,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum ByArg {
    /// A program that the agent starts before it calls a tool.
    Hook,
    /// Tools of Countersign.
    Mcp,
    /// Both.
    Both,
}

/// What is told of one agent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    agent: &'static str,
    title: &'static str,
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<String>,
    /// How it asks already.
    connected: Vec<Way>,
    /// How it would ask, or does now.
    by: Vec<Way>,
    covers: Vec<&'static str>,
    misses: Vec<&'static str>,
    changes: bool,
    applied: bool,
    files: Vec<FileReport>,
    backups: Vec<PathBuf>,
    notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by_hand: Option<String>,
    #[serde(skip)]
    plan: Option<Plan>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileReport {
    path: PathBuf,
    file: PathBuf,
    changes: bool,
    diff: String,
}

/// What is done with the plans.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Mode {
    List,
    Show,
    Write,
}

pub(super) fn connect(paths: &Paths, args: &ConnectArgs, output: &Output) -> anyhow::Result<Exit> {
    let mode = match (args.agents.is_empty() && !args.all, args.dry_run) {
        (true, _) => Mode::List,
        (false, true) => Mode::Show,
        (false, false) => Mode::Write,
    };
    anyhow::ensure!(mode != Mode::List || !args.undo, "--undo: expected AGENT or --all, got neither");
    let machine = Machine {
        home: paths.home.clone(),
        folder: std::env::current_dir()?,
        environment: process_environment(),
        record: Record::at(paths.connected()),
    };
    let named = |agent: &Agent| args.agents.iter().any(|one| **one == *agent);
    let mut reports = Vec::new();
    for agent in AGENTS.iter().filter(|agent| args.agents.is_empty() || named(agent)) {
        let standing = Standing::of(agent, machine.around(), &machine.record);
        let is_meant =
            named(agent) || if args.undo { standing.is_connected() } else { standing.sighting.is_here() };
        if is_meant {
            reports.push(report(&machine, args, mode, standing)?);
        }
    }
    output.result(&reports, |out| write_all(out, &reports, args, mode))?;
    let failed = reports.iter().any(|report| report.error.is_some());
    Ok(if failed && mode != Mode::List { Exit::Failed } else { Exit::Ok })
}

/// Where things are, for as long as a command takes.
struct Machine {
    home: PathBuf,
    folder: PathBuf,
    environment: BTreeMap<String, String>,
    record: Record,
}

impl Machine {
    fn around(&self) -> Surroundings<'_> {
        let system = Path::new(SYSTEM);
        Surroundings { home: &self.home, folder: &self.folder, system, environment: &self.environment }
    }
}

fn report(machine: &Machine, args: &ConnectArgs, mode: Mode, standing: Standing) -> anyhow::Result<Report> {
    let agent = standing.agent;
    let by = if args.undo { Vec::new() } else { ways(agent, args.by) };
    let mut connected: Vec<Way> = standing.connected.iter().map(|one| one.way).collect();
    connected.dedup();
    let mut report = Report {
        agent: agent.name,
        title: agent.title,
        found: standing.sighting.is_here(),
        covers: by.iter().filter_map(|way| agent.covers(*way)).collect(),
        misses: by.iter().filter_map(|way| agent.misses(*way)).collect(),
        program: standing.sighting.program,
        release: standing.sighting.release,
        connected,
        by,
        changes: false,
        applied: false,
        files: Vec::new(),
        backups: Vec::new(),
        notes: Vec::new(),
        error: None,
        by_hand: None,
        plan: None,
    };
    if !report.found && !args.undo {
        report.error = Some(format!(
            "expected {} to be here, found neither its program on the PATH nor its folder of settings",
            agent.title
        ));
        return Ok(report);
    }
    if let Some(elsewhere) = agent.elsewhere.filter(|_| !args.undo) {
        report.notes.push(elsewhere.to_owned());
        return Ok(report);
    }
    let scope = args.scope.scope();
    let change = match args.undo {
        true => Change::Undo,
        false => Change::connecting(agent, &report.by, &program(scope)?),
    };
    let planned = Plan::of(&Request { agent, scope, change }, machine.around(), &machine.record);
    let written = planned.and_then(|plan| {
        if mode == Mode::Write {
            let now_ms = Ports::system().clock.now_ms();
            report.backups = plan.apply(&machine.record, now_ms)?.backups;
            report.applied = plan.changes();
        }
        Ok(plan)
    });
    match written {
        Ok(plan) => {
            report.changes = plan.changes();
            report.files = plan
                .files
                .iter()
                .map(|change| FileReport {
                    path: change.path.clone(),
                    file: change.file.clone(),
                    changes: change.changes(),
                    diff: change.diff.clone(),
                })
                .collect();
            report.notes.extend(plan.notes.iter().map(Note::to_string));
            report.plan = Some(plan);
        }
        Err(error) => report.fail(&error),
    }
    Ok(report)
}

impl Report {
    fn fail(&mut self, error: &ConnectError) {
        self.error = Some(error.to_string());
        self.by_hand = error.by_hand().map(str::to_owned);
    }
}

/// How an agent is to ask.
fn ways(agent: &Agent, by: Option<ByArg>) -> Vec<Way> {
    match by {
        Some(ByArg::Hook) => vec![Way::Hook],
        Some(ByArg::Mcp) => vec![Way::Mcp],
        Some(ByArg::Both) => agent.ways(),
        None => agent.ways().into_iter().take(1).collect(),
    }
}

fn write_all(out: &mut dyn Write, reports: &[Report], args: &ConnectArgs, mode: Mode) -> io::Result<()> {
    if reports.is_empty() {
        return match args.undo {
            true => writeln!(out, "No agent is connected."),
            false => writeln!(
                out,
                "No agent was found here. Looked for: {}.",
                AGENTS.iter().map(|agent| agent.title).collect::<Vec<_>>().join(", ")
            ),
        };
    }
    for (index, report) in reports.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let release = report.release.as_deref().map(|release| format!(" {release}")).unwrap_or_default();
        writeln!(out, "{}: {}{}", report.agent, report.title, display::escape(&release))?;
        write_one(out, report, args, mode)?;
    }
    if mode == Mode::List {
        writeln!(out, "\nNothing was written. `countersign connect AGENT`, or `--all`, does it.")?;
    }
    Ok(())
}

fn write_one(out: &mut dyn Write, report: &Report, args: &ConnectArgs, mode: Mode) -> io::Result<()> {
    if let Some(error) = &report.error {
        writeln!(out, "It cannot be connected: {}", display::escape(error))?;
        if let Some(by_hand) = report.by_hand.as_ref().filter(|_| mode != Mode::List) {
            writeln!(out, "To be put in by hand, into what is there:\n\n{}", readable(by_hand))?;
        }
        return Ok(());
    }
    if mode == Mode::List {
        let connected: Vec<&str> = report.connected.iter().map(|way| way_name(*way)).collect();
        match connected.is_empty() {
            true => writeln!(out, "Not connected.")?,
            false => writeln!(out, "Connected by {}.", connected.join(" and "))?,
        }
        for file in report.files.iter().filter(|file| file.changes) {
            let verb = if file.path.exists() { "change" } else { "make" };
            writeln!(out, "Connecting it would {verb} {}", shown(&file.path))?;
        }
    }
    for ((way, covers), misses) in report.by.iter().zip(&report.covers).zip(&report.misses) {
        writeln!(out, "By {}: {covers}.\n  Not: {misses}.", way_name(*way))?;
    }
    if mode != Mode::List
        && let Some(plan) = &report.plan
    {
        for change in plan.files.iter().filter(|change| change.changes()) {
            write_change(out, change)?;
        }
        match (report.applied, report.changes) {
            (true, _) => writeln!(out, "Written.")?,
            (false, true) => writeln!(out, "Nothing was written. Without --dry-run it is.")?,
            (false, false) if args.undo => writeln!(out, "There is nothing of ours in its settings.")?,
            (false, false) => writeln!(out, "It is so already.")?,
        }
        write_backups(out, &report.backups)?;
    }
    write_notes(out, &report.notes)
}

/// A way in a sentence.
pub(super) const fn way_name(way: Way) -> &'static str {
    match way {
        Way::Hook => "hook",
        Way::Mcp => "MCP",
    }
}

fn shown(path: &Path) -> String {
    display::escape(&path.display().to_string())
}

fn agent(name: &str) -> Result<&'static Agent, String> {
    let names: Vec<&str> = AGENTS.iter().map(|agent| agent.name).collect();
    by_name(name).ok_or_else(|| format!("expected one of {}, got {name}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn each_agent_is_connected_by_what_asks_about_most() {
        let by = |name, by| ways(by_name(name).unwrap(), by);
        assert_eq!(by("claude-code", None), [Way::Hook]);
        assert_eq!(by("opencode", None), [Way::Mcp]);
        assert_eq!(by("codex", Some(ByArg::Both)), [Way::Hook, Way::Mcp]);
        assert_eq!(by("zed", Some(ByArg::Both)), [Way::Mcp]);
        assert_eq!(by("zed", Some(ByArg::Hook)), [Way::Hook]);
    }

    #[test]
    fn other_names_of_an_agent_are_taken_and_unknown_ones_are_not() {
        assert_eq!(agent("gemini-cli").unwrap().name, "gemini");
        assert!(agent("nobody").unwrap_err().contains("claude-code"));
    }
}
