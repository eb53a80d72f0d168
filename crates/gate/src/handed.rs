//! How sockets of a box come to the gate: one byte on the gate's socket, and a descriptor with
//! it (`SCM_RIGHTS`).
//!
//! The gate reads and writes what it accepts there by itself, so a byte passes one process less. What accepts
//! is handed over rather than what was accepted: whoever has a duplicate of a socket can have it block (the
//! flags of an open file are shared), linger or break. The relay keeps none of what it hands over, and nobody
//! in the box can look into it, so nobody there ever has a duplicate.

use crate::wire::Wire as _;
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_protocol, socket_type};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketType, ipproto, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The byte that comes with it. No HTTP or SOCKS begins so.
pub(crate) const MARK: u8 = 0;

/// Sends a socket through the gate's.
pub(crate) fn give(socket: impl AsFd, to: impl AsFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = [socket.as_fd()];
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(to, &[IoSlice::new(&[MARK])], &mut control, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Takes a listening socket that [`give`] has sent. Anything else is closed and an error.
pub(crate) async fn take(from: &UnixStream) -> io::Result<tokio::net::TcpListener> {
    port(from.when(Interest::READABLE, || receive(from)).await?)
}

/// The listening socket that a descriptor has to be.
pub(crate) fn port(descriptor: OwnedFd) -> io::Result<tokio::net::TcpListener> {
    if !is_tcp(&descriptor) || socket_acceptconn(&descriptor) != Ok(true) {
        return Err(refused("not a listening socket of TCP"));
    }
    let port = std::net::TcpListener::from(descriptor);
    port.set_nonblocking(true)?;
    tokio::net::TcpListener::from_std(port)
}

/// The connection that a descriptor has to be, made or about to be.
pub(crate) fn connection(descriptor: OwnedFd) -> io::Result<tokio::net::TcpStream> {
    if !is_tcp(&descriptor) || socket_acceptconn(&descriptor) != Ok(false) {
        return Err(refused("not a connection of TCP"));
    }
    let stream = std::net::TcpStream::from(descriptor);
    stream.set_nonblocking(true)?;
    tokio::net::TcpStream::from_std(stream)
}

/// The next byte, which has to be the mark, and the one descriptor with it. Does not block.
pub(crate) fn receive(from: &UnixStream) -> io::Result<OwnedFd> {
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
    let [descriptor] = <[OwnedFd; 1]>::try_from(descriptors).map_err(|_| refused("not one descriptor"))?;
    if byte != [MARK] {
        return Err(refused("a descriptor with another byte"));
    }
    Ok(descriptor)
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Whether it is a socket of TCP.
fn is_tcp(socket: &OwnedFd) -> bool {
    socket_type(socket) == Ok(SocketType::STREAM)
        && matches!(socket_domain(socket), Ok(AddressFamily::INET | AddressFamily::INET6))
        && socket_protocol(socket) == Ok(Some(ipproto::TCP))
}
