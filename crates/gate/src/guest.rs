//! Connections of a box, of TCP from its programs or to the gate's socket itself.

use crate::line::{Ends, Line};
use crate::wire::Wire;
use rustix::net::SendFlags;
use std::future::pending;
use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::{TcpStream, UnixStream};

/// How often it is looked whether a client is still there, only while the gate takes nothing from it.
pub(crate) const LOOKED: Duration = Duration::from_secs(1);

/// A client's connection.
pub(crate) trait Guest: Wire + AsyncRead + AsyncWrite + Unpin + Sized + 'static {
    /// The same once more, with events of its own.
    fn again(&self) -> io::Result<Self>;

    /// Waits until the client reads no more, without reading. One that has only said all still waits for its
    /// answer. `line` is to whoever sees the client's end.
    fn is_deaf(&self, line: Option<&Line>) -> impl Future<Output = ()> + Send;
}

impl Guest for UnixStream {
    fn again(&self) -> io::Result<Self> {
        Self::from_std(self.as_fd().try_clone_to_owned()?.into())
    }

    async fn is_deaf(&self, _: Option<&Line>) {
        loop {
            // An empty message is not sent, and fails where nobody could get it.
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let asked = self.async_io(Interest::WRITABLE, || Ok(rustix::net::send(self, &[], flags)?));
            match asked.await {
                Ok(_) => pass_over(self, Interest::WRITABLE),
                Err(_) => return,
            }
        }
    }
}

impl Guest for TcpStream {
    fn again(&self) -> io::Result<Self> {
        Self::from_std(self.as_fd().try_clone_to_owned()?.into())
    }

    async fn is_deaf(&self, line: Option<&Line>) {
        let (Some(line), Ok(gate)) = (line, self.local_addr()) else { return pending().await };
        loop {
            // The end of a client is behind what it sent, and the same as the end of what it says.
            tokio::time::sleep(LOOKED).await;
            match self.peer_addr() {
                Ok(client) if line.is_left(Ends { client, gate }).await => return,
                // It was broken off.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return,
                _ => {}
            }
        }
    }
}

/// Has the next event waited for.
pub(crate) fn pass_over(stream: &impl Wire, interest: Interest) {
    let seen: io::Result<()> = stream.attempt(interest, || Err(io::ErrorKind::WouldBlock.into()));
    drop(seen);
}
