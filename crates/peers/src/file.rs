//! The files of this crate: JSON of one version, replaced atomically. One that cannot be understood is never
//! used and never overwritten.

use countersign_core::private::{self, Others, Spoiled, Unusable};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Version of the files.
pub(crate) const VERSION: u32 = 1;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1_024 * 1_024;

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem<W: std::error::Error + 'static> {
    /// It cannot be read.
    #[error(transparent)]
    Unread(Spoiled),
    /// It cannot be understood.
    #[error("it cannot be understood: {0}")]
    NotUnderstood(#[source] serde_json::Error),
    /// A later release wrote it.
    #[error("expected version {VERSION}, found {0}")]
    Version(u32),
    /// Something in it is not right.
    #[error(transparent)]
    Wrong(#[from] W),
}

/// A file, and why it is not used.
pub type FileError<W> = Unusable<FileProblem<W>>;

/// A file's content.
pub(crate) trait Versioned: Serialize + DeserializeOwned {
    /// The version that it says.
    fn version(&self) -> u32;
}

/// What is stored, `None` when there is no file; one that others may use in a way that `others` forbids is an
/// error. Blocking.
pub(crate) fn read<D: Versioned, W: std::error::Error>(
    file: &Path,
    others: Others,
) -> Result<Option<D>, FileProblem<W>> {
    let text = private::read(file, MAX_BYTES, others).map_err(FileProblem::Unread)?;
    let Some(text) = text else { return Ok(None) };
    let document: D = serde_json::from_str(&text).map_err(FileProblem::NotUnderstood)?;
    match document.version() {
        VERSION => Ok(Some(document)),
        other => Err(FileProblem::Version(other)),
    }
}

/// Stores all of it. Blocking.
pub(crate) fn write(file: &Path, document: &impl Versioned) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(document)?;
    bytes.push(b'\n');
    private::write(file, &bytes)
}
