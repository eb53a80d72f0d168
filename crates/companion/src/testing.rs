//! What tests begin with: the app's places in a home of their own, and a person at the desk.

use crate::desk::Desk;
use countersign_core::paths::Paths;
use countersign_protocol::ids::RequestId;
use countersign_protocol::question::Outcome;
use countersign_protocol::ui::{Card, DecideParams, ErrorCode, UiEvent, UiMessage};
use countersign_protocol::vocabulary::Decision;
use std::path::Path;
use std::time::Duration;
use tokio::sync::broadcast;

/// Longest wait for what has to happen, in real time. It says that a test fails, and never how fast the
/// machine is: where all is well, nothing takes nearly as long, however slow and busy that is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Pause between two tries of what is refused while it was not in view for long enough.
pub(crate) const POLL: Duration = Duration::from_millis(20);

/// The app's places in this home, with its gateway on any free port.
pub(crate) fn paths(home: &Path) -> Paths {
    paths_on(home, "0")
}

/// The same with the gateway on this port.
pub(crate) fn paths_on(home: &Path, port: &str) -> Paths {
    let folder = |name: &str| home.join(name).display().to_string();
    let env = [
        ("HOME", home.display().to_string()),
        ("COUNTERSIGN_GATEWAY_PORT", port.to_owned()),
        ("COUNTERSIGN_STATE_DIR", folder("own")),
        ("OPENCLAW_STATE_DIR", folder("openclaw")),
    ];
    Paths::from_env(&env.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()).unwrap()
}

/// Waits until the windows are told what is wanted.
pub(crate) async fn next<T>(
    messages: &mut broadcast::Receiver<UiMessage>,
    wanted: impl Fn(UiEvent) -> Option<T>,
) -> T {
    loop {
        let message = tokio::time::timeout(PATIENCE, messages.recv()).await.unwrap().unwrap();
        if let Some(found) = wanted(message.event) {
            return found;
        }
    }
}

/// Waits until the windows are told of a new card.
pub(crate) async fn next_card(messages: &mut broadcast::Receiver<UiMessage>) -> Card {
    next(messages, |event| match event {
        UiEvent::CardAdded { card } => Some(card),
        _ => None,
    })
    .await
}

/// Answers a card as soon as that is taken.
pub(crate) async fn decide(desk: &Desk, card: &Card, decision: Decision) -> Outcome {
    let paint = desk.card_painted(&RequestId::from(card.id.as_str()), card.generation).await.unwrap();
    let (id, generation) = (card.id.clone(), card.generation);
    let params = DecideParams { id, generation, paint, decision, remember: None };
    loop {
        match desk.decide(&params).await {
            Err(error) if error.code == ErrorCode::NotArmed => tokio::time::sleep(POLL).await,
            answered => return answered.unwrap(),
        }
    }
}
