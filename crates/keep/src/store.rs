//! The folder of ours: contents by their SHA-256, states that name them, and what was last seen
//! of each workspace.
//!
//! ```text
//! lock              held while anything here is used
//! objects/ab/cdef…  contents, and pieces of states
//! states/ID         one state, named by the SHA-256 of its bytes
//! indexes/KEY       what was last seen of a workspace
//! fresh/            what is being written
//! ```
//!
//! Everything is written beside its place and renamed into it, a state last. A state is synced before it is
//! named to anybody; objects are not waited for, since an agent would wait for the whole disk. What a power
//! cut takes of them is found by its hash when it is read, is never put back, and is written again by the
//! first keep after it.

use crate::digest::{Digest, StateId};
use crate::failed::{Cancel, Failed};
use crate::limits::MOST_CONTENT;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::collections::HashSet;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The folder, used by nobody or by somebody else.
#[derive(Debug)]
pub(crate) struct Store {
    root: PathBuf,
}

/// The folder, used by us alone until this is dropped.
#[derive(Debug)]
pub(crate) struct Locked<'a> {
    store: &'a Store,
    written: AtomicU64,
    _lock: File,
}

/// Why a content is not there.
#[derive(Debug)]
pub(crate) enum Missing {
    /// It is not what was written, or gone.
    Damaged,
    /// The store cannot be read.
    Store(io::Error),
}

impl Store {
    /// Makes the folder where it is missing, for its owner alone.
    pub(crate) fn new(root: PathBuf) -> io::Result<Self> {
        let folders = [OBJECTS, STATES, INDEXES, FRESH].map(|folder| root.join(folder));
        for path in std::iter::once(&root).chain(&folders) {
            DirBuilder::new().recursive(true).mode(0o700).create(path)?;
            let there = fs::symlink_metadata(path)?;
            if !there.is_dir() || there.uid() != rustix::process::geteuid().as_raw() {
                return Err(io::Error::new(ErrorKind::PermissionDenied, "the store is not a folder of ours"));
            }
            if there.mode() & 0o077 != 0 {
                fs::set_permissions(path, Permissions::from_mode(0o700))?;
            }
        }
        Ok(Self { root })
    }

    /// Waits until nobody else uses it, for [`LOCK_WAIT`] at most.
    pub(crate) fn lock(&self, cancel: Cancel<'_>) -> Result<Locked<'_>, Failed> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.root.join("lock"))
            .map_err(Failed::Store)?;
        let until = Instant::now() + LOCK_WAIT;
        loop {
            Failed::check(cancel)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Locked { store: self, written: AtomicU64::new(0), _lock: file }),
                Err(Errno::WOULDBLOCK) if Instant::now() < until => thread::sleep(LOCK_PAUSE),
                Err(Errno::WOULDBLOCK) => return Err(Failed::Busy),
                Err(error) => return Err(Failed::Store(error.into())),
            }
        }
    }
}

impl Locked<'_> {
    /// The folder's path.
    pub(crate) fn root(&self) -> &Path {
        &self.store.root
    }

    /// Stores a content, unless it is there already.
    pub(crate) fn put(&self, content: &[u8]) -> io::Result<Digest> {
        let digest = Digest::of(content);
        let packed = lz4_flex::block::compress(content);
        let (way, body) = match packed.len() < content.len() - content.len() / LEAST_GAIN {
            true => (PACKED, packed.as_slice()),
            false => (PLAIN, content),
        };
        let mut head = [0; HEAD];
        head[0] = way;
        head[1..].copy_from_slice(&(content.len() as u64).to_le_bytes());
        let path = self.object(&digest);
        // One of another length was lost in a power cut.
        if fs::symlink_metadata(&path).is_ok_and(|there| there.len() == (HEAD + body.len()) as u64) {
            return Ok(digest);
        }
        let fresh = self.fresh();
        let mut file = create(&fresh)?;
        file.write_all(&head)?;
        file.write_all(body)?;
        drop(file);
        match fs::rename(&fresh, &path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if let Some(folder) = path.parent() {
                    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                }
                fs::rename(&fresh, &path)?;
            }
            renamed => renamed?,
        }
        Ok(digest)
    }

    /// A content of at most `most` bytes. What is not what was written is removed, so that the next keep
    /// writes it again.
    pub(crate) fn get(&self, digest: &Digest, most: u64) -> Result<Vec<u8>, Missing> {
        let path = self.object(digest);
        let bytes = read(&path, most.min(MOST_CONTENT).saturating_add(HEAD as u64)).map_err(Missing::from)?;
        let content = bytes.and_then(|bytes| unpack(&bytes, most.min(MOST_CONTENT)));
        match content.filter(|content| Digest::of(content) == *digest) {
            Some(content) => Ok(content),
            None => {
                fs::remove_file(&path).map_err(Missing::Store)?;
                Err(Missing::Damaged)
            }
        }
    }

    /// The names of all contents.
    pub(crate) fn objects(&self) -> io::Result<HashSet<Digest>> {
        let mut objects = HashSet::new();
        for folder in fs::read_dir(self.root().join(OBJECTS))? {
            let folder = folder?;
            let start = folder.file_name();
            for file in fs::read_dir(folder.path())? {
                let name = [start.as_encoded_bytes(), file?.file_name().as_encoded_bytes()].concat();
                objects.extend(Digest::named(&name));
            }
        }
        Ok(objects)
    }

    /// Every content with its file.
    pub(crate) fn each_object(
        &self,
        mut each: impl FnMut(Digest, &Path) -> io::Result<()>,
    ) -> io::Result<()> {
        for folder in fs::read_dir(self.root().join(OBJECTS))? {
            let folder = folder?;
            for file in fs::read_dir(folder.path())? {
                let file = file?;
                let (start, rest) = (folder.file_name(), file.file_name());
                let name = [start.as_encoded_bytes(), rest.as_encoded_bytes()].concat();
                if let Some(digest) = Digest::named(&name) {
                    each(digest, &file.path())?;
                }
            }
        }
        Ok(())
    }

    /// Bytes that a content takes on disk; none if it is not there.
    pub(crate) fn size(&self, digest: &Digest) -> u64 {
        fs::symlink_metadata(self.object(digest)).map_or(0, |there| there.len())
    }

    /// Stores a state, and returns when it is on disk.
    pub(crate) fn put_state(&self, bytes: &[u8]) -> io::Result<StateId> {
        let id = StateId(Digest::of(bytes));
        let fresh = self.fresh();
        let mut file = create(&fresh)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&fresh, self.state(&id))?;
        File::open(self.root().join(STATES))?.sync_all()?;
        Ok(id)
    }

    /// The bytes of a state, which are what was written.
    pub(crate) fn get_state(&self, id: &StateId) -> Result<Vec<u8>, Failed> {
        match read(&self.state(id), MOST_CONTENT) {
            Ok(Some(bytes)) if Digest::of(&bytes) == id.0 => Ok(bytes),
            Ok(_) => Err(Failed::Damaged(*id)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Failed::Unknown(*id)),
            Err(error) => Err(Failed::Store(error)),
        }
    }

    /// The names of all states.
    pub(crate) fn states(&self) -> io::Result<Vec<StateId>> {
        let mut states = Vec::new();
        for file in fs::read_dir(self.root().join(STATES))? {
            states.extend(file?.file_name().into_string().ok().and_then(|name| name.parse::<StateId>().ok()));
        }
        Ok(states)
    }

    /// Removes states, and returns when that is on disk.
    pub(crate) fn remove_states(&self, ids: &[StateId]) -> io::Result<()> {
        for id in ids {
            fs::remove_file(self.state(id))?;
        }
        File::open(self.root().join(STATES))?.sync_all()
    }

    /// What was last seen of a workspace; nothing if it cannot be read.
    pub(crate) fn index(&self, key: &Digest) -> Option<Vec<u8>> {
        read(&self.root().join(INDEXES).join(key.to_string()), MOST_CONTENT).ok().flatten()
    }

    /// Stores what was seen of a workspace.
    pub(crate) fn put_index(&self, key: &Digest, bytes: &[u8]) -> io::Result<()> {
        let fresh = self.fresh();
        create(&fresh)?.write_all(bytes)?;
        fs::rename(&fresh, self.root().join(INDEXES).join(key.to_string()))
    }

    /// Removes what was last seen of workspaces that have no state.
    pub(crate) fn remove_indexes(&self, but: &HashSet<Digest>) -> io::Result<()> {
        for file in fs::read_dir(self.root().join(INDEXES))? {
            let file = file?;
            let key = file.file_name().into_string().ok().and_then(|name| name.parse().ok());
            if key.is_none_or(|key| !but.contains(&key)) {
                fs::remove_file(file.path())?;
            }
        }
        Ok(())
    }

    /// Removes what was being written when a process ended.
    pub(crate) fn remove_unfinished(&self) -> io::Result<()> {
        fs::read_dir(self.root().join(FRESH))?.try_for_each(|file| fs::remove_file(file?.path()))
    }

    fn object(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        let (start, rest) = name.split_at(2);
        self.root().join(OBJECTS).join(start).join(rest)
    }

    fn state(&self, id: &StateId) -> PathBuf {
        self.root().join(STATES).join(id.to_string())
    }

    fn fresh(&self) -> PathBuf {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        self.root().join(FRESH).join(number.to_string())
    }
}

impl From<io::Error> for Missing {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound => Self::Damaged,
            _ => Self::Store(error),
        }
    }
}

/// A file to write. One that is there was left by a process that ended: the store is ours alone.
fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// The bytes of a file; nothing if there are more than `most`.
fn read(path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > most {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(most).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// The content of an object's file; nothing if it is none, or of more than `most` bytes.
fn unpack(bytes: &[u8], most: u64) -> Option<Vec<u8>> {
    let (head, body) = bytes.split_at_checked(HEAD)?;
    let size = u64::from_le_bytes(head[1..].try_into().ok()?);
    // No byte of LZ4 stands for more than 255.
    if size > most || size > (body.len() as u64).saturating_mul(255) {
        return None;
    }
    let size = usize::try_from(size).ok()?;
    match head[0] {
        PLAIN if body.len() == size => Some(body.to_vec()),
        PACKED => lz4_flex::block::decompress(body, size).ok().filter(|content| content.len() == size),
        _ => None,
    }
}

/// How long another user of the store is waited for: somewhat longer than one keep may take.
pub const LOCK_WAIT: Duration = Duration::from_secs(30);

/// Between two looks at the lock: a person does not notice it.
const LOCK_PAUSE: Duration = Duration::from_millis(5);

const OBJECTS: &str = "objects";
const STATES: &str = "states";
const INDEXES: &str = "indexes";
const FRESH: &str = "fresh";

/// Bytes before a content: how it is stored, and how long it is.
const HEAD: usize = 9;
/// Stored as it is.
const PLAIN: u8 = 0;
/// Stored as one block of LZ4.
const PACKED: u8 = 1;
/// The part of its length that a content has to get shorter by: less is not worth unpacking.
const LEAST_GAIN: usize = 8;
