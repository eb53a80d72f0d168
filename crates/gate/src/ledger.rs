//! What was sent to each destination.

use crate::destination::Destination;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// What was sent to each destination through one gate.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<HashMap<Destination, Arc<Spent>>>);

/// What was sent to one destination.
#[derive(Default)]
pub(crate) struct Spent {
    pub(crate) sent: AtomicU64,
    /// Somebody agreed that more is sent.
    pub(crate) lifted: AtomicBool,
    /// Held while that is asked: connections that wait for the same answer ask once.
    pub(crate) asking: tokio::sync::Mutex<()>,
}

/// Destinations in a ledger. To forget one would give it its limit again, so there is an end.
const DESTINATIONS: usize = 4096;

impl Ledger {
    pub(crate) fn of(&self, destination: &Destination) -> Option<Arc<Spent>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(spent) = all.get(destination) {
            return Some(spent.clone());
        }
        if all.len() >= DESTINATIONS {
            return None;
        }
        Some(all.entry(destination.clone()).or_default().clone())
    }
}

/// Takes back what was counted and never sent.
pub(crate) struct Unsent<'a> {
    pub(crate) spent: &'a Spent,
    pub(crate) bytes: u64,
}

impl Unsent<'_> {
    pub(crate) fn sent(mut self) {
        self.bytes = 0;
    }
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        self.spent.sent.fetch_sub(self.bytes, Relaxed);
    }
}
