//! What runs right now, for the page about the history.

use super::{Desk, error, gone};
use countersign_protocol::history::RunningView;
use countersign_protocol::ids::RequestId;
use countersign_protocol::ui::{CommandError, ErrorCode, UiEvent};
use std::io::ErrorKind;
use std::time::Duration;

impl Desk {
    /// What runs now, oldest first, with the end of what it printed so far.
    pub fn running(&self) -> Vec<RunningView> {
        self.inner.parts.host.running().views()
    }

    /// Ends a run: TERM, then KILL. Whoever wanted it hears that it was ended.
    pub fn stop_run(&self, request_id: &RequestId) -> Result<(), CommandError> {
        if self.inner.parts.host.running().stop(request_id) { Ok(()) } else { Err(gone(request_id)) }
    }

    /// Has a server in the box of a run be reached on this machine, until the run ends or
    /// [`Desk::hide_server`]. The port of this machine's loopback comes back. Needs a runtime.
    pub fn show_server(&self, request_id: &RequestId, port: u16) -> Result<u16, CommandError> {
        match self.inner.parts.host.running().show(request_id, port) {
            Some(Ok(shown)) => Ok(shown),
            Some(Err(why)) if why.kind() == ErrorKind::NotFound => {
                Err(error(ErrorCode::Gone, why.to_string()))
            }
            Some(Err(why)) => Err(error(ErrorCode::Internal, format!("port {port} cannot be shown: {why}"))),
            None => Err(gone(request_id)),
        }
    }

    /// Ends that.
    pub fn hide_server(&self, request_id: &RequestId, port: u16) -> Result<(), CommandError> {
        if self.inner.parts.host.running().hide(request_id, port) { Ok(()) } else { Err(gone(request_id)) }
    }

    /// Tells windows that what runs changed; now and then, as a program may print without end.
    pub(super) async fn follow_running(self) {
        let mut changes = self.inner.parts.host.running().changes();
        while changes.changed().await.is_ok() {
            // Those that begin and end within it are never shown.
            tokio::time::sleep(PAUSE).await;
            changes.mark_unchanged();
            self.emit(UiEvent::RunningChanged);
        }
    }
}

/// Between two looks: quick for an eye, slow beside what a program can print.
const PAUSE: Duration = Duration::from_millis(150);
