//! A workspace and a store in a folder that goes with the test.

use countersign_keep::{
    Change, Failed, Keeper, Limits, Protected, Restored, Span, State, StateId, What, Why,
};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// A workspace, and a keeper of it.
pub(crate) struct Bench {
    pub(crate) keeper: Keeper,
    pub(crate) workspace: PathBuf,
    pub(crate) store: PathBuf,
    _folder: TempDir,
}

/// What lies at a path: mode and content, where a link leads, or the mode of a folder.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Thing {
    File(u32, Vec<u8>),
    Link(PathBuf),
    Folder(u32),
}

/// The wall clock long before any file was made: every stamp counts as fresh, so that nothing is taken for
/// unchanged without a look.
pub(crate) const EARLY: SystemTime = UNIX_EPOCH;

/// A day in the far future, when no stamp is fresh.
pub(crate) fn late() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1 << 33)
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let (workspace, store) = (root.join("work"), root.join("kept"));
        fs::create_dir(&workspace).unwrap();
        let keeper = Keeper::new(store.clone(), limits).unwrap();
        Self { keeper, workspace, store, _folder: folder }
    }

    /// Another folder beside the workspace.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.workspace.parent().unwrap().join(name)
    }

    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.workspace.join(path)
    }

    /// Writes a file, with its folders.
    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn mode(&self, path: impl AsRef<Path>, mode: u32) {
        fs::set_permissions(self.at(path), Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn state(&self) -> State {
        self.keeper.keep(&self.workspace, EARLY, &|| false).unwrap()
    }

    pub(crate) fn keep(&self) -> StateId {
        self.state().id
    }

    /// As it is at this many milliseconds of [`late`].
    pub(crate) fn keep_at(&self, ms: u64) -> StateId {
        self.keeper.keep(&self.workspace, late() + Duration::from_millis(ms), &|| false).unwrap().id
    }

    pub(crate) fn span(&self, before: StateId, after: StateId) -> Span {
        Span { workspace: self.workspace.clone(), before, after }
    }

    /// What differs between two states.
    pub(crate) fn changes(&self, before: StateId, after: StateId) -> Result<Vec<Change>, Failed> {
        self.keeper.changes(&self.span(before, after).into(), &|| false)
    }

    pub(crate) fn put_back(&self, span: &Span, what: &What) -> Restored {
        self.put_back_but(span, what, &|_| false)
    }

    pub(crate) fn put_back_but(&self, span: &Span, what: &What, protected: Protected<'_>) -> Restored {
        self.keeper.put_back(&span.into(), what, protected, EARLY, &|| false).unwrap()
    }

    /// Everything in the workspace, but git's own.
    pub(crate) fn things(&self) -> BTreeMap<PathBuf, Thing> {
        let mut things = BTreeMap::new();
        let mut ahead = vec![PathBuf::new()];
        while let Some(folder) = ahead.pop() {
            for entry in fs::read_dir(self.at(&folder)).unwrap() {
                let name = entry.unwrap().file_name();
                if name == ".git" {
                    continue;
                }
                let path = folder.join(name);
                let there = fs::symlink_metadata(self.at(&path)).unwrap();
                let mode = there.permissions().mode() & 0o7777;
                let thing = if there.is_symlink() {
                    Thing::Link(fs::read_link(self.at(&path)).unwrap())
                } else if there.is_dir() {
                    ahead.push(path.clone());
                    Thing::Folder(mode)
                } else if there.is_file() {
                    Thing::File(mode, fs::read(self.at(&path)).unwrap())
                } else {
                    continue;
                };
                things.insert(path, thing);
            }
        }
        things
    }
}

/// A name that may be no text.
pub(crate) fn name(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Conflicts as text, each `PATH: WHY`.
pub(crate) fn told(conflicts: &[(PathBuf, Why)]) -> Vec<String> {
    conflicts.iter().map(|(path, why)| format!("{}: {why:?}", path.display())).collect()
}
