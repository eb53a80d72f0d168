//! Sockets that are read and written without being taken apart.

use rustix::net::{RecvFlags, SendFlags, Shutdown};
use std::io;
use std::os::fd::AsFd;
use tokio::io::{Interest, Ready};
use tokio::net::{TcpStream, UnixStream};

/// Bytes that are copied at once: fewer calls than with the usual 8 KiB, and held only while something flows.
pub(crate) const CHUNK: usize = 64 * 1024;

/// A socket that does not block.
pub(crate) trait Wire: AsFd + Send + Sync {
    /// Waits for an event.
    fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> + Send;

    /// Calls `operation` once. What would block is waited for next.
    fn attempt<T>(&self, interest: Interest, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T>;

    /// Calls `operation` when the socket is ready until it has something to say.
    fn when<T>(
        &self,
        interest: Interest,
        operation: impl FnMut() -> io::Result<T> + Send,
    ) -> impl Future<Output = io::Result<T>> + Send;
}

impl Wire for TcpStream {
    fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> + Send {
        self.ready(interest)
    }

    fn attempt<T>(&self, interest: Interest, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.try_io(interest, operation)
    }

    fn when<T>(
        &self,
        interest: Interest,
        operation: impl FnMut() -> io::Result<T> + Send,
    ) -> impl Future<Output = io::Result<T>> + Send {
        self.async_io(interest, operation)
    }
}

impl Wire for UnixStream {
    fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> + Send {
        self.ready(interest)
    }

    fn attempt<T>(&self, interest: Interest, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.try_io(interest, operation)
    }

    fn when<T>(
        &self,
        interest: Interest,
        operation: impl FnMut() -> io::Result<T> + Send,
    ) -> impl Future<Output = io::Result<T>> + Send {
        self.async_io(interest, operation)
    }
}

/// Adds what comes next to `buffer`, at most [`CHUNK`]; 0 is the end. An empty buffer takes no memory
/// while nothing comes.
pub(crate) async fn receive(from: &impl Wire, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let is_empty = buffer.is_empty();
    from.when(Interest::READABLE, || {
        let taken = take(from, buffer, CHUNK);
        if taken.is_err() && is_empty {
            *buffer = Vec::new();
        }
        taken
    })
    .await
}

/// Adds what has come to `buffer`, about `limit` bytes at most, without waiting; 0 is the end.
pub(crate) fn take(from: &impl Wire, buffer: &mut Vec<u8>, limit: usize) -> io::Result<usize> {
    let before = buffer.len();
    buffer.reserve(limit);
    rustix::net::recv(from, rustix::buffer::spare_capacity(buffer), RecvFlags::DONTWAIT)?;
    Ok(buffer.len() - before)
}

/// Sends all of `bytes`.
pub(crate) async fn send(to: &impl Wire, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = to.when(Interest::WRITABLE, || Ok(rustix::net::send(to, bytes, flags)?)).await?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

/// Says that nothing more will be sent. The other end may be gone.
pub(crate) fn close(to: &impl Wire) -> io::Result<()> {
    match rustix::net::shutdown(to, Shutdown::Write) {
        Ok(()) | Err(rustix::io::Errno::NOTCONN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
