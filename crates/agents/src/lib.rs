//! Other agents on this machine: which are here, how each asks before it acts, and the change of its settings
//! that has it ask.
//!
//! [`AGENTS`] is the one table of what is known of them. A [`Plan`] is what a change comes to, as
//! differences; nothing is written before [`Plan::apply`], and what is not understood is left as it is. A
//! [`Record`] keeps what was written and what was there before, so that all of it can be taken back byte for
//! byte. [`Standing`] tells how things are now. No agent is started for any of that, and nothing here decides
//! about what they do.
//!
//! ```no_run
//! use countersign_agents::{Change, Plan, Record, Request, Scope, Surroundings, by_name};
//! # fn f(around: Surroundings<'_>) -> Result<(), countersign_agents::ConnectError> {
//! let record = Record::at("/home/u/.local/state/countersign/agents/connected.json".into());
//! let agent = by_name("claude-code").unwrap();
//! let plan = Plan::of(&Request { agent, scope: Scope::User, change: Change::Undo }, around, &record)?;
//! for file in &plan.files {
//!     eprintln!("{}", file.diff);
//! }
//! plan.apply(&record, 0)?;
//! # Ok(()) }
//! ```

mod activity;
mod diff;
mod edit;
mod entry;
mod error;
mod files;
#[cfg(fuzzing)]
pub mod fuzzing;
mod json;
mod known;
mod note;
mod places;
mod plan;
mod reach;
mod record;
mod standing;
mod switches;
mod table;
#[cfg(test)]
mod tests;
mod toml;
mod wish;

pub use diff::{Difference, LineKind};
pub use error::{ConnectError, RecordError, Unfit};
pub use known::{AGENTS, by_name, id_of};
pub use note::{Note, SwitchedOff};
pub use places::{SYSTEM, Scope, Sighting, Surroundings};
pub use plan::{Applied, Becomes, Change, FileChange, Plan, Request};
pub use reach::{Calls, Obstacle, Reach};
pub use record::Record;
pub use standing::{Connected, Program, Standing, Trust};
pub use table::{Agent, Caution, Event, Hook, HookWish, Mcp, SERVER, Way};
pub use wish::{PATIENCE, hook_words};
