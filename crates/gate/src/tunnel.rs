//! Copies between a client and what it reached, looks at the first bytes, counts, and holds what would be too much.

use crate::first::First;
use crate::ledger::Meter;
use crate::reach::Way;
use crate::wish::Refusal;
use hyper::body::Bytes;
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

/// Bytes that are copied at once: fewer calls than with the usual 8 KiB, and held only while something flows.
pub(crate) const CHUNK: usize = 64 * 1024;

/// A socket that is read and written without being taken apart.
pub(crate) trait Wire: AsFd + Send + Sync {
    /// Calls `operation` when the socket is ready until it has something to say.
    fn when<T>(
        &self,
        interest: Interest,
        operation: impl FnMut() -> io::Result<T> + Send,
    ) -> impl Future<Output = io::Result<T>> + Send;
}

impl Wire for TcpStream {
    fn when<T>(
        &self,
        interest: Interest,
        operation: impl FnMut() -> io::Result<T> + Send,
    ) -> impl Future<Output = io::Result<T>> + Send {
        self.async_io(interest, operation)
    }
}

impl Wire for UnixStream {
    fn when<T>(
        &self,
        interest: Interest,
        operation: impl FnMut() -> io::Result<T> + Send,
    ) -> impl Future<Output = io::Result<T>> + Send {
        self.async_io(interest, operation)
    }
}

/// Carries a tunnel until both ends have said all, one of them breaks, or what is sent is refused. One end that has said all
/// still hears the other. Dropping it closes both.
pub(crate) async fn carry(client: UnixStream, sent: Bytes, way: Way, meter: Meter, first: Duration) {
    let up = async {
        begin(&client, sent, &way, &meter, first).await?;
        let mut buffer = Vec::new();
        while receive(&client, &mut buffer).await? > 0 {
            meter.up(buffer.len()).await.map_err(refused)?;
            send(&way.stream, &buffer).await?;
            buffer.clear();
        }
        close(&way.stream)
    };
    let down = async {
        meter.down(way.early.len());
        send(&client, &way.early).await?;
        copy(&way.stream, &client, |bytes| meter.down(bytes)).await
    };
    // Broken connections are everyday things: whoever used them knows best what that means.
    if let Err(error) = futures_util::future::try_join(up, down).await {
        tracing::debug!(%error, "a tunnel broke");
    }
}

fn refused(why: Refusal) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// Looks at the first bytes and sends them. A client that waits for the server is waited for.
async fn begin(
    client: &UnixStream,
    sent: Bytes,
    way: &Way,
    meter: &Meter,
    limit: Duration,
) -> io::Result<()> {
    let mut seen = Vec::from(sent);
    if seen.is_empty() && receive(client, &mut seen).await? == 0 {
        return Ok(());
    }
    let readable = async {
        loop {
            match meter.inspect(&seen) {
                First::Pass => return Ok(Ok(())),
                First::Refuse(why) => return Ok(Err(why)),
                First::More if receive(client, &mut seen).await? == 0 => return Ok(Err(Refusal::Unreadable)),
                First::More => {}
            }
        }
    };
    let judged: io::Result<_> = timeout(limit, readable).await.unwrap_or(Ok(Err(Refusal::Unreadable)));
    if let Err(why) = judged? {
        meter.refused(why.clone());
        // In TLS nothing could be said that a client understands.
        if seen.first() != Some(&HANDSHAKE) {
            tell(client, meter, &why).await;
        }
        return Err(refused(why));
    }
    meter.up(seen.len()).await.map_err(refused)?;
    send(&way.stream, &seen).await
}

/// The first byte of TLS: a record of its handshake.
const HANDSHAKE: u8 = 0x16;

/// Says a refusal in the tunnel, as the server would say it.
async fn tell(client: &UnixStream, meter: &Meter, why: &Refusal) {
    let text = meter.words(why);
    let head = format!(
        "HTTP/1.1 403 Forbidden\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    // A client that does not read any more needs no words.
    let _ = timeout(SAYING, send(client, (head + &text).as_bytes())).await;
}

/// How long a client may take to read why it is refused.
const SAYING: Duration = Duration::from_secs(1);

/// Copies until the end of `from`, which is passed on.
pub(crate) async fn copy(from: &impl Wire, to: &impl Wire, mut count: impl FnMut(usize)) -> io::Result<()> {
    let mut buffer = Vec::new();
    while receive(from, &mut buffer).await? > 0 {
        count(buffer.len());
        send(to, &buffer).await?;
        buffer.clear();
    }
    close(to)
}

/// Adds what comes next to `buffer`, at most [`CHUNK`]; 0 is the end. An empty buffer takes no memory while nothing comes.
pub(crate) async fn receive(from: &impl Wire, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let before = buffer.len();
    from.when(Interest::READABLE, || {
        buffer.reserve(CHUNK);
        let received = rustix::net::recv(from, rustix::buffer::spare_capacity(buffer), RecvFlags::DONTWAIT);
        if received.is_err() && before == 0 {
            *buffer = Vec::new();
        }
        received.map_err(io::Error::from)
    })
    .await?;
    Ok(buffer.len() - before)
}

/// Sends all of `bytes`.
pub(crate) async fn send(to: &impl Wire, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = to.when(Interest::WRITABLE, || Ok(rustix::net::send(to, bytes, flags)?)).await?;
        bytes = &bytes[sent..];
    }
    Ok(())
}

/// Says that nothing more will be sent. The other end may be gone.
fn close(to: &impl Wire) -> io::Result<()> {
    match rustix::net::shutdown(to, Shutdown::Write) {
        Ok(()) | Err(rustix::io::Errno::NOTCONN) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
