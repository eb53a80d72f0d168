//! Which tools a client is offered: those that the app names, or while it does not run, those that there are;
//! then the client hears when it does.

use countersign_companion::control::{self, ControlError};
use countersign_protocol::control::ControlRequest;
use countersign_protocol::tools::{ToolCaller, ToolView};
use countersign_tools::tool::Declaration;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What the tools are called that a client sees before there is an app to say what is left of them.
pub(super) fn without_app() -> Vec<ToolView> {
    let view = |Declaration { name, description, parameters }| ToolView { name, description, parameters };
    countersign_tools::declared().into_iter().map(view).collect()
}

/// As the protocol has them. Clients take a list with one schema of another root for no list at all.
pub(super) fn tool(view: ToolView) -> Tool {
    let mut schema = match view.parameters {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    schema.insert("type".to_owned(), Value::String("object".to_owned()));
    let annotations = annotations(&view.name);
    let tool = Tool::new(view.name, view.description, schema);
    match annotations {
        Some(annotations) => tool.with_annotations(annotations),
        None => tool,
    }
}

/// What a client may know of a tool before it calls it: whether it only reads, whether it can destroy
/// something, whether it reaches beyond this machine. Hints for the client's own questions; nothing
/// here goes by them.
fn annotations(name: &str) -> Option<ToolAnnotations> {
    let hints = ToolAnnotations::new();
    Some(match name {
        "read_file" => hints.read_only(true).open_world(false),
        "write_file" | "edit_file" | "append_file" | "apply_patch" => {
            hints.read_only(false).destructive(true).open_world(false)
        }
        "process" => hints.read_only(false).destructive(false).open_world(false),
        "exec" | "subagent" | "spawn" => hints.read_only(false).destructive(true).open_world(true),
        _ => return None,
    })
}

/// Waits for an app that was not there, and tells the client once that its list is another one.
#[derive(Clone, Default)]
pub(super) struct Waiting(Arc<AtomicBool>);

impl Waiting {
    /// Looks from now on, until the app or the end of the client comes.
    pub(super) fn start(&self, control: PathBuf, caller: ToolCaller, peer: Peer<RoleServer>) {
        if self.0.swap(true, Ordering::Relaxed) {
            return;
        }
        let waiting = self.clone();
        tokio::spawn(async move {
            let request = ControlRequest::Tools { caller };
            while !peer.is_transport_closed() {
                match control::call(&control, &request, ANSWER_WAIT).await {
                    Err(ControlError::NotRunning) => tokio::time::sleep(LOOK_EVERY).await,
                    _ => {
                        // Who has gone does not hear it.
                        let _ = peer.notify_tool_list_changed().await;
                        break;
                    }
                }
            }
            waiting.0.store(false, Ordering::Relaxed);
        });
    }
}

/// Between two looks for the app: a socket that is not there costs nothing.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How long the app may take to say which tools there are.
const ANSWER_WAIT: Duration = Duration::from_secs(10);
