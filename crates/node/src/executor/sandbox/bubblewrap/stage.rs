//! What is done before bubblewrap starts, and before it starts the command.
//!
//! Bubblewrap's mounts still follow the machine's: what is mounted outside while a box runs would appear in
//! it, and could be written. And it cannot lay folders over others. So a program of ours makes a name space
//! whose mounts follow nobody, [lays out](super::super::layout) the box's file system in it, and
//! becomes bubblewrap.

use super::super::layout::{Access, Layout, Piece, What};
use super::super::workspace::{Limits, caches, passing};
use super::super::{entrance, handing};
use super::status::Status;
use super::walls::{Walls, devices};
use super::{bare, found as bubblewrap, heard};
use rustix::process::{Pid, Resource, Rlimit, prlimit};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::process::Command;
use tokio::sync::Mutex;
use uuid::Uuid;

/// A program that makes a name space around bubblewrap's, and lays out a box in it.
#[derive(Clone, Debug)]
pub(in super::super) struct Stage {
    /// As it was when this process first looked: another release may lie in its place by now.
    own: Arc<OwnedFd>,
    /// Whether it can lay folders over others.
    pub(in super::super) layers: bool,
}

/// The stage of this machine for boxes that keep their things in `folder`, if it lets one be made. It is
/// tried once for each folder, and again where that failed.
pub(in super::super) async fn found(folder: &Path) -> Option<Stage> {
    static FOUND: Mutex<BTreeMap<PathBuf, Stage>> = Mutex::const_new(BTreeMap::new());
    let mut found = FOUND.lock().await;
    if let Some(stage) = found.get(folder) {
        return Some(stage.clone());
    }
    let mut stage = Stage { own: Arc::new(entrance::program().ok()?), layers: true };
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
        passing::remove(trial);
        tried.unwrap_or_else(|error| {
            tracing::debug!(%error, "boxes cannot be laid out");
            false
        })
    }

    async fn tried(&self, trial: &Path) -> io::Result<bool> {
        let bubblewrap = bubblewrap().await.map_err(io::Error::other)?;
        let root = trial.join("root");
        passing::folder(&root)?;
        let layers = if self.layers { vec![caches::trial_layer(trial)?] } else { Vec::new() };
        let mut pieces = Vec::new();
        for name in SYSTEM {
            let what = match fs::read_link(name) {
                Ok(target) => What::Link(target.into()),
                Err(_) => What::Machine(Access::Read),
            };
            pieces.push(Piece { at: name.into(), what });
        }
        pieces.extend(devices());
        let layout = Layout { root: root.clone().into(), layers, pieces };
        let list = ["--unshare-all", "--dev-bind"].map(OsString::from).into_iter().chain([root.into()]);
        let list = list.chain(["/", "--proc", "/proc", "--", "/bin/sh", "-c", ":"].map(OsString::from));
        let list = list.collect();
        let (mut process, input) = self.process(&layout, &bubblewrap.program, list, Vec::new(), None)?;
        process.stdin(input);
        Ok(heard(process).await?.good)
    }

    /// What becomes bubblewrap with these arguments, descriptors and, if there is one, standard input, in a
    /// name space in which a box was laid out; and what has to be its standard input until then.
    pub(super) fn process(
        &self,
        layout: &Layout,
        bubblewrap: &Path,
        list: Vec<OsString>,
        handed: Vec<OwnedFd>,
        input: Option<&OwnedFd>,
    ) -> io::Result<(Command, OwnedFd)> {
        let input = handing::hand(layout, &handed, input)?;
        let mut process = bare(Path::new(&format!("/proc/self/fd/{}", self.own.as_raw_fd())));
        process.arg(entrance::LAY_OUT).arg(bubblewrap).args(list);
        Ok((process, input))
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

/// How the folder of a trial is called.
const TRIAL: &str = "trial-";

/// What a shell needs to run.
const SYSTEM: &[&str] = &["/usr", "/bin", "/lib", "/lib64", "/nix", "/run/current-system"];
