//! The task that owns the document.

use super::owner::DocumentOwner;
use super::uses::Uses;
use super::{Change, Changed, Current, Replacement, StoreError};
use crate::watcher::{POLL, Watcher};
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::PolicySnapshot;
use countersign_protocol::ui::{DocumentEdit, EditResult};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Uses are written this long after the first one arrived, all together.
const FLUSH_AFTER: Duration = Duration::from_millis(900);

pub(super) enum Message {
    Refresh {
        reply: oneshot::Sender<Arc<Current>>,
    },
    Edit {
        change: Change,
        reply: oneshot::Sender<Result<EditResult, StoreError>>,
    },
    Replace {
        replacement: Replacement,
        reply: oneshot::Sender<Result<Arc<Current>, StoreError>>,
    },
    CommitGrant {
        agent: String,
        shown: Box<PolicySnapshot>,
        edits: Vec<DocumentEdit>,
        reply: oneshot::Sender<Result<(), StoreError>>,
    },
    EnsureSocket {
        reply: oneshot::Sender<Result<(PathBuf, SocketToken), StoreError>>,
    },
    Reset {
        reply: oneshot::Sender<Result<PathBuf, StoreError>>,
    },
}

pub(super) struct Actor {
    owner: DocumentOwner,
    watcher: Watcher,
    wake: Arc<Notify>,
    uses: Arc<Uses>,
    current: watch::Sender<Arc<Current>>,
    changes: broadcast::Sender<Changed>,
}

impl Actor {
    pub(super) fn new(
        owner: DocumentOwner,
        uses: Arc<Uses>,
        current: watch::Sender<Arc<Current>>,
        changes: broadcast::Sender<Changed>,
    ) -> Self {
        let wake = Arc::new(Notify::new());
        let watcher = Watcher::new(watched(owner.dir()), Arc::clone(&wake));
        Self { owner, watcher, wake, uses, current, changes }
    }

    /// Ends when `stop` is cancelled, after writing the uses that wait. Every step on disk is finished before the next
    /// message is looked at, so that a caller that goes away leaves nothing half done.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Message>, stop: CancellationToken) {
        let (wake, uses) = (Arc::clone(&self.wake), Arc::clone(&self.uses));
        let mut poll = POLL;
        let mut flush_at: Option<Instant> = None;
        let mut started = false;
        loop {
            if !started {
                started = true;
                let Some((actor, again)) = self.blocking(Self::start).await else { return };
                (self, poll) = (actor, again);
            }
            let step = tokio::select! {
                () = stop.cancelled() => break,
                message = inbox.recv() => match message {
                    // Before each run: a look at a few inodes takes less time than asking another thread for it.
                    Some(Message::Refresh { reply }) if self.owner.is_as_read() => {
                        let _ = reply.send(Arc::clone(self.owner.current()));
                        continue;
                    }
                    Some(message) => Wake::Message(message),
                    None => break,
                },
                () = uses.arrived() => {
                    flush_at.get_or_insert_with(|| Instant::now() + FLUSH_AFTER);
                    continue;
                }
                () = until(flush_at) => { flush_at = None; Wake::Flush }
                () = wake.notified() => Wake::Look,
                () = tokio::time::sleep(poll) => Wake::Look,
            };
            let Some((actor, again)) = self.blocking(move |actor| actor.take_step(step)).await else {
                return;
            };
            (self, poll) = (actor, again);
        }
        inbox.close();
        self.blocking(Self::flush).await;
    }

    fn start(&mut self) -> Duration {
        if let Err(error) = self.owner.sweep() {
            tracing::debug!(%error, "temporary files of the approvals document were not removed");
        }
        self.watcher.follow()
    }

    fn take_step(&mut self, step: Wake) -> Duration {
        // Failed sends: the caller left, which changes nothing about what was done.
        match step {
            Wake::Look => {
                self.owner.refresh();
                self.publish();
            }
            Wake::Flush => self.flush(),
            Wake::Message(Message::Refresh { reply }) => {
                self.owner.refresh();
                self.publish();
                let _ = reply.send(Arc::clone(self.owner.current()));
            }
            Wake::Message(Message::Edit { change, reply }) => {
                let result = self.owner.edit(&change);
                self.publish();
                let _ = reply.send(result);
            }
            Wake::Message(Message::Replace { replacement, reply }) => {
                let result = self.owner.replace(&replacement);
                self.publish();
                let _ = reply.send(result.map(|()| Arc::clone(self.owner.current())));
            }
            Wake::Message(Message::CommitGrant { agent, shown, edits, reply }) => {
                let result = self.owner.commit_grant(&agent, &shown, &edits);
                self.publish();
                let _ = reply.send(result);
            }
            Wake::Message(Message::EnsureSocket { reply }) => {
                let result = self.owner.ensure_socket();
                self.publish();
                let _ = reply.send(result);
            }
            Wake::Message(Message::Reset { reply }) => {
                let result = self.owner.reset();
                self.publish();
                let _ = reply.send(result);
            }
        }
        self.watcher.follow()
    }

    fn flush(&mut self) {
        let uses = self.uses.take();
        if uses.is_empty() {
            return;
        }
        if let Err(error) = self.owner.record_uses(&uses) {
            tracing::debug!(%error, "uses of allowlist entries were not recorded");
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

/// The state directory and its folder in which a database would appear.
fn watched(dir: &Path) -> Vec<PathBuf> {
    vec![dir.to_owned(), dir.join("state")]
}

enum Wake {
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
