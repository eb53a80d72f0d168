//! Companion clients as people who can answer: a call of a turn of theirs is shown to the one that it came from, and to no
//! other (docs/protocol/pet-channel.md, "Whose answer counts").

use serde_json::{Map, Value};

/// Shows questions to companion clients.
pub(crate) trait Pets: Send + Sync {
    /// Shows the question `request` about a call to the client of `session_id`, as long as what comes back lives. Its answer
    /// goes to the book.
    fn show(&self, session_id: &str, request: &str, tool: &str, params: &Map<String, Value>) -> Pet;
}

/// A question that a companion client sees for as long as this lives.
#[must_use]
pub(crate) struct Pet(
    #[expect(dead_code, reason = "dropping it is what it is for")]
    pub(crate)  Option<tokio_util::sync::DropGuard>,
);
