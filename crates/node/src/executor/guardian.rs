//! A parent for a program without a window: when that program dies, by whatever signal, nothing that it
//! started stays behind.
//!
//! A process that is killed cannot end its commands. So the program starts as the child of a guardian, this
//! very program once more, to which the system hands everything that the child leaves behind; and when the
//! guardian dies first the system tells the child to end. A child that takes what is left behind itself
//! ([`guarded_with_its_own`]) then ends that too; else daemons stay. Only both at once leave something, which
//! a service manager's control group then takes.

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, set_child_subreaper,
    set_parent_process_death_signal, wait,
};
use std::ffi::OsString;
use std::io;
use std::process::Command;
use std::time::Duration;
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::Instant;

/// Tells the child whose it is.
pub const VARIABLE: &str = "COUNTERSIGN_GUARDIAN";

/// Makes this process the guarded child, when `guardian`, the variable's value, says so; false when there is
/// no guardian. An error when the guardian is gone already.
pub fn guarded(guardian: Option<&str>) -> io::Result<bool> {
    let Some(guardian) = guardian else { return Ok(false) };
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get().to_string());
    if parent.as_deref() == Some(guardian) {
        return Ok(true);
    }
    Err(io::Error::other("the guardian ended before this program began"))
}

/// The same for a child of few commands: the system hands to it, before its guardian, what those leave
/// behind, so that it can [`end_what_is_left`] when the guardian is gone. It takes nobody's status, which a
/// program that serves for days would have to.
pub fn guarded_with_its_own(guardian: Option<&str>) -> io::Result<bool> {
    let guarded = guarded(guardian)?;
    if guarded {
        set_child_subreaper(Some(getpid()))?;
    }
    Ok(guarded)
}

/// What is to become of the processes that a child leaves behind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LeftBehind {
    /// They end with it.
    Ends,
    /// They end only when a signal ended it: a daemon that a command started may stay when the command ended
    /// by itself, as it may in the app.
    EndsWithAKilledChild,
}

/// Starts this program again with the same `arguments` as the guarded child, hands on TERM, INT and HUP, and
/// waits. What the child leaves behind is ended, as `left` says. The child's exit code, or 128 and its
/// signal's number.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
pub async fn guard(arguments: impl Iterator<Item = OsString>, left: LeftBehind) -> io::Result<u8> {
    let own = getpid();
    set_child_subreaper(Some(own))?;
    let mut children = signal(SignalKind::child())?;
    let mut told = EndSignals::new()?;
    let child = Command::new("/proc/self/exe")
        .args(arguments)
        .env(VARIABLE, own.as_raw_nonzero().get().to_string())
        .spawn()?;
    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let ended = loop {
        if let Some(ended) = reap(child)? {
            break ended;
        }
        tokio::select! {
            _ = children.recv() => {}
            signal = told.next() => {
                // It may have ended just now.
                let _ = kill_process(child, signal);
            }
        }
    };
    let ends = match left {
        LeftBehind::Ends => true,
        LeftBehind::EndsWithAKilledChild => ended.by_signal,
    };
    if ends {
        end_descendants(&mut children).await;
    }
    Ok(ended.code)
}

/// Ends everything that this process started, and what that started, as far as the system handed it to this
/// process. For a [`guarded_with_its_own`] child that waits for nothing any more.
pub async fn end_what_is_left() -> io::Result<()> {
    let mut children = signal(SignalKind::child())?;
    end_descendants(&mut children).await;
    Ok(())
}

/// How a child ended.
#[derive(Clone, Copy)]
struct Ended {
    code: u8,
    by_signal: bool,
}

impl Ended {
    /// Whose status nobody can tell any more.
    const UNKNOWN: Self = Self { code: 1, by_signal: false };

    fn of(status: WaitStatus) -> Self {
        let code = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => code,
            (None, Some(signal)) => 128 + signal,
            (None, None) => 1,
        };
        Self { code: u8::try_from(code).unwrap_or(u8::MAX), by_signal: status.terminating_signal().is_some() }
    }
}

/// Takes the status of everything that ended; the child's, when it did.
fn reap(child: Pid) -> io::Result<Option<Ended>> {
    let mut ended = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => ended = Some(Ended::of(status)),
            Ok(Some(_)) => {}
            Ok(None) => return Ok(ended),
            Err(rustix::io::Errno::CHILD) => return Ok(ended.or(Some(Ended::UNKNOWN))),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Ends what was left behind: it is ours now, and what it leaves comes to us too.
async fn end_descendants(children: &mut Signals) {
    let until = Instant::now() + LONGEST;
    loop {
        let left = own_children();
        if left.is_empty() || Instant::now() >= until {
            return;
        }
        let is_late = Instant::now() + WARDEN_FIRST >= until;
        for pid in left.into_iter().filter(|pid| is_late || !is_warden(*pid)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = tokio::time::timeout(AGAIN, children.recv()).await;
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
    }
}

/// One that the child had: it ends what it knows of, tells the record, and then itself.
fn is_warden(pid: Pid) -> bool {
    let variable = format!("{}=", super::warden::VARIABLE).into_bytes();
    let environ = std::fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero())).unwrap_or_default();
    environ.split(|byte| *byte == 0).any(|entry| entry.starts_with(&variable))
}

fn own_children() -> Vec<Pid> {
    let listed = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let listed = listed.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let pids: Vec<Pid> = listed
        .flat_map(|line| line.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>())
        .filter_map(Pid::from_raw)
        .collect();
    pids
}

/// Signals that tell a program to end.
struct EndSignals {
    terminate: Signals,
    interrupt: Signals,
    hangup: Signals,
}

impl EndSignals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.terminate.recv() => Signal::TERM,
            _ = self.interrupt.recv() => Signal::INT,
            _ = self.hangup.recv() => Signal::HUP,
        }
    }
}

/// How long the end of what was left behind is waited for; what hangs in the kernel longer than
/// that stays there.
const LONGEST: Duration = Duration::from_secs(5);

/// Of this, what a warden has no more of before it is ended like anything else.
const WARDEN_FIRST: Duration = Duration::from_secs(1);

/// Between two looks at what is left.
const AGAIN: Duration = Duration::from_millis(50);
