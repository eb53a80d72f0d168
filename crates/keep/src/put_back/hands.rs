//! The few things that are done to a workspace, each without following a link and without losing what
//! somebody else put there.

use super::{Kind, Node, Why, aside};
use crate::index::Index;
use crate::place::{Place, Stamp, mode_of};
use crate::tree::split;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, mkdirat, openat, readlinkat,
    renameat_with, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

/// An open workspace whose contents were just kept.
pub(super) struct Hands<'a> {
    place: &'a Place,
    index: &'a Index,
    made: Cell<u64>,
}

/// What has to lie at a path for something to take its place.
#[derive(Clone, Copy)]
pub(super) enum There<'a> {
    Nothing,
    Expected(&'a Node),
}

impl<'a> Hands<'a> {
    pub(super) fn new(place: &'a Place, index: &'a Index) -> Self {
        Self { place, index, made: Cell::new(0) }
    }

    /// Lets its owner change what is in a folder that has this mode.
    pub(super) fn open_up(&self, path: &[u8], mode: u16) -> Result<(), Why> {
        if mode & OWNER == OWNER {
            return Ok(());
        }
        self.set_mode(path, mode | OWNER)
    }

    /// Gives a folder this mode.
    pub(super) fn set_mode(&self, path: &[u8], mode: u16) -> Result<(), Why> {
        let folder = self.place.folder(path)?;
        if mode_of(&fstat(&folder)?) != mode {
            fchmod(&folder, Mode::from_raw_mode(mode.into()))?;
        }
        Ok(())
    }

    /// Makes a folder that its owner alone may use, until it gets its mode.
    pub(super) fn make_folder(&self, path: &[u8]) -> Result<(), Why> {
        let (folder, name) = self.way(path)?;
        match mkdirat(&folder, name, Mode::RWXU) {
            Err(Errno::EXIST) => Err(Why::Changed),
            made => Ok(made?),
        }
    }

    /// Takes back that a folder was opened up, if it was.
    pub(super) fn close_again(&self, path: &[u8], mode: u16) {
        if let Ok(folder) = self.place.folder(path)
            && fstat(&folder).is_ok_and(|stat| mode_of(&stat) == mode | OWNER)
        {
            // What was not put back is told already.
            let _ = fchmod(&folder, Mode::from_raw_mode(mode.into()));
        }
    }

    /// Removes an empty folder.
    pub(super) fn remove_folder(&self, path: &[u8]) -> Result<(), Why> {
        let (folder, name) = self.way(path)?;
        match unlinkat(&folder, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => Err(Why::NotEmpty),
            Err(Errno::NOTDIR) => Err(Why::Changed),
            removed => Ok(removed?),
        }
    }

    /// Removes a file or a link, if it is this one.
    pub(super) fn remove(&self, path: &[u8], expected: &Node) -> Result<(), Why> {
        let (folder, name) = self.way(path)?;
        let aside = self.aside();
        match renameat_with(&folder, name, &folder, aside.as_str(), RenameFlags::NOREPLACE) {
            Err(Errno::NOENT) => return Err(Why::Changed),
            renamed => renamed?,
        }
        if self.is(path, &folder, &aside, expected) {
            unlinkat(&folder, aside.as_str(), AtFlags::empty())?;
            return Ok(());
        }
        renameat_with(&folder, aside.as_str(), &folder, name, RenameFlags::NOREPLACE)?;
        Err(Why::Changed)
    }

    /// Puts a link there.
    pub(super) fn make_link(&self, path: &[u8], target: &[u8], there: There<'_>) -> Result<(), Why> {
        let (folder, _) = self.way(path)?;
        let aside = self.aside();
        symlinkat(target, &folder, aside.as_str())?;
        self.place(path, &folder, &aside, there)
    }

    /// Puts a file there.
    pub(super) fn make_file(
        &self,
        path: &[u8],
        content: &[u8],
        mode: u16,
        there: There<'_>,
    ) -> Result<(), Why> {
        let (folder, _) = self.way(path)?;
        let aside = self.aside();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, aside.as_str(), flags, Mode::RUSR | Mode::WUSR)?);
        let written =
            file.write_all(content).and_then(|()| Ok(fchmod(&file, Mode::from_raw_mode(mode.into()))?));
        if let Err(error) = written {
            unlinkat(&folder, aside.as_str(), AtFlags::empty())?;
            return Err(error.into());
        }
        self.place(path, &folder, &aside, there)
    }

    /// Moves what was made aside to its path; whatever goes wrong, it is not left aside.
    fn place(&self, path: &[u8], folder: &OwnedFd, aside: &str, there: There<'_>) -> Result<(), Why> {
        let (_, name) = split(path);
        let flags = match there {
            There::Nothing => RenameFlags::NOREPLACE,
            There::Expected(_) => RenameFlags::EXCHANGE,
        };
        let placed = match renameat_with(folder, aside, folder, name, flags) {
            Err(Errno::EXIST | Errno::NOENT) => Err(Why::Changed),
            Err(error) => Err(error.into()),
            Ok(()) => Ok(()),
        };
        let expected = match (there, &placed) {
            (There::Nothing, Ok(())) => return Ok(()),
            (There::Expected(expected), Ok(())) => Some(expected),
            (_, Err(_)) => None,
        };
        let placed = match expected {
            Some(expected) if !self.is(path, folder, aside, expected) => {
                renameat_with(folder, aside, folder, name, RenameFlags::EXCHANGE)?;
                Err(Why::Changed)
            }
            _ => placed,
        };
        unlinkat(folder, aside, AtFlags::empty())?;
        placed
    }

    /// Whether what lies aside is what was kept of a path.
    fn is(&self, path: &[u8], folder: &OwnedFd, aside: &str, expected: &Node) -> bool {
        let Ok(stat) = statat(folder, aside, AtFlags::SYMLINK_NOFOLLOW) else { return false };
        match expected {
            Node::File { mode, .. } => {
                is_kind(&stat, Kind::File)
                    && mode_of(&stat) == *mode
                    && self.index.stamp(path).is_some_and(|stamp| stamp.is_same_file(&Stamp::of(&stat)))
            }
            Node::Link { target } => {
                readlinkat(folder, aside, Vec::new()).is_ok_and(|to| to.as_bytes() == target)
            }
            Node::Folder { .. } | Node::Left { .. } => false,
        }
    }

    /// The folder of a path, and the name there.
    fn way<'p>(&self, path: &'p [u8]) -> Result<(OwnedFd, &'p [u8]), Why> {
        let (folder, name) = split(path);
        match self.place.way(folder).map_err(|error| (Errno::from_io_error(&error), error)) {
            Ok(folder) => Ok((folder, name)),
            // A link or something else took the place of a folder on the way.
            Err((Some(Errno::LOOP | Errno::NOENT | Errno::NOTDIR | Errno::XDEV), _)) => Err(Why::Changed),
            Err((_, error)) => Err(error.into()),
        }
    }

    /// A name that nothing has. If something has, the call that makes it fails.
    fn aside(&self) -> String {
        let number = self.made.get();
        self.made.set(number + 1);
        aside::name(number)
    }
}

fn is_kind(stat: &Stat, kind: Kind) -> bool {
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile) == (kind == Kind::File)
}

impl From<io::Error> for Why {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

impl From<Errno> for Why {
    fn from(error: Errno) -> Self {
        Self::System(error.into())
    }
}

/// Rights of a folder's owner without which nothing in it can be changed.
const OWNER: u16 = 0o700;
