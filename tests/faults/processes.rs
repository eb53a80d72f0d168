//! What runs here, by `/proc`.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// A process that has not ended.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    /// Its command line.
    pub(crate) line: String,
}

/// Everything in this network name space but the harness itself.
pub(crate) fn all() -> Result<Vec<Process>> {
    let here = fs::read_link("/proc/self/ns/net")?;
    let own = std::process::id();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()).filter(|pid| *pid != own)
        else {
            continue;
        };
        let folder = PathBuf::from(format!("/proc/{pid}"));
        // Those of others cannot be looked at, and one may have ended meanwhile.
        if fs::read_link(folder.join("ns/net")).is_ok_and(|space| space == here)
            && let Ok(stat) = fs::read_to_string(folder.join("stat"))
            && let Some((_, rest)) = stat.rsplit_once(')')
        {
            let mut words = rest.split_whitespace();
            if matches!(words.next(), Some("Z" | "X") | None) {
                continue;
            }
            let parent = words.next().and_then(|parent| parent.parse().ok()).unwrap_or(0);
            let line = fs::read(folder.join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ").trim().to_owned();
            found.push(Process { pid, parent, line });
        }
    }
    Ok(found)
}

/// Those that this one started, and those that they started.
pub(crate) fn below(pid: u32) -> Result<Vec<Process>> {
    let all = all()?;
    let mut known = BTreeSet::from([pid]);
    let mut found: Vec<Process> = Vec::new();
    loop {
        let next: Vec<_> = all
            .iter()
            .filter(|process| known.contains(&process.parent) && !known.contains(&process.pid))
            .cloned()
            .collect();
        if next.is_empty() {
            return Ok(found);
        }
        known.extend(next.iter().map(|process| process.pid));
        found.extend(next);
    }
}

/// The process of the app's that shows pages.
pub(crate) fn page(app: u32) -> Result<u32> {
    let found = below(app)?.into_iter().find(|process| process.line.contains("WebKitWebProcess"));
    Ok(found.context("the app has no web process")?.pid)
}

/// Files that a process has open.
pub(crate) fn open_files(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count)
}

/// Sends a signal; one that is gone already is fine.
pub(crate) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        kill_process(pid, signal).ok();
    }
}
