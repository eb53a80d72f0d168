//! Time, ids and randomness come through here, so that tests choose them.

use countersign_protocol::secret::SocketToken;
use std::sync::Arc;

/// Tells the time.
pub trait Clock: Send + Sync + 'static {
    /// Unix milliseconds.
    fn now_ms(&self) -> i64;
}

/// Makes ids and secrets.
pub trait IdSource: Send + Sync + 'static {
    /// A fresh random UUID (version 4) in lower-case text.
    fn uuid(&self) -> String;
    /// A fresh socket token: 24 random bytes as base64url without padding, 32 characters (approval-socket.md §4).
    fn token(&self) -> SocketToken;
}

/// Both, as everything that needs them holds them.
#[derive(Clone)]
pub struct Ports {
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids.
    pub ids: Arc<dyn IdSource>,
}

impl Ports {
    /// The operating system's clock and randomness.
    pub fn system() -> Self {
        todo!()
    }
}
