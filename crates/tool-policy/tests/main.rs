//! What holds for whatever is set about tools, in one program.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod tool_policy;
mod tool_schemas;
