//! What a tool worked out: the changes as they are shown, and the steps that bring them about.

use super::error::{FileError, PathProblem};
use super::limits::CHANGED_BYTES;
use super::pinned::{self, Pinned, Purpose};
use super::workspace::{FilePlace, Workspace};
use crate::changes::diff::{Budget, Diff};
use crate::changes::{ChangeKind, FileChange, Written};
use countersign_policy::calls::sensitive::{self, Sensitive};
use countersign_protocol::digits::hex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// One thing that is done to one name.
#[derive(Debug)]
pub(super) enum Step {
    /// Bytes are put there.
    Write {
        place: FilePlace,
        /// What they replace.
        before: Option<Pinned>,
        /// Whose owner and permissions the file gets.
        like: Option<Pinned>,
        bytes: Vec<u8>,
    },
    /// The file is removed.
    Remove { place: FilePlace, before: Pinned },
}

impl Step {
    /// Where.
    pub(super) fn place(&self) -> &FilePlace {
        match self {
            Self::Write { place, .. } | Self::Remove { place, .. } => place,
        }
    }

    /// What has to be there; `None` when nothing may be.
    pub(super) fn before(&self) -> Option<&Pinned> {
        match self {
            Self::Write { before, .. } => before.as_ref(),
            Self::Remove { before, .. } => Some(before),
        }
    }
}

/// A place, and what was found there.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) place: FilePlace,
    pub(super) before: Option<Pinned>,
    /// Empty when nothing is there.
    pub(super) bytes: Vec<u8>,
}

impl Found {
    /// What is there, as text.
    pub(super) fn text(&self) -> Result<&str, FileError> {
        std::str::from_utf8(&self.bytes).map_err(|error| {
            let problem =
                format!("byte {} is no UTF-8; only text can be changed in parts", error.valid_up_to());
            FileError::content(&self.place.real_path, problem)
        })
    }

    /// The file, which has to be there.
    fn existing(&self) -> Result<&Pinned, FileError> {
        self.before.as_ref().ok_or_else(|| FileError::path(&self.place.named, PathProblem::NotFound))
    }
}

/// Collects what a call would do.
#[derive(Debug)]
pub(super) struct Planner<'a> {
    workspace: &'a Workspace,
    budget: Budget,
    changes: Vec<FileChange>,
    steps: Vec<Step>,
}

impl<'a> Planner<'a> {
    /// With nothing to do.
    pub(super) fn new(workspace: &'a Workspace) -> Self {
        Self { workspace, budget: Budget::new(), changes: Vec::new(), steps: Vec::new() }
    }

    /// What is at a path that nothing was planned for yet.
    pub(super) fn find(&self, named: &str, purpose: Purpose) -> Result<Found, FileError> {
        let place = self.workspace.place(named)?;
        if self.steps.iter().any(|step| step.place().real_path == place.real_path) {
            return Err(FileError::content(
                &place.real_path,
                "it is named twice; one call changes a file once",
            ));
        }
        let looked = match place.missing.is_empty() {
            true => pinned::look(&self.workspace.reopen(&place.folder)?, &place, purpose)?,
            false => None,
        };
        let (before, bytes) = looked.map_or((None, Vec::new()), |(pinned, bytes)| (Some(pinned), bytes));
        Ok(Found { place, before, bytes })
    }

    /// The same, where a file has to be.
    pub(super) fn find_existing(&self, named: &str, purpose: Purpose) -> Result<Found, FileError> {
        let found = self.find(named, purpose)?;
        found.existing()?;
        Ok(found)
    }

    /// The same, where nothing may be.
    pub(super) fn find_free(&self, named: &str) -> Result<Found, FileError> {
        let found = self.find(named, Purpose::Replace)?;
        match found.before {
            None => Ok(found),
            Some(_) => Err(FileError::path(named, PathProblem::Exists)),
        }
    }

    /// Plans that `text` is what is there.
    pub(super) fn write(&mut self, found: Found, kind: ChangeKind, text: String) -> Result<(), FileError> {
        let diff = Diff::between(&found.bytes, &text, &mut self.budget);
        self.show(&found, kind, Some(text.as_bytes()), diff)?;
        let like = found.before.clone();
        self.steps.push(Step::Write {
            place: found.place,
            before: found.before,
            like,
            bytes: text.into_bytes(),
        });
        Ok(())
    }

    /// Plans that a file is removed.
    pub(super) fn remove(&mut self, found: Found) -> Result<(), FileError> {
        let before = found.existing()?.clone();
        let diff = Diff::between(&found.bytes, "", &mut self.budget);
        self.show(&found, ChangeKind::Delete, None, diff)?;
        self.steps.push(Step::Remove { place: found.place, before });
        Ok(())
    }

    /// Plans that a file gets another place, and `text` as its content where that is new.
    pub(super) fn relocate(
        &mut self,
        found: Found,
        to: Found,
        text: Option<String>,
    ) -> Result<(), FileError> {
        if found.place.real_path == to.place.real_path {
            return Err(FileError::content(&to.place.real_path, "it would be moved to where it is"));
        }
        let before = found.existing()?.clone();
        let diff = match &text {
            Some(text) => Diff::between(&found.bytes, text, &mut self.budget),
            None => Diff::none(&found.bytes),
        };
        let bytes = text.map_or_else(|| found.bytes.clone(), String::into_bytes);
        self.show(&found, ChangeKind::Move { to: to.place.real_path.clone() }, Some(&bytes), diff)?;
        if let Some(change) = self.changes.last_mut() {
            change.new_folders = new_folders(&to.place);
        }
        self.steps.push(Step::Write { place: to.place, before: None, like: Some(before.clone()), bytes });
        self.steps.push(Step::Remove { place: found.place, before });
        Ok(())
    }

    /// What was planned.
    pub(super) fn finish(self) -> (Vec<FileChange>, Vec<Step>) {
        (self.changes, self.steps)
    }

    fn show(
        &mut self,
        found: &Found,
        kind: ChangeKind,
        after: Option<&[u8]>,
        diff: Diff,
    ) -> Result<(), FileError> {
        let size = after.map_or(0, <[u8]>::len);
        if size > CHANGED_BYTES {
            let problem = PathProblem::TooLarge { found: size as u64, limit: CHANGED_BYTES as u64 };
            return Err(FileError::path(&found.place.named, problem));
        }
        let sensitive = self.sensitive(found, &kind, after);
        self.changes.push(FileChange {
            path: found.place.real_path.clone(),
            named: found.place.named.clone(),
            kind,
            before: found.before.as_ref().map(|before| before.state.clone()),
            after: after
                .map(|bytes| Written { size: bytes.len() as u64, sha256: Sha256::digest(bytes).into() }),
            new_folders: new_folders(&found.place),
            diff,
            sensitive,
        });
        Ok(())
    }

    fn sensitive(&self, found: &Found, kind: &ChangeKind, after: Option<&[u8]>) -> Vec<Sensitive> {
        let beneath =
            |path: &Path| sensitive::of_path(path.strip_prefix(self.workspace.real_path()).unwrap_or(path));
        let mut kinds = beneath(&found.place.real_path);
        if let ChangeKind::Move { to } = kind {
            kinds.extend(beneath(to));
        }
        if found.before.as_ref().is_some_and(|before| before.state.is_executable()) {
            kinds.push(Sensitive::Executable);
        }
        if sensitive::is_script(&found.bytes) || after.is_some_and(sensitive::is_script) {
            kinds.push(Sensitive::Script);
        }
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }
}

/// What an agent is told of changes that were made: one line each, and the same as data.
pub(super) fn told(changes: &[FileChange]) -> (String, Value) {
    let lines = changes.iter().map(|change| {
        let path = super::error::shown(&change.path);
        let (added, removed) = change.diff.counts();
        match &change.kind {
            ChangeKind::Append => format!("Appended to {path} (+{added} -{removed} lines)"),
            ChangeKind::Create => format!("Created {path} (+{added} lines)"),
            ChangeKind::Delete => format!("Deleted {path}"),
            ChangeKind::Edit => format!("Changed {path} (+{added} -{removed} lines)"),
            ChangeKind::Move { to } => {
                format!("Moved {path} to {} (+{added} -{removed} lines)", super::error::shown(to))
            }
            ChangeKind::Overwrite => format!("Replaced {path} (+{added} -{removed} lines)"),
        }
    });
    let files = changes.iter().map(|change| {
        let mut file = json!({ "path": change.path.to_string_lossy(), "kind": change.kind.as_str() });
        if let ChangeKind::Move { to } = &change.kind {
            file["to"] = to.to_string_lossy().into();
        }
        if let Some(after) = &change.after {
            file["bytes"] = after.size.into();
            file["sha256"] = hex(after.sha256).into();
        }
        file
    });
    let files: Vec<Value> = files.collect();
    (lines.collect::<Vec<_>>().join("\n"), json!({ "files": files }))
}

fn new_folders(place: &FilePlace) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        place.real_path.ancestors().skip(1).take(place.missing.len()).map(PathBuf::from).collect();
    folders.reverse();
    folders
}
