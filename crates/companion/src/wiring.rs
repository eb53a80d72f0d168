//! Starts the parts in order and joins them; stops them in the reverse order.

use crate::aftermath;
use crate::connections::{self, Connections};
use crate::control;
use crate::desk::{self, Desk};
use crate::forward::{self, Forward};
use crate::gateway::{self, EmbeddedGateway};
use crate::known::Known;
use crate::paths::{Paths, process_environment};
use crate::pets::{self, PetSources};
use crate::routing::{self, Router};
use crate::settings::SettingsFile;
use crate::tools::pets::Companions;
use crate::tools::{self, Tools};
use countersign_approvals::Approvals;
use countersign_approvals::actor::PresenterGuard;
use countersign_approvals::history::{History, HistoryError};
use countersign_approvals::ports::Ports;
use countersign_approvals::rules::RuleStore;
use countersign_approvals::store::Store;
use countersign_node::descriptors;
use countersign_node::host::{self, Host};
use countersign_node::socket::listener::BindError;
use countersign_node::socket::server;
use countersign_protocol::document;
use countersign_protocol::ui::Via;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Everything behind the windows, running.
pub struct Companion {
    desk: Desk,
    phases: Phases,
}

/// Why the companion did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Another instance serves this state directory.
    #[error("Countersign is already running for this state directory")]
    AlreadyRunning,
    /// The control socket cannot be made.
    #[error(transparent)]
    Control(BindError),
    /// The history cannot be opened; without a record nothing is decided.
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// The parts that both the app and the command line without an app need.
pub struct Core {
    /// Asks people.
    pub approvals: Approvals,
    /// The document.
    pub store: Store,
    /// Our own rules.
    pub rules: RuleStore,
    /// What happened.
    pub history: History,
    /// Time and ids.
    pub ports: Ports,
    /// The person's settings.
    pub settings: Arc<SettingsFile>,
    /// This machine as exec host.
    pub host: Arc<Host>,
    phases: Phases,
}

/// Two groups of tasks: what decides and runs, and what it is written down by. The second is stopped when the first has
/// ended, so that the end of every request is still recorded.
#[derive(Default)]
struct Phases {
    acting: Phase,
    recording: Phase,
}

#[derive(Default)]
struct Phase {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Core {
    /// Starts the parts. Must be called inside a tokio runtime.
    pub fn start(paths: &Paths, via: Via) -> Result<Self, HistoryError> {
        // Here and not where the program starts: what its guardian starts is this program again.
        descriptors::raise_limit();
        let phases = Phases::default();
        let Phases { acting, recording } = &phases;
        let ports = Ports::system();
        let settings = Arc::new(SettingsFile::open(paths.settings()));
        acting.tracker.spawn(Arc::clone(&settings).until_readable(acting.stop.clone()));
        let approvals = Approvals::start(ports.clone(), MAX_PENDING, &acting.tracker, acting.stop.clone());
        let store = Store::open(
            paths.openclaw_state.clone(),
            ports.clone(),
            &recording.tracker,
            recording.stop.clone(),
        );
        let rules = RuleStore::open(paths.rules(), ports.clone(), &recording.tracker, recording.stop.clone());
        let history =
            History::open(paths.history_places(), ports.clone(), &recording.tracker, recording.stop.clone())?;
        let host = Arc::new(Host::new(host::Parts {
            approvals: approvals.clone(),
            store: store.clone(),
            rules: rules.clone(),
            history: history.clone(),
            ports: ports.clone(),
            settings: settings.watch(),
            environment: process_environment(),
            home: paths.home.clone(),
            private: vec![paths.state.clone(), paths.config.clone()],
            via,
        }));
        Ok(Self { approvals, store, rules, history, ports, settings, host, phases })
    }

    /// Stops everything. Bounded.
    pub async fn stop(self) {
        self.phases.stop().await;
    }
}

impl Phases {
    async fn stop(self) {
        self.acting.stop("what decides and runs").await;
        self.recording.stop("what records").await;
    }
}

impl Phase {
    async fn stop(self, what: &str) {
        self.stop.cancel();
        self.tracker.close();
        if tokio::time::timeout(STOP_WAIT, self.tracker.wait()).await.is_err() {
            tracing::warn!(what, "some tasks did not stop in time");
        }
    }
}

impl Companion {
    /// Takes the state directory, then starts the parts, the sockets, the gateway and the desk. Must be called inside a tokio runtime.
    /// The guard announces the windows to come: as long as it lives a request waits for them, and without it the fallback
    /// decides.
    pub fn start(paths: &Paths) -> Result<(Self, PresenterGuard), StartError> {
        let control = control::bind(&paths.control_socket()).map_err(|error| match error {
            BindError::Held(_) => StartError::AlreadyRunning,
            other => StartError::Control(other),
        })?;
        let core = Core::start(paths, Via::Socket)?;
        // Before anything of this app's writes them.
        let (changes, rule_changes) = (core.store.changes(), core.rules.changes());
        let known = Known::of(paths);
        let meanwhile = known.meanwhile(&core.store.current(), &core.rules.current());
        let (history, paths_of_left, stop) =
            (core.history.clone(), paths.clone(), core.phases.acting.stop.clone());
        core.phases.acting.tracker.spawn(async move {
            tokio::select! {
                () = aftermath::record_what_was_left(&paths_of_left, &history) => {}
                () = stop.cancelled() => {}
            }
        });
        // Before the sockets open, so that no request slips in between.
        let presenter = core.approvals.presenter();
        let (connections, not_taken) = Connections::start(
            paths,
            connections::Parts {
                approvals: core.approvals.clone(),
                host: core.host.clone(),
                ports: core.ports.clone(),
                environment: process_environment(),
            },
            &core.phases.acting.tracker,
            core.phases.acting.stop.clone(),
        );
        let pets = PetSources::start(
            paths,
            pets::Parts {
                approvals: core.approvals.clone(),
                host: core.host.clone(),
                ports: core.ports.clone(),
                secrets: connections.secrets_in(paths.pet_secrets()),
                not_taken: connections.not_taken(),
            },
            &core.phases.acting.tracker,
            core.phases.acting.stop.clone(),
        );
        let forward = Forward::start(
            paths,
            forward::Parts {
                approvals: core.approvals.clone(),
                ports: core.ports.clone(),
                environment: process_environment(),
                connections: Some(connections.clone()),
            },
            &core.phases.acting.tracker,
            core.phases.acting.stop.clone(),
        );
        let (restored, lost_sockets) = mpsc::channel(LOST_SOCKETS);
        let socket = server::start(
            core.store.clone(),
            core.ports.clone(),
            core.host.clone(),
            restored.clone(),
            &core.phases.acting.tracker,
            core.phases.acting.stop.clone(),
        );
        let gateway = EmbeddedGateway::start(
            gateway::Parts {
                approvals: core.approvals.clone(),
                store: core.store.clone(),
                host: core.host.clone(),
                ports: core.ports.clone(),
                paths: paths.clone(),
                folder: paths.gateway(),
                settings: core.settings.watch_gateway(),
                pet: core.settings.watch_pet(),
                port: paths.gateway_port,
            },
            &core.phases.acting.tracker,
            core.phases.acting.stop.clone(),
        );
        let router = Router::new(
            paths,
            routing::Parts {
                host: core.host.clone(),
                history: core.history.clone(),
                ports: core.ports.clone(),
                nodes: Some(Arc::new(gateway.clone())),
                sandbox_folders: routing::sandbox_folders(),
            },
        );
        let tools = Tools::new(tools::Parts {
            host: core.host.clone(),
            router: router.clone(),
            ports: core.ports.clone(),
            environment: process_environment(),
            home: paths.home.clone(),
            private: vec![
                paths.state.clone(),
                paths.config.clone(),
                paths.openclaw_state.join(document::FILE_NAME),
            ],
            pets: Some(Arc::new(Companions {
                gateway: gateway.clone(),
                approvals: core.approvals.clone(),
                ports: core.ports.clone(),
                tracker: core.phases.acting.tracker.clone(),
            })),
            tracker: core.phases.acting.tracker.clone(),
            stop: core.phases.acting.stop.clone(),
        });
        gateway.offer(Arc::new(tools.clone()));
        let desk = Desk::start(
            desk::Parts {
                approvals: core.approvals,
                store: core.store,
                rules: core.rules,
                history: core.history,
                history_places: paths.history_places(),
                known,
                ports: core.ports,
                settings: core.settings,
                host: core.host,
                gateway,
                connections,
                pets,
                forward,
                router,
                tools,
                socket,
                socket_path: paths.openclaw_state.join(document::SOCKET_NAME),
            },
            desk::News { not_taken, lost_sockets, meanwhile, changes, rule_changes },
            &core.phases.acting.tracker,
            core.phases.acting.stop.clone(),
        );
        control::serve(
            control,
            desk.clone(),
            restored,
            &core.phases.acting.tracker,
            core.phases.acting.stop.clone(),
        );
        Ok((Self { desk, phases: core.phases }, presenter))
    }

    /// What windows, tray and control channel talk to.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Stops accepting, withdraws what waits, ends what runs, removes the sockets, then flushes document and history.
    /// Bounded.
    pub async fn stop(self) {
        self.phases.stop().await;
    }
}

/// Requests that may wait at once (docs/protocol/approvals.md, "State machine").
const MAX_PENDING: usize = 256;

/// Losses of sockets that wait to be written down; more are not, one by one.
const LOST_SOCKETS: usize = 8;

/// How long each phase of stopping may take: a command gets TERM, then KILL, and its end is recorded within it.
const STOP_WAIT: Duration = Duration::from_secs(5);
