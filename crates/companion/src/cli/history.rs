//! `countersign history`.

use super::Exit;
use super::output::Output;
use crate::paths::Paths;
use clap::{Args, Subcommand};
use countersign_approvals::history;
use countersign_protocol::ui::{HistoryEntry, HistoryEvent, HostKind, Outcome, PageEnd, WindowKind};
use std::io::{self, Write};
use std::time::Duration;

/// Arguments of `history`.
#[derive(Args, Clone, Debug)]
pub(crate) struct HistoryArgs {
    /// Keep printing what is added.
    #[arg(long, short)]
    follow: bool,
    /// How many of the latest lines to print.
    #[arg(long, short = 'n', default_value_t = 20)]
    lines: usize,
    #[command(subcommand)]
    command: Option<HistoryCommand>,
}

#[derive(Clone, Debug, Subcommand)]
enum HistoryCommand {
    /// Check the hash chain: exit code 0 when nobody changed a line, 1 otherwise.
    Verify,
}

pub(super) async fn history(paths: &Paths, args: HistoryArgs, output: &Output) -> anyhow::Result<Exit> {
    let dir = paths.history();
    if let Some(HistoryCommand::Verify) = args.command {
        let report = history::verify(&dir)?;
        output.result(&report, |out| match &report.broken {
            None => writeln!(out, "{} lines, the chain is whole.", report.lines),
            Some(broken) => writeln!(out, "{} line {}: {}", broken.file, broken.line, broken.problem),
        })?;
        return Ok(if report.broken.is_none() { Exit::Ok } else { Exit::Failed });
    }
    let mut last = 0;
    for entry in latest(&dir, args.lines, 0)? {
        last = entry.seq;
        print(&entry, output)?;
    }
    if !args.follow {
        if last == 0 {
            output.note("nothing has happened yet");
        }
        return Ok(Exit::Ok);
    }
    loop {
        tokio::time::sleep(FOLLOW_PAUSE).await;
        for entry in latest(&dir, FOLLOW_LINES, last)? {
            last = entry.seq;
            print(&entry, output)?;
        }
    }
}

/// The newest `lines` entries after `after`, oldest first.
fn latest(dir: &std::path::Path, lines: usize, after: u64) -> anyhow::Result<Vec<HistoryEntry>> {
    let mut entries = Vec::new();
    let mut before = None;
    while entries.len() < lines {
        let page = history::page(dir, before, (lines - entries.len()).min(PAGE))?;
        let fresh = page.entries.len();
        entries.extend(page.entries.into_iter().filter(|entry| entry.seq > after));
        before = page.next_before;
        if before.is_none_or(|before| before <= after + 1) || fresh == 0 {
            break;
        }
    }
    entries.reverse();
    Ok(entries)
}

fn print(entry: &HistoryEntry, output: &Output) -> io::Result<()> {
    output.result(entry, |out| text(entry, out))
}

fn text(entry: &HistoryEntry, out: &mut dyn Write) -> io::Result<()> {
    let time = jiff::Timestamp::from_millisecond(entry.at_ms)
        .map(|at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%F %T").to_string())
        .unwrap_or_else(|_| entry.at_ms.to_string());
    match &entry.event {
        HistoryEvent::Request { agent, command, outcome, by, host, .. } => {
            let by = by.as_ref().map(|by| format!(" {}", decider(by, outcome))).unwrap_or_default();
            let place = if *host == Some(HostKind::Sandbox) { " in a sandbox" } else { "" };
            writeln!(out, "{time}  {agent}  {}{by}{place}  {command}", outcome_word(outcome))
        }
        HistoryEvent::Run { run } => {
            let end = match (&run.error, run.exit_code) {
                (_, Some(code)) => format!("exit {code}"),
                (Some(error), None) => error.clone(),
                (None, None) => "ended".to_owned(),
            };
            writeln!(out, "{time}  run {end} after {} ms", run.duration_ms)
        }
        HistoryEvent::Document { writer, store, after, loosenings, .. } => {
            let looser = if loosenings.is_empty() { "" } else { ", looser" };
            let of = store.as_ref().map(|store| format!(" of {store}")).unwrap_or_default();
            let doubt = if after.is_empty() { ", whether it was taken is not known" } else { "" };
            writeln!(out, "{time}  policy{of} changed {}{looser}{doubt}", through(writer))
        }
        HistoryEvent::Rules { writer, loosenings, .. } => {
            let looser = if loosenings.is_empty() { "" } else { ", looser" };
            writeln!(out, "{time}  rules changed {}{looser}", through(writer))
        }
        HistoryEvent::Page { window, end, again } => {
            let window = match window {
                WindowKind::Main => "main window",
                WindowKind::Prompt => "prompt",
            };
            let end = match end {
                PageEnd::Crashed => "ended by itself",
                PageEnd::Hung => "did not answer",
                PageEnd::OutOfMemory => "took too much memory",
            };
            let then = if *again { "made again" } else { "not made again" };
            writeln!(out, "{time}  the page of the {window} {end}; {then}")
        }
    }
}

/// Who decided, in words. What another gateway says about that is its own words.
fn decider(by: &str, outcome: &Outcome) -> String {
    if matches!(outcome, Outcome::AllowedElsewhere | Outcome::DeniedElsewhere | Outcome::Cancelled { .. }) {
        return format!("by {by}");
    }
    match by {
        "command-line" => "on the command line".to_owned(),
        "notification" => "from a notification".to_owned(),
        "tray" => "from the tray".to_owned(),
        "window" => "in a window".to_owned(),
        other => format!("by {other}"),
    }
}

/// Through what something was changed, in words.
fn through(writer: &str) -> &str {
    match writer {
        "another-program" => "by another program",
        "answer" => "by an answer",
        "command-line" => "from the command line",
        "first-run" => "on the first run",
        "gateway" => "over the gateway",
        "upkeep" => "by Countersign itself",
        "window" => "in the main window",
        other => other,
    }
}

fn outcome_word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::AllowedByPolicy => "allowed by policy".to_owned(),
        Outcome::AllowedByRule => "allowed by rule".to_owned(),
        Outcome::AllowedOnce => "allowed once".to_owned(),
        Outcome::AllowedAlways => "allowed always".to_owned(),
        Outcome::AllowedElsewhere => "allowed elsewhere".to_owned(),
        Outcome::AllowedByFallback => "allowed by fallback".to_owned(),
        Outcome::Denied => "denied".to_owned(),
        Outcome::DeniedByPolicy { reason } => format!("denied by policy ({reason})"),
        Outcome::DeniedElsewhere => "denied elsewhere".to_owned(),
        Outcome::Expired => "expired unanswered".to_owned(),
        Outcome::Cancelled { .. } => "withdrawn".to_owned(),
        Outcome::NotShown => "could not be shown".to_owned(),
        Outcome::Refused { reason } => format!("refused ({reason})"),
    }
}

/// Entries asked for at once.
const PAGE: usize = 200;

/// Most entries printed per look while following.
const FOLLOW_LINES: usize = 10_000;

/// Time between two looks while following.
const FOLLOW_PAUSE: Duration = Duration::from_millis(250);
