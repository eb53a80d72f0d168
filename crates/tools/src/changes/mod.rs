//! One file that would change, as a person is shown it.

pub(crate) mod diff;
pub(crate) mod lines;

pub use diff::{Diff, DiffLine, Hunk, LineKind, Sides, Span};
pub use lines::{Ending, LineEndings};

use countersign_policy::calls::sensitive::{self, Sensitive};
use countersign_protocol::digits::hex;
use std::path::{Path, PathBuf};

/// A file that would be made, changed, moved or removed.
#[derive(Clone, Debug, PartialEq)]
pub struct FileChange {
    /// Where the file is, without links; for a move, where it would be moved from. UTF-8, without hidden
    /// characters beneath the workspace.
    pub path: PathBuf,
    /// The same as the agent wrote it.
    pub named: String,
    /// What would happen to it.
    pub kind: ChangeKind,
    /// The file that is there; `None` where there is none.
    pub before: Option<FileState>,
    /// What would be there; `None` where nothing would.
    pub after: Option<Written>,
    /// Folders that would be made for it, from the outside in.
    pub new_folders: Vec<PathBuf>,
    /// What differs.
    pub diff: Diff,
    /// Why it matters more than another file: it has other programs run something.
    pub sensitive: Vec<Sensitive>,
}

/// What would happen to a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ChangeKind {
    /// Something is added at its end.
    Append,
    /// It is made; nothing is there.
    Create,
    /// It is removed.
    Delete,
    /// Parts of it are replaced.
    Edit,
    /// It gets another place, where nothing is, and maybe other content.
    Move {
        /// Where to, without links.
        to: PathBuf,
    },
    /// All of it is replaced.
    Overwrite,
}

/// What makes a file the one that was shown. Compared again before anything is done to it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileState {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Last change of content, nanoseconds since the epoch.
    pub mtime_ns: i128,
    /// Type and permission bits; kept when it is replaced.
    pub mode: u32,
    /// Owner; kept when it is replaced.
    pub uid: u32,
    /// Group; kept when it is replaced.
    pub gid: u32,
    /// Names that it has. Where there are others (hard links), they keep the old content.
    pub links: u64,
    /// SHA-256 of its bytes.
    pub sha256: [u8; 32],
}

/// What would be written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Written {
    /// Bytes.
    pub size: u64,
    /// SHA-256 of them.
    pub sha256: [u8; 32],
}

impl ChangeKind {
    /// As data calls it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Edit => "edit",
            Self::Move { .. } => "move",
            Self::Overwrite => "overwrite",
        }
    }
}

impl FileChange {
    /// Whether all of it is shown. What is not shown whole must not be allowed.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.diff.is_complete()
    }

    /// Where the file is, and where it would be.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        let to = match &self.kind {
            ChangeKind::Move { to } => Some(to.as_path()),
            ChangeKind::Append
            | ChangeKind::Create
            | ChangeKind::Delete
            | ChangeKind::Edit
            | ChangeKind::Overwrite => None,
        };
        std::iter::once(self.path.as_path()).chain(to)
    }

    /// The outermost folder from which on neither the file's place nor its content makes it one that
    /// something runs or obeys by itself, or a hidden one. `None` where there is none, where the file would
    /// be gone or has other names, and where not all of the change is shown.
    pub fn plain_below(&self) -> Option<&Path> {
        let by_content = |kind: &Sensitive| matches!(kind, Sensitive::Executable | Sensitive::Script);
        let is_plain = self.is_complete()
            && self.after.is_some()
            && self.before.as_ref().is_none_or(|before| before.links == 1)
            && !self.sensitive.iter().any(by_content);
        if !is_plain {
            return None;
        }
        let outermost = |path: &Path| {
            if sensitive::is_obeyed_wherever_one_begins_to_look(path) {
                return None;
            }
            let folders = path.ancestors().skip(1).map(|folder| folder.components().count());
            let below = |length: &usize| path.components().skip(*length).collect::<PathBuf>();
            folders.take_while(|length| sensitive::of_path(&below(length)).is_empty()).last()
        };
        let most = self.paths().map(outermost).collect::<Option<Vec<_>>>()?.into_iter().max()?;
        self.path.ancestors().find(|folder| folder.components().count() == most)
    }

    /// Whether nothing of it is anywhere but beneath `folder`, which may lead through links.
    pub fn is_beneath(&self, folder: &Path) -> bool {
        let touches_only = |folder: &Path| self.paths().all(|path| path.starts_with(folder));
        // Paths of changes are without links: a folder that has some on its way looks like another one.
        touches_only(folder) || std::fs::canonicalize(folder).is_ok_and(|real| touches_only(&real))
    }
}

impl FileState {
    /// Whether somebody may execute it.
    pub fn is_executable(&self) -> bool {
        self.mode & 0o111 != 0
    }

    /// What differs in another state of what should be the same file; `None` when nothing does. How many
    /// names it has is no part of it: that changes with every link that somebody makes.
    pub(crate) fn difference(&self, found: &Self) -> Option<String> {
        let mut parts = Vec::new();
        let mut part = |what: &str, expected: String, found: String| {
            if expected != found {
                parts.push(format!("{what}: expected {expected}, found {found}"));
            }
        };
        let inode = |state: &Self| format!("{} on device {}", state.ino, state.dev);
        let time = |ns: i128| format!("{}.{:09} s", ns.div_euclid(NANOSECONDS), ns.rem_euclid(NANOSECONDS));
        let owner = |state: &Self| format!("{}:{}", state.uid, state.gid);
        part("inode", inode(self), inode(found));
        part("size", format!("{} bytes", self.size), format!("{} bytes", found.size));
        part("sha256", hex(self.sha256), hex(found.sha256));
        part("type and permissions", format!("{:o}", self.mode), format!("{:o}", found.mode));
        part("owner", owner(self), owner(found));
        part("content changed", time(self.mtime_ns), time(found.mtime_ns));
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

const NANOSECONDS: i128 = 1_000_000_000;
