//! Devices that wait, and those that were let in (gateway-protocol.md §4.1).

use super::Backend;
use super::connection::Call;
use crate::access::Scope;
use crate::pairing::Device;
use countersign_protocol::gateway::ErrorShape;
use serde_json::{Value, json};
use std::sync::PoisonError;

/// Answers one of the methods about devices.
pub(super) fn answer<B: Backend>(call: &Call<B>, method: &str, params: &Value) -> Result<Value, ErrorShape> {
    let now_ms = call.gateway.backend.now_ms();
    let text = |name: &str| {
        let found = params.get(name).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
        found.ok_or_else(|| ErrorShape::invalid(format!("invalid {method} params: {name} is required")))
    };
    let mut door = call.gateway.door.lock().unwrap_or_else(PoisonError::into_inner);
    let resolved = |request_id: &str, device_id: &str, decision: &str| {
        let payload = json!({
            "requestId": request_id, "deviceId": device_id, "decision": decision, "ts": now_ms,
        });
        call.gateway.broadcast("device.pair.resolved", &payload, Some(Scope::Pairing), None);
    };
    match method {
        "device.pair.list" => Ok(json!({
            "pending": door.devices.pending(now_ms),
            "paired": door.devices.paired().map(shown).collect::<Vec<_>>(),
        })),
        "device.pair.approve" => {
            let request_id = text("requestId")?;
            let device = door.devices.approve(request_id, now_ms);
            let device = device.ok_or_else(|| ErrorShape::invalid("unknown requestId"))?;
            door.store();
            resolved(request_id, &device.device_id, "approved");
            Ok(json!({"requestId": request_id, "device": shown(&device)}))
        }
        "device.pair.reject" => {
            let request_id = text("requestId")?;
            let request = door.devices.reject(request_id, now_ms);
            let request = request.ok_or_else(|| ErrorShape::invalid("unknown requestId"))?;
            resolved(request_id, &request.device_id, "rejected");
            Ok(json!({"requestId": request_id, "deviceId": request.device_id}))
        }
        "device.pair.remove" => {
            let device_id = text("deviceId")?;
            if !door.devices.remove(device_id) {
                return Err(ErrorShape::invalid("unknown deviceId"));
            }
            door.store();
            Ok(json!({"deviceId": device_id}))
        }
        other => Err(ErrorShape::invalid(format!("unknown method: {other}"))),
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
