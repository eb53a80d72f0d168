//! What the gateway knows of approvals beside the book: those that wait, those that ended a moment ago, and the last ones
//! that ended, for those who leaf through them. In memory: the record that lasts is the history of the app.

use countersign_approvals::book::Ending;
use countersign_gateway::embedded::{Ended, Happened, Known, Resolver, Verdict};
use countersign_protocol::gateway::unified::Reason;
use countersign_protocol::ui::CancelCause;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

/// Happenings that a slow reader may be behind; it lists what waits instead.
const EVENTS: usize = 1_024;

/// Approvals that ended and can be leafed through: more than a person looks at, some megabytes at most.
const PAST: usize = 1_000;

/// How clients see an answer that was given in a window.
const OWN_NAME: &str = "Countersign";

/// The shelf. Clones are the same one.
#[derive(Clone)]
pub(super) struct Shelf {
    inner: Arc<Mutex<Inner>>,
    events: broadcast::Sender<Happened>,
}

#[derive(Default)]
struct Inner {
    known: HashMap<String, Entry>,
    /// Oldest first.
    past: VecDeque<Arc<Known>>,
}

struct Entry {
    known: Arc<Known>,
    announced: bool,
    /// Answers that are on their way to the book, by what the book calls who gives them.
    verdicts: Vec<(String, Verdict)>,
}

impl Shelf {
    pub(super) fn new() -> Self {
        Self { inner: Arc::default(), events: broadcast::channel(EVENTS).0 }
    }

    pub(super) fn events(&self) -> broadcast::Receiver<Happened> {
        self.events.subscribe()
    }

    /// Keeps one that waits, and tells of it when it is to be announced.
    pub(super) fn put(&self, known: &Arc<Known>, announced: bool) {
        let entry = Entry { known: Arc::clone(known), announced, verdicts: Vec::new() };
        self.inner().known.insert(known.requested.id.clone(), entry);
        if announced {
            // Nobody follows when no client is there.
            let _ = self.events.send(Happened::Requested(Arc::clone(known)));
        }
    }

    /// Keeps one that nobody was asked about.
    pub(super) fn put_past(&self, known: &Arc<Known>) {
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
        let known = Arc::new(Known { ended: Some(ended), ..(*entry.known).clone() });
        entry.known = Arc::clone(&known);
        inner.keep(Arc::clone(&known));
        drop(inner);
        if told {
            let _ = self.events.send(Happened::Ended(known));
        }
    }

    /// Forgets one whose grace is over.
    pub(super) fn forget(&self, id: &str) {
        self.inner().known.remove(id);
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Known>> {
        self.inner().known.get(id).map(|entry| Arc::clone(&entry.known))
    }

    /// What waits, oldest first.
    pub(super) fn pending(&self) -> Vec<Arc<Known>> {
        let mut waiting: Vec<Arc<Known>> = self
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
    pub(super) fn past(&self) -> Vec<Arc<Known>> {
        self.inner().past.iter().cloned().collect()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn keep(&mut self, known: Arc<Known>) {
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
        Ending::Elsewhere { .. } => without_answer(Reason::RunAborted),
        Ending::NotShown => without_answer(Reason::NoRoute),
        Ending::Cancelled(CancelCause::Shutdown) => without_answer(Reason::GatewayRestart),
        Ending::Cancelled(
            CancelCause::RequesterGone | CancelCause::ConnectionLost | CancelCause::Withdrawn,
        ) => without_answer(Reason::RunAborted),
    }
}
