//! Connections to other gateways (docs/protocol/gateway.md): which ones the person wants, their secrets, and
//! an operator for each.

mod asking;
mod config;
mod fleet;
pub(crate) mod onward;
mod operator;
mod policies;
mod presented;

pub use asking::NotTaken;
pub use config::check_file;
#[cfg(fuzzing)]
pub use config::rewrite;
pub use operator::gaps;
pub(crate) use operator::{escaped, release};
pub use policies::{Content, Fetched, FileContent, NotWritten};
pub use presented::Kind;

use crate::list::{self, Peer as _, PeerError, PeerList, PeerStatus};
use crate::secrets::Secrets;
use asking::OperatorParts;
use config::Gateway;
use countersign_approvals::Approvals;
use countersign_approvals::ports::Ports;
use countersign_core::identity::{KeyError, OwnNode, gateway_name};
use countersign_core::paths::Paths;
use countersign_gateway::access::{Role, Scope};
use countersign_gateway::client::{self, Link};
use countersign_gateway::identity::Identity;
use countersign_node::host::Host;
use countersign_policy::display::{self, Secrets as ShownSecrets};
use countersign_protocol::ui::{GatewayEdit, GatewayView, SecretPlace};
use onward::Onward;
use operator::{About, Operator};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// What connections are made of.
pub struct Parts {
    /// Asks people.
    pub approvals: Approvals,
    /// Knows rules, facts and history.
    pub host: Arc<Host>,
    /// Time and ids.
    pub ports: Ports,
    /// This process's environment.
    pub environment: BTreeMap<String, String>,
}

/// Handle of all connections.
#[derive(Clone)]
pub struct Connections {
    list: PeerList<Gateway, Running>,
    inner: Arc<Inner>,
}

struct Inner {
    parts: OperatorParts,
    /// This device towards gateways, once it is needed.
    identity: Mutex<Option<Identity>>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

/// A connection that is kept up.
struct Running {
    link: Link,
    status: watch::Receiver<PeerStatus>,
    /// For what this machine asks there.
    onward: Onward,
    _stop: DropGuard,
}

impl list::Running for Running {
    fn status(&self) -> PeerStatus {
        self.status.borrow().clone()
    }

    fn retry(&self) {
        self.link.retry();
    }
}

impl Connections {
    /// Reads the person's gateways and connects to those that are on. Answers that a gateway did not take
    /// arrive at the receiver.
    pub fn start(
        paths: &Paths,
        parts: Parts,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> (Self, mpsc::Receiver<NotTaken>) {
        let Parts { approvals, host, ports, environment } = parts;
        let (not_taken, receiver) = mpsc::channel(NOT_TAKEN);
        let secrets = Secrets::new(paths.gateway_secrets(), paths.openclaw_state.clone(), environment);
        let own_node = Arc::new(OwnNode::of(paths));
        let this = Self {
            list: PeerList::open(paths.gateways(), secrets, tracker),
            inner: Arc::new(Inner {
                parts: OperatorParts { approvals, host, ports, own_node, not_taken },
                identity: Mutex::default(),
                tracker: tracker.clone(),
                stop,
            }),
        };
        for gateway in this.list.all() {
            this.run(&gateway);
        }
        (this, receiver)
    }

    /// The same keyring, with another folder for what it does not take.
    pub fn secrets_in(&self, folder: PathBuf) -> Secrets {
        self.list.secrets().beside(folder)
    }

    /// Hears of answers that were not taken.
    pub fn not_taken(&self) -> mpsc::Sender<NotTaken> {
        self.inner.parts.not_taken.clone()
    }

    /// Every gateway as the page shows it.
    pub fn views(&self) -> Vec<GatewayView> {
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

    /// Adds or changes a gateway, and connects anew.
    pub async fn save(&self, edit: GatewayEdit) -> Result<(), PeerError> {
        let filled =
            |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let make = |old: Option<&Gateway>| Gateway {
            id: old.map_or_else(|| self.inner.parts.ports.ids.uuid(), |old| old.id.clone()),
            name: edit.name.trim().to_owned(),
            url: edit.url.trim().to_owned(),
            pin: filled(edit.pin),
            enabled: edit.enabled,
            sees_agents: edit.sees_agents,
            runs_on_nodes: edit.runs_on_nodes,
            session_filter: filled(edit.session_filter),
            secret_kind: edit.secret_kind,
            secret: SecretPlace::None,
        };
        self.list.save(edit.id.as_deref(), edit.secret, make, |gateway| self.run(gateway)).await
    }

    /// Forgets a gateway and its secrets. What waits there is withdrawn here.
    pub async fn remove(&self, id: &str) -> Result<(), PeerError> {
        self.list.remove(id).await
    }

    /// Tries again now.
    pub fn retry(&self, id: &str) -> Result<(), PeerError> {
        self.list.retry(id)
    }

    /// Connects, if it is wanted.
    fn run(&self, gateway: &Gateway) {
        if !gateway.enabled {
            return;
        }
        let (address, pin) = match gateway.checked() {
            Ok(checked) => checked,
            // Both ways in check it.
            Err(error) => return tracing::error!("{error}"),
        };
        let identity = match self.identity() {
            Ok(identity) => identity,
            Err(error) => {
                tracing::error!("{error}");
                self.list.is_broken(error.to_string());
                return;
            }
        };
        let mut scopes = vec![Scope::Read, Scope::Approvals];
        if gateway.sees_agents {
            scopes.push(Scope::Admin);
        }
        if gateway.runs_on_nodes {
            scopes.push(Scope::Write);
        }
        let name = gateway_name(&address);
        let options = client::Options {
            address,
            pin,
            identity,
            role: Role::Operator.as_str(),
            scopes: scopes.into_iter().map(|scope| scope.as_str().to_owned()).collect(),
            caps: CAPS.map(str::to_owned).to_vec(),
            commands: Vec::new(),
            display_name: DISPLAY_NAME.to_owned(),
        };
        let own_mark = onward::mark_of(&options.identity);
        let credentials = self.list.secrets().of(gateway.secrets());
        let stop = self.inner.stop.child_token();
        let (link, notices) = client::connect(options, credentials, &self.inner.tracker, &stop);
        let (notices, onward) = onward::tap(notices, own_mark.clone(), &self.inner.tracker);
        let (sender, status) = PeerStatus::watched();
        let about = About {
            id: gateway.id.clone(),
            name: gateway.name.clone(),
            session_filter: gateway.session_filter.clone(),
            address: name,
            own_mark,
        };
        let operator = Operator::new(about, self.inner.parts.clone(), sender);
        let closing = self.inner.stop.clone();
        self.inner.tracker.spawn(operator.run(notices, stop.clone(), closing));
        let running = Running { link, status: status.clone(), onward, _stop: stop.drop_guard() };
        self.list.started(&gateway.id, running, status);
    }

    fn identity(&self) -> Result<Identity, KeyError> {
        let mut identity = self.inner.identity.lock().unwrap_or_else(PoisonError::into_inner);
        match &*identity {
            Some(known) => Ok(known.clone()),
            None => Ok(identity.insert(self.list.secrets().identity()?).clone()),
        }
    }
}

fn view(gateway: &Gateway, running: Option<&Running>) -> GatewayView {
    let PeerStatus { state, pending } = list::status(running);
    GatewayView {
        id: gateway.id.clone(),
        name: display::shown(&gateway.name, ShownSecrets::Show),
        url: gateway.url.clone(),
        pin: gateway.pin.clone(),
        enabled: gateway.enabled,
        sees_agents: gateway.sees_agents,
        runs_on_nodes: gateway.runs_on_nodes,
        session_filter: gateway.session_filter.clone(),
        secret_kind: gateway.secret_kind,
        secret: gateway.secret,
        state,
        pending: u32::try_from(pending).unwrap_or(u32::MAX),
    }
}

/// What this program can do (docs/protocol/gateway.md, "Names of programs").
const CAPS: [&str; 3] = ["approvals", "exec-approvals", "plugin-approvals"];

/// What peers call this program.
const DISPLAY_NAME: &str = "Countersign";

/// Answers that were not taken and that nobody was told of yet.
const NOT_TAKEN: usize = 64;

#[cfg(test)]
mod tests;
