//! What the history is told of the document and the rules, and what it was told last. That is kept, so that a
//! change made while no app runs, or a file that goes meanwhile, is told at the next start.

use crate::paths::Paths;
use crate::private::{self, Others};
use countersign_approvals::rules::{self, RulesChanged, loosenings};
use countersign_approvals::store::{self, Changed, Writer};
use countersign_policy::{display, document};
use countersign_protocol::document::Document;
use countersign_protocol::edits::Loosening;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::rule_edits::RulesState;
use countersign_protocol::rules::RuleDocument;
use countersign_protocol::state::StoreState;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The two notes.
#[derive(Clone, Debug)]
pub struct KnownVersions {
    document: PathBuf,
    rules: PathBuf,
}

/// What changed since the notes were written.
#[derive(Debug, Default)]
pub struct Meanwhile {
    /// Of the approvals document.
    pub document: Option<Changed>,
    /// Of the rules.
    pub rules: Option<RulesChanged>,
}

/// One note: what was there, with the hash that the history named it by.
#[derive(Deserialize, Serialize)]
struct Note<T> {
    hash: String,
    /// `None` when there was no file.
    document: Option<T>,
}

impl KnownVersions {
    /// The notes in these folders.
    pub fn of(paths: &Paths) -> Self {
        Self { document: paths.known_document(), rules: paths.known_rules() }
    }

    /// How document and rules differ from the notes. What has no note yet gets its first one, and what cannot
    /// be used is compared once it can. Blocking: two small files.
    pub fn meanwhile(&self, document: &Arc<store::Current>, rules: &Arc<rules::Current>) -> Meanwhile {
        let changed_document = match read::<Map<String, Value>>(&self.document) {
            Some(note) => document_changed(note, document),
            None => {
                self.note_document(document);
                None
            }
        };
        let changed_rules = match read::<RuleDocument>(&self.rules) {
            Some(note) => rules_changed(note, rules),
            None => {
                self.note_rules(rules);
                None
            }
        };
        Meanwhile { document: changed_document, rules: changed_rules }
    }

    /// Notes that the history was told of this document. One that cannot be used leaves the note of the last
    /// that could. Blocking.
    pub fn note_document(&self, current: &store::Current) {
        if is_usable(current) {
            let document = current.document.as_ref().map(|document| document::redacted(document).0);
            write(&self.document, &Note { hash: current.hash.clone(), document });
        }
    }

    /// The same of the rules.
    pub fn note_rules(&self, current: &rules::Current) {
        if are_usable(current) {
            write(&self.rules, &Note { hash: current.hash.clone(), document: current.document.as_ref() });
        }
    }

    /// Notes a change that was told by whoever made it without an app, if it began at what was known: else
    /// the next start tells the whole difference. Blocking.
    pub fn document_moved(&self, before: &store::Current, after: &store::Current) {
        let is_known = read::<Map<String, Value>>(&self.document)
            .is_some_and(|note| differs(note.document.as_ref(), before).is_none());
        if is_known {
            self.note_document(after);
        }
    }

    /// The same of the rules.
    pub fn rules_moved(&self, before: &rules::Current, after: &rules::Current) {
        if read::<RuleDocument>(&self.rules).is_some_and(|note| note.hash == before.hash) {
            self.note_rules(after);
        }
    }
}

fn is_usable(current: &store::Current) -> bool {
    current.trouble.is_none() && matches!(current.state, StoreState::Ready | StoreState::Missing)
}

fn are_usable(current: &rules::Current) -> bool {
    current.trouble.is_none() && matches!(current.state, RulesState::Ready | RulesState::Missing)
}

/// The noted document, when the current one can be used and says something else.
fn differs(noted: Option<&Map<String, Value>>, current: &store::Current) -> Option<Option<Document>> {
    if !is_usable(current) {
        return None;
    }
    let noted = noted.cloned().map(Document);
    let is_same = match (&noted, &current.document) {
        (Some(noted), Some(now)) => document::differ_in_uses_only(noted, &document::redacted(now)),
        (None, None) => true,
        _ => false,
    };
    (!is_same).then_some(noted)
}

fn document_changed(note: Note<Map<String, Value>>, current: &Arc<store::Current>) -> Option<Changed> {
    let document = differs(note.document.as_ref(), current)?;
    let state = if document.is_some() { StoreState::Ready } else { StoreState::Missing };
    let before = store::Current { state, hash: note.hash, document, ..store::Current::clone(current) };
    Some(Changed { writer: Writer::AnotherProgram, before: Arc::new(before), after: Arc::clone(current) })
}

fn rules_changed(note: Note<RuleDocument>, current: &Arc<rules::Current>) -> Option<RulesChanged> {
    if !are_usable(current) || note.document == current.document {
        return None;
    }
    let (hash, document) = (note.hash, note.document);
    let before = rules::Current { hash, document, ..rules::Current::clone(current) };
    Some(RulesChanged {
        writer: Writer::AnotherProgram,
        before: Arc::new(before),
        after: Arc::clone(current),
    })
}

/// `None` when there is no note, or one that says nothing: then the next one begins anew.
fn read<T: DeserializeOwned>(path: &Path) -> Option<Note<T>> {
    let text = private::read(path, NOTE_BYTES, Others::MayNothing);
    let text =
        text.inspect_err(|error| tracing::warn!(path = %path.display(), %error, "a note cannot be read"));
    serde_json::from_str(text.ok().flatten()?.as_str())
        .inspect_err(|error| tracing::warn!(path = %path.display(), %error, "a note makes no sense"))
        .ok()
}

fn write<T: Serialize>(path: &Path, note: &Note<T>) {
    let written = serde_json::to_vec(note).map_err(Into::into).and_then(|bytes| private::write(path, &bytes));
    if let Err(error) = written {
        tracing::warn!(path = %path.display(), %error, "a note was not written; the next start tells this change again");
    }
}

/// Largest note that is read, in bytes: twice the largest document, for the escapes of JSON.
const NOTE_BYTES: u64 = 8 * 1024 * 1024;

/// A change of the document as the history records it.
pub fn document_event(changed: &Changed) -> HistoryEvent {
    let loosenings = match (&changed.before.document, &changed.after.document) {
        (Some(before), Some(after)) => document::loosenings(before, after),
        (None, Some(after)) => document::loosenings(&document::empty(), after),
        (Some(before), None) if changed.after.state == StoreState::Missing => {
            document::loosenings(before, &document::empty())
        }
        (_, None) => Vec::new(),
    };
    HistoryEvent::Document {
        writer: writer(changed.writer).to_owned(),
        store: None,
        before: changed.before.hash.clone(),
        after: changed.after.hash.clone(),
        loosenings: loosenings
            .into_iter()
            .map(|mut loosening| {
                loosening.to = display::escape(&loosening.to);
                loosening
            })
            .collect(),
    }
}

/// A change of the rules as the history records it.
pub fn rules_event(changed: &RulesChanged, now_ms: i64) -> HistoryEvent {
    let loosenings = match (&changed.before.document, &changed.after.document) {
        (Some(before), Some(after)) => loosenings(before, after, now_ms),
        (None, Some(after)) => loosenings(&RuleDocument::empty(), after, now_ms),
        (_, None) => Vec::new(),
    };
    HistoryEvent::Rules {
        writer: writer(changed.writer).to_owned(),
        before: changed.before.hash.clone(),
        after: changed.after.hash.clone(),
        loosenings: escaped(loosenings),
    }
}

fn writer(writer: Writer) -> &'static str {
    match writer {
        Writer::Answer => "answer",
        Writer::AnotherProgram => "another-program",
        Writer::CommandLine => "command-line",
        Writer::FirstRun => "first-run",
        Writer::Gateway => "gateway",
        Writer::Upkeep => "upkeep",
        Writer::Window => "window",
    }
}

/// Rules can carry words of a command, and an agent chose those.
pub fn escaped(mut loosenings: Vec<Loosening>) -> Vec<Loosening> {
    for loosening in &mut loosenings {
        for text in [&mut loosening.scope, &mut loosening.from, &mut loosening.to] {
            *text = display::escape(text);
        }
    }
    loosenings
}
