//! Appending to the history. Synchronous: the history's task runs it where blocking is fine, but for lines
//! that have a [`Spot`], which take no more than a few writes.
//!
//! Several programs may append (the app and the command line). Each takes the lock, looks whether anybody
//! wrote since, and adds its line; then it notes the line in both heads. A process that is ended in between
//! leaves one line that is not noted, and nobody was told that it was written. [`Writer::flush`] syncs what
//! was appended, and notes how far that reached.

use super::bounded::{self, MAX_WRITTEN_BYTES};
use super::chain;
use super::files::{self, CHAINS, current};
use super::flood::{Route, Routes};
use super::head::{self, Ends, HEAD, Head, Mark, Missed, Places, Reach};
use super::{HistoryError, refuse_other_than_files};
use crate::folder::{Folder, FolderError, Lock};
use crate::ports::Ports;
use countersign_protocol::history::{ChainName, HistoryEntry, HistoryEvent, RecordNote, RemovedLines};
use countersign_protocol::settings::Limits;
use rustix::fs::{self, FallocateFlags, OFlags, RenameFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

mod open;

/// A file that has reached this size is set aside before the next line, in bytes: pages and
/// checks stay quick.
pub(super) const ROTATE_BYTES: u64 = 8 * 1024 * 1024;

/// Files that are kept of a chain, the growing one included, when `megabytes` of decisions are: half as much
/// again of what ran unasked. With 128 MiB that is a day of what may be written of it.
pub(super) const fn max_files(chain: ChainName, megabytes: u32) -> usize {
    let decisions = megabytes as usize * 1024 * 1024 / ROTATE_BYTES as usize;
    match chain {
        ChainName::Decisions => decisions,
        ChainName::Unasked => decisions + decisions / 2,
    }
}

/// Where the beginnings of lines go that were cut off by a crash.
pub(super) const TORN: &str = "history.torn";

const LOCK: &str = "history.lock";

/// How long another program may hold the lock; it takes milliseconds.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// Room that has to be there for a run to start unasked, in bytes: its two lines at their
/// longest, and a note.
const RESERVE_BYTES: u64 = 3 * MAX_WRITTEN_BYTES as u64;

/// Appends.
#[derive(Debug)]
pub(super) struct Writer {
    folder: Folder,
    places: Places,
    ports: Ports,
    boot: String,
    rotate_bytes: u64,
    /// Mebibytes of decisions that are kept.
    kept_mb: u32,
    /// Both chains as this writer left them, to spare reading them again.
    known: Option<ChainEnds>,
    /// The newest head that this writer saw, for when both places lost it.
    seen: Option<Head>,
    routes: Routes,
    /// What could not be written, and is in no head yet.
    missed: Option<Missed>,
    unflushed: bool,
}

/// Both chains, with where they end on disk.
#[derive(Clone, Debug)]
struct ChainEnds {
    head: Head,
    tails: [Tail; 2],
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Tail {
    /// 0 when there is no file.
    ino: u64,
    len: u64,
    /// Up to where the system keeps room.
    reserved: u64,
}

/// The ends of the chains, with everybody else kept away from them.
pub(super) struct Spot {
    _lock: Lock,
    known: ChainEnds,
}

impl Writer {
    pub(super) fn open(places: Places, ports: Ports, rotate_bytes: u64) -> Result<Self, HistoryError> {
        let failed = |source| HistoryError::Io { doing: "open", path: places.lines.clone(), source };
        let folder = Folder::open_or_make(&places.lines).map_err(failed)?;
        folder.make_private().map_err(|error| folder_error(&places.lines, error))?;
        Ok(Self {
            folder,
            places,
            ports,
            boot: head::boot(),
            rotate_bytes,
            kept_mb: Limits::default().history_mb,
            known: None,
            seen: None,
            routes: Routes::default(),
            missed: None,
            unflushed: false,
        })
    }

    /// Mebibytes of decisions that are kept from the next new file on.
    pub(super) fn set_size(&mut self, megabytes: u32) {
        self.kept_mb = megabytes;
    }

    /// Adds a line, waiting for other writers. What is returned was written: the line, unless it is only
    /// counted, and notes that were due.
    pub(super) fn append(
        &mut self,
        request_id: Option<String>,
        event: HistoryEvent,
    ) -> Result<Vec<HistoryEntry>, HistoryError> {
        match self.locked() {
            Ok((spot, mut written)) => {
                written.extend(self.append_at(spot, request_id, event)?);
                Ok(written)
            }
            Err(error) => Err(self.missed(error)),
        }
    }

    /// Where the next line goes, if nobody else is writing, nothing has to be read to find it, and
    /// no file is full.
    pub(super) fn spot(&self) -> Option<Spot> {
        let lock = self.folder.lock(LOCK, Duration::ZERO).ok()?;
        let known = self.known.clone()?;
        let is_roomy = known.tails.iter().all(|tail| tail.len < self.rotate_bytes);
        (is_roomy && self.is_current(&known)).then_some(Spot { _lock: lock, known })
    }

    /// Adds a line there.
    pub(super) fn append_at(
        &mut self,
        spot: Spot,
        request_id: Option<String>,
        event: HistoryEvent,
    ) -> Result<Vec<HistoryEntry>, HistoryError> {
        let Spot { _lock, mut known } = spot;
        let route = self.routes.of(request_id.as_deref(), &event);
        let mut written = Vec::new();
        let added = self
            .add_due(&mut known, &mut written)
            .and_then(|()| self.add_or_count(&mut known, route, request_id, event, &mut written));
        self.unflushed |= !written.is_empty();
        match added {
            Ok(()) => {
                self.keep(known);
                Ok(written)
            }
            Err(error) => {
                let error = self.missed(error);
                self.note_missed();
                Err(error)
            }
        }
    }

    /// Whether room for the next lines was kept before, and nothing has to be written first.
    pub(super) fn has_kept_room(&self) -> bool {
        let is_kept = |spot: Spot| {
            let tail = &spot.known.tails[index(ChainName::Unasked)];
            tail.reserved >= tail.len + RESERVE_BYTES
        };
        !self.owes_lines() && self.spot().is_some_and(is_kept)
    }

    /// Whether the next lines find room: the system is asked to keep it.
    pub(super) fn ready(&mut self) -> Result<Vec<HistoryEntry>, HistoryError> {
        let (Spot { _lock, mut known }, mut written) = self.locked()?;
        // After a line that could not be written, only one that could be says that it is over.
        self.add_due(&mut known, &mut written)?;
        let chain = ChainName::Unasked;
        let tail = &mut known.tails[index(chain)];
        if tail.reserved < tail.len + RESERVE_BYTES {
            let file = self.file(chain)?;
            match fs::fallocate(&file, FallocateFlags::KEEP_SIZE, tail.len, 2 * RESERVE_BYTES) {
                Ok(()) => tail.reserved = tail.len + 2 * RESERVE_BYTES,
                // Such a file system keeps no room; the line itself is the test then, before the start.
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
                Err(error) => return Err(self.io("keep room in", chain, error.into())),
            }
            let stat = fs::fstat(&file).map_err(|error| self.io("look at", chain, error.into()))?;
            tail.ino = stat.st_ino;
        }
        self.keep(known);
        Ok(written)
    }

    /// Syncs what was appended, writes the counts that are due, and notes how far the chains are on the disk.
    pub(super) fn flush(&mut self) -> Result<Vec<HistoryEntry>, HistoryError> {
        self.settle(Counts::Due)
    }

    /// The same for all counts.
    pub(super) fn finish(&mut self) -> Result<Vec<HistoryEntry>, HistoryError> {
        self.settle(Counts::All)
    }

    /// Whether something was counted that is no line yet.
    pub(super) fn owes_lines(&self) -> bool {
        let is_counting = |head: &Head| head.flood.is_counting() || head.missed.is_some();
        self.missed.is_some() || self.seen.as_ref().is_some_and(is_counting)
    }

    fn settle(&mut self, counts: Counts) -> Result<Vec<HistoryEntry>, HistoryError> {
        if !self.unflushed && !self.owes_lines() {
            return Ok(Vec::new());
        }
        let (Spot { _lock, mut known }, mut written) = self.locked()?;
        if counts == Counts::All {
            while let Some(note) = known.head.flood.take_any() {
                written.push(self.add_note(&mut known, ChainName::Unasked, note)?);
            }
        }
        self.add_due(&mut known, &mut written)?;
        for chain in CHAINS {
            if known.tails[index(chain)].ino == 0 {
                continue;
            }
            self.file(chain)?.sync_data().map_err(|source| self.io("sync", chain, source))?;
            if let Some(ends) = known.head.ends_mut(chain) {
                ends.synced = ends.last.seq;
            }
        }
        self.folder.sync().map_err(|source| self.io("sync", ChainName::Decisions, source))?;
        self.note(&mut known.head, Reach::Disk)?;
        self.unflushed = false;
        self.keep(known);
        Ok(written)
    }

    /// Waits for other writers and looks where the chains end. What had to be noted of that is returned.
    fn locked(&mut self) -> Result<(Spot, Vec<HistoryEntry>), HistoryError> {
        let lock =
            self.folder.lock(LOCK, LOCK_PATIENCE).map_err(|error| folder_error(&self.places.lines, error))?;
        if let Some(known) = self.known.take().filter(|known| self.is_current(known)) {
            return Ok((Spot { _lock: lock, known }, Vec::new()));
        }
        let (mut known, notes) = self.look()?;
        let mut written = Vec::new();
        for note in notes {
            written.push(self.add_note(&mut known, ChainName::Decisions, note)?);
        }
        self.unflushed |= !written.is_empty();
        Ok((Spot { _lock: lock, known }, written))
    }

    /// Whether nobody wrote since.
    fn is_current(&self, known: &ChainEnds) -> bool {
        let is_same = |chain| {
            let tail = known.tails[index(chain)];
            match self.folder.stat(current(chain)) {
                Ok(Some(stat)) => {
                    stat.st_ino == tail.ino && u64::try_from(stat.st_size).is_ok_and(|len| len == tail.len)
                }
                Ok(None) => tail.ino == 0,
                Err(_) => false,
            }
        };
        CHAINS.into_iter().all(is_same) && head::is_at(&self.places.lines.join(HEAD), known.head.turn)
    }

    fn keep(&mut self, known: ChainEnds) {
        self.seen = Some(known.head.clone());
        self.known = Some(known);
    }

    /// Lines that are owed: what could not be written, and counts.
    fn add_due(
        &mut self,
        known: &mut ChainEnds,
        written: &mut Vec<HistoryEntry>,
    ) -> Result<(), HistoryError> {
        if let Some(missed) = join(known.head.missed.take(), self.missed.clone()) {
            let Missed { lines, since_ms, problem } = missed;
            let note = RecordNote::Unrecorded { lines, since_ms, problem };
            written.push(self.add_note(known, ChainName::Decisions, note)?);
            self.missed = None;
        }
        while let Some(note) = known.head.flood.take_due(self.ports.clock.now_ms()) {
            written.push(self.add_note(known, ChainName::Unasked, note)?);
        }
        Ok(())
    }

    fn add_or_count(
        &mut self,
        known: &mut ChainEnds,
        route: Route,
        request_id: Option<String>,
        event: HistoryEvent,
        written: &mut Vec<HistoryEntry>,
    ) -> Result<(), HistoryError> {
        let mut entry =
            HistoryEntry { seq: 0, at_ms: self.ports.clock.now_ms(), request_id, event, cut: Vec::new() };
        entry.cut = bounded::bound(&mut entry.event);
        if let Some(source) = &route.source {
            // What is counted has to be noted all the same, or it would be as if it never was.
            let bytes = serde_json::to_string(&entry).map_or(0, |text| text.len());
            if !known.head.flood.takes(source, bytes, entry.at_ms) {
                known.head.flood.fold(source, &entry.event, entry.at_ms);
                return self.note(&mut known.head, Reach::Process);
            }
        }
        written.push(self.add(known, route.chain, entry)?);
        Ok(())
    }

    fn add_note(
        &mut self,
        known: &mut ChainEnds,
        chain: ChainName,
        note: RecordNote,
    ) -> Result<HistoryEntry, HistoryError> {
        let mut event = HistoryEvent::Record { note };
        let cut = bounded::bound(&mut event);
        let at_ms = self.ports.clock.now_ms();
        self.add(known, chain, HistoryEntry { seq: 0, at_ms, request_id: None, event, cut })
    }

    /// Writes a line at the end of its chain, and notes it.
    fn add(
        &mut self,
        known: &mut ChainEnds,
        chain: ChainName,
        mut entry: HistoryEntry,
    ) -> Result<HistoryEntry, HistoryError> {
        if known.tails[index(chain)].len >= self.rotate_bytes {
            self.rotate(known, chain)?;
        }
        let mut file = self.file(chain)?;
        let ends = known.head.ends(chain);
        entry.seq = known.head.seq + 1;
        let prev = ends.map_or_else(Mark::genesis, |ends| ends.last.clone());
        let sealed = chain::seal(&entry, &prev.hash);
        let (line, hash) = sealed.map_err(|error| self.io("write", chain, error.into()))?;
        let tail = &mut known.tails[index(chain)];
        if let Err(source) = file.write_all(line.as_bytes()) {
            // Half a line would be taken for one that a crash cut off; best effort, for the disk may be full.
            let _ = file.set_len(tail.len);
            self.known = None;
            return Err(self.io("write", chain, source));
        }
        if tail.ino == 0 {
            let stat = fs::fstat(&file).map_err(|error| self.io("look at", chain, error.into()))?;
            tail.ino = stat.st_ino;
        }
        tail.len += line.len() as u64;
        let last = Mark { seq: entry.seq, hash };
        known.head.seq = entry.seq;
        let ends = known.head.ends_mut(chain);
        let (first, lines, synced) = match ends.take() {
            Some(ends) if ends.first.seq > 0 => (ends.first, ends.lines, ends.synced),
            Some(ends) => (last.clone(), ends.lines, ends.synced),
            None => (last.clone(), 0, 0),
        };
        *ends = Some(Ends { first, last, lines: lines + 1, synced });
        self.note(&mut known.head, Reach::Process)?;
        Ok(entry)
    }

    /// Notes a head in both places. One is enough; that the other could not be written is
    /// what the check says.
    fn note(&self, head: &mut Head, reach: Reach) -> Result<(), HistoryError> {
        head.turn += 1;
        head.at_ms = self.ports.clock.now_ms();
        head.boot.clone_from(&self.boot);
        let [here, apart] = self.places.heads().map(|path| head::write(&path, head, reach));
        match (here, apart) {
            (Ok(()), Ok(())) => Ok(()),
            (Ok(()), Err(error)) | (Err(error), Ok(())) => {
                tracing::debug!(%error, "one of two notes about the history was not written");
                Ok(())
            }
            (Err(error), Err(_)) => Err(error),
        }
    }

    /// Counts a line that was not written.
    fn missed(&mut self, error: HistoryError) -> HistoryError {
        self.known = None;
        let one = Missed { lines: 1, since_ms: self.ports.clock.now_ms(), problem: error.to_string() };
        self.missed = join(self.missed.take(), Some(one));
        error
    }

    /// Has the head take the count where it can, so that it outlasts this process. Only where
    /// others are kept away.
    fn note_missed(&mut self) {
        let Some(mut head) = self.places.read().head else { return };
        head.missed = join(head.missed, self.missed.clone());
        if self.note(&mut head, Reach::Process).is_ok() {
            self.missed = None;
            self.seen = Some(head);
        }
    }

    /// Sets the full file aside under the position of its first line, and removes what is over the bound. The
    /// line that says so is written before anything is removed.
    fn rotate(&mut self, known: &mut ChainEnds, chain: ChainName) -> Result<(), HistoryError> {
        let file = self.file(chain)?;
        let tail = known.tails[index(chain)];
        // Gives back room that was kept.
        file.set_len(tail.len)
            .and_then(|()| file.sync_data())
            .map_err(|source| self.io("sync", chain, source))?;
        let first_seq =
            self.first_link(&[current_part(&self.places.lines, chain)])?.map_or(0, |first| first.seq);
        let name = files::rotated_name(chain, first_seq);
        match fs::renameat_with(
            &self.folder,
            current(chain),
            &self.folder,
            name.as_str(),
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) => {}
            Err(Errno::EXIST) => {
                tracing::warn!(name, "the history is not rotated: a file of that name exists");
                return Ok(());
            }
            Err(error) => return Err(self.io("rotate", chain, error.into())),
        }
        known.tails[index(chain)] = Tail::default();
        let parts = files::parts(&self.places.lines, chain)?;
        let (excess, kept) = parts.split_at(parts.len().saturating_sub(max_files(chain, self.kept_mb)));
        let mut removed = None;
        if let (Some((first, last, lines)), Some(next)) = (self.extent(excess)?, self.first_link(kept)?) {
            if let Some(ends) = known.head.ends_mut(chain) {
                ends.first = next;
                ends.lines = ends.lines.saturating_sub(lines);
            }
            removed = Some(RemovedLines { first: first.seq, last: last.seq, hash: last.hash, lines });
        }
        self.add_note(known, ChainName::Decisions, RecordNote::Rotated { chain, removed })?;
        for part in excess {
            std::fs::remove_file(&part.path).map_err(|source| self.io("remove", chain, source))?;
        }
        self.folder.sync().map_err(|source| self.io("sync", chain, source))
    }

    fn file(&self, chain: ChainName) -> Result<File, HistoryError> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::APPEND;
        let opened = self.folder.open_file(current(chain), flags);
        let file = opened.map_err(|error| self.io("open", chain, error.into()))?;
        refuse_other_than_files(&file, &self.places.lines.join(current(chain)))?;
        Ok(file)
    }

    fn io(&self, doing: &'static str, chain: ChainName, source: io::Error) -> HistoryError {
        HistoryError::Io { doing, path: self.places.lines.join(current(chain)), source }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Counts {
    Due,
    All,
}

fn index(chain: ChainName) -> usize {
    match chain {
        ChainName::Decisions => 0,
        ChainName::Unasked => 1,
    }
}

fn current_part(lines: &Path, chain: ChainName) -> files::Part {
    files::Part { path: lines.join(current(chain)), first_seq: None }
}

/// Both counts together, with what was wrong first.
fn join(one: Option<Missed>, other: Option<Missed>) -> Option<Missed> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Missed { lines: one.lines + other.lines, ..one }),
        (one, other) => one.or(other),
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
