//! The texts in a call's parameters, at any depth, and what each may be: a command for a shell, or
//! the name of a file.

use countersign_policy::beyond::{in_patch, through_proc};
use serde_json::{Map, Value};
use std::path::{Component, Path, PathBuf};
use url::Url;

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
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            // Some tools name files as members: `{"changes": {"src/a.ts": …}}`.
            if name.contains(['/', '.']) {
                found.push(Text { name: "path".to_owned(), text: name.clone() });
            }
            collect(name, value, found);
        }),
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

    /// The folder that it says the tool works in, for a call from `workspace`.
    pub(super) fn root(&self, workspace: &Path, home: &Path) -> Option<PathBuf> {
        let text = self.text.trim();
        let is_root = WHERE.contains(&self.name.as_str()) && !text.is_empty() && text.len() <= PATH_BYTES;
        is_root.then(|| from(text, workspace, home))
    }

    /// The files and folders that it may name for who works in `workspace`, a patch and a list several:
    /// each as it is written, without `.` and `..`, and where links lead. Of a pattern it is the folder in
    /// which its files are. `in_root` where the call says the folder that a name alone is in.
    pub(super) fn places(&self, workspace: &Path, home: &Path, in_root: bool) -> Vec<String> {
        let text = self.text.trim();
        let mut names: Vec<String> = in_patch(text);
        let is_short = text.len() <= PATH_BYTES;
        if is_short && !text.contains('\n') && !WHERE.contains(&self.name.as_str()) {
            names.extend(self.name_of_file(text, in_root));
            let parts = || text.split([',', ';', ' ', '\t']).map(str::trim).filter(|part| *part != text);
            names.extend(parts().filter_map(|part| self.name_of_file(part, false)));
        }
        if is_short && self.is_command() {
            // Names in a text that a shell or an interpreter reads.
            let parts = text.split(|c: char| c.is_whitespace() || "'\"`()[]{}<>,;|&=".contains(c));
            names.extend(parts.filter(|part| part.contains(['/', '.'])).map(str::to_owned));
        }
        let mut places = Vec::new();
        for name in names {
            let told = ["${HOME}", "${PWD}"]
                .iter()
                .find(|told| name.starts_with(**told))
                .map_or(0, |told| told.len());
            let wild =
                name.get(told..).and_then(|rest| rest.find(['*', '?', '[', '{'])).map(|wild| told + wild);
            let before = wild.map(|wild| name.get(..wild).unwrap_or_default());
            let name = match before {
                Some(before) => before.rfind('/').map_or(".", |end| before.get(..=end).unwrap_or(".")),
                None => name.as_str(),
            };
            let path = through_proc(&from(name, workspace, home), workspace);
            let both = [normal(&path), real(&path)];
            places.extend(both.iter().filter_map(|path| path.to_str().map(str::to_owned)));
        }
        places.sort();
        places.dedup();
        places
    }

    /// The file that a line may name, by what it is or by what its member is called.
    fn name_of_file(&self, text: &str, in_root: bool) -> Option<String> {
        if let Some(scheme) = text.get(..FILE.len()).filter(|scheme| scheme.eq_ignore_ascii_case(FILE)) {
            let rest = text.get(scheme.len()..).unwrap_or_default();
            if !rest.starts_with('/') {
                return Some(rest.to_owned());
            }
            let address = Url::parse(text).ok()?;
            let path = address.to_file_path().unwrap_or_else(|()| PathBuf::from(address.path()));
            return path.into_os_string().into_string().ok();
        }
        let says_so =
            ["path", "file", "dir", "folder", "notebook", "source", "dest", "target", "uri", "glob"];
        let is_called = says_so.iter().any(|word| self.name.contains(word));
        let may_be = !text.is_empty() && !text.contains("://");
        let looks_like = in_root || is_called || text.contains(['/', '.']) || text.starts_with('~');
        (may_be && looks_like).then(|| text.to_owned())
    }
}

/// Where a name leads for who works in `workspace`, as it is written.
fn from(name: &str, workspace: &Path, home: &Path) -> PathBuf {
    let below = |start: &str| {
        let rest = name.strip_prefix(start)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
    };
    if let Some(rest) = ["~", "$HOME", "${HOME}"].iter().find_map(|start| below(start)) {
        return home.join(rest);
    }
    match ["$PWD", "${PWD}"].iter().find_map(|start| below(start)) {
        Some(rest) => workspace.join(rest),
        None => workspace.join(name),
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

/// How the address of a file of this machine begins.
const FILE: &str = "file:";

/// Texts of one call that are looked at.
const MOST: usize = 256;

/// Longest path, in bytes.
const PATH_BYTES: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(params: Value, expected: &[&str]) {
        let params = params.as_object().unwrap().clone();
        let (workspace, home) = (Path::new("/nowhere/work"), Path::new("/nowhere/home"));
        let found: Vec<String> =
            of(&params).iter().flat_map(|text| text.places(workspace, home, false)).collect();
        for place in expected {
            assert!(found.iter().any(|found| found == place), "{place} is not in {found:?} of {params:?}");
        }
        assert_eq!(found.is_empty(), expected.is_empty(), "{found:?} of {params:?}");
    }

    #[test]
    fn files_are_found_however_a_tool_names_them() {
        let file = "/nowhere/work/src/a.ts";
        check(json!({"path": "src/a.ts"}), &[file]);
        check(json!({"changes": {"src/a.ts": {"type": "delete"}}}), &[file]);
        check(json!({"edits": "{\"src/a.ts\": \"x\"}"}), &[file]);
        check(json!({"patch": "*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** End Patch"}), &[file]);
        check(json!({"diff": "--- a/src/a.ts\n+++ b/src/a.ts\n@@ -1 +1 @@\n-a\n+b\n"}), &[file]);
        check(json!({"uri": "file:///nowhere/work/src/a.ts"}), &[file]);
        check(json!({"uri": "FILE://localhost/nowhere/work/%73rc/a.ts"}), &[file]);
        check(json!({"uri": "file:/nowhere/work/src/../src/a.ts"}), &[file]);
        check(json!({"file": "/proc/self/cwd/src/a.ts"}), &[file]);
        check(json!({"file": "~/x"}), &["/nowhere/home/x"]);
        check(json!({"uri": "file:src/a.ts"}), &[file]);
        check(json!({"location": "$PWD/src/a.ts"}), &[file]);
        check(json!({"location": "${HOME}/x"}), &["/nowhere/home/x"]);
        check(json!({"paths": "b.ts,src/a.ts"}), &[file, "/nowhere/work/b.ts"]);
        check(json!({"paths": "b.ts src/a.ts"}), &[file, "/nowhere/work/b.ts"]);
        check(json!({"glob": "src/*/a.ts"}), &["/nowhere/work/src"]);
        check(json!({"glob": "s*/a.ts"}), &["/nowhere/work"]);
        check(json!({"code": "open('src/a.ts','w')"}), &[file]);
        let deleted = "diff --git a/src/a.ts b/src/a.ts\ndeleted file mode 100644\n";
        check(json!({"diff": deleted}), &[file]);
        check(json!({"query": "select 1", "workdir": "/nowhere/work", "n": 3}), &[]);
    }
}
