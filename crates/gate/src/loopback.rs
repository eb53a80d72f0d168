//! The loopback of a box as it is seen outside, and which boxes are neighbours.

use crate::line::Line;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{Mutex as Turn, watch};
use tokio::time::Instant;

/// The byte with which the relay says that its command is about to begin. No HTTP or SOCKS begins so.
pub(crate) const SETTLE: u8 = 1;

/// The loopback of one box. Clones are the same one.
#[derive(Clone, Default)]
pub struct Loopback(pub(crate) Arc<Inner>);

/// Boxes whose servers are reached from one another. Clones are the same one.
#[derive(Clone, Default)]
pub struct Neighbourhood(pub(crate) Arc<Neighbours>);

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) joined: OnceLock<Joined>,
    pub(crate) line: OnceLock<Line>,
    /// When its command began.
    pub(crate) since: OnceLock<Instant>,
    /// Where its programs listen.
    pub(crate) servers: watch::Sender<BTreeSet<SocketAddr>>,
    /// Where the gate listens in it.
    pub(crate) ours: Mutex<BTreeSet<SocketAddr>>,
    asked: Turn<Option<Instant>>,
}

pub(crate) struct Joined {
    pub(crate) neighbourhood: Neighbourhood,
    pub(crate) services: Vec<SocketAddr>,
}

#[derive(Default)]
pub(crate) struct Neighbours {
    /// Whose commands have begun, in that order.
    pub(crate) boxes: Mutex<Vec<Weak<Inner>>>,
    pub(crate) changed: watch::Sender<()>,
}

impl Loopback {
    /// Has the box be one of `neighbourhood` from when its command begins until its gate ends, and reach
    /// `services` of this machine, which are addresses of loopback. A box that is in one
    /// already stays in that.
    pub fn join(&self, neighbourhood: &Neighbourhood, services: Vec<SocketAddr>) {
        let _ = self.0.joined.set(Joined { neighbourhood: neighbourhood.clone(), services });
    }

    /// Where programs of the box listen, as the box says it, looked at while its command runs in a
    /// neighbourhood, every 1.6 seconds at least.
    pub fn servers(&self) -> watch::Receiver<BTreeSet<SocketAddr>> {
        self.0.servers.subscribe()
    }

    /// Connects to what listens in the box. Fails where nothing does, or the box does not answer within two
    /// seconds. Dropping the future makes no connection.
    pub async fn connect(&self, at: SocketAddr) -> io::Result<TcpStream> {
        self.0.connect(at).await
    }
}

impl Neighbourhood {
    /// Whether somebody has another clone of it, such as a box that was told to join.
    pub fn is_held(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Loopback").field(&*self.0.servers.borrow()).finish()
    }
}

impl fmt::Debug for Neighbourhood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Neighbourhood").field(&locked(&self.0.boxes).len()).finish()
    }
}

impl Inner {
    pub(crate) async fn connect(&self, at: SocketAddr) -> io::Result<TcpStream> {
        let line = self.line.get().ok_or(io::ErrorKind::NotConnected)?;
        let stream = line.connect(at).await.ok_or(io::ErrorKind::ConnectionRefused)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    /// Looks where its programs listen, unless somebody did a moment ago. Whether that is another
    /// place than before.
    pub(crate) async fn look(&self) -> bool {
        let (Some(line), Some(joined)) = (self.line.get(), self.joined.get()) else { return false };
        let mut asked = self.asked.lock().await;
        if asked.is_some_and(|at| at.elapsed() < FRESH) {
            return false;
        }
        // What was ours when it was looked is, as well as what is by now.
        let before = locked(&self.ours).clone();
        let Some(mut found) = line.servers().await else { return false };
        *asked = Some(Instant::now());
        let ours = locked(&self.ours).clone();
        found.retain(|at| !before.contains(at) && !ours.contains(at));
        let is_new = self.servers.send_if_modified(|servers| {
            let is_new = *servers != found;
            *servers = found;
            is_new
        });
        if is_new {
            joined.neighbourhood.0.changed.send_replace(());
        }
        is_new
    }

    pub(crate) fn serves(&self, at: SocketAddr) -> bool {
        self.servers.borrow().contains(&at)
    }
}

impl Neighbours {
    pub(crate) fn others(&self, own: &Arc<Inner>) -> Vec<Arc<Inner>> {
        let boxes = locked(&self.boxes);
        let others = boxes.iter().filter_map(Weak::upgrade).filter(|other| !Arc::ptr_eq(other, own));
        others.take(NEAREST).collect()
    }
}

/// The addresses of loopback at which a port is reached by its name.
pub fn by_name(port: u16) -> [SocketAddr; 2] {
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].map(|ip| SocketAddr::new(ip, port))
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As old as an answer to that may be.
const FRESH: Duration = Duration::from_millis(100);

/// Neighbours that are looked at, the oldest ones: servers are long there.
const NEAREST: usize = 16;
