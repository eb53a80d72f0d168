//! Devices that wait, and those that were let in (docs/protocol/gateway.md, "Pairing").

use super::Backend;
use super::connection::Call;
use crate::access::{Scope, Scopes};
use crate::pairing::{Device, LetInBy, LocalPairing};
use crate::session::missing_scope;
use countersign_protocol::gateway::{ErrorShape, code};
use serde_json::{Value, json};

/// Answers one of the methods about devices.
pub(super) fn answer<B: Backend>(call: &Call<B>, method: &str, params: &Value) -> Result<Value, ErrorShape> {
    let gateway = &call.gateway;
    let text = |name: &str| {
        let found = params.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        found.ok_or_else(|| ErrorShape::invalid(format!("invalid {method} params: {name} is required")))
    };
    let unknown = || ErrorShape::invalid("unknown requestId");
    match method {
        "device.pair.list" => {
            let steady_ms = gateway.backend.steady_ms();
            let mut door = gateway.door();
            Ok(json!({
                "pending": door.devices.pending(steady_ms),
                "paired": door.devices.paired().map(shown).collect::<Vec<_>>(),
            }))
        }
        "device.pair.approve" => {
            let request_id = text("requestId")?;
            may_let_in(call, request_id)?;
            let device = gateway.approve(request_id, LetInBy::Operator).ok_or_else(unknown)?;
            Ok(json!({"requestId": request_id, "device": shown(&device)}))
        }
        "device.pair.reject" => {
            let request_id = text("requestId")?;
            let request = gateway.reject(request_id).ok_or_else(unknown)?;
            Ok(json!({"requestId": request_id, "deviceId": request.device_id}))
        }
        "device.pair.remove" => {
            let device_id = text("deviceId")?;
            if !gateway.remove(device_id) {
                return Err(ErrorShape::invalid("unknown deviceId"));
            }
            Ok(json!({"deviceId": device_id}))
        }
        other => Err(ErrorShape::invalid(format!("unknown method: {other}"))),
    }
}

/// Whether the caller may let this device in: never itself, never to do more than itself, and where a person is asked,
/// only if a person let it in.
fn may_let_in<B: Backend>(call: &Call<B>, request_id: &str) -> Result<(), ErrorShape> {
    let steady_ms = call.gateway.backend.steady_ms();
    let mut door = call.gateway.door();
    let request = door.devices.pending(steady_ms).iter().find(|request| request.request_id == request_id);
    let request = request.ok_or_else(|| ErrorShape::invalid("unknown requestId"))?.clone();
    let own = call.client.device_id.as_deref();
    if own == Some(request.device_id.as_str()) {
        return Err(ErrorShape::new(code::FORBIDDEN, "a device cannot let itself in"));
    }
    let is_persons =
        own.and_then(|id| door.devices.find(id)).is_some_and(|device| device.let_in_by == LetInBy::Person);
    if door.local == LocalPairing::Ask && !is_persons {
        let text = "only a device that a person let in may let others in";
        return Err(ErrorShape::new(code::FORBIDDEN, text));
    }
    let wanted = Scopes::of(&request.scopes);
    match wanted.words().iter().filter_map(|word| Scope::parse(word)).find(|scope| !call.client.may(*scope)) {
        Some(scope) => Err(missing_scope(scope)),
        None => Ok(()),
    }
}

/// A device as operators see it.
fn shown(device: &Device) -> Value {
    let roles: Vec<&String> = device.roles.keys().collect();
    let scopes = device.roles.get("operator").cloned().unwrap_or_default();
    json!({
        "deviceId": device.device_id,
        "publicKey": device.public_key,
        "displayName": device.display_name,
        "platform": device.platform,
        "deviceFamily": device.device_family,
        "clientId": device.client_id,
        "clientMode": device.client_mode,
        "role": roles.first(),
        "roles": roles,
        "scopes": scopes,
        "createdAtMs": device.created_at_ms,
        "approvedAtMs": device.approved_at_ms,
        "tokens": [],
    })
}
