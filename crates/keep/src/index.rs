//! What was last seen of a workspace: which content each file had, and by what one can tell that it still has it.
//!
//! A file with the same size, times and inode has the same content, unless it was written within the grain of the clock after it was
//! read. So the stamp of a file that was changed shortly before it was read is not stored, and it is read again the next time.

use crate::digest::Digest;
use crate::place::{Identity, Stamp};
use crate::store::Locked;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Bound;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Contents of files by their paths.
#[derive(Debug, Default)]
pub(crate) struct Index {
    files: BTreeMap<Vec<u8>, Known>,
    stored: Option<Digest>,
}

/// What is known of a file.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Known {
    /// Nothing for one that has to be read again.
    stamp: Option<Stamp>,
    digest: Digest,
}

/// How it is stored: what begins with another version is not read.
#[derive(Deserialize, Serialize)]
struct Stored {
    version: u16,
    /// Names one start of the machine. After another one objects may be lost that were not yet on disk.
    boot: Vec<u8>,
    files: Vec<(Vec<u8>, Known)>,
}

impl Index {
    /// What is stored of a workspace; empty where that cannot be read.
    pub(crate) fn load(store: &Locked<'_>, identity: &Identity) -> Self {
        let Some(bytes) = store.index(&key(identity)) else { return Self::default() };
        let Some((content, hash)) = bytes.split_last_chunk::<32>().map(|(content, hash)| (content, *hash))
        else {
            return Self::default();
        };
        let digest = Digest::of(content);
        let Ok(stored) = postcard::from_bytes::<Stored>(content) else { return Self::default() };
        if digest.bytes() != &hash || stored.version != VERSION {
            return Self::default();
        }
        let is_this_boot = stored.boot == boot();
        let mut files: BTreeMap<_, _> = stored.files.into_iter().collect();
        if !is_this_boot {
            files.values_mut().for_each(|known| known.stamp = None);
        }
        Self { files, stored: Some(digest) }
    }

    /// The content that a file has, if that can be told without reading it.
    pub(crate) fn content(&self, path: &[u8], stamp: &Stamp) -> Option<Digest> {
        self.files.get(path).filter(|known| known.stamp.as_ref() == Some(stamp)).map(|known| known.digest)
    }

    /// Whether a file was kept when it was last seen.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.files.contains_key(path)
    }

    /// Whether a file in a folder was kept when it was last seen.
    pub(crate) fn has_below(&self, folder: &[u8]) -> bool {
        let start = [folder, b"/"].concat();
        let mut from = self.files.range::<[u8], _>((Bound::Included(start.as_slice()), Bound::Unbounded));
        from.next().is_some_and(|(path, _)| path.starts_with(&start))
    }

    /// Adds a file that was read at `now` or later.
    pub(crate) fn insert(&mut self, path: Vec<u8>, stamp: Stamp, digest: Digest, now: SystemTime) {
        let now_ns = now.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(GRAIN).as_nanos();
        let now_ns = i64::try_from(now_ns).unwrap_or(i64::MAX);
        let is_settled = stamp.ctime_ns < now_ns && stamp.mtime_ns < now_ns;
        self.files.insert(path, Known { stamp: is_settled.then_some(stamp), digest });
    }

    /// An empty one, to take the place of this.
    pub(crate) fn successor(&self) -> Self {
        Self { files: BTreeMap::new(), stored: self.stored }
    }

    /// Remembers that a file was kept before, although it could not be this time.
    pub(crate) fn remember(&mut self, path: &[u8], before: &Self) {
        if let Some(known) = before.files.get(path) {
            self.files.insert(path.to_vec(), Known { stamp: None, digest: known.digest });
        }
    }

    /// Remembers that a file with this content is kept, and has to be read.
    pub(crate) fn expect(&mut self, path: &[u8], digest: Digest) {
        self.files.insert(path.to_vec(), Known { stamp: None, digest });
    }

    /// Takes the place of what is stored, unless that is the same.
    pub(crate) fn save(self, store: &Locked<'_>, identity: &Identity) -> io::Result<()> {
        let stored = Stored { version: VERSION, boot: boot(), files: self.files.into_iter().collect() };
        let mut bytes = postcard::to_stdvec(&stored).map_err(io::Error::other)?;
        let digest = Digest::of(&bytes);
        if self.stored == Some(digest) {
            return Ok(());
        }
        bytes.extend_from_slice(digest.bytes());
        store.put_index(&key(identity), &bytes)
    }
}

/// The name under which a workspace's index is stored.
pub(crate) fn key(identity: &Identity) -> Digest {
    Digest::of(&identity.key())
}

/// This start of the machine. Where nobody says, no two are the same.
fn boot() -> Vec<u8> {
    fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

const VERSION: u16 = 1;

/// How long after its last change a file may change again without a trace: the coarsest clock of a file system, FAT's, has two seconds.
const GRAIN: Duration = Duration::from_secs(2);
