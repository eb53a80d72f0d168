//! What an agent did by itself, as it writes it down: the files of its sessions say when it last had a tool
//! do something, and where. That is held against when its hook was called. Only the newest files are looked
//! at.

use crate::places::Surroundings;
use crate::table::{Agent, Form};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What an agent did.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    /// When it last began a call that it asks about and that came to something, in Unix milliseconds.
    pub(crate) acted_ms: Option<i64>,
    /// The folders of its newest sessions.
    pub(crate) folders: Vec<PathBuf>,
}

impl Activity {
    /// What the newest sessions of an agent say. What cannot be read says nothing. Blocking.
    pub(crate) fn of(agent: &Agent, around: Surroundings<'_>) -> Self {
        let Some(sessions) = &agent.sessions else { return Self::default() };
        let mut files = Vec::new();
        collect(&agent.folder(around).join(sessions.below), &mut files, sessions.depth);
        files.sort_by(|one, other| other.cmp(one));
        let mut activity = Self::default();
        for (_, path) in files.iter().take(MOST_SESSIONS) {
            let folder = lines(path, Part::Head).iter().find_map(folder);
            activity.folders.extend(folder.filter(|folder| !activity.folders.contains(folder)));
        }
        for (_, path) in files.iter().take(NEWEST_SESSIONS) {
            let acted_ms = last_call(sessions.form, &lines(path, Part::Tail));
            activity.acted_ms = activity.acted_ms.max(acted_ms);
        }
        activity
    }
}

/// The files of sessions below a folder, each with when it was written.
fn collect(folder: &Path, files: &mut Vec<(SystemTime, PathBuf)>, depth: usize) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        if files.len() >= MOST_FILES {
            return;
        }
        let path = entry.path();
        if about.is_dir() && depth > 0 {
            collect(&path, files, depth - 1);
        } else if about.is_file() && path.extension() == Some(OsStr::new("jsonl")) {
            files.extend(about.modified().ok().map(|at| (at, path)));
        }
    }
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Part {
    Head,
    Tail,
}

/// The whole lines of one end of a file.
fn lines(path: &Path, part: Part) -> Vec<Value> {
    let read = || -> std::io::Result<(Vec<u8>, bool)> {
        let mut file = File::open(path)?;
        let (most, mut is_cut) = (if part == Part::Head { HEAD_BYTES } else { TAIL_BYTES }, false);
        if part == Part::Tail {
            let left_out = file.metadata()?.len().saturating_sub(most);
            is_cut = left_out > 0;
            file.seek(SeekFrom::Start(left_out))?;
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok((bytes, is_cut))
    };
    let Ok((bytes, is_cut)) = read() else { return Vec::new() };
    let lines = bytes.split(|byte| *byte == b'\n').skip(usize::from(is_cut));
    // One that was cut, or is being written, is no JSON.
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

/// The folder that a line says its session is in.
fn folder(line: &Value) -> Option<PathBuf> {
    let ways = ["/cwd", "/payload/cwd", "/data/context/cwd"];
    let named = ways.iter().find_map(|way| line.pointer(way)?.as_str())?;
    named.starts_with('/').then(|| PathBuf::from(named))
}

/// When the last call began that came to something, in Unix milliseconds. A call that failed may never have
/// come so far that the agent asks.
fn last_call(form: Form, lines: &[Value]) -> Option<i64> {
    let mut begun: HashMap<&str, i64> = HashMap::new();
    let mut last = None;
    for line in lines {
        let at_ms = line["timestamp"].as_str().and_then(milliseconds);
        for (id, step) in steps(form, line) {
            match step {
                Step::Begun => {
                    begun.extend(at_ms.map(|at_ms| (id, at_ms)));
                }
                Step::Done => last = last.max(begun.get(id).copied()),
            }
        }
    }
    last
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Step {
    Begun,
    Done,
}

/// What a line says of calls, by their ids.
fn steps(form: Form, line: &Value) -> Vec<(&str, Step)> {
    match form {
        Form::ClaudeCode => {
            let parts = line.pointer("/message/content").and_then(Value::as_array);
            let steps = parts.into_iter().flatten().filter_map(|part| match part["type"].as_str()? {
                "tool_use" => Some((part["id"].as_str()?, Step::Begun)),
                "tool_result" if part["is_error"] != Value::Bool(true) => {
                    Some((part["tool_use_id"].as_str()?, Step::Done))
                }
                _ => None,
            });
            steps.collect()
        }
        Form::Codex => {
            let payload = &line["payload"];
            let Some(id) = payload["call_id"].as_str() else { return Vec::new() };
            let is_asked = payload["name"].as_str().is_some_and(|name| CODEX_ASKED.contains(&name));
            match payload["type"].as_str() {
                Some("function_call" | "custom_tool_call") if is_asked => vec![(id, Step::Begun)],
                Some("function_call_output" | "custom_tool_call_output") => vec![(id, Step::Done)],
                _ => Vec::new(),
            }
        }
        Form::Copilot => {
            let data = &line["data"];
            let Some(id) = data["toolCallId"].as_str() else { return Vec::new() };
            match line["type"].as_str() {
                Some("tool.execution_start") => vec![(id, Step::Begun)],
                Some("tool.execution_complete") if data["success"] == Value::Bool(true) => {
                    vec![(id, Step::Done)]
                }
                _ => Vec::new(),
            }
        }
    }
}

fn milliseconds(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// Tools of Codex whose calls always come to its hooks.
const CODEX_ASKED: [&str; 5] = ["apply_patch", "exec_command", "local_shell", "shell", "shell_command"];

/// Files of sessions that are found at most; a busy agent writes some thousand a year.
const MOST_FILES: usize = 20_000;

/// Sessions whose folder is looked up.
const MOST_SESSIONS: usize = 32;

/// Sessions whose calls are looked at: those that may go on at the same time.
const NEWEST_SESSIONS: usize = 4;

/// How far the folder of a session may be from its beginning, in bytes: it comes behind instructions.
const HEAD_BYTES: u64 = 64 * 1024;

/// How much of a session is looked at, in bytes.
const TAIL_BYTES: u64 = 1024 * 1024;
