//! What runs in boxes changed, as the windows show it, and putting it back.

use super::{Desk, blocking, invalid};
use countersign_approvals::history;
use countersign_keep::{Change, How, Side, Version, Why};
use countersign_node::host::NotKept;
use countersign_policy::display::{self, Secrets};
use countersign_protocol::history::{HistoryEntry, HistoryEvent, KeptSpan, PutBack};
use countersign_protocol::shown::Shown;
use countersign_protocol::ui::{
    CommandError, ErrorCode, KEPT_CHANGES, KeptChange, KeptChanges, KeptConflict, KeptDiff, KeptHow,
    KeptParams, KeptSide, KeptWhy, PutBackResult,
};
use countersign_questions::tools::hunks_view;
use countersign_tools::files::Diff;
use std::path::{Path, PathBuf};

impl Desk {
    /// What changed by a line of the history, the first [`KEPT_CHANGES`] of it.
    pub async fn kept_changes(&self, seq: u64) -> Result<KeptChanges, CommandError> {
        let (span, _) = self.span(seq).await?;
        let changes = self.inner.parts.host.kept_changes(&span).await.map_err(not_kept)?;
        let more = number(changes.len().saturating_sub(KEPT_CHANGES));
        let changes = changes.iter().take(KEPT_CHANGES).enumerate();
        Ok(KeptChanges {
            changes: changes.map(|(index, change)| view(number(index), change)).collect(),
            more,
        })
    }

    /// What differs by one of these changes.
    pub async fn kept_diff(&self, params: KeptParams) -> Result<KeptDiff, CommandError> {
        let change =
            params.change.ok_or_else(|| super::error(ErrorCode::Invalid, "change: expected a number"))?;
        let (span, _) = self.span(params.seq).await?;
        let versions = self.inner.parts.host.kept_versions(&span, change).await.map_err(not_kept)?;
        let text = |version: &Version| match version {
            Version::Text(text) => Some(text.clone()),
            Version::Absent => Some(String::new()),
            _ => None,
        };
        Ok(match (text(&versions.before), text(&versions.after)) {
            (Some(before), Some(after)) => {
                let diff = Diff::of_texts(&before, &after);
                KeptDiff::Text { hunks: hunks_view(&diff), complete: diff.is_complete() }
            }
            _ => KeptDiff::Other { before: side(&versions.before), after: side(&versions.after) },
        })
    }

    /// Puts back what changed by a line of the history: one change, or all of them.
    pub async fn put_back(&self, params: KeptParams) -> Result<PutBackResult, CommandError> {
        let (span, of) = self.span(params.seq).await?;
        let restored = self.inner.parts.host.put_back(&span, params.change, of).await.map_err(not_kept)?;
        let conflict = |(path, why): &(PathBuf, Why)| KeptConflict { path: at(path), why: reason(why) };
        Ok(PutBackResult {
            put: number(restored.put.len()),
            conflicts: restored.conflicts.iter().take(KEPT_CHANGES).map(conflict).collect(),
            more: number(restored.conflicts.len().saturating_sub(KEPT_CHANGES)),
        })
    }

    /// What a line of the history says of changes, and what another line says of it when it is put back from here.
    async fn span(&self, seq: u64) -> Result<(KeptSpan, PutBack), CommandError> {
        let dir = self.inner.parts.history_places.lines.clone();
        let page = blocking(move || history::page(&dir, Some(seq.saturating_add(1)), 1)).await?;
        match page.entries.into_iter().next() {
            Some(HistoryEntry {
                seq: found,
                at_ms,
                request_id,
                event: HistoryEvent::Changes { changes, .. },
                ..
            }) if found == seq => {
                Ok((changes, PutBack { by: super::WINDOW.to_owned(), seq, at_ms, request_id }))
            }
            _ => Err(super::error(ErrorCode::Invalid, "the history has no such line about changes")),
        }
    }
}

fn view(number: u32, change: &Change) -> KeptChange {
    let bytes = |side: &Option<Side>| side.as_ref().map(|side| side.size);
    let (how, from) = match &change.how {
        How::Made => (KeptHow::Made, None),
        How::Changed => (KeptHow::Changed, None),
        How::Deleted => (KeptHow::Deleted, None),
        How::Moved { from } => (KeptHow::Moved, Some(at(from))),
    };
    KeptChange {
        number,
        path: at(&change.path),
        from,
        how,
        before: bytes(&change.before),
        after: bytes(&change.after),
        returns: change.before.as_ref().is_none_or(|side| side.not_kept.is_none()),
    }
}

fn side(version: &Version) -> KeptSide {
    match version {
        Version::Absent => KeptSide::Absent,
        Version::Text(_) => KeptSide::Text,
        Version::Binary { size } => KeptSide::Binary { bytes: *size },
        Version::TooLarge { size } => KeptSide::TooLarge { bytes: *size },
        Version::Link(target) => KeptSide::Link { target: at(target) },
        Version::Folder => KeptSide::Folder,
        Version::NotKept { .. } => KeptSide::NotKept,
        Version::Damaged => KeptSide::Damaged,
    }
}

fn reason(why: &Why) -> KeptWhy {
    match why {
        Why::Cancelled => KeptWhy::Cancelled,
        Why::Changed => KeptWhy::Changed,
        Why::Damaged => KeptWhy::Damaged,
        Why::NotEmpty => KeptWhy::NotEmpty,
        Why::NotKept(_) => KeptWhy::NotKept,
        Why::Protected => KeptWhy::Protected,
        Why::System(error) => KeptWhy::System { said: plain(&error.to_string()) },
        other => KeptWhy::System { said: plain(&format!("{other:?}")) },
    }
}

fn not_kept(error: NotKept) -> CommandError {
    match error {
        NotKept::NoChange { .. } | NotKept::NoFolder => invalid(&error),
        error => super::error(ErrorCode::Internal, error.to_string()),
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn at(path: &Path) -> Shown {
    plain(&path.to_string_lossy())
}

fn plain(text: &str) -> Shown {
    display::shown(text, Secrets::Show)
}
