//! The texts in a call's parameters, at any depth, and what each may be: a command for a shell, or
//! the name of a file.

use serde_json::{Map, Value};
use std::path::{Component, Path, PathBuf};

/// One text with the name of the member that it stands in.
pub(super) struct Text {
    name: String,
    pub(super) text: String,
}

/// Every text, at most [`MOST`]: those of a list alone and, as the words of a command, together.
pub(super) fn of(params: &Map<String, Value>) -> Vec<Text> {
    let mut found = Vec::new();
    for (name, value) in params {
        collect(name, value, &mut found);
    }
    found
}

fn collect(name: &str, value: &Value, found: &mut Vec<Text>) {
    if found.len() >= MOST {
        return;
    }
    let text = |text: String| Text { name: name.to_ascii_lowercase(), text };
    match value {
        Value::String(value) => {
            found.push(text(value.clone()));
            // Parameters that are written in a text themselves.
            if value.trim_start().starts_with(['{', '['])
                && let Ok(inner @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(value)
            {
                collect(name, &inner, found);
            }
        }
        Value::Array(values) => {
            let words: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
            found.extend(words.filter(|words| words.len() > 1).map(|words| text(words.join(" "))));
            values.iter().for_each(|value| collect(name, value, found));
        }
        Value::Object(members) => members.iter().for_each(|(name, value)| collect(name, value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Text {
    /// Whether a shell or an interpreter gets to read it, by what its member is called.
    pub(super) fn is_command(&self) -> bool {
        COMMANDS.contains(&self.name.as_str())
    }

    /// Whether its member calls it words for a reader, which are neither a command nor a name of anything.
    pub(super) fn is_prose(&self) -> bool {
        self.text.trim().is_empty() || PROSE.contains(&self.name.as_str())
    }

    /// The file or folder that it may name for who works in `workspace`: as it is written, without `.` and
    /// `..`, and where links lead.
    pub(super) fn places(&self, workspace: &Path, home: &Path) -> Vec<String> {
        let text = self.text.trim();
        let may_be = !text.is_empty()
            && text.len() <= PATH_BYTES
            && !text.contains('\n')
            && !WHERE.contains(&self.name.as_str())
            && !text.contains("://")
            || text.starts_with("file://");
        let says_so = ["path", "file", "dir", "folder", "notebook", "source", "dest", "target", "uri"];
        let is_called = says_so.iter().any(|word| self.name.contains(word));
        if !may_be || !(is_called || text.contains(['/', '.']) || text.starts_with('~')) {
            return Vec::new();
        }
        let text = text.strip_prefix("file://").unwrap_or(text);
        let path = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
            _ => workspace.join(text),
        };
        let places = [normal(&path), real(&path)];
        let mut named: Vec<String> =
            places.iter().filter_map(|path| path.to_str().map(str::to_owned)).collect();
        named.dedup();
        named
    }
}

/// A path without `.` and `..`, as it is written.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => normal.push(component),
        }
    }
    normal
}

/// Where a path leads: the part of it that is there without links, and behind it what is not there yet.
fn real(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        if let Ok(real) = std::fs::canonicalize(there) {
            let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
            return normal(&real.join(rest));
        }
    }
    normal(path)
}

/// What tools call a parameter that a shell or an interpreter gets to read, in lower case: for an agent's
/// that write to a terminal, `chars`.
const COMMANDS: &[&str] = &[
    "args",
    "argv",
    "arguments",
    "chars",
    "cmd",
    "cmdline",
    "code",
    "command",
    "command_line",
    "commands",
    "eval",
    "exec",
    "expression",
    "input",
    "program",
    "run",
    "script",
    "shell",
    "stdin",
];

/// What tools call words for a reader: nothing runs them.
const PROSE: &[&str] = &[
    "body",
    "comment",
    "content",
    "contents",
    "description",
    "file_text",
    "instruction",
    "message",
    "new_str",
    "new_string",
    "new_text",
    "old_str",
    "old_string",
    "old_text",
    "prompt",
    "subject",
    "summary",
    "title",
    "todos",
];

/// What tools call the folder that they work in, which is not what they change.
const WHERE: &[&str] = &["cwd", "project_root", "root", "workdir", "working_directory", "workspace"];

/// Texts of one call that are looked at.
const MOST: usize = 256;

/// Longest path, in bytes.
const PATH_BYTES: usize = 4_096;
