//! Nodes as places where commands run. The gateway that they are connected to brings them.

use countersign_protocol::gateway::node::{NodeError, NodeView, RunParams};
use countersign_protocol::socket::ExecPayload;
use countersign_routing::nodes::Candidate;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What a node's run comes to, once it ends.
pub type NodeRun<'a> = Pin<Box<dyn Future<Output = Result<ExecPayload, NodeError>> + Send + 'a>>;

/// The nodes of a gateway.
pub trait Nodes: Send + Sync {
    /// How a runner of this machine calls the gateway that brings them.
    fn gateway(&self) -> String;

    /// All that were let in, connected or not.
    fn list(&self) -> Vec<NodeView>;

    /// Runs a command on one of them, within `wait`. A node that can prepare a run is asked to first, and what runs is what it
    /// prepared. `cancel` ends the run there.
    fn run<'a>(
        &'a self,
        node: &'a str,
        params: RunParams,
        wait: Duration,
        cancel: CancellationToken,
    ) -> NodeRun<'a>;
}

pub(super) fn candidate(node: NodeView) -> Candidate {
    Candidate {
        id: node.node_id,
        name: node.display_name,
        remote_ip: node.remote_ip,
        client: node.client_id,
        platform: node.platform,
        connected: node.connected,
        // One that tells none may have any.
        caps: Some(node.caps).filter(|caps| !caps.is_empty()),
        commands: node.commands,
    }
}
