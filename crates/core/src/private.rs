//! Small files that are for their owner only.

pub use countersign_approvals::ours::{Others, Spoiled, open_lock, read};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// A file of ours that cannot be used, and why.
#[derive(Debug, thiserror::Error)]
#[error("{}: {why}", file.display())]
pub struct Unusable<W> {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub why: W,
}

impl<W> Unusable<W> {
    /// For the errors of one file.
    pub fn of(file: &Path) -> impl Fn(W) -> Self + '_ {
        |why| Self { file: file.to_owned(), why }
    }
}

/// Replaces a file, mode 0600, in a folder that is made with mode 0700 when it is not there. After a crash
/// the old or the new bytes are there, whole. Blocking.
pub fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut file =
        tempfile::Builder::new().permissions(std::fs::Permissions::from_mode(0o600)).tempfile_in(dir)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// Makes a file as [`write()`] does, unless it is there. Blocking.
pub fn write_if_missing(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if path.exists() { Ok(()) } else { write(path, bytes) }
}
