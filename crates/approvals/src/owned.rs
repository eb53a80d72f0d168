//! A file that one task owns: that task alone reads and writes it, follows what other programs do to it, and
//! writes uses of what it says later, many at once.

use crate::watcher::Watcher;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Uses are written this long after the first one, all together.
const FLUSH_AFTER: Duration = Duration::from_millis(900);

/// Steps that may wait for the task; whoever wants another one waits when there are more.
const INBOX: usize = 64;

/// Changes that a slow listener may be behind; such files change by hand.
const CHANGES: usize = 64;

/// What the task owns. Every function may block.
pub(crate) trait Owned: Send + 'static {
    /// What the file says.
    type Current: Send + Sync;
    /// Who changed what.
    type Changed: Clone + Send;

    /// The folder whose changes count, and others that may come to be.
    fn folders(&self) -> Vec<PathBuf>;
    /// As last read.
    fn current(&self) -> &Arc<Self::Current>;
    /// What changed since this was last called.
    fn take_changes(&mut self) -> Vec<Self::Changed>;
    /// Whether the file is as it was read. A look at a few inodes.
    fn is_as_read(&self) -> bool;
    /// Reads it again if it changed.
    fn refresh(&mut self);
    /// Removes what an earlier process left behind.
    fn sweep(&mut self);
    /// Whether uses wait to be written.
    fn has_uses(&self) -> bool;
    /// Writes them.
    fn write_uses(&mut self);
}

/// Handle of the task.
pub(crate) struct Handle<O: Owned> {
    orders: mpsc::Sender<Order<O>>,
    current: watch::Receiver<Arc<O::Current>>,
    changes: broadcast::Sender<O::Changed>,
    used: Arc<Notify>,
}

enum Order<O: Owned> {
    Refresh(oneshot::Sender<Arc<O::Current>>),
    Step(Step<O>),
}

/// Done by the task; what it leaves is called when everybody was told of the change.
type Step<O> = Box<dyn FnOnce(&mut O) -> Answer + Send>;
type Answer = Box<dyn FnOnce() + Send>;

impl<O: Owned> Handle<O> {
    /// Follows the file until `stop`.
    pub(crate) fn new(owner: O, tracker: &TaskTracker, stop: CancellationToken) -> Self {
        let (orders, inbox) = mpsc::channel(INBOX);
        let (sender, current) = watch::channel(Arc::clone(owner.current()));
        let (changes, _) = broadcast::channel(CHANGES);
        let (wake, used) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let watcher = Watcher::new(owner.folders(), Arc::clone(&wake));
        let task = Task { owner, watcher, current: sender, changes: changes.clone() };
        tracker.spawn(task.run(inbox, wake, Arc::clone(&used), stop));
        Self { orders, current, changes, used }
    }

    /// As last read.
    pub(crate) fn current(&self) -> Arc<O::Current> {
        Arc::clone(&self.current.borrow())
    }

    /// Follows it.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<O::Current>> {
        self.current.clone()
    }

    /// Follows who changed what. A receiver that lags has missed changes, not the file.
    pub(crate) fn changes(&self) -> broadcast::Receiver<O::Changed> {
        self.changes.subscribe()
    }

    /// Has uses written soon.
    pub(crate) fn used(&self) {
        self.used.notify_one();
    }

    /// What the file says now; `None` when the task has ended. Cancel-safe.
    pub(crate) async fn refresh(&self) -> Option<Arc<O::Current>> {
        let (reply, answer) = oneshot::channel();
        self.orders.send(Order::Refresh(reply)).await.ok()?;
        answer.await.ok()
    }

    /// Has the task do something, and waits for it; `None` when the task has ended. Not cancelled half-way:
    /// dropping the future leaves it undone or done.
    pub(crate) async fn with<T: Send + 'static>(
        &self,
        step: impl FnOnce(&mut O) -> T + Send + 'static,
    ) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        let step = move |owner: &mut O| -> Answer {
            let done = step(owner);
            // Whoever left changes nothing about what was done.
            Box::new(move || drop(reply.send(done)))
        };
        self.orders.send(Order::Step(Box::new(step))).await.ok()?;
        answer.await.ok()
    }
}

impl<O: Owned> Clone for Handle<O> {
    fn clone(&self) -> Self {
        let Self { orders, current, changes, used } = self;
        let (orders, current) = (orders.clone(), current.clone());
        Self { orders, current, changes: changes.clone(), used: Arc::clone(used) }
    }
}

impl<O: Owned> fmt::Debug for Handle<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}

struct Task<O: Owned> {
    owner: O,
    watcher: Watcher,
    current: watch::Sender<Arc<O::Current>>,
    changes: broadcast::Sender<O::Changed>,
}

enum Wake<O: Owned> {
    Order(Order<O>),
    Flush,
    Look,
}

impl<O: Owned> Task<O> {
    /// Ends when `stop` is cancelled, after writing the uses that wait. Every step on disk is finished before
    /// the next order is looked at, so that a caller that goes away leaves nothing half done.
    async fn run(
        mut self,
        mut inbox: mpsc::Receiver<Order<O>>,
        wake: Arc<Notify>,
        used: Arc<Notify>,
        stop: CancellationToken,
    ) {
        let mut flush_at: Option<Instant> = None;
        let Some((task, mut poll)) = self.blocking(Self::start).await else { return };
        self = task;
        loop {
            if self.owner.has_uses() {
                flush_at.get_or_insert_with(|| Instant::now() + FLUSH_AFTER);
            }
            let woken = tokio::select! {
                () = stop.cancelled() => break,
                order = inbox.recv() => match order {
                    // Before each run: a look at a few inodes takes less time than asking
                    // another thread for it.
                    Some(Order::Refresh(reply)) if self.owner.is_as_read() => {
                        let _ = reply.send(Arc::clone(self.owner.current()));
                        continue;
                    }
                    Some(order) => Wake::Order(order),
                    None => break,
                },
                () = used.notified() => continue,
                () = until(flush_at) => {
                    flush_at = None;
                    Wake::Flush
                }
                () = wake.notified() => Wake::Look,
                () = tokio::time::sleep(poll) => Wake::Look,
            };
            let Some((task, again)) = self.blocking(move |task| task.take(woken)).await else { return };
            (self, poll) = (task, again);
        }
        inbox.close();
        self.blocking(Self::flush).await;
    }

    fn start(&mut self) -> Duration {
        self.owner.sweep();
        self.publish();
        self.watcher.follow()
    }

    fn take(&mut self, woken: Wake<O>) -> Duration {
        match woken {
            Wake::Look => {
                self.owner.refresh();
                self.publish();
            }
            Wake::Flush => self.flush(),
            Wake::Order(Order::Refresh(reply)) => {
                self.owner.refresh();
                self.publish();
                let _ = reply.send(Arc::clone(self.owner.current()));
            }
            Wake::Order(Order::Step(step)) => {
                let answer = step(&mut self.owner);
                self.publish();
                answer();
            }
        }
        self.watcher.follow()
    }

    fn flush(&mut self) {
        if self.owner.has_uses() {
            self.owner.write_uses();
            self.publish();
        }
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

    /// Runs on a thread where blocking is fine. `None` when the runtime is going away or the step panicked:
    /// the task then ends, and every later call says that it is closed.
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

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}
