//! What connections of a gate share, and how each gets its place.

use crate::guest::Guest;
use crate::loopback::Loopback;
use crate::reach::Keeper;
use crate::wire::{self, CHUNK};
use rustix::net::SendFlags;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A gate that is served.
#[derive(Clone)]
pub(crate) struct Served {
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) places: Arc<Semaphore>,
    pub(crate) connections: TaskTracker,
    pub(crate) ends: CancellationToken,
    /// To whoever sees to the loopback, if somebody does.
    pub(crate) settles: mpsc::Sender<oneshot::Sender<()>>,
}

impl Served {
    /// Has a connection attended by a task of its own, or says that there is no place.
    pub(crate) fn admit<S: Guest, F>(
        &self,
        stream: S,
        attend: impl FnOnce(S, Self, OwnedSemaphorePermit) -> F,
    ) where
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

/// How long nothing is taken when nothing can be: descriptors or memory are short, and do not
/// come back by asking.
pub(crate) const PAUSE: Duration = Duration::from_millis(100);
