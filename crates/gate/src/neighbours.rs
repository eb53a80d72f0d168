//! What is reached on the loopback of a box beside its own servers: those of other boxes in its
//! neighbourhood, and services of this machine.
//!
//! A box has a loopback of its own, so a server that one command started would be nowhere for the next. The
//! relay listens where neighbours do, and the gate takes what connects there and has the neighbour's relay
//! connect inside. Neighbours reach each other unasked, since they share all that they write anyway; a
//! service of this machine is a [`Wish`] like any other.
//!
//! Where a program of the box listens itself nothing is taken from it. What the relay listens on is taken: a
//! program that wants the same port hears that, as it would outside of boxes.

use crate::copy::{Counts, copy};
use crate::destination::{Destination, Host};
use crate::hang_up::HangUp;
use crate::line::{Caller, Ends, Line};
use crate::listening::MOST;
use crate::loopback::{Inner, Joined, locked};
use crate::meter::Meter;
use crate::place::Place;
use crate::reach::Way;
use crate::served::Served;
use crate::tunnel;
use crate::wire::close;
use crate::wish::{Because, Protocol, Wish};
use futures_util::future::{join_all, try_join};
use hyper::body::Bytes;
use rustix::net::sockopt::set_socket_linger;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::task::AbortOnDropHandle;

/// A box that is in its neighbourhood as long as this lives.
struct Member<'a>(&'a Arc<Inner>, &'a Joined);

impl<'a> Member<'a> {
    fn new(own: &'a Arc<Inner>, joined: &'a Joined) -> Self {
        let _ = own.since.set(Instant::now());
        locked(&joined.neighbourhood.0.boxes).push(Arc::downgrade(own));
        Self(own, joined)
    }

    /// Looks what those serve that run for a while: nothing listens a moment after it began. What does not
    /// answer soon is as it was seen last.
    async fn ask_others(&self) {
        let is_old = |other: &Arc<Inner>| other.since.get().is_some_and(|since| since.elapsed() >= YOUNG);
        let others = self.1.neighbourhood.0.others(self.0);
        let looks = join_all(others.iter().filter(|other| is_old(other)).map(|other| other.look()));
        let _ = timeout(AWAITED, looks).await;
    }

    /// Where the gate is to listen in the box.
    fn wanted(&self) -> BTreeSet<SocketAddr> {
        let others = self.1.neighbourhood.0.others(self.0);
        let served = others.iter().flat_map(|other| other.servers.borrow().clone());
        let all = served.chain(self.1.services.iter().copied());
        all.filter(|at| !self.0.serves(*at)).take(MOST).collect()
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        let gone = |other: &Weak<Inner>| other.strong_count() == 0 || std::ptr::eq(other.as_ptr(), &**self.0);
        locked(&self.1.neighbourhood.0.boxes).retain(|other| !gone(other));
        // Nothing is served there any more, also for who still holds it.
        let served = self.0.servers.send_replace(BTreeSet::new());
        if !served.is_empty() {
            self.1.neighbourhood.0.changed.send_replace(());
        }
    }
}

/// Sees to the loopback of a box from when its command is about to begin, which `settling` tells. `port` is
/// where the box has its proxy. Ends by being dropped.
pub(crate) async fn attend(
    served: &Served,
    line: Line,
    port: SocketAddr,
    mut settling: mpsc::Receiver<oneshot::Sender<()>>,
) {
    let own = &served.loopback().0;
    let Some(first) = settling.recv().await else { return };
    let Some(joined) = own.joined.get() else {
        let _ = first.send(());
        // Nobody else is answered either.
        return drop(settling);
    };
    let _ = own.line.set(line.clone());
    locked(&own.ours).insert(port);
    let member = Member::new(own, joined);
    let mut changed = joined.neighbourhood.0.changed.subscribe();
    let mut listeners = Listeners { served, line: &line, open: BTreeMap::new() };
    member.ask_others().await;
    listeners.follow(member.wanted()).await;
    let _ = first.send(());
    let mut pause = YOUNG;
    let mut next = Instant::now() + pause;
    loop {
        tokio::select! {
            () = sleep_until(next) => {
                // Most boxes serve nothing, and many can be there at once.
                pause = if own.look().await { YOUNG } else { (pause * 2).min(LOOKED) };
                next = Instant::now() + pause;
            }
            Ok(()) = changed.changed() => listeners.follow(member.wanted()).await,
            // It has been, and whoever says so now is not the relay.
            Some(again) = settling.recv() => drop(again.send(())),
        }
    }
}

/// Where the gate listens in a box.
struct Listeners<'a> {
    served: &'a Served,
    line: &'a Line,
    open: BTreeMap<SocketAddr, AbortOnDropHandle<()>>,
}

impl Listeners<'_> {
    /// Listens where it is wanted and can be, and nowhere else.
    async fn follow(&mut self, wanted: BTreeSet<SocketAddr>) {
        let own = &self.served.loopback().0;
        let unwanted: Vec<SocketAddr> = self.open.keys().filter(|at| !wanted.contains(at)).copied().collect();
        for at in unwanted {
            if let Some(listens) = self.open.remove(&at) {
                listens.abort();
                let _ = listens.await;
            }
            locked(&own.ours).remove(&at);
        }
        for at in wanted {
            if self.open.contains_key(&at) {
                continue;
            }
            // Before it listens: or it would be taken for a server of the box.
            locked(&own.ours).insert(at);
            match self.line.listen(at).await {
                Some(port) => {
                    let listens = tokio::spawn(listen(self.served.clone(), port, at));
                    self.open.insert(at, AbortOnDropHandle::new(listens));
                }
                None => drop(locked(&own.ours).remove(&at)),
            }
        }
    }
}

async fn listen(served: Served, port: TcpListener, at: SocketAddr) {
    let attend = move |stream, client, served| carry(stream, client, served, at);
    served.take(&port, attend).await;
}

/// Carries a connection to where it leads. One that leads nowhere is broken off, as if nothing listened.
async fn carry(stream: TcpStream, client: SocketAddr, served: Served, at: SocketAddr) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let own = &served.loopback().0;
    let Some(joined) = own.joined.get() else { return Err(io::ErrorKind::NotConnected.into()) };
    let neighbour = joined.neighbourhood.0.others(own).into_iter().find(|other| other.serves(at));
    let led = match neighbour {
        Some(neighbour) => match neighbour.connect(at).await {
            Ok(inside) => return pass(&stream, &inside).await,
            Err(error) => Err(error),
        },
        None if joined.services.contains(&at) => match ask(&stream, client, &served, at.port()).await {
            Ok(Some((way, meter))) => {
                let first = served.keeper().settings.limits.first;
                tunnel::carry(stream, Bytes::new(), way, meter, first).await;
                return Ok(());
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        },
        None => Err(io::ErrorKind::ConnectionRefused.into()),
    };
    set_socket_linger(&stream, Some(Duration::ZERO))?;
    led
}

/// Copies both ways between boxes, until both ends have said all.
async fn pass(one: &TcpStream, other: &TcpStream) -> io::Result<()> {
    let over = async {
        copy(one, other, &Uncounted).await?;
        close(other)
    };
    let back = async {
        copy(other, one, &Uncounted).await?;
        close(one)
    };
    try_join(over, back).await.map(drop)
}

/// What stays between boxes goes nowhere.
struct Uncounted;

impl Counts for Uncounted {
    async fn before(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
}

/// Has a connection to a service of this machine judged, and made. Nothing where nobody waits
/// for it any more.
async fn ask(
    stream: &TcpStream,
    client: SocketAddr,
    served: &Served,
    port: u16,
) -> io::Result<Option<(Way, Meter)>> {
    let keeper = served.keeper();
    let host = Host::Name(LOCALHOST.to_owned());
    let mut wish = Wish {
        place: Place::promised_by(&host),
        destination: Destination::new(host, port).map_err(io::Error::other)?,
        addresses: Vec::new(),
        protocol: Protocol::Loopback,
        because: Because::First,
        caller: Caller::behind(keeper.line.get(), Ends { client, gate: stream.local_addr()? }),
    };
    let hang_up = HangUp::of(stream)?;
    let reached = tokio::select! {
        reached = keeper.reach(&mut wish) => reached,
        () = hang_up.happened() => return Ok(None),
    };
    let opened = reached.and_then(|way| Ok((way, Meter::new(keeper.clone(), wish.clone())?)));
    opened.map(Some).map_err(|why| {
        keeper.crossings.refused(&wish, why.clone());
        io::Error::new(io::ErrorKind::PermissionDenied, why)
    })
}

/// The one name under which services of this machine are asked about, whichever address was connected to.
const LOCALHOST: &str = "localhost";

/// The longest pause between two looks where programs of a box listen, when nothing changes there.
const LOOKED: Duration = Duration::from_millis(1_600);

/// The longest wait of a command for what its neighbours serve now: one answers within a millisecond where
/// the machine is not busy.
const AWAITED: Duration = Duration::from_millis(20);

/// How long a command runs before it is asked at all, and the pause after something changed.
const YOUNG: Duration = Duration::from_millis(100);
