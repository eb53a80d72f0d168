//! Nodes over the gateway: listing them, and telling one to do something (docs/protocol/nodes.md, "Calls").

use super::binding::text;
use super::connection::Call;
use super::forwarding::{self, Asker, Grant, Granted, Wanted};
use super::nodes::NotTold;
use super::params::Params;
use super::{Backend, Gateway, Use};
use crate::access::{OperatorMethod, Role, Scope};
use crate::session::Client;
use countersign_protocol::gateway::node::{
    InvokeCancel, InvokeParams, InvokeRequest, InvokeResult, NodeError, NodeView, command, event,
};
use countersign_protocol::gateway::{ErrorShape, Event, Frame};
use countersign_protocol::ids::NodeId;
use countersign_protocol::vocabulary::Decision;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// How long a node may take when nobody says otherwise (docs/protocol/nodes.md, "Calls").
const DEFAULT_WAIT: Duration = Duration::from_secs(30);

/// Longest wait, also for callers that name no end: whatever takes longer than a day is no answer to a call.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Pauses before a node that is not ready yet is told again, as the peers take them: then it says so.
const READINESS_PAUSES: [Duration; 4] = [
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_millis(1_000),
];

/// A node's error before it has started anything.
const NOT_READY: &str = "NODE_NOT_READY";

/// The version of the protocol that knows [`event::CANCEL`].
const CANCEL_SINCE: u32 = 4;

/// What is passed to a node.
struct Order {
    node_id: NodeId,
    command: String,
    params: Value,
    deadline: Option<Instant>,
    idempotency_key: Option<String>,
    session_key: Option<String>,
}

/// By what a run may count as approved.
#[derive(Clone, Copy)]
pub(super) enum Allowed<'a> {
    /// By an approval of this gateway that this one asked for.
    ByRecord(Asker<'a>),
    /// By what a person decided in the very program that the gateway belongs to.
    Here(Decision),
}

/// The nodes that are connected.
pub(super) fn list<B: Backend>(call: &Call<B>) -> Value {
    json!({ "ts": call.gateway.backend.now_ms(), "nodes": call.gateway.node_views() })
}

/// One of them.
pub(super) fn describe<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let id = params.text("nodeId")?;
    let node = call.gateway.node_views().into_iter().find(|node| node.node_id == id);
    let node = node.ok_or_else(|| ErrorShape::invalid("unknown nodeId"))?;
    let mut shown = serde_json::to_value(node).unwrap_or_default();
    shown["ts"] = call.gateway.backend.now_ms().into();
    Ok(shown)
}

/// Has a node do something for an operator.
pub(super) async fn answer<B: Backend>(call: &Call<B>, params: Value) -> Result<Value, ErrorShape> {
    let params = read(OperatorMethod::NodeInvoke.as_str(), params)?;
    let by = super::approvals::requester(call);
    let asker = Asker { by: &by, may_approve: call.client.may(Scope::Approvals) };
    tokio::select! {
        answer = invoke(&call.gateway, Allowed::ByRecord(asker), params, &call.gone) => answer,
        // Dropping the call took it back at the node.
        () = call.gone.cancelled() => Err(ErrorShape::unavailable("the caller is gone")),
    }
}

/// Tells a node to do something and waits for what comes of it. Dropping the future takes it
/// back at the node.
pub(super) async fn invoke<B: Backend>(
    gateway: &Arc<Gateway<B>>,
    allowed_by: Allowed<'_>,
    params: InvokeParams,
    gone: &CancellationToken,
) -> Result<Value, ErrorShape> {
    let InvokeParams { node_id, command, params, timeout_ms, idempotency_key, session_key } = params;
    for (name, given) in [("nodeId", &node_id), ("command", &command), ("idempotencyKey", &idempotency_key)] {
        if given.is_empty() {
            return Err(invalid("node.invoke", &format!("must have required property '{name}'")));
        }
    }
    let (node_id, command) = (NodeId::from(node_id.trim()), command.trim().to_owned());
    if node_id.is_empty() || command.is_empty() {
        return Err(ErrorShape::invalid("nodeId and command required"));
    }
    if [command::POLICY_GET, command::POLICY_SET].contains(&command.as_str()) {
        let text = "node.invoke does not allow system.execApprovals.*; use exec.approvals.node.*";
        return Err(ErrorShape::invalid(text).with(json!({ "command": command })));
    }
    let deadline = match timeout_ms.unwrap_or_else(|| millis(DEFAULT_WAIT)) {
        0 => None,
        given @ 1.. => {
            Some(Instant::now() + Duration::from_millis(given.min(millis(MAX_WAIT)).unsigned_abs()))
        }
        given => {
            let why = format!("at /timeoutMs: expected 0 or more, got {given}");
            return Err(invalid("node.invoke", &why));
        }
    };
    let node = gateway.node(&node_id).ok_or_else(|| {
        let error = NodeError::new("NOT_CONNECTED", "node not connected");
        failed_before("node not connected", json!({ "code": "NOT_CONNECTED", "nodeError": error }))
    })?;
    allowed(&node, &command)?;
    let params = match (command.as_str(), params.unwrap_or(Value::Null)) {
        (command::RUN, params) => {
            let mut params = checked(gateway, allowed_by, &node_id, params, gone).await?;
            // What the node tells of the run is matched by it.
            if text(params.get("runId").and_then(Value::as_str)).is_none() {
                params.insert("runId".to_owned(), Uuid::new_v4().to_string().into());
            }
            params.into()
        }
        (_, params) => params,
    };
    let session_key = text(session_key.as_deref());
    let idempotency_key = Some(idempotency_key);
    let order = Order { node_id, command, params, deadline, idempotency_key, session_key };
    let result = tell(gateway, &node, &order).await?;
    let (payload, payload_json) = payload(result);
    let Order { node_id, command, .. } = order;
    Ok(json!({
        "ok": true, "nodeId": node_id, "command": command, "payload": payload, "payloadJSON": payload_json,
    }))
}

/// A node's approvals document (docs/protocol/document.md, "Over a gateway"); `params` as its own command
/// takes them.
pub(super) async fn policy<B: Backend>(
    gateway: &Arc<Gateway<B>>,
    node_id: &NodeId,
    command: &'static str,
    params: Value,
) -> Result<Value, ErrorShape> {
    let node = gateway.node(node_id).ok_or_else(|| {
        let error = NodeError::new("NOT_CONNECTED", "node not connected");
        failed_before("NOT_CONNECTED: node not connected", json!({ "nodeError": error }))
    })?;
    allowed(&node, command)?;
    let order = Order {
        node_id: node_id.to_owned(),
        command: command.to_owned(),
        params,
        deadline: Some(Instant::now() + DEFAULT_WAIT),
        idempotency_key: None,
        session_key: None,
    };
    let (mut document, _) = payload(tell(gateway, &node, &order).await?);
    // Whatever a node tells: its socket's token is nobody's.
    if let Some(socket) = document.pointer_mut("/file/socket").and_then(Value::as_object_mut) {
        socket.retain(|name, _| name == "path");
    }
    Ok(document)
}

/// Whether the node takes a command that may be passed on at all.
fn allowed(node: &Client, command: &str) -> Result<(), ErrorShape> {
    let (reason, why) = match command::ALL.contains(&command) {
        false => ("command not allowlisted", format!("this gateway passes {command:?} to no node")),
        true if node.commands.contains(&command) => return Ok(()),
        true if node.commands.is_empty() => {
            let why = "the node declared no command that this gateway passes on";
            ("node did not declare commands", why.to_owned())
        }
        true => {
            ("command not declared by node", format!("the node did not declare that it takes {command:?}"))
        }
    };
    let details = json!({ "reason": reason, "command": command });
    Err(ErrorShape::invalid(format!("node command not allowed: {why}")).with(details))
}

/// What of the parameters of a run may reach the node; what was allowed once is used up with that.
async fn checked<B: Backend>(
    gateway: &Gateway<B>,
    allowed_by: Allowed<'_>,
    node_id: &NodeId,
    params: Value,
    gone: &CancellationToken,
) -> Result<Map<String, Value>, ErrorShape> {
    let backend = &gateway.backend;
    let agree = |argv: &[String], raw: Option<&str>| backend.agreed(argv, raw);
    let asker = match allowed_by {
        Allowed::ByRecord(asker) => asker,
        Allowed::Here(decision) => return forwarding::allowed(params, decision, &agree),
    };
    let claim = match forwarding::read(params, &agree)? {
        Wanted::Plain(params) => return Ok(params),
        Wanted::Approved(claim) => claim,
    };
    let Some(record) = backend.find(claim.run_id()).await else { return Err(claim.unknown()) };
    let granted = claim.check(&record, asker, node_id, &agree, backend.steady_ms())?;
    let Granted { run_id, grant, .. } = &granted;
    let counts = match grant {
        Grant::Once => backend.consume(run_id, Use::AllowOnce).await,
        Grant::Always => true,
        Grant::Fallback => backend.consume(run_id, Use::AskFallback).await,
    };
    if !counts {
        return Err(forwarding::required(run_id));
    }
    // What it was allowed for may have ended meanwhile.
    if gone.is_cancelled() || backend.find(run_id).await.is_none() {
        return Err(forwarding::closed(run_id));
    }
    Ok(granted.params())
}

/// Passes an order to the very connection that was looked at, and waits for the answer. One that is not
/// ready is told again.
async fn tell<B: Backend>(
    gateway: &Arc<Gateway<B>>,
    node: &Arc<Client>,
    order: &Order,
) -> Result<InvokeResult, ErrorShape> {
    let mut pauses = READINESS_PAUSES.into_iter();
    loop {
        let result = tell_once(gateway, node, order).await?;
        let code = result.error.as_ref().and_then(|error| error.code.as_deref());
        match pauses.next().filter(|_| !result.ok && code == Some(NOT_READY)) {
            Some(pause) => tokio::time::sleep(pause).await,
            None if result.ok => return Ok(result),
            None => return Err(failed(result.error)),
        }
    }
}

async fn tell_once<B: Backend>(
    gateway: &Arc<Gateway<B>>,
    node: &Arc<Client>,
    order: &Order,
) -> Result<InvokeResult, ErrorShape> {
    let invoke_id = Uuid::new_v4().to_string();
    let now = Instant::now();
    let until = order.deadline.unwrap_or(now + MAX_WAIT);
    let left = until.saturating_duration_since(now);
    if left.is_zero() {
        return Err(failed(Some(timed_out())));
    }
    let answer = {
        let mut nodes = gateway.nodes();
        let run = match order.command.as_str() {
            command::RUN => nodes.runs(&node.conn_id, &order.params, gateway.backend.steady_ms()),
            _ => None,
        };
        nodes.begin(&invoke_id, node, &order.command, run).map_err(not_told)?
    };
    let waiting = Waiting { gateway, node, node_id: &order.node_id, invoke_id: &invoke_id };
    let request = InvokeRequest {
        id: invoke_id.clone(),
        node_id: order.node_id.clone(),
        command: order.command.clone(),
        params_json: (!order.params.is_null()).then(|| order.params.to_string()),
        params: None,
        timeout_ms: order.deadline.map(|_| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
        idempotency_key: order.idempotency_key.clone(),
        session_key: order.session_key.clone(),
    };
    gateway.send(&node.conn_id, event::INVOKE, &request);
    match tokio::time::timeout_at(until, answer).await {
        Ok(Ok(result)) => Ok(result),
        // Its end was not told: it is gone with the registry.
        Ok(Err(_)) => Err(not_told(NotTold::Gone)),
        Err(_) => {
            drop(waiting);
            Err(failed(Some(timed_out())))
        }
    }
}

/// Somebody waits for a node's answer. When nobody does any more, the node is told.
struct Waiting<'a, B: Backend> {
    gateway: &'a Gateway<B>,
    node: &'a Client,
    node_id: &'a NodeId,
    invoke_id: &'a str,
}

impl<B: Backend> Drop for Waiting<'_, B> {
    fn drop(&mut self) {
        let still_waits = self.gateway.nodes().forget(self.invoke_id, self.gateway.backend.steady_ms());
        if still_waits && self.node.protocol >= CANCEL_SINCE {
            let cancel =
                InvokeCancel { invoke_id: self.invoke_id.to_owned(), node_id: self.node_id.to_owned() };
            self.gateway.send(&self.node.conn_id, event::CANCEL, &cancel);
        }
    }
}

/// What came of it, and its text where there was one.
fn payload(result: InvokeResult) -> (Value, Option<String>) {
    let text = result.payload_json.filter(|text| !text.is_empty());
    let payload = match &text {
        Some(text) => serde_json::from_str(text).unwrap_or_else(|_| json!({ "payloadJSON": text })),
        None => result.payload.unwrap_or_default(),
    };
    (payload, text)
}

pub(super) fn read<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, ErrorShape> {
    let params = if params.is_null() { json!({}) } else { params };
    serde_json::from_value(params).map_err(|error| invalid(method, &error.to_string()))
}

pub(super) fn invalid(method: &str, why: &str) -> ErrorShape {
    ErrorShape::invalid(format!("invalid {method} params: {why}"))
}

fn millis(wait: Duration) -> i64 {
    i64::try_from(wait.as_millis()).unwrap_or(i64::MAX)
}

fn timed_out() -> NodeError {
    NodeError::new("TIMEOUT", "node invoke timed out")
}

/// The node said no, or nothing.
fn failed(error: Option<NodeError>) -> ErrorShape {
    let said = error.clone().unwrap_or_default();
    let message = text(said.message.as_deref()).unwrap_or_else(|| "node invoke failed".to_owned());
    let text = match text(said.code.as_deref()) {
        // Nodes say it themselves in what people read.
        Some(code) if !message.starts_with(&code) => format!("{code}: {message}"),
        Some(_) | None => message,
    };
    ErrorShape::unavailable(text).with(json!({ "nodeError": error, "nodeCommandDispatched": true }))
}

fn not_told(why: NotTold) -> ErrorShape {
    let (text, code) = match why {
        NotTold::Gone => ("node connection changed before dispatch", "ROUTE_CHANGED"),
        NotTold::Full => ("too many calls of nodes are under way", "TOO_MANY_INVOKES"),
    };
    let mut error = failed_before(text, json!({ "code": code }));
    error.retryable = Some(true);
    error
}

/// The node was told nothing.
fn failed_before(text: &str, mut details: Value) -> ErrorShape {
    details["nodeCommandDispatched"] = false.into();
    ErrorShape::unavailable(text).with(details)
}

impl<B: Backend> Gateway<B> {
    /// A node that is there.
    fn node(&self, node_id: &NodeId) -> Option<Arc<Client>> {
        self.nodes().find(node_id).map(|node| Arc::clone(&node.client))
    }

    /// Nodes that are there or were let in: those that are there first, then by name and id.
    pub(super) fn node_views(&self) -> Vec<NodeView> {
        let mut views: Vec<NodeView> = self.nodes().connected().map(super::nodes::Connected::view).collect();
        {
            let door = self.door();
            let is_node = |roles: &std::collections::BTreeMap<String, Vec<String>>| {
                roles.contains_key(Role::Node.as_str())
            };
            for device in door.devices.paired().filter(|device| is_node(&device.roles)) {
                let node_id = NodeId::from(&device.device_id);
                if views.iter().all(|view| view.node_id != node_id) {
                    views.push(NodeView {
                        node_id,
                        display_name: device.display_name.clone(),
                        platform: Some(device.platform.clone()).filter(|platform| !platform.is_empty()),
                        device_family: device.device_family.clone(),
                        client_id: Some(device.client_id.clone()),
                        paired: true,
                        ..NodeView::default()
                    });
                }
            }
        }
        let name =
            |view: &NodeView| view.display_name.as_deref().unwrap_or(view.node_id.as_str()).to_lowercase();
        views.sort_by_cached_key(|view| (!view.connected, name(view), view.node_id.clone()));
        views
    }

    /// Sends something to one connection. Nodes' events carry no number.
    fn send(&self, conn_id: &str, event: &str, payload: &impl Serialize) {
        let payload = match serde_json::to_value(payload) {
            Ok(payload) => payload,
            Err(error) => {
                tracing::error!(%error, event, "an event could not be written");
                return;
            }
        };
        if let Some(seat) = self.clients().get(conn_id) {
            seat.outbox.frame(&Frame::Event(Event {
                event: event.to_owned(),
                payload: Some(payload),
                seq: None,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_says_is_told_with_its_code_once() {
        for (code, message, expected) in [
            (Some("SYSTEM_RUN_DENIED"), Some("no"), "SYSTEM_RUN_DENIED: no"),
            (
                Some("SYSTEM_RUN_DENIED"),
                Some("SYSTEM_RUN_DENIED: user denied"),
                "SYSTEM_RUN_DENIED: user denied",
            ),
            (None, Some("no"), "no"),
            (Some("TIMEOUT"), None, "TIMEOUT: node invoke failed"),
        ] {
            let said = NodeError { code: code.map(str::to_owned), message: message.map(str::to_owned) };
            assert_eq!(failed(Some(said)).message, expected);
        }
    }
}
