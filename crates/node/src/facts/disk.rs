//! The files around a command, for rules about what commands do.

use super::real;
use countersign_policy::calls;
use std::path::{Path, PathBuf};

/// The disk of this machine, as it is when it is asked. Blocking, a few calls each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk;

impl calls::Disk for Disk {
    fn real(&self, path: &Path) -> PathBuf {
        // What is not there yet comes behind what is.
        let above = path.ancestors().find_map(|above| Some((above, real::path(above).ok()?)));
        let Some((above, real)) = above else { return path.to_owned() };
        match path.strip_prefix(above) {
            Ok(rest) if rest.as_os_str().is_empty() => real,
            Ok(rest) => real.join(rest),
            Err(_) => path.to_owned(),
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn has_other_names(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        path.symlink_metadata().is_ok_and(|found| found.is_file() && found.nlink() > 1)
    }

    fn repository(&self, folder: &Path) -> PathBuf {
        let is_root =
            |above: &&Path| [".git", ".hg", ".svn", ".jj"].iter().any(|kept| above.join(kept).exists());
        folder.ancestors().find(is_root).unwrap_or(folder).to_owned()
    }
}
