//! One task, from its set-up to what is there afterwards.

use crate::place::Place;
use crate::task::Task;
use crate::tools::Tools;
use anyhow::{Context, Result, bail, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::trace::TraceStep;
use countersign_protocol::ui::Card;
use countersign_tests::cli::{Finished, Running};
use countersign_tests::process::{POLL, countersign};
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

/// What came of a task.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    /// Its name.
    pub(crate) name: String,
    /// How it ended.
    #[serde(flatten)]
    pub(crate) end: End,
    /// How long the boxed run took, in milliseconds.
    pub(crate) took_ms: u128,
    /// Where it connected to.
    pub(crate) reached: Vec<String>,
}

/// How a task ended.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "end")]
pub(crate) enum End {
    /// Everything held.
    Passed,
    /// Something did not.
    Failed {
        /// What, in one line.
        why: String,
        /// What the run printed, its last part.
        printed: String,
    },
    /// It was not tried.
    Absent {
        /// Without this program.
        program: String,
    },
}

/// Runs a task. What goes wrong with it is its end; an error is about everything around it.
pub(crate) fn run(task: &Task, tools: &Tools, place: &Place) -> Result<Outcome> {
    let mut outcome = Outcome { name: task.name.clone(), end: End::Passed, took_ms: 0, reached: Vec::new() };
    if let Some(program) = tools.missing(task) {
        outcome.end = End::Absent { program: program.to_owned() };
        return Ok(outcome);
    }
    let folder = place.folder(task);
    if let Err(error) = outside(task, place, &task.setup) {
        outcome.end = failed(&format!("its set-up failed: {error:#}"), "");
        return Ok(outcome);
    }
    let before = place.home().history()?.len();
    let started = Instant::now();
    let ran = boxed(task, place, &folder);
    outcome.took_ms = started.elapsed().as_millis();
    for entry in place.home().history()?.into_iter().skip(before) {
        if let HistoryEvent::Run { run } = entry.event {
            outcome.reached.extend(run.reached.into_iter().map(|reached| reached.destination));
        }
    }
    let (held, printed) = match ran {
        Err(error) => (Err(error), String::new()),
        Ok(ran) => (holds(task, place, &ran), format!("{}{}", ran.stdout, ran.stderr)),
    };
    if let Err(error) = held {
        // The home is another one each time.
        let why = format!("{error:#}").replace(&*place.home().path().to_string_lossy(), "~");
        outcome.end = failed(&why, &printed);
    }
    Ok(outcome)
}

/// Runs its text in the box.
fn boxed(task: &Task, place: &Place, folder: &Path) -> Result<Finished> {
    let home = place.home();
    let mut command = home.command(countersign()?);
    command.args(["exec", "--agent", "coder", "--box", "--cwd"]).arg(folder);
    command.args(["--", "sh", "-c"]).arg(text(task, place, &task.run));
    let mut running = Running::start(&mut command)?;
    let started = Instant::now();
    let mut looked = started;
    while running.runs()? {
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            if let Some(card) = home.pending()?.0.first() {
                let asked = question(card);
                running.kill()?;
                bail!("somebody was asked {asked}");
            }
        }
        if started.elapsed() >= RUN_LIMIT {
            running.kill()?;
            bail!("it did not end within {} s", RUN_LIMIT.as_secs());
        }
        std::thread::sleep(POLL);
    }
    running.finish()
}

/// What a card is about, in a line, and all of it on the next.
fn question(card: &Card) -> String {
    let held = card.why.trace.iter().find_map(|step| match step {
        TraceStep::Held { cause, detail } => {
            Some(format!("({cause:?}) {}", detail.as_deref().unwrap_or_default()))
        }
        _ => None,
    });
    let all = card.command.copy.replace('\n', "; ");
    match held {
        Some(held) => format!("about a command of it {held}\n{all}"),
        None => format!("about {all}"),
    }
}

/// Whether everything is as it has to be.
fn holds(task: &Task, place: &Place, ran: &Finished) -> Result<()> {
    ensure!(ran.code == 0, "it ended with {}: {}", ran.code, last_line(ran));
    for words in &task.says {
        ensure!(
            ran.stdout.contains(words) || ran.stderr.contains(words),
            "it did not say {words:?}: {}",
            last_line(ran)
        );
    }
    outside(task, place, &task.check).context("the check failed")
}

/// Runs a text outside of the box.
fn outside(task: &Task, place: &Place, script: &str) -> Result<()> {
    let mut command = place.home().command("sh");
    command.arg("-c").arg(text(task, place, script)).current_dir(place.folder(task));
    let ended = Running::start(&mut command)?.finish_within(OUTSIDE_LIMIT)?;
    ensure!(ended.code == 0, "it ended with {}: {}", ended.code, last_line(&ended));
    Ok(())
}

/// A text whose shell ends at the first command that fails, and knows the folder beside. A variable around
/// `countersign exec` would not reach it: what runs has the app's.
fn text(task: &Task, place: &Place, script: &str) -> String {
    format!("set -e\nBESIDE='{}'\n{script}\n", place.beside(task).display())
}

fn last_line(ran: &Finished) -> &str {
    let said = |text: &'_ str| text.lines().map(str::trim).any(|line| !line.is_empty());
    let from = if said(&ran.stderr) { &ran.stderr } else { &ran.stdout };
    from.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing")
}

fn failed(why: &str, printed: &str) -> End {
    let from = printed.char_indices().rev().nth(PRINTED_CHARS).map_or(0, |(at, _)| at);
    let line = why.lines().next().unwrap_or_default().to_owned();
    End::Failed { why: line, printed: printed.get(from..).unwrap_or_default().to_owned() }
}

/// Longest boxed run: three times what the slowest takes on two busy cores.
const RUN_LIMIT: Duration = Duration::from_secs(180);

/// Longest set-up or check.
const OUTSIDE_LIMIT: Duration = Duration::from_secs(60);

/// Pause between two looks whether somebody was asked.
const LOOK: Duration = Duration::from_millis(500);

/// Characters of what a run printed that are told of it.
const PRINTED_CHARS: usize = 3_000;
