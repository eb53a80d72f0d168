//! Every program and every test of the workspace, built once with the lints on, and the test programs run
//! beside each other.

use super::report::{print_failure, tests_in, times};
use super::watch::{Clock, Moment, run_apart, run_logged, run_watched, said};
use crate::process::{self, command};
use crate::workspace::{Binaries, Profile, cargo, root, state_dir, without_package};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// A built program with tests.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct TestProgram {
    /// Name of its package.
    package: String,
    /// Name of the library, the program or the file of tests that it was made of.
    name: String,
    /// Where it is.
    path: PathBuf,
    /// The folder of its package, in which its tests expect to run.
    folder: PathBuf,
    /// Its size in bytes: the larger ones have more tests, and begin first.
    size: u64,
}

/// Builds everything with every feature, by the driver of clippy instead of rustc: that compiles as rustc
/// does, and its lints cost seconds, where a run of `cargo clippy` beside a build compiles every
/// library a second time.
pub(super) fn build(log: &Path, deadline: Duration) -> Result<()> {
    let messages = state_dir().join("build.json");
    let mut build = linted(cargo(["build", "--workspace", "--all-features", "--all-targets"]))?;
    build.args(["--message-format", "json-render-diagnostics"]);
    run_apart(&mut build, &messages, log, deadline)?;
    fs::write(list(), serde_json::to_vec_pretty(&built(&messages)?)?)
        .context("cannot write the list of test programs")
}

/// The examples in the comments, with the libraries that [`build`] built.
pub(super) fn examples(filter: Option<&str>, log: &Path, deadline: Duration) -> Result<()> {
    let mut test = linted(cargo(["test", "--doc", "--workspace", "--all-features"]))?;
    test.args(filter);
    run_logged(&mut test, log, deadline)
}

/// Builds tests with the lints on, and runs those of the packages that are wanted and open no window.
/// Those that took longer than `longest` when they last ran here are left out, and counted.
pub(crate) fn of_packages(build: Command, is_wanted: impl Fn(&str) -> bool, longest: Duration) -> Result<()> {
    let (messages, log) = (state_dir().join("check.json"), state_dir().join("check.log"));
    fs::create_dir_all(state_dir())?;
    let file = fs::File::create(&messages).with_context(|| format!("cannot write {}", messages.display()))?;
    process::run(linted(build)?.args(["--message-format", "json-render-diagnostics"]).stdout(file))?;
    let mut programs = built(&messages)?;
    programs.retain(|program| is_wanted(&program.package));
    let count = programs.len();
    let choice = Choice { longest: Some(longest), ..Choice::default() };
    let left_out: usize = programs.iter().map(|program| program.longer_than(&choice).len()).sum();
    let outcome = run_each(programs, &choice, &log, CHECK_DEADLINE);
    println!("  {} tests of {count} programs passed", tests_in(&log));
    if left_out > 0 {
        println!(
            "  {left_out} that took longer than {} s were left to `cargo xtask test`",
            longest.as_secs()
        );
    }
    if let Err(error) = &outcome {
        print_failure(&log, error);
    }
    outcome
}

/// The same cargo, compiling with lints whose warnings are errors.
fn linted(mut cargo: Command) -> Result<Command> {
    let root = process::output_of(command("rustc").args(["--print", "sysroot"]))
        .context("rustc is not installed")?;
    let driver = Path::new(root.trim()).join("bin/clippy-driver");
    if !driver.is_file() {
        bail!("clippy is not installed; rustup component add clippy");
    }
    cargo.env("RUSTC_WORKSPACE_WRAPPER", driver);
    // As `cargo clippy -- -D warnings` hands it over.
    cargo.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    Ok(cargo)
}

/// The test programs that cargo's messages tell of.
fn built(messages: &Path) -> Result<Vec<TestProgram>> {
    let text = fs::read_to_string(messages).with_context(|| format!("cannot read {}", messages.display()))?;
    let read = |line: &str| {
        let message: Value = serde_json::from_str(line).context("cargo's messages are JSON")?;
        let is_program = message["profile"]["test"] == true && message["executable"].is_string();
        if message["reason"] != "compiler-artifact" || !is_program {
            return Ok(None);
        }
        test_program(&message)
            .with_context(|| format!("cargo says otherwise what it built: {line}"))
            .map(Some)
    };
    text.lines().filter_map(|line| read(line).transpose()).collect()
}

/// The test program that a message of cargo's tells of.
fn test_program(message: &Value) -> Option<TestProgram> {
    let path = PathBuf::from(message["executable"].as_str()?);
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let package = message["package_id"].as_str()?;
    // As cargo writes it: `path+file:///a/crates/node#countersign-node@0.1.0`, or `…#0.1.0` where the folder
    // is called the same.
    let package = match package.rsplit_once('#')?.1.split_once('@') {
        Some((name, _)) => name.to_owned(),
        None => manifest.parent()?.file_name()?.to_string_lossy().into_owned(),
    };
    Some(TestProgram {
        package,
        name: message["target"]["name"].as_str()?.to_owned(),
        size: fs::metadata(&path).map(|found| found.len()).unwrap_or_default(),
        path,
        folder: manifest.parent()?.to_owned(),
    })
}

/// Where the list of test programs is kept between the build and the steps that run them.
fn list() -> PathBuf {
    state_dir().join("test-programs.json")
}

fn listed() -> Result<Vec<TestProgram>> {
    let text = fs::read(list()).context("the list of test programs is not there: build them first")?;
    serde_json::from_slice(&text).context("the list of test programs")
}

/// Which tests of a program run.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    /// Only those whose name contains this.
    pub(super) filter: Option<String>,
    /// Also those that only the long run has: they are in modules called `nightly`.
    pub(super) all: bool,
    /// Only those that took no longer when they last ran on this machine.
    pub(super) longest: Option<Duration>,
}

impl Choice {
    fn apply(&self, program: &mut Command) {
        program.args(&self.filter);
        if !self.all {
            program.args(["--skip", NIGHTLY]);
        }
    }
}

impl TestProgram {
    /// The program of the package `tests` that is called so.
    pub(super) fn named(name: &str) -> Result<Self> {
        let found = listed()?.into_iter().find(|program| program.is_special() && program.name == name);
        found.with_context(|| format!("there is no test program called {name}"))
    }

    /// What a step of its own runs, since it needs more than what is built.
    fn is_special(&self) -> bool {
        self.package == "countersign-tests" && SPECIAL.contains(&self.name.as_str())
    }

    /// The command that runs it.
    pub(super) fn command(&self) -> Command {
        let mut program = without_package(command(&self.path));
        program.current_dir(&self.folder).envs(Binaries::locate(Profile::Debug).environment());
        program
    }

    /// The same for one made of `#[test]` functions: it says how long each took, which the stable harness
    /// does when it is told that it may.
    pub(super) fn timed(&self, choice: &Choice, threads: usize) -> Command {
        let mut program = self.command();
        program.env("RUSTC_BOOTSTRAP", "1").args(["-Zunstable-options", "--report-time"]);
        program.arg(format!("--test-threads={threads}"));
        choice.apply(&mut program);
        let long = self.longer_than(choice);
        if !long.is_empty() && choice.filter.is_none() {
            // Otherwise `a::b` would leave out `a::b_more` too.
            program.arg("--exact");
        }
        for test in long {
            program.args(["--skip", &test]);
        }
        program
    }

    /// Its tests that took longer than is wanted when they last ran on this machine.
    fn longer_than(&self, choice: &Choice) -> Vec<String> {
        let Some(longest) = choice.longest else { return Vec::new() };
        longer(&said(&self.last_log()), longest)
    }

    /// What it said when all of its tests last ran.
    fn last_log(&self) -> PathBuf {
        state_dir().join("last").join(format!("{}.log", self.title().replace(' ', "-")))
    }

    fn title(&self) -> String {
        let package = self.package.trim_start_matches("countersign-");
        if self.name.replace('_', "-") == self.package {
            package.to_owned()
        } else {
            format!("{package} {}", self.name)
        }
    }
}

/// Runs every test program that opens no window. One of each crate has to be there: what is not in the list
/// would not be missed.
pub(super) fn run_all(choice: &Choice, log: &Path, deadline: Duration) -> Result<()> {
    let programs = listed()?;
    for entry in fs::read_dir(root().join("crates")).context("cannot read crates")? {
        let folder = entry?.path();
        if !programs.iter().any(|program| program.folder == folder) {
            bail!("no tests of {} were built", folder.display());
        }
    }
    run_each(programs, choice, log, deadline)
}

/// Runs the test programs that open no window, so many beside each other: tests wait more than they compute.
/// All are run, also after one that failed; at the deadline those that still run are ended.
fn run_each(mut programs: Vec<TestProgram>, choice: &Choice, log: &Path, deadline: Duration) -> Result<()> {
    programs.retain(|program| !program.is_special());
    programs.sort_by_key(|program| std::cmp::Reverse(program.size));
    let logs = log.with_extension("");
    fs::create_dir_all(&logs)?;
    let all = programs.len();
    let waiting = Mutex::new(VecDeque::from(programs));
    let (is_over, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let work = || {
        let mut ended = Vec::new();
        loop {
            let next = waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop_front();
            let Some(program) = next.filter(|_| !is_over.load(Ordering::Relaxed)) else { return ended };
            let log = logs.join(format!("{}.log", program.title().replace(' ', "-")));
            let look = || if is_over.load(Ordering::Relaxed) { Moment::Over } else { Moment::Quiet };
            let outcome = run_watched(&mut program.timed(choice, THREADS), &log, look);
            if choice.filter.is_none() && program.longer_than(choice).is_empty() && outcome.is_ok() {
                // Without it the next check runs tests that take long, and no harm is done.
                fs::create_dir_all(state_dir().join("last")).ok();
                fs::copy(&log, program.last_log()).ok();
            }
            done.fetch_add(1, Ordering::Relaxed);
            ended.push((program.title(), log, outcome));
        }
    };
    let ended = thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once()).map(|_| scope.spawn(work)).collect();
        let mut clock = Clock::start(deadline);
        while workers.iter().any(|worker| !worker.is_finished()) {
            match clock.look() {
                Moment::Quiet => thread::sleep(process::POLL),
                Moment::Tell(words) => {
                    println!(
                        "        {words}: {} of {all} programs have ended",
                        done.load(Ordering::Relaxed)
                    );
                }
                Moment::Over => is_over.store(true, Ordering::Relaxed),
            }
        }
        // A worker that panicked leaves programs without an end, which is seen below.
        let ended = workers.into_iter().map(|worker| worker.join().unwrap_or_default());
        ended.flatten().collect::<Vec<_>>()
    });
    gather(&ended, log)?;
    let failed: Vec<&str> =
        ended.iter().filter(|(_, _, outcome)| outcome.is_err()).map(|(title, ..)| title.as_str()).collect();
    if is_over.load(Ordering::Relaxed) {
        bail!("not ended before the deadline of {} s: {}", deadline.as_secs(), failed.join(", "));
    }
    if !failed.is_empty() || ended.len() < all {
        bail!("{} of {all} test programs failed: {}", failed.len() + all - ended.len(), failed.join(", "));
    }
    Ok(())
}

/// The tests that took longer, by what their program said.
fn longer(said: &str, longest: Duration) -> Vec<String> {
    let all = times(said).into_iter();
    all.filter(|test| test.seconds > longest.as_secs_f64()).map(|test| test.name).collect()
}

/// One log of all programs: those that failed at its end, where whoever looks at a failed step begins.
fn gather(ended: &[(String, PathBuf, Result<()>)], log: &Path) -> Result<()> {
    let mut text = String::new();
    let (passed, failed): (Vec<_>, Vec<_>) = ended.iter().partition(|(_, _, outcome)| outcome.is_ok());
    for (title, log, outcome) in passed.into_iter().chain(failed) {
        let said = said(log);
        let end = outcome.as_ref().err().map(|error| format!("error: {error:#}\n")).unwrap_or_default();
        text.push_str(&format!("\n== {title}\n{said}{end}"));
    }
    fs::write(log, text).with_context(|| format!("cannot write {}", log.display()))
}

/// Programs at a time: one more than there are processors, since tests wait for processes and sockets.
fn at_once() -> usize {
    (thread::available_parallelism().map_or(1, usize::from) + 1).min(MOST_AT_ONCE)
}

/// What needs a desktop, another machine, a release or an agent, and so a step of its own.
const SPECIAL: [&str; 6] = ["agents", "desktop", "desktops", "interop", "mcp", "network"];

/// The module of tests that only the long run has, as the harness finds it in their names.
const NIGHTLY: &str = "nightly::";

/// Tests at a time in each program. Most of them wait, so programs run beside each other; within one, a
/// process that one test starts holds the locks of all others until it runs its own program.
const THREADS: usize = 2;

/// How long `cargo xtask check` waits for tests: many times the minute that it should take.
const CHECK_DEADLINE: Duration = Duration::from_secs(1_200);

/// Programs at a time, on however large a machine: each may take a gigabyte.
const MOST_AT_ONCE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_are_found_between_what_cargo_says() {
        let artifact = |id: &str, name: &str, test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact", "package_id": id, "manifest_path": "/a/crates/node/Cargo.toml",
                "target": { "name": name }, "profile": { "test": test }, "executable": "/a/target/debug/deps/x-1",
            })
        };
        let id = "path+file:///a/crates/node#countersign-node@0.1.0";
        let found = test_program(&artifact(id, "countersign_node", true)).unwrap();
        assert_eq!((found.title().as_str(), found.folder), ("node", PathBuf::from("/a/crates/node")));
        let found = test_program(&artifact(id, "box_program", true)).unwrap();
        assert_eq!(found.title(), "node box_program");
        let found = test_program(&artifact("path+file:///a/crates/node#0.1.0", "node", true)).unwrap();
        assert_eq!(found.package, "node");

        let folder = tempfile::tempdir().unwrap();
        let said = |lines: &[String]| {
            let file = folder.path().join("messages");
            fs::write(&file, lines.join("\n")).unwrap();
            built(&file)
        };
        let usual = [
            artifact(id, "countersign_node", true).to_string(),
            artifact(id, "countersign-box", false).to_string(),
            "{\"reason\":\"build-finished\"}".to_owned(),
        ];
        assert_eq!(said(&usual).unwrap().len(), 1);
        assert!(said(&["warning: no JSON".to_owned()]).is_err());
        assert!(said(&[artifact("node 0.1.0", "node", true).to_string()]).is_err());
    }

    #[test]
    fn tests_that_took_longer_are_told_from_what_was_said() {
        let said = "test a::slow ... ok <2.001s>\ntest a::quick ... ok <1.999s>\ntest a::unsaid ... ok\n";
        assert_eq!(longer(said, Duration::from_secs(2)), ["a::slow"]);
        assert_eq!(longer("", Duration::from_secs(2)), Vec::<String>::new());
    }

    #[test]
    fn one_log_has_what_failed_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let named = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let ended = [
            ("node".to_owned(), named("a", "test x ... FAILED\n"), Err(anyhow::anyhow!("ended with 101"))),
            ("gate".to_owned(), named("b", "test y ... ok\n"), Ok(())),
        ];
        let log = folder.path().join("log");
        gather(&ended, &log).unwrap();
        let expected = "\n== gate\ntest y ... ok\n\n== node\ntest x ... FAILED\nerror: ended with 101\n";
        assert_eq!(fs::read_to_string(log).unwrap(), expected);
    }
}
