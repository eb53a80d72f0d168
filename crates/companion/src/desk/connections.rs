//! Connections for windows: the app's own gateway, and the devices that a person lets in there. Nothing but a
//! window comes here: who could let devices in from a command line or over the gateway could let itself in.

use super::{Desk, Pause, error};
use countersign_core::settings::{GatewaySettings, SettingsError};
use countersign_gateway::client::Address;
use countersign_peers::gateway::Verdict;
use countersign_peers::list::PeerError;
use countersign_protocol::control::TurnedAway;
use countersign_protocol::ids::DeviceId;
use countersign_protocol::ui::{
    CommandError, ConnectionsView, EmbeddedEdit, EmbeddedState, EmbeddedView, ErrorCode, Expected,
    GatewayEdit, GatewayView, Mistake, Page, PairingView, UiEvent,
};
use std::collections::BTreeSet;

/// Devices that were seen waiting, so that a new one is noticed.
#[derive(Debug, Default)]
pub(super) struct Knocks {
    seen: BTreeSet<String>,
    raised_at_ms: Option<i64>,
}

impl Knocks {
    /// Takes note of what waits now; whether the person's attention is wanted. Once for a crowd, and not
    /// again at once: whoever has the token could otherwise keep a window in the person's way.
    fn note(&mut self, waiting: &[PairingView], now_ms: i64) -> bool {
        let ids: BTreeSet<String> = waiting.iter().map(|request| request.request_id.clone()).collect();
        let is_new = self.seen.is_empty() && !ids.is_empty();
        self.seen = ids;
        let rested = self.raised_at_ms.is_none_or(|at| now_ms.saturating_sub(at) >= RAISE_PAUSE_MS);
        let raises = is_new && rested;
        if raises {
            self.raised_at_ms = Some(now_ms);
        }
        raises
    }
}

impl Desk {
    /// Everything that the page about connections shows.
    pub async fn connections(&self) -> ConnectionsView {
        ConnectionsView {
            embedded: self.embedded(),
            gateways: self.gateways(),
            forward: self.inner.parts.forward.view(),
            pets: self.pets(),
            broken: self.inner.parts.connections.broken(),
        }
    }

    /// Other gateways, in the person's order.
    pub fn gateways(&self) -> Vec<GatewayView> {
        self.inner.parts.connections.views()
    }

    /// The app's own gateway.
    pub fn embedded(&self) -> EmbeddedView {
        self.inner.parts.gateway.view()
    }

    /// Who was turned away from the app's own gateway in the last hour, the last first.
    pub(crate) fn turned_away(&self) -> Vec<TurnedAway> {
        self.inner.parts.gateway.turned_away()
    }

    /// Adds or changes another gateway, and connects anew.
    pub async fn save_gateway(&self, edit: GatewayEdit) -> Result<(), CommandError> {
        if let EmbeddedState::Serving { url } = self.embedded().state
            && let (Ok(own), Ok(other)) = (Address::parse(&url), Address::parse(&edit.url))
            && other.is_loopback()
            && other.port() == own.port()
        {
            let text =
                "address: expected another gateway, got the app's own: what comes there is asked anyway";
            return Err(own_address(text));
        }
        self.inner.parts.connections.save(edit).await.map_err(|failure| peer_error(&failure))
    }

    /// Forgets another gateway and its secrets. What waits there is withdrawn here.
    pub async fn remove_gateway(&self, id: &str) -> Result<(), CommandError> {
        self.inner.parts.connections.remove(id).await.map_err(|failure| peer_error(&failure))
    }

    /// Tries to connect to another gateway now.
    pub async fn retry_gateway(&self, id: &str) -> Result<(), CommandError> {
        self.inner.parts.connections.retry(id).map_err(|failure| peer_error(&failure))
    }

    /// Turns the app's own gateway on or off, or moves it. What waits that came over it is withdrawn.
    pub async fn set_embedded(&self, edit: EmbeddedEdit) -> Result<(), CommandError> {
        let EmbeddedEdit { enabled, port } = edit;
        let settings = GatewaySettings { enabled, port };
        self.inner.parts.settings.set_gateway(settings).map_err(|failure| settings_error(&failure))
    }

    /// A person's answer to a device that waits. Letting in needs it to have waited as long as any allow.
    pub async fn answer_pairing(&self, request_id: &str, approve: bool) -> Result<(), CommandError> {
        let waiting = self.embedded().waiting;
        let request = waiting.iter().find(|request| request.request_id == request_id);
        let request = request.ok_or_else(no_device)?;
        let verdict = if approve { Verdict::Approve } else { Verdict::Reject };
        let waited_ms = self.now_ms().saturating_sub(request.since_ms);
        if approve && waited_ms < i64::from(self.settings().arm_delay_ms) {
            return Err(error(ErrorCode::NotArmed, "the device was not in view long enough"));
        }
        if self.inner.parts.gateway.answer(request_id, verdict) { Ok(()) } else { Err(no_device()) }
    }

    /// Sends a device away that was let in, and ends its connections.
    pub async fn remove_device(&self, id: &str) -> Result<(), CommandError> {
        if self.inner.parts.gateway.remove(&DeviceId::from(id)) {
            return Ok(());
        }
        Err(error(ErrorCode::Gone, "the device is not let in any more"))
    }

    /// Tells windows that something about the app's own gateway changed, and shows them a device that waits.
    pub(super) fn gateway_changed(&self) {
        self.emit(UiEvent::ConnectionsChanged);
        let waiting = self.embedded().waiting;
        let raises = self.live().knocks.note(&waiting, self.now_ms());
        if raises && *self.inner.paused.borrow() == Pause::Prompting {
            self.show_page(Page::Connections);
        }
    }
}

/// Why a gateway or a pet server was not changed.
pub(super) fn peer_error(failure: &PeerError) -> CommandError {
    let code = match failure {
        PeerError::Invalid(_) => ErrorCode::Invalid,
        PeerError::Gone(_) => ErrorCode::Gone,
        PeerError::Broken(_) | PeerError::Store(_) => ErrorCode::Store,
    };
    let mistake = match failure {
        PeerError::Invalid(wrong) => wrong.mistake(),
        _ => None,
    };
    CommandError { mistake, ..error(code, failure.to_string()) }
}

/// The app is to be connected to itself.
pub(super) fn own_address(message: &str) -> CommandError {
    let mistake = Mistake { field: Some("address".to_owned()), expected: Expected::AnotherProgram };
    CommandError { mistake: Some(mistake), ..error(ErrorCode::Invalid, message) }
}

pub(super) fn settings_error(failure: &SettingsError) -> CommandError {
    CommandError { mistake: failure.mistake(), ..error(ErrorCode::Invalid, failure.to_string()) }
}

fn no_device() -> CommandError {
    error(ErrorCode::Gone, "the device no longer waits")
}

/// Least time between two devices that bring up the window by themselves, in milliseconds. Later ones
/// wait on the page.
const RAISE_PAUSE_MS: i64 = 30_000;

#[cfg(test)]
mod tests;
