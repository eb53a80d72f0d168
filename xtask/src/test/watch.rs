//! A program of a step: its output goes to a file, it says now and then that it still runs, and it ends
//! at its deadline.

use crate::process::{POLL, describe, end_all_started, end_tree};
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Runs a program to its end, or to its deadline: then it is ended with all that it started,
/// which is an error.
pub(super) fn run_logged(program: &mut Command, log: &Path, deadline: Duration) -> Result<()> {
    let mut clock = Clock::start(deadline);
    run_watched(program, log, || clock.look())
}

/// Does work of this program, which starts others. At the deadline these are ended and the work has failed,
/// whatever it says then; work that does not end with them is left behind.
pub(super) fn call(work: fn() -> Result<()>, deadline: Duration) -> Result<()> {
    let mut clock = Clock::start(deadline);
    call_watched(work, || clock.look(), end_all_started)
}

fn call_watched(
    work: fn() -> Result<()>,
    mut look: impl FnMut() -> Moment,
    end: impl FnOnce(),
) -> Result<()> {
    let worker = thread::spawn(work);
    while !worker.is_finished() {
        match look() {
            Moment::Quiet => thread::sleep(POLL),
            Moment::Tell(words) => println!("        {words}"),
            Moment::Over => {
                end();
                bail!("did not end before its deadline");
            }
        }
    }
    worker.join().unwrap_or_else(|_| bail!("panicked"))
}

/// Runs a program whose standard output is for other programs: it goes to a file beside the log.
pub(super) fn run_apart(program: &mut Command, output: &Path, log: &Path, deadline: Duration) -> Result<()> {
    let mut clock = Clock::start(deadline);
    program.stdout(create(output)?).stderr(create(log)?);
    watch(program, log, || clock.look())
}

/// Runs a program to its end, or until a look says that its time is over.
pub(super) fn run_watched(program: &mut Command, log: &Path, look: impl FnMut() -> Moment) -> Result<()> {
    let file = create(log)?;
    program.stdout(file.try_clone()?).stderr(file);
    watch(program, log, look)
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

fn watch(program: &mut Command, log: &Path, mut look: impl FnMut() -> Moment) -> Result<()> {
    let shown = describe(program);
    let mut child = program.spawn().with_context(|| format!("could not start `{shown}`"))?;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        match look() {
            Moment::Quiet => thread::sleep(POLL),
            Moment::Tell(words) => println!("        {words}: {}", last_line(log)),
            Moment::Over => {
                end_tree(&mut child);
                bail!("`{shown}` did not end before its deadline");
            }
        }
    };
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// The time that a step has.
pub(super) struct Clock {
    started: Instant,
    deadline: Duration,
    announced: Duration,
    is_near: bool,
}

/// What a look at the clock says.
#[derive(Debug, Eq, PartialEq)]
pub(super) enum Moment {
    /// Nothing is to be done.
    Quiet,
    /// This is to be told.
    Tell(String),
    /// The deadline is over.
    Over,
}

impl Clock {
    pub(super) fn start(deadline: Duration) -> Self {
        Self { started: Instant::now(), deadline, announced: Duration::ZERO, is_near: false }
    }

    /// What is to be done now: a sign of life now and then, a warning when the deadline is near, the end
    /// when it is over.
    pub(super) fn look(&mut self) -> Moment {
        self.look_after(self.started.elapsed())
    }

    fn look_after(&mut self, elapsed: Duration) -> Moment {
        if elapsed >= self.deadline {
            return Moment::Over;
        }
        if !self.is_near && elapsed >= self.deadline.mul_f64(NEAR) {
            self.is_near = true;
            self.announced = elapsed;
            return Moment::Tell(format!(
                "near its deadline, {} of {} s",
                elapsed.as_secs(),
                self.deadline.as_secs()
            ));
        }
        if elapsed >= self.announced + SIGN_OF_LIFE {
            self.announced = elapsed;
            return Moment::Tell(format!("still running, {} s", elapsed.as_secs()));
        }
        Moment::Quiet
    }
}

/// What a log says, without colours: some runners paint even a file where the machine calls itself CI.
pub(super) fn said(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    anstream::adapter::strip_str(&String::from_utf8_lossy(&bytes)).to_string()
}

/// The last line of a log that says something.
pub(super) fn last_line(log: &Path) -> String {
    said(log).lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("no output yet").to_owned()
}

/// A step that says nothing for longer looks stuck to a person and to some CI systems.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// The part of a deadline after which it is told that it is near.
const NEAR: f64 = 0.6;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::command;

    #[test]
    fn a_deadline_is_told_once_when_it_is_near_and_again_when_it_is_over() {
        let mut clock = Clock::start(Duration::from_secs(100));
        let mut look = |seconds| clock.look_after(Duration::from_secs(seconds));
        assert_eq!(look(1), Moment::Quiet);
        assert_eq!(look(30), Moment::Tell("still running, 30 s".to_owned()));
        assert_eq!(look(31), Moment::Quiet);
        assert_eq!(look(60), Moment::Tell("near its deadline, 60 of 100 s".to_owned()));
        assert_eq!(look(61), Moment::Quiet);
        assert_eq!(look(90), Moment::Tell("still running, 90 s".to_owned()));
        assert_eq!(look(100), Moment::Over);
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_at_its_deadline_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let (log, pid) = (folder.path().join("log"), folder.path().join("pid"));
        let mut program = command("sh");
        program.arg("-c").arg(format!("sleep 600 & echo $! > '{}'; wait", pid.display()));
        let named = || fs::read_to_string(&pid).ok()?.trim().parse::<i32>().ok();
        let over = || if named().is_some() { Moment::Over } else { Moment::Quiet };
        let error = run_watched(&mut program, &log, over).unwrap_err().to_string();
        assert!(error.ends_with("did not end before its deadline"), "{error}");
        let started = named().unwrap();
        let is_there =
            || fs::read_to_string(format!("/proc/{started}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
        crate::process::wait_for("the end of what it started", Duration::from_secs(60), || {
            Ok((!is_there()).then_some(()))
        })
        .unwrap();
    }

    #[test]
    fn work_that_is_over_its_time_has_failed_whatever_it_says() {
        let hangs = || {
            thread::sleep(Duration::from_secs(600));
            Ok(())
        };
        let mut has_ended = false;
        let error = call_watched(hangs, || Moment::Over, || has_ended = true).unwrap_err();
        assert_eq!((error.to_string().as_str(), has_ended), ("did not end before its deadline", true));
        call(|| Ok(()), Duration::from_secs(600)).unwrap();
        assert_eq!(call(|| bail!("no"), Duration::from_secs(600)).unwrap_err().to_string(), "no");
    }

    #[test]
    fn a_program_that_fails_is_an_error_and_its_output_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let mut program = command("sh");
        program.args(["-c", "echo said; echo also >&2; exit 3"]);
        let error = run_logged(&mut program, &log, Duration::from_secs(60)).unwrap_err().to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert_eq!(fs::read_to_string(&log).unwrap(), "said\nalso\n");
        assert_eq!(last_line(&log), "also");
    }
}
