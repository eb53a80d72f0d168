//! The approvals document as the gateway serves it.

use countersign_approvals::history::{History, HistoryError};
use countersign_approvals::ports::Ports;
use countersign_approvals::store::{Changed, Current, Replacement, Store, StoreError, Writer};
use countersign_core::known::{KnownVersions, document_event};
use countersign_core::paths::Paths;
use countersign_gateway::embedded::PolicyError;
use countersign_policy::document;
use countersign_protocol::document::Document;
use countersign_protocol::gateway::policy::{PolicyFile, ResolvedDefaults};
use countersign_protocol::state::StoreState;
use serde_json::{Map, Value};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The approvals document of this machine.
#[derive(Debug)]
pub struct Policies {
    store: Store,
    ports: Ports,
    rights: Rights,
}

/// What `operator.admin` may do to the document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Rights {
    /// Everything: whoever gave it out is the one to answer for it.
    Whole,
    /// Nothing that loosens.
    NothingLooser,
}

impl Policies {
    /// Of the app, whose window alone may loosen anything: a program with `operator.admin` could otherwise
    /// let itself do what it was not allowed. Changes are written to the history by the app.
    pub fn of_app(store: Store, ports: Ports) -> Self {
        Self { store, ports, rights: Rights::NothingLooser }
    }

    /// Opens the store, and the history for what is changed through it. What was changed before `stop` is in
    /// the history when `tracker` is done.
    pub(super) fn open(
        paths: &Paths,
        ports: Ports,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> Result<Self, HistoryError> {
        let recording = CancellationToken::new();
        let history = History::open(paths.history_places(), ports.clone(), tracker, recording.clone())?;
        let (storing, closed) = (TaskTracker::new(), CancellationToken::new());
        let store = Store::open(paths.openclaw_state.clone(), ports.clone(), &storing, closed.clone());
        let (changes, known) = (store.changes(), KnownVersions::of(paths));
        tracker.spawn(async move {
            let ended = async {
                stop.cancelled().await;
                closed.cancel();
                storing.close();
                storing.wait().await;
            };
            record(changes, &history, &known, ended).await;
            recording.cancel();
        });
        Ok(Self { store, ports, rights: Rights::Whole })
    }

    /// The document, without its socket's token.
    pub async fn read(&self) -> Result<PolicyFile, PolicyError> {
        self.shown(&*self.store.refresh().await)
    }

    /// Replaces it if it is the one with this hash.
    pub async fn write(
        &self,
        file: Map<String, Value>,
        base_hash: String,
    ) -> Result<PolicyFile, PolicyError> {
        let document = Document(file);
        if self.rights == Rights::NothingLooser {
            let current = self.store.refresh().await;
            let before = current.document.clone().unwrap_or_else(document::empty);
            // Of the very document that the change was made from: another one is refused as changed.
            if current.hash == base_hash && !document::loosenings(&before, &document).is_empty() {
                return Err(PolicyError::Unavailable(LOOSER.to_owned()));
            }
        }
        let replacement = Replacement { base_hash, document, writer: Writer::Gateway };
        let current = self.store.replace(replacement).await.map_err(refused)?;
        self.shown(&current)
    }

    fn shown(&self, current: &Current) -> Result<PolicyFile, PolicyError> {
        let (document, exists) = match (&current.state, &current.document) {
            (StoreState::Missing, _) => (document::empty(), false),
            (_, Some(document)) => (document.clone(), true),
            (StoreState::Sqlite { database }, None) => {
                return Err(refused(StoreError::Sqlite { database: database.into() }));
            }
            (StoreState::Unreadable { problem }, None) => {
                let (path, problem) = (current.path.clone(), problem.clone());
                return Err(refused(StoreError::Unreadable { path, problem }));
            }
            (StoreState::Ready, None) => {
                return Err(refused(StoreError::NoDocument { path: current.path.clone() }));
            }
        };
        let defaults = document::resolved_defaults(&document);
        let normal = document::normalised(&document, &mut || self.ports.ids.uuid());
        Ok(PolicyFile {
            path: current.path.display().to_string(),
            exists,
            hash: current.hash.clone(),
            file: document::redacted(&normal).0,
            resolved_defaults: Some(ResolvedDefaults {
                security: defaults.security.value,
                ask: defaults.ask.value,
                ask_fallback: defaults.ask_fallback.value,
                auto_allow_skills: defaults.auto_allow_skills,
            }),
        })
    }
}

fn refused(error: StoreError) -> PolicyError {
    match error {
        StoreError::Stale { .. } => PolicyError::Changed,
        StoreError::Incoming { .. } | StoreError::SocketPath { .. } => {
            PolicyError::Invalid(error.to_string())
        }
        other => PolicyError::Unavailable(other.to_string()),
    }
}

/// Writes changes of the gateway to the history until `ended`, and those that were made before it.
async fn record(
    mut changes: broadcast::Receiver<Changed>,
    history: &History,
    known: &KnownVersions,
    ended: impl Future<Output = ()>,
) {
    tokio::pin!(ended);
    loop {
        let changed = tokio::select! {
            changed = changes.recv() => changed,
            () = &mut ended => break,
        };
        match changed {
            Ok(changed) => append(history, known, &changed).await,
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                tracing::error!(missed, "changes of the document are missing in the history");
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
    while let Ok(changed) = changes.try_recv() {
        append(history, known, &changed).await;
    }
}

/// What other programs write is recorded by the app.
async fn append(history: &History, known: &KnownVersions, changed: &Changed) {
    if changed.writer != Writer::Gateway {
        return;
    }
    if let Err(error) = history.append(None, document_event(changed)).await {
        tracing::error!(%error, "a change of the document could not be written to the history");
        return;
    }
    let (known, changed) = (known.clone(), changed.clone());
    let noted =
        tokio::task::spawn_blocking(move || known.document_moved(&changed.before, &changed.after)).await;
    noted.unwrap_or_else(|error| tracing::error!(%error, "a note was not written"));
}

/// For the program that asked.
const LOOSER: &str = "the change would make the policy looser; that is done in Countersign's window only";
