//! Programs that stories start, and waiting for what they do.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A program to start, with nothing of this process's environment but the search path.
#[expect(clippy::disallowed_methods, reason = "stories start the programs that users start")]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("LANG", "C.UTF-8");
    command
}

/// Asks `attempt` again until it has something, or fails saying that `what` did not happen within `limit`. An
/// error ends it at once.
pub fn wait_for<T>(what: &str, limit: Duration, mut attempt: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = attempt().with_context(|| format!("while waiting for: {what}"))? {
            return Ok(found);
        }
        if started.elapsed() >= limit {
            bail!("did not happen within {} ms: {what}", limit.as_millis());
        }
        thread::sleep(POLL);
    }
}

/// The `countersign` command: `COUNTERSIGN_BIN`, else built from this checkout, so that a stale one
/// is never tested.
pub fn countersign() -> Result<PathBuf> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if let Some(named) = std::env::var_os("COUNTERSIGN_BIN") {
        return Ok(named.into());
    }
    BUILT.get_or_init(|| build().map_err(|error| format!("{error:#}"))).clone().map_err(anyhow::Error::msg)
}

/// The desktop app: `COUNTERSIGN_DESKTOP_BIN`, else the one in the target folder. It is not built here: that
/// takes the built UI and minutes.
pub fn countersign_desktop() -> Result<PathBuf> {
    let path = match std::env::var_os("COUNTERSIGN_DESKTOP_BIN") {
        Some(named) => named.into(),
        None => target_dir().join("debug/countersign-desktop"),
    };
    anyhow::ensure!(path.is_file(), "{} is not there: build the desktop app first", path.display());
    Ok(path)
}

fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    #[expect(clippy::disallowed_methods, reason = "cargo needs the environment that this process has")]
    let output = Command::new(cargo)
        .args(["build", "--package", "countersign"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(target_dir().join("debug/countersign"))
}

fn target_dir() -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |named| root.join(named))
}

/// Whether a process is there, by its id.
pub fn is_alive(pid: u32) -> bool {
    as_pid(pid).is_some_and(|pid| test_kill_process(pid).is_ok()) && !is_zombie(pid)
}

/// A port of loopback that was free a moment ago, for a program that takes none by itself. No two calls of a
/// process get the same one, and it lies below those that systems give to outgoing connections: of these a
/// story makes thousands, and one could take the port before the program does.
pub fn free_port() -> Result<u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    // Programs that run beside each other start at different places.
    let start = (std::process::id() as u16).wrapping_mul(127);
    for _ in PORTS {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = PORTS.start + start.wrapping_add(step) % (PORTS.end - PORTS.start);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    bail!("none of the ports {PORTS:?} is free")
}

/// Ends a process at once, as a crash would. One that is gone already is fine.
pub fn kill(pid: u32) {
    if let Some(pid) = as_pid(pid) {
        // It may have ended by itself in between.
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn as_pid(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}

/// A process that ended but whose parent did not look yet. Its first thread is a zombie while others still
/// end and hold its files open, so all of them are looked at.
fn is_zombie(pid: u32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return true };
    threads.filter_map(Result::ok).all(|thread| {
        // A thread that is gone meanwhile has ended as well.
        std::fs::read_to_string(thread.path().join("stat")).map_or(true, |stat| {
            stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X']))
        })
    })
}

/// A program in the background. It is ended when this is dropped.
#[derive(Debug)]
pub struct Background {
    name: String,
    child: Child,
}

impl Background {
    /// Starts it.
    pub fn start(command: &mut Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().with_context(|| format!("could not start {name}"))?;
        Ok(Self { name, child })
    }

    /// Starts a program that says on its first line that it is ready, and returns that line.
    pub fn start_and_read_line(command: &mut Command) -> Result<(Self, String)> {
        let mut background = Self::start(command.stdin(Stdio::null()).stdout(Stdio::piped()))?;
        let output = background.child.stdout.take().context("standard output was not piped")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        if line.trim().is_empty() {
            bail!("{} ended before it was ready", background.name);
        }
        Ok((background, line.trim().to_owned()))
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end, and waits until it has. One that does not listen is killed, which is an error.
    pub fn end(mut self, limit: Duration) -> Result<()> {
        if let Some(pid) = as_pid(self.pid()).filter(|_| matches!(self.child.try_wait(), Ok(None))) {
            kill_process(pid, Signal::TERM)?;
        }
        wait_for(&format!("{} ends when asked", self.name), limit, || self.ended()).map(|_| ())
    }

    /// Its exit code once it has ended; below zero the signal that ended it.
    pub fn ended(&mut self) -> Result<Option<i32>> {
        let code = |status: ExitStatus| status.code().unwrap_or_else(|| -status.signal().unwrap_or_default());
        Ok(self.child.try_wait()?.map(code))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Nothing here has anything to save; a program that ended by itself cannot be killed, which is fine.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Where [`free_port`] looks.
const PORTS: Range<u16> = 20_000..32_000;

/// Pause between two looks at a state: short beside a window's start of 300 ms.
pub const POLL: Duration = Duration::from_millis(20);

/// Longest wait for what has to happen. It says that a story fails, and never how fast the machine is: where
/// all is well, nothing takes nearly as long, however slow that is and whatever runs beside.
pub const PATIENCE: Duration = Duration::from_secs(120);
