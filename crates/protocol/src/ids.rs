//! Names of agents, sessions, requests, nodes and devices, each of a type of its own, so that none stands
//! where another belongs. What crosses a process boundary is text; whoever takes it in says what it names.
//!
//! ```
//! use countersign_protocol::ids::{AgentId, RequestId, SessionKey};
//! assert_eq!(AgentId::of(Some(" coder ")).as_str(), "coder");
//! assert_eq!(AgentId::of(None).as_str(), "main");
//! assert_eq!(SessionKey::of(Some(" ")), None);
//! assert_eq!(RequestId::from("7").as_str(), "7");
//! ```

use crate::document::MAIN_AGENT;
use serde::{Deserialize, Serialize};
use std::fmt;

/// An agent, as it calls itself: never blank. Nothing proves it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct AgentId(String);

/// A session of an agent, as that calls it: never blank. Nothing proves it.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct SessionKey(String);

/// Types of ids that are told apart by nothing but what they name.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// As it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether none was given.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    )*};
}

ids! {
    /// A request in the book and the history: ours, or what a gateway calls it.
    RequestId,
    /// A node, as its gateway calls it.
    NodeId,
    /// A device, as its key says: the hash of what it signs with.
    DeviceId,
}

impl From<&DeviceId> for NodeId {
    /// A node is a device, and called as that.
    fn from(device: &DeviceId) -> Self {
        Self(device.0.clone())
    }
}

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

impl Default for AgentId {
    /// The main one.
    fn default() -> Self {
        Self::of(None)
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

impl From<AgentId> for String {
    fn from(id: AgentId) -> Self {
        id.0
    }
}

impl From<SessionKey> for String {
    fn from(key: SessionKey) -> Self {
        key.0
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
