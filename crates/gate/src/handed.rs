//! How the listening socket of a box comes to the gate: one byte on the gate's socket, and the descriptor with it (`SCM_RIGHTS`).
//!
//! The gate reads and writes what it accepts there by itself, so a byte passes one process less. Not the accepted connection is
//! handed over but what accepts: whoever has a duplicate of a socket can have it block (the flags of an open file are shared), linger
//! or break. The relay hands it over before anything runs in the box that is not ours, and keeps
//! none, so that nobody there ever has a duplicate.

use crate::wire::Wire as _;
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_protocol, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketType, ipproto, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The byte that comes with it. No HTTP or SOCKS begins so.
pub(crate) const MARK: u8 = 0;

/// Sends `port` through the gate's socket.
pub(crate) fn give(port: &TcpListener, to: impl AsFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [port.as_fd()];
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(to, &[IoSlice::new(&[MARK])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes what [`give`] has sent. Anything else is closed and an error.
pub(crate) async fn take(from: &UnixStream) -> io::Result<tokio::net::TcpListener> {
    let port = from.when(Interest::READABLE, || receive(from)).await?;
    let port = TcpListener::from(port);
    port.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(port)
}

/// The next byte, which has to be the mark, and the one descriptor with it.
fn receive(from: &UnixStream) -> io::Result<OwnedFd> {
    let refused = |why: &'static str| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut byte = [!MARK];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(from, &mut [IoSliceMut::new(&mut byte)], &mut control, flags)?;
    // All are taken, so that all are closed that are not wanted.
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(sent) = message {
            descriptors.extend(sent);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(refused("more was sent with the byte than a descriptor"));
    }
    let [port] = <[OwnedFd; 1]>::try_from(descriptors).map_err(|_| refused("not one descriptor"))?;
    if byte != [MARK] || !is_port(&port) {
        return Err(refused("not a listening socket of TCP"));
    }
    Ok(port)
}

/// Whether connections of TCP come from it.
fn is_port(port: &OwnedFd) -> bool {
    socket_type(port) == Ok(SocketType::STREAM)
        && matches!(socket_domain(port), Ok(AddressFamily::INET | AddressFamily::INET6))
        && socket_protocol(port) == Ok(Some(ipproto::TCP))
        && socket_acceptconn(port) == Ok(true)
}
