//! What runs in boxes changed, and putting it back.

use crate::change::DiffHunk;
use crate::shown::Shown;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui! {
    /// Which line of the history is meant, by its position; it has to be one about changes.
    #[derive(Copy, Eq)]
    pub struct KeptParams {
        /// Position of the line.
        pub seq: u64,
        /// That all of what the session of that line's run changed in its folder is meant; absent:
        /// this line alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<KeptRange>,
        /// Number of one change, from [`KeptChange::number`]; absent: all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub change: Option<u32>,
    }

    /// Which lines of a session were looked at, so that numbers of changes go on meaning the same.
    #[derive(Copy, Eq)]
    pub struct KeptRange {
        /// Position of the first.
        pub first: u64,
        /// Position of the last.
        pub last: u64,
        /// How many of them are about runs.
        pub runs: u32,
    }

    /// What all runs of a session changed in a folder, as far as it is kept: what was before the first of
    /// them, and what the last left.
    pub struct KeptSession {
        /// The folder, escaped.
        pub folder: String,
        /// The lines that this is told from.
        pub range: KeptRange,
        /// Further runs that changed something of which nothing is kept, or not any more.
        pub lost: u32,
        /// From when on it was looked for runs, in Unix milliseconds, where there are older lines.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub since_ms: Option<i64>,
        /// Files and folders that are new.
        pub made: u32,
        /// That are others than before.
        pub changed: u32,
        /// That are gone.
        pub deleted: u32,
        /// These, one by one.
        pub listed: KeptChanges,
    }

    /// What changed.
    pub struct KeptChanges {
        /// The first of them, in the order of paths.
        pub changes: Vec<KeptChange>,
        /// How many more there are.
        pub more: u32,
    }

    /// One path that is not what it was.
    pub struct KeptChange {
        /// Names it in its list.
        pub number: u32,
        /// From the folder.
        pub path: Shown,
        /// Where it was before, for what was moved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub from: Option<Shown>,
        /// What happened.
        pub how: KeptHow,
        /// Bytes before; absent for what was not there, and for folders.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub before: Option<u64>,
        /// Bytes after.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub after: Option<u64>,
        /// Whether what was there is kept, so that it can be put back.
        pub returns: bool,
        /// Whether somebody else changed it between two runs of a session, so that it stays as it is.
        pub between: bool,
    }

    /// What came of putting back.
    pub struct PutBackResult {
        /// How many paths are what they were.
        pub put: u32,
        /// What was not put back, and why; the first of them.
        pub conflicts: Vec<KeptConflict>,
        /// How many more there are.
        pub more: u32,
    }

    /// Something that was not put back. It is as it was.
    pub struct KeptConflict {
        /// From the folder.
        pub path: Shown,
        /// Why.
        pub why: KeptWhy,
    }
}

ui_words! {
    /// What happened to a path.
    pub enum KeptHow {
        /// It is new.
        Made,
        /// It is another one.
        Changed,
        /// It is gone.
        Deleted,
        /// It has another place.
        Moved,
    }
}

ui_tagged! {
    /// What differs between what lay at a path before and after.
    pub enum KeptDiff {
        /// Lines of a text.
        Text {
            /// Where they differ.
            hunks: Vec<DiffHunk>,
            /// Whether that is all that differs.
            complete: bool,
        },
        /// Something that has no lines: bytes, a link, a folder, or what is too large or was not kept.
        Other {
            /// What was there.
            before: KeptSide,
            /// What is there.
            after: KeptSide,
        },
    }

    /// What lay at a path.
    pub enum KeptSide {
        /// Nothing.
        Absent,
        /// A text.
        Text,
        /// Bytes that are no text.
        Binary {
            /// How many.
            bytes: u64,
        },
        /// More than is shown.
        TooLarge {
            /// How many bytes.
            bytes: u64,
        },
        /// A link.
        Link {
            /// Where it leads.
            target: Shown,
        },
        /// A folder.
        Folder,
        /// Something that is not kept.
        NotKept,
        /// What was kept of it is lost.
        Damaged,
    }

    /// Why something was not put back.
    pub enum KeptWhy {
        /// Somebody else changed it between two runs of the session.
        Between,
        /// It was called off before.
        Cancelled,
        /// Somebody changed it since.
        Changed,
        /// What was kept of it is lost.
        Damaged,
        /// The folder has something in it that stays.
        NotEmpty,
        /// What was there, or what is there now, is not kept.
        NotKept,
        /// It is a setting that other programs run things by.
        Protected,
        /// The system did not let it be done.
        System {
            /// What it said.
            said: Shown,
        },
    }
}

/// Most changes in one list: more are not looked through one by one.
pub const KEPT_CHANGES: usize = 1_000;
