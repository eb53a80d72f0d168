//! Names in a workspace that nobody may make or replace while a box runs.
//!
//! What is missing has nothing that a mount could cover. Bubblewrap would make an empty file there, which the person would find,
//! which another run's end would take away again, and which git, editors and whatever watches files would stumble over with each
//! command. And what is there loses its mount when somebody outside puts another file in its place. So the folders are watched:
//! what appears under a protected name is put aside within a moment, and the run ends; when something protected was replaced
//! from outside the run ends too, since the wall in front of it is gone.

use super::Inside;
use countersign_policy::display;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, inotify, open, renameat_with, statat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use tokio::net::unix::pipe::Receiver;

/// The watched names, as they were.
#[derive(Debug)]
pub(super) struct Watch {
    events: Receiver,
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
        let events = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        let mut folders = Vec::new();
        for (path, names) in &inside.watched {
            let how = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(folder) = open(path, how, Mode::empty()) else { continue };
            inotify::add_watch(&events, path, EVENTS | inotify::WatchFlags::ONLYDIR)?;
            let names = names.iter().map(|name| (name.clone(), Was::of(&folder, name))).collect();
            folders.push(Folder { path: path.clone(), folder, names });
        }
        Ok(Self { events: Receiver::from_owned_fd_unchecked(events)?, folders })
    }

    /// Waits until a protected name is broken. Dropping it loses nothing: the next call looks again.
    pub(super) async fn broken(&self) -> Breach {
        loop {
            if let Some(breach) = self.look() {
                return breach;
            }
            if self.events.readable().await.is_err() {
                return std::future::pending().await;
            }
            if !self.any_of_ours() {
                // Nothing is left, which has to be heard once through the runtime too: then it wakes for what comes next.
                let _ = self.events.try_read(&mut [0]);
            }
        }
    }

    /// Takes what is to be read, and says whether a protected name is among it.
    fn any_of_ours(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); BUFFER_BYTES];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    let lost = event.events().contains(inotify::ReadFlags::QUEUE_OVERFLOW);
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                    if lost || name.is_some_and(|name| self.is_watched(name)) {
                        return true;
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }

    fn is_watched(&self, name: &OsStr) -> bool {
        let mut all = self.folders.iter().flat_map(|folder| &folder.names);
        all.any(|(watched, _)| watched.eq_ignore_ascii_case(name))
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

/// Whatever gives or takes a name.
const EVENTS: inotify::WatchFlags = inotify::WatchFlags::CREATE
    .union(inotify::WatchFlags::DELETE)
    .union(inotify::WatchFlags::MOVED_FROM)
    .union(inotify::WatchFlags::MOVED_TO);

/// End of the name of what was put aside, before its number.
pub(super) const ASIDE: &str = ".put-aside-";

/// Things of one name that are put aside in one folder.
const MOST_ASIDE: usize = 1_000;

/// Events that are read at once, in bytes.
const BUFFER_BYTES: usize = 4_096;
