//! The pet channel, both ends: companion clients answer for the tool calls of one session
//! (docs/protocol/pet-channel.md).
//!
//! [`Pets`] is the server's handle: it asks the client of a session about a call. [`client`] is the other
//! end, connected to somebody else's server. A call is asked about over one connection, and only what comes
//! over that very connection answers it. Nobody who answers, too late, too much at once: nothing
//! of that approves.

pub mod client;
#[cfg(fuzzing)]
pub mod fuzzing;
mod memory;
pub(crate) mod server;
mod session;

pub use memory::Remembered;
pub use server::{PetSession, Pets};

use countersign_protocol::pet::APPROVAL_MS;
use serde_json::Value;
use std::time::Duration;

/// How long a call waits for its answer when nobody says otherwise.
pub const APPROVAL_WAIT: Duration = Duration::from_millis(APPROVAL_MS);

/// A call that somebody is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments, as they are pushed.
    pub arguments: &'a Value,
    /// What else has to be the same for a remembered choice to count, such as the folder or a script's
    /// content. Never pushed.
    pub context: &'a str,
}

/// What somebody says to a call.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Choice {
    /// It may go on.
    Approve,
    /// It may not.
    Deny,
}

/// For how much a choice counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Keep {
    /// For the one call.
    Once,
    /// For exactly the same call in the same [context](Call::context) too, as long as the connection lives.
    /// Needs a server of Countersign's; others count it once.
    Session,
}

/// Where a choice came from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum By {
    /// The client answered this call.
    Client,
    /// The client answered the same call before, and it was remembered.
    Memory,
}

/// What came of asking. Only [`AskOutcome::Approved`] lets a call go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub enum AskOutcome {
    /// It may go on.
    Approved(By),
    /// It may not.
    Denied(By),
    /// Nobody answered in time.
    Expired,
    /// No client is connected for the session. Nothing was asked.
    NoSuchSession,
    /// The client went away before it answered.
    Gone,
    /// Too much of the session waits already. Nothing was asked.
    Full,
    /// Its name or its arguments are too long to be asked about. Nothing was asked.
    TooLarge,
}

impl AskOutcome {
    const fn chosen(choice: Choice, by: By) -> Self {
        match choice {
            Choice::Approve => Self::Approved(by),
            Choice::Deny => Self::Denied(by),
        }
    }
}

#[cfg(test)]
mod tests;
