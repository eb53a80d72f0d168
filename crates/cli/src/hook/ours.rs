//! Calls of Countersign's own tools, over MCP: the app asks about those itself, so the hook leaves them
//! alone. A name proves nothing, since a project can bring a server of any name: it counts only where the
//! agent really runs this very program as a server.

use super::Called;
use rustix::process::{Pid, getppid};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Whether a call goes to a server of ours that the agent started.
pub(super) fn goes_to_our_server(called: &Called) -> bool {
    let is_named = NAMES.iter().any(|prefix| called.tool.starts_with(prefix));
    called.foreign && is_named && agent().is_some_and(runs_our_server)
}

/// The process that wants the hook's answer: whoever started it, or who started the shell that
/// it was started by.
fn agent() -> Option<Pid> {
    let parent = getppid()?;
    let program = fs::read_link(process(parent).join("exe")).ok()?;
    let is_shell =
        program.file_name().is_some_and(|name| SHELLS.iter().any(|shell| name == OsStr::new(shell)));
    if is_shell { parent_of(parent) } else { Some(parent) }
}

/// Whether one of its children is this program as an MCP server.
fn runs_our_server(agent: Pid) -> bool {
    let Ok(own) = fs::metadata("/proc/self/exe") else { return false };
    children(agent).into_iter().any(|child| {
        let folder = process(child);
        // What it runs, whatever it calls itself.
        let is_ours = fs::metadata(folder.join("exe"))
            .is_ok_and(|program| (program.dev(), program.ino()) == (own.dev(), own.ino()));
        let line = fs::read(folder.join("cmdline")).unwrap_or_default();
        is_ours && line.split(|byte| *byte == 0).nth(1) == Some(SERVER)
    })
}

fn children(agent: Pid) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir(PROCESSES) else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?));
    pids.filter(|pid| parent_of(*pid) == Some(agent)).collect()
}

/// The fourth word of `stat`, which comes after a name in brackets that may hold anything.
fn parent_of(pid: Pid) -> Option<Pid> {
    let stat = fs::read_to_string(process(pid).join("stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    Pid::from_raw(rest.split_whitespace().nth(1)?.parse().ok()?)
}

fn process(pid: Pid) -> PathBuf {
    Path::new(PROCESSES).join(pid.as_raw_nonzero().to_string())
}

/// Where the system tells of processes.
const PROCESSES: &str = "/proc";

/// What agents call the tools of a server that is called `countersign` in their settings: Claude Code, Codex
/// and Qwen Code, Gemini CLI, and Copilot CLI.
const NAMES: [&str; 3] = ["mcp__countersign__", "mcp_countersign_", "countersign-"];

/// What agents start their hooks by.
const SHELLS: [&str; 5] = ["ash", "bash", "busybox", "dash", "zsh"];

/// Our own first argument as a server.
const SERVER: &[u8] = b"mcp";
