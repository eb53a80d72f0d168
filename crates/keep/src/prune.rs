//! What is too old or too much goes: states first, then the objects that no state names. Whenever this is
//! interrupted, every state that is left has all of its objects.

use crate::digest::{Digest, StateId};
use crate::failed::{Cancel, Failed};
use crate::index;
use crate::limits::Limits;
use crate::state::{StateFile, milliseconds};
use crate::store::Locked;
use crate::tree::Node;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs;
use std::time::SystemTime;

/// What was removed, and what is left.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[must_use]
pub struct Pruned {
    /// States that were too old, or for which there was no room.
    pub states: usize,
    /// States that could not be read, which nothing can be put back from.
    pub damaged: usize,
    /// Objects that nothing names any more.
    pub objects: usize,
    /// Bytes on disk that these objects took.
    pub bytes: u64,
    /// Bytes on disk of the objects that are left.
    pub left: u64,
}

/// Removes what may go at `now`.
pub(crate) fn prune(
    store: &Locked<'_>,
    limits: &Limits,
    now: SystemTime,
    cancel: Cancel<'_>,
) -> Result<Pruned, Failed> {
    let mut pruned = Pruned::default();
    store.remove_unfinished().map_err(Failed::Store)?;
    let mut states = Vec::new();
    let mut gone: Vec<StateId> = Vec::new();
    for id in store.states().map_err(Failed::Store)? {
        match StateFile::load(store, &id) {
            Ok(state) => states.push((id, state)),
            Err(Failed::Damaged(_)) => {
                pruned.damaged += 1;
                gone.push(id);
            }
            Err(failed) => return Err(failed),
        }
    }
    // The newest first: what they name is what the older ones need no room for.
    states.sort_unstable_by_key(|(id, state)| (Reverse(state.kept_at_ms()), *id));
    let age_ms = u64::try_from(limits.age.as_millis()).unwrap_or(u64::MAX);
    let oldest_ms = milliseconds(now).saturating_sub(age_ms);
    let (mut named, mut indexes) = (Named::default(), HashSet::new());
    let mut is_full = false;
    for (id, state) in &states {
        Failed::check(cancel)?;
        if is_full || state.kept_at_ms() < oldest_ms {
            pruned.states += 1;
            gone.push(*id);
            continue;
        }
        match names(store, id, state, &named) {
            Ok(more) => {
                let size: u64 = more.all().map(|digest| store.size(digest)).sum();
                is_full = pruned.left.saturating_add(size) > limits.store;
                if is_full {
                    pruned.states += 1;
                    gone.push(*id);
                } else {
                    pruned.left += size;
                    named.pieces.extend(more.pieces);
                    named.contents.extend(more.contents);
                    indexes.insert(index::key(&state.identity));
                }
            }
            Err(Failed::Damaged(_)) => {
                pruned.damaged += 1;
                gone.push(*id);
            }
            Err(failed) => return Err(failed),
        }
    }
    store.remove_states(&gone).map_err(Failed::Store)?;
    store.remove_indexes(&indexes).map_err(Failed::Store)?;
    let sweep = store.each_object(|digest, path| {
        if !named.has(&digest) {
            pruned.bytes += fs::symlink_metadata(path)?.len();
            pruned.objects += 1;
            fs::remove_file(path)?;
        }
        Ok(())
    });
    sweep.map_err(Failed::Store)?;
    Ok(pruned)
}

/// Objects that states name. A file of the workspace can have the bytes of a piece, so these are told apart.
#[derive(Default)]
struct Named {
    pieces: HashSet<Digest>,
    contents: HashSet<Digest>,
}

impl Named {
    fn has(&self, digest: &Digest) -> bool {
        self.pieces.contains(digest) || self.contents.contains(digest)
    }

    fn all(&self) -> impl Iterator<Item = &Digest> {
        self.pieces.iter().chain(&self.contents)
    }
}

/// The objects that a state names and `known` does not have.
fn names(store: &Locked<'_>, id: &StateId, state: &StateFile, known: &Named) -> Result<Named, Failed> {
    let mut names = Named::default();
    // What a known piece names is known too.
    for piece in state.pieces.iter().filter(|piece| !known.pieces.contains(piece)) {
        names.pieces.insert(*piece);
        for entry in StateFile::piece(store, id, piece)? {
            if let Node::File { digest, .. } = entry.node
                && !known.contents.contains(&digest)
            {
                names.contents.insert(digest);
            }
        }
    }
    Ok(names)
}
