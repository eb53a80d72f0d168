//! Where things are in the checkout, and how its cargo and npm are called.

use crate::process;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which of cargo's two profiles a task uses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Profile {
    /// `target/debug`.
    Debug,
    /// `target/release`.
    Release,
}

/// The two programs users get, as built.
#[derive(Clone, Debug)]
pub(crate) struct Binaries {
    /// The `countersign` command.
    pub(crate) command: PathBuf,
    /// The desktop app.
    pub(crate) desktop: PathBuf,
}

impl Binaries {
    /// Where cargo puts them; they may not be built yet.
    pub(crate) fn locate(profile: Profile) -> Self {
        let folder = target_dir().join(match profile {
            Profile::Debug => "debug",
            Profile::Release => "release",
        });
        Self { command: folder.join("countersign"), desktop: folder.join("countersign-desktop") }
    }

    /// The variables by which the tests and the bench find them.
    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 2] {
        [("COUNTERSIGN_BIN", self.command.clone()), ("COUNTERSIGN_DESKTOP_BIN", self.desktop.clone())]
    }
}

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// Where cargo builds.
pub(crate) fn target_dir() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |named| root().join(named))
}

/// Where tasks keep stamps and logs.
pub(crate) fn state_dir() -> PathBuf {
    target_dir().join("xtask")
}

/// cargo at the root.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command =
        without_package(process::command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into())));
    command.args(arguments).current_dir(root());
    command
}

/// A command free of the variables by which the `cargo run` around this program says what package this is.
pub(crate) fn without_package(mut command: Command) -> Command {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// npm in `ui/`.
pub(crate) fn npm<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = process::command("npm");
    command.args(arguments).current_dir(root().join("ui"));
    command
}

/// Node in `ui/`.
pub(crate) fn node<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = process::command("node");
    command.args(arguments).current_dir(root().join("ui"));
    command
}

/// A path as it was typed on the command line, for programs that start at the root.
pub(crate) fn typed_here(path: &Path) -> PathBuf {
    env::current_dir().unwrap_or_else(|_| root()).join(path)
}
