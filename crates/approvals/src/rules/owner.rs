//! Rules and uses as they are on disk, and every operation on them. Synchronous: the store's task runs it
//! where blocking is fine.

use super::edit::{self, NewRule};
use super::not_understood::NotUnderstood;
use super::uses::{self, Count, Counts, USES_FILE_NAME};
use super::watched_file::{Locked, WatchedFile};
use super::{Current, Folders, NotSpent, RuleChange, RulesChanged, RulesError, loosenings};
use crate::file::{Backup, Found};
use crate::owned::Owned;
use crate::ports::Ports;
use crate::store::{LOCK_PATIENCE, Looser, Writer};
use countersign_policy::document::hash;
use countersign_policy::rules::{PRESETS, RuleIndex};
use countersign_protocol::rule_edits::{RuleEditResult, RuleState, RulesState};
use countersign_protocol::rules::{FILE_NAME, RuleDocument, RuleOrigin, StoredRule, VERSION};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often a write starts over because an editor, which takes no lock, saved meanwhile.
const WRITE_TRIES: u32 = 3;

/// Keeps the rules.
#[derive(Debug)]
pub(super) struct RulesOwner {
    document: WatchedFile,
    uses: WatchedFile,
    ports: Ports,
    current: Arc<Current>,
    /// Whether the rules were ever read. Before that there is nothing to hold on to, and no change.
    has_read: bool,
    /// Ids of the rules that the index of `current` leaves out.
    over: BTreeSet<String>,
    /// Counts on disk, or why they are lost.
    stored: Result<Counts, Lost>,
    /// Uses that wait to be written.
    waiting: Counts,
    changes: Vec<RulesChanged>,
    patience: Duration,
}

/// A document as it was read.
struct Read {
    state: RulesState,
    hash: String,
    document: Option<RuleDocument>,
}

impl Owned for RulesOwner {
    type Current = Current;
    type Changed = RulesChanged;

    /// Where rules are. Nobody else changes their uses.
    fn folders(&self) -> Vec<PathBuf> {
        vec![self.document.dir().to_owned()]
    }

    fn current(&self) -> &Arc<Current> {
        &self.current
    }

    fn take_changes(&mut self) -> Vec<RulesChanged> {
        std::mem::take(&mut self.changes)
    }

    fn is_as_read(&self) -> bool {
        self.current.trouble.is_none() && self.document.is_as_read() && self.uses.is_as_read()
    }

    /// Reads again what moved, and leaves out the rules whose session went quiet meanwhile. What the system
    /// cannot read is no change.
    fn refresh(&mut self) {
        let uses = self.refresh_uses();
        match self.document.read_if_moved().and_then(|found| uses.map(|()| found)) {
            Ok(found) => {
                self.over_with_trouble();
                self.publish(found.map(|found| Read::of(&found)), Writer::AnotherProgram);
            }
            Err(error) => self.hold(&error),
        }
    }

    fn sweep(&mut self) {
        if let Err(error) = self.remove_what_is_left() {
            tracing::debug!(%error, "temporary files of the rules were not removed");
        }
    }

    fn has_uses(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn write_uses(&mut self) {
        if let Err(error) = self.flush() {
            tracing::debug!(%error, "uses of rules were not recorded");
        }
    }
}

impl RulesOwner {
    /// Looks for the first time. Writes nothing.
    pub(super) fn open(folders: &Folders, ports: Ports) -> Self {
        let document = WatchedFile::new(&folders.config, FILE_NAME, |bytes| understand(bytes).is_ok());
        let current = Arc::new(Current::missing(&document.path()));
        let mut owner = Self {
            document,
            uses: WatchedFile::new(&folders.state, USES_FILE_NAME, |bytes| uses::parse(bytes).is_ok()),
            ports,
            current,
            has_read: false,
            over: BTreeSet::new(),
            stored: Ok(Counts::new()),
            waiting: Counts::new(),
            changes: Vec::new(),
            patience: LOCK_PATIENCE,
        };
        owner.refresh();
        owner.changes.clear();
        owner
    }

    /// Holds what was read last, and says so.
    fn hold(&mut self, error: &io::Error) {
        let problem = format!("it cannot be read: {error}");
        if self.current.trouble.as_deref() != Some(problem.as_str()) {
            tracing::warn!(path = %self.document.path().display(), problem, "the rules cannot be read now");
        }
        let held = match self.has_read {
            true => Current::clone(&self.current),
            false => self.current.unreadable(problem.clone()),
        };
        self.current = Arc::new(Current { trouble: Some(problem), ..held });
    }

    fn over_with_trouble(&mut self) {
        if self.current.trouble.is_some() {
            self.current = Arc::new(Current { trouble: None, ..Current::clone(&self.current) });
        }
    }

    /// Removes what a crash left behind, and rules that have long been dead.
    pub(super) fn remove_what_is_left(&mut self) -> Result<(), RulesError> {
        let now_ms = self.now_ms();
        self.document.sweep(now_ms)?;
        self.uses.sweep(now_ms)?;
        let may_go = |rule: &dyn StoredRule| uses::may_go(rule, &self.current.counts, now_ms);
        if !self.current.document.as_ref().is_some_and(|document| document.every().any(may_go)) {
            return Ok(());
        }
        self.transact(Writer::Upkeep, |_, document| Ok((document.clone(), ())))
    }

    /// See [`super::RuleStore::edit`].
    pub(super) fn edit(&mut self, change: &RuleChange) -> Result<RuleEditResult, RulesError> {
        let mut result = self.transact(change.writer, |owner, document| {
            let found = &owner.current.hash;
            if let Some(expected) = change.base_hash.as_ref().filter(|expected| *expected != found) {
                return Err(RulesError::Stale { expected: expected.clone(), found: found.clone() });
            }
            let now_ms = owner.now_ms();
            let from = if change.writer == Writer::Answer { RuleOrigin::Answer } else { RuleOrigin::Typed };
            let real = |path: &Path| std::fs::canonicalize(path).ok();
            let stamp = NewRule { new_id: &mut || owner.ports.ids.uuid(), now_ms, from, real: &real };
            let edited = edit::apply(document, &change.edits, stamp)?;
            let loosenings = loosenings(document, &edited.document, now_ms);
            let applied = loosenings.is_empty() || change.looser == Looser::Confirmed;
            let (document, undo) =
                if applied { (edited.document, edited.undo) } else { (document.clone(), Vec::new()) };
            Ok((
                document,
                RuleEditResult { hash: String::new(), applied, loosenings, undo, comes: Vec::new() },
            ))
        })?;
        result.hash.clone_from(&self.current.hash);
        Ok(result)
    }

    /// See [`super::RuleStore::spend`].
    pub(super) fn spend(&mut self, ids: &[String]) -> Result<(), NotSpent> {
        self.refresh();
        let now_ms = self.now_ms();
        let ids: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
        if self.check_live(&ids, now_ms)? == Limited::No {
            self.note(&ids, now_ms);
            return Ok(());
        }
        let mut locked = self.uses.lock(self.patience)?;
        // What others counted or took away before this lock counts.
        self.take_uses(&locked.found);
        self.refresh();
        self.check_live(&ids, now_ms)?;
        let before = self.waiting.clone();
        self.note(&ids, now_ms);
        self.write_counts(&mut locked).map_err(|error| {
            // The rename may have happened: what is there now decides.
            self.waiting = before;
            self.refresh();
            NotSpent::Failed(error)
        })
    }

    /// Writes the uses that wait.
    pub(super) fn flush(&mut self) -> Result<(), RulesError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let mut locked = self.uses.lock(self.patience)?;
        self.take_uses(&locked.found);
        self.write_counts(&mut locked)
    }

    /// See [`super::RuleStore::reset`].
    pub(super) fn reset(&mut self) -> Result<PathBuf, RulesError> {
        let mut locked = self.document.lock(self.patience)?;
        self.publish(Some(Read::of(&locked.found)), Writer::AnotherProgram);
        if self.current.is_known() {
            return Err(RulesError::NothingToReset { path: self.document.path() });
        }
        let now_ms = self.now_ms();
        let aside = self.document.set_aside(&mut locked, now_ms)?;
        self.write_document(&locked, &RuleDocument::empty(), Writer::Window)?;
        Ok(aside)
    }

    /// Runs `decide` on the document as it is under the lock, and writes what it makes of it. Starts over
    /// when an editor saved in between.
    fn transact<T>(
        &mut self,
        writer: Writer,
        decide: impl Fn(&Self, &RuleDocument) -> Result<(RuleDocument, T), RulesError>,
    ) -> Result<T, RulesError> {
        let mut tries = 1;
        loop {
            let locked = self.document.lock(self.patience)?;
            self.refresh_uses().map_err(|source| self.uses.io("read", source))?;
            self.publish(Some(Read::of(&locked.found)), Writer::AnotherProgram);
            let current = Arc::clone(&self.current);
            let Some(before) = &current.document else { return Err(unusable(&current)) };
            let (mut after, result) = decide(self, before)?;
            if after == *before && writer != Writer::Upkeep {
                return Ok(result);
            }
            let now_ms = self.now_ms();
            after.rules.retain(|rule| !uses::may_go(rule, &current.counts, now_ms));
            after.calls.retain(|rule| !uses::may_go(rule, &current.counts, now_ms));
            after.workspaces.retain(|rule| !uses::may_go(rule, &current.counts, now_ms));
            match self.write_document(&locked, &after, writer) {
                Err(RulesError::Disturbed { .. }) if tries < WRITE_TRIES => tries += 1,
                written => return written.map(|()| result),
            }
        }
    }

    fn write_document(
        &mut self,
        locked: &Locked,
        document: &RuleDocument,
        writer: Writer,
    ) -> Result<(), RulesError> {
        let mut bytes =
            serde_json::to_vec_pretty(document).map_err(|error| self.document.io("write", error.into()))?;
        bytes.push(b'\n');
        // Never write what could not be read back.
        understand(&bytes).map_err(|problem| RulesError::Unreadable {
            path: self.document.path(),
            problem: problem.to_string(),
        })?;
        let written = self.document.replace(locked, &bytes, Backup::Keep, &self.ports);
        // Also after an error: the rename may have happened, and what is there now decides.
        let disturbed = matches!(written, Err(RulesError::Disturbed { .. }));
        match self.document.read_if_moved() {
            Ok(found) => {
                let read = found.map(|found| Read::of(&found));
                self.publish(read, if disturbed { Writer::AnotherProgram } else { writer });
            }
            Err(error) => self.hold(&error),
        }
        written
    }

    /// Adds the uses that wait to those on disk. Counts that were lost start over with nothing
    /// left of any rule.
    fn write_counts(&mut self, locked: &mut Locked) -> Result<(), RulesError> {
        let Some(document) = self.current.document.clone() else { return Err(unusable(&self.current)) };
        let now_ms = self.now_ms();
        let mut counts = match &self.stored {
            Ok(counts) => counts.clone(),
            Err(problem) => {
                let path = self.uses.path();
                tracing::warn!(%problem, path = %path.display(), "lost the uses of rules; those with a number of uses end");
                self.uses.set_aside(locked, now_ms)?;
                uses::all_spent(&document, now_ms)
            }
        };
        uses::add(&mut counts, &self.waiting);
        uses::forget_gone(&mut counts, &document, now_ms);
        let bytes = uses::serialise(&counts).map_err(|error| self.uses.io("write", error.into()))?;
        self.uses.replace(locked, &bytes, Backup::Skip, &self.ports)?;
        self.stored = Ok(counts);
        self.waiting.clear();
        self.publish(None, Writer::Upkeep);
        Ok(())
    }

    /// Counts that cannot be read now are not lost.
    fn refresh_uses(&mut self) -> io::Result<()> {
        if let Some(found) = self.uses.read_if_moved()? {
            self.take_uses(&found);
        }
        Ok(())
    }

    fn take_uses(&mut self, found: &Found) {
        self.stored = match found {
            Found::Nothing => Ok(Counts::new()),
            Found::Refused { problem } => Err(Lost::Refused(problem.clone())),
            Found::Bytes { bytes, .. } => uses::parse(bytes).map_err(Lost::NotUnderstood),
        };
    }

    /// Whether a number of uses is among what these rules are bound by. All of them must count.
    fn check_live(&self, ids: &BTreeSet<&str>, now_ms: i64) -> Result<Limited, NotSpent> {
        let mut limited = Limited::No;
        for id in ids {
            let commands = self.current.index.rules().iter().map(|rule| rule as &dyn StoredRule);
            let document = self.current.document.iter();
            let others = document.flat_map(RuleDocument::every);
            let live = commands.chain(others).find(|rule| {
                rule.id() == *id && uses::state(*rule, &self.current.counts, now_ms) == RuleState::Live
            });
            let rule = live.ok_or_else(|| NotSpent::Dead { id: (*id).to_owned() })?;
            if rule.limits().uses.is_some() {
                limited = Limited::Yes;
            }
        }
        Ok(limited)
    }

    /// Notes one use of each rule of the document; rules of presets are not counted.
    fn note(&mut self, ids: &BTreeSet<&str>, now_ms: i64) {
        let Some(document) = &self.current.document else { return };
        let own = document.every().filter(|rule| ids.contains(rule.id()));
        let one = Count { uses: 1, last_used_at_ms: now_ms };
        let used: Counts = own.map(|rule| (rule.id().to_owned(), one)).collect();
        uses::add(&mut self.waiting, &used);
        self.publish(None, Writer::Upkeep);
    }

    /// Makes what was read current, if anything is different, and notes who changed it.
    fn publish(&mut self, read: Option<Read>, writer: Writer) {
        let now_ms = self.now_ms();
        let had_read = self.has_read;
        self.has_read |= read.is_some();
        let read = read.unwrap_or_else(|| Read {
            state: self.current.state.clone(),
            hash: self.current.hash.clone(),
            document: self.current.document.clone(),
        });
        let same = self.current.state == read.state && self.current.hash == read.hash;
        let counts = self.counts(read.document.as_ref(), now_ms);
        let over = over(read.document.as_ref(), &counts, now_ms);
        if same && counts == self.current.counts && over == self.over {
            return;
        }
        let index = if same && over == self.over {
            Arc::clone(&self.current.index)
        } else {
            Arc::new(index(read.document.as_ref(), &over))
        };
        let uses = counts.iter().map(|(id, count)| (id.clone(), count.uses)).collect();
        let Read { state, hash, document } = read;
        let trouble = self.current.trouble.clone();
        let next =
            Current { path: self.document.path(), state, hash, document, index, counts, uses, trouble };
        let before = std::mem::replace(&mut self.current, Arc::new(next));
        self.over = over;
        if !same && had_read {
            self.changes.push(RulesChanged { writer, before, after: Arc::clone(&self.current) });
        }
    }

    /// Uses on disk and those that wait.
    fn counts(&self, document: Option<&RuleDocument>, now_ms: i64) -> Counts {
        let mut counts = match (&self.stored, document) {
            (Ok(stored), _) => stored.clone(),
            (Err(_), Some(document)) => uses::all_spent(document, 0),
            (Err(_), None) => Counts::new(),
        };
        uses::add(&mut counts, &self.waiting);
        if let Some(document) = document {
            uses::forget_gone(&mut counts, document, now_ms);
        }
        counts
    }

    fn now_ms(&self) -> i64 {
        self.ports.clock.now_ms()
    }

    /// For tests that hold a lock.
    #[cfg(test)]
    pub(super) fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

/// Whether a number of uses is among what rules are bound by.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Limited {
    Yes,
    No,
}

impl Read {
    fn of(found: &Found) -> Self {
        let bytes = match found {
            Found::Nothing => {
                let document = Some(RuleDocument::empty());
                return Self { state: RulesState::Missing, hash: hash(None), document };
            }
            Found::Refused { problem } => {
                let state = RulesState::Unreadable { problem: problem.clone() };
                return Self { state, hash: hash(None), document: None };
            }
            Found::Bytes { bytes, .. } => bytes,
        };
        let (state, document) = match understand(bytes) {
            Ok(document) => (RulesState::Ready, Some(document)),
            Err(problem) => (RulesState::Unreadable { problem: problem.to_string() }, None),
        };
        Self { state, hash: hash(Some(bytes)), document }
    }
}

/// What bytes say, or what is wrong with them. A single rule that makes no sense makes the whole document
/// unusable: it could be one that refuses.
pub(super) fn understand(bytes: &[u8]) -> Result<RuleDocument, NotUnderstood> {
    let document: RuleDocument = serde_json::from_slice(bytes)?;
    if document.version != VERSION {
        return Err(NotUnderstood::Version { expected: VERSION, got: document.version });
    }
    edit::check(&document)?;
    Ok(document)
}

/// Why the counts on disk are lost.
#[derive(Debug, thiserror::Error)]
enum Lost {
    /// What lies there is no file of ours.
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    NotUnderstood(NotUnderstood),
}

fn unusable(current: &Current) -> RulesError {
    let problem = match &current.state {
        RulesState::Unreadable { problem } => problem.clone(),
        RulesState::Missing | RulesState::Ready => "it is not known".to_owned(),
    };
    RulesError::Unreadable { path: current.path.clone(), problem }
}

/// Ids of the rules whose session is over.
fn over(document: Option<&RuleDocument>, counts: &Counts, now_ms: i64) -> BTreeSet<String> {
    let rules = document.into_iter().flat_map(RuleDocument::every);
    let over = rules.filter(|rule| {
        rule.limits().session.is_some() && uses::state(*rule, counts, now_ms) == RuleState::SessionOver
    });
    over.map(|rule| rule.id().to_owned()).collect()
}

/// The rules that may count: the person's own in their order, then those of presets. A preset that this
/// version does not know allows nothing.
fn index(document: Option<&RuleDocument>, over: &BTreeSet<String>) -> RuleIndex {
    let Some(document) = document else { return RuleIndex::default() };
    let own = document.rules.iter().filter(|rule| !over.contains(&rule.id)).cloned();
    let on = PRESETS.iter().filter(|preset| document.presets.iter().any(|name| name == preset.name));
    RuleIndex::new(own.chain(on.flat_map(|preset| preset.rules(0))).collect())
}
