//! What runs in boxes changed, as the windows show it, and putting it back.

use super::{Desk, blocking, invalid};
use countersign_approvals::history::{self, SessionLine, SessionLines};
use countersign_keep::{Change, Deed, How, Limits, Part, Side, Span, Spans, Version, Why};
use countersign_node::host::{NotKept, read_span};
use countersign_policy::display::{self, Secrets};
use countersign_protocol::history::{HistoryEntry, HistoryEvent, PutBack, PutBackSession};
use countersign_protocol::shown::Shown;
use countersign_protocol::ui::{
    CommandError, ErrorCode, KEPT_CHANGES, KeptChange, KeptChanges, KeptConflict, KeptDiff, KeptHow,
    KeptParams, KeptRange, KeptSession, KeptSide, KeptWhy, PutBackResult,
};
use countersign_questions::tools::hunks_view;
use countersign_tools::files::Diff;
use std::path::{Path, PathBuf};

/// Lines of the history as what they mean: what happened, and what another line says of it when it is
/// put back from here.
struct Meant {
    spans: Spans,
    of: PutBack,
}

impl Desk {
    /// What changed by a line of the history, the first [`KEPT_CHANGES`] of it.
    pub async fn kept_changes(&self, seq: u64) -> Result<KeptChanges, CommandError> {
        let Meant { spans, .. } = self.line(seq).await?;
        Ok(listed(&self.inner.parts.host.kept_changes(&spans).await.map_err(not_kept)?))
    }

    /// What the session of the run of such a line changed in that folder, in all its runs that are kept.
    pub async fn kept_session(&self, seq: u64) -> Result<KeptSession, CommandError> {
        let Session { meant, lost, since_ms, range } = self.session(seq, None).await?;
        let changes = self.inner.parts.host.kept_changes(&meant.spans).await.map_err(not_kept)?;
        let count =
            |wanted: fn(&How) -> bool| number(changes.iter().filter(|change| wanted(&change.how)).count());
        Ok(KeptSession {
            folder: display::escape(&meant.spans.workspace().to_string_lossy()),
            range,
            lost,
            since_ms,
            made: count(|how| matches!(how, How::Made)),
            changed: count(|how| matches!(how, How::Changed | How::Moved { .. })),
            deleted: count(|how| matches!(how, How::Deleted)),
            listed: listed(&changes),
        })
    }

    /// What differs by one of these changes.
    pub async fn kept_diff(&self, params: KeptParams) -> Result<KeptDiff, CommandError> {
        let change =
            params.change.ok_or_else(|| super::error(ErrorCode::Invalid, "change: expected a number"))?;
        let Meant { spans, .. } = self.meant(params).await?;
        let versions = self.inner.parts.host.kept_versions(&spans, change).await.map_err(not_kept)?;
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

    /// Puts back what changed by a line of the history, or by all runs of its session: one
    /// change, or all of them.
    pub async fn put_back(&self, params: KeptParams) -> Result<PutBackResult, CommandError> {
        self.put_back_by(params, super::WINDOW).await
    }

    /// The same, wanted by whoever is named so.
    pub(crate) async fn put_back_by(
        &self,
        params: KeptParams,
        by: &str,
    ) -> Result<PutBackResult, CommandError> {
        let Meant { spans, of } = self.meant(params).await?;
        let of = PutBack { by: by.to_owned(), ..of };
        let restored = self.inner.parts.host.put_back(&spans, params.change, of).await.map_err(not_kept)?;
        let conflict = |(path, why): &(PathBuf, Why)| KeptConflict { path: at(path), why: reason(why) };
        Ok(PutBackResult {
            put: number(restored.put.len()),
            conflicts: restored.conflicts.iter().take(KEPT_CHANGES).map(conflict).collect(),
            more: number(restored.conflicts.len().saturating_sub(KEPT_CHANGES)),
        })
    }

    async fn meant(&self, KeptParams { seq, session, .. }: KeptParams) -> Result<Meant, CommandError> {
        match session {
            None => self.line(seq).await,
            Some(range) => Ok(self.session(seq, Some(range)).await?.meant),
        }
    }

    async fn line(&self, seq: u64) -> Result<Meant, CommandError> {
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
                let spans = read_span(&changes).map_err(not_kept)?.into();
                let of = PutBack { by: super::WINDOW.to_owned(), seq, at_ms, request_id, session: None };
                Ok(Meant { spans, of })
            }
            _ => Err(super::error(ErrorCode::Invalid, "the history has no such line about changes")),
        }
    }

    /// The session of a line's run: of its lines those of the range, where there is one, and of these
    /// all that are kept.
    async fn session(&self, seq: u64, range: Option<KeptRange>) -> Result<Session, CommandError> {
        let dir = self.inner.parts.history_places.lines.clone();
        let oldest_ms = self.now_ms().saturating_sub(kept_ms());
        let found = blocking(move || history::session_lines(&dir, seq, oldest_ms)).await?;
        let SessionLines { agent, session, lines, since_ms, .. } = found.ok_or_else(|| {
            super::error(ErrorCode::Invalid, "the history has no such line about changes of a session's run")
        })?;
        let is_meant = |line: &SessionLine| range.is_none_or(|it| (it.first..=it.last).contains(&line.seq));
        let lines: Vec<SessionLine> = lines.into_iter().filter(is_meant).collect();
        let is_run = |line: &&SessionLine| line.put_back.is_none();
        let all = lines.iter().filter(is_run).count();
        let (lines, spans) = self.kept_of(lines).await.map_err(not_kept)?;
        let runs = lines.iter().filter(is_run).count();
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else {
            return Err(not_kept(NotKept::NoState));
        };
        let seen = KeptRange { first: first.seq, last: last.seq, runs: number(runs) };
        if range.is_some_and(|range| range != seen) {
            let message = "some of what the session changed is not kept any more; look at it again";
            return Err(super::error(ErrorCode::Stale, message));
        }
        let whose = PutBackSession { agent, session, runs: number(runs) };
        let of = PutBack {
            by: super::WINDOW.to_owned(),
            seq: last.seq,
            at_ms: last.at_ms,
            request_id: None,
            session: Some(whose),
        };
        Ok(Session { meant: Meant { spans, of }, lost: number(all - runs), since_ms, range: seen })
    }

    /// Those of these lines, the oldest first, whose states are kept, and what they mean together.
    async fn kept_of(&self, lines: Vec<SessionLine>) -> Result<(Vec<SessionLine>, Spans), NotKept> {
        let mut told = Vec::new();
        for line in lines {
            // Of a line without states nothing is known.
            if let Ok(span) = read_span(&line.changes) {
                told.push((line, span));
            }
        }
        let all = together(&told).ok_or(NotKept::NoState)?;
        let kept = self.inner.parts.host.still_kept(&all).await?;
        let told: Vec<(SessionLine, Span)> =
            told.into_iter().zip(kept).filter_map(|(it, is_kept)| is_kept.then_some(it)).collect();
        let spans = together(&told).ok_or(NotKept::NoState)?;
        Ok((told.into_iter().map(|(line, _)| line).collect(), spans))
    }
}

/// What a session changed in a folder.
struct Session {
    meant: Meant,
    /// Runs of which nothing is kept.
    lost: u32,
    since_ms: Option<i64>,
    range: KeptRange,
}

/// All of them as one; nothing where there are none.
fn together(lines: &[(SessionLine, Span)]) -> Option<Spans> {
    let workspace = lines.first()?.1.workspace.clone();
    let part = |(line, span): &(SessionLine, Span)| Part {
        deed: if line.put_back.is_some() { Deed::PutBack } else { Deed::Run },
        before: span.before,
        after: span.after,
    };
    Spans::new(workspace, lines.iter().map(part).collect())
}

/// How long states are kept, in milliseconds.
fn kept_ms() -> i64 {
    i64::try_from(Limits::default().age.as_millis()).unwrap_or(i64::MAX)
}

fn listed(changes: &[Change]) -> KeptChanges {
    let more = number(changes.len().saturating_sub(KEPT_CHANGES));
    let changes = changes.iter().take(KEPT_CHANGES).enumerate();
    KeptChanges { changes: changes.map(|(index, change)| view(number(index), change)).collect(), more }
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
        between: change.is_between,
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
        Why::Between => KeptWhy::Between,
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

#[cfg(test)]
mod tests;
