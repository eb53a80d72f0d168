//! Names in a workspace that nobody may make or replace while a box runs.
//!
//! What is missing has nothing that a mount could cover. Bubblewrap would make an empty file there, which the
//! person would find, which another run's end would take away again, and which git, editors and whatever
//! watches files would stumble over with each command. And what is there loses its mount when somebody
//! outside puts another file in its place. So the folders are watched: what appears under a protected name is
//! put aside within a moment, and the run ends; when something protected was replaced from outside the run
//! ends too, since the wall in front of it is gone.

use super::Inside;
use super::hearing::Hearing;
use countersign_policy::display;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, open, renameat_with, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// The watched names, as they were.
#[derive(Debug)]
pub(super) struct Watch {
    hearing: Hearing,
    folders: Vec<Folder>,
}

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    folder: OwnedFd,
    names: Vec<(OsString, Was)>,
}

/// What was behind a name.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Was {
    Nothing,
    /// A link, which no mount can cover.
    Link(Identity),
    /// Something with a mount over it.
    Covered(Identity),
}

/// Device and number of a file.
type Identity = (u64, u64);

/// What happened to a protected name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Breach {
    /// It was made where nothing was, and put aside.
    Made(PathBuf),
    /// Something else is in its place.
    Replaced(PathBuf),
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made(path) => {
                let path = display::escape(&path.to_string_lossy());
                write!(f, "the box ended it: {path} is protected and was made; it was put aside")
            }
            Self::Replaced(path) => {
                let path = display::escape(&path.to_string_lossy());
                write!(
                    f,
                    "the box ended it: {path} is protected and was replaced while it ran; look at what is in it"
                )
            }
        }
    }
}

impl Watch {
    /// Begins to watch. Blocking; what changes from now on is noticed.
    pub(super) fn new(inside: &Inside) -> io::Result<Self> {
        let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let there = inside
            .watched
            .iter()
            .filter_map(|(path, names)| Some((path, open(path, how, Mode::empty()).ok()?, names)));
        let there: Vec<_> = there.collect();
        let all = there.iter().flat_map(|(_, _, names)| names.iter().cloned()).collect();
        let hearing = Hearing::of(there.iter().map(|(path, ..)| path.as_path()), all)?;
        let folder = |(path, folder, names): (&PathBuf, OwnedFd, &Vec<OsString>)| {
            let names = names.iter().map(|name| (name.clone(), Was::of(&folder, name))).collect();
            Folder { path: path.clone(), folder, names }
        };
        Ok(Self { hearing, folders: there.into_iter().map(folder).collect() })
    }

    /// Waits until a protected name is broken. Dropping it loses nothing: the next call looks again.
    pub(super) async fn broken(&self) -> Breach {
        loop {
            if let Some(breach) = self.look() {
                return breach;
            }
            self.hearing.heard().await;
        }
    }

    /// Compares every name with what it was, and puts aside what was made. Blocking, a few system calls.
    pub(super) fn look(&self) -> Option<Breach> {
        let mut first = None;
        for Folder { path, folder, names } in &self.folders {
            for (name, was) in names {
                let now = Was::of(folder, name);
                if now == *was {
                    continue;
                }
                let breach = match was {
                    Was::Nothing => Breach::Made(path.join(name)),
                    Was::Link(_) | Was::Covered(_) => Breach::Replaced(path.join(name)),
                };
                if !matches!(was, Was::Covered(_)) {
                    put_aside(folder, name);
                }
                first.get_or_insert(breach);
            }
        }
        first
    }
}

impl Was {
    fn of(folder: &OwnedFd, name: &OsStr) -> Self {
        let Ok(found) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return Self::Nothing };
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => Self::Link((found.st_dev, found.st_ino)),
            _ => Self::Covered((found.st_dev, found.st_ino)),
        }
    }
}

/// Renames what was made, so that nothing takes it for what it is called. Nothing is lost.
fn put_aside(folder: &OwnedFd, name: &OsStr) {
    for number in 1..=MOST_ASIDE {
        let mut aside = name.to_owned();
        aside.push(format!("{ASIDE}{number}"));
        match renameat_with(folder, name, folder, &aside, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            Ok(()) | Err(Errno::NOENT) => return,
            Err(errno) => {
                tracing::warn!(%errno, name = %name.display(), "what a boxed run made could not be put aside");
                return;
            }
        }
    }
}

/// End of the name of what was put aside, before its number.
pub(super) const ASIDE: &str = ".put-aside-";

/// Things of one name that are put aside in one folder.
const MOST_ASIDE: usize = 1_000;
