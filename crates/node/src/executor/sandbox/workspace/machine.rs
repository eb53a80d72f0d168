//! What a box shows of the machine: all of it to read, but what is hidden.
//!
//! A mount over a file goes away when somebody outside puts another file in its place, as programs do that
//! save settings. So the home, and every folder of it that holds a hidden file, is made anew: an empty folder
//! with what is shown of it. What is not put there is not there, whatever happens outside. Hidden folders
//! elsewhere are covered.

use super::lists::{self, HIDDEN};
use super::{Grounds, Mount, READABLE, Wall, Workspace};
use rustix::fs::Access;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What is hidden, as real paths, and the folders that are made anew for it.
#[derive(Debug, Default)]
pub(super) struct Machine {
    home: PathBuf,
    hidden: BTreeSet<PathBuf>,
    frames: BTreeSet<PathBuf>,
    shown: Vec<PathBuf>,
}

impl Machine {
    /// Looks at the machine. Blocking. `caches` are covered by folders of the workspace's own.
    pub(super) fn look(workspace: &Workspace, grounds: &Grounds, caches: &[PathBuf]) -> Self {
        let home = fs::canonicalize(&grounds.home).unwrap_or_else(|_| grounds.home.clone());
        let mut found: Vec<PathBuf> = Vec::new();
        if workspace.stands(Wall::Hidden) {
            found.extend(HIDDEN.of_home.iter().flat_map(|parts| lists::existing(&home, parts)));
            found.extend(HIDDEN.of_machine.iter().flat_map(|parts| lists::existing(Path::new("/"), parts)));
            found.extend(homes());
            found.extend(grounds.private.iter().chain(&workspace.hidden).cloned());
            found.extend([grounds.openclaw.clone(), workspace.caches.clone()]);
        }
        // Behind a link lies what is meant.
        let real = found.iter().filter_map(|path| fs::canonicalize(path).ok());
        let all: BTreeSet<PathBuf> = real.chain(found.iter().cloned()).collect();
        let is_shown = |path: &Path| workspace.shown.iter().any(|shown| path.starts_with(shown));
        let holds_what_is_needed = |path: &Path| home.starts_with(path) || path == Path::new("/");
        let hidden: BTreeSet<PathBuf> = all
            .into_iter()
            .filter(|path| path.is_absolute() && !is_shown(path) && !holds_what_is_needed(path))
            .collect();
        let outermost = |path: &Path| !path.ancestors().skip(1).any(|above| hidden.contains(above));
        let hidden: BTreeSet<PathBuf> = hidden.iter().filter(|path| outermost(path)).cloned().collect();
        let mut frames = BTreeSet::new();
        if fs::metadata(&home).is_ok_and(|home| home.is_dir()) {
            frames.insert(home.clone());
        }
        for path in hidden.iter().filter(|path| path.starts_with(&home) && !is_folder(path)) {
            let in_cache = caches.iter().any(|cache| path.starts_with(cache));
            let parent = path.parent().filter(|parent| !in_cache && !parent.starts_with(&workspace.folder));
            frames.extend(parent.map(Path::to_owned));
        }
        let shown = workspace.shown.iter().filter(|path| path.exists()).cloned().collect();
        let mut machine = Self { home, hidden, frames, shown };
        if workspace.stands(Wall::Caches) {
            machine.make_room(&workspace.folder, caches);
        }
        machine
    }

    /// Has folders be made anew that hold no cache of a kind yet, but others' things: nothing can be put into
    /// what is only shown.
    fn make_room(&mut self, workspace: &Path, caches: &[PathBuf]) {
        for name in lists::caches() {
            let missing = self.home.join(name);
            let mut above = missing.ancestors().skip(1).take_while(|above| *above != self.home);
            if missing.symlink_metadata().is_ok() {
                continue;
            }
            let Some(folder) = above.find(|above| above.symlink_metadata().is_ok()) else { continue };
            let is_plain = fs::canonicalize(folder).is_ok_and(|real| real == *folder) && folder.is_dir();
            let is_taken =
                folder.starts_with(workspace) || caches.iter().any(|cache| folder.starts_with(cache));
            if is_plain && !is_taken && self.shows(folder) {
                self.frames.insert(folder.to_owned());
            }
        }
    }

    /// Whether a path outside of the workspace is in the box as it is here, unless it is in a folder
    /// of the box's own.
    pub(super) fn shows(&self, path: &Path) -> bool {
        let hidden = path.ancestors().any(|above| self.hidden.contains(above));
        let open = self.shown.iter().any(|shown| path.starts_with(shown));
        (!hidden || open) && (path.starts_with(&self.home) || !OWN.iter().any(|own| path.starts_with(own)))
    }

    /// Whether a folder is made anew, so that anything can be put into it.
    pub(super) fn is_made(&self, folder: &Path) -> bool {
        self.frames.contains(folder)
    }

    /// The machine without what is hidden. The folders of the box's own come after it, then [`Self::home`].
    pub(super) fn system(&self) -> Vec<Mount> {
        let mut mounts = Vec::new();
        let mut names: Vec<PathBuf> =
            fs::read_dir("/").into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        names.sort();
        for path in names.into_iter().filter(|path| !OWN.iter().any(|own| path == Path::new(own))) {
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => mounts.extend(link(path)),
                Ok(found) if found.is_dir() && !self.hidden.contains(&path) => {
                    mounts.push(Mount::Machine(path))
                }
                _ => {}
            }
        }
        mounts
    }

    /// The home and everything else that is hidden or shown by its own path.
    pub(super) fn places(&self, workspace: &Path) -> Vec<Mount> {
        let mut mounts = Vec::new();
        let homes = Path::new(HOMES);
        if self.home.starts_with(homes) && self.home != homes {
            mounts.push(Mount::Frame(homes.to_owned()));
        }
        for frame in &self.frames {
            mounts.push(Mount::Frame(frame.clone()));
            let mut entries: Vec<PathBuf> =
                fs::read_dir(frame).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            entries.sort();
            mounts.extend(entries.into_iter().filter_map(|path| self.entry(path)));
        }
        for path in &self.hidden {
            let in_frame = path.parent().is_some_and(|parent| self.frames.contains(parent));
            let top = path.parent() == Some(Path::new("/"));
            let own = OWN.iter().any(|own| path.starts_with(own)) && !path.starts_with(&self.home);
            let beside =
                self.home.starts_with(homes) && path.starts_with(homes) && !path.starts_with(&self.home);
            if in_frame || top || own || beside || path.starts_with(workspace) || path.is_symlink() {
                continue;
            }
            if !path.starts_with(&self.home) && !is_reachable(path) {
                continue;
            }
            if is_folder(path) {
                mounts.push(Mount::Empty(path.clone()));
            } else if path.exists() {
                mounts.push(Mount::Nothing(path.clone()));
            }
        }
        mounts.extend(HIDDEN.shown.iter().map(|path| Mount::Machine(path.into())));
        mounts.extend(self.shown.iter().map(|path| Mount::Machine(path.clone())));
        mounts
    }

    /// What is shown of an entry of a folder that is made anew.
    fn entry(&self, path: PathBuf) -> Option<Mount> {
        if self.hidden.contains(&path) || self.frames.contains(&path) {
            return None;
        }
        let found = fs::symlink_metadata(&path).ok()?;
        if found.is_symlink() {
            return link(path);
        }
        if found.is_dir() {
            return Some(Mount::Machine(path));
        }
        if !found.is_file() {
            return None;
        }
        // A mount costs more than a few kilobytes do.
        if found.len() > COPIED_BYTES {
            return Some(Mount::Machine(path));
        }
        fs::read(&path).ok().map(|content| Mount::Copy { content, at: path, mode: READABLE })
    }
}

fn link(path: PathBuf) -> Option<Mount> {
    let target = fs::read_link(&path).ok()?;
    Some(Mount::Link { target, at: path })
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Whether this user could read anything there. A mount is spared where the system keeps it out anyway.
fn is_reachable(path: &Path) -> bool {
    let can = |how| rustix::fs::access(path, how).is_ok();
    can(Access::READ_OK) || (is_folder(path) && can(Access::EXEC_OK))
}

/// Where users live, as the machine's own list of them says.
fn homes() -> Vec<PathBuf> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let named = users.lines().filter_map(|line| {
        let mut fields = line.split(':').skip(2);
        let user: u32 = fields.next()?.parse().ok()?;
        let home = fields.nth(2)?;
        let person = user == 0 || (FIRST_PERSON..LAST_PERSON).contains(&user);
        (person && Path::new(home).components().count() > 1).then(|| PathBuf::from(home))
    });
    let beside = fs::read_dir(HOMES).into_iter().flatten().flatten().map(|entry| entry.path());
    named.filter(|home| !SYSTEM.iter().any(|system| home.starts_with(system))).chain(beside).collect()
}

/// Folders of the box's own.
pub(super) const OWN: &[&str] = &["/dev", "/proc", "/run", "/sys", "/tmp", "/var/tmp"];

/// Where nobody lives, whatever a list of users says.
const SYSTEM: &[&str] = &["/bin", "/etc", "/lib", "/sbin", "/usr", "/nix"];

/// Whose children are homes.
const HOMES: &str = "/home";

/// Numbers of users that are people.
const FIRST_PERSON: u32 = 1_000;
const LAST_PERSON: u32 = 65_000;

/// Largest file that is copied instead of mounted, in bytes.
const COPIED_BYTES: u64 = 32 * 1_024;
