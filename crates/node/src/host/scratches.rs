//! What boxes have in `/tmp`, by folder: kept while agents work there, so that a command finds what the one
//! before it wrote.

use crate::executor::sandbox::Scratch;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Those of all folders that were used lately.
#[derive(Debug, Default)]
pub(super) struct Scratches(Mutex<BTreeMap<PathBuf, Used>>);

#[derive(Debug)]
struct Used {
    scratch: Scratch,
    last: Instant,
}

impl Scratches {
    /// That of the boxes whose own folder is `own`; `None` where none can be made, so that each has one for
    /// itself. Ends those that nobody used for long. Blocking for a moment.
    pub(super) fn of(&self, own: &Path, now: Instant) -> Option<Scratch> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old =
            |_: &PathBuf, used: &mut Used| used.scratch.is_idle() && now.duration_since(used.last) > KEPT;
        end(all.extract_if(.., is_old).collect());
        if let Some(used) = all.get_mut(own) {
            used.last = now;
            return Some(used.scratch.clone());
        }
        let made = Scratch::new(own).inspect_err(|error| {
            tracing::error!(%error, "boxes of a folder cannot share what they write to /tmp");
        });
        let scratch = made.ok()?;
        all.insert(own.to_owned(), Used { scratch: scratch.clone(), last: now });
        Some(scratch)
    }

    /// Ends all that nothing runs with.
    pub(super) fn clear(&self) {
        let all = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        drop(all);
    }
}

/// Elsewhere: to remove what is in them may take long.
fn end(old: BTreeMap<PathBuf, Used>) {
    if !old.is_empty() {
        tokio::task::spawn_blocking(move || drop(old));
    }
}

/// How long one is kept that nobody uses: over a night.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
