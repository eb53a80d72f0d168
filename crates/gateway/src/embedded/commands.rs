//! Asking for a command (docs/protocol/approvals.md, "Asking"), in the newest release's order of checks and
//! with its texts.

use super::approvals::{Delivery, ask, requester};
use super::asked::Subject;
use super::binding::{Binding, Environment, text};
use super::connection::Call;
use super::params::Params;
use super::{Backend, Submission};
use countersign_protocol::gateway::ErrorShape;
use countersign_protocol::gateway::approval::{Plan, RequestParams, RequestView};
use countersign_protocol::gateway::unified::ApprovalKind;
use countersign_protocol::limits::DISPLAY_INPUT_UNITS;
use countersign_protocol::vocabulary::Decision;
use serde_json::{Value, json};
use std::time::Duration;

/// How long an approval waits when nobody says otherwise, in milliseconds (docs/protocol/approvals.md,
/// "State machine").
const DEFAULT_TIMEOUT_MS: i64 = 120_000;

/// Longest wait, in milliseconds (docs/protocol/approvals.md, "State machine").
const MAX_TIMEOUT_MS: i64 = 2_147_000_000;

/// Longest id.
const MAX_ID: usize = 128;

/// Ids that begin so are another kind's.
const PLUGIN_PREFIX: &str = "plugin:";

/// Waits for an answer, and says so first when asked to.
pub(super) async fn request<B: Backend>(
    call: &Call<B>,
    request_id: &str,
    params: Value,
) -> Result<Value, ErrorShape> {
    let params: RequestParams = serde_json::from_value(params)
        .map_err(|error| ErrorShape::invalid(format!("invalid exec.approval.request params: {error}")))?;
    let delivery = Delivery {
        two_phase: params.two_phase == Some(true),
        announced: params.suppress_delivery != Some(true),
        needs_somebody: params.require_delivery_route != Some(false),
    };
    ask(call, request_id, checked(call, params)?, delivery).await
}

/// A request, checked in order (docs/protocol/approvals.md, "Asking").
fn checked<B: Backend>(call: &Call<B>, params: RequestParams) -> Result<Submission, ErrorShape> {
    let host = text(params.host.as_deref());
    let node_id = text(params.node_id.as_deref());
    let on_node = host.as_deref() == Some("node");
    if on_node && node_id.is_none() {
        return Err(ErrorShape::invalid("nodeId is required for host=node"));
    }
    let plan = params.system_run_plan.filter(|plan| on_node && !plan.argv.is_empty());
    if on_node && plan.is_none() {
        return Err(ErrorShape::invalid("systemRunPlan is required for host=node"));
    }
    let command = match &plan {
        Some(plan) => text(Some(&plan.command_text)),
        None => text(params.command.as_deref()),
    };
    let command = command.ok_or_else(|| ErrorShape::invalid("command is required"))?;
    let id = text(params.id.as_deref());
    if id.as_deref().is_some_and(|id| id.starts_with(PLUGIN_PREFIX)) {
        return Err(ErrorShape::invalid("approval ids starting with plugin: are reserved"));
    }
    if command.encode_utf16().count() > DISPLAY_INPUT_UNITS {
        let details = json!({"reason": "EXEC_APPROVAL_COMMAND_DISPLAY_LIMIT"});
        return Err(ErrorShape::invalid("command exceeds exec approval display limit").with(details));
    }
    if id.as_deref().is_some_and(|id| !is_id(id)) {
        let details = json!({"code": "EXEC_APPROVAL_ID_INVALID", "reason": "INVALID_APPROVAL_ID"});
        return Err(ErrorShape::invalid(BAD_ID).with(details));
    }
    let timeout_ms = params.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    if timeout_ms < 1 {
        let why = format!("timeoutMs: expected 1 or more, got {timeout_ms}");
        return Err(ErrorShape::invalid(format!("invalid exec.approval.request params: {why}")));
    }
    let binding = plan.as_ref().map(|plan| {
        let own = [&params.cwd, &params.agent_id, &params.session_key].map(Option::as_deref);
        let env = Environment::of(params.env.iter().flatten());
        Box::new(Binding::of(plan, own[0], own[1], own[2]).with(&env))
    });
    let show = |text: String| call.gateway.backend.shown(&text);
    let plan_or = |of_plan: fn(&Plan) -> Option<&String>, own: Option<String>| {
        plan.as_ref().and_then(of_plan).cloned().or(own)
    };
    let cwd = plan_or(|plan| plan.cwd.as_ref(), params.cwd);
    let request = RequestView {
        command: show(command.clone()),
        command_argv: params.command_argv.filter(|_| !on_node),
        env_keys: params.env.map(|env| env.into_keys().map(show).collect()),
        cwd: cwd.clone().map(show),
        allowed_decisions: Some(allowed(params.ask.as_deref(), params.unavailable_decisions.as_deref())),
        host,
        node_id,
        security: params.security,
        ask: params.ask,
        warning_text: params.warning_text.map(show),
        agent_id: plan_or(|plan| plan.agent_id.as_ref(), params.agent_id),
        resolved_path: params.resolved_path.map(show),
        session_key: plan_or(|plan| plan.session_key.as_ref(), params.session_key),
        system_run_plan: plan,
    };
    Ok(Submission {
        id,
        command,
        cwd,
        subject: Subject::Exec(Box::new(request)),
        binding,
        timeout: Duration::from_millis(timeout_ms.clamp(1, MAX_TIMEOUT_MS).unsigned_abs()),
        by: requester(call),
        deliverable: false,
        announced: false,
    })
}

/// What may be answered (docs/protocol/approvals.md, "What may be answered").
fn allowed(ask: Option<&str>, unavailable: Option<&[String]>) -> Vec<Decision> {
    let without_always = ask == Some("always")
        || unavailable.is_some_and(|words| words.iter().any(|word| word == Decision::AllowAlways.as_str()));
    let every = [Decision::AllowOnce, Decision::AllowAlways, Decision::Deny];
    every.into_iter().filter(|decision| !without_always || *decision != Decision::AllowAlways).collect()
}

/// One approval in short (docs/protocol/approvals.md, "Listing").
pub(super) async fn get<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let known = super::approvals::look_up(call, ApprovalKind::Exec, params.string("id")?).await?;
    let Subject::Exec(request) = known.subject() else {
        return Err(ErrorShape::unavailable("expected an approval of a command"));
    };
    Ok(json!({
        "id": known.requested.id,
        "commandText": request.command,
        "commandPreview": null,
        "allowedDecisions": request.allowed_decisions,
        "host": request.host,
        "nodeId": request.node_id,
        "agentId": request.agent_id,
        "expiresAtMs": known.requested.expires_at_ms,
    }))
}

/// The peers' words for an id that is none.
const BAD_ID: &str = "approval id must be 1-128 characters using only letters, numbers, '.', '_', ':', or '-', and \
                      cannot be '.' or '..'";

/// 1–128 letters, digits and `._:-`, and no name of a folder.
fn is_id(id: &str) -> bool {
    id.len() <= MAX_ID
        && !matches!(id, "." | "..")
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}
