//! `apply_patch`: changes of several files in one text, in the format that OpenAI's models write.
//!
//! Stricter than its author's own tool, which guesses where a text does not fit: here spaces, quotes and
//! dashes have to be the file's, each place has to be the only one, a file that is added must not be there,
//! and a file that is moved must not replace another. What cannot be told is refused, and all files of a
//! patch are changed or none.

mod fit;
mod in_command;
mod parse;

pub use fit::{Misfit, fit};
pub use in_command::{InCommand, in_command};
pub use parse::{Chunk, FilePatch, ParseError, Patch, PatchLine, parse};

use super::error::FileError;
use super::params::{PATCH, Params};
use super::pinned::Purpose;
use super::planned::Planner;
use super::tool::{FileTool, changes};
use super::workspace::Workspace;
use crate::changes::ChangeKind;
use crate::tool::{Plan, ToolError};
use serde_json::json;

/// Adds, changes, moves and deletes files by one patch.
pub fn apply_patch() -> FileTool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "input": {
                "type": "string",
                "description": "The patch, from *** Begin Patch to *** End Patch.",
            },
        },
        "required": ["input"],
        "additionalProperties": false,
    });
    let description = "Change several files beneath the workspace by one patch: *** Begin Patch, then for each \
                       file *** Add File: PATH with + lines, *** Delete File: PATH, or *** Update File: PATH, \
                       maybe *** Move to: PATH, and chunks of @@ with lines that start with a space, - or +; at last \
                       *** End Patch. Unchanged and removed lines must be in the file exactly so, in one place \
                       only. A person may be asked first, and sees what differs.";
    FileTool::new("apply_patch", description, parameters, plan)
}

fn plan(params: Params<'_>, workspace: Workspace) -> Result<Plan, ToolError> {
    let patch = parse(params.required(PATCH)?).map_err(|error| params.wrong(error.to_string()))?;
    changes(workspace, |planner| {
        for file in patch.files {
            plan_file(planner, file)?;
        }
        Ok(())
    })
}

fn plan_file(planner: &mut Planner<'_>, file: FilePatch) -> Result<(), FileError> {
    match file {
        FilePatch::Add { path, lines } => {
            let text = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
            let found = planner.find_free(&path)?;
            planner.write(found, ChangeKind::Create, text)
        }
        FilePatch::Delete { path } => {
            let found = planner.find_existing(&path, Purpose::Remove)?;
            planner.remove(found)
        }
        FilePatch::Update { path, to, chunks } => {
            let found = planner.find_existing(&path, Purpose::Replace)?;
            let text = match chunks.as_slice() {
                [] => None,
                chunks => {
                    let text = fit(found.text()?, chunks)
                        .map_err(|misfit| FileError::content(&found.place.real_path, misfit.to_string()))?;
                    Some(text)
                }
            };
            match (to, text) {
                (Some(to), text) => {
                    let free = planner.find_free(&to)?;
                    planner.relocate(found, free, text)
                }
                (None, Some(text)) if text.as_bytes() != found.bytes => {
                    planner.write(found, ChangeKind::Edit, text)
                }
                (None, _) => {
                    Err(FileError::content(&found.place.real_path, "the patch changes nothing in it"))
                }
            }
        }
    }
}
