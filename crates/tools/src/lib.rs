//! Tools that agents call, and what happens around each call: hooks, approval, abort
//! (docs/protocol/tools.md).
//!
//! A tool says first what it would do, as a plan that has no effect yet; whoever gates the call sees that
//! plan, and exactly that plan is carried out. Nothing in a tool asks or allows.
//!
//! A [`registry::Toolbox`] holds all tools. What the tool policy leaves of them for one caller is a
//! [`registry::Selection`], and only on that there are calls, so none passes the policy by. Each call goes
//! through [`hooks`], its plan, the [`gate`] and its act, in this order and in one place: [`call`].

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

use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What agents are told of the tools that need nothing to be configured: files, commands, and what runs
/// in the background.
pub fn declared() -> Vec<tool::Declaration> {
    // Nothing runs there.
    let runs = runs::Runs::new(Arc::new(String::new), TaskTracker::new(), CancellationToken::new());
    let process: Arc<dyn tool::Tool> = Arc::new(exec::Process::new(runs));
    let mut declared: Vec<_> =
        files::all().iter().chain([&process]).map(|tool| tool.declaration().clone()).collect();
    declared.push(exec::Exec::declared());
    declared
}

#[cfg(test)]
mod testing;
