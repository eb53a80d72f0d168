//! Binding a Unix socket so that nobody else can stand in for it (approval-socket.md §2.1, newest generation): the whole
//! path is walked, a lifecycle lock is held, the file is 0600, and on stop it is removed only if it is still ours.

use std::path::{Path, PathBuf};

/// A bound socket and its lock. Dropping it removes the socket file if it is still the one that was bound.
#[derive(Debug)]
pub struct Listener {
    // filled by its author
}

/// Why a socket was not bound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The path is not absolute, has `..`, or is too long.
    #[error("socket path {path} is not usable: {problem}")]
    BadPath {
        /// The path.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A folder on the way could be changed by somebody else.
    #[error("socket parent path invalid ({problem}) at {path}")]
    UnsafeParent {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Something that is no socket is in the way.
    #[error("socket path invalid ({kind}) at {path}")]
    Occupied {
        /// Where.
        path: PathBuf,
        /// `directory`, `file`, `symlink`, …
        kind: String,
    },
    /// The lock file is not ours alone.
    #[error("socket lifecycle lock is unsafe at {0}")]
    UnsafeLock(PathBuf),
    /// Another instance holds the lock, or a listener without a lock answers.
    #[error("socket lifecycle lock is already held at {0}")]
    Held(PathBuf),
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
}

impl Listener {
    /// Binds `path`. Needs a tokio runtime. Blocking file access, a few calls.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        let _ = path;
        todo!()
    }

    /// The next connection.
    pub async fn accept(&self) -> std::io::Result<tokio::net::UnixStream> {
        todo!()
    }
}
