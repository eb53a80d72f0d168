//! Names of contents and of states.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::str::FromStr;

/// SHA-256 of a content, which is its name in the store.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
pub(crate) struct Digest([u8; 32]);

impl Digest {
    pub(crate) fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// The one that is written so.
    pub(crate) fn named(digits: &[u8]) -> Option<Self> {
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }

    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl FromStr for Digest {
    type Err = NoStateId;

    fn from_str(text: &str) -> Result<Self, NoStateId> {
        Self::named(text.as_bytes()).ok_or(NoStateId)
    }
}

fn digit(c: u8) -> Option<u8> {
    match c {
        b'0'..=b'9' => Some(c - b'0'),
        // One way to write each, since it is a file's name.
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    }
}

/// Names one kept state. As text it is 64 hexadecimal digits, which can be stored and read again.
#[derive(Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct StateId(pub(crate) Digest);

impl fmt::Display for StateId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl fmt::Debug for StateId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

impl FromStr for StateId {
    type Err = NoStateId;

    fn from_str(text: &str) -> Result<Self, NoStateId> {
        text.parse().map(Self)
    }
}

impl TryFrom<String> for StateId {
    type Error = NoStateId;

    fn try_from(text: String) -> Result<Self, NoStateId> {
        text.parse()
    }
}

impl From<StateId> for String {
    fn from(id: StateId) -> Self {
        id.to_string()
    }
}

/// A text that names no state.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("a state is named by 64 hexadecimal digits in lower case")]
pub struct NoStateId;
