//! Caches of package managers: what a boxed run changes in them stays with its workspace.
//!
//! The kernel lays a folder of the workspace's own over the person's cache, in a name space made before bubblewrap's. Two such
//! layers must not be used at the same time, so a run beside another gets one that is gone with it. Where no layers can be made
//! the folder of the workspace takes the cache's place: what the person has is not seen then, and not changed either.

use super::super::layout::Layer;
use super::machine::Machine;
use super::{Grounds, lists};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The caches of a run. Dropping it gives the layers back.
#[derive(Debug)]
pub(super) struct Caches {
    /// Where each is seen, and the folder of ours that is seen there.
    pub(super) mounted: Vec<(PathBuf, PathBuf)>,
    /// Caches that the person does not have: links to places in [`MADE`].
    pub(super) linked: Vec<(PathBuf, PathBuf)>,
    /// Layers that have to be made before.
    pub(super) layers: Vec<Layer>,
    /// Layers of the run's own. They end before its folder does, which tells whether they are in use.
    passing: Vec<PathBuf>,
    /// What ends with the run.
    run: Passing,
    /// The layers of the workspace are in use as long as this is open.
    _lock: OwnedFd,
}

/// A folder of ours in a workspace's own that ends with this value. What is left of one that was killed goes with a later run.
#[derive(Debug)]
pub(crate) struct Passing {
    path: PathBuf,
    name: String,
    _lock: OwnedFd,
}

impl Passing {
    /// Makes one in `own`. Blocking.
    pub(crate) fn new(own: &Path) -> io::Result<Self> {
        folder(own)?;
        for _ in 0..TRIES {
            let name = format!("{PASSING}{}", Uuid::new_v4().simple());
            let path = own.join(&name);
            folder(&path)?;
            // Until it is locked whoever cleans up may take it for left.
            match locked(&path) {
                Ok((lock, true)) if is_at(&path, &lock) => return Ok(Self { path, name, _lock: lock }),
                Ok(_) => drop(fs::remove_dir(&path)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Whether a path leads to what is open.
fn is_at(path: &Path, opened: &OwnedFd) -> bool {
    let identity = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
    let (there, this) = (rustix::fs::stat(path).map(identity), rustix::fs::fstat(opened).map(identity));
    this.is_ok() && there == this
}

/// What can be laid over what.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Means {
    /// The kernel's layers.
    Layers,
    /// Only whole folders.
    Folders,
}

/// The person's caches that the list names and that are there, by their real paths.
pub(super) fn known(grounds: &Grounds) -> Vec<PathBuf> {
    lists::caches().filter_map(|name| fs::canonicalize(grounds.home.join(name)).ok()).collect()
}

/// A layer that is tried and removed again, in `trial`.
pub(in super::super) fn trial_layer(trial: &Path) -> io::Result<Layer> {
    let [below, upper, work, merged] = ["below", "upper", "work", "merged"].map(|name| trial.join(name));
    [&below, &upper, &work, &merged].into_iter().try_for_each(|path| folder(path))?;
    Ok(layer(&[&below], &upper, &work, &merged))
}

fn layer(below: &[&Path], upper: &Path, work: &Path, merged: &Path) -> Layer {
    Layer {
        below: below.iter().map(OsString::from).collect(),
        upper: upper.into(),
        work: work.into(),
        merged: merged.into(),
    }
}

impl Caches {
    /// Prepares the folders. Blocking.
    pub(super) fn prepare(
        own: &Path,
        grounds: &Grounds,
        machine: &Machine,
        means: Means,
    ) -> io::Result<Self> {
        folder(own)?;
        let (lock, alone) = locked(own)?;
        if alone {
            left(own);
        }
        let run = Passing::new(own)?;
        let made = own.join("made");
        folder(&made)?;
        let mut caches = Self {
            mounted: vec![(MADE.into(), made.clone())],
            linked: Vec::new(),
            layers: Vec::new(),
            passing: Vec::new(),
            run,
            _lock: lock,
        };
        let home = fs::canonicalize(&grounds.home).unwrap_or_else(|_| grounds.home.clone());
        for name in lists::caches() {
            let named = home.join(name);
            let slug = name.replace('/', "+");
            if !exists(&named) {
                // A place for it can be made where everything is made anew.
                let nearest = named.ancestors().skip(1).find(|above| exists(above));
                if nearest.is_some_and(|above| machine.is_made(above)) {
                    folder(&made.join(&slug))?;
                    caches.linked.push((named, Path::new(MADE).join(slug)));
                }
                continue;
            }
            let theirs = fs::canonicalize(&named).ok().filter(|path| path.is_dir() && machine.shows(path));
            let Some(theirs) = theirs else { continue };
            let ours = own.join(slug);
            let upper = ours.join("upper");
            folder(&upper)?;
            let plain =
                |path: &Path| path.to_str().is_some_and(|path| !path.contains([',', ':', '\\', '"', '\n']));
            if means == Means::Folders || !plain(own) || !plain(&theirs) {
                caches.mounted.push((theirs, upper));
                continue;
            }
            let merged = ours.join("merged");
            folder(&merged)?;
            caches.layers.push(if alone {
                let work = ours.join("work");
                folder(&work)?;
                layer(&[&theirs], &upper, &work, &merged)
            } else {
                let passing = ours.join(&caches.run.name);
                let (top, work) = (passing.join("upper"), passing.join("work"));
                folder(&top)?;
                folder(&work)?;
                caches.passing.push(passing);
                layer(&[&upper, &theirs], &top, &work, &merged)
            });
            caches.mounted.push((theirs, merged));
        }
        Ok(caches)
    }

    /// A folder that ends with the run.
    pub(super) fn passes(&self) -> &Path {
        self.run.path()
    }
}

impl Drop for Caches {
    fn drop(&mut self) {
        for passing in &self.passing {
            remove(passing);
        }
    }
}

/// Makes a folder for its owner alone, where there is none.
pub(in super::super) fn folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Opens a folder and locks it, if nobody else has. Whether it did.
fn locked(path: &Path) -> io::Result<(OwnedFd, bool)> {
    let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, how, Mode::empty())?;
    let alone = flock(&opened, FlockOperation::NonBlockingLockExclusive).is_ok();
    Ok((opened, alone))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Removes what runs left that could not clean up.
fn left(own: &Path) {
    let is_passing =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PASSING));
    let (runs, caches): (Vec<PathBuf>, Vec<PathBuf>) = entries(own).into_iter().partition(is_passing);
    for run in runs {
        // Locked until it is gone: nobody begins to use it meanwhile.
        if let Ok((_lock, true)) = locked(&run) {
            remove(&run);
        }
    }
    // A run has its folder before it has layers, and longer.
    let is_used = |layer: &PathBuf| {
        let run = layer.file_name().map(|name| own.join(name));
        run.is_some_and(|run| locked(&run).is_ok_and(|(_, alone)| !alone))
    };
    for layer in caches.iter().flat_map(|cache| entries(cache)).filter(is_passing) {
        if !is_used(&layer) {
            remove(&layer);
        }
    }
}

pub(in super::super) fn remove(passing: &Path) {
    // The kernel closes its own folder to everybody.
    let closed = passing.join("work/work");
    if exists(&closed) {
        let _ = fs::set_permissions(&closed, fs::Permissions::from_mode(0o700));
    }
    if let Err(error) = fs::remove_dir_all(passing) {
        tracing::debug!(%error, "a layer of a cache stays behind");
    }
}

/// Where caches are that the person does not have: one mount for all of them.
const MADE: &str = "/run/countersign/caches";

/// How folders that end with a run begin.
const PASSING: &str = "run-";

/// Names that are tried for one folder.
const TRIES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn nobody_cleans_up_what_is_just_being_made() {
        let own = tempfile::tempdir().unwrap();
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    left(own.path());
                }
            });
            for _ in 0..1_000 {
                let passing = Passing::new(own.path()).unwrap();
                let layer = own.path().join("cache").join(&passing.name);
                folder(&layer).unwrap();
                fs::write(passing.path().join("gate"), "").unwrap();
                fs::write(layer.join("upper"), "").unwrap();
                remove(&layer);
            }
            done.store(true, Ordering::Relaxed);
        });
        left(own.path());
        assert_eq!(entries(own.path()), [own.path().join("cache")]);
    }

    #[test]
    fn what_a_killed_run_left_goes_and_what_is_used_or_kept_stays() {
        let own = tempfile::tempdir().unwrap();
        let used = Passing::new(own.path()).unwrap();
        let at = |path: &str| own.path().join(path);
        let stays = [used.path().to_owned(), at("cache/upper"), at("cache").join(&used.name), at("made")];
        let goes = [at("run-1/gate"), at("run-1/work/work"), at("cache/run-1/upper")];
        stays.iter().chain(&goes).for_each(|path| folder(path).unwrap());
        left(own.path());
        assert!(stays.iter().all(|path| path.exists()));
        assert!(!at("run-1").exists() && !at("cache/run-1").exists());
        drop(used);
        assert_eq!(entries(own.path()).len(), 2);
    }
}
