//! The tools that the gateway's callers reach, as a port: the gateway shows and calls them and knows none.

use countersign_gateway::embedded::{Listing, ToolError};
use countersign_protocol::tools::{ToolCall, ToolCaller, ToolOutput};
use futures_util::future::BoxFuture;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// Whoever has tools.
///
/// All that comes through here comes from a program that holds the gateway's token, and is its own word: agent, session,
/// program, and the workspace too, which is empty where none was named. What a tool does unasked in a workspace, such as
/// reading its files, it must not do because a caller named one.
pub trait Tools: Send + Sync {
    /// The tools that a caller gets. Where it names a provider, they are declared as that provider takes them.
    fn list(&self, caller: ToolCaller) -> BoxFuture<'_, Result<Listing, ToolError>>;

    /// Calls one, through policy, hooks and people. When `gone` is cancelled nobody waits any more, and the tool is to be
    /// called off; the future is not dropped before it ends.
    fn call(&self, call: ToolCall, gone: CancellationToken) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// A place for the tools, which themselves need a gateway that is there. Clones are the same one.
#[derive(Clone, Default)]
pub(super) struct Offered(Arc<OnceLock<Arc<dyn Tools>>>);

impl Offered {
    /// The first ones stay.
    pub(super) fn set(&self, tools: Arc<dyn Tools>) {
        if self.0.set(tools).is_err() {
            tracing::error!("the gateway has tools already");
        }
    }

    /// The tools, if there are any.
    pub(super) fn get(&self) -> Result<&Arc<dyn Tools>, ToolError> {
        self.0.get().ok_or_else(|| ToolError::Unavailable("tools are not served here".to_owned()))
    }
}
