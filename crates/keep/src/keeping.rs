//! Keeping a state: walk, read what changed, store.

use crate::contents::{Outcome, Reading};
use crate::failed::{Cancel, Failed};
use crate::index::{Index, Seen};
use crate::limits::Limits;
use crate::place::{Identity, Place};
use crate::state::{State, StateFile};
use crate::store::Locked;
use crate::tree::{Entry, Kind, LeftOutWhy, Node};
use crate::walk::{Candidate, Walk, left};
use std::fs::File;
use std::path::Path;
use std::time::{Instant, SystemTime};

/// A state, and what it was made of.
pub(crate) struct Kept {
    pub(crate) state: State,
    pub(crate) entries: Vec<Entry>,
    /// What the system said of each file while it was read.
    pub(crate) index: Index,
}

/// Opens a workspace by its real path.
pub(crate) fn open(workspace: &Path) -> Result<Place, Failed> {
    Place::open(workspace).map_err(|source| Failed::Workspace { path: workspace.to_owned(), source })
}

/// Keeps what `place` is now.
pub(crate) fn keep(
    store: &Locked<'_>,
    limits: &Limits,
    workspace: &Path,
    place: &Place,
    now: SystemTime,
    cancel: Cancel<'_>,
) -> Result<Kept, Failed> {
    let until = Instant::now() + limits.time;
    let before = Index::load(store, &place.identity);
    let objects = store.objects().map_err(Failed::Store)?;
    let ours = File::open(store.root()).and_then(Identity::of).map_err(Failed::Store)?;
    let found = Walk { place, limits, index: &before, ours, until, cancel }.everything()?;

    let mut room = limits.bytes;
    let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(found.files.len());
    for file in &found.files {
        let rest = room.checked_sub(file.stamp.size);
        room = rest.unwrap_or(room);
        let known = || before.content(&file.path, &file.stamp).filter(|digest| objects.contains(digest));
        outcomes.push(match rest {
            None => Some(Err(LeftOutWhy::NoRoom)),
            Some(_) => known().map(|digest| Ok((file.stamp, digest))),
        });
    }
    let is_unread = |(file, outcome)| Option::is_none(outcome).then_some(file);
    let unread: Vec<&Candidate> = found.files.iter().zip(&outcomes).filter_map(is_unread).collect();
    let mut read = Reading { place, store, most: limits.file, until, cancel }.all(&unread)?.into_iter();

    let mut entries = found.entries;
    let mut seen = Vec::with_capacity(found.files.len());
    for (Candidate { path, mode, stamp }, outcome) in found.files.into_iter().zip(outcomes) {
        let node = match outcome.or_else(|| read.next()).unwrap_or(Err(LeftOutWhy::Unreadable)) {
            Ok((stamp, digest)) => {
                seen.push(Seen::Read { path: path.clone(), stamp, digest });
                Node::File { mode, size: stamp.size, mtime_ns: stamp.mtime_ns, digest }
            }
            Err(why) => {
                seen.push(Seen::Unread { path: path.clone() });
                left(Kind::File, stamp.size, stamp.mtime_ns, why)
            }
        };
        entries.push(Entry { path, node });
    }
    let index = before.successor(seen, now);
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Failed::check(cancel)?;
    let id = StateFile::store(store, workspace, place.identity, now, &entries).map_err(Failed::Store)?;
    index.save(store, &place.identity).map_err(Failed::Store)?;
    Ok(Kept { state: State::about(id, &entries), entries, index })
}
