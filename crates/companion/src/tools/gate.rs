//! The approval of calls: a hook at a stage of its own, after every other. What a call would do becomes a
//! question in the book, and only a person's answer to exactly that lets it go on.

use super::foreign::Parameters;
use super::heard;
use super::pets::{Companions, Pet};
use countersign_approvals::book::{Ending, RequestedBy};
use countersign_approvals::question::Question;
use countersign_gateway::pet::APPROVAL_WAIT;
use countersign_node::host::{AskedRun, Host, Inquired, Inquiry, Refusal, SettledCall, Waiting};
use countersign_protocol::ids::NodeId;
use countersign_protocol::question::Via;
use countersign_protocol::socket::NodeRun;
use countersign_questions::tools as questions;
use countersign_tools::files::FileChange;
use countersign_tools::gate::{Allowed, Denied, Gate};
use countersign_tools::tool::{Call, CallKey, Channel, Preview};
use futures_util::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Asks people.
pub(super) struct Approvals {
    pub(super) host: Arc<Host>,
    /// Folders that are Countersign's own.
    pub(super) private: Vec<PathBuf>,
    pub(super) pets: Option<Arc<Companions>>,
}

/// Why a call was not allowed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(super) enum NotAllowed {
    #[error("{}", heard::BY_PERSON)]
    ByPerson,
    #[error("{}", heard::expired(*.0))]
    Expired(Duration),
    #[error("{}", heard::NOT_SHOWN)]
    NotShown,
    #[error("{}", heard::WITHDRAWN)]
    Withdrawn,
    #[error("{}", heard::by_rule(.0))]
    ByRule(String),
    #[error("{0}")]
    ByPolicy(String),
    #[error("{}: Countersign's own files are not for agents", .0.display())]
    Private(PathBuf),
    #[error("it cannot be asked about: {0}")]
    NotTaken(String),
}

impl Approvals {
    /// Asks a person about a call, unless the policy says no, or yes to everything and that counts for it
    /// (`may_allow`). `run` is the run that an answer lets through, where it is one.
    pub(super) async fn ask(
        &self,
        call: &Call,
        mut question: Question,
        run: Option<AskedRun>,
        may_allow: bool,
        abort: &CancellationToken,
    ) -> Result<(), NotAllowed> {
        let wait = wait_of(call);
        match self.host.settle_call(&mut question, may_allow).await {
            SettledCall::Open => {}
            SettledCall::Allowed => return Ok(()),
            SettledCall::Refused(refusal) => {
                return Err(NotAllowed::ByPolicy(heard::refused(&refusal, wait)));
            }
        }
        let inquiry = Inquiry { question, analysis: None, wait, id: None, by: requested_by(call), run };
        let question = match self.host.inquire(inquiry).await {
            Ok(Inquired::Waits(question)) => question,
            Ok(Inquired::Refused { rule, .. }) => return Err(NotAllowed::ByRule(rule)),
            Err(error) => return Err(NotAllowed::NotTaken(error.to_string())),
        };
        let pet = self.pet(call, &question);
        let ended = question.ended_unless(&self.host, abort).await;
        drop(pet);
        let allowed = match ended.ending() {
            Ending::Decided { decision, .. } if decision.allows() => Ok(()),
            Ending::Decided { .. } => Err(match ended.refusal() {
                Some(refusal) => NotAllowed::ByPolicy(heard::refused(refusal, wait)),
                None => NotAllowed::ByPerson,
            }),
            Ending::Expired => Err(NotAllowed::Expired(wait)),
            Ending::NotShown => Err(NotAllowed::NotShown),
            Ending::Cancelled(_) | Ending::Contained | Ending::Elsewhere { .. } => Err(NotAllowed::Withdrawn),
        };
        ended.written().await;
        allowed
    }

    /// Refuses a call that a rule is about, whatever else is asked about it.
    pub(super) async fn refuse(&self, call: &Call, question: &Question) -> Result<(), NotAllowed> {
        self.told(call, self.host.refuse_call(question).await)
    }

    /// Refuses a call that nobody is asked about.
    pub(super) async fn refuse_unasked(&self, call: &Call, question: &Question) -> Result<(), NotAllowed> {
        self.told(call, self.host.refuse_unasked(question).await)
    }

    fn told(&self, call: &Call, refused: Result<(), Box<Refusal>>) -> Result<(), NotAllowed> {
        refused.map_err(|refusal| NotAllowed::ByPolicy(heard::refused(&refusal, wait_of(call))))
    }

    /// Shows a question to the companion client whose turn it came from; as long as what comes back lives.
    fn pet(&self, call: &Call, question: &Waiting) -> Option<Pet> {
        let Channel::Pet { session_id } = &call.caller.channel else { return None };
        Some(self.pets.as_ref()?.show(session_id, &question.record().id, &call.tool, &call.params))
    }
}

impl Gate for Approvals {
    fn judge<'a>(
        &'a self,
        call: &'a Call,
        preview: &'a Preview,
        abort: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Allowed, Denied>> {
        Box::pin(async move {
            let judged = async {
                keep_out(preview, &self.private)?;
                let run = match preview {
                    Preview::AskedThere { exec, .. } => {
                        Some(AskedRun { run: run_of(&call.key()), env_names: env_names(exec.env.as_ref()) })
                    }
                    Preview::Changes(_)
                    | Preview::HandOver { .. }
                    | Preview::Harmless
                    | Preview::Typed { .. } => None,
                };
                // A tool of ours is asked about wherever it can be: that every command runs unasked
                // is no yes to it.
                self.ask(call, questions::of_plan(call, preview, Via::Tool), run, false, abort).await
            };
            match judged.await {
                Ok(()) => Ok(Allowed),
                Err(error) => Err(Denied { reason: error.to_string() }),
            }
        })
    }

    fn refuse<'a>(&'a self, call: &'a Call, preview: &'a Preview) -> BoxFuture<'a, Result<(), Denied>> {
        Box::pin(async move {
            let named = questions::of_name(call, Via::Tool);
            let refused = match preview {
                // Where it runs decides whether anything may run there.
                Preview::AskedThere { .. } => self.refuse(call, &named).await,
                _ => self.refuse_unasked(call, &named).await,
            };
            refused.map_err(|error| Denied { reason: error.to_string() })
        })
    }
}

/// Refuses changes of what decides about changes.
pub(super) fn keep_out(preview: &Preview, private: &[PathBuf]) -> Result<(), NotAllowed> {
    let Preview::Changes(changes) = preview else { return Ok(()) };
    let is_private = |path: &Path| private.iter().any(|folder| path.starts_with(folder));
    match changes.iter().flat_map(FileChange::paths).find(|path| is_private(path)) {
        Some(path) => Err(NotAllowed::Private(path.to_owned())),
        None => Ok(()),
    }
}

/// The same for what a call names among its parameters: who says no more of it may change any of these.
pub(super) fn keep_out_named(named: &Parameters, private: &[PathBuf]) -> Result<(), NotAllowed> {
    let is_private = |path: &&String| private.iter().any(|folder| Path::new(path).starts_with(folder));
    match named.named.iter().find(is_private) {
        Some(path) if named.may_change_files() => Err(NotAllowed::Private(PathBuf::from(path))),
        Some(_) | None => Ok(()),
    }
}

/// The run of a command that was asked about as a call of a tool: once it was allowed as that, it is not
/// asked about again.
pub(super) fn run_of(call: &CallKey) -> NodeRun {
    NodeRun { gateway: RUNS_OF_TOOLS.to_owned(), node_id: NodeId::default(), run_id: call.to_string() }
}

fn env_names(env: Option<&std::collections::BTreeMap<String, String>>) -> Vec<String> {
    env.map(|env| env.keys().cloned().collect()).unwrap_or_default()
}

/// How long a question about a call may wait: one of the pet channel no longer than there
/// (docs/protocol/pet-channel.md, "Tool approval").
pub(super) fn wait_of(call: &Call) -> Duration {
    let (usual, longest) = match &call.caller.channel {
        Channel::None => (WAIT, LONGEST_WAIT),
        Channel::Pet { .. } => (APPROVAL_WAIT, APPROVAL_WAIT),
    };
    call.caller.approval_wait.unwrap_or(usual).clamp(LEAST_WAIT, longest)
}

fn requested_by(call: &Call) -> RequestedBy {
    let by = call.caller.brought_by.as_ref();
    RequestedBy {
        connection: by.and_then(|by| by.pid).map(|pid| format!("pid {pid}")),
        device: None,
        client: by.and_then(|by| by.program.clone()).or_else(|| call.caller.client.clone()),
        gateway: None,
    }
}

/// Stands for this very app where runs of nodes name their gateway: no gateway has such an address.
const RUNS_OF_TOOLS: &str = "tools";

/// How long a person has when the caller does not say (docs/protocol/tools.md, "Time limits").
const WAIT: Duration = Duration::from_secs(120);

/// Shorter than that nobody can read anything.
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// Longer than that nobody may keep a question open (docs/protocol/tools.md, "Time limits").
const LONGEST_WAIT: Duration = Duration::from_secs(600);
