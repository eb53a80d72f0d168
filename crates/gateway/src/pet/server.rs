//! The server's handle: who is connected, what is asked of whom, and what was remembered.
//!
//! The channel is closed until somebody opens it with a token of its own: whoever has that token may answer.
//! Turns that did not come from this channel are none of its business, nor is which tools need an approval;
//! whoever calls [`Pets::ask`] asks only for those that did and do.

mod connection;

use super::session::{Ending, Moment, RequestIds, Session, Submitted, Unasked};
use super::{AskOutcome, By, Call, Remembered};
pub(crate) use connection::run;
use countersign_protocol::pet::SessionId;
use countersign_protocol::secret::PetToken;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

/// Connections that may be open at once: more companions than fit on a screen.
pub(crate) const MAX_SESSIONS: usize = 64;

/// Longest time that a call may wait, whatever is wanted.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Handle of the channel's server. It outlives the ports that it is served on.
#[derive(Clone)]
pub struct Pets(Arc<Hub>);

/// A client that is connected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PetSession {
    /// What the client calls its session: its own word.
    pub session_id: SessionId,
    /// Since when, Unix milliseconds.
    pub since_ms: i64,
    /// Calls that wait for its answer.
    pub waiting: usize,
    /// Choices that it has remembered.
    pub remembered: usize,
}

struct Hub {
    now_ms: Box<dyn Fn() -> i64 + Send + Sync>,
    /// None of the locks is held across an await, or together with another but in this order.
    opened: Mutex<Option<Opened>>,
    seats: Mutex<BTreeMap<SessionId, PetConnection>>,
    ids: Mutex<RequestIds>,
    changes: watch::Sender<()>,
}

/// The channel while clients may come in.
struct Opened {
    token: PetToken,
    /// Cancelled when it is closed.
    ending: CancellationToken,
}

/// Whoever waits for an answer.
type Waiter = oneshot::Sender<Ending>;

/// A connection, as those see it who ask.
#[derive(Clone)]
struct PetConnection {
    session: Arc<Mutex<Session<Waiter>>>,
    /// Something waits to be pushed.
    wake: Arc<Notify>,
    /// Cancelled to end the connection.
    ending: CancellationToken,
    since_ms: i64,
}

/// Why a client finds no place.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum Unseated {
    /// The channel is closed.
    #[error("the pet channel is turned off")]
    Closed,
    /// Another connection has the session. The first keeps it: a second one could take over what
    /// the first is asked.
    #[error("another connection has this sessionId; it is free again when that one ends")]
    Taken,
    /// Too many are connected.
    #[error("expected at most {MAX_SESSIONS} connections at once")]
    Full,
}

/// The place of one connection. Dropping it gives the session free: whoever waits hears that
/// the client is gone.
pub(crate) struct Seated {
    pets: Pets,
    id: SessionId,
    seat: PetConnection,
    /// What is sent first.
    greeting: String,
}

impl Pets {
    /// A channel that is closed.
    pub(crate) fn new(now_ms: impl Fn() -> i64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(Hub {
            now_ms: Box::new(now_ms),
            opened: Mutex::default(),
            seats: Mutex::default(),
            ids: Mutex::default(),
            changes: watch::Sender::new(()),
        }))
    }

    /// Lets clients with this token in. Who is connected stays.
    pub fn open(&self, token: PetToken) {
        let mut opened = lock(&self.0.opened);
        match &mut *opened {
            Some(opened) => opened.token = token,
            None => *opened = Some(Opened { token, ending: CancellationToken::new() }),
        }
    }

    /// Lets nobody in any more, and ends every connection: what waits there ends as [`AskOutcome::Gone`].
    pub fn close(&self) {
        if let Some(opened) = lock(&self.0.opened).take() {
            opened.ending.cancel();
        }
    }

    /// The token that opens the channel; `None` while it is closed.
    pub(crate) fn token(&self) -> Option<PetToken> {
        lock(&self.0.opened).as_ref().map(|opened| opened.token.clone())
    }

    /// Asks the client of a session about a call and waits for the answer, at most `wait` and at most a day.
    /// The call counts as asked before it is pushed, so that no answer can be too early. Dropping the future
    /// withdraws the question.
    pub async fn ask(&self, session_id: &str, call: Call<'_>, wait: Duration) -> AskOutcome {
        let Some(seat) = self.seat_of(session_id) else { return AskOutcome::NoSuchSession };
        let request_id = lock(&self.0.ids).next((self.0.now_ms)());
        let now = self.now();
        let deadline = now.at + wait.min(LONGEST_WAIT);
        let (waiter, mut answered) = oneshot::channel();
        let asked = lock(&seat.session).ask(&request_id, call, deadline, waiter, now);
        match asked {
            Ok(Submitted::Waits) => {}
            Ok(Submitted::Remembered(choice)) => return AskOutcome::chosen(choice, By::Memory),
            Err(Unasked::Over) => return AskOutcome::NoSuchSession,
            Err(Unasked::Full) => return AskOutcome::Full,
            Err(Unasked::Frame(error)) => {
                tracing::warn!(%error, "a call cannot be asked about over the pet channel");
                return AskOutcome::TooLarge;
            }
        }
        let question = Question { pets: self, seat: &seat, request_id };
        seat.wake.notify_one();
        self.changed();
        let ending = match timeout_at(deadline, &mut answered).await {
            Ok(ending) => ending.ok(),
            // The answer may have come at the very end.
            Err(_) if lock(&seat.session).expire(&question.request_id) => return AskOutcome::Expired,
            Err(_) => answered.try_recv().ok(),
        };
        match ending {
            Some(Ending::Chosen(choice)) => AskOutcome::chosen(choice, By::Client),
            Some(Ending::Expired) => AskOutcome::Expired,
            None => AskOutcome::Gone,
        }
    }

    /// Clients that are connected, by session.
    pub fn sessions(&self) -> Vec<PetSession> {
        let seats: Vec<(SessionId, PetConnection)> =
            lock(&self.0.seats).iter().map(|(id, seat)| (id.clone(), seat.clone())).collect();
        let view = |(session_id, seat): (SessionId, PetConnection)| {
            let session = lock(&seat.session);
            PetSession {
                session_id,
                since_ms: seat.since_ms,
                waiting: session.waiting(),
                remembered: session.remembered().len(),
            }
        };
        seats.into_iter().map(view).collect()
    }

    /// Ends the connection of a session. False when there is none.
    pub fn disconnect(&self, session_id: &str) -> bool {
        let seat = self.seat_of(session_id);
        if let Some(seat) = &seat {
            seat.ending.cancel();
        }
        seat.is_some()
    }

    /// Choices that hold for the session's calls until its connection ends, oldest first.
    pub fn remembered(&self, session_id: &str) -> Vec<Remembered> {
        self.seat_of(session_id).map(|seat| lock(&seat.session).remembered().to_vec()).unwrap_or_default()
    }

    /// Takes a choice back: the next such call is asked about again. False when it is not remembered.
    pub fn forget(&self, session_id: &str, id: u64) -> bool {
        let forgotten = self.seat_of(session_id).is_some_and(|seat| lock(&seat.session).forget(id));
        if forgotten {
            self.changed();
        }
        forgotten
    }

    /// Told when sessions, what waits, or what is remembered changes.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// A place for a client whose token was right.
    pub(crate) fn seat(&self, id: SessionId) -> Result<Seated, Unseated> {
        let ending = match &*lock(&self.0.opened) {
            Some(opened) => opened.ending.child_token(),
            None => return Err(Unseated::Closed),
        };
        let now = self.now();
        let (session, greeting) = Session::new(&id, now);
        let seat = PetConnection {
            session: Arc::new(Mutex::new(session)),
            wake: Arc::default(),
            ending,
            since_ms: now.unix_ms,
        };
        {
            let mut seats = lock(&self.0.seats);
            if seats.contains_key(&id) {
                return Err(Unseated::Taken);
            }
            if seats.len() >= MAX_SESSIONS {
                return Err(Unseated::Full);
            }
            seats.insert(id.clone(), seat.clone());
        }
        self.changed();
        Ok(Seated { pets: self.clone(), id, seat, greeting })
    }

    fn seat_of(&self, session_id: &str) -> Option<PetConnection> {
        let id = SessionId::parse(session_id).ok()?;
        lock(&self.0.seats).get(&id).cloned()
    }

    fn now(&self) -> Moment {
        Moment { at: Instant::now(), unix_ms: (self.0.now_ms)() }
    }

    fn changed(&self) {
        self.0.changes.send_replace(());
    }
}

impl fmt::Debug for Pets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pets").field("sessions", &self.sessions()).finish_non_exhaustive()
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        lock(&self.pets.0.seats).remove(&self.id);
        lock(&self.seat.session).close();
        self.pets.changed();
    }
}

/// A call that somebody waits for; withdrawn when nobody does any more.
struct Question<'a> {
    pets: &'a Pets,
    seat: &'a PetConnection,
    request_id: String,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        lock(&self.seat.session).withdraw(&self.request_id);
        self.pets.changed();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
