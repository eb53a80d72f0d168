//! The approval methods (approval-methods.md §2–7), in the newest release's order of checks and with its texts.

use super::connection::Call;
use super::{Backend, Known, NotTaken, Requester, Submission};
use countersign_protocol::gateway::approval::{Decided, Plan, RequestParams, RequestView};
use countersign_protocol::gateway::{ErrorShape, Frame, Response};
use countersign_protocol::limits::DISPLAY_INPUT_UNITS;
use countersign_protocol::vocabulary::Decision;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How long an approval waits when nobody says otherwise, in milliseconds (system.md P1).
const DEFAULT_TIMEOUT_MS: i64 = 120_000;

/// Longest wait, in milliseconds (approval-methods.md §10).
const MAX_TIMEOUT_MS: i64 = 2_147_000_000;

/// Shortest part of an id that stands for it; the peers take one character, which a slip could be.
const MIN_PREFIX: usize = 8;

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
    let two_phase = params.two_phase == Some(true);
    let gateway = &call.gateway;
    let somebody = gateway.has_other_approver(&call.client.conn_id) || gateway.backend.has_own_presenter();
    let announced = params.suppress_delivery != Some(true);
    let submission = Submission {
        deliverable: (somebody && announced) || params.require_delivery_route == Some(false),
        announced,
        ..checked(call, params)?
    };
    let deliverable = submission.deliverable;
    let known = gateway.backend.submit(submission).await.map_err(|error| match error {
        NotTaken::Pending => ErrorShape::invalid(error.to_string()),
        NotTaken::Unavailable(_) => ErrorShape::unavailable(error.to_string()),
    })?;
    let requested = &known.requested;
    if two_phase && deliverable {
        let accepted = json!({
            "status": "accepted",
            "id": requested.id,
            "createdAtMs": requested.created_at_ms,
            "expiresAtMs": requested.expires_at_ms,
        });
        call.outbox.frame(&Frame::Res(Response::ok(request_id, accepted)));
    }
    let decision = tokio::select! {
        decision = gateway.backend.wait(&requested.id) => decision.flatten(),
        // It waits on; the answer has nowhere to go.
        () = call.gone.cancelled() => None,
    };
    Ok(decided(&known, decision))
}

/// A request in the order of §2.2.
fn checked<B: Backend>(call: &Call<B>, params: RequestParams) -> Result<Submission, ErrorShape> {
    let host = text(params.host.as_deref());
    let node_id = text(params.node_id.as_deref());
    let on_node = host.as_deref() == Some("node");
    if on_node && node_id.is_none() {
        return Err(ErrorShape::invalid("nodeId is required for host=node"));
    }
    let plan = params.system_run_plan.filter(|_| on_node);
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
    if plan.as_ref().is_some_and(|plan| plan.argv.is_empty()) {
        return Err(ErrorShape::invalid("commandArgv is required for host=node"));
    }
    if command.encode_utf16().count() > DISPLAY_INPUT_UNITS {
        let details = json!({"reason": "EXEC_APPROVAL_COMMAND_DISPLAY_LIMIT"});
        return Err(ErrorShape::invalid("command exceeds exec approval display limit").with(details));
    }
    if let Some(id) = id.as_deref().filter(|id| !is_id(id)) {
        let details = json!({"code": "EXEC_APPROVAL_ID_INVALID", "reason": "INVALID_APPROVAL_ID"});
        let shown = call.gateway.backend.shown(id);
        return Err(ErrorShape::invalid(format!("approval id invalid: {shown}")).with(details));
    }
    let timeout_ms = params.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    if timeout_ms < 1 {
        let why = format!("timeoutMs: expected 1 or more, got {timeout_ms}");
        return Err(ErrorShape::invalid(format!("invalid exec.approval.request params: {why}")));
    }
    let show = |text: String| call.gateway.backend.shown(&text);
    let plan_or = |of_plan: fn(&Plan) -> Option<&String>, own: Option<String>| {
        plan.as_ref().and_then(of_plan).cloned().or(own)
    };
    let request = RequestView {
        command: show(command.clone()),
        command_argv: params.command_argv.filter(|_| !on_node),
        env_keys: params.env.map(|env| env.into_keys().map(show).collect()),
        cwd: plan_or(|plan| plan.cwd.as_ref(), params.cwd).map(show),
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
        request,
        timeout: Duration::from_millis(timeout_ms.clamp(1, MAX_TIMEOUT_MS).unsigned_abs()),
        by: Requester {
            conn_id: call.client.conn_id.clone(),
            device_id: call.client.device_id.clone(),
            client_id: call.client.client.id.clone(),
        },
        deliverable: false,
        announced: false,
    })
}

/// What may be answered (§2.4).
fn allowed(ask: Option<&str>, unavailable: Option<&[String]>) -> Vec<Decision> {
    let without_always = ask == Some("always")
        || unavailable.is_some_and(|words| words.iter().any(|word| word == Decision::AllowAlways.as_str()));
    let every = [Decision::AllowOnce, Decision::AllowAlways, Decision::Deny];
    every.into_iter().filter(|decision| !without_always || *decision != Decision::AllowAlways).collect()
}

#[derive(Deserialize)]
struct ById {
    #[serde(default)]
    id: String,
}

#[derive(Deserialize)]
struct ResolveParams {
    #[serde(default)]
    id: String,
    #[serde(default)]
    decision: Value,
}

/// Waits for an approval that somebody asked for (§4).
pub(super) async fn wait<B: Backend>(call: &Call<B>, params: Value) -> Result<Value, ErrorShape> {
    let ById { id } = by_id("exec.approval.waitDecision", params)?;
    let id = id.trim();
    if id.is_empty() {
        return Err(ErrorShape::invalid("id is required"));
    }
    let unknown = || ErrorShape::invalid("approval expired or not found");
    // Taken before the wait: afterwards it may be gone.
    let known = call.gateway.backend.find(id).await.ok_or_else(unknown)?;
    let decision = tokio::select! {
        decision = call.gateway.backend.wait(id) => decision.ok_or_else(unknown)?,
        () = call.gone.cancelled() => None,
    };
    Ok(decided(&known, decision))
}

/// Answers an approval (§5).
pub(super) async fn resolve<B: Backend>(call: &Call<B>, params: Value) -> Result<Value, ErrorShape> {
    let ResolveParams { id, decision } = serde_json::from_value(params)
        .map_err(|error| ErrorShape::invalid(format!("invalid exec.approval.resolve params: {error}")))?;
    let decision: Decision =
        serde_json::from_value(decision).map_err(|_| ErrorShape::invalid("invalid decision"))?;
    let known = look_up(call, &id).await?;
    if decision.allows() && is_own(call, &known) {
        let details = json!({"reason": "APPROVAL_OWN_REQUEST"});
        let text = "an approval cannot be allowed by the device that asked for it";
        return Err(ErrorShape::invalid(text).with(details));
    }
    let offered = known.requested.request.allowed_decisions.as_deref().unwrap_or_default();
    if !offered.contains(&decision) {
        let details = json!({"reason": "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE"});
        let text = match known.requested.request.ask.as_deref() {
            Some("always") => {
                "allow-always is unavailable because the effective policy requires approval every time"
            }
            _ => "allow-always is unavailable for this command",
        };
        return Err(ErrorShape::invalid(text).with(details));
    }
    let id = &known.requested.id;
    if known.ended.is_none() && call.gateway.backend.resolve(id, decision, call.client.name()).await {
        return Ok(json!({"ok": true}));
    }
    // Somebody was faster, or it expired meanwhile.
    match call.gateway.backend.find(id).await.and_then(|known| known.ended) {
        Some(Some(ended)) if ended == decision => Ok(json!({"ok": true})),
        Some(Some(_)) => {
            let details = json!({"reason": "APPROVAL_ALREADY_RESOLVED"});
            Err(ErrorShape::invalid("approval already resolved").with(details))
        }
        Some(None) | None => Err(unknown()),
    }
}

/// Who asks cannot answer itself: by device, or by connection where there is none.
fn is_own<B>(call: &Call<B>, known: &Known) -> bool {
    match (&known.by.device_id, &call.client.device_id) {
        (Some(asked), Some(answers)) => asked == answers,
        _ => known.by.conn_id == call.client.conn_id,
    }
}

/// What waits (§7).
pub(super) async fn list<B: Backend>(call: &Call<B>) -> Value {
    let pending = call.gateway.backend.pending().await;
    let rows: Vec<Value> =
        pending.iter().filter_map(|known| serde_json::to_value(&known.requested).ok()).collect();
    Value::Array(rows)
}

/// One approval in short (§7).
pub(super) async fn get<B: Backend>(call: &Call<B>, params: Value) -> Result<Value, ErrorShape> {
    let ById { id } = by_id("exec.approval.get", params)?;
    let known = look_up(call, &id).await?;
    let request = &known.requested.request;
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

/// By its id, or by the beginning of one that waits.
async fn look_up<B: Backend>(call: &Call<B>, id: &str) -> Result<Arc<Known>, ErrorShape> {
    let id = id.trim();
    if id.is_empty() {
        return Err(ErrorShape::invalid("id is required"));
    }
    if let Some(known) = call.gateway.backend.find(id).await {
        return Ok(known);
    }
    let mut found = Vec::new();
    if id.len() >= MIN_PREFIX {
        let wanted = id.to_lowercase();
        found = call.gateway.backend.pending().await;
        found.retain(|known| known.requested.id.to_lowercase().starts_with(&wanted));
    }
    match (found.pop(), found.is_empty()) {
        (Some(known), true) => Ok(known),
        (Some(_), false) => Err(ErrorShape::invalid("ambiguous approval id prefix; use the full id")),
        (None, _) => Err(unknown()),
    }
}

fn unknown() -> ErrorShape {
    let details = json!({"reason": "APPROVAL_NOT_FOUND"});
    ErrorShape::invalid("unknown or expired approval id").with(details)
}

fn by_id(method: &str, params: Value) -> Result<ById, ErrorShape> {
    serde_json::from_value(params)
        .map_err(|error| ErrorShape::invalid(format!("invalid {method} params: {error}")))
}

fn decided(known: &Known, decision: Option<Decision>) -> Value {
    let requested = &known.requested;
    let decided = Decided {
        id: requested.id.clone(),
        decision,
        created_at_ms: requested.created_at_ms,
        expires_at_ms: requested.expires_at_ms,
    };
    serde_json::to_value(decided).unwrap_or_default()
}

/// 1–128 letters, digits and `._:-`, and no name of a folder.
fn is_id(id: &str) -> bool {
    id.len() <= MAX_ID
        && !matches!(id, "." | "..")
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}

/// Without blanks around it, if anything is left.
fn text(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}
