//! What is wrong with what the person typed, or with what is stored. The text begins with the member's name,
//! so that a form shows it there.

use super::config::{MAX_FILTER, MAX_FILTERS, MAX_NAME, MAX_TARGETS};
use super::secrets::MAX_SECRET;
use super::webhook::AddressError;
use crate::list::{bound, length};
use countersign_node::executor::program::BadProgram;
use countersign_protocol::ui::{Expected, Mistake};

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ForwardWrong {
    /// A filter of agents or sessions is too long.
    #[error("{0}: expected at most {MAX_FILTERS} of at most {MAX_FILTER} characters each")]
    Filters(&'static str),
    /// Our id for a target is none.
    #[error("id: expected a UUID, got {0:?}")]
    Id(String),
    /// The person's name for it is empty or too long.
    #[error("name: expected 1 to {MAX_NAME} characters, got {0}")]
    Name(usize),
    /// It names no gateway.
    #[error("gateway: expected one of the connected gateways, got none")]
    NoGateway,
    /// Its program.
    #[error(transparent)]
    Program(#[from] BadProgram),
    /// Its address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The digest of a certificate cannot be read.
    #[error("certificate: expected its SHA-256, 64 hexadecimal digits, got {0:?}")]
    Digest(String),
    /// A certificate where none is shown.
    #[error("certificate: expected an https:// address beside it: without TLS there is none")]
    NoCertificate,
    /// It is to know us by a secret that is not there.
    #[error("secret: expected one, because the address is to know us by it")]
    NoSecret,
    /// A secret that no header can carry.
    #[error("secret: expected 1 to {MAX_SECRET} printable ASCII characters")]
    Secret,
    /// OpenClaw's own secret, where it is of no use.
    #[error("secret: expected one of its own, got OpenClaw's")]
    OpenClaws,
    /// The old secret would go to another place.
    #[error("secret: expected it again, because what it is for changed")]
    SecretAgain,
    /// No room for another target.
    #[error("expected at most {MAX_TARGETS} targets")]
    Many,
    /// Two targets have the same id.
    #[error("the id {0:?} is there twice")]
    Twice(String),
    /// A stored target is not right.
    #[error("target {number}: {wrong}")]
    Target {
        /// Which one, from 1.
        number: usize,
        /// What is wrong.
        wrong: Box<ForwardWrong>,
    },
}

impl ForwardWrong {
    /// The same for windows; `None` where no window can send it.
    pub fn mistake(&self) -> Option<Mistake> {
        let (field, expected) = match self {
            Self::Id(_) | Self::Twice(_) | Self::Target { .. } => return None,
            Self::Filters(field) => {
                (*field, Expected::Filters { count: bound(MAX_FILTERS), length: bound(MAX_FILTER) })
            }
            Self::Name(_) => ("name", length(1, MAX_NAME)),
            Self::NoGateway => ("gateway", Expected::Gateway),
            Self::Program(error) => program(error),
            Self::Address(error) => ("address", address(error)),
            Self::Digest(_) => ("certificate", Expected::Digest),
            Self::NoCertificate => ("certificate", Expected::Certificate),
            Self::NoSecret => ("secret", Expected::Secret),
            Self::Secret => ("secret", Expected::Printable),
            Self::OpenClaws => ("secret", Expected::OwnSecret),
            Self::SecretAgain => ("secret", Expected::SecretAgain),
            Self::Many => {
                return Some(Mistake {
                    field: None,
                    expected: Expected::AtMost { count: bound(MAX_TARGETS) },
                });
            }
        };
        Some(Mistake { field: Some(field.to_owned()), expected })
    }
}

fn program(error: &BadProgram) -> (&'static str, Expected) {
    match error {
        BadProgram::NotAbsolute(_) => ("program", Expected::AbsolutePath),
        BadProgram::Arguments => ("arguments", Expected::Arguments),
        BadProgram::File { why, .. } => ("program", Expected::Executable { why: why.clone() }),
    }
}

const fn address(error: &AddressError) -> Expected {
    match error {
        AddressError::Form => Expected::WebAddress,
        AddressError::Credentials => Expected::NoCredentials,
        AddressError::Unprotected(_) => Expected::Encrypted,
    }
}
