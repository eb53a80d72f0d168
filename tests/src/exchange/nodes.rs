//! A node, what it is told, and what is said of it (docs/protocol/nodes.md).

use super::script::Stage;
use super::shape;
use super::wire::{Who, Wire};
use anyhow::{Context, Result, bail};
use countersign_gateway::identity::Identity;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// Has nodes do things, and asks about that.
const CALLER: Who = Who {
    seed: 4,
    name: "caller",
    scopes: &["operator.read", "operator.write", "operator.approvals"],
    commands: &[],
};
const NODE: Who = Who {
    seed: 5,
    name: "node",
    scopes: &[],
    commands: &[
        "system.run",
        "system.run.prepare",
        "system.which",
        "system.execApprovals.get",
        "system.execApprovals.set",
    ],
};

/// Tells of a node that is there and of one that is not. `person` administers the gateway.
pub(super) async fn tell(stage: &mut Stage<'_>, person: &mut Wire) -> Result<()> {
    let caller = Wire::enter(stage.url, stage.token, CALLER).await?;
    let node = let_in(stage, person).await?;
    let mut play = Play { stage, caller, node, id: Identity::from_seed(&[NODE.seed; 32]).device_id().into() };
    play.bad_calls().await?;
    play.bad_runs().await?;
    play.answers().await?;
    play.documents(person).await?;
    play.approved_runs(person).await?;
    play.events().await
}

/// Connects the node, and lets its commands in where that is needed.
async fn let_in(stage: &Stage<'_>, person: &mut Wire) -> Result<Wire> {
    let node = Wire::enter(stage.url, stage.token, NODE).await?;
    let begun = Instant::now();
    while begun.elapsed() < LETTING_IN {
        let requests = person.call("node.pair.list", &json!({})).await?;
        for request in requests["payload"]["pending"].as_array().into_iter().flatten() {
            person.call("node.pair.approve", &json!({"requestId": request["requestId"]})).await?;
        }
        let nodes = person.call("node.list", &json!({})).await?;
        let mut listed = nodes["payload"]["nodes"].as_array().into_iter().flatten();
        if listed.any(|node| node["commands"].as_array().is_some_and(|commands| !commands.is_empty())) {
            return Ok(node);
        }
        sleep(PAUSE).await;
    }
    bail!("the node's commands were not let in")
}

struct Play<'a, 'b> {
    stage: &'a mut Stage<'b>,
    caller: Wire,
    node: Wire,
    id: String,
}

impl Play<'_, '_> {
    fn invoke(&self, command: &str, params: Value) -> Value {
        json!({"nodeId": self.id, "command": command, "params": params, "timeoutMs": 20_000, "idempotencyKey": "k"})
    }

    /// Calls `node.invoke` with what never reaches the node.
    async fn refused(&mut self, special: &str, params: &Value) -> Result<()> {
        self.stage.call(&mut self.caller, "node.invoke", special, params).await.map(|_| ())
    }

    async fn bad_calls(&mut self) -> Result<()> {
        for (method, special, params) in [
            ("node.describe", "no node", json!({})),
            ("node.describe", "an unknown node", json!({"nodeId": "unknown"})),
            ("node.invoke", "nothing", json!({})),
            ("node.invoke", "no key", json!({"nodeId": self.id, "command": "system.which"})),
            ("node.invoke", "a document", self.invoke("system.execApprovals.get", json!({}))),
            ("node.invoke", "another document", self.invoke("system.execApprovals.set", json!({}))),
            ("node.invoke", "a command that it does not take", self.invoke("camera.snap", json!({}))),
            ("node.invoke.result", "by an operator", json!({})),
            ("node.event", "by an operator", json!({})),
        ] {
            self.stage.call(&mut self.caller, method, special, &params).await?;
        }
        for (method, special, params) in [
            ("node.list", "by a node", json!({})),
            ("exec.approval.resolve", "by a node", json!({"id": "x", "decision": "deny"})),
            ("node.invoke.result", "in another's name", json!({"id": "x", "nodeId": "another", "ok": true})),
            ("node.invoke.result", "of nothing", json!({"id": "x", "nodeId": self.id, "ok": true})),
            (
                "node.invoke.progress",
                "of nothing",
                json!({"invokeId": "x", "nodeId": self.id, "seq": 0, "chunk": "x"}),
            ),
            ("node.event", "nothing", json!({})),
        ] {
            self.stage.call(&mut self.node, method, special, &params).await?;
        }
        Ok(())
    }

    async fn bad_runs(&mut self) -> Result<()> {
        for (special, params) in [
            ("another text", json!({"command": ["id"], "rawCommand": "ls"})),
            ("a text without a list", json!({"rawCommand": "ls"})),
            ("approved without a run", json!({"command": ["id"], "approved": true})),
            ("approved, by no approval", json!({"command": ["id"], "approved": true, "runId": "none"})),
            (
                "decided, by no approval",
                json!({"command": ["id"], "approvalDecision": "allow-once", "runId": "none"}),
            ),
        ] {
            let params = self.invoke("system.run", params);
            self.refused(&format!("a run, {special}"), &params).await?;
        }
        Ok(())
    }

    /// Has the node do something and lets it answer so; notes what it is told and what the caller hears.
    async fn done(&mut self, special: &str, command: &str, params: Value, answer: Value) -> Result<()> {
        let params = self.invoke(command, params);
        let call = self.caller.send("node.invoke", &params).await?;
        let told = self.node.event("node.invoke.request", |told| told["command"] == command).await?;
        let mut noted = told.clone();
        if let Some(text) = told["paramsJSON"].as_str() {
            noted["paramsJSON"] = serde_json::from_str(text).context("parameters that are no JSON")?;
        }
        self.stage.note(&format!("event node.invoke.request: {special}"), None, vec![shape::of(&noted)]);
        let mut result = json!({"id": told["id"], "nodeId": self.id});
        for (name, value) in answer.as_object().into_iter().flatten() {
            result[name] = value.clone();
        }
        let name = format!("its answer, {special}");
        self.stage.call(&mut self.node, "node.invoke.result", &name, &result).await?;
        self.stage.last(&mut self.caller, &format!("node.invoke: {special}"), &call).await
    }

    async fn answers(&mut self) -> Result<()> {
        let bins = json!({"bins": ["sh"]});
        let found = json!({"ok": true, "payloadJSON": "{\"bins\":{}}"});
        self.done("it answers in text", "system.which", bins.clone(), found).await?;
        self.done("it answers", "system.which", bins.clone(), json!({"ok": true, "payload": {"bins": {}}}))
            .await?;
        let error = json!({"ok": false, "error": {"code": "INVALID_REQUEST", "message": "no"}});
        self.done("it refuses", "system.which", bins.clone(), error).await?;
        self.done("it refuses without a word", "system.which", bins, json!({"ok": false})).await?;
        let claims = json!({"command": ["id"], "approved": "yes", "approvalDecision": "deny", "more": 1});
        self.done("a run", "system.run", claims, json!({"ok": true, "payload": {"exitCode": 0}})).await
    }

    async fn documents(&mut self, person: &mut Wire) -> Result<()> {
        let document = json!({
            "path": "/home/u/.openclaw/exec-approvals.json", "exists": true, "hash": "0".repeat(64),
            "file": {"version": 1, "agents": {}},
        });
        for (method, command, params) in [
            ("exec.approvals.node.get", "system.execApprovals.get", json!({"nodeId": self.id})),
            (
                "exec.approvals.node.set",
                "system.execApprovals.set",
                json!({"nodeId": self.id, "file": {"version": 1, "agents": {}}, "baseHash": "0".repeat(64)}),
            ),
        ] {
            for (special, answer) in [
                ("of the node", json!({"ok": true, "payload": document})),
                (
                    "that it refuses",
                    json!({"ok": false, "error": {"code": "INVALID_REQUEST", "message": "no"}}),
                ),
            ] {
                let call = person.send(method, &params).await?;
                let told = self.node.event("node.invoke.request", |told| told["command"] == command).await?;
                let mut result = json!({"id": told["id"], "nodeId": self.id});
                for (name, value) in answer.as_object().into_iter().flatten() {
                    result[name] = value.clone();
                }
                self.node.call("node.invoke.result", &result).await?;
                self.stage.last(person, &format!("{method}: {special}"), &call).await?;
            }
        }
        Ok(())
    }

    /// Asks about a run. False where the release takes no such request.
    async fn asks(&mut self, id: &str, plan: &Value) -> Result<bool> {
        let request = json!({
            "id": id, "host": "node", "nodeId": self.id, "systemRunPlan": plan, "env": {"A": "1"}, "twoPhase": true,
            "timeoutMs": 20_000,
        });
        Ok(self.caller.call("exec.approval.request", &request).await?["ok"] == true)
    }

    async fn approved_runs(&mut self, person: &mut Wire) -> Result<()> {
        let plan = json!({
            "argv": ["make", "all"], "cwd": "/", "commandText": "make all", "agentId": "main",
            "sessionKey": "agent:main:main",
        });
        let run = |id: &str, more: Value| {
            let mut run =
                json!({"command": ["make", "all"], "runId": id, "approved": true, "env": {"A": "1"}});
            for (name, value) in more.as_object().into_iter().flatten() {
                run[name] = value.clone();
            }
            run
        };
        if !self.asks("node-once", &plan).await? {
            return Ok(());
        }
        let waits = self.invoke("system.run", run("node-once", json!({})));
        self.refused("a run, approved while it waits", &waits).await?;
        for (id, decision) in
            [("node-once", "allow-once"), ("node-always", "allow-always"), ("node-no", "deny")]
        {
            if id != "node-once" {
                self.asks(id, &plan).await?;
            }
            let answer = json!({"id": id, "decision": decision});
            let answer = person.call("exec.approval.resolve", &answer).await?;
            anyhow::ensure!(answer["ok"] == true, "{id} was not answered: {answer}");
        }
        for (special, id, more) in [
            ("approved with another value", "node-once", json!({"env": {"A": "2"}})),
            ("approved without its values", "node-once", json!({"env": {}})),
            ("approved, by a denial", "node-no", json!({})),
            ("approved, by a source", "node-once", json!({"approvalSource": "auto-review"})),
            ("approved, by two", "node-once", json!({"approvalSource": "ask-fallback"})),
        ] {
            let params = self.invoke("system.run", run(id, more));
            self.refused(&format!("a run, {special}"), &params).await?;
        }
        let others = self.invoke("system.run", run("node-once", json!({})));
        self.stage.call(person, "node.invoke", "a run, approved for another device", &others).await?;
        let ended = json!({"ok": true, "payload": {"exitCode": 0}});
        self.done("a run that was allowed", "system.run", run("node-once", json!({})), ended.clone()).await?;
        self.refused("a run, approved and used", &others).await?;
        let always = run("node-always", json!({"approvalDecision": "allow-once"}));
        self.done("a run that is always allowed", "system.run", always, ended).await
    }

    async fn events(&mut self) -> Result<()> {
        let run = json!({"command": ["id"], "runId": "told", "sessionKey": "agent:main:main"});
        self.done("a run of a session", "system.run", run, json!({"ok": true, "payload": {}})).await?;
        for (special, event, run_id) in [
            ("of nothing", "exec.finished", "never"),
            ("started", "exec.started", "told"),
            ("finished", "exec.finished", "told"),
            ("finished again", "exec.finished", "told"),
        ] {
            let payload = json!({
                "sessionKey": "agent:main:main", "runId": run_id, "host": "node", "command": "id", "exitCode": 1,
                "timedOut": false, "success": false, "output": "no",
            });
            let params = json!({"event": event, "payloadJSON": payload.to_string()});
            self.stage.call(&mut self.node, "node.event", special, &params).await?;
        }
        Ok(())
    }
}

/// Until a node's commands may be used: the newest release takes seconds.
const LETTING_IN: Duration = Duration::from_secs(60);

/// Between two looks at whether they may.
const PAUSE: Duration = Duration::from_millis(200);
