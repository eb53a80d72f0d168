//! What a command would really run: its text taken apart as every shell would ([`shell`]), or its list, and
//! the programs behind wrappers, carriers and package runners ([`command`]), put together in [`analysis`].
//!
//! Nothing here touches a file, a clock, randomness, a process or an async runtime, and nothing here allows
//! anything: what is not understood is opaque, and whoever decides asks about it.

pub mod analysis;
pub mod command;
pub mod environment;
pub mod git;
pub mod interpreters;
pub mod launchers;
pub mod lists;
pub mod profile;
pub mod programs;
pub mod raw_command;
pub mod shell;
pub mod text;
