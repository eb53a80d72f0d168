//! Bubblewrap's arguments, and the open files that they name. What a profile shows of this machine is written
//! with them: see `sealed` and `boxed`.

mod boxed;
mod devices;
mod sealed;

use super::super::layout::{Access, Layout, Piece, What};
use super::super::{Network, seccomp};
pub(super) use devices::devices;
use rustix::fs::{MemfdFlags, SeekFrom};
pub(super) use sealed::is_shown;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd as _, OwnedFd, RawFd};
use std::path::{Component, Path, PathBuf};

/// Arguments, and the open files that they name by number.
#[derive(Debug)]
pub(super) struct Walls {
    list: Vec<OsString>,
    handed: Vec<OwnedFd>,
    /// Folders that things are put into until the walls are closed.
    open: Vec<PathBuf>,
    /// What is laid out before, when that is how the box is made.
    laid: Option<Layout>,
}

/// How a program gets the name by which it was called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Named {
    /// Exactly as typed; bubblewrap has an option for it.
    AsTyped,
    /// As the end of the path by which it is started.
    ByPath,
}

impl Walls {
    fn none() -> Self {
        Self { list: Vec::new(), handed: Vec::new(), open: vec!["/".into()], laid: None }
    }

    /// The run's own folder at its path, from where it was opened.
    pub(super) fn folder(&mut self, path: &Path, folder: OwnedFd) -> io::Result<()> {
        self.opened(path, folder, Access::Write)
    }

    /// A file at its path, from where it was opened, not to be written.
    pub(super) fn file(&mut self, path: &Path, file: OwnedFd) -> io::Result<()> {
        self.opened(path, file, Access::Read)
    }

    /// The path that starts `program`, which is `file`, so that it knows itself by the name `typed`.
    pub(super) fn program(
        &mut self,
        program: &Path,
        typed: &str,
        named: Named,
        file: &OwnedFd,
    ) -> io::Result<PathBuf> {
        if named == Named::AsTyped {
            self.words(&["--argv0", typed]);
            return Ok(program.to_owned());
        }
        let name = Path::new(typed).file_name().unwrap_or_default();
        // A script hears only its path, whatever it was called by.
        if program.file_name() == Some(name) || name.is_empty() || is_script(program) {
            return Ok(program.to_owned());
        }
        // Programs that are many, such as busybox, and shells look at what they are called.
        let path = Path::new(CALLED).join(name);
        self.file(&path, file.try_clone()?)?;
        Ok(path)
    }

    /// Nothing more is added to what it shows.
    pub(super) fn close(&mut self) {
        for folder in std::mem::take(&mut self.open) {
            self.list.extend(["--remount-ro".into(), folder.into()]);
        }
    }

    /// Where the command starts.
    pub(super) fn start_in(&mut self, folder: &Path) {
        self.list.extend(["--chdir".into(), folder.into()]);
    }

    /// Who hears of the run.
    pub(super) fn report_to(&mut self, writer: OwnedFd) {
        let writer = self.hand(writer);
        self.words(&["--json-status-fd", &writer]);
    }

    /// What it waits for before it starts the command.
    pub(super) fn wait_for(&mut self, reader: OwnedFd) {
        let reader = self.hand(reader);
        self.words(&["--block-fd", &reader]);
    }

    /// Arguments, what is handed over under the numbers from [`FIRST_HANDED`] on, and what has to be
    /// laid out before.
    pub(super) fn into_parts(self) -> (Vec<OsString>, Vec<OwnedFd>, Option<Layout>) {
        (self.list, self.handed, self.laid)
    }

    /// Refuses system calls.
    fn filter(&mut self, network: Network) -> io::Result<()> {
        let filter = seccomp::filter(network);
        if !filter.is_empty() {
            let filter = self.hand(written("seccomp", &filter)?);
            self.words(&["--seccomp", &filter]);
        }
        Ok(())
    }

    fn text(&mut self, path: &str, text: &str) -> io::Result<()> {
        let file = self.hand(written("text", text.as_bytes())?);
        self.words(&["--ro-bind-data", &file, path]);
        Ok(())
    }

    /// A folder of the sandbox's own, gone with it.
    fn scratch(&mut self, folder: &str, mode: &str) {
        self.words(&["--perms", mode, "--size", &SCRATCH_BYTES.to_string(), "--tmpfs", folder]);
    }

    fn opened(&mut self, path: &Path, file: OwnedFd, access: Access) -> io::Result<()> {
        if let Some(laid) = &mut self.laid {
            let found = rustix::fs::fstat(&file)?;
            let from = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?.into();
            let what = What::Looked { from, device: found.st_dev, inode: found.st_ino, access };
            laid.pieces.push(Piece { at: path.into(), what });
            return Ok(());
        }
        let how = match access {
            Access::Read => "--ro-bind-fd",
            Access::Write | Access::Device => "--bind-fd",
        };
        let file = self.hand(file);
        self.list.extend([how.into(), file.into(), path.into()]);
        Ok(())
    }

    fn hand(&mut self, file: OwnedFd) -> String {
        let number = FIRST_HANDED as usize + self.handed.len();
        self.handed.push(file);
        number.to_string()
    }

    fn words(&mut self, words: &[&str]) {
        self.list.extend(words.iter().map(OsString::from));
    }
}

/// Name spaces, rights and ties of every sandbox. A session of its own has no terminal to type into.
const ALONE: &[&str] = &[
    "--unshare-user",
    "--disable-userns",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-cgroup",
    "--hostname",
    "sandbox",
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
];

/// An absolute path without `.` and `..`, as far as that can be told without a look.
pub(super) fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    plain
}

/// Whether the kernel would start another program for it.
fn is_script(program: &Path) -> bool {
    let mut start = [0; 2];
    let read = File::open(program).and_then(|mut file| io::Read::read_exact(&mut file, &mut start));
    read.is_ok() && start == *b"#!"
}

/// A file in memory with this content, to be read from its beginning.
fn written(name: &str, content: &[u8]) -> io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC)?;
    let mut file = File::from(file);
    file.write_all(content)?;
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    Ok(file.into())
}

/// Where a program lies under the name by which it was called.
const CALLED: &str = "/run/countersign";

/// Most that a run may keep in each of its scratch folders, in bytes: they are in memory.
const SCRATCH_BYTES: u64 = 1_073_741_824;

/// The first descriptor that is not standard input, output or error.
pub(super) const AFTER_STANDARD: RawFd = 3;

/// The first number under which something is handed over.
pub(in super::super) const FIRST_HANDED: RawFd = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// What starts a program, and the end of the arguments for it.
    fn check(program: &str, typed: &str, named: Named, path: &str, arguments: &[&str]) {
        let mut walls = Walls::none();
        let file = written("program", b"").unwrap();
        let started = walls.program(Path::new(program), typed, named, &file).unwrap();
        assert_eq!(started, Path::new(path), "{program} {typed} {named:?}");
        assert_eq!(walls.list, arguments, "{program} {typed} {named:?}");
    }

    #[test]
    fn a_program_gets_the_name_that_was_typed() {
        let dash = "/usr/bin/dash";
        check(dash, "./sh", Named::AsTyped, dash, &["--argv0", "./sh"]);
        check(
            dash,
            "sh",
            Named::ByPath,
            "/run/countersign/sh",
            &["--ro-bind-fd", "3", "/run/countersign/sh"],
        );
        check(dash, "/bin/dash", Named::ByPath, dash, &[]);
        check(dash, "..", Named::ByPath, dash, &[]);
    }

    #[test]
    fn a_path_is_made_plain_without_a_look() {
        for (path, plain) in [("/a/./b/../c", "/a/c"), ("/../a", "/a"), ("/a/b", "/a/b"), ("/", "/")] {
            assert_eq!(plain_path(Path::new(path)), Path::new(plain), "{path}");
        }
    }
}
