//! What was last seen of a workspace: which content each file had, and by what one can tell that
//! it still has it.
//!
//! A file with the same size, times and inode has the same content, unless it was written within the grain of
//! the clock after it was read. So the stamp of a file that was changed shortly before it was read is not
//! stored, and it is read again the next time.

use crate::digest::Digest;
use crate::place::{Identity, Stamp};
use crate::store::Locked;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs;
use std::io;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Contents of files, in the order of their paths.
#[derive(Debug, Default)]
pub(crate) struct Index {
    files: Vec<Known>,
    stored: Option<Digest>,
}

/// What is known of a file.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Known {
    path: Vec<u8>,
    stamp: Stamp,
    /// Whether the same stamp means the same content.
    is_settled: bool,
    digest: Digest,
}

/// How it is stored: what begins with another version is not read.
#[derive(Deserialize, Serialize)]
struct Stored<'a> {
    version: u16,
    /// Names one start of the machine. After another one objects may be lost that were not yet on disk.
    boot: Vec<u8>,
    files: Cow<'a, [Known]>,
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
        let Ok(stored) = postcard::from_bytes::<Stored<'_>>(content) else { return Self::default() };
        if digest.bytes() != &hash || stored.version != VERSION {
            return Self::default();
        }
        let is_this_boot = stored.boot == boot();
        let mut files = stored.files.into_owned();
        if !is_this_boot {
            files.iter_mut().for_each(|known| known.is_settled = false);
        }
        Self { files, stored: Some(digest) }
    }

    /// The content that a file has, if that can be told without reading it.
    pub(crate) fn content(&self, path: &[u8], stamp: &Stamp) -> Option<Digest> {
        self.known(path).filter(|known| known.is_settled && known.stamp == *stamp).map(|known| known.digest)
    }

    /// What the system said of a file when it was read.
    pub(crate) fn stamp(&self, path: &[u8]) -> Option<&Stamp> {
        self.known(path).map(|known| &known.stamp)
    }

    /// Whether a file was kept when it was last seen.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.known(path).is_some()
    }

    /// Whether a file in a folder was kept when it was last seen.
    pub(crate) fn has_below(&self, folder: &[u8]) -> bool {
        let start = [folder, b"/"].concat();
        let at = self.files.partition_point(|known| known.path < start);
        self.files.get(at).is_some_and(|known| known.path.starts_with(&start))
    }

    /// What takes the place of this one.
    pub(crate) fn successor(&self, files: impl IntoIterator<Item = Seen>, now: SystemTime) -> Self {
        let now_ns = now.duration_since(UNIX_EPOCH).unwrap_or_default().saturating_sub(GRAIN).as_nanos();
        let now_ns = i64::try_from(now_ns).unwrap_or(i64::MAX);
        let known = |seen: Seen| match seen {
            Seen::Read { path, stamp, digest } => {
                let is_settled = stamp.ctime_ns < now_ns && stamp.mtime_ns < now_ns;
                Some(Known { path, stamp, is_settled, digest })
            }
            Seen::Unread { path } => {
                self.known(&path).map(|known| Known { is_settled: false, ..known.clone() })
            }
        };
        let mut files: Vec<Known> = files.into_iter().filter_map(known).collect();
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Self { files, stored: self.stored }
    }

    /// Has these files kept from now on, each of which has to be read for that.
    pub(crate) fn expect<'p>(&mut self, files: impl Iterator<Item = (&'p [u8], Digest)>) {
        let mut others = Vec::new();
        for (path, digest) in files {
            let known = Known { path: path.to_vec(), stamp: Stamp::default(), is_settled: false, digest };
            match self.files.binary_search_by(|other| other.path.as_slice().cmp(path)) {
                Ok(at) => self.files[at] = known,
                Err(_) => others.push(known),
            }
        }
        self.files.append(&mut others);
        self.files.sort_by(|a, b| a.path.cmp(&b.path));
    }

    /// Takes the place of what is stored, unless that is the same.
    pub(crate) fn save(&self, store: &Locked<'_>, identity: &Identity) -> io::Result<()> {
        let stored = Stored { version: VERSION, boot: boot(), files: Cow::Borrowed(&self.files) };
        let mut bytes = postcard::to_stdvec(&stored).map_err(io::Error::other)?;
        let digest = Digest::of(&bytes);
        if self.stored == Some(digest) {
            return Ok(());
        }
        bytes.extend_from_slice(digest.bytes());
        store.put_index(&key(identity), &bytes)
    }

    fn known(&self, path: &[u8]) -> Option<&Known> {
        let at = self.files.binary_search_by(|known| known.path.as_slice().cmp(path)).ok()?;
        self.files.get(at)
    }
}

/// A file that is there.
pub(crate) enum Seen {
    /// With this content.
    Read { path: Vec<u8>, stamp: Stamp, digest: Digest },
    /// It could not be read. If it was kept before, that is remembered.
    Unread { path: Vec<u8> },
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

/// How long after its last change a file may change again without a trace: the coarsest clock of a file
/// system, FAT's, has two seconds.
const GRAIN: Duration = Duration::from_secs(2);
