//! The `countersign` command: what people and scripts ask the app, agents' hooks, and the MCP server. It can
//! ask, show and tighten; it can never allow.
//!
//! Hooks and the MCP server decide nothing either: each call is a question to the app, and whatever is no
//! clear yes is a no.

mod commands;
#[cfg(fuzzing)]
pub mod fuzzing;
mod hook;
mod mcp;

pub use commands::{Exit, main};
