//! Connections to a gateway that each test scripts: what our own does not do.

use super::*;
use countersign_approvals::book::NotAnswered;
use countersign_protocol::question::QuestionKind;
use pretty_assertions::assert_eq;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;

/// A gateway's end of a connection.
struct Peer {
    socket: WebSocketStream<TcpStream>,
    /// What waits there, by the method that lists it.
    lists: BTreeMap<&'static str, Value>,
}

impl Peer {
    /// Lets the connection in, with these methods beside those that list.
    async fn welcome(here: &Here, methods: &[&str], lists: BTreeMap<&'static str, Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}", listener.local_addr().unwrap());
        here.connections.save(edit(&url, TOKEN)).await.unwrap();
        let (tcp, _) = listener.accept().await.unwrap();
        let mut peer = Self { socket: tokio_tungstenite::accept_async(tcp).await.unwrap(), lists };
        peer.event("connect.challenge", json!({"nonce": "n", "ts": 1_000})).await;
        let connect = peer.next().await;
        assert_eq!(connect["params"]["caps"], json!(["approvals", "exec-approvals", "plugin-approvals"]));
        let methods: Vec<&str> = methods.iter().chain(peer.lists.keys()).copied().collect();
        let hello = json!({
            "type": "hello-ok", "protocol": 4, "server": {"version": "2026.9.6"}, "snapshot": {},
            "features": {"methods": methods, "events": []},
            "auth": {"role": "operator", "scopes": ["operator.admin"]},
            "policy": {"maxPayload": 1, "maxBufferedBytes": 1, "tickIntervalMs": 30_000}});
        peer.answer(&connect, hello).await;
        peer
    }

    async fn send(&mut self, frame: Value) {
        self.socket.send(Message::text(frame.to_string())).await.unwrap();
    }

    async fn event(&mut self, name: &str, payload: Value) {
        self.send(json!({"type": "event", "event": name, "payload": payload})).await;
    }

    async fn answer(&mut self, call: &Value, payload: Value) {
        self.send(json!({"type": "res", "id": call["id"], "ok": true, "payload": payload})).await;
    }

    /// The next call that asks for no list.
    async fn next(&mut self) -> Value {
        loop {
            let message = tokio::time::timeout(LIMIT, self.socket.next()).await.expect("in time");
            let Message::Text(text) = message.expect("a frame").unwrap() else { continue };
            let frame: Value = serde_json::from_str(&text).unwrap();
            match self.lists.get(frame["method"].as_str().unwrap()).cloned() {
                Some(list) => self.answer(&frame, list).await,
                None => return frame,
            }
        }
    }
}

fn proposal(id: &str, decisions: &[&str]) -> Value {
    let request = json!({"title": "OpenClaw change", "description": "set tools.exec.ask to always",
        "command": "set tools.exec.ask to always", "proposalHash": "h", "allowedDecisions": decisions,
        "agentId": "main", "sessionKey": "agent:main:main", "runId": null});
    json!({"id": id, "approvalKind": "system-agent", "request": request, "createdAtMs": 1_000, "expiresAtMs": 601_000})
}

const NONE: [(&str, Value); 2] =
    [("exec.approval.list", Value::Array(vec![])), ("openclaw.approval.list", Value::Array(vec![]))];

#[tokio::test]
async fn a_change_that_a_gateway_proposes_is_asked_here_and_answered_by_its_kind() {
    let mut here = Here::new();
    let mut lists = BTreeMap::from(NONE);
    // One waits already, another is told of.
    lists.insert("openclaw.approval.list", json!([proposal("system-agent:1", &["allow-once", "deny"])]));
    let mut peer = Peer::welcome(&here, &["approval.resolve"], lists).await;
    for (id, decision, word) in
        [("system-agent:1", Decision::AllowOnce, "allow-once"), ("system-agent:2", Decision::Deny, "deny")]
    {
        let listing = async {
            if id == "system-agent:2" {
                peer.lists.insert("openclaw.approval.list", json!([]));
                peer.event("openclaw.approval.requested", proposal(id, &["allow-once", "deny"])).await;
            }
            peer.next().await
        };
        let answering = async {
            let record = here.added().await;
            let question = &record.question;
            assert_eq!(question.subject.kind(), QuestionKind::SystemAgent);
            assert_eq!(question.door.gateway.as_deref(), Some("far away"));
            assert_eq!(question.offer.decisions, [Decision::AllowOnce, Decision::Deny]);
            assert!(here.core.approvals.resolve(&record.id, decision, "window").await.is_ok());
        };
        let (call, ()) = tokio::join!(listing, answering);
        assert_eq!(call["method"], "approval.resolve");
        assert_eq!(call["params"], json!({"id": id, "kind": "system-agent", "decision": word}));
        let approval = json!({"id": id, "status": "allowed", "decision": word, "reason": "user"});
        peer.answer(&call, json!({"applied": true, "approval": approval})).await;
    }
    here.until(|view| view.pending == 0).await;
    let by = || Some("window".to_owned());
    assert_eq!(here.outcomes().await, [(Outcome::AllowedOnce, by()), (Outcome::Denied, by())]);
}

#[tokio::test]
async fn t01_what_a_gateway_recorded_of_an_answer_is_what_the_history_says() {
    let mut here = Here::new();
    let mut peer = Peer::welcome(&here, &["approval.resolve"], BTreeMap::from(NONE)).await;
    let denied = |reason: &str| json!({"decision": "deny", "reason": reason});
    let mut expected = Vec::new();
    for (at, (answer, told)) in [
        (json!({"applied": false, "approval": denied("user")}), "it was answered before: deny"),
        (json!({"applied": true, "approval": denied("malformed-verdict")}), "the gateway recorded deny"),
        (json!({"applied": true, "approval": {}}), "the gateway recorded no decision"),
        (json!({"ok": true}), "expected what was recorded of the answer: missing field `applied`"),
    ]
    .into_iter()
    .enumerate()
    {
        peer.event("openclaw.approval.requested", proposal(&format!("p-{at}"), &["allow-once", "deny"]))
            .await;
        let record = here.added().await;
        assert!(here.core.approvals.resolve(&record.id, Decision::AllowOnce, "window").await.is_ok());
        let call = peer.next().await;
        peer.answer(&call, answer).await;
        let not_taken = tokio::time::timeout(LIMIT, here.not_taken.recv()).await.expect("told").unwrap();
        assert_eq!(not_taken.text, told);
        expected.push((Outcome::Refused { reason: told.to_owned() }, Some("window".to_owned())));
    }
    here.until(|view| view.pending == 0).await;
    assert_eq!(here.outcomes().await, expected);
}

#[tokio::test]
async fn t01_a_decision_that_is_not_offered_is_never_sent() {
    let mut here = Here::new();
    let mut peer = Peer::welcome(&here, &["approval.resolve"], BTreeMap::from(NONE)).await;
    peer.event("openclaw.approval.requested", proposal("p-1", &["allow-once", "deny"])).await;
    let record = here.added().await;
    // The window offers no such thing; whatever else might, the gateway would take it for a denial.
    let always = here.core.approvals.resolve(&record.id, Decision::AllowAlways, "window").await;
    assert_eq!(always, Err(NotAnswered::NotOffered(Decision::AllowAlways)));
    peer.event("openclaw.approval.requested", proposal("p-2", &["deny"])).await;
    let record = here.added().await;
    assert_eq!(record.question.offer.decisions, [Decision::Deny]);
    assert!(here.core.approvals.resolve(&record.id, Decision::Deny, "window").await.is_ok());
    assert_eq!(peer.next().await["params"]["id"], "p-2", "the first was not answered");
}

#[tokio::test]
async fn a_change_that_was_answered_there_closes_here() {
    let mut here = Here::new();
    let mut peer = Peer::welcome(&here, &["approval.resolve"], BTreeMap::from(NONE)).await;
    peer.event("openclaw.approval.requested", proposal("p-1", &["allow-once", "deny"])).await;
    here.added().await;
    let resolved = json!({"id": "p-1", "decision": "allow-once", "resolvedBy": "phone", "ts": 2_000,
        "request": proposal("p-1", &[])["request"], "applicationStatus": "applied"});
    peer.event("openclaw.approval.resolved", resolved).await;
    let by = Some("phone".to_owned());
    assert_eq!(here.ended().await, Ending::Elsewhere { decision: Some(Decision::AllowOnce), by });
}

#[tokio::test]
async fn a_request_whose_time_is_over_is_not_called_denied_although_its_gateway_says_so() {
    let mut here = Here::new();
    let mut peer = Peer::welcome(&here, &["approval.resolve"], BTreeMap::from(NONE)).await;
    let expires_at_ms = 1_400;
    let mut short = proposal("p-1", &["allow-once", "deny"]);
    short["expiresAtMs"] = json!(expires_at_ms);
    peer.event("openclaw.approval.requested", short).await;
    here.added().await;
    // So does 2026.9.6.
    let over = json!({"id": "p-1", "decision": "deny", "resolvedBy": null, "ts": expires_at_ms});
    peer.event("openclaw.approval.resolved", over).await;
    assert_eq!(here.ended().await, Ending::Expired);
}
