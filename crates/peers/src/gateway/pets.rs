//! Companion clients at the app's own gateway: the pet channel is open while the person wants it and
//! the gateway serves.

use super::app::{EmbeddedGateway, GatewayStatus, PET_TOKEN_FILE, Parts};
use super::state::{self, StateError, StateProblem};
use countersign_gateway::pet::{Choice, Pets, Remembered};
use countersign_policy::display::{self, Secrets};
use countersign_protocol::pet::PATH;
use countersign_protocol::secret::PetToken;
use countersign_protocol::ui::{EmbeddedState, PetChoiceView, PetServerView, PetSessionView};
use std::time::Duration;
use tokio::sync::watch;

/// How the channel is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum PetChannel {
    /// Nobody is let in.
    Closed,
    /// Whoever has the token is.
    Open,
    /// It should be open; why it is not.
    Failed { problem: String },
}

impl EmbeddedGateway {
    /// Everything that a person sees of the channel.
    pub fn pet_view(&self) -> PetServerView {
        let address = {
            let now = self.now.borrow();
            match (&now.state, &now.pet) {
                (EmbeddedState::Serving { url }, PetChannel::Open) => Some(format!("{url}{PATH}")),
                _ => None,
            }
        };
        let pets = self.pets();
        PetServerView {
            enabled: self.pet.borrow().enabled,
            address,
            token_file: self.pet_token_file.display().to_string(),
            sessions: pets.as_ref().map(sessions).unwrap_or_default(),
        }
    }

    /// Why the channel is not open although it is wanted.
    pub fn pet_problem(&self) -> Option<String> {
        match &self.now.borrow().pet {
            PetChannel::Failed { problem } => Some(problem.clone()),
            PetChannel::Closed | PetChannel::Open => None,
        }
    }

    /// Ends the connection of a companion client. False when there is none.
    pub fn disconnect_pet(&self, session_id: &str) -> bool {
        self.pets().is_some_and(|pets| pets.disconnect(session_id))
    }

    /// Takes back what a companion client had remembered. False when it is not.
    pub fn forget_pet_choice(&self, session_id: &str, id: &str) -> bool {
        let id = id.parse().ok();
        self.pets().zip(id).is_some_and(|(pets, id)| pets.forget(session_id, id))
    }

    /// The channel, while the gateway serves.
    pub fn pets(&self) -> Option<Pets> {
        self.embedded().map(|gateway| gateway.pets())
    }
}

/// Opens and closes the channel as the person wants it. Never ends; whoever drops it closes the channel.
pub(super) async fn follow(pets: &Pets, parts: &Parts, now: &watch::Sender<GatewayStatus>) {
    let mut wanted = parts.pet.clone();
    loop {
        let is_wanted = wanted.borrow_and_update().enabled;
        let channel = if is_wanted {
            match token(parts) {
                Ok(token) => {
                    pets.open(token);
                    PetChannel::Open
                }
                Err(error) => {
                    let problem = format!("{error:#}");
                    tracing::error!(problem, "the pet channel stays closed");
                    pets.close();
                    PetChannel::Failed { problem }
                }
            }
        } else {
            pets.close();
            PetChannel::Closed
        };
        let is_open = !matches!(channel, PetChannel::Failed { .. });
        now.send_modify(|now| now.pet = channel);
        tokio::select! {
            changed = wanted.changed() => if changed.is_err() {
                std::future::pending::<()>().await;
            },
            () = tokio::time::sleep(RETRY), if !is_open => {}
        }
    }
}

fn token(parts: &Parts) -> Result<PetToken, StateError> {
    let file = parts.folder.join(PET_TOKEN_FILE);
    let text = state::token(&file, &parts.ports)?;
    PetToken::parse(&text).ok_or_else(|| StateError::of(&file)(StateProblem::Unprintable))
}

fn sessions(pets: &Pets) -> Vec<PetSessionView> {
    let view = |session: countersign_gateway::pet::PetSession| {
        let id = session.session_id.to_string();
        PetSessionView {
            name: display::shown(&id, Secrets::Show),
            since_ms: session.since_ms,
            waiting: u32::try_from(session.waiting).unwrap_or(u32::MAX),
            remembered: pets.remembered(&id).into_iter().map(choice).collect(),
            id,
        }
    };
    pets.sessions().into_iter().map(view).collect()
}

fn choice(kept: Remembered) -> PetChoiceView {
    PetChoiceView {
        id: kept.id.to_string(),
        tool: display::shown(&kept.tool, Secrets::Show),
        arguments: display::shown(&kept.arguments, Secrets::Mask),
        approved: kept.choice == Choice::Approve,
        since_ms: kept.since_ms,
    }
}

/// How often a token that could not be read is tried again.
const RETRY: Duration = Duration::from_secs(30);
