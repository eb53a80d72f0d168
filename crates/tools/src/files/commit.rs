//! Putting one file in the place of another, so that what was there is still there under another name
//! until all is done.
//!
//! The file that is taken away is looked at once more when nobody can reach it by its name any longer: what
//! was checked is what was replaced, or it is put back. That takes a file system that exchanges two names. On
//! others (network file systems, some in user space) the old file is kept by a second link, and between
//! looking and replacing stands one system call.

use super::error::FileError;
use super::limits::TEMP_TRIES;
use super::pinned::Pinned;
use rustix::fs::{self, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A name in a folder, and the name beside it under which the other file stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub(super) folder: &'a OwnedFd,
    /// What a person calls it.
    pub(super) name: &'a OsStr,
    /// Holds the new file before, and the old one after.
    pub(super) temp: &'a str,
    /// For messages.
    pub(super) path: &'a Path,
}

/// Why a file is not in its place.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing was done.
    Clean(FileError),
    /// What was there could not be put back: it is still under the temporary name.
    Stuck(FileError, Errno),
}

/// What makes a file that was put somewhere the same file.
pub(super) type FileId = (u64, u64);

/// Makes an empty file under a free name.
pub(super) fn temporary(folder: &OwnedFd, mode: Mode, path: &Path) -> Result<(String, File), FileError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut last = Errno::EXIST;
    for _ in 0..TEMP_TRIES {
        let name =
            format!(".countersign-{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        match fs::openat(folder, name.as_str(), flags, mode) {
            Ok(file) => return Ok((name, File::from(file))),
            Err(Errno::EXIST) => {}
            Err(errno) => {
                last = errno;
                break;
            }
        }
    }
    Err(FileError::io(path, "making a temporary file beside it", last))
}

/// Puts the new file in the place of `before`. The old one is then under the name that is returned, where
/// there is one, and else under the temporary name.
pub(super) fn replace(names: Names<'_>, before: &Pinned) -> Result<Option<String>, Failure> {
    match exchange(names) {
        Ok(()) => {}
        Err(errno) if is_unsupported(errno) => return replace_by_link(names, before).map(Some),
        Err(errno) => return Err(names.gone_or("replacing", errno)),
    }
    match before.expect(names.folder, OsStr::new(names.temp), names.path) {
        Ok(()) => Ok(None),
        Err(error) => Err(match exchange(names) {
            Ok(()) => Failure::Clean(error),
            Err(errno) => Failure::Stuck(error, errno),
        }),
    }
}

/// The same on a file system that cannot exchange two names.
pub(super) fn replace_by_link(names: Names<'_>, before: &Pinned) -> Result<String, Failure> {
    let clean = Failure::Clean;
    let (kept, _) = temporary(names.folder, Mode::RUSR, names.path).map_err(clean)?;
    let forget = || fs::unlinkat(names.folder, kept.as_str(), AtFlags::empty());
    // A link needs a name that is free.
    forget().map_err(|errno| clean(names.io("freeing a temporary name", errno)))?;
    fs::linkat(names.folder, names.name, names.folder, kept.as_str(), AtFlags::empty()).map_err(|errno| {
        names.gone_or("keeping the old file (its file system can neither exchange nor link)", errno)
    })?;
    let replaced = before.expect(names.folder, OsStr::new(&kept), names.path).and_then(|()| {
        fs::renameat(names.folder, names.temp, names.folder, names.name)
            .map_err(|errno| names.io("replacing", errno))
    });
    match replaced {
        Ok(()) => Ok(kept),
        Err(error) => {
            // Only a second name of a file that still has its own.
            let _ = forget();
            Err(clean(error))
        }
    }
}

/// Puts the old file back where the new one is.
pub(super) fn put_back(names: Names<'_>, new: FileId) -> Result<(), Errno> {
    match expect_id(names, new) {
        // Somebody removed the new one.
        Err(Errno::NOENT) => return restore(names),
        other => other?,
    }
    match exchange(names) {
        Err(errno) if is_unsupported(errno) => {
            fs::renameat(names.folder, names.temp, names.folder, names.name)
        }
        other => other,
    }
}

/// Puts the new file where nothing is.
pub(super) fn create(names: Names<'_>) -> Result<(), Failure> {
    match fs::renameat_with(names.folder, names.temp, names.folder, names.name, RenameFlags::NOREPLACE) {
        Err(errno) if is_unsupported(errno) => create_by_link(names),
        Err(errno) => Err(names.taken_or(errno)),
        Ok(()) => Ok(()),
    }
}

/// The same on a file system whose renames always replace.
pub(super) fn create_by_link(names: Names<'_>) -> Result<(), Failure> {
    fs::linkat(names.folder, names.temp, names.folder, names.name, AtFlags::empty())
        .map_err(|errno| names.taken_or(errno))?;
    // A second name that is left is removed with the other temporary files.
    let _ = fs::unlinkat(names.folder, names.temp, AtFlags::empty());
    Ok(())
}

/// Takes the new file away again.
pub(super) fn uncreate(names: Names<'_>, new: FileId) -> Result<(), Errno> {
    match expect_id(names, new) {
        Err(Errno::NOENT) => Ok(()),
        other => other.and_then(|()| fs::unlinkat(names.folder, names.name, AtFlags::empty())),
    }
}

/// Takes `before` out of its place, over the empty file under the temporary name.
pub(super) fn take_out(names: Names<'_>, before: &Pinned) -> Result<(), Failure> {
    fs::renameat(names.folder, names.name, names.folder, names.temp)
        .map_err(|errno| names.gone_or("removing", errno))?;
    before.expect(names.folder, OsStr::new(names.temp), names.path).map_err(|error| match restore(names) {
        Ok(()) => Failure::Clean(error),
        Err(errno) => Failure::Stuck(error, errno),
    })
}

/// Puts a file back that was taken out; never over one that came meanwhile.
pub(super) fn restore(names: Names<'_>) -> Result<(), Errno> {
    match fs::renameat_with(names.folder, names.temp, names.folder, names.name, RenameFlags::NOREPLACE) {
        Err(errno) if is_unsupported(errno) => {
            fs::linkat(names.folder, names.temp, names.folder, names.name, AtFlags::empty())?;
            fs::unlinkat(names.folder, names.temp, AtFlags::empty())
        }
        other => other,
    }
}

impl Names<'_> {
    fn io(self, doing: &'static str, errno: Errno) -> FileError {
        FileError::io(self.path, doing, errno)
    }

    fn gone_or(self, doing: &'static str, errno: Errno) -> Failure {
        Failure::Clean(match errno {
            Errno::NOENT => FileError::changed(self.path, "expected the same file, found nothing"),
            errno => self.io(doing, errno),
        })
    }

    fn taken_or(self, errno: Errno) -> Failure {
        Failure::Clean(match errno {
            Errno::EXIST => FileError::changed(self.path, "expected nothing, found something"),
            errno => self.io("putting the file in its place", errno),
        })
    }
}

fn exchange(names: Names<'_>) -> Result<(), Errno> {
    fs::renameat_with(names.folder, names.temp, names.folder, names.name, RenameFlags::EXCHANGE)
}

/// What was put there has to be there still, or undoing would undo somebody else's work.
fn expect_id(names: Names<'_>, new: FileId) -> Result<(), Errno> {
    let stat = fs::statat(names.folder, names.name, AtFlags::SYMLINK_NOFOLLOW)?;
    if (stat.st_dev, stat.st_ino) == new { Ok(()) } else { Err(Errno::BUSY) }
}

fn is_unsupported(errno: Errno) -> bool {
    [Errno::INVAL, Errno::NOSYS, Errno::NOTSUP].contains(&errno)
}
