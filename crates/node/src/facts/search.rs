//! Where a program is, by the peers' rules (docs/protocol/commands.md, "Finding programs").

use super::Places;
use rustix::fs::{Access, AtFlags, CWD};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The executable regular file that `name` means. A name with a slash is a path relative to the working
/// directory; another is looked up in PATH, whose empty and relative entries are relative to the working
/// directory as well.
pub(super) fn find(name: &str, places: Places<'_>) -> Option<PathBuf> {
    if name.is_empty() || name.contains('\0') {
        return None;
    }
    let expanded = expand_home(name, places.home);
    if name.contains(['/', '\\']) || name == "~" {
        let path = places.cwd.join(expanded);
        return is_executable(&path).then_some(path);
    }
    std::env::split_paths(places.path)
        .map(|folder| places.cwd.join(folder).join(name))
        .find(|path| is_executable(path))
}

/// Whether PATH has programs be looked for in the work itself: relative to the working directory, in it, or
/// in the repository around it. Who works in the home directory finds the person's own programs there.
pub(super) fn strays(places: Places<'_>) -> bool {
    let top = places.cwd.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(places.cwd);
    let is_homes = places.home.starts_with(top);
    std::env::split_paths(places.path).any(|folder| {
        let real = || std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
        !folder.is_absolute() || (!is_homes && (folder.starts_with(top) || real().starts_with(top)))
    })
}

/// `path` of an operand, relative to the working directory.
pub(super) fn operand(path: &str, places: Places<'_>) -> PathBuf {
    places.cwd.join(path)
}

fn expand_home(name: &str, home: &Path) -> PathBuf {
    match name.strip_prefix('~') {
        Some("") => home.to_owned(),
        Some(rest) => rest.strip_prefix('/').map_or_else(|| PathBuf::from(name), |rest| home.join(rest)),
        None => PathBuf::from(name),
    }
}

fn is_executable(path: &Path) -> bool {
    if path.as_os_str().as_bytes().contains(&0) {
        return false;
    }
    rustix::fs::stat(path).is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file())
        && rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}
