//! What a workspace was, as values: one entry for each name, and how they are written.
//!
//! Entries are in the order of their paths' bytes, so that what holds something comes before it. They are
//! stored in pieces, cut where the paths alone say so: of two states that differ in one file, all pieces but
//! one are the same objects.

use crate::digest::Digest;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Something in a workspace.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub(crate) struct Entry {
    /// From the workspace, in bytes as on disk. Never empty, absolute, or with `.` or `..` in it.
    pub(crate) path: Vec<u8>,
    pub(crate) node: Node,
}

/// What lies at a path.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub(crate) enum Node {
    /// A file whose content is kept.
    File { mode: u16, size: u64, mtime_ns: i64, digest: Digest },
    /// A symbolic link, kept as one.
    Link { target: Vec<u8> },
    /// A folder that was looked into.
    Folder { mode: u16 },
    /// What is not kept. A folder among these was not looked into.
    Left { kind: Kind, size: u64, mtime_ns: i64, why: LeftOutWhy },
}

/// What something is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, whatever it leads to.
    Link,
    /// A socket, a pipe or a device.
    Special,
}

/// Why something is not kept.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Deserialize, Serialize)]
#[non_exhaustive]
pub enum LeftOutWhy {
    /// It went on changing while it was read.
    Changing,
    /// It is mounted from another file system.
    Elsewhere,
    /// Git's rules in the workspace ignore it, and it was never kept before.
    Ignored,
    /// The state already has as many bytes as it may have.
    NoRoom,
    /// It is where states are kept.
    Ours,
    /// The time was over before it was reached.
    OutOfTime,
    /// It is the repository of git, which keeps itself.
    Repository,
    /// A socket, a pipe or a device has no content.
    Special,
    /// It lies in too many folders, or its path is too long.
    TooDeep,
    /// The file is larger than files that are kept.
    TooLarge,
    /// The workspace has more entries than are looked at.
    TooMany,
    /// The system does not let it be read.
    Unreadable,
}

impl Node {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::File { .. } => Kind::File,
            Self::Link { .. } => Kind::Link,
            Self::Folder { .. } => Kind::Folder,
            Self::Left { kind, .. } => *kind,
        }
    }

    /// Bytes of its content; of a link, of its target.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::File { size, .. } | Self::Left { size, .. } => *size,
            Self::Link { target } => target.len() as u64,
            Self::Folder { .. } => 0,
        }
    }

    /// A folder that nothing is known of.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, Self::Left { kind: Kind::Folder, .. })
    }

    /// Whether nothing is known to differ. Where one side has no content, size and time have to do.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { mode, digest, .. }, Self::File { mode: other_mode, digest: other_digest, .. }) => {
                (mode, digest) == (other_mode, other_digest)
            }
            (
                Self::Left { kind: Kind::File, size, mtime_ns, .. } | Self::File { size, mtime_ns, .. },
                Self::Left { kind: Kind::File, size: other_size, mtime_ns: other_time, .. }
                | Self::File { size: other_size, mtime_ns: other_time, .. },
            ) => (size, mtime_ns) == (other_size, other_time),
            (Self::Left { .. }, _) | (_, Self::Left { .. }) => self.kind() == other.kind(),
            _ => self == other,
        }
    }
}

/// Whether nothing is known to differ between what lies at one path in two states.
pub(crate) fn same(one: Option<&Node>, other: Option<&Node>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.is_same(other),
        _ => false,
    }
}

/// A path of an entry.
pub(crate) fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

/// The same, owned.
pub(crate) fn to_path(path: &[u8]) -> PathBuf {
    as_path(path).to_owned()
}

/// The folders above an entry, the nearest first, without the workspace itself.
pub(crate) fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..path.len()).rev().filter(|at| path[*at] == b'/').map(|at| &path[..at])
}

/// Folder and name of an entry; the folder of what lies at the top is empty.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

/// Whether a name is git's own, on file systems that tell cases apart and on those that do not.
pub(crate) fn is_repository(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b".git")
}

/// Cuts entries into pieces, each as it is stored.
pub(crate) fn pieces(entries: &[Entry]) -> impl Iterator<Item = Result<Vec<u8>, postcard::Error>> {
    let mut rest = entries;
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let _ = first;
        let ends = |entry: &Entry| boundary(&entry.path);
        let count = rest.iter().take(MOST_IN_PIECE).position(ends).map_or(MOST_IN_PIECE, |at| at + 1);
        let (piece, others) = rest.split_at(count.min(rest.len()));
        rest = others;
        Some(postcard::to_stdvec(piece))
    })
}

/// One piece as it was stored; nothing if it is none.
pub(crate) fn piece(bytes: &[u8]) -> Option<Vec<Entry>> {
    let (entries, rest): (Vec<Entry>, _) = postcard::take_from_bytes(bytes).ok()?;
    let is_ordered = entries.windows(2).all(|pair| pair[0].path < pair[1].path);
    (rest.is_empty() && is_ordered && entries.iter().all(is_sound)).then_some(entries)
}

/// Whether an entry can be one of a workspace.
fn is_sound(entry: &Entry) -> bool {
    let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..") && !name.contains(&0);
    let is_left = matches!(entry.node, Node::Left { .. });
    entry.path.split(|byte| *byte == b'/').all(|name| is_name(name) && (is_left || !is_repository(name)))
}

/// Whether a piece ends behind this path: by a hash (FNV-1a) of it, so that pieces are about
/// [`USUAL_PIECE`] long.
fn boundary(path: &[u8]) -> bool {
    let hash = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash >> 32) % USUAL_PIECE == 0
}

/// Entries of a piece, usually: a changed file costs one piece of some ten kilobytes.
const USUAL_PIECE: u64 = 256;

/// Entries of a piece at most, however paths were chosen.
const MOST_IN_PIECE: usize = 4_096;
