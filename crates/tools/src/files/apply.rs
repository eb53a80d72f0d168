//! Carrying steps out: everything is checked, everything new is written beside its place, then the
//! files change places.
//!
//! What was there stays in its folder under a temporary name until all of it is done, so a failure or an
//! abort in the middle is undone with the very files that were there. After a crash in the middle the old
//! bytes are still there under such a name (`.countersign-….tmp`).

use super::commit::{self, Failure, FileId, Names};
use super::error::{FileError, shown};
use super::pinned::Pinned;
use super::planned::Step;
use super::workspace::{FilePlace, FolderId, Workspace, open_folder_in};
use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Does all steps or, where one fails or `is_aborted` says so before it, none. Blocking.
///
/// # Errors
/// [`FileError::Changed`] when something is not what was planned on, [`FileError::Stuck`] when not everything
/// could be undone.
pub(super) fn carry_out(
    workspace: &Workspace,
    steps: &[Step],
    is_aborted: &dyn Fn() -> bool,
) -> Result<(), FileError> {
    workspace.expect_unmoved()?;
    for step in steps {
        go_on(is_aborted)?;
        check(workspace, step)?;
    }
    let mut work =
        Work { workspace, made: HashMap::new(), done: Vec::new(), spared: HashSet::new(), left: Vec::new() };
    match work.run(steps, is_aborted) {
        Ok(()) => {
            work.forget();
            Ok(())
        }
        Err(cause) => Err(work.undo(cause)),
    }
}

fn go_on(is_aborted: &dyn Fn() -> bool) -> Result<(), FileError> {
    if is_aborted() { Err(FileError::Aborted) } else { Ok(()) }
}

/// Whether what a step was planned on is still so.
fn check(workspace: &Workspace, step: &Step) -> Result<(), FileError> {
    let place = step.place();
    let folder = workspace.reopen(&place.folder)?;
    let (name, path) = match place.missing.first() {
        Some(first) => {
            (first, place.real_path.ancestors().nth(place.missing.len()).unwrap_or(&place.real_path))
        }
        None => (&place.name, place.real_path.as_path()),
    };
    if let Some(before) = step.before() {
        return before.expect(&folder, name, path);
    }
    match fs::statat(&folder, name.as_os_str(), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Ok(_) => Err(FileError::changed(path, "expected nothing, found something")),
        Err(errno) => Err(FileError::io(path, "looking at the file", errno)),
    }
}

struct Work<'a> {
    workspace: &'a Workspace,
    /// Folders that were made, by their path.
    made: HashMap<PathBuf, FolderId>,
    /// In the order in which it was done.
    done: Vec<Done>,
    /// Temporary files that hold what could not be put back.
    spared: HashSet<String>,
    /// What could not be undone, for the message.
    left: Vec<String>,
}

/// Something that was done and can be undone.
enum Done {
    Folder { parent: Rc<OwnedFd>, name: OsString },
    Temporary { folder: Rc<OwnedFd>, temp: String, path: PathBuf },
    Created(Put),
    Replaced(Put),
    Removed(Put),
}

/// A file whose place was changed.
struct Put {
    folder: Rc<OwnedFd>,
    name: OsString,
    temp: String,
    path: PathBuf,
    /// The new file; of one that was removed, that one.
    id: FileId,
}

impl Put {
    fn names(&self) -> Names<'_> {
        Names { folder: &self.folder, name: &self.name, temp: &self.temp, path: &self.path }
    }
}

impl Work<'_> {
    fn run(&mut self, steps: &[Step], is_aborted: &dyn Fn() -> bool) -> Result<(), FileError> {
        let mut staged = Vec::with_capacity(steps.len());
        for step in steps {
            go_on(is_aborted)?;
            staged.push(self.stage(step)?);
        }
        for (step, put) in steps.iter().zip(staged) {
            go_on(is_aborted)?;
            self.commit(step, put)?;
        }
        // A folder that was moved away in the meantime took what was written with it.
        self.workspace.expect_unmoved()?;
        for step in steps {
            self.workspace.reopen(&step.place().folder)?;
        }
        Ok(())
    }

    /// Writes what is new beside its place.
    fn stage(&mut self, step: &Step) -> Result<Put, FileError> {
        let place = step.place();
        let folder = self.folder_of(place)?;
        let path = place.real_path.clone();
        let (like, mode) = match step {
            // What the person's umask leaves of it, as for any new file.
            Step::Write { like: None, .. } => (None, Mode::from_raw_mode(0o666)),
            Step::Write { like, .. } => (like.as_ref(), Mode::RUSR | Mode::WUSR),
            Step::Remove { .. } => (None, Mode::RUSR),
        };
        let (temp, mut file) = commit::temporary(&folder, mode, &path)?;
        self.done.push(Done::Temporary {
            folder: Rc::clone(&folder),
            temp: temp.clone(),
            path: path.clone(),
        });
        let id = match step {
            Step::Write { bytes, .. } => {
                file.write_all(bytes).map_err(|error| FileError::io(&path, "writing", error))?;
                if let Some(like) = like {
                    like.dress(&file, &path)?;
                }
                file.sync_all().map_err(|error| FileError::io(&path, "writing", error))?;
                let stat = fs::fstat(&file).map_err(|errno| FileError::io(&path, "writing", errno))?;
                (stat.st_dev, stat.st_ino)
            }
            Step::Remove { before: Pinned { state, .. }, .. } => (state.dev, state.ino),
        };
        Ok(Put { folder, name: place.name.clone(), temp, path, id })
    }

    fn commit(&mut self, step: &Step, mut put: Put) -> Result<(), FileError> {
        let committed = match step {
            Step::Write { before: Some(before), .. } => commit::replace(put.names(), before),
            Step::Write { before: None, .. } => commit::create(put.names()).map(|()| None),
            Step::Remove { before, .. } => commit::take_out(put.names(), before).map(|()| None),
        };
        match committed {
            Ok(kept) => {
                if let Some(kept) = kept {
                    let folder = Rc::clone(&put.folder);
                    self.done.push(Done::Temporary { folder, temp: kept.clone(), path: put.path.clone() });
                    put.temp = kept;
                }
                self.done.push(match step {
                    Step::Write { before: Some(_), .. } => Done::Replaced(put),
                    Step::Write { before: None, .. } => Done::Created(put),
                    Step::Remove { .. } => Done::Removed(put),
                });
                Ok(())
            }
            Err(Failure::Clean(error)) => Err(error),
            Err(Failure::Stuck(error, errno)) => {
                self.spare(&put, errno);
                Err(error)
            }
        }
    }

    /// The folder of a place, made where it is missing.
    fn folder_of(&mut self, place: &FilePlace) -> Result<Rc<OwnedFd>, FileError> {
        let mut folder = Rc::new(self.workspace.reopen(&place.folder)?);
        let mut path = self.workspace.real_path().join(&place.folder.relative);
        for name in &place.missing {
            path.push(name);
            let known = self.made.get(&path).copied();
            if known.is_none() {
                match fs::mkdirat(&*folder, name.as_os_str(), Mode::from_raw_mode(0o777)) {
                    Ok(()) => self.done.push(Done::Folder { parent: Rc::clone(&folder), name: name.clone() }),
                    Err(Errno::EXIST) => {
                        return Err(FileError::changed(&path, "expected nothing, found something"));
                    }
                    Err(errno) => return Err(FileError::io(&path, "making the folder", errno)),
                }
            }
            let inner = open_folder_in(&folder, name)
                .map_err(|errno| FileError::io(&path, "opening the folder that was made", errno))?;
            match known {
                Some(id) => id.expect(&inner, &path)?,
                None => {
                    self.made.insert(path.clone(), FolderId::of(&inner, &path)?);
                }
            }
            folder = Rc::new(inner);
        }
        Ok(folder)
    }

    /// Removes what was kept, when nothing can fail any more.
    fn forget(self) {
        let mut synced: HashSet<&Path> = HashSet::new();
        for done in &self.done {
            let folder = match done {
                Done::Temporary { folder, temp, path } => {
                    if let Err(errno) = unlink(folder, temp) {
                        tracing::warn!(error = %errno, "a temporary file beside a changed file stays");
                    }
                    synced.insert(path.parent().unwrap_or(path)).then_some(folder)
                }
                Done::Folder { parent, .. } => Some(parent),
                Done::Created(_) | Done::Replaced(_) | Done::Removed(_) => None,
            };
            if let Some(Err(errno)) = folder.map(|folder| sync(folder)) {
                tracing::debug!(error = %errno, "the folder of a changed file could not be synced");
            }
        }
    }

    /// Undoes what was done, in reverse; gives the error to report.
    fn undo(mut self, cause: FileError) -> FileError {
        while let Some(done) = self.done.pop() {
            let undone = match &done {
                Done::Created(put) => commit::uncreate(put.names(), put.id).map_err(|errno| (put, errno)),
                Done::Replaced(put) => commit::put_back(put.names(), put.id).map_err(|errno| (put, errno)),
                Done::Removed(put) => commit::restore(put.names()).map_err(|errno| (put, errno)),
                Done::Temporary { folder, temp, .. } => {
                    if !self.spared.contains(temp) && unlink(folder, temp).is_err() {
                        self.left.push(format!("a temporary file {temp} stays"));
                    }
                    Ok(())
                }
                Done::Folder { parent, name } => {
                    // Not empty when somebody else has put something there: theirs to keep.
                    let _ = fs::unlinkat(&**parent, name.as_os_str(), AtFlags::REMOVEDIR);
                    Ok(())
                }
            };
            if let Err((put, errno)) = undone {
                let is_new = matches!(done, Done::Created(_));
                if is_new {
                    self.left.push(format!("{} was made and stays ({errno})", shown(&put.path)));
                } else {
                    self.spare(put, errno);
                }
            }
        }
        match self.left.is_empty() {
            true => cause,
            false => FileError::Stuck { cause: Box::new(cause), left: self.left },
        }
    }

    /// Leaves a temporary file, which holds what was there.
    fn spare(&mut self, put: &Put, errno: Errno) {
        self.spared.insert(put.temp.clone());
        let kept = put.path.with_file_name(&put.temp);
        self.left.push(format!(
            "{} could not be put back ({errno}); what was there is in {}",
            shown(&put.path),
            shown(&kept)
        ));
    }
}

fn unlink(folder: &OwnedFd, temp: &str) -> Result<(), Errno> {
    match fs::unlinkat(folder, temp, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Makes the changes of names durable.
fn sync(folder: &OwnedFd) -> Result<(), Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::fsync(fs::openat(folder, ".", flags, Mode::empty())?)
}
