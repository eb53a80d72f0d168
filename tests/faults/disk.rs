//! The disk under a home: the machine's own, a small one that can be full, or one by FUSE that
//! fails as it is told.

use crate::fuse::{self, Mood, Server};
use crate::place::Place;
use crate::table::{Make, Trouble};
use anyhow::{Context, Result, bail};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

/// A disk. Dropping it takes it away.
pub(crate) struct Disk {
    folder: PathBuf,
    kind: Kind,
}

enum Kind {
    Own,
    Small,
    Fuse(Server),
}

impl Disk {
    /// What a fault needs.
    pub(crate) fn of(fault: Make, place: &Place) -> Result<Self> {
        let folder = place.disk();
        let kind = match fault {
            Make::Disk(Trouble::Full) => {
                let options = c"size=48m,mode=0700";
                mount("faults", &folder, "tmpfs", MountFlags::NOSUID, options)
                    .context("tmpfs cannot be mounted here")?;
                Kind::Small
            }
            Make::Disk(_) => Kind::Fuse(fuse::mount_at(&folder, &place.backing().join("disk"))?),
            _ => Kind::Own,
        };
        Ok(Self { folder, kind })
    }

    /// Has it fail.
    pub(crate) fn trouble(&self, trouble: Trouble) -> Result<()> {
        match (&self.kind, trouble) {
            (Kind::Small, Trouble::Full) => {
                let mut filler = File::create(self.folder.join(FILLER))?;
                while filler.write(&[0; 4096]).is_ok_and(|written| written > 0) {}
            }
            (Kind::Fuse(server), Trouble::ReadOnly) => server.set(Mood::ReadOnly),
            (Kind::Fuse(server), Trouble::Broken) => server.set(Mood::Broken),
            (Kind::Fuse(server), Trouble::Slow) => server.set(Mood::Slow),
            _ => bail!("this disk cannot fail so"),
        }
        Ok(())
    }

    /// Has it work again.
    pub(crate) fn mend(&self) -> Result<()> {
        match &self.kind {
            Kind::Small => fs::remove_file(self.folder.join(FILLER))?,
            Kind::Fuse(server) => server.set(Mood::Well),
            Kind::Own => {}
        }
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if !matches!(self.kind, Kind::Own) {
            // Forced, so that nobody waits for what is not served any more.
            unmount(&self.folder, UnmountFlags::DETACH | UnmountFlags::FORCE).ok();
        }
    }
}

const FILLER: &str = "filler";
