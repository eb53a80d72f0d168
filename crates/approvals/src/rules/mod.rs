//! Countersign's own rules on disk: `rules.json` in the configuration folder, and beside the state how often
//! each rule was used.
//!
//! What cannot be understood is [`RulesState::Unreadable`]: it allows nothing, and since it may have refused
//! something, the host asks a person about everything. A use is on disk before the command that it pays for
//! starts, so that a crash can lose a use and never gives one back.

mod edit;
#[cfg(fuzzing)]
pub mod fuzzing;
mod loosen;
mod not_understood;
mod owner;
#[cfg(test)]
mod tests;
mod uses;
mod watched_file;

use self::owner::RulesOwner;
use crate::owned::{Handle, Owned as _};
use crate::ports::Ports;
use crate::store::{Looser, Writer};
use countersign_policy::rules::RuleIndex;
use countersign_protocol::rule_edits::{RuleEdit, RuleEditResult, RulesState};
use countersign_protocol::rules::RuleDocument;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use edit::RuleEditError;
pub use loosen::loosenings;
pub use uses::{Count, Counts, USES_FILE_NAME, state};

/// Where the two files are.
#[derive(Clone, Debug)]
pub struct Folders {
    /// Holds `rules.json`.
    pub config: PathBuf,
    /// Holds `rule-uses.json`.
    pub state: PathBuf,
}

/// The rules as they were last read.
#[derive(Clone, Debug)]
pub struct Current {
    /// The document's file.
    pub path: PathBuf,
    /// Its state.
    pub state: RulesState,
    /// Hash of its bytes.
    pub hash: String,
    /// What it says; an empty document when there is none, `None` when it cannot be understood.
    pub document: Option<RuleDocument>,
    /// The rules that may count, those of presets last, prepared for lookup. Rules whose session is over are
    /// not among them; end of time and number of uses are for whoever asks.
    pub index: Arc<RuleIndex>,
    /// Uses of rules, by id.
    pub counts: Counts,
    /// The same, for evaluation. Lost counts count as used up.
    pub uses: HashMap<String, u32>,
    /// Why the system cannot read them again. All else is as it was read last: that is no change, and decides
    /// nothing any more.
    pub trouble: Option<String>,
}

/// A change to write.
#[derive(Clone, Debug)]
pub struct RuleChange {
    /// Hash it was made from; `None` means whatever is there now.
    pub base_hash: Option<String>,
    /// All or none.
    pub edits: Vec<RuleEdit>,
    /// Whether it may loosen.
    pub looser: Looser,
    /// Who writes.
    pub writer: Writer,
}

/// Something changed the rules.
#[derive(Clone, Debug)]
pub struct RulesChanged {
    /// Who.
    pub writer: Writer,
    /// Before.
    pub before: Arc<Current>,
    /// After.
    pub after: Arc<Current>,
}

/// Why the rules were not read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RulesError {
    /// They changed since the edit was made.
    #[error("the rules changed since they were read: expected {expected}, found {found}")]
    Stale {
        /// Hash the edit was made from.
        expected: String,
        /// Hash now.
        found: String,
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
    Edit(#[from] RuleEditError),
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
    /// An editor, which takes no lock, kept saving.
    #[error("{path} was written by another program meanwhile")]
    Disturbed {
        /// The file.
        path: PathBuf,
    },
    /// Another program holds the lock.
    #[error("{path} is locked by another program for more than {waited_ms} ms")]
    Locked {
        /// The file that the lock is for.
        path: PathBuf,
        /// Milliseconds.
        waited_ms: u64,
    },
    /// Somebody else could replace the file.
    #[error("{path} is not safe to keep rules in: {problem}")]
    UnsafeFolder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Only what is unusable is moved aside.
    #[error("{path} is not in the way; nothing was reset")]
    NothingToReset {
        /// The file.
        path: PathBuf,
    },
    /// The store was closed.
    #[error("the rule store is closed")]
    Closed,
}

/// Why a run is not paid for by rules. It must not start because of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotSpent {
    /// A rule is gone, or its uses, its time or its session are over.
    #[error("rule {id} no longer counts")]
    Dead {
        /// Its id.
        id: String,
    },
    /// The use could not be written down.
    #[error(transparent)]
    Failed(#[from] RulesError),
}

/// Handle of the rules.
#[derive(Clone, Debug)]
pub struct RuleStore {
    task: Handle<RulesOwner>,
}

impl RuleStore {
    /// Opens the rules and follows foreign edits until `stop`. Reads once before it returns.
    pub fn open(folders: Folders, ports: Ports, tracker: &TaskTracker, stop: CancellationToken) -> Self {
        Self { task: Handle::new(RulesOwner::open(&folders, ports), tracker, stop) }
    }

    /// Reads the rules once, without following them. Blocking, a few calls.
    pub fn read(folders: &Folders) -> Current {
        RulesOwner::open(folders, Ports::system()).current().as_ref().clone()
    }

    /// The rules as last read.
    pub fn current(&self) -> Arc<Current> {
        self.task.current()
    }

    /// Follows the rules and their counts.
    pub fn watch(&self) -> watch::Receiver<Arc<Current>> {
        self.task.watch()
    }

    /// Follows who changed what. Uses are no change. A receiver that lags has missed changes, not the rules.
    pub fn changes(&self) -> broadcast::Receiver<RulesChanged> {
        self.task.changes()
    }

    /// Reads the files again now if they changed, for a decision that must not use a stale view. A closed
    /// store says that nothing can be read, and so does one that the system keeps from reading. Cancel-safe.
    pub async fn refresh(&self) -> Arc<Current> {
        match self.task.refresh().await {
            Some(current) => match &current.trouble {
                Some(problem) => Arc::new(current.unreadable(problem.clone())),
                None => current,
            },
            None => Arc::new(self.current().unreadable(RulesError::Closed.to_string())),
        }
    }

    /// Applies edits to the document as it is on disk. Compare-and-swap under a lock, atomic, with a backup
    /// of the document before. What loosens is written only with [`Looser::Confirmed`]. Dead rules older than
    /// a month go with it. Not cancelled half-way: dropping the future leaves the old or the new document.
    pub async fn edit(&self, change: RuleChange) -> Result<RuleEditResult, RulesError> {
        self.task.with(move |rules| rules.edit(&change)).await.unwrap_or(Err(RulesError::Closed))
    }

    /// Counts one use of each of these rules, now and on disk before it returns where a rule has a number of
    /// uses; all of them or none. Each id counts once. What is refused must be asked about. Not cancelled
    /// half-way: dropping the future may lose a use.
    pub async fn spend(&self, ids: Vec<String>) -> Result<(), NotSpent> {
        self.task
            .with(move |rules| rules.spend(&ids))
            .await
            .unwrap_or(Err(NotSpent::Failed(RulesError::Closed)))
    }

    /// Moves an unusable document aside and starts an empty one; only on a person's word. Returns where the
    /// unusable one is now. Not cancelled half-way.
    pub async fn reset(&self) -> Result<PathBuf, RulesError> {
        self.task.with(RulesOwner::reset).await.unwrap_or(Err(RulesError::Closed))
    }
}

impl Current {
    /// Whether the rules are known. When they are not, every command needs a person: one of
    /// them may refuse it.
    pub const fn is_known(&self) -> bool {
        self.document.is_some()
    }

    /// Nothing known of what is at `path`.
    fn unreadable(&self, problem: String) -> Self {
        Self {
            state: RulesState::Unreadable { problem },
            document: None,
            index: Arc::default(),
            ..self.clone()
        }
    }

    /// Nothing at `path`.
    fn missing(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            state: RulesState::Missing,
            hash: countersign_policy::document::hash(None),
            document: Some(RuleDocument::empty()),
            index: Arc::default(),
            counts: Counts::new(),
            uses: HashMap::new(),
            trouble: None,
        }
    }
}
