//! What a session is told of runs that nobody waits for any more.

use serde::{Deserialize, Serialize};

/// Something that a session is told.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionEvent {
    /// Higher than those of all earlier events.
    pub number: u64,
    /// When it came, Unix milliseconds.
    pub at_ms: i64,
    /// The run that it is about; empty where it has no name.
    #[serde(default)]
    pub run_id: String,
    /// For the agent, in the peers' words. A node's words are in it: it tells and decides nothing.
    pub text: String,
}

impl SessionEvent {
    /// As the peers put it before what an agent is told next.
    pub fn line(&self) -> String {
        format!("System: {}", self.text)
    }
}
