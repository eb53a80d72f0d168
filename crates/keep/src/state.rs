//! A kept state: its file, and all entries that it names.

use crate::digest::{Digest, StateId};
use crate::failed::Failed;
use crate::limits::{MOST_CONTENT, NAMED_LEFT_OUT};
use crate::place::Identity;
use crate::store::{Locked, Missing};
use crate::tree::{Entry, Kind, LeftOutWhy, Node, as_path, piece, pieces, to_path};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// What was kept of a workspace at one moment.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub struct State {
    /// Names it, for as long as it is kept.
    pub id: StateId,
    /// Files whose content is kept.
    pub files: u64,
    /// Bytes of their contents, as they lie in the workspace.
    pub bytes: u64,
    /// The first [`NAMED_LEFT_OUT`] things that are not kept, but what git ignores and git's own.
    pub left_out: Vec<LeftOut>,
    /// All of these, also those that are not named. A folder among them counts once, whatever is in it.
    pub left_out_count: u64,
    /// What git ignores, in the same way.
    pub ignored_count: u64,
}

/// Something that is not kept. Of a folder it means everything in it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeftOut {
    /// From the workspace.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// Bytes of its content; of a folder nothing is known.
    pub size: u64,
    /// Why.
    pub why: LeftOutWhy,
}

/// A state's file. Its first member says how the rest is to be read.
#[derive(Clone, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub(crate) struct StateFile {
    version: u16,
    workspace: Vec<u8>,
    pub(crate) identity: Identity,
    kept_at_ms: u64,
    /// Objects, each with a piece of the entries.
    pub(crate) pieces: Vec<Digest>,
}

impl StateFile {
    /// Reads one; nothing if it is none, or of another version.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (file, rest): (Self, _) = postcard::take_from_bytes(bytes).ok()?;
        (file.version == VERSION && rest.is_empty()).then_some(file)
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> io::Result<Vec<u8>> {
        postcard::to_stdvec(self).map_err(io::Error::other)
    }

    /// Stored with these entries, which are in their order.
    pub(crate) fn store(
        store: &Locked<'_>,
        workspace: &Path,
        identity: Identity,
        now: SystemTime,
        entries: &[Entry],
    ) -> io::Result<StateId> {
        let mut stored = Vec::new();
        for piece in pieces(entries) {
            stored.push(store.put(&piece.map_err(io::Error::other)?)?);
        }
        let file = Self {
            version: VERSION,
            workspace: workspace.as_os_str().as_encoded_bytes().to_vec(),
            identity,
            kept_at_ms: milliseconds(now),
            pieces: stored,
        };
        store.put_state(&file.bytes()?)
    }

    /// A state that is kept.
    pub(crate) fn load(store: &Locked<'_>, id: &StateId) -> Result<Self, Failed> {
        Self::read(&store.get_state(id)?).ok_or(Failed::Damaged(*id))
    }

    /// One piece of its entries.
    pub(crate) fn piece(store: &Locked<'_>, id: &StateId, digest: &Digest) -> Result<Vec<Entry>, Failed> {
        let bytes = match store.get(digest, MOST_CONTENT) {
            Ok(bytes) => bytes,
            Err(Missing::Damaged) => return Err(Failed::Damaged(*id)),
            Err(Missing::Store(error)) => return Err(Failed::Store(error)),
        };
        piece(&bytes).ok_or(Failed::Damaged(*id))
    }

    /// All of its entries, in their order.
    pub(crate) fn entries(&self, store: &Locked<'_>, id: &StateId) -> Result<Vec<Entry>, Failed> {
        self.entries_without(store, id, &HashSet::new())
    }

    /// The same, without those of some pieces.
    pub(crate) fn entries_without(
        &self,
        store: &Locked<'_>,
        id: &StateId,
        skipped: &HashSet<Digest>,
    ) -> Result<Vec<Entry>, Failed> {
        let mut entries: Vec<Entry> = Vec::new();
        for digest in self.pieces.iter().filter(|digest| !skipped.contains(*digest)) {
            let piece = Self::piece(store, id, digest)?;
            let is_behind = match (entries.last(), piece.first()) {
                (Some(last), Some(first)) => last.path < first.path,
                _ => true,
            };
            if !is_behind {
                return Err(Failed::Damaged(*id));
            }
            entries.extend(piece);
        }
        Ok(entries)
    }

    /// When it was kept, in Unix milliseconds.
    pub(crate) fn kept_at_ms(&self) -> u64 {
        self.kept_at_ms
    }

    /// Whether it is of this path.
    pub(crate) fn is_of(&self, workspace: &Path) -> bool {
        as_path(&self.workspace) == workspace
    }
}

impl State {
    /// What is said of these entries.
    pub(crate) fn about(id: StateId, entries: &[Entry]) -> Self {
        let none = Vec::new();
        let mut state = Self { id, files: 0, bytes: 0, left_out: none, left_out_count: 0, ignored_count: 0 };
        for entry in entries {
            match &entry.node {
                Node::File { size, .. } => {
                    state.files += 1;
                    state.bytes = state.bytes.saturating_add(*size);
                }
                Node::Left { why: LeftOutWhy::Ignored, .. } => state.ignored_count += 1,
                Node::Left { why: LeftOutWhy::Repository, .. } | Node::Link { .. } | Node::Folder { .. } => {}
                Node::Left { kind, size, why, .. } => {
                    state.left_out_count += 1;
                    if state.left_out.len() < NAMED_LEFT_OUT {
                        let path = to_path(&entry.path);
                        state.left_out.push(LeftOut { path, kind: *kind, size: *size, why: *why });
                    }
                }
            }
        }
        state
    }
}

/// Unix milliseconds of a time; 0 before they began.
pub(crate) fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

const VERSION: u16 = 1;
