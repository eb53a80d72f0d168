//! The runner against a gateway that each test scripts, real or lying, over real sockets,
//! with real processes.

use super::*;
use crate::testing::LIMIT;
use countersign_approvals::history;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::Outcome;
use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

mod threats;

/// How long the gateway of these tests waits for a result: however slow the machine is, it is there before.
const HOUR_MS: u64 = 3_600_000;

/// A node and the gateway's end of its connection.
struct Rig {
    folder: TempDir,
    listener: TcpListener,
    socket: WebSocketStream<TcpStream>,
    node_id: String,
    stop: CancellationToken,
    serving: JoinHandle<Result<Served, NotServed>>,
    calls: u32,
}

impl Rig {
    /// A machine with this document, connected to a gateway of this release.
    async fn new(defaults: Value, version: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".openclaw")).unwrap();
        private(&folder.path().join(".openclaw"), 0o700);
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let rig = async {
            let stop = CancellationToken::new();
            let place = ServedGateway {
                address: format!("ws://{}", listener.local_addr().unwrap()).parse_address(),
                pin: None,
                token: Some("a token".to_owned().into()),
                display_name: "a node".to_owned(),
                context: Context::App,
            };
            let (paths, stopping) = (paths(&folder), stop.clone());
            let document = json!({ "version": 1, "defaults": defaults, "agents": {} });
            std::fs::write(paths.document(), document.to_string()).unwrap();
            private(&paths.document(), 0o600);
            let serving = tokio::spawn(async move { serve(&paths, place, stopping, |_| {}).await });
            let (socket, node_id) = welcome(&listener, version).await;
            (stop, serving, socket, node_id)
        };
        let (stop, serving, socket, node_id) = rig.await;
        Self { folder, listener, socket, node_id, stop, serving, calls: 0 }
    }

    /// One that asks about everything, with nobody there to be asked.
    async fn asking() -> Self {
        Self::new(json!({ "security": "allowlist", "ask": "on-miss", "askFallback": "deny" }), "2026.9.6")
            .await
    }

    /// One that runs everything.
    async fn open() -> Self {
        Self::new(json!({ "security": "full", "ask": "off" }), "2026.9.6").await
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    async fn event(&mut self, name: &str, payload: Value) {
        let frame = json!({ "type": "event", "event": name, "payload": payload });
        self.socket.send(Message::text(frame.to_string())).await.unwrap();
    }

    /// Asks for a command; its id.
    async fn invoke(&mut self, command: &str, params: Value) -> String {
        self.calls += 1;
        let id = format!("i{}", self.calls);
        let node = self.node_id.clone();
        let request = json!({ "id": id, "nodeId": node, "command": command, "paramsJSON": params.to_string(),
            "timeoutMs": HOUR_MS, "idempotencyKey": id });
        self.event("node.invoke.request", request).await;
        id
    }

    /// The next call of the node, answered.
    async fn next(&mut self) -> Value {
        let call = next(&mut self.socket).await;
        let answer = json!({ "type": "res", "id": call["id"], "ok": true, "payload": { "ok": true } });
        self.socket.send(Message::text(answer.to_string())).await.unwrap();
        call
    }

    /// The result of a call, and the events before it.
    async fn result(&mut self, id: &str) -> (Value, Vec<Value>) {
        let mut events = Vec::new();
        loop {
            let call = self.next().await;
            match call["method"].as_str().unwrap() {
                "node.event" => events.push(event(&call)),
                "node.invoke.result" if call["params"]["id"] == id => {
                    assert_eq!(call["params"]["nodeId"], self.node_id.as_str());
                    return (call["params"].clone(), events);
                }
                _ => {}
            }
        }
    }

    /// Runs to its end.
    async fn run(&mut self, params: Value) -> (Value, Vec<Value>) {
        let id = self.invoke("system.run", params).await;
        let (result, mut events) = self.result(&id).await;
        // What somebody waits for comes first.
        while result["ok"] == true && events.last().is_none_or(|event| event["event"] != "exec.finished") {
            let call = self.next().await;
            assert_eq!(call["method"], "node.event", "{call}");
            events.push(event(&call));
        }
        (result, events)
    }

    /// Ends the runner; how every request ended, oldest first.
    async fn outcomes(self) -> Vec<Outcome> {
        let history = paths(&self.folder).history();
        self.stop.cancel();
        self.serving.await.unwrap().unwrap();
        let mut entries = history::page(&history, None, 200).unwrap().entries;
        entries.reverse();
        let outcomes = entries.into_iter().filter_map(|entry| match entry.event {
            HistoryEvent::Request { outcome, .. } => Some(outcome),
            _ => None,
        });
        outcomes.collect()
    }
}

fn paths(folder: &TempDir) -> Paths {
    let home = folder.path().to_str().unwrap().to_owned();
    let state = folder.path().join("state").to_str().unwrap().to_owned();
    let env = BTreeMap::from([("HOME".to_owned(), home), ("COUNTERSIGN_STATE_DIR".to_owned(), state)]);
    Paths::from_env(&env).unwrap()
}

fn private(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

trait ParseAddress {
    fn parse_address(&self) -> countersign_gateway::client::Address;
}

impl ParseAddress for String {
    fn parse_address(&self) -> countersign_gateway::client::Address {
        countersign_gateway::client::Address::parse(self).unwrap()
    }
}

async fn next(socket: &mut WebSocketStream<TcpStream>) -> Value {
    loop {
        let message = tokio::time::timeout(LIMIT, socket.next()).await.expect("in time");
        if let Message::Text(text) = message.expect("a frame").unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

/// Lets a node in; its socket and id.
async fn welcome(listener: &TcpListener, version: &str) -> (WebSocketStream<TcpStream>, String) {
    let (tcp, _) = tokio::time::timeout(LIMIT, listener.accept()).await.expect("in time").unwrap();
    let mut socket = tokio_tungstenite::accept_async(tcp).await.unwrap();
    let challenge =
        json!({ "type": "event", "event": "connect.challenge", "payload": { "nonce": "n", "ts": 1_000 } });
    socket.send(Message::text(challenge.to_string())).await.unwrap();
    let connect = next(&mut socket).await;
    let params = &connect["params"];
    assert_eq!(params["role"], "node");
    assert!(params["scopes"].as_array().is_none_or(Vec::is_empty));
    assert_eq!(
        (&params["client"]["id"], &params["client"]["mode"], &params["client"]["deviceFamily"]),
        (&json!("node-host"), &json!("node"), &json!("Linux"))
    );
    assert_eq!(params["commands"], json!(command::ALL));
    let protocol = if version < "2026.5" { 3 } else { 4 };
    let hello = json!({ "type": "hello-ok", "protocol": protocol, "server": { "version": version }, "snapshot": {},
        "features": { "methods": [], "events": [] }, "auth": { "role": "node", "scopes": [] },
        "policy": { "maxPayload": 1, "maxBufferedBytes": 1, "tickIntervalMs": 30_000 } });
    let answer = json!({ "type": "res", "id": connect["id"], "ok": true, "payload": hello });
    socket.send(Message::text(answer.to_string())).await.unwrap();
    let node_id = params["device"]["id"].as_str().unwrap().to_owned();
    (socket, node_id)
}

fn event(call: &Value) -> Value {
    let params = &call["params"];
    let payload: Value = serde_json::from_str(params["payloadJSON"].as_str().unwrap()).unwrap();
    json!({ "event": params["event"], "payload": payload })
}

fn payload(result: &Value) -> Value {
    serde_json::from_str(result["payloadJSON"].as_str().unwrap_or_else(|| panic!("{result}"))).unwrap()
}

#[tokio::test]
async fn a_command_runs_and_its_start_and_end_are_told() {
    let mut rig = Rig::open().await;
    let params = json!({ "command": ["sh", "-lc", "echo out; echo err >&2; exit 3"],
        "rawCommand": "echo out; echo err >&2; exit 3", "runId": " r 1 ", "sessionKey": "agent:main:s",
        "suppressNotifyOnExit": true, "systemRunPlan": null });
    let (result, events) = rig.run(params).await;
    assert_eq!(result["ok"], true);
    let expected = json!({ "exitCode": 3, "timedOut": false, "success": false, "stdout": "out\n", "stderr": "err\n",
        "error": "exit 3" });
    assert_eq!(payload(&result), expected);
    let [begun, event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(
        begun,
        &json!({ "event": "exec.started", "payload": { "sessionKey": "agent:main:s", "runId": " r 1 ", "host": "node",
            "command": "echo out; echo err >&2; exit 3", "suppressNotifyOnExit": true } })
    );
    assert_eq!(event["event"], "exec.finished");
    let expected = json!({ "sessionKey": "agent:main:s", "runId": " r 1 ", "host": "node", "exitCode": 3,
        "command": "echo out; echo err >&2; exit 3", "timedOut": false, "success": false,
        "output": "out\n\nerr\n\nexit 3", "suppressNotifyOnExit": true });
    assert_eq!(event["payload"], expected);
    assert_eq!(rig.outcomes().await, [Outcome::AllowedByPolicy]);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_what_was_expected() {
    let mut rig = Rig::open().await;
    for (command, params, code, text) in [
        ("system.run", json!({}), "INVALID_REQUEST", "INVALID_REQUEST: command required"),
        ("system.run", json!({ "command": [""] }), "INVALID_REQUEST", "command required"),
        ("system.run", json!({ "command": "ls" }), "INVALID_REQUEST", "system.run: invalid type"),
        ("system.run", json!([1]), "INVALID_REQUEST", "expected an object as parameters, got a list"),
        (
            "system.run",
            json!({ "command": ["ls"], "rawCommand": "rm" }),
            "INVALID_REQUEST",
            "rawCommand does not match command",
        ),
        (
            "system.run",
            json!({ "command": ["ls"], "env": { "LD_PRELOAD": "x" } }),
            "INVALID_REQUEST",
            "environment override rejected (blocked override keys: LD_PRELOAD)",
        ),
        (
            "system.run",
            json!({ "command": ["ls"], "timeoutMs": -1 }),
            "INVALID_REQUEST",
            "0 or more milliseconds",
        ),
        (
            "system.run",
            json!({ "command": ["ls"], "cwd": "/nowhere/at/all" }),
            "SYSTEM_RUN_DENIED",
            "does not exist",
        ),
        (
            "system.run",
            json!({ "command": ["ls"], "needsScreenRecording": true }),
            "SYSTEM_RUN_DENIED",
            "PERMISSION_MISSING: screenRecording",
        ),
        (
            "system.run",
            json!({ "command": ["ls"], "approvalSource": "other" }),
            "INVALID_REQUEST",
            "approvalSource invalid",
        ),
        ("system.which", json!({ "bins": 1 }), "INVALID_REQUEST", "system.which: invalid type"),
        ("system.notify", json!({}), "UNAVAILABLE", "command not supported"),
        ("system.execApprovals.set", json!({ "file": {} }), "INVALID_REQUEST", "base hash required"),
    ] {
        let id = rig.invoke(command, params.clone()).await;
        let (result, _) = rig.result(&id).await;
        assert_eq!(
            (&result["ok"], &result["error"]["code"]),
            (&json!(false), &json!(code)),
            "{params}: {result}"
        );
        let message = result["error"]["message"].as_str().unwrap();
        assert!(message.contains(text), "{params}: {message}");
    }
}

#[tokio::test]
async fn a_release_gets_no_member_that_its_schema_refuses() {
    for (version, is_there) in
        [("2026.2.26", false), ("2026.7.35", false), ("2026.8.2", true), ("2026.9.6", true)]
    {
        let mut rig = Rig::new(json!({ "security": "allowlist", "ask": "on-miss" }), version).await;
        let id = rig.invoke("system.execApprovals.get", json!({})).await;
        let (result, _) = rig.result(&id).await;
        let payload: Value = serde_json::from_str(result["payloadJSON"].as_str().unwrap()).unwrap();
        assert_eq!(payload.get("resolvedDefaults").is_some(), is_there, "{version}: {payload}");
        assert!(payload["file"].is_object(), "{version}: {payload}");
    }
}

#[tokio::test]
async fn a_run_that_is_cancelled_or_whose_gateway_goes_ends_at_once() {
    let mut rig = Rig::open().await;
    let marker = rig.work().join("late");
    let text = format!("trap '' TERM; sleep 600; touch {}", marker.display());
    let id = rig.invoke("system.run", json!({ "command": ["sh", "-c", text] })).await;
    let node = rig.node_id.clone();
    rig.event("node.invoke.cancel", json!({ "invokeId": id, "nodeId": node })).await;
    let (result, _) = rig.result(&id).await;
    // Before it started it is refused, afterwards it is ended: nothing is left in either case.
    assert!(result["ok"] == false || payload(&result)["error"] == "cancelled", "{result}");
    rig.invoke("system.run", json!({ "command": ["sleep", "600"] })).await;
    rig.socket.close(None).await.unwrap();
    let (socket, again) = welcome(&rig.listener, "2026.9.6").await;
    assert_eq!(again, rig.node_id);
    rig.socket = socket;
    let (result, _) = rig.run(json!({ "command": ["true"] })).await;
    assert_eq!(payload(&result)["exitCode"], 0);
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_run_that_ignores_its_limit_prints_without_end_or_leaves_a_daemon_ends_all_the_same() {
    let mut rig = Rig::open().await;
    let (result, _) = rig
        .run(json!({ "command": ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], "timeoutMs": 300 }))
        .await;
    assert_eq!(payload(&result)["timedOut"], true);
    let (result, _) = rig.run(json!({ "command": ["head", "-c", "1000000000", "/dev/zero"] })).await;
    let printed = payload(&result);
    let stdout = printed["stdout"].as_str().unwrap();
    assert!(stdout.ends_with("... (truncated)"), "{}", stdout.len());
    assert!(stdout.len() <= 200_000 + "\n... (truncated)".len());
    let (result, events) = rig.run(json!({ "command": ["printf", r"a\377b"] })).await;
    assert_eq!((payload(&result)["stdout"].as_str(), events.len()), (Some("a\u{fffd}b"), 2));
    // It keeps the pipes open for ten minutes.
    let (result, _) = rig.run(json!({ "command": ["sh", "-c", "sleep 600 & echo started"] })).await;
    assert_eq!(payload(&result)["stdout"], "started\n");
    let gone = rig.work().join("gone");
    std::fs::create_dir(&gone).unwrap();
    let text = format!("rmdir {}; echo still here", gone.display());
    let (result, _) = rig.run(json!({ "command": ["sh", "-c", text], "cwd": gone })).await;
    assert_eq!(payload(&result)["stdout"], "still here\n");
}

#[tokio::test]
async fn without_the_app_what_needs_a_person_is_denied_in_the_words_of_each_release() {
    for (version, code) in [("2026.2.26", "UNAVAILABLE"), ("2026.9.6", "SYSTEM_RUN_DENIED")] {
        let defaults = json!({ "security": "allowlist", "ask": "on-miss", "askFallback": "deny" });
        let mut rig = Rig::new(defaults, version).await;
        let (result, events) = rig.run(json!({ "command": ["true"], "runId": "r" })).await;
        assert_eq!(
            result["error"],
            json!({ "code": code, "message": "SYSTEM_RUN_DENIED: approval required" })
        );
        let expected = json!({ "event": "exec.denied", "payload": { "sessionKey": "node", "runId": "r",
            "host": "node", "command": "true", "reason": "approval-required" } });
        assert_eq!(events, [expected]);
        assert_eq!(rig.outcomes().await, [Outcome::NotShown]);
    }
}

#[tokio::test]
async fn an_app_that_is_there_and_cannot_be_reached_is_a_denial_whatever_the_fallback() {
    let defaults = json!({ "security": "full", "ask": "always", "askFallback": "full" });
    let mut rig = Rig::new(defaults, "2026.9.6").await;
    let state = paths(&rig.folder).control_socket();
    let app = countersign_node::socket::listener::Listener::bind(&state).unwrap();
    let (result, _) = rig.run(json!({ "command": ["true"], "runId": "r" })).await;
    assert_eq!(result["error"]["message"], "COMPANION_APP_UNAVAILABLE: the app did not answer");
    drop(app);
    let (result, _) = rig.run(json!({ "command": ["true"], "runId": "s" })).await;
    assert_eq!(payload(&result)["exitCode"], 0);
}

#[tokio::test]
async fn what_a_run_would_be_is_said_before_anybody_is_asked() {
    let mut rig = Rig::asking().await;
    let script = rig.work().join("job.sh");
    std::fs::write(&script, "echo job\n").unwrap();
    let params = json!({ "command": ["/bin/sh", script], "cwd": rig.work(), "agentId": "main", "sessionKey": "s",
        "security": "full", "ask": "always" });
    let id = rig.invoke("system.run.prepare", params).await;
    let prepared = payload(&rig.result(&id).await.0);
    assert_eq!(prepared["execPolicy"], json!({ "security": "allowlist", "ask": "always" }));
    let plan = &prepared["plan"];
    assert_eq!(
        (&plan["agentId"], &plan["sessionKey"], &plan["cwd"]),
        (&json!("main"), &json!("s"), &json!(rig.work()))
    );
    assert_eq!(plan["policySnapshot"]["security"], "allowlist");
    let operand = &plan["mutableFileOperand"];
    assert_eq!((&operand["argvIndex"], operand["sha256"].as_str().map(str::len)), (&json!(1), Some(64)));
    let id = rig
        .invoke("system.run.prepare", json!({ "command": ["/bin/sh", "-lc", "true"], "rawCommand": "true" }))
        .await;
    let prepared = payload(&rig.result(&id).await.0);
    assert_eq!(prepared["plan"]["commandText"], "/bin/sh -lc true");
    assert_eq!(prepared["plan"]["commandPreview"], "true");
    let bad = rig.invoke("system.run.prepare", json!({ "command": ["true"], "security": "anything" })).await;
    let (result, _) = rig.result(&bad).await;
    assert!(
        result["error"]["message"].as_str().unwrap().contains("security: expected a known value"),
        "{result}"
    );
}

#[tokio::test]
async fn programs_are_found_by_name_alone() {
    let mut rig = Rig::open().await;
    let bins = json!({ "bins": ["sh", "/bin/sh", "..\\sh", "no-such-program-here", ""] });
    let id = rig.invoke("system.which", bins).await;
    let found = payload(&rig.result(&id).await.0);
    let names: Vec<&String> = found["bins"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["sh"]);
}

#[tokio::test]
async fn two_hundred_runs_at_once_are_all_told_whole() {
    let mut rig = Rig::open().await;
    let mut waiting = std::collections::BTreeSet::new();
    for number in 0..200 {
        let text = format!("seq 1 {number}; echo end {number}");
        waiting.insert(rig.invoke("system.run", json!({ "command": ["sh", "-c", text] })).await);
    }
    while !waiting.is_empty() {
        let call = rig.next().await;
        if call["method"] != "node.invoke.result" {
            continue;
        }
        let id = call["params"]["id"].as_str().unwrap().to_owned();
        assert!(waiting.remove(&id), "{id} was told twice");
        let number: u32 = id[1..].parse::<u32>().unwrap() - 1;
        let lines: String = (1..=number).map(|line| format!("{line}\n")).collect();
        let told = payload(&call["params"]);
        let whole = (told["stdout"] == format!("{lines}end {number}\n"), &told["error"], &told["stderr"]);
        assert_eq!(whole, (true, &Value::Null, &json!("")), "{call}");
    }
}

#[tokio::test]
async fn one_runner_at_a_time_serves_as_a_node() {
    let rig = Rig::open().await;
    let place = ServedGateway {
        address: "ws://127.0.0.1:9".to_owned().parse_address(),
        pin: None,
        token: None,
        display_name: "second".to_owned(),
        context: Context::App,
    };
    let second = serve(&paths(&rig.folder), place, CancellationToken::new(), |_| {}).await;
    assert!(second.unwrap_err().to_string().contains("another runner"));
}
