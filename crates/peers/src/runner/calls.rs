//! What a gateway asks of this node, each call a task that can be cancelled.

use super::asking::Asking;
use super::document::{as_stored, as_taken};
use super::outcome::{Ended, INVALID_REQUEST, UNAVAILABLE, Words};
use super::run::{self, Run};
use crate::gateway::policies::Policies;
use countersign_approvals::ports::Ports;
use countersign_approvals::store::Store;
use countersign_core::json::kind;
use countersign_core::paths::Paths;
use countersign_gateway::client::{CallError, Live};
use countersign_gateway::embedded::PolicyError;
use countersign_node::host::Host;
use countersign_policy::display;
use countersign_protocol::gateway::Event;
use countersign_protocol::gateway::node::{
    InvokeCancel, InvokeRequest, InvokeResult, NodeError, NodeEvent, PrepareParams, RunEvent, Which,
    WhichParams, command, event,
};
use countersign_protocol::ids::NodeId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// What every call needs.
pub(super) struct RunnerParts {
    pub(super) node_id: NodeId,
    /// Name of the gateway.
    pub(super) gateway: String,
    pub(super) paths: Paths,
    pub(super) host: Arc<Host>,
    pub(super) store: Store,
    pub(super) policies: Policies,
    pub(super) ports: Ports,
    /// There when this process runs everything itself.
    pub(super) asking: Option<Asking>,
}

/// Calls that are being answered.
pub(super) struct Calls {
    tools: Arc<RunnerParts>,
    running: HashMap<String, CancellationToken>,
    tasks: JoinSet<String>,
}

impl Calls {
    pub(super) fn new(tools: Arc<RunnerParts>) -> Self {
        Self { tools, running: HashMap::new(), tasks: JoinSet::new() }
    }

    /// Takes an event of the gateway.
    pub(super) fn event(&mut self, live: &Live, happened: Event) {
        let payload = happened.payload.unwrap_or_default();
        match happened.event.as_str() {
            event::INVOKE => match serde_json::from_value::<InvokeRequest>(payload) {
                Ok(request) => self.invoke(live.clone(), request),
                Err(error) => tracing::warn!(%error, "a call of the gateway is not understood"),
            },
            event::CANCEL => {
                let cancelled = serde_json::from_value::<InvokeCancel>(payload).unwrap_or_default();
                if let Some(running) = self.running.get(&cancelled.invoke_id) {
                    running.cancel();
                }
            }
            _ => {}
        }
    }

    fn invoke(&mut self, live: Live, request: InvokeRequest) {
        if request.id.is_empty() || self.running.contains_key(&request.id) {
            return;
        }
        let refusal = if request.node_id != self.tools.node_id {
            let found = display::escape(request.node_id.as_str());
            let text = format!("{INVALID_REQUEST}: nodeId: expected {}, got {found:?}", self.tools.node_id);
            Some(NodeError::new(INVALID_REQUEST, text))
        } else if self.running.len() >= MAX_CALLS {
            let text = format!("{UNAVAILABLE}: {MAX_CALLS} commands are running here already");
            Some(NodeError::new(UNAVAILABLE, text))
        } else {
            None
        };
        let (tools, cancel) = (Arc::clone(&self.tools), CancellationToken::new());
        self.running.insert(request.id.clone(), cancel.clone());
        self.tasks.spawn(async move {
            let id = request.id.clone();
            let outcome = match refusal {
                Some(error) => CallAnswer { result: Err(error), events: Vec::new() },
                None => answer(&tools, &live, request, cancel).await,
            };
            tell(&tools, &live, &id, outcome).await;
            id
        });
    }

    /// Waits for a call to end and forgets it; for ever when there is none.
    pub(super) async fn tidy(&mut self) {
        match self.tasks.join_next().await {
            Some(Ok(id)) => {
                self.running.remove(&id);
            }
            Some(Err(error)) => {
                tracing::error!(%error, "a call of the gateway failed");
                // Which one is not known; those that are left are still in the set.
                if self.tasks.is_empty() {
                    self.running.clear();
                }
            }
            None => std::future::pending().await,
        }
    }

    /// Ends everything.
    pub(super) fn cancel_all(&self) {
        for running in self.running.values() {
            running.cancel();
        }
    }

    /// Waits until everything has ended.
    pub(super) async fn ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// What goes back.
struct CallAnswer {
    result: Result<Value, NodeError>,
    events: Vec<(&'static str, RunEvent)>,
}

async fn answer(
    tools: &RunnerParts,
    live: &Live,
    request: InvokeRequest,
    cancel: CancellationToken,
) -> CallAnswer {
    let limit = request.timeout_ms.filter(|ms| *ms > 0).map_or(NO_LIMIT, Duration::from_millis).min(NO_LIMIT);
    let params = match request.parameters() {
        Ok(params) if params.is_object() => params,
        Ok(other) => return refused(format!("expected an object as parameters, got {}", kind(&other))),
        Err(error) => return refused(format!("expected JSON as parameters: {error}")),
    };
    if request.command == command::RUN {
        let words = if live.hello().protocol >= GENERATION_WITH_DENIED { Words::Newer } else { Words::Older };
        let starting = live.clone();
        let started = move |about: RunEvent| {
            // Whoever hears of the end has heard of the start: nothing is waited for in between.
            if !starting.tell("node.event", json!(node_event(event::STARTED, &about))) {
                tracing::debug!("the start of a run was not told");
            }
        };
        let Run { ended, about, is_begun } = run::run(tools, params, limit, cancel, started).await;
        // One that ended at once is told of all the same.
        let begun = (matches!(ended, Ended::Ran(_)) && !is_begun).then(|| (event::STARTED, about.clone()));
        let events = begun.into_iter().chain(ended.event(about)).collect();
        return CallAnswer { result: ended.result(words).and_then(written), events };
    }
    let answered = async {
        match request.command.as_str() {
            command::PREPARE => {
                let params = read::<PrepareParams>(command::PREPARE, params)?;
                let prepared = tools.host.prepare(params).await;
                let code_and_text = |error: countersign_node::host::Refusal| {
                    NodeError::new(&error.error.code, error.error.message)
                };
                written(prepared.map_err(code_and_text)?)
            }
            command::WHICH => {
                let WhichParams { bins } = read(command::WHICH, params)?;
                written(Which { bins: tools.host.which(&bins) })
            }
            command::POLICY_GET => {
                let snapshot = tools.policies.read().await.map_err(policy_error)?;
                written(as_taken(snapshot, &live.hello().server.version))
            }
            command::POLICY_SET => {
                let Value::Object(file) = params.get("file").cloned().unwrap_or_default() else {
                    return Err(invalid("file: expected an object"));
                };
                let base = match params.get("baseHash").and_then(Value::as_str).map(str::trim) {
                    Some(base) if !base.is_empty() => base.to_owned(),
                    Some(_) | None => {
                        return Err(invalid("exec approvals base hash required; reload and retry"));
                    }
                };
                let stored = tools.policies.read().await.map_err(policy_error)?.file;
                let file = as_stored(file, &stored);
                let snapshot = tools.policies.write(file, base).await.map_err(policy_error)?;
                written(as_taken(snapshot, &live.hello().server.version))
            }
            _ => Err(NodeError::new(UNAVAILABLE, "command not supported")),
        }
    };
    let result = tokio::select! {
        result = answered => result,
        () = cancel.cancelled() => Err(NodeError::new(UNAVAILABLE, "cancelled")),
        () = tokio::time::sleep(limit) => Err(NodeError::new("TIMEOUT", "not done in time")),
    };
    CallAnswer { result, events: Vec::new() }
}

/// Tells the result, for which somebody waits, and the events.
async fn tell(tools: &RunnerParts, live: &Live, id: &str, CallAnswer { result, events }: CallAnswer) {
    let is_good = result.is_ok();
    let result = match result {
        Ok(payload) => {
            InvokeResult { ok: true, payload_json: Some(payload.to_string()), ..InvokeResult::default() }
        }
        Err(error) => InvokeResult { ok: false, error: Some(error), ..InvokeResult::default() },
    };
    let result = InvokeResult { id: id.to_owned(), node_id: tools.node_id.clone(), ..result };
    let answered = async {
        if let Err(error) = live.call("node.invoke.result", json!(result)).await {
            logged(&error, "the result of a call");
        }
    };
    let told = async {
        for (name, event) in events {
            told(live, name, &event).await;
        }
    };
    if is_good {
        tokio::join!(biased; answered, told);
    } else {
        // After a failure the newest release takes no more events of the run.
        tokio::join!(biased; told, answered);
    }
}

fn node_event(name: &str, event: &RunEvent) -> NodeEvent {
    NodeEvent { event: name.to_owned(), payload: None, payload_json: serde_json::to_string(event).ok() }
}

async fn told(live: &Live, name: &str, event: &RunEvent) {
    if let Err(error) = live.call("node.event", json!(node_event(name, event))).await {
        logged(&error, "an event of a run");
    }
}

/// A gateway that is gone was told by its own end.
fn logged(error: &CallError, what: &str) {
    match error {
        CallError::Gone => tracing::debug!(what, "the connection was lost before it was told"),
        error => tracing::warn!(%error, what, "it was not taken"),
    }
}

fn read<T: DeserializeOwned>(command: &str, params: Value) -> Result<T, NodeError> {
    serde_json::from_value(params).map_err(|error| invalid(&format!("{command}: {error}")))
}

fn written(value: impl Serialize) -> Result<Value, NodeError> {
    serde_json::to_value(value).map_err(|error| NodeError::new(UNAVAILABLE, error.to_string()))
}

fn refused(text: String) -> CallAnswer {
    CallAnswer { result: Err(invalid(&text)), events: Vec::new() }
}

fn invalid(text: &str) -> NodeError {
    NodeError::new(INVALID_REQUEST, format!("{INVALID_REQUEST}: {text}"))
}

fn policy_error(error: PolicyError) -> NodeError {
    let code = match error {
        PolicyError::Unavailable(_) => UNAVAILABLE,
        _ => INVALID_REQUEST,
    };
    NodeError::new(code, format!("{code}: {error}"))
}

/// Calls that are answered at a time.
const MAX_CALLS: usize = 512;

/// Longest time of a call whose gateway names none.
const NO_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// From this version of the protocol on a denial has a code of its own (docs/protocol/nodes.md, "Denials").
const GENERATION_WITH_DENIED: u32 = 4;
