//! A folder that is opened once, and every path looked up beneath it by the kernel.
//!
//! Links may lead anywhere that is beneath the folder too, when a file is read and where folders of a path
//! are links. What is then shown and pinned is the path without links. A file that is written must not be a
//! link itself. Links with an absolute target count as leading out, as `openat2` has it, wherever they lead.
//! A file with several names is not read: the others may be anywhere.

use super::error::{FileError, PathProblem};
use super::limits::{LOOKUP_TRIES, NEW_FOLDERS};
use super::names;
use countersign_policy::display::escape;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// A folder that file tools are kept in.
#[derive(Debug)]
pub struct Workspace {
    given: PathBuf,
    real: PathBuf,
    fd: OwnedFd,
    id: FolderId,
}

/// A file beneath the workspace, open for reading.
#[derive(Debug)]
pub struct Opened {
    /// A regular file.
    pub file: File,
    /// Where it is, without links.
    pub real_path: PathBuf,
}

/// What makes a folder the same folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct FolderId {
    dev: u64,
    ino: u64,
}

/// A folder beneath the workspace as it was when something in it was planned.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Folder {
    /// From the workspace, without links; empty for the workspace itself.
    pub(super) relative: PathBuf,
    pub(super) id: FolderId,
}

/// Where a file is, or would be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct FilePlace {
    /// As the agent wrote it.
    pub(super) named: String,
    /// The innermost folder of the path that exists.
    pub(super) folder: Folder,
    /// Folders below it that would have to be made, from the outside in.
    pub(super) missing: Vec<OsString>,
    /// The file's own name.
    pub(super) name: OsString,
    /// All of it, without links.
    pub(super) real_path: PathBuf,
}

impl Workspace {
    /// Opens a folder; `path` is absolute, and may lead through links.
    ///
    /// # Errors
    /// When it is no folder that can be opened, or the whole machine: that would keep nothing in.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let refused = |problem| FileError::Workspace { path: path.to_owned(), problem };
        if !path.is_absolute() {
            return Err(refused("expected an absolute path"));
        }
        let real = std::fs::canonicalize(path)
            .map_err(|error| FileError::io(path, "opening the workspace", error))?;
        if real.parent().is_none() {
            return Err(refused("it is the whole file system"));
        }
        let fd =
            fs::openat2(CWD, &real, FOLDER, Mode::empty(), ResolveFlags::NO_SYMLINKS).map_err(|errno| {
                match errno {
                    Errno::NOSYS | Errno::PERM => {
                        FileError::path(&path.to_string_lossy(), PathProblem::Unsupported)
                    }
                    Errno::NOTDIR => refused("it is no folder"),
                    errno => FileError::io(path, "opening the workspace", errno),
                }
            })?;
        let id = FolderId::of(&fd, path)?;
        Ok(Self { given: path.to_owned(), real, fd, id })
    }

    /// Where it is, without links.
    pub fn real_path(&self) -> &Path {
        &self.real
    }

    /// Opens a regular file with one name for reading. Nothing else is ever opened: no device, FIFO or socket
    /// notices.
    ///
    /// # Errors
    /// When the path cannot be used, leads out, or names no regular file, or one with several names.
    pub fn read(&self, named: &str) -> Result<Opened, FileError> {
        let relative = self.relative(named)?;
        let looked_up = self.open_beneath(named, &relative, OFlags::PATH, ResolveFlags::empty())?;
        let stat =
            fs::fstat(&looked_up).map_err(|errno| FileError::io(&relative, "looking at the file", errno))?;
        if let Some(kind) = kind_of(&stat) {
            return Err(FileError::path(named, PathProblem::NotAFile(kind)));
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = self.open_beneath(named, &relative, flags, ResolveFlags::empty())?;
        let again =
            fs::fstat(&opened).map_err(|errno| FileError::io(&relative, "looking at the file", errno))?;
        if (stat.st_dev, stat.st_ino) != (again.st_dev, again.st_ino) {
            return Err(FileError::changed(
                &self.real.join(&relative),
                "it was replaced while it was opened",
            ));
        }
        // Nobody can list the names of a file, so whether all are beneath the folder is not known.
        if again.st_nlink > 1 {
            return Err(FileError::path(named, PathProblem::OtherNames));
        }
        let real_path = self.real_path_of(named, &opened)?;
        Ok(Opened { file: File::from(opened), real_path })
    }

    /// Where a file that would be written is, folders that do not exist included.
    pub(super) fn place(&self, named: &str) -> Result<FilePlace, FileError> {
        let problem = |problem| FileError::path(named, problem);
        let relative = self.relative(named)?;
        let name = relative.file_name().ok_or(problem(PathProblem::NamesFolder))?.to_owned();
        let mut outer = relative.parent().unwrap_or(Path::new("")).to_owned();
        let mut missing = Vec::new();
        let folder = loop {
            match self.open_beneath(named, &outer, FOLDER, ResolveFlags::empty()) {
                Err(FileError::Path { problem: PathProblem::NotFound, .. }) => {}
                other => break other?,
            }
            match outer.components().next_back() {
                Some(Component::Normal(last)) => missing.insert(0, last.to_owned()),
                Some(_) => return Err(problem(PathProblem::UpFromNothing)),
                None => return Err(problem(PathProblem::NotFound)),
            }
            if missing.len() > NEW_FOLDERS {
                return Err(problem(PathProblem::TooManyFolders));
            }
            outer.pop();
        };
        if let Some(first) = missing.first() {
            match fs::statat(&folder, first.as_os_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => {}
                Ok(_) => return Err(problem(PathProblem::DeadLink)),
                Err(errno) => return Err(FileError::io(&relative, "looking at the folder", errno)),
            }
        }
        let real = self.real_path_of(named, &folder)?;
        let inner = real.strip_prefix(&self.real).unwrap_or(Path::new("")).to_owned();
        let folder = Folder { id: FolderId::of(&folder, &real)?, relative: inner };
        // What was just found must be found again under the path that is shown.
        self.reopen(&folder)?;
        let real_path = missing.iter().fold(real, |path, part| path.join(part)).join(&name);
        names::readable(real_path.strip_prefix(&self.real).unwrap_or(&real_path)).map_err(problem)?;
        if real_path.to_str().is_none() {
            return Err(problem(PathProblem::Unreadable));
        }
        Ok(FilePlace { named: named.to_owned(), folder, missing, name, real_path })
    }

    /// Opens a planned folder again, and that folder only.
    pub(super) fn reopen(&self, folder: &Folder) -> Result<OwnedFd, FileError> {
        let path = self.real.join(&folder.relative);
        let named = path.to_string_lossy();
        let opened = match self.open_beneath(&named, &folder.relative, FOLDER, ResolveFlags::NO_SYMLINKS) {
            Err(FileError::Path { problem, .. }) => {
                return Err(FileError::changed(
                    &path,
                    format!("expected the same folder, found that {problem}"),
                ));
            }
            other => other?,
        };
        folder.id.expect(&opened, &path)?;
        Ok(opened)
    }

    /// Whether the workspace's path still leads to the folder that was opened.
    pub(super) fn expect_unmoved(&self) -> Result<(), FileError> {
        let opened = fs::openat2(CWD, &self.real, FOLDER, Mode::empty(), ResolveFlags::NO_SYMLINKS).map_err(
            |errno| FileError::changed(&self.real, format!("expected the same folder, found: {errno}")),
        )?;
        self.id.expect(&opened, &self.real)
    }

    fn relative(&self, named: &str) -> Result<PathBuf, FileError> {
        names::relative(named, [&self.real, &self.given]).map_err(|problem| FileError::path(named, problem))
    }

    fn open_beneath(
        &self,
        named: &str,
        relative: &Path,
        flags: OFlags,
        resolve: ResolveFlags,
    ) -> Result<OwnedFd, FileError> {
        let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
        let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        open(&self.fd, path, flags, resolve).map_err(|errno| match PathProblem::of(errno) {
            Some(problem) => FileError::path(named, problem),
            None => FileError::io(&self.real.join(relative), "opening", errno),
        })
    }

    /// The path of something that was opened beneath the workspace, without links.
    fn real_path_of(&self, named: &str, opened: &OwnedFd) -> Result<PathBuf, FileError> {
        let entry = format!("/proc/self/fd/{}", opened.as_raw_fd());
        let path = fs::readlink(&entry, Vec::new())
            .map_err(|errno| FileError::io(Path::new(&entry), "asking for a path", errno))?;
        let path = PathBuf::from(OsString::from_vec(path.into_bytes()));
        // Otherwise it was moved away in the meantime, or the workspace was.
        if !path.starts_with(&self.real) {
            return Err(FileError::path(named, PathProblem::LeadsOut));
        }
        Ok(path)
    }
}

impl FolderId {
    pub(super) fn of(folder: &OwnedFd, path: &Path) -> Result<Self, FileError> {
        match fs::fstat(folder) {
            Ok(stat) => Ok(Self { dev: stat.st_dev, ino: stat.st_ino }),
            Err(errno) => Err(FileError::io(path, "looking at the folder", errno)),
        }
    }

    /// Refuses another folder.
    pub(super) fn expect(self, opened: &OwnedFd, path: &Path) -> Result<(), FileError> {
        let found = Self::of(opened, path)?;
        if found == self {
            return Ok(());
        }
        let text = |id: Self| format!("inode {} on device {}", id.ino, id.dev);
        Err(FileError::changed(
            path,
            format!("expected the folder with {}, found {}", text(self), text(found)),
        ))
    }
}

impl PathProblem {
    /// What a failed look-up says about the path; `None` when it says something else.
    pub(super) fn of(errno: Errno) -> Option<Self> {
        match errno {
            Errno::NOENT => Some(Self::NotFound),
            Errno::XDEV => Some(Self::LeadsOut),
            Errno::LOOP => Some(Self::LinkLoop),
            Errno::NOTDIR => Some(Self::NotAFolder),
            Errno::NAMETOOLONG => Some(Self::TooLong),
            Errno::NOSYS | Errno::PERM => Some(Self::Unsupported),
            _ => None,
        }
    }
}

/// Opens `name` in a folder: no link is followed, and no peer waited for.
pub(super) fn open_in(folder: &OwnedFd, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    // With PATH, a link is then opened itself, and can be told from a file that is not there.
    let flags = flags | OFlags::NOFOLLOW;
    open(folder, Path::new(name), flags, ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// Opens the folder `name` in a folder, no link followed.
pub(super) fn open_folder_in(folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    open_in(folder, name, FOLDER)
}

/// What something is that is no regular file.
pub(super) fn kind_of(stat: &Stat) -> Option<&'static str> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => None,
        FileType::Directory => Some("a folder"),
        FileType::Symlink => Some("a symbolic link"),
        FileType::Fifo => Some("a FIFO"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        FileType::Unknown => Some("of an unknown kind"),
    }
}

/// Where the link at `name` leads, for a message.
pub(super) fn link_target(folder: &OwnedFd, name: &OsStr) -> String {
    match fs::readlinkat(folder, name, Vec::new()) {
        Ok(target) => escape(&target.to_string_lossy()),
        Err(errno) => errno.to_string(),
    }
}

fn open(folder: &impl AsFd, path: &Path, flags: OFlags, resolve: ResolveFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::CLOEXEC;
    let mut tries = 0;
    loop {
        match fs::openat2(folder, path, flags, Mode::empty(), resolve) {
            // The kernel gives up on `..` when folders are renamed at the same time.
            Err(Errno::AGAIN | Errno::INTR) if tries < LOOKUP_TRIES => tries += 1,
            other => return other,
        }
    }
}

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
