//! What the paths that a command names lead to. Followed by the node, only compared here.

use std::collections::BTreeMap;

/// Everything that was followed for one request.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Reached {
    /// Whether anybody looked. Where nobody did, paths are judged by how they are written; where somebody
    /// did, a path that is missing here counts as unknown.
    pub looked: Looked,
    /// By the real folder that a path is relative to, [`ROOT`] for absolute ones, then by the path
    /// as it is written.
    pub paths: BTreeMap<String, BTreeMap<String, Leads>>,
    /// What lies below folders that are read as a whole.
    pub trees: BTreeMap<Tree, Below>,
    /// Real path of the home directory.
    pub home: Option<String>,
    /// Whether programs are looked for in folders of the work itself, so that what a program starts by name
    /// may be the project's.
    pub strays: bool,
}

/// Whether anybody looked.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Looked {
    /// No: there is no disk to look at.
    #[default]
    No,
    /// Yes.
    Yes,
}

/// Where a path leads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Leads {
    /// To something, every link followed.
    To {
        /// Its real path. One that goes through a process of `/proc` is not followed beyond it: there another
        /// process than the one that looked would be.
        real: String,
        /// What is there.
        kind: Kind,
        /// Whether it has other names that say more.
        twin: Twin,
    },
    /// To nothing. Something can still be made there.
    Nowhere {
        /// Real path of the last folder on the way that exists.
        last: String,
        /// What would be made, by its real path.
        real: String,
    },
    /// Nobody knows: links that go in circles, a folder that cannot be entered, a name that is no text.
    Unknown,
}

/// What is at the end of a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Anything else.
    Other,
}

/// Other names of the same file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Twin {
    /// None that was found among files that look like secrets.
    None,
    /// A file that looks like a secret is this very file, or a password was found in it.
    Secret,
    /// It has other names, and not every place where they may be was looked at.
    Unknown,
}

/// A folder that is read as a whole, and what a program leaves out of it by construction.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Tree {
    /// Real folder that `root` is relative to, [`ROOT`] for an absolute one.
    pub from: String,
    /// The folder as it is written.
    pub root: String,
    /// Names with a dot in front.
    pub hidden: Hidden,
    /// Links that are met.
    pub links: Links,
    /// Files that the project tells git to leave alone.
    pub ignored: Ignored,
    /// Patterns one of which every name that is read matches; none for no such limit.
    pub only: Vec<String>,
    /// Names of files and folders that are certainly left out.
    pub except: Vec<String>,
    /// Names that may be met.
    pub names: Names,
}

/// Which names a command can stand.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Names {
    /// All.
    Any,
    /// Those that stay one word and no flag when they are printed on a line and read again: no blank, quote
    /// or backslash in them, and no dash in front.
    Plain,
}

impl Names {
    /// Whether a name is one of them.
    pub fn include(self, name: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"\"'\\".contains(&byte);
        self == Self::Any || (!name.starts_with('-') && name.bytes().all(plain))
    }
}

/// Whether names with a dot in front are read.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Hidden {
    /// Yes.
    Read,
    /// No.
    Skipped,
}

/// Whether links that are met in a folder are followed.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Links {
    /// Yes.
    Followed,
    /// No.
    Skipped,
}

/// Whether files that git is told to leave alone are read.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Ignored {
    /// Yes.
    Read,
    /// No.
    Skipped,
}

/// What lies below a folder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Below {
    /// Nothing that looks like a secret and is read.
    Harmless,
    /// This does.
    Secret(String),
    /// This has a name that the command cannot stand.
    Misread(String),
    /// Too much to look at all of it; what was seen is harmless.
    Unfinished,
}

/// Stands for the folder of absolute paths.
pub const ROOT: &str = "/";

impl Reached {
    /// Nobody looked.
    pub const NOT_LOOKED: &'static Self = &Self {
        looked: Looked::No,
        paths: BTreeMap::new(),
        trees: BTreeMap::new(),
        home: None,
        strays: false,
    };

    /// Where `path` leads, written relative to `folder`. `None` where nobody looked.
    pub fn leads(&self, folder: Option<&str>, path: &str) -> Option<&Leads> {
        match self.looked {
            Looked::No => None,
            Looked::Yes => {
                let from = if path.starts_with('/') { Some(ROOT) } else { folder };
                let found = from.and_then(|from| self.paths.get(from)?.get(path));
                Some(found.unwrap_or(&Leads::Unknown))
            }
        }
    }
}
