//! What the stories are told with: a throw-away home, the real `countersign` command, the approval socket as
//! bytes, and, with the feature `desktop`, a private desktop session with the real app in it, and programs
//! that its gateway serves. With the feature `desktops`, the desktops that people use, and with the feature
//! `interop`, published releases of OpenClaw as they are. The client of an official SDK comes from
//! the npm registry.
//!
//! Every wait is for a state, with a deadline; every program that is started here is ended here,
//! by its process id.

#[cfg(feature = "desktop")]
pub mod app;
#[cfg(feature = "desktop")]
pub mod bus;
pub mod cli;
#[cfg(feature = "desktops")]
pub mod desktops;
pub mod documents;
#[cfg(feature = "desktop")]
pub mod driver;
pub mod exchange;
#[cfg(feature = "desktop")]
pub mod first_steps;
pub mod gateway;
#[cfg(feature = "desktop")]
pub mod hello;
pub mod home;
#[cfg(feature = "desktop")]
pub mod keyring;
#[cfg(feature = "desktop")]
pub mod mcp;
#[cfg(feature = "interop")]
pub mod peer;
pub mod process;
pub mod runner;
pub mod scripted;
#[cfg(feature = "desktop")]
pub mod session;
pub mod wire;
