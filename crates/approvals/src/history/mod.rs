//! What happened, as hash-chained JSON lines with rotation. Each line carries the hash of the one before.
//!
//! # Format
//! `history.jsonl` grows; once it is full it becomes `history-<position of its first line>.jsonl`, and the oldest files are
//! removed. A line is the entry's JSON object with two more members at its very end:
//!
//! ```text
//! {"seq":2,"atMs":…,"event":{…},"prev":"<64 hex>","hash":"<64 hex>"}
//! ```
//!
//! `hash` is the SHA-256, in lower-case hex, of the 64 characters of `prev` followed by the bytes of the entry, which are
//! the line without `,"prev":…` and what follows it, closed by `}`. `prev` is the `hash` of the line before, and 64 zeros
//! in the first line ever. Hashing the stored bytes makes every change of them visible, blanks included.
//!
//! # What it shows, and what not
//! Any line that was changed, removed, added or moved after it was written, back to the oldest file that is kept, whose
//! first line is trusted. Lines that are cut off at the very end show by `history.head`, which says how far the chain had
//! come at the last flush. The chain has no key: whoever may write the folder could make a new one.
//!
//! Lines are not synced one by one: a power failure may lose the last second. The beginning of a line that a crash cut off
//! is moved to `history.torn` by the next writer, and the chain goes on with the line before it.

mod chain;
mod files;
mod read;
#[cfg(test)]
mod tests;
mod writer;

pub use self::read::{MAX_PAGE, page, verify};

use self::writer::Writer;
use crate::ports::Ports;
use countersign_protocol::ui::{HistoryEntry, HistoryEvent};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Why the history was not read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The system refused.
    #[error("{doing} {path}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Another program holds the lock.
    #[error("the history is locked by another program for more than {waited_ms} ms")]
    Locked {
        /// Milliseconds.
        waited_ms: u64,
    },
    /// A line would be too long to be read again.
    #[error("a history line of {bytes} bytes is too long, at most {limit} may be")]
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// The bound.
        limit: usize,
    },
    /// Somebody else could write the history.
    #[error("{path} is not safe to keep the history in: {problem}")]
    Unsafe {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The history was closed.
    #[error("the history is closed")]
    Closed,
}

/// Handle of the history's writer.
#[derive(Clone, Debug)]
pub struct History {
    messages: mpsc::Sender<Box<Append>>,
    appended: broadcast::Sender<HistoryEntry>,
}

impl History {
    /// Opens the folder (made 0700), continuing its chain. What was appended is flushed when `stop` is cancelled.
    pub fn open(
        dir: PathBuf,
        ports: Ports,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, HistoryError> {
        let writer = Writer::open(dir, ports, writer::ROTATE_BYTES)?;
        let (messages, inbox) = mpsc::channel(INBOX);
        let (appended, _) = broadcast::channel(APPENDED);
        tracker.spawn(run(writer, inbox, appended.clone(), stop));
        Ok(Self { messages, appended })
    }

    /// Appends a line and returns it once it is written. Dropping the future before that may or may not append it.
    pub async fn append(
        &self,
        request_id: Option<String>,
        event: HistoryEvent,
    ) -> Result<HistoryEntry, HistoryError> {
        let (reply, answer) = oneshot::channel();
        let message = Box::new(Append { request_id, event, reply });
        self.messages.send(message).await.map_err(|_| HistoryError::Closed)?;
        answer.await.unwrap_or(Err(HistoryError::Closed))
    }

    /// Follows new lines of this handle and its clones. A receiver that lags must read pages again.
    pub fn appended(&self) -> broadcast::Receiver<HistoryEntry> {
        self.appended.subscribe()
    }
}

struct Append {
    request_id: Option<String>,
    event: HistoryEvent,
    reply: oneshot::Sender<Result<HistoryEntry, HistoryError>>,
}

impl Append {
    /// Has `write` write the line, and tells.
    fn done(
        self,
        appended: &broadcast::Sender<HistoryEntry>,
        write: impl FnOnce(Option<String>, HistoryEvent) -> Result<HistoryEntry, HistoryError>,
    ) {
        let result = write(self.request_id, self.event);
        if let Ok(entry) = &result {
            // Nobody listening is not an error.
            let _ = appended.send(entry.clone());
        }
        // Nor is an asker that left: the line is written.
        let _ = self.reply.send(result);
    }
}

/// Appends in order. Lines that wait when `stop` is cancelled are still written: they are about things that happened.
async fn run(
    mut writer: Writer,
    mut inbox: mpsc::Receiver<Box<Append>>,
    appended: broadcast::Sender<HistoryEntry>,
    stop: CancellationToken,
) {
    let mut flush_at: Option<Instant> = None;
    loop {
        let step = tokio::select! {
            () = stop.cancelled(), if !inbox.is_closed() => {
                inbox.close();
                continue;
            }
            append = inbox.recv() => append.map_or(Step::End, Step::Append),
            () = until(flush_at) => Step::Flush,
        };
        // Every run waits for two lines, and each takes less time than asking another thread for it.
        let step = match step {
            Step::Append(append) => match writer.spot() {
                Some(spot) => {
                    flush_at.get_or_insert_with(|| Instant::now() + FLUSH_AFTER);
                    append.done(&appended, |request_id, event| writer.append_at(spot, request_id, event));
                    continue;
                }
                None => Step::Append(append),
            },
            step => step,
        };
        let ends = matches!(step, Step::End);
        if matches!(step, Step::Append(_)) {
            flush_at.get_or_insert_with(|| Instant::now() + FLUSH_AFTER);
        } else {
            flush_at = None;
        }
        let appended = appended.clone();
        let done = tokio::task::spawn_blocking(move || {
            take_step(&mut writer, step, &appended);
            writer
        });
        // The runtime is going away, or the step panicked: every later call says that the history is closed.
        let Ok(again) = done.await else { return };
        if ends {
            return;
        }
        writer = again;
    }
}

enum Step {
    Append(Box<Append>),
    Flush,
    End,
}

fn take_step(writer: &mut Writer, step: Step, appended: &broadcast::Sender<HistoryEntry>) {
    match step {
        Step::Append(append) => append.done(appended, |request_id, event| writer.append(request_id, event)),
        Step::Flush | Step::End => {
            if let Err(error) = writer.flush() {
                tracing::warn!(%error, "the history was not flushed");
            }
        }
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// Lines that may wait to be written; askers wait when there are more, so that nothing runs unrecorded.
const INBOX: usize = 256;

/// Lines that a slow listener may be behind.
const APPENDED: usize = 256;

/// What was appended is synced this long after, all together.
const FLUSH_AFTER: Duration = Duration::from_secs(1);
