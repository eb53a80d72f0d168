//! What the first program of a box is told when the box was made before anybody knew what would run in it.
//!
//! It comes through the program's standard input, a socket of which the box has the one end and whoever made
//! it the other. Until then nothing but that program is in the box, and afterwards nothing
//! more is heard there.

use super::layout;
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A command, as it is to begin.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Order {
    /// What it is called.
    pub(super) typed: String,
    /// What is started.
    pub(super) program: PathBuf,
    /// Device and number of that.
    pub(super) identity: (u64, u64),
    /// Without the name.
    pub(super) arguments: Vec<String>,
    /// All of its environment.
    pub(super) environment: BTreeMap<String, String>,
    /// Where it starts.
    pub(super) folder: PathBuf,
    /// What has to be mounted for it to begin.
    pub(super) walls: Vec<PathBuf>,
}

/// Whoever gives the order.
#[derive(Debug)]
pub(super) struct Orders(UnixStream);

/// Why the box did not take it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NotTaken {
    /// Something in it is no longer as it was made.
    Outdated,
    /// It is not there any more.
    Gone,
}

impl Orders {
    /// The two ends: one to give the order, and one that is a standard input.
    pub(super) fn new() -> io::Result<(Self, OwnedFd)> {
        let (ours, its) = UnixStream::pair()?;
        Ok((Self(ours), its.into()))
    }

    /// Gives the order. Once it was taken, the command begins at once. Dropping it may leave the order given.
    pub(super) async fn give(self, order: &Order) -> Result<(), NotTaken> {
        let gone = |_| NotTaken::Gone;
        let bytes = postcard::to_stdvec(order).map_err(|_| NotTaken::Outdated)?;
        self.0.set_nonblocking(true).map_err(gone)?;
        let mut stream = tokio::net::UnixStream::from_std(self.0).map_err(gone)?;
        stream.write_all(&bytes).await.map_err(gone)?;
        stream.shutdown().await.map_err(gone)?;
        match stream.read_u8().await {
            Ok(TAKEN) => Ok(()),
            Ok(_) => Err(NotTaken::Outdated),
            Err(error) => Err(gone(error)),
        }
    }
}

/// What came through standard input, and is answered. Blocking; `None` when nobody gives an order any more.
pub(super) fn taken() -> io::Result<Option<Order>> {
    let input = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 0)?;
    let nothing = openat(CWD, "/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(nothing)?;
    let mut stream = UnixStream::from(input);
    let mut bytes = Vec::new();
    (&stream).take(LARGEST).read_to_end(&mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let order: Order =
        postcard::from_bytes(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
    // A wall falls where somebody outside replaces what it stands before: then another box has to be made.
    let standing = layout::mount_points()?;
    let is_whole = order.walls.iter().all(|wall| standing.contains(wall));
    if !is_whole || !is_there(&order.program, order.identity) {
        stream.write_all(&[OUTDATED])?;
        return Ok(None);
    }
    stream.write_all(&[TAKEN])?;
    stream.shutdown(Shutdown::Both)?;
    Ok(Some(order))
}

fn is_there(program: &Path, identity: (u64, u64)) -> bool {
    let opened = openat(CWD, program, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let found = opened.and_then(fstat);
    found.is_ok_and(|found| (found.st_dev, found.st_ino) == identity)
}

/// Answers of one byte.
const TAKEN: u8 = 1;
const OUTDATED: u8 = 2;

/// Longest order, in bytes: more than the kernel gives any command for its arguments and environment.
const LARGEST: u64 = 8 * 1_024 * 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        let order = Order {
            typed: "./sh".into(),
            program: "/usr/bin/dash".into(),
            identity: (u64::MAX, 7),
            arguments: vec![String::new(), "ä \n".into()],
            environment: BTreeMap::from([("A".into(), "=".into())]),
            folder: "/work".into(),
            walls: vec!["/work".into()],
        };
        let written = postcard::to_stdvec(&order).unwrap();
        assert_eq!(postcard::from_bytes::<Order>(&written).unwrap(), order);
        assert!(postcard::from_bytes::<Order>(&written[..written.len() - 1]).is_err());
    }
}
