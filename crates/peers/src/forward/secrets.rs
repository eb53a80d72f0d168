//! Secrets of targets: a file each, for their owner only. They go out in a header and nowhere else.

use countersign_core::private::{self, Others};
use std::io::{Error, ErrorKind};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// The folder of these files.
#[derive(Clone, Debug)]
pub(super) struct Secrets {
    folder: PathBuf,
}

impl Secrets {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Keeps one. Blocking.
    pub(super) fn keep(&self, id: &str, secret: &str) -> std::io::Result<()> {
        private::write(&self.file(id), secret.as_bytes())
    }

    /// The one of a target. Blocking.
    pub(super) fn read(&self, id: &str) -> std::io::Result<Option<Zeroizing<String>>> {
        private::read(&self.file(id), MAX_SECRET, Others::MayNothing).map_err(Error::other)
    }

    /// Forgets one. Blocking.
    pub(super) fn clear(&self, id: &str) -> std::io::Result<()> {
        match std::fs::remove_file(self.file(id)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.secret"))
    }
}

/// Longest secret, in bytes: it goes into a header.
pub(super) const MAX_SECRET: u64 = 4_096;
