//! Checked reads and atomic writes of a small private file. No tasks, no meaning.

use crate::folder::{FILE_MODE, Folder, OTHERS_WRITE, is_ours};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

/// Largest file that is read or written, in bytes: what OpenClaw's importer accepts of its document
/// (docs/protocol/document.md, "Where it is").
pub(crate) const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Bytes handed to the system at once. Every piece is a place where a crash is tested.
const PIECE_BYTES: usize = 64 * 1024;

/// Milliseconds after which a temporary file is nobody's: a write takes far less.
const STALE_TEMP_MS: i64 = 60 * 60 * 1000;

/// End of a temporary file's name. Before it stand a dot, the file's name up to its first dot, process id and
/// a random id, as peers name theirs.
const TEMP: &str = ".tmp";

/// Before the random id where the file is this program's.
const OWN: &str = "countersign-";

/// Tells one state of a file from another without reading it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Stamp {
    dev: u64,
    ino: u64,
    size: i64,
    mode: u32,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

/// What is stored under a name.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Found {
    /// Nothing.
    Nothing,
    /// A file that may be read.
    Bytes {
        /// Its content.
        bytes: Vec<u8>,
        /// Its permission bits.
        mode: u32,
    },
    /// Something that is not used.
    Refused {
        /// Why not.
        problem: String,
    },
}

/// Why a file was not replaced.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    /// What is there is not what was read.
    #[error("another program wrote it meanwhile")]
    Moved,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<Errno> for WriteError {
    fn from(error: Errno) -> Self {
        Self::Io(error.into())
    }
}

/// What to do with the bytes that a write replaces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Backup {
    /// Keep them beside the file.
    Keep,
    /// They say the same: leave the backup as it is.
    Skip,
}

/// The file's stamp now; `None` when there is nothing.
pub(crate) fn stamp(folder: &Folder, name: &str) -> io::Result<Option<Stamp>> {
    Ok(folder.stat(name)?.as_ref().map(Stamp::of))
}

/// The same by a path, without a descriptor: it tells even when none is left.
pub(crate) fn stamp_at(path: &Path) -> io::Result<Option<Stamp>> {
    match fs::lstat(path) {
        Ok(stat) => Ok(Some(Stamp::of(&stat))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Reads a file that is regular, ours alone to write, not linked, and not too large. An error is the
/// system's, and says nothing about what is stored.
pub(crate) fn read(folder: &Folder, name: &str) -> io::Result<Found> {
    match folder.open_file(name, OFlags::RDONLY) {
        Ok(file) => read_open(&file),
        Err(Errno::NOENT) => Ok(Found::Nothing),
        Err(Errno::LOOP) => Ok(refused("it is a symbolic link")),
        Err(Errno::NXIO) => Ok(refused(NOT_A_FILE)),
        Err(error) => Err(error.into()),
    }
}

/// Replaces a file's bytes, unless it is no longer the one with this stamp. After a crash anywhere in here
/// the old or the new bytes are there, whole.
pub(crate) fn write(
    folder: &Folder,
    name: &str,
    bytes: &[u8],
    expected: Option<Stamp>,
    before: Option<(&[u8], Mode)>,
    backup: Backup,
    fresh: &dyn Fn() -> String,
) -> Result<(), WriteError> {
    // Whoever writes without the lock may do so at any time: what is already gone needs no backup.
    if stamp(folder, name)? != expected {
        return Err(WriteError::Moved);
    }
    if let (Some((old, _)), Backup::Keep) = (before, backup) {
        replace(folder, &backup_name(name), old, FILE_MODE, &fresh(), Over::Anything)?;
    }
    let mode = before.map_or(FILE_MODE, |(_, mode)| mode & FILE_MODE);
    replace(folder, name, bytes, mode, &fresh(), Over::Only(expected))?;
    folder.sync()?;
    #[cfg(test)]
    crate::fault::step();
    Ok(())
}

/// Name of the file whose lock a writer of `name` holds.
pub(crate) fn lock_name(name: &str) -> String {
    format!("{name}.lock")
}

/// Name of the file that keeps the bytes before.
pub(crate) fn backup_name(name: &str) -> String {
    format!("{name}.bak")
}

/// Moves whatever is under `name` to a free name made of it and the time; returns that name.
pub(crate) fn set_aside(folder: &Folder, name: &str, now_ms: i64) -> io::Result<String> {
    let mut at_ms = now_ms;
    loop {
        let aside = format!("{name}.unusable-{at_ms}");
        match fs::renameat_with(folder, name, folder, aside.as_str(), RenameFlags::NOREPLACE) {
            Ok(()) => {
                folder.sync()?;
                return Ok(aside);
            }
            Err(Errno::EXIST) => at_ms += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Removes temporary files of `name` that a crash left behind; says how many. This program writes under the
/// file's lock, so that whoever has it knows that its own ones are nobody's; a peer's are nobody's
/// once they are old.
pub(crate) fn sweep(folder: &Folder, name: &str, now_ms: i64) -> io::Result<usize> {
    let mut temps = folder.names()?;
    temps.retain(|temp| is_temp_of(name, temp));
    let has_own = temps.iter().any(|temp| is_own(temp));
    let lock = has_own.then(|| folder.lock(&lock_name(name), Duration::ZERO).ok()).flatten();
    let mut removed = 0;
    for temp in temps {
        let Some(stat) = folder.stat(&temp)? else { continue };
        let age_ms = now_ms.saturating_sub(stat.st_mtime.saturating_mul(1000));
        let is_left = age_ms >= STALE_TEMP_MS || lock.is_some() && is_own(&temp);
        if is_left && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && is_ours(&stat) {
            fs::unlinkat(folder, temp.as_str(), AtFlags::empty())?;
            removed += 1;
        }
    }
    Ok(removed)
}

impl Stamp {
    fn of(stat: &Stat) -> Self {
        Self {
            dev: stat.st_dev,
            ino: stat.st_ino,
            size: stat.st_size,
            mode: stat.st_mode,
            mtime: (stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
            ctime: (stat.st_ctime, nanoseconds(stat.st_ctime_nsec)),
        }
    }
}

/// The type of these members differs between platforms.
fn nanoseconds(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(0)
}

const NOT_A_FILE: &str = "it is not a regular file";

fn refused(problem: impl Into<String>) -> Found {
    Found::Refused { problem: problem.into() }
}

fn read_open(file: &File) -> io::Result<Found> {
    let stat = fs::fstat(file)?;
    let mode = stat.st_mode & 0o7777;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Ok(refused(NOT_A_FILE));
    }
    if !is_ours(&stat) {
        return Ok(refused("it belongs to another user"));
    }
    if stat.st_nlink > 1 {
        return Ok(refused("it has another name (hard link), so a change would show there too"));
    }
    if mode & OTHERS_WRITE != 0 {
        return Ok(refused(format!("others may write it (mode {mode:04o}); run chmod 600 on it")));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Ok(refused(format!("it is larger than {MAX_BYTES} bytes")));
    }
    Ok(Found::Bytes { bytes, mode })
}

/// What a new file may take the place of.
#[derive(Clone, Copy)]
enum Over {
    Anything,
    /// The file with this stamp, or nothing.
    Only(Option<Stamp>),
}

/// Writes beside, then renames over.
fn replace(
    folder: &Folder,
    name: &str,
    bytes: &[u8],
    mode: Mode,
    fresh: &str,
    over: Over,
) -> Result<(), WriteError> {
    let temp = format!("{}{}.{OWN}{fresh}{TEMP}", temp_prefix(name), std::process::id());
    let file = folder.open_file(&temp, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    #[cfg(test)]
    crate::fault::step();
    let written = fill(&file, bytes, mode).map_err(WriteError::from).and_then(|()| {
        #[cfg(test)]
        crate::fault::step();
        put(folder, &temp, name, over)
    });
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::unlinkat(folder, temp.as_str(), AtFlags::empty());
    }
    written?;
    #[cfg(test)]
    crate::fault::step();
    Ok(())
}

/// Syncing takes long enough for somebody else to write: looked at again right before the rename, and where
/// there was nothing, the rename itself refuses what has come.
fn put(folder: &Folder, temp: &str, name: &str, over: Over) -> Result<(), WriteError> {
    if let Over::Only(expected) = over {
        if stamp(folder, name)? != expected {
            return Err(WriteError::Moved);
        }
        if expected.is_none() {
            match fs::renameat_with(folder, temp, folder, name, RenameFlags::NOREPLACE) {
                // A file system that cannot tell.
                Err(Errno::INVAL | Errno::NOSYS) => {}
                Err(Errno::EXIST) => return Err(WriteError::Moved),
                renamed => return Ok(renamed?),
            }
        }
    }
    Ok(fs::renameat(folder, temp, folder, name)?)
}

fn fill(mut file: &File, bytes: &[u8], mode: Mode) -> io::Result<()> {
    fs::fchmod(file, mode)?;
    for piece in bytes.chunks(PIECE_BYTES) {
        file.write_all(piece)?;
        #[cfg(test)]
        crate::fault::step();
    }
    file.sync_all()
}

fn temp_prefix(name: &str) -> String {
    format!(".{}.", name.split('.').next().unwrap_or(name))
}

fn is_temp_of(name: &str, temp: &str) -> bool {
    let middle = temp.strip_prefix(&temp_prefix(name)).and_then(|rest| rest.strip_suffix(TEMP));
    middle.and_then(|middle| middle.split_once('.')).is_some_and(|(pid, id)| {
        !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()) && !id.is_empty()
    })
}

/// Whether this program named a temporary file.
fn is_own(temp: &str) -> bool {
    temp.rsplit('.').nth(1).is_some_and(|id| id.starts_with(OWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes over what was read, after somebody else did something; what is there then, and
    /// under which names.
    fn check(first: Option<&str>, meanwhile: Option<&str>, expected: &str) {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::open(dir.path()).unwrap().unwrap();
        let path = dir.path().join("it.json");
        if let Some(first) = first {
            std::fs::write(&path, first).unwrap();
        }
        let read = stamp(&folder, "it.json").unwrap();
        if let Some(text) = meanwhile {
            std::fs::write(dir.path().join("other"), text).unwrap();
            std::fs::rename(dir.path().join("other"), &path).unwrap();
        }
        let written = replace(&folder, "it.json", b"ours", FILE_MODE, "id", Over::Only(read));
        assert_eq!(matches!(written, Err(WriteError::Moved)), meanwhile.is_some(), "{written:?}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), expected);
        assert_eq!(folder.names().unwrap(), ["it.json"]);
    }

    #[test]
    fn what_another_program_wrote_while_ours_was_on_its_way_is_not_replaced() {
        check(None, None, "ours");
        check(Some("old"), None, "ours");
        check(None, Some("theirs"), "theirs");
        check(Some("old"), Some("theirs"), "theirs");
    }
}
