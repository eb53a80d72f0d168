//! A disk that fails as it is told: a file system in user space that hands everything on to a folder. It
//! speaks the kernel's FUSE protocol itself, as much of it as a home needs, and forgets no file before
//! it is unmounted.

mod frame;

use anyhow::{Context, Result};
use frame::{Frame, Reader, Writer};
use rustix::fs::{AtFlags, CWD, FileType, Mode, Timespec, Timestamps, UTIME_OMIT, mknodat, utimensat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use std::collections::HashMap;
use std::ffi::CString;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How a disk is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Mood {
    Well,
    /// Changes are refused.
    ReadOnly,
    /// Reads, writes and changes fail.
    Broken,
    /// A write takes a second.
    Slow,
}

/// A mounted file system. It is served until it is unmounted.
pub(crate) struct Server {
    shared: Arc<Shared>,
}

struct Shared {
    mood: AtomicU8,
    state: Mutex<State>,
}

struct State {
    paths: HashMap<u64, PathBuf>,
    nodes: HashMap<PathBuf, u64>,
    files: HashMap<u64, Arc<File>>,
    folders: HashMap<u64, Vec<(Vec<u8>, u64, u32)>>,
    last: u64,
}

impl Server {
    /// How the disk is from here on.
    pub(crate) fn set(&self, mood: Mood) {
        self.shared.mood.store(mood as u8, Ordering::SeqCst);
    }
}

/// Mounts one on a folder, whose files lie in `backing`.
pub(crate) fn mount_at(folder: &Path, backing: &Path) -> Result<Server> {
    fs::create_dir_all(backing)?;
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .context("/dev/fuse cannot be used here")?;
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let options =
        format!("fd={},rootmode=40000,user_id={user},group_id={group},max_read={MOST}", device.as_raw_fd());
    mount("faults", folder, "fuse", MountFlags::NOSUID | MountFlags::NODEV, &*CString::new(options)?)
        .context("FUSE cannot be mounted here")?;
    let shared = Arc::new(Shared {
        mood: AtomicU8::new(Mood::Well as u8),
        state: Mutex::new(State {
            paths: HashMap::from([(ROOT, backing.to_owned())]),
            nodes: HashMap::from([(backing.to_owned(), ROOT)]),
            files: HashMap::new(),
            folders: HashMap::new(),
            last: ROOT,
        }),
    });
    let device = Arc::new(device);
    for _ in 0..SERVERS {
        let (shared, device) = (Arc::clone(&shared), Arc::clone(&device));
        // Ends when it is unmounted and nobody has a file of it open.
        thread::spawn(move || serve(&shared, &device));
    }
    Ok(Server { shared })
}

fn serve(shared: &Shared, device: &File) {
    let mut bytes = vec![0; MOST as usize + 4096];
    loop {
        let length = match (&mut &*device).read(&mut bytes) {
            Ok(length) => length,
            Err(error) if matches!(error.raw_os_error(), Some(ENOENT | EINTR | EAGAIN)) => continue,
            Err(_) => return,
        };
        let Some(frame) = bytes.get(..length).and_then(Frame::read) else { return };
        if matches!(frame.code, FORGET | BATCH_FORGET | INTERRUPT) {
            continue;
        }
        let answer = shared.answer(&frame).map_err(|error| error.raw_os_error().unwrap_or(EIO));
        // A request that was interrupted is not there any more.
        (&mut &*device).write_all(&frame.answer(answer)).ok();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fails or waits as the disk's mood is.
    fn endure(&self, frame: &Frame<'_>, wants_write: bool) -> io::Result<()> {
        let mood = self.mood.load(Ordering::SeqCst);
        let changes = wants_write || CHANGES.contains(&frame.code);
        if mood == Mood::ReadOnly as u8 && changes && frame.code != FSYNC {
            return Err(Errno::ROFS.into());
        }
        if mood == Mood::Broken as u8 && (changes || frame.code == READ) {
            return Err(Errno::IO.into());
        }
        if mood == Mood::Slow as u8 && matches!(frame.code, WRITE | FSYNC) {
            thread::sleep(SLOW);
        }
        Ok(())
    }

    fn answer(&self, frame: &Frame<'_>) -> io::Result<Vec<u8>> {
        let mut input = frame.input();
        let node = frame.node;
        if !matches!(frame.code, OPEN) {
            self.endure(frame, false)?;
        }
        let done = Vec::new;
        match frame.code {
            INIT => Ok(init(&mut input)),
            LOOKUP => {
                let path = self.state().child(node, input.name())?;
                self.entry(&path)
            }
            GETATTR => Ok(self.attributes(node)?),
            SETATTR => self.set_attributes(node, &mut input),
            READLINK => Ok(fs::read_link(self.state().path(node)?)?.into_os_string().into_vec()),
            SYMLINK => {
                let path = self.state().child(node, input.name())?;
                symlink(Path::new(std::ffi::OsStr::from_bytes(input.name())), &path)?;
                self.entry(&path)
            }
            MKNOD => {
                let (mode, _, _, _) = (input.u32(), input.u32(), input.u32(), input.u32());
                let path = self.state().child(node, input.name())?;
                mknodat(CWD, &path, FileType::from_raw_mode(mode), Mode::from_raw_mode(mode & 0o7777), 0)?;
                self.entry(&path)
            }
            MKDIR => {
                let (mode, _) = (input.u32(), input.u32());
                let path = self.state().child(node, input.name())?;
                fs::create_dir(&path)?;
                fs::set_permissions(&path, Permissions::from_mode(mode & 0o7777))?;
                self.entry(&path)
            }
            UNLINK | RMDIR => {
                let path = self.state().child(node, input.name())?;
                if frame.code == UNLINK { fs::remove_file(&path) } else { fs::remove_dir(&path) }?;
                self.state().nodes.remove(&path);
                Ok(done())
            }
            RENAME | RENAME2 => {
                let folder = input.u64();
                if frame.code == RENAME2 && input.u64() & 0xffff_ffff != 0 {
                    return Err(Errno::INVAL.into());
                }
                let from = self.state().child(node, input.name())?;
                let to = self.state().child(folder, input.name())?;
                fs::rename(&from, &to)?;
                self.state().moved(&from, &to);
                Ok(done())
            }
            LINK => {
                let from = self.state().path(input.u64())?;
                let to = self.state().child(node, input.name())?;
                fs::hard_link(from, &to)?;
                self.entry(&to)
            }
            OPEN => {
                let flags = input.u32();
                self.endure(frame, flags & 0b11 != 0)?;
                let path = self.state().path(node)?;
                let file = open(&path, flags & !(O_CREAT | O_EXCL | O_NOCTTY), 0)?;
                Ok(self.state().keep(file))
            }
            CREATE => {
                let (flags, mode, _, _) = (input.u32(), input.u32(), input.u32(), input.u32());
                let path = self.state().child(node, input.name())?;
                let file = open(&path, flags | O_CREAT, mode & 0o7777)?;
                let mut answer = self.entry(&path)?;
                answer.extend(self.state().keep(file));
                Ok(answer)
            }
            READ => {
                let (handle, offset, size) = (input.u64(), input.u64(), input.u32());
                let file = self.state().file(handle)?;
                let mut bytes = vec![0; size.min(MOST) as usize];
                let length = file.read_at(&mut bytes, offset)?;
                bytes.truncate(length);
                Ok(bytes)
            }
            WRITE => {
                let (handle, offset, size) = (input.u64(), input.u64(), input.u32());
                input.skip(20);
                let file = self.state().file(handle)?;
                file.write_all_at(input.rest(), offset)?;
                Ok(Writer::default().u32(size).u32(0).done())
            }
            STATFS => {
                let found = rustix::fs::statvfs(self.state().path(ROOT)?)?;
                let numbers = [found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree];
                let writer = numbers.iter().fold(Writer::default(), |writer, number| writer.u64(*number));
                Ok(writer.u32(4096).u32(255).u32(4096).u32(0).zeros(24).done())
            }
            RELEASE => {
                self.state().files.remove(&input.u64());
                Ok(done())
            }
            FSYNC => {
                self.state().file(input.u64())?.sync_data()?;
                Ok(done())
            }
            FLUSH | FSYNCDIR | DESTROY => Ok(done()),
            OPENDIR => self.open_folder(node),
            READDIR => self.read_folder(&mut input),
            RELEASEDIR => {
                self.state().folders.remove(&input.u64());
                Ok(done())
            }
            _ => Err(Errno::NOSYS.into()),
        }
    }

    fn entry(&self, path: &Path) -> io::Result<Vec<u8>> {
        let found = path.symlink_metadata()?;
        let node = self.state().node(path);
        let writer = Writer::default().u64(node).u64(0).u64(0).u64(0).u32(0).u32(0);
        Ok(attributes(writer, node, &found).done())
    }

    fn attributes(&self, node: u64) -> io::Result<Vec<u8>> {
        let found = self.state().path(node)?.symlink_metadata()?;
        Ok(attributes(Writer::default().u64(0).u32(0).u32(0), node, &found).done())
    }

    fn set_attributes(&self, node: u64, input: &mut Reader<'_>) -> io::Result<Vec<u8>> {
        let (valid, _, handle, size) = (input.u32(), input.u32(), input.u64(), input.u64());
        input.skip(8);
        let (accessed, modified, _) = (input.u64(), input.u64(), input.u64());
        let (accessed_ns, modified_ns, _) = (input.u32(), input.u32(), input.u32());
        let (mode, _, user, group) = (input.u32(), input.u32(), input.u32(), input.u32());
        let path = self.state().path(node)?;
        if valid & SET_MODE != 0 {
            fs::set_permissions(&path, Permissions::from_mode(mode & 0o7777))?;
        }
        let (user, group) =
            ((valid & SET_USER != 0).then_some(user), (valid & SET_GROUP != 0).then_some(group));
        if user.is_some() || group.is_some() {
            lchown(&path, user, group)?;
        }
        if valid & SET_SIZE != 0 {
            let file = if valid & BY_HANDLE != 0 { self.state().file(handle).ok() } else { None };
            match file {
                Some(file) => file.set_len(size)?,
                None => File::options().write(true).open(&path)?.set_len(size)?,
            }
        }
        if valid & (SET_ACCESSED | SET_MODIFIED) != 0 {
            let time = |set: u32, now: u32, seconds: u64, nanoseconds: u32| Timespec {
                tv_sec: seconds.cast_signed(),
                tv_nsec: match valid {
                    valid if valid & now != 0 => rustix::fs::UTIME_NOW,
                    valid if valid & set != 0 => nanoseconds.into(),
                    _ => UTIME_OMIT,
                },
            };
            let times = Timestamps {
                last_access: time(SET_ACCESSED, SET_ACCESSED << 3, accessed, accessed_ns),
                last_modification: time(SET_MODIFIED, SET_MODIFIED << 3, modified, modified_ns),
            };
            utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        self.attributes(node)
    }

    fn open_folder(&self, node: u64) -> io::Result<Vec<u8>> {
        let path = self.state().path(node)?;
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let found = entry.metadata()?;
            names.push((entry.file_name().into_vec(), found.ino(), found.mode() >> 12));
        }
        let mut state = self.state();
        state.last += 1;
        let handle = state.last;
        state.folders.insert(handle, names);
        Ok(Writer::default().u64(handle).u32(0).u32(0).done())
    }

    fn read_folder(&self, input: &mut Reader<'_>) -> io::Result<Vec<u8>> {
        let (handle, offset, size) = (input.u64(), input.u64(), input.u32() as usize);
        let state = self.state();
        let names = state.folders.get(&handle).ok_or(Errno::BADF)?;
        let mut writer = Writer::default();
        for (at, (name, inode, kind)) in names.iter().enumerate().skip(offset as usize) {
            if writer.len() + 24 + name.len().next_multiple_of(8) > size {
                break;
            }
            writer = writer.u64(*inode).u64(at as u64 + 1).u32(name.len() as u32).u32(*kind).padded(name);
        }
        Ok(writer.done())
    }
}

impl State {
    fn path(&self, node: u64) -> io::Result<PathBuf> {
        Ok(self.paths.get(&node).ok_or(Errno::NOENT)?.clone())
    }

    fn child(&self, node: u64, name: &[u8]) -> io::Result<PathBuf> {
        Ok(self.path(node)?.join(std::ffi::OsStr::from_bytes(name)))
    }

    fn node(&mut self, path: &Path) -> u64 {
        if let Some(node) = self.nodes.get(path) {
            return *node;
        }
        self.last += 1;
        self.nodes.insert(path.to_owned(), self.last);
        self.paths.insert(self.last, path.to_owned());
        self.last
    }

    fn moved(&mut self, from: &Path, to: &Path) {
        self.nodes.remove(to);
        let moved: Vec<_> = self
            .nodes
            .iter()
            .filter(|(path, _)| path.starts_with(from))
            .map(|(path, node)| (path.clone(), *node))
            .collect();
        for (path, node) in moved {
            self.nodes.remove(&path);
            let rest = path.strip_prefix(from).unwrap_or(Path::new(""));
            let now = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
            self.nodes.insert(now.clone(), node);
            self.paths.insert(node, now);
        }
    }

    fn keep(&mut self, file: File) -> Vec<u8> {
        self.last += 1;
        self.files.insert(self.last, Arc::new(file));
        Writer::default().u64(self.last).u32(0).u32(0).done()
    }

    fn file(&self, handle: u64) -> io::Result<Arc<File>> {
        Ok(Arc::clone(self.files.get(&handle).ok_or(Errno::BADF)?))
    }
}

/// Opens as the caller did. Where to write is said with every write, so nothing is appended here.
fn open(path: &Path, flags: u32, mode: u32) -> io::Result<File> {
    let access = flags & 0b11;
    let mut options = OpenOptions::new();
    options.read(access != 1).write(access != 0).mode(mode);
    if flags & O_CREAT != 0 {
        options.write(true);
        if flags & O_EXCL != 0 {
            options.create_new(true)
        } else {
            options.create(true)
        };
    }
    options.custom_flags(((flags & O_TRUNC) | O_NOFOLLOW).cast_signed()).open(path)
}

fn init(input: &mut Reader<'_>) -> Vec<u8> {
    let (_major, _minor, read_ahead, _flags) = (input.u32(), input.u32(), input.u32(), input.u32());
    let writer = Writer::default().u32(7).u32(31).u32(read_ahead).u32(0);
    // Requests in the background and when there are many, longest write, and how exact times are.
    writer.u16(16).u16(12).u32(MOST).u32(1).u16(0).u16(0).zeros(32).done()
}

fn attributes(writer: Writer, node: u64, found: &Metadata) -> Writer {
    // A socket or a pipe is as long as it says, also where the disk below says otherwise.
    let size = if found.file_type().is_socket() { 0 } else { found.size() };
    let seconds = [found.atime(), found.mtime(), found.ctime()];
    let parts = [found.atime_nsec(), found.mtime_nsec(), found.ctime_nsec()];
    let writer = writer.u64(node).u64(size).u64(found.blocks());
    let writer = seconds.iter().fold(writer, |writer, time| writer.u64(time.cast_unsigned()));
    let writer = parts.iter().fold(writer, |writer, time| writer.u32(*time as u32));
    writer
        .u32(found.mode())
        .u32(found.nlink() as u32)
        .u32(found.uid())
        .u32(found.gid())
        .u32(0)
        .u32(4096)
        .u32(0)
}

/// Bytes of the longest read or write.
const MOST: u32 = 128 * 1024;

/// Threads that serve, so that a slow write keeps nobody else from reading.
const SERVERS: usize = 4;

/// How long a write or sync of a slow disk takes.
const SLOW: Duration = Duration::from_secs(1);

const ROOT: u64 = 1;

const ENOENT: i32 = 2;
const EINTR: i32 = 4;
const EIO: i32 = 5;
const EAGAIN: i32 = 11;

const O_CREAT: u32 = 0o100;
const O_EXCL: u32 = 0o200;
const O_NOCTTY: u32 = 0o400;
const O_TRUNC: u32 = 0o1000;
const O_NOFOLLOW: u32 = 0o400_000;

const SET_MODE: u32 = 1;
const SET_USER: u32 = 1 << 1;
const SET_GROUP: u32 = 1 << 2;
const SET_SIZE: u32 = 1 << 3;
const SET_ACCESSED: u32 = 1 << 4;
const SET_MODIFIED: u32 = 1 << 5;
const BY_HANDLE: u32 = 1 << 6;

const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const SETATTR: u32 = 4;
const READLINK: u32 = 5;
const SYMLINK: u32 = 6;
const MKNOD: u32 = 8;
const MKDIR: u32 = 9;
const UNLINK: u32 = 10;
const RMDIR: u32 = 11;
const RENAME: u32 = 12;
const LINK: u32 = 13;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const STATFS: u32 = 17;
const RELEASE: u32 = 18;
const FSYNC: u32 = 20;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const OPENDIR: u32 = 27;
const READDIR: u32 = 28;
const RELEASEDIR: u32 = 29;
const FSYNCDIR: u32 = 30;
const CREATE: u32 = 35;
const INTERRUPT: u32 = 36;
const DESTROY: u32 = 38;
const BATCH_FORGET: u32 = 42;
const RENAME2: u32 = 45;

/// What changes the disk.
const CHANGES: [u32; 13] =
    [SETATTR, SYMLINK, MKNOD, MKDIR, UNLINK, RMDIR, RENAME, RENAME2, LINK, WRITE, FSYNC, CREATE, FSYNCDIR];
