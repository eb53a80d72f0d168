//! Bytes from one socket to another, through memory of this process. Moving the kernel's own pages between
//! sockets (splice(2)) takes less work a byte and is slower all the same: it comes in small pieces, for each
//! of which both ends are woken.

use crate::wire::{CHUNK, Wire, send, take};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;
use tokio::io::Interest;
use tokio::time::timeout;

/// Bytes that are taken at once of what flows fast. With a quarter of it a tenth less is carried, with twice
/// as much nothing more.
const MUCH: usize = 4 * 1024 * 1024;

/// Buffers of that size in this process, for all its gates. More than a few are needed only where more flows
/// at once than a machine has processors. The others take [`CHUNK`] at once.
const LARGE: usize = 8;

/// How long a large buffer is held while nothing comes: making one takes as long as filling it.
const HELD: Duration = Duration::from_secs(1);

/// How many have one.
static LENT: AtomicUsize = AtomicUsize::new(0);

/// The right to a large buffer.
struct Large(());

impl Large {
    /// Unless too many have that.
    fn lent() -> Option<Self> {
        let more = |lent| (lent < LARGE).then_some(lent + 1);
        LENT.fetch_update(Relaxed, Relaxed, more).ok().map(|_| Self(()))
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        LENT.fetch_sub(1, Relaxed);
    }
}

/// Counts what is carried, and may hold it.
pub(crate) trait Counts: Sync {
    /// To be called before `bytes` are sent: they may be only when this returns, and never when it fails.
    fn before(&self, bytes: usize) -> impl Future<Output = io::Result<()>> + Send;
}

/// Carries everything from one socket to another until `from` ends. `counts` is asked before anything is
/// sent. Holds no memory while nothing comes.
pub(crate) async fn copy(from: &impl Wire, to: &impl Wire, counts: &impl Counts) -> io::Result<()> {
    loop {
        from.ready(Interest::READABLE).await?;
        let (mut buffer, mut large) = (Vec::new(), None);
        loop {
            let room = if large.is_some() { MUCH } else { CHUNK };
            buffer.clear();
            match from.attempt(Interest::READABLE, || take(from, &mut buffer, room)) {
                Ok(0) => return Ok(()),
                Ok(bytes) => {
                    counts.before(bytes).await?;
                    send(to, &buffer).await?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let ready = from.ready(Interest::READABLE);
                    if large.is_none() || timeout(HELD, ready).await.is_err() {
                        break;
                    }
                }
                Err(error) => return Err(error),
            }
            if buffer.len() >= CHUNK && large.is_none() {
                large = Large::lent();
            }
        }
    }
}
