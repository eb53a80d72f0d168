//! How many callers a socket bears. Those who have not said what they want, those who wait for an answer and
//! those whose command runs are counted apart, so that none of them keeps out the others.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Callers that have connected and not said what they want.
#[derive(Clone, Debug)]
pub struct Readers(Arc<Reading>);

#[derive(Debug)]
struct Reading {
    limit: usize,
    /// Oldest first.
    places: Mutex<VecDeque<Occupancy>>,
    left: Notify,
}

#[derive(Debug)]
struct Occupancy {
    since: Instant,
    shown_out: CancellationToken,
}

/// A place among them, until it is dropped.
#[derive(Debug)]
pub struct Reader {
    reading: Arc<Reading>,
    shown_out: CancellationToken,
}

impl Readers {
    /// With room for `limit`.
    pub fn new(limit: usize) -> Self {
        Self(Arc::new(Reading { limit, places: Mutex::default(), left: Notify::new() }))
    }

    /// Takes a place. When all are taken, whoever has been there longest goes, once it has had a fair time.
    /// Cancellation safe.
    pub async fn enter(&self) -> Reader {
        loop {
            let left = self.0.left.notified();
            let Some(oldest) = self.full_since() else {
                let shown_out = CancellationToken::new();
                let place = Occupancy { since: Instant::now(), shown_out: shown_out.clone() };
                self.0.places().push_back(place);
                return Reader { reading: Arc::clone(&self.0), shown_out };
            };
            tokio::select! {
                () = left => {}
                () = tokio::time::sleep_until(oldest + FAIR_TIME) => self.show_out(),
            }
        }
    }

    /// Since when the oldest of a full house has been there.
    fn full_since(&self) -> Option<Instant> {
        let places = self.0.places();
        places.front().filter(|_| places.len() >= self.0.limit).map(|oldest| oldest.since)
    }

    fn show_out(&self) {
        let oldest = self.0.places().pop_front();
        if let Some(oldest) = oldest {
            oldest.shown_out.cancel();
        }
    }
}

impl Reading {
    fn places(&self) -> MutexGuard<'_, VecDeque<Occupancy>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    /// Resolves when it has to go. Cancellation safe.
    pub async fn shown_out(&self) {
        self.shown_out.cancelled().await;
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // So that its own place is found below.
        self.shown_out.cancel();
        self.reading.places().retain(|place| !place.shown_out.is_cancelled());
        self.reading.left.notify_one();
    }
}

/// Callers whose request was understood.
#[derive(Debug)]
pub(super) struct Room {
    undecided: Arc<Semaphore>,
    running: AtomicUsize,
}

/// A place there, until it is dropped.
#[derive(Debug)]
pub(super) struct Guest<'a> {
    room: &'a Room,
    undecided: Option<OwnedSemaphorePermit>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self { undecided: Arc::new(Semaphore::new(MAX_UNDECIDED)), running: AtomicUsize::new(0) }
    }

    /// A place, if there is one now.
    pub(super) fn enter(&self) -> Option<Guest<'_>> {
        if self.running.load(Ordering::Relaxed) >= MAX_RUNNING {
            return None;
        }
        let undecided = Arc::clone(&self.undecided).try_acquire_owned().ok()?;
        Some(Guest { room: self, undecided: Some(undecided) })
    }
}

impl Guest<'_> {
    /// Its command runs, so it no longer waits for an answer.
    pub(super) fn runs(&mut self) {
        if self.undecided.take().is_some() {
            self.room.running.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        if self.undecided.is_none() {
            self.room.running.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// How long a caller may be silent at least, however many come after it: far longer than a program needs that
/// has something to say, short beside the patience of those who wait outside.
const FAIR_TIME: Duration = Duration::from_millis(250);

/// Requests that are looked at or wait for a person. 256 of them can wait, over all doors together, so there
/// is always room for what needs nobody.
pub(super) const MAX_UNDECIDED: usize = 256 + 64;

/// Commands that run and whose callers wait for the output, as many as can wait for a person; more are
/// refused at once. Those that are undecided at that moment may still start.
pub(super) const MAX_RUNNING: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_longest_silent_caller_makes_room_after_a_fair_time() {
        let readers = Readers::new(2);
        let (first, second) = (readers.enter().await, readers.enter().await);
        let began = Instant::now();
        let third = readers.enter().await;
        assert_eq!(began.elapsed(), FAIR_TIME);
        first.shown_out().await;
        assert!(!second.shown_out.is_cancelled() && !third.shown_out.is_cancelled());
        drop(first);
        assert_eq!(readers.0.places().len(), 2);
        drop(second);
        let _fourth = readers.enter().await;
        assert_eq!(began.elapsed(), FAIR_TIME);
    }

    #[test]
    fn who_waits_and_who_runs_are_counted_apart() {
        let room = Room::new();
        let mut waiting: Vec<_> = (0..MAX_UNDECIDED).map(|_| room.enter().unwrap()).collect();
        assert!(room.enter().is_none());
        waiting[0].runs();
        waiting[0].runs();
        assert!(room.enter().is_some());
        waiting[1..MAX_RUNNING].iter_mut().for_each(Guest::runs);
        assert!(room.enter().is_none());
        waiting.remove(0);
        assert!(room.enter().is_some());
    }
}
