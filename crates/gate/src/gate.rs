//! Serves one gate: takes connections up to their limit, hears who is there, and tells SOCKS from HTTP.

use crate::reach::{Keeper, Names};
use crate::said::{Client, MARK};
use crate::settings::Settings;
use crate::wish::Crossings;
use crate::{http, socks};
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
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
    let places = Arc::new(Semaphore::new(keeper.settings.limits.connections.min(Semaphore::MAX_PERMITS)));
    let connections = TaskTracker::new();
    loop {
        let accepted = tokio::select! {
            () = ends.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "no connection of a box can be taken");
                let _ = timeout(PAUSE, ends.cancelled()).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else {
            turn_away(&stream);
            continue;
        };
        let (keeper, ends) = (keeper.clone(), ends.clone());
        connections.spawn(async move {
            let _place = place;
            let served = ends.run_until_cancelled_owned(Box::pin(attend(stream, keeper))).await;
            if let Some(Err(error)) = served {
                tracing::debug!(%error, "a connection of a box ended");
            }
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
    Ok(())
}

/// Says that there is no place. Nothing is waited for: that would be a place.
fn turn_away(stream: &UnixStream) {
    const TEXT: &str = "countersign: the box refused this connection: too many are open at once\n";
    let answer = format!(
        "HTTP/1.1 503 Too Many Connections\r\ncontent-type: text/plain\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{TEXT}",
        TEXT.len()
    );
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if let Err(error) = rustix::net::send(stream, answer.as_bytes(), flags) {
        tracing::debug!(%error, "a connection of a box was closed without a word");
    }
}

/// The first byte of SOCKS 5 (RFC 1928).
const SOCKS: u8 = 5;

async fn attend(mut stream: UnixStream, keeper: Arc<Keeper>) -> io::Result<()> {
    let limit = keeper.settings.limits.handshake;
    let began = timeout(limit, begin(&mut stream)).await.map_err(|_| io::ErrorKind::TimedOut)??;
    match began {
        (SOCKS, client) => socks::attend(stream, keeper, client).await,
        (_, client) => http::attend(stream, keeper, client).await,
    }
}

/// Takes what the relay says, and looks at the first byte behind it.
async fn begin(stream: &mut UnixStream) -> io::Result<(u8, Option<Client>)> {
    let mut first = look(stream).await?;
    let mut client = None;
    if first == MARK {
        stream.read_u8().await?;
        client = Some(Client::read(stream).await?);
        first = look(stream).await?;
    }
    Ok((first, client))
}

/// The next byte, which is not taken.
async fn look(stream: &UnixStream) -> io::Result<u8> {
    let mut byte = [0];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    let seen = stream
        .async_io(Interest::READABLE, || Ok(rustix::net::recv(stream, &mut byte[..], flags)?.1))
        .await?;
    if seen == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(byte[0]) }
}
