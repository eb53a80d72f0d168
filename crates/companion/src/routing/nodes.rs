//! Nodes as places where commands run.

use super::Router;
use countersign_peers::nodes::Nodes;
use countersign_protocol::gateway::node::NodeView;
use countersign_routing::Release;
use countersign_routing::nodes::{Candidate, NodeError, choose};
use std::sync::Arc;

/// A node, and the gateway that it is connected to.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) gateway: Arc<dyn Nodes>,
    pub(super) node: Candidate,
}

impl Place {
    /// The node's name, with the person's name for its gateway where that is not the app's own.
    pub(super) fn name(&self) -> String {
        let name = self.node.name.clone().unwrap_or_else(|| self.node.id.to_string());
        match self.gateway.name() {
            Some(gateway) => format!("{name} @ {gateway}"),
            None => name,
        }
    }
}

impl Router {
    /// Nodes that can be chosen, as they are now: first those of the app's own gateway.
    pub(super) async fn places(&self) -> (Vec<Place>, Vec<Place>) {
        let mut own = Vec::new();
        if let Some(gateway) = &self.inner.parts.nodes {
            own = places_of(gateway).await;
        }
        let mut others = Vec::new();
        for gateway in (self.inner.parts.fleets)() {
            others.extend(places_of(&gateway).await);
        }
        (own, others)
    }

    /// The node that is meant. Other gateways' nodes say their names and ids themselves, so one of them is
    /// meant only where none of the app's own is; and a node of ours that is away is never stood in for.
    pub(super) async fn place_of(
        &self,
        bound: Option<&str>,
        requested: Option<&str>,
    ) -> Result<Place, NodeError> {
        let (mut all, others) = self.places().await;
        let chosen = pick(&all, bound, requested);
        if others.is_empty() || !chosen.as_ref().is_err_and(is_absent) {
            return chosen;
        }
        match pick(&others, bound, requested) {
            Ok(place) => Ok(place),
            Err(error) if is_absent(&error) => {
                // What there is, in one sentence.
                all.extend(others);
                pick(&all, bound, requested)
            }
            Err(error) => Err(error),
        }
    }
}

async fn places_of(gateway: &Arc<dyn Nodes>) -> Vec<Place> {
    let nodes = gateway.list().await;
    nodes.into_iter().map(|node| Place { gateway: Arc::clone(gateway), node: candidate(node) }).collect()
}

fn pick(places: &[Place], bound: Option<&str>, requested: Option<&str>) -> Result<Place, NodeError> {
    let candidates: Vec<Candidate> = places.iter().map(|place| place.node.clone()).collect();
    let chosen = choose(&candidates, bound, requested, Release::Newest)?;
    let at = candidates.iter().position(|candidate| std::ptr::eq(candidate, chosen));
    at.and_then(|at| places.get(at)).cloned().ok_or(NodeError::Required)
}

/// Whether none is meant at all: not one too many, and not one that is away.
fn is_absent(error: &NodeError) -> bool {
    match error {
        NodeError::Unknown { .. } | NodeError::NonePaired | NodeError::NoneEligible => true,
        NodeError::Requested { source, .. } => is_absent(source),
        _ => false,
    }
}

fn candidate(node: NodeView) -> Candidate {
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
