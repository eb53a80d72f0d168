//! Asking for something that a plugin wants to do (docs/protocol/approvals.md, "Plugins").

use super::approvals::{Delivery, ask, requester};
use super::asked::Subject;
use super::connection::Call;
use super::{Backend, Submission};
use countersign_protocol::gateway::ErrorShape;
use countersign_protocol::gateway::plugin::{PluginParams, PluginView};
use serde_json::Value;
use std::time::Duration;
use uuid::Uuid;

/// How long a plugin waits when it does not say otherwise, in milliseconds.
const DEFAULT_TIMEOUT_MS: i64 = 120_000;

/// Longest wait, in milliseconds.
const MAX_TIMEOUT_MS: i64 = 600_000;

/// Longest texts, in characters.
const MAX_TITLE: usize = 80;
const MAX_DESCRIPTION: usize = 512;
const MAX_DETAIL: usize = 16_384;

/// Most decisions that are offered, repeats included.
const MAX_DECISIONS: usize = 3;

/// Waits for an answer, and says so first when asked to.
pub(super) async fn request<B: Backend>(
    call: &Call<B>,
    request_id: &str,
    params: Value,
) -> Result<Value, ErrorShape> {
    let params: PluginParams = serde_json::from_value(params).map_err(|error| invalid(&error.to_string()))?;
    let two_phase = params.two_phase == Some(true);
    let delivery = Delivery { two_phase, announced: true, needs_somebody: true };
    ask(call, request_id, checked(call, params)?, delivery).await
}

fn checked<B: Backend>(call: &Call<B>, params: PluginParams) -> Result<Submission, ErrorShape> {
    check_length("title", &params.title, MAX_TITLE)?;
    check_length("description", &params.description, MAX_DESCRIPTION)?;
    if let Some(detail) = &params.detail {
        check_length("detail", detail, MAX_DETAIL)?;
    }
    if let Some(decisions) = &params.allowed_decisions {
        let count = decisions.len();
        if count == 0 || count > MAX_DECISIONS {
            let why = format!("at /allowedDecisions: expected 1 to {MAX_DECISIONS} items, got {count}");
            return Err(invalid(&why));
        }
    }
    let timeout_ms = params.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    if !(1..=MAX_TIMEOUT_MS).contains(&timeout_ms) {
        return Err(invalid(&format!("at /timeoutMs: expected 1 to {MAX_TIMEOUT_MS}, got {timeout_ms}")));
    }
    let show = |text: &str| call.gateway.backend.shown(text);
    let (title, description) = (show(&params.title), show(&params.description));
    if title.chars().count() > MAX_TITLE || description.chars().count() > MAX_DESCRIPTION {
        let text = "approval title or description exceeds the display limit after sanitization";
        return Err(ErrorShape::invalid(text));
    }
    let named = |text: Option<String>| text.map(|text| show(text.trim())).filter(|text| !text.is_empty());
    let mut view = PluginView {
        plugin_id: named(params.plugin_id),
        title,
        description,
        detail: named(params.detail),
        severity: params.severity,
        tool_name: named(params.tool_name),
        tool_call_id: params.tool_call_id,
        allowed_decisions: params.allowed_decisions,
        agent_id: named(params.agent_id),
        session_key: named(params.session_key),
    };
    if view.allowed_decisions.is_some() {
        view.allowed_decisions = Some(view.decisions());
    }
    Ok(Submission {
        id: Some(format!("plugin:{}", Uuid::new_v4())),
        // What a person decides about is what everybody sees.
        command: String::new(),
        cwd: None,
        subject: Subject::Plugin(Box::new(view)),
        binding: None,
        timeout: Duration::from_millis(timeout_ms.unsigned_abs()),
        by: requester(call),
        deliverable: false,
        announced: false,
    })
}

fn check_length(name: &str, text: &str, most: usize) -> Result<(), ErrorShape> {
    match text.chars().count() {
        0 => Err(invalid(&format!("at /{name}: must NOT have fewer than 1 characters"))),
        count if count > most => {
            Err(invalid(&format!("at /{name}: must NOT have more than {most} characters")))
        }
        _ => Ok(()),
    }
}

fn invalid(why: &str) -> ErrorShape {
    ErrorShape::invalid(format!("invalid plugin.approval.request params: {why}"))
}
