//! The approval socket (approval-socket.md): [`server`] for the app, [`client`] for the command line.

pub mod auth;
pub mod client;
pub mod listener;
pub mod server;
