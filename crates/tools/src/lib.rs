//! Tools that agents call, and what happens around each call: hooks, approval, abort (system.md P16).
//!
//! A tool says first what it would do, as a plan that has no effect yet; whoever gates the call sees that plan, and exactly
//! that plan is carried out. Nothing in a tool asks or allows.

pub mod files;
pub mod tool;
