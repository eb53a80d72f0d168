//! Connections to other gateways (docs/protocol/gateway.md): which ones the person wants, their secrets, and
//! an operator for each.

mod asking;
mod config;
mod keyring;
pub(crate) mod onward;
mod openclaw;
mod operator;
mod policies;
mod presented;
mod secrets;

pub use asking::NotTaken;
pub use config::check_file;
#[cfg(fuzzing)]
pub use config::rewrite;
pub(crate) use config::{check_names, pin_of};
pub(crate) use operator::escaped;
pub use operator::gaps;
pub use policies::{Content, Fetched, FileContent, NotWritten};
pub use presented::Kind;
pub(crate) use secrets::Secrets;

use asking::OperatorParts;
use config::{Gateway, MAX_GATEWAYS};
use countersign_approvals::Approvals;
use countersign_approvals::ports::Ports;
use countersign_core::identity::{OwnNode, gateway_name};
use countersign_core::paths::Paths;
use countersign_gateway::access::{Role, Scope};
use countersign_gateway::client::{self, Link};
use countersign_gateway::identity::Identity;
use countersign_node::host::Host;
use countersign_policy::display::{self, Secrets as ShownSecrets};
use countersign_protocol::ui::{GatewayEdit, GatewayView, LinkState, SecretEdit, SecretKind, SecretPlace};
use onward::Onward;
use operator::{About, Now, Operator};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Reads a configuration of OpenClaw's own, whatever it is. For `tests/fuzz`.
#[cfg(fuzzing)]
pub fn openclaw_configuration(text: &str) {
    let _ = openclaw::configuration(text);
}

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

/// The secret that OpenClaw's own programs use for its gateway on this machine. Blocking.
pub fn openclaw_token(paths: &Paths, environment: &BTreeMap<String, String>) -> Option<String> {
    openclaw::secret(&paths.openclaw_state, environment, SecretKind::Token)
}

/// Handle of all connections.
#[derive(Clone)]
pub struct Connections {
    inner: Arc<Inner>,
}

struct Inner {
    file: PathBuf,
    secrets: Secrets,
    tools: OperatorParts,
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
    gateways: Vec<Gateway>,
    running: BTreeMap<String, Running>,
    /// Why nothing can be connected or changed.
    broken: Option<String>,
    identity: Option<Identity>,
}

/// A connection that is kept up. Dropping it ends it.
struct Running {
    link: Link,
    now: watch::Receiver<Now>,
    /// For what this machine asks there.
    onward: Onward,
    stop: CancellationToken,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionsError {
    /// What was typed is wrong.
    #[error("{0:#}")]
    Invalid(anyhow::Error),
    /// There is no such gateway.
    #[error("there is no such gateway any more")]
    Gone,
    /// The file cannot be read or written.
    #[error("{0}")]
    Store(String),
}

impl Connections {
    /// Reads the person's gateways and connects to those that are on. Answers that a gateway did not take arrive at the
    /// receiver.
    pub fn start(
        paths: &Paths,
        parts: Parts,
        tracker: &TaskTracker,
        stop: CancellationToken,
    ) -> (Self, mpsc::Receiver<NotTaken>) {
        let Parts { approvals, host, ports, environment } = parts;
        let (not_taken, receiver) = mpsc::channel(NOT_TAKEN);
        let this = Self {
            inner: Arc::new(Inner {
                file: paths.gateways(),
                secrets: Secrets::new(paths.gateway_secrets(), paths.openclaw_state.clone(), environment),
                tools: OperatorParts {
                    approvals,
                    host,
                    ports,
                    own_node: Arc::new(OwnNode::of(paths)),
                    not_taken,
                },
                live: Mutex::default(),
                changing: tokio::sync::Mutex::default(),
                changed: watch::Sender::new(()),
                tracker: tracker.clone(),
                stop,
            }),
        };
        this.read();
        (this, receiver)
    }

    fn read(&self) {
        match config::read(&self.inner.file) {
            Ok(gateways) => {
                for gateway in &gateways {
                    self.run(gateway);
                }
                self.live().gateways = gateways;
            }
            Err(error) => {
                tracing::error!("{error:#}");
                self.live().broken = Some(format!("{error:#}"));
            }
        }
    }

    /// The same keyring, with another folder for what it does not take.
    pub fn secrets_in(&self, folder: PathBuf) -> Secrets {
        self.inner.secrets.beside(folder)
    }

    /// Hears of answers that were not taken.
    pub fn not_taken(&self) -> mpsc::Sender<NotTaken> {
        self.inner.tools.not_taken.clone()
    }

    /// Every gateway as the page shows it.
    pub fn views(&self) -> Vec<GatewayView> {
        let live = self.live();
        live.gateways.iter().map(|gateway| view(gateway, live.running.get(&gateway.id))).collect()
    }

    /// Why nothing can be connected or changed, if something is wrong with the file.
    pub fn broken(&self) -> Option<String> {
        self.live().broken.clone()
    }

    /// Follows that something changed.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.inner.changed.subscribe()
    }

    /// Adds or changes a gateway, and connects anew.
    pub async fn save(&self, edit: GatewayEdit) -> Result<(), ConnectionsError> {
        let _one = self.inner.changing.lock().await;
        let (mut gateways, at) = self.draft(edit.id.as_deref())?;
        let old = at.and_then(|at| gateways.get(at)).cloned();
        let filled =
            |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let mut gateway = Gateway {
            id: old.as_ref().map_or_else(|| self.inner.tools.ports.ids.uuid(), |old| old.id.clone()),
            name: edit.name.trim().to_owned(),
            url: edit.url.trim().to_owned(),
            pin: filled(edit.pin),
            enabled: edit.enabled,
            sees_agents: edit.sees_agents,
            session_filter: filled(edit.session_filter),
            secret_kind: edit.secret_kind,
            secret: old.as_ref().map_or(SecretPlace::None, |old| old.secret),
        };
        gateway.checked().map_err(ConnectionsError::Invalid)?;
        // A secret that was given for one place must not be sent to another one unasked.
        let moves = old.as_ref().is_some_and(|old| old.url != gateway.url || old.pin != gateway.pin);
        if moves && edit.secret == SecretEdit::Keep && gateway.secret != SecretPlace::None {
            let text = "secret: expected it again, because the address or the certificate changed";
            return Err(ConnectionsError::Invalid(anyhow::anyhow!(text)));
        }
        let secrets = &self.inner.secrets;
        secrets.person_is_there();
        gateway.secret = match edit.secret {
            SecretEdit::Keep => gateway.secret,
            SecretEdit::Clear => SecretPlace::None,
            SecretEdit::OpenClaw => SecretPlace::OpenClaw,
            SecretEdit::Set { value } if value.trim().is_empty() => SecretPlace::None,
            SecretEdit::Set { value } => stored(secrets.keep(&gateway.id, value.trim()).await)?,
        };
        match at.and_then(|at| gateways.get_mut(at)) {
            Some(place) => *place = gateway.clone(),
            None => gateways.push(gateway.clone()),
        }
        self.store(gateways).await?;
        self.live().running.remove(&gateway.id);
        // Not before: until it is written where the new one is, the old one is all there is.
        if old.is_some_and(|old| old.secret != gateway.secret) {
            secrets.tidy(&gateway.id, gateway.secret).await;
        }
        self.run(&gateway);
        Ok(())
    }

    /// Forgets a gateway and its secrets. What waits there is withdrawn here.
    pub async fn remove(&self, id: &str) -> Result<(), ConnectionsError> {
        let _one = self.inner.changing.lock().await;
        let (mut gateways, at) = self.draft(Some(id))?;
        if let Some(at) = at {
            gateways.remove(at);
        }
        self.store(gateways).await?;
        self.live().running.remove(id);
        self.inner.secrets.person_is_there();
        stored(self.inner.secrets.forget(id).await)?;
        self.inner.changed.send_replace(());
        Ok(())
    }

    /// Tries again now.
    pub fn retry(&self, id: &str) -> Result<(), ConnectionsError> {
        self.inner.secrets.person_is_there();
        self.live().running.get(id).map(|running| running.link.retry()).ok_or(ConnectionsError::Gone)
    }

    /// The gateways to change, and where the one with this id is.
    fn draft(&self, id: Option<&str>) -> Result<(Vec<Gateway>, Option<usize>), ConnectionsError> {
        let live = self.live();
        if let Some(broken) = &live.broken {
            return Err(ConnectionsError::Store(broken.clone()));
        }
        let at = id.map(|id| live.gateways.iter().position(|gateway| gateway.id == id));
        match at {
            Some(None) => Err(ConnectionsError::Gone),
            None if live.gateways.len() >= MAX_GATEWAYS => {
                let text = format!("expected at most {MAX_GATEWAYS} gateways");
                Err(ConnectionsError::Invalid(anyhow::anyhow!(text)))
            }
            at => Ok((live.gateways.clone(), at.flatten())),
        }
    }

    async fn store(&self, gateways: Vec<Gateway>) -> Result<(), ConnectionsError> {
        let (file, stored) = (self.inner.file.clone(), gateways.clone());
        blocking(move || config::write(&file, &stored)).await?;
        self.live().gateways = gateways;
        self.inner.changed.send_replace(());
        Ok(())
    }

    /// Connects, if it is wanted.
    fn run(&self, gateway: &Gateway) {
        if !gateway.enabled {
            return;
        }
        let (address, pin) = match gateway.checked() {
            Ok(checked) => checked,
            // Both ways in check it.
            Err(error) => return tracing::error!("{error:#}"),
        };
        let identity = match self.identity() {
            Ok(identity) => identity,
            Err(error) => {
                tracing::error!("{error:#}");
                self.live().broken = Some(format!("{error:#}"));
                return;
            }
        };
        let mut scopes = vec![Scope::Read, Scope::Approvals];
        if gateway.sees_agents {
            scopes.push(Scope::Admin);
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
        let credentials = self.inner.secrets.of(gateway);
        let stop = self.inner.stop.child_token();
        let (link, notices) = client::connect(options, credentials, &self.inner.tracker, &stop);
        let (notices, onward) = onward::tap(notices, own_mark.clone(), &self.inner.tracker);
        let (sender, now) = watch::channel(Now { state: LinkState::Connecting, pending: 0 });
        let about = About {
            id: gateway.id.clone(),
            name: gateway.name.clone(),
            session_filter: gateway.session_filter.clone(),
            address: name,
            own_mark,
        };
        let operator = Operator::new(about, self.inner.tools.clone(), sender);
        let closing = self.inner.stop.clone();
        self.inner.tracker.spawn(operator.run(notices, stop.clone(), closing));
        let (changed, mut follow) = (self.inner.changed.clone(), now.clone());
        self.inner.tracker.spawn(async move {
            while follow.changed().await.is_ok() {
                changed.send_replace(());
            }
        });
        self.live().running.insert(gateway.id.clone(), Running { link, now, onward, stop });
        self.inner.changed.send_replace(());
    }

    fn identity(&self) -> anyhow::Result<Identity> {
        if let Some(identity) = &self.live().identity {
            return Ok(identity.clone());
        }
        let identity = self.inner.secrets.identity()?;
        self.live().identity = Some(identity.clone());
        Ok(identity)
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.inner.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn view(gateway: &Gateway, running: Option<&Running>) -> GatewayView {
    let now = running.map(|running| running.now.borrow().clone());
    let (state, pending) = now.map_or((LinkState::Off, 0), |now| (now.state, now.pending));
    GatewayView {
        id: gateway.id.clone(),
        name: display::shown(&gateway.name, ShownSecrets::Show),
        url: gateway.url.clone(),
        pin: gateway.pin.clone(),
        enabled: gateway.enabled,
        sees_agents: gateway.sees_agents,
        session_filter: gateway.session_filter.clone(),
        secret_kind: gateway.secret_kind,
        secret: gateway.secret,
        state,
        pending: u32::try_from(pending).unwrap_or(u32::MAX),
    }
}

fn stored<T>(done: std::io::Result<T>) -> Result<T, ConnectionsError> {
    done.map_err(|error| ConnectionsError::Store(error.to_string()))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, ConnectionsError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => stored(done),
        Err(error) => Err(ConnectionsError::Store(error.to_string())),
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
