//! What a person is told of another agent's command besides the command: who asks below that agent, whether
//! it goes on in the background, and what a patch in its text would change. Nothing of it decides anything.

use countersign_approvals::question::Beside;
use countersign_protocol::change::ChangeView;
use countersign_protocol::socket::ExecRequest;
use countersign_questions::tools as questions;
use countersign_tools::files::{self, patch};
use countersign_tools::tool::{Call, Preview, Tool as _};
use serde_json::{Map, Value};
use std::path::PathBuf;

/// What is known of `exec`, which a person may be asked about for `call`. Reads the files that a patch names.
pub(super) async fn of(call: &Call, exec: &ExecRequest) -> Beside {
    Beside {
        sub_agent: call.caller.sub_agent.clone(),
        background: BACKGROUND.iter().any(|name| call.params.get(*name) == Some(&Value::Bool(true))),
        changes: changes(call, exec).await.unwrap_or_default(),
    }
}

/// What the patch in a command would change, where it is nothing but a patch, fits, and can be shown whole.
/// Else the text has to do: it is shown in any case.
async fn changes(call: &Call, exec: &ExecRequest) -> Option<Vec<ChangeView>> {
    let found = patch::in_command(&exec.command)?;
    let folder = PathBuf::from(exec.cwd.as_deref()?);
    let workspace = found.folder.map_or_else(|| folder.clone(), |below| folder.join(below));
    let params = Map::from_iter([("input".to_owned(), Value::String(found.text.to_owned()))]);
    let tool = files::apply_patch();
    let same = Call { tool: tool.declaration().name.clone(), params, workspace, ..call.clone() };
    let Preview::Changes(changes) = tool.plan(&same).await.ok()?.preview else { return None };
    let is_whole = changes.iter().all(files::FileChange::is_complete);
    is_whole.then(|| questions::changes_view(&changes, &call.workspace))
}

/// What agents call the parameter of a command that they do not wait for.
const BACKGROUND: [&str; 2] = ["run_in_background", "is_background"];
