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

/// Whoever sits before the windows: says no to each request, and to what loosens what is wished.
#[derive(Debug, Default)]
pub(crate) struct Person {
    /// Whether it says yes to what loosens.
    pub(crate) applies: AtomicBool,
    /// What it says instead of no to a request: yes, and this is remembered.
    pub(crate) remembers: Mutex<Option<Remember>>,
    /// What was asked so far, as data.
    pub(crate) asked: Mutex<Vec<String>>,
}

/// Answers as long as the app runs.
pub(crate) async fn answering(desk: Desk, person: Arc<Person>) {
    loop {
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
            let remembers = held(&person.remembers).clone();
            if let Some(remember) = remembers {
                for card in &seen.cards {
                    answered_always(&desk, card, &remember).await;
                }
                continue;
            }
            let cards = seen.cards.iter().filter_map(|card| serde_json::to_string(card).ok());
            held(&person.asked).extend(cards);
            desk.deny_all("window").await;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Answers a card with *always* as soon as that is taken, or finds that it has gone.
async fn answered_always(desk: &Desk, card: &Card, remember: &Remember) {
    let id = RequestId::from(card.id.as_str());
    let Ok(paint) = desk.card_painted(&id, card.generation).await else { return };
    let params = DecideParams {
        id: card.id.clone(),
        generation: card.generation,
        paint,
        decision: Decision::AllowAlways,
        remember: Some(remember.clone()),
    };
    while desk.decide(&params).await.is_err_and(|error| error.code == ErrorCode::NotArmed) {
        tokio::time::sleep(POLL).await;
    }
}

/// What a lock guards: whoever panicked with it left it whole.
pub(crate) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
