//! What must hold however often: starts and prompts without a blank window, processes that end under a
//! prompt, and keys that were meant for something else.

use anyhow::{Context, Result, ensure};
use countersign_protocol::control::ControlRequest;
use countersign_protocol::question::Outcome;
use countersign_tests::desktops::kind::{Kind, Look};
use countersign_tests::desktops::person::Person;
use countersign_tests::desktops::place::Place;
use countersign_tests::desktops::typist::Typist;
use countersign_tests::home::Home;
use countersign_tests::process::{self, PATIENCE, wait_for};
use std::time::{Duration, Instant};

/// What is done again and again.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Endurance {
    /// The app starts, shows its main window and some prompts, and ends.
    Starts,
    /// The process that draws a prompt is killed while the prompt is on the screen.
    Kills,
    /// Somebody types into another window while prompts come and go.
    Monkey,
}

/// How often.
#[derive(clap::Args)]
pub(crate) struct Counts {
    /// Starts of the app.
    #[arg(long, default_value_t = 50)]
    starts: usize,
    /// Prompts, over all starts.
    #[arg(long, default_value_t = 200)]
    prompts: usize,
    /// Processes that are killed.
    #[arg(long, default_value_t = 20)]
    kills: usize,
    /// Keys that are typed.
    #[arg(long, default_value_t = 20_000)]
    keys: usize,
    /// Prompts that come meanwhile.
    #[arg(long, default_value_t = 300)]
    interruptions: usize,
}

/// Does it on one desktop, and says in a line what came of it.
pub(crate) fn endure(endurance: Endurance, kind: Kind, counts: &Counts) -> Result<String> {
    match endurance {
        Endurance::Starts => starts(kind, counts.starts, counts.prompts),
        Endurance::Kills => kills(kind, counts.kills),
        Endurance::Monkey => monkey(kind, counts.keys, counts.interruptions),
    }
}

fn place(kind: Kind) -> Result<Place> {
    Place::start(kind, Look::PLAIN, Home::asking()?)
}

fn starts(kind: Kind, starts: usize, prompts: usize) -> Result<String> {
    let mut place = place(kind)?;
    let mut shown = 0;
    let mut slowest = Duration::ZERO;
    for start in 1..=starts {
        let mut person = Person::start(place)?;
        let mut drawing = Vec::new();
        while shown < prompts * start / starts {
            let asked = person.raise(&["true", "again"])?;
            let (_, elapsed) =
                person.see_prompt().with_context(|| format!("start {start}, prompt {shown}"))?;
            slowest = slowest.max(elapsed);
            same_processes(&person, &mut drawing)?;
            deny(&person)?;
            asked.finish()?;
            person.see_nothing()?;
            shown += 1;
        }
        person.open_main().with_context(|| format!("start {start}"))?;
        same_processes(&person, &mut drawing)?;
        person.still_runs()?;
        place = person.leave()?;
    }
    Ok(format!(
        "{starts} starts, {shown} prompts, the slowest on the screen after {} ms",
        slowest.as_millis()
    ))
}

/// Fails when a process that drew before is gone; remembers those that draw now.
fn same_processes(person: &Person, before: &mut Vec<u32>) -> Result<()> {
    let now = person.web_processes()?;
    let gone: Vec<&u32> = before.iter().filter(|pid| !now.contains(pid)).collect();
    ensure!(gone.is_empty(), "a web process ended\n{}", person.log());
    *before = now;
    Ok(())
}

fn kills(kind: Kind, kills: usize) -> Result<String> {
    let mut person = Person::start(place(kind)?)?;
    let mut killed: Vec<Instant> = Vec::new();
    for count in 1..=kills {
        // The app makes no more windows a minute than this, so that one that cannot be drawn does not
        // come up for ever.
        if let Some(third_last) = killed.iter().rev().nth(AGAIN_A_MINUTE - 1) {
            let rest = MINUTE.saturating_sub(third_last.elapsed());
            wait_for("another window may be made", MINUTE + PATIENCE, || {
                Ok((third_last.elapsed() >= MINUTE).then_some(()))
            })
            .with_context(|| format!("{} ms were left", rest.as_millis()))?;
        }
        let asked = person.raise(&["true", "killed"])?;
        person.see_prompt()?;
        let card = person.pending()?.first().cloned().context("nothing waits")?;
        let drawing = person.web_processes()?;
        ensure!(!drawing.is_empty(), "nothing draws the prompt");
        let told = person.endings_told()?;
        for pid in &drawing {
            process::kill(*pid);
        }
        killed.push(Instant::now());
        wait_for("another process draws", PATIENCE, || {
            let now = person.web_processes()?;
            Ok((!now.is_empty() && now.iter().all(|pid| !drawing.contains(pid))).then_some(()))
        })
        .with_context(|| format!("kill {count}\n{}", person.log()))?;
        person.see_prompt().with_context(|| format!("after kill {count}"))?;
        ensure!(person.pending()?.contains(&card), "after kill {count} the request no longer waits");
        ensure!(person.endings_told()? > told, "the app does not tell of kill {count}\n{}", person.log());
        person.deny()?;
        asked.finish()?;
        person.see_nothing()?;
        person.still_runs()?;
    }
    let outcomes = person.outcomes(kills)?;
    ensure!(outcomes.iter().all(|outcome| *outcome == Outcome::Denied), "they ended as {outcomes:?}");
    Ok(format!("{kills} processes killed; each prompt came back, none was allowed, each end was told"))
}

fn monkey(kind: Kind, keys: usize, interruptions: usize) -> Result<String> {
    let mut place = place(kind)?;
    let typist = Typist::start(&mut place)?;
    let mut person = Person::start(place)?;
    let mut typed = 0;
    // Types until something is to be seen, or not to be seen any more, and at least so many keys.
    let mut type_until =
        |person: &Person, least: usize, done: &dyn Fn(&Person) -> Result<bool>| -> Result<()> {
            let started = Instant::now();
            let mut is_done = false;
            while typed < least || !is_done {
                ensure!(started.elapsed() < PATIENCE + PATIENCE, "a prompt neither came nor went");
                typist.type_one(&person.place)?;
                typed += 1;
                if !is_done && typed % LOOK_EVERY == 0 {
                    is_done = done(person)?;
                }
            }
            Ok(())
        };
    for interruption in 1..=interruptions {
        let asked = person.raise(&["true", "monkey"])?;
        let least = keys * interruption / interruptions;
        type_until(&person, least, &|person| Ok(person.look()?.is_some()))
            .with_context(|| format!("prompt {interruption}"))?;
        deny(&person)?;
        asked.finish()?;
        type_until(&person, 0, &Person::is_alone)?;
        person.still_runs()?;
    }
    let decided = person.decided_in_windows()?;
    ensure!(
        decided == 0,
        "{decided} of {interruptions} prompts were answered by keys that were typed elsewhere"
    );
    let kept = match kind.gives_focus() {
        Some(why) => why.to_owned(),
        None => format!("{} arrived", typist.check()?),
    };
    Ok(format!("{typed} keys typed elsewhere while {interruptions} prompts came: no answer; {kept}"))
}

/// Denies what waits without touching the screen.
fn deny(person: &Person) -> Result<()> {
    person.place.home.control(&ControlRequest::Deny { id: None })?.context("the app does not answer")?;
    Ok(())
}

/// How often a minute the app makes a window again.
const AGAIN_A_MINUTE: usize = 3;
const MINUTE: Duration = Duration::from_secs(61);

/// Keys between two looks at the screen.
const LOOK_EVERY: usize = 8;
