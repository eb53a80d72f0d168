//! What differs between two states.

use crate::failed::Failed;
use crate::limits::MOST_TEXT;
use crate::pair::{Difference, moves};
use crate::spans::{self, Spans};
use crate::store::{Locked, Missing};
use crate::tree::{Entry, Kind, LeftOutWhy, Node, to_path};
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// One path at which two states differ.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// From the workspace.
    pub path: PathBuf,
    /// What happened there.
    pub how: How,
    /// What was there; nothing for what was made. For what was moved, what lay at its old path.
    pub before: Option<Side>,
    /// What is there after; nothing for what was deleted.
    pub after: Option<Side>,
    /// Somebody else changed it between two of several spans, so that it is not put back. Never
    /// so for one span.
    pub is_between: bool,
}

/// What happened at a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum How {
    /// It was not there.
    Made,
    /// It is another one, or of another kind, or has another mode.
    Changed,
    /// It is not there any more.
    Deleted,
    /// A file with this very content and mode was at another path, and is not there any more.
    Moved {
        /// That path, from the workspace.
        from: PathBuf,
    },
}

/// What one state has at a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Side {
    /// What it is.
    pub kind: Kind,
    /// Bytes of a file's content or a link's target; 0 for folders.
    pub size: u64,
    /// Permission bits of a file or folder that is kept.
    pub mode: Option<u16>,
    /// Why it cannot be put back; nothing if it can.
    pub not_kept: Option<LeftOutWhy>,
}

/// One path in two states, to be shown beside each other.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Versions {
    /// What was there.
    pub before: Version,
    /// What is there after.
    pub after: Version,
}

/// What one state has at a path, to be shown.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Version {
    /// Nothing.
    Absent,
    /// A file of UTF-8 without NUL, of at most [`MOST_TEXT`] bytes.
    Text(String),
    /// A file that is no text.
    Binary {
        /// Its bytes.
        size: u64,
    },
    /// A file with more bytes than are shown.
    TooLarge {
        /// Its bytes.
        size: u64,
    },
    /// A symbolic link, and where it leads.
    Link(PathBuf),
    /// A folder.
    Folder,
    /// Something whose content is not kept.
    NotKept {
        /// What it is.
        kind: Kind,
        /// Its bytes.
        size: u64,
        /// Why.
        why: LeftOutWhy,
    },
    /// Its content is lost or not what was written.
    Damaged,
}

/// What differs, in the order of paths.
pub(crate) fn changes(store: &Locked<'_>, spans: &Spans) -> Result<Vec<Change>, Failed> {
    let pair = spans::load(store, spans)?;
    let differences = pair.differences();
    let moves = moves(&differences);
    let moved_away: HashSet<&[u8]> = moves.values().map(|from| from.path).collect();
    let change = |difference: &Difference<'_>| {
        let from = moves.get(difference.path);
        let before = from.map_or(difference.before, |from| from.before);
        let how = match (from, before, difference.after) {
            (Some(from), ..) => How::Moved { from: to_path(from.path) },
            (None, None, _) => How::Made,
            (None, Some(_), Some(_)) => How::Changed,
            (None, Some(_), None) => How::Deleted,
        };
        let (before, after) = (before.map(Side::of), difference.after.map(Side::of));
        let paths = [Some(difference.path), from.map(|from| from.path)];
        let is_between = paths.into_iter().flatten().any(|path| pair.between.contains(path));
        Change { path: to_path(difference.path), how, before, after, is_between }
    };
    Ok(differences.iter().filter(|it| !moved_away.contains(it.path)).map(change).collect())
}

/// What both have at a path.
pub(crate) fn versions(store: &Locked<'_>, spans: &Spans, path: &Path) -> Result<Versions, Failed> {
    let pair = spans::load(store, spans)?;
    let wanted = path.as_os_str().as_bytes();
    let version = |entries: &[Entry]| {
        let at = entries.binary_search_by(|entry| entry.path.as_slice().cmp(wanted));
        at.map_or(Ok(Version::Absent), |at| version(store, &entries[at].node))
    };
    Ok(Versions { before: version(&pair.before)?, after: version(&pair.after)? })
}

fn version(store: &Locked<'_>, node: &Node) -> Result<Version, Failed> {
    Ok(match node {
        Node::Folder { .. } => Version::Folder,
        Node::Link { target } => Version::Link(to_path(target)),
        Node::Left { kind, size, why, .. } => Version::NotKept { kind: *kind, size: *size, why: *why },
        Node::File { size, .. } if *size > MOST_TEXT => Version::TooLarge { size: *size },
        Node::File { size, digest, .. } => match store.get(digest, MOST_TEXT) {
            Ok(content) if content.contains(&0) => Version::Binary { size: *size },
            Ok(content) => String::from_utf8(content).map_or(Version::Binary { size: *size }, Version::Text),
            Err(Missing::Damaged) => Version::Damaged,
            Err(Missing::Store(error)) => return Err(Failed::Store(error)),
        },
    })
}

impl Side {
    fn of(node: &Node) -> Self {
        let (mode, not_kept) = match node {
            Node::File { mode, .. } | Node::Folder { mode } => (Some(*mode), None),
            Node::Link { .. } => (None, None),
            Node::Left { why, .. } => (None, Some(*why)),
        };
        Self { kind: node.kind(), size: node.size(), mode, not_kept }
    }
}
