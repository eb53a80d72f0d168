//! Nodes of our gateway: what reaches them, what they answer, and what they cannot do.

use super::*;
use countersign_protocol::gateway::node::{InvokeParams, NodeError, RunParams, command};
use countersign_protocol::ids::NodeId;
use countersign_protocol::vocabulary::Decision;
use pretty_assertions::assert_eq;
use std::time::Duration;

const OPERATOR: &[&str] = &["operator.write", "operator.approvals"];
const ALL: &[&str] = &command::ALL;

/// A gateway whose handle is at hand, as the app has it.
struct Handled {
    gateway: Embedded<GatewayBackend>,
    url: String,
    _folder: TempDir,
}

impl Handled {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().to_str().unwrap().to_owned();
        let env =
            BTreeMap::from([("HOME".to_owned(), state.clone()), ("COUNTERSIGN_STATE_DIR".to_owned(), state)]);
        let paths = Paths::from_env(&env).unwrap();
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let (gateway, _) = alone(&paths, options(), &tracker, &stop).unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        let serving = gateway.clone();
        tokio::spawn(async move { serving.serve(listener, stop).await });
        Self { gateway, url, _folder: folder }
    }

    async fn operator(&self, seed: u8) -> Client {
        Client::connect(&self.url, seed, TOKEN, OPERATOR).await.expect("hello-ok")
    }

    async fn node(&self, seed: u8) -> Client {
        Client::node(&self.url, seed, TOKEN, ALL).await.expect("hello-ok")
    }
}

fn id(seed: u8) -> String {
    Identity::from_seed(&[seed; 32]).device_id().into()
}

/// Parameters of `node.invoke`.
fn to(seed: u8, command: &str, params: Value) -> Value {
    json!({"nodeId": id(seed), "command": command, "params": params, "idempotencyKey": "k"})
}

/// What a session was not told yet.
async fn events_of(agent: &mut Client, session: &str) -> Vec<String> {
    let taken = agent.call("exec.events.take", json!({"sessionKey": session})).await.unwrap();
    let events = taken["events"].as_array().unwrap();
    events.iter().map(|event| event["text"].as_str().unwrap().to_owned()).collect()
}

fn plan(text: &str) -> Value {
    let argv: Vec<&str> = text.split(' ').collect();
    json!({"argv": argv, "cwd": "/", "commandText": text, "agentId": "main", "sessionKey": "s-1"})
}

/// A `system.run` that says that it was approved.
fn run(run_id: &str, text: &str) -> Value {
    let argv: Vec<&str> = text.split(' ').collect();
    json!({"command": argv, "runId": run_id, "approved": true, "approvalDecision": "allow-once"})
}

/// What the node is told next: its id, its command and its parameters.
async fn told(node: &mut Client) -> (String, String, Value) {
    let request = node.event("node.invoke.request").await;
    let params =
        request["paramsJSON"].as_str().map_or(Value::Null, |text| serde_json::from_str(text).unwrap());
    let text = |name: &str| request[name].as_str().unwrap().to_owned();
    (text("id"), text("command"), params)
}

/// Answers what the node was told.
async fn answer(node: &mut Client, seed: u8, invoke_id: &str, more: Value) -> Result<Value, String> {
    let mut result = json!({"id": invoke_id, "nodeId": id(seed), "ok": true});
    result.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    node.call("node.invoke.result", result).await
}

/// Has `asker` ask about a command on a node, and `person` answer it.
async fn decided(
    asker: &mut Client,
    person: &mut Client,
    seed: u8,
    run_id: &str,
    text: &str,
    decision: &str,
) {
    let params = json!({
        "id": run_id, "host": "node", "nodeId": id(seed), "systemRunPlan": plan(text), "env": {"A": "1"},
    });
    let asked = asker.send("exec.approval.request", params).await;
    person
        .wait_for(|frame| frame["payload"]["id"] == run_id && frame["event"] == "exec.approval.requested")
        .await;
    person.call("exec.approval.resolve", json!({"id": run_id, "decision": decision})).await.unwrap();
    assert_eq!(asker.answer(&asked).await["payload"]["decision"], decision);
}

/// The error of a call: its code and its details.
async fn refused(client: &mut Client, method: &str, params: Value) -> (String, Value) {
    let call = client.send(method, params).await;
    let error = client.answer(&call).await["error"].clone();
    (error["message"].as_str().unwrap_or_default().to_owned(), error["details"].clone())
}

#[tokio::test]
async fn an_operator_has_a_node_run_what_a_person_allowed_and_hears_what_came_of_it() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, OPERATOR).await, rig.operator(2, APPROVER).await);
    let mut node = Client::node(&rig.url(), 3, TOKEN, ALL).await.unwrap();
    decided(&mut agent, &mut person, 3, "r-1", "make all", "allow-once").await;
    let mut params = run("r-1", "make all");
    params["env"] = json!({"A": "1"});
    params["approvalDecision"] = json!("allow-always");
    let call = agent.send("node.invoke", to(3, "system.run", params)).await;
    let (invoke_id, command, params) = told(&mut node).await;
    assert_eq!(command, "system.run");
    let mut expected = json!({
        "command": ["make", "all"], "rawCommand": "make all", "cwd": "/", "agentId": "main", "sessionKey": "s-1",
        "runId": "r-1", "env": {"A": "1"}, "approved": true, "approvalDecision": "allow-once",
    });
    expected["systemRunPlan"] = plan("make all");
    assert_eq!(params, expected);
    let came = json!({"payloadJSON": "{\"exitCode\":0}", "error": null});
    assert_eq!(answer(&mut node, 3, &invoke_id, came.clone()).await, Ok(json!({"ok": true})));
    let ended = agent.answer(&call).await["payload"].clone();
    let whole = json!({
        "ok": true, "nodeId": id(3), "command": "system.run", "payload": {"exitCode": 0},
        "payloadJSON": "{\"exitCode\":0}",
    });
    assert_eq!(ended, whole);
    let late = answer(&mut node, 3, &invoke_id, came).await;
    assert_eq!(late, Ok(json!({"ok": true, "ignored": true})));
}

#[tokio::test]
async fn t01_a_run_that_only_its_caller_calls_approved_reaches_no_node() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, OPERATOR).await, rig.operator(2, APPROVER).await);
    let mut node = Client::node(&rig.url(), 3, TOKEN, ALL).await.unwrap();
    let code = async |agent: &mut Client, params: Value| {
        refused(agent, "node.invoke", to(3, "system.run", params)).await.1["code"].clone()
    };
    assert_eq!(code(&mut agent, json!({"command": ["id"], "approved": true})).await, "MISSING_RUN_ID");
    assert_eq!(code(&mut agent, run("made-up", "id")).await, "UNKNOWN_APPROVAL_ID");
    let auto = json!({"command": ["id"], "runId": "x", "approvalSource": "auto-review"});
    assert_eq!(code(&mut agent, auto).await, "INVALID_APPROVAL_SOURCE");
    decided(&mut agent, &mut person, 3, "r-1", "id", "deny").await;
    assert_eq!(code(&mut agent, run("r-1", "id")).await, "APPROVAL_ENV_MISMATCH");
    let mut denied = run("r-1", "id");
    denied["env"] = json!({"A": "1"});
    assert_eq!(code(&mut agent, denied).await, "APPROVAL_REQUIRED");
    // The first thing that the node hears is what makes no such claim.
    let plain = json!({"command": ["id"], "approved": "yes", "approvalDecision": "deny", "evil": true});
    agent.send("node.invoke", to(3, "system.run", plain)).await;
    let (.., mut params) = told(&mut node).await;
    let run_id = params.as_object_mut().unwrap().remove("runId").unwrap();
    assert_eq!((run_id.as_str().unwrap().len(), params), (36, json!({"command": ["id"]})));
}

#[tokio::test]
async fn t02_only_whoever_may_write_tells_nodes_anything_and_nodes_call_nothing_of_operators() {
    let rig = Rig::new().await;
    let mut reader = rig.operator(1, &["operator.read", "operator.approvals"]).await;
    let mut node = Client::node(&rig.url(), 3, TOKEN, ALL).await.unwrap();
    let invoke = to(3, "system.which", json!({}));
    assert_eq!(reader.call("node.invoke", invoke.clone()).await, Err("missing scope: operator.write".into()));
    for method in ["node.invoke.result", "node.invoke.progress", "node.event"] {
        assert_eq!(reader.call(method, json!({})).await, Err("unauthorized role: operator".into()));
    }
    for (method, params) in [
        ("node.invoke", invoke),
        ("node.list", json!({})),
        ("exec.approval.resolve", json!({"id": "x", "decision": "allow-once"})),
        ("approval.resolve", json!({"id": "x", "kind": "exec", "decision": "allow-once"})),
        ("exec.approvals.set", json!({"file": {"version": 1}})),
        ("device.pair.approve", json!({"requestId": "x"})),
    ] {
        assert_eq!(node.call(method, params).await, Err("unauthorized role: node".into()), "{method}");
    }
    // Events about approvals are none of its business.
    reader
        .send("exec.approval.request", json!({"id": "r", "command": "id", "requireDeliveryRoute": false}))
        .await;
    assert_eq!(reader.call("node.list", json!({})).await.unwrap()["nodes"][0]["connected"], true);
    assert!(node.call("node.event", json!({"event": "any"})).await.is_ok());
    assert!(node.kept.iter().all(|frame| frame["type"] != "event"), "{:?}", node.kept);
}

#[tokio::test]
async fn t05_what_was_allowed_once_runs_once_on_its_node_for_its_device() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, OPERATOR).await, rig.operator(2, OPERATOR).await);
    let mut node = Client::node(&rig.url(), 3, TOKEN, ALL).await.unwrap();
    let _other = Client::node(&rig.url(), 4, TOKEN, ALL).await.unwrap();
    decided(&mut agent, &mut person, 3, "r-1", "make all", "allow-once").await;
    let with_env = |params: Value| {
        let mut params = params;
        params["env"] = json!({"A": "1"});
        params
    };
    let own = with_env(run("r-1", "make all"));
    let changed = |name: &str, value: Value| {
        let mut params = own.clone();
        params[name] = value;
        params
    };
    let check = async |client: &mut Client, seed: u8, params: Value, expected: &str| {
        let error = refused(client, "node.invoke", to(seed, "system.run", params)).await;
        assert_eq!((&error.1["code"], &error.1["runId"]), (&json!(expected), &json!("r-1")), "{error:?}");
    };
    check(&mut agent, 4, own.clone(), "APPROVAL_NODE_MISMATCH").await;
    check(&mut person, 3, own.clone(), "APPROVAL_DEVICE_MISMATCH").await;
    check(&mut agent, 3, changed("sessionKey", json!("s-2")), "APPROVAL_REQUEST_MISMATCH").await;
    check(&mut agent, 3, changed("agentId", json!("other")), "APPROVAL_REQUEST_MISMATCH").await;
    check(&mut agent, 3, changed("command", json!(["make", "install"])), "APPROVAL_REQUEST_MISMATCH").await;
    check(&mut agent, 3, changed("env", json!({"A": "2"})), "APPROVAL_ENV_MISMATCH").await;
    check(&mut agent, 3, changed("env", json!({"A": "1", "B%": "2"})), "APPROVAL_ENV_BINDING_MISSING").await;
    // None of these used it up. Of many at once, one runs.
    let mut second = rig.operator(1, OPERATOR).await;
    let mut calls = Vec::new();
    for _ in 0..4 {
        calls.push(agent.send("node.invoke", to(3, "system.run", own.clone())).await);
    }
    let replay = second.send("node.invoke", to(3, "system.run", own.clone())).await;
    let (invoke_id, ..) = told(&mut node).await;
    answer(&mut node, 3, &invoke_id, json!({"payload": {"exitCode": 0}})).await.unwrap();
    let mut ran = 0;
    for call in calls {
        ran += u32::from(agent.answer(&call).await["ok"] == true);
    }
    ran += u32::from(second.answer(&replay).await["ok"] == true);
    assert_eq!(ran, 1);
    check(&mut agent, 3, own, "APPROVAL_REQUIRED").await;
}

#[tokio::test]
async fn what_is_always_allowed_runs_again_while_its_approval_is_known() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, OPERATOR).await, rig.operator(2, APPROVER).await);
    let mut node = Client::node(&rig.url(), 3, TOKEN, ALL).await.unwrap();
    decided(&mut agent, &mut person, 3, "r-1", "make all", "allow-always").await;
    for _ in 0..2 {
        let call = agent
            .send(
                "node.invoke",
                to(3, "system.run", json!({"runId": "r-1", "approved": true, "env": {"A": "1"}})),
            )
            .await;
        let (invoke_id, _, params) = told(&mut node).await;
        assert_eq!(params["approvalDecision"], "allow-always");
        answer(&mut node, 3, &invoke_id, json!({})).await.unwrap();
        assert_eq!(agent.answer(&call).await["payload"]["payload"], Value::Null);
    }
}

#[tokio::test]
async fn nodes_are_listed_and_described_with_what_they_take() {
    let rig = Rig::new().await;
    let mut operator = rig.operator(1, &["operator.read"]).await;
    let declared = &["system.which", "camera.snap", "system.run", "system.run", "screen.record"];
    let node = Client::node(&rig.url(), 3, TOKEN, declared).await.unwrap();
    drop(Client::node(&rig.url(), 4, TOKEN, ALL).await.unwrap());
    let mut shown = async || {
        let listed = operator.call("node.list", json!({})).await.unwrap();
        let node =
            |node: &Value| (node["nodeId"].clone(), node["connected"].clone(), node["commands"].clone());
        listed["nodes"].as_array().unwrap().iter().map(node).collect::<Vec<_>>()
    };
    let there = (json!(id(3)), json!(true), json!(["system.run", "system.which"]));
    let away = |seed| (json!(id(seed)), json!(false), json!([]));
    while shown().await != [there.clone(), away(4)] {
        tokio::task::yield_now().await;
    }
    let described = operator.call("node.describe", json!({"nodeId": id(3)})).await.unwrap();
    assert_eq!(
        (&described["displayName"], &described["platform"], &described["paired"], &described["clientId"]),
        (&json!("client 3"), &json!("linux"), &json!(true), &json!("gateway-client"))
    );
    assert!(described["ts"].is_i64() && described["connectedAtMs"].is_i64(), "{described}");
    let unknown = operator.call("node.describe", json!({"nodeId": id(1)})).await;
    assert_eq!(unknown, Err("unknown nodeId".to_owned()));
    drop(node);
    let mut operator = rig.operator(1, &["operator.read"]).await;
    let mut listed = async || operator.call("node.list", json!({})).await.unwrap()["nodes"].clone();
    while listed().await[0]["connected"] != false {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn bad_calls_of_nodes_are_refused_in_the_peers_words() {
    let rig = Rig::new().await;
    let mut agent = rig.operator(1, OPERATOR).await;
    let _node = Client::node(&rig.url(), 3, TOKEN, &["system.run"]).await.unwrap();
    let _mute = Client::node(&rig.url(), 4, TOKEN, &["camera.snap"]).await.unwrap();
    let with = |seed: u8, command: &str, name: &str, value: Value| {
        let mut params = to(seed, command, json!({}));
        params[name] = value;
        params
    };
    for (params, expected, reason) in [
        (json!({}), "invalid node.invoke params: must have required property 'nodeId'", Value::Null),
        (with(3, " ", "x", json!(1)), "nodeId and command required", Value::Null),
        (
            with(3, "system.run", "idempotencyKey", json!("")),
            "invalid node.invoke params: must have required property 'idempotencyKey'",
            Value::Null,
        ),
        (
            with(3, "system.run", "timeoutMs", json!(-1)),
            "invalid node.invoke params: at /timeoutMs: ",
            Value::Null,
        ),
        (with(3, "system.run", "timeoutMs", json!("1")), "invalid node.invoke params: ", Value::Null),
        (to(9, "system.run", json!({})), "node not connected", json!("NOT_CONNECTED")),
        (
            to(3, "system.execApprovals.get", json!({})),
            "node.invoke does not allow system.execApprovals.*; use exec.approvals.node.*",
            Value::Null,
        ),
        (to(3, "camera.snap", json!({})), "node command not allowed: ", json!("command not allowlisted")),
        (
            to(3, "system.which", json!({})),
            "node command not allowed: ",
            json!("command not declared by node"),
        ),
        (
            to(4, "system.run", json!({})),
            "node command not allowed: ",
            json!("node did not declare commands"),
        ),
        (
            to(3, "system.run", json!({"command": ["id"], "rawCommand": "ls"})),
            "INVALID_REQUEST: rawCommand does not match command",
            json!("RAW_COMMAND_MISMATCH"),
        ),
    ] {
        let (message, details) = refused(&mut agent, "node.invoke", params).await;
        assert!(message.starts_with(expected), "{message}");
        let why = details.get("reason").or(details.get("code")).cloned().unwrap_or_default();
        assert_eq!(why, reason, "{details}");
    }
}

#[tokio::test]
async fn what_a_node_refuses_and_what_it_does_not_answer_is_told_to_the_caller() {
    let rig = Rig::new().await;
    let mut agent = rig.operator(1, OPERATOR).await;
    let mut node = Client::node(&rig.url(), 3, TOKEN, ALL).await.unwrap();
    let mut other = Client::node(&rig.url(), 4, TOKEN, ALL).await.unwrap();
    let call = agent.send("node.invoke", to(3, "system.which", json!({"bins": ["sh"]}))).await;
    let (invoke_id, ..) = told(&mut node).await;
    // Others cannot answer, neither in its name nor in their own.
    assert_eq!(answer(&mut other, 3, &invoke_id, json!({})).await, Err("nodeId mismatch".to_owned()));
    assert_eq!(answer(&mut other, 4, &invoke_id, json!({})).await, Ok(json!({"ok": true, "ignored": true})));
    let progress = |seed: u8, chunk: String| json!({"invokeId": invoke_id, "nodeId": id(seed), "seq": 0, "chunk": chunk});
    let tells = async |node: &mut Client, params: Value| node.call("node.invoke.progress", params).await;
    assert_eq!(tells(&mut node, progress(3, "x".into())).await, Ok(json!({"ok": true})));
    assert_eq!(
        tells(&mut node, progress(3, "x".repeat(16_385))).await,
        Err("progress chunk too large".into())
    );
    assert_eq!(tells(&mut node, progress(4, "x".into())).await, Err("nodeId mismatch".into()));
    assert_eq!(tells(&mut other, progress(4, "x".into())).await, Ok(json!({"ok": true, "ignored": true})));
    let error = json!({"code": "SYSTEM_RUN_DENIED", "message": "no"});
    answer(&mut node, 3, &invoke_id, json!({"ok": false, "error": error})).await.unwrap();
    let failed = agent.answer(&call).await["error"].clone();
    assert_eq!(
        (&failed["code"], &failed["message"], &failed["details"]["nodeError"]),
        (&json!("UNAVAILABLE"), &json!("SYSTEM_RUN_DENIED: no"), &error)
    );
    // Too slow: the node hears that nobody waits any more, and its answer comes too late.
    let mut hasty = to(3, "system.which", json!({}));
    hasty["timeoutMs"] = json!(30);
    let call = agent.send("node.invoke", hasty).await;
    let (invoke_id, ..) = told(&mut node).await;
    let failed = agent.answer(&call).await["error"].clone();
    assert_eq!(
        (&failed["message"], &failed["details"]["nodeError"]["code"]),
        (&json!("TIMEOUT: node invoke timed out"), &json!("TIMEOUT"))
    );
    assert_eq!(node.event("node.invoke.cancel").await, json!({"invokeId": invoke_id, "nodeId": id(3)}));
    assert_eq!(answer(&mut node, 3, &invoke_id, json!({})).await, Ok(json!({"ok": true, "ignored": true})));
    // No end is named, and the node goes.
    let mut patient = to(3, "system.which", json!({}));
    patient["timeoutMs"] = json!(0);
    let call = agent.send("node.invoke", patient).await;
    assert_eq!(node.event("node.invoke.request").await.get("timeoutMs"), None);
    drop(node);
    let failed = agent.answer(&call).await["error"].clone();
    assert_eq!(failed["message"], "DISCONNECTED: node disconnected (system.which)");
}

#[tokio::test]
async fn a_node_that_is_not_ready_is_told_again_and_one_whose_caller_went_hears_so() {
    let rig = Rig::new().await;
    let mut agent = rig.operator(1, OPERATOR).await;
    let mut node = Client::node(&rig.url(), 3, TOKEN, ALL).await.unwrap();
    let call = agent.send("node.invoke", to(3, "system.which", json!({}))).await;
    for _ in 0..2 {
        let (invoke_id, ..) = told(&mut node).await;
        let error = json!({"code": "NODE_NOT_READY", "message": "starting"});
        answer(&mut node, 3, &invoke_id, json!({"ok": false, "error": error})).await.unwrap();
    }
    let (invoke_id, ..) = told(&mut node).await;
    answer(&mut node, 3, &invoke_id, json!({"payload": {"bins": {}}})).await.unwrap();
    assert_eq!(agent.answer(&call).await["payload"]["payload"], json!({"bins": {}}));
    agent.send("node.invoke", to(3, "system.which", json!({}))).await;
    let (invoke_id, ..) = told(&mut node).await;
    drop(agent);
    assert_eq!(node.event("node.invoke.cancel").await["invokeId"], invoke_id.as_str());
}

#[tokio::test]
async fn a_second_connection_of_a_node_takes_over_and_a_removed_node_is_told_nothing_more() {
    let rig = Rig::new().await;
    let mut admin = rig.operator(1, &["operator.admin"]).await;
    let mut first = Client::node(&rig.url(), 3, TOKEN, ALL).await.unwrap();
    let call = admin.send("node.invoke", to(3, "system.which", json!({}))).await;
    told(&mut first).await;
    let mut second = Client::node(&rig.url(), 3, TOKEN, ALL).await.unwrap();
    let failed = admin.answer(&call).await["error"]["message"].clone();
    assert_eq!(failed, "DISCONNECTED: node disconnected (system.which)");
    let call = admin.send("node.invoke", to(3, "system.which", json!({}))).await;
    let (invoke_id, ..) = told(&mut second).await;
    assert_eq!(answer(&mut first, 3, &invoke_id, json!({})).await, Ok(json!({"ok": true, "ignored": true})));
    answer(&mut second, 3, &invoke_id, json!({})).await.unwrap();
    assert_eq!(admin.answer(&call).await["ok"], true);
    admin.call("device.pair.remove", json!({"deviceId": id(3)})).await.unwrap();
    let gone = admin.call("node.invoke", to(3, "system.which", json!({}))).await;
    assert_eq!(gone, Err("node not connected".to_owned()));
    assert_eq!(second.close_code().await, 4_001);
}

#[tokio::test]
async fn the_document_of_a_node_is_read_and_replaced_through_its_own_commands() {
    let rig = Rig::new().await;
    let mut admin = rig.operator(1, &["operator.admin"]).await;
    let mut node = Client::node(&rig.url(), 3, TOKEN, ALL).await.unwrap();
    let document = |socket: Value| json!({"path": "/n", "exists": true, "hash": "h", "file": {"version": 1, "socket": socket}});
    let call = admin.send("exec.approvals.node.get", json!({"nodeId": id(3)})).await;
    let (invoke_id, command, params) = told(&mut node).await;
    assert_eq!((command.as_str(), params), ("system.execApprovals.get", json!({})));
    let whole = document(json!({"path": "/s", "token": "secret"}));
    answer(&mut node, 3, &invoke_id, json!({"payloadJSON": whole.to_string()})).await.unwrap();
    assert_eq!(admin.answer(&call).await["payload"], document(json!({"path": "/s"})));
    let set = json!({"nodeId": id(3), "file": {"version": 1}, "baseHash": "h"});
    let call = admin.send("exec.approvals.node.set", set).await;
    let (invoke_id, command, params) = told(&mut node).await;
    let passed = json!({"file": {"version": 1}, "baseHash": "h"});
    assert_eq!((command.as_str(), params), ("system.execApprovals.set", passed));
    let error = json!({"code": "INVALID_REQUEST", "message": "exec approvals changed"});
    answer(&mut node, 3, &invoke_id, json!({"ok": false, "error": error})).await.unwrap();
    assert_eq!(admin.answer(&call).await["error"]["details"]["nodeError"], error);
    let _mute = Client::node(&rig.url(), 4, TOKEN, &["system.run"]).await.unwrap();
    let refused = admin.call("exec.approvals.node.get", json!({"nodeId": id(4)})).await.unwrap_err();
    assert!(refused.starts_with("node command not allowed: "), "{refused}");
}

#[tokio::test]
async fn sessions_are_told_of_the_runs_of_their_nodes() {
    let rig = Handled::new().await;
    let (mut agent, mut node) = (rig.operator(1).await, rig.node(3).await);
    let call = agent
        .send(
            "node.invoke",
            to(3, "system.run", json!({"command": ["make"], "runId": "r-1", "sessionKey": "s-1"})),
        )
        .await;
    let (invoke_id, ..) = told(&mut node).await;
    let about = |more: Value| {
        let mut payload = json!({"sessionKey": "s-1", "runId": "r-1", "host": "node", "command": "make"});
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        payload
    };
    let handled = Ok(json!({"ok": true}));
    let started = json!({"event": "exec.started", "payload": about(json!({}))});
    assert_eq!(node.call("node.event", started).await, handled);
    answer(&mut node, 3, &invoke_id, json!({})).await.unwrap();
    assert_eq!(agent.answer(&call).await["ok"], true);
    // After the answer, as text, and what comes twice is told once.
    let output = about(json!({"exitCode": 2, "timedOut": false, "success": false, "output": "no\n rule"}));
    let finished = json!({"event": "exec.finished", "payload": {}, "payloadJSON": output.to_string()});
    assert_eq!(node.call("node.event", finished.clone()).await, handled);
    assert_eq!(node.call("node.event", finished).await.unwrap()["reason"], "unmatched_exec_event");
    let node_id = id(3);
    assert_eq!(
        events_of(&mut agent, "s-1").await,
        [
            format!("Exec started (node={node_id} id=r-1): make"),
            format!("Exec finished (node={node_id} id=r-1, code 2)\nno rule"),
        ]
    );
    assert_eq!(events_of(&mut agent, "s-1").await, Vec::<String>::new());
    let muted =
        json!({"command": ["make"], "runId": "r-2", "sessionKey": "s-1", "suppressNotifyOnExit": true});
    let call = agent.send("node.invoke", to(3, "system.run", muted)).await;
    let (invoke_id, ..) = told(&mut node).await;
    let denied = json!({"sessionKey": "s-1", "runId": "r-2", "command": "make", "reason": "allowlist-miss"});
    assert_eq!(node.call("node.event", json!({"event": "exec.denied", "payload": denied})).await, handled);
    answer(&mut node, 3, &invoke_id, json!({"ok": false})).await.unwrap();
    assert_eq!(agent.answer(&call).await["error"]["message"], "node invoke failed");
    assert_eq!(events_of(&mut agent, "s-1").await, Vec::<String>::new());
}

#[tokio::test]
async fn t06_forged_events_of_runs_are_told_to_nobody_and_change_nothing() {
    let rig = Handled::new().await;
    let (mut agent, mut person) = (rig.operator(1).await, rig.operator(2).await);
    let (mut node, mut liar) = (rig.node(3).await, rig.node(4).await);
    let waiting = json!({"id": "r-1", "host": "node", "nodeId": id(3), "systemRunPlan": plan("make all")});
    agent.send("exec.approval.request", waiting).await;
    person.event("exec.approval.requested").await;
    agent
        .send(
            "node.invoke",
            to(3, "system.run", json!({"command": ["make"], "runId": "r-2", "sessionKey": "s-1"})),
        )
        .await;
    told(&mut node).await;
    let event = |session: &str, run_id: &str| json!({"event": "exec.finished", "payload": {"sessionKey": session, "runId": run_id, "command": "x", "exitCode": 1}});
    let unmatched = json!({
        "ok": true, "event": "exec.finished", "handled": false, "reason": "unmatched_exec_event",
    });
    for (session, run_id) in [("s-1", "r-2"), ("s-1", "r-1"), ("s-1", ""), ("", "r-2"), ("node", "r-2")] {
        assert_eq!(liar.call("node.event", event(session, run_id)).await, Ok(unmatched.clone()));
    }
    for (session, run_id) in [("s-2", "r-2"), ("s-1", "r-1"), ("s-1", "r-9"), ("s-1", "")] {
        assert_eq!(node.call("node.event", event(session, run_id)).await, Ok(unmatched.clone()));
    }
    // Another connection of the very node was told nothing.
    let mut again = rig.node(3).await;
    assert_eq!(again.call("node.event", event("s-1", "r-2")).await, Ok(unmatched));
    for session in ["s-1", "s-2", "node"] {
        assert_eq!(events_of(&mut agent, session).await, Vec::<String>::new());
    }
    let refused = agent.call("exec.events.take", json!({"sessionKey": " "})).await.unwrap_err();
    assert_eq!(refused, "sessionKey required");
    let pending = person.call("exec.approval.list", json!({})).await.unwrap();
    assert_eq!(pending[0]["id"], "r-1", "no event answers an approval");
    for params in [json!({"event": ""}), json!({"payload": {}})] {
        assert!(
            node.call("node.event", params).await.unwrap_err().starts_with("invalid node.event params: ")
        );
    }
    let unknown = node.call("node.event", json!({"event": "chat.subscribe"})).await.unwrap();
    assert_eq!((&unknown["handled"], &unknown["reason"]), (&json!(false), &json!("unknown_event")));
}

#[tokio::test]
async fn the_app_lists_nodes_and_has_them_do_something_as_an_operator_would() {
    let rig = Handled::new().await;
    let (mut agent, mut person) = (rig.operator(1).await, rig.operator(2).await);
    let mut node = rig.node(3).await;
    let nodes = rig.gateway.nodes();
    assert_eq!((nodes.len(), nodes[0].node_id.as_str(), nodes[0].connected), (1, id(3).as_str(), true));
    let invoke = |command: &str, params: Value| InvokeParams {
        node_id: id(3),
        command: command.to_owned(),
        params: Some(params),
        idempotency_key: "k".to_owned(),
        ..InvokeParams::default()
    };
    let which = rig.gateway.invoke(invoke("system.which", json!({"bins": ["sh"]})));
    let answered = async {
        let (invoke_id, ..) = told(&mut node).await;
        answer(&mut node, 3, &invoke_id, json!({"payload": {"bins": {"sh": "/bin/sh"}}})).await.unwrap();
    };
    let (payload, ()) = tokio::join!(which, answered);
    assert_eq!(payload, Ok(json!({"bins": {"sh": "/bin/sh"}})));
    // T5: what another caller was allowed is nothing to it.
    decided(&mut agent, &mut person, 3, "r-1", "make all", "allow-once").await;
    let claim = rig.gateway.invoke(invoke("system.run", run("r-1", "make all"))).await.unwrap_err();
    assert_eq!(claim.details.unwrap()["code"], "APPROVAL_DEVICE_MISMATCH");
    // Who does not wait any more takes it back.
    let mut dropped = Box::pin(rig.gateway.invoke(invoke("system.run", json!({"command": ["sleep", "9"]}))));
    let told = tokio::select! {
        _ = &mut dropped => panic!("nobody answered"),
        told = told(&mut node) => told,
    };
    drop(dropped);
    assert_eq!(node.event("node.invoke.cancel").await["invokeId"], told.0.as_str());
}

#[tokio::test]
async fn the_app_runs_what_its_person_allowed_as_the_node_prepared_it() {
    let rig = Handled::new().await;
    let (mut node, mut simple) =
        (rig.node(3).await, Client::node(&rig.url, 4, TOKEN, &["system.run"]).await.unwrap());
    let ids = [3, 4, 9].map(|of| NodeId::from(id(of).as_str()));
    let params = || RunParams {
        command: vec!["make".to_owned(), "all".to_owned()],
        session_key: Some("s-1".to_owned()),
        run_id: Some("r-1".to_owned()),
        // What the node is told is up to the decision alone.
        approved: Some(true),
        approval_decision: Some("allow-always".to_owned()),
        ..RunParams::default()
    };
    let wait = Duration::from_secs(30);
    let ended =
        json!({"payload": {"exitCode": 0, "timedOut": false, "success": true, "stdout": "", "stderr": ""}});
    // It is prepared, allowed and run.
    let running =
        crate::gateway::nodes::run(&rig.gateway, &ids[0], params(), Some(Decision::AllowOnce), wait);
    let plan = json!({"argv": ["/usr/bin/make", "all"], "cwd": "/w", "commandText": "/usr/bin/make all"});
    let answered = async {
        let (invoke_id, command, params) = told(&mut node).await;
        assert_eq!((command.as_str(), &params["command"]), ("system.run.prepare", &json!(["make", "all"])));
        answer(&mut node, 3, &invoke_id, json!({"payload": {"plan": plan}})).await.unwrap();
        let (invoke_id, command, params) = told(&mut node).await;
        assert_eq!(
            (command.as_str(), &params["command"], &params["cwd"], &params["runId"]),
            ("system.run", &plan["argv"], &plan["cwd"], &json!("r-1"))
        );
        assert_eq!((&params["approved"], &params["approvalDecision"]), (&json!(true), &json!("allow-once")));
        assert_eq!(params["systemRunPlan"]["commandText"], "/usr/bin/make all");
        answer(&mut node, 3, &invoke_id, ended.clone()).await.unwrap();
    };
    let (payload, ()) = tokio::join!(running, answered);
    assert!(payload.unwrap().success);
    // Nobody allowed it, and the node prepares nothing.
    let running = crate::gateway::nodes::run(&rig.gateway, &ids[1], params(), None, wait);
    let answered = async {
        let (invoke_id, command, params) = told(&mut simple).await;
        assert_eq!(
            (command.as_str(), params.get("approved"), params.get("approvalDecision")),
            ("system.run", None, None)
        );
        let error = json!({"code": "SYSTEM_RUN_DENIED", "message": "approval required"});
        answer(&mut simple, 4, &invoke_id, json!({"ok": false, "error": error})).await.unwrap();
    };
    let (refused, ()) = tokio::join!(running, answered);
    assert_eq!(refused, Err(NodeError::new("SYSTEM_RUN_DENIED", "approval required")));
    // Another command than the one that was allowed is not run.
    let running =
        crate::gateway::nodes::run(&rig.gateway, &ids[0], params(), Some(Decision::AllowOnce), wait);
    let answered = async {
        let (invoke_id, ..) = told(&mut node).await;
        let plan = json!({"argv": ["/usr/bin/make", "install"], "commandText": "/usr/bin/make install"});
        answer(&mut node, 3, &invoke_id, json!({"payload": {"plan": plan}})).await.unwrap();
    };
    let (refused, ()) = tokio::join!(running, answered);
    assert_eq!(refused.unwrap_err().code.as_deref(), Some("INVALID_REQUEST"));
    let gone = crate::gateway::nodes::run(&rig.gateway, &ids[2], params(), None, wait).await;
    assert_eq!(gone, Err(NodeError::new("NOT_CONNECTED", "node not connected")));
}

#[tokio::test]
async fn t04_a_person_sees_which_devices_are_nodes_and_what_they_claim_to_take() {
    let rig = Handled::new().await;
    let (_operator, node) = (rig.operator(1).await, rig.node(3).await);
    let shown = || {
        let views = view::devices(&rig.gateway.devices(), &rig.gateway.clients());
        let of = |id: String| views.iter().find(|view| view.id == id).unwrap().clone();
        [of(id(1)), of(id(3))].map(|view| (view.roles, view.connected, view.commands))
    };
    let mut takes: Vec<String> = command::ALL.iter().map(|command| (*command).to_owned()).collect();
    takes.sort();
    let operator = (vec!["operator".to_owned()], true, vec![]);
    assert_eq!(shown(), [operator.clone(), (vec!["node".to_owned()], true, takes)]);
    let mut changes = rig.gateway.changes();
    drop(node);
    let gone = (vec!["node".to_owned()], false, vec![]);
    while shown() != [operator.clone(), gone.clone()] {
        changes.changed().await.unwrap();
    }
    // What it calls itself is shown so that nothing in it deceives the eye.
    let mut odd = Client::node(&rig.url, 5, TOKEN, &["system.run\u{202e}", "\u{202e}"]).await.unwrap();
    assert!(odd.call("node.event", json!({"event": "x"})).await.is_ok());
    let views = view::devices(&rig.gateway.devices(), &rig.gateway.clients());
    assert_eq!(views.iter().find(|view| view.id == id(5)).unwrap().commands, Vec::<String>::new());
}
