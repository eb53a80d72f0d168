//! Room for calls: how many can be under way, and which.

use crate::tool::{CallKey, ToolError};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use tokio::sync::SemaphorePermit;

/// All seats. Clones are the same ones.
#[derive(Clone, Debug)]
pub(crate) struct CallPermits {
    taken: Arc<Mutex<HashSet<CallKey>>>,
    waiting: Arc<Semaphore>,
}

/// A call that is under way. Dropping it makes room.
#[derive(Debug)]
#[must_use]
pub(crate) struct CallPermit {
    seats: CallPermits,
    key: CallKey,
}

impl Default for CallPermits {
    fn default() -> Self {
        Self { taken: Arc::default(), waiting: Arc::new(Semaphore::new(MAX_WAITING)) }
    }
}

impl CallPermits {
    /// Takes a seat for a call. Never waits: whoever finds none is told so.
    pub(crate) fn take(&self, key: CallKey) -> Result<CallPermit, ToolError> {
        let mut taken = self.taken();
        if taken.contains(&key) {
            return Err(ToolError::Duplicate(key.to_string()));
        }
        if taken.len() >= MAX_CALLS {
            return Err(ToolError::Busy { limit: MAX_CALLS, what: "are under way" });
        }
        taken.insert(key.clone());
        Ok(CallPermit { seats: self.clone(), key })
    }

    /// Takes one of the places of those who wait for the gate.
    pub(crate) fn wait(&self) -> Result<SemaphorePermit<'_>, ToolError> {
        let busy = |_| ToolError::Busy { limit: MAX_WAITING, what: "wait to be allowed" };
        self.waiting.try_acquire().map_err(busy)
    }

    fn taken(&self) -> MutexGuard<'_, HashSet<CallKey>> {
        // A set of ids is whole after a panic too.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        self.seats.taken().remove(&self.key);
    }
}

/// Calls that can be under way, acts that do not stop among them: as many as rewritten
/// parameters are kept of.
pub(crate) const MAX_CALLS: usize = 1_024;

/// Calls that can wait for the gate at once: more than a person can answer, and few enough that those who
/// need no answer still find a seat.
pub(crate) const MAX_WAITING: usize = 256;
