//! A run on a node. The node decides by its own policy; what is set here is asked about here before it
//! hears of the run.

use super::nodes::Place;
use super::{Router, refused};
use countersign_commands::raw_command::canonical_text;
use countersign_node::host::Refusal;
use countersign_node::socket::server::Peer;
use countersign_policy::display;
use countersign_protocol::gateway::node::{CAP_TERMINAL, RunParams};
use countersign_protocol::question::{HostKind, Outcome};
use countersign_protocol::socket::{AskRequest, Confinement, ExecError, ExecPayload, ExecRequest, NodeRun};
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use countersign_routing::route::Route;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// What a person's answer came to.
enum Consent {
    /// Nobody had to be asked.
    Unasked,
    /// Nobody either: the node is this very machine, where a box holds it, and what it comes to is
    /// written down there.
    Contained,
    /// Allowed, for this run.
    Allowed,
}

impl Router {
    /// Runs a command on the node that is meant. The node's name comes back with the result,
    /// once there is one.
    pub(super) async fn run_on_node(
        &self,
        exec: ExecRequest,
        route: &Route,
        peer: &Peer,
        gone: CancellationToken,
    ) -> (Option<String>, Result<ExecPayload, Refusal>) {
        let place = match self.node_of(route).await {
            Ok(place) => place,
            Err(refusal) => {
                self.record(&exec, peer, REMOTE, refusal.outcome.clone()).await;
                return (None, Err(refusal));
            }
        };
        if exec.confinement == Some(Confinement::Box) {
            let refusal = refused("INVALID_REQUEST", "box", NO_BOX.to_owned());
            self.record(&exec, peer, REMOTE, refusal.outcome.clone()).await;
            return (None, Err(refusal));
        }
        if exec.pty == Some(true) && !gives_terminals(&place) {
            let refusal = refused("INVALID_REQUEST", "pty", NO_TERMINAL.to_owned());
            self.record(&exec, peer, REMOTE, refusal.outcome.clone()).await;
            return (None, Err(refusal));
        }
        let name = place.name();
        let run = NodeRun {
            gateway: place.gateway.gateway(),
            node_id: place.node.id.clone(),
            run_id: self.inner.parts.ports.ids.uuid(),
        };
        let run_id = run.run_id.clone();
        let asked = if self.is_contained_here(&exec, route, &place).await {
            Ok(Consent::Contained)
        } else {
            self.ask_here(&exec, route, &name, run, peer, &gone).await
        };
        let asked = match asked {
            Ok(asked) => asked,
            Err(refusal) => return (Some(name), Err(refusal)),
        };
        if matches!(asked, Consent::Unasked) {
            self.record(&exec, peer, REMOTE, Outcome::AllowedByPolicy).await;
        }
        let result = run_there(exec, &place, run_id, asked, gone).await;
        (Some(name), result)
    }

    async fn node_of(&self, route: &Route) -> Result<Place, Refusal> {
        let bound = route.bound.as_ref().map(|bound| bound.value.as_str());
        let chosen = self.place_of(bound, route.requested.as_deref()).await;
        // Nodes say their names themselves.
        chosen.map_err(|error| refused("UNAVAILABLE", "exec-node", display::escape(&error.to_string())))
    }

    /// Whether a person would only be asked about what a box holds. It allows nothing: the run is judged once
    /// more where it comes back to this machine, and asked about there if its folder was closed meanwhile.
    /// Another gateway could say of any node that it is this one.
    async fn is_contained_here(&self, exec: &ExecRequest, route: &Route, place: &Place) -> bool {
        let is_asked = (route.security.value, route.ask.value) == (Security::Allowlist, Ask::OnMiss);
        let is_own = place.gateway.name().is_none();
        is_asked
            && is_own
            && self.inner.own_node.id() == Some(&place.node.id)
            && self.inner.parts.host.would_contain(exec.clone()).await
    }

    /// Asks a person here where the route wants that. Whether a node's allowlist covers a command is not
    /// known here, so a person is asked whenever only that could let it run.
    async fn ask_here(
        &self,
        exec: &ExecRequest,
        route: &Route,
        node: &str,
        run: NodeRun,
        peer: &Peer,
        gone: &CancellationToken,
    ) -> Result<Consent, Refusal> {
        match (route.security.value, route.ask.value) {
            (Security::Deny, _) => {
                let outcome = Outcome::DeniedByPolicy { reason: "security=deny".to_owned() };
                self.record(exec, peer, REMOTE, outcome.clone()).await;
                return Err(not_run(outcome, "SYSTEM_RUN_DISABLED: security=deny", "security=deny"));
            }
            (Security::Allowlist, Ask::Off) => {
                let outcome = Outcome::DeniedByPolicy { reason: "allowlist-miss".to_owned() };
                self.record(exec, peer, REMOTE, outcome.clone()).await;
                let message = "exec denied: host=node allowlist miss (ask=off)";
                return Err(not_run(outcome, message, "allowlist-miss"));
            }
            (Security::Full, Ask::Off | Ask::OnMiss) => return Ok(Consent::Unasked),
            (Security::Allowlist, Ask::OnMiss | Ask::Always) | (Security::Full, Ask::Always) => {}
        }
        let question = AskRequest {
            command: canonical_text(&exec.command),
            cwd: exec.cwd.clone(),
            host: Some(node.to_owned()),
            security: Some(route.security.value.to_string()),
            ask: Some(route.ask.value.to_string()),
            agent_id: exec.agent_id.clone(),
            session_key: exec.session_key.clone(),
            allowed_decisions: vec![Decision::AllowOnce, Decision::Deny],
            approval_timeout_ms: exec.approval_timeout_ms,
            // Where the node is this very machine, one answer is enough.
            node_run: Some(run),
            ..AskRequest::default()
        };
        match self.inner.parts.host.ask(question, peer, gone.clone()).await {
            Some(Decision::AllowOnce | Decision::AllowAlways) => Ok(Consent::Allowed),
            Some(Decision::Deny) => {
                Err(not_run(Outcome::Denied, "SYSTEM_RUN_DENIED: user denied", "user-denied"))
            }
            None => {
                let message = "SYSTEM_RUN_DENIED: the approval request ended without an answer";
                Err(not_run(Outcome::Expired, message, "approval-cancelled"))
            }
        }
    }
}

async fn run_there(
    exec: ExecRequest,
    place: &Place,
    run_id: String,
    asked: Consent,
    gone: CancellationToken,
) -> Result<ExecPayload, Refusal> {
    let limit = exec.timeout_ms.and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms > 0);
    let limit = limit.map_or(DEFAULT_RUN, Duration::from_millis);
    let allowed = matches!(asked, Consent::Allowed);
    let params = RunParams {
        command: exec.command,
        raw_command: exec.raw_command,
        cwd: exec.cwd,
        env: exec.env,
        timeout_ms: Some(i64::try_from(limit.as_millis()).unwrap_or(i64::MAX)),
        agent_id: exec.agent_id,
        session_key: exec.session_key,
        run_id: Some(run_id),
        pty: exec.pty.filter(|wanted| *wanted),
        approved: allowed.then_some(true),
        approval_decision: allowed.then(|| Decision::AllowOnce.to_string()),
        ..RunParams::default()
    };
    let wait = (limit + MARGIN).max(LEAST_WAIT);
    place.gateway.run(&place.node.id, params, wait, gone).await.map_err(|error| {
        let code = error.code.unwrap_or_else(|| "UNAVAILABLE".to_owned());
        let message = error.message.unwrap_or_else(|| "the node said nothing".to_owned());
        refused(&code, "exec-node", display::escape(&message))
    })
}

fn not_run(outcome: Outcome, message: &str, reason: &str) -> Refusal {
    let error = ExecError {
        code: "UNAVAILABLE".to_owned(),
        message: message.to_owned(),
        reason: Some(reason.to_owned()),
    };
    Refusal { error, outcome }
}

/// Whether a run there can be asked for one. Other gateways hand on what they know, which is no
/// terminals in any release.
fn gives_terminals(place: &Place) -> bool {
    let said = place.node.caps.as_ref();
    place.gateway.name().is_none() && said.is_some_and(|caps| caps.iter().any(|cap| cap == CAP_TERMINAL))
}

/// Why not.
const NO_TERMINAL: &str = "pty: this node cannot be asked for a terminal, only Countersign's own on the app's own gateway can; run it without, or on this machine";

/// Why not.
const NO_BOX: &str =
    "box: what runs on a node runs under that machine's rules; leave --box out, or run it on this machine";

/// For the history.
const REMOTE: Option<HostKind> = Some(HostKind::Remote);

/// How long a command without a limit may run on a node: the peers' own limit.
const DEFAULT_RUN: Duration = Duration::from_secs(1_800);

/// What the way there and back may take beyond the run (docs/protocol/nodes.md, "Waiting for a run").
const MARGIN: Duration = Duration::from_secs(5);

/// Shorter than this no node is waited for (docs/protocol/nodes.md, "Waiting for a run").
const LEAST_WAIT: Duration = Duration::from_secs(10);
