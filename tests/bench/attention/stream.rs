//! The recorded commands, and the machine that they are judged for.

use anyhow::{Context, Result};
use countersign_policy::facts::{FileIdentity, ProgramFacts};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// One recorded command.
#[derive(Debug, Deserialize)]
pub(crate) struct Line {
    /// Where it was recorded; rules are learned per source.
    pub(crate) source: String,
    /// Whose session it was; folders are opened for one.
    #[serde(default)]
    pub(crate) agent: String,
    /// The session that it was recorded in; what is kept for a session ends with it.
    #[serde(default)]
    pub(crate) session: String,
    /// Its text.
    pub(crate) command: String,
    /// Working directory.
    pub(crate) cwd: Option<String>,
    /// Whether a careful person would want to be asked whatever was said before.
    #[serde(default)]
    pub(crate) sensitive: bool,
}

/// All lines of a stream.
pub(crate) fn read(path: &Path) -> Result<Vec<Line>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| serde_json::from_str(line).with_context(|| format!("not a recorded command: {line:.80}")))
        .collect()
}

/// Which programs exist.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Machine {
    /// In [`PROGRAMS`]; nothing given: every bare name.
    #[serde(default)]
    programs: Option<BTreeSet<String>>,
    /// Absolute paths of programs that this user could rewrite.
    #[serde(default)]
    scripts: BTreeSet<PathBuf>,
}

impl Machine {
    /// From `file`, else from `programs.json` beside the stream, else every bare name.
    pub(crate) fn read(file: Option<&Path>, stream: &Path) -> Result<Self> {
        let beside = stream.with_file_name("programs.json");
        let path = match file {
            Some(file) => file,
            None if beside.exists() => &beside,
            None => return Ok(Self::default()),
        };
        let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("not a list of programs: {}", path.display()))
    }

    /// What a typed program is found to be from a folder.
    pub(crate) fn find(&self, typed: &str, folder: Option<&str>) -> ProgramFacts {
        let path = if !typed.contains('/') {
            let known =
                typed == SHELL || self.programs.as_ref().is_none_or(|programs| programs.contains(typed));
            known.then(|| Path::new(PROGRAMS).join(typed))
        } else {
            let given = folder.unwrap_or("/").to_owned();
            let path = lexical(&Path::new(&given).join(typed));
            let installed =
                path.parent().is_some_and(|parent| SYSTEM.iter().any(|system| parent == Path::new(system)));
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let known = installed && self.programs.as_ref().is_none_or(|programs| programs.contains(name));
            (known || self.scripts.contains(&path)).then_some(path)
        };
        let writable = path.as_deref().is_some_and(|path| self.scripts.contains(path));
        let identity = path.is_some().then_some(IDENTITY);
        ProgramFacts { real_path: path.clone(), path, identity, writable, ..ProgramFacts::default() }
    }
}

/// Without `.` and `..`.
fn lexical(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

/// Any file; nothing is compared with it here.
const IDENTITY: FileIdentity =
    FileIdentity { dev: 0, ino: 0, size: 0, mtime_ns: 0, ctime_ns: 0, mode: 0o100_755, sha256: None };

/// Home directory of the recorded sessions.
pub(crate) const HOME: &str = "/home/user";

/// Every machine has one.
const SHELL: &str = "sh";

/// Where bare names are found.
const PROGRAMS: &str = "/usr/bin";

/// Folders of installed programs.
const SYSTEM: &[&str] = &["/bin", "/usr/bin", "/usr/local/bin"];
