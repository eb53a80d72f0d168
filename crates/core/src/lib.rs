//! What every program of this one starts from, with windows or without: its folders and the small files in
//! them, its settings, and the parts that decide, run and record ([`Core`]).

mod aftermath;
pub mod endpoint;
pub mod identity;
pub mod json;
pub mod known;
mod parts;
pub mod paths;
pub mod presence;
pub mod private;
pub mod session_events;
pub mod settings;
pub mod trust;

pub use aftermath::{beside_main, guard_runs, record_what_was_left};
pub use parts::{Core, Phase, Phases};
pub use presence::Unreached;
