//! One `system.run`: through the app when it is there, else by the same flow in this process, where
//! nobody can be asked.

use super::calls::RunnerParts;
use super::outcome::{Ended, INVALID_REQUEST};
use countersign_commands::raw_command;
use countersign_core::endpoint::endpoint_in;
use countersign_core::presence::Presence;
use countersign_node::host::Signals;
use countersign_node::socket::client::{self, ClientError};
use countersign_node::socket::server::Peer;
use countersign_protocol::gateway::node::{RunEvent, RunParams};
use countersign_protocol::socket::{ExecRequest, NodeRun};
use countersign_protocol::vocabulary::Decision;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// A run that made enough sense to be told about.
pub(super) struct Run {
    pub(super) ended: Ended,
    /// What every event about it says.
    pub(super) about: RunEvent,
    /// Whether its start was told.
    pub(super) is_begun: bool,
}

/// Runs what `params` say within `limit`. Cancelling ends it, or withdraws the question.
pub(super) async fn run(
    tools: &RunnerParts,
    params: Value,
    limit: Duration,
    cancel: CancellationToken,
    started: impl Fn(RunEvent),
) -> Run {
    let params: RunParams = match serde_json::from_value(params) {
        Ok(params) => params,
        Err(error) => {
            let message = format!("{INVALID_REQUEST}: system.run: {error}");
            return Run { ended: Ended::Invalid { message }, about: RunEvent::default(), is_begun: false };
        }
    };
    let run_id = filled(params.run_id.as_deref()).map_or_else(|| tools.ports.ids.uuid(), str::to_owned);
    let about = RunEvent {
        session_key: filled(params.session_key.as_deref()).unwrap_or(NO_SESSION).to_owned(),
        run_id: run_id.clone(),
        host: HOST.to_owned(),
        command: text_of(&params),
        suppress_notify_on_exit: params.suppress_notify_on_exit.filter(|suppressed| *suppressed),
        ..RunEvent::default()
    };
    let is_begun = AtomicBool::new(false);
    let started = || {
        is_begun.store(true, Ordering::Relaxed);
        started(about.clone());
    };
    let request = request_of(tools, &params, run_id, limit);
    let ended = match &params.system_run_plan {
        Some(plan) => match tools.host.still_planned(&request, plan) {
            Ok(()) => exec(tools, request, limit, cancel, &started).await,
            Err(refusal) => Ended::of_refusal(refusal),
        },
        None => exec(tools, request, limit, cancel, &started).await,
    };
    let is_begun = is_begun.load(Ordering::Relaxed);
    Run { ended, about, is_begun }
}

/// What is asked of the machine. What the gateway says about approvals goes no further, whoever gave them
/// there: a gateway that lies could say it of anything. An answer that was given here is found by the run's
/// id. What only denies counts.
fn request_of(tools: &RunnerParts, params: &RunParams, run_id: String, limit: Duration) -> ExecRequest {
    let decision = params.approval_decision.as_deref().and_then(Decision::from_word);
    ExecRequest {
        command: params.command.clone(),
        raw_command: params.raw_command.clone(),
        cwd: params.cwd.clone(),
        env: params.env.clone(),
        timeout_ms: params.timeout_ms,
        needs_screen_recording: params.needs_screen_recording,
        agent_id: params.agent_id.clone(),
        session_key: params.session_key.clone(),
        policy_snapshot: None,
        approval_decision: decision.filter(|decision| !decision.allows()),
        approval_source: params.approval_source.clone().filter(|source| source != AUTO_REVIEW),
        approval_timeout_ms: u64::try_from(limit.min(MOST_WAIT).as_millis()).ok(),
        pty: params.pty,
        confinement: None,
        box_env: BTreeMap::new(),
        follow: false,
        node_run: Some(NodeRun { gateway: tools.gateway.clone(), node_id: tools.node_id.clone(), run_id }),
    }
}

async fn exec(
    tools: &RunnerParts,
    request: ExecRequest,
    limit: Duration,
    cancel: CancellationToken,
    started: impl Fn(),
) -> Ended {
    if tools.asking.is_none() {
        let named = endpoint_in(&*tools.store.refresh().await, &tools.paths);
        let mut why = NO_SOCKET.to_owned();
        let socket = named.as_ref().map(|(socket, _)| socket.clone());
        if let Some((socket, token)) = named {
            let now_ms = tools.ports.clock.now_ms();
            let asked = client::exec_watched(&socket, &token, &request, now_ms, limit, &started);
            let answer = tokio::select! {
                answer = asked => answer,
                // The connection is closed with it, and the app ends what runs.
                () = cancel.cancelled() => return Ended::cancelled(),
            };
            match answer {
                Ok(answer) => {
                    return match (answer.payload, answer.error) {
                        (Some(payload), _) => Ended::Ran(payload),
                        (None, Some(error)) => Ended::of(error),
                        (None, None) => Ended::silent(),
                    };
                }
                Err(error @ ClientError::NoApp { .. }) => why = error.to_string(),
                // It may have run: to run it again here could do it twice.
                Err(error) => {
                    tracing::warn!(%error, "the app did not answer");
                    return Ended::silent();
                }
            }
        }
        // Without the app the fallback holds, and nowhere else.
        if let Err(unreached) = Presence::of(&tools.paths, socket.as_deref()).proves_absence(why) {
            tracing::warn!(%unreached, "nothing ran");
            return Ended::silent();
        }
    }
    let _presenter = match &tools.asking {
        Some(asking) => asking.presenter().await,
        None => None,
    };
    let signals = Signals::from(cancel.child_token());
    let (limited, begun) = (signals.gone.clone(), signals.started.clone());
    let nobody = Peer::default();
    let running = tools.host.exec(request, &nobody, signals);
    tokio::pin!(running);
    let late = tokio::time::sleep(limit);
    tokio::pin!(late);
    let mut has_begun = false;
    let ended = loop {
        tokio::select! {
            biased;
            () = lasts(&begun), if !has_begun => {
                has_begun = true;
                started();
            }
            ended = &mut running => break ended,
            () = &mut late, if !limited.is_cancelled() => limited.cancel(),
        }
    };
    match ended {
        Ok(payload) => Ended::Ran(payload),
        Err(refusal) => Ended::of_refusal(refusal),
    }
}

/// Whether a command that started is still running a moment later.
async fn lasts(started: &CancellationToken) {
    started.cancelled().await;
    tokio::time::sleep(STARTED_PAUSE).await;
}

/// The command as events tell it.
fn text_of(params: &RunParams) -> String {
    let raw = filled(params.raw_command.as_deref()).map(str::to_owned);
    raw.unwrap_or_else(|| raw_command::canonical_text(&params.command))
}

fn filled(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}

/// Why the app was not even asked.
const NO_SOCKET: &str = "the approvals document names no socket that can be used";

/// How long a command must run for its start to be told before its end: short beside anything that a
/// person waits for.
const STARTED_PAUSE: Duration = Duration::from_millis(30);

/// Session of a run that names none.
const NO_SESSION: &str = "node";

/// Where it ran, for events.
const HOST: &str = "node";

/// A reviewer program let it pass there.
const AUTO_REVIEW: &str = "auto-review";

/// Longest time for a person: longer than that nobody is looking.
const MOST_WAIT: Duration = Duration::from_secs(120);
