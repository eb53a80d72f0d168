//! Whether somebody still waits for an answer.

use crate::guest::{Guest, pass_over};
use crate::line::Line;
use std::future::pending;
use std::io;
use tokio::io::Interest;

/// Notices that a client hung up, without reading from it.
pub(crate) struct HangUp<S>(S);

impl<S: Guest> HangUp<S> {
    /// Watches `stream` beside whoever reads it.
    pub(crate) fn of(stream: &S) -> io::Result<Self> {
        stream.again().map(Self)
    }

    /// Waits until the client reads no more. One that has only said all still waits for its answer.
    pub(crate) async fn is_deaf(&self, line: Option<&Line>) {
        self.0.is_deaf(line).await;
    }

    /// Waits until the client has closed its end, or at least said that it will send no more.
    pub(crate) async fn happened(&self) {
        loop {
            match self.0.ready(Interest::READABLE).await {
                Ok(ready) if ready.is_read_closed() => return,
                // Whatever came is for whoever reads: what is waited for is the next event.
                Ok(_) => pass_over(&self.0, Interest::READABLE),
                // Without a watch there is the limit on holding.
                Err(_) => pending().await,
            }
        }
    }
}
