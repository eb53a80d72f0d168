//! One connection: frames in, answers and pushes out. What waits to be pushed stays in the session, so
//! nothing piles up here.

use super::{PetConnection, Seated, lock};
use crate::pet::session::{Output, heartbeat as heartbeat_push};
use axum::Error;
use axum::body::Bytes;
use axum::extract::ws::{CloseFrame, Message};
use countersign_protocol::pet::{HEARTBEAT_MS, close};
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite;
use tokio_util::sync::CancellationToken;

/// How often the client hears that the connection lives.
const HEARTBEAT: Duration = Duration::from_millis(HEARTBEAT_MS);

/// After this long without a sign of life a client is gone: three heartbeats, each with a ping, which every
/// WebSocket answers.
const SILENCE: Duration = Duration::from_millis(3 * HEARTBEAT_MS);

/// How long a frame may take to leave: a client that does not read for so long is gone.
const SEND: Duration = Duration::from_secs(10);

/// How long the close may take to leave.
const FAREWELL: Duration = Duration::from_secs(2);

/// Runs a connection to its end: that of its client, of its session, of the channel or of the server,
/// which `stop` tells.
pub(crate) async fn run(
    seated: Seated,
    incoming: impl Stream<Item = Result<Message, Error>> + Unpin,
    outgoing: impl Sink<Message, Error = Error> + Unpin,
    stop: CancellationToken,
) {
    let mut outgoing = Outgoing(outgoing);
    let farewell = attend(&seated, incoming, &mut outgoing, &stop).await;
    // Whoever waits hears of it before the client does.
    drop(seated);
    let _ = timeout(FAREWELL, outgoing.0.send(Message::Close(farewell.map(Farewell::frame)))).await;
}

/// Why a connection ends, where its client is to be told.
struct Farewell {
    code: u16,
    reason: &'static str,
}

impl Farewell {
    fn frame(self) -> CloseFrame {
        CloseFrame { code: self.code, reason: self.reason.into() }
    }
}

async fn attend<S: Sink<Message, Error = Error> + Unpin>(
    seated: &Seated,
    mut incoming: impl Stream<Item = Result<Message, Error>> + Unpin,
    outgoing: &mut Outgoing<S>,
    stop: &CancellationToken,
) -> Option<Farewell> {
    let Seated { pets, seat, greeting, .. } = seated;
    if !outgoing.text(greeting.clone()).await {
        return None;
    }
    let mut heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut heard_at = Instant::now();
    loop {
        let outputs = tokio::select! {
            message = incoming.next() => {
                heard_at = Instant::now();
                match message {
                Some(Ok(Message::Text(text))) => lock(&seat.session).receive(text.as_str(), pets.now()),
                Some(Ok(Message::Binary(_))) => lock(&seat.session).receive_binary(pets.now()),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Err(error)) if is_too_long(&error) => {
                    return Some(Farewell { code: close::TOO_BIG, reason: "frame too long" });
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                }
            }
            () = seat.wake.notified() => {
                if !outgoing.pushes(seat).await {
                    return None;
                }
                continue;
            }
            _ = heartbeat.tick() => {
                if heard_at.elapsed() > SILENCE {
                    return Some(Farewell { code: close::GOING_AWAY, reason: "no sign of life" });
                }
                if !outgoing.ping().await {
                    return None;
                }
                vec![Output::Send(heartbeat_push(pets.now()))]
            }
            () = seat.ending.cancelled() => {
                return Some(Farewell { code: close::GOING_AWAY, reason: "disconnected by the server" });
            }
            () = stop.cancelled() => {
                return Some(Farewell { code: close::RESTART, reason: "service restart" });
            }
        };
        for output in outputs {
            match output {
                Output::Ended { waiter, ending } => {
                    // Whoever waited may have gone just now.
                    let _ = waiter.send(ending);
                    pets.changed();
                }
                Output::Send(text) => {
                    if !outgoing.text(text).await {
                        return None;
                    }
                }
                Output::Close { code, reason } => return Some(Farewell { code, reason }),
            }
        }
    }
}

/// The way out of a connection.
struct Outgoing<S>(S);

impl<S: Sink<Message, Error = Error> + Unpin> Outgoing<S> {
    /// False when the client is gone.
    async fn text(&mut self, text: String) -> bool {
        matches!(timeout(SEND, self.0.send(Message::Text(text.into()))).await, Ok(Ok(())))
    }

    /// Asks for a sign of life. False when the client is gone.
    async fn ping(&mut self) -> bool {
        matches!(timeout(SEND, self.0.send(Message::Ping(Bytes::new()))).await, Ok(Ok(())))
    }

    /// Everything that waits to be pushed. False when the client is gone.
    async fn pushes(&mut self, seat: &PetConnection) -> bool {
        loop {
            let push = lock(&seat.session).take_push();
            let Some(push) = push else { return true };
            if !self.text(push).await {
                return false;
            }
        }
    }
}

/// Whether a frame was longer than is read at all.
fn is_too_long(error: &Error) -> bool {
    let inner = std::error::Error::source(error);
    let inner = inner.and_then(|error| error.downcast_ref::<tungstenite::Error>());
    matches!(inner, Some(tungstenite::Error::Capacity(_)))
}
