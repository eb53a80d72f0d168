//! Small files that are for their owner only.

use std::io::{Error, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use zeroize::Zeroizing;

/// Replaces a file, mode 0600, in a folder that is made with mode 0700 when it is not there. After a crash the old or the
/// new bytes are there, whole. Blocking.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut file =
        tempfile::Builder::new().permissions(std::fs::Permissions::from_mode(0o600)).tempfile_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Makes a file as [`write`] does, unless it is there. Blocking.
pub(crate) fn write_if_missing(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if path.exists() { Ok(()) } else { write(path, bytes) }
}

/// A private file's text; `None` when there is none. One that others may use is an error. Blocking.
pub(crate) fn read(path: &Path, most: u64) -> std::io::Result<Option<Zeroizing<String>>> {
    let found = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    if !found.is_file() || found.len() > most {
        return Err(Error::new(ErrorKind::InvalidData, format!("expected a file of at most {most} bytes")));
    }
    if found.mode() & OTHERS != 0 {
        let text = format!("others than its owner may use it; do: chmod 600 {}", path.display());
        return Err(Error::new(ErrorKind::PermissionDenied, text));
    }
    std::fs::read_to_string(path).map(|text| Some(Zeroizing::new(text)))
}

/// Permission bits of others than the owner.
const OTHERS: u32 = 0o077;
