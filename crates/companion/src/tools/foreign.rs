//! Tools of other agents, which they call themselves once they may: commands are judged as those that run here, changes of
//! files are shown as a diff, and of everything else a person sees the parameters.

use countersign_protocol::socket::ExecRequest;
use countersign_tools::tool::Tool;
use countersign_tools::{files, tool::Call};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a call is, as far as it is known.
pub(super) enum Foreign {
    /// A command.
    Command(Box<ExecRequest>),
    /// A change of files: a tool of ours that would do the same, and its call.
    Change(Arc<dyn Tool>, Box<Call>),
    /// Nothing that is known, with what in it a shell may get to read.
    Other {
        /// Texts.
        commands: Vec<String>,
    },
}

/// Recognises a call by its tool's name and parameters. A name alone proves nothing: parameters that do not fit make it unknown.
pub(super) fn recognise(call: &Call) -> Foreign {
    let name = call.tool.as_str();
    if COMMANDS.contains(&name) {
        return command(call).map_or_else(|| other(call), |exec| Foreign::Command(Box::new(exec)));
    }
    let found = CHANGES.iter().find(|(names, ..)| names.contains(&name));
    let Some((_, ours, params)) = found else { return other(call) };
    let Some(params) = known(&call.params, params) else { return other(call) };
    let tool = files::all().into_iter().find(|tool| tool.declaration().name == *ours);
    let Some(tool) = tool else { return other(call) };
    let mut same = call.clone();
    same.tool = (*ours).to_owned();
    // Such an agent is confined to its folder by nobody here: what it names is looked at where it is.
    if let Some(folder) = folder_of(&params, &call.workspace) {
        same.workspace = folder;
    }
    same.params = params;
    Foreign::Change(tool, Box::new(same))
}

/// A call that a person sees the parameters of. Which of these a shell gets to read nobody knows, so that they may be commands is
/// enough for rules that refuse, and never for one that allows.
fn other(call: &Call) -> Foreign {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            words.map(|words| words.join(" "))
        }
        _ => None,
    };
    let found = SHELL_TEXTS.iter().filter_map(|name| call.params.get(*name).and_then(text));
    Foreign::Other { commands: found.filter(|text| !text.trim().is_empty()).collect() }
}

/// Only parameters that are understood: one that is not might mean anything.
fn known(params: &Map<String, Value>, names: &[&str]) -> Option<Map<String, Value>> {
    params.keys().all(|name| names.contains(&name.as_str())).then(|| params.clone())
}

/// The folder of a single absolute path that is not in the workspace.
fn folder_of(params: &Map<String, Value>, workspace: &Path) -> Option<PathBuf> {
    let path = ["file_path", "path"].iter().find_map(|name| params.get(*name)?.as_str())?;
    let path = Path::new(path);
    let is_elsewhere = path.is_absolute() && !path.starts_with(workspace);
    // The nearest folder that is there: what is to be made may be below folders that are to be made too.
    is_elsewhere.then(|| path.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_owned))?
}

fn command(call: &Call) -> Option<ExecRequest> {
    let params = &call.params;
    let folder = ["workdir", "directory", "cwd", "dir_path"].iter().find_map(|name| params.get(*name));
    let folder = match folder {
        None | Some(Value::Null) => call.workspace.clone(),
        Some(folder) => call.workspace.join(folder.as_str()?),
    };
    let argv = match params.get("command").or_else(|| params.get("cmd"))? {
        // Which shell it will be is the agent's business: what is understood of a text means the same to each.
        Value::String(text) if !text.trim().is_empty() => {
            vec!["sh".to_owned(), "-c".to_owned(), text.clone()]
        }
        Value::Array(words) if !words.is_empty() => {
            words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?
        }
        _ => return None,
    };
    Some(ExecRequest {
        command: argv,
        cwd: Some(folder.to_str()?.to_owned()),
        agent_id: Some(call.caller.agent.clone().into()),
        session_key: call.caller.session.clone().map(Into::into),
        approval_timeout_ms: call.caller.approval_wait.and_then(|wait| u64::try_from(wait.as_millis()).ok()),
        ..ExecRequest::default()
    })
}

/// What agents call the tool that runs a text in a shell.
const COMMANDS: &[&str] = &[
    "Bash",
    "Monitor",
    "bash",
    "exec",
    "exec_command",
    "local_shell",
    "run_shell_command",
    "shell",
    "shell_command",
];

/// What tools call a parameter that a shell or an interpreter gets to read: for an agent's that write to a terminal, `chars`.
const SHELL_TEXTS: [&str; 5] = ["chars", "cmd", "command", "commands", "script"];

/// What agents call the tools that change files, ours that do the same, and every parameter that these understand.
const CHANGES: &[(&[&str], &str, &[&str])] = &[
    (&["Write", "write_file"], "write_file", &["file_path", "path", "content"]),
    (
        &["Edit", "edit_file", "replace"],
        "edit_file",
        // `instruction` is what Gemini CLI tells itself that the edit is for.
        &[
            "file_path",
            "path",
            "old_string",
            "new_string",
            "replace_all",
            "old_text",
            "new_text",
            "instruction",
        ],
    ),
    (&["MultiEdit"], "edit_file", &["file_path", "path", "edits"]),
    (&["append_file"], "append_file", &["file_path", "path", "content"]),
    (&["apply_patch"], "apply_patch", &["input", "patch"]),
];
