//! The tools that the gateway's callers reach, as a port: the gateway shows and calls them and knows none.

use countersign_gateway::embedded::{Heard, Listing, NotHeard, ToolError};
use countersign_protocol::tools::{ToolCall, ToolCaller, ToolOutput};
use futures_util::future::BoxFuture;
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// Whoever has tools.
///
/// All that comes through here comes from a program that holds the gateway's token, and is its own word:
/// agent, session, program, and the workspace too, which is empty where none was named. What a tool does
/// unasked in a workspace, such as reading its files, it must not do because a caller named one.
pub trait Tools: Send + Sync {
    /// The tools that a caller gets. Where it names a provider, they are declared as that
    /// provider takes them.
    fn list(&self, caller: ToolCaller) -> BoxFuture<'_, Result<Listing, ToolError>>;

    /// Calls one, through policy, hooks and people. When `gone` is cancelled nobody waits any more, and the
    /// tool is to be called off; the future is not dropped before it ends.
    fn call(&self, call: ToolCall, gone: CancellationToken) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// Whoever keeps what is said for sessions.
pub trait Sessions: Send + Sync {
    /// Takes a message to a session of an agent; what loosens waits for a person. Dropping the future takes
    /// the question back.
    fn say(&self, agent: String, session: String, text: String) -> BoxFuture<'_, Result<Heard, NotHeard>>;
}

/// A place for tools and sessions, which themselves need a gateway that is there. Clones are the same one.
#[derive(Clone, Default)]
pub(super) struct Offered {
    tools: Arc<OnceLock<Arc<dyn Tools>>>,
    sessions: Arc<OnceLock<Arc<dyn Sessions>>>,
}

impl Offered {
    /// The first ones stay.
    pub(super) fn set(&self, tools: Arc<dyn Tools>) {
        if self.tools.set(tools).is_err() {
            tracing::error!("the gateway has tools already");
        }
    }

    /// The first ones stay.
    pub(super) fn set_sessions(&self, sessions: Arc<dyn Sessions>) {
        if self.sessions.set(sessions).is_err() {
            tracing::error!("the gateway has sessions already");
        }
    }

    /// The sessions, if any are kept.
    pub(super) fn sessions(&self) -> Result<&Arc<dyn Sessions>, NotHeard> {
        self.sessions.get().ok_or_else(|| NotHeard::Unavailable("no sessions are kept here".to_owned()))
    }

    /// The tools, if there are any.
    pub(super) fn get(&self) -> Result<&Arc<dyn Tools>, ToolError> {
        self.tools.get().ok_or_else(|| ToolError::Unavailable("tools are not served here".to_owned()))
    }
}
