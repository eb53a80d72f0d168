//! What the gateway knows of approvals beside the book: those that wait, those that ended a moment ago, and
//! the last ones that ended, for those who leaf through them. In memory: the record that lasts is the
//! history of the app.

use countersign_approvals::book::{Ending, GRACE_MS};
use countersign_gateway::embedded::{Ended, Happened, KnownApproval, Resolver, Verdict};
use countersign_protocol::gateway::unified::Reason;
use countersign_protocol::question::CancelCause;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, broadcast};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Happenings that a slow reader may be behind; it lists what waits instead.
const EVENTS: usize = 1_024;

/// Approvals that ended and can be leafed through: more than a person looks at, some megabytes at most.
const PAST: usize = 1_000;

/// As long as the book knows it.
const GRACE: Duration = Duration::from_millis(GRACE_MS.unsigned_abs());

/// Approvals for which there is room when none is there: a handful wait at once.
const IDLE_ROOM: usize = 16;

/// How clients see an answer that was given in a window.
const OWN_NAME: &str = "Countersign";

/// The log. Clones are the same one.
#[derive(Clone)]
pub(super) struct ApprovalLog {
    inner: Arc<Mutex<Inner>>,
    events: broadcast::Sender<Happened>,
    /// Told of each end.
    ended: Arc<Notify>,
}

#[derive(Default)]
struct Inner {
    known: HashMap<String, Entry>,
    /// When the grace of what ended is over, soonest first.
    graces: VecDeque<(Instant, String)>,
    /// Oldest first.
    past: VecDeque<Arc<KnownApproval>>,
}

struct Entry {
    known: Arc<KnownApproval>,
    announced: bool,
    /// Whether its not being answered was used.
    fallback_used: bool,
    /// Answers that are on their way to the book, by what the book calls who gives them.
    verdicts: Vec<(String, Verdict)>,
}

impl ApprovalLog {
    pub(super) fn new() -> Self {
        Self { inner: Arc::default(), events: broadcast::channel(EVENTS).0, ended: Arc::default() }
    }

    pub(super) fn events(&self) -> broadcast::Receiver<Happened> {
        self.events.subscribe()
    }

    /// Keeps one that waits, and tells of it when it is to be announced.
    pub(super) fn put(&self, known: &Arc<KnownApproval>, announced: bool) {
        let entry = Entry { known: Arc::clone(known), announced, fallback_used: false, verdicts: Vec::new() };
        let mut inner = self.inner();
        inner.known.insert(known.requested.id.clone(), entry);
        if known.ended.is_some() {
            inner.grace(&known.requested.id);
            self.ended.notify_one();
        }
        drop(inner);
        if announced {
            // Nobody follows when no client is there.
            let _ = self.events.send(Happened::Requested(Arc::clone(known)));
        }
    }

    /// Keeps one that nobody was asked about.
    pub(super) fn put_past(&self, known: &Arc<KnownApproval>) {
        self.inner().keep(Arc::clone(known));
    }

    /// Notes an answer before it is given to the book, which knows who gives it only as `by`.
    pub(super) fn note(&self, id: &str, by: &str, verdict: Verdict) {
        if let Some(entry) = self.inner().known.get_mut(id) {
            entry.verdicts.push((by.to_owned(), verdict));
        }
    }

    /// Notes the end, once, and tells of an answer.
    pub(super) fn end(&self, id: &str, ending: &Ending, at_ms: i64) {
        let mut inner = self.inner();
        let Some(entry) = inner.known.get_mut(id).filter(|entry| entry.known.ended.is_none()) else { return };
        let ended = ended(ending, std::mem::take(&mut entry.verdicts), at_ms);
        let told = entry.announced && ended.decision.is_some();
        let known = Arc::new(KnownApproval { ended: Some(ended), ..(*entry.known).clone() });
        entry.known = Arc::clone(&known);
        inner.keep(Arc::clone(&known));
        inner.grace(id);
        drop(inner);
        self.ended.notify_one();
        if told {
            let _ = self.events.send(Happened::Ended(known));
        }
    }

    /// True exactly once for one that nobody answered in time.
    pub(super) fn consume_fallback(&self, id: &str) -> bool {
        let mut inner = self.inner();
        let Some(entry) = inner.known.get_mut(id) else { return false };
        let timed_out = entry.known.ended.as_ref().is_some_and(|ended| ended.reason == Reason::Timeout);
        timed_out && !std::mem::replace(&mut entry.fallback_used, true)
    }

    /// Keeps what ended for those who come late, then forgets it, until `stop`. One task for all: each of its
    /// own would take more than what it forgets.
    pub(super) async fn sweep(self, stop: CancellationToken) {
        loop {
            let next = self.inner().forget(Instant::now());
            let pause = async {
                match next {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => self.ended.notified().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = pause => {}
            }
        }
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<KnownApproval>> {
        self.inner().known.get(id).map(|entry| Arc::clone(&entry.known))
    }

    /// What waits, oldest first.
    pub(super) fn pending(&self) -> Vec<Arc<KnownApproval>> {
        let mut waiting: Vec<Arc<KnownApproval>> = self
            .inner()
            .known
            .values()
            .filter(|entry| entry.known.ended.is_none())
            .map(|entry| Arc::clone(&entry.known))
            .collect();
        waiting.sort_by(|a, b| {
            (a.requested.created_at_ms, &a.requested.id).cmp(&(b.requested.created_at_ms, &b.requested.id))
        });
        waiting
    }

    /// The last ones that ended.
    pub(super) fn past(&self) -> Vec<Arc<KnownApproval>> {
        self.inner().past.iter().cloned().collect()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Keeps it a little longer.
    fn grace(&mut self, id: &str) {
        self.graces.push_back((Instant::now() + GRACE, id.to_owned()));
    }

    /// Forgets those whose grace is over; when the next one's is.
    fn forget(&mut self, now: Instant) -> Option<Instant> {
        while let Some((due, _)) = self.graces.front() {
            if *due > now {
                return Some(*due);
            }
            if let Some((_, id)) = self.graces.pop_front() {
                self.known.remove(&id);
            }
        }
        self.graces.shrink_to(IDLE_ROOM);
        self.known.shrink_to(IDLE_ROOM);
        None
    }

    fn keep(&mut self, known: Arc<KnownApproval>) {
        if self.past.len() == PAST {
            self.past.pop_front();
        }
        self.past.push_back(known);
    }
}

fn ended(ending: &Ending, verdicts: Vec<(String, Verdict)>, at_ms: i64) -> Ended {
    let without_answer = |reason| Ended { decision: None, reason, at_ms, by: None };
    match ending {
        Ending::Decided { decision, by } => {
            let given = verdicts
                .into_iter()
                .find(|(named, verdict)| named == by && verdict.decision == *decision)
                .map(|(_, verdict)| verdict);
            let reason = match &given {
                Some(verdict) if verdict.malformed => Reason::MalformedVerdict,
                Some(_) | None => Reason::User,
            };
            let ours = || Resolver { label: OWN_NAME.to_owned(), device_id: None };
            let by = given.map_or_else(ours, |verdict| verdict.by);
            Ended { decision: Some(*decision), reason, at_ms, by: Some(by) }
        }
        Ending::Expired => without_answer(Reason::Timeout),
        Ending::Elsewhere { .. } | Ending::Contained => without_answer(Reason::RunAborted),
        Ending::NotShown => without_answer(Reason::NoRoute),
        Ending::Cancelled(CancelCause::Shutdown) => without_answer(Reason::GatewayRestart),
        Ending::Cancelled(
            CancelCause::RequesterGone | CancelCause::ConnectionLost | CancelCause::Withdrawn,
        ) => without_answer(Reason::RunAborted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_gateway::embedded::{Requester, Subject};
    use countersign_protocol::gateway::approval::Requested;

    fn known(id: &str) -> Arc<KnownApproval> {
        let request = Subject::Exec(Box::default());
        let requested = Requested { id: id.to_owned(), request, created_at_ms: 1, expires_at_ms: 2 };
        let by = Requester { conn_id: "1".to_owned(), device_id: None, client_id: "cli".to_owned() };
        Arc::new(KnownApproval { requested, by, binding: None, ended: None, until_steady_ms: 2 })
    }

    #[tokio::test(start_paused = true)]
    async fn what_ended_is_found_for_as_long_as_the_book_knows_it_and_leafed_through_after_that() {
        let (log, stop) = (ApprovalLog::new(), CancellationToken::new());
        let sweeping = tokio::spawn(log.clone().sweep(stop.clone()));
        for id in ["first", "second", "waits"] {
            log.put(&known(id), true);
        }
        let second = Duration::from_secs(1);
        log.end("first", &Ending::Expired, 3);
        tokio::time::sleep(second).await;
        log.end("second", &Ending::Expired, 4);
        let found = || ["first", "second", "waits"].map(|id| log.find(id).is_some());
        tokio::time::sleep(GRACE - 2 * second).await;
        assert_eq!(found(), [true, true, true]);
        tokio::time::sleep(second * 3 / 2).await;
        assert_eq!(found(), [false, true, true]);
        tokio::time::sleep(second).await;
        assert_eq!(found(), [false, false, true]);
        // Ends again after a while in which nothing did.
        tokio::time::sleep(GRACE * 2).await;
        log.end("waits", &Ending::Expired, 5);
        tokio::time::sleep(GRACE + second).await;
        assert_eq!(found(), [false, false, false]);
        assert_eq!(log.past().len(), 3);
        stop.cancel();
        sweeping.await.unwrap();
    }
}
