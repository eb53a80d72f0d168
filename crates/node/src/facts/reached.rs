//! Follows the paths that a command names to what they really lead to: every link, every `..` behind one,
//! every other name of the same file. Nothing is opened but folders, to see what lies in them.

use super::below::Walk;
use countersign_policy::facts::{Below, Kind, Leads, Looked, ROOT, Reached, Tree, Twin};
use countersign_policy::rules::Named;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::symlink_metadata;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// How far a look goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Depth {
    /// To the end of each path. What is read as a whole counts as harmless: for who asks how far
    /// something would reach.
    Paths,
    /// And into the folders that are read as a whole.
    Trees,
}

/// Follows everything in `named` for a command in `folder`. Blocking, bounded by what the policy names and by
/// [`Walk`]'s limits.
pub(super) fn follow(named: Named, folder: Option<&Path>, home: &Path, depth: Depth) -> Reached {
    let mut walk = Walk::new(folder, home);
    let mut reached = Reached { looked: Looked::Yes, ..Reached::default() };
    for (from, path) in named.paths {
        let known = reached.paths.entry(from.clone()).or_default();
        known.entry(path).or_insert_with_key(|path| leads(&from, path, &mut walk));
    }
    for tree in named.trees {
        let root = leads(&tree.from, &tree.root, &mut walk);
        let below = match (&root, depth) {
            (Leads::To { real, kind: Kind::Folder, .. }, Depth::Trees) => walk.below(&tree, Path::new(real)),
            (Leads::Unknown, _) => Below::Unfinished,
            // A file is judged as the path that it is, and what is not there cannot be read.
            (Leads::To { .. } | Leads::Nowhere { .. }, _) => Below::Harmless,
        };
        let from = reached.paths.entry(tree.from.clone()).or_default();
        from.entry(tree.root.clone()).or_insert(root);
        reached.trees.insert(tree, below);
    }
    reached.home = std::fs::canonicalize(home).ok().and_then(|home| home.into_os_string().into_string().ok());
    reached
}

/// What of `then` is no longer so: the path and what is different. Blocking like the look before.
pub(super) fn changed(then: &Reached, folder: &Path, home: &Path) -> Option<(PathBuf, String)> {
    if then.looked == Looked::No {
        return None;
    }
    let paths = then
        .paths
        .iter()
        .flat_map(|(from, paths)| paths.keys().map(move |path| (from.clone(), path.clone())));
    let trees: Vec<Tree> = then.trees.keys().cloned().collect();
    let named = Named { paths: paths.collect(), trees };
    let now = follow(named, Some(folder), home, Depth::Trees);
    for (from, paths) in &then.paths {
        for (path, before) in paths {
            let found = now.paths.get(from).and_then(|paths| paths.get(path)).unwrap_or(&Leads::Unknown);
            if !leads_there_still(before, found) {
                let difference = format!("expected {}, found {}", said(before), said(found));
                return Some((Path::new(from).join(path), difference));
            }
        }
    }
    now.trees.iter().find_map(|(tree, below)| match (then.trees.get(tree), below) {
        (Some(Below::Secret(_)), _) | (_, Below::Harmless | Below::Unfinished) => None,
        (Some(Below::Misread(_)), Below::Misread(_)) => None,
        (_, Below::Secret(path) | Below::Misread(path)) => {
            Some((Path::new(&tree.from).join(&tree.root), format!("expected nothing like {path} in it")))
        }
    })
}

/// What is made in its place meanwhile is still there and nowhere else.
fn leads_there_still(before: &Leads, now: &Leads) -> bool {
    let real = |leads: &Leads| match leads {
        Leads::To { real, .. } | Leads::Nowhere { real, .. } => Some(real.clone()),
        Leads::Unknown => None,
    };
    let secret = |leads: &Leads| matches!(leads, Leads::To { twin: Twin::Secret, .. });
    real(before) == real(now) && secret(before) == secret(now)
}

fn said(leads: &Leads) -> String {
    match leads {
        Leads::To { real, twin: Twin::Secret, .. } => format!("{real}, a secret under another name"),
        Leads::To { real, .. } => real.clone(),
        Leads::Nowhere { .. } => "nothing".to_owned(),
        Leads::Unknown => "what cannot be followed".to_owned(),
    }
}

/// Where `path` leads from the real folder `from`.
fn leads(from: &str, path: &str, walk: &mut Walk) -> Leads {
    match resolve(Path::new(from), Path::new(path)) {
        End::There { real, of: Some(meta) } => {
            let kind = match () {
                () if meta.is_file() => Kind::File,
                () if meta.is_dir() => Kind::Folder,
                () => Kind::Other,
            };
            let twin = match kind {
                Kind::File if super::git::tells_a_password(&real) => Twin::Secret,
                Kind::File if meta.nlink() > 1 => walk.twin(meta.dev(), meta.ino()),
                Kind::File | Kind::Folder | Kind::Other => Twin::None,
            };
            text(real).map_or(Leads::Unknown, |real| Leads::To { real, kind, twin })
        }
        End::There { real, of: None } => {
            text(real).map_or(Leads::Unknown, |real| Leads::To { real, kind: Kind::Other, twin: Twin::None })
        }
        End::Nowhere { last, rest } => match (text(last.join(rest)), text(last)) {
            (Some(real), Some(last)) => Leads::Nowhere { last, real },
            _ => Leads::Unknown,
        },
        End::Unknown => Leads::Unknown,
    }
}

fn text(path: PathBuf) -> Option<String> {
    path.into_os_string().into_string().ok()
}

/// Where a path ends.
pub(super) enum End {
    /// Here. Inside a process of `/proc`, where every process sees something else, nothing is looked at.
    There { real: PathBuf, of: Option<std::fs::Metadata> },
    /// Behind this folder nothing of it is there.
    Nowhere { last: PathBuf, rest: PathBuf },
    /// Nobody knows.
    Unknown,
}

/// Follows `path` from the real folder `from`, as the kernel would.
pub(super) fn resolve(from: &Path, path: &Path) -> End {
    if path.as_os_str().as_bytes().contains(&0) {
        return End::Nowhere { last: from.to_owned(), rest: PathBuf::new() };
    }
    let mut real = if path.is_absolute() { PathBuf::from(ROOT) } else { from.to_owned() };
    let mut rest: VecDeque<OsString> = parts(path).collect();
    let mut here = None;
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        if part == "." {
            continue;
        }
        if part == ".." {
            real.pop();
            here = None;
            continue;
        }
        if real == Path::new(PROC) && is_process(&part) && !rest.is_empty() {
            // Somebody else's eyes: what is behind this is told by its name alone.
            real.push(part);
            real.extend(rest);
            return End::There { real, of: None };
        }
        let next = real.join(&part);
        let meta = match symlink_metadata(&next) {
            Ok(meta) => meta,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => {
                        let rest = std::iter::once(part).chain(rest).collect();
                        End::Nowhere { last: real, rest }
                    }
                    _ => End::Unknown,
                };
            }
        };
        if real == Path::new(PROC) && is_process(&part) {
            return End::There { real: next, of: Some(meta).filter(std::fs::Metadata::is_dir) };
        }
        if meta.is_symlink() {
            links += 1;
            let Ok(target) = std::fs::read_link(&next) else { return End::Unknown };
            if links > LINKS {
                return End::Unknown;
            }
            if target.is_absolute() {
                real = PathBuf::from(ROOT);
            }
            for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
                rest.push_front(part);
            }
            here = None;
            continue;
        }
        real = next;
        here = Some(meta);
    }
    match here.map_or_else(|| symlink_metadata(&real), Ok) {
        Ok(meta) => End::There { real, of: Some(meta) },
        Err(_) => End::Unknown,
    }
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(part) => Some(part.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    })
}

fn is_process(part: &OsStr) -> bool {
    part == "self" || part == "thread-self" || part.as_bytes().iter().all(u8::is_ascii_digit)
}

const PROC: &str = "/proc";

/// Links that the kernel follows on one path.
const LINKS: usize = 40;

#[cfg(test)]
mod tests;
