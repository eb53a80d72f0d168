//! What is done before bubblewrap starts, and before it starts the command.
//!
//! Bubblewrap's mounts still follow the machine's: what is mounted outside while a box runs would appear in it, and could be
//! written. And it cannot lay folders over others. So it starts in a name space whose mounts follow nobody, made by `unshare`, in
//! which the box's file system was [laid out](super::super::layout) by a program of ours.

use super::super::entrance;
use super::super::layout::{Access, Layout, Piece, What};
use super::super::workspace::{Limits, caches};
use super::status::Status;
use super::walls::{FIRST_HANDED, Walls};
use super::{answer, found as bubblewrap};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::Mutex;
use uuid::Uuid;

/// Programs that make a name space around bubblewrap's, and lay out a box in it.
#[derive(Clone, Debug)]
pub(in super::super) struct Stage {
    unshare: PathBuf,
    /// Ours, as it was when this process first looked: another release may lie in its place by now.
    own: Arc<OwnedFd>,
    /// Whether it can lay folders over others.
    pub(in super::super) layers: bool,
}

/// The stage of this machine for boxes that keep their things in `folder`, if it lets one be made. It is tried once for each folder,
/// and again where that failed.
pub(in super::super) async fn found(folder: &Path) -> Option<Stage> {
    static FOUND: Mutex<BTreeMap<PathBuf, Stage>> = Mutex::const_new(BTreeMap::new());
    let mut found = FOUND.lock().await;
    if let Some(stage) = found.get(folder) {
        return Some(stage.clone());
    }
    let unshare = UNSHARE.iter().map(Path::new).find(|place| place.is_file())?;
    let own = Arc::new(entrance::program().ok()?);
    let mut stage = Stage { unshare: unshare.to_owned(), own, layers: true };
    let trial = folder.join(format!("{TRIAL}{}", Uuid::new_v4().simple()));
    if !stage.works(&trial).await {
        stage.layers = false;
        if !stage.works(&trial).await {
            return None;
        }
    }
    found.insert(folder.to_owned(), stage.clone());
    Some(stage)
}

impl Stage {
    /// Whether a small box can be laid out in a folder of its own, which is removed again.
    async fn works(&self, trial: &Path) -> bool {
        let tried = self.tried(trial).await;
        caches::remove(trial);
        tried.unwrap_or_else(|error| {
            tracing::debug!(%error, "boxes cannot be laid out");
            false
        })
    }

    async fn tried(&self, trial: &Path) -> io::Result<bool> {
        let bubblewrap = bubblewrap().await.map_err(io::Error::other)?;
        let root = trial.join("root");
        caches::folder(&root)?;
        let layers = if self.layers { vec![caches::trial_layer(trial)?] } else { Vec::new() };
        let mut pieces = Vec::new();
        for name in SYSTEM {
            let what = match fs::read_link(name) {
                Ok(target) => What::Link(target.into()),
                Err(_) => What::Machine(Access::Read),
            };
            pieces.push(Piece { at: name.into(), what });
        }
        let layout = Layout { root: root.clone().into(), layers, pieces };
        let list = ["--unshare-all", "--bind"].map(OsString::from).into_iter().chain([root.into()]);
        let list = list.chain(["/", "--proc", "/proc", "--", "/bin/sh", "-c", ":"].map(OsString::from));
        let (program, list, handed) =
            self.line(&layout, trial, &bubblewrap.program, list.collect(), Vec::new())?;
        Ok(answer(&program, list, handed).await?.good)
    }

    /// What starts bubblewrap with these arguments and descriptors in a name space in which a box was laid out. `passes` is a folder
    /// of ours that is there until it has ended.
    pub(super) fn line(
        &self,
        layout: &Layout,
        passes: &Path,
        bubblewrap: &Path,
        list: Vec<OsString>,
        mut handed: Vec<OwnedFd>,
    ) -> io::Result<(PathBuf, Vec<OsString>, Vec<OwnedFd>)> {
        let file = passes.join("layout");
        fs::write(&file, layout.written()?)?;
        let own = FIRST_HANDED + i32::try_from(handed.len()).map_err(io::Error::other)?;
        handed.push(self.own.try_clone()?);
        let mut line: Vec<OsString> = ALONE.iter().map(OsString::from).collect();
        line.extend(entrance::laying_out(own, &file));
        line.push(bubblewrap.into());
        line.extend(list);
        Ok((self.unshare.clone(), line, handed))
    }
}

/// A command that waits for its limits, and for whatever else it must not come before.
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

/// How the folder of a trial is called.
const TRIAL: &str = "trial-";

/// What a shell needs to run.
const SYSTEM: &[&str] = &["/usr", "/bin", "/lib", "/lib64", "/nix", "/run/current-system"];
