//! The one way to read a file of ours: settings, keys, tokens, lists. Whatever else lies in its place is told
//! in words and never waited for, followed, or read beyond what such a file may hold.
//!
//! ```no_run
//! use countersign_approvals::ours::{self, Others};
//! # fn f() -> Result<(), ours::Spoiled> {
//! let text = ours::read("/home/u/.config/countersign/settings.json".as_ref(), 64 * 1024, Others::MayRead)?;
//! # Ok(()) }
//! ```

use crate::folder::{OTHERS_WRITE, is_ours};
use rustix::fs::{self, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use zeroize::Zeroizing;

/// What others than the owner may do with a file, by its permission bits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Others {
    /// Nothing: it holds a secret.
    MayNothing,
    /// They may read it, and not change what it says.
    MayRead,
}

/// Why a file cannot be used. What was expected is for its reader to say; the text names what lies there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Spoiled {
    /// No file at all.
    #[error("expected a regular file, found {0}")]
    Kind(&'static str),
    /// Somebody else could change it at any time.
    #[error("expected a file of this user, found one of the user with the number {0}")]
    Foreign(u32),
    /// Its permissions are too wide.
    #[error("others than its owner may {may} it (mode {mode:04o}); do: chmod 600 {path}")]
    Open {
        /// What they may do.
        may: &'static str,
        /// Its permission bits.
        mode: u32,
        /// Its path.
        path: String,
    },
    /// More than such a file holds.
    #[error("expected at most {0} bytes, found more")]
    TooLarge(u64),
    /// No UTF-8.
    #[error("expected text in UTF-8, found other bytes")]
    NoText,
    /// The system refused.
    #[error("it cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for Spoiled {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// The text of a file of at most `most` bytes; `None` when nothing lies there. Never waits for another
/// program, follows no link, and holds no more than `most` bytes and one. Blocking.
pub fn read(path: &Path, most: u64, others: Others) -> Result<Option<Zeroizing<String>>, Spoiled> {
    let Some((file, stat)) = open(path, OFlags::RDONLY)? else { return Ok(None) };
    let mode = stat.st_mode & 0o7777;
    let open = |may| Err(Spoiled::Open { may, mode, path: path.display().to_string() });
    match others {
        Others::MayNothing if mode & OTHERS_ANY != 0 => return open("use"),
        Others::MayRead if mode & OTHERS_WRITE != 0 => return open("change"),
        Others::MayNothing | Others::MayRead => {}
    }
    // Sized beforehand, so that no copy of a secret stays behind where the bytes grew.
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if size > most {
        return Err(Spoiled::TooLarge(most));
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1));
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        return Err(Spoiled::TooLarge(most));
    }
    match String::from_utf8(std::mem::take(&mut *bytes)) {
        Ok(text) => Ok(Some(Zeroizing::new(text))),
        Err(error) => {
            drop(Zeroizing::new(error.into_bytes()));
            Err(Spoiled::NoText)
        }
    }
}

/// Opens a file to lock it. Like [`read`], it waits for nobody and follows no link; `None` when nothing lies
/// there. Blocking.
pub fn open_lock(path: &Path) -> Result<Option<File>, Spoiled> {
    Ok(open(path, OFlags::RDWR)?.map(|(file, _)| file))
}

fn open(path: &Path, access: OFlags) -> Result<Option<(File, Stat)>, Spoiled> {
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match fs::open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(Spoiled::Kind("a symbolic link")),
        // A socket, or a device without a driver.
        Err(Errno::NXIO) => return Err(Spoiled::Kind("a socket or a device")),
        Err(Errno::ISDIR) => return Err(Spoiled::Kind("a folder")),
        Err(error) => return Err(error.into()),
    };
    let stat = fs::fstat(&file)?;
    if let Some(kind) = other_kind(&stat) {
        return Err(Spoiled::Kind(kind));
    }
    if !is_ours(&stat) {
        return Err(Spoiled::Foreign(stat.st_uid));
    }
    Ok(Some((file, stat)))
}

/// What lies there when it is no regular file.
fn other_kind(stat: &Stat) -> Option<&'static str> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a folder"),
        FileType::Symlink => Some("a symbolic link"),
        FileType::Fifo => Some("a pipe"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        FileType::Unknown => Some("something of no known kind"),
    }
}

/// Permission bits of others than the owner.
const OTHERS_ANY: u32 = 0o077;

#[cfg(test)]
mod tests;
