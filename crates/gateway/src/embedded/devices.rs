//! Devices that wait, and those that were let in (docs/protocol/gateway.md, "Pairing").

use super::Backend;
use super::connection::Call;
use super::params::Params;
use crate::access::{Scope, Scopes};
use crate::pairing::{Device, LetInBy, LocalPairing};
use crate::session::missing_scope;
use countersign_protocol::gateway::{ErrorShape, code};
use countersign_protocol::ids::DeviceId;
use serde_json::{Value, json};

/// Devices that wait, and those that were let in.
pub(super) fn list<B: Backend>(call: &Call<B>) -> Value {
    let steady_ms = call.gateway.backend.steady_ms();
    let mut door = call.gateway.door();
    json!({
        "pending": door.devices.pending(steady_ms),
        "paired": door.devices.paired().map(shown).collect::<Vec<_>>(),
    })
}

/// Lets one in.
pub(super) fn approve<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let request_id = named(params, "requestId")?;
    may_let_in(call, request_id)?;
    let device = call.gateway.approve(request_id, LetInBy::Operator).ok_or_else(unknown_request)?;
    Ok(json!({"requestId": request_id, "device": shown(&device)}))
}

/// Sends one away that waits.
pub(super) fn reject<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let request_id = named(params, "requestId")?;
    let request = call.gateway.reject(request_id).ok_or_else(unknown_request)?;
    Ok(json!({"requestId": request_id, "deviceId": request.device_id}))
}

/// Takes back that one was let in.
pub(super) fn remove<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let device_id = named(params, "deviceId")?;
    if !call.gateway.remove(&DeviceId::from(device_id)) {
        return Err(ErrorShape::invalid("unknown deviceId"));
    }
    Ok(json!({"deviceId": device_id}))
}

fn named<'a>(params: &'a Params, name: &str) -> Result<&'a str, ErrorShape> {
    let found = params.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    found
        .ok_or_else(|| ErrorShape::invalid(format!("invalid {} params: {name} is required", params.method())))
}

fn unknown_request() -> ErrorShape {
    ErrorShape::invalid("unknown requestId")
}

/// Whether the caller may let this device in: never itself, never to do more than itself, and where a person
/// is asked, only if a person let it in.
fn may_let_in<B: Backend>(call: &Call<B>, request_id: &str) -> Result<(), ErrorShape> {
    let steady_ms = call.gateway.backend.steady_ms();
    let mut door = call.gateway.door();
    let request = door.devices.pending(steady_ms).iter().find(|request| request.request_id == request_id);
    let request = request.ok_or_else(unknown_request)?.clone();
    let own = call.client.device_id.as_ref();
    if own == Some(&request.device_id) {
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
