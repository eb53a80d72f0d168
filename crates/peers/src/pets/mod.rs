//! Other programs' pet servers, whose questions are asked here (docs/protocol/pet-channel.md): which ones the
//! person wants, their tokens, and a connection to each. Nothing that is asked there ever runs here.
//!
//! Our own end of the channel is the app's gateway: [`crate::gateway`].

mod asking;
mod config;
mod source;

use crate::connections::NotTaken;
use crate::list::{self, Peer as _, PeerError, PeerList, PeerStatus};
use crate::secrets::Secrets;
use asking::FollowerParts;
use config::Source;
pub use config::check_file;
#[cfg(fuzzing)]
pub use config::rewrite;
use countersign_approvals::Approvals;
use countersign_approvals::ports::Ports;
use countersign_core::paths::Paths;
use countersign_node::host::Host;
use countersign_policy::display;
use countersign_protocol::ui::{PetSourceEdit, PetSourceView, SecretPlace};
use source::Following;
use std::sync::Arc;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
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
    list: PeerList<Source, Running>,
    inner: Arc<Inner>,
}

struct Inner {
    parts: FollowerParts,
    tracker: TaskTracker,
    stop: CancellationToken,
}

/// A connection that is kept up.
struct Running {
    status: watch::Receiver<PeerStatus>,
    again: Arc<Notify>,
    _stop: DropGuard,
}

impl list::Running for Running {
    fn status(&self) -> PeerStatus {
        self.status.borrow().clone()
    }

    fn retry(&self) {
        self.again.notify_one();
    }
}

impl PetSources {
    /// Reads the person's servers and connects to those that are on.
    pub fn start(paths: &Paths, parts: Parts, tracker: &TaskTracker, stop: CancellationToken) -> Self {
        let Parts { approvals, host, ports, secrets, not_taken } = parts;
        let this = Self {
            list: PeerList::open(paths.pet_servers(), secrets, tracker),
            inner: Arc::new(Inner {
                parts: FollowerParts { approvals, host, ports, not_taken },
                tracker: tracker.clone(),
                stop,
            }),
        };
        for source in this.list.all() {
            this.run(&source);
        }
        this
    }

    /// Every server as the page shows it.
    pub fn views(&self) -> Vec<PetSourceView> {
        self.list.map(view)
    }

    /// Why nothing can be connected or changed, if something is wrong with the file.
    pub fn broken(&self) -> Option<String> {
        self.list.broken()
    }

    /// Follows that something changed.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.list.changes()
    }

    /// Adds or changes a server, and connects anew. What waits that came from it is withdrawn.
    pub async fn save(&self, edit: PetSourceEdit) -> Result<(), PeerError> {
        let make = |old: Option<&Source>| Source {
            id: old.map_or_else(|| self.inner.parts.ports.ids.uuid(), |old| old.id.clone()),
            name: edit.name.trim().to_owned(),
            url: edit.url.trim().to_owned(),
            pin: edit.pin.map(|pin| pin.trim().to_owned()).filter(|pin| !pin.is_empty()),
            session_id: edit.session_id,
            enabled: edit.enabled,
            secret: SecretPlace::None,
        };
        self.list.save(edit.id.as_deref(), edit.secret, make, |source| self.run(source)).await
    }

    /// Forgets a server and its token. What waits there is withdrawn here.
    pub async fn remove(&self, id: &str) -> Result<(), PeerError> {
        self.list.remove(id).await
    }

    /// Tries again now.
    pub fn retry(&self, id: &str) -> Result<(), PeerError> {
        self.list.retry(id)
    }

    /// Connects, if it is wanted.
    fn run(&self, source: &Source) {
        if !source.enabled {
            return;
        }
        let checked = match source.checked() {
            Ok(checked) => checked,
            // Both ways in check it.
            Err(error) => return tracing::error!("{error}"),
        };
        let stop = self.inner.stop.child_token();
        let (sender, status) = PeerStatus::watched();
        let again = Arc::new(Notify::new());
        let following = Following {
            source: source.clone(),
            checked,
            secrets: self.list.secrets().clone(),
            tools: self.inner.parts.clone(),
            now: sender,
            again: Arc::clone(&again),
            tracker: self.inner.tracker.clone(),
        };
        self.inner.tracker.spawn(following.run(stop.clone(), self.inner.stop.clone()));
        let running = Running { status: status.clone(), again, _stop: stop.drop_guard() };
        self.list.started(&source.id, running, status);
    }
}

fn view(source: &Source, running: Option<&Running>) -> PetSourceView {
    let PeerStatus { state, pending } = list::status(running);
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

#[cfg(test)]
mod tests;
