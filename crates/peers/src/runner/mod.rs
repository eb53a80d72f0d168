//! This machine as a node of a gateway: the headless runner (docs/protocol/nodes.md).
//!
//! It takes commands from a gateway and believes nothing that comes with them: the local policy decides, the
//! app is asked over its socket when it is there, and `askFallback` holds when it is not.

mod asking;
mod calls;
mod document;
mod outcome;
mod run;
mod state;

pub use state::{PeersNode, ServedGateway, is_served};

use crate::gateway::policies::Policies;
use asking::Asking;
use calls::{Calls, RunnerParts};
use countersign_approvals::history::HistoryError;
use countersign_core::Core;
use countersign_core::identity::{KeyError, device_identity, gateway_name, node_key};
use countersign_core::paths::Paths;
use countersign_core::private::Spoiled;
use countersign_gateway::access::Role;
use countersign_gateway::client::{self, LinkProblem, Live, Notice};
use countersign_policy::display;
use countersign_protocol::gateway::node::{CAP_TERMINAL, command};
use countersign_protocol::ids::NodeId;
use countersign_protocol::question::Via;
use serde::Serialize;
use state::{GatewaySecrets, Lease};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What the runner tells whoever started it, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum News {
    /// It is being connected.
    Connecting {
        /// Where to.
        gateway: String,
        /// As which node.
        node_id: NodeId,
    },
    /// Commands can come.
    Connected {
        /// Where to.
        gateway: String,
        /// The gateway's release, as it says.
        version: String,
        /// As which node.
        node_id: NodeId,
    },
    /// It is not connected.
    Lost {
        /// Why.
        problem: LinkProblem,
        /// When it is tried again; without it the runner ends.
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_in_ms: Option<u64>,
    },
}

/// Whose process runs what is allowed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Context {
    /// The app's, while it is there: it asks, runs and keeps what the person answered at a gateway.
    #[default]
    App,
    /// This one's. The app only asks.
    Own,
}

/// How serving ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Served {
    /// It was told to.
    ToItsEnd,
    /// The gateway will not take this node until somebody changes something.
    NotTaken,
}

/// Why it does not serve.
#[derive(Debug, thiserror::Error)]
pub enum NotServed {
    /// Another does, or nobody can tell.
    #[error(transparent)]
    Lease(#[from] NoLease),
    /// It would be nobody.
    #[error("this node has no key: {0}")]
    Key(#[from] KeyError),
    /// What it does could not be recorded.
    #[error(transparent)]
    History(#[from] HistoryError),
}

/// Why it may not be the one that serves as this node.
#[derive(Debug, thiserror::Error)]
pub enum NoLease {
    /// Another is.
    #[error("another runner serves as this node already")]
    Served,
    /// The file by which runners know of each other.
    #[error("cannot lock {path}: {why}")]
    Lock {
        /// It.
        path: PathBuf,
        /// What is wrong with it.
        why: Spoiled,
    },
}

impl NoLease {
    fn of<E: Into<Spoiled>>(path: &Path) -> impl Fn(E) -> Self + use<'_, E> {
        |error| Self::Lock { path: path.to_owned(), why: error.into() }
    }
}

/// Serves as a node until `stop` is cancelled. What runs then is ended, and its ends are told and
/// recorded; bounded.
pub async fn serve(
    paths: &Paths,
    place: ServedGateway,
    stop: CancellationToken,
    mut tell: impl FnMut(News),
) -> Result<Served, NotServed> {
    // One at a time: two would take each other's place at the gateway for ever.
    let _lease = Lease::take(paths)?;
    let identity = device_identity(&node_key(paths))?;
    let node_id = NodeId::from(&identity.device_id());
    let gateway = place.address.to_string();
    let core = Core::start(paths, Via::Node)?;
    countersign_core::record_what_was_left(paths, &core.history).await;
    let tools = Arc::new(RunnerParts {
        node_id: node_id.clone(),
        gateway: gateway_name(&place.address),
        paths: paths.clone(),
        host: Arc::clone(&core.host),
        store: core.store.clone(),
        policies: Policies::of_app(core.store.clone(), core.ports.clone()),
        ports: core.ports.clone(),
        asking: (place.context == Context::Own)
            .then(|| Asking::new(paths, core.approvals.clone(), core.ports.clone())),
    });
    let options = client::Options {
        address: place.address.clone(),
        pin: place.pin,
        identity,
        role: Role::Node.as_str(),
        scopes: Vec::new(),
        caps: vec![CAP.to_owned(), CAP_TERMINAL.to_owned()],
        commands: command::ALL.map(str::to_owned).to_vec(),
        display_name: place.display_name.clone(),
    };
    let tracker = tokio_util::task::TaskTracker::new();
    let linked = CancellationToken::new();
    let (_link, mut notices) =
        client::connect(options, GatewaySecrets::new(paths, place.token, &gateway), &tracker, &linked);
    if let Some(asking) = tools.asking.clone() {
        tracker.spawn(asking.run(linked.clone()));
    }
    let mut calls = Calls::new(tools);
    let mut live: Option<Live> = None;
    let mut served = Served::ToItsEnd;
    tell(News::Connecting { gateway: gateway.clone(), node_id: node_id.clone() });
    loop {
        let notice = tokio::select! {
            notice = notices.recv() => notice,
            () = calls.tidy() => continue,
            () = stop.cancelled() => break,
        };
        match notice {
            None => break,
            Some(Notice::Opened(opened)) => {
                let version = display::escape(&opened.hello().server.version);
                live = Some(opened);
                tell(News::Connected { gateway: gateway.clone(), version, node_id: node_id.clone() });
            }
            Some(Notice::Event(event)) => {
                if let Some(live) = &live {
                    calls.event(live, event);
                }
            }
            Some(Notice::Lost { problem, retry_in }) => {
                live = None;
                // Whoever wanted these was told that they failed, and no other connection may
                // bring their results.
                calls.cancel_all();
                let retry_in_ms = retry_in.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                // Nobody is here who could mend it and say so.
                let is_over = retry_in.is_none();
                tell(News::Lost { problem, retry_in_ms });
                if is_over {
                    served = Served::NotTaken;
                    break;
                }
            }
            Some(Notice::Gap) => tracing::warn!("calls of the gateway were lost: too many at once"),
            Some(Notice::Connecting | Notice::Narrow { .. }) => {}
        }
    }
    calls.cancel_all();
    if tokio::time::timeout(ENDING, calls.ended()).await.is_err() {
        tracing::warn!("some commands did not end in time");
    }
    linked.cancel();
    tracker.close();
    tracker.wait().await;
    core.stop().await;
    Ok(served)
}

/// What a node without a screen can do (docs/protocol/nodes.md, "Introduction").
const CAP: &str = "system";

/// How long commands may take to end: TERM, then KILL, and their results on the way.
const ENDING: Duration = Duration::from_secs(4);

#[cfg(test)]
mod tests;
