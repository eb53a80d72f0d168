//! Reading and writing files of others: whole or not at all, with the mode they have, and never
//! somebody else's.

use crate::error::ConnectError;
use crate::places::Scope;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// What is in a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Found {
    pub(crate) text: String,
    pub(crate) mode: u32,
}

/// Where a path leads to, its folder included.
pub(crate) fn resolved(path: &Path, scope: Scope, folder: &Path) -> Result<PathBuf, ConnectError> {
    let failed = |source| ConnectError::Io { path: path.to_owned(), source };
    let file = match fs::canonicalize(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(ConnectError::Dangling(path.to_owned()));
            }
            let (folder, name) =
                (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
            match fs::canonicalize(folder) {
                Ok(folder) => folder.join(name),
                Err(error)
                    if error.kind() == ErrorKind::NotFound && fs::symlink_metadata(folder).is_err() =>
                {
                    path.to_owned()
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Err(error) => return Err(failed(error)),
    };
    if scope == Scope::Project {
        let folder = fs::canonicalize(folder).map_err(failed)?;
        let is_missing = !file.exists() && file == path;
        if !is_missing && !file.starts_with(folder) {
            return Err(ConnectError::Outside { path: path.to_owned(), file });
        }
    }
    Ok(file)
}

/// What is in a file that this user may change; nothing where it is not there.
pub(crate) fn read(file: &Path) -> Result<Option<Found>, ConnectError> {
    let found = look(file)?;
    may_change(file)?;
    Ok(found)
}

/// What is in a file, whoever may change it; nothing where it is not there.
pub(crate) fn look(file: &Path) -> Result<Option<Found>, ConnectError> {
    let failed = |source| ConnectError::Io { path: file.to_owned(), source };
    let Some(found) = metadata(file)? else { return Ok(None) };
    if !found.is_file() || found.len() > MAX_BYTES {
        return Err(ConnectError::NoFile { path: file.to_owned(), most: MAX_BYTES });
    }
    let text = fs::read_to_string(file).map_err(failed)?;
    Ok(Some(Found { text, mode: found.mode() & 0o7777 }))
}

/// Refuses a file that is another user's or read-only, as in a store that makes settings by itself.
pub(crate) fn may_change(file: &Path) -> Result<(), ConnectError> {
    let Some(found) = metadata(file)? else { return Ok(()) };
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(ConnectError::Foreign(file.to_owned()));
    }
    if found.mode() & OWNER_WRITE == 0 {
        return Err(ConnectError::ReadOnly(file.to_owned()));
    }
    Ok(())
}

fn metadata(file: &Path) -> Result<Option<fs::Metadata>, ConnectError> {
    match fs::metadata(file) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        found => found.map(Some).map_err(|source| ConnectError::Io { path: file.to_owned(), source }),
    }
}

/// The text of a file that is only looked at: an agent obeys it whoever may write it. Nothing where it is
/// not there, and where something on the way to it is no folder.
pub(crate) fn text(file: &Path) -> Result<Option<String>, ConnectError> {
    Ok(look(file)?.map(|found| found.text))
}

/// Puts a file in the place of what is there. After a crash the old or the new one is there, whole.
pub(crate) fn write(file: &Path, text: &str, mode: u32) -> Result<(), ConnectError> {
    replace(file, text, mode).map_err(|source| ConnectError::Io { path: file.to_owned(), source })
}

fn replace(file: &Path, text: &str, mode: u32) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut fresh = tempfile::Builder::new().tempfile_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    // Set and not asked for, as the process's mask would take bits away.
    fresh.as_file().set_permissions(Permissions::from_mode(mode))?;
    fresh.as_file().sync_all()?;
    fresh.persist(file)?;
    Ok(())
}

/// Makes the folder of a file; says which folders were not there before, the outermost first.
pub(crate) fn make_folder(file: &Path, scope: Scope) -> Result<Vec<PathBuf>, ConnectError> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let missing = folder.ancestors().take_while(|above| !above.exists()).map(Path::to_owned);
    let mut made: Vec<PathBuf> = missing.collect();
    made.reverse();
    let mode = match scope {
        Scope::User => 0o700,
        Scope::Project => 0o755,
    };
    let builder = &mut fs::DirBuilder::new();
    let outcome = builder.recursive(true).mode(mode).create(folder);
    outcome.map_err(|source| ConnectError::Io { path: folder.to_owned(), source })?;
    Ok(made)
}

/// The mode of a file that was not there before.
pub(crate) const fn fresh_mode(scope: Scope) -> u32 {
    match scope {
        Scope::User => 0o600,
        Scope::Project => 0o644,
    }
}

/// Where the bytes from before are kept.
pub(crate) fn backup_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(BACKUP);
    file.with_file_name(name)
}

/// Removes a file; one that is not there is fine.
pub(crate) fn remove(file: &Path) -> Result<(), ConnectError> {
    match fs::remove_file(file) {
        Err(source) if source.kind() != ErrorKind::NotFound => {
            Err(ConnectError::Io { path: file.to_owned(), source })
        }
        _ => Ok(()),
    }
}

/// Ending of the file with the bytes from before.
const BACKUP: &str = ".before-countersign";

/// Largest settings that are touched, in bytes. Claude Code keeps its projects in one file of
/// several megabytes.
pub(crate) const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Permission bit of the owner.
const OWNER_WRITE: u32 = 0o200;
