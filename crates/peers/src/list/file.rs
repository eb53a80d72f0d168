//! The file of one kind of peers.

use super::{MAX_PEERS, Peer, Wrong};
use crate::file::{self, FileProblem, VERSION, Versioned};
use std::path::Path;

/// A file's content.
pub(crate) trait Document<P>: Versioned {
    /// What is written.
    fn of(version: u32, peers: Vec<P>) -> Self;
    /// All of them.
    fn taken(self) -> Vec<P>;
}

/// What in a file of peers is not right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WrongPeers {
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
    Member {
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
pub type FileError = file::FileError<WrongPeers>;

/// What is stored. One that others may use is an error too. Blocking.
pub(super) fn read<P: Peer>(file: &Path) -> Result<Vec<P>, FileError> {
    read_peers(file).map_err(FileError::of(file))
}

fn read_peers<P: Peer>(file: &Path) -> Result<Vec<P>, FileProblem<WrongPeers>> {
    let Some(document) = file::read::<P::Document, _>(file, P::OTHERS)? else { return Ok(Vec::new()) };
    let peers = document.taken();
    let [name, names] = P::NAMES;
    if peers.len() > MAX_PEERS {
        return Err(WrongPeers::Many { names, found: peers.len() }.into());
    }
    for (at, peer) in peers.iter().enumerate() {
        peer.checked().map_err(|wrong| WrongPeers::Member { name, number: at + 1, wrong })?;
        if peers.iter().take(at).any(|other| other.id() == peer.id()) {
            return Err(WrongPeers::Twice(peer.id().to_owned()).into());
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
    file::write(file, &P::Document::of(VERSION, peers))
}
