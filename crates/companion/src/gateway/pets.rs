//! Companion clients at the app's own gateway: the pet channel is open while the person wants it and the gateway serves, and a
//! call of a turn of theirs is shown to the client of its session (docs/protocol/pet-channel.md,
//! "Whose answer counts").

use super::app::{EmbeddedGateway, Now, PET_TOKEN_FILE, Parts};
use super::state;
use crate::tools::pets::{Pet, Pets as ShowsCalls};
use anyhow::Context as _;
use countersign_approvals::Approvals;
use countersign_approvals::ports::Ports;
use countersign_approvals::question::Question;
use countersign_gateway::pet::{APPROVAL_WAIT, Answer, By, Call, Choice, Pets, Remembered};
use countersign_policy::display::{self, Secrets};
use countersign_protocol::pet::PATH;
use countersign_protocol::secret::PetToken;
use countersign_protocol::ui::{EmbeddedState, PetChoiceView, PetServerView, PetSessionView};
use countersign_protocol::vocabulary::Decision;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

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
    pub(crate) fn pet_view(&self) -> PetServerView {
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
    pub(crate) fn pet_problem(&self) -> Option<String> {
        match &self.now.borrow().pet {
            PetChannel::Failed { problem } => Some(problem.clone()),
            PetChannel::Closed | PetChannel::Open => None,
        }
    }

    /// Ends the connection of a companion client. False when there is none.
    pub(crate) fn disconnect_pet(&self, session_id: &str) -> bool {
        self.pets().is_some_and(|pets| pets.disconnect(session_id))
    }

    /// Takes back what a companion client had remembered. False when it is not.
    pub(crate) fn forget_pet_choice(&self, session_id: &str, id: &str) -> bool {
        let id = id.parse().ok();
        self.pets().zip(id).is_some_and(|(pets, id)| pets.forget(session_id, id))
    }

    fn pets(&self) -> Option<Pets> {
        self.embedded().map(|gateway| gateway.pets())
    }
}

/// Opens and closes the channel as the person wants it. Never ends; whoever drops it closes the channel.
pub(super) async fn follow(pets: &Pets, parts: &Parts, now: &watch::Sender<Now>) {
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

fn token(parts: &Parts) -> anyhow::Result<PetToken> {
    let file = parts.folder.join(PET_TOKEN_FILE);
    let text = state::token(&file, &parts.ports)?;
    PetToken::parse(&text).with_context(|| {
        format!("{}: expected a token of printable characters without spaces", file.display())
    })
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

/// Shows calls to companion clients of the app's own gateway.
pub(crate) struct Companions {
    pub(crate) gateway: EmbeddedGateway,
    pub(crate) approvals: Approvals,
    pub(crate) ports: Ports,
    pub(crate) tracker: TaskTracker,
}

impl ShowsCalls for Companions {
    fn show(&self, session_id: &str, request: &str, tool: &str, params: &Map<String, Value>) -> Pet {
        let Some(pets) = self.gateway.pets() else { return Pet(None) };
        let stop = CancellationToken::new();
        let (asking, stopped) = (
            Asking {
                pets,
                approvals: self.approvals.clone(),
                ports: self.ports.clone(),
                session_id: session_id.to_owned(),
                request: request.to_owned(),
                tool: tool.to_owned(),
                arguments: Value::Object(params.clone()),
            },
            stop.clone(),
        );
        // Dropping the question withdraws it there.
        self.tracker.spawn(async move {
            tokio::select! {
                biased;
                () = stopped.cancelled() => {}
                () = asking.run() => {}
            }
        });
        Pet(Some(stop.drop_guard()))
    }
}

/// One question to one client.
struct Asking {
    pets: Pets,
    approvals: Approvals,
    ports: Ports,
    session_id: String,
    request: String,
    tool: String,
    arguments: Value,
}

impl Asking {
    /// Only an answer gets into the book. Whatever else comes of asking leaves the question to the desk, until its time is
    /// over and it is denied.
    async fn run(self) {
        let Some(record) = self.approvals.snapshot(&self.request).await else { return };
        if record.question.objection(Decision::AllowOnce).is_some() {
            // Nobody may allow it, so a client must not be made to believe that it did.
            return;
        }
        let left_ms = record.expires_at_ms.saturating_sub(self.ports.clock.now_ms());
        let wait = Duration::from_millis(u64::try_from(left_ms).unwrap_or(0)).min(APPROVAL_WAIT);
        let context = context(&record.question).unwrap_or_else(|| self.request.clone());
        let call = Call { tool: &self.tool, arguments: &self.arguments, context: &context };
        let answer = self.pets.ask(&self.session_id, call, wait).await;
        let (decision, by) = match answer {
            Answer::Approved(by) => (Decision::AllowOnce, by),
            Answer::Denied(by) => (Decision::Deny, by),
            Answer::Expired | Answer::Full | Answer::Gone | Answer::NoSuchSession | Answer::TooLarge => {
                tracing::info!(request_id = self.request, ?answer, "no answer over the pet channel");
                return;
            }
        };
        let by = match by {
            By::Client => format!("pet {}", self.session_id),
            By::Memory => format!("pet {} (remembered)", self.session_id),
        };
        if let Err(why) = self.approvals.resolve(&self.request, decision, &display::escape(&by)).await {
            tracing::info!(request_id = self.request, %why, "an answer over the pet channel did not count");
        }
    }
}

/// What a call is like, so that a remembered choice counts only while all that a person sees of it is the same: agent, folder,
/// the file that would change, the script that would run. Nothing where not all of it is seen: such a call is like no other.
fn context(question: &Question) -> Option<String> {
    let likeness = question.likeness()?;
    Some(Sha256::digest(likeness).iter().map(|byte| format!("{byte:02x}")).collect())
}

/// How often a token that could not be read is tried again.
const RETRY: Duration = Duration::from_secs(30);
