//! What happened, as two hash-chained files of JSON lines with rotation. Each line carries the hash
//! of the one before.
//!
//! # Two chains
//! `history.jsonl` has what people decided, changes of the policy, and notes about the record;
//! `unasked.jsonl` what a rule, the policy or the fallback decided. Each has its own files and its own
//! retention, so that nothing that runs unasked can push out an answer; [`flood`] says how much of the second
//! each source may write, and counts the rest. Positions go up over both, in the order of time, so a page is
//! both merged by position.
//!
//! # Format
//! A file that is full becomes `history-<position of its first line>.jsonl`, or `unasked-…`, and the oldest
//! files are removed. A line is the entry's JSON object with two more members at its very end:
//!
//! ```text
//! {"seq":2,"atMs":…,"event":{…},"prev":"<64 hex>","hash":"<64 hex>"}
//! ```
//!
//! `hash` is the SHA-256, in lower-case hex, of the 64 characters of `prev` followed by the bytes of the
//! entry, which are the line without `,"prev":…` and what follows it, closed by `}`. `prev` is the `hash` of
//! the line before in its chain, and 64 zeros in the first line ever. Hashing the stored bytes makes every
//! change of them visible, blanks included.
//!
//! # What it shows, and what not
//! Every line that was changed, removed, added or moved after it was written. Where each chain begins and
//! ends is noted with every line in two [`Places`], so that lines that vanish from either end are missed, and
//! so are emptied and removed files. That the oldest lines are removed because their place is needed is a
//! line itself. The chains have no key: whoever may write both places can make new ones. An [`Anchor`] that
//! is kept elsewhere tells that too.
//!
//! Lines are not synced one by one: a power failure may lose the last second. Those are told from lines that
//! somebody removed by the machine's start, which the note names, and by how far the lines were on the disk.
//! The beginning of a line that a crash cut off is moved to `history.torn` by the next writer, and the chain
//! goes on with the line before it.
//!
//! # When nothing can be written
//! [`History::ready`] says whether the next lines find room. What was not written is counted, in the head
//! where that can be, and the count is a line as soon as lines can be written again. [`History::recording`]
//! tells of it while it lasts.

mod anchor;
mod bounded;
mod chain;
mod files;
mod flood;
#[cfg(fuzzing)]
pub mod fuzzing;
mod head;
mod health;
mod read;
mod session;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

pub use self::anchor::{Anchor, BadAnchor, anchor};
pub use self::head::Places;
pub use self::read::{MAX_PAGE, newest, page, unwritten};
pub use self::session::{SessionLine, SessionLines, session_lines};
pub use self::verify::{verify, verify_with};

use self::health::Health;
use self::writer::Writer;
use crate::folder;
use crate::ports::Ports;
use countersign_protocol::history::{HistoryEntry, HistoryEvent};
use countersign_protocol::ids::RequestId;
use countersign_protocol::state::RecordingState;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
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
    /// Something else is in its place, or somebody else could write it.
    #[error("{path} is not safe to keep the history in: {problem}")]
    Unsafe {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// What there is does not fit together.
    #[error("the history is damaged: {problem}")]
    Damaged {
        /// Where and how.
        problem: String,
    },
    /// The history was closed.
    #[error("the history is closed")]
    Closed,
}

/// Handle of the history's writer.
#[derive(Clone, Debug)]
pub struct History {
    messages: mpsc::Sender<Message>,
    appended: broadcast::Sender<HistoryEntry>,
    health: Health,
}

impl History {
    /// Opens the folder (made 0700), continuing its chains. What was appended is flushed when
    /// `stop` is cancelled.
    pub fn open(
        places: Places,
        ports: Ports,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, HistoryError> {
        let health = Health::new(ports.clone());
        let writer = Writer::open(places, ports, writer::ROTATE_BYTES)?;
        let (messages, inbox) = mpsc::channel(INBOX);
        let (appended, _) = broadcast::channel(APPENDED);
        let listeners = Listeners { appended: appended.clone(), health: health.clone() };
        tracker.spawn(run(writer, inbox, listeners, stop));
        Ok(Self { messages, appended, health })
    }

    /// Appends a line, and returns once it is written, or counted where its source has written its share.
    /// Dropping the future before that may or may not append it.
    pub async fn append(
        &self,
        request_id: Option<RequestId>,
        event: HistoryEvent,
    ) -> Result<(), HistoryError> {
        let (reply, answer) = oneshot::channel();
        let request_id = request_id.map(String::from);
        let message = Box::new(Append { request_id, event, reply });
        self.messages.send(Message::Append(message)).await.map_err(|_| HistoryError::Closed)?;
        answer.await.unwrap_or(Err(HistoryError::Closed))
    }

    /// Whether the lines of one more run find room. What cannot be recorded must not run unasked.
    pub async fn ready(&self) -> Result<(), HistoryError> {
        let (reply, answer) = oneshot::channel();
        self.messages.send(Message::Ready(reply)).await.map_err(|_| HistoryError::Closed)?;
        answer.await.unwrap_or(Err(HistoryError::Closed))
    }

    /// From now on this many mebibytes of decisions are kept, and half as much again of what ran unasked.
    /// What is too much goes when the next file is begun.
    pub async fn keep(&self, megabytes: u32) {
        // A history that is closed keeps what it has.
        self.messages.send(Message::Keep(megabytes)).await.ok();
    }

    /// Follows new lines of this handle and its clones. A receiver that lags must read pages again.
    pub fn appended(&self) -> broadcast::Receiver<HistoryEntry> {
        self.appended.subscribe()
    }

    /// Follows whether lines are written.
    pub fn recording(&self) -> watch::Receiver<RecordingState> {
        self.health.follow()
    }
}

enum Message {
    Keep(u32),
    Append(Box<Append>),
    Ready(oneshot::Sender<Result<(), HistoryError>>),
}

struct Append {
    request_id: Option<String>,
    event: HistoryEvent,
    reply: oneshot::Sender<Result<(), HistoryError>>,
}

/// Who hears of what is written.
#[derive(Clone, Debug)]
struct Listeners {
    appended: broadcast::Sender<HistoryEntry>,
    health: Health,
}

impl Listeners {
    /// Looks whether there is room, and tells what came of it.
    fn look_for_room(&self, writer: &mut Writer) -> Result<(), HistoryError> {
        let ready = writer.ready();
        self.health.has_room(&ready);
        ready.map(|entries| self.tell(entries))
    }

    fn tell(&self, entries: Vec<HistoryEntry>) {
        for entry in entries {
            // That nobody listens is no error.
            let _ = self.appended.send(entry);
        }
    }
}

impl Append {
    /// Has `write` write the line and what is due besides, and tells.
    fn done(
        self,
        listeners: &Listeners,
        write: impl FnOnce(Option<String>, HistoryEvent) -> Result<Vec<HistoryEntry>, HistoryError>,
    ) {
        let started = Instant::now();
        let written = write(self.request_id, self.event);
        listeners.health.wrote(&written, started.elapsed());
        let result = written.map(|entries| listeners.tell(entries));
        // An asker that left is no error: the line is written.
        let _ = self.reply.send(result);
    }
}

/// Appends in order. Lines that wait when `stop` is cancelled are still written: they are about
/// things that happened.
async fn run(
    mut writer: Writer,
    mut inbox: mpsc::Receiver<Message>,
    listeners: Listeners,
    stop: CancellationToken,
) {
    let mut flush_at: Option<Instant> = None;
    loop {
        let step = tokio::select! {
            () = stop.cancelled(), if !inbox.is_closed() => {
                inbox.close();
                continue;
            }
            message = inbox.recv() => message.map_or(Step::End, Step::Take),
            () = until(flush_at) => Step::Flush,
        };
        // Every run waits for two lines and whether there is room for them, and each takes less time than
        // asking another thread for it.
        let step = match step {
            Step::Take(Message::Append(append)) => match writer.spot() {
                Some(spot) => {
                    flush_at.get_or_insert_with(|| Instant::now() + FLUSH_AFTER);
                    append.done(&listeners, |request_id, event| writer.append_at(spot, request_id, event));
                    continue;
                }
                None => Step::Take(Message::Append(append)),
            },
            Step::Take(Message::Ready(reply)) if listeners.health.is_well() && writer.has_kept_room() => {
                // An asker that left is no error.
                let _ = reply.send(Ok(()));
                continue;
            }
            step => step,
        };
        let ends = matches!(step, Step::End);
        if matches!(step, Step::Take(_)) {
            flush_at.get_or_insert_with(|| Instant::now() + FLUSH_AFTER);
        } else {
            flush_at = None;
        }
        let telling = listeners.clone();
        let done = tokio::task::spawn_blocking(move || {
            take_step(&mut writer, step, &telling);
            writer
        });
        // The runtime is going away, or the step panicked: every later call says that the history is closed.
        let Ok(again) = done.await else { return };
        if ends {
            return;
        }
        writer = again;
        if writer.owes_lines() || !listeners.health.is_well() {
            flush_at.get_or_insert_with(|| Instant::now() + OWED_AFTER);
        }
    }
}

enum Step {
    Take(Message),
    Flush,
    End,
}

fn take_step(writer: &mut Writer, step: Step, listeners: &Listeners) {
    let flushed = match step {
        Step::Take(Message::Append(append)) => {
            append.done(listeners, |request_id, event| writer.append(request_id, event));
            return;
        }
        Step::Take(Message::Keep(megabytes)) => {
            writer.set_size(megabytes);
            return;
        }
        Step::Take(Message::Ready(reply)) => {
            // An asker that left is no error.
            let _ = reply.send(listeners.look_for_room(writer));
            return;
        }
        // What did not work is tried again, so that its end is told also when nothing happens.
        Step::Flush if !listeners.health.is_well() => {
            listeners.look_for_room(writer).and_then(|()| writer.flush())
        }
        Step::Flush => writer.flush(),
        Step::End => writer.finish(),
    };
    listeners.health.synced(&flushed);
    match flushed {
        Ok(entries) => listeners.tell(entries),
        Err(error) => tracing::warn!(%error, "the history was not flushed"),
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

/// Between two looks whether what was only counted, or could not be written, can become a line, and whether a
/// disk works again.
const OWED_AFTER: Duration = Duration::from_secs(10);

/// The history is in plain files of this user; anything else in their place is said and left alone.
fn refuse_other_than_files(file: &std::fs::File, path: &std::path::Path) -> Result<(), HistoryError> {
    use rustix::fs::FileType;
    let failed =
        |source: std::io::Error| HistoryError::Io { doing: "look at", path: path.to_owned(), source };
    let stat = rustix::fs::fstat(file).map_err(|error| failed(error.into()))?;
    let found = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if folder::is_ours(&stat) => return Ok(()),
        FileType::RegularFile => "a file of another user",
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    };
    Err(HistoryError::Unsafe {
        path: path.to_owned(),
        problem: format!("expected a file of this user, found {found}"),
    })
}
