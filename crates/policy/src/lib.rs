//! Pure decisions: what a command is ([`analysis`]) and would really run ([`command`]), whether a rule covers it
//! ([`allowlist`]), what is in force ([`effective`]), and what follows ([`evaluate()`]).
//!
//! Nothing here touches a file, a clock, randomness, a process or an async runtime: facts about programs and folders
//! are gathered outside ([`facts`]) and passed in. Only this crate can make an [`ApprovedCommand`].

pub mod allowlist;
pub mod always;
pub mod analysis;
pub mod approved;
pub mod bind;
pub mod command;
pub mod currency;
pub mod display;
pub mod document;
pub mod effective;
pub mod environment;
pub mod evaluate;
pub mod facts;
pub mod git;
pub mod inline_eval;
pub mod interpreters;
mod knowledge;
pub mod launchers;
mod lists;
pub mod meaning;
pub mod names;
pub mod powers;
pub mod profile;
pub mod raw_command;
pub mod reference;
pub mod rules;
pub mod safe_bins;
pub mod shell;
pub mod surroundings;
pub mod text;
pub mod windows;
pub mod work;

mod programs;

pub use approved::ApprovedCommand;
pub use evaluate::evaluate;
