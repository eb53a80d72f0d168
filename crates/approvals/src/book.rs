//! The approval state machine (system.md P1), sans IO.

use countersign_policy::always::Proposal;
use countersign_protocol::ui::{CancelCause, Card};
use countersign_protocol::vocabulary::Decision;
use std::sync::Arc;

/// What waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// As presented. `id`, `created_at_ms` and `expires_at_ms` are stamped by the book.
    pub card: Card,
    /// What "always" may store, in the order of `card.always`.
    pub proposals: Vec<Proposal>,
    /// Agent id as claimed.
    pub agent: String,
    /// Session as claimed.
    pub session: Option<String>,
}

/// Who brought a request; best effort, so that another client cannot replay its id.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RequestedBy {
    /// Connection it came over.
    pub connection: Option<String>,
    /// Device, as claimed.
    pub device: Option<String>,
    /// Client, as claimed.
    pub client: Option<String>,
}

/// How a request ended. `Expired` is "no decision", never "denied by the user".
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ending {
    /// Somebody answered.
    Decided {
        /// The answer.
        decision: Decision,
        /// Who: `window`, `notification`, `command-line`, `tray`.
        by: String,
    },
    /// Nobody answered in time.
    Expired,
    /// Withdrawn.
    Cancelled(CancelCause),
    /// Nobody could be shown it.
    NotShown,
}

/// One record of the book.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its id.
    pub id: String,
    /// What is asked.
    pub request: Arc<Request>,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub expires_at_ms: i64,
    /// Who brought it.
    pub requested_by: RequestedBy,
    /// When it ended, Unix milliseconds.
    pub resolved_at_ms: Option<i64>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// Whether an allow-once was used up.
    pub consumed: bool,
}
