//! How it goes at one target: logged, and shown on the page.

use countersign_approvals::ports::Clock;
use countersign_protocol::ui::{ForwardFailure, ForwardNow};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Counts for one target. Clones are the same one.
#[derive(Clone)]
pub(super) struct Meter {
    inner: Arc<Inner>,
}

struct Inner {
    /// Our id of the target.
    target: String,
    clock: Arc<dyn Clock>,
    now: Mutex<ForwardNow>,
    changed: watch::Sender<()>,
}

impl Meter {
    pub(super) fn new(target: String, clock: Arc<dyn Clock>, changed: watch::Sender<()>) -> Self {
        Self { inner: Arc::new(Inner { target, clock, now: Mutex::default(), changed }) }
    }

    pub(super) fn now(&self) -> ForwardNow {
        self.inner.now.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One more is on its way.
    pub(super) fn waits(&self) {
        self.change(|now, _| now.waiting = now.waiting.saturating_add(1));
    }

    /// One arrived.
    pub(super) fn delivered(&self) {
        self.change(|now, at_ms| {
            now.waiting = now.waiting.saturating_sub(1);
            now.delivered += 1;
            now.delivered_at_ms = Some(at_ms);
            now.failure = None;
        });
    }

    /// One is given up.
    pub(super) fn failed(&self, delivery: &str, text: String) {
        let target = &self.inner.target;
        tracing::warn!(target_id = %target, delivery, reason = %text, "a message was not delivered and is given up");
        self.change(|now, at_ms| {
            now.waiting = now.waiting.saturating_sub(1);
            now.failed += 1;
            now.failure = Some(ForwardFailure { at_ms, text, retries: false });
        });
    }

    /// One that arrived is no longer followed.
    pub(super) fn lost(&self, delivery: &str, text: String) {
        let target = &self.inner.target;
        tracing::warn!(target_id = %target, delivery, reason = %text, "an answer from elsewhere cannot be heard any more");
        self.change(|now, at_ms| now.failure = Some(ForwardFailure { at_ms, text, retries: false }));
    }

    /// One is tried again.
    pub(super) fn retries(&self, delivery: &str, text: String) {
        let target = &self.inner.target;
        tracing::info!(target_id = %target, delivery, reason = %text, "a message was not delivered and is tried again");
        self.change(|now, at_ms| now.failure = Some(ForwardFailure { at_ms, text, retries: true }));
    }

    /// There was no room for one; whoever waits stays as many.
    pub(super) fn dropped(&self, delivery: &str) {
        tracing::warn!(target_id = %self.inner.target, delivery, "a message was dropped: too many wait");
        self.change(|now, _| now.dropped += 1);
    }

    /// One on its way is no longer wanted.
    pub(super) fn forgotten(&self) {
        self.change(|now, _| now.waiting = now.waiting.saturating_sub(1));
    }

    /// An allow from there did not count.
    pub(super) fn not_counted(&self, request: &str) {
        tracing::warn!(target_id = %self.inner.target, request_id = request, "an allow that was given elsewhere does not count");
        self.change(|now, _| now.not_counted += 1);
    }

    fn change(&self, change: impl FnOnce(&mut ForwardNow, i64)) {
        let at_ms = self.inner.clock.now_ms();
        change(&mut self.inner.now.lock().unwrap_or_else(PoisonError::into_inner), at_ms);
        self.inner.changed.send_replace(());
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Meter({})", self.inner.target)
    }
}
