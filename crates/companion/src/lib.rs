//! The composition root: joins policy, approvals and node into one running companion ([`Companion`]), gives the windows
//! one surface ([`Desk`]) and the command line its commands ([`cli`]).
//!
//! Nothing here decides: wiring, views and words only.

mod aftermath;
mod card;
pub mod cli;
pub mod connections;
pub mod control;
pub mod desk;
pub mod desktop;
mod endpoint;
pub mod forward;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod gateway;
mod hook;
mod json;
mod known;
pub mod log;
mod mcp;
pub mod paths;
pub mod pets;
mod presence;
mod private;
pub mod routing;
mod runner;
pub mod sentences;
pub mod settings;
pub mod surroundings;
pub mod tools;
mod wiring;

pub use aftermath::{guard_runs, warden_main};
pub use countersign_approvals::actor::PresenterGuard;
#[cfg(target_os = "linux")]
pub use countersign_node::memory;
pub use desk::Desk;
pub use presence::Unreached;
pub use wiring::{Companion, StartError};
