//! A workspace as one open folder. Everything in it is reached from that descriptor, never through a link and
//! never above it, whatever is swapped in its place meanwhile.

use crate::tree::as_path;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, StatxFlags, fstat, openat2, statx,
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// An open workspace.
#[derive(Debug)]
pub(crate) struct Place {
    folder: OwnedFd,
    pub(crate) identity: Identity,
}

/// Which folder it is, whatever its path.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Deserialize, Serialize)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    /// When it was made, in nanoseconds, where the file system knows.
    born_ns: Option<i64>,
}

/// What the system says of a file; the same again means the same content, but for changes within
/// the clock's grain.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    pub(crate) ctime_ns: i64,
    pub(crate) inode: u64,
}

impl Place {
    /// Opens a workspace by its real path.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let folder = openat2(CWD, path, FOLDER, Mode::empty(), resolve)?;
        let identity = Identity::of(&folder)?;
        Ok(Self { folder, identity })
    }

    /// Opens a folder in it; the empty path is the workspace.
    pub(crate) fn folder(&self, path: &[u8]) -> io::Result<OwnedFd> {
        self.beneath(path, FOLDER)
    }

    /// Opens a folder in it only to reach what it holds, which needs no right to list it.
    pub(crate) fn way(&self, path: &[u8]) -> io::Result<OwnedFd> {
        self.beneath(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC)
    }

    /// Opens a file in it to read. It may be no regular one: a pipe does not block it.
    pub(crate) fn file(&self, path: &[u8]) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        self.beneath(path, flags).map(File::from)
    }

    fn beneath(&self, path: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { Path::new(".") } else { as_path(path) };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let mut tries = 0;
        loop {
            match openat2(&self.folder, path, flags, Mode::empty(), resolve) {
                // Something was renamed while the path was followed.
                Err(Errno::AGAIN | Errno::INTR) if tries < OPEN_TRIES => tries += 1,
                opened => return Ok(opened?),
            }
        }
    }
}

impl Identity {
    pub(crate) fn of(folder: impl AsFd) -> io::Result<Self> {
        let stat = fstat(&folder)?;
        let born = statx(&folder, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok();
        let born = born.filter(|of| of.stx_mask & StatxFlags::BTIME.bits() != 0).map(|of| of.stx_btime);
        let born_ns = born.map(|at| nanoseconds(at.tv_sec, at.tv_nsec.into()));
        Ok(Self { device: stat.st_dev, inode: stat.st_ino, born_ns })
    }

    /// Whether both are the same folder. Numbers of devices can change when the machine starts again; nobody
    /// can choose when a folder was made.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_born_so = match (self.born_ns, other.born_ns) {
            (Some(born), Some(other)) => born == other,
            _ => self.device == other.device,
        };
        self.inode == other.inode && is_born_so
    }

    /// Whether a folder lies on the same file system.
    pub(crate) fn has_device_of(&self, stat: &Stat) -> bool {
        self.device == stat.st_dev
    }

    /// Whether it is this very one now.
    pub(crate) fn is(&self, stat: &Stat) -> bool {
        (self.device, self.inode) == (stat.st_dev, stat.st_ino)
    }

    /// A name for files about this workspace, as bytes.
    pub(crate) fn key(&self) -> [u8; 16] {
        let born = self.born_ns.map_or(self.device, i64::cast_unsigned);
        let mut key = [0; 16];
        key[..8].copy_from_slice(&self.inode.to_be_bytes());
        key[8..].copy_from_slice(&born.to_be_bytes());
        key
    }
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
        }
    }

    /// Whether it is the same file with the same content, under whatever name.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.size, self.mtime_ns, self.inode) == (other.size, other.mtime_ns, other.inode)
    }
}

/// The bits of a mode that are kept. Rights of a file's owner are never among them.
pub(crate) fn mode_of(stat: &Stat) -> u16 {
    let mask = if FileType::from_raw_mode(stat.st_mode) == FileType::Directory { 0o3777 } else { 0o777 };
    (stat.st_mode & mask) as u16
}

fn nanoseconds(seconds: i64, nanoseconds: u64) -> i64 {
    let nanoseconds = i64::try_from(nanoseconds).unwrap_or_default();
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Times that a path is followed again when something was renamed meanwhile.
const OPEN_TRIES: usize = 8;
