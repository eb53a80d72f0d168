//! Bytes from one socket to another through a pipe: the kernel moves its own pages (splice(2)), and this process never has them.
//! Copying them takes more than all the rest of the way through the gate.

use crate::wire::{CHUNK, Wire, send, take};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use tokio::io::Interest;

/// Pipes of one gate, at two descriptors each: a process has 1024 of them unless somebody raised that. A pipe is needed
/// only while bytes move, so this is far more than what has bytes at once. The rest copies.
const PIPES: usize = 32;

/// Bytes that are moved at once. A pipe holds 16 pieces of up to 32 KiB; larger pipes were not faster, and all pipes of a person
/// share one limit. What is not yet allowed waits in the pipe.
const MOVED: usize = 512 * 1024;

/// Pipes that stand ready. All of them are empty.
#[derive(Default)]
pub(crate) struct Pipes(Mutex<Standing>);

#[derive(Default)]
struct Standing {
    free: Vec<Pipe>,
    lent: usize,
}

/// Both ends of a pipe.
struct Pipe {
    into: OwnedFd,
    from: OwnedFd,
}

impl Pipes {
    /// A pipe, unless too many are in use.
    fn lend(&self) -> Option<Lent<'_>> {
        let mut standing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if standing.lent >= PIPES {
            return None;
        }
        let pipe = match standing.free.pop() {
            Some(pipe) => pipe,
            None => {
                let (from, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
                Pipe { into, from }
            }
        };
        standing.lent += 1;
        Some(Lent { pipes: self, pipe: Some(pipe), holds: 0 })
    }
}

/// A pipe that is in use. It goes back when nothing is in it, and is closed otherwise: nobody may find another's bytes.
struct Lent<'a> {
    pipes: &'a Pipes,
    /// There until this is dropped.
    pipe: Option<Pipe>,
    holds: usize,
}

impl Lent<'_> {
    /// Takes what has come from a socket that does not block, without waiting. 0 is its end.
    fn fill(&mut self, from: &impl Wire) -> io::Result<usize> {
        let Some(pipe) = &self.pipe else { return Ok(0) };
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        let moved = splice(from, None, &pipe.into, None, MOVED, flags)?;
        self.holds += moved;
        Ok(moved)
    }

    /// Gives all of it to a socket that does not block. One that nobody reads is an error, since programs in Rust ignore SIGPIPE.
    async fn drain(&mut self, to: &impl Wire) -> io::Result<()> {
        let Some(pipe) = &self.pipe else { return Ok(()) };
        while self.holds > 0 {
            let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
            let holds = self.holds;
            let moved =
                to.when(Interest::WRITABLE, || Ok(splice(&pipe.from, None, to, None, holds, flags)?)).await?;
            if moved == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.holds -= moved;
        }
        Ok(())
    }
}

impl Lent<'_> {
    /// Moves what has come. Stops where there is nothing, and before what is not moved so, like an urgent byte: whoever reads
    /// next sees which of them it is, or the end.
    async fn carry(mut self, from: &impl Wire, to: &impl Wire, counts: &impl Counts) -> io::Result<()> {
        loop {
            match self.fill(from) {
                Ok(0) => return Ok(()),
                Ok(bytes) => {
                    counts.before(bytes).await?;
                    self.drain(to).await?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // Not every kernel that calls itself Linux moves between all kinds of sockets.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut standing = self.pipes.0.lock().unwrap_or_else(PoisonError::into_inner);
        standing.lent -= 1;
        if let Some(pipe) = self.pipe.take()
            && self.holds == 0
        {
            standing.free.push(pipe);
        }
    }
}

/// Counts what is carried, and may hold it.
pub(crate) trait Counts: Sync {
    /// To be called before `bytes` are sent: they may be only when this returns, and never when it fails.
    fn before(&self, bytes: usize) -> impl Future<Output = io::Result<()>> + Send;
}

/// Bytes that are copied: moving so few takes as long, and needs a pipe.
const COPIED: usize = 4 * 1024;

/// Carries everything from one socket to another until `from` ends. `counts` is asked before
/// anything is sent. Holds no pipe and no memory while nothing comes.
pub(crate) async fn copy(
    from: &impl Wire,
    to: &impl Wire,
    pipes: &Pipes,
    counts: &impl Counts,
) -> io::Result<()> {
    loop {
        from.ready(Interest::READABLE).await?;
        let mut buffer = Vec::new();
        let mut copied = COPIED;
        loop {
            buffer.clear();
            match from.attempt(Interest::READABLE, || take(from, &mut buffer, copied)) {
                Ok(0) => return Ok(()),
                Ok(bytes) => {
                    counts.before(bytes).await?;
                    send(to, &buffer).await?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            if buffer.len() < copied {
                continue;
            }
            match pipes.lend() {
                Some(pipe) => pipe.carry(from, to, counts).await?,
                None => copied = CHUNK,
            }
        }
    }
}
