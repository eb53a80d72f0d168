//! What happened, as hash-chained JSON lines with rotation. Each line carries the hash of the one before.

use crate::ports::Ports;
use countersign_protocol::ui::{ChainReport, HistoryEntry, HistoryEvent, HistoryPage};
use std::path::{Path, PathBuf};
use tokio::sync::broadcast;
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
    /// The history was closed.
    #[error("the history is closed")]
    Closed,
}

/// Handle of the history's writer.
#[derive(Clone, Debug)]
pub struct History {
    // filled by the history's author
}

impl History {
    /// Opens the folder (made 0700), continuing its chain.
    pub fn open(
        dir: PathBuf,
        ports: Ports,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, HistoryError> {
        let _ = (dir, ports, tracker, stop);
        todo!()
    }

    /// Appends a line and returns it once it is on disk.
    pub async fn append(
        &self,
        request_id: Option<String>,
        event: HistoryEvent,
    ) -> Result<HistoryEntry, HistoryError> {
        let _ = (request_id, event);
        todo!()
    }

    /// Follows new lines.
    pub fn appended(&self) -> broadcast::Receiver<HistoryEntry> {
        todo!()
    }
}

/// Newest first, starting below `before` (or at the end). At most `limit` entries.
pub fn page(dir: &Path, before: Option<u64>, limit: usize) -> Result<HistoryPage, HistoryError> {
    let _ = (dir, before, limit);
    todo!()
}

/// Checks every line of the chain, across rotated files.
pub fn verify(dir: &Path) -> Result<ChainReport, HistoryError> {
    let _ = dir;
    todo!()
}
