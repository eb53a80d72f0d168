//! What of a `system.run` reaches a node, sans IO (docs/protocol/nodes.md, "What an approval is worth"), with
//! the newest release's checks and texts.
//!
//! That a run was approved is never taken from the caller: its words about that are dropped, and put there
//! again only after an approval was found under the run's id that is about this very run, of this caller, on
//! this node. [`read`] says what the caller wants, [`Claim::check`] whether a record grants it, and
//! [`Granted::params`] is what leaves once the grant was consumed. A little stricter than the peers: what
//! contradicts the plan is refused instead of replaced, and so is an environment that the approval
//! cannot have covered.

use super::asked::{KnownApproval, Subject};
use super::binding::{Binding, Environment, text};
use super::{Agreed, Requester};
use countersign_protocol::gateway::ErrorShape;
use countersign_protocol::gateway::unified::Reason;
use countersign_protocol::ids::NodeId;
use countersign_protocol::vocabulary::Decision;
use serde_json::{Map, Value, json};

/// What is copied; everything else stays behind.
const COPIED: [&str; 12] = [
    "command",
    "rawCommand",
    "systemRunPlan",
    "cwd",
    "env",
    "timeoutMs",
    "needsScreenRecording",
    "agentId",
    "sessionKey",
    "runId",
    "pty",
    "suppressNotifyOnExit",
];

/// How the caller says that a run was approved when nobody answered in time.
const ASK_FALLBACK: &str = "ask-fallback";

/// Whether `rawCommand` and `command` say the same, and what they say.
pub(super) type Agree<'a> = &'a dyn Fn(&[String], Option<&str>) -> Option<Agreed>;

/// Who wants it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker<'a> {
    /// Its connection and device.
    pub(super) by: &'a Requester,
    /// Whether it may deal with approvals at all.
    pub(super) may_approve: bool,
}

/// What a caller wants.
#[derive(Debug)]
pub(super) enum Wanted {
    /// The node is to decide by its own policy.
    Plain(Map<String, Value>),
    /// It says that somebody allowed it.
    Approved(Claim),
}

/// A run that is said to be approved.
#[derive(Debug)]
pub(super) struct Claim {
    run_id: String,
    by_fallback: bool,
    params: Map<String, Value>,
}

/// A run that a person allowed right here, in the program that the gateway belongs to. What `params` say
/// about that is no part of it.
pub(super) fn allowed(
    params: Value,
    decision: Decision,
    agree: Agree<'_>,
) -> Result<Map<String, Value>, ErrorShape> {
    let mut given = params;
    if let Some(given) = given.as_object_mut() {
        given.retain(|name, _| COPIED.contains(&name.as_str()));
    }
    let Wanted::Plain(params) = read(given, agree)? else { return Err(required("")) };
    let grant = match decision {
        Decision::AllowOnce => Grant::Once,
        Decision::AllowAlways => Grant::Always,
        Decision::Deny => return Err(required(&string(&params, "runId").unwrap_or_default())),
    };
    Ok(Granted { run_id: String::new(), grant, params }.params())
}

/// What counts for one run, and has to be consumed first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Grant {
    /// Once.
    Once,
    /// For as long as the record is there.
    Always,
    /// Nobody answered in time: the node's fallback is to decide, once.
    Fallback,
}

/// A run that a record grants.
#[derive(Debug)]
pub(super) struct Granted {
    pub(super) run_id: String,
    pub(super) grant: Grant,
    params: Map<String, Value>,
}

/// Reads the parameters of a `system.run`.
pub(super) fn read(params: Value, agree: Agree<'_>) -> Result<Wanted, ErrorShape> {
    let given = match params {
        Value::Object(given) => given,
        Value::Null => Map::new(),
        _ => return Err(refused("INVALID_PARAMS", "system.run params: expected an object", None)),
    };
    let source = given.get("approvalSource").filter(|source| !source.is_null());
    if source.is_some_and(|source| source != ASK_FALLBACK) {
        return Err(refused("INVALID_APPROVAL_SOURCE", "approval source invalid", None));
    }
    let is_given = |name: &str| given.contains_key(name);
    if source.is_some() && (is_given("approved") || is_given("approvalDecision")) {
        let text = "approval source cannot be combined with explicit approval";
        return Err(refused("APPROVAL_SOURCE_MISMATCH", text, None));
    }
    let decision = string(&given, "approvalDecision").as_deref().and_then(Decision::from_word);
    let explicit =
        given.get("approved") == Some(&Value::Bool(true)) || decision.is_some_and(|given| given.allows());
    let mut params = Map::new();
    for name in COPIED {
        if let Some(value) = given.get(name) {
            params.insert(name.to_owned(), value.clone());
        }
    }
    if !explicit && source.is_none() {
        consistent(&params, agree)?;
        return Ok(Wanted::Plain(params));
    }
    let run_id = string(&params, "runId")
        .ok_or_else(|| refused("MISSING_RUN_ID", "approval override requires params.runId", None))?;
    params.insert("runId".to_owned(), run_id.as_str().into());
    Ok(Wanted::Approved(Claim { run_id, by_fallback: source.is_some(), params }))
}

/// The argument list; empty when there is none.
fn consistent(params: &Map<String, Value>, agree: Agree<'_>) -> Result<Vec<String>, ErrorShape> {
    let invalid =
        |name: &str, what: &str| refused("INVALID_PARAMS", &format!("{name}: expected {what}"), None);
    let argv: Vec<String> = match params.get("command") {
        None | Some(Value::Null) => Vec::new(),
        Some(command) => serde_json::from_value(command.clone())
            .map_err(|_| invalid("system.run command", "a list of texts"))?,
    };
    let raw = match params.get("rawCommand") {
        None | Some(Value::Null) => None,
        Some(Value::String(raw)) => text(Some(raw)),
        Some(_) => return Err(invalid("system.run rawCommand", "a text")),
    };
    match (argv.is_empty(), &raw) {
        (true, Some(_)) => Err(refused("MISSING_COMMAND", "rawCommand requires params.command", None)),
        (true, None) => Ok(argv),
        (false, raw) if agree(&argv, raw.as_deref()).is_some() => Ok(argv),
        (false, _) => {
            let text = "INVALID_REQUEST: rawCommand does not match command";
            Err(refused("RAW_COMMAND_MISMATCH", text, None))
        }
    }
}

impl Claim {
    /// Under which its approval is to be found.
    pub(super) fn run_id(&self) -> &str {
        &self.run_id
    }

    /// No approval is known under the run's id.
    pub(super) fn unknown(&self) -> ErrorShape {
        self.refused("UNKNOWN_APPROVAL_ID", "unknown or expired approval id")
    }

    /// Whether the record is about this run, of this caller, on this node, and allows it.
    pub(super) fn check(
        self,
        record: &KnownApproval,
        asker: Asker<'_>,
        node_id: &NodeId,
        agree: Agree<'_>,
        steady_ms: i64,
    ) -> Result<Granted, ErrorShape> {
        let Subject::Exec(request) = record.subject() else { return Err(self.unknown()) };
        let ended = record.ended.as_ref();
        let timed_out = ended.is_some_and(|ended| ended.reason == Reason::Timeout);
        // What nobody answered in time is there a moment longer, for the fallback.
        if !timed_out && steady_ms > record.until_steady_ms {
            return Err(self.refused("APPROVAL_EXPIRED", "approval expired"));
        }
        match text(request.node_id.as_deref()) {
            None => {
                let text = "approval id missing node binding";
                return Err(self.refused("APPROVAL_NODE_BINDING_MISSING", text));
            }
            Some(bound) if *node_id != bound.as_str() => {
                return Err(self.refused("APPROVAL_NODE_MISMATCH", "approval id not valid for this node"));
            }
            Some(_) => {}
        }
        self.check_asker(&record.by, asker.by)?;
        let mismatch = || self.refused("APPROVAL_REQUEST_MISMATCH", "approval id does not match request");
        let Some(bound) = record.binding.as_deref().filter(|_| request.host.as_deref() == Some("node"))
        else {
            return Err(mismatch());
        };
        let said = |name: &str| string(&self.params, name);
        let mut params = self.params.clone();
        let run = match &request.system_run_plan {
            Some(plan) => {
                // What is said beside the plan must not be about something else.
                let contradicts = |name: &str, planned: &Option<String>| {
                    said(name).is_some_and(|said| Some(said) != text(planned.as_deref()))
                };
                let command = params.get("command").filter(|command| !command.is_null());
                if command.is_some_and(|command| *command != json!(plan.argv))
                    || contradicts("agentId", &plan.agent_id)
                    || contradicts("sessionKey", &plan.session_key)
                {
                    return Err(mismatch());
                }
                let preview = text(plan.command_preview.as_deref()).filter(|preview| {
                    let agreed = agree(&plan.argv, Some(preview));
                    agreed.is_some_and(|agreed| agreed.preview.as_ref() == Some(preview))
                });
                let run = Binding::of(plan, None, None, None);
                params.insert("command".to_owned(), json!(plan.argv));
                params.insert("systemRunPlan".to_owned(), json!(plan));
                let raw = preview.unwrap_or_else(|| plan.command_text.clone());
                params.insert("rawCommand".to_owned(), raw.into());
                for (name, value) in
                    [("cwd", &run.cwd), ("agentId", &run.agent_id), ("sessionKey", &run.session_key)]
                {
                    match value {
                        Some(value) => params.insert(name.to_owned(), value.as_str().into()),
                        None => params.remove(name),
                    };
                }
                run
            }
            None => {
                // A plan that nobody prepared for the approval says nothing about it.
                params.remove("systemRunPlan");
                let (cwd, agent_id, session_key) = (said("cwd"), said("agentId"), said("sessionKey"));
                Binding { argv: consistent(&params, agree)?, cwd, agent_id, session_key, env_hash: None }
            }
        };
        if run.argv.is_empty()
            || (&run.argv, &run.cwd, &run.agent_id, &run.session_key)
                != (&bound.argv, &bound.cwd, &bound.agent_id, &bound.session_key)
        {
            return Err(mismatch());
        }
        self.check_env(bound)?;
        let decision = ended.and_then(|ended| ended.decision);
        let grant = match decision {
            Some(Decision::AllowOnce | Decision::AllowAlways) if self.by_fallback => {
                let text = "approval source does not match approval record";
                return Err(self.refused("APPROVAL_SOURCE_MISMATCH", text));
            }
            Some(Decision::AllowOnce) => Grant::Once,
            Some(Decision::AllowAlways) => Grant::Always,
            None if timed_out && self.by_fallback && asker.may_approve => {
                if request.system_run_plan.is_none() {
                    let text = "ask fallback requires an approved execution plan";
                    return Err(self.refused("APPROVAL_PLAN_REQUIRED", text));
                }
                Grant::Fallback
            }
            Some(Decision::Deny) | None => return Err(required(&self.run_id)),
        };
        Ok(Granted { run_id: self.run_id, grant, params })
    }

    /// Only who asked may use the answer: by device, or by connection where there is none.
    fn check_asker(&self, asked: &Requester, now: &Requester) -> Result<(), ErrorShape> {
        match &asked.device_id {
            Some(device) if now.device_id.as_ref() != Some(device) => {
                Err(self.refused("APPROVAL_DEVICE_MISMATCH", "approval id not valid for this device"))
            }
            None if asked.conn_id != now.conn_id => {
                Err(self.refused("APPROVAL_CLIENT_MISMATCH", "approval id not valid for this client"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn check_env(&self, bound: &Binding) -> Result<(), ErrorShape> {
        let missing = "approval id missing env binding for requested env overrides";
        let members = match self.params.get("env") {
            None | Some(Value::Null) => None,
            Some(Value::Object(members)) => Some(members),
            Some(_) => return Err(self.refused("APPROVAL_ENV_BINDING_MISSING", missing)),
        };
        let env = Environment::of(members.into_iter().flatten());
        let (code, text) = match (env.hash(), &bound.env_hash) {
            _ if env.has_unbound() => ("APPROVAL_ENV_BINDING_MISSING", missing),
            (Some(_), None) => ("APPROVAL_ENV_BINDING_MISSING", missing),
            (now, asked) if now != *asked => ("APPROVAL_ENV_MISMATCH", "approval id env binding mismatch"),
            _ => return Ok(()),
        };
        let details = json!({"code": code, "runId": self.run_id, "envKeys": env.names()});
        Err(ErrorShape::invalid(text).with(details))
    }

    fn refused(&self, code: &str, text: &str) -> ErrorShape {
        refused(code, text, Some(&self.run_id))
    }
}

impl Granted {
    /// What the node is told, after the grant was consumed.
    pub(super) fn params(self) -> Map<String, Value> {
        let mut params = self.params;
        let decision = match self.grant {
            Grant::Once => Decision::AllowOnce,
            Grant::Always => Decision::AllowAlways,
            Grant::Fallback => {
                params.insert("approvalSource".to_owned(), ASK_FALLBACK.into());
                return params;
            }
        };
        params.insert("approved".to_owned(), true.into());
        params.insert("approvalDecision".to_owned(), decision.as_str().into());
        params
    }
}

/// Nobody allowed it, or what was allowed was used.
pub(super) fn required(run_id: &str) -> ErrorShape {
    refused("APPROVAL_REQUIRED", "approval required", Some(run_id))
}

/// The approval went away between its check and the run.
pub(super) fn closed(run_id: &str) -> ErrorShape {
    let text = "approved runtime authority closed before node dispatch";
    refused("APPROVAL_AUTHORITY_CLOSED", text, Some(run_id))
}

fn refused(code: &str, text: &str, run_id: Option<&str>) -> ErrorShape {
    let mut details = json!({ "code": code });
    if let Some(run_id) = run_id {
        details["runId"] = run_id.into();
    }
    ErrorShape::invalid(text).with(details)
}

/// A text without blanks around it, if it is one and anything is left.
fn string(members: &Map<String, Value>, name: &str) -> Option<String> {
    text(members.get(name).and_then(Value::as_str))
}

#[cfg(test)]
mod tests;
