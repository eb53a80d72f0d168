//! Requests of all doors at once: some a minute, for a while, and as many as go.

use super::Curves;
use super::doors::{Caller, Door, Heard, Rig};
use super::usage::Usage;
use crate::figures::{at, sorted};
use anyhow::Result;
use std::thread;
use std::time::{Duration, Instant};

/// At a quarter, half and all of the requests a minute, then as quick as each caller hears its answer.
pub(super) fn measure(curves: &mut Curves, time: Duration) -> Result<()> {
    let rig = Rig::start()?;
    let mut callers = callers(&rig)?;
    let before = Usage::at_rest(rig.app.pid())?;
    for per_minute in PER_MINUTE {
        let began = Instant::now();
        let heard = send(&mut callers, Pace::PerMinute(per_minute), time)?;
        note(curves, per_minute, &heard, began.elapsed());
        usage(curves, per_minute, Usage::of(rig.app.pid())?, "during");
    }
    let rested = Usage::at_rest(rig.app.pid())?;
    for (when, usage_then) in [("before", before), ("after, at rest", rested)] {
        usage(curves, PER_MINUTE[PER_MINUTE.len() - 1], usage_then, when);
    }
    let began = Instant::now();
    let heard = send(&mut callers, Pace::AtOnce, time)?;
    let elapsed = began.elapsed();
    let mut quick = curves.at("callers", callers.len());
    for door in Door::ALL {
        let of_door = heard.iter().filter(|heard| heard.door == door);
        let answered: usize = of_door.map(|heard| heard.milliseconds.len()).sum();
        quick.add(
            format!("as quick as it goes: {}", door.name()),
            "answers/min",
            per_minute_of(answered, elapsed),
            "",
        );
    }
    Ok(())
}

/// All callers of all doors.
pub(super) fn callers(rig: &Rig) -> Result<Vec<(Door, Caller<'_>)>> {
    let mut callers = Vec::new();
    for door in Door::ALL {
        for number in 0..door.callers() {
            callers.push((door, rig.caller(door, number)?));
        }
    }
    Ok(callers)
}

/// When requests are made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    /// At their time, whether or not earlier ones were answered.
    PerMinute(usize),
    /// When the one before was answered.
    AtOnce,
}

/// What a caller heard.
pub(super) struct Answers {
    pub(super) door: Door,
    /// Of each decision: from the time at which its request was due, so that what waits for an
    /// earlier one counts.
    pub(super) milliseconds: Vec<f64>,
    /// Told to try again later.
    pub(super) busy: usize,
}

/// Has all callers make requests for a time.
pub(super) fn send(callers: &mut [(Door, Caller<'_>)], pace: Pace, time: Duration) -> Result<Vec<Answers>> {
    let start = Instant::now();
    thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut numbers = std::collections::BTreeMap::<Door, u32>::new();
        for (door, caller) in callers {
            let number = numbers.entry(*door).or_default();
            let first = *number;
            *number += 1;
            threads.push(scope.spawn(move || call(*door, caller, pace, (start, time), first)));
        }
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow::anyhow!("a caller's thread panicked"))?)
            .collect()
    })
}

fn call(
    door: Door,
    caller: &mut Caller<'_>,
    pace: Pace,
    (start, time): (Instant, Duration),
    first: u32,
) -> Result<Answers> {
    let mut answers = Answers { door, milliseconds: Vec::new(), busy: 0 };
    let mut turn = first;
    loop {
        let due = match pace {
            Pace::PerMinute(all) => {
                let interval = Duration::from_secs_f64(60.0 * 100.0 / (all * door.share()) as f64);
                start + interval * turn
            }
            Pace::AtOnce => Instant::now(),
        };
        if due >= start + time {
            return Ok(answers);
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        match caller()? {
            Heard::Decision => answers.milliseconds.push(due.elapsed().as_secs_f64() * 1e3),
            Heard::Busy => {
                answers.busy += 1;
                thread::sleep(BUSY_PAUSE);
            }
        }
        turn += door.callers() as u32;
    }
}

fn note(curves: &mut Curves, per_minute: usize, heard: &[Answers], elapsed: Duration) {
    let mut here = curves.at("requests a minute", per_minute);
    let answered: usize = heard.iter().map(|heard| heard.milliseconds.len()).sum();
    let busy: usize = heard.iter().map(|heard| heard.busy).sum();
    here.add("all doors: answered", "answers/min", per_minute_of(answered, elapsed), "all");
    here.add("all doors: told to try later", "answers", busy as f64, "0");
    for door in Door::ALL {
        let of_door = heard.iter().filter(|heard| heard.door == door);
        let samples = sorted(of_door.flat_map(|heard| heard.milliseconds.iter().copied()).collect());
        for (name, share) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            here.add(format!("{}: {name}", door.name()), "ms", at(&samples, share), "");
        }
    }
}

fn usage(curves: &mut Curves, per_minute: usize, usage: Usage, when: &str) {
    let mut here = curves.at("requests a minute", per_minute);
    here.add(format!("memory with windows, PSS, {when}"), "MB", usage.megabytes, "");
    here.add(format!("open files, {when}"), "files", usage.files as f64, "");
    here.add(format!("threads, {when}"), "threads", usage.threads as f64, "");
    here.add(format!("processes, {when}"), "processes", usage.processes as f64, "");
}

fn per_minute_of(count: usize, elapsed: Duration) -> f64 {
    count as f64 / elapsed.as_secs_f64() * 60.0
}

/// Up to what dozens of busy agents send; each is twice the one before.
const PER_MINUTE: [usize; 3] = [2_500, 5_000, 10_000];

/// Who is told to try later does not try at once.
const BUSY_PAUSE: Duration = Duration::from_millis(20);
