//! `countersign history`.

mod changes;

use super::Exit;
use super::output::Output;
use clap::{Args, Subcommand};
use countersign_approvals::history::{self, Anchor};
use countersign_core::paths::Paths;
use countersign_policy::display;
use countersign_protocol::history::{
    ChainBreak, ChainDamage, ChainName, HistoryEntry, HistoryEvent, KeptSpan, PutBack, ReachedView,
    RecordNote, SocketDoor, SocketLoss, UnwrittenView, WindowKind,
};
use countersign_protocol::question::{HostKind, Outcome};
use countersign_protocol::state::PageEnd;
use std::io::{self, Write};
use std::time::Duration;

// Arguments of `history`.
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
#[command(defer = true)]
enum HistoryCommand {
    /// Check the hash chains: exit code 0 when nobody changed or removed a line, 1 otherwise.
    Verify {
        /// Also check that the history still holds what it held when this was printed.
        #[arg(long, value_name = "ANCHOR")]
        anchor: Option<Anchor>,
    },
    /// Show what a run in a box changed in its folder.
    Changes(changes::LineArgs),
    /// Put back what a run in a box changed: what was there before, where it still is what the run left.
    ///
    /// What somebody changed since stays as it is and is named; then the exit code is 1. What was put back is
    /// a line of its own, which can be put back in the same way.
    PutBack(changes::LineArgs),
    /// Print the newest position and hash of each chain, to be kept where no program of yours can change it.
    Anchor,
}

pub(super) async fn history(paths: &Paths, args: HistoryArgs, output: &Output) -> anyhow::Result<Exit> {
    let dir = paths.history();
    match args.command {
        Some(HistoryCommand::Verify { anchor }) => return verify(paths, anchor.as_ref(), output),
        Some(HistoryCommand::Anchor) => {
            let anchor = history::anchor(&paths.history_places())?;
            output.result(&anchor, |out| writeln!(out, "{anchor}"))?;
            return Ok(Exit::Ok);
        }
        Some(HistoryCommand::Changes(args)) => return changes::changes(paths, &args, output).await,
        Some(HistoryCommand::PutBack(args)) => return changes::put_back(paths, &args, output).await,
        None => {}
    }
    let mut last = 0;
    show(&dir, args.lines, |entry| {
        last = entry.seq;
        print(&entry, output)
    })?;
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

fn verify(paths: &Paths, anchor: Option<&Anchor>, output: &Output) -> anyhow::Result<Exit> {
    let places = paths.history_places();
    let report = match anchor {
        None => history::verify(&places)?,
        Some(anchor) => history::verify_with(&places, anchor)?,
    };
    output.result(&report, |out| {
        for warning in &report.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        match &report.broken {
            None => writeln!(out, "{} lines, the chain is whole.", report.lines),
            Some(broken) => writeln!(out, "{}", damage(broken)),
        }
    })?;
    Ok(if report.broken.is_none() { Exit::Ok } else { Exit::Failed })
}

/// What is wrong with the record, and where.
pub(super) fn damage(broken: &ChainBreak) -> String {
    let kind = match broken.damage {
        ChainDamage::CutAtStart => "cut at the start",
        ChainDamage::CutInside => "cut inside",
        ChainDamage::CutAtEnd => "cut at the end",
        ChainDamage::Emptied => "emptied",
        ChainDamage::Missing => "missing",
        ChainDamage::Replaced => "replaced",
        ChainDamage::Changed => "changed",
    };
    format!("{kind}: {} line {}: {}", broken.file, broken.line, broken.problem)
}

/// Shows the newest `lines` entries, oldest first. They are read twice, once to find where they begin, so
/// that any number of them takes no more memory than a page.
fn show(
    dir: &std::path::Path,
    lines: usize,
    mut print: impl FnMut(HistoryEntry) -> io::Result<()>,
) -> anyhow::Result<()> {
    for (before, length) in pages(dir, lines)?.into_iter().rev() {
        for entry in history::page(dir, Some(before), length)?.entries.into_iter().rev() {
            print(entry)?;
        }
    }
    Ok(())
}

/// The pages of the newest `lines` entries, newest first: below which position each begins, and how many
/// entries it has. What is written after this moves none of them.
fn pages(dir: &std::path::Path, lines: usize) -> anyhow::Result<Vec<(u64, usize)>> {
    let (mut pages, mut before, mut left) = (Vec::new(), None, lines);
    while left > 0 {
        let page = history::page(dir, before, left.min(PAGE))?;
        let Some(newest) = page.entries.first() else { break };
        pages.push((newest.seq + 1, page.entries.len()));
        left -= page.entries.len();
        before = page.next_before;
        if before.is_none() {
            break;
        }
    }
    Ok(pages)
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

/// What its box did not let a run write, with the command that lets the next one.
fn refused(UnwrittenView { path, place }: &UnwrittenView, within: Option<&str>) -> String {
    let what = path.as_deref().unwrap_or("something that its output does not name");
    let mut said = format!("its box did not let it write {what}");
    // One that is escaped here could be another folder.
    let folder = within.filter(|folder| !folder.contains('\\'));
    if let (Some(place), Some(folder)) = (place, folder) {
        let words = ["countersign", "box", "place", place, "--write", "--folder", folder].map(str::to_owned);
        said.push_str(&format!("; `{}` lets the next one", display::shell_quoted(&words)));
    }
    said
}

fn print(entry: &HistoryEntry, output: &Output) -> io::Result<()> {
    output.result(entry, |out| text(entry, out))
}

fn text(entry: &HistoryEntry, out: &mut dyn Write) -> io::Result<()> {
    let time = time_of(entry.at_ms);
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
            writeln!(out, "{time}  run {end} after {} ms", run.duration_ms)?;
            run.reached.iter().try_for_each(|ReachedView { destination, up, down }| {
                writeln!(out, "{time}  reached {destination}: {up} bytes sent, {down} received")
            })?;
            run.unwritten.as_ref().map_or(Ok(()), |unwritten| {
                writeln!(out, "{time}  {}", refused(unwritten, run.within.as_deref()))
            })
        }
        HistoryEvent::Changes { changes, put_back } => {
            let KeptSpan { folder, made, changed, deleted, problem, .. } = changes;
            let counted = format!("{folder}: {made} made, {changed} changed, {deleted} deleted");
            match (problem, put_back) {
                (Some(problem), _) => {
                    writeln!(out, "{time}  what changed in {folder} is not known: {problem}")
                }
                (None, Some(PutBack { by, at_ms, session, .. })) => {
                    let (by, at) = (through(by), time_of(*at_ms));
                    let whose = session
                        .as_ref()
                        .map(|it| format!("of session {} of {}, up to", it.session, it.agent));
                    let of = whose.unwrap_or_else(|| "of".to_owned());
                    writeln!(out, "{time}  put back {by}, {of} {at}, in {counted} (line {})", entry.seq)
                }
                (None, None) => writeln!(out, "{time}  changed {counted} (line {})", entry.seq),
            }
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
        HistoryEvent::Socket { door, lost, times } => {
            let (door, lost) = (socket_door(*door), socket_loss(*lost));
            let often = if *times > 1 { format!(", {times} times") } else { String::new() };
            writeln!(out, "{time}  {door}: {lost}{often}; it is open again")
        }
        HistoryEvent::Record { note } => writeln!(out, "{time}  record: {}", noted(note)),
    }
}

fn socket_door(door: SocketDoor) -> &'static str {
    match door {
        SocketDoor::Approval => "the approval socket",
        SocketDoor::Control => "the socket of the command line",
    }
}

fn socket_loss(lost: SocketLoss) -> &'static str {
    match lost {
        SocketLoss::Lock => "its lock was removed or replaced",
        SocketLoss::Removed => "its file was removed",
        SocketLoss::Replaced => "its file was replaced",
    }
}

/// What the record says about itself, in words.
fn noted(note: &RecordNote) -> String {
    let of = |chain: &ChainName| match chain {
        ChainName::Decisions => "decisions",
        ChainName::Unasked => "what ran unasked",
    };
    match note {
        RecordNote::Adopted { last } => {
            format!("lines of an earlier version are kept on, up to position {last}")
        }
        RecordNote::Rotated { chain, removed: None } => format!("a full file of {} was set aside", of(chain)),
        RecordNote::Rotated { chain, removed: Some(removed) } => {
            let (lines, last) = (removed.lines, removed.last);
            format!("the oldest {lines} lines of {} were removed, up to position {last}", of(chain))
        }
        RecordNote::Folded { source, lines, programs, .. } => {
            format!("{lines} lines of {source} were only counted ({})", programs.join(", "))
        }
        RecordNote::Unrecorded { lines, problem, .. } => {
            format!("{lines} lines could not be written: {problem}")
        }
        RecordNote::Damaged { chain, problem } => format!("DAMAGED, {}: {problem}", of(chain)),
        RecordNote::PowerLost { chain, last } => {
            format!(
                "the machine stopped before lines of {} behind position {last} were on its disk",
                of(chain)
            )
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
/// A time as the person's clock shows it.
fn time_of(at_ms: i64) -> String {
    jiff::Timestamp::from_millisecond(at_ms)
        .map(|at| at.to_zoned(jiff::tz::TimeZone::system()).strftime("%F %T").to_string())
        .unwrap_or_else(|_| at_ms.to_string())
}

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
        Outcome::Contained => "ran in a box".to_owned(),
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
const PAGE: usize = history::MAX_PAGE;

/// Most entries printed per look while following.
const FOLLOW_LINES: usize = 10_000;

/// Time between two looks while following.
const FOLLOW_PAUSE: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_approvals::history::{History, Places};
    use countersign_approvals::ports::Ports;
    use countersign_protocol::history::WindowKind;
    use countersign_protocol::state::PageEnd;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    #[tokio::test]
    async fn what_is_written_while_the_history_is_shown_pushes_no_line_out() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { lines: folder.path().join("lines"), head: folder.path().join("head") };
        let dir = places.lines.clone();
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let history = History::open(places, Ports::system(), &tracker, stop.clone()).unwrap();
        let line = || HistoryEvent::Page { window: WindowKind::Main, end: PageEnd::Crashed, again: true };
        for _ in 0..3 {
            history.append(None, line()).await.unwrap();
        }
        let found = pages(&dir, 10).unwrap();
        history.append(None, line()).await.unwrap();
        let [(before, length)] = found[..] else { panic!("{found:?}") };
        let shown = history::page(&dir, Some(before), length).unwrap().entries;
        let mut all = history::page(&dir, None, 10).unwrap().entries;
        all.remove(0);
        assert_eq!((shown.len(), shown), (length, all), "all but the line that came later");
        stop.cancel();
    }
}
