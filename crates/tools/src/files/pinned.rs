//! A file that would be changed: everything that must be the same later, and what a file that
//! replaces it gets of it.

use super::error::{FileError, PathProblem};
use super::limits::{ATTRIBUTE_BYTES, CHANGED_BYTES};
use super::workspace::{FilePlace, kind_of, link_target, open_in};
use crate::changes::FileState;
use rustix::fs::{self, Access, AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid, XattrFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

/// A regular file as it was when it was looked at.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Pinned {
    pub(super) state: FileState,
    /// Extended attributes, sorted by name.
    attributes: Vec<(CString, Vec<u8>)>,
}

/// What is to be done with a file that is looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Purpose {
    /// Other bytes are put in its place, or it gets another place.
    Replace,
    /// It is removed.
    Remove,
}

/// What stands at `place`, whose folder is open, with its bytes; `None` when nothing does.
///
/// # Errors
/// When it is no regular file, or one that is not changed here.
pub(super) fn look(
    folder: &OwnedFd,
    place: &FilePlace,
    purpose: Purpose,
) -> Result<Option<(Pinned, Vec<u8>)>, FileError> {
    let problem = |problem| Err(FileError::path(&place.named, problem));
    let name = place.name.as_os_str();
    let io = |errno| FileError::io(&place.real_path, "looking at the file", errno);
    let stat = match fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::NAMETOOLONG) => return problem(PathProblem::TooLong),
        Err(errno) => return Err(io(errno)),
    };
    if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
        return problem(PathProblem::Link(link_target(folder, name)));
    }
    if let Some(kind) = kind_of(&stat) {
        return problem(PathProblem::NotAFile(kind));
    }
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    if size > CHANGED_BYTES as u64 {
        return problem(PathProblem::TooLarge { found: size, limit: CHANGED_BYTES as u64 });
    }
    if purpose == Purpose::Replace {
        if stat.st_mode & PRIVILEGED != 0 {
            return problem(PathProblem::Privileged);
        }
        // Replacing it would get around its permissions.
        match fs::accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS) {
            Ok(()) => {}
            Err(Errno::ACCESS | Errno::ROFS) => return problem(PathProblem::ReadOnly),
            Err(errno) => return Err(io(errno)),
        }
    }
    read(folder, name, &place.real_path).map(Some)
}

/// The regular file under `name`, with its bytes.
fn read(folder: &OwnedFd, name: &OsStr, path: &Path) -> Result<(Pinned, Vec<u8>), FileError> {
    let io = |errno| FileError::io(path, "reading", errno);
    let opened = open_in(folder, name, OFlags::PATH).map_err(io)?;
    let expected = fs::fstat(&opened).map_err(io)?;
    if let Some(kind) = kind_of(&expected) {
        return Err(FileError::changed(path, format!("expected a regular file, found {kind}")));
    }
    let mut file =
        File::from(open_in(folder, name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(io)?);
    let stat = fs::fstat(&file).map_err(io)?;
    let mut bytes = Vec::new();
    let limit = CHANGED_BYTES as u64 + 1;
    (&mut file).take(limit).read_to_end(&mut bytes).map_err(|error| FileError::io(path, "reading", error))?;
    let after = fs::fstat(&file).map_err(io)?;
    let stamp = |stat: &Stat| (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, stat.st_mtime_nsec);
    if stamp(&expected) != stamp(&stat)
        || stamp(&stat) != stamp(&after)
        || u64::try_from(stat.st_size).ok() != Some(bytes.len() as u64)
    {
        return Err(FileError::changed(path, "it was written while it was read"));
    }
    let attributes = attributes(&file).map_err(io)?;
    Ok((Pinned { state: state_of(&stat, &bytes), attributes }, bytes))
}

impl Pinned {
    /// Whether what stands under `name` is still this file.
    pub(super) fn expect(&self, folder: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), FileError> {
        let found = match read(folder, name, path) {
            Ok((found, _)) => found,
            Err(FileError::Io { source, .. }) => {
                return Err(FileError::changed(path, format!("expected the same file, found: {source}")));
            }
            Err(other) => return Err(other),
        };
        if let Some(difference) = self.state.difference(&found.state) {
            return Err(FileError::changed(path, difference));
        }
        if self.attributes != found.attributes {
            return Err(FileError::changed(path, "its access list or other extended attributes differ"));
        }
        Ok(())
    }

    /// Gives a new file the owner, the permissions and the attributes of this one.
    ///
    /// # Errors
    /// When the file would end up open to others than this one is.
    pub(super) fn dress(&self, file: &File, path: &Path) -> Result<(), FileError> {
        let io = |doing| move |errno| FileError::io(path, doing, errno);
        let stat = fs::fstat(file).map_err(io("looking at the new file"))?;
        if (stat.st_uid, stat.st_gid) != (self.state.uid, self.state.gid) {
            let (uid, gid) = (Uid::from_raw(self.state.uid), Gid::from_raw(self.state.gid));
            fs::fchown(file, Some(uid), Some(gid)).map_err(io("keeping its owner"))?;
        }
        // The folder may have given the new file an access list of its own.
        for (name, _) in attributes(file).map_err(io("reading access lists"))? {
            if !self.attributes.iter().any(|(kept, _)| *kept == name) {
                fs::fremovexattr(file, &name).map_err(io("keeping its access list"))?;
            }
        }
        for (name, value) in &self.attributes {
            fs::fsetxattr(file, name, value, XattrFlags::empty())
                .map_err(io("keeping its extended attributes"))?;
        }
        fs::fchmod(file, Mode::from_raw_mode(self.state.mode)).map_err(io("keeping its permissions"))
    }
}

fn state_of(stat: &Stat, bytes: &[u8]) -> FileState {
    FileState {
        dev: stat.st_dev,
        ino: stat.st_ino,
        size: bytes.len() as u64,
        mtime_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
        mode: stat.st_mode,
        uid: stat.st_uid,
        gid: stat.st_gid,
        links: stat.st_nlink,
        sha256: Sha256::digest(bytes).into(),
    }
}

/// The access list, and what users set; none where the file system knows none. Others are the
/// system's to set.
fn attributes(file: &File) -> Result<Vec<(CString, Vec<u8>)>, Errno> {
    let mut list = vec![0_u8; ATTRIBUTE_BYTES];
    let length = match fs::flistxattr(file, list.as_mut_slice()) {
        Ok(length) => length,
        Err(Errno::NOTSUP | Errno::NOSYS) => return Ok(Vec::new()),
        Err(errno) => return Err(errno),
    };
    let mut attributes = Vec::new();
    let names = list.get(..length).unwrap_or_default().split(|byte| *byte == 0);
    for name in names.filter(|name| *name == ACCESS_LIST || name.starts_with(b"user.")) {
        let name = CString::new(name).map_err(|_| Errno::INVAL)?;
        let mut value = vec![0_u8; ATTRIBUTE_BYTES];
        let length = fs::fgetxattr(file, &name, value.as_mut_slice())?;
        value.truncate(length);
        attributes.push((name, value));
    }
    attributes.sort();
    Ok(attributes)
}

const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Set-user-ID and set-group-ID.
const PRIVILEGED: u32 = 0o6000;
