//! Nodes of other gateways as places where commands of this machine run, where the person lets the
//! app route there.
//!
//! The person is asked here first, as for any node. There the node's own policy decides: nothing that was
//! answered here is claimed at the other gateway, which would have to believe it.

use super::Connections;
use super::onward::Onward;
use crate::nodes::{Listed, NodeRun, Nodes, read, told, value};
use countersign_core::identity::gateway_name;
use countersign_gateway::client::{Address, Answers, CallError, Live};
use countersign_policy::display;
use countersign_protocol::gateway::node::{InvokeParams, NodeError, NodeView, RunParams, command};
use countersign_protocol::ids::NodeId;
use countersign_protocol::socket::ExecPayload;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// The nodes of one connected gateway.
struct Fleet {
    /// As a runner of this machine calls the gateway.
    address: String,
    /// As the person does, without what could not be read.
    name: String,
    onward: Onward,
}

impl Connections {
    /// The nodes of each connected gateway that the person lets this app route to.
    pub fn fleets(&self) -> Vec<Arc<dyn Nodes>> {
        let all = self.list.map(|gateway, running| {
            let onward = running.filter(|_| gateway.runs_on_nodes)?.onward.clone();
            onward.live()?;
            let address = Address::parse(&gateway.url).ok()?;
            let name = display::escape(&gateway.name);
            Some(Arc::new(Fleet { address: gateway_name(&address), name, onward }) as Arc<dyn Nodes>)
        });
        all.into_iter().flatten().collect()
    }
}

impl Nodes for Fleet {
    fn gateway(&self) -> String {
        self.address.clone()
    }

    fn name(&self) -> Option<String> {
        Some(self.name.clone())
    }

    fn list(&self) -> Listed<'_> {
        Box::pin(async move {
            let Some(live) = self.onward.live() else { return Vec::new() };
            match live.call_within("node.list", json!({}), Answers::One, LIST_WAIT).await {
                Ok(answer) => views(&answer),
                Err(error) => {
                    tracing::warn!(%error, gateway = self.name, "the nodes of a gateway are not known");
                    Vec::new()
                }
            }
        })
    }

    fn run<'a>(
        &'a self,
        node: &'a NodeId,
        params: RunParams,
        wait: Duration,
        cancel: CancellationToken,
    ) -> NodeRun<'a> {
        Box::pin(async move {
            let gone = || NodeError::new("UNAVAILABLE", "the gateway is not connected");
            let live = self.onward.live().ok_or_else(gone)?;
            tokio::select! {
                ended = invoke(&live, node, params, wait) => ended,
                () = cancel.cancelled() => Err(NodeError::new("UNAVAILABLE", "cancelled")),
            }
        })
    }
}

async fn invoke(
    live: &Live,
    node: &NodeId,
    params: RunParams,
    wait: Duration,
) -> Result<ExecPayload, NodeError> {
    let params = RunParams {
        approved: None,
        approval_decision: None,
        approval_source: None,
        // Sessions of ours are none of theirs: what a run came to is not for whoever has one of
        // that name there.
        session_key: None,
        suppress_notify_on_exit: Some(true),
        ..params
    };
    let order = InvokeParams {
        node_id: node.to_owned().into(),
        command: command::RUN.to_owned(),
        session_key: None,
        params: Some(value(&params)?),
        timeout_ms: Some(i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)),
        idempotency_key: Uuid::new_v4().to_string(),
    };
    // The gateway tells first when the time is over.
    let answer = live.call_within("node.invoke", value(&order)?, Answers::One, wait + MARGIN).await;
    let mut answer = answer.map_err(|error| match error {
        CallError::Refused(shape) => told(shape),
        other => NodeError::new("UNAVAILABLE", other.to_string()),
    })?;
    match answer["payloadJSON"].as_str() {
        Some(text) if answer["payload"].is_null() => read(serde_json::from_str(text).unwrap_or_default()),
        Some(_) | None => read(answer["payload"].take()),
    }
}

/// Those that can be understood.
fn views(answer: &Value) -> Vec<NodeView> {
    let all = answer["nodes"].as_array().into_iter().flatten().take(MAX_NODES);
    all.filter_map(|node| serde_json::from_value(node.clone()).ok()).collect()
}

/// How long a gateway may take to tell its nodes: a command waits for it.
const LIST_WAIT: Duration = Duration::from_secs(5);

/// What the way there and back may take beyond the wait.
const MARGIN: Duration = Duration::from_secs(5);

/// Nodes of a gateway that are looked at: far more than anybody has.
const MAX_NODES: usize = 1_024;
