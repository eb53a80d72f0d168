//! `countersign status`: which agent of this machine asks here, and what keeps it from that.

use super::Exit;
use super::connect::way_name;
use super::output::Output;
use countersign_agents::{Calls, Connected, Record, SYSTEM, Scope, Surroundings, Trust, Way};
use countersign_companion::agents::{Asked, MOST_LINES, Stand};
use countersign_core::paths::{Paths, process_environment};
use countersign_policy::display;
use countersign_protocol::ui::AgentSeen;
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// What is told of one agent.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    agent: &'static str,
    title: &'static str,
    found: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tested_release: Option<&'static str>,
    connected: Vec<WayReport>,
    /// Which of its calls come here.
    calls: Calls,
    /// What is against more.
    obstacles: Vec<String>,
    last_seen: AgentSeen,
    unread: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elsewhere: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WayReport {
    by: Way,
    scope: Scope,
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    since_ms: Option<i64>,
    program: String,
    program_is_there: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    trust: Option<Trust>,
}

pub(super) fn status(paths: &Paths, output: &Output) -> anyhow::Result<Exit> {
    let is_meant = |stand: &Stand| stand.standing.sighting.is_here() || stand.standing.is_connected();
    let reports: Vec<Report> = stands(paths)?.into_iter().filter(is_meant).map(report).collect();
    output.result(&reports, |out| {
        if reports.is_empty() {
            return writeln!(out, "No agent was found here, and none is connected.");
        }
        reports.iter().try_for_each(|report| write_report(out, report))
    })?;
    Ok(Exit::Ok)
}

/// How every known agent stands.
pub(super) fn stands(paths: &Paths) -> io::Result<Vec<Stand>> {
    let (folder, environment) = (std::env::current_dir()?, process_environment());
    let system = Path::new(SYSTEM);
    let around = Surroundings { home: &paths.home, folder: &folder, system, environment: &environment };
    Ok(Stand::all(around, &Record::at(paths.connected()), &Asked::in_history(&paths.history())))
}

fn report(stand: Stand) -> Report {
    let Stand { standing, seen, reach } = stand;
    Report {
        agent: standing.agent.name,
        title: standing.agent.title,
        found: standing.sighting.is_here(),
        release: standing.sighting.release,
        tested_release: standing.agent.tested,
        connected: standing.connected.into_iter().map(WayReport::of).collect(),
        calls: reach.calls,
        obstacles: reach.obstacles.iter().map(ToString::to_string).collect(),
        last_seen: seen,
        unread: standing.unread,
        elsewhere: standing.agent.elsewhere,
    }
}

/// What comes here, in a line.
pub(super) const fn calls_words(calls: Calls) -> &'static str {
    match calls {
        Calls::Own => "asks here before it uses its own tools",
        Calls::NotAll => "does not ask here before every use of its own tools",
        Calls::Questions => "asks here only what it would ask you itself",
        Calls::OurTools => "only tools of Countersign ask here: its own shell and changes of files do not",
        Calls::Nothing => "does not ask here",
    }
}

impl WayReport {
    fn of(connected: Connected) -> Self {
        Self {
            by: connected.way,
            scope: connected.scope,
            path: connected.path.display().to_string(),
            since_ms: connected.since_ms,
            program: connected.program.name,
            program_is_there: connected.program.is_there,
            trust: connected.trust,
        }
    }
}

fn write_report(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let release = match (&report.release, report.tested_release) {
        (Some(release), Some(tested)) if release == tested => format!(" {release}"),
        (Some(release), Some(tested)) => format!(" {release} (tested: {tested})"),
        (Some(release), None) => format!(" {release}"),
        (None, Some(tested)) => format!(", release not known (tested: {tested})"),
        (None, None) => String::new(),
    };
    writeln!(out, "{}: {}{}", report.agent, report.title, display::escape(&release))?;
    if !report.found {
        writeln!(out, "  not found here any more")?;
    }
    if let Some(elsewhere) = report.elsewhere {
        return writeln!(out, "  {elsewhere}");
    }
    if report.connected.is_empty() {
        writeln!(out, "  not connected: countersign connect {}", report.agent)?;
    }
    for way in &report.connected {
        let scope = match way.scope {
            Scope::Project => "in this project",
            Scope::User => "in all projects",
        };
        let since =
            way.since_ms.map_or("since when is not known".to_owned(), |at| format!("since {}", time(at)));
        let path = display::escape(&way.path);
        writeln!(out, "  by {} {scope}, {since} ({path})", way_name(way.by))?;
        if way.trust == Some(Trust::NotKnown) {
            writeln!(
                out,
                "  {} trusted a hook in its place; whether it was this one is not known: type /hooks there",
                report.title
            )?;
        }
    }
    if !report.connected.is_empty() {
        writeln!(out, "  {}", calls_words(report.calls))?;
    }
    for told in report.obstacles.iter().chain(&report.unread) {
        writeln!(out, "  {}", display::escape(told))?;
    }
    let seen = match report.last_seen {
        AgentSeen::At { at_ms } => time(at_ms),
        AgentSeen::Never => "never".to_owned(),
        AgentSeen::NotLately => format!("not in the newest {MOST_LINES} lines of the history"),
        AgentSeen::NotKnown => "not known: the history cannot be read".to_owned(),
    };
    writeln!(out, "  last seen: {seen}")
}

fn time(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map(|at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%F %T").to_string())
        .unwrap_or_else(|_| at_ms.to_string())
}
