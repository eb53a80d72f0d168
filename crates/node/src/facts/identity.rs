//! What makes a file the same file, and who could change it.

use countersign_policy::facts::FileIdentity;
use countersign_protocol::digits::hex;
use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, Stat};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Largest file whose content is hashed, in bytes: about a tenth of a second. Larger ones are pinned by
/// inode, size and times alone.
pub(super) const HASH_BYTES: u64 = 64 * 1_024 * 1_024;

/// What may still be hashed of all that one command names: as much as of one file.
#[derive(Debug)]
pub(super) struct Room(u64);

impl Default for Room {
    fn default() -> Self {
        Self(HASH_BYTES)
    }
}

impl Room {
    /// Whether a file of so many bytes still fits. One that is not hashed because of its size takes no room.
    pub(super) fn take(&mut self, bytes: u64) -> bool {
        if bytes > HASH_BYTES {
            return true;
        }
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

/// Whether content belongs to the identity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Content {
    /// Hash it.
    Hashed,
    /// Inode, size and times are enough: this user cannot rewrite the file.
    Trusted,
}

/// Identity of the file at `path`, links followed.
pub(super) fn identify(path: &Path, content: Content) -> std::io::Result<FileIdentity> {
    match content {
        Content::Trusted => {
            let file = open(path, OFlags::PATH)?;
            Ok(of_stat(&rustix::fs::fstat(&file)?))
        }
        Content::Hashed => {
            let mut file = File::from(open(path, OFlags::RDONLY | OFlags::NONBLOCK)?);
            identify_open(&mut file, |_| {})
        }
    }
}

/// Identity of an open file with a digest of its content, each piece of which is shown to `see`.
pub(super) fn identify_open(file: &mut File, mut see: impl FnMut(&[u8])) -> std::io::Result<FileIdentity> {
    let before = of_stat(&rustix::fs::fstat(file.as_fd())?);
    let hashable = rustix::fs::FileType::from_raw_mode(before.mode).is_file() && before.size <= HASH_BYTES;
    if !hashable {
        return Ok(before);
    }
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; READ_BYTES];
    // A file that grows while it is read is cut at the limit; its size and time then differ at spawn.
    let mut bounded = file.take(HASH_BYTES);
    loop {
        let count = bounded.read(&mut buffer)?;
        let Some(piece) = buffer.get(..count).filter(|piece| !piece.is_empty()) else { break };
        hasher.update(piece);
        see(piece);
    }
    Ok(FileIdentity { sha256: Some(hasher.finalize().into()), ..before })
}

/// What differs between two identities of what should be the same file; `None` when nothing does.
pub(super) fn difference(expected: &FileIdentity, found: &FileIdentity) -> Option<String> {
    let mut parts = Vec::new();
    let mut part = |what: &str, expected: String, found: String| {
        if expected != found {
            parts.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    part("inode", inode(expected), inode(found));
    part("type and permissions", format!("{:o}", expected.mode), format!("{:o}", found.mode));
    part("size", format!("{} bytes", expected.size), format!("{} bytes", found.size));
    part("content changed", time(expected.mtime_ns), time(found.mtime_ns));
    part("inode changed", time(expected.ctime_ns), time(found.ctime_ns));
    if expected.sha256.is_some() {
        part("sha256", digest(expected.sha256), digest(found.sha256));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Whether this user could rewrite the file at `real_path`, or put another in its place.
///
/// Permission bits never stop root, so root asks another question: could anybody else?
pub(super) fn is_writable(real_path: &Path) -> bool {
    let Ok(stat) = rustix::fs::stat(real_path) else { return true };
    if changeable(real_path, &stat) {
        return true;
    }
    let mut owner = stat.st_uid;
    real_path.ancestors().skip(1).any(|folder| {
        let Ok(stat) = rustix::fs::stat(folder) else { return true };
        let inner_owner = std::mem::replace(&mut owner, stat.st_uid);
        changeable(folder, &stat) && !keeps_names(&stat, inner_owner)
    })
}

/// Whether this user is root, and the file is none of those that the system puts where programs belong: one
/// that root's own work makes and changes.
pub(super) fn is_roots_own(real_path: &Path) -> bool {
    me() == 0 && !SYSTEM.iter().any(|folder| real_path.starts_with(folder))
}

/// Whether a sticky folder keeps what is in it from being renamed or removed.
fn keeps_names(folder: &Stat, inner_owner: u32) -> bool {
    let owners = [folder.st_uid, inner_owner];
    let others = match me() {
        0 => owners == [0, 0],
        me => !owners.contains(&me),
    };
    others && folder.st_mode & STICKY != 0
}

fn changeable(path: &Path, stat: &Stat) -> bool {
    match me() {
        0 => stat.st_uid != 0 || stat.st_mode & OTHERS_WRITE != 0,
        me => {
            stat.st_uid == me || rustix::fs::accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
        }
    }
}

fn open(path: &Path, flags: OFlags) -> std::io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty())?)
}

pub(super) fn of_stat(stat: &Stat) -> FileIdentity {
    FileIdentity {
        dev: stat.st_dev,
        ino: stat.st_ino,
        size: stat.st_size.try_into().unwrap_or(0),
        mtime_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ctime_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        mode: stat.st_mode,
        sha256: None,
    }
}

fn nanoseconds(seconds: i64, rest: u64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest)
}

fn inode(identity: &FileIdentity) -> String {
    format!("{} on device {}", identity.ino, identity.dev)
}

fn time(ns: i128) -> String {
    format!("{}.{:09} s", ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000))
}

fn digest(sha256: Option<[u8; 32]>) -> String {
    let Some(bytes) = sha256 else { return "none".into() };
    hex(bytes)
}

fn me() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Where systems keep programs that nobody's work changes.
const SYSTEM: &[&str] = &[
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/usr",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
    "/Applications",
    "/System",
];

const READ_BYTES: usize = 64 * 1_024;
const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
