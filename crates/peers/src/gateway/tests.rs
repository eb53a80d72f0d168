//! The gateway over real sockets, spoken to as peers speak to it.

use super::*;
use countersign_core::private;
use countersign_gateway::identity::Identity;
use countersign_protocol::limits::DISPLAY_ARGUMENTS;
use futures_util::StreamExt as _;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};

mod client;
mod nodes;
mod plugins;
mod policies;
mod tools;

pub(crate) use client::{APPROVER, Client};

const TOKEN: &str = "a token of this test";

struct Rig {
    folder: TempDir,
    paths: Paths,
    serving: Serving,
}

impl Rig {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().to_str().unwrap().to_owned();
        let env =
            BTreeMap::from([("HOME".to_owned(), state.clone()), ("COUNTERSIGN_STATE_DIR".to_owned(), state)]);
        let paths = Paths::from_env(&env).unwrap();
        let serving = serve_alone(&paths, options()).await.unwrap();
        Self { folder, paths, serving }
    }

    fn url(&self) -> String {
        format!("ws://{}", self.serving.address)
    }

    async fn operator(&self, seed: u8, scopes: &[&str]) -> Client {
        Client::connect(&self.url(), seed, TOKEN, scopes).await.expect("hello-ok")
    }
}

fn options() -> Options {
    Options { port: 0, token: Some(TOKEN.to_owned()), token_file: None }
}

#[tokio::test]
async fn an_approval_goes_from_one_client_to_another_and_back() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    let params = json!({
        "id": "a-1", "command": "rm -rf build", "cwd": "/w", "host": "gateway", "ask": "on-miss", "agentId": "main",
        "twoPhase": true, "timeoutMs": 60_000,
    });
    let asked = agent.send("exec.approval.request", params).await;
    let accepted = agent.answer(&asked).await["payload"].clone();
    assert_eq!((&accepted["status"], &accepted["id"]), (&json!("accepted"), &json!("a-1")));
    let requested = person.event("exec.approval.requested").await;
    assert_eq!(requested["request"]["command"], "rm -rf build");
    assert_eq!(requested["request"]["allowedDecisions"], json!(["allow-once", "allow-always", "deny"]));
    assert_eq!(person.call("exec.approval.list", json!({})).await.unwrap(), json!([requested]));
    let short = person.call("exec.approval.get", json!({"id": "a-1"})).await.unwrap();
    assert_eq!(short["commandText"], "rm -rf build");
    let answered = person.call("exec.approval.resolve", json!({"id": "a-1", "decision": "allow-once"})).await;
    assert_eq!(answered, Ok(json!({"ok": true})));
    let decided = agent.answer(&asked).await["payload"].clone();
    assert_eq!(
        (&decided["decision"], &decided["expiresAtMs"]),
        (&json!("allow-once"), &accepted["expiresAtMs"])
    );
    for client in [&mut agent, &mut person] {
        let resolved = client.event("exec.approval.resolved").await;
        assert_eq!(
            (&resolved["decision"], &resolved["resolvedBy"]),
            (&json!("allow-once"), &json!("client 2"))
        );
    }
    // Ended a moment ago: known to those who come late.
    let late = person.call("exec.approval.waitDecision", json!({"id": " a-1 "})).await.unwrap();
    assert_eq!(late["decision"], "allow-once");
    let again = |decision: &str| json!({"id": "a-1", "decision": decision});
    assert!(person.call("exec.approval.resolve", again("allow-once")).await.is_ok());
    let other = person.call("exec.approval.resolve", again("deny")).await;
    assert_eq!(other, Err("approval already resolved".to_owned()));
    assert_eq!(person.call("exec.approval.list", json!({})).await, Ok(json!([])));
}

#[tokio::test]
async fn t02_a_device_cannot_allow_what_it_asked_for() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    // A second connection of the same device is the same device.
    let mut second = rig.operator(1, &["operator.admin"]).await;
    let asked = agent.send("exec.approval.request", json!({"id": "own-request", "command": "id"})).await;
    person.event("exec.approval.requested").await;
    let allow = json!({"id": "own-request", "decision": "allow-always"});
    for client in [&mut agent, &mut second] {
        let refused = client.call("exec.approval.resolve", allow.clone()).await.unwrap_err();
        assert_eq!(refused, "an approval cannot be allowed by the device that asked for it");
    }
    let denied = second.call("exec.approval.resolve", json!({"id": "own-requ", "decision": "deny"})).await;
    assert!(denied.is_ok(), "whoever asks may take it back: {denied:?}");
    assert_eq!(agent.answer(&asked).await["payload"]["decision"], "deny");
}

#[tokio::test]
async fn bad_requests_are_refused_in_the_peers_words() {
    let rig = Rig::new().await;
    let (mut agent, _person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    let plan = json!({"argv": [], "commandText": "id"});
    let long = "x".repeat(262_145);
    for (params, expected) in [
        (json!({"command": 7}), "invalid exec.approval.request params: "),
        (json!([]), "command is required"),
        (json!({"host": "node", "command": "id"}), "nodeId is required for host=node"),
        (json!({"host": "node", "nodeId": "n", "command": "id"}), "systemRunPlan is required for host=node"),
        (json!({"command": " "}), "command is required"),
        (json!({"command": "id", "id": "plugin:1"}), "approval ids starting with plugin: are reserved"),
        (
            json!({"host": "node", "nodeId": "n", "systemRunPlan": plan}),
            "systemRunPlan is required for host=node",
        ),
        (json!({"command": long}), "command exceeds exec approval display limit"),
        (json!({"command": "id", "id": "a/b"}), "approval id must be 1-128 characters using only letters"),
        (json!({"command": "id", "timeoutMs": 0}), "invalid exec.approval.request params: timeoutMs: "),
    ] {
        let refused = agent.call("exec.approval.request", params.clone()).await.unwrap_err();
        assert!(refused.starts_with(expected), "{refused}");
    }
    for (method, params, expected) in [
        ("exec.approval.waitDecision", json!({}), "id is required"),
        ("exec.approval.waitDecision", json!({"id": "none"}), "approval expired or not found"),
        ("exec.approval.resolve", json!({"id": "none", "decision": "yes"}), "invalid decision"),
        (
            "exec.approval.resolve",
            json!({"id": "none", "decision": "deny"}),
            "unknown or expired approval id",
        ),
        ("exec.approval.get", json!({"id": "none"}), "unknown or expired approval id"),
        ("device.pair.list", json!({}), "missing scope: operator.pairing"),
        ("no.such", json!({}), "unknown method: no.such"),
    ] {
        assert_eq!(agent.call(method, params).await.unwrap_err(), expected, "{method}");
    }
}

#[tokio::test]
async fn an_id_is_used_once_and_its_beginning_is_enough_when_it_is_long() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    for id in ["abcdefgh-1", "abcdefgh-2"] {
        agent.send("exec.approval.request", json!({"id": id, "command": "id"})).await;
        person.event("exec.approval.requested").await;
    }
    let twice = agent.call("exec.approval.request", json!({"id": "abcdefgh-1", "command": "id"})).await;
    assert_eq!(twice, Err("approval id already pending".to_owned()));
    let mut deny =
        async |id: &str| person.call("exec.approval.resolve", json!({"id": id, "decision": "deny"})).await;
    assert_eq!(deny("abcdefg").await, Err("unknown or expired approval id".to_owned()));
    assert_eq!(deny("abcdefgh").await, Err("ambiguous approval id prefix; use the full id".to_owned()));
    assert!(deny("ABCDEFGH-2").await.is_ok());
    assert!(deny("abcdefgh").await.is_ok(), "only one waits now");
}

#[tokio::test]
async fn what_ask_always_does_not_offer_cannot_be_answered() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    agent.send("exec.approval.request", json!({"id": "a", "command": "id", "ask": "always"})).await;
    let requested = person.event("exec.approval.requested").await;
    assert_eq!(requested["request"]["allowedDecisions"], json!(["allow-once", "deny"]));
    let always = json!({"id": "a", "decision": "allow-always"});
    let refused = person.call("exec.approval.resolve", always).await.unwrap_err();
    assert!(refused.starts_with("allow-always is unavailable because"), "{refused}");
    assert!(person.call("exec.approval.resolve", json!({"id": "a", "decision": "deny"})).await.is_ok());
}

#[tokio::test]
async fn t08_what_nobody_can_read_whole_is_allowed_by_no_client() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    let argv = vec!["x"; DISPLAY_ARGUMENTS + 1];
    let params = json!({"id": "a", "command": argv.join(" "), "commandArgv": argv});
    agent.send("exec.approval.request", params).await;
    let requested = person.event("exec.approval.requested").await;
    assert_eq!(requested["request"]["allowedDecisions"], json!(["deny"]));
    let shown = person.call("approval.get", json!({"id": "a"})).await.unwrap();
    assert_eq!(shown["approval"]["presentation"]["allowedDecisions"], json!(["deny"]), "{shown}");
    for decision in ["allow-once", "allow-always"] {
        let params = json!({"id": "a", "decision": decision});
        let refused = person.call("exec.approval.resolve", params).await.unwrap_err();
        assert!(refused.contains("too long to be read"), "{decision}: {refused}");
    }
    assert_eq!(person.call("exec.approval.list", json!({})).await.unwrap().as_array().unwrap().len(), 1);
    // For the method of every kind an answer that is not offered makes no sense, and is a denial.
    let params = json!({"id": "a", "kind": "exec", "decision": "allow-once"});
    let ended = person.call("approval.resolve", params).await.unwrap();
    assert_eq!(
        (&ended["approval"]["status"], &ended["approval"]["decision"]),
        (&json!("denied"), &json!("deny"))
    );
}

#[tokio::test]
async fn without_anybody_to_answer_a_request_ends_at_once_without_a_decision() {
    let rig = Rig::new().await;
    let mut agent = rig.operator(1, APPROVER).await;
    let nobody =
        agent.call("exec.approval.request", json!({"command": "id", "twoPhase": true})).await.unwrap();
    assert_eq!(nobody["decision"], Value::Null);
    // It may wait all the same when the requester says so, and runs into its end.
    let params = json!({"command": "id", "timeoutMs": 20, "requireDeliveryRoute": false});
    let expired = agent.call("exec.approval.request", params).await.unwrap();
    assert_eq!(expired["decision"], Value::Null);
}

#[tokio::test]
async fn t09_what_is_shown_cannot_deceive_the_eye() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    let command = "echo \u{202e}fdp.exe \u{200b}x --token=sk-ABCDEFGHIJKLMNOPQRSTUVWX1234";
    agent.send("exec.approval.request", json!({"command": command, "env": {"K\u{7}": "v"}})).await;
    let request = person.event("exec.approval.requested").await["request"].clone();
    let shown = request["command"].as_str().unwrap();
    assert!(shown.starts_with("echo \\u{202e}fdp.exe \\u{200b}x --token="), "{shown}");
    assert!(!shown.contains("KLMNOPQRSTUVWX"), "{shown}");
    assert_eq!(request["envKeys"], json!(["K\\u{0007}"]));
    assert!(!request.to_string().contains("\"v\""), "values stay away: {request}");
}

#[tokio::test]
async fn t03_only_programs_of_this_machine_with_the_token_come_in() {
    let rig = Rig::new().await;
    for token in ["", "wrong", &TOKEN[1..]] {
        let error = Client::connect(&rig.url(), 1, token, APPROVER).await.err().unwrap();
        assert!(error["message"].as_str().unwrap().starts_with("unauthorized: "), "{error}");
    }
    for (name, value) in [
        ("Origin", "http://localhost"),
        ("Host", "attacker.example"),
        ("Host", "attacker.example:18790"),
        ("X-Forwarded-For", "10.0.0.1"),
    ] {
        let mut request = rig.url().into_client_request().unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
        match connect_async(request).await {
            Err(Error::Http(answer)) => assert_eq!(answer.status(), 403, "{name}: {value}"),
            other => panic!("{name}: {value}: {other:?}"),
        }
    }
    // Ten wrong guesses lock the door, for the right token too.
    for _ in 0..10 {
        let _ = Client::connect(&rig.url(), 1, "wrong", APPROVER).await.err().unwrap();
    }
    let error = Client::connect(&rig.url(), 1, TOKEN, APPROVER).await.err().unwrap();
    assert_eq!(error["details"]["code"], "AUTH_RATE_LIMITED");
}

#[tokio::test]
async fn devices_are_remembered_and_can_be_sent_away() {
    let rig = Rig::new().await;
    let mut admin = rig.operator(1, &["operator.admin"]).await;
    drop(rig.operator(2, APPROVER).await);
    let devices = admin.call("device.pair.list", json!({})).await.unwrap();
    assert_eq!(devices["paired"].as_array().unwrap().len(), 2);
    let gone = Identity::from_seed(&[2; 32]).device_id();
    assert_eq!(
        admin.call("device.pair.remove", json!({"deviceId": gone})).await,
        Ok(json!({"deviceId": gone}))
    );
    let again = admin.call("device.pair.remove", json!({"deviceId": gone})).await;
    assert_eq!(again, Err("unknown deviceId".to_owned()));
    let Rig { folder, paths, serving } = rig;
    serving.stop().await;
    let stored = state::devices(&paths.gateway().join(ALONE)).unwrap();
    assert_eq!(stored.len(), 1);
    drop(folder);
}

#[tokio::test]
async fn a_stop_is_told_to_every_client_and_ends_what_waits() {
    let rig = Rig::new().await;
    let (mut agent, mut person) = (rig.operator(1, APPROVER).await, rig.operator(2, APPROVER).await);
    agent.send("exec.approval.request", json!({"command": "id"})).await;
    person.event("exec.approval.requested").await;
    rig.serving.stop().await;
    assert_eq!(person.event("shutdown").await["reason"], "stopping");
    match person.socket.next().await {
        Some(Ok(Message::Close(Some(frame)))) => assert_eq!(u16::from(frame.code), 1_012),
        other => panic!("expected a close, got {other:?}"),
    }
}

#[tokio::test]
async fn t03_the_token_file_is_made_once_and_only_for_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gateway/token");
    let first = state::token(&file, &Ports::system()).unwrap();
    assert_eq!(first.len(), 32);
    assert_eq!(*state::token(&file, &Ports::system()).unwrap(), *first);
    let mode = |path: &Path| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    let refused = |change: &dyn Fn()| {
        change();
        state::token(&file, &Ports::system()).unwrap_err().to_string()
    };
    let others =
        || std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert!(refused(&others).contains("others than its owner"));
    let short = || {
        private::write(&file, b"short").unwrap();
    };
    assert!(refused(&short).contains("at least 16 characters"));
}
