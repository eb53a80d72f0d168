//! Putting back: what lies at a path after a run gives way to what lay there before it, if it still is
//! what the run left.
//!
//! Everything is reached from the open workspace, never through a link. Nothing is written into: a file is
//! made beside its place and exchanged with what is there, and what comes out of the exchange is looked at
//! once more. If somebody else changed it in between, it goes back and is a conflict. So a hard link to a
//! file elsewhere never leads a write there, and no change is lost.

mod aside;
mod hands;

use crate::failed::{Cancel, Failed};
use crate::index::Index;
use crate::keeping::{self, Kept};
use crate::limits::Limits;
use crate::pair::{Difference, moves};
use crate::place::Place;
use crate::spans::{self, Span, Spans};
use crate::state::StateFile;
use crate::store::{Locked, Missing};
use crate::tree::{Entry, Kind, LeftOutWhy, Node, above, as_path, is_repository, same, split, to_path};
use hands::{Hands, There};
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What of a span is put back.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum What {
    /// All of it.
    All,
    /// These paths from the workspace, what lies below them, and the folders that they need. For what was
    /// moved, either path takes both.
    Files(Vec<PathBuf>),
}

/// What came of putting back.
#[derive(Debug)]
#[must_use]
pub struct Restored {
    /// What was put back, from the workspace; what is deleted for that is among these.
    pub put: Vec<PathBuf>,
    /// What was not, and why. It is as it was.
    pub conflicts: Vec<(PathBuf, Why)>,
    /// Puts all of this back again.
    pub undo: Span,
}

/// Why something was not put back.
#[derive(Debug)]
#[non_exhaustive]
pub enum Why {
    /// Somebody else changed it between two of several spans.
    Between,
    /// It was called off before this one.
    Cancelled,
    /// It is not what the span left there any more.
    Changed,
    /// What is kept of it is lost or not what was written.
    Damaged,
    /// The folder has something in it that stays.
    NotEmpty,
    /// What was there is not kept, or what is there could not be kept, so that this could not be undone.
    NotKept(LeftOutWhy),
    /// It is never written: settings that other programs run things by, and git's own.
    Protected,
    /// The system did not let it be done.
    System(io::Error),
}

/// One path to be put back.
struct Step<'a> {
    path: &'a [u8],
    from: Option<&'a Node>,
    to: Option<&'a Node>,
}

/// Whether a path from the workspace is never written.
pub type Protected<'a> = &'a dyn Fn(&Path) -> bool;

/// Puts back what is wanted of a span.
pub(crate) fn put_back(
    store: &Locked<'_>,
    limits: &Limits,
    spans: &Spans,
    what: &What,
    protected: Protected<'_>,
    now: SystemTime,
    cancel: Cancel<'_>,
) -> Result<Restored, Failed> {
    let pair = spans::load(store, spans)?;
    let workspace = spans.workspace();
    let place = keeping::open(workspace)?;
    if !pair.file.identity.is_same(&place.identity) || !pair.file.is_of(workspace) {
        return Err(Failed::Replaced { path: workspace.to_owned() });
    }
    let current = keeping::keep(store, limits, workspace, &place, now, cancel)?;
    let differences = pair.differences();
    let wanted = wanted(&differences, what);
    let mut outcome = Outcome::default();
    let mut steps = steps(&wanted, &pair.between, &current, protected, &mut outcome.conflicts);
    let asked = steps.len();
    if asked > 0 {
        let left = left_aside(&current, &steps, protected);
        steps.extend(left);
    }
    let hands = Hands::new(&place, &current.index);
    carry_out(store, &hands, &steps, cancel, &mut outcome);
    let is_done = |step: &&Step<'_>| !outcome.failed.contains(step.path);
    let put: Vec<&Step<'_>> = steps.iter().filter(is_done).collect();
    // What was left aside is tidied up by the way: nobody asked for it.
    let asked = steps.iter().take(asked).filter(is_done).map(|step| to_path(step.path)).collect();

    // The state that this made, not what is there by now: what somebody changed meanwhile is no
    // part of the undo.
    let mut entries: BTreeMap<&[u8], &Node> =
        current.entries.iter().map(|entry| (entry.path.as_slice(), &entry.node)).collect();
    for step in &put {
        match step.to {
            Some(node) => entries.insert(step.path, node),
            None => entries.remove(step.path),
        };
    }
    let entries: Vec<Entry> =
        entries.into_iter().map(|(path, node)| Entry { path: path.to_vec(), node: node.clone() }).collect();
    let after = StateFile::store(store, workspace, place.identity, now, &entries);
    let after = after.map_err(Failed::Store)?;
    remember(store, &place, &put).map_err(Failed::Store)?;
    let undo = Span { workspace: workspace.to_owned(), before: current.state.id, after };
    Ok(Restored { put: asked, conflicts: outcome.conflicts, undo })
}

/// Has files that came back kept from now on too, whatever git ignores by now.
fn remember(store: &Locked<'_>, place: &Place, put: &[&Step<'_>]) -> io::Result<()> {
    let mut index = Index::load(store, &place.identity);
    index.expect(put.iter().filter_map(|step| match step.to {
        Some(Node::File { digest, .. }) => Some((step.path, *digest)),
        _ => None,
    }));
    index.save(store, &place.identity)
}

/// The differences that are to be put back, in the order of paths.
fn wanted<'a>(differences: &[Difference<'a>], what: &What) -> Vec<Difference<'a>> {
    let What::Files(files) = what else { return differences.to_vec() };
    let chosen: HashSet<&[u8]> = files.iter().map(|file| file.as_os_str().as_bytes()).collect();
    let is_chosen = |path: &[u8]| chosen.contains(path) || above(path).any(|folder| chosen.contains(folder));
    let mut paths: HashSet<&[u8]> = HashSet::new();
    for (path, from) in moves(differences) {
        if is_chosen(path) || is_chosen(from.path) {
            paths.extend([path, from.path]);
        }
    }
    paths.extend(differences.iter().map(|it| it.path).filter(|path| is_chosen(path)));
    // Folders on the way to what comes back.
    let comes_back = |it: &&Difference<'_>| it.before.is_some() && paths.contains(it.path);
    let ways: HashSet<&[u8]> = differences.iter().filter(comes_back).flat_map(|it| above(it.path)).collect();
    let is_way = |it: &Difference<'_>| {
        it.after.is_none() && matches!(it.before, Some(Node::Folder { .. })) && ways.contains(it.path)
    };
    differences.iter().filter(|it| paths.contains(it.path) || is_way(it)).copied().collect()
}

/// What is to be done, without what stands against it and without what is as it was already.
fn steps<'a>(
    wanted: &[Difference<'a>],
    between: &HashSet<Vec<u8>>,
    current: &Kept,
    protected: Protected<'_>,
    conflicts: &mut Vec<(PathBuf, Why)>,
) -> Vec<Step<'a>> {
    let mut steps = Vec::new();
    for it in wanted {
        let at = current.entries.binary_search_by(|entry| entry.path.as_slice().cmp(it.path));
        let now = at.ok().map(|at| &current.entries[at].node);
        let not_kept = |node: Option<&Node>| match node {
            Some(Node::Left { why, .. }) => Some(*why),
            _ => None,
        };
        if same(now, it.before) {
            continue;
        }
        let against = if is_protected(it.path, protected) {
            Some(Why::Protected)
        } else if let Some(why) = not_kept(it.before).or(not_kept(it.after)).or(not_kept(now)) {
            Some(Why::NotKept(why))
        } else if between.contains(it.path) {
            Some(Why::Between)
        } else if !same(now, it.after) {
            Some(Why::Changed)
        } else {
            None
        };
        match against {
            Some(why) => conflicts.push((to_path(it.path), why)),
            None => steps.push(Step { path: it.path, from: it.after, to: it.before }),
        }
    }
    steps
}

/// What lies aside since a process was killed that was putting back. All of it was kept just now, so that its
/// removal is undone with the rest.
fn left_aside<'a>(current: &'a Kept, steps: &[Step<'_>], protected: Protected<'_>) -> Vec<Step<'a>> {
    let is_step = |path: &[u8]| steps.binary_search_by(|step| step.path.cmp(path)).is_ok();
    let is_left = |entry: &&Entry| {
        matches!(entry.node, Node::File { .. } | Node::Link { .. })
            && aside::is_left(split(&entry.path).1)
            && !is_step(&entry.path)
            && !is_protected(&entry.path, protected)
    };
    let left = current.entries.iter().filter(is_left);
    left.map(|entry| Step { path: &entry.path, from: Some(&entry.node), to: None }).collect()
}

/// Whether a path is never written: it is named, or lies below what is.
fn is_protected(path: &[u8], protected: Protected<'_>) -> bool {
    let is_named = |path: &Path| !path.as_os_str().is_empty() && protected(path);
    path.split(|byte| *byte == b'/').any(is_repository) || as_path(path).ancestors().any(is_named)
}

#[derive(Default)]
struct Outcome {
    conflicts: Vec<(PathBuf, Why)>,
    failed: HashSet<Vec<u8>>,
}

impl Outcome {
    fn note(&mut self, path: &[u8], done: Result<(), Why>) {
        if let Err(why) = done
            && self.failed.insert(path.to_vec())
        {
            self.conflicts.push((to_path(path), why));
        }
    }
}

/// What goes, from the innermost; then what comes, from the outermost; then the modes of folders, since these
/// can forbid both.
fn carry_out(
    store: &Locked<'_>,
    hands: &Hands<'_>,
    steps: &[Step<'_>],
    cancel: Cancel<'_>,
    outcome: &mut Outcome,
) {
    let may = |outcome: &Outcome, step: &Step<'_>| match outcome.failed.contains(step.path) {
        true => None,
        false => Some(if cancel() { Err(Why::Cancelled) } else { Ok(()) }),
    };
    for step in steps {
        if let Some(Node::Folder { mode }) = step.from
            && let Some(done) = may(outcome, step)
        {
            outcome.note(step.path, done.and_then(|()| hands.open_up(step.path, *mode)));
        }
    }
    for step in steps.iter().rev() {
        let stays = step.from.map(Node::kind) == step.to.map(Node::kind);
        let Some(from) = step.from.filter(|_| !stays) else { continue };
        if let Some(done) = may(outcome, step) {
            let done = done.and_then(|()| match from {
                Node::Folder { .. } => hands.remove_folder(step.path),
                node => hands.remove(step.path, node),
            });
            outcome.note(step.path, done);
        }
    }
    for step in steps {
        let Some(to) = step.to else { continue };
        let stays = step.from.map(Node::kind) == step.to.map(Node::kind);
        if let Some(done) = may(outcome, step) {
            let there = match step.from.filter(|_| stays) {
                Some(node) => There::Expected(node),
                None => There::Nothing,
            };
            let done = done.and_then(|()| match to {
                Node::Folder { .. } if stays => Ok(()),
                Node::Folder { .. } => hands.make_folder(step.path),
                Node::Link { target } => hands.make_link(step.path, target, there),
                Node::File { mode, size, digest, .. } => match store.get(digest, *size) {
                    Ok(content) => hands.make_file(step.path, &content, *mode, there),
                    Err(Missing::Damaged) => Err(Why::Damaged),
                    Err(Missing::Store(error)) => Err(Why::System(error)),
                },
                Node::Left { why, .. } => Err(Why::NotKept(*why)),
            });
            outcome.note(step.path, done);
        }
    }
    for step in steps.iter().rev() {
        match (outcome.failed.contains(step.path), step.from, step.to) {
            (false, _, Some(Node::Folder { mode })) => {
                outcome.note(step.path, hands.set_mode(step.path, *mode));
            }
            (true, Some(Node::Folder { mode }), _) => hands.close_again(step.path, *mode),
            _ => {}
        }
    }
}
