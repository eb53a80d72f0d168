//! Approvals documents of other gateways and of their nodes for windows: shown and edited as this machine's
//! own is. What loosens is written only when the person confirmed it, and what was written is in the history.

use super::{Desk, error, invalid, status};
use countersign_peers::connections::{Content, Fetched, FileContent, NotWritten};
use countersign_policy::effective::{BUILT_IN, Effective};
use countersign_policy::{display, document, meaning};
use countersign_protocol::document::Document;
use countersign_protocol::edits::{DocumentView, EditResult, EffectiveView, Loosening};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::meaning::Refusals;
use countersign_protocol::state::StoreState;
use countersign_protocol::ui::{
    CommandError, ErrorCode, PolicyAccess, PolicyEditParams, PolicyPlace, PolicyPreviewParams, PolicyRead,
    PolicyReadOnly, PolicyStores,
};
use std::collections::BTreeMap;

/// What windows were shown last, so that an edit made from it can be told from one that is out of date.
#[derive(Default)]
pub(super) struct Shown(BTreeMap<PolicyPlace, LastSeen>);

/// One document as it was shown.
#[derive(Clone)]
struct LastSeen {
    hash: String,
    document: Document,
    built_in: Effective,
}

impl Shown {
    fn note(&mut self, place: &PolicyPlace, hash: &str, document: &Document, built_in: Effective) {
        if self.0.len() >= MAX_SHOWN && !self.0.contains_key(place) {
            // Forgetting one costs somebody a second look at most.
            self.0.pop_first();
        }
        let seen = LastSeen { hash: hash.to_owned(), document: document.clone(), built_in };
        self.0.insert(place.clone(), seen);
    }

    /// Whether what was shown under this hash says the same as what is there now, but for uses of entries: a
    /// busy machine notes those all the time.
    fn is_current(&self, place: &PolicyPlace, hash: &str, now: &Document) -> bool {
        let shown = self.0.get(place).filter(|shown| shown.hash == hash);
        shown.is_some_and(|shown| document::differ_in_uses_only(&shown.document, now))
    }
}

impl Desk {
    /// Every document of another machine that is known of.
    pub async fn policies(&self) -> PolicyStores {
        self.inner.parts.connections.policies().await
    }

    /// What one of them says now.
    pub async fn policy(&self, place: &PolicyPlace) -> PolicyRead {
        match self.inner.parts.connections.policy(place).await {
            Ok(fetched) => self.read(place, fetched),
            Err(access) => unavailable(access),
        }
    }

    /// What would be in force for every agent with these edits, in this machine's document or in one that was
    /// shown. Nothing is written.
    pub fn preview(&self, params: &PolicyPreviewParams) -> Result<Vec<EffectiveView>, CommandError> {
        let parts = &self.inner.parts;
        let (document, built_in) = match &params.place {
            None => (parts.store.current().document.clone().unwrap_or_else(document::empty), BUILT_IN),
            Some(place) => {
                let shown = self.live().policies.0.get(place).cloned();
                let shown = shown.ok_or_else(|| error(ErrorCode::Gone, "this document was not read yet"))?;
                (shown.document, shown.built_in)
            }
        };
        // The ids of new entries are seen by nobody.
        let edited = document::apply(&document, &params.edits, &mut || String::from("preview"));
        let edited = edited.map_err(|failure| invalid(&failure))?.document;
        let rules = parts.rules.current();
        let here = |agent: &str| status::refused(&rules, agent, self.now_ms());
        let (_, effective) = match &params.place {
            None => meaning::views_over(&edited, &built_in, &here),
            Some(_) => meaning::views_over(&edited, &built_in, &|_| Refusals::None),
        };
        Ok(effective)
    }

    /// Changes one of them from a window. What loosens, or may loosen, comes back unapplied until
    /// it is confirmed.
    pub async fn edit_policy(&self, params: PolicyEditParams) -> Result<EditResult, CommandError> {
        let PolicyEditParams { place, base_hash, edits, confirmed } = params;
        let fetched =
            self.inner.parts.connections.policy(&place).await.map_err(|access| no_document(&access))?;
        let (file, hash, before) = editable(&fetched)?;
        if *hash != base_hash && !self.live().policies.is_current(&place, &base_hash, before) {
            return Err(stale());
        }
        let mut ids = || self.inner.parts.ports.ids.uuid();
        let edited = document::apply(before, &edits, &mut ids).map_err(|failure| invalid(&failure))?;
        let found = file.built_in.loosenings(before, &edited.document);
        let loosenings = meaning::with_fates(&edited.document, &file.built_in.loosest(), found);
        let result = |hash, applied, loosenings, undo| EditResult {
            hash,
            applied,
            loosenings,
            impact: None,
            undo,
            comes: Vec::new(),
        };
        if !loosenings.is_empty() && !confirmed {
            return Ok(result(hash.clone(), false, loosenings, Vec::new()));
        }
        if edited.document == *before {
            return Ok(result(hash.clone(), true, loosenings, edited.undo));
        }
        let written = fetched.replace(&edited.document, hash).await;
        if let Ok(_) | Err(NotWritten::Unknown(_)) = &written {
            let after = written.as_ref().ok().cloned().flatten().unwrap_or_default();
            self.policy_changed(&fetched.name, hash, &after, &loosenings).await;
        }
        match written {
            Ok(after) => Ok(result(after.unwrap_or_default(), true, loosenings, edited.undo)),
            Err(NotWritten::Stale) => Err(stale()),
            Err(failure @ NotWritten::TooLarge { .. }) => Err(invalid(&failure)),
            Err(failure) => Err(error(ErrorCode::Store, format!("{}: {failure}", fetched.name))),
        }
    }

    fn read(&self, place: &PolicyPlace, fetched: Fetched) -> PolicyRead {
        let nothing = unavailable(PolicyAccess::Open);
        let file = match fetched.content {
            Content::File(file) => *file,
            Content::Native(native) => {
                return PolicyRead {
                    read_only: Some(PolicyReadOnly::Native),
                    native: Some(native),
                    ..nothing
                };
            }
            Content::Disabled(text) => {
                return PolicyRead { read_only: Some(PolicyReadOnly::Disabled { text }), ..nothing };
            }
        };
        let current = self.inner.parts.store.current();
        let is_local = fetched.is_loopback
            && file.hash.as_deref() == Some(current.hash.as_str())
            && file.path == current.path.display().to_string();
        let state = match &file.document {
            Err(problem) => StoreState::Unreadable { problem: display::escape(&problem.to_string()) },
            Ok(_) if file.exists => StoreState::Ready,
            Ok(_) => StoreState::Missing,
        };
        if let (Some(hash), Ok(document)) = (&file.hash, &file.document) {
            self.live().policies.note(place, hash, document, file.built_in.loosest());
        }
        let nobody = document::empty();
        let document = file.document.as_ref().unwrap_or(&nobody);
        let (scopes, effective) =
            meaning::views_over(document, &file.built_in.loosest(), &|_| Refusals::None);
        let read_only = match &file.hash {
            None => Some(PolicyReadOnly::NoHash),
            Some(_) if !fetched.takes_changes => Some(PolicyReadOnly::NotTaken),
            Some(_) => None,
        };
        PolicyRead {
            document: Some(DocumentView {
                path: display::escape(&file.path),
                state,
                hash: file.hash.clone().unwrap_or_default(),
                scopes,
                effective,
                beside: None,
            }),
            read_only,
            built_in_known: file.built_in.is_known(),
            is_local,
            ..nothing
        }
    }

    async fn policy_changed(&self, store: &str, before: &str, after: &str, loosenings: &[Loosening]) {
        let event = HistoryEvent::Document {
            writer: super::WINDOW.to_owned(),
            store: Some(store.to_owned()),
            before: display::escape(before),
            after: display::escape(after),
            loosenings: loosenings.to_vec(),
        };
        if let Err(error) = self.inner.parts.history.append(None, event).await {
            tracing::error!(%error, store, "a change of a document could not be written to the history");
        }
    }
}

/// The document, its hash and what it says, if it can be changed from here.
fn editable(fetched: &Fetched) -> Result<(&FileContent, &String, &Document), CommandError> {
    let refused = |why: String| error(ErrorCode::Store, format!("{}: {why}", fetched.name));
    let Content::File(file) = &fetched.content else {
        return Err(refused("its rules can only be looked at from here".to_owned()));
    };
    let document =
        file.document.as_ref().map_err(|problem| refused(display::escape(&problem.to_string())))?;
    let hash =
        file.hash.as_ref().ok_or_else(|| refused("it tells no hash, so nothing is written".to_owned()))?;
    if !fetched.takes_changes {
        return Err(refused("it takes no other document".to_owned()));
    }
    Ok((file, hash, document))
}

fn unavailable(access: PolicyAccess) -> PolicyRead {
    PolicyRead {
        access,
        document: None,
        read_only: None,
        native: None,
        built_in_known: true,
        is_local: false,
    }
}

fn stale() -> CommandError {
    error(ErrorCode::Stale, "the document changed since it was read")
}

/// An edit that came to no document. The window reads again and tells the same with what helps.
fn no_document(access: &PolicyAccess) -> CommandError {
    let text = match access {
        PolicyAccess::Open | PolicyAccess::Gone => "there is no such gateway or node any more".to_owned(),
        PolicyAccess::Off | PolicyAccess::NotConnected => {
            "it is not connected; nothing was written".to_owned()
        }
        PolicyAccess::NotPermitted => {
            "the connection does not hold operator.admin; nothing was written".to_owned()
        }
        PolicyAccess::NotOffered => "the node does not offer its document".to_owned(),
        PolicyAccess::Refused { text } => format!("it refused: {text}"),
        PolicyAccess::NoAnswer { seconds } => format!("no answer within {seconds} s; nothing was written"),
        PolicyAccess::Malformed { text } => format!("what came is no document: {text}"),
    };
    error(ErrorCode::Store, text)
}

/// Documents that are remembered as they were shown; each may take a megabyte.
const MAX_SHOWN: usize = 16;

#[cfg(test)]
mod tests;
