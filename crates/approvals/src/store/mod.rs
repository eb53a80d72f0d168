//! The approvals document on disk: reading, generation detection, compare-and-swap writes, watching.
//!
//! What cannot be understood is [`StoreState::Unreadable`] and is never replaced without a person's word; a
//! state directory whose approvals are in a database is [`StoreState::Sqlite`] and is never written to.
//! Programs of ours keep out of each other's way by a lock beside the file; OpenClaw's older releases take no
//! lock, so a write also checks at the last moment that the file is still the one it read.

mod owner;
mod storage;
#[cfg(test)]
mod tests;
mod uses;

use self::owner::DocumentOwner;
pub(crate) use self::owner::{LOCK_PATIENCE, SETTLED_AFTER, TORN_PAUSE, TORN_TRIES};
use self::uses::Uses;
use crate::owned::{Handle, Owned};
use crate::ports::Ports;
use countersign_policy::document::Use;
use countersign_protocol::document::Document;
use countersign_protocol::edits::{DocumentEdit, EditResult};
use countersign_protocol::limits::SOCKET_TOKEN_CHARACTERS;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::PolicySnapshot;
use countersign_protocol::state::StoreState;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The document as it was last read.
#[derive(Clone, Debug, PartialEq)]
pub struct Current {
    /// The file.
    pub path: PathBuf,
    /// Its state.
    pub state: StoreState,
    /// Hash of its bytes (docs/protocol/document.md, "Hash").
    pub hash: String,
    /// What it says; present when `state` is `Ready`.
    pub document: Option<Document>,
    /// Why the system cannot read it again. All else is as it was read last: that is no change of the
    /// document, and decides nothing any more.
    pub trouble: Option<String>,
}

impl Current {
    /// As a decision has to take it: what may be out of date is not known.
    fn for_a_decision(self: Arc<Self>) -> Arc<Self> {
        match &self.trouble {
            None => self,
            Some(problem) => {
                let state = StoreState::Unreadable { problem: problem.clone() };
                Arc::new(Self { state, document: None, ..Self::clone(&self) })
            }
        }
    }
}

/// Who writes, for the history.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Writer {
    /// A person's answer to a prompt.
    Answer,
    /// Another program; never passed to a write.
    AnotherProgram,
    /// The command line.
    CommandLine,
    /// The first start.
    FirstRun,
    /// A client of the embedded gateway that may administer it.
    Gateway,
    /// Nobody: what is long dead is removed.
    Upkeep,
    /// A window.
    Window,
}

/// Whether a loosening may be written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Looser {
    /// A person confirmed it in the window.
    Confirmed,
    /// It is returned unapplied.
    Refuse,
}

/// A change to write.
#[derive(Clone, Debug)]
pub struct Change {
    /// Hash it was made from; `None` means whatever is there now.
    pub base_hash: Option<String>,
    /// All or none.
    pub edits: Vec<DocumentEdit>,
    /// Whether it may loosen.
    pub looser: Looser,
    /// Who writes.
    pub writer: Writer,
}

/// A whole document to write.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// Hash of the document that it was made from.
    pub base_hash: String,
    /// What came.
    pub document: Document,
    /// Who writes.
    pub writer: Writer,
}

/// Something changed the document.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Who.
    pub writer: Writer,
    /// Before.
    pub before: Arc<Current>,
    /// After.
    pub after: Arc<Current>,
}

/// Why the document was not read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// It changed since the edit was made.
    #[error("the approvals document changed since it was read: expected {expected}, found {found}")]
    Stale {
        /// Hash the edit was made from.
        expected: String,
        /// Hash now.
        found: String,
    },
    /// OpenClaw keeps it in a database.
    #[error(
        "OpenClaw keeps approvals in {database}; edit them through its gateway (`openclaw approvals set`)"
    )]
    Sqlite {
        /// The database.
        database: PathBuf,
    },
    /// What is there cannot be understood and is not replaced without the person's word.
    #[error("{path} is not usable: {problem}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A whole document that came cannot be understood.
    #[error("the document that came is not usable: {problem}")]
    Incoming {
        /// What is wrong with it.
        problem: String,
    },
    /// An edit makes no sense.
    #[error(transparent)]
    Edit(#[from] countersign_policy::document::EditError),
    /// A switch that only peers obey: which programs are those of skills is their gateways' word, by which
    /// nothing runs here unasked.
    #[error(
        "autoAllowSkills: expected false, got true: it would have no effect here, because only OpenClaw's own gateway knows which \
         programs belong to skills. Allow a skill's program by an entry or a rule"
    )]
    NoEffect,
    /// An entry that lets nothing run, whatever is asked about.
    #[error("the entry cannot be stored: it never counts: {0}")]
    Idle(countersign_policy::counts::Idle),
    /// The policy became stricter or lost a rule since it was shown.
    #[error(transparent)]
    Outdated(#[from] countersign_policy::currency::Outdated),
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
    #[error("the approvals document is locked by another program for more than {waited_ms} ms")]
    Locked {
        /// Milliseconds.
        waited_ms: u64,
    },
    /// There is none, and the folder is OpenClaw's, so none is made unasked.
    #[error(
        "there is no approvals document at {path}, and OpenClaw keeps its files beside it; save a policy to create one"
    )]
    NoDocument {
        /// Where it would be.
        path: PathBuf,
    },
    /// Only what is unusable is moved aside.
    #[error("{path} is not in the way; nothing was reset")]
    NothingToReset {
        /// The file.
        path: PathBuf,
    },
    /// The document names a socket that cannot be.
    #[error("the approvals document names the socket {path:?}, which is no absolute path")]
    SocketPath {
        /// As stored.
        path: String,
    },
    /// The document has a token that could be found out by trying.
    #[error(
        "the approvals document has a socket token of {characters} characters: expected at least {SOCKET_TOKEN_CHARACTERS}; \
         remove it, and the app makes one"
    )]
    ShortToken {
        /// How long it is.
        characters: usize,
    },
    /// Somebody else could replace the document.
    #[error("{path} is not safe to keep approvals in: {problem}")]
    UnsafeFolder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The store was closed.
    #[error("the approvals store is closed")]
    Closed,
}

/// Handle of the store.
#[derive(Clone, Debug)]
pub struct Store {
    task: Handle<Followed>,
    uses: Arc<Uses>,
}

/// The document, and the uses of its entries that wait to be written.
struct Followed {
    document: DocumentOwner,
    uses: Arc<Uses>,
}

impl Owned for Followed {
    type Current = Current;
    type Changed = Changed;

    /// The state directory and its folder in which a database would appear.
    fn folders(&self) -> Vec<PathBuf> {
        vec![self.document.dir().to_owned(), self.document.dir().join("state")]
    }

    fn current(&self) -> &Arc<Current> {
        self.document.current()
    }

    fn take_changes(&mut self) -> Vec<Changed> {
        self.document.take_changes()
    }

    fn is_as_read(&self) -> bool {
        self.document.is_as_read()
    }

    fn refresh(&mut self) {
        self.document.refresh();
    }

    fn sweep(&mut self) {
        if let Err(error) = self.document.sweep() {
            tracing::debug!(%error, "temporary files of the approvals document were not removed");
        }
    }

    fn has_uses(&self) -> bool {
        self.uses.are_waiting()
    }

    fn write_uses(&mut self) {
        if let Err(error) = self.document.record_uses(&self.uses.take()) {
            tracing::debug!(%error, "uses of allowlist entries were not recorded");
        }
    }
}

impl Store {
    /// Opens the document of an OpenClaw state directory and follows foreign edits until `stop`. Reads once
    /// before it returns; the document is not written.
    pub fn open(
        openclaw_state_dir: PathBuf,
        ports: Ports,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let uses = Arc::new(Uses::default());
        let document = DocumentOwner::open(&openclaw_state_dir, ports);
        let followed = Followed { document, uses: Arc::clone(&uses) };
        Self { task: Handle::new(followed, tracker, stop), uses }
    }

    /// Reads the document of an OpenClaw state directory once, without following it. Blocking, a few calls.
    pub fn read(openclaw_state_dir: &Path) -> Current {
        DocumentOwner::open(openclaw_state_dir, Ports::system()).current().as_ref().clone()
    }

    /// The document as last read.
    pub fn current(&self) -> Arc<Current> {
        self.task.current()
    }

    /// Follows the document.
    pub fn watch(&self) -> watch::Receiver<Arc<Current>> {
        self.task.watch()
    }

    /// Follows who changed what. Recorded uses are no change. A receiver that lags has missed changes,
    /// not the document.
    pub fn changes(&self) -> broadcast::Receiver<Changed> {
        self.task.changes()
    }

    /// Reads the file again now if it changed, for a decision that must not use a stale view. A closed store
    /// says that nothing can be read, and so does one that the system keeps from reading. Cancel-safe.
    pub async fn refresh(&self) -> Arc<Current> {
        let current = self.task.refresh().await.unwrap_or_else(|| {
            let trouble = Some(StoreError::Closed.to_string());
            Arc::new(Current { trouble, ..Current::clone(&self.current()) })
        });
        current.for_a_decision()
    }

    /// Applies edits to the document as it is on disk. Compare-and-swap under a lock, atomic, with a backup
    /// of the document before. Where there is no document one is made, with the defaults of a first start and
    /// then the edits. Not cancelled half-way: dropping the future leaves the old or the new document.
    pub async fn edit(&self, change: Change) -> Result<EditResult, StoreError> {
        self.with(move |document| document.edit(&change)).await.unwrap_or(Err(StoreError::Closed))
    }

    /// Writes a whole document that came from a peer, brought to the normal form, and returns what is there
    /// then. The socket stays where it names none, and what no peer knows stays too. It may loosen: whoever
    /// calls this has the right. Compare-and-swap on the exact bytes, so that no use recorded meanwhile is
    /// lost. Not cancelled half-way.
    pub async fn replace(&self, replacement: Replacement) -> Result<Arc<Current>, StoreError> {
        let replace = move |document: &mut DocumentOwner| {
            document.replace(&replacement)?;
            Ok(Arc::clone(document.current()))
        };
        self.with(replace).await.unwrap_or(Err(StoreError::Closed))
    }

    /// Records uses of entries soon: coalesced and written within a second, and before the store closes.
    /// Never blocks; when the bounded queue is full the oldest uses are forgotten
    /// (bookkeeping, not authority).
    pub fn record_uses(&self, uses: Vec<Use>) {
        self.uses.push(uses);
        self.task.used();
    }

    /// Stores what a grant given elsewhere asks for, if the policy of `agent` is still at least as permissive
    /// as `shown`: checked and written under one lock. Not cancelled half-way.
    pub async fn commit_grant(
        &self,
        agent: String,
        shown: PolicySnapshot,
        edits: Vec<DocumentEdit>,
    ) -> Result<(), StoreError> {
        self.with(move |document| document.commit_grant(&agent, &shown, &edits))
            .await
            .unwrap_or(Err(StoreError::Closed))
    }

    /// Fills in socket path and token when missing; creates the document with the defaults of a first start
    /// when there is none and nothing of OpenClaw is in the state directory. Returns what the socket needs.
    /// Not cancelled half-way.
    pub async fn ensure_socket(&self) -> Result<(PathBuf, SocketToken), StoreError> {
        self.with(DocumentOwner::ensure_socket).await.unwrap_or(Err(StoreError::Closed))
    }

    /// Moves an unusable file aside and starts a fresh document; only on a person's word. Returns where the
    /// unusable one is now. Not cancelled half-way.
    pub async fn reset(&self) -> Result<PathBuf, StoreError> {
        self.with(DocumentOwner::reset).await.unwrap_or(Err(StoreError::Closed))
    }

    /// `None` when the store has closed.
    async fn with<T: Send + 'static>(
        &self,
        step: impl FnOnce(&mut DocumentOwner) -> T + Send + 'static,
    ) -> Option<T> {
        self.task.with(|followed| step(&mut followed.document)).await
    }
}
