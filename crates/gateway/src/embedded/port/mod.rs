//! The port: who may have how many connections, how long they have to say who they are, and what of
//! them is read before.
//!
//! Any user of the machine can connect. A place is counted for whoever the kernel says it is, and other users
//! together have no more than a part: whatever they do, programs of the person's own and devices that were
//! let in find theirs.

mod peer;
mod turned_away;

pub use peer::Peer;
pub use turned_away::{Cause, TurnedAway};

use crate::line::{Allowance, Broken, Limits, Line};
use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use countersign_protocol::gateway::MAX_HANDSHAKE_BYTES;
use peer::Owners;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use turned_away::Ledger;

/// Connections that may be open at once: more than programs on one machine, and half of the files that a
/// process may have open where nobody raised that.
const MAX_CONNECTIONS: usize = 512;

/// Those of them that all other users may have together: an agent in an account of its own needs a few.
const MAX_OTHERS: usize = 256;

/// Those that one of these may have: four such users can flood, and a fifth still comes in.
const MAX_OF_OTHER: usize = 64;

/// Connections of another user that may be unknown at once, as at the peers (docs/protocol/gateway.md,
/// "Limits"). Half of what it may have at all: whoever is known finds room for the next.
const MAX_UNKNOWN: usize = 32;

/// The same for the person's own programs, of which a hundred may start together.
const MAX_OWN_UNKNOWN: usize = 128;

/// How long a request may take to come whole, without its body: it comes from this machine.
const HEAD_WAIT: Duration = Duration::from_secs(10);

/// What is read of a connection before it is known, in bytes: its request, and once more after the upgrade
/// its first frame, with a few pings before it. The session says what is wrong with a frame that is
/// a little longer.
const MAX_UNKNOWN_BYTES: usize = MAX_HANDSHAKE_BYTES + 4 * 1_024;

/// How long to wait when the system has no file for one more connection. It waits in the kernel meanwhile.
const NO_FILE_PAUSE: Duration = Duration::from_millis(100);

/// Everybody's places.
pub(super) struct Places {
    /// The user that this program runs as.
    own: u32,
    taken: Mutex<Counts>,
    ledger: Ledger,
}

#[derive(Default)]
struct Counts {
    all: usize,
    others: usize,
    by: HashMap<Peer, Count>,
}

#[derive(Clone, Copy, Default)]
struct Count {
    all: usize,
    unknown: usize,
}

impl Places {
    /// Nobody has a place yet; `own` is the person's number.
    pub(super) fn new(own: u32, now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self { own, taken: Mutex::default(), ledger: Ledger::new(now_ms) }
    }

    /// A place, if there is one for this peer.
    fn take(self: &Arc<Self>, peer: Peer, address: SocketAddr) -> Option<Arc<Admission>> {
        let is_own = self.is_own(peer);
        let mut taken = self.taken();
        let Counts { all, others, .. } = *taken;
        let count = taken.by.get(&peer).copied().unwrap_or_default();
        let has_room = if is_own {
            count.unknown < MAX_OWN_UNKNOWN
        } else {
            others < MAX_OTHERS && count.all < MAX_OF_OTHER && count.unknown < MAX_UNKNOWN
        };
        if all >= MAX_CONNECTIONS || !has_room {
            drop(taken);
            self.ledger.note(peer, Cause::Connections);
            return None;
        }
        taken.all += 1;
        taken.others += usize::from(!is_own);
        taken.by.insert(peer, Count { all: count.all + 1, unknown: count.unknown + 1 });
        let stage = Stage {
            is_known: false,
            allowance: Allowance { bytes: MAX_UNKNOWN_BYTES, until: Some(Instant::now() + HEAD_WAIT) },
            broken: None,
        };
        Some(Arc::new(Admission { places: Arc::clone(self), peer, address, stage: Mutex::new(stage) }))
    }

    /// Somebody was turned away.
    pub(super) fn note(&self, peer: Peer, cause: Cause) {
        self.ledger.note(peer, cause);
    }

    /// Who was turned away lately, the last first.
    pub(super) fn turned_away(&self) -> Vec<TurnedAway> {
        self.ledger.all()
    }

    fn is_own(&self, peer: Peer) -> bool {
        peer == Peer::User(self.own)
    }

    fn taken(&self) -> MutexGuard<'_, Counts> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection, and what may still be read from it.
pub(super) struct Admission {
    places: Arc<Places>,
    pub(super) peer: Peer,
    pub(super) address: SocketAddr,
    stage: Mutex<Stage>,
}

struct Stage {
    is_known: bool,
    allowance: Allowance,
    broken: Option<Broken>,
}

impl Admission {
    /// The request was taken for a WebSocket's: the first frame may come. Whoever attends to it
    /// sees to its time.
    pub(super) fn upgraded(&self) {
        self.stage().allowance = Allowance { bytes: MAX_UNKNOWN_BYTES, until: None };
    }

    /// Whoever is there has shown a secret: from now on the bounds of what it speaks are its own.
    pub(super) fn known(&self) {
        let mut stage = self.stage();
        if stage.is_known {
            return;
        }
        stage.is_known = true;
        stage.allowance = Allowance::FREE;
        drop(stage);
        if let Some(count) = self.places.taken().by.get_mut(&self.peer) {
            count.unknown -= 1;
        }
    }

    /// Whether it ended because more came than may.
    pub(super) fn had_too_much(&self) -> bool {
        self.stage().broken == Some(Broken::TooMuch)
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.peer, self.address)
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let is_known = self.stage().is_known;
        let mut taken = self.places.taken();
        taken.all -= 1;
        taken.others -= usize::from(!self.places.is_own(self.peer));
        if let Some(count) = taken.by.get_mut(&self.peer) {
            count.all -= 1;
            count.unknown -= usize::from(!is_known);
            if count.all == 0 {
                taken.by.remove(&self.peer);
            }
        }
    }
}

impl Limits for Arc<Admission> {
    fn allowance(&self) -> Allowance {
        self.stage().allowance
    }

    fn took(&self, bytes: usize) {
        let mut stage = self.stage();
        if !stage.is_known {
            stage.allowance.bytes = stage.allowance.bytes.saturating_sub(bytes);
        }
    }

    fn broken(&self, why: Broken) {
        // Once for each connection, however often it is tried.
        if self.stage().broken.replace(why).is_none() {
            let cause = match why {
                Broken::Late => Cause::Silent,
                Broken::TooMuch => Cause::TooLong,
                Broken::Stalled => Cause::NotReading,
            };
            self.places.note(self.peer, cause);
        }
    }
}

/// Whether a connection that was just accepted leaves enough files.
pub(super) type HasRoom = Box<dyn Fn(BorrowedFd<'_>) -> bool + Send>;

/// Takes connections for which there is a place.
pub(super) struct Port {
    listener: TcpListener,
    places: Arc<Places>,
    owners: Owners,
    has_room: HasRoom,
    /// Whether the log knows that there is no file.
    is_out_of_files: bool,
}

impl Port {
    pub(super) fn new(listener: TcpListener, places: Arc<Places>, has_room: HasRoom) -> io::Result<Self> {
        let owners = Owners::new(listener.local_addr()?.port());
        Ok(Self { listener, places, owners, has_room, is_out_of_files: false })
    }
}

impl Listener for Port {
    type Io = Line<TcpStream, Arc<Admission>>;
    type Addr = Arc<Admission>;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, from) = match self.listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) if is_of_one_connection(&error) => continue,
                Err(error) => {
                    // Others wait in the kernel until a file is free: neither the end nor a reason to try
                    // without a pause.
                    if !std::mem::replace(&mut self.is_out_of_files, true) {
                        tracing::error!(%error, "embedded gateway: no more connections for now");
                    }
                    tokio::time::sleep(NO_FILE_PAUSE).await;
                    continue;
                }
            };
            self.is_out_of_files = false;
            if !(self.has_room)(stream.as_fd()) {
                turn_away(stream);
                continue;
            }
            let peer = self.owners.of(from).await;
            let Some(place) = self.places.take(peer, from) else {
                turn_away(stream);
                continue;
            };
            // Small frames leave at once: a client would wait 40 ms for the second of two.
            if let Err(error) = stream.set_nodelay(true) {
                tracing::warn!(%error, "a connection will be slow");
            }
            return (Line::new(stream, Arc::clone(&place)), place);
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Err(io::Error::from(ErrorKind::Unsupported))
    }
}

/// Of a connection that ended before it was taken.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset
    )
}

/// Says that there is no place, as far as that costs nothing, and closes.
fn turn_away(stream: TcpStream) {
    let Ok(mut stream) = stream.into_std() else { return };
    // What is unread when a connection is closed takes the answer with it.
    let _ = stream.read(&mut [0; 4 * 1_024]);
    let _ = stream.write(NO_PLACE);
}

const NO_PLACE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\n\
    Content-Type: text/plain\r\nContent-Length: 28\r\n\r\nToo many unknown connections";

/// What handlers are told of a connection.
#[derive(Clone)]
pub(super) struct Arrival(pub(super) Arc<Admission>);

impl Connected<IncomingStream<'_, Port>> for Arrival {
    fn connect_info(stream: IncomingStream<'_, Port>) -> Self {
        Self(Arc::clone(stream.remote_addr()))
    }
}

#[cfg(test)]
mod tests;
