//! How much is looked at and kept.

use std::time::Duration;

/// Bounds of one state and of the store. Whatever a bound leaves out is named in the state, with the reason.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Entries of a workspace that are looked at: files, folders and all else. A folder that would go beyond
    /// is not looked into.
    pub entries: usize,
    /// Content kept for one state, in bytes as it lies in the workspace.
    pub bytes: u64,
    /// Content of one file, in bytes. It is held in memory while it is kept, once for each of [`WORKERS`]
    /// threads. At most [`MOST_CONTENT`].
    pub file: u64,
    /// Folders within folders.
    pub depth: usize,
    /// Time that keeping one state may take. What was not looked at by then is left out.
    pub time: Duration,
    /// How long a state is kept.
    pub age: Duration,
    /// What the whole store may take, in bytes on disk; the oldest states go first.
    pub store: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // A large monorepo has some hundred thousand.
            entries: 1_000_000,
            bytes: 512 * MIB,
            // Sources are smaller; what is larger was made by programs.
            file: 64 * MIB,
            depth: 128,
            // An agent waits for it, and gives a command up after about a minute.
            time: Duration::from_secs(20),
            age: Duration::from_hours(7 * 24),
            store: 2_048 * MIB,
        }
    }
}

/// Threads that read and keep contents at the same time. More would only wait for the disk.
pub const WORKERS: usize = 4;

/// Bytes of one object, whatever the limits say: what is read of the store is never larger.
pub const MOST_CONTENT: u64 = 1_024 * MIB;

/// Things left out that a state names; the others are counted. A person reads no more.
pub const NAMED_LEFT_OUT: usize = 100;

/// Bytes of a text that a difference is shown of. Larger ones are shown as sizes.
pub const MOST_TEXT: u64 = MIB;

/// Bytes in a mebibyte.
const MIB: u64 = 1_024 * 1_024;
