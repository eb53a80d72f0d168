//! Folders of ours that end with what they are for, also when whoever made them is killed.

use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// A folder of ours in a workspace's own that ends with this value. What is left of one that was killed goes
/// with a later run, or when the app starts.
#[derive(Debug)]
pub(crate) struct Passing {
    path: PathBuf,
    name: String,
    _lock: OwnedFd,
}

impl Passing {
    /// Makes one in `own` for a run. Blocking.
    pub(crate) fn new(own: &Path) -> io::Result<Self> {
        Self::begins(own, RUN)
    }

    /// Makes one in `own` for many runs. Blocking.
    pub(super) fn shared(own: &Path) -> io::Result<Self> {
        Self::begins(own, SHARED)
    }

    fn begins(own: &Path, with: &str) -> io::Result<Self> {
        folder(own)?;
        for _ in 0..TRIES {
            let name = format!("{with}{}", Uuid::new_v4().simple());
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

    pub(super) fn name(&self) -> &str {
        &self.name
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

/// Makes a folder for its owner alone, where there is none.
pub(in super::super) fn folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Opens a folder and locks it, if nobody else has. Whether it did.
pub(super) fn locked(path: &Path) -> io::Result<(OwnedFd, bool)> {
    let opened = rustix::fs::open(path, FOLDER, Mode::empty())?;
    let alone = flock(&opened, FlockOperation::NonBlockingLockExclusive).is_ok();
    Ok((opened, alone))
}

/// Removes what nobody uses any more of all workspaces' own folders, which are in `boxes`. Blocking.
pub(crate) fn tidy(boxes: &Path) {
    for own in entries(boxes) {
        if let Ok((_lock, true)) = locked(&own) {
            left(&own);
        }
    }
}

/// Removes what runs left that could not clean up.
pub(super) fn left(own: &Path) {
    let is_passing = |path: &PathBuf| {
        let name = path.file_name().map(OsStr::to_string_lossy);
        name.is_some_and(|name| [RUN, SHARED].iter().any(|begin| name.starts_with(begin)))
    };
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

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Removes a folder with everything in it, as far as it can.
pub(in super::super) fn remove(path: &Path) {
    match removed(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::debug!(%error, "a folder of a box stays behind");
        }
        _ => {}
    }
}

/// Whoever ran in a box made what is in it: folders that are closed to their owner, or one in the other until
/// no stack is deep enough. So every folder is opened for its owner and emptied, and the folders in it are
/// moved up to be the next.
fn removed(path: &Path) -> io::Result<()> {
    let Some((above, name)) = path.parent().zip(path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let above = rustix::fs::open(above, FOLDER, Mode::empty())?;
    let top = opened(&above, name)?;
    let mut next = Vec::new();
    emptied(&top, |name| {
        next.push(name.to_owned());
        Ok(())
    })?;
    // Nothing in it is called like that.
    let new = Uuid::new_v4().simple();
    let mut count = 0_u64;
    while let Some(name) = next.pop() {
        let folder = opened(&top, &name)?;
        emptied(&folder, |inner| {
            // To the kernel, to move a folder is to write to it.
            drop(opened(&folder, inner)?);
            let place = OsString::from(format!("{new}-{count}"));
            count += 1;
            rustix::fs::renameat(&folder, inner, &top, &place)?;
            next.push(place);
            Ok(())
        })?;
        rustix::fs::unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
    }
    Ok(rustix::fs::unlinkat(&above, name, AtFlags::REMOVEDIR)?)
}

/// A folder in another one, opened for its owner. Nobody swaps it meanwhile: what ran there has ended.
fn opened(above: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let found = rustix::fs::statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if !FileType::from_raw_mode(found.st_mode).is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    if !Mode::from_raw_mode(found.st_mode).contains(Mode::RWXU) {
        rustix::fs::chmodat(above, name, Mode::RWXU, AtFlags::empty())?;
    }
    Ok(rustix::fs::openat(above, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Removes what is in a folder, but the folders there, which `each` gets by their names.
fn emptied(folder: &OwnedFd, mut each: impl FnMut(&OsStr) -> io::Result<()>) -> io::Result<()> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) => {}
            Err(Errno::ISDIR | Errno::PERM) => each(name)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// How folders begin that end with a run.
const RUN: &str = "run-";

/// How folders begin that many runs share.
const SHARED: &str = "shared-";

/// Names that are tried for one folder.
const TRIES: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::os::unix::fs::{PermissionsExt as _, symlink};
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
        let boxes = tempfile::tempdir().unwrap();
        let own = boxes.path().join("one");
        let (used, shared) = (Passing::new(&own).unwrap(), Passing::shared(&own).unwrap());
        let at = |path: &str| own.join(path);
        let stays = [
            used.path().to_owned(),
            shared.path().to_owned(),
            at("cache/upper"),
            at("cache").join(&used.name),
            at("made"),
        ];
        let goes = [at("run-1/gate"), at("run-1/work/work"), at("cache/run-1/upper"), at("shared-1/tmp")];
        stays.iter().chain(&goes).for_each(|path| folder(path).unwrap());
        tidy(boxes.path());
        assert!(stays.iter().all(|path| path.exists()));
        assert!(!at("run-1").exists() && !at("cache/run-1").exists() && !at("shared-1").exists());
        drop((used, shared));
        assert_eq!(entries(&own).len(), 2);
    }

    /// As whoever ran in a box can leave it.
    #[test]
    fn folders_are_removed_that_are_closed_or_deeper_than_any_path() {
        let place = tempfile::tempdir().unwrap();
        let (outside, inside) = (place.path().join("outside"), place.path().join("inside"));
        fs::create_dir_all(outside.join("folder")).unwrap();
        fs::write(outside.join("file"), "kept").unwrap();
        fs::create_dir_all(inside.join("closed/in/it")).unwrap();
        fs::write(inside.join("closed/in/file"), "").unwrap();
        symlink(&outside, inside.join("link")).unwrap();
        symlink(&outside, inside.join("closed/in/link")).unwrap();
        for name in ["closed/in/it", "closed/in", "closed"] {
            fs::set_permissions(inside.join(name), fs::Permissions::from_mode(0o000)).unwrap();
        }
        let mut deep = rustix::fs::open(&inside, FOLDER, Mode::empty()).unwrap();
        for _ in 0..10_000 {
            rustix::fs::mkdirat(&deep, "d", Mode::RWXU).unwrap();
            deep = rustix::fs::openat(&deep, "d", FOLDER, Mode::empty()).unwrap();
        }
        drop(deep);
        removed(&inside).unwrap();
        assert!(!inside.exists());
        assert_eq!(fs::read_to_string(outside.join("file")).unwrap(), "kept");
        assert!(outside.join("folder").is_dir());
        assert!(removed(&inside).is_err() && removed(&outside.join("file")).is_err());
    }
}
