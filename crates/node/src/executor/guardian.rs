//! A parent for a program without a window: when that program dies, by whatever signal, nothing that it started stays behind.
//!
//! A process that is killed cannot end its commands. So the program starts as the child of a guardian, this very program once
//! more, to which the system hands everything that the child leaves behind; and when the guardian dies first the system tells
//! the child to end. Only both at once leave something, which a service manager's control group then takes.

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

/// Makes this process the guarded child, when `guardian`, the variable's value, says so; false when there is no guardian. An error
/// when the guardian is gone already.
pub fn guarded(guardian: Option<&str>) -> io::Result<bool> {
    let Some(guardian) = guardian else { return Ok(false) };
    set_parent_process_death_signal(Some(Signal::TERM))?;
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get().to_string());
    if parent.as_deref() == Some(guardian) {
        return Ok(true);
    }
    Err(io::Error::other("the guardian ended before this program began"))
}

/// Starts this program again with the same `arguments` as the guarded child, hands on TERM, INT and HUP, and waits. What the child
/// leaves behind is ended. The child's exit code, or 128 and its signal's number.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts processes")]
pub async fn guard(arguments: impl Iterator<Item = OsString>) -> io::Result<u8> {
    let own = getpid();
    set_child_subreaper(Some(own))?;
    let mut children = signal(SignalKind::child())?;
    let mut told = Told::new()?;
    let child = Command::new("/proc/self/exe")
        .args(arguments)
        .env(VARIABLE, own.as_raw_nonzero().get().to_string())
        .spawn()?;
    let child = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
    let code = loop {
        if let Some(code) = reap(child)? {
            break code;
        }
        tokio::select! {
            _ = children.recv() => {}
            signal = told.next() => {
                // It may have ended just now.
                let _ = kill_process(child, signal);
            }
        }
    };
    end_descendants(&mut children).await;
    Ok(code)
}

/// Takes the status of everything that ended; the child's, when it did.
fn reap(child: Pid) -> io::Result<Option<u8>> {
    let mut ended = None;
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == child => ended = Some(code(status)),
            Ok(Some(_)) => {}
            Ok(None) => return Ok(ended),
            Err(rustix::io::Errno::CHILD) => return Ok(ended.or(Some(1))),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

fn code(status: WaitStatus) -> u8 {
    let code = match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// Ends what the child left behind: it is ours now, and what it leaves comes to us too.
async fn end_descendants(children: &mut Signals) {
    let until = Instant::now() + LONGEST;
    loop {
        let left = own_children();
        if left.is_empty() || Instant::now() >= until {
            return;
        }
        for pid in left {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = tokio::time::timeout(AGAIN, children.recv()).await;
        while matches!(wait(WaitOptions::NOHANG), Ok(Some(_))) {}
    }
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
struct Told {
    terminate: Signals,
    interrupt: Signals,
    hangup: Signals,
}

impl Told {
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

/// How long the end of what was left behind is waited for; what hangs in the kernel longer than that stays there.
const LONGEST: Duration = Duration::from_secs(5);

/// Between two looks at what is left.
const AGAIN: Duration = Duration::from_millis(50);
