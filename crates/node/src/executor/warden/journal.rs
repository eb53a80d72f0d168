//! What a warden knows, on disk: a file for each process that has one, named after it. Lines are appended;
//! the last about a run holds. The file is empty again whenever nothing runs, and goes away when its runs
//! are in the record.

use crate::executor::tree::{ProcessIdentity, Whose};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A run that has not ended, as far as is known.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Run {
    mark: String,
    name: Option<String>,
    begun_ms: i64,
    pub(super) leader: Option<ProcessIdentity>,
    /// What ends its container, and the container's name.
    pub(super) container: Option<(PathBuf, String)>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Live(Run),
    Ended(String),
    /// Everything was ended, at this time.
    AllEnded(i64),
}

/// The file of one process, with everybody else kept away from it.
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    lines: usize,
    live: Vec<Run>,
}

/// Runs that a process left behind. They stay written down until they are [`Left::settled`].
#[derive(Debug)]
pub struct Left {
    /// Those that the record knows by a name, as they began.
    pub runs: Vec<LeftRun>,
    path: PathBuf,
    _lock: File,
}

/// One of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeftRun {
    /// What the record calls it.
    pub name: String,
    /// Unix milliseconds.
    pub begun_ms: i64,
    /// What became of it.
    pub end: End,
}

/// What became of a run whose app is gone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// The warden ended it, at this time.
    ByWarden(i64),
    /// The warden was gone too, and it was ended at the next start.
    AtNextStart,
    /// It had ended by then.
    Unknown,
}

impl Left {
    /// They are in the record.
    pub fn settled(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }
}

impl Run {
    #[cfg(test)]
    pub(super) fn in_container(program: PathBuf, name: &str) -> Self {
        let container = Some((program, name.to_owned()));
        Self { mark: "of nobody".to_owned(), name: None, begun_ms: 0, leader: None, container }
    }

    pub(super) fn whose(&self) -> Whose {
        Whose { mark: self.mark.clone(), leader: self.leader }
    }
}

impl Journal {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = open(path, true)?;
        file.lock()?;
        // What the warden before this one knew is told again.
        file.set_len(0)?;
        Ok(Self { path: path.to_owned(), file, lines: 0, live: Vec::new() })
    }

    pub(super) fn live(&self) -> &[Run] {
        &self.live
    }

    pub(super) fn begins(&mut self, mark: &str, name: Option<String>, begun_ms: i64) -> io::Result<()> {
        let run = Run { mark: mark.to_owned(), name, begun_ms, leader: None, container: None };
        self.write(&Line::Live(run.clone()))?;
        self.live.push(run);
        Ok(())
    }

    pub(super) fn change(&mut self, mark: &str, change: impl FnOnce(&mut Run)) -> io::Result<()> {
        let Some(run) = self.live.iter_mut().find(|run| run.mark == mark) else { return Ok(()) };
        change(run);
        let run = run.clone();
        self.write(&Line::Live(run))
    }

    pub(super) fn ended(&mut self, mark: &str) -> io::Result<()> {
        self.live.retain(|run| run.mark != mark);
        if self.live.is_empty() {
            self.lines = 0;
            return self.file.set_len(0);
        }
        self.write(&Line::Ended(mark.to_owned()))
    }

    /// All were ended. What the record has to hear of; without anything the file goes away.
    pub(super) fn left(mut self, at_ms: i64) -> io::Result<Option<Left>> {
        if self.live.is_empty() {
            std::fs::remove_file(&self.path)?;
            return Ok(None);
        }
        self.write(&Line::AllEnded(at_ms))?;
        let runs = named(&self.live, End::ByWarden(at_ms));
        Ok(Some(Left { runs, path: self.path, _lock: self.file }))
    }

    fn write(&mut self, line: &Line) -> io::Result<()> {
        if self.lines >= MOST_LINES {
            self.file.set_len(0)?;
            self.lines = 0;
            for run in self.live.clone() {
                self.append(&Line::Live(run))?;
            }
        }
        self.append(line)
    }

    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.lines += 1;
        self.file.write_all(text.as_bytes())
    }
}

/// What processes that are gone left behind in `folder`. What still runs of it is ended. Blocks: a warden
/// that is ending something is waited for.
pub fn left_behind(folder: &Path) -> Vec<Left> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let gone = listed
        .filter(|entry| entry.file_name().to_str().and_then(owner_of).is_some_and(|owner| !owner.is_alive()));
    gone.filter_map(|entry| {
        left_in(&entry.path())
            .inspect_err(
                |error| tracing::warn!(%error, file = %entry.path().display(), "runs that were left behind"),
            )
            .ok()?
    })
    .collect()
}

fn left_in(path: &Path) -> io::Result<Option<Left>> {
    let file = open(path, false)?;
    let until = Instant::now() + LOCK_PATIENCE;
    while let Err(error) = file.try_lock() {
        match error {
            TryLockError::WouldBlock if Instant::now() < until => std::thread::sleep(LOCK_PAUSE),
            TryLockError::WouldBlock => return Err(io::ErrorKind::WouldBlock.into()),
            TryLockError::Error(error) => return Err(error),
        }
    }
    // Whoever held it may have settled it.
    let is_there = std::fs::metadata(path)
        .is_ok_and(|found| file.metadata().is_ok_and(|ours| ours.ino() == found.ino()));
    if !is_there {
        return Ok(None);
    }
    let (mut live, mut all_ended): (Vec<Run>, _) = (Vec::new(), None);
    for line in io::read_to_string(&file)?.lines() {
        match serde_json::from_str(line) {
            Ok(Line::Live(run)) => {
                live.retain(|known| known.mark != run.mark);
                live.push(run);
            }
            Ok(Line::Ended(mark)) => live.retain(|known| known.mark != mark),
            Ok(Line::AllEnded(at_ms)) => all_ended = Some(at_ms),
            // A crash cut it off.
            Err(_) => {}
        }
    }
    let end = |run: &Run| match all_ended {
        Some(at_ms) => End::ByWarden(at_ms),
        None if super::end_all(std::slice::from_ref(run)) => End::AtNextStart,
        None => End::Unknown,
    };
    let runs = live.iter().flat_map(|run| named(std::slice::from_ref(run), end(run))).collect();
    Ok(Some(Left { runs, path: path.to_owned(), _lock: file }))
}

fn named(runs: &[Run], end: End) -> Vec<LeftRun> {
    let named = runs.iter().filter_map(|run| Some((run.name.clone()?, run.begun_ms)));
    named.map(|(name, begun_ms)| LeftRun { name, begun_ms, end }).collect()
}

fn open(path: &Path, create: bool) -> io::Result<File> {
    OpenOptions::new().read(true).append(true).create(create).mode(0o600).open(path)
}

/// The file's name for a process.
pub(super) fn name_of(owner: ProcessIdentity) -> String {
    format!("{}-{}.jsonl", owner.pid, owner.started)
}

fn owner_of(name: &str) -> Option<ProcessIdentity> {
    let (pid, started) = name.strip_suffix(".jsonl")?.split_once('-')?;
    Some(ProcessIdentity { pid: pid.parse().ok()?, started: started.parse().ok()? })
}

/// Lines after which only what runs is written anew, so that the file stays small beside a run
/// that never ends.
const MOST_LINES: usize = 10_000;

/// Longest wait for a warden that ends what its app left: longer than that may take.
const LOCK_PATIENCE: Duration = Duration::from_secs(7);

/// Between two looks whether it is done.
const LOCK_PAUSE: Duration = Duration::from_millis(20);
