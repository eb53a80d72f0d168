//! Sockets of the app's that were lost: each loss is mended at once, and written down, for a program that
//! tidies up the wrong files should be found.

use super::Desk;
use countersign_node::socket::vigil::Restored;
use countersign_protocol::history::{HistoryEvent, SocketDoor, SocketLoss};
use std::collections::BTreeMap;
use std::time::Duration;

/// What was written about each socket.
#[derive(Debug, Default)]
pub(super) struct Doors(BTreeMap<SocketDoor, Losses>);

#[derive(Debug)]
struct Losses {
    /// When the last line was written, by the steady clock, in milliseconds.
    written_ms: i64,
    /// Those that no line tells of yet.
    untold: u32,
    /// How the socket was lost last.
    lost: SocketLoss,
}

impl Doors {
    /// The line about a loss; a moment after another one it is told with those that follow.
    fn line(&mut self, Restored { door, lost }: Restored, steady_ms: i64) -> Option<HistoryEvent> {
        let losses = self.0.entry(door).or_insert(Losses { written_ms: i64::MIN, untold: 0, lost });
        losses.untold = losses.untold.saturating_add(1);
        losses.lost = lost;
        losses.line(door, steady_ms)
    }

    /// The lines about losses that had to wait, as far as they have waited long enough.
    fn overdue(&mut self, steady_ms: i64) -> Vec<HistoryEvent> {
        self.0.iter_mut().filter_map(|(door, losses)| losses.line(*door, steady_ms)).collect()
    }

    /// How long until a line is overdue; `None` while nothing waits.
    fn next(&self, steady_ms: i64) -> Option<Duration> {
        let waiting = self.0.values().filter(|losses| losses.untold > 0);
        let due_ms = waiting.map(|losses| losses.written_ms.saturating_add(QUIET_MS)).min()?;
        Some(Duration::from_millis(due_ms.saturating_sub(steady_ms).max(0).unsigned_abs()))
    }
}

impl Losses {
    fn line(&mut self, door: SocketDoor, steady_ms: i64) -> Option<HistoryEvent> {
        if self.untold == 0 || steady_ms.saturating_sub(self.written_ms) < QUIET_MS {
            return None;
        }
        self.written_ms = steady_ms;
        Some(HistoryEvent::Socket { door, lost: self.lost, times: std::mem::take(&mut self.untold) })
    }
}

impl Desk {
    pub(super) async fn socket_restored(&self, doors: &mut Doors, restored: Restored) {
        let line = doors.line(restored, self.inner.parts.ports.clock.steady_ms());
        self.write_losses(line).await;
    }

    /// Returns once [`Desk::overdue_losses`] has something to write.
    pub(super) async fn losses_overdue(&self, doors: &Doors) {
        match doors.next(self.inner.parts.ports.clock.steady_ms()) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => std::future::pending().await,
        }
    }

    pub(super) async fn overdue_losses(&self, doors: &mut Doors) {
        let lines = doors.overdue(self.inner.parts.ports.clock.steady_ms());
        self.write_losses(lines).await;
    }

    /// Before the program ends: what waits for its minute is written without it.
    pub(super) async fn last_losses(&self, mut doors: Doors) {
        self.write_losses(doors.overdue(i64::MAX)).await;
    }

    async fn write_losses(&self, lines: impl IntoIterator<Item = HistoryEvent>) {
        for line in lines {
            if let Err(error) = self.inner.parts.history.append(None, line).await {
                tracing::error!(%error, "the loss of a socket could not be written to the history");
            }
        }
    }
}

/// Between two lines about a socket, in milliseconds: whoever removes it again and again does not
/// fill the record.
const QUIET_MS: i64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_is_lost_again_and_again_has_a_line_a_minute_with_how_often() {
        let mut doors = Doors::default();
        let lost = |door| Restored { door, lost: SocketLoss::Removed };
        let mut line = |door, at_ms| match doors.line(lost(door), at_ms) {
            Some(HistoryEvent::Socket { times, .. }) => Some(times),
            Some(other) => panic!("{other:?}"),
            None => None,
        };
        assert_eq!(line(SocketDoor::Approval, 5), Some(1));
        assert_eq!(line(SocketDoor::Control, 6), Some(1));
        assert_eq!(line(SocketDoor::Approval, 7), None);
        assert_eq!(line(SocketDoor::Approval, 59_000), None);
        assert_eq!(line(SocketDoor::Approval, 60_005), Some(3));
    }

    #[test]
    fn losses_within_a_minute_of_a_line_are_told_when_it_is_over_or_at_the_end() {
        let mut doors = Doors::default();
        let removed = Restored { door: SocketDoor::Approval, lost: SocketLoss::Removed };
        let told = |times| {
            vec![HistoryEvent::Socket { door: SocketDoor::Approval, lost: SocketLoss::Removed, times }]
        };
        assert!(doors.line(removed, 5).is_some());
        assert_eq!(doors.next(6), None);
        for at_ms in [7, 9] {
            assert_eq!(doors.line(removed, at_ms), None);
        }
        assert_eq!(doors.next(10_005), Some(Duration::from_secs(50)));
        assert_eq!(doors.overdue(60_004), []);
        assert_eq!(doors.overdue(60_005), told(2));
        assert_eq!(doors.next(60_006), None);
        assert_eq!(doors.overdue(i64::MAX), []);
        assert_eq!(doors.line(removed, 60_010), None);
        assert_eq!(doors.overdue(i64::MAX), told(1));
    }
}
