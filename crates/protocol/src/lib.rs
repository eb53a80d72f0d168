//! Every byte that crosses a process boundary, as plain data: approval-socket frames ([`socket`]), the
//! approvals document ([`document`]), the rules that it cannot hold ([`rules`]), the control channel between
//! the command line and the app ([`control`]), names of agents and sessions ([`ids`]), frames of the gateway
//! protocol ([`gateway`]) and of the pet channel ([`pet`]), and what the web UI sees ([`ui`]).
//!
//! This crate never decides, reads a file, looks at a clock or starts a task. Types that the UI sees derive
//! `ts_rs::TS`; `cargo test -p countersign-protocol` writes them to `ui/src/lib/protocol`.
//!
//! ```
//! use countersign_protocol::vocabulary::{Ask, Security};
//! // Variants are ordered from permissive to strict, so the stricter of two is the greater.
//! assert_eq!(Security::Full.max(Security::Allowlist), Security::Allowlist);
//! assert_eq!(Ask::Always.max(Ask::Off), Ask::Always);
//! ```

#[macro_use]
mod exported;

pub mod change;
pub mod control;
pub mod counting;
pub mod digits;
pub mod document;
pub mod edits;
pub mod gateway;
pub mod history;
pub mod ids;
pub mod limits;
pub mod meaning;
pub mod pet;
pub mod question;
pub mod remember;
pub mod route;
pub mod rule_edits;
pub mod rules;
pub mod secret;
pub mod session_events;
pub mod settings;
pub mod shown;
pub mod socket;
pub mod state;
pub mod tools;
pub mod trace;
pub mod ui;
pub mod vocabulary;
