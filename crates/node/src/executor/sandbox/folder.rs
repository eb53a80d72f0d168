//! Which folders a sandboxed run may have as its own. The folder is the one place that it writes to outside
//! of itself, so a folder that holds more than one piece of work, or what other programs trust, would make
//! the sandbox pointless.

use super::{Grounds, Unavailable, trusted};
use std::path::{Path, PathBuf};

/// Refuses a folder that a sandbox must not be given. `folder` is a real path.
pub(super) fn acceptable(folder: &Path, grounds: &Grounds) -> Result<(), Unavailable> {
    match objection(folder, grounds) {
        None => Ok(()),
        Some(why) => Err(Unavailable::Folder { path: folder.to_owned(), why }),
    }
}

/// What is wrong with a place that is everybody's.
pub(super) fn shared(place: &Path) -> Option<&'static str> {
    if SHARED.iter().any(|shared| place == Path::new(shared)) {
        return Some("it holds more than one piece of work");
    }
    let is_system = SYSTEM.iter().any(|system| place.starts_with(system)) && !is_removable(place);
    is_system.then_some("it belongs to the system")
}

/// What is wrong with a place that holds the home, or anything of Countersign's or OpenClaw's
/// own, or lies there.
pub(super) fn private(place: &Path, grounds: &Grounds) -> Option<&'static str> {
    if homes_of(grounds).any(|home| home.starts_with(place)) {
        return Some(HOME);
    }
    let own: Vec<PathBuf> =
        grounds.private.iter().chain([&grounds.openclaw]).flat_map(|path| both(path)).collect();
    if own.iter().any(|own| own.starts_with(place)) {
        return Some(HOLDS_PRIVATE);
    }
    own.iter().any(|own| place.starts_with(own)).then_some(PRIVATE)
}

/// The home, by all its names.
pub(super) fn homes_of(grounds: &Grounds) -> impl Iterator<Item = PathBuf> {
    both(&grounds.home).into_iter()
}

fn objection(folder: &Path, grounds: &Grounds) -> Option<&'static str> {
    if let Some(why) = shared(folder) {
        return Some(why);
    }
    let home = both(&grounds.home);
    if home.iter().any(|home| home.starts_with(folder)) || folder.parent() == Some(Path::new(HOMES)) {
        return Some(HOME);
    }
    let workspace = |inside: &Path| {
        let first = inside.components().next().map(|first| first.as_os_str().to_string_lossy().into_owned());
        first.is_some_and(|first| first.starts_with("workspace") || first == "sandboxes")
    };
    let mut is_handed_over = false;
    for openclaw in both(&grounds.openclaw) {
        if openclaw.starts_with(folder) {
            return Some(HOLDS_PRIVATE);
        }
        match folder.strip_prefix(&openclaw) {
            Ok(inside) if workspace(inside) => is_handed_over = true,
            Ok(_) => return Some(PRIVATE),
            Err(_) => {}
        }
    }
    let private: Vec<PathBuf> = grounds.private.iter().flat_map(|path| both(path)).collect();
    if private.iter().any(|path| path.starts_with(folder)) {
        return Some(HOLDS_PRIVATE);
    }
    if private.iter().any(|path| folder.starts_with(path)) {
        return Some(PRIVATE);
    }
    if folder.components().any(|part| part.as_os_str() == ".git") {
        return Some(GITS);
    }
    match is_handed_over {
        true => None,
        false => trusted::programs_own(folder, grounds),
    }
}

/// A path as it is given and with every link followed.
pub(super) fn both(path: &Path) -> Vec<PathBuf> {
    let real = std::fs::canonicalize(path).ok().filter(|real| real != path);
    std::iter::once(path.to_owned()).chain(real).collect()
}

/// Where desktops put what is plugged in: `/run/media/USER/DISK`.
fn is_removable(folder: &Path) -> bool {
    folder.strip_prefix("/run/media").is_ok_and(|inside| inside.components().count() >= 2)
}

const HOME: &str = "it is somebody's home, or holds it";
const PRIVATE: &str = "what is in it is not for agents";
const HOLDS_PRIVATE: &str = "it holds files that are not for agents";

/// Folders of everybody's.
const SHARED: &[&str] = &[
    "/",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/srv",
    "/tmp",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
    "/var/opt",
    "/var/spool",
    "/var/tmp",
    "/var/www",
];

/// The system's, with everything below.
const SYSTEM: &[&str] = &[
    "/bin", "/boot", "/dev", "/efi", "/etc", "/gnu", "/lib", "/lib32", "/lib64", "/libx32", "/nix", "/proc",
    "/run", "/sbin", "/sys", "/usr",
];

/// In every workspace it is protected.
const GITS: &str = "git keeps its own there, and does what it says; open the folder that it is in";

/// Whose children are homes.
pub(super) const HOMES: &str = "/home";

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use std::path::PathBuf;

    fn check(folder: &str, refused: bool) {
        let grounds = Grounds {
            home: PathBuf::from("/home/ann"),
            openclaw: PathBuf::from("/home/ann/.openclaw"),
            private: vec![PathBuf::from("/home/ann/state/countersign"), PathBuf::from("/srv/config")],
            ..Grounds::default()
        };
        assert_eq!(objection(Path::new(folder), &grounds).is_some(), refused, "{folder}");
    }

    #[test]
    fn a_folder_with_more_than_one_piece_of_work_is_refused() {
        for folder in [
            "/",
            "/home",
            "/home/ann",
            "/home/bob",
            "/root",
            "/tmp",
            "/var",
            "/var/tmp",
            "/var/lib",
            "/etc",
            "/etc/ssl",
            "/usr",
            "/usr/local/src/x",
            "/proc/1/cwd",
            "/dev/shm",
            "/run/user/1000",
            "/run/media/ann",
            "/lib64",
        ] {
            check(folder, true);
        }
    }

    #[test]
    fn a_folder_with_what_is_not_for_agents_is_refused_and_so_is_what_holds_it() {
        for folder in [
            "/home/ann/.ssh",
            "/home/ann/.ssh/keys",
            "/home/ann/.openclaw",
            "/home/ann/.openclaw/agents",
            "/home/ann/.openclaw/credentials/x",
            "/home/ann/.config",
            "/home/ann/.config/git",
            "/home/ann/.local",
            "/home/ann/.local/share",
            "/home/ann/.local/share/work",
            "/home/ann/state",
            "/home/ann/state/countersign",
            "/home/ann/state/countersign/history",
            "/srv/config",
            "/srv",
        ] {
            check(folder, true);
        }
    }

    #[test]
    fn a_piece_of_work_is_accepted() {
        for folder in [
            "/home/ann/src",
            "/home/ann/src/.ssh",
            "/home/ann/.openclaw/workspace",
            "/home/ann/.openclaw/workspace-x/y",
            "/home/ann/.openclaw/sandboxes/main",
            "/home/bob/shared",
            "/srv/work",
            "/tmp/x",
            "/work",
            "/var/www/site",
            "/var/lib/jenkins",
            "/run/media/ann/disk",
            "/run/media/ann/disk/x",
            "/homework",
            "/usrlocal",
        ] {
            check(folder, false);
        }
    }

    #[test]
    fn a_home_that_is_a_link_is_refused_by_both_names() {
        let folder = tempfile::tempdir().unwrap();
        let real = std::fs::canonicalize(folder.path()).unwrap();
        std::fs::create_dir(real.join("real")).unwrap();
        std::os::unix::fs::symlink(real.join("real"), real.join("link")).unwrap();
        let grounds = Grounds { home: real.join("link"), openclaw: real.join("o"), ..Grounds::default() };
        for name in ["link", "real"] {
            assert!(objection(&real.join(name), &grounds).is_some(), "{name}");
        }
        assert_eq!(objection(&real.join("real/work"), &grounds), None);
    }
}
