//! Watches over the file of a bound socket: programs that tidy up remove it, and then nobody finds
//! the app any more.

use super::listener::{BindError, Listener};
use countersign_approvals::watcher::Watcher;
use countersign_protocol::history::{SocketDoor, SocketLoss};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

/// Over one socket.
#[derive(Debug)]
pub struct Vigil {
    door: SocketDoor,
    restored: mpsc::Sender<Restored>,
    watcher: Watcher,
    wake: Arc<Notify>,
    look_after: Duration,
}

/// A socket that was lost and is bound again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Restored {
    /// Which.
    pub door: SocketDoor,
    /// How it was lost.
    pub lost: SocketLoss,
}

/// What a look came to.
#[derive(Debug)]
pub enum Look {
    /// All is as it was bound.
    AsBound,
    /// It was lost, and is bound again.
    Restored(SocketLoss),
    /// It is lost: what is in its place stays there.
    Lost(BindError),
}

impl Vigil {
    /// Begins. Whoever listens to `restored` hears of every loss that was mended; one that does not come
    /// after hears of fewer. A few calls.
    pub fn over(listener: &Listener, door: SocketDoor, restored: mpsc::Sender<Restored>) -> Self {
        let folder = listener.path().parent().map_or_else(PathBuf::new, Path::to_owned);
        let wake = Arc::new(Notify::new());
        let mut watcher = Watcher::new(vec![folder], Arc::clone(&wake));
        let look_after = watcher.follow();
        Self { door, restored, watcher, wake, look_after }
    }

    /// Resolves when it is time to look: when something happened in the folder, and now and then.
    /// Cancellation safe.
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
                // Whoever removes it again and again is not written down each time.
                let _ = self.restored.try_send(Restored { door: self.door, lost });
                Look::Restored(lost)
            }
            Err(error) => {
                tracing::warn!(path, ?lost, %error, "a socket is lost; callers do not reach the app");
                Look::Lost(error)
            }
        }
    }
}
