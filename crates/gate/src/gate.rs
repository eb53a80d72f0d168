//! Serves one gate: takes connections up to their limit, hears who is there, and tells SOCKS from HTTP.

use crate::guest::Guest;
use crate::handed::{MARK, take};
use crate::line::{Caller, Ends, Line};
use crate::loopback::{self, Loopback, SETTLE};
use crate::reach::{Keeper, Names};
use crate::settings::Settings;
use crate::wire::{self, CHUNK};
use crate::wish::Crossings;
use crate::{http, socks};
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// One gate, for one boxed run.
#[derive(Debug)]
pub struct Gate;

impl Gate {
    /// Serves until `ends` is cancelled, and returns when every connection is closed. Each connection asks `crossings`. Dropping
    /// it stops listening and closes the connections; cancelling and waiting is the orderly way. Fails only when it cannot
    /// listen at all.
    pub async fn serve(
        listener: UnixListener,
        crossings: Arc<dyn Crossings>,
        settings: Settings,
        ends: CancellationToken,
    ) -> io::Result<()> {
        let keeper = Arc::new(Keeper::new(crossings, settings, Names::System));
        serve(listener, keeper, ends).await
    }
}

/// How long nothing is taken when nothing can be: descriptors or memory are short, and do not come back by asking.
const PAUSE: Duration = Duration::from_millis(100);

pub(crate) async fn serve(
    listener: UnixListener,
    keeper: Arc<Keeper>,
    ends: CancellationToken,
) -> io::Result<()> {
    // Connections end with this future too, when it is dropped.
    let ends = ends.child_token();
    let _dropped = ends.clone().drop_guard();
    let places = Semaphore::new(keeper.settings.limits.connections.min(Semaphore::MAX_PERMITS));
    let (settles, settling) = mpsc::channel(1);
    let served = Served { keeper, places: Arc::new(places), connections: TaskTracker::new(), ends, settles };
    let mut first = Some(settling);
    loop {
        let accepted = tokio::select! {
            () = served.ends.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => match first.take() {
                // It comes before anything runs in the box that is not ours.
                Some(settling) => served.admit(stream, async move |stream, served, place| {
                    served.begin(stream, place, settling).await
                }),
                None => served.admit(stream, async |stream, served, _place| served.hear(stream).await),
            },
            Err(error) => {
                tracing::warn!(%error, "no connection of a box can be taken");
                let _ = timeout(PAUSE, served.ends.cancelled()).await;
            }
        }
    }
    drop(listener);
    served.connections.close();
    served.connections.wait().await;
    Ok(())
}

/// A gate that is served.
#[derive(Clone)]
pub(crate) struct Served {
    keeper: Arc<Keeper>,
    places: Arc<Semaphore>,
    connections: TaskTracker,
    ends: CancellationToken,
    /// To whoever sees to the loopback, if somebody does.
    settles: mpsc::Sender<oneshot::Sender<()>>,
}

impl Served {
    /// Has a connection attended by a task of its own, or says that there is no place.
    fn admit<S: Guest, F>(&self, stream: S, attend: impl FnOnce(S, Self, OwnedSemaphorePermit) -> F)
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let Ok(place) = self.places.clone().try_acquire_owned() else { return turn_away(&stream) };
        let attended = Box::pin(attend(stream, self.clone(), place));
        let ends = self.ends.clone();
        self.connections.spawn(async move {
            if let Some(Err(error)) = ends.run_until_cancelled_owned(attended).await {
                tracing::debug!(%error, "a connection of a box ended");
            }
        });
    }

    pub(crate) fn keeper(&self) -> &Arc<Keeper> {
        &self.keeper
    }

    pub(crate) fn loopback(&self) -> &Loopback {
        &self.keeper.settings.loopback
    }

    /// The first connection brings where the box listens, or is one like all others.
    async fn begin(
        self,
        stream: UnixStream,
        place: OwnedSemaphorePermit,
        settling: mpsc::Receiver<oneshot::Sender<()>>,
    ) -> io::Result<()> {
        let limit = self.keeper.settings.limits.handshake;
        let first = timeout(limit, look(&stream)).await.map_err(|_| io::ErrorKind::TimedOut)??;
        if first != MARK {
            drop(settling);
            return self.attend(stream, Caller::default()).await;
        }
        let port = take(&stream).await?;
        let at = port.local_addr()?;
        drop(place);
        let (line, carrying) = Line::through(stream);
        let _ = self.keeper.line.set(line.clone());
        let listens = self.take(&port, async |stream: TcpStream, client, served: Self| {
            stream.set_nodelay(true)?;
            let gate = stream.local_addr()?;
            let caller = Caller::behind(served.keeper.line.get(), Ends { client, gate });
            served.attend(stream, caller).await
        });
        tokio::join!(carrying, listens, loopback::attend(&self, line, at, settling));
        Ok(())
    }

    /// Takes what connects to a port in the box, and has each connection attended. Ends by being dropped.
    pub(crate) async fn take<F>(
        &self,
        port: &TcpListener,
        attend: impl Fn(TcpStream, SocketAddr, Self) -> F + Clone + Send,
    ) where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        loop {
            match port.accept().await {
                Ok((stream, client)) => {
                    let attend = attend.clone();
                    self.admit(stream, move |stream, served, place| {
                        let attended = attend(stream, client, served);
                        async move {
                            let _place = place;
                            attended.await
                        }
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "no connection in a box can be taken");
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Looks at the first byte of a connection to the socket itself.
    async fn hear(self, mut stream: UnixStream) -> io::Result<()> {
        let limit = self.keeper.settings.limits.handshake;
        let first = timeout(limit, look(&stream)).await.map_err(|_| io::ErrorKind::TimedOut)??;
        if first != SETTLE {
            return self.attend(stream, Caller::default()).await;
        }
        let (done, is_done) = oneshot::channel();
        // Where nobody sees to the loopback, it is as it will be.
        if self.settles.send(done).await.is_ok() {
            let _ = is_done.await;
        }
        stream.write_u8(SETTLE).await
    }

    /// Looks at the first byte.
    async fn attend(self, stream: impl Guest, caller: Caller) -> io::Result<()> {
        let limit = self.keeper.settings.limits.handshake;
        let first = timeout(limit, look(&stream)).await.map_err(|_| io::ErrorKind::TimedOut)??;
        match first {
            SOCKS => socks::attend(stream, self.keeper, caller).await,
            _ => http::attend(stream, self.keeper, caller).await,
        }
    }
}

/// Says that there is no place. Nothing is waited for: that would be a place.
fn turn_away(stream: &impl Guest) {
    const TEXT: &str = "countersign: the box refused this connection: too many are open at once\n";
    let answer = format!(
        "HTTP/1.1 503 Too Many Connections\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{TEXT}",
        TEXT.len()
    );
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if let Err(error) = rustix::net::send(stream, answer.as_bytes(), flags) {
        tracing::debug!(%error, "a connection of a box was closed without a word");
    }
    // TCP takes back what it said when a socket is closed in which something is left.
    let _ = wire::take(stream, &mut Vec::new(), CHUNK);
}

/// The first byte of SOCKS 5 (RFC 1928).
const SOCKS: u8 = 5;

/// The next byte, which is not taken.
async fn look(stream: &impl Guest) -> io::Result<u8> {
    let mut byte = [0];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    let seen =
        stream.when(Interest::READABLE, || Ok(rustix::net::recv(stream, &mut byte[..], flags)?.1)).await?;
    if seen == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(byte[0]) }
}
