//! This machine as exec host: the approval socket, the decision flow of one request ([`host`]), what is
//! probed about a command ([`facts`]), the one place that starts processes ([`executor`]), what the machine
//! has too little of ([`shortage`]), and what a program at rest gives back (`memory`).
//!
//! Nothing here decides by itself: verdicts come from `countersign_policy`, answers from
//! `countersign_approvals`.

pub mod descriptors;
pub mod executor;
pub mod facts;
#[cfg(fuzzing)]
pub mod fuzzing;
pub mod host;
#[cfg(target_os = "linux")]
pub mod memory;
pub mod shortage;
pub mod socket;
#[cfg(test)]
mod testing;
