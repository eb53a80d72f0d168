//! The one surface of this crate.

use crate::changes::{self, Change, Versions};
use crate::failed::{Cancel, Failed};
use crate::keeping;
use crate::limits::Limits;
use crate::prune::{self, Pruned};
use crate::put_back::{self, Protected, Restored, What};
use crate::spans::{self, Spans};
use crate::state::State;
use crate::store::Store;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Keeps states of workspaces in a folder of ours. Every call is blocking, reads or writes the store alone,
/// and waits for others that use it, in this process or another, for [`crate::LOCK_WAIT`] at most.
#[derive(Debug)]
pub struct Keeper {
    store: Store,
    limits: Limits,
}

impl Keeper {
    /// A keeper of the store in this folder, which is made for its owner alone where it is missing. An error
    /// means that it is no folder of this user, or cannot be made.
    pub fn new(store: PathBuf, limits: Limits) -> io::Result<Self> {
        Ok(Self { store: Store::new(store)?, limits })
    }

    /// Keeps what `workspace` is now. The path has to be a real one, without links. Where nothing changed
    /// since the last time, no content is read. `now` is the wall clock's time.
    ///
    /// Writes nothing in the workspace. Called off, it leaves nothing that counts: contents that were already
    /// stored go with the next [`Keeper::prune`].
    pub fn keep(&self, workspace: &Path, now: SystemTime, cancel: Cancel<'_>) -> Result<State, Failed> {
        let place = keeping::open(workspace)?;
        let store = self.store.lock(cancel)?;
        keeping::keep(&store, &self.limits, workspace, &place, now, cancel).map(|kept| kept.state)
    }

    /// What differs by these spans, in the order of paths. Nothing is said of what lies in a folder that a
    /// state did not look into, nor, of several spans, of what only others did between them.
    pub fn changes(&self, spans: &Spans, cancel: Cancel<'_>) -> Result<Vec<Change>, Failed> {
        changes::changes(&self.store.lock(cancel)?, spans)
    }

    /// What lay at one path from the workspace before and after these spans, to be shown beside each other.
    /// Of several spans it has to be one that differs.
    pub fn versions(&self, spans: &Spans, path: &Path, cancel: Cancel<'_>) -> Result<Versions, Failed> {
        changes::versions(&self.store.lock(cancel)?, spans, path)
    }

    /// Of each part, in their order, whether both of its states are kept, and of the folder that the last
    /// kept one is of. Those that are can be looked at together. Called off it says nothing.
    pub fn kept(&self, spans: &Spans, cancel: Cancel<'_>) -> Result<Vec<bool>, Failed> {
        spans::kept(&self.store.lock(cancel)?, spans, cancel)
    }

    /// Puts back what happened in these spans, or some of it. What is there now is kept first, so that this
    /// can be undone by what it returns. A path is put back only where it still is what the last span left,
    /// and nobody else changed it between two of them; all else is a conflict and stays as it is. What is
    /// there already is neither put nor a conflict. Where something is put, what a process that was killed
    /// while it put back left aside goes too; the undo has it.
    ///
    /// `protected` is asked about each path from the workspace, and about the folders above it; what it names
    /// is never written, nor is `.git`. Called off before the first change it is [`Failed::Cancelled`]; after
    /// that, what was not done is a conflict.
    pub fn put_back(
        &self,
        spans: &Spans,
        what: &What,
        protected: Protected<'_>,
        now: SystemTime,
        cancel: Cancel<'_>,
    ) -> Result<Restored, Failed> {
        let store = self.store.lock(cancel)?;
        put_back::put_back(&store, &self.limits, spans, what, protected, now, cancel)
    }

    /// Removes states older than [`Limits::age`], the oldest of those that take more than [`Limits::store`],
    /// and what only these named. Called off or interrupted at any point it leaves a valid store.
    pub fn prune(&self, now: SystemTime, cancel: Cancel<'_>) -> Result<Pruned, Failed> {
        prune::prune(&self.store.lock(cancel)?, &self.limits, now, cancel)
    }
}
