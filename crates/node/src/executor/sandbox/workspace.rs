//! The box: a sandbox around a folder that a person opened for an agent. It shows the machine as it is,
//! without what is hidden; writes go to the folder, to places of the box's own, and to caches of the
//! workspace's own.
//!
//! A box that cannot be made is a refusal; nothing falls back to a run outside of it.

pub(super) mod caches;
mod hearing;
mod inside;
pub(super) mod lists;
mod machine;
pub(super) mod passing;
mod places;
mod remembered;
mod scratch;
mod sight;
mod variables;
mod watch;

use super::super::{Controls, NotStarted, RunOutput, passable};
use super::bubblewrap::Stage;
use super::layout::Layer;
use super::standing::Standing;
use super::{Grounds, Unavailable, bubblewrap, entrance, folder, inside as without_what_leads_out, landlock};
use caches::{Caches, Means as CacheMeans};
use countersign_policy::{ApprovedCommand, ContainedCommand, display};
use countersign_protocol::socket::ExecPayload;
use inside::Inside;
#[cfg(test)]
pub(super) use lists::HIDDEN;
use machine::Machine;
pub(crate) use passing::{Passing, tidy};
pub use places::{Lapsed, PlaceProblem, may_have};
pub use remembered::remember_hidden;
pub use scratch::Scratch;
pub(super) use sight::Seen;
use sight::Sight;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
pub use variables::variables_of;
use watch::Watch;

/// A folder that was opened for an agent, and what its boxed runs see beside what every box shows.
/// Paths are real ones.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Workspace {
    /// The folder. A run's working directory must be in it.
    pub folder: PathBuf,
    /// A folder of ours for what this workspace's runs write to caches; made for its owner alone
    /// where it is missing.
    pub caches: PathBuf,
    /// What its `/tmp` and `/var/tmp` are, for all runs that are given the same. Without one each
    /// run has its own.
    pub scratch: Option<Scratch>,
    /// Hidden beside the list: what a person added, and other workspaces.
    pub hidden: Vec<PathBuf>,
    /// Of what is hidden, what a person opened.
    pub shown: Vec<PathBuf>,
    /// Outside of the workspace, what a person opened for writing. What is not there is passed over.
    pub writable: Vec<PathBuf>,
    /// What its rule names besides, and no box gets: see [`Lapsed`].
    pub lapsed: Vec<PlaceProblem>,
    /// The one way to the network, when there is one.
    pub way_out: Option<WayOut>,
    /// What a run may use up.
    pub limits: Limits,
    /// What its command finds in its environment beside what every command does, see [`variables_of`].
    pub variables: BTreeMap<String, String>,
    /// Walls that a test leaves out.
    #[cfg(test)]
    pub(super) without: Vec<Wall>,
}

/// How a boxed run gets to the network: [`super::entered`] is its first program, and leads there.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WayOut {
    /// Unix socket outside, found inside as `/run/countersign/gate.sock`.
    pub socket: PathBuf,
    /// Another one, for the person's SSH keys, found inside as `/run/countersign/keys.sock`.
    pub keys: Option<PathBuf>,
}

/// What a run may use up. Nothing said is no limit.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Limits {
    /// Processes and threads at the same time. Root has no such limit.
    pub processes: Option<u64>,
    /// Memory of each process, in bytes: what it may write to, not what it only reserves.
    pub memory: Option<u64>,
    /// Time, where the command itself does not have less.
    pub time: Option<Duration>,
}

/// A wall of the box.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wall {
    /// What is hidden of the machine.
    Hidden,
    /// The machine is there to read only.
    ReadOnly,
    /// Settings in the workspace are there to read only.
    Protected,
    /// What leads to them cannot be moved.
    Passages,
    /// Protected names that are missing stay missing.
    Watch,
    /// Secrets in the workspace are hidden.
    Secrets,
    /// Folders of the box's own.
    Scratch,
    /// Caches of the workspace's own.
    Caches,
    /// Processes of the box's own.
    Processes,
    /// A network of the box's own.
    Network,
    /// Shared memory and queues of the box's own.
    Ipc,
    /// System calls that are refused.
    Filter,
    /// Devices of the box's own.
    Devices,
    /// Variables that lead out are not passed.
    Environment,
    /// What is mounted outside while it runs does not appear.
    Mounts,
    /// The kernel's second look at what is written.
    Landlock,
}

/// Something of the box's own file system, in the order in which it is put there.
#[derive(Debug)]
pub(super) enum Mount {
    /// What the machine has there, to read, if it has.
    Machine(PathBuf),
    /// An empty folder to put things in, closed in the end.
    Frame(PathBuf),
    /// An empty folder that anybody may write to, gone with the box.
    Scratch(PathBuf),
    /// A file with this content.
    Copy {
        /// What is in it.
        content: Vec<u8>,
        /// Its path.
        at: PathBuf,
        /// What may be done with it, as permissions.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: PathBuf,
        /// Its path.
        at: PathBuf,
    },
    /// An empty folder instead of what is there.
    Empty(PathBuf),
    /// A file that nobody can read instead of what is there.
    Nothing(PathBuf),
    /// What was opened.
    Opened {
        /// The descriptor.
        file: OwnedFd,
        /// Its path.
        at: PathBuf,
        /// Whether it may be written.
        writable: bool,
    },
    /// A folder of ours at another path, to be written.
    Ours {
        /// Where it is.
        from: PathBuf,
        /// Where it appears.
        at: PathBuf,
    },
}

impl Mount {
    /// Where it is put.
    fn at(&self) -> &Path {
        match self {
            Self::Machine(at) | Self::Frame(at) | Self::Scratch(at) | Self::Empty(at) | Self::Nothing(at) => {
                at
            }
            Self::Copy { at, .. }
            | Self::Link { at, .. }
            | Self::Opened { at, .. }
            | Self::Ours { at, .. } => at,
        }
    }
}

/// A box to be: everything that bubblewrap has to be told, and what is held as long as it runs.
#[derive(Debug)]
pub(super) struct Plan {
    /// Everything that is put there.
    pub(super) mounts: Vec<Mount>,
    /// Folders that are laid over others before.
    pub(super) layers: Vec<Layer>,
    /// A folder of ours that ends with the run.
    pub(super) passes: Option<PathBuf>,
    machine: Machine,
    watch: Option<Watch>,
    _caches: Option<Caches>,
}

/// What may still come from outside when the box is made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Later {
    /// Nothing: its mounts follow nobody.
    Nothing,
    /// Whatever is mounted.
    Mounts,
}

impl Workspace {
    /// A folder, with nothing besides.
    pub fn around(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), ..Self::default() }
    }

    /// Whether a wall stands: always, but in tests.
    pub(super) fn stands(&self, wall: Wall) -> bool {
        #[cfg(test)]
        if self.without.contains(&wall) {
            return false;
        }
        let _ = wall;
        true
    }

    /// Whether this program is started in it before the command, to lead out. One that cannot be has only
    /// the socket there.
    pub(super) fn is_entered(&self) -> bool {
        self.way_out.is_some() && entrance::has_an_entrance()
    }

    /// Looks at the machine and the workspace, and prepares what a box needs. Blocking.
    fn plan(&self, grounds: &Grounds, means: CacheMeans, later: Later) -> io::Result<(Plan, Seen)> {
        passing::folder(&self.caches)?;
        let sight = Sight::of(self, grounds, later)?;
        let seen = sight.seen()?;
        let Sight { known: _, machine, mut mounts, mut places, covers, within, opened } = sight;
        let mut caches = match self.stands(Wall::Caches) {
            true => Some(Caches::prepare(&self.caches, grounds, &machine, means)?),
            false => None,
        };
        let mounted = caches.iter().flat_map(|caches| caches.mounted.iter().cloned());
        places.extend(mounted.map(|(at, from)| Mount::Ours { from, at }));
        let linked = caches.iter().flat_map(|caches| caches.linked.iter().cloned());
        places.extend(linked.map(|(at, target)| Mount::Link { target, at }));
        if means == CacheMeans::Layers {
            places.extend(covers);
        }
        let watch = self.stands(Wall::Watch).then(|| Watch::new(&within)).transpose()?;
        mounts.extend(places);
        mounts.extend(opened);
        let layers = caches.as_mut().map(|caches| std::mem::take(&mut caches.layers)).unwrap_or_default();
        let passes = caches.as_ref().map(|caches| caches.passes().to_owned());
        Ok((Plan { mounts, layers, passes, machine, watch, _caches: caches }, seen))
    }

    /// What its command finds in its environment, beside what is the command's own.
    pub(super) fn environment(&self, base_env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut env = match self.stands(Wall::Environment) {
            true => without_what_leads_out(base_env),
            false => base_env.clone(),
        };
        env.extend(self.variables.clone());
        env.insert("TMPDIR".into(), "/tmp".into());
        if self.way_out.as_ref().is_some_and(|way_out| way_out.keys.is_some()) {
            env.insert("SSH_AUTH_SOCK".into(), KEYS.into());
        }
        if self.is_entered() {
            entrance::lead_out(&mut env);
        }
        env
    }

    /// What there is to see for its box now.
    pub(super) async fn seen(&self, grounds: &Grounds) -> io::Result<Seen> {
        let (workspace, grounds) = (self.clone(), grounds.clone());
        let look = move || Sight::of(&workspace, &grounds, Later::Nothing).and_then(|sight| sight.seen());
        tokio::task::spawn_blocking(look).await.map_err(io::Error::other)?
    }
}

/// A plan, and what it is made with.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) plan: Plan,
    pub(super) seen: Seen,
    pub(super) stage: Option<Stage>,
}

/// Plans a box around `workspace`.
pub(super) async fn planned(workspace: &Workspace, grounds: &Grounds) -> Result<Planned, Unavailable> {
    // A run without caches of its own has no folder to be laid out in, which only tests have.
    let stage = match workspace.stands(Wall::Mounts) && workspace.stands(Wall::Caches) {
        true => bubblewrap::stage(&workspace.caches).await,
        false => None,
    };
    let later = if stage.is_some() { Later::Nothing } else { Later::Mounts };
    let means = match &stage {
        Some(stage) if stage.layers => CacheMeans::Layers,
        _ => CacheMeans::Folders,
    };
    let (workspace, grounds) = (workspace.clone(), grounds.clone());
    let plan = tokio::task::spawn_blocking(move || workspace.plan(&grounds, means, later)).await;
    let plan = plan.map_err(io::Error::other).and_then(|plan| plan);
    let (plan, seen) = plan.map_err(|error| unmade(&error))?;
    Ok(Planned { plan, seen, stage })
}

impl Plan {
    /// Whether a path is in the box as it is here.
    pub(super) fn shows(&self, path: &Path, folder: &Path) -> bool {
        path.starts_with(folder) || self.machine.shows(path)
    }

    /// Where something is mounted in the box, whatever the machine has.
    pub(super) fn walls(&self) -> Vec<PathBuf> {
        let wall = |mount: &Mount| match mount {
            Mount::Machine(_) | Mount::Copy { .. } | Mount::Link { .. } => None,
            wall => Some(wall.at().to_owned()),
        };
        self.mounts.iter().filter_map(wall).collect()
    }

    /// Whether something protected was broken in the workspace since it was planned.
    pub(super) fn is_broken(&self) -> bool {
        self.watch.as_ref().is_some_and(|watch| watch.look().is_some())
    }

    /// Where a command may write in the box, with everything below. Empty without the wall that asks for it.
    pub(super) fn writable(&self, workspace: &Workspace) -> Vec<&Path> {
        if !workspace.stands(Wall::Landlock) {
            return Vec::new();
        }
        let mounted = self.mounts.iter().filter_map(|mount| match mount {
            Mount::Scratch(at) | Mount::Ours { at, .. } | Mount::Opened { at, writable: true, .. } => {
                Some(at.as_path())
            }
            _ => None,
        });
        mounted.chain([Path::new("/dev")]).collect()
    }
}

/// Whether what a boxed run may write in `folder` has `path` among it: it is in the folder, and neither
/// protected nor hidden there. Both are real paths. Pure.
pub fn may_be_written(folder: &Path, path: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(folder) else { return false };
    let is_free = |part: Component<'_>| match part {
        Component::Normal(name) => {
            !lists::PROTECTED.names(name) && lists::HIDDEN.secrecy(name) == lists::Secrecy::Plain
        }
        _ => false,
    };
    inside.components().next().is_some() && inside.components().all(is_free)
}

/// Whether what a path from the workspace leads to may be put back: it is not among what is
/// protected there. Pure.
pub fn may_be_put_back(path: &Path) -> bool {
    path.components().all(|part| match part {
        Component::Normal(name) => !lists::PROTECTED.names(name),
        _ => false,
    })
}

/// Whether a box around `workspace` can be offered: nothing stands against the folder, and boxes are known to
/// be made here ([`super::check_bubblewrap`]). Starts nothing.
pub fn can_be_offered(workspace: &Workspace, grounds: &Grounds) -> bool {
    folder::acceptable(&workspace.folder, grounds).is_ok() && bubblewrap::is_found()
}

/// What this machine gives boxes beside the walls that every one has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Means {
    /// What is mounted outside while a box runs does not appear in it. Without that, the places where it
    /// would are closed.
    pub apart: bool,
    /// Caches of package managers are seen as the person has them, with what a box changes laid over. Without
    /// that they begin empty.
    pub layers: bool,
    /// The kernel looks at what is written a second time, by Landlock. Without that, mounts are the
    /// only wall there.
    pub landlock: bool,
}

/// What this machine gives; `caches` is a folder of ours, made where it is missing.
pub async fn means(caches: &Path) -> io::Result<Means> {
    passing::folder(caches)?;
    let stage = bubblewrap::stage(caches).await;
    Ok(Means {
        apart: stage.is_some(),
        layers: stage.is_some_and(|stage| stage.layers),
        landlock: landlock::is_there(),
    })
}

/// Whether a command could run in a box around `workspace`: asked before a person is.
pub async fn check_box(workspace: &Workspace, grounds: &Grounds) -> Result<(), Unavailable> {
    folder::acceptable(&workspace.folder, grounds)?;
    let real = std::fs::canonicalize(&workspace.folder).ok();
    if real.as_ref() != Some(&workspace.folder) {
        return Err(Unavailable::Folder { path: workspace.folder.clone(), why: "it is not there any more" });
    }
    bubblewrap::found().await.map(drop)
}

/// Runs a contained command in the box around `workspace`, which has to be the one that contains it, to its
/// end; `base_env` is the sanitised inherited environment. Cancelling ends everything in the box and returns
/// what it had printed; dropping the future kills it.
///
/// Beside what differs in a sealed run: a run that makes or replaces something protected is ended, and its
/// error says what. The box is made at once, unless it is `standing` there; the command begins in it when
/// `ready` is cancelled.
pub async fn run_in_box(
    command: ContainedCommand,
    base_env: &BTreeMap<String, String>,
    workspace: &Workspace,
    grounds: &Grounds,
    controls: impl Into<Controls>,
    ready: &CancellationToken,
    standing: Option<Standing>,
) -> Result<RunOutput, NotStarted> {
    let path = Path::new(&command.contained().folder);
    if path != workspace.folder {
        let why = "it is another one than the box is around";
        return Err(Unavailable::Folder { path: path.to_owned(), why }.into());
    }
    let controls = controls.into();
    run_inside(command.command(), base_env, workspace, grounds, controls, ready, standing).await
}

/// The same for a command that may run at all.
pub(super) async fn run_inside(
    command: &ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    workspace: &Workspace,
    grounds: &Grounds,
    controls: Controls,
    ready: &CancellationToken,
    standing: Option<Standing>,
) -> Result<RunOutput, NotStarted> {
    passable(command)?;
    if controls.cancel.is_cancelled() {
        return Err(NotStarted::Cancelled);
    }
    check_box(workspace, grounds).await?;
    let cwd = &command.pins().cwd.real_path;
    if !cwd.starts_with(&workspace.folder) {
        return Err(Unavailable::Folder { path: cwd.clone(), why: "it is outside of the workspace" }.into());
    }
    if let Some(standing) = standing.filter(|standing| standing.fits(command, workspace, &controls)) {
        let controls = controls.clone();
        match Box::pin(standing.run(command, base_env, workspace, grounds, controls, ready)).await {
            Ok(ran) => return ran,
            Err(why) => tracing::debug!(?why, "a box that stood ready is not used"),
        }
    }
    let Planned { plan, stage, .. } = planned(workspace, grounds).await?;
    let env = workspace.environment(base_env);
    let cancel = controls.cancel.clone();
    let run = |cancel| {
        let controls = Controls { cancel, ..controls };
        let site = bubblewrap::Site { workspace, plan: &plan, stage: stage.as_ref(), ready };
        bubblewrap::run_in_box(command, &env, site, controls)
    };
    Box::pin(guarded(run, &plan, &cancel)).await
}

/// Ends a run that breaks what is protected, and says so.
pub(super) async fn guarded<Ran>(
    run: impl FnOnce(CancellationToken) -> Ran,
    plan: &Plan,
    cancel: &CancellationToken,
) -> Result<RunOutput, NotStarted>
where
    Ran: Future<Output = Result<RunOutput, NotStarted>>,
{
    let ends = cancel.child_token();
    let mut run = std::pin::pin!(run(ends.clone()));
    let (ran, broken) = match &plan.watch {
        None => (run.await, None),
        Some(watch) => tokio::select! {
            ran = &mut run => (ran, watch.look()),
            breach = watch.broken() => {
                ends.cancel();
                let ran = run.await;
                // What it did until its end.
                watch.look();
                (ran, Some(breach))
            }
        },
    };
    let Some(breach) = broken else { return ran };
    ran.map(|RunOutput { payload, duration }| {
        let payload =
            ExecPayload { success: false, exit_code: None, error: Some(breach.to_string()), ..payload };
        RunOutput { payload, duration }
    })
}

/// Why a box could not be made from what is on this machine.
pub(super) fn unmade(error: &io::Error) -> Unavailable {
    Unavailable::Forbidden { said: display::escape(&error.to_string()), remedy: UNMADE }
}

const UNMADE: &str = "look whether the workspace is there and its state folder can be written";

/// Where desktops and people mount what is plugged in.
const PLUGGED: &[&str] = &["/media", "/mnt"];

/// What may be done with a copy, as permissions.
const READABLE: u32 = 0o444;

/// Where the way out is found.
pub(super) const GATE: &str = "/run/countersign/gate.sock";
const KEYS: &str = "/run/countersign/keys.sock";
/// Public keys of the hosts that the person knows.
pub(super) const KNOWN_HOSTS: &str = "/run/countersign/known_hosts";
