//! What runs in boxes do to their folders: the state before and after each is kept, so that a person sees
//! what changed and can put it back.

use super::Host;
use super::record::Recorder;
use crate::executor::sandbox;
use countersign_approvals::history::History;
use countersign_approvals::ports::Ports;
use countersign_keep::{
    Change, Failed, How, Keeper, Limits, Restored, Span, Spans, State, StateId, Versions, What,
};
use countersign_policy::display;
use countersign_protocol::history::{HistoryEvent, KeptSpan, PutBack};
use countersign_protocol::ids::RequestId;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

/// Where states are kept. Cheap to clone.
#[derive(Clone)]
pub(super) struct Kept {
    store: PathBuf,
    ports: Ports,
    keeper: Arc<OnceLock<Keeper>>,
}

/// Why what a span says cannot be shown or put back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotKept {
    /// A state is missing in the span, so there is nothing to compare with.
    #[error("the folder's state was not kept")]
    NoState,
    /// The folder's name is no name of a folder.
    #[error("the folder cannot be read from the history")]
    NoFolder,
    /// There is no such change in the span.
    #[error("no such change: expected a number below {of}, got {got}")]
    NoChange {
        /// How many there are.
        of: usize,
        /// Which was named.
        got: u32,
    },
    /// The store or the folder.
    #[error(transparent)]
    Failed(#[from] Failed),
    /// The store's folder.
    #[error("the store of kept states: {0}")]
    Store(#[from] std::io::Error),
}

/// The state of a folder before a run.
pub(super) struct Before {
    folder: String,
    state: Result<State, String>,
}

impl Kept {
    pub(super) fn new(store: PathBuf, ports: Ports) -> Self {
        Self { store, ports, keeper: Arc::default() }
    }

    fn now(&self) -> SystemTime {
        let since = Duration::from_millis(u64::try_from(self.ports.clock.now_ms()).unwrap_or(0));
        SystemTime::UNIX_EPOCH + since
    }

    /// Keeps what is in `folder` now. Blocking work is done elsewhere.
    async fn state(&self, folder: &str) -> Result<State, String> {
        let (folder, now) = (PathBuf::from(folder), self.now());
        self.with(move |keeper| Ok(keeper.keep(&folder, now, &never)?))
            .await
            .map_err(|error| error.to_string())
    }

    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Keeper) -> Result<T, NotKept> + Send + 'static,
    ) -> Result<T, NotKept> {
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || {
            if this.keeper.get().is_none() {
                // Two that come first make two, and one of them is used.
                let _ = this.keeper.set(Keeper::new(this.store.clone(), Limits::default())?);
            }
            let keeper = this.keeper.get().ok_or(NotKept::NoState)?;
            work(keeper)
        });
        done.await.map_err(std::io::Error::other)?
    }

    /// What was in `folder` before a run.
    pub(super) async fn before(&self, folder: &str) -> Before {
        Before { folder: folder.to_owned(), state: self.state(folder).await }
    }

    /// Looks what a run did and writes that down, if it did anything, or if nobody can tell.
    async fn after(self, before: Before, history: History, id: Option<RequestId>) {
        let event = self.span(before).await;
        let Some(changes) = event else { return };
        if let Err(error) = history.append(id, HistoryEvent::Changes { changes, put_back: None }).await {
            tracing::error!(%error, "what a run changed could not be recorded");
        }
    }

    async fn span(&self, Before { folder, state }: Before) -> Option<KeptSpan> {
        let blank = KeptSpan { folder: display::escape(&folder), ..KeptSpan::default() };
        let unkept =
            |problem: &str| Some(KeptSpan { problem: Some(display::escape(problem)), ..blank.clone() });
        let before = match state {
            Ok(before) => before,
            Err(problem) => return unkept(&problem),
        };
        let after = match self.state(&folder).await {
            Ok(after) => after,
            Err(problem) => return unkept(&problem),
        };
        let (from, to) = (before.id, after.id);
        if from == to {
            return None;
        }
        let spans = Span { workspace: folder.into(), before: from, after: to }.into();
        match self.with(move |keeper| Ok(keeper.changes(&spans, &never)?)).await {
            Ok(changes) if changes.is_empty() => None,
            Ok(changes) => {
                Some(KeptSpan { left_out: left_out(&after), ..counted(blank, from, to, &changes) })
            }
            Err(error) => unkept(&error.to_string()),
        }
    }
}

fn counted(blank: KeptSpan, before: StateId, after: StateId, changes: &[Change]) -> KeptSpan {
    let count = |wanted: fn(&How) -> bool| {
        u32::try_from(changes.iter().filter(|change| wanted(&change.how)).count()).unwrap_or(u32::MAX)
    };
    KeptSpan {
        before: Some(before.to_string()),
        after: Some(after.to_string()),
        made: count(|how| matches!(how, How::Made)),
        changed: count(|how| matches!(how, How::Changed | How::Moved { .. })),
        deleted: count(|how| matches!(how, How::Deleted)),
        ..blank
    }
}

fn left_out(state: &State) -> u32 {
    u32::try_from(state.left_out_count).unwrap_or(u32::MAX)
}

/// Keeping is never called off: a run waits for it, and it is bounded by itself.
fn never() -> bool {
    false
}

impl Host {
    /// Has what a run did to its folder looked at and written down, while whoever asked for it goes on.
    pub(super) fn look_after(&self, before: Before, recorder: &Recorder) {
        let (kept, history) = (self.kept.clone(), self.parts.history.clone());
        let id = recorder.request_id().clone();
        self.afterwards.spawn(kept.after(before, history, Some(id)));
    }

    /// Waits until all of that is written down.
    pub async fn afterwards(&self) {
        self.afterwards.close();
        self.afterwards.wait().await;
    }

    /// What changed in these spans, in the order of paths. Numbers of changes are those of this list.
    pub async fn kept_changes(&self, spans: &Spans) -> Result<Vec<Change>, NotKept> {
        let spans = spans.clone();
        self.kept.with(move |keeper| Ok(keeper.changes(&spans, &never)?)).await
    }

    /// What lay at the path of a change before and after.
    pub async fn kept_versions(&self, spans: &Spans, change: u32) -> Result<Versions, NotKept> {
        let (path, spans) = (self.kept_path(spans, change).await?, spans.clone());
        self.kept.with(move |keeper| Ok(keeper.versions(&spans, &path, &never)?)).await
    }

    /// Of each part, whether its states are still kept, so that it can be looked at together with the others.
    pub async fn still_kept(&self, spans: &Spans) -> Result<Vec<bool>, NotKept> {
        let spans = spans.clone();
        self.kept.with(move |keeper| Ok(keeper.kept(&spans, &never)?)).await
    }

    /// Puts back what changed in these spans: all of it, or one change. What is protected in a folder is
    /// never written. That it happened is written down, as one span of its own that can be put back as well;
    /// `of` says there whose it was and who wanted it.
    pub async fn put_back(
        &self,
        spans: &Spans,
        change: Option<u32>,
        of: PutBack,
    ) -> Result<Restored, NotKept> {
        let what = match change {
            None => What::All,
            Some(change) => What::Files(vec![self.kept_path(spans, change).await?]),
        };
        let (read, now) = (spans.clone(), self.kept.now());
        let restored = self.kept.with(move |keeper| {
            let protected = |path: &Path| !sandbox::may_be_put_back(path);
            Ok(keeper.put_back(&read, &what, &protected, now, &never)?)
        });
        let restored = restored.await?;
        if restored.put.is_empty() {
            return Ok(restored);
        }
        let Span { workspace, before, after } = restored.undo.clone();
        let changes = self.kept_changes(&restored.undo.clone().into()).await?;
        let folder = display::escape(&workspace.to_string_lossy());
        let changes = counted(KeptSpan { folder, ..KeptSpan::default() }, before, after, &changes);
        let event = HistoryEvent::Changes { changes, put_back: Some(of) };
        if let Err(error) = self.parts.history.append(None, event).await {
            tracing::error!(%error, "what was put back could not be recorded");
        }
        Ok(restored)
    }

    async fn kept_path(&self, spans: &Spans, change: u32) -> Result<PathBuf, NotKept> {
        let changes = self.kept_changes(spans).await?;
        let found = usize::try_from(change).ok().and_then(|index| changes.get(index));
        found.map(|found| found.path.clone()).ok_or(NotKept::NoChange { of: changes.len(), got: change })
    }

    /// Removes states that are too old or too many, now and then, for as long as the future lives.
    pub async fn prune_kept(&self) {
        loop {
            let now = self.kept.now();
            let pruned = self.kept.with(move |keeper| Ok(keeper.prune(now, &never)?)).await;
            match pruned {
                Ok(pruned) => tracing::debug!(?pruned, "kept states"),
                Err(error) => tracing::warn!(%error, "kept states could not be looked through"),
            }
            tokio::time::sleep(BETWEEN_PRUNINGS).await;
        }
    }
}

/// The span of which a line of the history tells.
pub fn read_span(span: &KeptSpan) -> Result<Span, NotKept> {
    let state = |name: &Option<String>| -> Result<StateId, NotKept> {
        name.as_deref().and_then(|name| name.parse().ok()).ok_or(NotKept::NoState)
    };
    let workspace = display::unescape(&span.folder).ok_or(NotKept::NoFolder)?.into();
    Ok(Span { workspace, before: state(&span.before)?, after: state(&span.after)? })
}

/// How often it is looked for states that can go.
const BETWEEN_PRUNINGS: Duration = Duration::from_secs(60 * 60);
