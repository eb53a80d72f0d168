//! Where an agent's files are on this machine, whether it is there at all, and which release it is. No
//! program is started for that.

use crate::table::{Agent, File};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where settings hold.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// In every project of this user.
    User,
    /// In the project of the current folder.
    Project,
}

/// Where things are on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The user's home folder.
    pub home: &'a Path,
    /// The current folder.
    pub folder: &'a Path,
    /// Where the machine's own folders begin: [`SYSTEM`].
    pub system: &'a Path,
    /// Variables that move settings, and the search path of programs.
    pub environment: &'a BTreeMap<String, String>,
}

/// Where the folders of a machine begin.
pub const SYSTEM: &str = "/";

/// How an agent was found.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sighting {
    /// Its program on the search path.
    pub program: Option<PathBuf>,
    /// Its folder.
    pub folder: Option<PathBuf>,
    /// Its release, where its files say which.
    pub release: Option<String>,
}

impl Sighting {
    /// Looks for an agent's program and folder. Blocking.
    pub fn of(agent: &Agent, around: Surroundings<'_>) -> Self {
        let program = agent.programs.iter().find_map(|name| around.program(name));
        let folder = agent.folder(around);
        let folder = folder.join(agent.folder.sign).exists().then_some(folder);
        let release = program.as_deref().and_then(|program| release(agent, program));
        Self { program, folder, release }
    }

    /// Whether it is here.
    pub fn is_here(&self) -> bool {
        self.program.is_some() || self.folder.is_some()
    }
}

impl Surroundings<'_> {
    /// A program of the search path.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        let path = self.environment.get("PATH").map(String::as_str).unwrap_or_default();
        let folders = path.split(':').filter(|folder| folder.starts_with('/'));
        folders.map(|folder| Path::new(folder).join(name)).find(|program| is_program(program))
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }
}

impl Agent {
    /// Its folder, and whether it stands where it usually does.
    fn place(&self, around: Surroundings<'_>) -> (PathBuf, bool) {
        let moved = self.folder.moved_by.and_then(|(variable, below)| {
            let value = around.variable(variable)?;
            let value = match value.strip_prefix("~/") {
                Some(rest) => around.home.join(rest),
                None => around.folder.join(value),
            };
            Some(if below.is_empty() { value } else { value.join(below) })
        });
        match moved {
            Some(folder) => (folder, false),
            None => (around.home.join(self.folder.below_home), true),
        }
    }

    pub(crate) fn folder(&self, around: Surroundings<'_>) -> PathBuf {
        self.place(around).0
    }

    /// Where a file of it is; `None` where a project has none.
    pub(crate) fn path(&self, file: &File, scope: Scope, around: Surroundings<'_>) -> Option<PathBuf> {
        if scope == Scope::Project {
            return file.project.map(|below| around.folder.join(below));
        }
        let (folder, is_usual) = self.place(around);
        if let Some(below) = file.unmoved.filter(|_| is_usual) {
            return Some(around.home.join(below));
        }
        let mut candidates = file.user.iter().map(|name| folder.join(name));
        let first = candidates.clone().next();
        candidates.find(|path| fs::symlink_metadata(path).is_ok()).or(first)
    }
}

/// Whether this can be started.
pub(crate) fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// The release of a program, by the package that it came in or the folder of releases that it stands in.
fn release(agent: &Agent, program: &Path) -> Option<String> {
    let program = fs::canonicalize(program).ok()?;
    let of_package = agent.package.and_then(|package| {
        program.ancestors().skip(1).take(DEEPEST_PROGRAM).find_map(|folder| {
            let file = folder.join("package.json");
            if fs::metadata(&file).ok()?.len() > LARGEST_PACKAGE {
                return None;
            }
            let text = fs::read_to_string(file).ok()?;
            let about: Value = serde_json::from_str(&text).ok()?;
            let name = about["name"].as_str()?;
            let platform = name.strip_prefix(package)?;
            let is_ours = platform.is_empty() || platform.starts_with('-');
            let version = about["version"].as_str().filter(|_| is_ours)?;
            Some(numbers(version))
        })
    });
    // Claude Code's own installer names the program after the release.
    let of_name = || {
        let in_releases = program.parent()?.file_name()? == "versions";
        let name = program.file_name()?.to_str().filter(|_| in_releases)?;
        name.starts_with(|c: char| c.is_ascii_digit()).then(|| numbers(name))
    };
    of_package.or_else(of_name)
}

/// A release without what names a platform.
fn numbers(version: &str) -> String {
    version.split("-linux").next().unwrap_or(version).to_owned()
}

/// Folders above a program that its package may be in.
const DEEPEST_PROGRAM: usize = 8;

/// Largest description of a package that is read, in bytes.
const LARGEST_PACKAGE: u64 = 1024 * 1024;
