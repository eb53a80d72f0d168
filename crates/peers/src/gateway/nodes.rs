//! The nodes of the app's own gateway, for the app's own runs.

use super::app::EmbeddedGateway;
use super::backend::GatewayBackend;
use crate::nodes::{Listed, NodeRun, Nodes, read, told, value};
use countersign_gateway::embedded::Embedded;
use countersign_protocol::gateway::approval::Plan;
use countersign_protocol::gateway::node::{
    InvokeParams, NodeError, NodeView, PrepareParams, RunParams, command,
};
use countersign_protocol::ids::NodeId;
use countersign_protocol::socket::ExecPayload;
use countersign_protocol::vocabulary::Decision;
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

impl EmbeddedGateway {
    /// Nodes that are connected or were let in; none while the gateway was never there. All but the id
    /// is their own word.
    pub fn nodes(&self) -> Vec<NodeView> {
        self.embedded().map(|gateway| gateway.nodes()).unwrap_or_default()
    }

    /// Runs a command on a node and waits for its end, `wait` at most. A node that can prepare a run is asked
    /// to first, and what runs is what it prepared. `allowed` is what a person decided about this run in this
    /// very program; without it the node's policy decides, whatever `params` say. Dropping the future
    /// gives the run up.
    pub async fn run_on_node(
        &self,
        node_id: &NodeId,
        params: RunParams,
        allowed: Option<Decision>,
        wait: Duration,
    ) -> Result<ExecPayload, NodeError> {
        let gateway = self.embedded();
        let gateway = gateway.ok_or_else(|| NodeError::new("UNAVAILABLE", "the app's own gateway is off"))?;
        run(&gateway, node_id, params, allowed, wait).await
    }
}

impl Nodes for EmbeddedGateway {
    fn gateway(&self) -> String {
        self.name()
    }

    fn list(&self) -> Listed<'_> {
        Box::pin(async move { self.nodes() })
    }

    fn run<'a>(
        &'a self,
        node: &'a NodeId,
        params: RunParams,
        wait: Duration,
        cancel: CancellationToken,
    ) -> NodeRun<'a> {
        // Of this very program: what a person answered to it.
        let allowed = params.approval_decision.as_deref().and_then(Decision::from_word);
        let allowed = allowed.filter(|decision| decision.allows() && params.approved == Some(true));
        Box::pin(async move {
            tokio::select! {
                ended = self.run_on_node(node, params, allowed, wait) => ended,
                () = cancel.cancelled() => Err(NodeError::new("UNAVAILABLE", "cancelled")),
            }
        })
    }
}

/// As [`EmbeddedGateway::run_on_node`].
pub(super) async fn run(
    gateway: &Embedded<GatewayBackend>,
    node_id: &NodeId,
    params: RunParams,
    allowed: Option<Decision>,
    wait: Duration,
) -> Result<ExecPayload, NodeError> {
    let node = gateway.nodes().into_iter().find(|node| node.node_id == *node_id && node.connected);
    let node = node.ok_or_else(|| NodeError::new("NOT_CONNECTED", "node not connected"))?;
    let until = Instant::now() + wait;
    let order = |command: &str, params: Value| {
        let left = until.saturating_duration_since(Instant::now()).max(SHORTEST).as_millis();
        InvokeParams {
            node_id: node_id.to_owned().into(),
            command: command.to_owned(),
            session_key: params["sessionKey"].as_str().map(str::to_owned),
            params: Some(params),
            timeout_ms: Some(i64::try_from(left).unwrap_or(i64::MAX)),
            idempotency_key: Uuid::new_v4().to_string(),
        }
    };
    let prepares = node.commands.iter().any(|command| command == command::PREPARE);
    let mut params = RunParams { approved: None, approval_decision: None, approval_source: None, ..params };
    if prepares {
        let wanted = PrepareParams {
            command: params.command.clone(),
            raw_command: params.raw_command.clone(),
            cwd: params.cwd.clone(),
            agent_id: params.agent_id.clone(),
            session_key: params.session_key.clone(),
            env: params.env.clone(),
            security: None,
            ask: None,
        };
        let prepared = gateway.invoke(order(command::PREPARE, value(&wanted)?)).await.map_err(told)?;
        let PreparedPlan { plan } = read(prepared)?;
        // A program may be named by where it is found. What it is told to do is what was asked for.
        let is_same =
            plan.argv.len() == params.command.len() && plan.argv.get(1..) == params.command.get(1..);
        if plan.argv.is_empty() || !is_same {
            let text = "expected the node to prepare the command that it was told, got another one";
            return Err(NodeError::new("INVALID_REQUEST", text));
        }
        params = RunParams {
            command: plan.argv.clone(),
            raw_command: Some(plan.command_text.clone()).filter(|text| !text.is_empty()),
            cwd: plan.cwd.clone().or(params.cwd),
            system_run_plan: Some(plan),
            ..params
        };
    }
    let order = order(command::RUN, value(&params)?);
    let ended = match allowed {
        Some(decision) => gateway.invoke_allowed(order, decision).await,
        None => gateway.invoke(order).await,
    };
    read(ended.map_err(told)?)
}

/// What of an answer to [`command::PREPARE`] every release has.
#[derive(Deserialize)]
struct PreparedPlan {
    plan: Plan,
}

/// Least time that a node is given, so that one who has none left hears that from the gateway.
const SHORTEST: Duration = Duration::from_millis(1);
