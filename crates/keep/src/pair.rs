//! Two states side by side, and at which paths they differ.

use crate::digest::{Digest, StateId};
use crate::failed::Failed;
use crate::state::StateFile;
use crate::store::Locked;
use crate::tree::{Entry, Node, above, same};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

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

    /// The same, without entries of pieces that both have: nothing differs there, and most of a large
    /// workspace is of that kind.
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

    /// Where they differ, in the order of paths. Below a folder that one of them did not look into
    /// nothing can be said.
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

/// Files that were moved: by the new path, what there was at the old one. One that could come from
/// several places is none.
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
