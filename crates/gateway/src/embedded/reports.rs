//! What nodes tell: answers to what they were told to do, and what happens to runs (docs/protocol/nodes.md,
//! "Calls", "Events of a run").

use super::connection::Call;
use super::events::{RunPlace, run_text};
use super::invoke::{invalid, read};
use super::nodes::Phase;
use super::params::Params;
use super::{Backend, Gateway};
use crate::access::NodeMethod;
use crate::session::Client;
use countersign_protocol::gateway::ErrorShape;
use countersign_protocol::gateway::node::{
    InvokeProgress, InvokeResult, MAX_PROGRESS_BYTES, NodeEvent, RunEvent, event,
};
use countersign_protocol::ids::{NodeId, SessionKey};
use serde_json::{Value, json};

/// What a node tells, in the order in which it does: nothing here waits.
pub(super) fn told<B: Backend>(
    gateway: &Gateway<B>,
    node: &Client,
    method: NodeMethod,
    params: Value,
) -> Result<Value, ErrorShape> {
    let is_own = |node_id: &NodeId| match node.device_id.as_ref().map(NodeId::from).as_ref() == Some(node_id)
    {
        true => Ok(()),
        false => Err(ErrorShape::invalid("nodeId mismatch")),
    };
    let taken = |taken: bool| match taken {
        true => json!({"ok": true}),
        false => json!({"ok": true, "ignored": true}),
    };
    match method {
        NodeMethod::InvokeResult => {
            let result = read_result(method.as_str(), params)?;
            is_own(&result.node_id)?;
            let steady_ms = gateway.backend.steady_ms();
            Ok(taken(gateway.nodes().answered(&node.conn_id, result, steady_ms)))
        }
        NodeMethod::InvokeProgress => {
            let progress: InvokeProgress = read(method.as_str(), params)?;
            is_own(&progress.node_id)?;
            if progress.chunk.len() > MAX_PROGRESS_BYTES {
                return Err(ErrorShape::invalid("progress chunk too large"));
            }
            // What a run prints is told at its end.
            Ok(taken(gateway.nodes().waits(&progress.invoke_id, &node.conn_id)))
        }
        NodeMethod::Event => happened(gateway, node, read(method.as_str(), params)?),
    }
}

/// Something happened at a node.
fn happened<B: Backend>(gateway: &Gateway<B>, node: &Client, told: NodeEvent) -> Result<Value, ErrorShape> {
    let name = told.event;
    let unhandled = |reason: &str| json!({"ok": true, "event": name, "handled": false, "reason": reason});
    let phase = match name.as_str() {
        event::STARTED => Phase::Running,
        event::FINISHED | event::DENIED => Phase::Over,
        "" => return Err(invalid("node.event", "must have required property 'event'")),
        _ => return Ok(unhandled("unknown_event")),
    };
    let payload = match &told.payload_json {
        Some(text) => serde_json::from_str(text).ok(),
        None => told.payload,
    };
    let Some(run) = payload.and_then(|payload| serde_json::from_value::<RunEvent>(payload).ok()) else {
        return Ok(unhandled("invalid_payload"));
    };
    let now = gateway.backend.moment();
    let Some(matched) = gateway.nodes().matched(node, &run, phase, now.steady_ms) else {
        return Ok(unhandled("unmatched_exec_event"));
    };
    let is_muted = matched.is_muted || run.suppress_notify_on_exit == Some(true);
    let node_id = node.device_id.as_ref().map(NodeId::from).unwrap_or_default();
    let text = run_text(&name, RunPlace::Node(node_id.as_str()), &run).filter(|_| !is_muted);
    if let (Some(text), Some(session)) = (text, SessionKey::of(Some(&matched.session_key))) {
        gateway.backend.tell_session(&session, run.run_id.trim(), text);
    }
    Ok(json!({"ok": true}))
}

/// What a session was not told yet of runs, for an agent's program that tells it at its next turn. A
/// method of our own.
pub(super) fn take_events<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let session = SessionKey::of(Some(params.text("sessionKey")?));
    let events = session.map(|session| call.gateway.backend.take_events(&session)).unwrap_or_default();
    Ok(json!({ "events": events }))
}

/// A result as nodes of all releases send it: some write a null for what is not there, or an object
/// where text belongs.
fn read_result(method: &str, params: Value) -> Result<InvokeResult, ErrorShape> {
    let mut params = params;
    if let Some(members) = params.as_object_mut()
        && let Some(object) = members.get("payloadJSON").filter(|json| !json.is_string()).cloned()
    {
        members.remove("payloadJSON");
        if !object.is_null() {
            members.entry("payload").or_insert(object);
        }
    }
    let result: InvokeResult = read(method, params)?;
    if result.id.is_empty() {
        return Err(invalid(method, "must have required property 'id'"));
    }
    Ok(result)
}
