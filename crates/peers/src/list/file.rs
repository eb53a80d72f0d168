//! The file of one kind of peers, replaced atomically. One that cannot be understood must not be overwritten.

use super::{MAX_PEERS, Peer, Wrong};
use countersign_core::private::{self, Spoiled, Unusable};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// Version of the files.
const VERSION: u32 = 1;

/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1_024 * 1_024;

/// A file's content.
pub(crate) trait Document<P>: Serialize + DeserializeOwned {
    /// What is written.
    fn of(version: u32, peers: Vec<P>) -> Self;
    /// Its version, and all of them.
    fn taken(self) -> (u32, Vec<P>);
}

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    /// It cannot be read.
    #[error(transparent)]
    Unread(Spoiled),
    /// It cannot be understood.
    #[error("it cannot be understood: {0}")]
    NotUnderstood(#[source] serde_json::Error),
    /// A later release wrote it.
    #[error("expected version {VERSION}, found {0}")]
    Version(u32),
    /// More than there is room for.
    #[error("expected at most {MAX_PEERS} {names}, found {found}")]
    Many {
        /// What they are called.
        names: &'static str,
        /// How many.
        found: usize,
    },
    /// A member of one is not right.
    #[error("{name} {number}: {wrong}")]
    Wrong {
        /// What it is called.
        name: &'static str,
        /// Which one, from 1.
        number: usize,
        /// What is wrong.
        wrong: Wrong,
    },
    /// Two have the same id.
    #[error("the id {0:?} is there twice")]
    Twice(String),
}

/// A file of peers, and why it is not used.
pub type FileError = Unusable<FileProblem>;

/// What is stored. One that others may use is an error too. Blocking.
pub(super) fn read<P: Peer>(file: &Path) -> Result<Vec<P>, FileError> {
    read_peers(file).map_err(FileError::of(file))
}

fn read_peers<P: Peer>(file: &Path) -> Result<Vec<P>, FileProblem> {
    let text = private::read(file, MAX_BYTES, P::OTHERS).map_err(FileProblem::Unread)?;
    let Some(text) = text else { return Ok(Vec::new()) };
    let document: P::Document = serde_json::from_str(&text).map_err(FileProblem::NotUnderstood)?;
    let (version, peers) = document.taken();
    let [name, names] = P::NAMES;
    if version != VERSION {
        return Err(FileProblem::Version(version));
    }
    if peers.len() > MAX_PEERS {
        return Err(FileProblem::Many { names, found: peers.len() });
    }
    for (at, peer) in peers.iter().enumerate() {
        peer.checked().map_err(|wrong| FileProblem::Wrong { name, number: at + 1, wrong })?;
        if peers.iter().take(at).any(|other| other.id() == peer.id()) {
            return Err(FileProblem::Twice(peer.id().to_owned()));
        }
    }
    Ok(peers)
}

/// What is wrong with the file, if anything is. Blocking.
pub(crate) fn check<P: Peer>(file: &Path) -> Result<(), FileError> {
    read::<P>(file).map(drop)
}

/// Writes what it reads.
#[cfg(fuzzing)]
pub(crate) fn rewrite<P: Peer>(file: &Path) {
    write(file, read::<P>(file).unwrap()).unwrap();
}

/// Stores all of them. Blocking.
pub(super) fn write<P: Peer>(file: &Path, peers: Vec<P>) -> std::io::Result<()> {
    let mut bytes = serde_json::to_vec_pretty(&P::Document::of(VERSION, peers))?;
    bytes.push(b'\n');
    private::write(file, &bytes)
}
