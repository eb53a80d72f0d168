//! The peers' fixture tree in memory: where programs are, as a machine would say.

use countersign_commands::analysis::Analysis;
use countersign_policy::facts::{Facts, FileIdentity, FolderFacts, ProgramFacts};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Where the tree is.
pub(crate) const ROOT: &str = "/fx";

/// Files, folders and links by absolute path.
pub(crate) struct Tree(BTreeMap<PathBuf, Node>);

enum Node {
    Folder,
    File { runs: bool },
    Link(PathBuf),
}

/// Where names are looked up.
pub(crate) struct Places<'a> {
    pub(crate) path: &'a str,
    pub(crate) cwd: &'a str,
}

impl Tree {
    pub(crate) fn load() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/fixture.json");
        let text = std::fs::read_to_string(file).unwrap().replace("$FX", ROOT);
        let fixture: Value = serde_json::from_str(&text).unwrap();
        let mut nodes = BTreeMap::new();
        for entry in fixture["entries"].as_array().unwrap() {
            let node = match entry["kind"].as_str().unwrap() {
                "dir" => Node::Folder,
                "symlink" => Node::Link(entry["linkTarget"].as_str().unwrap().into()),
                _ => Node::File { runs: entry["mode"] == "0755" },
            };
            nodes.insert(PathBuf::from(entry["path"].as_str().unwrap()), node);
        }
        nodes.insert(PathBuf::from("/"), Node::Folder);
        nodes.insert(PathBuf::from(ROOT), Node::Folder);
        Self(nodes)
    }

    /// Facts about everything that judging `analysis` needs.
    pub(crate) fn facts(&self, analysis: &Analysis, places: &Places<'_>) -> Facts {
        let folder = FolderFacts { given: places.cwd.into(), real_path: places.cwd.into(), dev: 1, ino: 1 };
        let programs = analysis.programs();
        Facts {
            programs: programs.iter().map(|name| (name.to_string(), self.program(name, places))).collect(),
            cwd: Some(folder),
            script: None,
            scripts: BTreeMap::new(),
            home: home(),
            ..Facts::default()
        }
    }

    fn program(&self, name: &str, places: &Places<'_>) -> ProgramFacts {
        if let Some(place) = place(name, places.cwd) {
            let real_path = self.real(&place, 0);
            let runs = real_path.as_deref().is_some_and(|real| self.runs(real));
            return facts(runs.then_some(place), real_path);
        }
        let folders = places.path.split(':').map(|folder| Path::new(places.cwd).join(folder));
        let found = folders
            .map(|folder| normal(&folder.join(name)))
            .find(|file| self.real(file, 0).is_some_and(|real| self.runs(&real)));
        let real_path = found.as_deref().and_then(|file| self.real(file, 0));
        facts(found, real_path)
    }

    fn runs(&self, real: &Path) -> bool {
        matches!(self.0.get(real), Some(Node::File { runs: true }))
    }

    /// The path with every link followed, if something is there.
    fn real(&self, path: &Path, links: usize) -> Option<PathBuf> {
        let mut real = PathBuf::from("/");
        for component in path.components() {
            match component {
                Component::ParentDir => {
                    real.pop();
                }
                Component::Normal(name) => {
                    let next = real.join(name);
                    real = match self.0.get(&next)? {
                        Node::Folder | Node::File { .. } => next,
                        Node::Link(_) if links > 8 => return None,
                        Node::Link(target) => self.real(&real.join(target), links + 1)?,
                    };
                }
                Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
            }
        }
        Some(real)
    }
}

pub(crate) fn home() -> PathBuf {
    Path::new(ROOT).join("home")
}

/// A file of its own for each path.
fn identity(path: &str) -> FileIdentity {
    let ino = path.bytes().fold(7, |ino: u64, byte| ino.wrapping_mul(31).wrapping_add(u64::from(byte)));
    FileIdentity { dev: 1, ino, size: 10, mtime_ns: 1, ctime_ns: 1, mode: 0o100_755, sha256: None }
}

fn facts(path: Option<PathBuf>, real_path: Option<PathBuf>) -> ProgramFacts {
    let identity = path.as_ref().map(|path| identity(&path.to_string_lossy()));
    ProgramFacts { path, real_path, identity, writable: false, ..ProgramFacts::default() }
}

/// The place that a name with a slash stands for.
fn place(name: &str, cwd: &str) -> Option<PathBuf> {
    match name.strip_prefix("~/") {
        Some(rest) => Some(normal(&home().join(rest))),
        None if name.contains('/') => Some(normal(&Path::new(cwd).join(name))),
        None => None,
    }
}

fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}
