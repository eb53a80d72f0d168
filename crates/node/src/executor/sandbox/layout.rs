//! The file system of a box, laid out before bubblewrap builds its walls around it.
//!
//! Bubblewrap reads the machine's table of mounts again for each thing that it puts somewhere, and a box has
//! a hundred. So they are put together by a process of ours, through descriptors, in a name space whose
//! mounts follow nobody, and bubblewrap gets the whole as one folder. What is laid out is never less strict
//! than what bubblewrap would make of the same plan: what is to be read only is so before the next thing is
//! put on it, nothing is made but in folders that were made here, and what was looked at is put there by its
//! number, or not at all.

use super::handing;
use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxFlags, fstat, fstatvfs, mkdirat,
    openat, openat2, statx, symlinkat, unlinkat,
};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, fsconfig_create, fsconfig_set_string, fsmount, fsopen, mount, mount_change, mount_remount,
    move_mount, open_tree,
};
use rustix::process::{getegid, geteuid};
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system to be, in the order in which it is put together.
#[derive(Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct Layout {
    /// A folder of ours that it is built on.
    pub(super) root: OsString,
    /// Folders laid over others, before anything else.
    pub(super) layers: Vec<Layer>,
    /// Everything else.
    pub(super) pieces: Vec<Piece>,
}

/// A folder laid over others. No name in it has a comma, a colon or a backslash.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Layer {
    /// What is below, the uppermost first.
    pub(super) below: Vec<OsString>,
    /// Where changes go.
    pub(super) upper: OsString,
    /// The kernel's own, on the same file system.
    pub(super) work: OsString,
    /// Where it is to be found.
    pub(super) merged: OsString,
}

/// Something at a path of the box's.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Piece {
    /// The path, absolute.
    pub(super) at: OsString,
    /// What is there.
    pub(super) what: What,
}

/// What can be at a path.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
pub(super) enum What {
    /// What the machine has at the same path, if it has, with everything mounted below it.
    Machine(Access),
    /// A folder of ours from another path, to be written.
    Ours(OsString),
    /// What was looked at: exactly the file or folder of this device and number, or there is no box.
    Looked {
        /// Where it is.
        from: OsString,
        /// Its device.
        device: u64,
        /// Its number.
        inode: u64,
        /// What may be done with it.
        access: Access,
    },
    /// A folder in memory.
    Memory {
        /// Its permissions.
        mode: u32,
        /// Most that it may hold, in bytes.
        bytes: u64,
        /// What may be done with it, once everything is laid out.
        access: Access,
    },
    /// A file with this content, in a folder that was made here.
    Copy {
        /// What is in it.
        content: Vec<u8>,
        /// Its permissions.
        mode: u32,
    },
    /// A symbolic link, in a folder that was made here.
    Link(OsString),
    /// A file that nobody can read.
    Nothing,
    /// A device of the machine's at the same path, if it has it.
    Device,
    /// A folder for terminals of the box's own.
    Terminals,
    /// The terminal that is standard output, if it is one.
    Console,
}

/// What may be done with something.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(super) enum Access {
    /// Nothing but to read it.
    Read,
    /// Whatever its permissions say.
    Write,
    /// The same, and it is a device.
    Device,
}

/// `PROGRAM ARGUMENT…`: lays out what comes through standard input, and goes on as the program. Returns only
/// if that cannot be done.
#[expect(
    clippy::disallowed_methods,
    reason = "bubblewrap, in this process, as it was told by who started it"
)]
pub(super) fn lay_out(arguments: &[OsString]) -> io::Error {
    let Some((program, arguments)) = arguments.split_first() else {
        return io::Error::new(ErrorKind::InvalidInput, "expected a program");
    };
    let received = match handing::receive() {
        Ok(received) => received,
        Err(error) => return error,
    };
    match alone().and_then(|()| received.layout.build()) {
        Ok(()) => Command::new(program).args(arguments).exec(),
        Err(error) => error,
    }
}

/// Has this process be root of a name space of its own, whose mounts follow nobody's. What it becomes
/// takes that back.
fn alone() -> io::Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    #[expect(
        deprecated,
        reason = "it is unsafe only with open files that threads have apart: this process has one thread"
    )]
    rustix::thread::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
    Ok(mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?)
}

impl Layout {
    /// The bytes that [`Self::read`] reads.
    pub(super) fn written(&self) -> io::Result<Vec<u8>> {
        postcard::to_stdvec(self).map_err(io::Error::other)
    }

    pub(super) fn read(bytes: &[u8]) -> io::Result<Self> {
        postcard::from_bytes(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
    }

    /// Puts everything together, in this process's own name space.
    fn build(&self) -> io::Result<()> {
        let mask = rustix::process::umask(Mode::empty());
        let built = self.layers.iter().try_for_each(Layer::lay).and_then(|()| {
            let mut ground = Ground::new(Path::new(&self.root))?;
            for piece in &self.pieces {
                let at = Path::new(&piece.at);
                ground.put(at, &piece.what).map_err(|error| told(&error, at))?;
            }
            ground.close()
        });
        rustix::process::umask(mask);
        built
    }
}

impl Layer {
    fn lay(&self) -> io::Result<()> {
        let mut options = b"userxattr,lowerdir=".to_vec();
        for (number, below) in self.below.iter().enumerate() {
            if number > 0 {
                options.push(b':');
            }
            options.extend(below.as_bytes());
        }
        for (name, path) in [(",upperdir=", &self.upper), (",workdir=", &self.work)] {
            options.extend(name.bytes());
            options.extend(path.as_bytes());
        }
        let options = CString::new(options)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("overlay", &self.merged, "overlay", flags, options.as_c_str())
            .map_err(|error| told(&error.into(), Path::new(&self.merged)))
    }
}

/// What was laid out so far.
struct Ground {
    at: PathBuf,
    root: OwnedFd,
    /// File systems that were made here, by their devices: nothing is made in others.
    own: BTreeSet<u64>,
    /// What of them is to be read only in the end.
    frames: Vec<OwnedFd>,
    /// What may be done at each path, and below it up to the next one.
    access: BTreeMap<PathBuf, Access>,
    nothing: Option<OwnedFd>,
}

/// What is made where nothing is.
#[derive(Clone, Copy, Debug)]
enum Kind {
    File,
    Folder,
}

impl Ground {
    fn new(at: &Path) -> io::Result<Self> {
        let root = memory(0o755, ROOT_BYTES)?;
        let target = openat2(CWD, at, PATH | OFlags::DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        attach(&root, &target)?;
        let own = BTreeSet::from([fstat(&root)?.st_dev]);
        let access = BTreeMap::from([(PathBuf::from("/"), Access::Read)]);
        let frames = vec![root.as_fd().try_clone_to_owned()?];
        let ground = Self { at: at.to_owned(), root, own, frames, access, nothing: None };
        for name in ["/proc", "/dev"] {
            ground.place(Path::new(name), Kind::Folder)?;
        }
        Ok(ground)
    }

    fn put(&mut self, at: &Path, what: &What) -> io::Result<()> {
        match what {
            What::Machine(access) => match open_tree(CWD, at, TREE) {
                Ok(tree) => match self.mount(&tree, at, *access) {
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                    put => put,
                },
                Err(Errno::NOENT) => Ok(()),
                Err(error) => Err(error.into()),
            },
            What::Ours(from) => self.mount(&open_tree(CWD, from, TREE)?, at, Access::Write),
            What::Looked { from, device, inode, access } => {
                let file = openat2(CWD, from, PATH, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
                let found = fstat(&file)?;
                if (found.st_dev, found.st_ino) != (*device, *inode) {
                    return Err(io::Error::new(
                        ErrorKind::InvalidData,
                        "it is another one than was looked at",
                    ));
                }
                let tree = open_tree(&file, "", TREE | OpenTreeFlags::AT_EMPTY_PATH)?;
                self.mount(&tree, at, *access)
            }
            What::Memory { mode, bytes, access } => {
                let folder = memory(*mode, *bytes)?;
                attach(&folder, &self.place(at, Kind::Folder)?)?;
                self.own.insert(fstat(&folder)?.st_dev);
                self.access.insert(at.to_owned(), *access);
                if *access == Access::Read {
                    self.frames.push(folder);
                }
                Ok(())
            }
            What::Copy { content, mode } => {
                let (folder, name) = self.beside(at)?;
                let file = openat(&folder, name, NEW, Mode::from_raw_mode(*mode))?;
                File::from(file).write_all(content)
            }
            What::Link(target) => {
                let (folder, name) = self.beside(at)?;
                Ok(symlinkat(target, folder, name)?)
            }
            What::Device => match open_tree(CWD, at, ONE) {
                Ok(device) => self.mount(&device, at, Access::Device),
                Err(Errno::NOENT) => Ok(()),
                Err(error) => Err(error.into()),
            },
            What::Terminals => {
                let made = fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
                for (name, value) in [("ptmxmode", "666"), ("mode", "620")] {
                    fsconfig_set_string(&made, name, value)?;
                }
                fsconfig_create(&made)?;
                let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
                let folder = fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
                self.mount(&folder, at, Access::Device)
            }
            What::Console if rustix::termios::isatty(io::stdout()) => {
                // What is open was opened in another name space, and cannot be put anywhere in this one.
                let terminal = open_tree(CWD, fs::read_link("/proc/self/fd/1")?, ONE)?;
                match fstat(&terminal)?.st_rdev == fstat(io::stdout())?.st_rdev {
                    true => self.mount(&terminal, at, Access::Device),
                    false => Ok(()),
                }
            }
            What::Console => Ok(()),
            What::Nothing => {
                let tree = open_tree(self.nothing()?, "", TREE | OpenTreeFlags::AT_EMPTY_PATH)?;
                self.mount(&tree, at, Access::Read)
            }
        }
    }

    /// Puts a tree at a path, and has it be what it may be before anything can use it.
    fn mount(&mut self, tree: &OwnedFd, at: &Path, access: Access) -> io::Result<()> {
        let kind = match rustix::fs::FileType::from_raw_mode(fstat(tree)?.st_mode) {
            rustix::fs::FileType::Directory => Kind::Folder,
            _ => Kind::File,
        };
        attach(tree, &self.place(at, kind)?)?;
        self.access.insert(at.to_owned(), access);
        restrict(tree, access)
    }

    /// What is at a path, made where nothing is, in folders that were made here.
    fn place(&self, at: &Path, kind: Kind) -> io::Result<OwnedFd> {
        match self.open(at) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
        let (folder, name) = self.beside(at)?;
        match kind {
            Kind::Folder => mkdirat(&folder, name, Mode::from_raw_mode(0o755))?,
            Kind::File => drop(openat(&folder, name, NEW, Mode::from_raw_mode(0o444))?),
        }
        self.open(at)
    }

    /// The folder that holds a path, if it was made here, and the last name of the path.
    fn beside<'a>(&self, at: &'a Path) -> io::Result<(OwnedFd, &'a std::ffi::OsStr)> {
        let (Some(folder), Some(name)) = (at.parent(), at.file_name()) else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let folder = self.place(folder, Kind::Folder)?;
        match self.own.contains(&fstat(&folder)?.st_dev) {
            true => Ok((folder, name)),
            false => Err(ErrorKind::NotFound.into()),
        }
    }

    fn open(&self, at: &Path) -> io::Result<OwnedFd> {
        let within = at.strip_prefix("/").map_err(|_| ErrorKind::InvalidInput)?;
        let within = if within.as_os_str().is_empty() { Path::new(".") } else { within };
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        Ok(openat2(&self.root, within, PATH, Mode::empty(), how)?)
    }

    /// The file that nobody can read. It has no name.
    fn nothing(&mut self) -> io::Result<&OwnedFd> {
        if self.nothing.is_none() {
            drop(openat(&self.root, NOTHING, NEW, Mode::empty())?);
            let file = openat(&self.root, NOTHING, PATH, Mode::empty())?;
            self.nothing = Some(file);
        }
        self.nothing.as_ref().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Nothing more is put anywhere. Looks whether everything became what it was to be.
    fn close(self) -> io::Result<()> {
        if self.nothing.is_some() {
            unlinkat(&self.root, NOTHING, AtFlags::empty())?;
        }
        self.frames.iter().try_for_each(|frame| restrict(frame, Access::Read))?;
        // What was mounted below what is shown came with it, as it was.
        for Mounted { id, at } in mounted(&fs::read("/proc/self/mountinfo")?) {
            let Ok(within) = at.strip_prefix(&self.at) else { continue };
            let within = Path::new("/").join(within);
            let above = within.ancestors().find_map(|above| self.access.get(above));
            let Some(access) = above.copied() else { continue };
            // What lies under something else is not to be reached.
            let Ok(file) = self.open(&within) else { continue };
            let found = statx(&file, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID)?;
            if found.stx_mnt_id == id && !is_restricted(&file, access)? {
                restrict(&file, access).map_err(|error| told(&error, &within))?;
            }
        }
        Ok(())
    }
}

/// A folder in memory that is nowhere yet.
fn memory(mode: u32, bytes: u64) -> io::Result<OwnedFd> {
    let made = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(&made, "mode", format!("{mode:o}"))?;
    fsconfig_set_string(&made, "size", bytes.to_string())?;
    fsconfig_create(&made)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

fn attach(tree: &OwnedFd, at: &OwnedFd) -> io::Result<()> {
    let how = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, "", at, "", how)?)
}

/// Has what is mounted be what it may be. No flag is taken away: those that are there may be others' walls.
fn restrict(mounted: &OwnedFd, access: Access) -> io::Result<()> {
    let mut flags = MountFlags::BIND | MountFlags::NOSUID;
    let there = fstatvfs(mounted)?.f_flag;
    for (is, stays) in [
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::RDONLY, MountFlags::RDONLY),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if there.contains(is) {
            flags |= stays;
        }
    }
    flags |= match access {
        Access::Read => MountFlags::NODEV | MountFlags::RDONLY,
        Access::Write => MountFlags::NODEV,
        Access::Device => MountFlags::empty(),
    };
    mount_remount(format!("/proc/self/fd/{}", mounted.as_raw_fd()), flags, "")?;
    match is_restricted(mounted, access)? {
        true => Ok(()),
        false => Err(io::Error::other("more can still be done with it than may be")),
    }
}

fn is_restricted(mounted: &OwnedFd, access: Access) -> io::Result<bool> {
    let needed = match access {
        Access::Read => StatVfsMountFlags::NODEV | StatVfsMountFlags::RDONLY,
        Access::Write => StatVfsMountFlags::NODEV,
        Access::Device => StatVfsMountFlags::empty(),
    };
    Ok(fstatvfs(mounted)?.f_flag.contains(needed | StatVfsMountFlags::NOSUID))
}

fn told(error: &io::Error, at: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", at.display()))
}

/// A line of the kernel's table.
struct Mounted {
    id: u64,
    at: PathBuf,
}

/// Where something is mounted in this process's name space.
pub(super) fn mount_points() -> io::Result<BTreeSet<PathBuf>> {
    Ok(mounted(&fs::read("/proc/self/mountinfo")?).into_iter().map(|mounted| mounted.at).collect())
}

fn mounted(table: &[u8]) -> Vec<Mounted> {
    let line = |line: &[u8]| {
        let mut fields = line.split(|byte| *byte == b' ');
        let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
        Some(Mounted { id, at: PathBuf::from(OsString::from_vec(unescaped(fields.nth(3)?))) })
    };
    table.split(|byte| *byte == b'\n').filter_map(line).collect()
}

/// A name of the kernel's table, where blanks and backslashes are written as numbers.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name;
    while let [first, after @ ..] = rest {
        let number = match (first, after) {
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..]) => {
                Some(((a - b'0') << 6) | ((b - b'0') << 3) | (c - b'0'))
            }
            _ => None,
        };
        plain.push(number.unwrap_or(*first));
        rest = after.get(if number.is_some() { 3 } else { 0 }..).unwrap_or_default();
    }
    plain
}

const PATH: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A copy of one mount.
const ONE: OpenTreeFlags = OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC);

const NEW: OFlags = OFlags::CREATE.union(OFlags::EXCL).union(OFlags::WRONLY).union(OFlags::CLOEXEC);

/// A copy of a mount with all that is mounted below it.
const TREE: OpenTreeFlags = ONE.union(OpenTreeFlags::AT_RECURSIVE);

/// Most that the root holds, in bytes: folders and links.
const ROOT_BYTES: u64 = 1_048_576;

/// The name, for a while, of the file that nobody can read.
const NOTHING: &str = ".nothing";

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_kernels_table_is_read_with_all_names() {
        let table = b"24 1 0:22 / /a\\040b\\134c rw - x y z\n\n25 24 0:23 / /plain ro - x y z\nx y\n";
        let found: Vec<(u64, PathBuf)> = mounted(table).into_iter().map(|line| (line.id, line.at)).collect();
        assert_eq!(found, [(24, PathBuf::from("/a b\\c")), (25, PathBuf::from("/plain"))]);
        assert_eq!(unescaped(b"\\9\\04"), b"\\9\\04");
    }

    #[test]
    fn a_layout_is_read_as_it_was_written() {
        let name = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let layout = Layout {
            root: name(b"/r\xff"),
            layers: vec![Layer {
                below: vec![name(b"/b")],
                upper: name(b"/u"),
                work: name(b"/w"),
                merged: name(b"/m"),
            }],
            pieces: vec![
                Piece { at: name(b"/x"), what: What::Machine(Access::Read) },
                Piece { at: name(b"/y"), what: What::Copy { content: b"text".to_vec(), mode: 0o444 } },
            ],
        };
        assert_eq!(Layout::read(&layout.written().unwrap()).unwrap(), layout);
        assert!(Layout::read(b"\xff\xff").is_err());
    }
}
