//! What a person may have a box have otherwise than every box: some of it would make the walls pointless.

use super::super::{Unavailable, folder, trusted};
use super::Grounds;
use super::lists::PROTECTED;
use countersign_protocol::rules::{PlaceAccess, Workspace, WorkspacePlace};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Why a box cannot have a place.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PlaceProblem {
    /// It is reached through a link.
    #[error("{} leads to {}; name that", .path.display(), .real.display())]
    Link {
        /// As it was named.
        path: PathBuf,
        /// Where it leads.
        real: PathBuf,
    },
    /// Nothing is there that could be read or written.
    #[error("{} is not there; make it first", .0.display())]
    Missing(PathBuf),
    /// It is not for boxes.
    #[error("a box cannot {} {}: {why}", .may, .path.display())]
    Refused {
        /// What it could not do.
        may: &'static str,
        /// There.
        path: PathBuf,
        /// What is wrong with that.
        why: &'static str,
    },
}

impl PlaceProblem {
    /// The place.
    pub fn path(&self) -> &Path {
        match self {
            Self::Link { path, .. } | Self::Missing(path) | Self::Refused { path, .. } => path,
        }
    }
}

/// What does not hold of a stored rule that opens a folder: an older release may have taken what no box
/// gets now, and what is there may have become something else.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lapsed {
    /// Why there is no box around its folder, so that nothing of it holds.
    pub folder: Option<Unavailable>,
    /// Places that its boxes go without.
    pub places: Vec<PlaceProblem>,
}

impl Lapsed {
    /// What does not hold of `rule` now. Looks at its folder and its places. Blocking.
    pub fn of(rule: &Workspace, grounds: &Grounds) -> Self {
        if !rule.standing.is_open() {
            return Self::default();
        }
        let open = Path::new(&rule.folder);
        // What is to be hidden is, whatever it is.
        let given = rule.places.iter().filter(|place| place.access != PlaceAccess::Hidden);
        Self {
            folder: folder::acceptable(open, grounds).err(),
            places: given.filter_map(|place| may_have(place, open, grounds).err()).collect(),
        }
    }
}

/// Refuses a place that boxes around `open`, a real path, must not have. Looks at the place itself. Blocking.
pub fn may_have(place: &WorkspacePlace, open: &Path, grounds: &Grounds) -> Result<(), PlaceProblem> {
    let path = Path::new(&place.path);
    if let Ok(real) = fs::canonicalize(path) {
        if real != path {
            return Err(PlaceProblem::Link { path: path.to_owned(), real });
        }
    } else if place.access != PlaceAccess::Hidden {
        return Err(PlaceProblem::Missing(path.to_owned()));
    }
    let (may, why) = match place.access {
        PlaceAccess::Hidden => ("do without", needed(path, open, grounds)),
        PlaceAccess::Read => ("be shown", folder::private(path, grounds)),
        PlaceAccess::Write => ("write", not_to_be_written(path, grounds)),
    };
    match why {
        None => Ok(()),
        Some(why) => Err(PlaceProblem::Refused { may, path: path.to_owned(), why }),
    }
}

fn needed(path: &Path, open: &Path, grounds: &Grounds) -> Option<&'static str> {
    if open.starts_with(path) {
        return Some("the open folder is in it");
    }
    folder::homes_of(grounds).any(|home| home.starts_with(path)).then_some("the home is in it")
}

fn not_to_be_written(path: &Path, grounds: &Grounds) -> Option<&'static str> {
    if let Some(why) = folder::shared(path).or_else(|| folder::private(path, grounds)) {
        return Some(why);
    }
    let is_protected = |part: Component<'_>| matches!(part, Component::Normal(name) if PROTECTED.names(name));
    if path.components().any(is_protected) {
        return Some(TOLD);
    }
    trusted::programs_own(path, grounds).or_else(|| trusted::obeyed(path, grounds))
}

const TOLD: &str = "programs outside of the box do what it says";

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_protocol::rules::{Attendance, FolderStanding, RuleLimits, RuleOrigin};
    use std::os::unix::fs::symlink;

    /// A home with files in it.
    fn home() -> (tempfile::TempDir, Grounds) {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let home = fs::canonicalize(folder.path()).unwrap();
        for name in [
            ".config/foo",
            ".config/gh",
            ".config/autostart",
            ".ssh",
            ".local/bin",
            ".openclaw/x",
            "state/x",
            "src/app",
            "other/.git/hooks",
            "notes",
        ] {
            fs::create_dir_all(home.join(name)).unwrap();
        }
        for name in [".bashrc", ".netrc", "src/app/.env", "notes/file"] {
            fs::write(home.join(name), "").unwrap();
        }
        symlink("notes", home.join("link")).unwrap();
        let (openclaw, private) = (home.join(".openclaw"), vec![home.join("state")]);
        (folder, Grounds { home, openclaw, private, ..Grounds::default() })
    }

    #[track_caller]
    fn check(access: PlaceAccess, path: &str, expected: &str) {
        let (_folder, grounds) = home();
        let path = if path.starts_with('/') { PathBuf::from(path) } else { grounds.home.join(path) };
        let place = WorkspacePlace { path: path.to_str().unwrap().to_owned(), access };
        let found = may_have(&place, &grounds.home.join("src/app"), &grounds);
        match (found, expected) {
            (Ok(()), "") => {}
            (Err(problem), why) if !why.is_empty() && problem.to_string().contains(why) => {}
            (found, _) => panic!("{access:?} {}: {found:?}, expected {expected:?}", path.display()),
        }
    }

    #[test]
    fn what_of_a_stored_rule_does_not_hold_any_more_is_known() {
        let (_folder, grounds) = home();
        let at = |name: &str| grounds.home.join(name).to_str().unwrap().to_owned();
        let place = |&(name, access): &(&str, PlaceAccess)| WorkspacePlace { path: at(name), access };
        let rule = |folder: &str, places: &[(&str, PlaceAccess)]| Workspace {
            id: "w".to_owned(),
            agent: "*".to_owned(),
            folder: at(folder),
            standing: FolderStanding::Open,
            attendance: Attendance::Attended,
            places: places.iter().map(place).collect(),
            limits: RuleLimits::default(),
            note: None,
            created_at_ms: 0,
            from: RuleOrigin::Typed,
        };
        let fine = rule("src/app", &[("notes", PlaceAccess::Write), (".ssh", PlaceAccess::Hidden)]);
        assert_eq!(Lapsed::of(&fine, &grounds), Lapsed::default());
        let places = [(".config/foo", PlaceAccess::Write), ("gone", PlaceAccess::Read)];
        let found = Lapsed::of(&rule(".local/share/work", &places), &grounds);
        assert!(found.folder.is_some_and(|why| why.to_string().contains("a dot")));
        assert_eq!(
            found.places.iter().map(PlaceProblem::path).collect::<Vec<_>>(),
            [grounds.home.join(".config/foo"), grounds.home.join("gone")]
        );
        let closed = Workspace { standing: FolderStanding::Closed, ..rule(".local/share/work", &places) };
        assert_eq!(Lapsed::of(&closed, &grounds), Lapsed::default());
    }

    #[test]
    fn a_box_may_be_given_what_is_nobody_elses() {
        for path in ["notes", "notes/file", "other"] {
            check(PlaceAccess::Write, path, "");
        }
        for path in ["src/app/.env", ".config/gh", ".ssh", ".netrc", "notes"] {
            check(PlaceAccess::Read, path, "");
        }
        for path in ["notes", "other", "not/there", ".config"] {
            check(PlaceAccess::Hidden, path, "");
        }
    }

    #[test]
    fn t22_no_box_is_given_what_would_let_it_out() {
        for path in ["/", "/tmp", "/var", "/home"] {
            check(PlaceAccess::Write, path, "more than one piece of work");
        }
        for path in ["/etc", "/usr/bin", "/proc", "/dev"] {
            check(PlaceAccess::Write, path, "belongs to the system");
        }
        for path in [".ssh", ".netrc", ".config/gh", ".config", ".openclaw", "state/x", ""] {
            check(PlaceAccess::Write, path, "a box cannot write");
        }
        for path in [
            ".bashrc",
            ".local/bin",
            ".local",
            ".config/autostart",
            ".config/foo",
            "other/.git/hooks",
            "other/.git",
        ] {
            check(PlaceAccess::Write, path, "a box cannot write");
        }
        for path in [".openclaw", ".openclaw/x", "state", "state/x", "", "/"] {
            check(PlaceAccess::Read, path, "a box cannot be shown");
        }
        for path in ["src", "src/app", "", "/"] {
            check(PlaceAccess::Hidden, path, "a box cannot do without");
        }
        for access in [PlaceAccess::Read, PlaceAccess::Write, PlaceAccess::Hidden] {
            check(access, "link", "leads to");
        }
        check(PlaceAccess::Write, "not/there", "make it first");
    }
}
