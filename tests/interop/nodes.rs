//! The release's node host on our gateway: what it is told to run, and what becomes of it.

use crate::Story;
use anyhow::{Context, Result, anyhow, bail, ensure};
use countersign_approvals::ports::Ports;
use countersign_tests::gateway::Alone;
use countersign_tests::home::Home;
use countersign_tests::peer::{Access, NodeHost, Operator, Release};
use countersign_tests::process::{PATIENCE, wait_for};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// `countersign gateway` with a node host of the release, somebody who has it run things, and
/// somebody who answers.
pub(crate) struct Floor {
    node: NodeHost,
    agent: Operator,
    person: Operator,
    _gateway: Alone,
}

impl Floor {
    pub(crate) fn start(release: &Release) -> Result<Self> {
        let gateway = Alone::start(Home::asking()?)?;
        let operator = |name: &str, scopes: &[&str]| {
            Operator::connect(gateway.url(), Access::operator(name, Alone::TOKEN, scopes)?)
        };
        let agent = operator("agent", &["operator.write", "operator.approvals", "operator.admin"])?;
        let person = operator("person", &["operator.approvals"])?;
        let port = gateway.url().rsplit_once(':').context("an address without a port")?.1.parse()?;
        let node = NodeHost::start_at(release, port, Alone::TOKEN, &agent)?;
        Ok(Self { node, agent, person, _gateway: gateway })
    }

    /// What the node host wrote.
    pub(crate) fn log(&self) -> String {
        self.node.log()
    }

    /// Calls something about the node and waits for its one answer.
    fn call(&self, method: &str, more: Value) -> Result<Answer> {
        let mut params = more;
        params["nodeId"] = self.node.id().into();
        let call = self.agent.send(method, params)?;
        let mut answer = wait_for(method, LIMIT, || Ok(self.agent.answers(&call).pop()))?;
        Ok(if answer["ok"] == true { Ok(answer["payload"].take()) } else { Err(answer["error"].take()) })
    }

    fn invoke_within(&self, timeout_ms: u32, command: &str, params: &Value) -> Result<Answer> {
        let id = Ports::system().ids.uuid();
        let more = json!({
            "command": command, "params": params, "timeoutMs": timeout_ms, "idempotencyKey": id,
        });
        self.call("node.invoke", more)
    }

    fn invoke(&self, command: &str, params: &Value) -> Result<Answer> {
        self.invoke_within(60_000, command, params)
    }

    /// Has the node do something that it does not refuse.
    fn done(&self, command: &str, params: &Value) -> Result<Value> {
        let answer = self.invoke(command, params)?;
        answer.map_err(|error| anyhow!("{command} was refused: {error}"))
    }

    fn document(&self) -> Result<Value> {
        self.call("exec.approvals.node.get", json!({}))?.map_err(|error| anyhow!("no document: {error}"))
    }

    /// A command that leaves a file, and the file.
    fn errand(&self) -> (Vec<String>, PathBuf) {
        let file = self.node.work().join(format!("made-{}", Ports::system().ids.uuid()));
        (vec!["/usr/bin/touch".to_owned(), file.display().to_string()], file)
    }

    /// What the node would run, in its own words where it prepares that.
    fn plan(&self, argv: &[String]) -> Result<Value> {
        let work = self.node.work();
        let text = argv.join(" ");
        let wanted = json!({
            "command": argv, "rawCommand": text, "cwd": work, "agentId": "main", "sessionKey": SESSION,
        });
        if self.takes("system.run.prepare")? {
            let mut plan = self.done("system.run.prepare", &wanted)?["payload"]["plan"].clone();
            if plan["commandText"].is_null() {
                // So the first releases that prepare call it.
                plan["commandText"] = plan["rawCommand"].take();
            }
            return Ok(plan);
        }
        Ok(json!({
            "argv": argv, "cwd": work, "commandText": text, "agentId": "main", "sessionKey": SESSION,
        }))
    }

    fn takes(&self, command: &str) -> Result<bool> {
        let node = self.agent.call("node.describe", json!({ "nodeId": self.node.id() }))?;
        let commands = node["commands"].as_array().context("no commands")?;
        Ok(commands.iter().any(|known| known == command))
    }

    /// Asks about a plan, has the person answer, and returns the id of the approval.
    fn decided(&self, plan: &Value, decision: &str) -> Result<String> {
        let id = Ports::system().ids.uuid();
        let request = json!({
            "id": id, "host": "node", "nodeId": self.node.id(), "systemRunPlan": plan, "agentId": "main",
            "sessionKey": SESSION, "twoPhase": true,
        });
        let asked = self.agent.send("exec.approval.request", request)?;
        let event =
            self.person.event("exec.approval.requested", PATIENCE, |event| event["id"] == id.as_str())?;
        ensure!(event["request"]["systemRunPlan"]["argv"] == plan["argv"], "another plan is shown: {event}");
        self.person.call("exec.approval.resolve", json!({ "id": id, "decision": decision }))?;
        let decided = self.agent.finish(&asked, PATIENCE)?;
        ensure!(decided["decision"] == decision, "{decided}");
        Ok(id)
    }

    /// Sets the node's own policy, which is not to let anything through by itself.
    fn harden(&self) -> Story {
        let stored = self.document()?;
        let mut file = stored["file"].clone();
        file["defaults"] = json!({ "security": "allowlist", "ask": "on-miss", "askFallback": "deny" });
        let set =
            self.call("exec.approvals.node.set", json!({ "file": file, "baseHash": stored["hash"] }))?;
        set.map(|_| ()).map_err(|error| anyhow!("not set: {error}"))
    }
}

pub(crate) fn a_node_host_is_listed_with_what_it_takes(floor: &mut Floor) -> Story {
    let nodes = floor.agent.call("node.list", json!({}))?;
    let node = nodes["nodes"].as_array().into_iter().flatten().find(|node| node["nodeId"] == floor.node.id());
    let node = node.with_context(|| format!("it is not there: {nodes}"))?;
    ensure!(node["connected"] == true && node["paired"] == true && node["platform"] == "linux", "{node}");
    for command in ["system.run", "system.which"] {
        ensure!(floor.takes(command)?, "it does not take {command}: {node}");
    }
    let found = floor.done("system.which", &json!({ "bins": ["sh", "no-such-program"] }))?;
    let bins = &found["payload"]["bins"];
    ensure!(bins["sh"].is_string() && bins.get("no-such-program").is_none(), "{found}");
    Ok(())
}

pub(crate) fn a_node_host_runs_what_was_allowed_once(floor: &mut Floor) -> Story {
    floor.harden()?;
    let (argv, file) = floor.errand();
    let plan = floor.plan(&argv)?;
    let id = floor.decided(&plan, "allow-once")?;
    let run =
        json!({ "command": plan["argv"], "runId": id, "approved": true, "approvalDecision": "allow-once" });
    let ended = floor.done("system.run", &run)?;
    ensure!(ended["payload"]["exitCode"] == 0 && ended["payload"]["success"] == true, "{ended}");
    ensure!(file.exists(), "it ran nothing: {ended}");
    std::fs::remove_file(&file)?;
    expect_code(floor.invoke("system.run", &run)?, "APPROVAL_REQUIRED")?;
    ensure!(!file.exists(), "it ran twice");
    Ok(())
}

pub(crate) fn what_nobody_allowed_does_not_run_whatever_its_caller_says(floor: &mut Floor) -> Story {
    floor.harden()?;
    let (argv, file) = floor.errand();
    let plan = floor.plan(&argv)?;
    let run = |id: &str, more: Value| {
        let mut run =
            json!({ "command": plan["argv"], "cwd": plan["cwd"], "runId": id, "sessionKey": SESSION });
        run.as_object_mut()
            .into_iter()
            .for_each(|run| run.extend(more.as_object().cloned().unwrap_or_default()));
        run
    };
    let claims = json!({ "approved": true, "approvalDecision": "allow-once" });
    expect_code(floor.invoke("system.run", &run("made-up", claims.clone()))?, "UNKNOWN_APPROVAL_ID")?;
    let denied = floor.decided(&plan, "deny")?;
    expect_code(floor.invoke("system.run", &run(&denied, claims))?, "APPROVAL_REQUIRED")?;
    // What makes no claim reaches the node, whose own policy refuses it.
    let refused = refusal(floor.invoke("system.run", &run("no-claim", json!({ "approved": "yes" })))?)?;
    // Nodes of later releases have a code for it, those before say it in words.
    let error = &refused["details"]["nodeError"];
    let says = |part: &Value| part.as_str().is_some_and(|part| part.contains("SYSTEM_RUN_DENIED"));
    ensure!(says(&error["code"]) || says(&error["message"]), "expected a denial, got {refused}");
    ensure!(!file.exists(), "it ran");
    Ok(())
}

pub(crate) fn the_document_of_a_node_host_is_read_and_replaced(floor: &mut Floor) -> Story {
    floor.harden()?;
    let before = floor.document()?;
    ensure!(before["file"]["defaults"]["security"] == "allowlist", "{before}");
    ensure!(before["file"]["socket"].get("token").is_none(), "it tells its token: {before}");
    let mut file = before["file"].clone();
    file["defaults"]["ask"] = "always".into();
    let set = || {
        let params = json!({ "file": file, "baseHash": before["hash"] });
        floor.call("exec.approvals.node.set", params)
    };
    set()?.map_err(|error| anyhow!("not set: {error}"))?;
    let after = floor.document()?;
    ensure!(after["file"]["defaults"]["ask"] == "always" && after["hash"] != before["hash"], "{after}");
    let stale = refusal(set()?)?;
    ensure!(stale["details"]["nodeError"]["code"] == "INVALID_REQUEST", "{stale}");
    Ok(())
}

pub(crate) fn a_node_host_that_takes_too_long_is_told_of_and_takes_the_next_command(
    floor: &mut Floor,
) -> Story {
    // Without an end that anybody names.
    let patient = floor.invoke_within(0, "system.which", &json!({ "bins": [] }))?;
    ensure!(patient.is_ok(), "{patient:?}");
    let plan = floor.plan(&["/usr/bin/sleep".to_owned(), "60".to_owned()])?;
    let id = floor.decided(&plan, "allow-once")?;
    let run = json!({ "command": plan["argv"], "runId": id, "approved": true });
    let late = refusal(floor.invoke_within(500, "system.run", &run)?)?;
    ensure!(late["details"]["nodeError"]["code"] == "TIMEOUT", "{late}");
    // It takes the next command all the same.
    floor.done("system.which", &json!({ "bins": ["sh"] })).map(|_| ())
}

/// The error of a call that has to be refused.
fn refusal(answer: Answer) -> Result<Value> {
    match answer {
        Ok(answer) => bail!("expected a refusal, got {answer}"),
        Err(error) => Ok(error),
    }
}

/// Fails unless a call was refused by the gateway with this code.
fn expect_code(answer: Answer, code: &str) -> Story {
    let refused = refusal(answer)?;
    ensure!(refused["details"]["code"] == code, "expected {code}, got {refused}");
    Ok(())
}

/// What a call comes to: its payload, or its error.
type Answer = std::result::Result<Value, Value>;

/// The session that everything here is for.
const SESSION: &str = "agent:main:story";

/// Longest way through the node host. Its first command loads half of a release.
const LIMIT: Duration = Duration::from_secs(60);
