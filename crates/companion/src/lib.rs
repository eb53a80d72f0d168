//! The composition root: joins all parts into one running companion ([`Companion`]), gives the windows one
//! surface ([`Desk`]), and the command line what it needs without an app ([`alone`]).
//!
//! Nothing here decides: wiring, views and words only.

pub mod agents;
pub mod alone;
pub mod control;
pub mod desk;
pub mod desktop;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod keys;
pub mod log;
#[cfg(test)]
mod meanwhile;
pub mod routing;
pub mod sentences;
pub mod surroundings;
#[cfg(test)]
mod testing;
pub mod tools;
mod wiring;

pub use countersign_approvals::actor::PresenterGuard;
#[cfg(target_os = "linux")]
pub use countersign_node::memory;
pub use desk::Desk;
pub use wiring::{Companion, StartError};
