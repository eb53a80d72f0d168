//! The app's own gateway with everything running: programs at its socket, a person at the desk.

use super::*;
use crate::testing::{PATIENCE, POLL, decide, next, next_card, paths_on};
use crate::wiring::Companion;
use countersign_approvals::actor::PresenterGuard;
use countersign_core::paths::Paths;
use countersign_core::private;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::{Outcome, Via};
use countersign_protocol::rule_edits::{RuleEdit, RuleEditParams};
use countersign_protocol::ui::{Expected, Fact, Mistake, PairingReason, SecretEdit, SecretKind};
use countersign_protocol::vocabulary::Decision;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, TcpListener};
use tempfile::TempDir;

#[path = "../../../../peers/src/gateway/tests/client.rs"]
mod client;

use client::{APPROVER, Client};

struct Rig {
    companion: Companion,
    presenter: PresenterGuard,
    paths: Paths,
    home: TempDir,
}

impl Rig {
    /// The app with its gateway on any free port.
    async fn start() -> Self {
        let rig = Self::on_port(tempfile::tempdir().unwrap(), "0");
        rig.url().await;
        rig
    }

    fn on_port(home: TempDir, port: &str) -> Self {
        let paths = paths_on(home.path(), port);
        let (companion, presenter) = Companion::start(&paths).unwrap();
        Self { companion, presenter, paths, home }
    }

    fn desk(&self) -> &Desk {
        self.companion.desk()
    }

    /// Waits until the gateway is as wanted.
    async fn wait<T>(&self, wanted: impl Fn(EmbeddedView) -> Option<T>) -> T {
        let mut changes = self.desk().inner.parts.gateway.changes();
        let waiting = async {
            loop {
                if let Some(found) = wanted(self.desk().embedded()) {
                    return found;
                }
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap()
    }

    async fn url(&self) -> String {
        self.wait(|view| match view.state {
            EmbeddedState::Serving { url } => Some(url),
            EmbeddedState::Off | EmbeddedState::Failed { .. } => None,
        })
        .await
    }

    async fn connect(&self, device: u8, scopes: &[&str]) -> Result<Client, Value> {
        let token = std::fs::read_to_string(self.paths.gateway().join("token")).unwrap();
        Client::connect(&self.url().await, device, token.trim(), scopes).await
    }

    /// Lets a device in as the person does, and connects it.
    async fn let_in(&self, device: u8, scopes: &[&str]) -> Client {
        let refused = self.connect(device, scopes).await.err().unwrap();
        assert_eq!(self.approve(refused["details"]["requestId"].as_str().unwrap()).await, Ok(()));
        self.connect(device, scopes).await.unwrap()
    }

    /// Lets in as soon as that is taken.
    async fn approve(&self, request_id: &str) -> Result<(), CommandError> {
        loop {
            match self.desk().answer_pairing(request_id, true).await {
                Err(error) if error.code == ErrorCode::NotArmed => tokio::time::sleep(POLL).await,
                answered => return answered,
            }
        }
    }

    /// What the history says about requests, once it has so many lines about them.
    async fn history(&self, count: usize) -> Vec<(String, Via, Outcome, Option<String>)> {
        let all = async {
            loop {
                let page = self.desk().history(None, 50).await.unwrap();
                let lines = page.entries.into_iter().rev().filter_map(|entry| match entry.event {
                    HistoryEvent::Request { command, via, outcome, by, .. } => {
                        Some((command, via, outcome, by))
                    }
                    _ => None,
                });
                let lines: Vec<_> = lines.collect();
                if lines.len() >= count {
                    return lines;
                }
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::time::timeout(PATIENCE, all).await.unwrap()
    }
}

fn asking(id: &str, command: &str) -> Value {
    json!({"id": id, "command": command, "cwd": "/tmp", "host": "gateway", "agentId": "main"})
}

#[tokio::test(flavor = "multi_thread")]
async fn t03_a_new_device_is_let_in_by_the_person_only() {
    let rig = Rig::start().await;
    let mut messages = rig.desk().messages();
    let wanted = &["operator.approvals", "operator.pairing"];
    let refused = rig.connect(1, wanted).await.err().unwrap();
    assert_eq!(refused["details"]["code"], "PAIRING_REQUIRED");
    let shown = next(&mut messages, |event| match event {
        UiEvent::ShowPage { page, .. } => Some(page),
        _ => None,
    });
    assert_eq!(shown.await, Page::Connections);
    let waiting = rig.desk().embedded().waiting;
    assert_eq!(waiting.len(), 1);
    assert_eq!(
        (waiting[0].reason, &waiting[0].scopes[..]),
        (PairingReason::NotPaired, &wanted.map(str::to_owned)[..])
    );
    // Knocking again is the same request, and lets nobody in.
    let again = rig.connect(1, wanted).await.err().unwrap();
    assert_eq!(again["details"]["requestId"], refused["details"]["requestId"]);
    let request = waiting[0].request_id.as_str();
    let at_once = rig.desk().answer_pairing(request, true).await;
    assert_eq!(at_once.unwrap_err().code, ErrorCode::NotArmed);
    assert_eq!(rig.approve(request).await, Ok(()));
    assert_eq!(rig.desk().answer_pairing(request, true).await.unwrap_err().code, ErrorCode::Gone);
    let mut first = rig.connect(1, wanted).await.unwrap();
    let view = rig.wait(|view| (view.clients.len() == 1).then_some(view)).await;
    assert_eq!((view.devices.len(), view.waiting.len()), (1, 0));

    // It lets nobody in who wants more than it has, and least of all itself.
    let knock = async |device, scopes: &[&str]| {
        let refused = rig.connect(device, scopes).await.err().unwrap();
        json!({"requestId": refused["details"]["requestId"]})
    };
    let more = knock(1, &["operator.admin"]).await;
    let refused = first.call("device.pair.approve", more).await;
    assert_eq!(refused, Err("a device cannot let itself in".to_owned()));
    let admin = knock(2, &["operator.admin"]).await;
    let refused = first.call("device.pair.approve", admin.clone()).await;
    assert_eq!(refused, Err("missing scope: operator.admin".to_owned()));
    let turned_away = admin["requestId"].as_str().unwrap();
    assert_eq!(rig.desk().answer_pairing(turned_away, false).await, Ok(()));
    // One that it lets in lets nobody in.
    let second = knock(3, wanted).await;
    assert!(first.call("device.pair.approve", second).await.is_ok());
    let mut second = rig.connect(3, wanted).await.unwrap();
    let third = knock(4, &["operator.approvals"]).await;
    let refused = second.call("device.pair.approve", third).await;
    assert_eq!(refused, Err("only a device that a person let in may let others in".to_owned()));

    // Sent away, it is gone at once.
    let id = rig.desk().embedded().clients.iter().find_map(|client| {
        let is_first = client.name.spans.iter().any(|span| span.text == "client 1");
        client.device_id.clone().filter(|_| is_first)
    });
    assert_eq!(rig.desk().remove_device(&id.unwrap()).await, Ok(()));
    assert_eq!(first.close_code().await, 4_001);
    assert!(rig.connect(1, &["operator.approvals"]).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_let_in_by_the_person_and_runs_what_the_person_allowed() {
    let rig = Rig::start().await;
    let mut agent = rig.let_in(1, &["operator.write", "operator.approvals"]).await;
    let token = std::fs::read_to_string(rig.paths.gateway().join("token")).unwrap();
    let url = rig.url().await;
    let come = async || Client::node(&url, 2, token.trim(), &["system.run"]).await;
    let refused = come().await.err().unwrap();
    assert_eq!(refused["details"]["code"], "PAIRING_REQUIRED");
    assert_eq!(rig.desk().embedded().waiting[0].role, "node");
    assert_eq!(agent.call("node.list", json!({})).await.unwrap()["nodes"], json!([]));
    assert_eq!(rig.approve(refused["details"]["requestId"].as_str().unwrap()).await, Ok(()));
    let mut node = come().await.unwrap();
    let view = rig.wait(|view| view.devices.into_iter().find(|device| device.roles == ["node"])).await;
    assert_eq!((view.connected, &view.commands[..]), (true, &["system.run".to_owned()][..]));
    let mut messages = rig.desk().messages();
    let plan = json!({"argv": ["ls", "-l"], "cwd": "/tmp", "commandText": "ls -l", "sessionKey": "s"});
    let request = json!({"id": "n-1", "host": "node", "nodeId": view.id, "systemRunPlan": plan});
    let asked = agent.send("exec.approval.request", request).await;
    let card = next_card(&mut messages).await;
    let run = json!({
        "nodeId": view.id, "command": "system.run", "idempotencyKey": "k",
        "params": {"runId": "n-1", "approved": true},
    });
    let unanswered = loop {
        match agent.call("node.invoke", run.clone()).await {
            // The window may have it before the gateway knows its id.
            Err(error) if error == "unknown or expired approval id" => tokio::task::yield_now().await,
            answered => break answered,
        }
    };
    assert_eq!(unanswered, Err("approval required".to_owned()));
    assert_eq!(decide(rig.desk(), &card, Decision::AllowOnce).await, Outcome::AllowedOnce);
    assert_eq!(agent.answer(&asked).await["payload"]["decision"], "allow-once");
    let call = agent.send("node.invoke", run.clone()).await;
    let told = node.event("node.invoke.request").await;
    let params: Value = serde_json::from_str(told["paramsJSON"].as_str().unwrap()).unwrap();
    assert_eq!((&params["command"], &params["approved"]), (&plan["argv"], &json!(true)));
    let result = json!({"id": told["id"], "nodeId": view.id, "ok": true, "payload": {"exitCode": 0}});
    node.call("node.invoke.result", result).await.unwrap();
    assert_eq!(agent.answer(&call).await["ok"], true);
    assert_eq!(agent.call("node.invoke", run.clone()).await, Err("approval required".to_owned()));
    // Sent away, it is told nothing more.
    assert_eq!(rig.desk().remove_device(&view.id).await, Ok(()));
    assert_eq!(agent.call("node.invoke", run).await, Err("node not connected".to_owned()));
    assert_eq!(node.close_code().await, 4_001);
    assert!(come().await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_over_the_gateway_is_a_card_and_its_answer_goes_back_and_into_the_history() {
    let rig = Rig::start().await;
    let mut agent = rig.let_in(1, APPROVER).await;
    let mut messages = rig.desk().messages();
    let asked = agent.send("exec.approval.request", asking("a-1", "ls -l")).await;
    let card = next_card(&mut messages).await;
    assert_eq!((card.id.as_str(), card.via), ("a-1", Via::Gateway));
    let has = |wanted: fn(&Fact) -> bool| card.facts.iter().any(wanted);
    assert!(has(|fact| matches!(fact, Fact::Program { path: Some(_), .. })), "{:?}", card.facts);
    assert!(has(|fact| matches!(fact, Fact::Folder { .. })), "{:?}", card.facts);
    assert_eq!(decide(rig.desk(), &card, Decision::AllowOnce).await, Outcome::AllowedOnce);
    assert_eq!(agent.answer(&asked).await["payload"]["decision"], "allow-once");
    let resolved = agent.event("exec.approval.resolved").await;
    assert_eq!(resolved["resolvedBy"], "Countersign");

    // Another client may answer as well; its name is told from ours.
    let mut other = rig.let_in(2, APPROVER).await;
    let asked = agent.send("exec.approval.request", asking("a-2", "id")).await;
    other.event("exec.approval.requested").await;
    let denied = other.call("exec.approval.resolve", json!({"id": "a-2", "decision": "deny"})).await;
    assert!(denied.is_ok(), "{denied:?}");
    assert_eq!(agent.answer(&asked).await["payload"]["decision"], "deny");
    let line =
        |command: &str, outcome, by: &str| (command.to_owned(), Via::Gateway, outcome, Some(by.to_owned()));
    assert_eq!(
        rig.history(2).await,
        [line("ls -l", Outcome::AllowedOnce, "window"), line("id", Outcome::Denied, "gateway: client 2")]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rule_refuses_is_refused_over_the_gateway_without_asking() {
    let rig = Rig::start().await;
    let mut agent = rig.let_in(1, APPROVER).await;
    let rule = json!({"kind": "add-rule", "rule": {"agent": "*", "effect": "deny", "program": "rm", "arguments": "any"}});
    let edits = vec![serde_json::from_value::<RuleEdit>(rule).unwrap()];
    let base_hash = rig.desk().rules().await.hash;
    let edited = rig.desk().edit_rules(RuleEditParams { base_hash, edits, confirmed: false }).await.unwrap();
    assert!(edited.applied);
    // By the text, and by the list that would run.
    let listed =
        json!({"id": "b-2", "command": "ls", "commandArgv": ["rm", "x"], "cwd": "/tmp", "host": "gateway"});
    for request in [asking("b-1", "rm -rf build"), listed] {
        let decided = agent.call("exec.approval.request", request.clone()).await.unwrap();
        assert_eq!((&decided["decision"], &decided["id"]), (&json!("deny"), &request["id"]));
    }
    let late = agent.call("exec.approval.waitDecision", json!({"id": "b-1"})).await.unwrap();
    assert_eq!(late["decision"], "deny");
    assert!(rig.desk().snapshot().await.cards.is_empty());
    for (_, via, outcome, by) in rig.history(2).await {
        assert_eq!((via, by), (Via::Gateway, None));
        assert!(
            matches!(&outcome, Outcome::DeniedByPolicy { reason } if reason.starts_with("rule ")),
            "{outcome:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_windows_a_request_ends_without_a_decision_and_is_written_down() {
    let rig = Rig::start().await;
    let mut agent = rig.let_in(1, APPROVER).await;
    drop(rig.presenter);
    let decided = agent.call("exec.approval.request", asking("c-1", "id")).await.unwrap();
    assert_eq!(decided["decision"], Value::Null);
    let page = rig.companion.desk().history(None, 10).await.unwrap();
    let not_shown = page.entries.iter().any(|entry| {
        matches!(&entry.event, HistoryEvent::Request { outcome: Outcome::NotShown, via: Via::Gateway, .. })
    });
    assert!(not_shown, "{page:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn turned_off_it_withdraws_what_waits_and_turned_on_it_knows_its_devices() {
    let rig = Rig::start().await;
    let mut agent = rig.let_in(1, APPROVER).await;
    let mut messages = rig.desk().messages();
    agent.send("exec.approval.request", asking("d-1", "id")).await;
    next_card(&mut messages).await;
    let set = async |enabled| rig.desk().set_embedded(EmbeddedEdit { enabled, port: 18_800 }).await;
    assert_eq!(set(false).await, Ok(()));
    assert_eq!(agent.close_code().await, 1_012);
    let view = rig.wait(|view| (view.state == EmbeddedState::Off).then_some(view)).await;
    assert_eq!((view.port, view.clients.len(), view.devices.len()), (18_800, 0, 1));
    let line = &rig.history(1).await[0];
    assert!(matches!(line.2, Outcome::Cancelled { .. }), "{line:?}");
    assert_eq!(set(true).await, Ok(()));
    assert!(rig.connect(1, APPROVER).await.is_ok());
    // And after a restart of the app.
    let Rig { companion, presenter, home, .. } = rig;
    companion.stop().await;
    drop(presenter);
    let rig = Rig::on_port(home, "0");
    assert!(rig.connect(1, APPROVER).await.is_ok());
    assert!(rig.connect(2, APPROVER).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_token_in_the_file_counts_at_once_and_one_that_is_none_changes_nothing() {
    let rig = Rig::start().await;
    let url = rig.url().await;
    let client = rig.let_in(1, APPROVER).await;
    let file = rig.paths.gateway().join("token");
    let first = std::fs::read_to_string(&file).unwrap();
    // A device that was let in is never locked out, however often it tries.
    let comes_in = async |token: &str| Client::connect(&url, 1, token, APPROVER).await.is_ok();
    let until = async |token: &str, expected: bool| {
        let trying = async {
            while comes_in(token).await != expected {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, trying).await.expect("the token does not count as it should");
    };
    let second = "another token of this machine";
    private::write(&file, second.as_bytes()).unwrap();
    until(second, true).await;
    assert!(!comes_in(&first).await);
    let third = "a third token of this machine";
    for none in [b"too short".as_slice(), b"\xff"] {
        private::write(&file, none).unwrap();
        assert!(comes_in(second).await);
    }
    std::fs::remove_file(&file).unwrap();
    assert!(comes_in(second).await);
    private::write(&file, third.as_bytes()).unwrap();
    until(third, true).await;
    drop(client);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_taken_port_is_said_and_tried_again_while_the_app_runs() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let rig = Rig::on_port(tempfile::tempdir().unwrap(), &port);
    let problem = rig
        .wait(|view| match view.state {
            EmbeddedState::Failed { problem } => Some(problem),
            EmbeddedState::Off | EmbeddedState::Serving { .. } => None,
        })
        .await;
    assert_eq!(problem, format!("port {port} of this machine is taken by another program"));
    assert!(rig.desk().snapshot().await.cards.is_empty(), "the app serves");
    drop(taken);
    assert_eq!(rig.url().await, format!("ws://127.0.0.1:{port}"));
}

#[tokio::test]
async fn the_app_does_not_connect_to_itself() {
    let rig = Rig::start().await;
    let url = rig.url().await.replace("127.0.0.1", "localhost");
    let edit = GatewayEdit {
        id: None,
        name: "myself".to_owned(),
        url,
        pin: None,
        enabled: true,
        sees_agents: false,
        runs_on_nodes: false,
        session_filter: None,
        secret_kind: SecretKind::Token,
        secret: SecretEdit::Clear,
    };
    let refused = rig.desk().save_gateway(edit.clone()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Invalid);
    let own = Mistake { field: Some("address".into()), expected: Expected::AnotherProgram };
    assert_eq!(refused.mistake, Some(own));
    let nowhere = GatewayEdit { url: "ws://192.0.2.1".into(), ..edit };
    let refused = rig.desk().save_gateway(nowhere).await.unwrap_err();
    let readable = Mistake { field: Some("address".into()), expected: Expected::Encrypted };
    assert_eq!((refused.code, refused.mistake), (ErrorCode::Invalid, Some(readable)));
    assert!(rig.desk().connections().await.gateways.is_empty());
}

#[test]
fn a_crowd_of_devices_brings_up_the_window_once() {
    let mut knocks = Knocks::default();
    let mut note = |ids: &[&str], now_ms| {
        let request = |id: &&str| PairingView {
            request_id: (*id).to_owned(),
            device_id: String::new(),
            name: countersign_protocol::shown::Shown { spans: Vec::new() },
            platform: None,
            role: String::new(),
            scopes: Vec::new(),
            reason: PairingReason::NotPaired,
            since_ms: now_ms,
        };
        knocks.note(&ids.iter().map(request).collect::<Vec<_>>(), now_ms)
    };
    assert!(note(&["a"], 0));
    assert!(!note(&["a", "b"], 1));
    assert!(!note(&[], 2));
    assert!(!note(&["c"], 3), "not again at once");
    assert!(!note(&[], RAISE_PAUSE_MS));
    assert!(note(&["d"], RAISE_PAUSE_MS));
}
