//! The course of one run: everything in flight, one fault, and the promises.

use crate::disk::Disk;
use crate::making::{self, Undo};
use crate::place::Place;
use crate::processes;
use crate::promises::{self, Broken, Judge, Presence, Promise, answers};
use crate::random::Random;
use crate::requests::{Load, Owed};
use crate::rig::{LOOK, Rig};
use crate::table::{Fate, Fault, Make, Moment, Way};
use anyhow::{Context, Result, anyhow, ensure};
use countersign_protocol::control::ControlRequest;
use countersign_tests::process::{PATIENCE, wait_for};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::thread;
use std::time::Duration;

/// What came of a run.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Outcome {
    pub(crate) fault: String,
    pub(crate) seed: u64,
    pub(crate) broken: Vec<Broken>,
    /// Milliseconds until everything answered again.
    pub(crate) again_ms: Option<u64>,
    /// What was not well, as the doctor said while the fault lasted.
    pub(crate) doctor: String,
    /// The end of the app's log, where a promise was broken.
    pub(crate) log: String,
    /// Why it could not be tried on this machine.
    pub(crate) impossible: Option<String>,
    /// Why it could not be tried though it should.
    pub(crate) failed: Option<String>,
}

/// How a run is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measure {
    /// Requests that wait.
    pub(crate) requests: usize,
    /// Whether faults that last are cut short.
    pub(crate) is_short: bool,
}

/// One run of a fault.
pub(crate) fn run(fault: &Fault, place: &Place, seed: u64, measure: Measure) -> Outcome {
    let mut outcome = Outcome {
        fault: fault.name.clone(),
        seed,
        broken: Vec::new(),
        again_ms: None,
        doctor: String::new(),
        log: String::new(),
        impossible: None,
        failed: None,
    };
    let prepared = prepare(fault, place);
    let (disk, variables) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            outcome.impossible = Some(format!("{error:#}"));
            return outcome;
        }
    };
    if let Err(error) = go(fault, place, &disk, &variables, measure, &mut outcome) {
        outcome.failed = Some(format!("{error:#}"));
    }
    // What was made for this run; what the app left in its home went with that.
    for folder in [place.markers(), place.backing()] {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            fs::remove_dir_all(&path).or_else(|_| fs::remove_file(&path)).ok();
        }
    }
    outcome
}

fn prepare(fault: &Fault, place: &Place) -> Result<(Disk, Vec<(String, String)>)> {
    if matches!(fault.make, Make::Spoil(_, Way::Foreign, _)) {
        ensure!(
            place.has_others(),
            "there is no other user in this name space: root has to start the harness"
        );
    }
    let disk = Disk::of(fault.make, place)?;
    let variables = if matches!(fault.make, Make::Clock(_)) { making::clock(place)? } else { Vec::new() };
    Ok((disk, variables))
}

fn go(
    fault: &Fault,
    place: &Place,
    disk: &Disk,
    variables: &[(String, String)],
    measure: Measure,
    outcome: &mut Outcome,
) -> Result<()> {
    let mut random = Random::new(outcome.seed);
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let healthy = place.markers().join("healthy");
    let folder = place.markers().join("made");
    fs::create_dir_all(&healthy)?;
    fs::create_dir_all(&folder)?;
    let mut rig = Rig::prepare(&place.disk(), &healthy, variables).context("before the fault")?;
    rig.start_app().context("before the fault")?;
    rig.start_runner().context("before the fault")?;
    let mut load = Load::start(&mut rig, &folder, measure.requests)
        .with_context(|| format!("before the fault; {}", promises::cut(&rig.log())))?;
    let mut judge = Judge::default();
    let open_before = promises::open_files(&mut rig);
    let mut presence = if fault.fate == Fate::Dies { Presence::Interrupted } else { Presence::Always };

    let is_cold = matches!(fault.make, Make::Spoil(_, _, Moment::BeforeStart));
    if is_cold {
        presence = Presence::Interrupted;
        rig.end_app().context("before the fault")?;
    }
    // Not a wait: at this moment in whatever goes on.
    thread::sleep(Duration::from_millis(random.below(MOMENT_MS) as u64));
    let undo = making::make(fault.make, &mut rig, &mut load, place, disk, &mut random)?;
    if is_cold && fault.fate == Fate::Dies {
        rig.spawn_app()?;
    } else if is_cold {
        rig.spawn_app()?;
        let limit = promises::again(measure.is_short);
        let started = wait_for("the app answers after its start", limit, || {
            Ok(rig.ask(&ControlRequest::Status, LOOK).ok())
        });
        judge.hold(Promise::Answers, started.context("with the fault in place"));
    }
    during(fault, &mut rig, &mut load, &mut judge, measure, &undo, outcome)?;
    making::end(undo, &mut rig, &mut load, place, disk)?;

    again(fault, &mut rig, &mut load, &mut judge, &mut presence, measure, outcome)?;
    let lives = matches!(fault.fate, Fate::Lives | Fate::MayDie) && presence == Presence::Always;
    if lives {
        judge.waiting(&rig, &load, fault.ends)?;
        let open = promises::open_files(&mut rig);
        if open > open_before + SPARE_FILES {
            judge.broken(Promise::Clean, format!("the app has {open} files open, and had {open_before}"));
        }
    }
    let kept =
        load.reconnect(&rig).and_then(|()| load.allow(&rig)).and_then(|()| load.refuse(&rig, PATIENCE));
    judge.hold(Promise::Answers, kept.context("the person cannot answer after it"));
    let (owed, said) = load.end();
    for said in said {
        judge.plain("a client", &said);
    }
    judge.plain("the app's log", &rig.log());
    let lines = promises::history(&rig).context("the history cannot be read");
    if let Some(lines) = judge.hold(Promise::Kept, lines) {
        judge.decided(&owed, &folder, &lines, presence)?;
        judge.kept(&rig, &owed, &lines)?;
    }
    if !matches!(fault.make, Make::Spoil(crate::table::Spoiled::History, ..)) {
        judge.chain(&rig)?;
    }
    let ended = rig.end().context("the app does not end when asked");
    judge.hold(Promise::Clean, ended);
    rig.kill_app();
    judge.clean(&rig, &mounts)?;
    outcome.broken = judge.broken;
    if !outcome.broken.is_empty() {
        outcome.log = end_of(&rig.log());
    }
    Ok(())
}

/// The last lines of a log, each as far as it is of use.
fn end_of(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let shown = lines[lines.len().saturating_sub(LOG_LINES)..].iter();
    shown.map(|line| format!("    {}\n", promises::cut(line))).collect()
}

/// While the fault lasts: nothing hangs that has to answer, and it is told.
fn during(
    fault: &Fault,
    rig: &mut Rig,
    load: &mut Load,
    judge: &mut Judge,
    measure: Measure,
    undo: &Undo,
    outcome: &mut Outcome,
) -> Result<()> {
    if fault.fate == Fate::Dies {
        let died = wait_for("the app ends", PATIENCE, || rig.app_ended());
        judge.hold(Promise::Answers, died.context("with the fault in place"));
    }
    let before = load.owed.clone();
    // Whatever of these is acknowledged has to be kept; what is not is as it should be.
    let is_of_disk = matches!(fault.make, Make::Disk(_));
    load.is_wordy = is_of_disk;
    let tried = if is_of_disk { TRIED_ON_DISK } else { TRIED_DURING };
    for _ in 0..tried {
        if load.by_rule(rig, LOOK).is_err() {
            break;
        }
    }
    load.is_wordy = false;
    load.refuse(rig, REFUSED_DURING).ok();
    if matches!(fault.make, Make::Spoil(..)) {
        // The right file takes the place of the one that these may be in.
        load.owed = Owed { by_rule: load.owed.by_rule.clone(), ..before };
    }
    let patience = if measure.is_short { PATIENCE } else { LONG_TOLD };
    let mut told = Err(anyhow!("the doctor was not asked"));
    let doctor = wait_for("the doctor tells it", patience, || {
        told = rig.doctor();
        let findings = told.as_deref().unwrap_or_default();
        outcome.doctor = promises::unwell(findings);
        Ok((fault.doctor.is_empty() || promises::doctor_tells(findings, fault.doctor)).then_some(()))
    });
    match told {
        Ok(_) if doctor.is_err() => judge.broken(
            Promise::Told,
            format!("the doctor says nothing of {:?}, only: {}", fault.doctor, outcome.doctor),
        ),
        Ok(_) => judge.plain("the doctor", &outcome.doctor),
        Err(error) => judge.broken(Promise::Told, format!("the doctor does not answer: {error:#}")),
    }
    if !fault.recorded.is_empty() {
        let tells =
            |line: &Value| fault.recorded.iter().all(|(member, says)| line["event"][*member] == *says);
        let recorded = wait_for("the history tells it", PATIENCE, || {
            Ok(promises::history(rig)?.iter().any(tells).then_some(()))
        });
        // A page that needs no more memory than it has lives on, and there is nothing to tell.
        let lives_on = match undo {
            Undo::With(pid) => processes::all()?.iter().any(|process| process.pid == *pid),
            _ => false,
        };
        if !lives_on {
            judge.hold(Promise::Told, recorded);
        }
    }
    // Nobody is shown anything by an app that has ended.
    if !fault.person.is_empty() && (fault.fate != Fate::MayDie || rig.app_ended()?.is_none()) {
        let mut says = String::new();
        let shown = wait_for("the person is told", PATIENCE, || {
            says = promises::shown(rig)?.to_lowercase();
            let is_over = fault.fate == Fate::MayDie && rig.app_ended()?.is_some();
            Ok((is_over || fault.person.iter().any(|word| says.contains(word))).then_some(()))
        });
        // Or ends while it is asked.
        if fault.fate != Fate::MayDie || rig.app_ended()?.is_none() {
            judge.hold(
                Promise::Told,
                shown.with_context(|| format!("windows say nothing of {:?}, only {says}", fault.person)),
            );
        }
    }
    if let Undo::Thaw(_) = undo {
        // As long as it lasts, not a wait for anything.
        thread::sleep(making::frozen(measure.is_short));
    }
    Ok(())
}

/// Everything answers again, by itself or after a restart.
fn again(
    fault: &Fault,
    rig: &mut Rig,
    load: &mut Load,
    judge: &mut Judge,
    presence: &mut Presence,
    measure: Measure,
    outcome: &mut Outcome,
) -> Result<()> {
    let limit = promises::again(measure.is_short);
    let has_died = fault.fate == Fate::MayDie && rig.app_ended()?.is_some();
    if matches!(fault.fate, Fate::Lives | Fate::MayDie) && !has_died {
        let itself = rig.app_pid().and_then(|_| answers(rig, load, limit));
        if let Some(took) = judge.hold(Promise::Answers, itself.context("by itself")) {
            outcome.again_ms = Some(millis(took));
            return Ok(());
        }
    }
    *presence = Presence::Interrupted;
    rig.kill_app();
    let started = std::time::Instant::now();
    rig.spawn_app()?;
    let restarted = answers(rig, load, limit).context("after a restart");
    match judge.hold(Promise::Answers, restarted) {
        Some(_) => {
            outcome.again_ms = Some(millis(started.elapsed()));
            Ok(())
        }
        // Everything else needs an app.
        None => rig.start_app().context("after the fault"),
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A fault comes at any of so many milliseconds after everything waits.
const MOMENT_MS: usize = 200;

/// Commands by rule that are tried while a fault lasts.
const TRIED_DURING: usize = 20;

/// How long a refusal is tried while the fault lasts. An app that stands still takes none however long that
/// is, and what waits there has two minutes in all.
const REFUSED_DURING: Duration = Duration::from_secs(10);

/// The same while the disk fails, if they run: their lines are more than the record keeps room for on a disk
/// that is full, and they are fewer than an agent may send at once.
const TRIED_ON_DISK: usize = 150;

/// Lines of the app's log that are shown where a promise was broken.
const LOG_LINES: usize = 30;

/// Files that an app may have open more than before: what came since is not all its own.
const SPARE_FILES: usize = 24;

/// How long it may take until a lasting fault is told where only its lasting shows it.
const LONG_TOLD: Duration = Duration::from_secs(60);
