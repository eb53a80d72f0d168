//! The real path of a file in a time that grows with the length of its name, not with the square of it:
//! whoever names a file a thousand folders deep does not keep anybody waiting.

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The absolute path of what `path` leads to, every link followed, as [`std::fs::canonicalize`]
/// gives it. Blocking.
///
/// The system tells it of the opened file. What it tells is compared with the file, since it says `(deleted)`
/// behind the name of one that is gone, and may tell none that can be followed from here; then the path is
/// followed part by part.
pub(super) fn path(path: &Path) -> io::Result<PathBuf> {
    match told(path) {
        Ok(Some(real)) => Ok(real),
        Ok(None) => std::fs::canonicalize(path),
        Err(error) => Err(error),
    }
}

fn told(path: &Path) -> io::Result<Option<PathBuf>> {
    let opened = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let Ok(told) = rustix::fs::readlink(format!("/proc/self/fd/{}", opened.as_raw_fd()), Vec::new()) else {
        return Ok(None);
    };
    let real = PathBuf::from(OsString::from_vec(told.into_bytes()));
    let file = rustix::fs::fstat(&opened)?;
    let same = real.is_absolute()
        && rustix::fs::statat(CWD, &real, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|found| (found.st_dev, found.st_ino) == (file.st_dev, file.st_ino));
    Ok(same.then_some(real))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn it_is_what_following_every_part_gives() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("a/b/c")).unwrap();
        std::fs::write(at("a/b/c/file (deleted)"), "").unwrap();
        std::fs::write(at("a/file"), "").unwrap();
        symlink("b/c", at("a/link")).unwrap();
        symlink("link/file (deleted)", at("a/linked")).unwrap();
        symlink("loop", at("loop")).unwrap();
        symlink("nowhere", at("loose")).unwrap();
        for name in [
            "a",
            "a/b/../file",
            "a/link",
            "a/link/../..",
            "a/linked",
            "a/./b//c",
            "loop",
            "loose",
            "none",
            "a/file/x",
            ".",
        ] {
            let (ours, theirs) = (path(&at(name)), std::fs::canonicalize(at(name)));
            assert_eq!(ours.as_ref().ok(), theirs.as_ref().ok(), "{name}: {ours:?} {theirs:?}");
        }
        let gone = at("gone");
        std::fs::create_dir(&gone).unwrap();
        let opened = std::fs::File::open(&gone).unwrap();
        std::fs::remove_dir(&gone).unwrap();
        let through = PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        assert!(path(&through).is_err(), "{:?}", path(&through));
    }
}
