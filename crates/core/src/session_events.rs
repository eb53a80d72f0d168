//! What sessions are told of runs that nobody waits for any more: a node's, and commands that went on in the
//! background. Kept in memory for the agent's next turn (docs/protocol/nodes.md, "Texts for sessions"); it
//! decides nothing.

use countersign_protocol::ids::SessionKey;
use countersign_protocol::session_events::SessionEvent;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// All sessions' events. Clones are the same ones.
#[derive(Clone)]
pub struct SessionEvents {
    inner: Arc<Inner>,
}

struct Inner {
    state: Mutex<State>,
    /// Told whenever something is kept.
    changed: watch::Sender<()>,
}

#[derive(Default)]
struct State {
    sessions: HashMap<SessionKey, VecDeque<Kept>>,
    /// Sessions that something is kept for, the one that was told first in front.
    order: VecDeque<SessionKey>,
    last_number: u64,
}

struct Kept {
    event: SessionEvent,
    /// Whether the agent has it.
    is_told: bool,
}

impl Default for SessionEvents {
    fn default() -> Self {
        Self { inner: Arc::new(Inner { state: Mutex::default(), changed: watch::Sender::new(()) }) }
    }
}

impl SessionEvents {
    /// Keeps what a session is to be told. Of more than 20 of a session the oldest go, of more than 256
    /// sessions the one that was told first.
    pub fn put(&self, session: &SessionKey, run_id: &str, text: String, at_ms: i64) {
        let mut state = self.state();
        state.last_number += 1;
        let number = state.last_number;
        if !state.sessions.contains_key(session) {
            if state.order.len() >= MAX_SESSIONS
                && let Some(oldest) = state.order.pop_front()
            {
                state.sessions.remove(&oldest);
            }
            state.order.push_back(session.clone());
        }
        let kept = state.sessions.entry(session.clone()).or_default();
        if kept.len() >= MAX_EVENTS {
            kept.pop_front();
        }
        let event = SessionEvent { number, at_ms, run_id: run_id.to_owned(), text };
        kept.push_back(Kept { event, is_told: false });
        drop(state);
        self.inner.changed.send_replace(());
    }

    /// What the agent was not told yet, oldest first. It counts as told from now on.
    pub fn take(&self, session: &SessionKey) -> Vec<SessionEvent> {
        let mut state = self.state();
        let Some(kept) = state.sessions.get_mut(session) else { return Vec::new() };
        let new = kept.iter_mut().filter_map(|kept| {
            let is_new = !std::mem::replace(&mut kept.is_told, true);
            is_new.then(|| kept.event.clone())
        });
        new.collect()
    }

    /// What is kept with a number above `after`, told or not, oldest first.
    pub fn look(&self, session: &SessionKey, after: u64) -> Vec<SessionEvent> {
        let state = self.state();
        let kept = state.sessions.get(session).into_iter().flatten();
        kept.map(|kept| &kept.event).filter(|event| event.number > after).cloned().collect()
    }

    /// The same, once there is anything. Dropping the future loses nothing.
    pub async fn wait(&self, session: &SessionKey, after: u64) -> Vec<SessionEvent> {
        let mut changed = self.inner.changed.subscribe();
        loop {
            changed.mark_unchanged();
            let found = self.look(session, after);
            if !found.is_empty() || changed.changed().await.is_err() {
                return found;
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for SessionEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SessionEvents").field(&self.state().order.len()).finish()
    }
}

/// Sessions that something is kept for.
const MAX_SESSIONS: usize = 256;

/// Events that are kept for a session, as the peers keep.
const MAX_EVENTS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn session(name: &str) -> SessionKey {
        SessionKey::of(Some(name)).unwrap()
    }

    fn texts(events: Vec<SessionEvent>) -> Vec<String> {
        events.into_iter().map(|event| event.text).collect()
    }

    #[test]
    fn an_agent_is_told_once_and_a_person_may_look_again() {
        let events = SessionEvents::default();
        events.put(&session("a"), "r", "one".to_owned(), 1);
        assert_eq!(texts(events.take(&session("a"))), ["one"]);
        events.put(&session("a"), "r", "two".to_owned(), 2);
        assert_eq!(texts(events.look(&session("a"), 0)), ["one", "two"]);
        assert_eq!(texts(events.look(&session("a"), 1)), ["two"]);
        assert_eq!(texts(events.take(&session("a"))), ["two"]);
        assert_eq!(texts(events.take(&session("a"))), [""; 0]);
        assert_eq!(texts(events.take(&session("b"))), [""; 0]);
    }

    #[test]
    fn the_oldest_goes_first_of_a_session_and_of_sessions() {
        let events = SessionEvents::default();
        for number in 0..=MAX_EVENTS {
            events.put(&session("a"), "r", number.to_string(), 0);
        }
        let kept = texts(events.take(&session("a")));
        assert_eq!((kept.len(), kept.first().map(String::as_str)), (MAX_EVENTS, Some("1")));
        for number in 0..MAX_SESSIONS {
            events.put(&session(&format!("s{number}")), "r", String::new(), 0);
        }
        assert_eq!(events.look(&session("a"), 0), []);
        assert_eq!(events.look(&session("s0"), 0).len(), 1);
    }

    #[tokio::test]
    async fn whoever_waits_hears_of_it() {
        let events = SessionEvents::default();
        let waiting = tokio::spawn({
            let events = events.clone();
            async move { events.wait(&session("a"), 0).await }
        });
        events.put(&session("b"), "r", "not it".to_owned(), 0);
        events.put(&session("a"), "r", "it".to_owned(), 0);
        assert_eq!(texts(waiting.await.unwrap()), ["it"]);
    }
}
