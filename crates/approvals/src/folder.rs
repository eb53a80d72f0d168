//! A folder of private files, and the lock that keeps its writers apart.
//!
//! Everything is opened relative to the folder's descriptor and without following links, so that what was
//! checked is what is used.

use rustix::fs::{self, AtFlags, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// Mode of folders that are made here: for their owner only.
pub(crate) const FOLDER_MODE: Mode = Mode::RWXU;

/// Mode of files that are made here: for their owner only.
pub(crate) const FILE_MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// Permission bits that let others write.
pub(crate) const OTHERS_WRITE: u32 = 0o022;

/// Pause between two tries to take a lock. Writers hold it for milliseconds.
pub(crate) const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// An open folder.
#[derive(Debug)]
pub(crate) struct Folder {
    fd: OwnedFd,
}

/// Why a folder or a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FolderError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("{0}")]
    Unsafe(String),
    #[error("locked by another program for {0:?}")]
    Locked(Duration),
}

impl From<Errno> for FolderError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

impl Folder {
    /// Opens a folder, or `None` when there is none.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        Self::open_with(path, OFlags::RDONLY)
    }

    /// The same to look at files and to read them; the folder itself can be neither listed nor synced by it.
    /// Whoever watches the folder hears nothing of it, which counts where every request looks.
    pub(crate) fn open_quietly(path: &Path) -> io::Result<Option<Self>> {
        Self::open_with(path, OFlags::PATH)
    }

    fn open_with(path: &Path, flags: OFlags) -> io::Result<Option<Self>> {
        match fs::open(path, flags | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
            Ok(fd) => Ok(Some(Self { fd })),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a folder, making it and its parents with mode 0700 when there is none.
    pub(crate) fn open_or_make(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        if let Some(folder) = Self::open(path)? {
            return Ok(folder);
        }
        std::fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE.bits()).create(path)?;
        Self::open(path)?.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Refuses a folder in which somebody else could replace files.
    pub(crate) fn check_private(&self) -> Result<(), FolderError> {
        let stat = fs::fstat(&self.fd)?;
        if !is_ours(&stat) {
            return Err(FolderError::Unsafe("the folder belongs to another user".to_owned()));
        }
        if stat.st_mode & OTHERS_WRITE != 0 {
            let mode = stat.st_mode & 0o7777;
            let problem = format!("others may write in the folder (mode {mode:04o}); run chmod go-w on it");
            return Err(FolderError::Unsafe(problem));
        }
        Ok(())
    }

    /// Takes rights from everybody but the owner.
    pub(crate) fn make_private(&self) -> Result<(), FolderError> {
        let stat = fs::fstat(&self.fd)?;
        if !is_ours(&stat) {
            return Err(FolderError::Unsafe("the folder belongs to another user".to_owned()));
        }
        if stat.st_mode & 0o077 != 0 {
            fs::fchmod(&self.fd, FOLDER_MODE)?;
        }
        Ok(())
    }

    /// Opens a file without following a link or waiting for a peer.
    pub(crate) fn open_file(&self, name: &str, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        fs::openat(&self.fd, name, flags, FILE_MODE).map(File::from)
    }

    /// What is there under a name, links not followed.
    pub(crate) fn stat(&self, name: &str) -> io::Result<Option<Stat>> {
        match fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes renames and removals durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(fs::fsync(&self.fd)?)
    }

    /// Names in the folder, `.` and `..` left out. Names that are no UTF-8 are none of ours but are
    /// somebody's: they are returned with replacement characters.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if name != "." && name != ".." {
                names.push(name.into_owned());
            }
        }
        Ok(names)
    }

    /// Locks a side file, trying for at most `patience`. The file stays: removing it would let two programs
    /// hold "the" lock. The lock goes with the returned value, or with the process.
    pub(crate) fn lock(&self, name: &str, patience: Duration) -> Result<Lock, FolderError> {
        let file = self.open_file(name, OFlags::RDWR | OFlags::CREATE)?;
        let stat = fs::fstat(&file)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !is_ours(&stat) {
            return Err(FolderError::Unsafe(format!("{name} is not a file of this user")));
        }
        let start = Instant::now();
        loop {
            match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(Errno::WOULDBLOCK | Errno::INTR) if start.elapsed() < patience => {
                    std::thread::sleep(LOCK_PAUSE);
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(FolderError::Locked(patience)),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A held lock.
#[must_use]
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Whether a file belongs to the user this process acts as.
pub(crate) fn is_ours(stat: &Stat) -> bool {
    stat.st_uid == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{IMPATIENCE, PATIENCE};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_missing_folder_is_made_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        Folder::open_or_make(&path).unwrap().check_private().unwrap();
        assert_eq!(mode(&path), 0o700);
    }

    #[test]
    fn a_folder_in_which_others_may_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o770)).unwrap();
        let folder = Folder::open(dir.path()).unwrap().unwrap();
        assert!(matches!(folder.check_private(), Err(FolderError::Unsafe(_))));
        folder.make_private().unwrap();
        assert_eq!(mode(dir.path()), 0o700);
    }

    #[test]
    fn a_lock_is_held_by_one_and_released_with_its_value() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap().unwrap();
        let held = folder.lock("x.lock", PATIENCE).unwrap();
        assert!(matches!(folder.lock("x.lock", IMPATIENCE), Err(FolderError::Locked(_))));
        drop(held);
        let _again = folder.lock("x.lock", PATIENCE).unwrap();
        assert_eq!(mode(&dir.path().join("x.lock")), 0o600);
    }

    #[test]
    fn a_lock_that_is_a_link_or_a_folder_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        symlink("elsewhere", dir.path().join("x.lock")).unwrap();
        std::fs::create_dir(dir.path().join("y.lock")).unwrap();
        let folder = Folder::open(dir.path()).unwrap().unwrap();
        assert!(folder.lock("x.lock", Duration::ZERO).is_err());
        assert!(folder.lock("y.lock", Duration::ZERO).is_err());
        assert!(!dir.path().join("elsewhere").exists());
    }
}
