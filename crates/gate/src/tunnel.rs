//! Copies between a client and what it reached, looks at the first bytes, counts, and holds what
//! would be too much.

use crate::copy::{Counts, copy};
use crate::first::First;
use crate::guest::Guest;
use crate::hang_up::HangUp;
use crate::meter::Meter;
use crate::reach::Way;
use crate::wire::{close, receive, send};
use crate::wish::Refusal;
use futures_util::future::poll_immediate;
use hyper::body::Bytes;
use std::future::pending;
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tokio::time::timeout;

/// Carries a tunnel until both ends have said all, one of them breaks, or what is sent is refused. One end
/// that has said all still hears the other. Dropping it closes both.
pub(crate) async fn carry<S: Guest>(client: S, sent: Bytes, way: Way, meter: Meter, first: Duration) {
    let heard = AtomicBool::new(false);
    let up = async {
        begin(&client, sent, &way, &meter, &heard, first).await?;
        let counts = Up { meter: &meter, client: &client, heard: &heard };
        copy(&client, &way.stream, &counts).await?;
        close(&way.stream)
    };
    let down = async {
        meter.down(way.early.len()).map_err(refused)?;
        send(&client, &way.early).await?;
        copy(&way.stream, &client, &Down(&meter)).await?;
        heard.store(true, Relaxed);
        close(&client)
    };
    // Broken connections are everyday things: whoever used them knows best what that means.
    if let Err(error) = futures_util::future::try_join(up, down).await {
        tracing::debug!(%error, "a tunnel broke");
    }
}

/// What a client sends.
struct Up<'a, S> {
    meter: &'a Meter,
    client: &'a S,
    /// The server has said all, so that nothing more is sent to the client.
    heard: &'a AtomicBool,
}

impl<S: Guest> Counts for Up<'_, S> {
    async fn before(&self, bytes: usize) -> io::Result<()> {
        let mut may_be_sent = pin!(self.meter.up(bytes));
        if let Some(at_once) = poll_immediate(&mut may_be_sent).await {
            return at_once.map_err(refused);
        }
        let hang_up = HangUp::of(self.client)?;
        let hung_up = async {
            hang_up.is_deaf(self.meter.line()).await;
            // That is our own doing: the server has said all, and what is still sent is for it alone.
            if self.heard.load(Relaxed) {
                pending().await
            }
        };
        tokio::select! {
            may_be_sent = may_be_sent => may_be_sent.map_err(refused),
            () = hung_up => Err(io::ErrorKind::ConnectionAborted.into()),
        }
    }
}

/// What a client gets.
struct Down<'a>(&'a Meter);

impl Counts for Down<'_> {
    async fn before(&self, bytes: usize) -> io::Result<()> {
        self.0.down(bytes).map_err(refused)
    }
}

fn refused(why: Refusal) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, why)
}

/// Looks at the first bytes and sends them. A client that waits for the server is waited for.
async fn begin(
    client: &impl Guest,
    sent: Bytes,
    way: &Way,
    meter: &Meter,
    heard: &AtomicBool,
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
    Up { meter, client, heard }.before(seen.len()).await?;
    send(&way.stream, &seen).await
}

/// The first byte of TLS: a record of its handshake.
const HANDSHAKE: u8 = 0x16;

/// Says a refusal in the tunnel, as the server would say it.
async fn tell(client: &impl Guest, meter: &Meter, why: &Refusal) {
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
