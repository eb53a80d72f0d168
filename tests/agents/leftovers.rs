//! What a story started and did not end. Whatever loses its parent becomes a child of this program, so
//! that nothing hides.

use anyhow::Result;
use countersign_tests::process::{is_alive, kill, wait_for};
use rustix::process::{WaitOptions, getpid, set_child_subreaper, waitpid};
use std::fs;
use std::time::Duration;

/// From now on orphans come here.
pub(crate) fn adopt() -> Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Waits until nothing runs below this program, and kills what does after that; returns what that was.
pub(crate) fn end_all() -> Vec<String> {
    let none = || {
        reap();
        Ok(descendants().is_empty().then_some(()))
    };
    if wait_for("everything ends", GRACE, none).is_ok() {
        return Vec::new();
    }
    let left = descendants();
    let names = left.iter().map(|pid| name(*pid)).collect();
    left.into_iter().for_each(kill);
    // What does not end even so is found after the next story as well.
    wait_for("everything that was killed ends", GRACE, none).ok();
    names
}

/// Kills everything that runs below this program, so that whoever waits for it goes on.
pub(crate) fn kill_all() {
    descendants().into_iter().for_each(kill);
}

/// Only when no story runs: each waits for its own children.
fn reap() {
    while let Ok(Some(_)) = waitpid(None, WaitOptions::NOHANG) {}
}

fn descendants() -> Vec<u32> {
    let mut found = children(std::process::id());
    let mut at = 0;
    while at < found.len() {
        found.extend(children(found[at]));
        at += 1;
    }
    found.retain(|pid| is_alive(*pid));
    found
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let mut found = Vec::new();
    for thread in threads.filter_map(Result::ok) {
        // A thread that is gone meanwhile has no children.
        let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    found
}

fn name(pid: u32) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split('\0').take(4).collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// How long helpers of a desktop session and of the app live on after it.
const GRACE: Duration = Duration::from_secs(10);
