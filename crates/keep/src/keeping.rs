//! Keeping a state: walk, read what changed, store.

use crate::contents::Reading;
use crate::failed::{Cancel, Failed};
use crate::index::Index;
use crate::limits::Limits;
use crate::place::{Identity, Place, Stamp};
use crate::state::{State, StateFile};
use crate::store::Locked;
use crate::tree::{Entry, Kind, LeftOutWhy, Node};
use crate::walk::{Walk, left};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::time::{Instant, SystemTime};

/// A state, and what it was made of.
pub(crate) struct Kept {
    pub(crate) state: State,
    pub(crate) entries: Vec<Entry>,
    /// What the system said of each file while it was read.
    pub(crate) stamps: HashMap<Vec<u8>, Stamp>,
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

    let mut entries = found.entries;
    let mut room = limits.bytes;
    let mut after = before.successor();
    let (mut known, mut unread) = (Vec::new(), Vec::new());
    for file in &found.files {
        let Some(rest) = room.checked_sub(file.stamp.size) else {
            let node = left(Kind::File, file.stamp.size, file.stamp.mtime_ns, LeftOutWhy::NoRoom);
            entries.push(Entry { path: file.path.clone(), node });
            after.remember(&file.path, &before);
            continue;
        };
        room = rest;
        match before.content(&file.path, &file.stamp).filter(|digest| objects.contains(digest)) {
            Some(digest) => known.push((file, file.stamp, digest)),
            None => unread.push(file),
        }
    }
    let outcomes = Reading { place, store, most: limits.file, until, cancel }.all(&unread)?;
    for (file, outcome) in unread.into_iter().zip(outcomes) {
        match outcome {
            Ok((stamp, digest)) => known.push((file, stamp, digest)),
            Err(why) => {
                let node = left(Kind::File, file.stamp.size, file.stamp.mtime_ns, why);
                after.remember(&file.path, &before);
                entries.push(Entry { path: file.path.clone(), node });
            }
        }
    }
    let mut stamps = HashMap::with_capacity(known.len());
    for (file, stamp, digest) in known {
        let node = Node::File { mode: file.mode, size: stamp.size, mtime_ns: stamp.mtime_ns, digest };
        entries.push(Entry { path: file.path.clone(), node });
        after.insert(file.path.clone(), stamp, digest, now);
        stamps.insert(file.path.clone(), stamp);
    }
    entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Failed::check(cancel)?;
    let id = StateFile::store(store, workspace, place.identity, now, &entries).map_err(Failed::Store)?;
    after.save(store, &place.identity).map_err(Failed::Store)?;
    Ok(Kept { state: State::about(id, &entries), entries, stamps })
}
