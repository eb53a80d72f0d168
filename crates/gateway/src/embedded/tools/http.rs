//! `POST /tools/invoke` and `GET /tools`: tools for programs that hold the gateway's token and
//! speak no WebSocket.
//!
//! The token lets nobody do what a person would have to be asked about: the [`Backend`] sees to that for
//! every call, and nothing that a request says of approvals is read. A caller that goes away
//! calls its tool off.

use super::request::{Mode, RequestedCall, Who, Wrong, wrong};
use super::{Listing, ToolError};
use crate::embedded::door::Opening;
use crate::embedded::port::{Admission, Arrival};
use crate::embedded::{Backend, Gateway, Serving, stranger};
use crate::session::{Gate as _, Locked};
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use countersign_protocol::gateway::connect::Auth;
use countersign_protocol::session_events::SessionEvent;
use countersign_protocol::tools::{ToolCall, ToolFailure, ToolOutput};
use futures_util::StreamExt as _;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// Where tools are called.
pub(in crate::embedded) const INVOKE: &str = "/tools/invoke";

/// Where they are listed.
pub(in crate::embedded) const LIST: &str = "/tools";

/// Calls that may be under way at once. Each holds its body, and most wait for one person: more than these
/// would never be answered in time.
const MAX_CALLS: usize = 64;

/// Largest body of a call, in bytes, as the peers have it.
const MAX_BODY: usize = 2 * 1_024 * 1_024;

/// Bytes of a body that is too large which are read all the same: whoever still sends when the connection
/// ends does not get the answer.
const MAX_HEARD: usize = 64 * 1_024 * 1_024;

/// How long a body may take, as at the peers: it comes from this machine.
const BODY_WAIT: Duration = Duration::from_secs(30);

/// Seconds after which a caller may try again when too many calls are under way: nobody can know, and
/// asking costs little.
const BUSY_RETRY: u64 = 1;

/// Longest name of a program that is kept, in characters: it is shown to people.
const MAX_CLIENT: usize = 128;

/// CallSlots of calls that are under way.
#[derive(Clone)]
pub(in crate::embedded) struct CallSlots(Arc<Semaphore>);

impl Default for CallSlots {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_CALLS)))
    }
}

impl CallSlots {
    /// One, as long as it is kept.
    fn take(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| Refusal {
            retry_after: Some(BUSY_RETRY),
            ..Refusal::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", "too many tools are under way")
        })
    }
}

/// Calls a tool. The answer comes when the tool has ended; until then the connection is what
/// keeps the call alive.
pub(in crate::embedded) async fn invoke<B: Backend>(
    State(serving): State<Serving<B>>,
    ConnectInfo(Arrival(place)): ConnectInfo<Arrival>,
    request: Request,
) -> Response {
    match invoked(&serving, &place, request).await {
        Ok(result) => answer(StatusCode::OK, &json!({ "ok": true, "result": result })),
        Err(refusal) => refusal.into_response(),
    }
}

/// Lists the tools that a caller gets, as its provider wants them declared.
pub(in crate::embedded) async fn list<B: Backend>(
    State(serving): State<Serving<B>>,
    ConnectInfo(Arrival(place)): ConnectInfo<Arrival>,
    request: Request,
) -> Response {
    let (head, _) = request.into_parts();
    match listed(&serving.gateway, &place, &head).await {
        Ok(listing) => answer(StatusCode::OK, &listing),
        Err(refusal) => refusal.into_response(),
    }
}

async fn invoked<B: Backend>(
    serving: &Serving<B>,
    place: &Admission,
    request: Request,
) -> Result<Value, Refusal> {
    let gateway = &serving.gateway;
    let (head, body) = request.into_parts();
    admit(gateway, place, &head.method, &Method::POST, &head.headers)?;
    // Before the body: it is what costs memory.
    let seat = gateway.tool_seats.take()?;
    let mut asked = RequestedCall::of(read(&head.headers, body).await?)?;
    let client = client(&head.headers);
    if asked.mode == Mode::LookUp || asked.action.is_some() {
        let listing = gateway.backend.tools(asked.who.caller(client.clone())).await?;
        look_up(&mut asked, &listing)?;
    }
    let RequestedCall { tool, args, mode, who, .. } = asked;
    if mode == Mode::LookUp {
        let text = format!("{tool} is available; it was not called, as dryRun was set");
        return Ok(shown(ToolOutput { text, details: Some(json!({ "dryRun": true })), events: Vec::new() }));
    }
    let call = ToolCall {
        id: format!("http-{}", Uuid::new_v4()),
        tool,
        params: args,
        caller: who.caller(client),
        approval_timeout_ms: None,
        takes_command: false,
        is_quiet: false,
    };
    // Dropping this future, as happens when the connection ends, calls the tool off. The tool is not dropped
    // with it: what it has begun is to end in its own way, and holds its seat until then.
    let gone = serving.stop.child_token();
    let _calls_off = gone.clone().drop_guard();
    let backend = Arc::clone(gateway);
    let ending = serving.connections.spawn(async move {
        let output = backend.backend.call_tool(call, gone).await;
        drop(seat);
        output
    });
    match ending.await {
        Ok(Ok(output)) => Ok(shown(output)),
        Ok(Err(ToolError::Failed { failure: ToolFailure::Aborted, .. })) if serving.stop.is_cancelled() => {
            Err(ToolError::Unavailable("the gateway is stopping".to_owned()).into())
        }
        Ok(Err(error)) => Err(error.into()),
        Err(error) => {
            tracing::error!(%error, "a tool ended without an answer");
            Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, TOOL_ERROR, "tool execution failed"))
        }
    }
}

async fn listed<B: Backend>(
    gateway: &Arc<Gateway<B>>,
    place: &Admission,
    head: &Parts,
) -> Result<Value, Refusal> {
    admit(gateway, place, &head.method, &Method::GET, &head.headers)?;
    let who = Who::queried(head.uri.query().unwrap_or_default())?;
    let listing = gateway.backend.tools(who.caller(client(&head.headers))).await?;
    let Who { agent, session, provider, model, .. } = who;
    let mut shown = json!({
        "ok": true,
        "agentId": agent,
        "sessionKey": session,
        "tools": match &provider {
            Some(_) => json!(listing.declarations),
            None => json!(listing.tools),
        },
        "removed": listing.removed,
        "warnings": listing.warnings,
    });
    for (name, word) in [("provider", provider), ("model", model)] {
        if let Some(word) = word {
            shown[name] = word.into();
        }
    }
    Ok(shown)
}

/// Whether a request is heard at all: from a program of this machine that means this gateway, by the method
/// that the path takes, with the token. Wrong tokens count as those of connections do.
fn admit<B: Backend>(
    gateway: &Gateway<B>,
    place: &Admission,
    method: &Method,
    wanted: &Method,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    if let Some(why) = stranger(place.address, headers) {
        return Err(Refusal::new(StatusCode::FORBIDDEN, "forbidden", why));
    }
    if method != wanted {
        let text = format!("expected {wanted}, got {method}");
        let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", text);
        return Err(Refusal { allow: Some(wanted.clone()), ..refusal });
    }
    let auth = Auth { token: bearer(headers).map(str::to_owned), ..Auth::default() };
    let mut door = gateway.door();
    let now = gateway.backend.moment();
    let mut opening = Opening {
        door: &mut door,
        places: &gateway.places,
        peer: place.peer,
        now,
        uptime: gateway.started.elapsed(),
    };
    opening.secret(Some(&auth), None).map_err(|locked| match locked {
        Locked::Missing | Locked::Mismatch => {
            Refusal::new(StatusCode::UNAUTHORIZED, "unauthorized", "Unauthorized")
        }
        Locked::RateLimited(wait_ms) => Refusal {
            retry_after: Some(wait_ms.div_ceil(1_000)),
            ..Refusal::new(
                StatusCode::TOO_MANY_REQUESTS,
                "rate_limited",
                "too many failed authentication attempts",
            )
        },
    })?;
    place.known();
    Ok(())
}

/// The secret of `Authorization: Bearer`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, secret) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(secret.trim())
}

/// The program, as it names itself.
fn client(headers: &HeaderMap) -> Option<String> {
    let name = headers.get(header::USER_AGENT)?.to_str().ok()?.trim();
    (!name.is_empty()).then(|| name.chars().take(MAX_CLIENT).collect())
}

/// The body of a call: an object, an empty one where there is no body.
async fn read(headers: &HeaderMap, body: Body) -> Result<Map<String, Value>, Refusal> {
    let too_large = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            INVALID_BODY,
            format!("expected at most {MAX_BODY} bytes"),
        )
    };
    let invalid = |why: String| Refusal::new(StatusCode::BAD_REQUEST, INVALID_BODY, why);
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if headers.contains_key(header::EXPECT) && announced.is_some_and(|length: usize| length > MAX_BODY) {
        return Err(too_large());
    }
    let whole = async {
        let (mut parts, mut bytes, mut heard) = (body.into_data_stream(), Vec::new(), 0_usize);
        while let Some(part) = parts.next().await {
            let part = part.map_err(|error| invalid(format!("body: {error}")))?;
            heard = heard.saturating_add(part.len());
            if heard > MAX_HEARD {
                return Err(too_large());
            }
            if heard > MAX_BODY {
                bytes = Vec::new();
            } else {
                bytes.extend_from_slice(&part);
            }
        }
        if heard > MAX_BODY { Err(too_large()) } else { Ok(bytes) }
    };
    let late = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, INVALID_BODY, "the body took too long");
    let bytes = tokio::time::timeout(BODY_WAIT, whole).await.map_err(late)??;
    if bytes.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(other) => Err(invalid(wrong("body", "an object", &other).to_string())),
        Err(error) => Err(invalid(format!("body: expected JSON: {error}"))),
    }
}

/// Finds the tool among those that its caller gets, and puts the action where the tool takes one.
fn look_up(asked: &mut RequestedCall, listing: &Listing) -> Result<(), Refusal> {
    let tool = listing.tools.iter().find(|tool| tool.name == asked.tool).ok_or_else(|| {
        let message = format!("Tool not available: {}", asked.tool);
        ToolError::Failed { failure: ToolFailure::NotFound, message }
    })?;
    let takes_action = tool.parameters.pointer("/properties/action").is_some();
    if let Some(action) = asked.action.take().filter(|_| takes_action) {
        asked.args.entry("action").or_insert(action.into());
    }
    Ok(())
}

/// What a tool brought, as the peers' tools give it.
fn shown(output: ToolOutput) -> Value {
    let ToolOutput { text, details, events } = output;
    let lines = events.iter().map(SessionEvent::line);
    let content: Vec<Value> =
        [text].into_iter().chain(lines).map(|text| json!({ "type": "text", "text": text })).collect();
    let mut result = json!({ "content": content });
    if !events.is_empty() {
        result["events"] = json!(events);
    }
    if let Some(details) = details {
        result["details"] = details;
    }
    result
}

/// The peers' word for a body that is none.
const INVALID_BODY: &str = "invalid_request_error";

/// The peers' word for a tool that did not do what it was told to.
const TOOL_ERROR: &str = "tool_error";

/// An answer that is no result, in the peers' shape.
#[derive(Debug)]
struct Refusal {
    status: StatusCode,
    /// What kind it is, for programs.
    kind: &'static str,
    message: String,
    /// Seconds.
    retry_after: Option<u64>,
    /// The method that would be taken.
    allow: Option<Method>,
    /// Whether a person would have had to answer and did not; unsaid where no tool was judged.
    requires_approval: Option<bool>,
}

impl Refusal {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            retry_after: None,
            allow: None,
            requires_approval: None,
        }
    }
}

impl From<Wrong> for Refusal {
    fn from(wrong: Wrong) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", wrong.to_string())
    }
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Self {
        let (failure, message) = match error {
            ToolError::Failed { failure, message } => (failure, message),
            ToolError::Unavailable(message) => {
                return Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
            }
        };
        match failure {
            ToolFailure::Denied | ToolFailure::Expired => Self {
                requires_approval: Some(failure == ToolFailure::Expired),
                ..Self::new(StatusCode::FORBIDDEN, "tool_call_blocked", message)
            },
            ToolFailure::Invalid => Self::new(StatusCode::BAD_REQUEST, TOOL_ERROR, message),
            ToolFailure::NotFound => Self::new(StatusCode::NOT_FOUND, "not_found", message),
            ToolFailure::Aborted | ToolFailure::Failed => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, TOOL_ERROR, message)
            }
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self { status, kind, message, retry_after, allow, requires_approval } = self;
        let mut error = json!({ "type": kind, "message": message });
        if let Some(requires) = requires_approval {
            error["requiresApproval"] = requires.into();
        }
        let mut response = answer(status, &json!({ "ok": false, "error": error }));
        let headers = response.headers_mut();
        if let Some(seconds) = retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if let Some(allow) = allow.and_then(|method| HeaderValue::from_str(method.as_str()).ok()) {
            headers.insert(header::ALLOW, allow);
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

/// JSON that nobody may keep.
fn answer(status: StatusCode, body: &Value) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "application/json; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (status, headers, body.to_string()).into_response()
}
