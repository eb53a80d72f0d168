//! Servers of a box that a person wants on this machine, to look at them with a browser of their own.

use countersign_gate::Loopback;
use countersign_protocol::history::ServedPort;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener as Bound};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// What listens in the box of a run, and what of it is shown. Dropping it shows nothing any more.
#[derive(Debug)]
pub(super) struct Servers {
    loopback: Loopback,
    shown: BTreeMap<u16, Shown>,
}

#[derive(Debug)]
struct Shown {
    /// On this machine.
    port: u16,
    _listens: AbortOnDropHandle<()>,
}

impl Servers {
    pub(super) fn of(loopback: Loopback) -> Self {
        Self { loopback, shown: BTreeMap::new() }
    }

    /// Those that are there, and those that are shown though they are gone: they may come back.
    pub(super) fn views(&self) -> Vec<ServedPort> {
        let served = self.served();
        let ports: BTreeSet<u16> =
            served.iter().map(SocketAddr::port).chain(self.shown.keys().copied()).collect();
        let view = |port| ServedPort { port, shown: self.shown.get(&port).map(|shown| shown.port) };
        ports.into_iter().map(view).collect()
    }

    /// Has a port of the box be reached on this machine's loopback, and nowhere else, under the same number
    /// or, where that is taken, another one, which comes back. Needs a runtime.
    pub(super) fn show(&mut self, port: u16) -> io::Result<u16> {
        if let Some(shown) = self.shown.get(&port) {
            return Ok(shown.port);
        }
        if !self.served().iter().any(|at| at.port() == port) {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("nothing listens at port {port} of the box"),
            ));
        }
        let first =
            Bound::bind((Ipv4Addr::LOCALHOST, port)).or_else(|_| Bound::bind((Ipv4Addr::LOCALHOST, 0)))?;
        let shown = first.local_addr()?.port();
        // Browsers try this one first, and go on where nobody is.
        let second = Bound::bind((Ipv6Addr::LOCALHOST, shown)).ok();
        let listeners: Vec<TcpListener> =
            [Some(first), second].into_iter().flatten().map(taken).collect::<Result<_, _>>()?;
        let listens = tokio::spawn(listen(listeners, self.loopback.clone(), port));
        self.shown.insert(port, Shown { port: shown, _listens: AbortOnDropHandle::new(listens) });
        Ok(shown)
    }

    /// Ends that, and every connection with it.
    pub(super) fn hide(&mut self, port: u16) {
        self.shown.remove(&port);
    }

    fn served(&self) -> BTreeSet<SocketAddr> {
        self.loopback.servers().borrow().clone()
    }
}

fn taken(listener: Bound) -> io::Result<TcpListener> {
    listener.set_nonblocking(true)?;
    TcpListener::from_std(listener)
}

/// Carries whatever connects to a port of the box. Ends by being dropped.
async fn listen(listeners: Vec<TcpListener>, loopback: Loopback, port: u16) {
    let mut connections = JoinSet::new();
    loop {
        let accepting = listeners.iter().map(|listener| Box::pin(listener.accept()));
        tokio::select! {
            (accepted, ..) = futures_util::future::select_all(accepting), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => drop(connections.spawn(carry(stream, loopback.clone(), port))),
                Err(error) => {
                    tracing::warn!(%error, port, "a server of a box cannot be shown any more");
                    return;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn carry(mut stream: TcpStream, loopback: Loopback, port: u16) {
    let served = loopback.servers().borrow().clone();
    let Some(at) = served.into_iter().find(|at| at.port() == port) else { return };
    let carried = async {
        let mut inside = loopback.connect(at).await?;
        copy_bidirectional(&mut stream, &mut inside).await
    };
    if let Err(error) = carried.await {
        tracing::debug!(%error, port, "a connection to a server of a box ended");
    }
}

/// Connections to one port at once: more than any browser opens. The others wait.
const CONNECTIONS: usize = 64;
