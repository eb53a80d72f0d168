//! How many files this process may have open. Many agents at once need more than the usual 1 024, which is
//! kept so low for old programs only: so a server of ours takes what the system grants, and what it starts
//! gets the usual number back.

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit, setrlimit};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The limit that this process was started with.
static STARTED_WITH: OnceLock<Rlimit> = OnceLock::new();

/// How many are kept from callers.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Keeps this many descriptors from callers of this process's sockets, for what ends the process when it
/// finds none. Belongs before they are served.
pub fn keep(count: u64) {
    KEPT.store(count, Ordering::Relaxed);
}

pub(crate) fn kept() -> u64 {
    KEPT.load(Ordering::Relaxed)
}

/// Whether a caller's connection, just accepted, leaves those that are kept. The system gives each the lowest
/// free number, so its own says how many are left.
pub(crate) fn leaves_kept(connection: BorrowedFd<'_>) -> bool {
    let number = u64::try_from(connection.as_raw_fd()).unwrap_or_default();
    getrlimit(Resource::Nofile).current.is_none_or(|limit| number < limit.saturating_sub(kept()))
}

/// Raises this process's limit as far as it may, to 65 536 at most. Belongs to the start of a program, before
/// it starts others.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(MOST, |maximum| maximum.min(MOST));
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum }) {
        Ok(()) => {
            STARTED_WITH.get_or_init(|| limit);
        }
        Err(errno) => tracing::warn!(%errno, wanted, "the limit of open files stays as it is"),
    }
}

/// Gives a program that was just started the limit that this one was started with.
pub(crate) fn give_back(child: Option<u32>) {
    let Some(limit) = STARTED_WITH.get() else { return };
    let Some(child) = child.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw) else { return };
    match prlimit(Some(child), Resource::Nofile, *limit) {
        // It has ended already.
        Ok(_) | Err(Errno::SRCH) => {}
        Err(errno) => tracing::debug!(%errno, "a program keeps a higher limit of open files"),
    }
}

/// Whether an error says that no descriptor is left, here or in the whole system.
pub fn are_used_up(error: &std::io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE))
}

/// Descriptors wanted at most: every connection of every door at its own limit needs less than a tenth.
const MOST: u64 = 65_536;
