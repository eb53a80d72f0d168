//! Binding a Unix socket so that nobody else can stand in for it (docs/protocol/approval-socket.md,
//! "Binding"): the whole path is walked, a lifecycle lock is held, the file is 0600, and on stop it is
//! removed only if it is still ours.

use super::lock::Lock;
use crate::{descriptors, shortage};
use countersign_protocol::history::SocketLoss;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::{DupFlags, Errno};
use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};

/// A bound socket and its lock. Dropping it removes the socket file if it is still the one that was bound.
#[derive(Debug)]
pub struct Listener {
    // Dropped in this order: the file goes while the lock is still held.
    file: SocketFile,
    accepting: UnixListener,
    lock: Lock,
    reserve: Reserve,
}

/// Why a socket was not bound.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// The path is not absolute, has `..`, or is too long.
    #[error("socket path {path} is not usable: {problem}")]
    BadPath {
        /// The path.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A folder on the way could be changed by somebody else.
    #[error("socket parent path invalid ({problem}) at {path}")]
    UnsafeParent {
        /// Where.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// Something that is no socket is in the way.
    #[error("socket path invalid ({kind}) at {path}")]
    Occupied {
        /// Where.
        path: PathBuf,
        /// `directory`, `file`, `symlink`, …
        kind: String,
    },
    /// The lock file is not ours alone.
    #[error("socket lifecycle lock is unsafe at {0}")]
    UnsafeLock(PathBuf),
    /// Another instance holds the lock.
    #[error("socket lifecycle lock is already held at {0}")]
    Held(PathBuf),
    /// A listener without the lock answers: none of ours.
    #[error("another program ({who}) listens at {path}")]
    Foreign {
        /// Where.
        path: PathBuf,
        /// Its process, as far as the kernel tells.
        who: String,
    },
    /// The system refused.
    #[error("{doing} {path}: {source}")]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl Listener {
    /// Binds `path`. Needs a tokio runtime. Blocking file access, a few calls.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        let path = canonical_path(path)?;
        let lock = Lock::take(&path)?;
        let (accepting, file) = listen(&path)?;
        Ok(Self { file, accepting, lock, reserve: Reserve::default() })
    }

    /// The next connection. An error of the system is waited out, so that it neither spins nor ends whoever
    /// accepts. When no descriptor is left beside those that are kept from callers, they are told `busy` and
    /// closed, at the very end by descriptors of its own. Cancellation safe.
    pub async fn accept(&self, busy: &[u8]) -> UnixStream {
        loop {
            self.reserve.fill();
            let error = match self.accepting.accept().await {
                Ok((stream, _)) if shortage::has_room_for(stream.as_fd()) => return stream,
                Ok((stream, _)) => {
                    refuse(&stream, busy);
                    continue;
                }
                Err(error) => error,
            };
            shortage::notice(&error);
            if !descriptors::are_used_up(&error) {
                tracing::warn!(%error, path = %self.path().display(), "a socket does not accept");
                tokio::time::sleep(ACCEPT_PAUSE).await;
                continue;
            }
            // The kernel says so without a look at whether anybody called, and what is kept is not put at
            // risk for nobody.
            if !somebody_calls(&self.accepting) {
                tokio::time::sleep(LOOK_PAUSE).await;
                continue;
            }
            tracing::warn!(%error, path = %self.path().display(), "no descriptor is left; a caller is told that");
            if self.turn_away(busy).is_none() {
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }

    /// Takes a caller with a descriptor of the reserve and tells it that there is no room. `None` when
    /// it was not taken.
    fn turn_away(&self, busy: &[u8]) -> Option<()> {
        self.reserve.give_one()?;
        let taken = self.accepting.poll_accept(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Ok((caller, _))) = taken else { return None };
        refuse(&caller, busy);
        self.reserve.take_over(caller.into_std().ok()?.into());
        Some(())
    }

    /// What is not as it was bound.
    pub fn lost(&self) -> Option<SocketLoss> {
        if !self.lock.is_found() {
            return Some(SocketLoss::Lock);
        }
        match rustix::fs::lstat(self.path()) {
            Ok(stat) if identity(&stat) == self.file.identity => None,
            Ok(_) => Some(SocketLoss::Replaced),
            Err(Errno::NOENT | Errno::NOTDIR) => Some(SocketLoss::Removed),
            // An error of the system is no removal.
            Err(_) => None,
        }
    }

    /// Binds again what was removed; what was accepted before goes on. Whatever else is at the path is named
    /// and stays. Blocking file access, a few calls.
    pub fn restore(&mut self) -> Result<(), BindError> {
        let path = self.path().to_owned();
        if canonical_path(&path)? != path {
            return Err(unsafe_parent(&path, "it leads elsewhere now"));
        }
        if !self.lock.is_found() {
            self.lock = Lock::take(&path)?;
        }
        if self.lost().is_some() {
            let (accepting, mut file) = listen(&path)?;
            if !leads_here(&path) {
                // What is there now is not ours to remove.
                file.identity = NOTHING;
                return Err(BindError::Occupied { path, kind: "replaced while binding".into() });
            }
            self.accepting = accepting;
            // The one before finds another file at its path, and leaves it.
            self.file = file;
        }
        Ok(())
    }

    /// Stops accepting and removes the file, but keeps the lock for as long as connections are being ended.
    pub fn retire(self) -> Lock {
        self.lock
    }

    /// Where it is bound, links followed.
    pub fn path(&self) -> &Path {
        &self.file.path
    }
}

/// Whether anybody waits to be taken. An error of the system is no proof that nobody does.
fn somebody_calls(accepting: &UnixListener) -> bool {
    let mut looked = [PollFd::new(accepting, PollFlags::IN)];
    rustix::event::poll(&mut looked, Some(&Timespec::default())) != Ok(0)
}

/// Tells a caller that there is no room, without reading what it wants.
pub fn refuse(stream: &UnixStream, busy: &[u8]) {
    // Past tokio, which knows nothing of a stream this young. Nothing was written to it before, so the line
    // fits; a caller that has left needs none.
    let _ = rustix::net::send(stream, busy, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}

/// Descriptors that are open for nothing but to be closed when there are no others.
#[derive(Debug, Default)]
struct Reserve(Mutex<Vec<OwnedFd>>);

impl Reserve {
    fn kept(&self) -> MutexGuard<'_, Vec<OwnedFd>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes again what was given.
    fn fill(&self) {
        let mut kept = self.kept();
        while kept.len() < RESERVED {
            let Ok(descriptor) = rustix::fs::open("/dev/null", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            else {
                return;
            };
            kept.push(descriptor);
        }
    }

    /// Closes one, so that something else can be opened. The last stays: others are made from it.
    fn give_one(&self) -> Option<()> {
        let mut kept = self.kept();
        let given = if kept.len() > 1 { kept.pop() } else { None };
        given.map(drop)
    }

    /// Puts one in the very place of what was opened instead, which that closes: at no moment can
    /// another thread have it.
    fn take_over(&self, mut opened: OwnedFd) {
        let mut kept = self.kept();
        if let Some(one) = kept.first()
            && rustix::io::dup3(one, &mut opened, DupFlags::CLOEXEC).is_ok()
        {
            kept.push(opened);
        }
    }
}

fn listen(path: &Path) -> Result<(UnixListener, SocketFile), BindError> {
    clear_stale(path)?;
    let (socket, file) = bind_private(path)?;
    let accepting = UnixListener::from_std(socket.into()).map_err(|source| BindError::Io {
        doing: "listen on",
        path: path.to_owned(),
        source,
    })?;
    Ok((accepting, file))
}

/// Whether a caller gets to this process. Whoever moves another file to the path just after it was bound,
/// where nobody can look in between, would else be taken for what was bound.
fn leads_here(path: &Path) -> bool {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let probe = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None);
    let (Ok(probe), Ok(address)) = (probe, SocketAddrUnix::new(path)) else { return false };
    rustix::net::connect(&probe, &address).is_ok()
        && rustix::net::sockopt::socket_peercred(&probe)
            .is_ok_and(|peer| peer.pid == rustix::process::getpid())
}

/// The socket's name in the file system, while it is still the one that was bound.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let still_ours = rustix::fs::lstat(&self.path).is_ok_and(|stat| identity(&stat) == self.identity);
        if still_ours && let Err(errno) = rustix::fs::unlink(&self.path) {
            tracing::warn!(path = %self.path.display(), %errno, "socket file was not removed");
        }
    }
}

/// Creates the socket file, and listens, with 0600 from its first moment: Linux gives a socket's file the
/// mode of the unbound socket, so that the process-wide umask, which other threads use, stays as it is.
fn bind_private(path: &Path) -> Result<(OwnedFd, SocketFile), BindError> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(io("create socket for", path))?;
    rustix::fs::fchmod(&socket, PRIVATE).map_err(io("chmod socket for", path))?;
    let address = SocketAddrUnix::new(path).map_err(io("address", path))?;
    rustix::net::bind(&socket, &address).map_err(io("bind", path))?;
    // At once: whoever finds the name before is refused.
    rustix::net::listen(&socket, BACKLOG).map_err(io("listen on", path))?;
    let stat = rustix::fs::lstat(path).map_err(io("lstat", path))?;
    let file = SocketFile { path: path.to_owned(), identity: identity(&stat) };
    if stat.st_mode & PERMISSIONS != PRIVATE.bits() {
        rustix::fs::chmod(path, PRIVATE).map_err(io("chmod", path))?;
        let stat = rustix::fs::lstat(path).map_err(io("lstat", path))?;
        if identity(&stat) != file.identity || stat.st_mode & PERMISSIONS != PRIVATE.bits() {
            return Err(BindError::Occupied { path: path.to_owned(), kind: "replaced while binding".into() });
        }
    }
    Ok((socket, file))
}

/// Removes a socket that nobody listens on; refuses anything else that is in the way.
fn clear_stale(path: &Path) -> Result<(), BindError> {
    let stat = match rustix::fs::lstat(path) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(io("lstat", path)(errno)),
    };
    if kind(&stat) != FileType::Socket {
        return Err(BindError::Occupied { path: path.to_owned(), kind: kind_name(&stat).into() });
    }
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let probe = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .map_err(io("create socket for", path))?;
    let address = SocketAddrUnix::new(path).map_err(io("address", path))?;
    match rustix::net::connect(&probe, &address) {
        // A full backlog and a socket of another type are signs of life as well.
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS | Errno::PROTOTYPE) => {
            let who = rustix::net::sockopt::socket_peercred(&probe).map_or_else(
                |_| "its process is not known".to_owned(),
                |peer| format!("process {}", peer.pid.as_raw_nonzero()),
            );
            Err(BindError::Foreign { path: path.to_owned(), who })
        }
        Err(Errno::CONNREFUSED) => rustix::fs::unlink(path).map_err(io("unlink", path)),
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(io("connect to", path)(errno)),
    }
}

/// Walks `path` and returns it with every link followed, missing folders created.
fn canonical_path(path: &Path) -> Result<PathBuf, BindError> {
    let bad = |problem: &str| BindError::BadPath { path: path.to_owned(), problem: problem.into() };
    if !path.is_absolute() {
        return Err(bad("not absolute"));
    }
    if path.components().any(|component| component == Component::ParentDir) {
        return Err(bad("has `..`"));
    }
    if path.as_os_str().as_bytes().ends_with(b"/") {
        return Err(bad("names a folder"));
    }
    if path.as_os_str().len() >= PATH_BYTES {
        return Err(bad("too long for a socket address"));
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(bad("names no file"));
    };
    let canonical = walk(parent)?.join(name);
    if canonical.as_os_str().len() >= PATH_BYTES {
        return Err(bad("too long for a socket address once links are followed"));
    }
    Ok(canonical)
}

/// Follows `parent` component by component, so that nobody but root and this user can turn it
/// into something else.
fn walk(parent: &Path) -> Result<PathBuf, BindError> {
    let mut real = PathBuf::from("/");
    check_ancestor(&real, &stat_of(&real)?)?;
    let mut ahead: VecDeque<OsString> = names(parent);
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let here = real.join(&name);
        let stat = match rustix::fs::lstat(&here) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => create_folder(&here)?,
            Err(errno) => return Err(io("lstat", &here)(errno)),
        };
        match kind(&stat) {
            FileType::Symlink => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(unsafe_parent(&here, "too many links"));
                }
                check_owner(&here, &stat)?;
                let target = rustix::fs::readlink(&here, Vec::new()).map_err(io("readlink", &here))?;
                let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                for name in names(&target).into_iter().rev() {
                    ahead.push_front(name);
                }
            }
            FileType::Directory => {
                check_ancestor(&here, &stat)?;
                real = here;
            }
            _ => return Err(unsafe_parent(&here, kind_name(&stat))),
        }
    }
    let stat = stat_of(&real)?;
    if stat.st_uid != euid() {
        return Err(unsafe_parent(&real, "not owned by this user"));
    }
    if stat.st_mode & OTHERS_WRITE != 0 {
        return Err(unsafe_parent(&real, "writable by others"));
    }
    Ok(real)
}

fn names(path: &Path) -> VecDeque<OsString> {
    let name = |component| match component {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    };
    path.components().filter_map(name).map(OsStr::to_owned).collect()
}

fn create_folder(path: &Path) -> Result<Stat, BindError> {
    match rustix::fs::mkdir(path, Mode::RWXU) {
        // Whoever was faster is checked like any folder that was there before.
        Ok(()) | Err(Errno::EXIST) => stat_of(path),
        Err(errno) => Err(io("create folder", path)(errno)),
    }
}

fn check_ancestor(path: &Path, stat: &Stat) -> Result<(), BindError> {
    check_owner(path, stat)?;
    if stat.st_mode & OTHERS_WRITE != 0 && stat.st_mode & STICKY == 0 {
        return Err(unsafe_parent(path, "writable by others"));
    }
    Ok(())
}

fn check_owner(path: &Path, stat: &Stat) -> Result<(), BindError> {
    if stat.st_uid == 0 || stat.st_uid == euid() {
        return Ok(());
    }
    Err(unsafe_parent(path, "owned by another user"))
}

fn stat_of(path: &Path) -> Result<Stat, BindError> {
    rustix::fs::lstat(path).map_err(io("lstat", path))
}

fn unsafe_parent(path: &Path, problem: &str) -> BindError {
    BindError::UnsafeParent { path: path.to_owned(), problem: problem.into() }
}

pub(super) fn io(doing: &'static str, path: &Path) -> impl FnOnce(Errno) -> BindError {
    move |errno| BindError::Io { doing, path: path.to_owned(), source: errno.into() }
}

pub(super) fn euid() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub(super) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn kind_name(stat: &Stat) -> &'static str {
    match kind(stat) {
        FileType::RegularFile => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "symlink",
        FileType::Socket => "socket",
        FileType::Fifo => "fifo",
        _ => "device",
    }
}

pub(super) fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// No file's identity.
const NOTHING: (u64, u64) = (0, 0);

/// Bytes of a socket address on Linux, the final NUL included.
const PATH_BYTES: usize = 108;

/// Links followed on the way at most, as the kernel does.
const MAX_LINKS: u32 = 40;

/// Connections the kernel holds for us until we accept them. The peers use 16; a full backlog makes `connect`
/// fail at once for clients that do not block, so there is room for a thousand agents that start together.
const BACKLOG: i32 = 1_024;

/// Descriptors kept for callers that come when no other is left: several, for another thread may take one
/// that was just given.
const RESERVED: usize = 4;

/// Pause between two looks for callers while no descriptor is left: none of them notices it.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// Pause after a failed accept: lets the cause pass instead of spinning.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
const PERMISSIONS: u32 = 0o7777;
pub(super) const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;
