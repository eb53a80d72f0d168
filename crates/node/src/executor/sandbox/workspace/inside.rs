//! What of a workspace is not its own: the settings that other programs run things by, git's above all, and
//! the secrets that lie in it.
//!
//! A mount point cannot be renamed, removed or written over; a folder that only holds one can be moved away.
//! So everything protected is mounted onto itself, and so is every folder on the way to it and to what
//! a person hid. Secrets that are found by their names are found again by these.

use super::lists::{HIDDEN, PROTECTED, Secrecy};
use super::{Mount, Wall, Workspace, remembered};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// What was found in a workspace, by real paths.
#[derive(Debug, Default)]
pub(super) struct Inside {
    /// In this order what holds something comes before it.
    places: BTreeMap<PathBuf, Place>,
    /// Names that must neither appear nor change, by the folder that they are in.
    pub(super) watched: BTreeMap<PathBuf, Vec<OsString>>,
    /// Entries that were looked at.
    looks: usize,
}

/// What becomes of a path. What is stricter comes later.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Place {
    /// On the way to something: writable, but not to be moved.
    Passage,
    /// Not to be written.
    Fixed,
    /// Not to be seen.
    Hidden,
}

impl Inside {
    /// Looks through the workspace. Blocking, bounded by the constants below: what lies deeper than that, or
    /// behind that many entries, is content like any other. What a person hid is found wherever it is, or the
    /// look is an error.
    pub(super) fn look(workspace: &Workspace) -> io::Result<Self> {
        let mut inside = Self::default();
        inside.linked(&workspace.folder);
        // Another folder that a person opened for writing is like this one, for whoever works there.
        let others = workspace.writable.iter().filter(|path| path.is_dir());
        let tops: Vec<&Path> =
            std::iter::once(&workspace.folder).chain(others).map(PathBuf::as_path).collect();
        for path in remembered::places(workspace, &tops)? {
            for top in tops.iter().filter(|top| path.starts_with(top)) {
                inside.place(top, &path, Place::Hidden);
                inside.hold(top, &path);
            }
        }
        for top in tops {
            let names = PROTECTED.top.iter().copied().chain([".git"]);
            inside.watch(top, names.clone());
            for name in names.filter(|name| *name != ".git") {
                inside.place(top, &top.join(name), Place::Fixed);
            }
            inside.search(top);
        }
        let is_shown = |path: &Path| workspace.shown.iter().any(|shown| path.starts_with(shown));
        inside.places.retain(|path, place| *place != Place::Hidden || !is_shown(path));
        if !workspace.stands(Wall::Secrets) {
            inside.places.retain(|_, place| *place != Place::Hidden);
        }
        if !workspace.stands(Wall::Protected) {
            inside.places.retain(|_, place| *place == Place::Hidden);
        }
        if !workspace.stands(Wall::Passages) {
            inside.places.retain(|_, place| *place != Place::Passage);
        }
        Ok(inside)
    }

    /// Mounts for all that was found. What is a link by now, or gone, has none: it is only watched.
    pub(super) fn mounts(&self) -> Vec<Mount> {
        let is_below_fixed = |path: &Path| {
            path.ancestors()
                .skip(1)
                .any(|above| self.places.get(above).is_some_and(|place| *place != Place::Passage))
        };
        let mut mounts = Vec::new();
        for (path, place) in &self.places {
            match place {
                Place::Hidden => match fs::symlink_metadata(path) {
                    Ok(found) if found.is_dir() => mounts.push(Mount::Empty(path.clone())),
                    Ok(found) if !found.is_symlink() => mounts.push(Mount::Nothing(path.clone())),
                    _ => {}
                },
                Place::Passage | Place::Fixed if is_below_fixed(path) => {}
                Place::Passage | Place::Fixed => {
                    if let Ok(file) = open(path) {
                        let writable = *place == Place::Passage;
                        mounts.push(Mount::Opened { file, at: path.clone(), writable });
                    }
                }
            }
        }
        mounts
    }

    fn place(&mut self, top: &Path, path: &Path, place: Place) {
        match path.symlink_metadata() {
            Ok(found) if found.is_symlink() => {
                // The link itself is only watched; what it leads to must not change either.
                let real = fs::canonicalize(path).ok().filter(|real| real.starts_with(top) && real != top);
                if let Some(real) = real {
                    self.place(top, &real, place);
                }
                return;
            }
            Ok(_) => {}
            Err(_) => return,
        }
        if place != Place::Hidden {
            for above in way(top, path) {
                self.places.entry(above.to_owned()).or_insert(Place::Passage);
            }
        }
        let known = self.places.entry(path.to_owned()).or_insert(place);
        *known = (*known).max(place);
    }

    /// Has the way to something stay where it is: a box cannot move it, and ends when others did.
    fn hold(&mut self, top: &Path, path: &Path) {
        for above in way(top, path) {
            self.places.entry(above.to_owned()).or_insert(Place::Passage);
        }
        for part in std::iter::once(path).chain(way(top, path)) {
            if let (Some(folder), Some(name)) = (part.parent(), part.file_name()) {
                self.watch(folder, [name].into_iter());
            }
        }
    }

    fn watch<'a, Name: AsRef<OsStr> + ?Sized + 'a>(
        &mut self,
        folder: &Path,
        names: impl Iterator<Item = &'a Name>,
    ) {
        if self.watched.len() < MOST_WATCHED {
            self.watched.entry(folder.to_owned()).or_default().extend(names.map(OsString::from));
        }
    }

    /// Repositories and secrets, folder by folder, what is nearest to the top first.
    fn search(&mut self, top: &Path) {
        let mut folders = VecDeque::from([(top.to_owned(), 0)]);
        while let Some((folder, depth)) = folders.pop_front() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                self.looks += 1;
                if self.looks > MOST_LOOKS {
                    return;
                }
                let (name, path) = (entry.file_name(), entry.path());
                let Ok(kind) = entry.file_type() else { continue };
                if name == ".git" {
                    if folder != top {
                        self.watch(&folder, [".git"].into_iter());
                    }
                    if kind.is_dir() {
                        self.repository(top, &path, 0);
                    } else if kind.is_file() {
                        self.place(top, &path, Place::Fixed);
                    }
                } else if kind.is_dir() {
                    if depth < DEEPEST && !PASSED_BY.iter().any(|passed| name == *passed) {
                        folders.push_back((path, depth + 1));
                    }
                } else {
                    self.secret(top, &path);
                }
            }
        }
    }

    fn secret(&mut self, top: &Path, path: &Path) {
        let name = path.file_name().unwrap_or_default();
        let is_secret = match HIDDEN.secrecy(name) {
            Secrecy::Plain => false,
            Secrecy::Secret => true,
            Secrecy::IfKey => holds_key(path),
        };
        if is_secret {
            self.place(top, path, Place::Hidden);
            if let Some(folder) = path.parent() {
                self.watch(folder, [name].into_iter());
            }
        }
    }

    /// A repository's own folder, with those of its submodules and further work trees.
    fn repository(&mut self, top: &Path, folder: &Path, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        self.place(top, folder, Place::Passage);
        self.watch(folder, PROTECTED.git.iter().copied());
        for name in &PROTECTED.git {
            self.place(top, &folder.join(name), Place::Fixed);
        }
        if let Some(hooks) = hooks(folder).filter(|hooks| hooks.starts_with(top) && hooks != top) {
            self.place(top, &hooks, Place::Fixed);
        }
        self.modules(top, &folder.join("modules"), depth + 1);
        let trees = folder.join("worktrees");
        for tree in folders(&trees) {
            self.place(top, &trees, Place::Passage);
            match back(&tree) {
                Some(dot) if dot.starts_with(top) => self.repository(top, &tree, depth + 1),
                _ => self.place(top, &tree, Place::Fixed),
            }
        }
    }

    /// Submodules' repositories, whose names may have folders in them.
    fn modules(&mut self, top: &Path, folder: &Path, depth: usize) {
        for module in folders(folder) {
            self.looks += 1;
            if self.looks > MOST_LOOKS || depth > DEEPEST {
                return;
            }
            self.place(top, folder, Place::Passage);
            match module.join("HEAD").exists() {
                true => self.repository(top, &module, depth),
                false => self.modules(top, &module, depth + 1),
            }
        }
    }

    /// The repository elsewhere that a `.git` file at the top names. It must name this workspace in return:
    /// else whoever wrote the file would choose what is opened.
    fn linked(&mut self, top: &Path) {
        let dot = top.join(".git");
        let Some(own) = named(&dot, "gitdir: ") else { return };
        let shared = named(&own.join("commondir"), "");
        let brought = match shared {
            Some(shared) => {
                let belongs =
                    own.parent() == Some(&shared.join("worktrees")) && back(&own).as_ref() == Some(&dot);
                belongs.then_some(shared)
            }
            None => {
                let text = fs::read_to_string(own.join("config")).unwrap_or_default();
                let tree = setting(&text, "worktree").map(|tree| own.join(tree));
                let belongs = tree.and_then(|tree| fs::canonicalize(tree).ok()).as_deref() == Some(top);
                belongs.then(|| own.clone())
            }
        };
        let is_repository =
            |folder: &Path| ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).exists());
        let brought = brought.filter(|folder| is_repository(folder) && !top.starts_with(folder));
        if let Some(brought) = brought.filter(|folder| !folder.starts_with(top)) {
            self.repository(top, &brought, 0);
            // The further work tree that this is.
            self.repository(top, &own, 0);
        }
    }
}

/// The folders that lead from a top to a path, the nearest first.
fn way<'a>(top: &'a Path, path: &'a Path) -> impl Iterator<Item = &'a Path> {
    path.ancestors().skip(1).take_while(move |above| *above != top && above.starts_with(top))
}

/// A path without links in it, opened to be mounted.
pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    let how = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat2(CWD, path, how, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .take(MOST_WATCHED)
        .collect();
    found.sort();
    found
}

/// The `.git` file of a further work tree, as its repository knows it.
fn back(tree: &Path) -> Option<PathBuf> {
    let dot = start(&tree.join("gitdir")).ok()?;
    let dot = tree.join(dot.trim_end_matches(['\r', '\n']));
    Some(fs::canonicalize(dot.parent()?).ok()?.join(dot.file_name()?))
}

/// The real path of what a file of one line names, from the folder that the file is in.
fn named(file: &Path, before: &str) -> Option<PathBuf> {
    if !file.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let text = start(file).ok()?;
    let name = text.strip_prefix(before)?.trim_end_matches(['\r', '\n']);
    fs::canonicalize(file.parent()?.join(name)).ok()
}

/// Where a repository's hooks are, when its settings say so and they are in its work tree.
fn hooks(folder: &Path) -> Option<PathBuf> {
    let text = start(&folder.join("config")).ok()?;
    let named = setting(&text, "hookspath")?;
    fs::canonicalize(folder.parent()?.join(named)).ok()
}

/// The last value of a setting, whatever section it is in.
fn setting<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut values = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then_some(value.trim().trim_matches('"'))
    });
    values.next_back()
}

fn holds_key(path: &Path) -> bool {
    start(path).is_ok_and(|text| text.contains("PRIVATE KEY"))
}

/// The beginning of a file.
fn start(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let how = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, how, Mode::empty())?;
    File::from(file).take(START_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Folders that hold thousands of others' files.
const PASSED_BY: &[&str] = &["node_modules", "target", ".venv", "venv", "__pycache__", ".tox", ".cache"];

/// Entries looked at, at most.
const MOST_LOOKS: usize = 20_000;

/// Folders below each other.
const DEEPEST: usize = 12;

/// Folders that are watched, at most.
const MOST_WATCHED: usize = 256;

/// Most that is read of a file, in bytes.
const START_BYTES: u64 = 16 * 1_024;
