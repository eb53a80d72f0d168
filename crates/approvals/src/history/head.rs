//! What is known about the chains apart from their lines: where each begins and ends, noted with every
//! line, in two places.
//!
//! A head is a file of two slots that are written in turn, in place: a write that is cut short, by a full
//! disk or the end of the process, leaves the slot before, which is one line behind. Noting needs no room
//! that the file does not have.

use super::HistoryError;
use super::chain::{GENESIS, is_hash};
use super::flood::Flood;
use super::refuse_other_than_files;
use countersign_protocol::digits::hex;
use countersign_protocol::history::ChainName;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Name of the head beside the lines.
pub(super) const HEAD: &str = "chains.head";

/// Name of the head that an earlier version wrote.
pub(super) const EARLIER_HEAD: &str = "history.head";

/// Bytes of a slot: the longest head, with [`super::flood`] at its bounds.
const SLOT_BYTES: usize = 16 * 1024;

const SLOTS: u64 = 2;

/// Longest head of an earlier version, in bytes; it has a number and a hash.
const EARLIER_BYTES: u64 = 1024;

/// Digits of a turn at the beginning of a slot, so that a writer sees at a glance whether another one wrote.
const TURN_DIGITS: usize = 20;

/// A position in a chain.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Mark {
    pub(super) seq: u64,
    pub(super) hash: String,
}

impl Mark {
    pub(super) fn genesis() -> Self {
        Self { seq: 0, hash: GENESIS.to_owned() }
    }
}

/// Where a chain begins and ends.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Ends {
    /// The oldest line that is kept.
    pub(super) first: Mark,
    /// The newest line.
    pub(super) last: Mark,
    /// Lines that were written and not removed by age.
    pub(super) lines: u64,
    /// Up to where the lines are on the disk, so that they outlast a power failure.
    pub(super) synced: u64,
}

/// Lines that could not be written.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Missed {
    pub(super) lines: u64,
    pub(super) since_ms: i64,
    pub(super) problem: String,
}

/// Everything that is noted.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub(super) struct Head {
    /// Grows with every noting.
    pub(super) turn: u64,
    /// When, in Unix milliseconds.
    pub(super) at_ms: i64,
    /// Which start of the machine this was in.
    pub(super) boot: String,
    /// Position of the newest line of either chain.
    pub(super) seq: u64,
    pub(super) decisions: Option<Ends>,
    pub(super) unasked: Option<Ends>,
    #[serde(default)]
    pub(super) flood: Flood,
    #[serde(default)]
    pub(super) missed: Option<Missed>,
}

impl Head {
    pub(super) fn ends(&self, chain: ChainName) -> Option<&Ends> {
        match chain {
            ChainName::Decisions => self.decisions.as_ref(),
            ChainName::Unasked => self.unasked.as_ref(),
        }
    }

    pub(super) fn ends_mut(&mut self, chain: ChainName) -> &mut Option<Ends> {
        match chain {
            ChainName::Decisions => &mut self.decisions,
            ChainName::Unasked => &mut self.unasked,
        }
    }
}

/// Where the history is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Places {
    /// Folder of the lines; it has a head too.
    pub lines: PathBuf,
    /// The other head, a file in another folder: what removes the first one is less likely to
    /// reach this one too.
    pub head: PathBuf,
}

impl Places {
    /// Both heads.
    pub(super) fn heads(&self) -> [PathBuf; 2] {
        [self.lines.join(HEAD), self.head.clone()]
    }

    /// The newest head of both, and what is wrong with either.
    pub(super) fn read(&self) -> Noted {
        let read = self.heads().map(|path| (read(&path), path));
        let newest =
            read.iter().filter_map(|(head, _)| head.as_ref().ok()?.as_ref()).max_by_key(|head| head.turn);
        let newest = newest.cloned();
        let problems = read.iter().filter_map(|(head, path)| {
            let path = path.display();
            match head {
                Err(error) => Some(error.to_string()),
                Ok(None) if newest.is_some() => {
                    Some(format!("{path} is missing: one of two notes about the chains"))
                }
                // The process may have ended between the two.
                Ok(Some(head)) if newest.as_ref().is_some_and(|newest| head.turn + 1 < newest.turn) => {
                    Some(format!("{path} is older than the other note about the chains"))
                }
                Ok(_) => None,
            }
        });
        Noted { problems: problems.collect(), head: newest }
    }
}

/// What both heads say.
#[derive(Debug)]
pub(super) struct Noted {
    pub(super) head: Option<Head>,
    pub(super) problems: Vec<String>,
}

/// Reads a head; `None` when there is none. Never more than its slots.
pub(super) fn read(path: &Path) -> Result<Option<Head>, HistoryError> {
    let failed = |source| HistoryError::Io { doing: "read", path: path.to_owned(), source };
    let Some(file) = open(path, OFlags::RDONLY)? else { return Ok(None) };
    let mut best: Option<Head> = None;
    for slot in 0..SLOTS {
        let mut bytes = vec![0; SLOT_BYTES];
        let filled = read_up_to(&file, &mut bytes, slot * SLOT_BYTES as u64).map_err(failed)?;
        let head = decode(&bytes[..filled]);
        if head.as_ref().map(|head| head.turn) > best.as_ref().map(|head| head.turn) {
            best = head;
        }
    }
    let problem = "expected a note about the chains, found something else".to_owned();
    best.map(Some).ok_or_else(|| HistoryError::Unsafe { path: path.to_owned(), problem })
}

/// Whether the newest slot is of this turn.
pub(super) fn is_at(path: &Path, turn: u64) -> bool {
    let Ok(Some(file)) = open(path, OFlags::RDONLY) else { return false };
    let turn_of = |slot: u64| {
        let mut digits = [0; TURN_DIGITS];
        file.read_exact_at(&mut digits, slot * SLOT_BYTES as u64).ok()?;
        std::str::from_utf8(&digits).ok()?.parse::<u64>().ok()
    };
    (0..SLOTS).filter_map(turn_of).max() == Some(turn)
}

/// How much has to reach the disk before it returns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Reach {
    /// What outlasts this process.
    Process,
    /// What outlasts the machine.
    Disk,
}

/// Notes a head in its slot.
pub(super) fn write(path: &Path, head: &Head, reach: Reach) -> Result<(), HistoryError> {
    let failed = |source: io::Error| HistoryError::Io { doing: "write", path: path.to_owned(), source };
    let file = match open(path, OFlags::RDWR)? {
        Some(file) => file,
        None => made(path)?,
    };
    let bytes = encode(head).map_err(failed)?;
    file.write_all_at(&bytes, head.turn % SLOTS * SLOT_BYTES as u64).map_err(failed)?;
    if reach == Reach::Disk {
        file.sync_data().map_err(failed)?;
    }
    Ok(())
}

/// A fresh file with room for both slots.
fn made(path: &Path) -> Result<File, HistoryError> {
    let failed = |source: io::Error| HistoryError::Io { doing: "make", path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        crate::folder::Folder::open_or_make(folder).map_err(failed)?;
    }
    let flags = FLAGS | OFlags::RDWR | OFlags::CREATE;
    let file =
        rustix::fs::open(path, flags, crate::folder::FILE_MODE).map_err(|error| failed(error.into()))?;
    let file = File::from(file);
    refuse_other_than_files(&file, path)?;
    let room = vec![b' '; SLOT_BYTES * 2];
    file.write_all_at(&room, 0).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(file)
}

const FLAGS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

fn open(path: &Path, flags: OFlags) -> Result<Option<File>, HistoryError> {
    match rustix::fs::open(path, FLAGS | flags, Mode::empty()) {
        Ok(file) => {
            let file = File::from(file);
            refuse_other_than_files(&file, path)?;
            Ok(Some(file))
        }
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(HistoryError::Io { doing: "open", path: path.to_owned(), source: error.into() }),
    }
}

fn read_up_to(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], at + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

pub(super) fn encode(head: &Head) -> io::Result<Vec<u8>> {
    let json = serde_json::to_string(head)?;
    let text = format!("{:0TURN_DIGITS$} {} {json}\n", head.turn, digest(&json));
    if text.len() > SLOT_BYTES {
        return Err(io::Error::other(format!("a note of {} bytes, at most {SLOT_BYTES} fit", text.len())));
    }
    Ok(text.into_bytes())
}

pub(super) fn decode(bytes: &[u8]) -> Option<Head> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (turn, rest) = std::str::from_utf8(&bytes[..end]).ok()?.split_once(' ')?;
    let (hash, json) = rest.split_once(' ')?;
    let head: Head = (digest(json) == hash).then(|| serde_json::from_str(json).ok()).flatten()?;
    (turn.parse() == Ok(head.turn)).then_some(head)
}

fn digest(json: &str) -> String {
    hex(Sha256::digest(json))
}

/// How far an earlier version's chain had come when it was last flushed. One that makes no
/// sense says nothing.
pub(super) fn earlier(lines: &Path) -> Option<Mark> {
    use std::io::Read;
    let file = open(&lines.join(EARLIER_HEAD), OFlags::RDONLY).ok()??;
    let mut text = Vec::new();
    file.take(EARLIER_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok().filter(|mark: &Mark| is_hash(&mark.hash))
}

/// Names this start of the machine; empty where the system does not tell.
pub(super) fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(turn: u64) -> Head {
        Head { turn, boot: boot(), ..Head::default() }
    }

    #[test]
    fn a_slot_that_was_cut_short_leaves_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/x.head");
        assert_eq!(read(&path).unwrap(), None);
        for turn in 1..=5 {
            write(&path, &head(turn), Reach::Process).unwrap();
            assert_eq!(read(&path).unwrap(), Some(head(turn)));
            assert!(is_at(&path, turn) && !is_at(&path, turn + 1));
        }
        let whole = std::fs::read(&path).unwrap();
        let length = encode(&head(5)).unwrap().len();
        for cut in 0..length {
            let mut torn = whole.clone();
            torn[SLOT_BYTES + cut] ^= 1;
            std::fs::write(&path, &torn).unwrap();
            assert_eq!(read(&path).unwrap(), Some(head(4)), "byte {cut}");
        }
    }

    #[test]
    fn what_is_no_head_is_said_without_waiting_or_reading_it_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.head");
        let check = |expected: &str| {
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, crate::folder::FILE_MODE, 0)
            .unwrap();
        check("found a pipe");
        assert!(write(&path, &head(1), Reach::Process).is_err());
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        check("found a folder");
        std::fs::remove_dir(&path).unwrap();
        File::create(&path).unwrap().set_len(200 * 1024 * 1024).unwrap();
        check("found something else");
        write(&path, &head(3), Reach::Disk).unwrap();
        assert_eq!(read(&path).unwrap(), Some(head(3)), "and it is written over");
    }
}
