//! Stories of a gate with real sockets and real peers.
