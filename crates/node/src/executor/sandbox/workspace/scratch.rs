//! `/tmp` and `/var/tmp` of boxes: what one command writes there the next one around the same folder finds.

use super::{Mount, Passing, Wall, Workspace};
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Folders of ours for that. They end with the last clone of this.
#[derive(Clone, Debug)]
pub struct Scratch(Arc<Passing>);

impl PartialEq for Scratch {
    fn eq(&self, other: &Self) -> bool {
        self.0.path() == other.0.path()
    }
}

impl Eq for Scratch {}

impl Scratch {
    /// Makes them in `own`, a workspace's own folder. Blocking.
    pub fn new(own: &Path) -> io::Result<Self> {
        let scratch = Self(Arc::new(Passing::shared(own)?));
        for (_, name) in PLACES {
            let folder = scratch.folder(name);
            fs::create_dir(&folder)?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(ANYBODYS))?;
        }
        Ok(scratch)
    }

    /// Whether nobody else has a clone of it.
    pub(crate) fn is_idle(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// What `workspace` has there. A place below which something else is put is the run's own: whoever runs in
/// another box could move away what that is put on, and with it the walls inside.
pub(super) fn mounts<'a>(
    workspace: &Workspace,
    others: impl Iterator<Item = &'a Mount> + Clone,
) -> Vec<Mount> {
    let mount = |(at, name): &(&str, &str)| {
        let at = PathBuf::from(at);
        let is_bare = |at: &Path| !others.clone().any(|other| other.at().starts_with(at));
        match &workspace.scratch {
            _ if !workspace.stands(Wall::Scratch) => Mount::Ours { from: at.clone(), at },
            Some(scratch) if is_bare(&at) => Mount::Ours { from: scratch.folder(name), at },
            _ => Mount::Scratch(at),
        }
    };
    PLACES.iter().map(mount).collect()
}

/// Where they are seen, and what each is called.
const PLACES: &[(&str, &str)] = &[("/tmp", "tmp"), ("/var/tmp", "var")];

/// Permissions of such a folder, as programs expect them: everybody writes, and nobody removes
/// what is another's.
const ANYBODYS: u32 = 0o1777;
