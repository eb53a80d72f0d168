//! The app's own gateway: it serves while the person wants it, on the port that they chose, and tries again
//! when that is taken. Nothing of the app waits for it or ends with it.

use super::backend::{App, GatewayBackend, Presence};
use super::pets::{self, PetChannel};
use super::policies::Policies;
use super::tools::{Offered, Sessions, Tools};
use super::{ServeError, keep, listen};
use super::{state, view};
use countersign_approvals::Approvals;
use countersign_approvals::ports::Ports;
use countersign_approvals::store::Store;
use countersign_approvals::watcher::Watcher;
use countersign_core::identity::OwnNode;
use countersign_core::paths::Paths;
use countersign_core::session_events::SessionEvents;
use countersign_core::settings::{GatewaySettings, PetSettings};
use countersign_gateway::embedded::{Config, Embedded};
use countersign_gateway::pairing::LocalPairing;
use countersign_node::host::Host;
use countersign_protocol::control::TurnedAway;
use countersign_protocol::ids::DeviceId;
use countersign_protocol::ui::{EmbeddedState, EmbeddedView};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What the app's own gateway is made of.
pub struct Parts {
    /// Asks people.
    pub approvals: Approvals,
    /// The document.
    pub store: Store,
    /// Knows rules, facts and history.
    pub host: Arc<Host>,
    /// Time and ids.
    pub ports: Ports,
    /// What sessions are told of runs.
    pub events: SessionEvents,
    /// Where this machine's node is.
    pub paths: Paths,
    /// Folder of token and devices.
    pub folder: PathBuf,
    /// Whether and where the person wants it.
    pub settings: watch::Receiver<GatewaySettings>,
    /// Whether companion clients may answer.
    pub pet: watch::Receiver<PetSettings>,
    /// Port that holds whatever the settings say; 0 for any free one.
    pub port: Option<u16>,
}

/// Handle of the app's own gateway.
#[derive(Clone)]
pub struct EmbeddedGateway {
    pub(super) now: watch::Receiver<GatewayStatus>,
    settings: watch::Receiver<GatewaySettings>,
    pub(super) pet: watch::Receiver<PetSettings>,
    token_file: PathBuf,
    pub(super) pet_token_file: PathBuf,
    app: Arc<App>,
    tools: Offered,
}

/// How the gateway is. Told anew whenever something about it changes.
pub struct GatewayStatus {
    pub(super) state: EmbeddedState,
    /// There since token and devices could be read.
    gateway: Option<Embedded<GatewayBackend>>,
    pub(super) pet: PetChannel,
}

/// A person's answer to a device that waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// It may do what it asks for.
    Approve,
    /// It is turned away.
    Reject,
}

impl EmbeddedGateway {
    /// Serves on `tracker` until `stop`, whenever the settings want it.
    pub fn start(parts: Parts, tracker: &TaskTracker, stop: CancellationToken) -> Self {
        let (sender, now) = watch::channel(GatewayStatus {
            state: EmbeddedState::Off,
            gateway: None,
            pet: PetChannel::Closed,
        });
        let app =
            App { host: Arc::clone(&parts.host), node: OwnNode::of(&parts.paths), port: AtomicU16::new(0) };
        let app = Arc::new(app);
        let this = Self {
            now,
            settings: parts.settings.clone(),
            pet: parts.pet.clone(),
            token_file: parts.folder.join(TOKEN_FILE),
            pet_token_file: parts.folder.join(PET_TOKEN_FILE),
            app: Arc::clone(&app),
            tools: Offered::default(),
        };
        let tools = this.tools.clone();
        let keeping = Keeping { app, parts, tools, tracker: tracker.clone(), stop, now: sender };
        tracker.spawn(keeping.run());
        this
    }

    /// Has programs with the token call these. Once; there are none before.
    pub fn offer(&self, tools: Arc<dyn Tools>) {
        self.tools.set(tools);
    }

    /// Has programs with the right scope say something to sessions. Once; nobody hears it before.
    pub fn offer_sessions(&self, sessions: Arc<dyn Sessions>) {
        self.tools.set_sessions(sessions);
    }

    /// How this machine's runner calls it.
    pub(super) fn name(&self) -> String {
        self.app.name()
    }

    /// Everything that a person sees of it.
    pub fn view(&self) -> EmbeddedView {
        let (state, gateway) = {
            let now = self.now.borrow();
            (now.state.clone(), now.gateway.clone())
        };
        let gateway = gateway.as_ref();
        let clients = gateway.map(|gateway| gateway.clients()).unwrap_or_default();
        EmbeddedView {
            state,
            port: self.settings.borrow().port,
            token_file: self.token_file.display().to_string(),
            clients: view::clients(&clients),
            devices: gateway.map(|gateway| view::devices(&gateway.devices(), &clients)).unwrap_or_default(),
            waiting: gateway.map(|gateway| view::waiting(&gateway.waiting())).unwrap_or_default(),
        }
    }

    /// Who was turned away in the last hour, the last first.
    pub fn turned_away(&self) -> Vec<TurnedAway> {
        self.embedded().map(|gateway| view::turned_away(&gateway.turned_away())).unwrap_or_default()
    }

    /// The gateway, once token and devices could be read.
    pub(super) fn embedded(&self) -> Option<Embedded<GatewayBackend>> {
        self.now.borrow().gateway.clone()
    }

    /// Told whenever [`EmbeddedGateway::view`] changes.
    pub fn changes(&self) -> watch::Receiver<GatewayStatus> {
        self.now.clone()
    }

    /// Answers a device that waits. False when it no longer does.
    pub fn answer(&self, request_id: &str, verdict: Verdict) -> bool {
        self.embedded().is_some_and(|gateway| match verdict {
            Verdict::Approve => gateway.approve(request_id).is_some(),
            Verdict::Reject => gateway.reject(request_id).is_some(),
        })
    }

    /// Forgets a device and ends its connections. False for an unknown one.
    pub fn remove(&self, device_id: &DeviceId) -> bool {
        self.embedded().is_some_and(|gateway| gateway.remove(device_id))
    }
}

/// The task that keeps the gateway as the settings want it.
struct Keeping {
    parts: Parts,
    app: Arc<App>,
    tools: Offered,
    tracker: TaskTracker,
    stop: CancellationToken,
    now: watch::Sender<GatewayStatus>,
}

impl Keeping {
    async fn run(self) {
        let mut settings = self.parts.settings.clone();
        let mut pause = FIRST_PAUSE;
        while !self.stop.is_cancelled() {
            let wanted = settings.borrow_and_update().clone();
            // Also without serving: the person sees the devices and can send them away.
            let known = self.known();
            if !wanted.enabled {
                self.tell(EmbeddedState::Off);
                self.wait(None, other(&mut settings, &wanted)).await;
                continue;
            }
            let port = self.parts.port.unwrap_or(wanted.port);
            let opened = async {
                let gateway = known?;
                let (listener, address) = listen(port).await?;
                Ok::<_, ServeError>((gateway, listener, address))
            };
            let problem = match opened.await {
                Ok((gateway, listener, address)) => {
                    pause = FIRST_PAUSE;
                    tracing::info!(%address, "embedded gateway: serving");
                    self.app.port.store(address.port(), Ordering::Relaxed);
                    self.tell(EmbeddedState::Serving { url: format!("ws://{address}") });
                    match self.serve(&gateway, listener, other(&mut settings, &wanted)).await {
                        Ok(()) => continue,
                        Err(error) => format!("the gateway ended: {error}"),
                    }
                }
                Err(error) => format!("{error:#}"),
            };
            tracing::warn!(problem, pause_s = pause.as_secs(), "embedded gateway: not serving");
            self.tell(EmbeddedState::Failed { problem });
            self.wait(Some(pause), other(&mut settings, &wanted)).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
        self.tell(EmbeddedState::Off);
    }

    /// Serves until `stop` or until something else is wanted.
    async fn serve(
        &self,
        gateway: &Embedded<GatewayBackend>,
        listener: TcpListener,
        other: impl Future<Output = ()>,
    ) -> std::io::Result<()> {
        let ending = self.stop.child_token();
        let pets = gateway.pets();
        let (mut changes, mut pet_changes) = (gateway.changes(), pets.changes());
        let serving = gateway.serve(listener, ending.clone());
        let telling = async {
            loop {
                tokio::select! {
                    Ok(()) = changes.changed() => {}
                    Ok(()) = pet_changes.changed() => {}
                    else => std::future::pending().await,
                }
                self.now.send_modify(|_| {});
            }
        };
        let letting_pets_in = pets::follow(&pets, &self.parts, &self.now);
        let following = self.follow_token(gateway);
        tokio::pin!(serving, telling, letting_pets_in, following, other);
        let served = loop {
            tokio::select! {
                // Before anybody can connect.
                biased;
                () = &mut letting_pets_in => {}
                served = &mut serving => break served,
                () = &mut telling => {}
                () = &mut following => {}
                () = &mut other, if !ending.is_cancelled() => ending.cancel(),
            }
        };
        pets.close();
        self.now.send_modify(|now| now.pet = PetChannel::Closed);
        // The end of the app withdraws everything by itself, and says so.
        if !self.stop.is_cancelled() {
            gateway.backend().withdraw_all();
        }
        served
    }

    /// Has the file's token count as soon as it is another one; who is connected stays. One that cannot be
    /// read or was removed changes nothing. Never ends.
    async fn follow_token(&self, gateway: &Embedded<GatewayBackend>) {
        let folder = &self.parts.folder;
        let wake = Arc::new(Notify::new());
        let mut watcher = Watcher::new(vec![folder.clone()], Arc::clone(&wake));
        loop {
            let look_after = watcher.follow();
            match state::kept_token(&folder.join(TOKEN_FILE)) {
                Ok(Some(token)) => gateway.set_token(token),
                Ok(None) => {}
                Err(error) => tracing::warn!("the gateway's token stays as it was: {error:#}"),
            }
            tokio::select! {
                () = wake.notified() => {}
                () = tokio::time::sleep(look_after) => {}
            }
        }
    }

    /// The gateway with its present token.
    fn known(&self) -> Result<Embedded<GatewayBackend>, ServeError> {
        let Parts { approvals, store, ports, events, folder, .. } = &self.parts;
        let token = state::token(&folder.join(TOKEN_FILE), ports)?;
        let known = self.now.borrow().gateway.clone();
        if let Some(gateway) = known {
            gateway.set_token(token);
            return Ok(gateway);
        }
        let presence = Presence::App(Arc::clone(&self.app));
        let (tracker, stop) = (self.tracker.clone(), self.stop.clone());
        let policies = Policies::of_app(store.clone(), ports.clone());
        let tools = self.tools.clone();
        let (approvals, ports, events) = (approvals.clone(), ports.clone(), events.clone());
        let backend = GatewayBackend::new(approvals, policies, ports, presence, tools, tracker, stop)
            .with_events(events);
        let kept = folder.clone();
        let config = Config {
            token,
            local_pairing: LocalPairing::Ask,
            devices: state::devices(folder)?,
            keep: Box::new(move |devices| keep(&kept, devices)),
        };
        let gateway = Embedded::new(backend, config);
        self.now.send_modify(|now| now.gateway = Some(gateway.clone()));
        Ok(gateway)
    }

    fn tell(&self, state: EmbeddedState) {
        self.now.send_modify(|now| now.state = state);
    }

    async fn wait(&self, pause: Option<Duration>, other: impl Future<Output = ()>) {
        let over = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = over => {}
            () = other => {}
        }
    }
}

/// Resolves when something else than `wanted` is; never when nobody can say so any more.
async fn other(settings: &mut watch::Receiver<GatewaySettings>, wanted: &GatewaySettings) {
    if settings.wait_for(|now| now != wanted).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Name of the file with the token.
pub const TOKEN_FILE: &str = "token";

/// Name of the file with the pet channel's token, which is another one: it answers and does nothing else.
pub(super) const PET_TOKEN_FILE: &str = "pet-token";

/// First and longest pause between tries to serve, as for the approval socket.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LAST_PAUSE: Duration = Duration::from_secs(30);
