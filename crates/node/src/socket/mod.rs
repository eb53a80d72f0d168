//! The approval socket (approval-socket.md): [`server`] for the app, [`client`] for the command line.

pub mod auth;
pub mod client;
mod connection;
mod hangup;
pub mod listener;
mod rate;
pub mod server;

#[cfg(test)]
mod tests;
