//! What a tool would change in files, as a person reads it.

use crate::shown::Shown;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui_words! {
    /// What happens to a file.
    pub enum ChangeKind {
        /// Something is added at its end.
        Append,
        /// It is made.
        Create,
        /// It is removed.
        Delete,
        /// Parts of it are replaced.
        Edit,
        /// It gets another name, and perhaps another content.
        Move,
        /// All of it is replaced.
        Overwrite,
    }

    /// What a reader has to know besides the lines.
    pub enum ChangeNote {
        /// Other programs start what is in it by themselves: a shell at its start, git at a commit.
        RunsByItself,
        /// It may be started as a program.
        Executable,
        /// It is not text.
        Binary,
        /// The ends of its lines become other ones.
        LineEndings,
        /// Its last line has no end.
        NoFinalNewline,
        /// The file has another name too, under which it changes as well.
        HardLinked,
        /// It is not in the folder that its agent works in.
        Outside,
    }

    /// What becomes of a line.
    pub enum DiffLineKind {
        /// It is new.
        Added,
        /// It stays.
        Context,
        /// It goes.
        Removed,
    }
}

ui! {
    /// One line of a diff.
    pub struct DiffLine {
        /// What becomes of it.
        pub kind: DiffLineKind,
        /// The line without its end.
        pub text: Shown,
    }

    /// Lines that belong together.
    pub struct DiffHunk {
        /// Number of its first line in the file as it is, from 1.
        pub before: u32,
        /// The same in the file as it would be.
        pub after: u32,
        /// In order.
        pub lines: Vec<DiffLine>,
    }

    /// A file that would change.
    pub struct ChangeView {
        /// What happens.
        pub change: ChangeKind,
        /// Its real path; for a move the new one.
        pub path: Shown,
        /// Where it was, for a move.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub from: Option<Shown>,
        /// Lines that are new.
        pub added: u32,
        /// Lines that go.
        pub removed: u32,
        /// The lines; empty where there are none to show.
        pub hunks: Vec<DiffHunk>,
        /// Whether `hunks` is all of it. What cannot be shown whole cannot be allowed.
        pub complete: bool,
        /// What else there is to know.
        pub notes: Vec<ChangeNote>,
    }
}
