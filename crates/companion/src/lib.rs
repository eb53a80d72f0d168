//! The composition root: joins policy, approvals and node into one running companion ([`Companion`]), gives the windows
//! one surface ([`Desk`]), and the command line what it needs without an app ([`Core`], [`alone`]).
//!
//! Nothing here decides: wiring, views and words only.

mod aftermath;
pub mod alone;
mod card;
pub mod connections;
pub mod control;
pub mod desk;
pub mod desktop;
pub mod endpoint;
pub mod forward;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod gateway;
pub mod identity;
pub mod json;
mod known;
pub mod log;
pub mod paths;
pub mod pets;
pub mod presence;
pub mod private;
mod questions;
pub mod routing;
pub mod runner;
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
pub use wiring::{Companion, Core, StartError};
