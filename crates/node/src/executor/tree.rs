//! The processes of a run, started at one place and ended as a whole.
//!
//! The group of the first process is not all of a run: `setsid` and a daemon's double fork leave it. So each
//! run has a mark of its own, which everything that it starts inherits, and what bears the mark, is in the
//! group, or comes from such a process is looked for in `/proc`. The mark is a number that a limit has which
//! Linux does not obey ([`mark`]): a variable would be seen by every command, and is lost with
//! the environment. One escapes: a process that lowered that limit, left the group, and whose parent ended
//! before anybody looked. A control group would hold that too, but few programs may make one, and it would
//! have to be made and removed for every run.

mod mark;

use super::warden;
use crate::shortage;
use countersign_commands::environment;
use pty_process::Pts;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, kill_process, kill_process_group, pidfd_open, pidfd_send_signal,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

/// Whose processes to look for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Whose {
    /// The run's mark, see [`mark`].
    pub(super) mark: String,
    /// Leads the group.
    pub(super) leader: Option<ProcessIdentity>,
}

/// A process that is not mistaken for a later one with its number.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct ProcessIdentity {
    pub(super) pid: i32,
    /// In ticks since the machine's start.
    pub(super) started: u64,
}

/// The processes of a run. Dropping it ends them, unless it was released.
#[must_use]
#[derive(Debug)]
pub(super) struct Tree {
    mark: String,
    /// Not reaped yet, so that its number cannot belong to anybody else.
    leader: Option<Pid>,
}

/// Starts `process` in a process group of its own, with nothing in its environment that is ours alone. `name`
/// is what the record calls the run.
pub(super) fn start(process: &mut Command, name: Option<&str>) -> io::Result<(Child, Tree)> {
    let tree = begin(process, name);
    process.process_group(0);
    lead(process.spawn(), tree)
}

/// The same in a terminal of its own: it leads a session, whose controlling terminal that is. `input` is its
/// standard input, where that is not the terminal.
pub(super) fn start_in(
    mut process: Command,
    terminal: Pts,
    input: Option<OwnedFd>,
    name: Option<&str>,
) -> io::Result<(Child, Tree)> {
    let tree = begin(&mut process, name);
    let mut process = pty_process::Command::from(process);
    if let Some(input) = input {
        process = process.stdin(input);
    }
    let spawned = process.spawn(terminal).map_err(|error| match error {
        pty_process::Error::Io(error) => error,
        other => io::Error::other(other),
    });
    lead(spawned, tree)
}

fn begin(process: &mut Command, name: Option<&str>) -> Tree {
    let named = process.as_std().get_envs().filter_map(|(name, _)| name.to_str());
    let ours: Vec<String> =
        named.filter(|name| environment::is_ours_alone(name)).map(str::to_owned).collect();
    for name in ours {
        process.env_remove(name);
    }
    process.kill_on_drop(true);
    let mark = mark::put(process);
    // Told before it starts: no moment is left in which it runs and nobody knows of it.
    let tree = Tree { mark, leader: None };
    warden::begins(&tree.mark, name);
    tree
}

fn lead(spawned: io::Result<Child>, mut tree: Tree) -> io::Result<(Child, Tree)> {
    let child = spawned.inspect_err(shortage::notice)?;
    tree.leader = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
    if let Some(leader) = tree.leader {
        warden::leads(&tree.mark, leader.as_raw_nonzero().get());
    }
    Ok((child, tree))
}

impl Tree {
    /// Its mark.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// Sends `signal` to all of it, once to each.
    pub(super) async fn signal(&self, signal: Signal) {
        let whose = self.whose();
        // Looking through all processes takes milliseconds.
        let _ = tokio::task::spawn_blocking(move || send(signal, &members(&[whose]))).await;
    }

    /// Kills all of it and waits for that, within bounds.
    pub(super) async fn kill(&self) {
        self.kill_group();
        let whose = self.whose();
        let _ = tokio::task::spawn_blocking(move || end(&[whose], LONGEST)).await;
    }

    /// The leader was reaped: the number may be somebody else's from now on, and what is left may stay.
    pub(super) fn release(&mut self) {
        self.leader = None;
    }

    fn whose(&self) -> Whose {
        Whose { mark: self.mark.clone(), leader: self.leader.and_then(ProcessIdentity::of) }
    }

    /// Leaves no member a moment to start another.
    fn kill_group(&self) {
        // It is no error that nobody is left.
        if let Some(group) = self.leader {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if self.leader.is_some() {
            self.kill_group();
            end(&[self.whose()], LONGEST_IN_DROP);
        }
        warden::ended(&self.mark);
    }
}

impl ProcessIdentity {
    /// The process that has this number now.
    pub(super) fn of(pid: Pid) -> Option<Self> {
        let seen = Seen::of(pid.as_raw_nonzero().get())?;
        Some(Self { pid: seen.pid, started: seen.started })
    }

    /// Whether it still runs.
    pub(super) fn is_alive(self) -> bool {
        Seen::of(self.pid).is_some_and(|seen| seen.started == self.started && !seen.has_ended)
    }
}

/// A process as `/proc` shows it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    pid: i32,
    parent: i32,
    group: i32,
    started: u64,
    /// It only waits for its parent to look.
    has_ended: bool,
}

impl Seen {
    fn of(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // A program's name may hold anything; the last parenthesis ends it (proc_pid_stat(5)).
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let started = fields.nth(STARTED_AFTER_GROUP)?.parse().ok()?;
        Some(Self { pid, parent, group, started, has_ended })
    }

    fn all() -> Vec<Self> {
        let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        listed.filter_map(|entry| Self::of(entry.file_name().to_str()?.parse().ok()?)).collect()
    }

    /// Whether it bears one of these marks.
    fn bears(&self, marks: &[&str]) -> bool {
        mark::of(self.pid).is_some_and(|mark| marks.contains(&mark.as_str()))
    }
}

/// Everything that runs and belongs to one of these.
fn members(whose: &[Whose]) -> Vec<Seen> {
    let all = Seen::all();
    let marks: Vec<&str> = whose.iter().map(|whose| whose.mark.as_str()).collect();
    // A group keeps its number while anybody is in it; another leader means another group.
    let is_another = |known: &ProcessIdentity| {
        all.iter().any(|seen| seen.pid == known.pid && seen.started != known.started)
    };
    let groups: BTreeSet<i32> = whose
        .iter()
        .filter_map(|whose| whose.leader)
        .filter(|known| !is_another(known))
        .map(|known| known.pid)
        .collect();
    let own = getpid().as_raw_nonzero().get();
    let mut found: BTreeSet<i32> = all
        .iter()
        .filter(|seen| seen.pid != own && (groups.contains(&seen.group) || seen.bears(&marks)))
        .map(|seen| seen.pid)
        .collect();
    loop {
        let before = found.len();
        let children = all.iter().filter(|seen| seen.pid != own && found.contains(&seen.parent));
        let children: Vec<i32> = children.map(|seen| seen.pid).collect();
        found.extend(children);
        if found.len() == before {
            break;
        }
    }
    all.into_iter().filter(|seen| found.contains(&seen.pid) && !seen.has_ended).collect()
}

fn send(signal: Signal, to: &[Seen]) {
    for seen in to {
        let Some(pid) = Pid::from_raw(seen.pid) else { continue };
        match pidfd_open(pid, PidfdFlags::empty()) {
            // What the descriptor names stays that process, so it is looked at once more.
            Ok(held) => {
                if Seen::of(seen.pid).is_some_and(|now| now.started == seen.started) {
                    let _ = pidfd_send_signal(held, signal);
                }
            }
            Err(Errno::SRCH) => {}
            Err(_) => {
                let _ = kill_process(pid, signal);
            }
        }
    }
}

/// Kills everything that belongs to one of these, until nothing is left or `within` is over; whether anything
/// was there. Blocks.
pub(super) fn end(whose: &[Whose], within: Duration) -> bool {
    let until = Instant::now() + within;
    let mut any = false;
    loop {
        let left = members(whose);
        if left.is_empty() || Instant::now() >= until {
            return any;
        }
        any = true;
        send(Signal::KILL, &left);
        std::thread::sleep(AGAIN);
    }
}

/// Fields of `/proc/…/stat` between a process's group and its start.
const STARTED_AFTER_GROUP: usize = 16;

/// Longest wait for the end of what was killed; what hangs in the kernel longer than that stays there.
const LONGEST: Duration = Duration::from_secs(2);

/// The same where nobody may wait long: a moment for what was being started.
const LONGEST_IN_DROP: Duration = Duration::from_millis(200);

/// Between two looks at what is left.
const AGAIN: Duration = Duration::from_millis(5);
