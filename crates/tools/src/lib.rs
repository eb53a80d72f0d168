//! Tools that agents call, and what happens around each call: hooks, approval, abort
//! (docs/protocol/tools.md).
//!
//! A tool says first what it would do, as a plan that has no effect yet; whoever gates the call sees that plan, and exactly
//! that plan is carried out. Nothing in a tool asks or allows.
//!
//! A [`registry::Toolbox`] holds all tools. What the tool policy leaves of them for one caller is a
//! [`registry::Selection`], and only on that there are calls, so none passes the policy by. Each call goes through
//! [`hooks`], its plan, the [`gate`] and its act, in this order and in one place: [`call`].

pub mod call;
pub mod calls;
pub mod changes;
pub mod exec;
pub mod files;
pub mod gate;
pub mod hand_over;
pub mod hooks;
mod parameters;
pub mod programs;
pub mod registry;
mod room;
pub mod runs;
pub mod tool;

pub use parameters::object;

#[cfg(test)]
mod testing;
