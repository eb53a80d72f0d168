//! What was written into agents' settings, when, and what was there before: one small file of ours, beside
//! which the old bytes stay where they were.

use crate::error::RecordError;
use crate::files;
use crate::places::Scope;
use crate::table::{Agent, Way};
use countersign_core::private::{self, Others};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Where that is kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Record {
    path: PathBuf,
}

/// What it says.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Written {
    /// Files that have something of ours.
    pub(crate) files: Vec<Kept>,
    /// What was connected.
    pub(crate) ways: Vec<Since>,
}

/// A file that was written.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Kept {
    pub(crate) file: PathBuf,
    /// SHA-256 of what was written.
    pub(crate) after: String,
    pub(crate) before: Before,
}

/// What was there before anything of ours was.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Before {
    /// No file, and not these folders.
    Nothing { folders: Vec<PathBuf> },
    /// The bytes that stay beside it.
    Text { sha256: String },
    /// Something of ours was there already, and nobody knows what was before that.
    Unknown,
}

/// When an agent was connected.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Since {
    pub(crate) agent: String,
    pub(crate) way: Way,
    pub(crate) scope: Scope,
    pub(crate) file: PathBuf,
    pub(crate) at_ms: i64,
}

impl Record {
    /// In this file, which need not be there.
    pub const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Notes that the hook of an agent was called at `now_ms`, in Unix milliseconds: one empty file for each,
    /// whose time it is.
    pub fn hear(&self, agent: &Agent, now_ms: i64) -> io::Result<()> {
        let path = self.heard(agent);
        let open = || OpenOptions::new().append(true).create(true).mode(OURS).open(&path);
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(Path::new("/"));
                DirBuilder::new().recursive(true).mode(OURS_ALONE).create(folder)?;
                open()?
            }
            file => file?,
        };
        let since = Duration::from_millis(u64::try_from(now_ms).unwrap_or_default());
        file.set_modified(SystemTime::UNIX_EPOCH + since)
    }

    /// When the hook of an agent was last called, in Unix milliseconds, where it ever was.
    pub(crate) fn heard_ms(&self, agent: &Agent) -> Option<i64> {
        let at = fs::symlink_metadata(self.heard(agent)).ok()?.modified().ok()?;
        i64::try_from(at.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_millis()).ok()
    }

    fn heard(&self, agent: &Agent) -> PathBuf {
        self.path.with_file_name(HEARD).join(agent.name)
    }

    pub(crate) fn read(&self) -> Result<Written, RecordError> {
        let read = private::read(&self.path, LARGEST, Others::MayRead);
        let text = read.map_err(|source| RecordError::Spoiled { path: self.path.clone(), source })?;
        let Some(text) = text else { return Ok(Written::default()) };
        serde_json::from_str(&text).map_err(|source| RecordError::Unfit { path: self.path.clone(), source })
    }

    pub(crate) fn write(&self, written: &Written) -> Result<(), RecordError> {
        let failed = |source: std::io::Error| RecordError::Io { path: self.path.clone(), source };
        let bytes = serde_json::to_vec_pretty(written).map_err(|error| failed(error.into()))?;
        private::write(&self.path, &bytes).map_err(failed)
    }
}

impl Written {
    /// What is known of a file, if nothing but this program changed it since.
    pub(crate) fn intact(&self, file: &Path, text: Option<&str>) -> Option<&Kept> {
        let now = text.map(digest)?;
        self.files.iter().find(|kept| kept.file == file && kept.after == now)
    }

    /// When something was connected.
    pub(crate) fn since(&self, agent: &str, way: Way, file: &Path) -> Option<i64> {
        let found =
            self.ways.iter().find(|since| since.agent == agent && since.way == way && since.file == file);
        found.map(|since| since.at_ms)
    }
}

impl Kept {
    /// What was there before: `Some(None)` for no file, `None` where it is not known any more.
    pub(crate) fn original(&self) -> Option<Option<String>> {
        match &self.before {
            Before::Nothing { .. } => Some(None),
            Before::Text { sha256 } => {
                let kept = files::read(&files::backup_of(&self.file)).ok()??;
                (digest(&kept.text) == *sha256).then_some(Some(kept.text))
            }
            Before::Unknown => None,
        }
    }
}

pub(crate) fn digest(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Largest record, in bytes: a few hundred for each of some files.
const LARGEST: u64 = 1024 * 1024;

/// The folder that says when agents were heard, beside the record.
const HEARD: &str = "heard";

/// Mode of such a file.
const OURS: u32 = 0o600;

/// Mode of its folder.
const OURS_ALONE: u32 = 0o700;
