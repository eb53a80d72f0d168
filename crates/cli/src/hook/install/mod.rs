//! Setting an agent up to call its hook: what its settings would be, shown before anything is written.

mod diff;
mod edit;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod spans;
#[cfg(test)]
mod tests;

pub(crate) use edit::Unfit;

use super::Event;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An agent that can be set up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Target {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
}

/// Where its settings hold.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Scope {
    /// In every project of this user.
    User,
    /// In the project of the current folder.
    Project,
}

/// What is to happen to them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    /// The hook is put in.
    Install {
        /// When it is called.
        event: Event,
        /// This program, as the agent is to start it, with its arguments.
        words: Vec<String>,
        /// How long the hook takes at most.
        patience: Duration,
    },
    /// It is taken out, for all events.
    Remove,
}

/// A change to an agent's settings.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Whose.
    pub(crate) target: Target,
    /// Which.
    pub(crate) scope: Scope,
    /// What.
    pub(crate) change: Change,
}

/// Where things are on this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    /// The user's home folder.
    pub(crate) home: &'a Path,
    /// The current folder.
    pub(crate) folder: &'a Path,
    /// Variables that move settings.
    pub(crate) environment: &'a BTreeMap<String, String>,
}

/// What a request comes to. Nothing is written before [`Plan::apply`].
#[derive(Debug)]
pub(crate) struct Plan {
    /// The settings, as the agent finds them.
    pub(crate) path: PathBuf,
    /// The file itself: another one where links lead to it.
    pub(crate) file: PathBuf,
    /// What would change, as a unified diff; empty when nothing would.
    pub(crate) diff: String,
    /// What else the person has to know.
    pub(crate) notes: Vec<String>,
    before: Option<Found>,
    after: Option<String>,
    scope: Scope,
}

/// Why an agent cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum InstallError {
    /// It changed after it was looked at.
    #[error("{0} was changed meanwhile; nothing was written")]
    Changed(PathBuf),
    /// A link leads nowhere.
    #[error("{0} is a link to a file that is not there")]
    Dangling(PathBuf),
    /// Another user's file.
    #[error("{0} belongs to another user")]
    Foreign(PathBuf),
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No file.
    #[error("expected {path} to be a file of at most {MAX_BYTES} bytes")]
    NoFile {
        /// What is no file.
        path: PathBuf,
    },
    /// A project's settings that are somewhere else.
    #[error("{path} leads out of the project, to {file}")]
    Outside {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        file: PathBuf,
    },
    /// Its owner may not write it.
    #[error("{0} is read-only")]
    ReadOnly(PathBuf),
    /// It is not understood, so it is left alone.
    #[error("{path} is left as it is: {source}")]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: Unfit,
        /// What could be put in by hand.
        by_hand: Option<String>,
    },
}

/// What is there now.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Found {
    text: String,
    mode: u32,
}

/// Works out what a request would change. Blocking; writes nothing.
pub(crate) fn plan(request: &Request, around: Surroundings<'_>) -> Result<Plan, InstallError> {
    let Request { target, scope, change } = request;
    let path = target.path(*scope, around);
    let file = resolved(&path, *scope, around.folder)?;
    let before = read(&file)?;
    let is_ours = |command: &str| is_ours(command, target.name());
    let unfit = |by_hand| {
        let path = file.clone();
        move |source| InstallError::Unfit { path, source, by_hand }
    };
    let text = before.as_ref().map(|found| found.text.as_str());
    let mut notes = Vec::new();
    let after = match (change, text) {
        (Change::Remove, None) => None,
        (Change::Remove, Some(text)) => Some(edit::take_out(text, &is_ours).map_err(unfit(None))?),
        (Change::Install { event, words, patience }, text) => {
            notes = target.notes(*scope, &path, text);
            let name = target.event_name(*event);
            let group = target.group(*event, words, *patience);
            let whole = edit::fresh(name, &group);
            Some(match text {
                None => whole,
                Some(text) => edit::put(text, name, &group, &is_ours).map_err(unfit(Some(whole)))?,
            })
        }
    };
    let diff = match &after {
        Some(after) => diff::unified(&file.display().to_string(), text, after),
        None => String::new(),
    };
    Ok(Plan { path, file, diff, notes, before, after, scope: *scope })
}

impl Plan {
    /// Whether anything would be written.
    pub(crate) fn changes(&self) -> bool {
        self.after.as_deref() != self.before.as_ref().map(|found| found.text.as_str())
    }

    /// Writes it, the bytes from before beside it; says where those are. After a crash the old or the new settings are there, whole.
    /// Blocking.
    pub(crate) fn apply(&self) -> Result<Option<PathBuf>, InstallError> {
        let Some(after) = self.after.as_ref().filter(|_| self.changes()) else { return Ok(None) };
        let failed = |source| InstallError::Io { path: self.file.clone(), source };
        if read(&self.file)? != self.before {
            return Err(InstallError::Changed(self.file.clone()));
        }
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let (folder_mode, file_mode) = match self.scope {
            Scope::User => (0o700, 0o600),
            Scope::Project => (0o755, 0o644),
        };
        fs::DirBuilder::new().recursive(true).mode(folder_mode).create(folder).map_err(failed)?;
        let backup = match &self.before {
            None => None,
            Some(found) => {
                let mut name = self.file.file_name().unwrap_or_default().to_owned();
                name.push(BACKUP);
                let backup = self.file.with_file_name(name);
                write(&backup, &found.text, found.mode)
                    .map_err(|source| InstallError::Io { path: backup.clone(), source })?;
                Some(backup)
            }
        };
        let mode = self.before.as_ref().map_or(file_mode, |found| found.mode);
        write(&self.file, after, mode).map_err(failed)?;
        Ok(backup)
    }
}

impl Target {
    /// As on this command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    fn path(self, scope: Scope, around: Surroundings<'_>) -> PathBuf {
        let (variable, folder, file) = match self {
            Self::ClaudeCode => ("CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
            Self::Codex => ("CODEX_HOME", ".codex", "hooks.json"),
            Self::Gemini => ("GEMINI_CLI_HOME", ".gemini", "settings.json"),
        };
        if scope == Scope::Project {
            return around.folder.join(folder).join(file);
        }
        let moved = around.environment.get(variable).filter(|value| !value.trim().is_empty());
        match (moved, self) {
            // The one that names the folder above.
            (Some(home), Self::Gemini) => around.folder.join(home).join(folder).join(file),
            (Some(home), _) => around.folder.join(home).join(file),
            (None, _) => around.home.join(folder).join(file),
        }
    }

    const fn event_name(self, event: Event) -> &'static str {
        match (self, event) {
            (Self::Gemini, _) => "BeforeTool",
            (_, Event::BeforeTool) => "PreToolUse",
            (_, Event::PermissionRequest) => "PermissionRequest",
        }
    }

    /// The hook as this agent's settings have it.
    fn group(self, event: Event, words: &[String], patience: Duration) -> Value {
        let seconds = (patience + LIMIT_MARGIN).as_secs_f64().ceil();
        let command = command_line(words);
        let mut handler = match self {
            Self::Gemini => json!({ "name": "countersign", "type": "command", "command": command }),
            Self::ClaudeCode | Self::Codex => json!({ "type": "command", "command": command }),
        };
        // Whole numbers, as agents have them in their examples.
        handler["timeout"] = match self {
            Self::Gemini => json!((seconds * 1_000.0) as u64),
            Self::ClaudeCode | Self::Codex => json!(seconds as u64),
        };
        match (self, event) {
            (Self::ClaudeCode, _) => {
                handler["statusMessage"] = json!(WAITING);
                handler["onFailure"] = json!("block");
            }
            (Self::Codex, _) => handler["statusMessage"] = json!(WAITING),
            (Self::Gemini, _) => {}
        }
        json!({ "matcher": "*", "hooks": [handler] })
    }

    /// What keeps a hook from being called that is written all the same.
    fn notes(self, scope: Scope, path: &Path, text: Option<&str>) -> Vec<String> {
        let mut notes = Vec::new();
        if scope == Scope::Project {
            notes.push(ON_PATH.to_owned());
        }
        let value: Value = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        match self {
            Self::ClaudeCode => {
                if value["disableAllHooks"] == true {
                    notes.push("disableAllHooks is on in this file: Claude Code calls no hook.".to_owned());
                }
            }
            Self::Codex => {
                notes.push(CODEX_TRUST.to_owned());
                let config = path.with_file_name("config.toml");
                let lines = fs::read_to_string(&config).unwrap_or_default();
                if lines.lines().any(|line| line.trim_start_matches('[').starts_with("hooks")) {
                    notes.push(format!(
                        "{} has hooks too: Codex takes both, and warns about it at every start.",
                        config.display()
                    ));
                }
            }
            Self::Gemini => {
                notes.push(GEMINI_TRUST.to_owned());
                if value["hooksConfig"]["enabled"] == false {
                    notes.push(
                        "hooksConfig.enabled is off in this file: Gemini CLI calls no hook.".to_owned(),
                    );
                }
            }
        }
        notes
    }
}

/// A line for a POSIX shell. Where this program cannot be started, crashes or is killed, its exit code lets agents go on; 2 stops them.
fn command_line(words: &[String]) -> String {
    format!("{} || exit 2", countersign_policy::display::shell_quoted(words))
}

/// Whether a command of somebody's settings calls this hook, whichever its arguments and wherever the program is.
fn is_ours(command: &str, agent: &str) -> bool {
    let plain = command.replace(['\'', '"', '\\'], "");
    let words: Vec<&str> = plain.split_whitespace().collect();
    words.windows(3).any(|words| {
        let program = words[0].rsplit('/').next().unwrap_or_default();
        program.starts_with("countersign") && words[1..] == ["hook", agent]
    })
}

/// Where a path leads to, its folder included.
fn resolved(path: &Path, scope: Scope, folder: &Path) -> Result<PathBuf, InstallError> {
    let failed = |source| InstallError::Io { path: path.to_owned(), source };
    let file = match fs::canonicalize(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(InstallError::Dangling(path.to_owned()));
            }
            let (folder, name) =
                (path.parent().unwrap_or(Path::new("/")), path.file_name().unwrap_or_default());
            match fs::canonicalize(folder) {
                Ok(folder) => folder.join(name),
                Err(error)
                    if error.kind() == ErrorKind::NotFound && fs::symlink_metadata(folder).is_err() =>
                {
                    path.to_owned()
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Err(error) => return Err(failed(error)),
    };
    if scope == Scope::Project {
        let folder = fs::canonicalize(folder).map_err(failed)?;
        let is_missing = !file.exists() && file == path;
        if !is_missing && !file.starts_with(folder) {
            return Err(InstallError::Outside { path: path.to_owned(), file });
        }
    }
    Ok(file)
}

fn read(file: &Path) -> Result<Option<Found>, InstallError> {
    let failed = |source| InstallError::Io { path: file.to_owned(), source };
    let found = match fs::metadata(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.map_err(failed)?,
    };
    if !found.is_file() || found.len() > MAX_BYTES {
        return Err(InstallError::NoFile { path: file.to_owned() });
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(InstallError::Foreign(file.to_owned()));
    }
    let mode = found.mode() & 0o7777;
    if mode & OWNER_WRITE == 0 {
        return Err(InstallError::ReadOnly(file.to_owned()));
    }
    let text = fs::read_to_string(file).map_err(failed)?;
    Ok(Some(Found { text, mode }))
}

fn write(file: &Path, text: &str, mode: u32) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut fresh = tempfile::Builder::new().tempfile_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    // Set and not asked for, as the process's mask would take bits away.
    fresh.as_file().set_permissions(Permissions::from_mode(mode))?;
    fresh.as_file().sync_all()?;
    fresh.persist(file)?;
    Ok(())
}

/// What the agent shows while the person is asked.
const WAITING: &str = "Waiting for Countersign";

const ON_PATH: &str =
    "Everybody who uses this project needs `countersign` on their PATH: without it every call is denied.";

const CODEX_TRUST: &str = "Codex calls it only after you have reviewed and trusted it: type /hooks in Codex. Until then, and after every \
     change, it goes on without asking here.";

const GEMINI_TRUST: &str = "Gemini CLI calls no hook in a folder that it does not trust.";

/// Ending of the file with the bytes from before.
const BACKUP: &str = ".before-countersign";

/// Largest settings that are touched, in bytes: far beyond any that a person has.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// How much longer than the hook the agent is told to wait: an agent that ends its hook goes on without an answer.
const LIMIT_MARGIN: Duration = Duration::from_secs(30);

/// Permission bit of the owner.
const OWNER_WRITE: u32 = 0o200;
