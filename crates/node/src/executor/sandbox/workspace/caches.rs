//! Caches of package managers: what a boxed run changes in them stays with its workspace.
//!
//! The kernel lays a folder of the workspace's own over the person's cache, in a name space made before
//! bubblewrap's. Two such layers must not be used at the same time, so a run beside another gets one that is
//! gone with it. Where no layers can be made the folder of the workspace takes the cache's place: what the
//! person has is not seen then, and not changed either.

use super::super::layout::Layer;
use super::machine::Machine;
use super::passing::{Passing, folder, left, locked, remove};
use super::{Grounds, lists};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

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
                let passing = ours.join(caches.run.name());
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

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Where caches are that the person does not have: one mount for all of them.
const MADE: &str = "/run/countersign/caches";
