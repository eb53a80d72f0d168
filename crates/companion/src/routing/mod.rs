//! Where each command runs (docs/protocol/routing.md): resolves what is set for all, for its agent and for
//! its session, and has it run there, in a sandbox, on this machine or on a node.
//!
//! Nothing here allows anything. The place's own policy decides, and what is resolved here can only make that
//! stricter; a place that is not to be had is an error, never another place.
//!
//! ```ignore
//! let ran = router.run(RunRequest { exec, tool }, &peer, gone).await;
//! ```

mod config;
mod edit;
mod nodes;
mod remote;
mod sandbox;
mod say;
mod sessions;

pub use config::Problem;
pub(crate) use config::document_in;
#[cfg(test)]
pub(crate) use config::reading;
use config::{Current, ToolsDocument, ToolsFile};
use countersign_approvals::history::History;
use countersign_approvals::ports::Ports;
use countersign_core::identity::OwnNode;
use countersign_core::paths::Paths;
use countersign_node::host::placement::{Placement, Sandbox};
use countersign_node::host::{Host, Refusal, Signals};
use countersign_node::socket::server::Peer;
use countersign_peers::nodes::Nodes;
use countersign_policy::display::{self, Secrets};
use countersign_policy::effective::Requested;
use countersign_protocol::digits::hex;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::question::{HostKind, Outcome, QuestionKind, Via};
use countersign_protocol::route::RouteLayer;
use countersign_protocol::shown::Shown;
use countersign_protocol::socket::{ExecError, ExecPayload, ExecRequest};
use countersign_protocol::ui::RouteTaken;
use countersign_protocol::vocabulary::{Elevated, ExecHost, Security};
use countersign_routing::Release;
use countersign_routing::directive::Runtime;
use countersign_routing::elevated::{self, Sender};
use countersign_routing::route::{self, Layers, Route, RouteError, Surroundings, Tool};
pub use edit::RoutingError;
pub(crate) use edit::Sandboxed;

use sandbox::NoSandbox;
pub(crate) use sandbox::folders as sandbox_folders;
pub(crate) use say::Heard;
use serde_json::{Map, Value};
pub(crate) use sessions::Key;
use sessions::Sessions;
use sha2::{Digest as _, Sha256};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

/// What a router is made of.
pub struct Parts {
    /// This machine.
    pub host: Arc<Host>,
    /// What happened.
    pub history: History,
    /// Time and ids.
    pub ports: Ports,
    /// Nodes, where a gateway brings them.
    pub nodes: Option<Arc<dyn Nodes>>,
    /// Those of other gateways that the person lets this app route to, as they are at the moment.
    pub fleets: Box<dyn Fn() -> Vec<Arc<dyn Nodes>> + Send + Sync>,
    /// Where the programs that make sandboxes are looked for.
    pub sandbox_folders: Vec<PathBuf>,
}

/// Handle of the router.
#[derive(Clone)]
pub struct Router {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Parts,
    file: ToolsFile,
    sessions: Sessions,
    changed: watch::Sender<()>,
    /// This machine among the nodes.
    own_node: OwnNode,
    /// Who this user is to the gates of elevation.
    user: String,
}

/// A command and what it names itself.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    /// The command. What it claims to be granted counts for nothing here.
    pub exec: ExecRequest,
    /// What it names.
    pub tool: Tool,
}

/// What became of a run.
#[derive(Debug)]
#[must_use]
pub struct Routed {
    /// Where it went; absent when it went nowhere.
    pub taken: Option<RouteTaken>,
    /// How it ended.
    pub result: Result<ExecPayload, Refusal>,
}

/// A run that knows where it goes.
struct Resolved {
    route: Route,
    sandbox: Result<Sandbox, NoSandbox>,
}

impl Router {
    /// A router over the file of these paths.
    pub fn new(paths: &Paths, parts: Parts) -> Self {
        let changed = watch::Sender::new(());
        Self {
            inner: Arc::new(Inner {
                parts,
                file: ToolsFile::new(paths.tools()),
                sessions: Sessions::new(changed.clone()),
                changed,
                own_node: OwnNode::of(paths),
                user: rustix::process::geteuid().as_raw().to_string(),
            }),
        }
    }

    /// All of `tools.json` as it is now, and the hash of its bytes; empty where there is none.
    pub(crate) async fn document(&self) -> Result<(String, Map<String, Value>), Problem> {
        let inner = Arc::clone(&self.inner);
        let current = tokio::task::spawn_blocking(move || inner.file.current()).await;
        let current = current.map_err(|error| self.inner.file.unread(&error))?;
        let tools = current.tools.as_ref().map_err(Clone::clone)?;
        Ok((current.hash.clone(), tools.document().clone()))
    }

    /// Wakes when a setting of a session or of an agent changed.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.inner.changed.subscribe()
    }

    /// Runs a command where it belongs, asking if needed. `gone` withdraws the question or ends the run. What
    /// a node does is not heard before it has ended.
    pub async fn run(&self, request: RunRequest, peer: &Peer, signals: impl Into<Signals>) -> Routed {
        let signals = signals.into();
        let RunRequest { mut exec, tool } = request;
        // A grant of somebody else's is for the socket, whose callers know its secret.
        exec.approval_decision = None;
        exec.approval_source = None;
        exec.policy_snapshot = None;
        let Resolved { route, sandbox } = match self.resolve(&exec, &tool).await {
            Ok(resolved) => resolved,
            Err(refusal) => {
                self.record(&exec, peer, None, refusal.outcome.clone()).await;
                return Routed { taken: None, result: Err(refusal) };
            }
        };
        let policy = Requested { security: Some(route.security.value), ask: Some(route.ask.value) };
        let mut taken = RouteTaken {
            host: route.host.value,
            host_layer: route.host.layer,
            node: None,
            security: route.security.value,
            security_layer: route.security.layer,
            ask: route.ask.value,
            ask_layer: route.ask.layer,
        };
        let host = &self.inner.parts.host;
        let result = match (route.host.value, sandbox) {
            (ExecHost::Sandbox, Ok(sandbox)) => {
                host.exec_at(exec, Placement::Sandbox { policy, sandbox }, peer, signals).await
            }
            (ExecHost::Sandbox, Err(problem)) => {
                let refusal = no_sandbox(&RouteError::SandboxMissing, &problem);
                self.record(&exec, peer, None, refusal.outcome.clone()).await;
                Err(refusal)
            }
            (ExecHost::Gateway, _) => host.exec_at(exec, Placement::Here { policy }, peer, signals).await,
            (ExecHost::Node, _) => {
                let (node, result) = self.run_on_node(exec, &route, peer, signals.gone).await;
                taken.node = node.as_deref().map(shown);
                result
            }
        };
        Routed { taken: Some(taken), result: result.map_err(|refusal| explained(refusal, &route)) }
    }

    async fn resolve(&self, exec: &ExecRequest, tool: &Tool) -> Result<Resolved, Refusal> {
        let (current, sandbox) = self.look().await;
        let tools = current.tools.as_ref().map_err(|problem| {
            refused("UNAVAILABLE", "routing-config", format!("nothing is run: {problem}"))
        })?;
        let agent = AgentId::of(exec.agent_id.as_deref());
        let said = match SessionKey::of(exec.session_key.as_deref()) {
            Some(session) => {
                self.inner.sessions.take(&Key { agent: agent.clone(), session }, self.steady_ms())
            }
            None => sessions::StoredOverrides::default(),
        };
        let scope = tools.of(agent.as_str());
        let around = surroundings(&sandbox);
        let layers = Layers {
            tool,
            message: &said.message,
            session: &said.session,
            agent: &scope.exec,
            global: &tools.global.exec,
        };
        let route = route::resolve(&layers, around).map_err(|error| match (&error, &sandbox) {
            (RouteError::SandboxMissing | RouteError::RequiredSandboxMissing, Err(problem)) => {
                no_sandbox(&error, problem)
            }
            _ => refused("INVALID_REQUEST", "exec-host", error.to_string()),
        })?;
        if route.elevated != Elevated::Off
            && let Some(text) = self.unavailable(tools, &scope, runtime_of(route.host.value))
        {
            return Err(refused("UNAVAILABLE", "elevated", text));
        }
        Ok(Resolved { route, sandbox })
    }

    /// The file and the sandbox that it wants, as they are now.
    async fn look(&self) -> (Arc<Current>, Result<Sandbox, NoSandbox>) {
        let inner = Arc::clone(&self.inner);
        let looked = tokio::task::spawn_blocking(move || {
            let current = inner.file.current();
            let sandbox = match &current.tools {
                Ok(tools) => sandbox::of(&tools.sandbox, &inner.parts.sandbox_folders),
                Err(problem) => Err(problem.clone().into()),
            };
            (current, sandbox)
        });
        match looked.await {
            Ok(looked) => looked,
            Err(error) => {
                let problem = self.inner.file.unread(&error);
                let sandbox = Err(problem.clone().into());
                (Arc::new(Current { hash: String::new(), tools: Err(problem) }), sandbox)
            }
        }
    }

    /// Why this user may not be elevated, if so.
    fn unavailable(&self, tools: &ToolsDocument, agent: &config::Scope, runtime: Runtime) -> Option<String> {
        let sender = Sender { provider: PROVIDER, id: &self.inner.user };
        elevated::unavailable(&elevated::shut(&tools.global.gates, &agent.gates, sender), runtime)
    }

    /// Writes down a run that reached no place of its own, and the door that it came through.
    async fn record(&self, exec: &ExecRequest, peer: &Peer, host: Option<HostKind>, outcome: Outcome) {
        let digest = Sha256::digest(exec.command.join("\0").as_bytes());
        let event = HistoryEvent::Request {
            agent: display::escape(AgentId::of(exec.agent_id.as_deref()).as_str()),
            session: exec.session_key.as_deref().map(display::escape),
            via: peer.via.unwrap_or(Via::CommandLine),
            card: QuestionKind::Exec,
            host,
            command: display::masked_argv_line(&exec.command),
            command_sha256: hex(digest),
            cwd: exec.cwd.as_deref().map(display::escape),
            outcome,
            by: None,
            answered_after_ms: None,
        };
        let id = self.inner.parts.ports.ids.uuid();
        if let Err(error) = self.inner.parts.history.append(Some(id.into()), event).await {
            tracing::error!(%error, "the history could not be written");
        }
    }

    fn steady_ms(&self) -> i64 {
        self.inner.parts.ports.clock.steady_ms()
    }
}

fn surroundings(sandbox: &Result<Sandbox, NoSandbox>) -> Surroundings {
    let sandbox = if sandbox.is_ok() { route::Sandbox::Available } else { route::Sandbox::Missing };
    Surroundings { sandbox, release: Release::Newest }
}

fn runtime_of(host: ExecHost) -> Runtime {
    if host == ExecHost::Sandbox { Runtime::Sandboxed } else { Runtime::Direct }
}

/// A denial that the route itself brings, in the peers' words, and what to do about one that is built in.
fn explained(mut refusal: Refusal, route: &Route) -> Refusal {
    let by_policy = refusal.error.reason.as_deref() == Some("security=deny");
    if by_policy && route.security.value == Security::Deny {
        let host = route.host.value;
        refusal.error.message = format!("exec denied: host={host} security=deny");
        if route.security.layer == RouteLayer::BuiltIn {
            refusal.error.message.push_str(&format!(
                "\nNothing is set for host={host}, so it denies; set tools.exec.security in the app under Connections."
            ));
        }
    }
    refusal
}

fn no_sandbox(error: &RouteError, problem: &NoSandbox) -> Refusal {
    refused("UNAVAILABLE", "sandbox-unavailable", format!("{error}\n{problem}"))
}

fn refused(code: &str, reason: &str, message: String) -> Refusal {
    Refusal {
        outcome: Outcome::Refused { reason: message.clone() },
        error: ExecError { code: code.to_owned(), message, reason: Some(reason.to_owned()) },
    }
}

fn shown(text: &str) -> Shown {
    display::shown(text, Secrets::Show)
}

/// Where messages to this router come from, as `tools.elevated.allowFrom` names it.
const PROVIDER: &str = "cli";

#[cfg(test)]
mod tests;
