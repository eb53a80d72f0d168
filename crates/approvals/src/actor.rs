//! The task that owns the book.
//!
//! [`Approvals`] is its handle. The task takes one message at a time, wakes itself at the book's next
//! deadline, and tells everybody what the book's effects are. It never decides: a request ends by an answer,
//! by time, or by nobody being there.

use crate::book::{Book, Effect, Ending, NotAnswered, Record, RegisterError, Registered, RequestedBy};
use crate::ports::{CLOCK_SET_MS, Ports};
use crate::question::Question;
use countersign_protocol::ids::RequestId;
use countersign_protocol::question::CancelCause;
use countersign_protocol::vocabulary::Decision;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Handle of the approvals actor.
#[derive(Clone, Debug)]
pub struct Approvals {
    messages: mpsc::Sender<Message>,
    events: broadcast::Sender<Event>,
    count: watch::Receiver<usize>,
    presenters: Arc<AtomicUsize>,
}

/// What presenters hear.
#[derive(Clone, Debug)]
pub enum Event {
    /// A request waits.
    Added(Arc<Record>),
    /// A request ended.
    Closed(Arc<Record>),
    /// Somebody set the machine's clock: what waits has other times now, and must be asked for again.
    ClockSet,
}

/// A submitted request. Dropping it withdraws the request (`RequesterGone`), unless another ticket of
/// the same id lives.
#[must_use = "dropping the ticket withdraws the request"]
#[derive(Debug)]
pub struct Ticket {
    record: Arc<Record>,
    outcome: watch::Receiver<Option<Ending>>,
    _hold: Arc<Hold>,
}

/// Why a request was not taken.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The id was answered a moment ago.
    #[error("approval id '{0}' already resolved")]
    AlreadyResolved(RequestId),
    /// The id waits, for something else or for somebody else.
    #[error("approval id '{0}' is already waiting with another request")]
    AnotherRequest(RequestId),
    /// Too many wait.
    #[error("{pending} approvals are already waiting, at most {limit} may")]
    Full {
        /// How many wait.
        pending: usize,
        /// The bound.
        limit: usize,
    },
    /// Too many ended a moment ago: a flood, not a person's pile.
    #[error("{}", RegisterError::Busy)]
    Busy,
    /// The app is closing.
    #[error("the app is closing")]
    Closing,
}

impl Approvals {
    /// Starts the actor on `tracker`; it ends, cancelling what waits (`Shutdown`), when `stop` is cancelled.
    pub fn start(ports: Ports, max_pending: usize, tracker: &TaskTracker, stop: CancellationToken) -> Self {
        let (messages, inbox) = mpsc::channel(INBOX);
        let (events, _) = broadcast::channel(EVENTS);
        let (count, counted) = watch::channel(0);
        let presenters = Arc::new(AtomicUsize::new(0));
        let actor = Actor {
            book: Book::new(max_pending),
            began: (ports.clock.steady_ms(), Instant::now()),
            ahead_ms: 0,
            ports,
            active: HashMap::new(),
            gone: Arc::new(Notify::new()),
            presenters: Arc::clone(&presenters),
            events: events.clone(),
            count,
        };
        tracker.spawn(actor.run(inbox, stop));
        Self { messages, events, count: counted, presenters }
    }

    /// From now on at most `max_pending` requests of this machine may wait. Those that do already stay.
    pub async fn limit(&self, max_pending: usize) {
        // One that ended takes no requests either.
        self.messages.send(Message::Limit { max_pending }).await.ok();
    }

    /// Registers a request; it is in the book and presented before this returns. With no presenter it ends at
    /// once as `NotShown`. `id` blank or absent means a fresh one; an id under which the same request of the
    /// same client still waits joins the same outcome. Cancel-safe: dropping the future or the ticket
    /// withdraws the request.
    pub async fn submit(
        &self,
        question: Question,
        timeout: Duration,
        id: Option<String>,
        by: RequestedBy,
    ) -> Result<Ticket, SubmitError> {
        let submission = Box::new(Submission { question, timeout, id, by });
        self.ask(|reply| Message::Submit { submission, reply }).await.unwrap_or(Err(SubmitError::Closing))
    }

    /// Answers once, if the request can be answered so: the same for every door.
    pub async fn resolve(&self, id: &RequestId, decision: Decision, by: &str) -> Result<(), NotAnswered> {
        let (id, by) = (id.to_owned(), by.to_owned());
        self.ask(|reply| Message::Resolve { id, decision, by, reply }).await.unwrap_or(Err(NotAnswered::Gone))
    }

    /// Ends a request that was answered where it came from. False when unknown or already ended.
    pub async fn elsewhere(&self, id: &RequestId, decision: Option<Decision>, by: Option<String>) -> bool {
        let id = id.to_owned();
        self.ask(|reply| Message::Elsewhere { id, decision, by, reply }).await.unwrap_or(false)
    }

    /// Ends a request that a box holds by now. False when unknown or already ended.
    pub async fn contained(&self, id: &RequestId) -> bool {
        let id = id.to_owned();
        self.ask(|reply| Message::Contained { id, reply }).await.unwrap_or(false)
    }

    /// Withdraws once. False when unknown or already ended.
    pub async fn cancel(&self, id: &RequestId, cause: CancelCause) -> bool {
        let id = id.to_owned();
        self.ask(|reply| Message::Cancel { id, cause, reply }).await.unwrap_or(false)
    }

    /// The last presenter cannot show anything any more: what waits here ends as `NotShown`, unless another
    /// presenter is there. What a connected gateway brought keeps waiting, for it can be answered
    /// there. How many ended.
    pub async fn nobody_sees(&self) -> usize {
        self.ask(|reply| Message::NobodySees { reply }).await.unwrap_or(0)
    }

    /// What waits, oldest first.
    pub async fn pending(&self) -> Vec<Arc<Record>> {
        self.ask(|reply| Message::Pending { reply }).await.unwrap_or_default()
    }

    /// A record that waits or ended within the grace.
    pub async fn snapshot(&self, id: &RequestId) -> Option<Arc<Record>> {
        let id = id.to_owned();
        self.ask(|reply| Message::Snapshot { id, reply }).await.flatten()
    }

    /// How a known request ends; `None` when unknown. Dropping this future withdraws nothing.
    pub async fn wait(&self, id: &RequestId) -> Option<Ending> {
        let id = id.to_owned();
        let outcome = self.ask(|reply| Message::Wait { id, reply }).await.flatten()?;
        Some(ending_of(outcome).await)
    }

    /// True exactly once for a request that was allowed once.
    pub async fn consume_allow_once(&self, id: &RequestId) -> bool {
        let id = id.to_owned();
        self.ask(|reply| Message::ConsumeAllowOnce { id, reply }).await.unwrap_or(false)
    }

    /// Follows requests. A receiver that lags must ask for `pending` again.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// How many wait.
    pub fn count(&self) -> watch::Receiver<usize> {
        self.count.clone()
    }

    /// Announces somebody who can show requests, for as long as the guard lives. Requests that wait when the
    /// last guard goes keep waiting until they expire: somebody may come back.
    pub fn presenter(&self) -> PresenterGuard {
        self.presenters.fetch_add(1, Ordering::SeqCst);
        PresenterGuard { presenters: Arc::clone(&self.presenters) }
    }

    /// Whether anybody can show requests now.
    pub fn has_presenter(&self) -> bool {
        self.presenters.load(Ordering::SeqCst) > 0
    }

    /// `None` when the actor has ended.
    async fn ask<T>(&self, message: impl FnOnce(oneshot::Sender<T>) -> Message) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.messages.send(message(reply)).await.ok()?;
        answer.await.ok()
    }
}

/// Somebody can show requests while this lives.
#[must_use]
#[derive(Debug)]
pub struct PresenterGuard {
    presenters: Arc<AtomicUsize>,
}

impl Drop for PresenterGuard {
    fn drop(&mut self) {
        self.presenters.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Ticket {
    /// The request's id.
    pub fn id(&self) -> &RequestId {
        &self.record.id
    }

    /// The record as it was registered.
    pub fn record(&self) -> &Arc<Record> {
        &self.record
    }

    /// Waits for the end. Dropping this future withdraws the request.
    pub async fn ended(self) -> Ending {
        ending_of(self.outcome.clone()).await
    }
}

enum Message {
    Submit { submission: Box<Submission>, reply: oneshot::Sender<Result<Ticket, SubmitError>> },
    Resolve { id: RequestId, decision: Decision, by: String, reply: oneshot::Sender<Result<(), NotAnswered>> },
    Elsewhere { id: RequestId, decision: Option<Decision>, by: Option<String>, reply: oneshot::Sender<bool> },
    Contained { id: RequestId, reply: oneshot::Sender<bool> },
    Cancel { id: RequestId, cause: CancelCause, reply: oneshot::Sender<bool> },
    NobodySees { reply: oneshot::Sender<usize> },
    Pending { reply: oneshot::Sender<Vec<Arc<Record>>> },
    Snapshot { id: RequestId, reply: oneshot::Sender<Option<Arc<Record>>> },
    Wait { id: RequestId, reply: oneshot::Sender<Option<watch::Receiver<Option<Ending>>>> },
    ConsumeAllowOnce { id: RequestId, reply: oneshot::Sender<bool> },
    Limit { max_pending: usize },
}

struct Submission {
    question: Question,
    timeout: Duration,
    id: Option<String>,
    by: RequestedBy,
}

struct Actor {
    book: Book,
    /// The steady clock and that of the timers, when this began.
    began: (i64, Instant),
    /// How far the wall clock is ahead of the steady one, as the book was told.
    ahead_ms: i64,
    ports: Ports,
    /// One for each request that waits.
    active: HashMap<RequestId, Active>,
    /// Woken when the last ticket of a request goes.
    gone: Arc<Notify>,
    presenters: Arc<AtomicUsize>,
    events: broadcast::Sender<Event>,
    count: watch::Sender<usize>,
}

struct Active {
    outcome: watch::Sender<Option<Ending>>,
    /// Alive as long as a ticket is.
    hold: Weak<Hold>,
}

/// Shared by the tickets of one request.
struct Hold(Arc<Notify>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl fmt::Debug for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hold")
    }
}

impl Actor {
    async fn run(mut self, mut inbox: mpsc::Receiver<Message>, stop: CancellationToken) {
        let gone = Arc::clone(&self.gone);
        loop {
            let now_ms = self.now_ms();
            let deadline = self.book.next_deadline_ms();
            tokio::select! {
                // A requester that left before an answer came has left.
                biased;
                () = stop.cancelled() => break,
                () = gone.notified() => self.withdraw_abandoned(),
                () = until(deadline, now_ms) => self.advance(),
                message = inbox.recv() => match message {
                    Some(message) => self.handle(message),
                    None => break,
                },
            }
        }
        inbox.close();
        let now_ms = self.now_ms();
        let step = self.book.cancel_all(CancelCause::Shutdown, now_ms);
        self.publish(step.effects);
    }

    fn handle(&mut self, message: Message) {
        // An answer whose asker no longer listens is no use to anybody: failed sends are ignored.
        match message {
            Message::Limit { max_pending } => self.book.limit(max_pending),
            Message::Submit { submission, reply } => {
                if !reply.is_closed() {
                    // Dropping a ticket that nobody took withdraws its request.
                    let _ = reply.send(self.submit(*submission));
                }
            }
            Message::Resolve { id, decision, by, reply } => {
                let now_ms = self.now_ms();
                let step = self.book.resolve(&id, decision, &by, now_ms);
                self.publish(step.effects);
                let _ = reply.send(step.outcome);
            }
            Message::Elsewhere { id, decision, by, reply } => {
                let now_ms = self.now_ms();
                let step = self.book.elsewhere(&id, decision, by.as_deref(), now_ms);
                self.publish(step.effects);
                let _ = reply.send(step.outcome);
            }
            Message::Contained { id, reply } => {
                let now_ms = self.now_ms();
                let step = self.book.contained(&id, now_ms);
                self.publish(step.effects);
                let _ = reply.send(step.outcome);
            }
            Message::Cancel { id, cause, reply } => {
                let now_ms = self.now_ms();
                let step = self.book.cancel(&id, cause, now_ms);
                self.publish(step.effects);
                let _ = reply.send(step.outcome);
            }
            Message::NobodySees { reply } => {
                let _ = reply.send(self.nobody_sees());
            }
            Message::Pending { reply } => {
                self.advance();
                let _ = reply.send(self.book.pending());
            }
            Message::Snapshot { id, reply } => {
                self.advance();
                let _ = reply.send(self.book.snapshot(&id));
            }
            Message::Wait { id, reply } => {
                self.advance();
                let _ = reply.send(self.outcome(&id));
            }
            Message::ConsumeAllowOnce { id, reply } => {
                let now_ms = self.now_ms();
                let step = self.book.consume_allow_once(&id, now_ms);
                self.publish(step.effects);
                let _ = reply.send(step.outcome);
            }
        }
    }

    fn submit(&mut self, submission: Submission) -> Result<Ticket, SubmitError> {
        let now_ms = self.now_ms();
        let Submission { question, timeout, id, by } = submission;
        let ids = Arc::clone(&self.ports.ids);
        let record = Record::create(question, timeout, id.as_deref(), by, now_ms, || ids.uuid().into());
        let step = self.book.register(record, now_ms);
        self.publish(step.effects);
        match step.outcome? {
            Registered::Joined(record) => self.join(record),
            Registered::Added(record) => {
                let ticket = self.activate(record);
                if self.presenters.load(Ordering::SeqCst) == 0 {
                    let step = self.book.not_shown(ticket.id(), now_ms);
                    self.publish(step.effects);
                }
                Ok(ticket)
            }
        }
    }

    fn nobody_sees(&mut self) -> usize {
        if self.presenters.load(Ordering::SeqCst) > 0 {
            return 0;
        }
        let now_ms = self.now_ms();
        let unseen = self.book.pending().into_iter().filter(|record| record.requested_by.gateway.is_none());
        let mut ended = 0;
        for record in unseen {
            let step = self.book.not_shown(&record.id, now_ms);
            ended += usize::from(step.outcome);
            self.publish(step.effects);
        }
        ended
    }

    fn activate(&mut self, record: Arc<Record>) -> Ticket {
        let (outcome, followed) = watch::channel(None);
        let hold = Arc::new(Hold(Arc::clone(&self.gone)));
        self.active.insert(record.id.clone(), Active { outcome, hold: Arc::downgrade(&hold) });
        Ticket { record, outcome: followed, _hold: hold }
    }

    /// The request may lose its last ticket at this very moment: then it ends, and is not revived.
    fn join(&self, record: Arc<Record>) -> Result<Ticket, SubmitError> {
        let joined = self
            .active
            .get(&record.id)
            .and_then(|active| active.hold.upgrade().map(|hold| (active.outcome.subscribe(), hold)));
        match joined {
            Some((outcome, hold)) => Ok(Ticket { record, outcome, _hold: hold }),
            None => Err(SubmitError::AlreadyResolved(record.id.clone())),
        }
    }

    fn outcome(&self, id: &RequestId) -> Option<watch::Receiver<Option<Ending>>> {
        match self.active.get(id) {
            Some(active) => Some(active.outcome.subscribe()),
            None => self.book.snapshot(id).map(|record| watch::channel(record.ending.clone()).1),
        }
    }

    fn withdraw_abandoned(&mut self) {
        let abandoned: Vec<RequestId> = self
            .active
            .iter()
            .filter(|(_, active)| active.hold.strong_count() == 0)
            .map(|(id, _)| id.clone())
            .collect();
        let now_ms = self.now_ms();
        for id in abandoned {
            let step = self.book.cancel(&id, CancelCause::RequesterGone, now_ms);
            self.publish(step.effects);
        }
    }

    fn advance(&mut self) {
        let now_ms = self.now_ms();
        let step = self.book.advance(now_ms);
        self.publish(step.effects);
    }

    /// Tells everybody. Waiters first, so that whoever hears of an end by event finds it in
    /// every other way too.
    fn publish(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            let event = match effect {
                Effect::Added(record) => Event::Added(record),
                Effect::Closed(record) => {
                    if let Some(active) = self.active.remove(&record.id) {
                        active.outcome.send_replace(record.ending.clone());
                    }
                    tracing::debug!(request_id = %record.id, ending = ?record.ending, "approval ended");
                    Event::Closed(record)
                }
            };
            self.update_count();
            // Nobody listening is not an error: requests are in the book, not in the channel.
            let _ = self.events.send(event);
        }
    }

    fn update_count(&self) {
        let pending = self.book.pending_count();
        self.count.send_if_modified(|count| std::mem::replace(count, pending) != pending);
    }

    /// Unix milliseconds, by the steady clock. The book never sees the wall clock jump: when somebody sets
    /// it, what is held is moved with it, so that a request neither ends early nor stays answerable for
    /// longer than its person was told.
    fn now_ms(&mut self) -> i64 {
        let clock_ms = self.ports.clock.steady_ms();
        let ahead_ms = self.ports.clock.now_ms().saturating_sub(clock_ms);
        // A timer that has rung has rung, whatever else is told: otherwise it would be set again and again.
        let (began_ms, began) = self.began;
        let timers_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        let steady_ms = clock_ms.max(began_ms.saturating_add(timers_ms));
        let set_by_ms = ahead_ms.saturating_sub(self.ahead_ms);
        if self.book.is_empty() {
            self.ahead_ms = ahead_ms;
        } else if set_by_ms.saturating_abs() >= CLOCK_SET_MS {
            self.ahead_ms = ahead_ms;
            self.book.clock_set(set_by_ms);
            tracing::info!(set_by_ms, "the clock was set; what waits keeps the time that it has left");
            // Nobody listening is not an error.
            let _ = self.events.send(Event::ClockSet);
        }
        steady_ms.saturating_add(self.ahead_ms)
    }
}

impl From<RegisterError> for SubmitError {
    fn from(error: RegisterError) -> Self {
        match error {
            RegisterError::AlreadyResolved(id) => Self::AlreadyResolved(id),
            RegisterError::AnotherRequest(id) => Self::AnotherRequest(id),
            RegisterError::Full { waiting, limit } => Self::Full { pending: waiting, limit },
            RegisterError::Busy => Self::Busy,
        }
    }
}

/// The end, once it is there. An actor that died without one counts as closing: never an answer.
async fn ending_of(mut outcome: watch::Receiver<Option<Ending>>) -> Ending {
    let ended = outcome.wait_for(Option::is_some).await;
    ended.ok().and_then(|ending| ending.clone()).unwrap_or(Ending::Cancelled(CancelCause::Shutdown))
}

/// Ends at the deadline, and now and then before: somebody may set the clock, or the machine sleep, which
/// no timer counts.
async fn until(deadline_ms: Option<i64>, now_ms: i64) {
    match deadline_ms {
        Some(at_ms) => {
            let left_ms = u64::try_from(at_ms.saturating_sub(now_ms)).unwrap_or(0);
            tokio::time::sleep(Duration::from_millis(left_ms).min(LOOK)).await;
        }
        None => std::future::pending().await,
    }
}

/// Longest time between two looks at the clocks while something is held: shown times are whole seconds.
const LOOK: Duration = Duration::from_secs(1);

/// Messages that may wait for the actor; senders wait when there are more, each handles in microseconds.
const INBOX: usize = 256;

/// Events that a slow listener may be behind before it must ask for everything again: each
/// pending request twice.
const EVENTS: usize = 512;

#[cfg(test)]
mod tests;
