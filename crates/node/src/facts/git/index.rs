//! The submodules that git's index names.

use countersign_commands::git::config::Names;
use std::ffi::OsStr;
use std::fs::{File, symlink_metadata};
use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Paths of the submodules in the index at `path`; none when there is no index. Blocking, bounded by
/// [`INDEX_BYTES`].
pub(super) fn submodules(path: &Path, names: Names) -> Result<Vec<PathBuf>, Unreadable> {
    match symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() <= INDEX_BYTES => {}
        Ok(_) => return Err(Unreadable),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(_) => return Err(Unreadable),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|_| Unreadable)?;
    file.take(INDEX_BYTES).read_to_end(&mut bytes).map_err(|_| Unreadable)?;
    read(&bytes, names).ok_or(Unreadable)
}

/// It is no index, or one of a kind that is not read here.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("an index that cannot be read")]
pub(super) struct Unreadable;

/// What the bytes of an index say; `None` when they are none, or of a kind that is not read here.
pub(crate) fn read(bytes: &[u8], names: Names) -> Option<Vec<PathBuf>> {
    let digest = match names {
        Names::Short => 20,
        Names::Long => 32,
    };
    let end = bytes.len().checked_sub(digest)?;
    let mut rest = bytes.get(..end)?;
    if take(&mut rest, 4)? != b"DIRC" {
        return None;
    }
    let version = number(&mut rest)?;
    let count = number(&mut rest)?;
    let mut found = Vec::new();
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let before = rest.len();
        let mode = u32::from_be_bytes(take(&mut rest, FIXED)?.get(MODE..MODE + 4)?.try_into().ok()?);
        take(&mut rest, digest)?;
        let flags = u16::from_be_bytes(take(&mut rest, 2)?.try_into().ok()?);
        match version {
            2 if flags & EXTENDED == 0 => {}
            3 | 4 => {
                if flags & EXTENDED != 0 {
                    take(&mut rest, 2)?;
                }
            }
            _ => return None,
        }
        if version == 4 {
            let dropped = varint(&mut rest)?;
            name.truncate(name.len().checked_sub(dropped)?);
        } else {
            name.clear();
        }
        let length = rest.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(take(&mut rest, length)?);
        if version == 4 {
            take(&mut rest, 1)?;
        } else {
            // Filled with zeros, at least one, so that entries have lengths that eight divides.
            let so_far = before - rest.len();
            take(&mut rest, 8 - so_far % 8)?;
        }
        if mode & KIND == SUBMODULE {
            found.push(PathBuf::from(OsStr::from_bytes(&name)));
        }
    }
    while !rest.is_empty() {
        // The entries of an index that goes on in another file are not all here.
        if take(&mut rest, 4)? == b"link" {
            return None;
        }
        let length = usize::try_from(number(&mut rest)?).ok()?;
        take(&mut rest, length)?;
    }
    Some(found)
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(take(rest, 4)?.try_into().ok()?))
}

/// A length in as many bytes as it takes, seven bits in each, the highest first.
fn varint(rest: &mut &[u8]) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = *take(rest, 1)?.first()?;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

/// Bytes of an entry before the name of its object, and where among them its mode is.
const FIXED: usize = 40;
const MODE: usize = 24;

/// What says that more flags follow.
const EXTENDED: u16 = 0x4000;

/// The kind of an entry within its mode, and that of submodules.
const KIND: u32 = 0o170_000;
const SUBMODULE: u32 = 0o160_000;

/// Largest index that is read, in bytes: one with half a million files.
const INDEX_BYTES: u64 = 64 * 1_024 * 1_024;
