//! What is wrong with a member of a peer, as it was typed or stored. The text begins with the member's name,
//! so that a form shows it there.

use super::MAX_PEERS;
use countersign_gateway::client::{Address, AddressError, Pin};
use countersign_protocol::pet::FrameError;
use countersign_protocol::ui::{Expected, Mistake};

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

impl Wrong {
    /// The same for windows; `None` where no window can send it.
    pub fn mistake(&self) -> Option<Mistake> {
        let (field, expected) = match self {
            Self::Id(_) | Self::Session(_) => return None,
            Self::Name(_) => ("name", length(1, MAX_NAME)),
            Self::Address(error) => ("address", address(error)),
            Self::Digest(_) => ("certificate", Expected::Digest),
            Self::NoCertificate(_) => ("certificate", Expected::Certificate),
            Self::Filter(_) => ("sessionFilter", length(0, MAX_FILTER)),
            Self::OpenClaws => ("token", Expected::OwnSecret),
            Self::Token => ("token", Expected::Printable),
            Self::SecretAgain { secret } => (*secret, Expected::SecretAgain),
            Self::Many { .. } => {
                return Some(Mistake { field: None, expected: Expected::AtMost { count: bound(MAX_PEERS) } });
            }
        };
        Some(Mistake { field: Some(field.to_owned()), expected })
    }
}

const fn address(error: &AddressError) -> Expected {
    match error {
        AddressError::Form(_) => Expected::SocketAddress,
        AddressError::Credentials => Expected::NoCredentials,
        AddressError::Unprotected(_) => Expected::Encrypted,
    }
}

/// A text of so many characters.
pub(crate) fn length(least: usize, most: usize) -> Expected {
    Expected::Length { least: bound(least), most: bound(most) }
}

/// A bound of ours, as windows get it.
pub(crate) fn bound(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
