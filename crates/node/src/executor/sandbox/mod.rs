//! Runs an approved command where it can reach little of this machine: its folder, the system to read, and
//! the network only when that is allowed.
//!
//! There are two: a *sealed* one, [`run`], and *the box*, [`run_in_box`], which shows more and may write to a
//! whole workspace.
//!
//! Everything that was pinned is checked as for a plain run. A sandbox that cannot be made is a refusal that
//! says what to do; nothing falls back to a run outside of it.

mod bubblewrap;
mod container;
mod entrance;
mod folder;
mod handing;
mod landlock;
mod layout;
mod order;
mod seccomp;
mod standing;
mod trusted;
mod workspace;

use super::{Controls, NotStarted, RunOutput, passable};
pub(super) use bubblewrap::Status;
pub(super) use container::Running;
use countersign_policy::ApprovedCommand;
pub use entrance::{entered, has_an_entrance};
pub use standing::Standing;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
pub use trusted::Environs;
pub use workspace::{
    Lapsed, Limits, Means, PlaceProblem, Scratch, WayOut, Workspace, can_be_offered, check_box,
    may_be_put_back, may_be_written, may_have, means as box_means, remember_hidden, run_in_box, variables_of,
};
pub(crate) use workspace::{Passing, tidy};

/// A sandbox on this machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Sandbox {
    /// What makes it.
    pub backend: Backend,
    /// Whether programs in it may use the network as programs outside may, to talk to this machine too.
    pub network: bool,
}

/// What makes sandboxes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Backend {
    /// Bubblewrap: this system's own programs, read-only.
    Bubblewrap,
    /// Docker or Podman: the programs of an image.
    Container {
        /// Absolute path of `docker` or `podman`.
        program: PathBuf,
        /// The image. It must be on this machine: none is ever fetched.
        image: String,
    },
}

/// Whom programs may talk to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Network {
    /// Not even this machine.
    None,
    /// Whom programs outside may.
    Shared,
}

impl Sandbox {
    fn network(&self) -> Network {
        if self.network { Network::Shared } else { Network::None }
    }
}

/// What a sandbox must know of this machine to keep it out.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Grounds {
    /// The person's home.
    pub home: PathBuf,
    /// OpenClaw's state folder. Workspaces in it may be given to a run, nothing else.
    pub openclaw: PathBuf,
    /// Our own folders.
    pub private: Vec<PathBuf>,
    /// What the environment says to programs about places.
    pub environs: Environs,
}

/// Why there is no sandbox to run in.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// There is no bubblewrap.
    #[error("bubblewrap is not there: expected one of {places}")]
    NoBubblewrap {
        /// Where it was looked for.
        places: String,
    },
    /// It is there and cannot make a sandbox.
    #[error("bubblewrap cannot make a sandbox here: {said}")]
    Forbidden {
        /// What it said, escaped.
        said: String,
        /// What helps.
        remedy: &'static str,
    },
    /// It cannot do what is needed.
    #[error("bubblewrap is too old: expected the option {0}")]
    TooOld(&'static str),
    /// A folder that must not be a sandbox's.
    #[error("{} cannot be a sandbox's working directory: {why}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The container program or its image is not what was expected.
    #[error("containers: {0}")]
    Container(String),
    /// A path that the container program's arguments cannot name.
    #[error("{} cannot be put into a container: its path has a comma, a quote or a line break", .0.display())]
    Unnameable(PathBuf),
}

impl Unavailable {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NoBubblewrap { .. } => "install the package bubblewrap, or configure Docker or Podman",
            Self::Forbidden { remedy, .. } => remedy,
            Self::TooOld(_) => "update bubblewrap to 0.10, or to an older release with its security fixes",
            Self::Folder { .. } => "name the folder of one piece of work",
            Self::Container(_) => {
                "configure the absolute path of docker or podman, and an image of this machine"
            }
            Self::Unnameable(_) => "rename it, or use bubblewrap",
        }
    }
}

/// Whether a command could run in `sandbox` with `folder`, a real path, as its own: asked before a person is.
pub async fn check(sandbox: &Sandbox, folder: &Path, grounds: &Grounds) -> Result<(), Unavailable> {
    folder::acceptable(folder, grounds)?;
    match &sandbox.backend {
        Backend::Bubblewrap => bubblewrap::found().await.map(drop),
        Backend::Container { program, image } => container::check(program, image, folder),
    }
}

/// Whether bubblewrap can make sandboxes here. It is started once; where it worked, that is remembered.
pub async fn check_bubblewrap() -> Result<(), Unavailable> {
    bubblewrap::found().await.map(drop)
}

/// Runs an approved command in `sandbox` to its end; `base_env` is the sanitised inherited environment.
/// Cancelling ends everything in the sandbox and returns what it had printed; dropping the future kills it.
///
/// Differs from a plain run in three things: a command that a signal ended exits with 128 and the signal's
/// number, as shells say it; nothing outlives the command; and variables that lead out of the
/// sandbox are not passed.
pub async fn run(
    command: ApprovedCommand,
    base_env: &BTreeMap<String, String>,
    sandbox: &Sandbox,
    grounds: &Grounds,
    controls: impl Into<Controls>,
) -> Result<RunOutput, NotStarted> {
    let controls = controls.into();
    passable(&command)?;
    if controls.cancel.is_cancelled() {
        return Err(NotStarted::Cancelled);
    }
    check(sandbox, &command.pins().cwd.real_path, grounds).await?;
    match &sandbox.backend {
        Backend::Bubblewrap => {
            bubblewrap::run(command, &inside(base_env), sandbox.network(), grounds, controls).await
        }
        Backend::Container { program, image } => {
            let container = container::Container { program, image, network: sandbox.network() };
            container::run(command, base_env, container, controls).await
        }
    }
}

/// The inherited environment without what names places outside of the sandbox.
fn inside(base_env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let stays = |name: &String| !LEADS_OUT.contains(&name.as_str());
    base_env
        .iter()
        .filter(|(name, _)| stays(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// What a program said first of all that it said, without its own name.
pub(super) fn first_line(said: &str) -> &str {
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
    first.strip_prefix("bwrap: ").unwrap_or(first)
}

/// Sockets, displays and folders of the desktop.
const LEADS_OUT: &[&str] = &[
    "CONTAINER_HOST",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "GPG_AGENT_INFO",
    "ICEAUTHORITY",
    "NOTIFY_SOCKET",
    "PULSE_SERVER",
    "SESSION_MANAGER",
    "SSH_AGENT_PID",
    "SSH_AUTH_SOCK",
    "TEMP",
    "TMP",
    "TMPDIR",
    "TMUX",
    "WAYLAND_DISPLAY",
    "WAYLAND_SOCKET",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

#[cfg(test)]
mod tests;
