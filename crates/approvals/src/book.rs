//! The approval state machine (docs/protocol/approvals.md, "State machine"), sans IO.
//!
//! A [`Book`] is told the time and the ids, keeps no task and no timer, and answers every operation with a
//! [`Step`]: what the caller asked for, and the [`Effect`]s that everybody else must hear of. Before anything
//! else, each operation ends what is overdue at its `now_ms`, so that an answer that comes too late is late
//! even if no timer has fired yet.

pub use crate::question::NotAnswered;
use crate::question::Question;
use countersign_protocol::ids::{DeviceId, RequestId};
use countersign_protocol::question::{CancelCause, Outcome};
use countersign_protocol::vocabulary::Decision;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// How long a person may take when nobody says otherwise (docs/protocol/approvals.md, "State machine").
pub const DEFAULT_TIMEOUT: Duration = Duration::from_millis(120_000);

/// Shortest time that a person may be given: a request with none would never be seen.
pub const MIN_TIMEOUT: Duration = Duration::from_millis(1);

/// Longest time that a person may be given: peers keep it in a signed 32-bit number of milliseconds.
pub const MAX_TIMEOUT: Duration = Duration::from_millis(2_147_000_000);

/// Milliseconds that an ended request stays known, so that late waiters learn how it ended and its
/// id is not reused.
pub const GRACE_MS: i64 = 15_000;

/// How many requests may wait when nobody says otherwise: more than a person can answer,
/// little enough to hold.
pub const DEFAULT_MAX_PENDING: usize = 256;

/// How many requests of one connected gateway may wait.
pub const MAX_PENDING_OF_GATEWAY: usize = 1_024;

/// How many requests may be held of one origin, waiting and ended ones together: bounds the memory that a
/// flood of requests which end at once takes during their grace.
pub const MAX_HELD: usize = 4_096;

/// Who brought a request; best effort, so that another client cannot replay its id.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RequestedBy {
    /// Connection it came over.
    pub connection: Option<String>,
    /// Device, as claimed.
    pub device: Option<DeviceId>,
    /// Client, as claimed.
    pub client: Option<String>,
    /// Our id of the connected gateway that brought it; absent for this machine's own doors. What one gateway
    /// brings takes no room from the others.
    pub gateway: Option<String>,
}

/// How a request ended. `Expired` is "no decision", never "denied by the user".
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ending {
    /// Somebody answered.
    Decided {
        /// The answer.
        decision: Decision,
        /// Who: `window`, `notification`, `command-line`, `tray`.
        by: String,
    },
    /// It was answered where it came from, by somebody else.
    Elsewhere {
        /// The answer; absent when that place does not tell.
        decision: Option<Decision>,
        /// Who, in their own words, escaped: no proof of anything.
        by: Option<String>,
    },
    /// Nobody has to be asked any more: its folder was opened, and a box holds it.
    Contained,
    /// Nobody answered in time.
    Expired,
    /// Withdrawn.
    Cancelled(CancelCause),
    /// Nobody could be shown it.
    NotShown,
}

impl Ending {
    /// What it comes to, as history and windows say it.
    pub fn outcome(&self) -> Outcome {
        match self {
            Self::Decided { decision, .. } => (*decision).into(),
            Self::Elsewhere { decision: Some(decision), .. } if decision.allows() => {
                Outcome::AllowedElsewhere
            }
            Self::Elsewhere { decision: Some(_), .. } => Outcome::DeniedElsewhere,
            Self::Elsewhere { decision: None, .. } => Outcome::Cancelled { cause: CancelCause::Withdrawn },
            Self::Contained => Outcome::Contained,
            Self::Expired => Outcome::Expired,
            Self::Cancelled(cause) => Outcome::Cancelled { cause: *cause },
            Self::NotShown => Outcome::NotShown,
        }
    }

    /// What whoever asked hears; `None` is silence: only what was decided here is an answer.
    pub fn decision(&self) -> Option<Decision> {
        match self {
            Self::Decided { decision, .. } => Some(*decision),
            Self::Elsewhere { .. }
            | Self::Contained
            | Self::Expired
            | Self::Cancelled(_)
            | Self::NotShown => None,
        }
    }

    /// Who ended it, where somebody did.
    pub fn by(&self) -> Option<&str> {
        match self {
            Self::Decided { by, .. } => Some(by),
            Self::Elsewhere { by, .. } => by.as_deref(),
            Self::Contained | Self::Expired | Self::Cancelled(_) | Self::NotShown => None,
        }
    }
}

/// One record of the book.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Its id.
    pub id: RequestId,
    /// What is asked.
    pub question: Arc<Question>,
    /// Unix milliseconds.
    pub created_at_ms: i64,
    /// Unix milliseconds.
    pub expires_at_ms: i64,
    /// Who brought it.
    pub requested_by: RequestedBy,
    /// When it ended, Unix milliseconds.
    pub resolved_at_ms: Option<i64>,
    /// How it ended.
    pub ending: Option<Ending>,
    /// Whether an allow-once was used up.
    pub consumed: bool,
}

/// What everybody else must hear of.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// A request waits.
    Added(Arc<Record>),
    /// A request ended.
    Closed(Arc<Record>),
}

/// What an operation came to.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub struct Step<T> {
    /// For the caller.
    pub outcome: T,
    /// For everybody else, in order.
    pub effects: Vec<Effect>,
}

/// How a request was taken.
#[derive(Clone, Debug, PartialEq)]
pub enum Registered {
    /// It waits now.
    Added(Arc<Record>),
    /// The same request waits already under this id: it has the same end.
    Joined(Arc<Record>),
}

/// Why a request was not taken.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The id ended within the grace.
    #[error("approval id '{0}' already resolved")]
    AlreadyResolved(RequestId),
    /// The id waits, for something else or for somebody else: an answer to that is no answer to this.
    #[error("approval id '{0}' is already waiting with another request")]
    AnotherRequest(RequestId),
    /// Too many wait.
    #[error("{waiting} approvals are already waiting, at most {limit} may")]
    Full {
        /// How many.
        waiting: usize,
        /// The bound that was reached.
        limit: usize,
    },
    /// Too many ended within the grace.
    #[error("too many requests: {MAX_HELD} waited or ended within {} s; try again later", GRACE_MS / 1_000)]
    Busy,
}

/// The pending approvals and those that ended a moment ago.
#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
pub struct Book {
    max_pending: usize,
    entries: HashMap<RequestId, Entry>,
    /// When which entry is due next: it expires, or its grace is over. Ordered by time, then by age.
    due: BTreeMap<(i64, u64), RequestId>,
    /// Waiting entries by age.
    waiting: BTreeMap<u64, RequestId>,
    /// How much each origin takes.
    loads: HashMap<Option<String>, Load>,
    next_serial: u64,
    latest_ms: i64,
}

#[derive(Debug, Default)]
#[cfg_attr(test, derive(Clone))]
struct Load {
    waiting: usize,
    held: usize,
}

#[derive(Debug)]
#[cfg_attr(test, derive(Clone))]
struct Entry {
    /// Tells this entry from a later one with the same id.
    serial: u64,
    due_at_ms: i64,
    record: Arc<Record>,
}

impl Record {
    /// Builds a record. A blank or absent id is taken from `fresh_id`, a given one is trimmed; the
    /// timeout is clamped to [`MIN_TIMEOUT`]…[`MAX_TIMEOUT`]. Touches no book.
    pub fn create(
        question: Question,
        timeout: Duration,
        id: Option<&str>,
        requested_by: RequestedBy,
        now_ms: i64,
        fresh_id: impl FnOnce() -> RequestId,
    ) -> Self {
        let id = match id.map(str::trim) {
            Some(id) if !id.is_empty() => RequestId::from(id),
            _ => fresh_id(),
        };
        let timeout_ms = timeout.clamp(MIN_TIMEOUT, MAX_TIMEOUT).as_millis();
        Self {
            id,
            question: Arc::new(question),
            created_at_ms: now_ms,
            expires_at_ms: now_ms.saturating_add(i64::try_from(timeout_ms).unwrap_or(i64::MAX)),
            requested_by,
            resolved_at_ms: None,
            ending: None,
            consumed: false,
        }
    }

    /// Whether an answer to this one answers `other` too: the same question of the same client. Times and
    /// connections may differ (a client that reconnects and asks again).
    fn covers(&self, other: &Self) -> bool {
        self.question.is_same(&other.question)
            && self.requested_by.device == other.requested_by.device
            && self.requested_by.client == other.requested_by.client
    }
}

impl Book {
    /// From now on at most `max_pending` requests of this machine may wait. Those that do already stay.
    pub fn limit(&mut self, max_pending: usize) {
        self.max_pending = max_pending;
    }

    /// An empty book in which at most `max_pending` requests of this machine may wait, and
    /// [`MAX_PENDING_OF_GATEWAY`] of each connected gateway.
    pub fn new(max_pending: usize) -> Self {
        Self {
            max_pending,
            entries: HashMap::new(),
            due: BTreeMap::new(),
            waiting: BTreeMap::new(),
            loads: HashMap::new(),
            next_serial: 0,
            latest_ms: i64::MIN,
        }
    }

    /// Inserts a record. While the same request waits under the same id it joins it; an id that ended within
    /// the grace is refused.
    pub fn register(&mut self, record: Record, now_ms: i64) -> Step<Result<Registered, RegisterError>> {
        let (_, mut effects) = self.advanced(now_ms);
        let outcome = self.insert(record);
        if let Ok(Registered::Added(record)) = &outcome {
            effects.push(Effect::Added(Arc::clone(record)));
        }
        Step { outcome, effects }
    }

    /// Answers once, if the request can be answered so, whoever answers.
    pub fn resolve(
        &mut self,
        id: &RequestId,
        decision: Decision,
        by: &str,
        now_ms: i64,
    ) -> Step<Result<(), NotAnswered>> {
        let (now_ms, mut effects) = self.advanced(now_ms);
        let waiting = self.entries.get(id).filter(|entry| entry.record.ending.is_none());
        let objection = match waiting {
            Some(entry) => entry.record.question.objection(decision),
            None => Some(NotAnswered::Gone),
        };
        if let Some(objection) = objection {
            return Step { outcome: Err(objection), effects };
        }
        effects.extend(self.close(id, Ending::Decided { decision, by: by.to_owned() }, now_ms));
        Step { outcome: Ok(()), effects }
    }

    /// Ends a request that was answered elsewhere. False when unknown or ended.
    pub fn elsewhere(
        &mut self,
        id: &RequestId,
        decision: Option<Decision>,
        by: Option<&str>,
        now_ms: i64,
    ) -> Step<bool> {
        self.end(id, Ending::Elsewhere { decision, by: by.map(str::to_owned) }, now_ms)
    }

    /// Ends a request that a box holds by now. False when unknown or ended.
    pub fn contained(&mut self, id: &RequestId, now_ms: i64) -> Step<bool> {
        self.end(id, Ending::Contained, now_ms)
    }

    /// Withdraws once. False when unknown or ended.
    pub fn cancel(&mut self, id: &RequestId, cause: CancelCause, now_ms: i64) -> Step<bool> {
        self.end(id, Ending::Cancelled(cause), now_ms)
    }

    /// Ends a request that nobody can be shown. False when unknown or ended.
    pub fn not_shown(&mut self, id: &RequestId, now_ms: i64) -> Step<bool> {
        self.end(id, Ending::NotShown, now_ms)
    }

    /// Withdraws everything that waits, oldest first; says how many.
    pub fn cancel_all(&mut self, cause: CancelCause, now_ms: i64) -> Step<usize> {
        let (now_ms, mut effects) = self.advanced(now_ms);
        let ids: Vec<RequestId> = self.waiting.values().cloned().collect();
        for id in &ids {
            effects.extend(self.close(id, Ending::Cancelled(cause), now_ms));
        }
        Step { outcome: ids.len(), effects }
    }

    /// Expires what is due and forgets what is past its grace.
    pub fn advance(&mut self, now_ms: i64) -> Step<()> {
        let (_, effects) = self.advanced(now_ms);
        Step { outcome: (), effects }
    }

    /// The clock was set, by so much: what is held keeps the time that it has left, and what waits says when
    /// that is by the clock of now.
    pub fn clock_set(&mut self, by_ms: i64) {
        let moved = |at_ms: i64| at_ms.saturating_add(by_ms);
        self.latest_ms = moved(self.latest_ms);
        let due = std::mem::take(&mut self.due);
        self.due = due.into_iter().map(|((at_ms, serial), id)| ((moved(at_ms), serial), id)).collect();
        for entry in self.entries.values_mut() {
            entry.due_at_ms = moved(entry.due_at_ms);
            if entry.record.ending.is_none() {
                let record = Arc::make_mut(&mut entry.record);
                record.created_at_ms = moved(record.created_at_ms);
                record.expires_at_ms = moved(record.expires_at_ms);
            }
        }
    }

    /// Uses up an allow-once: true exactly once, and only while the record is held.
    pub fn consume_allow_once(&mut self, id: &RequestId, now_ms: i64) -> Step<bool> {
        let (_, effects) = self.advanced(now_ms);
        let outcome = self.entries.get_mut(id).is_some_and(|entry| {
            let allowed =
                matches!(entry.record.ending, Some(Ending::Decided { decision: Decision::AllowOnce, .. }));
            let first = allowed && !entry.record.consumed;
            if first {
                Arc::make_mut(&mut entry.record).consumed = true;
            }
            first
        });
        Step { outcome, effects }
    }

    /// A record that waits or is within its grace.
    pub fn snapshot(&self, id: &RequestId) -> Option<Arc<Record>> {
        self.entries.get(id).map(|entry| Arc::clone(&entry.record))
    }

    /// What waits, oldest first.
    pub fn pending(&self) -> Vec<Arc<Record>> {
        self.waiting.values().filter_map(|id| self.snapshot(id)).collect()
    }

    /// How many wait.
    pub fn pending_count(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nothing is held at all.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// When [`Self::advance`] has something to do next, Unix milliseconds.
    pub fn next_deadline_ms(&self) -> Option<i64> {
        self.due.keys().next().map(|(at_ms, _)| *at_ms)
    }

    fn insert(&mut self, record: Record) -> Result<Registered, RegisterError> {
        if let Some(held) = self.entries.get(&record.id) {
            return match &held.record.ending {
                Some(_) => Err(RegisterError::AlreadyResolved(record.id)),
                None if held.record.covers(&record) => Ok(Registered::Joined(Arc::clone(&held.record))),
                None => Err(RegisterError::AnotherRequest(record.id)),
            };
        }
        let origin = record.requested_by.gateway.clone();
        let max_pending = if origin.is_some() { MAX_PENDING_OF_GATEWAY } else { self.max_pending };
        let load = self.loads.entry(origin).or_default();
        if load.waiting >= max_pending {
            return Err(RegisterError::Full { waiting: load.waiting, limit: max_pending });
        }
        if load.held >= MAX_HELD {
            return Err(RegisterError::Busy);
        }
        load.waiting += 1;
        load.held += 1;
        let serial = self.next_serial;
        self.next_serial += 1;
        let record = Arc::new(record);
        let id = record.id.clone();
        self.due.insert((record.expires_at_ms, serial), id.clone());
        self.waiting.insert(serial, id.clone());
        let entry = Entry { serial, due_at_ms: record.expires_at_ms, record: Arc::clone(&record) };
        self.entries.insert(id, entry);
        Ok(Registered::Added(record))
    }

    fn end(&mut self, id: &RequestId, ending: Ending, now_ms: i64) -> Step<bool> {
        let (now_ms, mut effects) = self.advanced(now_ms);
        let closed = self.close(id, ending, now_ms);
        let outcome = closed.is_some();
        effects.extend(closed);
        Step { outcome, effects }
    }

    /// Does what is due, and returns the time that counts: the book's time never runs backwards while
    /// it holds anything.
    fn advanced(&mut self, now_ms: i64) -> (i64, Vec<Effect>) {
        let now_ms = if self.entries.is_empty() { now_ms } else { now_ms.max(self.latest_ms) };
        self.latest_ms = now_ms;
        let mut effects = Vec::new();
        while let Some((&(at_ms, serial), _)) = self.due.first_key_value()
            && at_ms <= now_ms
        {
            let Some(id) = self.due.remove(&(at_ms, serial)) else { break };
            // Only that same entry: an id can be in use again.
            let Some(entry) = self.entries.get(&id).filter(|entry| entry.serial == serial) else { continue };
            if entry.record.ending.is_none() {
                effects.extend(self.close(&id, Ending::Expired, now_ms));
            } else if let Some(entry) = self.entries.remove(&id) {
                self.unload(&entry.record);
            }
        }
        (now_ms, effects)
    }

    /// It is no longer held.
    fn unload(&mut self, record: &Record) {
        let origin = &record.requested_by.gateway;
        let is_idle = self.loads.get_mut(origin).is_some_and(|load| {
            load.held = load.held.saturating_sub(1);
            load.held == 0
        });
        if is_idle {
            self.loads.remove(origin);
        }
    }

    /// The only place where a request ends.
    fn close(&mut self, id: &RequestId, ending: Ending, now_ms: i64) -> Option<Effect> {
        let entry = self.entries.get_mut(id).filter(|entry| entry.record.ending.is_none())?;
        let record = Arc::make_mut(&mut entry.record);
        record.ending = Some(ending);
        record.resolved_at_ms = Some(now_ms);
        self.waiting.remove(&entry.serial);
        if let Some(load) = self.loads.get_mut(&record.requested_by.gateway) {
            load.waiting = load.waiting.saturating_sub(1);
        }
        self.due.remove(&(entry.due_at_ms, entry.serial));
        entry.due_at_ms = now_ms.saturating_add(GRACE_MS);
        self.due.insert((entry.due_at_ms, entry.serial), id.to_owned());
        Some(Effect::Closed(Arc::clone(&entry.record)))
    }
}

#[cfg(test)]
mod tests;
