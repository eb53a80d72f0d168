//! The walls of a box: the machine without what is hidden, and the places that its plan names.

use super::super::super::Network;
use super::super::super::workspace::{Mount, Plan, Wall, Workspace};
use super::{ALONE, Walls, written};
use std::io;
use std::path::Path;

impl Walls {
    /// Everything but the run's own programs. `staged` says that the user is root of a name space around it.
    pub(in super::super) fn boxed(workspace: &Workspace, plan: &Plan, staged: bool) -> io::Result<Self> {
        let mut walls = Self::none();
        let left_out = |word: &&str| match *word {
            "--unshare-ipc" => !workspace.stands(Wall::Ipc),
            "--unshare-pid" => !workspace.stands(Wall::Processes),
            _ => false,
        };
        let alone: Vec<&str> = ALONE.iter().copied().filter(|word| !left_out(word)).collect();
        walls.words(&alone);
        if staged {
            let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
            walls.words(&["--uid", &user.as_raw().to_string(), "--gid", &group.as_raw().to_string()]);
        }
        if workspace.stands(Wall::Network) {
            walls.words(&["--unshare-net"]);
        }
        if workspace.stands(Wall::Filter) {
            walls.filter(Network::None)?;
        }
        let writable = !workspace.stands(Wall::ReadOnly);
        for mount in &plan.system {
            walls.mount(mount, writable)?;
        }
        walls.own(workspace);
        for mount in &plan.places {
            walls.mount(mount, writable)?;
        }
        if writable {
            walls.open.clear();
        }
        Ok(walls)
    }

    /// Processes, devices and folders of the box's own.
    fn own(&mut self, workspace: &Workspace) {
        if workspace.stands(Wall::Processes) {
            // To the kernel, root in a box owns what root outside owns: nothing of it is to be written.
            self.words(&["--proc", "/proc", "--remount-ro", "/proc"]);
        } else {
            self.words(&["--ro-bind", "/proc", "/proc"]);
        }
        if workspace.stands(Wall::Devices) {
            self.words(&["--dev", "/dev"]);
            self.scratch("/dev/shm", "1777");
            self.words(&["--remount-ro", "/dev"]);
        } else {
            self.words(&["--dev-bind", "/dev", "/dev"]);
        }
        for folder in ["/run", "/sys"] {
            self.frame(Path::new(folder));
        }
        if workspace.stands(Wall::Scratch) {
            self.scratch("/tmp", "1777");
            self.scratch("/var/tmp", "1777");
        } else {
            for folder in ["/tmp", "/var/tmp"] {
                self.words(&["--bind", folder, folder]);
            }
        }
    }

    fn mount(&mut self, mount: &Mount, writable: bool) -> io::Result<()> {
        match mount {
            Mount::Machine(path) => {
                let how = if writable { "--bind-try" } else { "--ro-bind-try" };
                self.list.extend([how.into(), path.into(), path.into()]);
            }
            Mount::Frame(path) => self.frame(path),
            Mount::Copy { content, at } => {
                let file = self.hand(written("copy", content)?);
                self.words(&["--perms", "0444", "--file", &file]);
                self.list.push(at.into());
            }
            Mount::Link { target, at } => self.list.extend(["--symlink".into(), target.into(), at.into()]),
            Mount::Empty(path) => {
                self.words(&["--perms", "0555", "--size", EMPTY_BYTES, "--tmpfs"]);
                self.list.push(path.into());
            }
            Mount::Nothing(path) => {
                let file = self.hand(written("nothing", b"")?);
                self.words(&["--perms", "0000", "--ro-bind-data", &file]);
                self.list.push(path.into());
            }
            Mount::Opened { file, at, writable } => match writable {
                true => self.bind("--bind-fd", at, file.try_clone()?),
                false => self.bind("--ro-bind-fd", at, file.try_clone()?),
            },
            Mount::Ours { from, at } => self.list.extend(["--bind".into(), from.into(), at.into()]),
        }
        Ok(())
    }

    fn frame(&mut self, path: &Path) {
        self.words(&["--perms", "0755", "--size", FRAME_BYTES, "--tmpfs"]);
        self.list.push(path.into());
        self.open.push(path.to_owned());
    }
}

/// Most that is kept in a folder that is made anew, in bytes: copies of small files.
const FRAME_BYTES: &str = "67108864";

/// The least that a file system in memory can be.
const EMPTY_BYTES: &str = "4096";
