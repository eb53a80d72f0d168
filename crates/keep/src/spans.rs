//! Several spans of one workspace that are looked at together, such as those of all runs of a session.
//!
//! Of each path counts what was there before the first run that changed it, and what the last one left. What
//! others did there between two runs belongs to nobody here: a path that somebody changed then is marked,
//! and never put back.

use crate::digest::StateId;
use crate::failed::{Cancel, Failed};
use crate::pair::Pair;
use crate::state::StateFile;
use crate::store::Locked;
use crate::tree::{Entry, Node, same};
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

/// What happened in a workspace between two of its states.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Span {
    /// The folder, by its real path.
    pub workspace: PathBuf,
    /// What it was.
    pub before: StateId,
    /// What it was afterwards.
    pub after: StateId,
}

/// What happened in a workspace in one or several spans.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Spans {
    workspace: PathBuf,
    parts: Vec<Part>,
}

/// One span of several.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Part {
    /// What came between the two states.
    pub deed: Deed,
    /// What the workspace was.
    pub before: StateId,
    /// What it was afterwards.
    pub after: StateId,
}

/// What came between two states.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Deed {
    /// Something ran.
    Run,
    /// Something of what other parts did was put back. A path that no run before it changed is none of it.
    PutBack,
}

impl Spans {
    /// Of a folder by its real path. Parts whose states are as old as each other have to come in their order;
    /// nothing if there are none.
    #[must_use]
    pub fn new(workspace: PathBuf, parts: Vec<Part>) -> Option<Self> {
        (!parts.is_empty()).then_some(Self { workspace, parts })
    }

    /// The folder.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The parts as they were given; never none.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }
}

impl From<Span> for Spans {
    fn from(Span { workspace, before, after }: Span) -> Self {
        Self { workspace, parts: vec![Part { deed: Deed::Run, before, after }] }
    }
}

impl From<&Span> for Spans {
    fn from(span: &Span) -> Self {
        span.clone().into()
    }
}

/// What is known of one path.
struct Chain {
    first: Option<Node>,
    last: Option<Node>,
    /// When `last` was seen, in Unix milliseconds.
    seen_ms: u64,
    /// Somebody else changed it after one part and before another.
    is_between: bool,
}

/// What all parts did, as two states that have only the paths that these changed.
pub(crate) fn load(store: &Locked<'_>, spans: &Spans) -> Result<Pair, Failed> {
    if let [Part { deed: Deed::Run, before, after }] = spans.parts.as_slice() {
        return Pair::load(store, before, after);
    }
    let mut loaded = Vec::new();
    for part in &spans.parts {
        loaded.push((part, StateFile::load(store, &part.before)?, StateFile::load(store, &part.after)?));
    }
    loaded.sort_by_key(|(_, before, _)| before.kept_at_ms());
    let mut chains: BTreeMap<Vec<u8>, Chain> = BTreeMap::new();
    // While parts overlap, nothing between them is anybody else's: when the newest row of such parts began,
    // and until when it goes.
    let (mut since_ms, mut until_ms) = (0, 0);
    let mut file: Option<StateFile> = None;
    for (part, before, after) in loaded {
        let (from_ms, to_ms) = (before.kept_at_ms(), after.kept_at_ms());
        if from_ms >= until_ms {
            since_ms = from_ms;
        }
        until_ms = until_ms.max(to_ms);
        if file.as_ref().is_some_and(|file| !file.identity.is_same(&before.identity)) {
            return Err(Failed::Mixed);
        }
        let pair = Pair::differing(store, (&part.before, before), (&part.after, after))?;
        for it in pair.differences() {
            let after = it.after.cloned();
            match chains.get_mut(it.path) {
                Some(chain) => {
                    let is_covered = chain.seen_ms > since_ms;
                    chain.is_between |= !is_covered && !same(chain.last.as_ref(), it.before);
                    if to_ms >= chain.seen_ms {
                        (chain.last, chain.seen_ms) = (after, to_ms);
                    }
                }
                None if part.deed == Deed::Run => {
                    let first = it.before.cloned();
                    let chain = Chain { first, last: after, seen_ms: to_ms, is_between: false };
                    chains.insert(it.path.to_vec(), chain);
                }
                None => {}
            }
        }
        file = Some(pair.file);
    }
    let Some(file) = file else { return Err(Failed::Mixed) };
    let (mut before, mut after, mut between) = (Vec::new(), Vec::new(), HashSet::new());
    for (path, Chain { first, last, is_between, .. }) in chains {
        let entry = |node: Node| Entry { path: path.clone(), node };
        before.extend(first.map(entry));
        after.extend(last.map(entry));
        if is_between {
            between.insert(path);
        }
    }
    Ok(Pair { file, before, after, between })
}

/// Of each part, whether both of its states are kept, and of the folder that the last of these parts is of.
pub(crate) fn kept(store: &Locked<'_>, spans: &Spans, cancel: Cancel<'_>) -> Result<Vec<bool>, Failed> {
    let mut identity = None;
    let mut kept = Vec::new();
    for part in spans.parts.iter().rev() {
        Failed::check(cancel)?;
        let state = |id| match StateFile::load(store, id) {
            Ok(file) => Ok(Some(file)),
            Err(Failed::Unknown(_) | Failed::Damaged(_)) => Ok(None),
            Err(failed) => Err(failed),
        };
        let is_kept = match (state(&part.before)?, state(&part.after)?) {
            (Some(before), Some(after)) => {
                let identity = identity.get_or_insert(after.identity);
                identity.is_same(&before.identity)
                    && identity.is_same(&after.identity)
                    && after.is_of(&spans.workspace)
            }
            _ => false,
        };
        kept.push(is_kept);
    }
    kept.reverse();
    Ok(kept)
}
