//! Keeping, telling and putting back, on real folders.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod attacks;
mod bench;
mod conflicts;
mod left_aside;
mod left_out;
mod property;
mod restoring;
mod stores;
mod together;
