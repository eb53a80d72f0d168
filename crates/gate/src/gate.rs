//! Serves one gate: takes connections up to their limit, hears who is there, and tells SOCKS from HTTP.

use crate::guest::Guest;
use crate::handed::{MARK, take};
use crate::line::{Caller, Ends, Line};
use crate::loopback::SETTLE;
use crate::neighbours;
use crate::reach::{Keeper, Names};
use crate::served::{PAUSE, Served};
use crate::settings::Settings;
use crate::wish::Crossings;
use crate::{http, socks};
use rustix::net::RecvFlags;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncWriteExt as _, Interest};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// One gate, for one boxed run.
#[derive(Debug)]
pub struct Gate;

impl Gate {
    /// Serves until `ends` is cancelled, and returns when every connection is closed. Each connection asks
    /// `crossings`. Dropping it stops listening and closes the connections; cancelling and waiting is the
    /// orderly way. Fails only when it cannot listen at all.
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

impl Served {
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
        tokio::join!(carrying, listens, neighbours::attend(&self, line, at, settling));
        Ok(())
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
