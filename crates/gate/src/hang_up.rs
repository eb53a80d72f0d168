//! Whether somebody still waits for an answer.

use rustix::net::SendFlags;
use std::future::pending;
use std::io;
use std::os::fd::AsFd as _;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Notices that a client hung up, without reading from it.
pub(crate) struct HangUp(UnixStream);

impl HangUp {
    /// Watches `stream` beside whoever reads it.
    pub(crate) fn of(stream: &UnixStream) -> io::Result<Self> {
        // A descriptor of its own has events of its own.
        let own = stream.as_fd().try_clone_to_owned()?;
        Ok(Self(UnixStream::from_std(own.into())?))
    }

    /// Waits until the client reads no more. One that has only said all still waits for its answer.
    pub(crate) async fn is_deaf(&self) {
        loop {
            // An empty message is not sent, and fails where nobody could get it.
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            let asked = self.0.async_io(Interest::WRITABLE, || Ok(rustix::net::send(&self.0, &[], flags)?));
            match asked.await {
                Ok(_) => self.pass_over(Interest::WRITABLE),
                Err(_) => return,
            }
        }
    }

    /// Has the next event waited for.
    fn pass_over(&self, interest: Interest) {
        let seen: io::Result<()> = self.0.try_io(interest, || Err(io::ErrorKind::WouldBlock.into()));
        drop(seen);
    }

    /// Waits until the client has closed its end, or at least said that it will send no more.
    pub(crate) async fn happened(&self) {
        loop {
            match self.0.ready(Interest::READABLE).await {
                Ok(ready) if ready.is_read_closed() => return,
                // Whatever came is for whoever reads: what is waited for is the next event.
                Ok(_) => self.pass_over(Interest::READABLE),
                // Without a watch there is the limit on holding.
                Err(_) => pending().await,
            }
        }
    }
}
