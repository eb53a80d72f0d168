//! What a person sees of the app's own gateway. Names and platforms are the devices' own words.

use countersign_gateway::embedded;
use countersign_gateway::pairing::{Device, Pending, Reason};
use countersign_gateway::session::Client;
use countersign_policy::display::{self, Secrets};
use countersign_protocol::control::TurnedAway;
use countersign_protocol::ids::DeviceId;
use countersign_protocol::shown::Shown;
use countersign_protocol::ui::{ClientView, DeviceView, PairingReason, PairingView};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Programs that are connected, by name.
pub(super) fn clients(clients: &[Arc<Client>]) -> Vec<ClientView> {
    let mut sorted: Vec<&Arc<Client>> = clients.iter().collect();
    sorted.sort_by(|a, b| (a.name(), &a.conn_id).cmp(&(b.name(), &b.conn_id)));
    sorted
        .into_iter()
        .map(|client| ClientView {
            id: client.conn_id.clone(),
            name: said(client.name()),
            role: client.role.as_str().to_owned(),
            scopes: client.scopes.words(),
            device_id: client.device_id.clone().map(String::from),
        })
        .collect()
}

/// Devices that were let in, by name. `clients` are the programs that are connected.
pub(super) fn devices(devices: &[Device], clients: &[Arc<Client>]) -> Vec<DeviceView> {
    let of = |id: &DeviceId| {
        let its: Vec<_> = clients.iter().filter(|client| client.device_id.as_ref() == Some(id)).collect();
        let commands: BTreeSet<_> = its.iter().flat_map(|client| &client.commands).collect();
        (!its.is_empty(), commands.into_iter().map(|command| (*command).to_owned()).collect())
    };
    let name = |device: &Device| name(device.display_name.as_deref(), &device.client_id);
    let mut sorted: Vec<&Device> = devices.iter().collect();
    sorted.sort_by_cached_key(|device| (name(device), device.device_id.clone()));
    sorted
        .into_iter()
        .map(|device| {
            let (connected, commands) = of(&device.device_id);
            let scopes: BTreeSet<&String> = device.roles.values().flatten().collect();
            DeviceView {
                id: device.device_id.to_string(),
                name: said(&name(device)),
                platform: platform(&device.platform),
                roles: device.roles.keys().cloned().collect(),
                scopes: scopes.into_iter().cloned().collect(),
                approved_at_ms: device.approved_at_ms,
                connected,
                commands,
            }
        })
        .collect()
}

/// Devices that wait, in their order.
pub(super) fn waiting(waiting: &[Pending]) -> Vec<PairingView> {
    waiting
        .iter()
        .map(|request| PairingView {
            request_id: request.request_id.clone(),
            device_id: request.device_id.to_string(),
            name: said(&name(request.display_name.as_deref(), &request.client_id)),
            platform: platform(&request.platform),
            role: request.role.clone(),
            scopes: request.scopes.clone(),
            reason: match request.reason {
                Reason::NotPaired => PairingReason::NotPaired,
                Reason::RoleUpgrade => PairingReason::RoleUpgrade,
                Reason::ScopeUpgrade => PairingReason::ScopeUpgrade,
                Reason::MetadataUpgrade => PairingReason::MetadataUpgrade,
            },
            since_ms: request.ts,
        })
        .collect()
}

/// Who was turned away. Programs of the person's own have the person's number, too.
pub(super) fn turned_away(all: &[embedded::TurnedAway]) -> Vec<TurnedAway> {
    let told = |one: &embedded::TurnedAway| TurnedAway {
        who: one.peer.to_string(),
        cause: one.cause,
        times: one.times,
        last_at_ms: one.last_at_ms,
    };
    all.iter().map(told).collect()
}

/// How a device calls itself, or else what its program is.
fn name(display_name: Option<&str>, client_id: &str) -> String {
    display_name.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(client_id).to_owned()
}

fn platform(platform: &str) -> Option<Shown> {
    Some(platform.trim()).filter(|platform| !platform.is_empty()).map(said)
}

fn said(text: &str) -> Shown {
    display::shown(text, Secrets::Show)
}
