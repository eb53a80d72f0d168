//! Stories of a gate with real sockets and real peers.

mod fake;
mod front;
mod handing;
mod holding;
mod programs;
mod tunnels;
