//! What happened in open folders, and what is known for opening connections out of them.

use crate::history::KeptSpan;
use crate::rules::NetPlace;
use crate::shown::Shown;
use serde::{Deserialize, Serialize};
use ts_rs::TS;

ui! {
    /// What the history says about the folders that are open.
    pub struct FoldersView {
        /// One for each folder that a rule names, in the order of the rules.
        pub folders: Vec<FolderView>,
        /// Unix milliseconds of the oldest line that was looked at; absent when all of the history was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub since_ms: Option<i64>,
        /// Kinds of package registries that can be switched on.
        pub registries: Vec<RegistryKind>,
    }

    /// What happened in one folder.
    pub struct FolderView {
        /// As its rules say it.
        pub folder: String,
        /// Runs that ended in a box around it.
        pub runs: u32,
        /// What these reached, what exchanged most first; at most [`FOLDER_DESTINATIONS`].
        pub reached: Vec<FolderReached>,
        /// How many more destinations there were.
        pub reached_more: u32,
        /// What was changed in it, newest first; at most [`FOLDER_CHANGES`].
        pub changes: Vec<FolderChange>,
        /// How many more such lines there were.
        pub changes_more: u32,
    }

    /// What runs in a folder exchanged with a destination.
    #[derive(Eq)]
    pub struct FolderReached {
        /// Host and port, escaped.
        pub destination: String,
        /// Bytes from the boxes.
        pub up: u64,
        /// Bytes to the boxes.
        pub down: u64,
        /// How many runs reached it.
        pub runs: u32,
    }

    /// A line about what changed in a folder.
    #[derive(Eq)]
    pub struct FolderChange {
        /// Position of the line.
        pub seq: u64,
        /// Unix milliseconds.
        pub at_ms: i64,
        /// How much, and between which states.
        pub span: KeptSpan,
        /// The run that did it; absent for what was put back, and where its line is too old.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub by: Option<FolderRun>,
    }

    /// A run that changed something.
    #[derive(Eq)]
    pub struct FolderRun {
        /// The agent, escaped.
        pub agent: String,
        /// The session, escaped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[ts(optional)]
        pub session: Option<String>,
        /// The command, escaped, with secrets masked and cut to [`FOLDER_COMMAND_CHARS`].
        pub command: String,
    }

    /// Registries of one kind of packages.
    #[derive(Eq)]
    pub struct RegistryKind {
        /// What rules call it, such as `npm`.
        pub group: String,
        /// Its hosts with their ports; `*.` in front stands for any host below.
        pub hosts: Vec<String>,
    }

    /// A destination as a person named it.
    #[derive(Eq)]
    pub struct NamedDestination {
        /// In lower case; `*.` in front stands for any host below it.
        pub host: String,
        /// The port.
        pub port: u16,
        /// Where its name promises to lie.
        pub place: NetPlace,
    }

    /// A folder in which a connected agent asked last, and that can be opened.
    pub struct FolderAtHand {
        /// The agent, as rules name it.
        pub agent: String,
        /// The folder, as rules name it.
        pub folder: String,
        /// The agent, made safe to look at.
        pub agent_shown: Shown,
        /// The folder, made safe to look at.
        pub folder_shown: Shown,
    }
}

/// Most destinations that are told of one folder: nobody reads more.
pub const FOLDER_DESTINATIONS: usize = 50;

/// Most lines about changes that are told of one folder; the history has the others.
pub const FOLDER_CHANGES: usize = 8;

/// Characters of a command in such a line: enough to know it again.
pub const FOLDER_COMMAND_CHARS: usize = 240;
