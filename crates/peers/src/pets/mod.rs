//! Other programs' pet servers, whose questions are asked here (docs/protocol/pet-channel.md): which ones the
//! person wants, their tokens, and a connection to each. Nothing that is asked there ever runs here.
//!
//! Our own end of the channel is the app's gateway: [`crate::gateway`].

mod asking;
mod config;
mod source;

use crate::connections::{NotTaken, Secrets};
use asking::FollowerParts;
pub use config::check_file;
#[cfg(fuzzing)]
pub use config::rewrite;
use config::{MAX_SOURCES, Source};
use countersign_approvals::Approvals;
use countersign_approvals::ports::Ports;
use countersign_core::paths::Paths;
use countersign_node::host::Host;
use countersign_policy::display;
use countersign_protocol::secret::PetToken;
use countersign_protocol::ui::{LinkState, PetSourceEdit, PetSourceView, SecretEdit, SecretPlace};
use source::{Following, Now};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What connections to pet servers are made of.
pub struct Parts {
    /// Asks people.
    pub approvals: Approvals,
    /// Knows rules, facts and history.
    pub host: Arc<Host>,
    /// Time and ids.
    pub ports: Ports,
    /// Of [`Paths::pet_secrets`].
    pub secrets: Secrets,
    /// Hears of answers that a server did not take.
    pub not_taken: mpsc::Sender<NotTaken>,
}

/// Handle of all of them.
#[derive(Clone)]
pub struct PetSources {
    inner: Arc<Inner>,
}

struct Inner {
    file: PathBuf,
    secrets: Secrets,
    tools: FollowerParts,
    live: Mutex<Live>,
    /// One change at a time.
    changing: tokio::sync::Mutex<()>,
    changed: watch::Sender<()>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

/// What there is. Never locked across an await.
#[derive(Default)]
struct Live {
    sources: Vec<Source>,
    running: BTreeMap<String, Running>,
    /// Why nothing can be connected or changed.
    broken: Option<String>,
}

/// A connection that is kept up. Dropping it ends it.
struct Running {
    now: watch::Receiver<Now>,
    again: Arc<Notify>,
    stop: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum PetSourceError {
    /// What was typed is wrong.
    #[error("{0:#}")]
    Invalid(anyhow::Error),
    /// There is no such server.
    #[error("there is no such pet server any more")]
    Gone,
    /// The file cannot be read or written.
    #[error("{0}")]
    Store(String),
}

impl PetSources {
    /// Reads the person's servers and connects to those that are on.
    pub fn start(paths: &Paths, parts: Parts, tracker: &TaskTracker, stop: CancellationToken) -> Self {
        let Parts { approvals, host, ports, secrets, not_taken } = parts;
        let this = Self {
            inner: Arc::new(Inner {
                file: paths.pet_servers(),
                secrets,
                tools: FollowerParts { approvals, host, ports, not_taken },
                live: Mutex::default(),
                changing: tokio::sync::Mutex::default(),
                changed: watch::Sender::new(()),
                tracker: tracker.clone(),
                stop,
            }),
        };
        match config::read(&this.inner.file) {
            Ok(sources) => {
                for source in &sources {
                    this.run(source);
                }
                this.live().sources = sources;
            }
            Err(error) => {
                tracing::error!("{error:#}");
                this.live().broken = Some(format!("{error:#}"));
            }
        }
        this
    }

    /// Every server as the page shows it.
    pub fn views(&self) -> Vec<PetSourceView> {
        let live = self.live();
        live.sources.iter().map(|source| view(source, live.running.get(&source.id))).collect()
    }

    /// Why nothing can be connected or changed, if something is wrong with the file.
    pub fn broken(&self) -> Option<String> {
        self.live().broken.clone()
    }

    /// Follows that something changed.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.inner.changed.subscribe()
    }

    /// Adds or changes a server, and connects anew. What waits that came from it is withdrawn.
    pub async fn save(&self, edit: PetSourceEdit) -> Result<(), PetSourceError> {
        let _one = self.inner.changing.lock().await;
        let (mut sources, at) = self.draft(edit.id.as_deref())?;
        let old = at.and_then(|at| sources.get(at)).cloned();
        let mut source = Source {
            id: old.as_ref().map_or_else(|| self.inner.tools.ports.ids.uuid(), |old| old.id.clone()),
            name: edit.name.trim().to_owned(),
            url: edit.url.trim().to_owned(),
            pin: edit.pin.map(|pin| pin.trim().to_owned()).filter(|pin| !pin.is_empty()),
            session_id: edit.session_id,
            enabled: edit.enabled,
            secret: old.as_ref().map_or(SecretPlace::None, |old| old.secret),
        };
        source.checked().map_err(PetSourceError::Invalid)?;
        let invalid = |text: &'static str| PetSourceError::Invalid(anyhow::anyhow!(text));
        // A token that was given for one place must not be sent to another one unasked.
        let moves = old.as_ref().is_some_and(|old| old.url != source.url || old.pin != source.pin);
        if moves && edit.secret == SecretEdit::Keep && source.secret != SecretPlace::None {
            return Err(invalid("token: expected it again, because the address or the certificate changed"));
        }
        let secrets = &self.inner.secrets;
        secrets.person_is_there();
        source.secret = match edit.secret {
            SecretEdit::Keep => source.secret,
            SecretEdit::Clear => SecretPlace::None,
            SecretEdit::OpenClaw => {
                return Err(invalid("token: expected one of this server's own, got OpenClaw's"));
            }
            SecretEdit::Set { value } if value.trim().is_empty() => SecretPlace::None,
            SecretEdit::Set { value } => {
                let expected =
                    "token: expected printable ASCII characters without spaces, since it is sent in a header";
                let token = PetToken::parse(&value).ok_or_else(|| invalid(expected))?;
                stored(secrets.keep(&source.id, token.expose()).await)?
            }
        };
        match at.and_then(|at| sources.get_mut(at)) {
            Some(place) => *place = source.clone(),
            None => sources.push(source.clone()),
        }
        self.store(sources).await?;
        self.live().running.remove(&source.id);
        // Not before: until it is written where the new one is, the old one is all there is.
        if old.is_some_and(|old| old.secret != source.secret) {
            secrets.tidy(&source.id, source.secret).await;
        }
        self.run(&source);
        Ok(())
    }

    /// Forgets a server and its token. What waits there is withdrawn here.
    pub async fn remove(&self, id: &str) -> Result<(), PetSourceError> {
        let _one = self.inner.changing.lock().await;
        let (mut sources, at) = self.draft(Some(id))?;
        if let Some(at) = at {
            sources.remove(at);
        }
        self.store(sources).await?;
        self.live().running.remove(id);
        self.inner.secrets.person_is_there();
        stored(self.inner.secrets.forget(id).await)?;
        self.inner.changed.send_replace(());
        Ok(())
    }

    /// Tries again now.
    pub fn retry(&self, id: &str) -> Result<(), PetSourceError> {
        self.inner.secrets.person_is_there();
        self.live().running.get(id).map(|running| running.again.notify_one()).ok_or(PetSourceError::Gone)
    }

    /// The servers to change, and where the one with this id is.
    fn draft(&self, id: Option<&str>) -> Result<(Vec<Source>, Option<usize>), PetSourceError> {
        let live = self.live();
        if let Some(broken) = &live.broken {
            return Err(PetSourceError::Store(broken.clone()));
        }
        let at = id.map(|id| live.sources.iter().position(|source| source.id == id));
        match at {
            Some(None) => Err(PetSourceError::Gone),
            None if live.sources.len() >= MAX_SOURCES => {
                let text = format!("expected at most {MAX_SOURCES} pet servers");
                Err(PetSourceError::Invalid(anyhow::anyhow!(text)))
            }
            at => Ok((live.sources.clone(), at.flatten())),
        }
    }

    async fn store(&self, sources: Vec<Source>) -> Result<(), PetSourceError> {
        let (file, written) = (self.inner.file.clone(), sources.clone());
        let writing = tokio::task::spawn_blocking(move || config::write(&file, &written));
        stored(writing.await.map_err(std::io::Error::other).flatten())?;
        self.live().sources = sources;
        self.inner.changed.send_replace(());
        Ok(())
    }

    /// Connects, if it is wanted.
    fn run(&self, source: &Source) {
        if !source.enabled {
            return;
        }
        let checked = match source.checked() {
            Ok(checked) => checked,
            // Both ways in check it.
            Err(error) => return tracing::error!("{error:#}"),
        };
        let stop = self.inner.stop.child_token();
        let (sender, now) = watch::channel(Now { state: LinkState::Connecting, pending: 0 });
        let again = Arc::new(Notify::new());
        let following = Following {
            source: source.clone(),
            checked,
            secrets: self.inner.secrets.clone(),
            tools: self.inner.tools.clone(),
            now: sender,
            again: Arc::clone(&again),
            tracker: self.inner.tracker.clone(),
        };
        self.inner.tracker.spawn(following.run(stop.clone(), self.inner.stop.clone()));
        let (changed, mut follow) = (self.inner.changed.clone(), now.clone());
        self.inner.tracker.spawn(async move {
            while follow.changed().await.is_ok() {
                changed.send_replace(());
            }
        });
        self.live().running.insert(source.id.clone(), Running { now, again, stop });
        self.inner.changed.send_replace(());
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn view(source: &Source, running: Option<&Running>) -> PetSourceView {
    let now = running.map(|running| running.now.borrow().clone());
    let (state, pending) = now.map_or((LinkState::Off, 0), |now| (now.state, now.pending));
    PetSourceView {
        id: source.id.clone(),
        name: display::shown(&source.name, display::Secrets::Show),
        url: source.url.clone(),
        pin: source.pin.clone(),
        session_id: source.session_id.clone(),
        enabled: source.enabled,
        has_secret: source.secret != SecretPlace::None,
        state,
        pending: u32::try_from(pending).unwrap_or(u32::MAX),
    }
}

fn stored<T>(done: std::io::Result<T>) -> Result<T, PetSourceError> {
    done.map_err(|error| PetSourceError::Store(error.to_string()))
}

#[cfg(test)]
mod tests;
