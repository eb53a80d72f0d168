//! What can be said about a request before policy and facts: whether it is well-formed, and what a decision
//! made elsewhere counts for.

use super::placement::Placement;
use super::refusal::Refusal;
use crate::executor::Tap;
use crate::executor::sandbox::variables_of;
use crate::socket::server::Peer;
use countersign_approvals::question::{Beside, Runner, Typing};
use countersign_commands::environment::{self, Overrides, Target};
use countersign_commands::raw_command;
use countersign_policy::evaluate::Origin;
use countersign_protocol::ids::{AgentId, SessionKey};
use countersign_protocol::question::Via;
use countersign_protocol::settings::ForwardedGrants;
use countersign_protocol::socket::{Confinement, ExecRequest, NodeRun, PolicySnapshot};
use countersign_protocol::vocabulary::Decision;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One request after the checks that need no policy.
pub(super) struct Checked {
    pub(super) argv: Vec<String>,
    pub(super) placement: Placement,
    pub(super) command_text: String,
    pub(super) cwd: String,
    pub(super) env: Overrides,
    pub(super) timeout: Option<Duration>,
    /// Who types in its terminal, where it gets one of its own.
    pub(super) terminal: Option<Typing>,
    pub(super) agent: AgentId,
    pub(super) session: Option<SessionKey>,
    pub(super) origin: Origin,
    pub(super) confinement: Option<Confinement>,
    /// Cancelled when its asker can have it run in a box after all.
    pub(super) contained: Option<CancellationToken>,
    /// What it gets of its asker's environment in a box, and nowhere else.
    pub(super) box_env: BTreeMap<String, String>,
    pub(super) forwarded: Option<PolicySnapshot>,
    pub(super) approval_wait: Duration,
    /// The folder as it was named, if it was.
    pub(super) given_cwd: Option<String>,
    /// The run of a node that it is.
    pub(super) run: Option<NodeRun>,
    /// Cancelled when it starts.
    pub(super) started: CancellationToken,
    /// Hears what it prints.
    pub(super) tap: Tap,
    pub(super) runner: Runner,
    /// What its asker's person is told besides.
    pub(super) beside: Beside,
}

impl Checked {
    /// Where it is to run.
    pub(super) fn place(&self) -> (&Placement, Option<Confinement>) {
        (&self.placement, self.confinement)
    }

    /// Who asks, and in which session.
    pub(super) fn who(&self) -> (&AgentId, Option<&SessionKey>) {
        (&self.agent, self.session.as_ref())
    }

    /// Through which door it came, `door` being this host's.
    pub(super) fn via(&self, peer: &Peer, door: Via) -> Via {
        peer.via.unwrap_or(if self.run.is_some() { Via::Node } else { door })
    }
}

/// The time limit that holds: the caller's, and never more than the person's, where 0 is none.
pub(super) fn within(asked: Option<Duration>, most_seconds: u32) -> Option<Duration> {
    let most = (most_seconds > 0).then(|| Duration::from_secs(most_seconds.into()));
    match (asked, most) {
        (Some(asked), Some(most)) => Some(asked.min(most)),
        (asked, most) => asked.or(most),
    }
}

/// The checks that need neither policy nor facts, in the peers' order.
pub(super) fn check(
    request: ExecRequest,
    placement: Placement,
    home: &Path,
    grants: ForwardedGrants,
) -> Result<Checked, Refusal> {
    let argv = request.command;
    let Some(program) = argv.first().filter(|program| !program.trim().is_empty()) else {
        return Err(Refusal::invalid("command required"));
    };
    if program.trim() != program {
        return Err(Refusal::invalid("executable has surrounding whitespace"));
    }
    if let Some(index) = argv.iter().position(|word| word.contains('\0')) {
        return Err(Refusal::invalid(&format!("command: expected no NUL, got one in argument {index}")));
    }
    let agreed = raw_command::check(&argv, request.raw_command.as_deref())
        .map_err(|mismatch| Refusal::invalid(&mismatch.to_string()))?;
    // What a gateway says of approvals never counts: a person's own answer does, see `grants`.
    let grants = if request.node_run.is_some() { ForwardedGrants::Never } else { grants };
    let origin = origin(
        request.approval_decision,
        request.approval_source.as_deref(),
        request.policy_snapshot.is_some(),
        grants,
    )?;
    let target = if agreed.shell_payload.is_some() { Target::ShellWrapper } else { Target::Program };
    let env = environment::overrides(&request.env.unwrap_or_default(), target)
        .map_err(|rejected| Refusal::invalid(&rejected.to_string()))?;
    let timeout = match request.timeout_ms {
        None | Some(0) => None,
        Some(ms) => match u64::try_from(ms) {
            Ok(ms) => Some(Duration::from_millis(ms)),
            Err(_) => {
                return Err(Refusal::invalid(&format!(
                    "timeoutMs: expected 0 or more milliseconds, got {ms}"
                )));
            }
        },
    };
    let terminal = request.pty.filter(|wanted| *wanted).map(|_| Typing::Nobody);
    if terminal.is_some() && placement.is_container() {
        return Err(Refusal::invalid("pty: a container gives a command no terminal; run it without"));
    }
    Ok(Checked {
        terminal,
        command_text: agreed.command_text,
        cwd: request
            .cwd
            .clone()
            .filter(|cwd| !cwd.trim().is_empty())
            .unwrap_or_else(|| home.to_string_lossy().into_owned()),
        env,
        timeout,
        agent: AgentId::of(request.agent_id.as_deref()),
        session: SessionKey::of(request.session_key.as_deref()),
        // A grant that is not honoured brings no snapshot to be compared with either.
        forwarded: request.policy_snapshot.filter(|_| origin != Origin::Fresh),
        origin,
        confinement: request.confinement,
        contained: None,
        box_env: variables_of(request.box_env),
        approval_wait: wait_of(request.approval_timeout_ms),
        given_cwd: request.cwd.clone(),
        run: request.node_run,
        started: CancellationToken::new(),
        tap: Tap::default(),
        runner: Runner::App,
        beside: Beside::default(),
        argv,
        placement,
    })
}

/// What a forwarded grant counts for (docs/protocol/approval-socket.md, "Grants from elsewhere").
fn origin(
    decision: Option<Decision>,
    source: Option<&str>,
    with_snapshot: bool,
    grants: ForwardedGrants,
) -> Result<Origin, Refusal> {
    let source = match source {
        None => None,
        Some("ask-fallback") => Some(Origin::AskFallback),
        Some("auto-review") => Some(Origin::AutoReview),
        Some(_) => return Err(Refusal::invalid("approvalSource invalid")),
    };
    if source.is_some() && decision.is_some() {
        return Err(Refusal::invalid("approvalSource cannot be combined with explicit approval"));
    }
    let origin = source.or(decision.map(Origin::Forwarded)).unwrap_or(Origin::Fresh);
    let grant = match origin {
        Origin::Forwarded(decision) => decision.allows(),
        Origin::AutoReview => true,
        Origin::Fresh | Origin::AskFallback => false,
    };
    if !grant {
        return Ok(origin);
    }
    if !with_snapshot {
        return Err(Refusal::invalid("delayed approval requires a prepared policy snapshot"));
    }
    Ok(match grants {
        ForwardedGrants::WithSnapshot => origin,
        ForwardedGrants::Never => Origin::Fresh,
    })
}

/// How long the person may take.
pub(super) fn wait_of(asked_ms: Option<u64>) -> Duration {
    asked_ms.map_or(DEFAULT_APPROVAL_WAIT, |ms| {
        Duration::from_millis(ms).clamp(MIN_APPROVAL_WAIT, MAX_APPROVAL_WAIT)
    })
}

/// How long a person has when the asker does not say: the peers' runner gives up after 20 s, prompt and run
/// together (docs/protocol/approval-socket.md, "Patience").
const DEFAULT_APPROVAL_WAIT: Duration = Duration::from_secs(15);

/// Shorter than this nobody can read anything.
const MIN_APPROVAL_WAIT: Duration = Duration::from_secs(1);

/// Longer than this a question is forgotten, not pending.
const MAX_APPROVAL_WAIT: Duration = Duration::from_secs(30 * 60);
