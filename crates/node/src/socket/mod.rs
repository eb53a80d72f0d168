//! The approval socket (docs/protocol/approval-socket.md): [`server`] for the app, [`client`] for the command
//! line.

pub mod auth;
pub mod client;
mod connection;
mod hangup;
pub mod listener;
pub mod lock;
pub mod places;
mod rate;
pub mod server;
pub mod vigil;

#[cfg(fuzzing)]
pub(crate) use connection::read_line as request_line;

#[cfg(test)]
mod tests;
