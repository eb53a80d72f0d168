//! What every kind of one-shot approval has in common: waiting, answering, listing
//! (docs/protocol/approvals.md), in the newest release's order of checks and with its texts.

use super::asked::{KnownApproval, Resolver, Subject, Verdict};
use super::connection::Call;
use super::params::Params;
use super::{Backend, NotCounted, NotTaken, Requester, Submission};
use countersign_protocol::gateway::approval::{Decided, Requested, Resolved};
use countersign_protocol::gateway::unified::ApprovalKind;
use countersign_protocol::gateway::{ErrorShape, Frame, Response};
use countersign_protocol::vocabulary::Decision;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;

/// Shortest part of an id that stands for it; the peers take one character, which a slip could be.
const MIN_PREFIX: usize = 8;

/// How a request is brought to people.
pub(super) struct Delivery {
    /// Whether the requester wants to hear that it waits.
    pub(super) two_phase: bool,
    /// Whether others are told.
    pub(super) announced: bool,
    /// Whether somebody must be there to answer.
    pub(super) needs_somebody: bool,
}

/// Asks, says first that it waits when the requester wants to know, and waits for the end.
pub(super) async fn ask<B: Backend>(
    call: &Call<B>,
    request_id: &str,
    submission: Submission,
    delivery: Delivery,
) -> Result<Value, ErrorShape> {
    let gateway = &call.gateway;
    let somebody = delivery.announced
        && (gateway.has_other_approver(&call.client.conn_id) || gateway.backend.has_own_presenter());
    let handed_on = delivery.announced && gateway.backend.is_handed_on(&submission);
    let deliverable = somebody || handed_on || !delivery.needs_somebody;
    let submission = Submission { deliverable, announced: delivery.announced, ..submission };
    // Apart, so that who waits for the answer does not hold the room that asking took.
    let known = Box::pin(gateway.backend.submit(submission)).await.map_err(|error| match error {
        NotTaken::Pending => ErrorShape::invalid(error.to_string()),
        NotTaken::Unavailable(_) => ErrorShape::unavailable(error.to_string()),
    })?;
    let requested = &known.requested;
    if delivery.two_phase && deliverable {
        let accepted = json!({
            "status": "accepted",
            "id": requested.id,
            "deliveryRoute": match (somebody, handed_on) {
                (true, _) => "approval-client",
                (false, true) => "forwarder",
                (false, false) => "none",
            },
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

/// Who asks, for a submission.
pub(super) fn requester<B>(call: &Call<B>) -> Requester {
    Requester {
        conn_id: call.client.conn_id.clone(),
        device_id: call.client.device_id.clone(),
        client_id: call.client.client.id.clone(),
    }
}

/// Waits for an approval that somebody asked for (docs/protocol/approvals.md, "Waiting").
pub(super) async fn wait<B: Backend>(
    call: &Call<B>,
    kind: ApprovalKind,
    params: &Params,
) -> Result<Value, ErrorShape> {
    let id = params.get("id").and_then(Value::as_str).map(str::trim).unwrap_or_default();
    if id.is_empty() {
        return Err(ErrorShape::invalid("id is required"));
    }
    let unknown = || ErrorShape::invalid("approval expired or not found");
    // Taken before the wait: afterwards it may be gone.
    let known = find(call, kind, id).await.ok_or_else(unknown)?;
    let decision = tokio::select! {
        decision = call.gateway.backend.wait(id) => decision.ok_or_else(unknown)?,
        () = call.gone.cancelled() => None,
    };
    let mut decided = decided(&known, decision);
    let ended = call.gateway.backend.find(id).await.and_then(|known| known.ended.clone());
    if let Some(ended) = ended {
        decided["terminalReason"] = serde_json::to_value(ended.reason).unwrap_or_default();
    }
    Ok(decided)
}

/// Answers an approval (docs/protocol/approvals.md, "Answering").
pub(super) async fn resolve<B: Backend>(
    call: &Call<B>,
    kind: ApprovalKind,
    params: &Params,
) -> Result<Value, ErrorShape> {
    let id = params.string("id")?;
    let word = params.string("decision")?;
    let decision = Decision::from_word(word).ok_or_else(|| ErrorShape::invalid("invalid decision"))?;
    let known = look_up(call, kind, id).await?;
    check_own(call, &known, decision)?;
    check_offered(&known, decision)?;
    let verdict = Verdict { decision, malformed: false, by: resolver(call) };
    let id = &known.requested.id;
    if known.ended.is_none() {
        match call.gateway.backend.resolve(id, verdict).await {
            Ok(()) => return Ok(json!({"ok": true})),
            Err(NotCounted::Refused(why)) => return Err(refused(&why)),
            Err(NotCounted::Gone) => {}
        }
    }
    // Somebody was faster, or it expired meanwhile.
    let ended = call.gateway.backend.find(id).await.and_then(|known| known.ended.clone());
    match ended.and_then(|ended| ended.decision) {
        Some(ended) if ended == decision => Ok(json!({"ok": true})),
        Some(_) => {
            let details = json!({"reason": "APPROVAL_ALREADY_RESOLVED"});
            Err(ErrorShape::invalid("approval already resolved").with(details))
        }
        None => Err(unknown()),
    }
}

/// The approval cannot be answered so, by anybody.
pub(super) fn refused(why: &str) -> ErrorShape {
    ErrorShape::invalid(why).with(json!({"reason": "APPROVAL_ANSWER_REFUSED"}))
}

/// Who answers, for a verdict.
pub(super) fn resolver<B>(call: &Call<B>) -> Resolver {
    Resolver { label: call.client.name().to_owned(), device_id: call.client.device_id.clone() }
}

/// Who asks cannot allow it itself: by device, or by connection where there is none.
pub(super) fn check_own<B>(
    call: &Call<B>,
    known: &KnownApproval,
    decision: Decision,
) -> Result<(), ErrorShape> {
    let is_own = match (&known.by.device_id, &call.client.device_id) {
        (Some(asked), Some(answers)) => asked == answers,
        _ => known.by.conn_id == call.client.conn_id,
    };
    if !(decision.allows() && is_own) {
        return Ok(());
    }
    let details = json!({"reason": "APPROVAL_OWN_REQUEST"});
    let text = "an approval cannot be allowed by the device that asked for it";
    Err(ErrorShape::invalid(text).with(details))
}

fn check_offered(known: &KnownApproval, decision: Decision) -> Result<(), ErrorShape> {
    let offered = known.subject().decisions();
    if offered.contains(&decision) {
        return Ok(());
    }
    let (text, details) = match known.subject() {
        Subject::Plugin(_) => (
            format!("{decision} is unavailable for this plugin approval"),
            json!({ "allowedDecisions": offered }),
        ),
        // Nothing of a command's request takes both ways of allowing it away, see `Subject::only_deny`.
        Subject::Exec(_) if offered == [Decision::Deny] => (
            format!("{decision} is unavailable: the command is too long to be read"),
            json!({ "allowedDecisions": offered }),
        ),
        Subject::Exec(request) => {
            let why = match request.ask.as_deref() {
                Some("always") => "because the effective policy requires approval every time",
                _ => "for this command",
            };
            (
                format!("{decision} is unavailable {why}"),
                json!({"reason": "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE"}),
            )
        }
    };
    Err(ErrorShape::invalid(text).with(details))
}

/// What waits (docs/protocol/approvals.md, "Listing").
pub(super) async fn list<B: Backend>(call: &Call<B>, kind: ApprovalKind) -> Value {
    let pending = call.gateway.backend.pending().await;
    let of_kind = pending.iter().filter(|known| known.subject().kind() == kind);
    Value::Array(of_kind.filter_map(|known| serde_json::to_value(announcement(known)).ok()).collect())
}

/// An approval as it is told to clients, in an event and in a list.
pub(super) fn announcement(known: &KnownApproval) -> impl Serialize {
    OfKind { approval_kind: known.subject().kind(), told: &known.requested }
}

/// The end of an approval as it is told to clients; `None` while it waits.
pub(super) fn end(known: &KnownApproval) -> Option<impl Serialize> {
    let ended = known.ended.as_ref()?;
    let told = Resolved {
        id: known.requested.id.clone(),
        decision: ended.decision,
        resolved_by: ended.by.as_ref().map(|by| by.label.clone()),
        ts: ended.at_ms,
        request: Some(known.subject().clone()),
    };
    Some(told)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OfKind<T> {
    approval_kind: ApprovalKind,
    #[serde(flatten)]
    told: T,
}

/// By its id, or by the beginning of one that waits.
pub(super) async fn look_up<B: Backend>(
    call: &Call<B>,
    kind: ApprovalKind,
    id: &str,
) -> Result<Arc<KnownApproval>, ErrorShape> {
    let id = id.trim();
    if let Some(known) = find(call, kind, id).await {
        return Ok(known);
    }
    let mut found = Vec::new();
    if id.len() >= MIN_PREFIX {
        let wanted = id.to_lowercase();
        found = call.gateway.backend.pending().await;
        found.retain(|known: &Arc<KnownApproval>| {
            known.subject().kind() == kind && known.requested.id.to_lowercase().starts_with(&wanted)
        });
    }
    match (found.pop(), found.is_empty()) {
        (Some(known), true) => Ok(known),
        (Some(_), false) if kind == ApprovalKind::Exec => {
            Err(ErrorShape::invalid("ambiguous approval id prefix; use the full id"))
        }
        (Some(_), false) | (None, _) => Err(unknown()),
    }
}

async fn find<B: Backend>(call: &Call<B>, kind: ApprovalKind, id: &str) -> Option<Arc<KnownApproval>> {
    call.gateway.backend.find(id).await.filter(|known| known.subject().kind() == kind)
}

fn unknown() -> ErrorShape {
    let details = json!({"reason": "APPROVAL_NOT_FOUND"});
    ErrorShape::invalid("unknown or expired approval id").with(details)
}

fn decided(known: &KnownApproval, decision: Option<Decision>) -> Value {
    let Requested { id, created_at_ms, expires_at_ms, .. } = &known.requested;
    let (id, created_at_ms, expires_at_ms) = (id.clone(), *created_at_ms, *expires_at_ms);
    serde_json::to_value(Decided { id, decision, created_at_ms, expires_at_ms }).unwrap_or_default()
}
