//! Who answers in the place of the windows' person.

use crate::rig::POLL;
use countersign_companion::Desk;
use countersign_companion::desk::LooseningAnswer;
use countersign_protocol::ids::RequestId;
use countersign_protocol::remember::Remember;
use countersign_protocol::ui::{Card, DecideParams, ErrorCode};
use countersign_protocol::vocabulary::Decision;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a person says to a request.
#[derive(Clone, Debug, Default)]
pub(crate) enum Answer {
    /// No, at once.
    #[default]
    No,
    /// Nothing yet.
    Nothing,
    /// Yes, this once.
    Once,
    /// Yes, and this is remembered.
    Always(Remember),
}

/// Whoever sits before the windows: says no to each request, and to what loosens what is wished.
#[derive(Debug, Default)]
pub(crate) struct Person {
    /// Whether it says yes to what loosens.
    pub(crate) applies: AtomicBool,
    /// What it says to a request.
    pub(crate) says: Mutex<Answer>,
    /// What was asked so far, as data.
    pub(crate) asked: Mutex<Vec<String>>,
}

/// Answers as long as the app runs.
pub(crate) async fn answering(desk: Desk, person: Arc<Person>) {
    loop {
        tokio::time::sleep(POLL).await;
        let seen = desk.snapshot().await;
        for confirmation in seen.confirmations {
            let answer = match person.applies.load(Ordering::SeqCst) {
                true => LooseningAnswer::Apply,
                false => LooseningAnswer::Keep,
            };
            // Too early is all that it may be.
            desk.answer_confirmation(&confirmation.id, answer).ok();
        }
        if !seen.cards.is_empty() {
            let says = held(&person.says).clone();
            let allowed = match says {
                Answer::No => None,
                Answer::Nothing => continue,
                Answer::Once => Some((Decision::AllowOnce, None)),
                Answer::Always(remember) => Some((Decision::AllowAlways, Some(remember))),
            };
            if let Some((decision, remember)) = allowed {
                for card in &seen.cards {
                    allowed_as(&desk, card, decision, remember.clone()).await;
                }
                continue;
            }
            let cards = seen.cards.iter().filter_map(|card| serde_json::to_string(card).ok());
            held(&person.asked).extend(cards);
            desk.deny_all("window").await;
        }
    }
}

/// Allows a card as soon as that is taken, or finds that it has gone.
async fn allowed_as(desk: &Desk, card: &Card, decision: Decision, remember: Option<Remember>) {
    let id = RequestId::from(card.id.as_str());
    let Ok(paint) = desk.card_painted(&id, card.generation).await else { return };
    let (id, generation) = (card.id.clone(), card.generation);
    let params = DecideParams { id, generation, paint, decision, remember };
    while desk.decide(&params).await.is_err_and(|error| error.code == ErrorCode::NotArmed) {
        tokio::time::sleep(POLL).await;
    }
}

/// What a lock guards: whoever panicked with it left it whole.
pub(crate) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
