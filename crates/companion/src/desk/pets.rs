//! The pet channel for windows, both ends. As with connections, nothing but a window comes here: who could
//! open the channel from elsewhere could answer for a person.

use super::connections::{own_address, peer_error, settings_error};
use super::{Desk, error};
use countersign_core::settings::PetSettings;
use countersign_gateway::pet::client::address;
use countersign_protocol::ui::{CommandError, EmbeddedState, ErrorCode, PetSourceEdit, PetsView};

impl Desk {
    /// Both ends of the pet channel.
    pub fn pets(&self) -> PetsView {
        let parts = &self.inner.parts;
        PetsView {
            server: parts.gateway.pet_view(),
            sources: parts.pets.views(),
            broken: parts.pets.broken().or_else(|| parts.gateway.pet_problem()),
        }
    }

    /// Opens or closes the channel at the app's own gateway. Closing it ends every connection of it; calls
    /// that were asked about there stay at the desk.
    pub async fn set_pet_server(&self, enabled: bool) -> Result<(), CommandError> {
        self.inner.parts.settings.set_pet(PetSettings { enabled }).map_err(|failure| settings_error(&failure))
    }

    /// Ends the connection of a companion client. What it had remembered is forgotten.
    pub async fn disconnect_pet(&self, session_id: &str) -> Result<(), CommandError> {
        if self.inner.parts.gateway.disconnect_pet(session_id) {
            return Ok(());
        }
        Err(error(ErrorCode::Gone, "the companion is not connected any more"))
    }

    /// Takes back a choice that a companion client had remembered: the next such call is asked about again.
    pub async fn forget_pet_choice(&self, session_id: &str, id: &str) -> Result<(), CommandError> {
        if self.inner.parts.gateway.forget_pet_choice(session_id, id) {
            return Ok(());
        }
        Err(error(ErrorCode::Gone, "the choice is not remembered any more"))
    }

    /// Adds or changes another program's pet server, and connects anew.
    pub async fn save_pet_source(&self, edit: PetSourceEdit) -> Result<(), CommandError> {
        if let EmbeddedState::Serving { url } = self.embedded().state
            && let (Ok(own), Ok(other)) = (address(&url), address(&edit.url))
            && other.is_loopback()
            && other.port() == own.port()
        {
            let text = "address: expected another program's server, got the app's own: what comes there is asked anyway";
            return Err(own_address(text));
        }
        self.inner.parts.pets.save(edit).await.map_err(|failure| peer_error(&failure))
    }

    /// Forgets another program's pet server and its token. What waits there is withdrawn here.
    pub async fn remove_pet_source(&self, id: &str) -> Result<(), CommandError> {
        self.inner.parts.pets.remove(id).await.map_err(|failure| peer_error(&failure))
    }

    /// Tries to connect to another program's pet server now.
    pub async fn retry_pet_source(&self, id: &str) -> Result<(), CommandError> {
        self.inner.parts.pets.retry(id).map_err(|failure| peer_error(&failure))
    }
}

#[cfg(test)]
mod tests;
