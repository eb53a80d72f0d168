//! Connections to a real gateway, our own headless one, over real sockets.

mod hostile;

use super::*;
use crate::gateway::tests::{APPROVER, Client};
use crate::gateway::{self, Serving};
use crate::testing::LIMIT;
use countersign_approvals::actor::{Event, PresenterGuard};
use countersign_approvals::book::{Ending, MAX_PENDING_OF_GATEWAY, Record};
use countersign_approvals::history;
use countersign_core::Core;
use countersign_gateway::client::{Credentials as _, DeviceToken};
use countersign_node::socket::server::Peer;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::ids::SessionKey;
use countersign_protocol::question::{CancelCause, Outcome, Via};
use countersign_protocol::ui::{LinkGap, LinkProblem, LinkState, SecretEdit, SecretKind};
use countersign_protocol::vocabulary::Decision;
use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::broadcast;
use tokio_tungstenite::tungstenite::Message;

mod scripted;

const TOKEN: &str = "a token of this test";

/// A gateway of its own machine.
struct Far {
    folder: TempDir,
    serving: Serving,
}

impl Far {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let serving = serve(&folder, 0).await;
        Self { folder, serving }
    }

    fn url(&self) -> String {
        format!("ws://{}", self.serving.address)
    }

    async fn client(&self, seed: u8) -> Client {
        Client::connect(&self.url(), seed, TOKEN, APPROVER).await.expect("hello-ok")
    }

    /// Ends and begins again at the same address.
    async fn restart(self) -> Self {
        let Self { folder, serving } = self;
        let port = serving.address.port();
        serving.stop().await;
        let serving = serve(&folder, port).await;
        Self { folder, serving }
    }
}

fn paths(folder: &TempDir) -> Paths {
    let state = folder.path().to_str().unwrap().to_owned();
    let env =
        BTreeMap::from([("HOME".to_owned(), state.clone()), ("COUNTERSIGN_STATE_DIR".to_owned(), state)]);
    Paths::from_env(&env).unwrap()
}

async fn serve(folder: &TempDir, port: u16) -> Serving {
    let options = gateway::Options { port, token: Some(TOKEN.to_owned()), token_file: None };
    gateway::serve_alone(&paths(folder), options).await.unwrap()
}

/// This machine, connected to others.
struct Here {
    folder: TempDir,
    core: Core,
    connections: Connections,
    not_taken: mpsc::Receiver<NotTaken>,
    events: broadcast::Receiver<Event>,
    _presenter: PresenterGuard,
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Here {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let core = Core::start(&paths(&folder), Via::Socket).unwrap();
        let parts = Parts {
            approvals: core.approvals.clone(),
            host: core.host.clone(),
            ports: core.ports.clone(),
            environment: BTreeMap::new(),
        };
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let (connections, not_taken) = Connections::start(&paths(&folder), parts, &tracker, stop.clone());
        let (events, presenter) = (core.approvals.events(), core.approvals.presenter());
        Self { folder, core, connections, not_taken, events, _presenter: presenter, tracker, stop }
    }

    async fn to(far: &Far) -> Self {
        let here = Self::new();
        here.connections.save(edit(&far.url(), TOKEN)).await.unwrap();
        here
    }

    /// Waits until the one gateway is in such a state.
    async fn until(&self, fits: impl Fn(&GatewayView) -> bool) -> GatewayView {
        let mut changes = self.connections.changes();
        let waiting = async {
            loop {
                changes.mark_unchanged();
                let view = self.connections.views().pop().unwrap();
                if fits(&view) {
                    return view;
                }
                changes.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(LIMIT, waiting).await {
            Ok(view) => view,
            Err(_) => panic!("not so in time: {:?}", self.connections.views()),
        }
    }

    async fn connected(&self) -> GatewayView {
        self.until(|view| matches!(view.state, LinkState::Connected { .. })).await
    }

    async fn added(&mut self) -> Arc<Record> {
        loop {
            if let Event::Added(record) = self.event().await {
                return record;
            }
        }
    }

    async fn ended(&mut self) -> Ending {
        loop {
            if let Event::Closed(record) = self.event().await {
                return record.ending.clone().unwrap();
            }
        }
    }

    async fn event(&mut self) -> Event {
        tokio::time::timeout(LIMIT, self.events.recv()).await.expect("an event in time").unwrap()
    }

    /// How the requests of the history ended, oldest first, once nothing runs any more.
    async fn outcomes(self) -> Vec<(Outcome, Option<String>)> {
        self.stop.cancel();
        drop(self.connections);
        self.tracker.close();
        self.tracker.wait().await;
        self.core.stop().await;
        let page = history::page(&paths(&self.folder).history(), None, 100).unwrap();
        let outcomes = page.entries.into_iter().rev().filter_map(|entry| match entry.event {
            HistoryEvent::Request { outcome, by, via, .. } => {
                assert_eq!(via, Via::Connection);
                Some((outcome, by))
            }
            _ => None,
        });
        outcomes.collect()
    }
}

fn edit(url: &str, secret: &str) -> GatewayEdit {
    GatewayEdit {
        id: None,
        name: "far away".to_owned(),
        url: url.to_owned(),
        pin: None,
        enabled: true,
        sees_agents: false,
        runs_on_nodes: false,
        session_filter: None,
        secret_kind: SecretKind::Token,
        secret: SecretEdit::Set { value: secret.to_owned() },
    }
}

fn request(id: &str) -> Value {
    json!({"id": id, "command": "rm -rf build", "cwd": "/w", "host": "gateway", "agentId": "main", "sessionKey": "s",
           "timeoutMs": 60_000})
}

#[tokio::test]
async fn what_waits_elsewhere_is_asked_here_and_answered_there() {
    let far = Far::new().await;
    let mut here = Here::to(&far).await;
    let LinkState::Connected { link } = here.connected().await.state else { panic!("connected") };
    assert_eq!((link.protocol, link.gaps), (4, vec![]));
    let mut agent = far.client(1).await;
    for (id, decision) in
        [("a-1", Decision::AllowOnce), ("a-2", Decision::AllowAlways), ("a-3", Decision::Deny)]
    {
        let asked = agent.send("exec.approval.request", request(id)).await;
        let record = here.added().await;
        assert_eq!(record.question.door.gateway.as_deref(), Some("far away"));
        assert_ne!(record.id, id, "its id is the gateway's affair");
        assert!(here.core.approvals.resolve(&record.id, decision, "window").await.is_ok());
        let answer = agent.answer(&asked).await;
        assert_eq!(answer["payload"]["decision"], json!(decision));
    }
    here.until(|view| view.pending == 0).await;
    let by = || Some("window".to_owned());
    let expected = [(Outcome::AllowedOnce, by()), (Outcome::AllowedAlways, by()), (Outcome::Denied, by())];
    assert_eq!(here.outcomes().await, expected);
}

#[tokio::test]
async fn what_waited_before_the_connection_is_caught_up_with() {
    let far = Far::new().await;
    let mut agent = far.client(1).await;
    // Somebody must be there to answer, or it would not wait.
    let _person = far.client(2).await;
    let asked = agent.send("exec.approval.request", request("a-1")).await;
    let mut here = Here::to(&far).await;
    let record = here.added().await;
    assert!(here.core.approvals.resolve(&record.id, Decision::Deny, "window").await.is_ok());
    assert_eq!(agent.answer(&asked).await["payload"]["decision"], "deny");
}

#[tokio::test]
async fn an_answer_from_elsewhere_closes_the_question_here_and_is_told_as_such() {
    let far = Far::new().await;
    let mut here = Here::to(&far).await;
    here.connected().await;
    let (mut agent, mut person) = (far.client(1).await, far.client(2).await);
    for (id, decision) in [("a-1", "allow-once"), ("a-2", "deny")] {
        let asked = agent.send("exec.approval.request", request(id)).await;
        here.added().await;
        person.call("exec.approval.resolve", json!({"id": id, "decision": decision})).await.unwrap();
        agent.answer(&asked).await;
        let ending = here.ended().await;
        let by = Some("client 2".to_owned());
        let decision = serde_json::from_value(json!(decision)).unwrap();
        assert_eq!(ending, Ending::Elsewhere { decision: Some(decision), by });
    }
    here.until(|view| view.pending == 0).await;
    let by = || Some("client 2".to_owned());
    assert_eq!(here.outcomes().await, [(Outcome::AllowedElsewhere, by()), (Outcome::DeniedElsewhere, by())]);
}

#[tokio::test]
async fn nothing_is_said_when_the_time_is_over() {
    let far = Far::new().await;
    let mut here = Here::to(&far).await;
    here.connected().await;
    let mut agent = far.client(1).await;
    // What comes here when its time is over already is never shown: a slow machine gets longer.
    for (id, limit) in [("a-1", 300), ("a-2", 3_000), ("a-3", 30_000)] {
        let mut short = request(id);
        short["timeoutMs"] = json!(limit);
        let asked = agent.send("exec.approval.request", short).await;
        let is_shown = tokio::select! {
            _ = here.added() => true,
            answer = agent.answer(&asked) => {
                assert_eq!(answer["payload"]["decision"], Value::Null);
                false
            }
        };
        if is_shown {
            let ending = here.ended().await;
            assert!(
                matches!(ending, Ending::Expired | Ending::Elsewhere { decision: None, .. }),
                "{ending:?}"
            );
            assert_eq!(agent.answer(&asked).await["payload"]["decision"], Value::Null);
            return;
        }
    }
    panic!("it was never shown in time");
}

#[tokio::test]
async fn a_question_ends_with_its_connection_and_comes_back_with_the_next() {
    let far = Far::new().await;
    let mut here = Here::to(&far).await;
    here.connected().await;
    let mut agent = far.client(1).await;
    agent.send("exec.approval.request", request("a-1")).await;
    let before = here.added().await;
    let far = far.restart().await;
    assert_eq!(here.ended().await, Ending::Cancelled(CancelCause::ConnectionLost));
    assert!(here.core.approvals.resolve(&before.id, Decision::AllowOnce, "window").await.is_err());
    here.connected().await;
    let mut agent = far.client(1).await;
    let asked = agent.send("exec.approval.request", request("a-1")).await;
    let after = here.added().await;
    assert_ne!(after.question.door.generation, before.question.door.generation);
    assert!(here.core.approvals.resolve(&after.id, Decision::AllowOnce, "window").await.is_ok());
    assert_eq!(agent.answer(&asked).await["payload"]["decision"], "allow-once");
    here.until(|view| view.pending == 0).await;
    let lost = Outcome::Cancelled { cause: CancelCause::ConnectionLost };
    let expected = [(lost, None), (Outcome::AllowedOnce, Some("window".to_owned()))];
    assert_eq!(here.outcomes().await, expected);
}

#[tokio::test]
async fn t01_an_answer_that_the_gateway_does_not_take_is_not_recorded_as_one() {
    let far = Far::new().await;
    let mut here = Here::to(&far).await;
    here.connected().await;
    let mut agent = far.client(1).await;
    let asked = agent.send("exec.approval.request", request("a-1")).await;
    let record = here.added().await;
    // The gateway is gone before it hears the answer.
    far.serving.stop().await;
    drop(asked);
    if here.core.approvals.resolve(&record.id, Decision::AllowOnce, "window").await.is_ok() {
        let not_taken = tokio::time::timeout(LIMIT, here.not_taken.recv()).await.expect("told").unwrap();
        assert_eq!(not_taken.id, record.id);
    }
    here.until(|view| view.pending == 0).await;
    let outcomes = here.outcomes().await;
    assert_eq!(outcomes.len(), 1);
    let is_no_answer = matches!(
        &outcomes[0].0,
        Outcome::Refused { .. } | Outcome::Cancelled { cause: CancelCause::ConnectionLost }
    );
    assert!(is_no_answer, "{outcomes:?}");
}

#[tokio::test]
async fn a_wrong_secret_stops_and_the_right_one_connects() {
    let far = Far::new().await;
    let here = Here::new();
    here.connections.save(edit(&far.url(), "another token entirely")).await.unwrap();
    let wrong = LinkState::Stopped { problem: LinkProblem::SecretWrong };
    let view = here.until(|view| view.state == wrong).await;
    let again = GatewayEdit { id: Some(view.id.clone()), ..edit(&far.url(), TOKEN) };
    here.connections.save(again).await.unwrap();
    here.connected().await;
    let secret =
        std::fs::read_to_string(paths(&here.folder).gateway_secrets().join(format!("{}.secret", view.id)));
    assert_eq!(secret.unwrap(), TOKEN);
    here.connections.remove(&view.id).await.unwrap();
    assert_eq!(here.connections.views(), []);
    let left: Vec<_> = std::fs::read_dir(paths(&here.folder).gateway_secrets())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(left, ["device.key"]);
}

#[tokio::test]
async fn what_a_gateway_asked_is_withdrawn_when_the_person_turns_it_off() {
    let far = Far::new().await;
    let mut here = Here::to(&far).await;
    let view = here.connected().await;
    let mut agent = far.client(1).await;
    agent.send("exec.approval.request", request("a-1")).await;
    here.added().await;
    let off = GatewayEdit {
        id: Some(view.id),
        enabled: false,
        secret: SecretEdit::Keep,
        ..edit(&far.url(), TOKEN)
    };
    here.connections.save(off).await.unwrap();
    assert_eq!(here.ended().await, Ending::Cancelled(CancelCause::Withdrawn));
    assert_eq!(here.connections.views().pop().unwrap().state, LinkState::Off);
}

#[tokio::test]
async fn t03_a_secret_is_never_sent_to_another_place_unasked() {
    let far = Far::new().await;
    let here = Here::to(&far).await;
    let view = here.connected().await;
    let moved =
        GatewayEdit { id: Some(view.id), secret: SecretEdit::Keep, ..edit("ws://127.0.0.1:9", TOKEN) };
    let error = here.connections.save(moved).await.unwrap_err().to_string();
    assert!(error.contains("secret: expected it again"), "{error}");
    here.connected().await;
}

#[tokio::test]
async fn t03_what_one_place_gave_this_device_is_shown_to_no_other() {
    let here = Here::new();
    let kept = DeviceToken { token: "given".to_owned(), scopes: vec!["operator.read".to_owned()] };
    here.connections.save(GatewayEdit { enabled: false, ..edit("wss://one.example", TOKEN) }).await.unwrap();
    let gateway = here.connections.list.all()[0].clone();
    let of = |gateway: &Gateway| here.connections.list.secrets().of(gateway.secrets());
    of(&gateway).keep_device_token(Some(kept.clone())).await;
    assert_eq!(of(&gateway).device_token().await, Ok(Some(kept)));
    let elsewhere = Gateway { url: "wss://two.example".to_owned(), ..gateway.clone() };
    let other_certificate = Gateway { pin: Some("0".repeat(64)), ..gateway };
    assert_eq!(of(&elsewhere).device_token().await, Ok(None));
    assert_eq!(of(&other_certificate).device_token().await, Ok(None));
}

#[tokio::test]
async fn a_session_filter_leaves_the_others_alone() {
    let far = Far::new().await;
    let mut here = Here::new();
    let filtered = GatewayEdit { session_filter: Some("mine".into()), ..edit(&far.url(), TOKEN) };
    here.connections.save(filtered).await.unwrap();
    here.connected().await;
    let mut agent = far.client(1).await;
    for (id, session) in [("a-1", json!("other")), ("a-2", Value::Null), ("a-3", json!("agent:mine"))] {
        let mut request = request(id);
        request["sessionKey"] = session;
        agent.send("exec.approval.request", request).await;
    }
    let record = here.added().await;
    assert_eq!(record.question.session, SessionKey::of(Some("agent:mine")));
}

#[tokio::test]
async fn a_file_that_is_not_understood_is_neither_used_nor_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let file = paths(&folder).gateways();
    std::fs::write(&file, "{broken").unwrap();
    let core = Core::start(&paths(&folder), Via::Socket).unwrap();
    let parts = Parts {
        approvals: core.approvals.clone(),
        host: core.host.clone(),
        ports: core.ports.clone(),
        environment: BTreeMap::new(),
    };
    let (connections, _) =
        Connections::start(&paths(&folder), parts, &TaskTracker::new(), CancellationToken::new());
    assert!(connections.broken().unwrap().contains("cannot be understood"));
    let error = connections.save(edit("ws://127.0.0.1", TOKEN)).await.unwrap_err();
    assert!(matches!(error, PeerError::Broken(_)), "{error}");
    assert_eq!(std::fs::read_to_string(file).unwrap(), "{broken");
}

#[tokio::test]
async fn without_the_scope_the_gap_is_told() {
    // The newest release hides what agents raise from whoever lacks admin; our own does not.
    let far = Far::new().await;
    let here = Here::to(&far).await;
    let LinkState::Connected { link } = here.connected().await.state else { panic!("connected") };
    assert!(!link.gaps.contains(&LinkGap::AgentsHidden) && !link.gaps.contains(&LinkGap::NoApprovals));
    assert_eq!(link.scopes.unwrap(), ["operator.approvals", "operator.read"]);
}

#[tokio::test]
async fn a_refused_list_tells_of_a_scope_that_the_greeting_did_not_deny() {
    let url = format!("ws://{}", scripted(Err("missing scope: operator.approvals"), Vec::new()).await);
    let here = Here::new();
    here.connections.save(edit(&url, TOKEN)).await.unwrap();
    here.until(|view| {
        matches!(&view.state, LinkState::Connected { link } if link.gaps.contains(&LinkGap::NoApprovals))
    })
    .await;
}

/// Requests as a gateway lists them.
fn requests(count: usize) -> Vec<Value> {
    let request = |at| {
        let request = json!({"command": format!("rm -rf build/{at}"), "cwd": "/w", "host": "gateway"});
        json!({"id": format!("r-{at}"), "request": request, "createdAtMs": 1, "expiresAtMs": 9_999_999})
    };
    (0..count).map(request).collect()
}

/// A gateway that lists these requests, or refuses with this text, and raises those as soon as it was asked.
/// It takes every answer.
async fn scripted(listed: Result<Vec<Value>, &'static str>, raised: Vec<Value>) -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (tcp, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(tcp).await.unwrap();
        let event = |name: &str, payload: Value| {
            Message::text(json!({"type": "event", "event": name, "payload": payload}).to_string())
        };
        socket.send(event("connect.challenge", json!({"nonce": "n", "ts": 1_000}))).await.unwrap();
        let mut raised = raised.into_iter();
        while let Some(Ok(message)) = socket.next().await {
            let Message::Text(text) = message else { continue };
            let frame: Value = serde_json::from_str(&text).unwrap();
            let method = frame["method"].as_str().unwrap();
            let mut refused = None;
            let payload = match method {
                "connect" => json!({
                    "type": "hello-ok", "protocol": 4, "server": {"version": "2026.9.6"}, "snapshot": {},
                    "features": {"methods": ["exec.approval.list"], "events": []},
                    "auth": {"role": "operator", "scopes": ["operator.admin"]},
                    "policy": {"maxPayload": 1, "maxBufferedBytes": 1, "tickIntervalMs": 30_000}}),
                "exec.approval.list" => {
                    refused = listed.as_ref().err();
                    listed.clone().unwrap_or_default().into()
                }
                _ => json!({"ok": true}),
            };
            let is_list = method == "exec.approval.list";
            let answer = match refused {
                None => json!({"type": "res", "id": frame["id"], "ok": true, "payload": payload}),
                Some(text) => json!({"type": "res", "id": frame["id"], "ok": false,
                    "error": {"code": "INVALID_REQUEST", "message": text}}),
            };
            socket.send(Message::text(answer.to_string())).await.unwrap();
            if is_list {
                for request in raised.by_ref() {
                    socket.send(event("exec.approval.requested", request)).await.unwrap();
                }
            }
        }
    });
    address
}

#[tokio::test]
async fn ten_gateways_with_a_thousand_requests_each_fit_and_one_more_takes_no_room_of_others() {
    let here = Here::new();
    for at in 0..10 {
        let url =
            format!("ws://{}", scripted(Ok(requests(if at == 0 { 3_000 } else { 1_000 })), Vec::new()).await);
        here.connections.save(edit(&url, TOKEN)).await.unwrap();
    }
    let all = MAX_PENDING_OF_GATEWAY + 9 * 1_000;
    let mut count = here.core.approvals.count();
    tokio::time::timeout(LIMIT, count.wait_for(|count| *count == all)).await.expect("all in time").unwrap();
    let pending = here.core.approvals.pending().await;
    assert_eq!(pending.len(), all);
    // This machine's own requests still find room.
    let own = serde_json::from_value(json!({"command": "ls"})).unwrap();
    let peer = Peer::default();
    let own = here.core.host.ask(own, &peer, CancellationToken::new());
    tokio::pin!(own);
    let waits = tokio::time::timeout(LIMIT, async {
        tokio::select! {
            ended = &mut own => panic!("expected it to wait, got {ended:?}"),
            waits = count.wait_for(|count| *count == all + 1) => drop(waits.unwrap()),
        }
    });
    waits.await.expect("asked in time");
    // One that is answered makes room for the next of its gateway.
    assert!(here.core.approvals.resolve(&pending[0].id, Decision::Deny, "window").await.is_ok());
    here.stop.cancel();
}
