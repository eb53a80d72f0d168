//! What differs between two states.

use crate::digest::{Digest, StateId};
use crate::failed::Failed;
use crate::limits::MOST_TEXT;
use crate::spans::{self, Spans};
use crate::state::StateFile;
use crate::store::{Locked, Missing};
use crate::tree::{Entry, Kind, LeftOutWhy, Node, above, same, to_path};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
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
    /// Somebody else changed it between two of several spans, so that it is not put back. Never so for one span.
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

/// Two states of one workspace.
pub(crate) struct Pair {
    pub(crate) file: StateFile,
    pub(crate) before: Vec<Entry>,
    pub(crate) after: Vec<Entry>,
    /// Paths that somebody else changed between several spans.
    pub(crate) between: HashSet<Vec<u8>>,
}

/// A path at which two states differ, with what each has there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Difference<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) before: Option<&'a Node>,
    pub(crate) after: Option<&'a Node>,
}

impl Pair {
    /// Reads both.
    pub(crate) fn load(store: &Locked<'_>, before: &StateId, after: &StateId) -> Result<Self, Failed> {
        let (file, other) = (StateFile::load(store, before)?, StateFile::load(store, after)?);
        if !file.identity.is_same(&other.identity) {
            return Err(Failed::Mixed);
        }
        let (entries, others) = (file.entries(store, before)?, other.entries(store, after)?);
        Ok(Self { file, before: entries, after: others, between: HashSet::new() })
    }

    /// The same, without entries of pieces that both have: nothing differs there, and most of a large workspace is of that kind.
    pub(crate) fn differing(
        store: &Locked<'_>,
        (before, file): (&StateId, StateFile),
        (after, other): (&StateId, StateFile),
    ) -> Result<Self, Failed> {
        if !file.identity.is_same(&other.identity) {
            return Err(Failed::Mixed);
        }
        let ours: HashSet<Digest> = file.pieces.iter().copied().collect();
        let both: HashSet<Digest> =
            other.pieces.iter().filter(|digest| ours.contains(*digest)).copied().collect();
        let entries = file.entries_without(store, before, &both)?;
        let others = other.entries_without(store, after, &both)?;
        Ok(Self { file, before: entries, after: others, between: HashSet::new() })
    }

    /// Where they differ, in the order of paths. Below a folder that one of them did not look into nothing can be said.
    pub(crate) fn differences(&self) -> Vec<Difference<'_>> {
        let closed: HashSet<&[u8]> = self
            .before
            .iter()
            .chain(&self.after)
            .filter(|entry| entry.node.is_closed())
            .map(|entry| entry.path.as_slice())
            .collect();
        let is_known = |path: &[u8]| closed.is_empty() || !above(path).any(|folder| closed.contains(folder));
        let (mut before, mut after) = (self.before.iter().peekable(), self.after.iter().peekable());
        let mut differences = Vec::new();
        loop {
            let order = match (before.peek(), after.peek()) {
                (None, None) => return differences,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(one), Some(other)) => one.path.cmp(&other.path),
            };
            let one = if order == Ordering::Greater { None } else { before.next() };
            let other = if order == Ordering::Less { None } else { after.next() };
            let Some(path) = one.or(other).map(|entry| entry.path.as_slice()) else { return differences };
            let (before, after) = (one.map(|entry| &entry.node), other.map(|entry| &entry.node));
            if !same(before, after) && is_known(path) {
                differences.push(Difference { path, before, after });
            }
        }
    }
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

/// Files that were moved: by the new path, what there was at the old one. One that could come from several places is none.
pub(crate) fn moves<'a>(differences: &[Difference<'a>]) -> HashMap<&'a [u8], Difference<'a>> {
    type Content<'a> = (&'a Digest, u16);
    fn content(node: Option<&Node>) -> Option<Content<'_>> {
        match node? {
            // Empty files are all alike.
            Node::File { size: 0, .. } => None,
            Node::File { digest, mode, .. } => Some((digest, *mode)),
            _ => None,
        }
    }
    let mut gone: HashMap<Content<'_>, Vec<Difference<'_>>> = HashMap::new();
    let mut made: HashMap<Content<'_>, Vec<&[u8]>> = HashMap::new();
    for difference in differences {
        match (content(difference.before), content(difference.after)) {
            (Some(was), _) if difference.after.is_none() => gone.entry(was).or_default().push(*difference),
            (_, Some(is)) if difference.before.is_none() => made.entry(is).or_default().push(difference.path),
            _ => {}
        }
    }
    let one = |(content, paths): (Content<'a>, Vec<&'a [u8]>)| match (paths.as_slice(), gone.get(&content)) {
        ([path], Some(from)) if from.len() == 1 => Some((*path, from[0])),
        _ => None,
    };
    made.into_iter().filter_map(one).collect()
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
