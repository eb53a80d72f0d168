//! What is wrong with a member of a peer, as it was typed or stored. The text begins with the member's name, so that a form shows it
//! there.

use super::MAX_PEERS;
use countersign_gateway::client::{Address, AddressError, Pin};
use countersign_protocol::pet::FrameError;

/// Longest name, in characters.
const MAX_NAME: usize = 80;

/// Longest filter of sessions, in characters.
pub(crate) const MAX_FILTER: usize = 200;

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Wrong {
    /// Our id for it is none.
    #[error("id: expected a UUID, got {0:?}")]
    Id(String),
    /// The person's name for it is empty or too long.
    #[error("name: expected 1 to {MAX_NAME} characters, got {0}")]
    Name(usize),
    /// Its address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The digest of its certificate cannot be read.
    #[error("certificate: expected its SHA-256, 64 hexadecimal digits with or without colons, got {0:?}")]
    Digest(String),
    /// A certificate where none is shown.
    #[error("certificate: expected a wss:// address beside it, got {0}: without TLS there is none")]
    NoCertificate(String),
    /// The filter of sessions is too long.
    #[error("session filter: expected at most {MAX_FILTER} characters, got {0}")]
    Filter(usize),
    /// The session of a pet server.
    #[error("session: {0}")]
    Session(FrameError),
    /// OpenClaw's own secret, where it is of no use.
    #[error("token: expected one of this server's own, got OpenClaw's: that is for gateways")]
    OpenClaws,
    /// A token that no header can carry.
    #[error("token: expected printable ASCII characters without spaces, since it is sent in a header")]
    Token,
    /// The old secret would go to another place.
    #[error("{secret}: expected it again, because the address or the certificate changed")]
    SecretAgain {
        /// What it is called.
        secret: &'static str,
    },
    /// No room for another one.
    #[error("expected at most {MAX_PEERS} {peers}")]
    Many {
        /// What they are called.
        peers: &'static str,
    },
}

/// Checks what names another program here: our id and the person's name for it.
pub(crate) fn check_names(id: &str, name: &str) -> Result<(), Wrong> {
    if uuid::Uuid::parse_str(id).is_err() {
        return Err(Wrong::Id(id.to_owned()));
    }
    match name.trim().chars().count() {
        1..=MAX_NAME => Ok(()),
        count => Err(Wrong::Name(count)),
    }
}

/// Reads the SHA-256 of the only certificate that is trusted there, if the person gave one.
pub(crate) fn pin_of(pin: Option<&str>, address: &Address) -> Result<Option<Pin>, Wrong> {
    let Some(text) = pin.map(str::trim).filter(|pin| !pin.is_empty()) else { return Ok(None) };
    let pin = Pin::parse(text).ok_or_else(|| Wrong::Digest(text.to_owned()))?;
    if !address.is_tls() {
        return Err(Wrong::NoCertificate(address.to_string()));
    }
    Ok(Some(pin))
}
