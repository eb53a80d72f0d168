//! `write_file` and `append_file`: content as a whole, or more of it.

use super::params::{CONTENT, PATH, Params};
use super::pinned::Purpose;
use super::tool::{FileTool, changes, reading};
use super::workspace::Workspace;
use crate::changes::ChangeKind;
use crate::tool::{Output, Plan, ToolError};
use serde_json::{Value, json};

/// Writes a whole file, and makes the folders that it needs.
pub fn write_file() -> FileTool {
    let description = "Write a file beneath the workspace: its whole content. Folders are made as needed; a \
                       file that is there is replaced. A person may be asked first, and sees what differs.";
    FileTool::new("write_file", description, parameters("The whole content."), write)
}

/// Adds to the end of a file, and makes it where there is none.
pub fn append_file() -> FileTool {
    let description = "Add text to the end of a file beneath the workspace. The file is made where there is \
                       none. A person may be asked first, and sees what is added.";
    FileTool::new("append_file", description, parameters("What is added, with its own line ends."), append)
}

fn parameters(content: &str) -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": { "type": "string", "description": "The file, beneath the workspace." },
            "content": { "type": "string", "description": content },
        },
        "required": ["path", "content"],
        "additionalProperties": false,
    })
}

fn write(params: Params<'_>, workspace: Workspace) -> Result<Plan, ToolError> {
    let (path, content) = (params.required(PATH)?, params.required(CONTENT)?);
    let mut unchanged = None;
    let plan = changes(workspace, |planner| {
        let found = planner.find(path, Purpose::Replace)?;
        let kind = match &found.before {
            None => ChangeKind::Create,
            Some(_) if found.bytes == content.as_bytes() => {
                unchanged = Some(format!(
                    "{} has exactly this content already",
                    super::error::shown(&found.place.real_path)
                ));
                return Ok(());
            }
            Some(_) => ChangeKind::Overwrite,
        };
        Ok(planner.write(found, kind, content.to_owned())?)
    })?;
    // Nobody needs to be asked about nothing.
    Ok(unchanged.map_or(plan, |text| reading(move || Ok(Output { text, details: None }))))
}

fn append(params: Params<'_>, workspace: Workspace) -> Result<Plan, ToolError> {
    let (path, content) = (params.required(PATH)?, params.required(CONTENT)?);
    if content.is_empty() {
        return Err(params.wrong("`content` is empty; expected what is to be added"));
    }
    changes(workspace, |planner| {
        let found = planner.find(path, Purpose::Replace)?;
        let kind = if found.before.is_some() { ChangeKind::Append } else { ChangeKind::Create };
        let text = format!("{}{content}", found.text()?);
        Ok(planner.write(found, kind, text)?)
    })
}
