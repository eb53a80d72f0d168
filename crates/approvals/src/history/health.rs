//! Whether lines are written at the moment, for whoever tells people: noticed by the writing itself, and
//! tried again until it works.

use super::HistoryError;
use crate::ports::Ports;
use countersign_protocol::state::{RecordingCause, RecordingState};
use rustix::io::Errno;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// What the writing of a history came to last.
#[derive(Clone, Debug)]
pub(super) struct Health {
    state: watch::Sender<RecordingState>,
    ports: Ports,
    /// Of the last line that took long, by the steady clock.
    slow_at_ms: Arc<AtomicI64>,
}

impl Health {
    pub(super) fn new(ports: Ports) -> Self {
        Self { state: watch::Sender::new(RecordingState::Works), ports, slow_at_ms: Arc::default() }
    }

    pub(super) fn follow(&self) -> watch::Receiver<RecordingState> {
        self.state.subscribe()
    }

    pub(super) fn is_well(&self) -> bool {
        *self.state.borrow() == RecordingState::Works
    }

    /// A line was written, or not. A short one may find its place where there is no room for the lines of a
    /// run, so that is no end of a failure.
    pub(super) fn wrote<T>(&self, result: &Result<T, HistoryError>, took: Duration) {
        match result {
            Ok(_) if self.fails_now() => {}
            Ok(_) if took >= SLOW => {
                self.slow_at_ms.store(self.ports.clock.steady_ms(), Ordering::Relaxed);
                self.is(RecordingState::Slow);
            }
            Ok(_) => self.is(RecordingState::Works),
            Err(error) => self.fails(error),
        }
    }

    /// There is room for lines, or not. A disk that was slow is no longer known to be when it was not
    /// seen for a while.
    pub(super) fn has_room<T>(&self, result: &Result<T, HistoryError>) {
        let slow_at_ms = self.slow_at_ms.load(Ordering::Relaxed);
        let is_slow = *self.state.borrow() == RecordingState::Slow
            && self.ports.clock.steady_ms().saturating_sub(slow_at_ms) < SLOW_LASTS_MS;
        match result {
            Ok(_) if is_slow => {}
            Ok(_) => self.is(RecordingState::Works),
            Err(error) => self.fails(error),
        }
    }

    /// What was written reached the disk, or not. How long that takes says nothing: nobody waits for it.
    pub(super) fn synced<T>(&self, result: &Result<T, HistoryError>) {
        if let Err(error) = result {
            self.fails(error);
        }
    }

    fn fails_now(&self) -> bool {
        matches!(*self.state.borrow(), RecordingState::Fails { .. })
    }

    fn fails(&self, error: &HistoryError) {
        let since_ms = match *self.state.borrow() {
            RecordingState::Fails { since_ms, .. } => since_ms,
            RecordingState::Works | RecordingState::Slow => self.ports.clock.now_ms(),
        };
        self.is(RecordingState::Fails { since_ms, cause: cause(error), text: error.to_string() });
    }

    fn is(&self, now: RecordingState) {
        self.state.send_if_modified(|state| {
            let is_news = *state != now;
            *state = now;
            is_news
        });
    }
}

fn cause(error: &HistoryError) -> RecordingCause {
    let HistoryError::Io { source, .. } = error else { return RecordingCause::Other };
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOSPC | Errno::DQUOT) => RecordingCause::Full,
        Some(Errno::ROFS) => RecordingCause::ReadOnly,
        Some(Errno::IO) => RecordingCause::Broken,
        _ => RecordingCause::Other,
    }
}

/// A line that takes this long is no line of a disk that works: usually it is a tenth of a millisecond, and a
/// run waits for two.
const SLOW: Duration = Duration::from_secs(1);

/// How long a disk counts as slow that nobody writes to, in milliseconds.
const SLOW_LASTS_MS: i64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use std::io::Error;

    fn failed(errno: Errno) -> Result<(), HistoryError> {
        Err(HistoryError::Io { doing: "write", path: "history.jsonl".into(), source: Error::from(errno) })
    }

    #[test]
    fn what_keeps_lines_from_being_written_is_told_since_it_began_until_there_is_room() {
        let health = Health::new(Ports::system());
        assert!(health.is_well());
        let told = |health: &Health| match health.follow().borrow().clone() {
            RecordingState::Fails { since_ms, cause, text } => (since_ms, cause, text),
            other => panic!("{other:?}"),
        };
        health.wrote(&failed(Errno::NOSPC), Duration::ZERO);
        let (since_ms, cause, text) = told(&health);
        assert_eq!(cause, RecordingCause::Full);
        assert!(text.contains("No space left"), "{text}");
        for (errno, expected) in [
            (Errno::ROFS, RecordingCause::ReadOnly),
            (Errno::IO, RecordingCause::Broken),
            (Errno::DQUOT, RecordingCause::Full),
            (Errno::ACCESS, RecordingCause::Other),
        ] {
            health.synced(&failed(errno));
            let (since, cause, _) = told(&health);
            assert_eq!((since, cause), (since_ms, expected));
        }
        health.synced(&Ok(()));
        assert!(!health.is_well(), "that nothing had to be synced says nothing");
        health.wrote(&Ok(()), Duration::ZERO);
        assert!(!health.is_well(), "that one line was written is no room for those of a run");
        health.has_room(&Ok(()));
        assert!(health.is_well());
    }

    #[test]
    fn a_disk_is_slow_until_a_line_is_quick_or_nobody_wrote_for_a_while() {
        let (ports, clock) = testing::ports();
        let health = Health::new(ports);
        let state = || health.follow().borrow().clone();
        health.wrote(&Ok(()), SLOW);
        health.has_room(&Ok(()));
        assert_eq!(state(), RecordingState::Slow);
        health.wrote(&Ok(()), Duration::from_millis(1));
        assert_eq!(state(), RecordingState::Works);
        health.wrote(&Ok(()), SLOW);
        clock.set(1_000_000 + SLOW_LASTS_MS);
        health.has_room(&Ok(()));
        assert_eq!(state(), RecordingState::Works);
    }
}
