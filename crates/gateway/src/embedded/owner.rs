//! The gateway as whoever runs it sees it: who is connected, which devices were let in, which ones wait, and
//! the answers to these. What operators do about devices over the gateway goes the same way.

use super::door::Door;
use super::forwarding::Asker;
use super::invoke::Allowed;
use super::nodes::Nodes;
use super::port::{Places, TurnedAway};
use super::tools::http::CallSlots;
use super::{Backend, Config, Gateway, OpenConnection, Requester, invoke};
use crate::access::Scope;
use crate::pairing::{Device, LetInBy, Pending};
use crate::pet::Pets;
use crate::session::Client;
use countersign_protocol::gateway::ErrorShape;
use countersign_protocol::gateway::node::{InvokeParams, NodeView};
use countersign_protocol::ids::DeviceId;
use countersign_protocol::vocabulary::Decision;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

/// A gateway of this program. It outlives its ports: what it knows of devices and of wrong guesses stays.
pub struct Embedded<B>(Arc<Gateway<B>>);

impl<B> Clone for Embedded<B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<B: Backend> Embedded<B> {
    /// A gateway that does not serve yet. Its person is whoever runs this program.
    pub fn new(backend: B, config: Config) -> Self {
        Self::of(rustix::process::geteuid().as_raw(), backend, config)
    }

    /// The same for a person with this number.
    pub(super) fn of(own: u32, backend: B, config: Config) -> Self {
        let backend = Arc::new(backend);
        let (clock, pets_clock) = (Arc::clone(&backend), Arc::clone(&backend));
        Self(Arc::new(Gateway {
            backend,
            door: Mutex::new(Door::new(config)),
            clients: Mutex::default(),
            nodes: Mutex::default(),
            pets: Pets::new(move || pets_clock.now_ms()),
            places: Arc::new(Places::new(own, move || clock.now_ms())),
            tool_seats: CallSlots::default(),
            started: Instant::now(),
            changes: watch::Sender::new(()),
        }))
    }

    /// Takes another token. Who is connected stays.
    pub fn set_token(&self, token: Zeroizing<String>) {
        self.0.door().token = token;
    }

    /// Whoever keeps the approvals.
    pub fn backend(&self) -> &B {
        &self.0.backend
    }

    /// Programs that are connected, in no order.
    pub fn clients(&self) -> Vec<Arc<Client>> {
        self.0.clients().values().map(|seat| Arc::clone(&seat.client)).collect()
    }

    /// Who was turned away in the last hour, the last first.
    pub fn turned_away(&self) -> Vec<TurnedAway> {
        self.0.places.turned_away()
    }

    /// Devices that were let in, by id.
    pub fn devices(&self) -> Vec<Device> {
        self.0.door().devices.paired().cloned().collect()
    }

    /// Devices that wait to be let in, oldest first.
    pub fn waiting(&self) -> Vec<Pending> {
        let steady_ms = self.0.backend.steady_ms();
        self.0.door().devices.pending(steady_ms).to_vec()
    }

    /// The person lets a waiting device in. `None`: it no longer waits.
    pub fn approve(&self, request_id: &str) -> Option<Device> {
        self.0.approve(request_id, LetInBy::Person)
    }

    /// Turns a waiting device away. `None`: it no longer waits.
    pub fn reject(&self, request_id: &str) -> Option<Pending> {
        self.0.reject(request_id)
    }

    /// Forgets a device and ends its connections. False for an unknown one.
    pub fn remove(&self, device_id: &DeviceId) -> bool {
        self.0.remove(device_id)
    }

    /// Nodes that are connected or were let in: those that are there first, then by name. All but the id
    /// is their own word.
    pub fn nodes(&self) -> Vec<NodeView> {
        self.0.node_views()
    }

    /// Tells a node to do something and waits for its payload, as an operator's `node.invoke` does; a run
    /// counts as approved only by an approval that [`Requester::own`] asked for. Dropping the future takes it
    /// back at the node.
    pub async fn invoke(&self, params: InvokeParams) -> Result<Value, ErrorShape> {
        let own = Requester::own();
        self.invoke_as(Allowed::ByRecord(Asker { by: &own, may_approve: true }), params).await
    }

    /// The same for a `system.run` that a person allowed in this very program, whose record of it is its own:
    /// the node is told that it was approved, whatever `params` say about that.
    pub async fn invoke_allowed(
        &self,
        params: InvokeParams,
        decision: Decision,
    ) -> Result<Value, ErrorShape> {
        self.invoke_as(Allowed::Here(decision), params).await
    }

    async fn invoke_as(&self, allowed: Allowed<'_>, params: InvokeParams) -> Result<Value, ErrorShape> {
        let mut answer = invoke::invoke(&self.0, allowed, params, &CancellationToken::new()).await?;
        Ok(answer.get_mut("payload").map(Value::take).unwrap_or_default())
    }

    /// The pet channel on the same port. It is closed until somebody opens it.
    pub fn pets(&self) -> Pets {
        self.0.pets.clone()
    }

    /// Told when clients, devices or what waits change.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    pub(super) fn gateway(&self) -> &Arc<Gateway<B>> {
        &self.0
    }
}

impl<B: Backend> Gateway<B> {
    pub(super) fn door(&self) -> MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn clients(&self) -> MutexGuard<'_, HashMap<String, OpenConnection>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Never held together with another lock of the gateway.
    pub(super) fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn changed(&self) {
        self.changes.send_replace(());
    }

    /// A handshake is over. A device that was sent away since it was admitted goes at once.
    pub(super) fn seated(&self, seat: OpenConnection) {
        let OpenConnection { client, outbox } = seat.clone();
        self.clients().insert(client.conn_id.clone(), seat);
        self.nodes().connect(&client, self.backend.now_ms());
        if client.device_id.as_ref().is_some_and(|id| self.door().devices.find(id).is_none()) {
            self.nodes().disconnect(&client);
            outbox.removed();
        }
        self.changed();
    }

    /// A connection ended.
    pub(super) fn left(&self, conn_id: &str) {
        let Some(seat) = self.clients().remove(conn_id) else { return };
        self.nodes().disconnect(&seat.client);
        self.changed();
    }

    pub(super) fn approve(&self, request_id: &str, by: LetInBy) -> Option<Device> {
        let device = {
            let mut door = self.door();
            let device = door.devices.approve(request_id, by, self.backend.moment())?;
            door.store();
            device
        };
        self.resolved(request_id, &device.device_id, "approved");
        Some(device)
    }

    pub(super) fn reject(&self, request_id: &str) -> Option<Pending> {
        let request = self.door().devices.reject(request_id, self.backend.steady_ms())?;
        self.resolved(request_id, &request.device_id, "rejected");
        Some(request)
    }

    pub(super) fn remove(&self, device_id: &DeviceId) -> bool {
        {
            let mut door = self.door();
            if !door.devices.remove(device_id) {
                return false;
            }
            door.store();
        }
        let is_its = |seat: &&OpenConnection| seat.client.device_id.as_ref() == Some(device_id);
        let seats: Vec<OpenConnection> = self.clients().values().filter(is_its).cloned().collect();
        for OpenConnection { client, outbox } in seats {
            // From now on, however long the connection takes to end.
            self.nodes().disconnect(&client);
            outbox.removed();
        }
        self.changed();
        true
    }

    fn resolved(&self, request_id: &str, device_id: &DeviceId, decision: &str) {
        let payload = json!({
            "requestId": request_id, "deviceId": device_id, "decision": decision, "ts": self.backend.now_ms(),
        });
        self.broadcast("device.pair.resolved", &payload, Some(Scope::Pairing), None);
        self.changed();
    }
}
