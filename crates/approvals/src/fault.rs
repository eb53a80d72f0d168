//! Kills the process at a chosen step of a write. Only in tests.

use std::sync::atomic::{AtomicU32, Ordering};

/// Steps left; 0 means never.
static LEFT: AtomicU32 = AtomicU32::new(0);

/// Chooses the step, from 1, at which this process dies.
pub(crate) fn die_at(step: u32) {
    LEFT.store(step, Ordering::SeqCst);
}

/// A step of a write: dies here when it is the chosen one.
pub(crate) fn step() {
    let counted = LEFT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
    if counted == Ok(1) {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
