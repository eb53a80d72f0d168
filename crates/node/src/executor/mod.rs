//! The only place that starts processes: exactly the approved argument list, nothing that a shell reads.
//! [`sandbox`] runs it behind walls; [`program`] starts what the person configured.

pub mod again;
mod controls;
pub mod guardian;
mod handed;
mod output;
pub mod program;
pub mod sandbox;
mod terminal;
mod tree;
pub mod warden;

use crate::descriptors;
use crate::facts::{self, Drift};
use command_fds::{CommandFdExt, FdMapping};
use controls::UNREAD;
pub use controls::{Controls, Heard, Outlet, Tap};
use countersign_policy::ApprovedCommand;
use countersign_protocol::socket::{ExecPayload, Printed};
use handed::Handed;
use output::{Capture, Pipes};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use terminal::{Keyboard, Ours, Terminal};
use tokio::io::AsyncRead;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tree::Tree;

/// What a run came to.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOutput {
    /// For the wire: capped and decoded.
    pub payload: ExecPayload,
    /// From spawn to end.
    pub duration: Duration,
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotStarted {
    /// Cancelled before it started.
    #[error("cancelled before it started")]
    Cancelled,
    /// Something is no longer what was shown.
    #[error(transparent)]
    Drift(#[from] Drift),
    /// There is no sandbox to run in.
    #[error(transparent)]
    Sandbox(#[from] sandbox::Unavailable),
    /// An argument or an environment override cannot be passed to a program as it is.
    #[error("cannot be passed to a program: {0}")]
    Unpassable(&'static str),
}

/// Runs an approved command to its end. `base_env` is the sanitised inherited environment. Cancelling ends
/// all of its processes (TERM, then KILL) and returns what it had printed; dropping the future kills them.
///
/// A failure to start after the checks is a result like any other: `failed to start: …`,
/// without an exit code.
pub async fn run(
    command: ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    controls: impl Into<Controls>,
) -> Result<RunOutput, NotStarted> {
    let Controls { cancel, tap, name, output, terminal } = controls.into();
    passable(&command)?;
    if cancel.is_cancelled() {
        return Err(NotStarted::Cancelled);
    }
    let mut pause = FIRST_BUSY_PAUSE;
    let (started, spawned) = loop {
        let folder = verify(&command).await?;
        if cancel.is_cancelled() {
            return Err(NotStarted::Cancelled);
        }
        let handed = handed::of(&command)?;
        let started = Instant::now();
        let terminal = terminal.map(Terminal::open).transpose();
        let spawned = terminal
            .and_then(|terminal| spawn(&command, base_env, &folder, handed, terminal, name.as_deref()));
        match spawned {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && pause <= LAST_BUSY_PAUSE => {
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            spawned => break (started, spawned),
        }
    };
    let payload = match spawned {
        Ok((started_as, terminal)) => {
            let run = Run::of(started_as, output, tap).through(terminal);
            run.finish(command.timeout(), started, &cancel).await
        }
        Err(error) => not_started(&error.to_string()),
    };
    Ok(RunOutput { payload, duration: started.elapsed() })
}

/// What comes of a command that could not be started after all checks.
fn not_started(why: &str) -> ExecPayload {
    ExecPayload { error: Some(format!("failed to start: {why}")), ..ExecPayload::default() }
}

fn passable(command: &ApprovedCommand) -> Result<(), NotStarted> {
    if command.argv().iter().any(|argument| argument.contains('\0')) {
        return Err(NotStarted::Unpassable("an argument contains a NUL character"));
    }
    let bad_name = |name: &String| name.is_empty() || name.contains(['=', '\0']);
    if command.env().iter().any(|(name, value)| bad_name(name) || value.contains('\0')) {
        return Err(NotStarted::Unpassable("an environment override is not representable"));
    }
    Ok(())
}

/// Compares everything that was pinned, last of all before the spawn. Big files are hashed, folders looked
/// through and git's configuration is read on another thread.
async fn verify(command: &ApprovedCommand) -> Result<OwnedFd, Drift> {
    let pins = command.pins();
    let scripts = pins.scripts.iter().map(|script| &script.identity);
    let hashed: u64 = pins
        .programs
        .iter()
        .map(|(_, identity)| identity)
        .chain(scripts)
        .filter(|identity| identity.sha256.is_some())
        .map(|identity| identity.size)
        .sum();
    if hashed > INLINE_HASH_BYTES || !pins.reached.trees.is_empty() || !pins.surroundings.is_empty() {
        let pins = pins.clone();
        let path = command.program().display().to_string();
        match tokio::task::spawn_blocking(move || facts::recheck_files(&pins)).await {
            Ok(checked) => checked?,
            Err(error) => {
                return Err(Drift {
                    what: "program",
                    path,
                    difference: format!("could not be checked: {error}"),
                });
            }
        }
    } else {
        facts::recheck_files(pins)?;
    }
    pins.scripts.iter().try_for_each(facts::recheck_name)?;
    facts::open_folder(&pins.cwd)
}

/// Starts the program in its own process group, in the folder behind `folder` wherever its path leads by now.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
fn spawn(
    command: &ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    folder: &OwnedFd,
    handed: Option<Handed>,
    terminal: Option<Terminal>,
    called: Option<&str>,
) -> std::io::Result<Started> {
    let argv = handed.as_ref().map_or(command.argv(), |handed| &handed.argv);
    let (name, arguments) = argv.split_first().ok_or(ErrorKind::InvalidInput)?;
    let mut process = Command::new(command.program());
    if let Some(handed) = &handed {
        let mapping = FdMapping { parent_fd: handed.script.try_clone()?, child_fd: handed::DESCRIPTOR };
        process.fd_mappings(vec![mapping]).map_err(std::io::Error::other)?;
    }
    process
        .arg0(name)
        .args(arguments)
        .env_clear()
        .envs(command.environment(base_env))
        .env("OPENCLAW_CLI", "1")
        .env("PWD", &command.pins().cwd.real_path)
        .current_dir(format!("/proc/self/fd/{}", folder.as_raw_fd()))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    start_in(process, terminal, None, called)
}

/// Starts it in its terminal, if it gets one. `input` is its standard input, where that is
/// something of its own.
fn start_in(
    mut process: Command,
    terminal: Option<Terminal>,
    input: Option<OwnedFd>,
    called: Option<&str>,
) -> std::io::Result<Started> {
    let Some(Terminal { ours, its }) = terminal else {
        if let Some(input) = input {
            process.stdin(input);
        }
        return Ok((tree::start(&mut process, called)?, None));
    };
    let (name, kind) = terminal::KIND;
    if !process.as_std().get_envs().any(|(known, _)| known == name) {
        process.env(name, kind);
    }
    Ok((tree::start_in(process, its, input, called)?, Some(ours)))
}

/// A process with all that it starts, and its terminal where it has one.
type Started = ((Child, Tree), Option<Ours>);

/// Where what it prints comes from.
type Reader = Box<dyn AsyncRead + Send + Unpin>;

/// A started command.
struct Run {
    // Dropped in this order: all is killed before the leader can be reaped.
    tree: Tree,
    child: Child,
    stop: Stop,
    pipes: Pipes<Reader, Reader>,
    capture: Capture,
    tap: Tap,
    keyboard: Option<Keyboard>,
}

/// Where the processes of a run are, and so how they are ended.
enum Stop {
    /// They are the child's.
    Tree,
    /// In a name space of bubblewrap's, which ends with the child.
    Namespace(sandbox::Status),
    /// In a container, of which the child only tells.
    Container(sandbox::Running),
}

/// How a run ended.
enum End {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
    /// Its status could not be learned.
    Lost(std::io::Error),
}

impl Run {
    /// Keeps at most `output` bytes of what it prints; `tap` hears all of it.
    fn of((mut child, tree): (Child, Tree), output: usize, tap: Tap) -> Self {
        descriptors::give_back(child.id());
        tap.hear(Heard::Started);
        Self {
            tree,
            pipes: Pipes::new(
                child.stdout.take().map(|out| Box::new(out) as Reader),
                child.stderr.take().map(|err| Box::new(err) as Reader),
            ),
            capture: Capture::new(output, tap.clone()),
            tap,
            keyboard: None,
            child,
            stop: Stop::Tree,
        }
    }

    /// What it prints comes out of its terminal, where it has one.
    fn through(mut self, terminal: Option<Ours>) -> Self {
        if let Some(terminal) = terminal {
            let (out, keyboard) = terminal.split();
            self.pipes = Pipes::new(Some(out), None);
            if let Some(Keyboard { keys, .. }) = &keyboard {
                self.tap.hear(Heard::Terminal(keys));
            }
            self.keyboard = keyboard;
        }
        self
    }

    /// Its processes are elsewhere.
    fn stopped_by(mut self, stop: Stop) -> Self {
        self.stop = stop;
        self
    }

    async fn finish(
        mut self,
        limit: Option<Duration>,
        started: Instant,
        cancel: &CancellationToken,
    ) -> ExecPayload {
        let end = self.end(limit.and_then(|limit| started.checked_add(limit)), cancel).await;
        match end {
            End::Exited(_) | End::Lost(_) => self.tree.release(),
            End::TimedOut | End::Cancelled => self.kill().await,
        }
        self.drain().await;
        self.capture.close();
        let [out, err] = self.capture.told();
        let (stdout, stderr) = self.capture.finish();
        self.tap.adds(Printed::Stdout, stdout.get(out..).unwrap_or_default()).await;
        self.tap.adds(Printed::Stderr, stderr.get(err..).unwrap_or_default()).await;
        match (&end, self.stop) {
            (End::Exited(_), Stop::Namespace(status)) => match status.was_started() {
                true => payload(end, stdout, stderr),
                false => not_started(sandbox::first_line(&stderr)),
            },
            (End::Exited(_) | End::Lost(_), Stop::Container(running)) => {
                running.has_ended();
                payload(end, stdout, stderr)
            }
            _ => payload(end, stdout, stderr),
        }
    }

    async fn end(&mut self, deadline: Option<Instant>, cancel: &CancellationToken) -> End {
        let late = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(late);
        loop {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return End::Cancelled,
                () = &mut late => return End::TimedOut,
                status = self.child.wait() => return status.map_or_else(End::Lost, End::Exited),
                () = self.pipes.pump(&mut self.capture) => {}
            }
        }
    }

    /// Ends all of it. Its leader is reaped last: until then the group's number is nobody else's.
    async fn kill(&mut self) {
        match &mut self.stop {
            Stop::Tree | Stop::Container(_) => self.tree.signal(Signal::TERM).await,
            Stop::Namespace(status) => status.signal(Signal::TERM),
        }
        let grace = async {
            loop {
                self.pipes.pump(&mut self.capture).await;
            }
        };
        let _: Result<(), _> = timeout(TERM_GRACE, grace).await;
        if let Stop::Container(running) = &mut self.stop {
            running.kill().await;
        }
        self.tree.kill().await;
        if timeout(REAP_TIMEOUT, self.child.wait()).await.is_ok() {
            self.tree.release();
        }
    }

    /// Takes what is still in the pipes. Whoever outlives the command and keeps them open is not waited for.
    async fn drain(&mut self) {
        let mut left = DRAIN_TOTAL;
        while !self.pipes.ended() && !left.is_zero() {
            // Whoever reads slowly is waited for: what was printed is all there is.
            if timeout(UNREAD, self.tap.room()).await.is_err() {
                return;
            }
            let since = Instant::now();
            if timeout(DRAIN_QUIET.min(left), self.pipes.pump(&mut self.capture)).await.is_err() {
                return;
            }
            left = left.saturating_sub(since.elapsed());
        }
    }
}

fn payload(end: End, stdout: String, stderr: String) -> ExecPayload {
    let (exit_code, error) = match &end {
        End::Exited(status) => match status.code().or_else(|| status.signal()) {
            Some(0) => (Some(0), None),
            Some(code) => (Some(code), Some(format!("exit {code}"))),
            None => (None, Some("ended without a status".into())),
        },
        End::TimedOut => (None, Some("timeout".into())),
        End::Cancelled => (None, Some("cancelled".into())),
        End::Lost(error) => (None, Some(format!("ended without a status: {error}"))),
    };
    ExecPayload {
        success: exit_code == Some(0),
        exit_code,
        timed_out: matches!(end, End::TimedOut),
        stdout,
        stderr,
        error,
    }
}

/// Between TERM and KILL, as the peers do (docs/protocol/runs.md, "End").
const TERM_GRACE: Duration = Duration::from_millis(100);

/// Longest wait for a killed leader; one that hangs in the kernel is reaped whenever it ends.
const REAP_TIMEOUT: Duration = Duration::from_secs(2);

/// Silence on the pipes after which nobody waits for a process that outlived the command.
const DRAIN_QUIET: Duration = Duration::from_millis(200);

/// Longest reading after the end, for a process that outlived the command and keeps printing.
const DRAIN_TOTAL: Duration = Duration::from_secs(2);

/// Content that is hashed without leaving the async thread, in bytes: well under a millisecond.
const INLINE_HASH_BYTES: u64 = 256 * 1_024;

/// Pauses while somebody has the program open for writing. That is short if it is a fork of this very app
/// that has not executed its own program yet; everything is compared again after each.
const FIRST_BUSY_PAUSE: Duration = Duration::from_millis(2);
const LAST_BUSY_PAUSE: Duration = Duration::from_millis(64);

#[cfg(test)]
mod tests;
