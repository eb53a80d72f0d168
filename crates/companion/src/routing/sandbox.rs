//! What the sandbox of this machine would be made of, and whether that is there.

use super::config::{Problem, SandboxSettings};
use countersign_node::host::placement::{Backend, Sandbox};
use countersign_protocol::ui::SandboxKind;
use std::path::PathBuf;

/// Why no sandbox can be made.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum NoSandbox {
    /// Nobody knows which one is wanted.
    #[error(transparent)]
    Unknown(#[from] Problem),
    /// What would make it is not there.
    #[error("expected {program} in {}, found none; install it", listed(.folders))]
    Missing {
        /// Its file's name.
        program: &'static str,
        /// Where it was looked for.
        folders: Vec<PathBuf>,
    },
}

fn listed(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The sandbox that is set, or why there is none. Whether it lets a command in is seen when one runs in it: a
/// sandbox that fails then is an error, never another place. Blocking.
pub(super) fn of(settings: &SandboxSettings, folders: &[PathBuf]) -> Result<Sandbox, NoSandbox> {
    let name = match settings.kind {
        SandboxKind::Bubblewrap => "bwrap",
        SandboxKind::Docker => "docker",
        SandboxKind::Podman => "podman",
    };
    let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    let Some(program) = found else {
        return Err(NoSandbox::Missing { program: name, folders: folders.to_vec() });
    };
    let backend = match settings.kind {
        SandboxKind::Bubblewrap => Backend::Bubblewrap,
        SandboxKind::Docker | SandboxKind::Podman => {
            Backend::Container { program, image: settings.image.clone().unwrap_or_default() }
        }
    };
    Ok(Sandbox { backend, network: settings.network })
}

/// Folders where only the system puts programs, whatever this process's search path says.
pub(crate) fn folders() -> Vec<PathBuf> {
    ["/usr/bin", "/bin", "/usr/local/bin"].map(PathBuf::from).to_vec()
}
