//! The embedded gateway, joined to the approvals of this program: [`EmbeddedGateway`] in the app,
//! [`serve_alone`] without one.

mod app;
mod approval_log;
mod backend;
mod nodes;
mod pets;
pub mod policies;
mod state;
mod tools;
mod view;

use crate::forward::{self, Forward};
pub use app::EmbeddedGateway;
pub use app::TOKEN_FILE;
pub use app::{GatewayStatus, Parts, Verdict};
use backend::{GatewayBackend, Presence};
use countersign_approvals::actor::Approvals;
use countersign_approvals::history::HistoryError;
use countersign_approvals::ports::Ports;
use countersign_core::paths::{Paths, process_environment};
use countersign_core::settings::SettingsFile;
use countersign_gateway::embedded::{Config, Embedded};
use countersign_gateway::pairing::LocalPairing;
use policies::Policies;
#[cfg(fuzzing)]
pub use state::rewrite;
pub use state::{DEVICES_FILE, StateError, StateProblem, check_devices, check_token, token as token_in};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tools::Offered;
pub use tools::{Sessions, Tools};

/// How to serve.
#[derive(Debug)]
pub struct Options {
    /// Port on loopback; 0 for a free one.
    pub port: u16,
    /// Token from the environment; wins over a file.
    pub token: Option<String>,
    /// File with the token; without it, our own.
    pub token_file: Option<PathBuf>,
}

/// A gateway that serves from now on.
#[derive(Debug)]
pub struct Serving {
    /// Where.
    pub address: SocketAddr,
    /// The file with the token, unless it came from the environment.
    pub token_file: Option<PathBuf>,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Serving {
    /// Tells every client and ends. What waits ends as cancelled.
    pub async fn stop(self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

/// Why the gateway does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Another program has the port.
    #[error("port {0} of this machine is taken by another program")]
    Taken(u16),
    /// The system does not give the port.
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Listen {
        /// The port.
        port: u16,
        /// Why not.
        source: std::io::Error,
    },
    /// What it keeps cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// What is changed through it could not be recorded.
    #[error("cannot open the history: {0}")]
    History(#[from] HistoryError),
}

/// A port of this machine, for programs on it alone.
async fn listen(port: u16) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source: std::io::Error| match source.kind() {
        ErrorKind::AddrInUse => ServeError::Taken(port),
        _ => ServeError::Listen { port, source },
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Serves alone, with approvals that only the gateway's clients see: who starts this program by hand and
/// gives out its token lets devices in by that. They are kept apart from those that a person let in.
pub async fn serve_alone(paths: &Paths, options: Options) -> Result<Serving, ServeError> {
    let (listener, address) = listen(options.port).await?;
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let (gateway, token_file) = alone(paths, options, &tracker, &stop)?;
    let serving = stop.clone();
    tracker.spawn(async move {
        if let Err(error) = gateway.serve(listener, serving).await {
            tracing::error!(%error, "the gateway ended");
        }
    });
    Ok(Serving { address, token_file, tracker, stop })
}

/// A gateway without an app that does not serve yet, and the file with its token.
fn alone(
    paths: &Paths,
    options: Options,
    tracker: &TaskTracker,
    stop: &CancellationToken,
) -> Result<(Embedded<GatewayBackend>, Option<PathBuf>), ServeError> {
    let folder = paths.gateway();
    let (token, token_file) = match options.token.filter(|token| !token.trim().is_empty()) {
        Some(token) => (token.trim().to_owned().into(), None),
        None => {
            let file = options.token_file.unwrap_or_else(|| folder.join(TOKEN_FILE));
            (state::token(&file, &Ports::system())?, Some(file))
        }
    };
    let ports = Ports::system();
    let waiting = SettingsFile::open(paths.settings()).watch().borrow().limits.waiting as usize;
    let approvals = Approvals::start(ports.clone(), waiting, tracker, stop.clone());
    let policies = Policies::open(paths, ports.clone(), tracker, stop.clone())?;
    let forward = Forward::start(
        paths,
        forward::Parts {
            approvals: approvals.clone(),
            ports: ports.clone(),
            environment: process_environment(),
            connections: None,
        },
        tracker,
        stop.clone(),
    );
    let presence = Presence::ClientsOnly(forward);
    // Nobody could be asked before a tool is called but the programs that call them.
    let backend = GatewayBackend::new(
        approvals,
        policies,
        ports,
        presence,
        Offered::default(),
        tracker.clone(),
        stop.clone(),
    );
    let alone = folder.join(ALONE);
    let config = Config {
        token,
        local_pairing: LocalPairing::Silent,
        devices: state::devices(&alone)?,
        keep: Box::new(move |devices| keep(&alone, devices)),
    };
    Ok((Embedded::new(backend, config), token_file))
}

/// A device that cannot be stored is let in all the same, until the program ends.
fn keep(folder: &Path, devices: &[countersign_gateway::pairing::Device]) {
    if let Err(error) = state::keep_devices(folder, devices) {
        tracing::error!(%error, "the devices that were let in could not be stored");
    }
}

/// Folder below the gateway's for devices that knew the token and nothing more.
const ALONE: &str = "alone";

#[cfg(test)]
pub(crate) mod tests;
