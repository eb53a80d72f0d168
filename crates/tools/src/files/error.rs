//! Why a file tool did nothing.

use crate::tool::ToolError;
use countersign_policy::display::escape;
use std::io;
use std::path::{Path, PathBuf};

/// Why nothing was read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The workspace cannot be used.
    #[error("the workspace {} cannot be used: {problem}", shown(.path))]
    Workspace {
        /// As it was given.
        path: PathBuf,
        /// Why not.
        problem: &'static str,
    },
    /// A path that a tool was given cannot be used.
    #[error("{}: {problem}", quoted(.named))]
    Path {
        /// As it was written.
        named: String,
        /// Why not.
        problem: PathProblem,
    },
    /// The system refused something.
    #[error("{}: {doing} failed: {source}", shown(.path))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The content cannot be changed in the way that was asked for.
    #[error("{}: {problem}", shown(.path))]
    Content {
        /// The file.
        path: PathBuf,
        /// What was expected and what is there.
        problem: String,
    },
    /// Something is not what it was when the change was shown.
    #[error("{} is not what was shown: {difference}", shown(.path))]
    Changed {
        /// The file or folder.
        path: PathBuf,
        /// What was shown and what is there.
        difference: String,
    },
    /// It was called off.
    #[error("Aborted")]
    Aborted,
    /// It failed half way, and not everything could be put back.
    #[error("{cause}. It was half done, and this could not be undone: {}", .left.join("; "))]
    Stuck {
        /// Why it failed.
        cause: Box<FileError>,
        /// What is not as it was, and where its bytes are.
        left: Vec<String>,
    },
}

/// What is wrong with a path.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PathProblem {
    /// Nothing is in it.
    #[error("the path is empty")]
    Empty,
    /// The kernel would stop reading there.
    #[error("the path contains a NUL character")]
    Nul,
    /// Longer than the kernel takes.
    #[error("the path, or a name in it, is too long")]
    TooLong,
    /// A shell would expand it; nothing does here.
    #[error(
        "`~` is not expanded here; write a path beneath the workspace (`./~…` for a name that starts so)"
    )]
    Tilde,
    /// Absolute, and somewhere else.
    #[error("the path is not beneath the workspace {0}")]
    Elsewhere(String),
    /// `..`, or a link, leads out.
    #[error("the path leads out of the workspace (so does every link with an absolute target)")]
    LeadsOut,
    /// It has another name, and nothing tells where.
    #[error(
        "the file has another name, which may be outside of the workspace (a hard link); a command that reads it \
         can be asked about"
    )]
    OtherNames,
    /// It says itself that it is a folder.
    #[error("the path names a folder; expected a file")]
    NamesFolder,
    /// Something that is no file.
    #[error("it is {0}; expected a regular file")]
    NotAFile(&'static str),
    /// There is nothing.
    #[error("there is no such file")]
    NotFound,
    /// There is something.
    #[error("it exists already")]
    Exists,
    /// A file where a folder was expected.
    #[error("a part of the path is no folder")]
    NotAFolder,
    /// Too many links, or one that no path stands behind.
    #[error("the path runs through too many links, or one of the system's own")]
    LinkLoop,
    /// The last part is a link, and would be replaced.
    #[error("it is a symbolic link to {0}; name that file itself to change it")]
    Link(String),
    /// A link to nothing stands where a folder would be made.
    #[error("a part of the path is a symbolic link that leads nowhere")]
    DeadLink,
    /// `..` behind a folder that would have to be made first.
    #[error("the path goes up from a folder that does not exist")]
    UpFromNothing,
    /// More folders would have to be made than is sensible.
    #[error("too many folders of the path do not exist")]
    TooManyFolders,
    /// A prompt could not show the name as it is.
    #[error(
        "a name in the path has hidden or control characters, or is not UTF-8: it cannot be shown as it is"
    )]
    Unreadable,
    /// `…` and the like, which look like the folder above.
    #[error("a name in the path looks like `.` or `..` and is neither")]
    DotsOnly,
    /// Its permissions say that it is not to be changed.
    #[error("it is read-only")]
    ReadOnly,
    /// Whoever runs it gets somebody else's rights.
    #[error("it is set-user-ID or set-group-ID; such files are not changed here")]
    Privileged,
    /// Larger than what is changed here.
    #[error("it has {found} bytes; files of at most {limit} bytes are changed here")]
    TooLarge {
        /// Its size, or that of what would be written.
        found: u64,
        /// The most.
        limit: u64,
    },
    /// The kernel cannot keep a look-up beneath a folder.
    #[error(
        "this system cannot keep a path beneath a folder (openat2, Linux 5.6 or newer), so no file is touched"
    )]
    Unsupported,
}

impl FileError {
    /// About a path as it was written.
    pub(super) fn path(named: &str, problem: PathProblem) -> Self {
        Self::Path { named: named.to_owned(), problem }
    }

    /// About what the system refused.
    pub(super) fn io(path: &Path, doing: &'static str, source: impl Into<io::Error>) -> Self {
        Self::Io { path: path.to_owned(), doing, source: source.into() }
    }

    /// About content.
    pub(super) fn content(path: &Path, problem: impl Into<String>) -> Self {
        Self::Content { path: path.to_owned(), problem: problem.into() }
    }

    /// About what is not what was shown.
    pub(super) fn changed(path: &Path, difference: impl Into<String>) -> Self {
        Self::Changed { path: path.to_owned(), difference: difference.into() }
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Aborted => Self::Aborted,
            other => Self::Failed(other.to_string()),
        }
    }
}

/// A path for a message: hidden characters as codes.
pub(super) fn shown(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

/// A path as an agent wrote it, for a message: hidden characters as codes, the end left out where it is long.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", escape(text.get(..end).unwrap_or_default())),
        None => escape(text),
    }
}

/// Characters of a path in a message: an agent's own words come back to it, and may be long.
const MESSAGE_CHARS: usize = 300;
