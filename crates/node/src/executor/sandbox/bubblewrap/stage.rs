//! What is done before bubblewrap starts, and before it starts the command.
//!
//! Bubblewrap's mounts still follow the machine's: what is mounted outside while a box runs would appear in it, and could be
//! written. And it cannot lay folders over others. So it starts in a name space whose mounts follow nobody, made by `unshare`.

use super::super::workspace::Limits;
use super::status::Status;
use super::walls::Walls;
use super::{answer, found as bubblewrap};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use tokio::sync::OnceCell;

/// Programs that make a name space around bubblewrap's.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in super::super) struct Stage {
    unshare: PathBuf,
}

/// The stage of this machine, if it lets one be made.
pub(in super::super) async fn found() -> Option<&'static Stage> {
    static FOUND: OnceCell<Stage> = OnceCell::const_new();
    FOUND.get_or_try_init(find).await.ok()
}

async fn find() -> Result<Stage, ()> {
    let unshare = UNSHARE.iter().map(Path::new).find(|place| place.is_file()).ok_or(())?;
    let stage = Stage { unshare: unshare.to_owned() };
    match stage.works(None).await {
        true => Ok(stage),
        false => Err(()),
    }
}

impl Stage {
    /// Whether what a table says can be mounted.
    pub(in super::super) async fn can_mount(&self, table: &Path) -> bool {
        self.works(Some(table)).await
    }

    async fn works(&self, table: Option<&Path>) -> bool {
        let Ok(bubblewrap) = bubblewrap().await else { return false };
        let walls = Walls::sealed(super::Network::None, Path::new("/nonexistent"), &BTreeMap::new());
        let Ok(mut walls) = walls else { return false };
        walls.close();
        let (mut list, handed) = walls.into_parts();
        list.extend(["--", "/bin/sh", "-c", ":"].map(OsString::from));
        let (program, list) = self.line(table, &bubblewrap.program, list);
        answer(&program, list, handed).await.is_ok_and(|reply| reply.good)
    }

    /// What starts bubblewrap with these arguments in a name space in which everything of the table is mounted.
    pub(super) fn line(
        &self,
        table: Option<&Path>,
        bubblewrap: &Path,
        list: Vec<OsString>,
    ) -> (PathBuf, Vec<OsString>) {
        let mut line: Vec<OsString> = ALONE.iter().map(OsString::from).collect();
        if let Some(table) = table {
            line.extend(["/bin/sh", "-c", MOUNT, "sh"].map(OsString::from));
            line.push(table.into());
        }
        line.push(bubblewrap.into());
        line.extend(list);
        (self.unshare.clone(), line)
    }
}

/// A command that waits for its limits.
#[derive(Debug)]
pub(super) struct Held {
    writer: File,
}

impl Held {
    pub(super) fn new(walls: &mut Walls) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        walls.wait_for(OwnedFd::from(reader));
        Ok(Self { writer: File::from(OwnedFd::from(writer)) })
    }

    /// Sets the limits and lets the command start. After an error it must be killed before this is dropped.
    pub(super) async fn release(&mut self, status: &mut Status, limits: Option<&Limits>) -> io::Result<()> {
        // Who waits in vain hears from bubblewrap why.
        if let (Some(first), Some(limits)) = (status.first().await?, limits) {
            limits.set(first)?;
        }
        self.writer.write_all(b"\n")
    }
}

impl Limits {
    /// Whether there are any that have to be set before the command starts.
    pub(super) fn are_to_be_set(&self) -> bool {
        self.processes.is_some() || self.memory.is_some()
    }

    fn set(&self, first: Pid) -> io::Result<()> {
        for (resource, most) in [(Resource::Nproc, self.processes), (Resource::Data, self.memory)] {
            if let Some(most) = most {
                prlimit(Some(first), resource, Rlimit { current: Some(most), maximum: Some(most) })?;
            }
        }
        Ok(())
    }
}

/// Where systems keep it.
const UNSHARE: &[&str] = &["/usr/bin/unshare", "/bin/unshare", "/run/current-system/sw/bin/unshare"];

/// Of every stage. The user is root in it, which bubblewrap takes back.
const ALONE: &[&str] = &["--user", "--map-root-user", "--mount", "--propagation", "private", "--"];

/// Mounts what a table says, all at once, and goes on with what follows.
const MOUNT: &str =
    "PATH=/usr/bin:/bin:/run/current-system/sw/bin mount -a -T \"$1\" || exit; shift; exec \"$@\"";
