//! Watches over the file of a bound socket: programs that tidy up remove it, and then nobody finds the app any more.

use super::listener::{BindError, Listener, Lost};
use countersign_approvals::watcher::Watcher;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Over one socket.
#[derive(Debug)]
pub struct Vigil {
    watcher: Watcher,
    wake: Arc<Notify>,
    look_after: Duration,
}

/// What a look came to.
#[derive(Debug)]
pub enum Look {
    /// All is as it was bound.
    AsBound,
    /// It was lost, and is bound again.
    Restored(Lost),
    /// It is lost: what is in its place stays there.
    Lost(BindError),
}

impl Vigil {
    /// Begins. A few calls.
    pub fn over(listener: &Listener) -> Self {
        let folder = listener.path().parent().map_or_else(PathBuf::new, Path::to_owned);
        let wake = Arc::new(Notify::new());
        let mut watcher = Watcher::new(vec![folder], Arc::clone(&wake));
        let look_after = watcher.follow();
        Self { watcher, wake, look_after }
    }

    /// Resolves when it is time to look: when something happened in the folder, and now and then. Cancellation safe.
    pub async fn stirs(&self) {
        tokio::select! {
            () = self.wake.notified() => {}
            () = tokio::time::sleep(self.look_after) => {}
        }
    }

    /// Looks, and binds again what was removed. Blocking, a few calls.
    pub fn look(&mut self, listener: &mut Listener) -> Look {
        self.look_after = self.watcher.follow();
        let Some(lost) = listener.lost() else { return Look::AsBound };
        let path = listener.path().display().to_string();
        match listener.restore() {
            Ok(()) => {
                tracing::warn!(path, ?lost, "a socket was lost and is bound again");
                Look::Restored(lost)
            }
            Err(error) => {
                tracing::warn!(path, ?lost, %error, "a socket is lost; callers do not reach the app");
                Look::Lost(error)
            }
        }
    }
}
