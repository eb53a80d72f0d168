//! The approvals document on disk: reading, generation detection, compare-and-swap writes, watching.

use crate::ports::Ports;
use countersign_policy::document::Use;
use countersign_protocol::document::Document;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::PolicySnapshot;
use countersign_protocol::ui::{DocumentEdit, EditResult, StoreState};
use std::path::PathBuf;
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
    /// Hash of its bytes (approvals-store.md §6).
    pub hash: String,
    /// What it says; present when `state` is `Ready`.
    pub document: Option<Document>,
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
    /// An edit makes no sense.
    #[error(transparent)]
    Edit(#[from] countersign_policy::document::EditError),
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
    /// The store was closed.
    #[error("the approvals store is closed")]
    Closed,
}

/// Handle of the store.
#[derive(Clone, Debug)]
pub struct Store {
    // filled by the store's author
}

impl Store {
    /// Opens the document of an OpenClaw state directory and follows foreign edits until `stop`. Nothing is written.
    pub fn open(
        openclaw_state_dir: PathBuf,
        ports: Ports,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> Self {
        let _ = (openclaw_state_dir, ports, tracker, stop);
        todo!()
    }

    /// The document as last read.
    pub fn current(&self) -> Arc<Current> {
        todo!()
    }

    /// Follows the document.
    pub fn watch(&self) -> watch::Receiver<Arc<Current>> {
        todo!()
    }

    /// Follows who changed what.
    pub fn changes(&self) -> broadcast::Receiver<Changed> {
        todo!()
    }

    /// Reads the file again now, for a decision that must not use a stale view.
    pub async fn refresh(&self) -> Arc<Current> {
        todo!()
    }

    /// Applies edits to the document as it is on disk. Compare-and-swap under a lock, atomic, with a backup of the
    /// document before. Not cancelled half-way: dropping the future leaves the old or the new document.
    pub async fn edit(&self, change: Change) -> Result<EditResult, StoreError> {
        let _ = change;
        todo!()
    }

    /// Records uses of entries soon: coalesced and written within a second, and before the store closes. Never blocks;
    /// when the bounded queue is full the oldest uses are forgotten (bookkeeping, not authority).
    pub fn record_uses(&self, uses: Vec<Use>) {
        let _ = uses;
        todo!()
    }

    /// Stores what a grant given elsewhere asks for, if the policy of `agent` is still at least as permissive as `shown`:
    /// checked and written under one lock.
    pub async fn commit_grant(
        &self,
        agent: String,
        shown: PolicySnapshot,
        edits: Vec<DocumentEdit>,
    ) -> Result<(), StoreError> {
        let _ = (agent, shown, edits);
        todo!()
    }

    /// Fills in socket path and token when missing; creates the document with `defaults` when there is none and no
    /// OpenClaw owns the state directory. Returns what the socket needs.
    pub async fn ensure_socket(&self) -> Result<(PathBuf, SocketToken), StoreError> {
        todo!()
    }

    /// Moves an unusable file aside and starts a fresh document; only on a person's word. Returns the backup's path.
    pub async fn reset(&self) -> Result<PathBuf, StoreError> {
        todo!()
    }
}
