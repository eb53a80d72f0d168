//! Programs of others that the person connected to, one kind at a time: gateways, pet servers. Each kind has
//! a file of its own, secrets, and a connection for each peer that is on.

mod file;
mod wrong;

#[cfg(fuzzing)]
pub(crate) use file::rewrite;
pub(crate) use file::{Document, check};
pub use file::{FileError, WrongPeers};
pub use wrong::Wrong;
pub(crate) use wrong::{MAX_FILTER, bound, check_names, length, pin_of};

use crate::secrets::Secrets;
use countersign_core::private::Others;
use countersign_protocol::ui::{LinkState, SecretEdit, SecretPlace};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// Peers of one kind that may be stored: more than a person can watch.
pub(crate) const MAX_PEERS: usize = 32;

/// A peer as it is stored. Its secret is elsewhere.
pub(crate) trait Peer: Clone + Serialize + DeserializeOwned + Send + 'static {
    /// The file with all of them.
    type Document: Document<Self>;
    /// What its members come to.
    type Checked;

    /// What people call one, and several.
    const NAMES: [&str; 2];
    /// What its secret is called where it is typed.
    const SECRET: &str;
    /// Who else may do what with the file.
    const OTHERS: Others;

    /// Ours for it.
    fn id(&self) -> &str;
    /// Its address as it was typed, and the digest of its certificate. What was given for one place
    /// is for no other.
    fn place(&self) -> (&str, Option<&str>);
    /// Where its secret is.
    fn secret(&mut self) -> &mut SecretPlace;
    /// Checks every member.
    fn checked(&self) -> Result<Self::Checked, Wrong>;
    /// The secret that was typed, as it is kept.
    fn typed(secret: &str) -> Result<String, Wrong>;
    /// Where OpenClaw's own secret would be read.
    fn openclaws() -> Result<SecretPlace, Wrong>;
}

/// A connection that is kept up. Dropping it ends it.
pub(crate) trait Running: Send + 'static {
    /// How it is.
    fn status(&self) -> PeerStatus;
    /// Tries again now.
    fn retry(&self);
}

/// How a peer is, for the page about connections.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PeerStatus {
    pub(crate) state: LinkState,
    /// Questions of it that wait here.
    pub(crate) pending: usize,
}

impl PeerStatus {
    /// Of a peer that is connected to from now on.
    pub(crate) fn watched() -> (watch::Sender<Self>, watch::Receiver<Self>) {
        watch::channel(Self { state: LinkState::Connecting, pending: 0 })
    }

    const OFF: Self = Self { state: LinkState::Off, pending: 0 };
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// What was typed is wrong.
    #[error(transparent)]
    Invalid(#[from] Wrong),
    /// There is no such peer.
    #[error("there is no such {0} any more")]
    Gone(&'static str),
    /// The file could not be read when the app started, or nothing can be connected since.
    #[error("{0}")]
    Broken(String),
    /// The file or a secret cannot be written.
    #[error(transparent)]
    Store(#[from] std::io::Error),
}

/// All peers of one kind. Clones are the same ones.
pub(crate) struct PeerList<P, R> {
    inner: Arc<Inner<P, R>>,
}

impl<P, R> Clone for PeerList<P, R> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

struct Inner<P, R> {
    file: PathBuf,
    secrets: Secrets,
    live: Mutex<Live<P, R>>,
    /// One change at a time.
    changing: tokio::sync::Mutex<()>,
    changed: watch::Sender<()>,
    tracker: TaskTracker,
}

/// What there is. Never locked across an await.
struct Live<P, R> {
    peers: Vec<P>,
    running: BTreeMap<String, R>,
    /// Why nothing can be connected or changed.
    broken: Option<String>,
}

impl<P: Peer, R: Running> PeerList<P, R> {
    /// Reads the file. Blocking.
    pub(crate) fn open(file: PathBuf, secrets: Secrets, tracker: &TaskTracker) -> Self {
        let mut live = Live { peers: Vec::new(), running: BTreeMap::new(), broken: None };
        match file::read(&file) {
            Ok(peers) => live.peers = peers,
            Err(error) => {
                tracing::error!(%error, "the {} are not known", P::NAMES[1]);
                live.broken = Some(error.to_string());
            }
        }
        Self {
            inner: Arc::new(Inner {
                file,
                secrets,
                live: Mutex::new(live),
                changing: tokio::sync::Mutex::default(),
                changed: watch::Sender::new(()),
                tracker: tracker.clone(),
            }),
        }
    }

    /// Each of them, in the person's order.
    pub(crate) fn all(&self) -> Vec<P> {
        self.live().peers.clone()
    }

    /// Each of them and its connection, if it is on, as `view` sees them.
    pub(crate) fn map<T>(&self, view: impl Fn(&P, Option<&R>) -> T) -> Vec<T> {
        let live = self.live();
        live.peers.iter().map(|peer| view(peer, live.running.get(peer.id()))).collect()
    }

    /// The connection to one of them, if it is on.
    pub(crate) fn running<T>(&self, id: &str, of: impl FnOnce(&R) -> T) -> Option<T> {
        self.live().running.get(id).map(of)
    }

    /// Where their secrets are.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.inner.secrets
    }

    /// Why nothing can be connected or changed, if something is wrong.
    pub(crate) fn broken(&self) -> Option<String> {
        self.live().broken.clone()
    }

    /// Nothing can be connected or changed from now on.
    pub(crate) fn is_broken(&self, why: String) {
        self.live().broken = Some(why);
    }

    /// Follows that something changed.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.inner.changed.subscribe()
    }

    /// Adds a peer, or changes the one with this id, and has it connected to anew. `make` gets that one, and
    /// where its secret is.
    pub(crate) async fn save(
        &self,
        id: Option<&str>,
        secret: SecretEdit,
        make: impl FnOnce(Option<&P>) -> P,
        connect: impl FnOnce(&P),
    ) -> Result<(), PeerError> {
        let _one = self.inner.changing.lock().await;
        let (mut peers, at) = self.draft(id)?;
        let mut old = at.and_then(|at| peers.get(at)).cloned();
        let mut peer = make(old.as_ref());
        let before = old.as_mut().map_or(SecretPlace::None, |old| *old.secret());
        *peer.secret() = before;
        peer.checked()?;
        // A secret that was given for one place must not be sent to another one unasked.
        let moves = old.as_ref().is_some_and(|old| old.place() != peer.place());
        if moves && secret == SecretEdit::Keep && before != SecretPlace::None {
            return Err(Wrong::SecretAgain { secret: P::SECRET }.into());
        }
        let secrets = &self.inner.secrets;
        secrets.person_is_there();
        *peer.secret() = match secret {
            SecretEdit::Keep => before,
            SecretEdit::Clear => SecretPlace::None,
            SecretEdit::OpenClaw => P::openclaws()?,
            SecretEdit::Set { value } if value.trim().is_empty() => SecretPlace::None,
            SecretEdit::Set { value } => secrets.keep(peer.id(), &P::typed(&value)?).await?,
        };
        match at.and_then(|at| peers.get_mut(at)) {
            Some(place) => *place = peer.clone(),
            None => peers.push(peer.clone()),
        }
        self.store(peers).await?;
        self.live().running.remove(peer.id());
        // Not before: until it is written where the new one is, the old one is all there is.
        let now = *peer.secret();
        if old.is_some() && before != now {
            secrets.tidy(peer.id(), now).await;
        }
        connect(&peer);
        Ok(())
    }

    /// Forgets a peer and its secrets. What waits there is withdrawn here.
    pub(crate) async fn remove(&self, id: &str) -> Result<(), PeerError> {
        let _one = self.inner.changing.lock().await;
        let (mut peers, at) = self.draft(Some(id))?;
        if let Some(at) = at {
            peers.remove(at);
        }
        self.store(peers).await?;
        self.live().running.remove(id);
        self.inner.secrets.person_is_there();
        self.inner.secrets.forget(id).await?;
        self.inner.changed.send_replace(());
        Ok(())
    }

    /// Tries again now.
    pub(crate) fn retry(&self, id: &str) -> Result<(), PeerError> {
        self.inner.secrets.person_is_there();
        self.running(id, Running::retry).ok_or(PeerError::Gone(P::NAMES[0]))
    }

    /// A connection is kept up from now on; `status` is how it is.
    pub(crate) fn started(&self, id: &str, running: R, mut status: watch::Receiver<PeerStatus>) {
        let changed = self.inner.changed.clone();
        self.inner.tracker.spawn(async move {
            while status.changed().await.is_ok() {
                changed.send_replace(());
            }
        });
        self.live().running.insert(id.to_owned(), running);
        self.inner.changed.send_replace(());
    }

    /// The peers to change, and where the one with this id is.
    fn draft(&self, id: Option<&str>) -> Result<(Vec<P>, Option<usize>), PeerError> {
        let live = self.live();
        if let Some(broken) = &live.broken {
            return Err(PeerError::Broken(broken.clone()));
        }
        let at = id.map(|id| live.peers.iter().position(|peer| peer.id() == id));
        match at {
            Some(None) => Err(PeerError::Gone(P::NAMES[0])),
            None if live.peers.len() >= MAX_PEERS => Err(Wrong::Many { peers: P::NAMES[1] }.into()),
            at => Ok((live.peers.clone(), at.flatten())),
        }
    }

    async fn store(&self, peers: Vec<P>) -> Result<(), PeerError> {
        let (file, written) = (self.inner.file.clone(), peers.clone());
        let writing = tokio::task::spawn_blocking(move || file::write(&file, written));
        writing.await.map_err(std::io::Error::other).flatten()?;
        self.live().peers = peers;
        self.inner.changed.send_replace(());
        Ok(())
    }

    fn live(&self) -> MutexGuard<'_, Live<P, R>> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a peer is, whether it is connected to or not.
pub(crate) fn status(running: Option<&impl Running>) -> PeerStatus {
    running.map_or(PeerStatus::OFF, Running::status)
}

#[cfg(test)]
pub(crate) mod tests;
