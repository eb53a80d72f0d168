//! The lifecycle lock of a socket path (docs/protocol/approval-socket.md, "Lock"): whoever holds it serves
//! there, and nobody else binds. It also answers the question that decides about a fallback: whether somebody
//! serves, however slow or silent.

use super::listener::{BindError, OTHERS_WRITE, euid, identity, io, kind};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// While it lives, nobody else binds at its path.
#[must_use]
#[derive(Debug)]
pub struct Lock {
    _file: OwnedFd,
    path: PathBuf,
    identity: (u64, u64),
}

/// Who holds the lock of a socket path.
#[derive(Debug)]
pub enum Holder {
    /// Nobody: there is certainly no server.
    Nobody,
    /// Somebody, whether it answers or not.
    Somebody {
        /// Its process, where the kernel tells.
        pid: Option<i32>,
    },
    /// It could not be told, which proves nothing.
    Unknown(std::io::Error),
}

impl Holder {
    /// Who serves `socket`, if anybody. Blocking, a few calls; takes nothing away from anybody who
    /// starts at that moment.
    pub fn of(socket: &Path) -> Self {
        match Self::look(&lock_path(socket)) {
            Ok(holder) => holder,
            Err(Errno::NOENT | Errno::NOTDIR) => Self::Nobody,
            Err(errno) => Self::Unknown(errno.into()),
        }
    }

    fn look(path: &Path) -> Result<Self, Errno> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = rustix::fs::open(path, flags, Mode::empty())?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(Self::Nobody),
            Err(Errno::WOULDBLOCK) => {
                let (_, inode) = identity(&rustix::fs::fstat(&file)?);
                Ok(Self::Somebody { pid: holder_of(inode) })
            }
            Err(errno) => Err(errno),
        }
    }
}

impl Lock {
    /// Takes the lock of `socket`.
    pub(super) fn take(socket: &Path) -> Result<Self, BindError> {
        let path = lock_path(socket);
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = match rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => file,
            Err(Errno::LOOP | Errno::ISDIR | Errno::NXIO) => return Err(BindError::UnsafeLock(path)),
            Err(errno) => return Err(io("open", &path)(errno)),
        };
        let opened = rustix::fs::fstat(&file).map_err(io("fstat", &path))?;
        let named = rustix::fs::lstat(&path).map_err(io("lstat", &path))?;
        let ours = kind(&opened) == FileType::RegularFile
            && opened.st_uid == euid()
            && opened.st_nlink == 1
            && opened.st_mode & OTHERS_WRITE == 0
            && identity(&opened) == identity(&named);
        if !ours {
            return Err(BindError::UnsafeLock(path));
        }
        let mut tries = 1;
        loop {
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file, path, identity: identity(&opened) }),
                // Whoever only looks holds it for a moment.
                Err(Errno::WOULDBLOCK | Errno::INTR) if tries < TRIES => {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(BindError::Held(path)),
                Err(errno) => return Err(io("lock", &path)(errno)),
            }
        }
    }

    /// Whether others still find this lock at its path. Without that they would take the server for absent.
    pub(super) fn is_found(&self) -> bool {
        // An error of the system is no removal.
        match rustix::fs::lstat(&self.path) {
            Ok(stat) => identity(&stat) == self.identity,
            Err(errno) => !matches!(errno, Errno::NOENT | Errno::NOTDIR),
        }
    }
}

/// The lock's file stays when the socket goes: removing it would let two servers hold "the" lock.
fn lock_path(socket: &Path) -> PathBuf {
    let mut path = socket.as_os_str().to_owned();
    path.push(".lifecycle.lock");
    PathBuf::from(path)
}

/// The process that holds a lock on the whole file with this inode, as the kernel tells it to everybody.
fn holder_of(inode: u64) -> Option<i32> {
    use std::io::Read;
    let mut table = String::new();
    File::open("/proc/locks").ok()?.take(TABLE_BYTES).read_to_string(&mut table).ok()?;
    table.lines().find_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let ["FLOCK", _, "WRITE", pid, file, ..] = words.get(1..)? else { return None };
        let named = file.rsplit(':').next()?.parse() == Ok(inode);
        pid.parse().ok().filter(|pid| named && *pid > 0)
    })
}

/// How often a lock is tried, and the pause between: together a tenth of a second, far longer
/// than a look takes.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// The kernel's table of locks is read up to here, in bytes: some ten thousand locks.
const TABLE_BYTES: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_by_its_process_until_it_goes() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        assert!(matches!(Holder::of(&socket), Holder::Nobody));
        let lock = Lock::take(&socket).unwrap();
        let own = rustix::process::getpid().as_raw_nonzero().get();
        assert!(matches!(Holder::of(&socket), Holder::Somebody { pid } if pid.is_none_or(|pid| pid == own)));
        assert!(lock.is_found());
        std::fs::remove_file(lock_path(&socket)).unwrap();
        assert!(!lock.is_found());
        drop(lock);
        assert!(matches!(Holder::of(&socket), Holder::Nobody));
    }

    #[test]
    fn what_cannot_be_looked_at_proves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        std::os::unix::fs::symlink("elsewhere", lock_path(&socket)).unwrap();
        assert!(matches!(Holder::of(&socket), Holder::Unknown(_)));
    }

    #[test]
    fn a_look_does_not_keep_anybody_from_starting() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        drop(Lock::take(&socket).unwrap());
        let looks = std::thread::spawn({
            let socket = socket.clone();
            move || (0..1_000).for_each(|_| drop(Holder::of(&socket)))
        });
        while !looks.is_finished() {
            drop(Lock::take(&socket).unwrap());
        }
        looks.join().unwrap();
    }
}
