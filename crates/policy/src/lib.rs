//! Pure decisions about commands that are read already: whether a rule covers one ([`allowlist`], [`rules`]),
//! what is in force ([`effective`]), and what follows ([`evaluate()`]).
//!
//! Nothing here touches a file, a clock, randomness, a process or an async runtime: facts about programs and
//! folders are gathered outside ([`facts`]) and passed in. Only this crate can make an [`ApprovedCommand`].

pub mod allowlist;
pub mod always;
pub mod approved;
pub mod beyond;
pub mod bind;
pub mod calls;
pub mod counts;
pub mod currency;
pub mod display;
pub mod document;
pub mod effective;
pub mod evaluate;
pub mod facts;
pub mod inline_eval;
mod knowledge;
pub mod meaning;
pub mod names;
pub mod powers;
pub mod rules;
pub mod safe_bins;
pub mod surroundings;
pub mod work;
pub mod workspaces;

pub use approved::{ApprovedCommand, ContainedCommand};
pub use evaluate::evaluate;
