//! A process beside the app that knows what runs, and ends it when the app is gone, by whatever signal.
//!
//! It is this very program once more, or the command beside the app, started once and not for each command:
//! the app tells it over a pipe what begins and what ended, and when the pipe breaks it kills what had not
//! ended, with all that belongs to it. What it knows it also writes down, so that the record hears of those
//! ends, from it or, when it was killed as well, at the next start. It has a session of its own, no secret,
//! and does not listen to signals that tell the app to end. One that is killed is started again.

mod journal;

use super::tree::{self, ProcessIdentity};
use countersign_approvals::ports::Ports;
use countersign_commands::environment;
pub use journal::{End, Left, LeftRun, left_behind};
use journal::{Journal, Run};
use rustix::fs::OFlags;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, setsid};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};

/// Tells a process that it is the warden, and where it writes down what it knows.
pub const VARIABLE: &str = "COUNTERSIGN_WARDEN";

/// What the app tells, a line each.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", tag = "note")]
enum Note {
    Begins { mark: String, name: Option<String> },
    Leads { mark: String, pid: i32 },
    Contained { mark: String, program: PathBuf, container: String },
    Ended { mark: String },
}

/// What this process tells its warden: a process has one, or none.
static NOTES: Mutex<Notes> = Mutex::new(Notes { live: BTreeMap::new(), warden: None });

struct Notes {
    /// What a warden that starts must hear, by mark.
    live: BTreeMap<String, Vec<String>>,
    warden: Option<Warden>,
}

struct Warden {
    pipe: File,
    process: OwnedFd,
}

/// Starts the warden of this process, which writes into `folder`. `arguments` are for programs that would do
/// something else without.
pub fn start(folder: &Path, arguments: Vec<OsString>) -> io::Result<()> {
    let own = ProcessIdentity::of(getpid()).ok_or(io::ErrorKind::NotFound)?;
    let file = folder.join(journal::name_of(own));
    std::fs::create_dir_all(folder)?;
    let mut child = match std::env::current_exe().ok().and_then(|own| lighter(&own)) {
        Some(program) => spawn(&program, &file, &arguments).or_else(|_| spawn(OWN, &file, &arguments))?,
        None => spawn(OWN, &file, &arguments)?,
    };
    let again = move || {
        loop {
            let began = Instant::now();
            let _ = child.wait();
            told().warden = None;
            tracing::warn!(
                "the process that ends commands when this one is gone has ended; it is started again"
            );
            std::thread::sleep(BETWEEN_STARTS.saturating_sub(began.elapsed()));
            child = loop {
                match spawn(OWN, &file, &arguments) {
                    Ok(child) => break child,
                    Err(error) => tracing::error!(%error, "commands would outlive this process"),
                }
                std::thread::sleep(BETWEEN_STARTS);
            };
        }
    };
    std::thread::Builder::new().name("warden".to_owned()).spawn(again).map(drop)
}

/// This very program, also when its file was replaced or removed.
const OWN: &str = "/proc/self/exe";

/// The command, which an app has beside itself: as a warden it takes a tenth of the memory of a program that
/// has a web view linked to it. Only the first warden is this: one that ends, for whatever reason, is
/// followed by [`OWN`].
fn lighter(own: &Path) -> Option<PathBuf> {
    beside(own, COMMAND)
}

/// A program of ours that lies beside this one's file, as safe from others as that one is.
pub(super) fn beside(own: &Path, name: &str) -> Option<PathBuf> {
    let beside = own.with_file_name(name);
    let file = std::fs::metadata(&beside).ok()?;
    let is_as_ours =
        file.uid() == std::fs::metadata(own).ok()?.uid() && file.mode() & WRITABLE_BY_OTHERS == 0;
    (beside != own && file.is_file() && is_as_ours).then_some(beside)
}

/// What the command's file is called.
pub(super) const COMMAND: &str = "countersign";

/// Bits of a file's mode by which others than its owner may write it.
const WRITABLE_BY_OTHERS: u32 = 0o022;

#[expect(clippy::disallowed_methods, reason = "this very program, or its own command")]
fn spawn(program: impl AsRef<OsStr>, file: &Path, arguments: &[OsString]) -> io::Result<Child> {
    let all = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let environment =
        environment::inherited(all).into_iter().filter(|(name, _)| !environment::is_ours_alone(name));
    let mut child = Command::new(program)
        .arg0("guardian of commands")
        .args(arguments)
        .env_clear()
        .envs(environment)
        .env(VARIABLE, file)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let pipe = OwnedFd::from(child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?);
    // A warden that does not read must not hold up what runs.
    rustix::fs::fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
    let mut told = told();
    let mut warden = Warden { pipe: File::from(pipe), process: pidfd_open(pid, PidfdFlags::empty())? };
    for line in told.live.values().flatten() {
        warden.tell(line);
    }
    told.warden = Some(warden);
    Ok(child)
}

impl Warden {
    /// One that cannot be told any more is ended: the next is told everything.
    fn tell(&mut self, line: &str) {
        if self.pipe.write_all(line.as_bytes()).is_err() {
            let _ = pidfd_send_signal(&self.process, Signal::KILL);
        }
    }
}

fn told() -> MutexGuard<'static, Notes> {
    NOTES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell(mark: &str, note: &Note) {
    let Ok(mut line) = serde_json::to_string(note) else { return };
    line.push('\n');
    let mut told = told();
    if let Some(warden) = &mut told.warden {
        warden.tell(&line);
    }
    match note {
        Note::Ended { .. } => drop(told.live.remove(mark)),
        _ => told.live.entry(mark.to_owned()).or_default().push(line),
    }
}

/// A run is about to begin.
pub(super) fn begins(mark: &str, name: Option<&str>) {
    tell(mark, &Note::Begins { mark: mark.to_owned(), name: name.map(str::to_owned) });
}

/// Its first process.
pub(super) fn leads(mark: &str, pid: i32) {
    tell(mark, &Note::Leads { mark: mark.to_owned(), pid });
}

/// It is in a container, which `program` ends.
pub(super) fn contained(mark: &str, program: &Path, container: &str) {
    let (program, container) = (program.to_owned(), container.to_owned());
    tell(mark, &Note::Contained { mark: mark.to_owned(), program, container });
}

/// It ended, or never began.
pub(super) fn ended(mark: &str) {
    tell(mark, &Note::Ended { mark: mark.to_owned() });
}

/// The life of a warden: hears on standard input what runs until that ends, then ends what runs. What it
/// ended, if anything. Blocks; must be called inside a tokio runtime.
pub fn serve(file: &Path) -> io::Result<Option<Left>> {
    // It may be the leader of a session already.
    let _ = setsid();
    // Whoever follows a signal is not ended by it.
    let followed = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let _followed = followed.into_iter().map(signal).collect::<io::Result<Vec<_>>>()?;
    let ports = Ports::system();
    let mut journal = Journal::open(file)?;
    for line in BufReader::new(io::stdin().lock()).lines() {
        // The beginning of a note, cut off by the app's end, says nothing that is needed.
        let Ok(note) = serde_json::from_str(&line?) else { continue };
        let at_ms = ports.clock.now_ms();
        match note {
            Note::Begins { mark, name } => journal.begins(&mark, name, at_ms)?,
            Note::Leads { mark, pid } => {
                let leader = Pid::from_raw(pid).and_then(ProcessIdentity::of);
                journal.change(&mark, |run| run.leader = leader)?;
            }
            Note::Contained { mark, program, container } => {
                journal.change(&mark, |run| run.container = Some((program, container)))?;
            }
            Note::Ended { mark } => journal.ended(&mark)?,
        }
    }
    end_all(journal.live());
    journal.left(ports.clock.now_ms())
}

/// Ends these; whether anything of them was there.
fn end_all(runs: &[Run]) -> bool {
    let killers: Vec<Child> =
        runs.iter().filter_map(|run| run.container.as_ref()).filter_map(killer).collect();
    let whose: Vec<tree::Whose> = runs.iter().map(Run::whose).collect();
    let any = tree::end(&whose, LONGEST);
    killers.into_iter().fold(any, |any, mut killer| killer.wait().is_ok_and(|status| status.success()) || any)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program that the person configured, to end what it started"
)]
fn killer((program, container): &(PathBuf, String)) -> Option<Child> {
    let mut killer = Command::new(program);
    killer.args(["kill", container]).env_remove(VARIABLE).current_dir("/");
    killer.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

/// Longest wait for the end of what was killed; what hangs in the kernel longer than that stays there.
const LONGEST: Duration = Duration::from_secs(5);

/// A warden that always ends at once is not started more often than this.
const BETWEEN_STARTS: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests;
