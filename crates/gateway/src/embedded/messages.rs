//! Messages to sessions (`chat.send`, `agent`): the directives in them are obeyed as those that a person
//! types, with the same confirmations (docs/routing.md, "Sessions"). No agent answers at this gateway, so
//! what else is in them goes to nobody.

use super::Backend;
use super::connection::{Call, Slow};
use super::params::Params;
use super::tools::session_of;
use countersign_protocol::gateway::ErrorShape;
use serde_json::{Value, json};
use uuid::Uuid;

/// What came of a message.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Heard {
    /// What is answered to its directives; absent where it has none.
    pub reply: Option<String>,
    /// The message without them.
    pub rest: String,
    /// False when a person did not confirm it: nothing was set.
    pub applied: bool,
}

/// Why a message was not heard.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotHeard {
    /// It makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// Nobody can be asked, or what is set cannot be read.
    #[error("{0}")]
    Unavailable(String),
}

/// `chat.send`: the answer comes as an event, as the peers send it.
pub(super) async fn chat<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let (agent, session) = session_of(params.optional_string("agentId")?, Some(params.text("sessionKey")?))?;
    let run_id = run_of(params)?;
    let reply = said(call, params, &agent, &session).await?;
    let message = json!({
        "role": "assistant",
        "content": [{ "type": "text", "text": reply }],
        "timestamp": call.gateway.backend.now_ms(),
    });
    let event =
        json!({ "runId": run_id, "sessionKey": session, "seq": 0, "state": "final", "message": message });
    call.outbox.event("chat", &event.to_string(), Slow::Skip);
    Ok(json!({ "runId": run_id, "status": "started" }))
}

/// `agent`: the answer is the answer.
pub(super) async fn agent<B: Backend>(call: &Call<B>, params: &Params) -> Result<Value, ErrorShape> {
    let (agent, session) =
        session_of(params.optional_string("agentId")?, params.optional_string("sessionKey")?)?;
    let run_id = run_of(params)?;
    let reply = said(call, params, &agent, &session).await?;
    let result = json!({ "payloads": [{ "text": reply }] });
    Ok(json!({ "runId": run_id, "status": "ok", "summary": "completed", "result": result }))
}

fn run_of(params: &Params) -> Result<String, ErrorShape> {
    let named = params.optional_string("idempotencyKey")?;
    Ok(named.map_or_else(|| Uuid::new_v4().to_string(), str::to_owned))
}

async fn said<B: Backend>(
    call: &Call<B>,
    params: &Params,
    agent: &str,
    session: &str,
) -> Result<String, ErrorShape> {
    let text = params.string("message")?;
    let heard = tokio::select! {
        heard = call.gateway.backend.say(agent, session, text) => heard,
        // With the asker the question goes.
        () = call.gone.cancelled() => return Err(ErrorShape::unavailable("the connection ended")),
    };
    let heard = heard.map_err(|error| match error {
        NotHeard::Invalid(why) => params.invalid(&why),
        NotHeard::Unavailable(why) => ErrorShape::unavailable(why),
    })?;
    let Some(reply) = heard.reply else { return Err(ErrorShape::unavailable(NOBODY)) };
    let reply = if heard.applied { reply } else { "Not confirmed: nothing was changed.".to_owned() };
    Ok(match heard.rest.trim() {
        "" => reply,
        _ => format!("{reply}\n{NOBODY}"),
    })
}

/// Said of text that is no directive.
const NOBODY: &str =
    "No agent answers at this gateway: only directives such as /exec and /elevated are heard here.";
