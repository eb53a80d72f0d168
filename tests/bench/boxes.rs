//! Many boxes: at once, and one after the other; and that nothing of them stays behind.

use crate::boxed::{Opened, TEXT, left};
use crate::exec::LIMIT;
use crate::figures::Figure;
use crate::load::Usage;
use anyhow::{Context, Result, ensure};
use countersign_tests::process::wait_for;
use countersign_tests::wire::Wire;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Both, on one app.
pub(crate) fn measure(runs: usize) -> Result<Vec<Figure>> {
    let opened = Opened::new()?;
    // What the first run makes for all others is not left of it.
    one(&opened)?;
    let before = Traces::of(&opened)?;
    let mut figures = at_once(&opened)?;
    figures.extend(after_each_other(&opened, runs)?);
    let gone = |what: &str, is_gone: &dyn Fn(&Traces) -> bool| {
        let mut seen = None;
        wait_for(what, SETTLE, || {
            let now = Traces::of(&opened)?;
            let gone = is_gone(&now).then_some(());
            seen = Some(now);
            Ok(gone)
        })
        .with_context(|| format!("{seen:?}, {before:?} before"))
    };
    gone("no process is left", &|now| now.processes <= before.processes)?;
    gone("no mount is left", &|now| now.mounts <= before.mounts)?;
    gone("no name space is left", &|now| now.spaces <= before.spaces)?;
    gone("no socket or folder is left", &|now| now.left.is_empty())?;
    gone("no open file is left", &|now| now.files <= before.files)?;
    let after = Traces::of(&opened)?;
    let one = |name, unit, value: f64| Figure::new(name, unit, vec![value], "");
    figures.push(one("memory of the app before, PSS", "MB", before.megabytes));
    figures.push(one("memory of the app after all of them, PSS", "MB", after.megabytes));
    Ok(figures)
}

/// As many as there may be, each of which waits until all of them run: at a named pipe, since what looks
/// again and again takes the others' time.
fn at_once(opened: &Opened) -> Result<Vec<Figure>> {
    let folder = &opened.folder;
    let go = folder.join("go");
    rustix::fs::mkfifoat(rustix::fs::CWD, &go, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)?;
    let began = Instant::now();
    let mut waiting = Vec::new();
    for number in 0..CROWD {
        let text = format!("echo here > {number}.here; read line < go; echo went");
        let request = json!({ "command": ["sh", "-c", text], "cwd": folder });
        waiting.push(Wire::exec(&opened.home, &request)?);
        // The rate limit is part of the product: stay below it.
        std::thread::sleep(PAUSE);
    }
    let here = || -> Result<usize> {
        let mut here = 0;
        for entry in fs::read_dir(folder)? {
            here += usize::from(entry?.path().extension().is_some_and(|end| end == "here"));
        }
        Ok(here)
    };
    let came = wait_for("all boxes are there at once", CROWD_LIMIT, || Ok((here()? == CROWD).then_some(())));
    let all = began.elapsed();
    let usage = Usage::of(opened.app.pid())?;
    // A line for each, also for those that come late; open for reading too, so that nobody has to
    // be there already.
    let mut pipe = fs::OpenOptions::new().read(true).write(true).open(&go)?;
    pipe.write_all(&[b'\n'; CROWD])?;
    // One that did not come says why.
    for wire in waiting {
        let answer = wire.answer()?.context("the app did not answer")?;
        ensure!(answer["payload"]["stdout"] == "went\n", "the app answered {answer}");
    }
    came?;
    fs::remove_file(&go)?;
    Ok(vec![
        Figure::times("200 boxes until all of them run", &[all], ""),
        Figure::new("memory of the app and 200 boxes, PSS", "MB", vec![usage.megabytes], ""),
    ])
}

/// Some at a time, so that it ends some day.
fn after_each_other(opened: &Opened, runs: usize) -> Result<Vec<Figure>> {
    let (next, began) = (AtomicUsize::new(0), Instant::now());
    let results = std::thread::scope(|scope| {
        let work = || -> Result<Vec<Duration>> {
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= runs {
                    return Ok(times);
                }
                if number.is_multiple_of(REPORTED) && number > 0 {
                    writeln!(std::io::stderr(), "{number} boxes in {} s", began.elapsed().as_secs())?;
                }
                let started = Instant::now();
                one(opened).with_context(|| format!("run {number}"))?;
                times.push(started.elapsed());
                let least = Duration::from_secs_f64(WORKERS as f64 / MOST_A_SECOND);
                std::thread::sleep(least.saturating_sub(started.elapsed()));
            }
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| worker.join());
        ended.map(|ended| ended.map_err(|_| anyhow::anyhow!("a worker broke"))?).collect::<Result<Vec<_>>>()
    });
    let times: Vec<Duration> = results?.concat();
    Ok(vec![Figure::times("a run in the box among others", &times, "")])
}

fn one(opened: &Opened) -> Result<()> {
    let request = json!({ "command": ["sh", "-c", TEXT], "cwd": opened.folder });
    let answer = Wire::exec(&opened.home, &request)?.answer()?.context("the app did not answer")?;
    ensure!(answer["payload"]["success"] == true, "the app answered {answer}");
    Ok(())
}

/// What runs could leave behind.
#[derive(Debug)]
struct Traces {
    /// Those of the app.
    processes: usize,
    files: usize,
    megabytes: f64,
    /// Of the app's name space.
    mounts: usize,
    /// For mounts, processes and networks, of all that runs on this machine.
    spaces: usize,
    /// Sockets and folders.
    left: Vec<String>,
}

impl Traces {
    fn of(opened: &Opened) -> Result<Self> {
        let pid = opened.app.pid();
        let Usage { processes, files, megabytes, .. } = Usage::of(pid)?;
        let mounts = fs::read_to_string(format!("/proc/{pid}/mountinfo"))?.lines().count();
        let mut spaces = BTreeSet::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let names = ["mnt", "pid", "net"].map(|name| fs::read_link(entry.path().join("ns").join(name)));
            spaces.extend(names.into_iter().flatten());
        }
        Ok(Self { processes, files, megabytes, mounts, spaces: spaces.len(), left: left(&opened.home)? })
    }
}

/// Boxes at once.
const CROWD: usize = 200;

/// The app takes 64 requests a second for long.
const PAUSE: Duration = Duration::from_millis(16);
const MOST_A_SECOND: f64 = 60.0;

/// Starting so many takes some seconds on a small machine.
const CROWD_LIMIT: Duration = Duration::from_secs(60);

/// Runs at a time.
const WORKERS: usize = 4;

/// Runs after which it is said how far it is.
const REPORTED: usize = 500;

/// What ends by itself has ended by then.
const SETTLE: Duration = LIMIT.saturating_mul(3);
