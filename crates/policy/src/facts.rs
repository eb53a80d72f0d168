//! What was probed outside about the things a command names. Gathered by the node, only compared here.

mod reached;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

pub use reached::{Below, Hidden, Ignored, Kind, Leads, Links, Looked, Names, ROOT, Reached, Tree, Twin};

/// Everything probed for one request.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Facts {
    /// By the name as it was typed.
    pub programs: BTreeMap<String, ProgramFacts>,
    /// The working directory; absent when it does not exist, is no directory or cannot be entered.
    pub cwd: Option<FolderFacts>,
    /// The script that an interpreter would run, when there is exactly one such operand.
    pub script: Option<ScriptFacts>,
    /// By the index of a segment, the file that its interpreter or shell certainly runs
    /// ([`countersign_commands::interpreters::script_word`]).
    pub scripts: BTreeMap<usize, ScriptFacts>,
    /// Home directory for `~` in patterns.
    pub home: PathBuf,
    /// Where the paths among its words lead.
    pub reached: Reached,
    /// By folder, what lies around a command and has a say in what it starts ([`crate::surroundings`]). Where
    /// nobody looked, nothing is known.
    pub surroundings: BTreeMap<PathBuf, Surroundings>,
}

impl Facts {
    /// The identified program that is started at a path, by its real one or by the one under
    /// which it was found.
    pub fn started_at(&self, path: &str) -> Option<&ProgramFacts> {
        let path = Path::new(path);
        let is_there = |program: &&ProgramFacts| {
            [&program.real_path, &program.path].into_iter().flatten().any(|known| known == path)
        };
        self.programs.values().filter(|program| program.identity.is_some()).find(is_there)
    }
}

/// What a folder and those above it say to programs that look around. `None` is what nobody looked at.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Surroundings {
    /// What git would find from here.
    pub repository: Option<Repository>,
    /// Whether an address in its settings has a password or a token.
    pub passwords: bool,
    /// Names of the files for launchers ([`countersign_commands::launchers::files`]) that are in the
    /// folder or above.
    pub told: Option<BTreeSet<String>>,
}

/// What the configuration of a repository makes git start when it reads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Repository {
    /// Nothing; also where there is no repository.
    Plain,
    /// Perhaps something: which setting, in which file.
    Doubtful(String),
}

/// One program.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProgramFacts {
    /// Where it was found: an executable regular file.
    pub path: Option<PathBuf>,
    /// `path` with every link in its folder followed: the same name in the same folder,
    /// however it was reached.
    pub named: Option<PathBuf>,
    /// `path` with every link followed.
    pub real_path: Option<PathBuf>,
    /// Identity of the file at `real_path`.
    pub identity: Option<FileIdentity>,
    /// Whether this user could replace or rewrite it. To root, which can with every file:
    /// whether others could.
    pub writable: bool,
}

impl ProgramFacts {
    /// Whether what the file contains is a part of what is allowed: it has a digest, or should have one.
    pub fn may_change(&self) -> bool {
        self.writable || self.identity.as_ref().is_some_and(|identity| identity.sha256.is_some())
    }
}

/// A folder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FolderFacts {
    /// As given.
    pub given: PathBuf,
    /// With every link followed.
    pub real_path: PathBuf,
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
}

/// A script operand.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ScriptFacts {
    /// Index of the word that names it, among the arguments or those of its segment.
    pub index: usize,
    /// Absolute path under which it will be opened.
    pub named: PathBuf,
    /// With every link followed.
    pub real_path: PathBuf,
    /// Identity, always with a digest.
    pub identity: FileIdentity,
    /// The beginning of its content, decoded lossily.
    pub head: String,
    /// Whether `head` is all of it.
    pub complete: bool,
    /// Lines in the whole script.
    pub lines: u32,
}

/// What makes a file the same file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileIdentity {
    /// Device number.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Bytes.
    pub size: u64,
    /// Last change of content, nanoseconds since the epoch.
    pub mtime_ns: i128,
    /// Last change of the inode, nanoseconds since the epoch.
    pub ctime_ns: i128,
    /// Permission bits and type.
    pub mode: u32,
    /// SHA-256, taken when this user could rewrite the file.
    pub sha256: Option<[u8; 32]>,
}
