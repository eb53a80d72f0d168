//! What the machine has too little of: noticed where something of this process fails for it, and looked at
//! again by whoever tells people, until it is over. It is of the whole process, so there is
//! one for all of it.

use crate::descriptors;
use countersign_protocol::state::Shortage;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::os::fd::BorrowedFd;
use std::sync::LazyLock;
use std::thread;
use std::{fs, io};
use tokio::sync::watch;

static SHORT_OF: LazyLock<watch::Sender<Vec<Shortage>>> = LazyLock::new(watch::Sender::default);

/// Follows what there is too little of, in a steady order.
pub fn follow() -> watch::Receiver<Vec<Shortage>> {
    SHORT_OF.subscribe()
}

/// An accept or a start failed: whether that is for a shortage.
pub(crate) fn notice(error: &io::Error) {
    if let Some(shortage) = told_by(error) {
        set(shortage, true);
    }
}

/// Looks what there is too little of now: takes a descriptor and a thread, and gives them back. A few calls.
pub fn look() {
    let opened = room_for(descriptors::kept() + ENOUGH_FILES);
    // The system counts threads as processes.
    let started = thread::Builder::new().spawn(|| ()).map(|thread| drop(thread.join()));
    for (shortage, tried) in [(Shortage::Files, opened), (Shortage::Processes, started)] {
        set(shortage, tried.is_err_and(|error| told_by(&error) == Some(shortage)));
    }
}

fn room_for(count: u64) -> io::Result<()> {
    let open = fs::read_dir("/proc/self/fd")?.count() as u64;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < open + count => Err(Errno::MFILE.into()),
        _ => Ok(()),
    }
}

/// Whether this many files can be opened now, as far as this process goes; a shortage when they cannot. For
/// what ends the process where a file is missing, and so must not begin.
pub fn has_files(count: u64) -> bool {
    let room = room_for(count);
    if let Err(error) = &room {
        notice(error);
    }
    room.is_ok()
}

/// Whether a caller's connection leaves what is kept, see [`descriptors::keep`]; a shortage when it does not.
pub fn has_room_for(connection: BorrowedFd<'_>) -> bool {
    let has_room = descriptors::leaves_kept(connection);
    if !has_room {
        set(Shortage::Files, true);
    }
    has_room
}

fn told_by(error: &io::Error) -> Option<Shortage> {
    if descriptors::are_used_up(error) {
        return Some(Shortage::Files);
    }
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    (errno == Some(Errno::AGAIN)).then_some(Shortage::Processes)
}

fn set(shortage: Shortage, is_short: bool) {
    SHORT_OF.send_if_modified(|all| {
        let was_short = all.contains(&shortage);
        if is_short && !was_short {
            tracing::warn!(?shortage, "the machine has too little of something");
            all.push(shortage);
            all.sort();
        } else if was_short && !is_short {
            tracing::info!(?shortage, "the shortage is over");
            all.retain(|one| *one != shortage);
        }
        is_short != was_short
    });
}

/// Descriptors that have to be free beside those that are kept: as many as a few requests take at once. One
/// that came free by chance is not enough to call a shortage over: the next caller takes it.
const ENOUGH_FILES: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortage_is_told_from_its_error_until_a_look_finds_that_it_is_over() {
        let told = |errno: Errno| told_by(&errno.into());
        assert_eq!(told(Errno::MFILE), Some(Shortage::Files));
        assert_eq!(told(Errno::NFILE), Some(Shortage::Files));
        assert_eq!(told(Errno::AGAIN), Some(Shortage::Processes));
        assert_eq!(told(Errno::NOENT), None);
        let now = follow();
        notice(&Errno::AGAIN.into());
        notice(&Errno::MFILE.into());
        notice(&Errno::NOENT.into());
        assert_eq!(*now.borrow(), [Shortage::Files, Shortage::Processes]);
        look();
        assert_eq!(*now.borrow(), []);
        assert!(has_files(1));
        assert!(!has_files(u64::from(u32::MAX)));
        assert_eq!(*now.borrow(), [Shortage::Files]);
        look();
        assert_eq!(*now.borrow(), []);
    }
}
