//! Names of agents and sessions, each of a type of its own, so that none stands where another belongs.
//!
//! ```
//! use countersign_protocol::ids::{AgentId, SessionKey};
//! assert_eq!(AgentId::of(Some(" coder ")).as_str(), "coder");
//! assert_eq!(AgentId::of(None).as_str(), "main");
//! assert_eq!(SessionKey::of(Some(" ")), None);
//! ```

use crate::document::MAIN_AGENT;
use serde::Serialize;
use std::fmt;

/// An agent, as it calls itself: never blank. Nothing proves it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct AgentId(String);

/// A session of an agent, as that calls it: never blank. Nothing proves it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct SessionKey(String);

impl AgentId {
    /// The agent that is meant: none, or blanks, mean the main one. Blanks around a name are none of it.
    pub fn of(name: Option<&str>) -> Self {
        Self(filled(name).unwrap_or(MAIN_AGENT).to_owned())
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SessionKey {
    /// The session that is meant: blanks mean none. Blanks around a key are none of it.
    pub fn of(key: Option<&str>) -> Option<Self> {
        filled(key).map(|key| Self(key.to_owned()))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|text| !text.is_empty())
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
