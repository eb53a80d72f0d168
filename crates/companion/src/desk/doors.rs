//! Sockets of the app's that were lost: each loss is mended at once, and written down, for a program that tidies up the wrong files
//! should be found.

use super::Desk;
use countersign_node::socket::vigil::Restored;
use countersign_protocol::ui::{HistoryEvent, SocketDoor};
use std::collections::BTreeMap;

/// What was written about each socket.
#[derive(Debug, Default)]
pub(super) struct Doors(BTreeMap<SocketDoor, Told>);

#[derive(Debug)]
struct Told {
    /// By the steady clock, in milliseconds.
    at_ms: i64,
    /// Losses since.
    times: u32,
}

impl Doors {
    /// The line about a loss, unless there was one a moment ago.
    fn line(&mut self, Restored { door, lost }: Restored, steady_ms: i64) -> Option<HistoryEvent> {
        let told = self.0.entry(door).or_insert(Told { at_ms: i64::MIN, times: 0 });
        told.times = told.times.saturating_add(1);
        if steady_ms.saturating_sub(told.at_ms) < QUIET_MS {
            return None;
        }
        let times = std::mem::take(&mut told.times);
        told.at_ms = steady_ms;
        Some(HistoryEvent::Socket { door, lost, times })
    }
}

impl Desk {
    pub(super) async fn socket_restored(&self, doors: &mut Doors, restored: Restored) {
        let Some(event) = doors.line(restored, self.inner.parts.ports.clock.steady_ms()) else { return };
        if let Err(error) = self.inner.parts.history.append(None, event).await {
            tracing::error!(%error, "the loss of a socket could not be written to the history");
        }
    }
}

/// Between two lines about a socket, in milliseconds: whoever removes it again and again does not fill the record.
const QUIET_MS: i64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::ui::SocketLoss;

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
}
