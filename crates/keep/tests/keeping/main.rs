//! Keeping, telling and putting back, on real folders.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod bench;
mod restoring;
