//! One private file: when to read it again, and how to replace it under its lock.

use super::RulesError;
use crate::file::{self, Backup, Found, Stamp, WriteError};
use crate::folder::{Folder, FolderError, Lock};
use crate::ports::Ports;
use crate::store::{SETTLED_AFTER, TORN_PAUSE, TORN_TRIES};
use rustix::fs::Mode;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One file.
#[derive(Debug)]
pub(super) struct WatchedFile {
    dir: PathBuf,
    name: &'static str,
    /// Whether bytes make sense: an editor may be half-way through writing them.
    makes_sense: fn(&[u8]) -> bool,
    seen: Option<Seen>,
}

/// When its content was read.
#[derive(Clone, Copy, Debug)]
struct Seen {
    stamp: Option<Stamp>,
    first: Instant,
    settled: bool,
}

/// What a look at the folder says, and when that was read if it is what was read last.
struct Glance {
    stamp: io::Result<Option<Stamp>>,
    known: Option<Seen>,
}

/// The lock and what was read under it.
pub(super) struct Locked {
    folder: Folder,
    _lock: Lock,
    stamp: Option<Stamp>,
    pub(super) found: Found,
}

impl WatchedFile {
    pub(super) fn new(dir: &Path, name: &'static str, makes_sense: fn(&[u8]) -> bool) -> Self {
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        Self { dir, name, makes_sense, seen: None }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.dir.join(self.name)
    }

    /// Its folder.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether what is there is certainly what was read last. A few system calls that read nothing.
    pub(super) fn is_as_read(&self) -> bool {
        self.glance().known.is_some_and(|seen| seen.settled)
    }

    /// Needs no descriptor.
    fn glance(&self) -> Glance {
        let stamp = file::stamp_at(&self.path());
        let known = self.seen.filter(|seen| stamp.as_ref().is_ok_and(|stamp| *stamp == seen.stamp));
        Glance { stamp, known }
    }

    /// What is there, or `None` when it is certainly what was read last. An error is the system's: then
    /// nothing is known of what is there.
    pub(super) fn read_if_moved(&mut self) -> io::Result<Option<Found>> {
        let Glance { stamp, known } = self.glance();
        if known.is_some_and(|seen| seen.settled) {
            return Ok(None);
        }
        let began = Instant::now();
        let first = known.map_or(began, |seen| seen.first);
        let found = match Folder::open_quietly(&self.dir) {
            Ok(Some(folder)) => self.read(&folder, if known.is_some() { 1 } else { TORN_TRIES })?,
            Ok(None) => Found::Nothing,
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Found::Refused { problem: format!("its folder cannot be opened: {error}") }
            }
            Err(error) => return Err(error),
        };
        let stamp = stamp.ok().flatten();
        let settled = stamp.is_none() || began.duration_since(first) >= SETTLED_AFTER;
        self.seen = Some(Seen { stamp, first, settled });
        Ok(Some(found))
    }

    /// Takes the lock, making the folder when there is none, and reads.
    pub(super) fn lock(&mut self, patience: Duration) -> Result<Locked, RulesError> {
        let folder = Folder::open_or_make(&self.dir).map_err(|source| self.io("open", source))?;
        folder.check_private().map_err(|error| self.folder_error(error))?;
        let lock =
            folder.lock(&file::lock_name(self.name), patience).map_err(|error| self.folder_error(error))?;
        let stamp = file::stamp(&folder, self.name).map_err(|source| self.io("look at", source))?;
        let found = self.read(&folder, TORN_TRIES).map_err(|source| self.io("read", source))?;
        self.seen = None;
        #[cfg(test)]
        crate::fault::step();
        Ok(Locked { folder, _lock: lock, stamp, found })
    }

    /// Replaces what was read under the lock, unless it is no longer there.
    pub(super) fn replace(
        &mut self,
        locked: &Locked,
        bytes: &[u8],
        backup: Backup,
        ports: &Ports,
    ) -> Result<(), RulesError> {
        let before = match &locked.found {
            Found::Bytes { bytes, mode } => Some((bytes.as_slice(), Mode::from_raw_mode(*mode))),
            Found::Nothing | Found::Refused { .. } => None,
        };
        if before.is_some_and(|(before, _)| before == bytes) {
            return Ok(());
        }
        if bytes.len() as u64 > file::MAX_BYTES {
            return Err(self.io("write", io::ErrorKind::FileTooLarge.into()));
        }
        self.seen = None;
        file::write(&locked.folder, self.name, bytes, locked.stamp, before, backup, &|| ports.ids.uuid())
            .map_err(|error| match error {
                WriteError::Moved => RulesError::Disturbed { path: self.path() },
                WriteError::Io(source) => self.io("write", source),
            })
    }

    /// Moves what was read under the lock out of the way; returns where it is now.
    pub(super) fn set_aside(&mut self, locked: &mut Locked, now_ms: i64) -> Result<PathBuf, RulesError> {
        let aside = file::set_aside(&locked.folder, self.name, now_ms)
            .map_err(|source| self.io("set aside", source))?;
        locked.found = Found::Nothing;
        locked.stamp = None;
        self.seen = None;
        Ok(self.dir.join(aside))
    }

    /// Removes temporary files that a crash left behind.
    pub(super) fn sweep(&self, now_ms: i64) -> Result<(), RulesError> {
        let removed = Folder::open(&self.dir).and_then(|folder| match folder {
            Some(folder) => file::sweep(&folder, self.name, now_ms),
            None => Ok(0),
        });
        removed.map(drop).map_err(|source| self.io("clean up", source))
    }

    pub(super) fn io(&self, doing: &'static str, source: io::Error) -> RulesError {
        RulesError::Io { doing, path: self.path(), source }
    }

    fn read(&self, folder: &Folder, tries: u32) -> io::Result<Found> {
        let mut tried = 1;
        loop {
            let found = file::read(folder, self.name)?;
            let torn = matches!(&found, Found::Bytes { bytes, .. } if !(self.makes_sense)(bytes));
            if !torn || tried >= tries {
                return Ok(found);
            }
            tried += 1;
            std::thread::sleep(TORN_PAUSE);
        }
    }

    fn folder_error(&self, error: FolderError) -> RulesError {
        match error {
            FolderError::Io(source) => self.io("lock", source),
            FolderError::Unsafe(problem) => RulesError::UnsafeFolder { path: self.dir.clone(), problem },
            FolderError::Locked(waited) => RulesError::Locked {
                path: self.path(),
                waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX),
            },
        }
    }
}
