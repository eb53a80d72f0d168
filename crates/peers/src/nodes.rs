//! Nodes as whoever routes commands sees them, whichever gateway they are connected to.

use countersign_protocol::gateway::ErrorShape;
use countersign_protocol::gateway::node::{NodeError, NodeView, RunParams};
use countersign_protocol::ids::NodeId;
use countersign_protocol::socket::ExecPayload;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::pin::Pin;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What a node's run comes to, once it ends.
pub type NodeRun<'a> = Pin<Box<dyn Future<Output = Result<ExecPayload, NodeError>> + Send + 'a>>;

/// What nodes there are.
pub type Listed<'a> = Pin<Box<dyn Future<Output = Vec<NodeView>> + Send + 'a>>;

/// The nodes of a gateway.
pub trait Nodes: Send + Sync {
    /// How the person calls the gateway; `None` for the app's own.
    fn name(&self) -> Option<String> {
        None
    }

    /// How a runner of this machine calls the gateway that brings them.
    fn gateway(&self) -> String;

    /// All that were let in, connected or not.
    fn list(&self) -> Listed<'_>;

    /// Runs a command on one of them, within `wait`. A node that can prepare a run is asked to first, and
    /// what runs is what it prepared. `cancel` ends the run there.
    fn run<'a>(
        &'a self,
        node: &'a NodeId,
        params: RunParams,
        wait: Duration,
        cancel: CancellationToken,
    ) -> NodeRun<'a>;
}

pub(crate) fn value(params: &impl serde::Serialize) -> Result<Value, NodeError> {
    serde_json::to_value(params).map_err(|error| NodeError::new("INVALID_REQUEST", error.to_string()))
}

/// What a node answered.
pub(crate) fn read<T: DeserializeOwned>(answer: Value) -> Result<T, NodeError> {
    serde_json::from_value(answer).map_err(|error| {
        NodeError::new("UNAVAILABLE", format!("the node's answer cannot be understood: {error}"))
    })
}

/// The node's own error, or the gateway's.
pub(crate) fn told(error: ErrorShape) -> NodeError {
    let details = error.details.as_deref();
    let of_node = details.and_then(|details| NodeError::deserialize(&details["nodeError"]).ok());
    if let Some(error) = of_node.filter(|error| error.message.is_some()) {
        return error;
    }
    let code = details.and_then(|details| details["code"].as_str()).unwrap_or(&error.code);
    NodeError::new(code, error.message.clone())
}
