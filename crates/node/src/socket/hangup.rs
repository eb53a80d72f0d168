//! Notices that the requester is gone. A client that has sent its request closes its writing half and waits:
//! that is no reason to stop. Only a connection that is closed entirely is
//! (docs/protocol/approval-socket.md, "Patience").

use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsFd;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// Watches one connection through a descriptor of its own, so that clearing its readiness
/// never stalls a write.
#[derive(Debug)]
pub(super) struct Hangup(UnixStream);

impl Hangup {
    /// Starts to watch.
    pub(super) fn watch(stream: &UnixStream) -> Result<Self> {
        let own = stream.as_fd().try_clone_to_owned()?;
        UnixStream::from_std(own.into()).map(Self)
    }

    /// Resolves once the other end is closed in both directions. Cancellation safe.
    pub(super) async fn wait(&self) {
        // Readiness for writing carries EPOLLHUP and EPOLLERR, and not EPOLLRDHUP, which a half-close sets.
        while let Ok(ready) = self.0.ready(Interest::WRITABLE).await {
            if ready.is_write_closed() {
                return;
            }
            // Edge-triggered: once cleared, nothing is heard until the connection changes. Clearing is
            // all this is for.
            let _ = self.0.try_io(Interest::WRITABLE, || Err::<(), _>(Error::from(ErrorKind::WouldBlock)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn is_pending(future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
        future.poll(&mut Context::from_waker(Waker::noop())) == Poll::Pending
    }

    #[tokio::test]
    async fn half_close_is_no_hangup_and_full_close_is() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let hangup = Hangup::watch(&ours).unwrap();
        let mut wait = pin!(hangup.wait());
        theirs.write_all(b"line\n").await.unwrap();
        theirs.shutdown().await.unwrap();
        let mut text = Vec::new();
        let mut reader = ours;
        reader.read_to_end(&mut text).await.unwrap();
        assert!(is_pending(wait.as_mut()));
        reader.write_all(b"answer\n").await.unwrap();
        let mut answer = [0; 7];
        theirs.read_exact(&mut answer).await.unwrap();
        assert!(is_pending(wait.as_mut()));
        drop(theirs);
        wait.await;
    }

    #[tokio::test]
    async fn full_close_without_half_close_is_a_hangup_even_with_unread_bytes() {
        for sent in [&b""[..], b"unread"] {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            let hangup = Hangup::watch(&ours).unwrap();
            theirs.write_all(sent).await.unwrap();
            drop(theirs);
            hangup.wait().await;
        }
    }

    #[tokio::test]
    async fn a_hangup_before_the_watch_is_noticed() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        Hangup::watch(&ours).unwrap().wait().await;
    }
}
