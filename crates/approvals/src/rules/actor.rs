//! The task that owns the rules.

use super::owner::RulesOwner;
use super::{Current, NotSpent, RuleChange, RulesChanged, RulesError};
use crate::watcher::Watcher;
use countersign_protocol::ui::RuleEditResult;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Uses of rules without a number of uses are written this long after the first one, all together.
const FLUSH_AFTER: Duration = Duration::from_millis(900);

pub(super) enum Message {
    Refresh { reply: oneshot::Sender<Arc<Current>> },
    Edit { change: RuleChange, reply: oneshot::Sender<Result<RuleEditResult, RulesError>> },
    Spend { ids: Vec<String>, reply: oneshot::Sender<Result<(), NotSpent>> },
    Reset { reply: oneshot::Sender<Result<PathBuf, RulesError>> },
}

pub(super) struct Actor {
    owner: RulesOwner,
    watcher: Watcher,
    wake: Arc<Notify>,
    current: watch::Sender<Arc<Current>>,
    changes: broadcast::Sender<RulesChanged>,
}

impl Actor {
    pub(super) fn new(
        owner: RulesOwner,
        config: PathBuf,
        current: watch::Sender<Arc<Current>>,
        changes: broadcast::Sender<RulesChanged>,
    ) -> Self {
        let wake = Arc::new(Notify::new());
        let watcher = Watcher::new(vec![config], Arc::clone(&wake));
        Self { owner, watcher, wake, current, changes }
    }

    /// Ends when `stop` is cancelled, after writing the uses that wait. Every step on disk is finished before the next
    /// message is looked at, so that a caller that goes away leaves nothing half done.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Message>, stop: CancellationToken) {
        let wake = Arc::clone(&self.wake);
        let mut flush_at: Option<Instant> = None;
        let Some((actor, mut poll)) = self.blocking(Self::start).await else { return };
        self = actor;
        loop {
            let step = tokio::select! {
                () = stop.cancelled() => break,
                message = inbox.recv() => match message {
                    // Before each run: a look at two inodes takes less time than asking another thread for it.
                    Some(Message::Refresh { reply }) if self.owner.is_as_read() => {
                        let _ = reply.send(Arc::clone(self.owner.current()));
                        continue;
                    }
                    Some(message) => Step::Message(message),
                    None => break,
                },
                () = until(flush_at) => Step::Flush,
                () = wake.notified() => Step::Look,
                () = tokio::time::sleep(poll) => Step::Look,
            };
            let Some((actor, again)) = self.blocking(move |actor| actor.take(step)).await else { return };
            (self, poll) = (actor, again);
            let planned = flush_at.filter(|at| *at > Instant::now());
            let again = planned.unwrap_or_else(|| Instant::now() + FLUSH_AFTER);
            flush_at = self.owner.has_waiting_uses().then_some(again);
        }
        inbox.close();
        self.blocking(Self::flush).await;
    }

    fn start(&mut self) -> Duration {
        if let Err(error) = self.owner.sweep() {
            tracing::debug!(%error, "temporary files of the rules were not removed");
        }
        self.publish();
        self.watcher.follow()
    }

    fn take(&mut self, step: Step) -> Duration {
        // Failed sends: the caller left, which changes nothing about what was done.
        match step {
            Step::Look => {
                self.owner.refresh();
                self.publish();
            }
            Step::Flush => self.flush(),
            Step::Message(Message::Refresh { reply }) => {
                self.owner.refresh();
                self.publish();
                let _ = reply.send(Arc::clone(self.owner.current()));
            }
            Step::Message(Message::Edit { change, reply }) => {
                let result = self.owner.edit(&change);
                self.publish();
                let _ = reply.send(result);
            }
            Step::Message(Message::Spend { ids, reply }) => {
                let result = self.owner.spend(&ids);
                self.publish();
                let _ = reply.send(result);
            }
            Step::Message(Message::Reset { reply }) => {
                let result = self.owner.reset();
                self.publish();
                let _ = reply.send(result);
            }
        }
        self.watcher.follow()
    }

    fn flush(&mut self) {
        if let Err(error) = self.owner.flush() {
            tracing::debug!(%error, "uses of rules were not recorded");
        }
        self.publish();
    }

    /// The watch first: whoever hears of a change finds it current.
    fn publish(&mut self) {
        self.current.send_if_modified(|current| {
            let changed = !Arc::ptr_eq(current, self.owner.current());
            *current = Arc::clone(self.owner.current());
            changed
        });
        for change in self.owner.take_changes() {
            // Nobody listening is not an error.
            let _ = self.changes.send(change);
        }
    }

    /// Runs on a thread where blocking is fine. `None` when the runtime is going away or the step panicked: the store
    /// then ends, and every later call says that it is closed.
    async fn blocking<T: Send + 'static>(
        mut self,
        step: impl FnOnce(&mut Self) -> T + Send + 'static,
    ) -> Option<(Self, T)> {
        tokio::task::spawn_blocking(move || {
            let result = step(&mut self);
            (self, result)
        })
        .await
        .ok()
    }
}

enum Step {
    Message(Message),
    Flush,
    Look,
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
