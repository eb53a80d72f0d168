//! What is said to a gateway: every method that ours serves, and the bad input that `docs/protocol` names.

use super::wire::{Came, Who, Wire, connect};
use super::{Exchange, nodes, shape};
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// Who plays.
const ASKER: Who =
    Who { seed: 1, name: "asker", scopes: &["operator.read", "operator.approvals"], commands: &[] };
/// Sees what others ask only as an administrator, in newer releases.
const PERSON: Who = Who { seed: 2, name: "person", scopes: &["operator.admin"], commands: &[] };
const READER: Who = Who { seed: 3, name: "reader", scopes: &["operator.read"], commands: &[] };

/// Tells the script to a gateway that listens on loopback and lets in who knows its token. What a release has
/// no method for is left out.
pub async fn tell(url: &str, token: &str) -> Result<Vec<Exchange>> {
    let mut stage = Stage { url, token, told: Vec::new() };
    handshakes(&mut stage).await?;
    nobody_answers(&mut stage).await?;
    let mut cast = Cast {
        asker: Wire::enter(url, token, ASKER).await?,
        person: Wire::enter(url, token, PERSON).await?,
        reader: Wire::enter(url, token, READER).await?,
    };
    frames(&mut stage, &mut cast).await?;
    bad_commands(&mut stage, &mut cast).await?;
    commands(&mut stage, &mut cast).await?;
    plugins(&mut stage, &mut cast).await?;
    unified(&mut stage, &mut cast).await?;
    policies(&mut stage, &mut cast).await?;
    devices(&mut stage, &mut cast).await?;
    nodes::tell(&mut stage, &mut cast.person).await?;
    Ok(stage.told)
}

struct Cast {
    asker: Wire,
    person: Wire,
    reader: Wire,
}

/// Where it is told, and what was told so far.
pub(super) struct Stage<'a> {
    pub(super) url: &'a str,
    pub(super) token: &'a str,
    told: Vec<Exchange>,
}

impl Stage<'_> {
    pub(super) fn note(&mut self, name: &str, request: Option<&Value>, came: Vec<Value>) {
        self.told.push(Exchange { name: name.to_owned(), request: request.map(shape::of), came });
    }

    /// Calls, and notes the first answer under the method's name and what is special. False: there
    /// is no such method.
    pub(super) async fn call(
        &mut self,
        wire: &mut Wire,
        method: &str,
        special: &str,
        params: &Value,
    ) -> Result<bool> {
        let answer = wire.call(method, params).await?;
        let exists = answer["error"]["message"] != format!("unknown method: {method}");
        if exists {
            let name = if special.is_empty() { method.to_owned() } else { format!("{method}: {special}") };
            self.note(&name, Some(params), vec![shape::of_answer(&answer)]);
        }
        Ok(exists)
    }

    /// Notes the last answer to a call.
    pub(super) async fn last(&mut self, wire: &mut Wire, name: &str, id: &str) -> Result<()> {
        let answer = wire.answer(id).await?;
        self.note(name, None, vec![shape::of_answer(&answer)]);
        Ok(())
    }

    /// Notes an event.
    pub(super) async fn event(
        &mut self,
        wire: &mut Wire,
        event: &str,
        id: &str,
        special: &str,
    ) -> Result<()> {
        let payload = wire.event(event, |payload| payload["id"] == id).await?;
        self.note(&format!("event {event}: {special}"), None, vec![shape::of(&payload)]);
        Ok(())
    }

    /// A handshake that is changed after it was signed.
    async fn handshake(&mut self, special: &str, change: impl FnOnce(&mut Value)) -> Result<()> {
        self.handshake_with(self.token, special, change).await
    }

    async fn handshake_with(
        &mut self,
        token: &str,
        special: &str,
        change: impl FnOnce(&mut Value),
    ) -> Result<()> {
        let (mut wire, challenge) = Wire::open(self.url).await?;
        let mut params = connect(READER, token, &challenge);
        change(&mut params);
        wire.send("connect", &params).await?;
        let mut came = Vec::new();
        loop {
            match wire.next().await? {
                Came::Frame(frame) if frame["type"] == "res" => {
                    let mut answer = shape::of_answer(&frame);
                    let welcome = answer["ok"] == true;
                    if welcome {
                        // The rest tells of what else a release is.
                        let hello = &frame["payload"];
                        let told = json!({"type": hello["type"], "protocol": hello["protocol"], "policy": hello["policy"]});
                        answer["payload"] = shape::of(&told);
                    }
                    came.push(answer);
                    if welcome {
                        break;
                    }
                }
                Came::Frame(_) => {}
                Came::Closed { code, reason } => {
                    came.push(json!({"closed": code, "reason": shape::of_message(&reason)}));
                    break;
                }
            }
        }
        self.note(&format!("connect: {special}"), None, came);
        Ok(())
    }
}

/// docs/protocol/gateway.md, "Failed handshakes".
async fn handshakes(stage: &mut Stage<'_>) -> Result<()> {
    stage.handshake("as it should be", |_| {}).await?;
    stage.handshake_with("wrong", "a wrong token", |_| {}).await?;
    stage.handshake_with("", "no token", |params| params["auth"] = json!({})).await?;
    stage
        .handshake("no common version", |params| {
            params["minProtocol"] = 98.into();
            params["maxProtocol"] = 99.into();
        })
        .await?;
    stage.handshake("another role", |params| params["role"] = "janitor".into()).await?;
    stage.handshake("a member of the wrong type", |params| params["minProtocol"] = "3".into()).await?;
    let device = |name: &'static str, value: Value| move |params: &mut Value| params["device"][name] = value;
    stage.handshake("another device's id", device("id", "0".repeat(64).into())).await?;
    stage.handshake("an old signature", device("signedAt", 1.into())).await?;
    stage.handshake("another challenge's nonce", device("nonce", "another".into())).await?;
    let signature = "A".repeat(86);
    stage.handshake("a wrong signature", device("signature", signature.into())).await?;
    stage
        .handshake("no nonce", |params| {
            if let Some(device) = params["device"].as_object_mut() {
                device.remove("nonce");
            }
        })
        .await?;
    let (mut wire, _) = Wire::open(stage.url).await?;
    wire.send("health", &json!({})).await?;
    let mut came = Vec::new();
    loop {
        match wire.next().await? {
            Came::Frame(frame) => came.push(shape::of_answer(&frame)),
            Came::Closed { code, reason } => {
                came.push(json!({"closed": code, "reason": shape::of_message(&reason)}));
                break;
            }
        }
    }
    stage.note("connect: another method first", None, came);
    Ok(())
}

/// Asked while nobody else is connected.
async fn nobody_answers(stage: &mut Stage<'_>) -> Result<()> {
    let mut asker = Wire::enter(stage.url, stage.token, ASKER).await?;
    let params = json!({"id": "nobody", "command": "id", "timeoutMs": 100, "twoPhase": false});
    stage.call(&mut asker, "exec.approval.request", "nobody is there", &params).await?;
    Ok(())
}

async fn frames(stage: &mut Stage<'_>, cast: &mut Cast) -> Result<()> {
    let wire = &mut cast.asker;
    for (name, text, id) in [
        ("a frame without a method", json!({"type": "req", "id": "bad-1"}).to_string(), "bad-1"),
        ("a frame that is no object", "[]".to_owned(), "invalid"),
    ] {
        wire.send_text(text).await?;
        let answer = wire.answer(id).await?;
        stage.note(name, None, vec![shape::of_answer(&answer)]);
    }
    let answer = cast.person.call("no.such.method", &json!({})).await?;
    stage.note("an unknown method", None, vec![shape::of_answer(&answer)]);
    stage
        .call(
            &mut cast.reader,
            "exec.approval.resolve",
            "without the scope",
            &json!({"id": "x", "decision": "deny"}),
        )
        .await?;
    stage.call(&mut cast.reader, "exec.approvals.get", "without the scope", &json!({})).await?;
    stage.call(&mut cast.reader, "device.pair.list", "without the scope", &json!({})).await?;
    for method in ["health", "status"] {
        let answer = cast.reader.call(method, &json!({})).await?;
        stage.note(method, None, vec![json!({"ok": answer["ok"]})]);
    }
    Ok(())
}

/// docs/protocol/approvals.md, "Asking".
async fn bad_commands(stage: &mut Stage<'_>, cast: &mut Cast) -> Result<()> {
    let plan = json!({"argv": [], "cwd": null, "commandText": "id", "agentId": null, "sessionKey": null});
    for (special, params) in [
        ("a command of the wrong type", json!({"command": 7})),
        ("no node", json!({"host": "node", "command": "id"})),
        ("no plan", json!({"host": "node", "nodeId": "n", "command": "id"})),
        (
            "a plan without arguments",
            json!({"host": "node", "nodeId": "n", "command": "id", "systemRunPlan": plan}),
        ),
        ("a blank command", json!({"command": " "})),
        ("a reserved id", json!({"command": "id", "id": "plugin:1"})),
        ("a command too long to be shown", json!({"command": "x".repeat(262_145)})),
        ("an id with a slash", json!({"command": "id", "id": "a/b", "timeoutMs": 100})),
        ("no time", json!({"command": "id", "timeoutMs": 0})),
    ] {
        // Some releases take some of these: they must end all the same.
        let mut bounded = params.clone();
        if bounded.get("timeoutMs").is_none() {
            bounded["timeoutMs"] = 100.into();
        }
        let answer = cast.asker.call("exec.approval.request", &bounded).await?;
        let request = shape::of(&params);
        let request = if request.to_string().len() > 1_000 { json!("<long>") } else { request };
        stage.note(
            &format!("exec.approval.request: {special}"),
            Some(&request),
            vec![shape::of_answer(&answer)],
        );
    }
    for (method, special, params) in [
        ("exec.approval.waitDecision", "no id", json!({})),
        ("exec.approval.waitDecision", "an unknown id", json!({"id": "unknown-id"})),
        ("exec.approval.resolve", "another decision", json!({"id": "unknown-id", "decision": "maybe"})),
        ("exec.approval.resolve", "an unknown id", json!({"id": "unknown-id", "decision": "deny"})),
        ("exec.approval.resolve", "no decision", json!({"id": "unknown-id"})),
        ("exec.approval.get", "an unknown id", json!({"id": "unknown-id"})),
        ("exec.approval.get", "no id", json!({})),
    ] {
        stage.call(&mut cast.person, method, special, &params).await?;
    }
    Ok(())
}

/// docs/protocol/approvals.md.
async fn commands(stage: &mut Stage<'_>, cast: &mut Cast) -> Result<()> {
    let request = "exec.approval.request";
    let params = |id: &str, ask: &str| {
        json!({
            "id": id, "command": "rm -rf build", "cwd": "/work", "host": "gateway", "security": "allowlist", "ask": ask,
            "agentId": "main", "sessionKey": "agent:main:main", "timeoutMs": 60_000, "twoPhase": true,
        })
    };
    let asked = cast.asker.send(request, &params("exchange-one", "on-miss")).await?;
    stage.last(&mut cast.asker, "exec.approval.request: it waits", &asked).await?;
    stage.event(&mut cast.person, "exec.approval.requested", "exchange-one", "at who answers").await?;
    stage.call(&mut cast.asker, request, "an id that waits", &params("exchange-one", "on-miss")).await?;
    stage.call(&mut cast.person, "exec.approval.list", "one waits", &json!({})).await?;
    stage.call(&mut cast.person, "exec.approval.get", "by its id", &json!({"id": "exchange-one"})).await?;
    let always = cast.asker.send(request, &params("exchange-always", "always")).await?;
    stage.last(&mut cast.asker, "exec.approval.request: ask is always", &always).await?;
    stage.event(&mut cast.person, "exec.approval.requested", "exchange-always", "ask is always").await?;
    let resolve = "exec.approval.resolve";
    let answer = |id: &str, decision: &str| json!({"id": id, "decision": decision});
    stage.call(&mut cast.person, resolve, "an ambiguous beginning", &answer("exchange", "deny")).await?;
    stage.call(&mut cast.person, resolve, "a beginning", &answer("exchange-a", "deny")).await?;
    stage.call(&mut cast.person, resolve, "the answer", &answer("exchange-one", "allow-once")).await?;
    stage.last(&mut cast.asker, "exec.approval.request: the decision", &asked).await?;
    stage.event(&mut cast.asker, "exec.approval.resolved", "exchange-one", "at who asked").await?;
    stage
        .call(&mut cast.person, resolve, "the same answer again", &answer("exchange-one", "allow-once"))
        .await?;
    stage.call(&mut cast.person, resolve, "another answer", &answer("exchange-one", "deny")).await?;
    let wait = json!({"id": "exchange-one"});
    stage.call(&mut cast.asker, "exec.approval.waitDecision", "it was answered", &wait).await?;
    let none = params("exchange-expired", "on-miss");
    let none = json!({"timeoutMs": 50, "requireDeliveryRoute": false, "twoPhase": false, "command": none["command"]});
    let mut brief = none.clone();
    brief["id"] = "exchange-expired".into();
    // Only newer releases know the member.
    let answer = cast.asker.call(request, &brief).await?;
    if answer["ok"] == true {
        stage.note(
            "exec.approval.request: nobody answers in time",
            Some(&none),
            vec![shape::of_answer(&answer)],
        );
    }
    Ok(())
}

/// docs/protocol/approvals.md, "Plugins".
async fn plugins(stage: &mut Stage<'_>, cast: &mut Cast) -> Result<()> {
    let request = "plugin.approval.request";
    if !stage.call(&mut cast.person, request, "no title", &json!({"description": "d"})).await? {
        return Ok(());
    }
    let long = "x".repeat(81);
    for (special, params) in [
        ("a title that is too long", json!({"title": long, "description": "d"})),
        ("no decision", json!({"title": "t", "description": "d", "allowedDecisions": []})),
        ("too much time", json!({"title": "t", "description": "d", "timeoutMs": 600_001})),
        ("a severity of its own", json!({"title": "t", "description": "d", "severity": "mild"})),
    ] {
        stage.call(&mut cast.asker, request, special, &params).await?;
    }
    let params = json!({
        "pluginId": "mailer", "title": "Send a letter", "description": "To all customers", "severity": "critical",
        "toolName": "send", "allowedDecisions": ["allow-once"], "agentId": "main", "timeoutMs": 60_000, "twoPhase": true,
    });
    let asked = cast.asker.send(request, &params).await?;
    stage.last(&mut cast.asker, "plugin.approval.request: it waits", &asked).await?;
    let requested = cast.person.event("plugin.approval.requested", |_| true).await?;
    stage.note("event plugin.approval.requested", None, vec![shape::of(&requested)]);
    let id = requested["id"].as_str().context("a plugin's approval has an id")?.to_owned();
    stage.call(&mut cast.person, "plugin.approval.list", "one waits", &json!({})).await?;
    let resolve = "plugin.approval.resolve";
    for (special, params) in [
        ("not offered", json!({"id": id, "decision": "allow-always"})),
        ("another decision", json!({"id": id, "decision": "maybe"})),
        ("an unknown id", json!({"id": "plugin:unknown", "decision": "deny"})),
        ("the answer", json!({"id": id, "decision": "allow-once"})),
    ] {
        stage.call(&mut cast.person, resolve, special, &params).await?;
    }
    stage.last(&mut cast.asker, "plugin.approval.request: the decision", &asked).await?;
    stage.event(&mut cast.asker, "plugin.approval.resolved", &id, "at who asked").await?;
    let wait = "plugin.approval.waitDecision";
    stage.call(&mut cast.asker, wait, "it was answered", &json!({ "id": id })).await?;
    stage.call(&mut cast.asker, wait, "an unknown id", &json!({"id": "plugin:unknown"})).await?;
    Ok(())
}

/// docs/protocol/approvals.md, "Every kind in one shape".
async fn unified(stage: &mut Stage<'_>, cast: &mut Cast) -> Result<()> {
    stage.call(&mut cast.person, "openclaw.approval.list", "there are none", &json!({})).await?;
    if !stage.call(&mut cast.person, "approval.get", "an unknown id", &json!({"id": "unknown-id"})).await? {
        return Ok(());
    }
    let resolve = "approval.resolve";
    for (method, special, params) in [
        ("approval.get", "no id", json!({})),
        (resolve, "an unknown id", json!({"id": "unknown-id", "kind": "exec", "decision": "deny"})),
        ("approval.history", "a limit of 0", json!({"limit": 0})),
        ("approval.history", "a cursor of its own", json!({"cursor": "!"})),
    ] {
        stage.call(&mut cast.person, method, special, &params).await?;
    }
    for (id, special, decision) in [
        ("unified-allowed", "the answer", json!({"kind": "exec", "decision": "allow-once"})),
        ("unified-decision", "another decision", json!({"kind": "exec", "decision": "maybe"})),
        ("unified-kind", "another kind", json!({"kind": "plugin", "decision": "allow-once"})),
    ] {
        let params =
            json!({"id": id, "command": "make", "host": "gateway", "timeoutMs": 60_000, "twoPhase": true});
        let asked = cast.asker.send("exec.approval.request", &params).await?;
        cast.asker.answer(&asked).await?;
        if special == "the answer" {
            stage.call(&mut cast.person, "approval.get", "it waits", &json!({ "id": id })).await?;
        }
        let mut params = decision.clone();
        params["id"] = id.into();
        stage.call(&mut cast.person, resolve, special, &params).await?;
        stage.last(&mut cast.asker, &format!("approval.resolve: {special}, at who asked"), &asked).await?;
    }
    let again = json!({"id": "unified-allowed", "kind": "exec", "decision": "deny"});
    stage.call(&mut cast.person, resolve, "it was answered", &again).await?;
    stage
        .call(&mut cast.person, "approval.get", "it was answered", &json!({"id": "unified-allowed"}))
        .await?;
    stage
        .call(&mut cast.person, "approval.history", "one of many", &json!({"limit": 1, "kind": "exec"}))
        .await?;
    Ok(())
}

/// docs/protocol/document.md, "Over a gateway".
async fn policies(stage: &mut Stage<'_>, cast: &mut Cast) -> Result<()> {
    let (get, set) = ("exec.approvals.get", "exec.approvals.set");
    let person = &mut cast.person;
    let file = json!({"version": 1, "defaults": {"security": "allowlist", "ask": "on-miss"}, "agents": {
        "main": {"allowlist": [{"id": "11111111-2222-4333-8444-555555555555", "pattern": "/usr/bin/git"}]},
    }});
    stage.call(person, get, "at first", &json!({})).await?;
    let hash = async |person: &mut Wire| -> Result<Value> {
        Ok(person.call(get, &json!({})).await?["payload"]["hash"].take())
    };
    let base = hash(person).await?;
    stage.call(person, set, "the first one", &json!({"file": file, "baseHash": base})).await?;
    stage.call(person, get, "afterwards", &json!({})).await?;
    for (special, params) in [
        ("no file", json!({})),
        ("a file that is none", json!({"file": 1})),
        ("no base", json!({ "file": file })),
        ("an old base", json!({"file": file, "baseHash": "0".repeat(64)})),
        ("another version", json!({"file": {"version": 2}, "baseHash": "0".repeat(64)})),
    ] {
        stage.call(person, set, special, &params).await?;
    }
    for method in ["exec.approvals.node.get", "exec.approvals.node.set"] {
        let unknown = json!({"nodeId": "unknown"});
        let unknown =
            if method.ends_with("set") { json!({"nodeId": "unknown", "file": file}) } else { unknown };
        stage.call(person, method, "no node", &json!({})).await?;
        stage.call(person, method, "an unknown node", &unknown).await?;
    }
    Ok(())
}

/// docs/protocol/gateway.md, "Pairing".
async fn devices(stage: &mut Stage<'_>, cast: &mut Cast) -> Result<()> {
    for (method, special, params) in [
        ("device.pair.list", "", json!({})),
        ("device.pair.approve", "an unknown request", json!({"requestId": "unknown"})),
        ("device.pair.approve", "no request", json!({})),
        ("device.pair.reject", "an unknown request", json!({"requestId": "unknown"})),
        ("device.pair.remove", "an unknown device", json!({"deviceId": "unknown"})),
    ] {
        stage.call(&mut cast.person, method, special, &params).await?;
    }
    Ok(())
}
