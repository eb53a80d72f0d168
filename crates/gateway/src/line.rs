//! A byte stream that the other end cannot make us pile up memory with, or wait on for ever.
//!
//! Whoever does not read is not heard either: WebSockets answer pings while they are read, and those answers
//! would have nowhere to go. Who does not read for [`STALL`] loses the connection. How much may come, and
//! until when, is said by [`Limits`] and counted as it comes: a frame that is too long is never
//! put together first.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

/// How long nothing may leave although something is to. On one machine a program that lives reads within
/// milliseconds, over a network TCP itself needs seconds to make up for what was lost.
pub(crate) const STALL: Duration = Duration::from_secs(15);

/// What may be read from a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    /// Bytes that may still come.
    pub(crate) bytes: usize,
    /// Until when; for ever where none is said.
    pub(crate) until: Option<Instant>,
}

impl Allowance {
    /// No bound of the line's own.
    pub(crate) const FREE: Self = Self { bytes: usize::MAX, until: None };
}

/// Says what may be read, and hears what was.
pub(crate) trait Limits: Unpin {
    /// What may be read now. It may grow at any time, and its time be put off; it is never brought forward.
    fn allowance(&self) -> Allowance;

    /// So many bytes came.
    fn took(&self, bytes: usize);

    /// The line ends because of this.
    fn broken(&self, why: Broken);
}

/// Whoever is at the other end was chosen by us.
pub(crate) struct Free;

impl Limits for Free {
    fn allowance(&self) -> Allowance {
        Allowance::FREE
    }

    fn took(&self, _: usize) {}

    fn broken(&self, _: Broken) {}
}

/// Why a line ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Broken {
    /// What had to come by then did not.
    #[error("what was to come did not come in time")]
    Late,
    /// More came than may.
    #[error("more came than is read from somebody unknown")]
    TooMuch,
    /// Nothing leaves.
    #[error("the other end did not read for {} s", STALL.as_secs())]
    Stalled,
}

/// A stream with its limits.
pub(crate) struct Line<S, L> {
    stream: S,
    limits: L,
    late: Option<Pin<Box<Sleep>>>,
    /// Runs since something could not leave.
    stall: Option<Pin<Box<Sleep>>>,
    /// Waits to read until that has left.
    reader: Option<Waker>,
}

impl<S: Unpin, L: Limits> Line<S, L> {
    pub(crate) fn new(stream: S, limits: L) -> Self {
        Self { stream, limits, late: None, stall: None, reader: None }
    }

    fn broken<T>(&self, why: Broken) -> Poll<io::Result<T>> {
        self.limits.broken(why);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
    }

    /// What came of letting something out.
    fn left<T>(&mut self, cx: &mut Context<'_>, left: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if left.is_ready() {
            self.stall = None;
            if let Some(reader) = self.reader.take() {
                reader.wake();
            }
            return left;
        }
        let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(STALL)));
        ready!(stall.as_mut().poll(cx));
        self.broken(Broken::Stalled)
    }
}

impl<S: AsyncRead + Unpin, L: Limits> AsyncRead for Line<S, L> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if let Some(stall) = &mut this.stall {
            // Whoever lets something out may have given up: the end has to come all the same.
            let is_over = stall.as_mut().poll(cx).is_ready();
            this.reader = Some(cx.waker().clone());
            return if is_over { this.broken(Broken::Stalled) } else { Poll::Pending };
        }
        let Allowance { bytes, until } = this.limits.allowance();
        // Also while bytes come, one by one.
        if until.is_some_and(|until| Instant::now() >= until) {
            return this.broken(Broken::Late);
        }
        if bytes == 0 {
            return this.broken(Broken::TooMuch);
        }
        let before = buf.filled().len();
        let read = if bytes >= buf.remaining() {
            Pin::new(&mut this.stream).poll_read(cx, buf)
        } else {
            let mut part = ReadBuf::new(buf.initialize_unfilled_to(bytes));
            let read = Pin::new(&mut this.stream).poll_read(cx, &mut part);
            let came = part.filled().len();
            buf.advance(came);
            read
        };
        if read.is_ready() {
            this.limits.took(buf.filled().len() - before);
            return read;
        }
        let Some(until) = until else { return Poll::Pending };
        let late = this.late.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if late.deadline() != until {
            late.as_mut().reset(until);
        }
        ready!(late.as_mut().poll(cx));
        this.broken(Broken::Late)
    }
}

impl<S: AsyncWrite + Unpin, L: Limits> AsyncWrite for Line<S, L> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let left = Pin::new(&mut this.stream).poll_write(cx, buf);
        this.left(cx, left)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let left = Pin::new(&mut this.stream).poll_flush(cx);
        this.left(cx, left)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let left = Pin::new(&mut this.stream).poll_shutdown(cx);
        this.left(cx, left)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let left = Pin::new(&mut this.stream).poll_write_vectored(cx, bufs);
        this.left(cx, left)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests;
