//! Why an agent's settings are left as they are.

use countersign_core::private::Spoiled;
use std::io;
use std::path::PathBuf;

/// Why settings are not understood well enough to be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// They are no JSON: broken, or with comments that their agent does not take.
    #[error("expected JSON without comments: {0}")]
    NotPlainJson(#[source] serde_json::Error),
    /// They are no JSON, comments aside.
    #[error("expected JSON: {0}")]
    NotJson(#[source] serde_json::Error),
    /// They are no TOML.
    #[error("expected TOML: {0}")]
    NotToml(#[source] Box<toml_edit::TomlError>),
    /// They have another shape.
    #[error("{place}: expected {expected}, got {got}")]
    Shape {
        /// Where.
        place: String,
        /// What has to be there.
        expected: &'static str,
        /// What is.
        got: &'static str,
    },
    /// The place of ours is taken by something else of the person's.
    #[error("{place}: expected the MCP server of Countersign, got one that starts {got}")]
    Taken {
        /// Where.
        place: String,
        /// What is started there.
        got: String,
    },
    /// A member is there more than once, and programs differ in which one they take.
    #[error("{0} is there more than once")]
    Twice(String),
    /// What would be written is no settings any more.
    #[error(
        "expected to put it in without touching the rest, but the file is written in a way that does not allow it"
    )]
    Tangled,
}

/// Why an agent cannot be connected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// It changed after it was looked at.
    #[error("{0} was changed meanwhile; nothing was written")]
    Changed(PathBuf),
    /// A link leads nowhere.
    #[error("{0} is a link to a file that is not there")]
    Dangling(PathBuf),
    /// Another user's file.
    #[error("{0} belongs to another user")]
    Foreign(PathBuf),
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No file.
    #[error("expected {path} to be a file of at most {most} bytes")]
    NoFile {
        /// What is no file.
        path: PathBuf,
        /// How long it may be.
        most: u64,
    },
    /// The agent has no such way.
    #[error("{agent} has no {what}")]
    NoWay {
        /// Its title.
        agent: &'static str,
        /// What it has not.
        what: &'static str,
    },
    /// A project's settings that are somewhere else.
    #[error("{path} leads out of the project, to {file}")]
    Outside {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        file: PathBuf,
    },
    /// Its owner may not write it.
    #[error("{0} is read-only")]
    ReadOnly(PathBuf),
    /// It may not be written, or cannot be.
    #[error("{why}")]
    Unwritten {
        /// Why not; not told as a source, since it is all that is said.
        why: Box<Self>,
        /// What could be put in by hand.
        by_hand: Option<String>,
    },
    /// The record of what was connected cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// It is not understood, so it is left alone.
    #[error("{path} is left as it is: {source}")]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: Unfit,
        /// What could be put in by hand.
        by_hand: Option<String>,
    },
}

impl ConnectError {
    /// What could be put in by hand, where settings are left alone.
    pub fn by_hand(&self) -> Option<&str> {
        match self {
            Self::Unfit { by_hand, .. } | Self::Unwritten { by_hand, .. } => by_hand.as_deref(),
            _ => None,
        }
    }
}

/// Why the record of what was connected cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// It cannot be read.
    #[error("{path}: {source}")]
    Spoiled {
        /// The file.
        path: PathBuf,
        /// Why.
        source: Spoiled,
    },
    /// It says something else.
    #[error("{path}: expected what was connected, as JSON: {source}")]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// It cannot be written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
