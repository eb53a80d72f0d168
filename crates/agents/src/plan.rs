//! What a change of an agent's settings comes to, before and while it is written.

use crate::diff::{self, Difference};
use crate::edit::Edit;
use crate::error::ConnectError;
use crate::files::{self, Found};
use crate::note::Note;
use crate::places::{Scope, Surroundings};
use crate::record::{Before, Kept, Record, Since, Written, digest};
use crate::standing;
use crate::table::{Agent, HookWish, Way};
use std::path::PathBuf;

/// What is to happen to settings.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Change {
    /// Hook, server or both are put in.
    Connect {
        /// The hook.
        hook: Option<HookWish>,
        /// The words that start the server.
        mcp: Option<Vec<String>>,
    },
    /// The hook is taken out, for all events: the bytes from before where nothing else changed since and
    /// nothing of ours stays.
    RemoveHook,
    /// All of ours is taken back: the bytes from before where nothing else changed since, else what is ours.
    Undo,
}

/// A change that is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Whose settings.
    pub agent: &'static Agent,
    /// Which.
    pub scope: Scope,
    /// What.
    pub change: Change,
}

/// What a request comes to. Nothing is written before [`Plan::apply`].
#[derive(Debug)]
pub struct Plan {
    /// The files, also those that stay as they are.
    pub files: Vec<FileChange>,
    /// What else the person has to know.
    pub notes: Vec<Note>,
    agent: &'static Agent,
    scope: Scope,
    /// What is there when it is written: which file each stands in.
    put: Vec<(Way, PathBuf)>,
    /// What is not there any more.
    gone: Vec<(Way, PathBuf)>,
}

/// What would become of one file.
#[derive(Debug)]
pub struct FileChange {
    /// The settings, as the agent finds them.
    pub path: PathBuf,
    /// The file itself: another one where links lead to it.
    pub file: PathBuf,
    /// What would change, as a unified diff; empty when nothing would.
    pub diff: String,
    before: Option<Found>,
    after: Option<String>,
    /// Whether there is something of ours in it before.
    has_ours: bool,
    /// Whether there is after.
    keeps_ours: bool,
    /// All that is to be put in, in a file that has nothing else.
    by_hand: Option<String>,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Becomes {
    /// It was not there.
    Made,
    /// It stays, with another text.
    Changed,
    /// It was made for what is taken back.
    Removed,
}

/// Whether taking out would change anything.
fn has_ours(taking_out: &[&Edit], text: Option<&str>) -> bool {
    let without =
        taking_out.iter().try_fold(text.map(str::to_owned), |text, edit| edit.applied(text.as_deref()));
    without.is_ok_and(|without| without.as_deref() != text)
}

/// What was done.
#[derive(Debug, Default)]
pub struct Applied {
    /// Where the bytes from before are, a file each.
    pub backups: Vec<PathBuf>,
    /// Folders that were made for files which are gone now, the outermost first.
    folders: Vec<PathBuf>,
}

impl Plan {
    /// Works out what a request would change. Blocking; writes nothing.
    pub fn of(request: &Request, around: Surroundings<'_>, record: &Record) -> Result<Self, ConnectError> {
        let Request { agent, scope, change: wanted } = request;
        let written = record.read()?;
        let mut plan = Self {
            files: Vec::new(),
            notes: Vec::new(),
            agent,
            scope: *scope,
            put: Vec::new(),
            gone: Vec::new(),
        };
        let all = Edit::taking_out(agent);
        let edits = match wanted {
            Change::Connect { hook, mcp } => {
                if hook.is_some() {
                    plan.notes = standing::hook_notes(agent, *scope, around);
                }
                Edit::putting_in(agent, hook.as_ref(), mcp.as_deref())?
            }
            Change::RemoveHook => all.iter().filter(|edit| edit.way() == Way::Hook).cloned().collect(),
            Change::Undo => all.clone(),
        };
        for edit in &edits {
            let Some(path) = agent.path(edit.file, *scope, around) else {
                if edit.is_taking() {
                    continue;
                }
                return Err(ConnectError::NoWay { agent: agent.title, what: "such settings in a project" });
            };
            let file = files::resolved(&path, *scope, around.folder)?;
            let index = match plan.files.iter().position(|change| change.file == file) {
                Some(index) => index,
                None => {
                    let before = files::look(&file)?;
                    let after = before.as_ref().map(|found| found.text.clone());
                    let diff = String::new();
                    plan.files.push(FileChange {
                        path,
                        file: file.clone(),
                        diff,
                        before,
                        after,
                        has_ours: false,
                        keeps_ours: false,
                        by_hand: None,
                    });
                    plan.files.len() - 1
                }
            };
            let change = &mut plan.files[index];
            let after = edit.applied(change.after.as_deref()).map_err(|source| ConnectError::Unfit {
                path: file.clone(),
                source,
                by_hand: edit.by_hand(),
            })?;
            change.after = after;
            // Of several changes each is put into what the ones before it make of nothing.
            if let Ok(Some(by_hand)) = edit.applied(change.by_hand.as_deref()) {
                change.by_hand = Some(by_hand);
            }
            match (edit.is_taking(), edit.is_main()) {
                (true, true) => plan.gone.push((edit.way(), file)),
                (false, true) => plan.put.push((edit.way(), file)),
                (_, false) => {}
            }
        }
        for change in &mut plan.files {
            let before = change.before.as_ref().map(|found| found.text.clone());
            let here: Vec<&Edit> = all
                .iter()
                .filter(|edit| {
                    let path = agent.path(edit.file, *scope, around);
                    let file = path.map(|path| files::resolved(&path, *scope, around.folder));
                    matches!(file, Some(Ok(file)) if file == change.file)
                })
                .collect();
            // Where nothing of ours is to stay, the bytes from before are all that is known to be
            // the person's.
            let all_goes = match wanted {
                Change::Connect { .. } => false,
                Change::RemoveHook => !has_ours(&here, change.after.as_deref()),
                Change::Undo => true,
            };
            if all_goes
                && let Some(original) =
                    written.intact(&change.file, before.as_deref()).and_then(Kept::original)
            {
                change.after = original;
            }
            change.has_ours = has_ours(&here, before.as_deref());
            change.keeps_ours = has_ours(&here, change.after.as_deref());
            let name = change.file.display().to_string();
            change.diff = diff::unified(&name, before.as_deref(), change.after.as_deref());
            if change.changes() {
                files::may_change(&change.file).map_err(|why| change.unwritten(why))?;
            }
        }
        Ok(plan)
    }

    /// Whether anything would be written.
    pub fn changes(&self) -> bool {
        self.files.iter().any(FileChange::changes)
    }

    /// Writes it, the bytes from before beside each file, and notes it at `now_ms`; says where those bytes
    /// are. After a crash each file is the old or the new one, whole. Blocking.
    pub fn apply(&self, record: &Record, now_ms: i64) -> Result<Applied, ConnectError> {
        for change in &self.files {
            if files::look(&change.file)? != change.before {
                return Err(ConnectError::Changed(change.file.clone()));
            }
            if change.changes() {
                files::may_change(&change.file)?;
            }
        }
        let mut written = record.read()?;
        let mut applied = Applied::default();
        let mut done: Vec<&FileChange> = Vec::new();
        for change in self.files.iter().filter(|change| change.changes()) {
            if let Err(error) = change.write(self.scope, &mut written, &mut applied) {
                // One of several files alone would be half a connection.
                for change in done {
                    change.put_back();
                }
                return Err(change.unwritten(error));
            }
            done.push(change);
        }
        // Those that somebody else put something into stay.
        for folder in applied.folders.iter().rev() {
            let _ = std::fs::remove_dir(folder);
        }
        if self.note(&mut written, now_ms) || self.changes() {
            record.write(&written)?;
        }
        Ok(applied)
    }

    /// Notes since when what is connected; whether that is news.
    fn note(&self, written: &mut Written, now_ms: i64) -> bool {
        let of = |since: &Since, (way, file): &(Way, PathBuf)| {
            since.agent == self.agent.name && since.way == *way && since.file == *file
        };
        let before = written.ways.clone();
        written.ways.retain(|since| !self.gone.iter().any(|gone| of(since, gone)));
        for put in &self.put {
            if !written.ways.iter().any(|since| of(since, put)) {
                let (way, file) = put.clone();
                let agent = self.agent.name.to_owned();
                written.ways.push(Since { agent, way, scope: self.scope, file, at_ms: now_ms });
            }
        }
        written.ways != before
    }
}

impl FileChange {
    /// Whether it would be written.
    pub fn changes(&self) -> bool {
        self.after.as_deref() != self.before_text()
    }

    /// What becomes of the file.
    pub fn becomes(&self) -> Becomes {
        match (&self.before, &self.after) {
            (None, Some(_)) => Becomes::Made,
            (Some(_), None) => Becomes::Removed,
            (None, None) | (Some(_), Some(_)) => Becomes::Changed,
        }
    }

    /// What would change, line by line; nothing where no line would.
    pub fn difference(&self) -> Option<Difference> {
        diff::difference(self.before_text(), self.after.as_deref())
    }

    /// Why it is not written, with what a person can put in instead.
    fn unwritten(&self, why: ConnectError) -> ConnectError {
        ConnectError::Unwritten { why: Box::new(why), by_hand: self.by_hand.clone() }
    }

    fn before_text(&self) -> Option<&str> {
        self.before.as_ref().map(|found| found.text.as_str())
    }

    fn write(&self, scope: Scope, written: &mut Written, applied: &mut Applied) -> Result<(), ConnectError> {
        let known = written.intact(&self.file, self.before_text()).map(|kept| kept.before.clone());
        let backup = files::backup_of(&self.file);
        let folders = files::make_folder(&self.file, scope)?;
        let before = match (known, &self.before) {
            (Some(known), _) => known,
            (None, None) => Before::Nothing { folders },
            (None, Some(found)) => {
                files::write(&backup, &found.text, found.mode)?;
                applied.backups.push(backup.clone());
                if self.has_ours { Before::Unknown } else { Before::Text { sha256: digest(&found.text) } }
            }
        };
        written.files.retain(|kept| kept.file != self.file);
        let Some(after) = &self.after else {
            files::remove(&self.file)?;
            if let Before::Nothing { folders } = before {
                applied.folders.extend(folders);
            }
            return Ok(());
        };
        let mode = self.before.as_ref().map_or(files::fresh_mode(scope), |found| found.mode);
        files::write(&self.file, after, mode)?;
        let after = digest(after);
        if before == (Before::Text { sha256: after.clone() }) {
            return files::remove(&backup);
        }
        if self.keeps_ours {
            written.files.push(Kept { file: self.file.clone(), after, before });
        }
        Ok(())
    }

    /// After another file could not be written.
    fn put_back(&self) {
        let _ = match &self.before {
            Some(found) => files::write(&self.file, &found.text, found.mode),
            None => files::remove(&self.file),
        };
    }
}
