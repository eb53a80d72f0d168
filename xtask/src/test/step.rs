//! One step of a run: what it does, where it belongs, and how long it may take.

use super::programs::{self, Choice, TestProgram};
use super::watch::{call, run_logged};
use crate::session::Session;
use crate::workspace::root;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// One counted step.
pub(super) struct Step {
    pub(super) name: String,
    pub(super) part: Part,
    pub(super) tier: Tier,
    /// When it is ended: many times what it takes on a quiet machine, so that only what hangs meets it.
    pub(super) deadline: Duration,
    pub(super) work: Work,
}

/// Which runs have a step.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Tier {
    /// Each run.
    Every,
    /// The run that each change must pass; `--all` has a longer one in its place.
    Change,
    /// Only `--all`.
    All,
}

/// What a step belongs to; the options choose among these.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// The machine and the built UI: needed by everything else.
    Base,
    /// Lint and types of the UI.
    UiCheck,
    /// Unit tests of the UI: these take a filter.
    UiTest,
    /// Tests in a browser.
    UiBrowser,
    /// Format and documentation of the Rust code.
    RustCheck,
    /// Every program and test, with lints, as the parts after this need them.
    Build,
    /// Rust tests, those of the app too, that open no window: these take a filter.
    RustTest,
    /// Parsers and what is allowed, with made-up inputs.
    RustFuzz,
    /// The real app: these take a filter.
    Desktop,
    /// What breaks around the real app.
    Faults,
    /// The real app on whole desktops.
    Desktops,
    /// What needs more than this machine and its packages.
    Elsewhere,
}

/// What a step does.
pub(super) enum Work {
    /// A function of this program.
    Call(fn() -> Result<()>),
    /// Everything is built once.
    Build,
    /// A program that must end with 0.
    Program(Command),
    /// The same, for one whose place is made ready when its turn comes.
    Prepared(Box<dyn Fn() -> Result<Command>>),
    /// A program that must end with 0, in a private desktop session.
    InSession(Command),
    /// The Rust tests, which also rewrite the UI's generated types: these must come out as they are.
    RustTests(Choice),
    /// The examples in comments.
    Examples(Option<String>),
    /// The stories in the real app's windows, in a private desktop session.
    Stories(Choice),
    /// Another test program, with arguments of its own.
    Tests(&'static str, Vec<OsString>),
}

impl Step {
    /// Whether it says how many tests passed, so that none is a failure.
    pub(super) fn counts_tests(&self) -> bool {
        matches!(self.part, Part::UiTest | Part::UiBrowser | Part::RustTest | Part::Desktop)
    }

    /// Does it. What a program of it says goes to the log.
    pub(super) fn run(&mut self, log: &Path) -> Result<()> {
        let deadline = self.deadline;
        match &mut self.work {
            Work::Call(work) => call(*work, deadline),
            Work::Build => programs::build(log, deadline),
            Work::Program(program) => run_logged(program, log, deadline),
            Work::Prepared(prepare) => run_logged(&mut prepare()?, log, deadline),
            Work::InSession(program) => in_session(program, log, deadline),
            Work::RustTests(choice) => keeping_types(|| programs::run_all(choice, log, deadline)),
            Work::Examples(filter) => programs::examples(filter.as_deref(), log, deadline),
            Work::Stories(choice) => {
                let mut stories = TestProgram::named("desktop")?.timed(choice, STORIES_AT_ONCE);
                in_session(&mut stories, log, deadline)
            }
            Work::Tests(name, arguments) => {
                run_logged(TestProgram::named(name)?.command().args(arguments), log, deadline)
            }
        }
    }
}

fn in_session(program: &mut Command, log: &Path, deadline: Duration) -> Result<()> {
    let session = Session::start()?;
    run_logged(session.enter(program), log, deadline)
}

/// Does what may write the UI's generated types; an error when they come out otherwise than they were.
pub(crate) fn keeping_types(work: impl FnOnce() -> Result<()>) -> Result<()> {
    let before = generated_types()?;
    work()?;
    compare_types(&before, &generated_types()?)
}

/// Every generated TypeScript file and its content.
fn generated_types() -> Result<BTreeMap<PathBuf, String>> {
    let folder = root().join("ui/src/lib/protocol");
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_file() {
            files.insert(path.clone(), fs::read_to_string(&path)?);
        }
    }
    Ok(files)
}

fn compare_types(before: &BTreeMap<PathBuf, String>, after: &BTreeMap<PathBuf, String>) -> Result<()> {
    let changed: Vec<String> = after
        .iter()
        .filter(|(path, content)| before.get(*path) != Some(content))
        .map(|(path, _)| path.strip_prefix(root()).unwrap_or(path).display().to_string())
        .collect();
    if changed.is_empty() {
        return Ok(());
    }
    bail!("these generated types were not up to date and are now; commit them: {}", changed.join(", "));
}

/// Stories at a time: each has an app, a display and a driver of its own, and mostly waits for what is shown.
const STORIES_AT_ONCE: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_added_type_is_named() {
        let files = |content: &str| BTreeMap::from([(root().join("ui/a.ts"), content.to_owned())]);
        assert!(compare_types(&files("1"), &files("1")).is_ok());
        assert!(compare_types(&files("1"), &files("2")).unwrap_err().to_string().contains("ui/a.ts"));
        assert!(compare_types(&BTreeMap::new(), &files("1")).is_err());
    }
}
