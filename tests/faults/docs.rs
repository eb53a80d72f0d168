//! The document about what survives what, written from what came of the runs.

use crate::course::Outcome;
use crate::promises::Promise;
use crate::table::{Fate, Fault, Make, Moment, Trouble, Way, Who};
use std::fmt::Write as _;

/// The whole document. What was not run now keeps its row of `before`; faults that nobody ever
/// ran are left out.
pub(crate) fn document(faults: &[Fault], outcomes: &[Outcome], before: &str) -> String {
    let of = |fault: &Fault| -> Vec<&Outcome> {
        outcomes.iter().filter(|outcome| outcome.fault == fault.name).collect()
    };
    let mut rows = Rows { before, runs: 0, all_hold: true };
    let mut text = BEFORE.to_owned();
    text.push_str("\n## Processes and machine\n\n| what breaks | then | runs | promises held | answers again after |\n|---|---|---|---|---|\n");
    for fault in faults {
        let words = words(fault.make);
        if words.is_empty() {
            continue;
        }
        let then = match fault.fate {
            Fate::Lives => "goes on",
            Fate::MayDie => "goes on, or starts anew",
            Fate::StartsAnew | Fate::Dies => "starts anew",
        };
        text.push_str(&rows.row(&format!("| {words} | {then} |"), &of(fault)));
    }
    text.push_str("\n## Files\n\nEach file of ours is something else for a while, and the right one again after. It is that while everything runs, and as the app starts.\n\n| file | what it is instead | runs | promises held | answers again after |\n|---|---|---|---|---|\n");
    for pair in faults.chunk_by(|one, other| same_file(one.make, other.make)) {
        let Some(Make::Spoil(file, way, _)) = pair.first().map(|fault| fault.make) else { continue };
        let runs: Vec<&Outcome> = pair.iter().flat_map(of).collect();
        let only_running = pair.iter().all(|fault| matches!(fault.make, Make::Spoil(_, _, Moment::Running)));
        let when = if only_running { ", while running" } else { "" };
        let (file, way) = (file.name().replace('-', " "), way_words(way));
        text.push_str(&rows.row(&format!("| {file} | {way}{when} |"), &runs));
    }
    let held = if rows.all_hold { "every promise held in each of them" } else { "not every promise held" };
    let _ = writeln!(text, "\n{} runs; {held}.", rows.runs);
    text
}

/// Rows as they are written, and what they come to together.
struct Rows<'a> {
    before: &'a str,
    runs: usize,
    all_hold: bool,
}

impl Rows<'_> {
    /// The row that begins with `head`, from these runs or as it was; nothing where there is neither.
    fn row(&mut self, head: &str, runs: &[&Outcome]) -> String {
        let row = if runs.is_empty() {
            let mut known = self.before.lines().filter(|line| line.starts_with(head));
            known.next().unwrap_or_default().to_owned()
        } else {
            let (held, again) = came_to(runs);
            format!("{head} {} | {held} | {again} |", runs.len())
        };
        if row.is_empty() {
            return row;
        }
        let mut cells = row.split('|').skip(3).map(str::trim);
        self.runs += cells.next().and_then(|runs| runs.parse::<usize>().ok()).unwrap_or(0);
        self.all_hold &= cells.next().is_some_and(|held| held == "all");
        row + "\n"
    }
}

fn same_file(one: Make, other: Make) -> bool {
    match (one, other) {
        (Make::Spoil(file, way, _), Make::Spoil(other_file, other_way, _)) => {
            (file, way) == (other_file, other_way)
        }
        _ => false,
    }
}

/// Promises that held in all runs, and the slowest of them.
fn came_to(runs: &[&Outcome]) -> (String, String) {
    if runs.iter().any(|run| run.failed.is_some()) {
        return ("could not be tried".to_owned(), "–".to_owned());
    }
    if runs.iter().all(|run| run.impossible.is_some()) {
        return ("not possible on that machine".to_owned(), "–".to_owned());
    }
    let broken: Vec<&str> = Promise::ALL
        .into_iter()
        .filter(|promise| runs.iter().any(|run| run.broken.iter().any(|broken| broken.promise == *promise)))
        .map(Promise::name)
        .collect();
    let held =
        if broken.is_empty() { "all".to_owned() } else { format!("all but *{}*", broken.join("*, *")) };
    let slowest = runs.iter().filter_map(|run| run.again_ms).max();
    (held, slowest.map_or_else(|| "–".to_owned(), |ms| format!("{ms} ms")))
}

const fn words(make: Make) -> &'static str {
    match make {
        Make::Kill(Who::App) => "the app is killed",
        Make::Kill(Who::Page) => "the process that draws a window is killed",
        Make::Kill(Who::Runner) => "this machine's runner is killed",
        Make::Kill(Who::Worker) => "the runner's own child is killed",
        Make::Kill(Who::Mcp) => "`countersign mcp` is killed",
        Make::Kill(Who::Hook) => "`countersign hook` is killed",
        Make::Kill(Who::Exec) => "`countersign exec` is killed",
        Make::Freeze => "the app stands still for half a minute, as in suspend",
        Make::Files => "no more files can be opened",
        Make::KeptFiles => "nor those that are kept for windows",
        Make::Processes => "no more processes can be started",
        Make::PageMemory => "the process that draws a window gets no memory",
        Make::Disk(Trouble::Full) => "the disk is full",
        Make::Disk(Trouble::ReadOnly) => "the disk is read-only",
        Make::Disk(Trouble::Broken) => "the disk fails (EIO)",
        Make::Disk(Trouble::Slow) => "a write takes a second",
        Make::Clock(3_600) => "the clock is set an hour ahead",
        Make::Clock(-3_600) => "the clock is set an hour back",
        Make::Clock(1..) => "the clock is set a year ahead",
        Make::Clock(_) => "the clock is set a year back",
        Make::Bus => "the session bus ends and comes back",
        Make::Display => "the display ends and comes back",
        Make::Gateway => "another gateway ends and comes back",
        Make::HalfOpen => "connections to another gateway stay and nothing gets through",
        Make::Spoil(..) => "",
    }
}

const fn way_words(way: Way) -> &'static str {
    match way {
        Way::Truncated => "its first half",
        Way::Garbage => "garbage",
        Way::OtherVersion => "of another version",
        Way::Huge => "200 MB",
        Way::Folder => "a folder",
        Way::Fifo => "a pipe",
        Way::Unreadable => "unreadable",
        Way::Link => "a link",
        Way::Foreign => "another user's",
        Way::Removed => "gone",
    }
}

const BEFORE: &str = "# What survives what

Written by `cargo run -p countersign-tests --features faults --bin faults -- --write-docs docs`; do not edit. Each row is
of its fault's last runs.

The real app runs with this machine's runner, another gateway, `countersign mcp`, hooks and programs at all doors, whose requests
wait. Then one thing breaks, and five promises are looked at:

- **decided**: nothing is allowed without a rule or an answer;
- **kept**: nothing that was acknowledged is lost, of the document, the rules, the history and the answers, and what waits goes on
  waiting, unless its own door ended;
- **clean**: no process, socket, mount or half file is left over;
- **answers**: everything answers again within 5 s, by itself or, where the app ended, after it is started;
- **told**: windows and tray or the history, and `countersign doctor`, say what is wrong, in plain words.
";
