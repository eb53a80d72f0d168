//! The half that runs in the box: listens on its loopback and carries what comes through the gate's socket.

use crate::pipes::{Counts, Pipes, copy};
use crate::said::Client;
use crate::who::{Who, is_left_by_all};
use crate::wire::{close, send};
use rustix::net::Shutdown;
use std::future::pending;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

/// Connections at once. The gate has fewer places and says so; more than this wait to be taken.
const CONNECTIONS: usize = 1024;

/// How long nothing is taken when nothing can be.
const PAUSE: Duration = Duration::from_millis(100);

/// What all connections of a relay share.
#[derive(Default)]
struct Common {
    who: Who,
    pipes: Pipes,
}

/// What goes down is nothing to watch.
struct Down;

impl Counts for Down {
    async fn before(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
}

/// Whether something is on its way up, or will never be any more: then the end of the client does not show by itself.
#[derive(Default)]
struct Up {
    is_on_its_way: AtomicBool,
    changed: Notify,
}

impl Up {
    fn begins(&self) {
        self.is_on_its_way.store(true, Relaxed);
        self.changed.notify_one();
    }

    /// Waits until nobody has the other end of `client` while the gate takes nothing, as when it holds an upload.
    async fn is_left(&self, client: &TcpStream) {
        loop {
            self.changed.notified().await;
            while self.is_on_its_way.load(Relaxed) {
                tokio::time::sleep(LOOKED).await;
                if self.is_on_its_way.load(Relaxed) && is_left_by_all(client) {
                    return;
                }
            }
        }
    }
}

impl Counts for Up {
    async fn before(&self, _: usize) -> io::Result<()> {
        self.begins();
        Ok(())
    }

    fn after(&self) {
        self.is_on_its_way.store(false, Relaxed);
    }
}

/// How often it is looked whether a client is still there, only while the gate takes nothing from it.
pub(crate) const LOOKED: Duration = Duration::from_secs(1);

/// Carries every connection to `ports` through the gate's socket at `gate`, HTTP and SOCKS 5 alike, and says which program of
/// the box it comes from, as far as that is seen in `/proc`. Runs until a port fails for good. Dropping it closes all.
pub async fn relay(ports: Vec<TcpListener>, gate: PathBuf) -> io::Result<()> {
    let gate: Arc<Path> = gate.into();
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let common = Arc::new(Common::default());
    let mut listening = JoinSet::new();
    for port in ports {
        listening.spawn(listen(port, gate.clone(), places.clone(), common.clone()));
    }
    while let Some(ended) = listening.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(())
}

async fn listen(
    port: TcpListener,
    gate: Arc<Path>,
    places: Arc<Semaphore>,
    common: Arc<Common>,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    loop {
        let place = places.clone().acquire_owned().await.map_err(io::Error::other)?;
        // What has ended is forgotten here: there is never more than what had a place.
        while connections.try_join_next().is_some() {}
        match port.accept().await {
            Ok((client, _)) => {
                let (gate, common) = (gate.clone(), common.clone());
                connections.spawn(async move {
                    let _place = place;
                    if let Err(error) = carry(client, &gate, &common).await {
                        tracing::debug!(%error, "a connection to the gate broke");
                    }
                });
            }
            Err(error) if is_passing(&error) => tokio::time::sleep(PAUSE).await,
            Err(error) => return Err(error),
        }
    }
}

/// Whether taking a connection may work later: descriptors and memory come back, and a connection that broke is only one.
fn is_passing(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let passing = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM, Errno::CONNABORTED, Errno::INTR];
    Errno::from_io_error(error).is_some_and(|error| passing.contains(&error))
}

async fn carry(client: TcpStream, gate: &Path, common: &Common) -> io::Result<()> {
    client.set_nodelay(true)?;
    let stream = UnixStream::connect(gate).await?;
    if let Some(preamble) = common.who.opened(client.peer_addr()?, client.local_addr()?).map(Client::new)
        && let Some(preamble) = preamble.preamble()
    {
        send(&stream, &preamble).await?;
    }
    let sending = Up::default();
    let up = async {
        copy(&client, &stream, &common.pipes, &sending).await?;
        sending.begins();
        close(&stream)
    };
    let down = async {
        copy(&stream, &client, &common.pipes, &Down).await?;
        close(&client)
    };
    let left = async {
        sending.is_left(&client).await;
        // The gate sees that nobody hears it. What was sent before is still its.
        rustix::net::shutdown(&stream, Shutdown::Read)?;
        pending().await
    };
    tokio::select! {
        carried = futures_util::future::try_join(up, down) => carried.map(drop),
        left = left => left,
    }
}
