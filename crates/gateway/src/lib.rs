//! The gateway protocol of OpenClaw, as far as Countersign speaks it: who a device is ([`identity`]), who may
//! call what ([`access`]), which devices were let in ([`pairing`]), the server's end of one connection
//! ([`session`]), a server of these ([`embedded`]), and the client's end ([`client`]). On the same port
//! companion clients are served, and we can be one ([`pet`]).
//!
//! Approvals are not known here: whoever uses this crate answers the calls that a session lets through.

pub mod access;
pub mod client;
pub mod embedded;
pub mod identity;
pub(crate) mod line;
pub mod pairing;
pub mod pet;
pub mod session;

/// What a WebSocket reads at once, in bytes. It is cleared before every read, so that the usual 128 kilobytes
/// cost more than the few hundred bytes of a call; larger frames are put together from several reads.
const READ_BYTES: usize = 16 * 1_024;
