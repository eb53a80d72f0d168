//! Why nothing was done.

use crate::digest::StateId;
use crate::tree::LeftOutWhy;
use std::io;
use std::path::PathBuf;

/// Why a call did nothing. A state that could only be kept in part is no failure: it says what it left out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failed {
    /// The caller called it off. Nothing in the workspace was changed.
    #[error("it was called off")]
    Cancelled,
    /// Another process or thread used the store for longer than [`crate::LOCK_WAIT`].
    #[error("the store of kept states is in use")]
    Busy,
    /// The workspace cannot be opened: it is not there, is no folder, or its path leads through a link.
    #[error("{} cannot be opened", path.display())]
    Workspace {
        /// Its path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// At the workspace's path lies another folder than the one that was kept.
    #[error("{} is not the folder that was kept", path.display())]
    Replaced {
        /// Its path.
        path: PathBuf,
    },
    /// No such state is kept, or not any more.
    #[error("state {0} is not kept")]
    Unknown(StateId),
    /// The state is not what was written.
    #[error("state {0} is damaged")]
    Damaged(StateId),
    /// Nothing of the workspace could be looked at.
    #[error("nothing of the workspace was looked at: {0:?}")]
    Nothing(LeftOutWhy),
    /// The two states are of different workspaces.
    #[error("these states are of different workspaces")]
    Mixed,
    /// The store cannot be read or written.
    #[error("the store of kept states cannot be used")]
    Store(#[source] io::Error),
}

impl Failed {
    pub(crate) fn check(cancel: Cancel<'_>) -> Result<(), Self> {
        if cancel() { Err(Self::Cancelled) } else { Ok(()) }
    }
}

/// Whether the caller wants no more of it; asked often, so it has to be cheap.
pub type Cancel<'a> = &'a (dyn Fn() -> bool + Sync);
