//! Tools in the app: which ones a caller gets, calling them, and asking about those of other agents
//! (docs/protocol/tools.md).
//!
//! What is set is in `tools.json`, beside where commands run. It is looked at for each call, so that a change
//! counts at once; a file that is not understood offers nothing.
//!
//! ```ignore
//! let listing = tools.list(&caller).await?;
//! let output = tools.call(call, &peer, progress, gone).await?;
//! ```

mod beside;
mod commands;
mod config;
mod foreign;
mod gate;
mod gateway;
mod heard;
mod inside;
mod joint;
pub(crate) mod pets;
mod programs;
mod standing;
mod texts;
mod told;

use crate::routing::Router;
pub use config::check_file;
#[cfg(test)]
pub(crate) use config::reading;
use countersign_approvals::ports::Ports;
use countersign_core::session_events::SessionEvents;
use countersign_node::host::Host;
use countersign_node::socket::server::Peer;
use countersign_policy::display;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::question::{Outcome, Via};
use countersign_protocol::tools::{
    Permission, RemovedTool, ToolCall, ToolCaller, ToolFailure, ToolOutput, ToolStanding, ToolView,
};
use countersign_questions::tools as questions;
use countersign_tool_policy as tool_policy;
use countersign_tool_policy::schema::Dialect;
use countersign_tool_policy::{Files, Origin, Pipeline, Sender, Step};
use countersign_tools::call::Abort;
use countersign_tools::exec::{Exec, Process};
use countersign_tools::files;
use countersign_tools::hooks::{Hooks, TooManyHooks};
use countersign_tools::programs::Programs;
use countersign_tools::registry::{Availability, Parts as Contents, Selection, Toolbox, ToolboxError};
use countersign_tools::runs::{Outlived, Runs};
use countersign_tools::tool::{
    BroughtBy, Call, Caller, Channel, Declaration, Entrance, Progress, Tool, ToolError,
};
use foreign::Foreign;
use gate::{Approvals, NotAllowed};
use joint::{Entered, Joint, Said};
use pets::Companions;
use serde_json::Value;
use standing::Standing;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What tools need.
pub struct Parts {
    /// This machine.
    pub host: Arc<Host>,
    /// Takes commands where they belong, and knows `tools.json`.
    pub router: Router,
    /// Time and ids.
    pub ports: Ports,
    /// Of programs that hooks and hand-overs start.
    pub environment: BTreeMap<String, String>,
    /// What sessions are told of runs.
    pub events: SessionEvents,
    /// The person's.
    pub home: PathBuf,
    /// Folders that are Countersign's own.
    pub private: Vec<PathBuf>,
    /// Companion clients, where they are served.
    pub(crate) pets: Option<Arc<Companions>>,
    /// What is carried out runs here.
    pub tracker: TaskTracker,
    /// Ends what runs.
    pub stop: CancellationToken,
}

/// Handle of the tools. Clones are the same ones.
#[derive(Clone)]
pub struct Tools {
    inner: Arc<Inner>,
}

struct Inner {
    parts: Parts,
    gate: Arc<Approvals>,
    joint: Joint,
    runs: Runs,
    /// Whether sessions are told how commands in the background ended, as the file said last.
    tells_ends: Arc<AtomicBool>,
    /// What the file said last, made ready.
    ready: Mutex<Option<Arc<Ready>>>,
}

/// Tools as one content of the file has them.
struct Ready {
    hash: String,
    toolbox: Toolbox,
    config: tool_policy::Config,
}

/// Why a content of the file makes no tools.
#[derive(Debug, thiserror::Error)]
enum NotReady {
    #[error(transparent)]
    Policy(#[from] tool_policy::ConfigError),
    #[error(transparent)]
    Own(#[from] config::OwnError),
    #[error(transparent)]
    Hooks(#[from] TooManyHooks),
    #[error(transparent)]
    Toolbox(#[from] ToolboxError),
}

/// What a caller is offered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// In a steady order, with parameters as the caller's provider takes them.
    pub tools: Vec<ToolView>,
    /// What it does not get.
    pub removed: Vec<RemovedTool>,
    /// What is odd about the settings.
    pub warnings: Vec<String>,
    /// What was looked at, in order.
    pub steps: Vec<Step>,
    /// What is known of the caller.
    pub standing: ToolStanding,
}

/// Why a call brought nothing.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// Which kind.
    pub failure: ToolFailure,
    /// For the agent.
    pub message: String,
}

impl Failure {
    fn new(failure: ToolFailure, message: impl Into<String>) -> Self {
        Self { failure, message: message.into() }
    }
}

impl Tools {
    /// Makes the tools. Nothing starts yet.
    pub fn new(parts: Parts) -> Self {
        let gate = Arc::new(Approvals {
            host: Arc::clone(&parts.host),
            private: parts.private.clone(),
            pets: parts.pets.clone(),
        });
        let ids = parts.ports.ids.clone();
        let (tell, clock) = (parts.events.clone(), Arc::clone(&parts.ports.clock));
        let tells_ends = Arc::new(AtomicBool::new(true));
        let is_wanted = Arc::clone(&tells_ends);
        let ended = move |run: Outlived<'_>| {
            if is_wanted.load(Ordering::Relaxed) {
                told::of_run(&tell, clock.now_ms(), &run);
            }
        };
        let limits = Arc::clone(&parts.host);
        let runs = Runs::new(Arc::new(move || ids.uuid()), parts.tracker.clone(), parts.stop.clone())
            .telling(Arc::new(ended), Arc::new(move || limits.output_limit()));
        Self {
            inner: Arc::new(Inner {
                parts,
                gate,
                joint: Joint::default(),
                runs,
                tells_ends,
                ready: Mutex::default(),
            }),
        }
    }

    /// The tools that a caller gets.
    pub async fn list(&self, caller: &ToolCaller) -> Result<Listing, Failure> {
        let ready = self.ready().await?;
        let (selection, mut listing) = self.select(&ready, caller).await?;
        listing.tools = selection.declarations().map(view).collect();
        Ok(listing)
    }

    /// Calls a tool, asking if needed. What it reports on the way goes to `progress`. `gone` takes the
    /// question back or has it stop; dropping the future does too.
    pub async fn call(
        &self,
        call: ToolCall,
        peer: &Peer,
        progress: Progress,
        gone: CancellationToken,
    ) -> Result<ToolOutput, Failure> {
        self.called(call, peer, Entrance::Machine, progress, gone).await
    }

    async fn called(
        &self,
        call: ToolCall,
        peer: &Peer,
        entrance: Entrance,
        progress: Progress,
        gone: CancellationToken,
    ) -> Result<ToolOutput, Failure> {
        let ready = self.ready().await?;
        let (selection, _) = self.select(&ready, &call.caller).await?;
        let call = call_of(call, peer, entrance)?;
        let session = call.caller.session.clone();
        let abort = Abort::any(gone, self.inner.parts.stop.clone());
        let output = selection.call(call, progress, abort).await.map_err(|error| failure_of(&error))?;
        let events = session.map(|session| self.inner.parts.events.take(&session)).unwrap_or_default();
        Ok(ToolOutput { text: output.text, details: output.details, events })
    }

    /// Whether another agent may call a tool of its own. `gone` takes the question back. Who asks about the
    /// same call while it is open gets the same answer.
    pub async fn permit(&self, call: ToolCall, peer: &Peer, gone: CancellationToken) -> Permission {
        let Some(said) = Said::of(&call) else { return self.permit_alone(call, peer, &gone).await };
        let hook = call.caller.hook.clone();
        loop {
            match self.inner.joint.enter(said.clone(), hook.as_deref()) {
                Entered::First(first) => {
                    let permission = self.permit_alone(call, peer, &gone).await;
                    // What was called off was called off by one of them; the others still want to know.
                    if !gone.is_cancelled() {
                        first.tell(permission.clone());
                    }
                    return permission;
                }
                Entered::Later(mut answer) => tokio::select! {
                    biased;
                    () = gone.cancelled() => return denial(not_allowed(NotAllowed::Withdrawn)),
                    told = answer.wait_for(Option::is_some) => {
                        // Otherwise whoever asked has gone, and this one asks.
                        if let Some(permission) = told.ok().and_then(|told| told.clone()) {
                            return permission;
                        }
                    }
                },
            }
        }
    }

    async fn permit_alone(&self, call: ToolCall, peer: &Peer, gone: &CancellationToken) -> Permission {
        Box::pin(self.permitted(call, peer, gone)).await.unwrap_or_else(denial)
    }

    async fn permitted(
        &self,
        call: ToolCall,
        peer: &Peer,
        gone: &CancellationToken,
    ) -> Result<Permission, Failure> {
        let (takes_command, is_quiet) = (call.takes_command, call.is_quiet);
        let call = call_of(call, peer, Entrance::Machine)?;
        let gate = &self.inner.gate;
        let home = &self.inner.parts.home;
        let named = foreign::parameters(&call, home);
        gate::keep_out_named(&named, &gate.private).map_err(not_allowed)?;
        let named = named.question(&call);
        if is_quiet {
            let refused = gate.refuse_unasked(&call, &named).await;
            return refused.map(|()| Permission::Unasked).map_err(not_allowed);
        }
        gate.refuse(&call, &named).await.map_err(not_allowed)?;
        let asked = match foreign::recognise(&call, home) {
            Foreign::Command(exec) => {
                if takes_command && let Some(inside) = inside::permission(&gate.host, &exec).await {
                    return Ok(inside);
                }
                let peer = Peer { via: Some(Via::Hook), ..peer.clone() };
                let wait = gate::wait_of(&call);
                let beside = beside::of(&call, &exec).await;
                let contained = takes_command.then(CancellationToken::new);
                let permitting =
                    Box::pin(gate.host.permit((*exec).clone(), beside, &peer, gone, contained.clone()));
                let permitted = match contained {
                    None => permitting.await,
                    Some(contained) => {
                        let mut permitting = permitting;
                        tokio::select! {
                            permitted = &mut permitting => permitted,
                            inside = Box::pin(inside::later(&gate.host, &exec)) => {
                                contained.cancel();
                                // An answer that came first counts.
                                match permitting.await {
                                    Ok(Outcome::Contained) => return Ok(inside),
                                    permitted => permitted,
                                }
                            }
                        }
                    }
                };
                return permitted.map(|_| Permission::Allow).map_err(|refusal| {
                    let failure = match refusal.outcome {
                        Outcome::Expired => ToolFailure::Expired,
                        Outcome::Cancelled { .. } => ToolFailure::Aborted,
                        _ => ToolFailure::Denied,
                    };
                    Failure::new(failure, heard::refused(&refusal, wait))
                });
            }
            Foreign::Change(tool, same) => match tool.plan(&same).await {
                Ok(plan) => {
                    gate::keep_out(&plan.preview, &gate.private).map_err(not_allowed)?;
                    questions::of_plan(&call, &plan.preview, Via::Hook)
                }
                // It may fail there too, or do something else than ours would: a person sees what is known.
                Err(_) => foreign::parameters(&call, home).question(&call),
            },
            Foreign::Other(parameters) => parameters.question(&call),
        };
        gate.ask(&call, asked, None, true, gone).await.map_err(not_allowed).map(|()| Permission::Allow)
    }

    /// The tools as the file has them now.
    async fn ready(&self) -> Result<Arc<Ready>, Failure> {
        let (hash, document) =
            self.inner.parts.router.document().await.map_err(|problem| {
                Failure::new(ToolFailure::Failed, format!("no tool is offered: {problem}"))
            })?;
        let mut kept = self.inner.ready.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = kept.as_ref().filter(|ready| ready.hash == hash) {
            return Ok(Arc::clone(ready));
        }
        let made = self.make(hash, &document);
        let ready = made.map_err(|problem| {
            Failure::new(ToolFailure::Failed, format!("no tool is offered: tools.json: {problem}"))
        })?;
        let ready = Arc::new(ready);
        *kept = Some(Arc::clone(&ready));
        Ok(ready)
    }

    fn make(&self, hash: String, document: &serde_json::Map<String, Value>) -> Result<Ready, NotReady> {
        let Inner { parts, gate, runs, .. } = &*self.inner;
        let config = tool_policy::Config::read(document)?;
        let own = config::read(document)?;
        self.inner.tells_ends.store(own.tells_ends, Ordering::Relaxed);
        let programs: Arc<dyn Programs> =
            Arc::new(programs::Configured { environment: parts.environment.clone() });
        let hooks = Hooks::new(own.hooks(&programs), own.merge, parts.tracker.clone())?;
        let host = Arc::new(commands::Commands { router: parts.router.clone() });
        let mut tools: Vec<Arc<dyn Tool>> = files::all();
        tools.push(Arc::new(Exec::new(host, runs.clone(), own.exec)));
        tools.push(Arc::new(Process::new(runs.clone())));
        tools.extend(own.hand_overs.tools(&programs, runs));
        let toolbox = Toolbox::new(Contents {
            tools,
            hooks,
            gate: Arc::clone(gate) as Arc<dyn countersign_tools::gate::Gate>,
            gating: own.gating,
            tracker: parts.tracker.clone(),
            normalise: tool_policy::normalised,
        });
        Ok(Ready { hash, toolbox: toolbox?, config })
    }

    /// What the tool policy leaves for a caller.
    async fn select(&self, ready: &Ready, caller: &ToolCaller) -> Result<(Selection, Listing), Failure> {
        let invalid = |error: &dyn std::fmt::Display| Failure::new(ToolFailure::Invalid, error.to_string());
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let (provider, model) = (filled(&caller.provider), filled(&caller.model));
        let agent = AgentId::of(Some(&caller.agent));
        let session = SessionKey::of(caller.session.as_deref());
        let is_sandboxed = self.inner.parts.router.is_sandboxed(&agent, session.as_ref()).await;
        let standing = Standing::of(session.as_ref().map(SessionKey::as_str));
        // Whoever calls is some program of this user's: nothing shows that it is the user, so what is the
        // owner's goes to nobody.
        let run = tool_policy::Run {
            sender: Sender::Other,
            provider: provider.as_deref(),
            model: model.as_deref(),
            agent: Some(agent.as_str()),
            group: standing.group(&ready.config),
            confinement: standing::confinement(is_sandboxed),
            files: Files::Writable,
            sub_agent: standing.sub_agent(&ready.config),
        };
        let declared: Vec<_> = ready.toolbox.declarations().collect();
        let present: Vec<_> = declared
            .iter()
            .map(|declaration| tool_policy::Tool {
                name: &declaration.name,
                owner_only: false,
                origin: Origin::Core,
            })
            .collect();
        let pipeline = Pipeline::new(&ready.config, &run).map_err(|error| invalid(&error))?;
        let outcome = pipeline.apply(&present).map_err(|error| invalid(&error))?;
        let mut removed = BTreeMap::new();
        for gone in &outcome.removed {
            if let Some(declaration) = declared.get(gone.tool) {
                removed.insert(declaration.name.clone(), gone.by.to_string());
            }
        }
        let dialect = Dialect::of(provider.as_deref().unwrap_or_default(), model.as_deref());
        let selection = ready.toolbox.select(
            |declaration| match removed.get(&declaration.name) {
                Some(by) => Availability::Removed { by: by.clone() },
                None => Availability::Left,
            },
            |declaration| {
                let parameters = Some(&declaration.parameters);
                let written = tool_policy::schema::normalised(parameters, dialect.cleaning);
                // Ours are none of those that cannot be said; should one be, it is told as it is.
                written.unwrap_or_else(|_| declaration.parameters.clone())
            },
        );
        let listing = Listing {
            tools: Vec::new(),
            removed: removed.into_iter().map(|(name, step)| RemovedTool { name, step }).collect(),
            warnings: outcome.warnings.iter().map(|warning| display::escape(&warning.to_string())).collect(),
            steps: outcome.steps,
            standing: standing.view(is_sandboxed),
        };
        Ok((selection, listing))
    }
}

/// A tool as a caller may know it.
fn view(declaration: &Declaration) -> ToolView {
    let Declaration { name, description, parameters } = declaration.clone();
    ToolView { name, description, parameters }
}

/// The call as the tools have it.
fn call_of(call: ToolCall, peer: &Peer, entrance: Entrance) -> Result<Call, Failure> {
    let ToolCall { id, tool, params, caller, approval_timeout_ms, takes_command: _, is_quiet: _ } = call;
    let invalid = |message: String| Failure::new(ToolFailure::Invalid, message);
    if id.trim().is_empty() || id.len() > MAX_ID {
        return Err(invalid(format!("id: expected 1 to {MAX_ID} bytes, got {}", id.len())));
    }
    let workspace = PathBuf::from(&caller.workspace);
    if !workspace.is_absolute() {
        return Err(invalid(format!("workspace: expected an absolute path, got {:?}", caller.workspace)));
    }
    let mut call = Call {
        id,
        run_id: caller.session.clone(),
        tool,
        params,
        caller: Caller {
            agent: AgentId::of(Some(&caller.agent)),
            session: SessionKey::of(caller.session.as_deref()),
            sub_agent: caller.sub_agent,
            client: caller.client,
            channel: match caller.pet_session {
                Some(session_id) => Channel::Pet { session_id },
                None => Channel::None,
            },
            entrance,
            brought_by: Some(BroughtBy { pid: peer.pid, program: peer.program.clone() }),
            approval_wait: approval_timeout_ms.map(Duration::from_millis),
        },
        workspace,
    };
    // One time for all that may ask about it, so that whoever hears that nobody answered hears the
    // truth about how long.
    call.caller.approval_wait = Some(gate::wait_of(&call));
    Ok(call)
}

/// Who calls, for the flow of commands.
fn peer_of(caller: &Caller) -> Peer {
    let by = caller.brought_by.clone().unwrap_or_default();
    Peer { pid: by.pid, program: by.program, via: Some(Via::Tool) }
}

fn not_allowed(error: NotAllowed) -> Failure {
    let failure = match error {
        NotAllowed::Expired(_) => ToolFailure::Expired,
        NotAllowed::Withdrawn => ToolFailure::Aborted,
        _ => ToolFailure::Denied,
    };
    Failure::new(failure, error.to_string())
}

fn denial(Failure { failure, message }: Failure) -> Permission {
    Permission::Deny { message, failure }
}

fn failure_of(error: &ToolError) -> Failure {
    let failure = match error {
        ToolError::Aborted => ToolFailure::Aborted,
        ToolError::Denied(_) => ToolFailure::Denied,
        ToolError::NotThere { .. } => ToolFailure::NotFound,
        ToolError::Params { .. } | ToolError::Duplicate(_) => ToolFailure::Invalid,
        _ => ToolFailure::Failed,
    };
    Failure::new(failure, error.to_string())
}

/// Longest id of a call, in bytes.
const MAX_ID: usize = 256;

#[cfg(test)]
mod tests;
