//! The document as it is on disk, and every operation on it. Synchronous: the store's task runs it where
//! blocking is fine.
//!
//! Every write is the same transaction: look at the generation, lock, look again, read, decide, check that
//! the file is still the one that was read, replace it. OpenClaw's older releases take no lock,
//! hence the last check.

use super::storage::{self, Storage};
use super::{Change, Changed, Current, Looser, Replacement, StoreError, Writer};
use crate::file::{self, Backup, Found, Stamp, WriteError};
use crate::folder::{Folder, FolderError, LOCK_PAUSE, Lock};
use crate::ports::Ports;
use countersign_policy::counts::{Idle, entry_never};
use countersign_policy::currency;
use countersign_policy::document::{self, Parsed, Use};
use countersign_policy::effective::{BUILT_IN, Effective};
use countersign_policy::meaning;
use countersign_protocol::document::{Document, FILE_NAME, SOCKET_NAME};
use countersign_protocol::edits::{DocumentEdit, EditResult, PolicyField};
use countersign_protocol::secret::SocketToken;
use countersign_protocol::socket::PolicySnapshot;
use countersign_protocol::state::StoreState;
use countersign_protocol::vocabulary::{Ask, Security};
use rustix::fs::Mode;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long another writer may hold the lock. Writers take milliseconds; a longer wait would
/// look like a hang.
pub(crate) const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// A program that has just written lets others try before it locks again; they try every [`LOCK_PAUSE`].
/// Without it, one that writes all the time would keep everybody else out.
const COURTESY: Duration = LOCK_PAUSE.saturating_mul(2);

/// How often a write starts over because somebody without the lock wrote meanwhile.
const WRITE_TRIES: u32 = 3;

/// How often content that makes no sense is read again after a change: older releases overwrite in place, so
/// a reader can see half of it.
pub(crate) const TORN_TRIES: u32 = 5;

/// Pause before reading it again.
pub(crate) const TORN_PAUSE: Duration = Duration::from_millis(20);

/// A file may change twice within one tick of its file system's clock and keep its stamp. A read that began
/// this long after the stamp was first seen has the last content.
pub(crate) const SETTLED_AFTER: Duration = Duration::from_millis(50);

/// Hashes of versions that differ from the current one in bookkeeping only. More than uses are flushed while
/// a person looks at a form.
const MAX_BOOKKEPT: usize = 256;

/// Keeps the document.
#[derive(Debug)]
pub(crate) struct DocumentOwner {
    dir: PathBuf,
    path: PathBuf,
    ports: Ports,
    current: Arc<Current>,
    /// Whether anything was ever read. Before that there is nothing to hold on to, and no change.
    has_read: bool,
    seen: Option<Seen>,
    bookkept: Vec<String>,
    changes: Vec<Changed>,
    patience: Duration,
    wrote: Option<Instant>,
}

/// When the current content was read.
#[derive(Clone, Copy, Debug)]
struct Seen {
    storage: StorageKind,
    stamp: Option<Stamp>,
    first: Instant,
    settled: bool,
}

/// What a look at the names says, and when that was read if it is what was read last.
struct Glance {
    storage: Storage,
    stamp: io::Result<Option<Stamp>>,
    known: Option<Seen>,
}

/// Why nothing is known of what is stored: the system's reason.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unseen(String);

/// What a cheap look at the generation can tell.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum StorageKind {
    File,
    Other,
}

/// A document that may be replaced: its bytes and how it may be accessed.
type Replaceable = (Vec<u8>, Mode);

/// The lock and what was read under it.
struct Locked {
    folder: Folder,
    _lock: Lock,
    before: Option<Replaceable>,
    stamp: Option<Stamp>,
}

/// What a transaction decided.
enum Act<T> {
    /// Nothing to write.
    Leave(T),
    /// This.
    Write { document: Document, as_what: Kind, then: T },
}

/// What a write is.
#[derive(Clone, Copy)]
enum Kind {
    /// A change of policy, announced.
    Policy(Writer),
    /// Uses of entries: the policy is the same, so the backup stays and nobody is told.
    Bookkeeping,
}

impl DocumentOwner {
    /// Looks at the document for the first time. Writes nothing.
    pub(crate) fn open(dir: &Path, ports: Ports) -> Self {
        let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
        let path = dir.join(FILE_NAME);
        let current = Arc::new(missing(&path));
        let mut owner = Self {
            dir,
            path,
            ports,
            current,
            has_read: false,
            seen: None,
            bookkept: Vec::new(),
            changes: Vec::new(),
            patience: LOCK_PATIENCE,
            wrote: None,
        };
        owner.refresh();
        owner.changes.clear();
        owner
    }

    /// As last read.
    pub(crate) fn current(&self) -> &Arc<Current> {
        &self.current
    }

    /// The state directory.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// What changed since this was last called, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<Changed> {
        std::mem::take(&mut self.changes)
    }

    /// Whether the document is certainly what was read last. A few system calls that read nothing.
    pub(super) fn is_as_read(&self) -> bool {
        self.current.trouble.is_none() && self.glance().known.is_some_and(|seen| seen.settled)
    }

    /// Needs no descriptor.
    fn glance(&self) -> Glance {
        let storage = storage::detect(&self.dir);
        let stamp = file::stamp_at(&self.path);
        let kind = StorageKind::of(&storage);
        let known = self.seen.filter(|seen| {
            let is_same = stamp.as_ref().is_ok_and(|stamp| *stamp == seen.stamp);
            is_same && seen.storage == kind && kind == StorageKind::File
        });
        Glance { storage, stamp, known }
    }

    /// Reads again if anything moved. What the system cannot read is no change.
    pub(crate) fn refresh(&mut self) {
        let Glance { storage, stamp, known } = self.glance();
        if known.is_some_and(|seen| seen.settled) {
            if self.current.trouble.is_some() {
                self.current = Arc::new(Current { trouble: None, ..Current::clone(&self.current) });
            }
            return;
        }
        let kind = StorageKind::of(&storage);
        let began = Instant::now();
        let first = known.map_or(began, |seen| seen.first);
        let tries = if known.is_some() { 1 } else { TORN_TRIES };
        let read = match Folder::open_quietly(&self.dir) {
            Ok(folder) => self.look(&storage, folder.as_ref(), tries),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Ok((self.unreadable(format!("its folder cannot be opened: {error}")), None))
            }
            Err(error) => Err(Unseen(format!("its folder cannot be opened: {error}"))),
        };
        match read {
            Ok((read, _)) => {
                let stamp = stamp.ok().flatten();
                let settled = stamp.is_none() || began.duration_since(first) >= SETTLED_AFTER;
                self.seen = Some(Seen { storage: kind, stamp, first, settled });
                self.publish(read, Kind::Policy(Writer::AnotherProgram));
            }
            Err(unseen) => self.hold(&unseen),
        }
    }

    /// Holds what was read last, and says so.
    fn hold(&mut self, unseen: &Unseen) {
        let problem = unseen.to_string();
        if self.current.trouble.as_deref() != Some(problem.as_str()) {
            tracing::warn!(path = %self.path.display(), problem, "the approvals document cannot be read now");
        }
        let trouble = Some(problem.clone());
        self.current = Arc::new(match self.has_read {
            true => Current { trouble, ..Current::clone(&self.current) },
            false => Current { trouble, ..self.unreadable(problem) },
        });
    }

    /// Removes what a crash left behind. Does nothing where a database is in charge.
    pub(crate) fn sweep(&self) -> io::Result<usize> {
        match (storage::detect(&self.dir), Folder::open(&self.dir)?) {
            (Storage::File, Some(folder)) => file::sweep(&folder, FILE_NAME, self.ports.clock.now_ms()),
            _ => Ok(0),
        }
    }

    /// See [`super::Store::edit`].
    pub(crate) fn edit(&mut self, change: &Change) -> Result<EditResult, StoreError> {
        if change.edits.iter().any(allows_skills) {
            return Err(StoreError::NoEffect);
        }
        // An answer was given to a command that its entry was made of.
        if matches!(change.writer, Writer::Window | Writer::CommandLine)
            && let Some(idle) = change.edits.iter().find_map(idle)
        {
            return Err(StoreError::Idle(idle));
        }
        let mut result = self.transact(|owner, current| {
            owner.check_base(change.base_hash.as_deref(), current)?;
            let mut fresh = || owner.ports.ids.uuid();
            let base = base(current, &mut fresh)?;
            let mut edited = document::apply(&base, &change.edits, &mut fresh)?;
            let before = current.document.clone().unwrap_or_else(document::empty);
            let mut loosenings = document::loosenings(&before, &edited.document);
            if current.document.is_none() && !loosenings.is_empty() {
                // The first document may let more run than none does. What tightens begins with what holds.
                let Effective { security, ask, ask_fallback, .. } = BUILT_IN;
                let held = written_out((security.value, ask.value, ask_fallback.value), &mut fresh)?;
                let strict = document::apply(&held, &change.edits, &mut fresh)?;
                if document::loosenings(&before, &strict.document).is_empty() {
                    (edited, loosenings) = (strict, Vec::new());
                }
            }
            let loosenings = meaning::with_fates(&edited.document, &BUILT_IN, loosenings);
            let applied = loosenings.is_empty() || change.looser == Looser::Confirmed;
            let undo = if applied { edited.undo } else { Vec::new() };
            let then = EditResult {
                hash: String::new(),
                applied,
                loosenings,
                impact: None,
                undo,
                comes: Vec::new(),
            };
            // Nothing new is no reason to make a document, or to format somebody else's anew.
            let is_news = !change.edits.is_empty() && current.document.as_ref() != Some(&edited.document);
            Ok(if applied && is_news {
                Act::Write { document: edited.document, as_what: Kind::Policy(change.writer), then }
            } else {
                Act::Leave(then)
            })
        })?;
        result.hash.clone_from(&self.current.hash);
        Ok(result)
    }

    /// See [`super::Store::replace`].
    pub(crate) fn replace(&mut self, replacement: &Replacement) -> Result<(), StoreError> {
        let Replacement { base_hash, document: incoming, writer } = replacement;
        if let Parsed::Unusable(problem) = document::parse(Some(document::serialise(incoming).as_bytes())) {
            return Err(StoreError::Incoming { problem: problem.to_string() });
        }
        self.transact(|owner, current| {
            let before = match (&current.state, &current.document) {
                (StoreState::Missing, _) => document::empty(),
                (_, Some(document)) => document.clone(),
                (_, None) => return Err(unusable(current)),
            };
            if *base_hash != current.hash {
                return Err(StoreError::Stale { expected: base_hash.clone(), found: current.hash.clone() });
            }
            let normal = document::normalised(incoming, &mut || owner.ports.ids.uuid());
            let kept = document::with_unknown_of(&normal, &before);
            let mut document = document::with_socket_of(&kept, &before);
            owner.fill_socket(&mut document)?;
            complete_socket(&document).map(usable_socket).transpose()?;
            Ok(if current.document.as_ref() == Some(&document) {
                Act::Leave(())
            } else {
                Act::Write { document, as_what: Kind::Policy(*writer), then: () }
            })
        })
    }

    /// See [`super::Store::commit_grant`].
    pub(crate) fn commit_grant(
        &mut self,
        agent: &str,
        shown: &PolicySnapshot,
        edits: &[DocumentEdit],
    ) -> Result<(), StoreError> {
        self.transact(|owner, current| {
            let Some(document) = &current.document else { return Err(unusable(current)) };
            currency::still_current(shown, &document::snapshot(document, Some(agent)))?;
            let edited = document::apply(document, edits, &mut || owner.ports.ids.uuid())?;
            Ok(if edited.document == *document {
                Act::Leave(())
            } else {
                Act::Write { document: edited.document, as_what: Kind::Policy(Writer::Answer), then: () }
            })
        })
    }

    /// Writes uses of entries, if there is a document to write them in.
    pub(crate) fn record_uses(&mut self, uses: &[Use]) -> Result<(), StoreError> {
        self.refresh();
        if self.current.document.is_none() {
            return Ok(());
        }
        self.transact(|_, current| {
            let Some(document) = &current.document else { return Ok(Act::Leave(())) };
            let used = document::with_uses(document, uses);
            Ok(if used == *document {
                Act::Leave(())
            } else {
                Act::Write { document: used, as_what: Kind::Bookkeeping, then: () }
            })
        })
    }

    /// See [`super::Store::ensure_socket`].
    pub(crate) fn ensure_socket(&mut self) -> Result<(PathBuf, SocketToken), StoreError> {
        self.refresh();
        if let Some(found) = self.current.document.as_ref().and_then(complete_socket) {
            return usable_socket(found);
        }
        self.check_free_to_create()?;
        let found = self.transact(|owner, current| {
            if current.document.is_none() {
                owner.check_free_to_create()?;
            }
            let mut document = base(current, &mut || owner.ports.ids.uuid())?;
            owner.fill_socket(&mut document)?;
            let then = complete_socket(&document);
            Ok(Act::Write { document, as_what: Kind::Policy(Writer::FirstRun), then })
        })?;
        usable_socket(found.ok_or_else(|| self.no_document())?)
    }

    /// See [`super::Store::reset`].
    pub(crate) fn reset(&mut self) -> Result<PathBuf, StoreError> {
        let mut locked = self.lock()?;
        match &self.current.state {
            StoreState::Unreadable { .. } => {}
            StoreState::Ready | StoreState::Missing => {
                return Err(StoreError::NothingToReset { path: self.path.clone() });
            }
            StoreState::Sqlite { .. } => return Err(unusable(&self.current)),
        }
        let mut fresh = first_run(&mut || self.ports.ids.uuid())?;
        self.fill_socket(&mut fresh)?;
        let aside = file::set_aside(&locked.folder, FILE_NAME, self.ports.clock.now_ms())
            .map_err(|source| self.io("set aside", source))?;
        locked.before = None;
        locked.stamp = None;
        self.write(&locked, &fresh, Kind::Policy(Writer::Window))?;
        Ok(self.dir.join(aside))
    }

    /// Runs `decide` on the document as it is under the lock, and writes what it decides. Starts over when a
    /// program that takes no lock wrote in between.
    fn transact<T>(
        &mut self,
        mut decide: impl FnMut(&Self, &Current) -> Result<Act<T>, StoreError>,
    ) -> Result<T, StoreError> {
        let mut tries = 1;
        loop {
            let locked = self.lock()?;
            match decide(self, &Arc::clone(&self.current))? {
                Act::Leave(then) => return Ok(then),
                Act::Write { document, as_what, then } => match self.write(&locked, &document, as_what) {
                    Err(StoreError::Stale { .. }) if tries < WRITE_TRIES => tries += 1,
                    written => return written.map(|()| then),
                },
            }
        }
    }

    /// Takes the lock and reads. Nothing is created where a database is in charge.
    fn lock(&mut self) -> Result<Locked, StoreError> {
        self.check_generation()?;
        let folder = Folder::open_or_make(&self.dir).map_err(|source| self.io("open", source))?;
        folder.check_private().map_err(|error| self.folder_error(error))?;
        if let Some(wrote) = self.wrote.take() {
            std::thread::sleep(COURTESY.saturating_sub(wrote.elapsed()));
        }
        let lock = folder
            .lock(&file::lock_name(FILE_NAME), self.patience)
            .map_err(|error| self.folder_error(error))?;
        self.check_generation()?;
        let stamp = file::stamp(&folder, FILE_NAME).map_err(|source| self.io("look at", source))?;
        let (read, before) = self
            .look(&Storage::File, Some(&folder), TORN_TRIES)
            .map_err(|unseen| self.io("read", io::Error::other(unseen)))?;
        self.seen = Some(Seen { storage: StorageKind::File, stamp, first: Instant::now(), settled: false });
        self.publish(read, Kind::Policy(Writer::AnotherProgram));
        #[cfg(test)]
        crate::fault::step();
        Ok(Locked { folder, _lock: lock, before, stamp })
    }

    /// Replaces the document, unless it is no longer the one that was read under the lock.
    fn write(&mut self, locked: &Locked, document: &Document, as_what: Kind) -> Result<(), StoreError> {
        let bytes = document::serialise(document).into_bytes();
        let before = locked.before.as_ref().map(|(bytes, mode)| (bytes.as_slice(), *mode));
        if before.is_some_and(|(before, _)| before == bytes) {
            return Ok(());
        }
        self.check_written(&bytes)?;
        self.check_generation()?;
        let backup = match as_what {
            Kind::Policy(_) => Backup::Keep,
            Kind::Bookkeeping => Backup::Skip,
        };
        let fresh = || self.ports.ids.uuid();
        match file::write(&locked.folder, FILE_NAME, &bytes, locked.stamp, before, backup, &fresh) {
            Ok(()) => {}
            Err(WriteError::Moved) => {
                let (found, _) = self
                    .look(&Storage::File, Some(&locked.folder), TORN_TRIES)
                    .map_err(|unseen| self.io("read", io::Error::other(unseen)))?;
                return Err(StoreError::Stale { expected: self.current.hash.clone(), found: found.hash });
            }
            Err(WriteError::Io(source)) => {
                // The rename may have happened: what is there now decides.
                self.seen = None;
                self.refresh();
                return Err(self.io("write", source));
            }
        }
        self.wrote = Some(Instant::now());
        match self.look(&Storage::File, Some(&locked.folder), 1) {
            Ok((read, _)) => {
                let stamp = file::stamp(&locked.folder, FILE_NAME).ok().flatten();
                let (storage, first) = (StorageKind::File, Instant::now());
                self.seen = Some(Seen { storage, stamp, first, settled: false });
                self.publish(read, as_what);
            }
            Err(unseen) => {
                self.seen = None;
                self.hold(&unseen);
            }
        }
        Ok(())
    }

    /// Never write what could not be read back.
    fn check_written(&self, bytes: &[u8]) -> Result<(), StoreError> {
        if bytes.len() as u64 > file::MAX_BYTES {
            return Err(self.io("write", io::ErrorKind::FileTooLarge.into()));
        }
        match document::parse(Some(bytes)) {
            Parsed::Usable(_) => Ok(()),
            Parsed::Missing => Err(self.io("write", io::ErrorKind::InvalidData.into())),
            Parsed::Unusable(problem) => {
                Err(StoreError::Unreadable { path: self.path.clone(), problem: problem.to_string() })
            }
        }
    }

    /// Reads what is there, and the bytes if they may be replaced.
    fn look(
        &self,
        storage: &Storage,
        folder: Option<&Folder>,
        tries: u32,
    ) -> Result<(Current, Option<Replaceable>), Unseen> {
        match storage {
            Storage::File => {}
            Storage::Sqlite { database } => {
                let database = database.display().to_string();
                return Ok((Current { state: StoreState::Sqlite { database }, ..missing(&self.path) }, None));
            }
            Storage::Unclear { problem } => return Ok((self.unreadable(problem.clone()), None)),
            Storage::Unknown { problem } => return Err(Unseen(problem.clone())),
        }
        let Some(folder) = folder else { return Ok((missing(&self.path), None)) };
        let mut tried = 1;
        loop {
            let found = file::read(folder, FILE_NAME);
            let (bytes, mode) = match found.map_err(|error| Unseen(format!("it cannot be read: {error}")))? {
                Found::Nothing => return Ok((missing(&self.path), None)),
                Found::Refused { problem } => return Ok((self.unreadable(problem), None)),
                Found::Bytes { bytes, mode } => (bytes, mode),
            };
            let hash = document::hash(Some(&bytes));
            let path = self.path.clone();
            let (state, document) = match document::parse(Some(&bytes)) {
                Parsed::Usable(document) => (StoreState::Ready, Some(document)),
                Parsed::Missing | Parsed::Unusable(_) if tried < tries => {
                    tried += 1;
                    std::thread::sleep(TORN_PAUSE);
                    continue;
                }
                Parsed::Missing => (StoreState::Unreadable { problem: "it is empty".to_owned() }, None),
                Parsed::Unusable(problem) => (StoreState::Unreadable { problem: problem.to_string() }, None),
            };
            if mode & 0o077 != 0 {
                tracing::warn!(path = %path.display(), mode = format!("{mode:04o}"), "others may read the approvals document; the next write ends that");
            }
            let current = Current { path, state, hash, document, trouble: None };
            return Ok((current, Some((bytes, Mode::from_raw_mode(mode)))));
        }
    }

    /// Makes what was read the current document, and notes who changed it.
    fn publish(&mut self, read: Current, as_what: Kind) {
        let had_read = std::mem::replace(&mut self.has_read, true);
        if *self.current == read {
            return;
        }
        let before = std::mem::replace(&mut self.current, Arc::new(read));
        let was_only_in_trouble = Current { trouble: None, ..Current::clone(&before) } == *self.current;
        if was_only_in_trouble || !had_read {
            return;
        }
        match as_what {
            Kind::Bookkeeping => {
                self.bookkept.truncate(MAX_BOOKKEPT - 1);
                self.bookkept.insert(0, before.hash.clone());
            }
            Kind::Policy(writer) => {
                self.bookkept.clear();
                self.changes.push(Changed { writer, before, after: Arc::clone(&self.current) });
            }
        }
    }

    /// An edit made from a version that differs in bookkeeping only is not stale.
    fn check_base(&self, base_hash: Option<&str>, current: &Current) -> Result<(), StoreError> {
        match base_hash {
            Some(base) if base != current.hash && !self.bookkept.iter().any(|hash| hash == base) => {
                Err(StoreError::Stale { expected: base.to_owned(), found: current.hash.clone() })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_generation(&mut self) -> Result<(), StoreError> {
        match storage::detect(&self.dir) {
            Storage::File => Ok(()),
            Storage::Unknown { problem } => Err(self.io("look at", io::Error::other(problem))),
            Storage::Sqlite { .. } | Storage::Unclear { .. } => {
                self.refresh();
                Err(unusable(&self.current))
            }
        }
    }

    /// A missing document is made only where nobody else keeps anything, or on a person's word.
    fn check_free_to_create(&self) -> Result<(), StoreError> {
        match self.current.state {
            StoreState::Ready => Ok(()),
            StoreState::Unreadable { .. } | StoreState::Sqlite { .. } => Err(unusable(&self.current)),
            StoreState::Missing => {
                let folder = Folder::open(&self.dir).map_err(|source| self.io("open", source))?;
                let Some(folder) = folder else { return Ok(()) };
                let names = folder.names().map_err(|source| self.io("list", source))?;
                if storage::is_in_use(names.iter().map(String::as_str)) {
                    return Err(self.no_document());
                }
                Ok(())
            }
        }
    }

    fn fill_socket(&self, document: &mut Document) -> Result<(), StoreError> {
        let path = self.dir.join(SOCKET_NAME);
        let Some(path) = path.to_str() else {
            return Err(StoreError::SocketPath { path: path.display().to_string() });
        };
        document::ensure_socket(document, path, &self.ports.ids.token());
        Ok(())
    }

    fn unreadable(&self, problem: String) -> Current {
        Current { state: StoreState::Unreadable { problem }, ..missing(&self.path) }
    }

    fn no_document(&self) -> StoreError {
        StoreError::NoDocument { path: self.path.clone() }
    }

    fn io(&self, doing: &'static str, source: io::Error) -> StoreError {
        StoreError::Io { doing, path: self.path.clone(), source }
    }

    fn folder_error(&self, error: FolderError) -> StoreError {
        match error {
            FolderError::Io(source) => self.io("lock", source),
            FolderError::Unsafe(problem) => StoreError::UnsafeFolder { path: self.dir.clone(), problem },
            FolderError::Locked(waited) => {
                StoreError::Locked { waited_ms: u64::try_from(waited.as_millis()).unwrap_or(u64::MAX) }
            }
        }
    }

    /// For tests that hold the lock.
    #[cfg(test)]
    pub(crate) fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

impl StorageKind {
    fn of(storage: &Storage) -> Self {
        match storage {
            Storage::File => Self::File,
            Storage::Sqlite { .. } | Storage::Unclear { .. } | Storage::Unknown { .. } => Self::Other,
        }
    }
}

fn missing(path: &Path) -> Current {
    Current {
        path: path.to_owned(),
        state: StoreState::Missing,
        hash: document::hash(None),
        document: None,
        trouble: None,
    }
}

/// The document to edit: the one there is, or the first one.
fn base(current: &Current, fresh: &mut dyn FnMut() -> String) -> Result<Document, StoreError> {
    match (&current.state, &current.document) {
        (StoreState::Missing, _) => first_run(fresh),
        (_, Some(document)) => Ok(document.clone()),
        (_, None) => Err(unusable(current)),
    }
}

/// The values are written out because releases disagree about what an absent one means: deny, or run
/// everything (docs/protocol/document.md, "Built-in values").
fn first_run(fresh: &mut dyn FnMut() -> String) -> Result<Document, StoreError> {
    written_out((Security::Allowlist, Ask::OnMiss, Security::Deny), fresh)
}

/// A document that says these values of security, ask and fallback, and nothing else.
fn written_out(
    (security, ask, ask_fallback): (Security, Ask, Security),
    fresh: &mut dyn FnMut() -> String,
) -> Result<Document, StoreError> {
    let values = [
        (PolicyField::Security, security.to_string()),
        (PolicyField::Ask, ask.to_string()),
        (PolicyField::AskFallback, ask_fallback.to_string()),
    ];
    let edits = values.map(|(field, value)| DocumentEdit::SetPolicy {
        scope: "defaults".to_owned(),
        field,
        value: Some(value),
    });
    Ok(document::apply(&document::empty(), &edits, fresh)?.document)
}

/// Why nothing can be done with it.
fn unusable(current: &Current) -> StoreError {
    let path = current.path.clone();
    if let Some(problem) = &current.trouble {
        return StoreError::Io { doing: "read", path, source: io::Error::other(problem.clone()) };
    }
    match &current.state {
        StoreState::Unreadable { problem } => StoreError::Unreadable { path, problem: problem.clone() },
        StoreState::Sqlite { database } => StoreError::Sqlite { database: database.into() },
        StoreState::Missing | StoreState::Ready => StoreError::NoDocument { path },
    }
}

fn complete_socket(document: &Document) -> Option<(String, SocketToken)> {
    let (path, token) = document::socket(document);
    Some((path?, token?))
}

/// A stored path may start with `~` (docs/protocol/approval-socket.md, "Place"); one that depends on a
/// working directory names no place.
fn usable_socket((path, token): (String, SocketToken)) -> Result<(PathBuf, SocketToken), StoreError> {
    if !token.is_long_enough() {
        return Err(StoreError::ShortToken { characters: token.expose().chars().count() });
    }
    let expanded = match path.strip_prefix("~/") {
        Some(rest) => std::env::home_dir().map(|home| home.join(rest)),
        None => Some(PathBuf::from(&path)),
    };
    match expanded.filter(|path| path.is_absolute()) {
        Some(expanded) => Ok((expanded, token)),
        None => Err(StoreError::SocketPath { path }),
    }
}

/// Why the entry that an edit makes could never let anything run.
fn idle(edit: &DocumentEdit) -> Option<Idle> {
    entry_never(&document::made_by(edit)?)
}

/// Whether an edit turns on a switch that nothing here would obey.
fn allows_skills(edit: &DocumentEdit) -> bool {
    matches!(edit, DocumentEdit::SetPolicy { field: PolicyField::AutoAllowSkills, value: Some(value), .. } if value == "true")
}

#[cfg(test)]
mod tests;
