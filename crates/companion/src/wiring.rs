//! Starts the parts in order and joins them; stops them in the reverse order.

use crate::agents::{Agents, Places};
use crate::control;
use crate::desk::{self, Desk};
use crate::routing::{self, Router};
use crate::tools::pets::Companions;
use crate::tools::{self, Tools};
use countersign_approvals::actor::PresenterGuard;
use countersign_approvals::history::HistoryError;
use countersign_core::known::KnownVersions;
use countersign_core::paths::{Paths, process_environment};
use countersign_core::session_events::SessionEvents;
use countersign_core::{Core, Phases};
use countersign_node::executor::sandbox;
use countersign_node::host::Host;
use countersign_node::socket::listener::BindError;
use countersign_node::socket::server;
use countersign_peers::connections::{self, Connections};
use countersign_peers::forward::{self, Forward};
use countersign_peers::gateway::{self, EmbeddedGateway};
use countersign_peers::pets::{self, PetSources};
use countersign_protocol::document;
use countersign_protocol::question::Via;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Everything behind the windows, running.
pub struct Companion {
    desk: Desk,
    host: Arc<Host>,
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

impl Companion {
    /// Takes the state directory, then starts the parts, the sockets, the gateway and the desk. Must be
    /// called inside a tokio runtime. The guard announces the windows to come: as long as it lives a request
    /// waits for them, and without it the fallback decides.
    pub fn start(paths: &Paths) -> Result<(Self, PresenterGuard), StartError> {
        let control = control::bind(&paths.control_socket()).map_err(|error| match error {
            BindError::Held(_) => StartError::AlreadyRunning,
            other => StartError::Control(other),
        })?;
        let core = Core::start(paths, Via::Socket)?;
        // Before anything of this app's writes them.
        let (changes, rule_changes) = (core.store.changes(), core.rules.changes());
        let known = KnownVersions::of(paths);
        let meanwhile = known.meanwhile(&core.store.current(), &core.rules.current());
        let (history, paths_of_left, stop) =
            (core.history.clone(), paths.clone(), core.phases.acting.stop.clone());
        core.phases.acting.tracker.spawn(async move {
            tokio::select! {
                () = countersign_core::record_what_was_left(&paths_of_left, &history) => {}
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
        // So that prompts can offer a box without starting anything to find out.
        core.phases.acting.tracker.spawn(async {
            if let Err(why) = sandbox::check_bubblewrap().await {
                tracing::info!(%why, "no box is offered");
            }
        });
        let (host, stop) = (core.host.clone(), core.phases.acting.stop.clone());
        core.phases.acting.tracker.spawn(async move {
            tokio::select! {
                () = host.prune_kept() => {}
                () = host.stand_boxes() => {}
                () = stop.cancelled() => {}
            }
        });
        let (restored, lost_sockets) = mpsc::channel(LOST_SOCKETS);
        let socket = server::start(
            core.store.clone(),
            core.ports.clone(),
            core.host.clone(),
            restored.clone(),
            &core.phases.acting.tracker,
            core.phases.acting.stop.clone(),
        );
        let events = SessionEvents::default();
        let gateway = EmbeddedGateway::start(
            gateway::Parts {
                approvals: core.approvals.clone(),
                store: core.store.clone(),
                host: core.host.clone(),
                ports: core.ports.clone(),
                events: events.clone(),
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
                fleets: {
                    let connections = connections.clone();
                    Box::new(move || connections.fleets())
                },
                sandbox_folders: routing::sandbox_folders(),
            },
        );
        let tools = Tools::new(tools::Parts {
            host: core.host.clone(),
            router: router.clone(),
            ports: core.ports.clone(),
            environment: process_environment(),
            events: events.clone(),
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
        let serving = gateway.clone();
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
                host: core.host.clone(),
                gateway,
                connections,
                pets,
                forward,
                events,
                trust: core.trust,
                router,
                tools,
                agents: Arc::new(Agents::new(Places::of(paths))),
                socket,
                socket_path: paths.openclaw_state.join(document::SOCKET_NAME),
            },
            desk::News { not_taken, lost_sockets, meanwhile, changes, rule_changes },
            &core.phases.acting.tracker,
            core.phases.acting.stop.clone(),
        );
        serving.offer_sessions(Arc::new(desk.clone()));
        control::serve(
            control,
            desk.clone(),
            restored,
            &core.phases.acting.tracker,
            core.phases.acting.stop.clone(),
        );
        Ok((Self { desk, host: core.host, phases: core.phases }, presenter))
    }

    /// What windows, tray and control channel talk to.
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// Stops accepting, withdraws what waits, ends what runs, removes the sockets, then flushes document and
    /// history. Bounded.
    pub async fn stop(self) {
        self.phases.stop(&self.host).await;
    }
}

/// Losses of sockets that wait to be written down; more are not, one by one.
const LOST_SOCKETS: usize = 8;
