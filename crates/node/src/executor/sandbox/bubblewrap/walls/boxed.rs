//! The walls of a box: the machine without what is hidden, and the places that its plan names.

use super::super::super::Network;
use super::super::super::layout::{Access, Layout, Piece, What};
use super::super::super::workspace::{Mount, Plan, Wall, Workspace};
use super::{ALONE, SCRATCH_BYTES, Walls, devices, written};
use std::io;

impl Walls {
    /// Everything but the run's own programs. On a stage the user is root of a name space around it, in which
    /// its file system is laid out.
    pub(in super::super) fn boxed(workspace: &Workspace, plan: &Plan, is_staged: bool) -> io::Result<Self> {
        let mut walls = Self::none();
        let left_out = |word: &&str| match *word {
            "--unshare-ipc" => !workspace.stands(Wall::Ipc),
            "--unshare-pid" => !workspace.stands(Wall::Processes),
            _ => false,
        };
        let alone: Vec<&str> = ALONE.iter().copied().filter(|word| !left_out(word)).collect();
        walls.words(&alone);
        if is_staged {
            let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
            walls.words(&["--uid", &user.as_raw().to_string(), "--gid", &group.as_raw().to_string()]);
        }
        if workspace.stands(Wall::Network) {
            walls.words(&["--unshare-net"]);
        }
        if workspace.stands(Wall::Filter) {
            walls.filter(Network::None)?;
        }
        let access = if workspace.stands(Wall::ReadOnly) { Access::Read } else { Access::Write };
        if let Some(root) = plan.passes.as_ref().filter(|_| is_staged).map(|passes| passes.join(ROOT)) {
            std::fs::create_dir(&root)?;
            walls.list.extend(["--dev-bind".into(), root.clone().into(), "/".into()]);
            walls.open.clear();
            walls.laid = Some(Layout { root: root.into(), layers: plan.layers.clone(), pieces: Vec::new() });
        }
        walls.own(workspace);
        for mount in &plan.mounts {
            match walls.laid.is_some() {
                true => walls.lay(mount, access)?,
                false => walls.mount(mount, access)?,
            }
        }
        if access == Access::Write {
            walls.open.clear();
        }
        Ok(walls)
    }

    /// Processes and devices of the box's own.
    fn own(&mut self, workspace: &Workspace) {
        if workspace.stands(Wall::Processes) {
            // To the kernel, root in a box owns what root outside owns: nothing of it is to be written.
            self.words(&["--proc", "/proc", "--remount-ro", "/proc"]);
        } else {
            self.words(&["--ro-bind", "/proc", "/proc"]);
        }
        if !workspace.stands(Wall::Devices) {
            self.words(&["--dev-bind", "/dev", "/dev"]);
        } else if let Some(laid) = &mut self.laid {
            laid.pieces.extend(devices());
        } else {
            self.words(&["--dev", "/dev"]);
            self.scratch("/dev/shm", "1777");
            self.words(&["--remount-ro", "/dev"]);
        }
    }

    /// Has something be laid out before bubblewrap starts.
    fn lay(&mut self, mount: &Mount, access: Access) -> io::Result<()> {
        let memory = |mode, bytes, access| What::Memory { mode, bytes, access };
        let (at, what) = match mount {
            Mount::Opened { file, at, writable } => {
                let access = if *writable { Access::Write } else { Access::Read };
                return self.opened(at, file.try_clone()?, access);
            }
            Mount::Machine(at) => (at, What::Machine(access)),
            Mount::Frame(at) => (at, memory(0o755, FRAME_BYTES, access)),
            Mount::Scratch(at) => (at, memory(0o1777, SCRATCH_BYTES, Access::Write)),
            Mount::Copy { content, at, mode } => (at, What::Copy { content: content.clone(), mode: *mode }),
            Mount::Link { target, at } => (at, What::Link(target.into())),
            Mount::Empty(at) => (at, memory(0o555, EMPTY_BYTES, Access::Read)),
            Mount::Nothing(at) => (at, What::Nothing),
            Mount::Ours { from, at } => (at, What::Ours(from.into())),
        };
        if let Some(laid) = &mut self.laid {
            laid.pieces.push(Piece { at: at.into(), what });
        }
        Ok(())
    }

    fn mount(&mut self, mount: &Mount, access: Access) -> io::Result<()> {
        match mount {
            Mount::Machine(path) => {
                let how = if access == Access::Write { "--bind-try" } else { "--ro-bind-try" };
                self.list.extend([how.into(), path.into(), path.into()]);
            }
            Mount::Frame(path) => {
                self.words(&["--perms", "0755", "--size", &FRAME_BYTES.to_string(), "--tmpfs"]);
                self.list.push(path.into());
                self.open.push(path.to_owned());
            }
            Mount::Scratch(path) => {
                self.words(&["--perms", "1777", "--size", &SCRATCH_BYTES.to_string(), "--tmpfs"]);
                self.list.push(path.into());
            }
            Mount::Copy { content, at, mode } => {
                let file = self.hand(written("copy", content)?);
                self.words(&["--perms", &format!("{mode:04o}"), "--file", &file]);
                self.list.push(at.into());
            }
            Mount::Link { target, at } => self.list.extend(["--symlink".into(), target.into(), at.into()]),
            Mount::Empty(path) => {
                self.words(&["--perms", "0555", "--size", &EMPTY_BYTES.to_string(), "--tmpfs"]);
                self.list.push(path.into());
            }
            Mount::Nothing(path) => {
                let file = self.hand(written("nothing", b"")?);
                self.words(&["--perms", "0000", "--ro-bind-data", &file]);
                self.list.push(path.into());
            }
            Mount::Opened { file, at, writable } => {
                let access = if *writable { Access::Write } else { Access::Read };
                self.opened(at, file.try_clone()?, access)?;
            }
            Mount::Ours { from, at } => self.list.extend(["--bind".into(), from.into(), at.into()]),
        }
        Ok(())
    }
}

/// Name of the folder that a box is laid out on.
const ROOT: &str = "root";

/// Most that is kept in a folder that is made anew, in bytes: copies of small files.
const FRAME_BYTES: u64 = 67_108_864;

/// The least that a file system in memory can be.
const EMPTY_BYTES: u64 = 4_096;
