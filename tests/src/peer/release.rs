//! Which release, and how its program is started.

use crate::process::command;
use anyhow::{Context, Result, ensure};
use std::env;
use std::ffi::OsString;
use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An installed release.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Release {
    version: String,
    node: PathBuf,
    package: PathBuf,
    store: Store,
}

/// Where a release keeps its policy for commands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Store {
    /// In the file `exec-approvals.json`.
    Document,
    /// In a database. Such a release must never find the file in its home.
    Database,
}

impl Release {
    /// The release whose npm package is in this folder, run by this Node.
    pub fn new(version: impl Into<String>, node: PathBuf, package: PathBuf) -> Result<Self> {
        let mut release = Self { version: version.into(), node, package, store: Store::Document };
        for file in [&release.node, &release.script()] {
            ensure!(file.is_file(), "expected an installed release, and there is no {}", file.display());
        }
        if release.mentions(TABLE)? {
            release.store = Store::Database;
        }
        Ok(release)
    }

    /// The release that the environment names, as `cargo xtask interop` sets it.
    pub fn from_env() -> Result<Self> {
        let value = |name: &str| {
            env::var_os(name)
                .with_context(|| format!("{name} is not set: cargo xtask interop VERSION sets it"))
        };
        let version = value("COUNTERSIGN_PEER")?.to_string_lossy().into_owned();
        Self::new(version, value("COUNTERSIGN_PEER_NODE")?.into(), value("COUNTERSIGN_PEER_PACKAGE")?.into())
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where it keeps its policy for commands.
    pub fn store(&self) -> Store {
        self.store
    }

    /// Whether its own program has this word in it, such as a key of its configuration: what it does not
    /// know it refuses.
    pub fn mentions(&self, word: &str) -> Result<bool> {
        mentioned_below(&self.package.join("dist"), word)
    }

    /// Its program, in a home of its own.
    pub(super) fn program(&self, home: &Path) -> Command {
        let folder = self.node.parent().map(Path::as_os_str).unwrap_or_default();
        let path: OsString = [folder, ":/usr/bin:/bin".as_ref()].into_iter().collect();
        let mut program = command(&self.node);
        program.arg(self.script());
        program.env("HOME", home).env("PATH", path).current_dir(home).envs(QUIET);
        program
    }

    fn script(&self) -> PathBuf {
        self.package.join("openclaw.mjs")
    }
}

/// Whether a program below a folder has this word in it.
fn mentioned_below(folder: &Path, word: &str) -> Result<bool> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let found = if entry.file_type()?.is_dir() {
            mentioned_below(&path, word)?
        } else {
            let is_program = path.extension().is_some_and(|extension| extension == "js");
            is_program && String::from_utf8_lossy(&fs::read(&path)?).contains(word)
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.version)
    }
}

/// The table of the policy, in releases that keep it in a database.
const TABLE: &str = "exec_approvals_config";

/// Keeps a release from everything that is not the gateway itself, from restarting itself as another process,
/// and from colours in its output.
const QUIET: [(&str, &str); 9] = [
    ("NO_COLOR", "1"),
    ("OPENCLAW_DISABLE_BONJOUR", "1"),
    ("OPENCLAW_DISABLE_TELEMETRY", "1"),
    ("OPENCLAW_NO_RESPAWN", "1"),
    ("OPENCLAW_SKIP_BROWSER_CONTROL_SERVER", "1"),
    ("OPENCLAW_SKIP_CANVAS_HOST", "1"),
    ("OPENCLAW_SKIP_CHANNELS", "1"),
    ("OPENCLAW_SKIP_CRON", "1"),
    ("OPENCLAW_SKIP_GMAIL_WATCHER", "1"),
];
