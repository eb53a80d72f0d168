//! Nodes as places where commands run.

use countersign_protocol::gateway::node::NodeView;
use countersign_routing::nodes::Candidate;

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
