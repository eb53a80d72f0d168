//! Who was turned away lately, and why: for the log, where a flood is one line now and then,
//! and for the person.

use super::Peer;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

pub use countersign_protocol::control::TurnedAwayCause as Cause;

/// Peers and causes that are kept at once; the one that was longest quiet goes first.
const MAX_KEPT: usize = 128;

/// How long it is told, in milliseconds: long enough for somebody to ask why a program could not connect.
const KEPT_MS: i64 = 60 * 60 * 1_000;

/// How often the log hears of the same.
const LOG_PAUSE: Duration = Duration::from_secs(60);

/// Somebody who was turned away, for one cause.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TurnedAway {
    /// Who.
    pub peer: Peer,
    /// Why.
    pub cause: Cause,
    /// How often since it began.
    pub times: u64,
    /// The last time, Unix milliseconds.
    pub last_at_ms: i64,
}

struct Tally {
    times: u64,
    last_at_ms: i64,
    logged_at: Instant,
    /// Since then.
    unlogged: u64,
}

/// Everybody who was turned away lately.
pub(super) struct Ledger {
    now_ms: Box<dyn Fn() -> i64 + Send + Sync>,
    kept: Mutex<HashMap<(Peer, Cause), Tally>>,
}

impl Ledger {
    pub(super) fn new(now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self { now_ms: Box::new(now_ms), kept: Mutex::default() }
    }

    pub(super) fn note(&self, peer: Peer, cause: Cause) {
        let (now_ms, now) = ((self.now_ms)(), Instant::now());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT && !kept.contains_key(&(peer, cause)) {
            let quietest = kept.iter().min_by_key(|(_, kept)| kept.last_at_ms).map(|(key, _)| *key);
            quietest.map(|key| kept.remove(&key));
        }
        let times = match kept.entry((peer, cause)) {
            Entry::Vacant(entry) => {
                entry.insert(Tally { times: 1, last_at_ms: now_ms, logged_at: now, unlogged: 0 });
                1
            }
            Entry::Occupied(mut entry) => {
                let kept = entry.get_mut();
                kept.times = kept.times.saturating_add(1);
                kept.last_at_ms = now_ms;
                kept.unlogged = kept.unlogged.saturating_add(1);
                if now.duration_since(kept.logged_at) < LOG_PAUSE {
                    return;
                }
                kept.logged_at = now;
                std::mem::take(&mut kept.unlogged)
            }
        };
        drop(kept);
        tracing::warn!(%peer, cause = cause.text(), times, "embedded gateway: turned away");
    }

    /// The last first.
    pub(super) fn all(&self) -> Vec<TurnedAway> {
        let now_ms = (self.now_ms)();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|_, kept| now_ms.saturating_sub(kept.last_at_ms) < KEPT_MS);
        let told = |(&(peer, cause), kept): (&(Peer, Cause), &Tally)| TurnedAway {
            peer,
            cause,
            times: kept.times,
            last_at_ms: kept.last_at_ms,
        };
        let mut all: Vec<TurnedAway> = kept.iter().map(told).collect();
        all.sort_by_key(|one| (std::cmp::Reverse(one.last_at_ms), one.peer, one.cause));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    #[test]
    fn a_flood_is_one_entry_and_what_is_long_over_is_not_told() {
        let clock = Arc::new(AtomicI64::new(1_000));
        let now = Arc::clone(&clock);
        let ledger = Ledger::new(move || now.load(Ordering::SeqCst));
        for _ in 0..5_000 {
            ledger.note(Peer::User(1_001), Cause::Connections);
        }
        clock.store(2_000, Ordering::SeqCst);
        ledger.note(Peer::User(1_002), Cause::Token);
        let told: Vec<_> = ledger.all().into_iter().map(|one| (one.peer, one.cause, one.times)).collect();
        let flood = (Peer::User(1_001), Cause::Connections, 5_000);
        assert_eq!(told, [(Peer::User(1_002), Cause::Token, 1), flood]);
        clock.store(1_000 + KEPT_MS, Ordering::SeqCst);
        assert_eq!(ledger.all().len(), 1);
        clock.store(2_000 + KEPT_MS, Ordering::SeqCst);
        assert_eq!(ledger.all(), []);
        for uid in 0..10_000 {
            ledger.note(Peer::User(uid), Cause::Token);
        }
        assert_eq!(ledger.all().len(), MAX_KEPT);
    }
}
