//! Starting other programs: nothing here ever reads the terminal, and what was started is ended again.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// A program without standard input.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

/// Run to the end with this terminal as output; anything but exit code 0 is an error that quotes the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = describe(command);
    let status = command.status().with_context(|| format!("could not start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

/// Run to the end and return standard output, whatever the exit code; `None` when the program does not exist.
pub(crate) fn output_of(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The command as a person would type it: without its environment, and without the folder of the program.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    std::iter::once(program.file_name().unwrap_or(command.get_program()))
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether a program of that name is on the search path.
pub(crate) fn is_on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}

/// Ask `attempt` again until it has something, or fail with `what` after `limit`. An error ends it at once.
pub(crate) fn wait_for<T>(
    what: &str,
    limit: Duration,
    mut attempt: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = attempt()? {
            return Ok(found);
        }
        if started.elapsed() >= limit {
            bail!("{what} did not happen within {} s", limit.as_secs());
        }
        thread::sleep(POLL);
    }
}

/// A program in the background. It is asked to end when this is dropped, and killed if it does not listen.
#[derive(Debug)]
pub(crate) struct Background {
    name: String,
    child: Child,
}

impl Background {
    /// Start it.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let name = describe(command);
        let child = command.spawn().with_context(|| format!("could not start `{name}`"))?;
        Ok(Self { name, child })
    }

    /// The running program.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// An error when it has ended.
    pub(crate) fn still_runs(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            Some(status) => bail!("`{}` ended early with {status}", self.name),
            None => Ok(()),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_))) {
            return;
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let asked = pid.is_some_and(|pid| kill_process(pid, Signal::TERM).is_ok());
        let deadline = Instant::now() + END_GRACE;
        while asked && Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            thread::sleep(POLL);
        }
        // Nothing is left to do with a child that survives this.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Ends a program at once with all that it started, as far as that still has a parent among them.
pub(crate) fn end_tree(child: &mut Child) {
    end(&tree(child.id()));
    child.wait().ok();
}

/// Ends at once all that this program started.
pub(crate) fn end_all_started() {
    end(&tree(std::process::id())[1..]);
}

fn end(processes: &[u32]) {
    for id in processes {
        if let Some(pid) = i32::try_from(*id).ok().and_then(Pid::from_raw) {
            // What ended meanwhile needs no signal.
            kill_process(pid, Signal::KILL).ok();
        }
    }
}

/// A process, and behind it all that descend from it.
fn tree(root: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name of a program may have spaces and brackets in it.
        let parent =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (id, parent)));
    }
    let mut found = vec![root];
    let mut at = 0;
    while let Some(&looked_at) = found.get(at) {
        found.extend(parents.iter().filter(|(_, parent)| *parent == looked_at).map(|(id, _)| *id));
        at += 1;
    }
    found
}

/// Pause between two looks at a condition: short beside a window's start of 300 ms.
pub(crate) const POLL: Duration = Duration::from_millis(50);

/// How long a program may take to end when asked, before it is killed.
const END_GRACE: Duration = Duration::from_secs(5);
