//! Waiting for an answer, answering, and remembering.
//!
//! # Theory of operation
//! A [`question`] is what waits; [`book`] is the state machine of a pending approval: pure, told the time and
//! the ids, so that tests run a million interleavings without a clock. [`Approvals`] is the one task that
//! owns a book; its handle is cloned freely. A request is in the book before anybody hears of it, ends
//! exactly once, and every waiter gets the same [`book::Ending`]. Because an id can have several waiters, an
//! allow-once counts only for the one whose [`Approvals::consume_allow_once`] is true. [`store`] owns the
//! approvals document, [`rules`] the rules that it cannot hold, [`history`] the hash-chained record of what
//! happened. Nothing here decides whether a command may run, and nothing here runs one.

pub mod actor;
pub mod book;
#[cfg(test)]
mod fault;
mod file;
mod folder;
pub mod history;
pub mod ours;
#[cfg(test)]
mod outage;
mod owned;
pub mod ports;
pub mod question;
pub mod remember;
pub mod rules;
pub mod store;
#[cfg(test)]
mod testing;
pub mod watcher;

pub use actor::{Approvals, SubmitError, Ticket};
