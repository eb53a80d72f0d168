//! Appending to the history. Synchronous: the history's task runs it where blocking is fine, but for lines that have a
//! [`Spot`], which take no more than a write.
//!
//! Two programs may append (the app and the command line). Each takes the lock, looks how far the chain has come, and
//! adds its line. Lines are written but not synced one by one; [`Writer::flush`] syncs them and notes in the head file how
//! far the chain had come, so that lines that vanish from the end later are missed.

use super::chain::{self, GENESIS};
use super::files::{self, Backward, CURRENT, Line, MAX_LINE_BYTES};
use super::{HistoryError, read};
use crate::folder::{Folder, FolderError, Lock};
use crate::ports::Ports;
use countersign_protocol::ui::{HistoryEntry, HistoryEvent};
use rustix::fs::{self, AtFlags, OFlags, RenameFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A file that has reached this size is set aside before the next line, in bytes: pages and checks stay quick.
pub(super) const ROTATE_BYTES: u64 = 8 * 1024 * 1024;

/// Files kept, the growing one included: 128 MiB of history at most.
pub(super) const MAX_FILES: usize = 16;

/// How far the chain had come when it was last flushed.
pub(super) const HEAD: &str = "history.head";

/// Where the beginnings of lines go that were cut off by a crash.
pub(super) const TORN: &str = "history.torn";

const LOCK: &str = "history.lock";

/// How long another program may hold the lock; it takes milliseconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// Appends.
#[derive(Debug)]
pub(super) struct Writer {
    folder: Folder,
    dir: PathBuf,
    ports: Ports,
    /// The end of the chain as this writer left it, to spare reading it again.
    known: Option<Tail>,
    rotate_bytes: u64,
    unflushed: bool,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Tail {
    ino: u64,
    len: u64,
    end: Head,
}

/// The end of the chain, with everybody else kept away from it.
pub(super) struct Spot {
    _lock: Lock,
    file: File,
    tail: Tail,
}

/// A position in the chain.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Head {
    pub(super) seq: u64,
    pub(super) hash: String,
}

impl Head {
    fn genesis() -> Self {
        Self { seq: 0, hash: GENESIS.to_owned() }
    }
}

impl Writer {
    pub(super) fn open(dir: PathBuf, ports: Ports, rotate_bytes: u64) -> Result<Self, HistoryError> {
        let failed = |source| HistoryError::Io { doing: "open", path: dir.clone(), source };
        let folder = Folder::open_or_make(&dir).map_err(failed)?;
        let private = folder.make_private();
        let writer = Self { folder, dir, ports, known: None, rotate_bytes, unflushed: false };
        private.map_err(|error| writer.folder_error(error))?;
        Ok(writer)
    }

    /// Adds a line, waiting for other writers.
    pub(super) fn append(
        &mut self,
        request_id: Option<String>,
        event: HistoryEvent,
    ) -> Result<HistoryEntry, HistoryError> {
        let lock = self.lock()?;
        let mut file = self.current_file()?;
        let mut tail = self.tail(&mut file)?;
        if tail.len >= self.rotate_bytes {
            self.rotate(&file)?;
            file = self.current_file()?;
            let stat = fs::fstat(&file).map_err(|error| self.io("look at", error.into()))?;
            tail = Tail { ino: stat.st_ino, len: u64::try_from(stat.st_size).unwrap_or(0), end: tail.end };
        }
        self.append_at(Spot { _lock: lock, file, tail }, request_id, event)
    }

    /// Where the next line goes, if nobody else is writing, nothing has to be read to find it, and no file is full.
    pub(super) fn spot(&self) -> Option<Spot> {
        let lock = self.folder.lock(LOCK, Duration::ZERO).ok()?;
        let file = self.current_file().ok()?;
        let stat = fs::fstat(&file).ok()?;
        let len = u64::try_from(stat.st_size).ok()?;
        let tail = self.known.clone()?;
        let is_there = tail.ino == stat.st_ino && tail.len == len && len < self.rotate_bytes;
        is_there.then_some(Spot { _lock: lock, file, tail })
    }

    /// Adds a line there.
    pub(super) fn append_at(
        &mut self,
        spot: Spot,
        request_id: Option<String>,
        event: HistoryEvent,
    ) -> Result<HistoryEntry, HistoryError> {
        let Spot { _lock, mut file, tail } = spot;
        let at_ms = self.ports.clock.now_ms();
        let entry = HistoryEntry { seq: tail.end.seq + 1, at_ms, request_id, event };
        let (line, hash) =
            chain::seal(&entry, &tail.end.hash).map_err(|error| self.io("write", error.into()))?;
        if line.len() > MAX_LINE_BYTES {
            return Err(HistoryError::TooLong { bytes: line.len(), limit: MAX_LINE_BYTES });
        }
        if let Err(source) = file.write_all(line.as_bytes()) {
            // Half a line would be taken for one that a crash cut off; best effort, for the disk may be full.
            let _ = file.set_len(tail.len);
            self.known = None;
            return Err(self.io("write", source));
        }
        let len = tail.len + line.len() as u64;
        self.known = Some(Tail { ino: tail.ino, len, end: Head { seq: entry.seq, hash } });
        self.unflushed = true;
        Ok(entry)
    }

    /// Syncs what was appended and notes how far the chain has come.
    pub(super) fn flush(&mut self) -> Result<(), HistoryError> {
        if !self.unflushed {
            return Ok(());
        }
        let _lock = self.lock()?;
        let mut file = self.current_file()?;
        let end = self.tail(&mut file)?.end;
        file.sync_data().map_err(|source| self.io("sync", source))?;
        if read::head(&self.dir)?.is_none_or(|head| head.seq < end.seq) {
            self.write_head(&end)?;
        }
        self.unflushed = false;
        Ok(())
    }

    fn lock(&self) -> Result<Lock, HistoryError> {
        self.folder.lock(LOCK, LOCK_PATIENCE).map_err(|error| self.folder_error(error))
    }

    fn current_file(&self) -> Result<File, HistoryError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND;
        self.folder.open_file(CURRENT, flags).map_err(|error| self.io("open", error.into()))
    }

    /// Where the chain ends: by memory while nobody else wrote, else by the last whole line. When the head file knows of
    /// more lines than there are, the chain goes on behind the missing ones, so that the gap stays visible.
    fn tail(&self, file: &mut File) -> Result<Tail, HistoryError> {
        let stat = fs::fstat(&*file).map_err(|error| self.io("look at", error.into()))?;
        let len = u64::try_from(stat.st_size).unwrap_or(0);
        if let Some(known) = self.known.as_ref().filter(|known| known.ino == stat.st_ino && known.len == len)
        {
            return Ok(known.clone());
        }
        let len = self.set_torn_aside(file, len)?;
        let last = match self.last_link(file)? {
            Some(last) => last,
            None => self.last_rotated_link()?.unwrap_or_else(Head::genesis),
        };
        let end = match read::head(&self.dir)? {
            Some(head) if head.seq > last.seq => head,
            Some(_) | None => last,
        };
        Ok(Tail { ino: stat.st_ino, len, end })
    }

    /// Moves the beginning of a line that a crash cut off to a side file: nothing is lost, and the next line is whole.
    fn set_torn_aside(&self, file: &mut File, len: u64) -> Result<u64, HistoryError> {
        let last = Backward::new(&mut *file).and_then(|mut lines| lines.next_line());
        let Some(Line::Torn(torn)) = last.map_err(|source| self.io("read", source))? else { return Ok(len) };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND;
        let mut side = self.folder.open_file(TORN, flags).map_err(|error| self.io("open", error.into()))?;
        let kept = side.write_all(&torn).and_then(|()| side.write_all(b"\n")).and_then(|()| side.sync_all());
        kept.map_err(|source| self.io("set aside the end of", source))?;
        let whole = len - torn.len() as u64;
        file.set_len(whole).map_err(|source| self.io("shorten", source))?;
        tracing::warn!(bytes = torn.len(), "an incomplete line at the end of the history was set aside");
        Ok(whole)
    }

    /// The last line that is a link. Lines that are none are left where they are, for the check to report.
    fn last_link(&self, file: impl Read + Seek) -> Result<Option<Head>, HistoryError> {
        let failed = |source| self.io("read", source);
        let mut lines = Backward::new(file).map_err(failed)?;
        while let Some(line) = lines.next_line().map_err(failed)? {
            if let Line::Whole(line) = line
                && let Ok(link) = chain::open(&line)
            {
                return Ok(Some(Head { seq: link.entry.seq, hash: link.hash }));
            }
        }
        Ok(None)
    }

    fn last_rotated_link(&self) -> Result<Option<Head>, HistoryError> {
        for part in files::parts(&self.dir)?.iter().rev().filter(|part| part.first_seq.is_some()) {
            if let Some(file) = part.open()?
                && let Some(last) = self.last_link(file)?
            {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }

    /// Sets the full file aside under the position of its first line, and removes what is over the bound.
    fn rotate(&self, file: &File) -> Result<(), HistoryError> {
        file.sync_data().map_err(|source| self.io("sync", source))?;
        let first_seq = self.first_seq(file)?;
        let name = files::rotated_name(first_seq);
        match fs::renameat_with(&self.folder, CURRENT, &self.folder, name.as_str(), RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                tracing::warn!(name, "the history is not rotated: a file of that name exists");
                return Ok(());
            }
            Err(error) => return Err(self.io("rotate", error.into())),
        }
        let parts = files::parts(&self.dir)?;
        let excess = parts.len().saturating_sub(MAX_FILES);
        for part in parts.iter().take(excess) {
            std::fs::remove_file(&part.path).map_err(|source| self.io("remove", source))?;
        }
        self.folder.sync().map_err(|source| self.io("sync", source))
    }

    /// Position of a file's first readable line.
    fn first_seq(&self, mut file: &File) -> Result<u64, HistoryError> {
        let failed = |source| self.io("read", source);
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        let mut lines = files::Forward::new(file);
        while let Some(line) = lines.next_line().map_err(failed)? {
            if let Line::Whole(line) = line
                && let Ok(link) = chain::open(&line)
            {
                return Ok(link.entry.seq);
            }
        }
        Ok(0)
    }

    fn write_head(&self, head: &Head) -> Result<(), HistoryError> {
        let temp = format!("{HEAD}.tmp");
        let text = serde_json::to_string(head).map_err(|error| self.io("note the end of", error.into()))?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        let written = self.folder.open_file(&temp, flags).map_err(io::Error::from).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            Ok(fs::renameat(&self.folder, temp.as_str(), &self.folder, HEAD)?)
        });
        if written.is_err() {
            let _ = fs::unlinkat(&self.folder, temp.as_str(), AtFlags::empty());
        }
        written.map_err(|source| self.io("note the end of", source))
    }

    fn io(&self, doing: &'static str, source: io::Error) -> HistoryError {
        HistoryError::Io { doing, path: self.dir.join(CURRENT), source }
    }

    fn folder_error(&self, error: FolderError) -> HistoryError {
        folder_error(&self.dir, error)
    }
}

/// Keeps writers away for as long as the returned value lives.
pub(super) fn lock(dir: &Path) -> Result<Option<Lock>, HistoryError> {
    let open = Folder::open(dir).map_err(|error| folder_error(dir, error.into()))?;
    open.map(|folder| folder.lock(LOCK, LOCK_PATIENCE)).transpose().map_err(|error| folder_error(dir, error))
}

fn folder_error(dir: &Path, error: FolderError) -> HistoryError {
    let path = dir.to_owned();
    match error {
        FolderError::Io(source) => HistoryError::Io { doing: "lock", path, source },
        FolderError::Unsafe(problem) => HistoryError::Unsafe { path, problem },
        FolderError::Locked(waited) => {
            HistoryError::Locked { waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) }
        }
    }
}
