//! Approvals of every kind by one set of methods, those that ended included (docs/protocol/approvals.md,
//! "Every kind in one shape").

use super::approvals::{check_own, refused, resolver};
use super::asked::{Ended, KnownApproval, Subject, Verdict};
use super::connection::Call;
use super::{Backend, NotCounted};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use countersign_protocol::gateway::ErrorShape;
use countersign_protocol::gateway::unified::{
    ApprovalKind, Presentation, Reason, ResolverView, Snapshot, Source, Status,
};
use countersign_protocol::question::Severity;
use countersign_protocol::vocabulary::Decision;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Entries of a page when nobody says otherwise, and at most.
const PAGE: usize = 50;
const MAX_PAGE: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ById {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ResolveParams {
    id: String,
    kind: ApprovalKind,
    decision: Decision,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct HistoryParams {
    cursor: Option<String>,
    limit: Option<usize>,
    kind: Option<ApprovalKind>,
}

/// One approval.
pub(super) async fn get<B: Backend>(call: &Call<B>, params: Value) -> Result<Value, ErrorShape> {
    let params: ById = serde_json::from_value(params)
        .map_err(|error| ErrorShape::invalid(format!("invalid approval.get params: {error}")))?;
    let known = find(call, &params.id).await.ok_or_else(not_found)?;
    Ok(json!({ "approval": snapshot(&known) }))
}

/// Answers one. What makes no sense for an approval that waits is a denial: whoever sent it meant to decide
/// something, and only a denial cannot be wrong.
pub(super) async fn resolve<B: Backend>(call: &Call<B>, params: Value) -> Result<Value, ErrorShape> {
    let id = params.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
    let known = find(call, &id).await.ok_or_else(not_found)?;
    let mut applied = false;
    if known.ended.is_none() {
        let verdict = match serde_json::from_value::<ResolveParams>(params) {
            Ok(ResolveParams { id: named, kind, decision })
                if named == id
                    && kind == known.subject().kind()
                    && (decision == Decision::Deny || known.subject().decisions().contains(&decision)) =>
            {
                check_own(call, &known, decision)?;
                Verdict { decision, malformed: false, by: resolver(call) }
            }
            Ok(_) | Err(_) => Verdict { decision: Decision::Deny, malformed: true, by: resolver(call) },
        };
        applied = match call.gateway.backend.resolve(&id, verdict).await {
            Ok(()) => true,
            Err(NotCounted::Gone) => false,
            Err(NotCounted::Refused(why)) => return Err(refused(&why)),
        };
    }
    // Somebody may have been faster: told is what holds.
    let known = find(call, &id).await.filter(|known| known.ended.is_some()).ok_or_else(not_found)?;
    Ok(json!({ "applied": applied, "approval": snapshot(&known) }))
}

/// What ended, newest first.
pub(super) fn history<B: Backend>(call: &Call<B>, params: Value) -> Result<Value, ErrorShape> {
    let params = if params.is_null() { json!({}) } else { params };
    let HistoryParams { cursor, limit, kind } = serde_json::from_value(params)
        .map_err(|error| ErrorShape::invalid(format!("invalid approval.history params: {error}")))?;
    let limit = limit.unwrap_or(PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        let why = format!("at /limit: expected 1 to {MAX_PAGE}, got {limit}");
        return Err(ErrorShape::invalid(format!("invalid approval.history params: {why}")));
    }
    let mut past = call.gateway.backend.past();
    past.retain(|known| kind.is_none_or(|kind| known.subject().kind() == kind));
    past.sort_by(|a, b| place(b).cmp(&place(a)));
    if let Some(cursor) = cursor {
        let after =
            read_cursor(&cursor).ok_or_else(|| ErrorShape::invalid("invalid approval.history cursor"))?;
        past.retain(|known| place(known) < (after.0, after.1.as_str()));
    }
    let next = past.get(limit.saturating_sub(1)).filter(|_| past.len() > limit).map(|last| cursor_at(last));
    past.truncate(limit);
    let items: Vec<Snapshot> = past.iter().map(|known| snapshot(known)).collect();
    let mut page = json!({ "items": items });
    if let Some(next) = next {
        page["nextCursor"] = next.into();
    }
    Ok(page)
}

async fn find<B: Backend>(call: &Call<B>, id: &str) -> Option<Arc<KnownApproval>> {
    match call.gateway.backend.find(id).await {
        Some(known) => Some(known),
        None => call.gateway.backend.past().into_iter().find(|known| known.requested.id == id),
    }
}

fn not_found() -> ErrorShape {
    ErrorShape::invalid("approval not found").with(json!({"reason": "APPROVAL_NOT_FOUND"}))
}

/// Where an approval is in the history: by its end, then by its id.
fn place(known: &KnownApproval) -> (i64, &str) {
    (known.ended.as_ref().map_or(i64::MAX, |ended| ended.at_ms), known.requested.id.as_str())
}

fn cursor_at(known: &KnownApproval) -> String {
    let (at_ms, id) = place(known);
    URL_SAFE_NO_PAD.encode(format!("{at_ms} {id}"))
}

fn read_cursor(cursor: &str) -> Option<(i64, String)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (at_ms, id) = text.split_once(' ')?;
    Some((at_ms.parse().ok()?, id.to_owned()))
}

fn snapshot(known: &KnownApproval) -> Snapshot {
    let id = known.requested.id.clone();
    let ended = known.ended.as_ref();
    let status = ended.map_or(Status::Pending, status);
    let subject = known.subject();
    Snapshot {
        url_path: format!("/approve/{}", id.replace(':', "%3A")),
        id,
        status,
        presentation: presentation(subject),
        created_at_ms: known.requested.created_at_ms,
        expires_at_ms: known.requested.expires_at_ms,
        resolved_at_ms: ended.map(|ended| ended.at_ms),
        decision: match status {
            Status::Denied => Some(Decision::Deny),
            Status::Allowed => ended.and_then(|ended| ended.decision),
            Status::Pending | Status::Expired | Status::Cancelled => None,
        },
        reason: ended.map(|ended| ended.reason),
        source: ended.map(|_| Source {
            agent_id: subject.agent_id().map(str::to_owned),
            session_key: subject.session_key().map(str::to_owned),
        }),
        resolver: ended.and_then(|ended| ended.by.as_ref()).map(|by| match &by.device_id {
            Some(device) => ResolverView { kind: "device".to_owned(), id: Some(device.to_string()) },
            None => ResolverView { kind: "runtime".to_owned(), id: Some(by.label.clone()) },
        }),
    }
}

fn status(ended: &Ended) -> Status {
    match (ended.reason, ended.decision) {
        (_, Some(Decision::AllowOnce | Decision::AllowAlways)) => Status::Allowed,
        (_, Some(Decision::Deny)) => Status::Denied,
        (Reason::Timeout, None) => Status::Expired,
        (Reason::RunAborted | Reason::GatewayRestart, None) => Status::Cancelled,
        (Reason::User | Reason::MalformedVerdict | Reason::NoRoute | Reason::StorageCorrupt, None) => {
            Status::Denied
        }
    }
}

fn presentation(subject: &Subject) -> Presentation {
    match subject {
        Subject::Exec(request) => Presentation::Exec {
            command_text: request.command.clone(),
            command_preview: None,
            warning_text: request.warning_text.clone(),
            host: request.host.clone(),
            node_id: request.node_id.clone(),
            agent_id: request.agent_id.clone(),
            allowed_decisions: subject.decisions(),
        },
        Subject::Plugin(request) => Presentation::Plugin {
            title: request.title.clone(),
            description: request.description.clone(),
            detail: request.detail.clone(),
            severity: request.severity.unwrap_or(Severity::Warning),
            plugin_id: request.plugin_id.clone(),
            tool_name: request.tool_name.clone(),
            agent_id: request.agent_id.clone(),
            allowed_decisions: subject.decisions(),
        },
    }
}
