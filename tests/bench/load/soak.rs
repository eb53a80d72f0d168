//! A working day in less time: agents of all doors work in sessions, with pauses, and hardly at night. At the
//! end the app has to take what it took at the start, and every request has to have ended exactly once.

use super::doors::{Caller, Door, Heard, Rig};
use super::requests::{Pace, callers, send};
use super::usage::Usage;
use anyhow::{Context, Result, ensure};
use countersign_protocol::history::{HistoryEvent, RecordNote};
use countersign_tests::home::Home;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// One thing that has to be so at the end.
#[derive(Debug, Serialize)]
pub(crate) struct Check {
    what: String,
    before: f64,
    after: f64,
    most: f64,
}

impl Check {
    fn holds(&self) -> bool {
        self.after <= self.most
    }
}

/// Has the day take this long, in the rhythm of the sessions of a file where there is one.
pub(crate) fn run(day: Duration, stream: Option<&Path>) -> Result<Vec<Check>> {
    let rhythm = stream.map_or_else(|| Ok(Rhythm::plain()), Rhythm::of_file)?;
    let rig = Rig::start()?;
    let mut callers = callers(&rig)?;
    let first = callers.iter().map(|(door, _)| (*door, 1));
    let mut made = Made::default();
    first.for_each(|(door, count)| made.count(door, count));
    let fresh = Usage::at_rest(rig.app.pid())?;
    super::say("the first minutes")?;
    for answers in send(&mut callers, WARM_PACE, WARM_TIME)? {
        made.count(answers.door, answers.milliseconds.len());
    }
    let before = Usage::at_rest(rig.app.pid())?;
    super::say("the day")?;
    let began = Instant::now();
    let worked = thread::scope(|scope| {
        let threads: Vec<_> = callers
            .iter_mut()
            .enumerate()
            .map(|(number, (door, caller))| {
                let rhythm = &rhythm;
                scope.spawn(move || work(*door, caller, rhythm, number, (began, day)))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow::anyhow!("a caller's thread panicked"))?)
            .collect::<Result<Vec<_>>>()
    })?;
    for (door, count) in worked {
        made.count(door, count);
    }
    let after = Usage::at_rest(rig.app.pid())?;
    drop(callers);
    let waiting = rig.home.pending()?.0.len();
    let home = rig.end()?;
    let recorded = Recorded::of(&home)?;
    let check = |what: &str, before: f64, after: f64, room: f64| Check {
        what: what.to_owned(),
        before,
        after,
        most: before + room,
    };
    Ok(vec![
        check("memory with windows, PSS, MB, until it worked", fresh.megabytes, before.megabytes, WARM_MB),
        check("memory with windows, PSS, MB", before.megabytes, after.megabytes, MORE_MB),
        check("open files", before.files as f64, after.files as f64, MORE_FILES),
        check("threads", before.threads as f64, after.threads as f64, MORE_THREADS),
        check("processes", before.processes as f64, after.processes as f64, 0.0),
        check("requests that still wait", 0.0, waiting as f64, 0.0),
        check("requests that ended twice", 0.0, recorded.twice as f64, 0.0),
        check(
            &format!("lines too few or too many, of {} requests", made.requests),
            0.0,
            made.lines.abs_diff(recorded.lines) as f64,
            0.0,
        ),
    ])
}

/// The checks for people.
pub(crate) fn table(checks: &[Check]) -> String {
    let mut text = format!("{:<60} {:>10} {:>10} {:>10}\n", "what", "before", "after", "at most");
    for check in checks {
        let mark = if check.holds() { "" } else { "  does not hold" };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:<60} {:>10.1} {:>10.1} {:>10.1}{mark}",
            check.what, check.before, check.after, check.most
        );
    }
    text
}

/// Fails when something does not hold.
pub(crate) fn judge(checks: &[Check]) -> Result<()> {
    let failed: Vec<&str> =
        checks.iter().filter(|check| !check.holds()).map(|check| check.what.as_str()).collect();
    ensure!(failed.is_empty(), "does not hold after the day: {}", failed.join("; "));
    Ok(())
}

/// Sessions: the pauses before each of their commands.
struct Rhythm(Vec<Vec<Duration>>);

/// A line of a recorded stream; of its command nothing is wanted.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Step {
    session: String,
    /// When, in Unix milliseconds, where it was recorded.
    at_ms: Option<i64>,
}

impl Rhythm {
    /// Sessions of some and of many commands.
    fn plain() -> Self {
        Self(LENGTHS.iter().map(|length| (0..*length).map(pause).collect()).collect())
    }

    /// The sessions of a file with one JSON object a line, and their pauses as far as it has times.
    fn of_file(path: &Path) -> Result<Self> {
        let file = File::open(path).with_context(|| path.display().to_string())?;
        let mut sessions: Vec<Vec<Duration>> = Vec::new();
        let mut last: Option<Step> = None;
        for (at, line) in BufReader::new(file).lines().enumerate() {
            let step: Step = serde_json::from_str(&line?).with_context(|| {
                format!("{}, line {}: expected an object with `session`", path.display(), at + 1)
            })?;
            let before = last.as_ref().filter(|last| last.session == step.session);
            if before.is_none() {
                sessions.push(Vec::new());
            }
            let recorded = before.and_then(|before| step.at_ms?.checked_sub(before.at_ms?));
            let recorded = recorded.and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
            if let Some(session) = sessions.last_mut() {
                session.push(recorded.unwrap_or_else(|| pause(session.len())));
            }
            last = Some(step);
        }
        ensure!(!sessions.is_empty(), "{} has no line", path.display());
        Ok(Self(sessions))
    }
}

/// A pause where none was recorded: mostly short ones, some in which a model thinks.
fn pause(at: usize) -> Duration {
    Duration::from_millis(PAUSES_MS[at % PAUSES_MS.len()])
}

/// One caller's day; how many requests were decided.
fn work(
    door: Door,
    caller: &mut Caller<'_>,
    rhythm: &Rhythm,
    number: usize,
    (began, day): (Instant, Duration),
) -> Result<(Door, usize)> {
    let faster = DAY.as_secs_f64() / day.as_secs_f64();
    let hour = || (began.elapsed().as_secs_f64() * faster / 3_600.0) as usize;
    // Callers begin at different sessions.
    let sessions = rhythm.0.iter().cycle().skip(number * rhythm.0.len() / 13);
    let mut decided = 0;
    for session in sessions {
        for pause in session.iter().copied().chain([BETWEEN_SESSIONS]) {
            let busyness = BUSYNESS.get(hour()).copied().unwrap_or(0.0);
            let real = pause.as_secs_f64() / faster / f64::max(busyness, LEAST_BUSY);
            let end = began + day;
            if Instant::now() + Duration::from_secs_f64(real) >= end {
                return Ok((door, decided));
            }
            thread::sleep(Duration::from_secs_f64(real));
            if caller()? == Heard::Decision {
                decided += 1;
            }
        }
    }
    Ok((door, decided))
}

/// What the history has to say of what was made.
#[derive(Default)]
struct Made {
    requests: usize,
    lines: u64,
}

impl Made {
    fn count(&mut self, door: Door, count: usize) {
        self.requests += count;
        self.lines += count as u64 * door.lines();
    }
}

/// What the history says.
struct Recorded {
    lines: u64,
    twice: usize,
}

impl Recorded {
    fn of(home: &Home) -> Result<Self> {
        let (mut lines, mut twice) = (0, 0);
        let mut ended = BTreeMap::<&'static str, BTreeSet<String>>::new();
        for entry in home.history()? {
            let kind = match &entry.event {
                HistoryEvent::Request { .. } => "request",
                HistoryEvent::Run { .. } => "run",
                HistoryEvent::Record { note: RecordNote::Folded { lines: folded, .. } } => {
                    lines += folded;
                    continue;
                }
                HistoryEvent::Record { .. }
                | HistoryEvent::Changes { .. }
                | HistoryEvent::Document { .. }
                | HistoryEvent::Rules { .. }
                | HistoryEvent::Page { .. }
                | HistoryEvent::Socket { .. } => continue,
            };
            lines += 1;
            let id = entry.request_id.context("a line of a request without its id")?;
            twice += usize::from(!ended.entry(kind).or_default().insert(id));
        }
        Ok(Self { lines, twice })
    }
}

/// What is simulated.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Of each hour, how busy it is.
const BUSYNESS: [f64; 24] = [
    0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.1, 0.3, 0.8, 1.0, 1.0, 1.0, 0.4, 1.0, 1.0, 1.0, 1.0, 0.8, 0.5, 0.3,
    0.3, 0.2, 0.1, 0.05,
];
const LEAST_BUSY: f64 = 0.05;

/// Commands of sessions where no file says it.
const LENGTHS: [usize; 12] = [4, 17, 1, 9, 40, 2, 26, 6, 120, 3, 13, 55];
const PAUSES_MS: [u64; 8] = [300, 2_000, 800, 4_000, 1_500, 9_000, 3_000, 20_000];
const BETWEEN_SESSIONS: Duration = Duration::from_secs(600);

/// What comes before the day, so that the day is compared with an app that has worked: its page's heap grows
/// to what the first cards need, and stays there.
const WARM_PACE: Pace = Pace::PerMinute(5_000);
const WARM_TIME: Duration = Duration::from_secs(90);

/// What that may take.
const WARM_MB: f64 = 100.0;

/// More than at the start that is no leak: what an allocator keeps, and the largest answers so far.
const MORE_MB: f64 = 30.0;
const MORE_FILES: f64 = 4.0;
const MORE_THREADS: f64 = 4.0;
