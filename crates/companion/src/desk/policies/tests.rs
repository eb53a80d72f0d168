//! Documents of real gateways, our own headless one, and of scripted peers where ours has no nodes or
//! does not misbehave.

use super::*;
use crate::testing::{PATIENCE, paths};
use crate::wiring::Companion;
use countersign_approvals::actor::PresenterGuard;
use countersign_peers::gateway::{self, Serving};
use countersign_protocol::edits::{DocumentEdit, PolicyField};
use countersign_protocol::state::SocketState;
use countersign_protocol::ui::{EmbeddedState, GatewayEdit, LinkState, PolicyReach, SecretEdit, SecretKind};
use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;

const TOKEN: &str = "a token of this test";

/// The app, and what it is connected to.
struct Rig {
    companion: Companion,
    _presenter: PresenterGuard,
    _home: TempDir,
}

impl Rig {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let (companion, presenter) = Companion::start(&paths(home.path())).unwrap();
        Self { companion, _presenter: presenter, _home: home }
    }

    fn desk(&self) -> &Desk {
        self.companion.desk()
    }

    /// Connects to a gateway, asking for everything.
    async fn connect(&self, url: &str) -> PolicyPlace {
        self.connect_as(edit(url, true)).await
    }

    async fn connect_as(&self, edit: GatewayEdit) -> PolicyPlace {
        self.desk().save_gateway(edit).await.unwrap();
        let gateway = self.until(|state| matches!(state, LinkState::Connected { .. })).await;
        PolicyPlace { gateway, node: None }
    }

    /// Waits until the last gateway is in such a state. Its id.
    async fn until(&self, fits: impl Fn(&LinkState) -> bool) -> String {
        let connections = &self.desk().inner.parts.connections;
        let mut changes = connections.changes();
        let waiting = async {
            loop {
                changes.mark_unchanged();
                let view = connections.views().pop().unwrap();
                if fits(&view.state) {
                    return view.id;
                }
                changes.changed().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("such a state in time")
    }

    async fn edit(
        &self,
        place: &PolicyPlace,
        base: &str,
        edit: DocumentEdit,
    ) -> Result<EditResult, CommandError> {
        self.edit_as(place, base, edit, false).await
    }

    async fn edit_as(
        &self,
        place: &PolicyPlace,
        base: &str,
        edit: DocumentEdit,
        confirmed: bool,
    ) -> Result<EditResult, CommandError> {
        let (place, base_hash) = (place.clone(), base.to_owned());
        self.desk().edit_policy(PolicyEditParams { place, base_hash, edits: vec![edit], confirmed }).await
    }

    async fn document(&self, place: &PolicyPlace) -> DocumentView {
        let read = self.desk().policy(place).await;
        assert_eq!((&read.access, &read.read_only), (&PolicyAccess::Open, &None));
        read.document.unwrap()
    }

    /// Changes of documents of other machines, oldest first: store, hash after, and how many loosenings.
    async fn history(&self) -> Vec<(String, String, usize)> {
        let entries = self.desk().history(None, 50).await.unwrap().entries;
        let changes = entries.into_iter().rev().filter_map(|entry| match entry.event {
            HistoryEvent::Document { writer, store: Some(store), after, loosenings, .. } => {
                assert_eq!(writer, "window");
                Some((store, after, loosenings.len()))
            }
            _ => None,
        });
        changes.collect()
    }
}

fn edit(url: &str, sees_agents: bool) -> GatewayEdit {
    GatewayEdit {
        id: None,
        name: "far\u{202e}away".to_owned(),
        url: url.to_owned(),
        pin: None,
        enabled: true,
        sees_agents,
        runs_on_nodes: false,
        session_filter: None,
        secret_kind: SecretKind::Token,
        secret: SecretEdit::Set { value: TOKEN.to_owned() },
    }
}

/// A gateway of its own machine, and that machine's document.
struct Far {
    folder: TempDir,
    serving: Serving,
}

impl Far {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = gateway::Options { port: 0, token: Some(TOKEN.to_owned()), token_file: None };
        let serving = gateway::serve_alone(&paths(folder.path()), options).await.unwrap();
        Self { folder, serving }
    }

    fn url(&self) -> String {
        format!("ws://{}", self.serving.address)
    }

    fn stored(&self) -> Value {
        serde_json::from_slice(&std::fs::read(paths(self.folder.path()).document()).unwrap()).unwrap()
    }

    fn store(&self, document: &Value) {
        let file = paths(self.folder.path()).document();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, document.to_string()).unwrap();
    }
}

fn set(scope: &str, field: PolicyField, value: &str) -> DocumentEdit {
    DocumentEdit::SetPolicy { scope: scope.to_owned(), field, value: Some(value.to_owned()) }
}

fn add(agent: &str, pattern: &str) -> DocumentEdit {
    let (agent, pattern) = (agent.to_owned(), pattern.to_owned());
    DocumentEdit::AddEntry { agent, pattern, arg_pattern: None, source: None }
}

#[tokio::test]
async fn a_gateways_document_is_read_and_changed_and_nothing_else_in_it() {
    let far = Far::new().await;
    far.store(&json!({
        "version": 1, "note": "theirs", "socket": {"path": "/run/s.sock", "token": "s3cret-of-the-far-machine-00000"},
        "defaults": {"security": "allowlist", "note": 1},
        "agents": {"main": {"note": [1], "allowlist": [
            {"id": "git", "pattern": "/usr/bin/git", "argPattern": "^status$", "note": {"a": 1}, "lastUsedAt": 5},
        ]}},
    }));
    let rig = Rig::new();
    let place = rig.connect(&far.url()).await;
    let view = rig.document(&place).await;
    assert_eq!((view.state, view.scopes.len()), (StoreState::Ready, 3));
    // What gets looser waits for the person's word, and nothing was written.
    let before = far.stored();
    let asked = rig.edit(&place, &view.hash, add("main", "/usr/bin/rg")).await.unwrap();
    assert_eq!((asked.applied, asked.loosenings.len()), (false, 1));
    assert_eq!(far.stored(), before);
    let done = rig.edit_as(&place, &view.hash, add("main", "/usr/bin/rg"), true).await.unwrap();
    assert!(done.applied);
    let mut expected = before;
    let list = expected["agents"]["main"]["allowlist"].as_array_mut().unwrap();
    let added = far.stored()["agents"]["main"]["allowlist"][1].clone();
    assert_eq!(added["pattern"], "/usr/bin/rg");
    list.push(added);
    assert_eq!(far.stored(), expected);
    assert_eq!(rig.document(&place).await.hash, done.hash);
    // What gets stricter needs no word; taking back what was added is such a thing, the other
    // way round is not.
    for edit in done.undo {
        assert!(rig.edit(&place, &done.hash, edit).await.unwrap().applied);
    }
    let names: Vec<_> = rig.history().await;
    let name = "far\\u{202E}away".to_owned();
    assert_eq!(names[0], (name.clone(), done.hash, 1));
    assert_eq!((names.len(), &names[1].0, names[1].2), (2, &name, 0));
}

#[tokio::test]
async fn a_document_that_is_not_there_yet_begins_with_the_first_change() {
    let far = Far::new().await;
    let rig = Rig::new();
    let place = rig.connect(&far.url()).await;
    let view = rig.document(&place).await;
    assert_eq!(view.state, StoreState::Missing);
    assert!(!paths(far.folder.path()).document().exists(), "reading makes nothing");
    let done = rig.edit(&place, &view.hash, set("*", PolicyField::Ask, "always")).await.unwrap();
    assert!(done.applied);
    assert_eq!(far.stored()["agents"]["*"]["ask"], "always");
    assert_eq!(rig.document(&place).await.state, StoreState::Ready);
}

#[tokio::test]
async fn an_edit_from_an_older_look_loses_nothing() {
    let far = Far::new().await;
    let document = |at: i64, ask: &str| {
        let entry = json!({"id": "git", "pattern": "/usr/bin/git", "lastUsedAt": at});
        json!({"version": 1, "agents": {"main": {"ask": ask, "allowlist": [entry]}}})
    };
    far.store(&document(1, "on-miss"));
    let rig = Rig::new();
    let place = rig.connect(&far.url()).await;
    let seen = rig.document(&place).await;
    // Somebody used an entry: that is no other policy.
    far.store(&document(2, "on-miss"));
    let stricter = set("main", PolicyField::Security, "deny");
    assert!(rig.edit(&place, &seen.hash, stricter.clone()).await.unwrap().applied);
    assert_eq!(far.stored()["agents"]["main"]["allowlist"][0]["lastUsedAt"], 2);
    // Somebody changed it: the person looks again first.
    let seen = rig.document(&place).await;
    far.store(&document(3, "off"));
    let stale = rig.edit(&place, &seen.hash, stricter.clone()).await.unwrap_err();
    assert_eq!(stale.code, ErrorCode::Stale);
    let never = rig.edit(&place, "a hash that nobody was shown", stricter.clone()).await.unwrap_err();
    assert_eq!(never.code, ErrorCode::Stale);
    assert_eq!(far.stored(), document(3, "off"));
    let again = rig.document(&place).await;
    assert!(rig.edit(&place, &again.hash, stricter).await.unwrap().applied);
    assert_eq!(far.stored()["agents"]["main"]["ask"], "off");
    assert_eq!(rig.history().await.len(), 2);
}

#[tokio::test]
async fn without_the_scope_the_document_is_listed_with_the_reason() {
    let far = Far::new().await;
    let rig = Rig::new();
    let place = rig.connect_as(edit(&far.url(), false)).await;
    let stores = rig.desk().policies().await.stores;
    let access: Vec<_> = stores.iter().map(|store| (&store.place, &store.access)).collect();
    assert_eq!(access, [(&place, &PolicyAccess::NotPermitted)]);
    assert_eq!(stores[0].nodes_unknown, None, "a gateway that knows no nodes has none");
    assert!(stores[0].name.spans.iter().any(|span| span.text == "U+202E"));
    assert_eq!(rig.desk().policy(&place).await.access, PolicyAccess::NotPermitted);
    let refused = rig.edit(&place, "", set("*", PolicyField::Ask, "always")).await.unwrap_err();
    assert!(refused.message.contains("operator.admin"), "{refused:?}");
}

#[tokio::test]
async fn a_gateway_that_is_off_lost_or_removed_is_told_as_such() {
    let far = Far::new().await;
    let rig = Rig::new();
    let place = rig.connect(&far.url()).await;
    let view = rig.document(&place).await;
    far.serving.stop().await;
    rig.until(|state| !matches!(state, LinkState::Connected { .. })).await;
    let access = async || rig.desk().policies().await.stores.pop().map(|store| store.access);
    assert_eq!(access().await, Some(PolicyAccess::NotConnected));
    let lost = rig.edit(&place, &view.hash, set("*", PolicyField::Ask, "always")).await.unwrap_err();
    assert!(lost.message.contains("not connected"), "{lost:?}");
    let off =
        GatewayEdit { id: Some(place.gateway.clone()), enabled: false, ..edit("ws://127.0.0.1:9", true) };
    rig.desk().save_gateway(off).await.unwrap();
    assert_eq!(access().await, Some(PolicyAccess::Off));
    rig.desk().remove_gateway(&place.gateway).await.unwrap();
    assert_eq!(access().await, None);
    assert_eq!(rig.desk().policy(&place).await.access, PolicyAccess::Gone);
    assert_eq!(rig.history().await, []);
}

#[tokio::test]
async fn a_window_of_another_countersign_keeps_its_own_word_on_what_loosens() {
    let (rig, other) = (Rig::new(), Rig::new());
    let mut changes = other.desk().inner.parts.gateway.changes();
    let serving = async {
        loop {
            if let EmbeddedState::Serving { url } = other.desk().embedded().state {
                return url;
            }
            changes.changed().await.unwrap();
        }
    };
    let url = tokio::time::timeout(PATIENCE, serving).await.unwrap();
    let token = std::fs::read_to_string(paths(other._home.path()).gateway().join("token")).unwrap();
    let secret = SecretEdit::Set { value: token.trim().to_owned() };
    rig.desk().save_gateway(GatewayEdit { secret, ..edit(&url, true) }).await.unwrap();
    let gateway = rig.until(|state| !matches!(state, LinkState::Connecting)).await;
    let waiting = other.desk().embedded().waiting;
    loop {
        match other.desk().answer_pairing(&waiting[0].request_id, true).await {
            Err(error) if error.code == ErrorCode::NotArmed => tokio::time::sleep(POLL).await,
            answered => break answered.unwrap(),
        }
    }
    rig.desk().retry_gateway(&gateway).await.unwrap();
    rig.until(|state| matches!(state, LinkState::Connected { .. })).await;
    let place = PolicyPlace { gateway, node: None };
    let view = rig.document(&place).await;
    assert!(rig.edit(&place, &view.hash, set("*", PolicyField::Ask, "always")).await.unwrap().applied);
    let view = rig.document(&place).await;
    let refused = rig.edit_as(&place, &view.hash, add("*", "/usr/bin/rg"), true).await.unwrap_err();
    assert!(refused.message.contains("window only"), "{refused:?}");
    assert_eq!(rig.history().await.len(), 1);
}

/// Pause between two looks at what only time changes.
const POLL: Duration = Duration::from_millis(50);

/// What a scripted peer does with a call.
enum Does {
    Answers(Value),
    Refuses(&'static str),
    /// Ends the connection.
    Leaves,
}

/// A gateway that follows a script, release 2026.9.6; and the calls that came.
async fn scripted(
    script: impl Fn(&str, &Value) -> Does + Send + Sync + 'static,
) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    let calls = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&calls);
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            let Ok(mut socket) = tokio_tungstenite::accept_async(tcp).await else { continue };
            let event = json!({"type": "event", "event": "connect.challenge", "payload": {"nonce": "n", "ts": 1_000}});
            let _ = socket.send(Message::text(event.to_string())).await;
            while let Some(Ok(message)) = socket.next().await {
                let Message::Text(text) = message else { continue };
                let frame: Value = serde_json::from_str(&text).unwrap();
                let method = frame["method"].as_str().unwrap();
                let does = match method {
                    "connect" => Does::Answers(json!({
                        "type": "hello-ok", "protocol": 4, "server": {"version": "2026.9.6"}, "snapshot": {},
                        "features": {"methods": [], "events": []},
                        "auth": {"role": "operator", "scopes": ["operator.admin"]},
                        "policy": {"maxPayload": 2_000_000, "maxBufferedBytes": 1, "tickIntervalMs": 30_000}})),
                    "exec.approval.list" => Does::Answers(json!([])),
                    _ => {
                        heard.lock().unwrap().push(json!([method, frame["params"]]));
                        script(method, &frame["params"])
                    }
                };
                let answer = match does {
                    Does::Answers(payload) => json!({"ok": true, "payload": payload}),
                    Does::Refuses(text) => {
                        json!({"ok": false, "error": {"code": "UNAVAILABLE", "message": text}})
                    }
                    Does::Leaves => break,
                };
                let mut answer = answer;
                answer["type"] = json!("res");
                answer["id"] = frame["id"].clone();
                if socket.send(Message::text(answer.to_string())).await.is_err() {
                    break;
                }
            }
        }
    });
    (url, calls)
}

fn reply(file: Value) -> Value {
    json!({"path": "~/.openclaw/state/openclaw.sqlite#exec_approvals_config", "exists": true, "hash": "h1", "file": file})
}

fn nodes() -> Value {
    let both = ["system.execApprovals.get", "system.execApprovals.set", "system.run"];
    json!({"nodes": [
        {"nodeId": "n-1", "displayName": "pi\u{202e}", "commands": both, "connected": true, "coreVersion": "2026.9.6"},
        {"nodeId": "n-2", "displayName": "mac", "commands": ["system.execApprovals.get"], "connected": true},
        {"nodeId": "n-3", "displayName": "old", "commands": both, "connected": false, "version": "2026.2.19"},
        {"nodeId": "n-4", "displayName": "shut", "commands": ["system.run"], "connected": true},
        {"nodeId": "n-5", "displayName": "camera", "commands": ["camera.snap"], "connected": true},
    ]})
}

#[tokio::test]
async fn nodes_are_listed_below_their_gateway_and_changed_over_it() {
    let (url, calls) = scripted(|method, params| match (method, params["nodeId"].as_str()) {
        ("node.list", _) => Does::Answers(nodes()),
        ("exec.approvals.node.get", Some("n-1")) => {
            Does::Answers(reply(json!({"version": 1, "note": 1, "agents": {}})))
        }
        ("exec.approvals.node.get", Some("n-2")) => Does::Answers(reply(json!({"version": 1}))),
        ("exec.approvals.node.set", Some("n-1")) => {
            Does::Answers(json!({"path": "p", "exists": true, "hash": "h2", "file": params["file"]}))
        }
        _ => Does::Refuses("not in the script"),
    })
    .await;
    let rig = Rig::new();
    let gateway = rig.connect(&url).await;
    let stores = rig.desk().policies().await.stores;
    let listed: Vec<_> =
        stores.iter().map(|store| (store.place.node.as_deref(), store.access.clone(), store.reach)).collect();
    let expected = [
        (None, PolicyAccess::Open, PolicyReach::GatewayHost),
        (Some("n-2"), PolicyAccess::Open, PolicyReach::NodeUnclear),
        (Some("n-3"), PolicyAccess::NotConnected, PolicyReach::NodeAlone),
        (Some("n-1"), PolicyAccess::Open, PolicyReach::Node),
        (Some("n-4"), PolicyAccess::NotOffered, PolicyReach::NodeUnclear),
    ];
    assert_eq!(listed, expected);
    let of = |node: &str| PolicyPlace { node: Some(node.to_owned()), ..gateway.clone() };
    let view = rig.document(&of("n-1")).await;
    // Nothing is set there, and this release allows everything then.
    assert_eq!(view.effective[0].security.to_string(), "full");
    let stricter = set("*", PolicyField::Security, "allowlist");
    assert_eq!(rig.edit(&of("n-1"), &view.hash, stricter.clone()).await.unwrap().hash, "h2");
    let file = json!({"version": 1, "note": 1, "agents": {"*": {"security": "allowlist"}}});
    let sent = json!(["exec.approvals.node.set", {"nodeId": "n-1", "baseHash": "h1", "file": file}]);
    assert_eq!(calls.lock().unwrap().last(), Some(&sent));
    assert_eq!(rig.history().await, [("far\\u{202E}away › pi\\u{202E}".to_owned(), "h2".to_owned(), 0)]);
    assert_eq!(rig.desk().policy(&of("n-2")).await.read_only, Some(PolicyReadOnly::NotTaken));
    let refused = rig.edit(&of("n-2"), "h1", stricter.clone()).await.unwrap_err();
    assert!(refused.message.contains("takes no other"), "{refused:?}");
    for (node, expected) in [
        ("n-3", PolicyAccess::NotConnected),
        ("n-4", PolicyAccess::NotOffered),
        ("n-9", PolicyAccess::Gone),
        (" ", PolicyAccess::Gone),
    ] {
        assert_eq!(rig.desk().policy(&of(node)).await.access, expected, "{node}");
    }
    let wrong =
        calls.lock().unwrap().iter().any(|call| call[1]["nodeId"] == "n-3" || call[1]["nodeId"] == "n-9");
    assert!(!wrong, "nobody is asked who cannot answer");
}

#[tokio::test]
async fn what_is_no_document_is_shown_as_what_it_is_and_never_written() {
    for (answer, expected) in [
        (json!(null), "expected an object"),
        (json!({"exists": 1}), "exists: expected true or false"),
        (json!({"enabled": true, "defaultAction": "allow", "rules": []}), "file: expected an object"),
        (json!({"enabled": false}), "file: expected an object"),
        (json!({"exists": true, "hash": "h", "file": "\u{202e}"}), "file: expected an object, got a text"),
    ] {
        let (url, calls) = scripted(move |method, _| match method {
            "exec.approvals.get" => Does::Answers(answer.clone()),
            _ => Does::Refuses("not in the script"),
        })
        .await;
        let rig = Rig::new();
        let place = rig.connect(&url).await;
        match rig.desk().policy(&place).await.access {
            PolicyAccess::Malformed { text } => assert!(text.starts_with(expected), "{text}"),
            other => panic!("{expected}: {other:?}"),
        }
        rig.edit(&place, "h", set("*", PolicyField::Ask, "always")).await.unwrap_err();
        assert!(calls.lock().unwrap().iter().all(|call| call[0] != "exec.approvals.set"));
        let stores = rig.desk().policies().await.stores;
        assert_eq!(stores[0].nodes_unknown.as_deref(), Some("not in the script"));
    }
}

#[tokio::test]
async fn a_document_that_cannot_be_used_or_replaced_is_shown_and_never_written() {
    let unreadable = StoreState::Unreadable { problem: "defaults.ask: expected one of its words".to_owned() };
    for (file, hash, state, read_only) in [
        (json!({"version": 1, "defaults": {"ask": "never\u{202e}"}}), json!("h"), unreadable, None),
        (json!({"version": 1}), json!(null), StoreState::Ready, Some(PolicyReadOnly::NoHash)),
        (json!({"version": 1}), json!({"h": 1}), StoreState::Ready, Some(PolicyReadOnly::NoHash)),
    ] {
        let answer = json!({"path": "p\u{202e}", "exists": true, "hash": hash, "file": file});
        let (url, calls) = scripted(move |_, _| Does::Answers(answer.clone())).await;
        let rig = Rig::new();
        let place = rig.connect(&url).await;
        let read = rig.desk().policy(&place).await;
        let view = read.document.unwrap();
        assert_eq!((view.path.as_str(), view.state, read.read_only), ("p\\u{202E}", state, read_only));
        rig.edit(&place, &view.hash, set("*", PolicyField::Ask, "always")).await.unwrap_err();
        assert!(calls.lock().unwrap().iter().all(|call| call[0] != "exec.approvals.set"));
    }
}

#[tokio::test]
async fn this_machines_own_document_is_recognised_when_a_gateway_here_serves_it() {
    let rig = Rig::new();
    // The socket makes the document when it opens.
    let mut socket = rig.desk().inner.parts.socket.clone();
    let listening = socket.wait_for(|state| *state == SocketState::Listening);
    drop(tokio::time::timeout(PATIENCE, listening).await.expect("a socket in time").unwrap());
    let own = rig.desk().document().await;
    let told = own.clone();
    let (url, _) = scripted(move |_, _| {
        Does::Answers(json!({"path": told.path, "exists": true, "hash": told.hash, "file": {"version": 1}}))
    })
    .await;
    let place = rig.connect(&url).await;
    let read = rig.desk().policy(&place).await;
    assert_eq!((read.is_local, read.document.unwrap().path), (true, own.path));
}

#[tokio::test]
async fn a_connection_that_is_lost_in_the_middle_of_a_change_is_in_the_history_as_a_doubt() {
    let (url, _) = scripted(|method, _| match method {
        "exec.approvals.get" => Does::Answers(reply(json!({"version": 1}))),
        "exec.approvals.set" => Does::Leaves,
        _ => Does::Answers(json!({"nodes": []})),
    })
    .await;
    let rig = Rig::new();
    let place = rig.connect(&url).await;
    let doubt = rig.edit(&place, "h1", set("*", PolicyField::Security, "deny")).await.unwrap_err();
    assert_eq!(doubt.code, ErrorCode::Store);
    assert!(doubt.message.contains("whether it was taken there is not known"), "{doubt:?}");
    assert_eq!(rig.history().await, [("far\\u{202E}away".to_owned(), String::new(), 0)]);
}

#[tokio::test]
async fn refusals_of_a_change_are_told_apart_and_leave_no_line() {
    for (words, code) in [
        ("exec approvals changed since last load; re-run exec.approvals.get and retry", ErrorCode::Stale),
        ("exec approvals base hash required; re-run exec.approvals.get and retry", ErrorCode::Stale),
        ("INVALID_REQUEST: exec approvals changed; reload and retry", ErrorCode::Stale),
        ("invalid exec.approvals.set params: at /file: unexpected property 'note'", ErrorCode::Store),
    ] {
        let (url, _) = scripted(move |method, _| match method {
            "exec.approvals.get" => Does::Answers(reply(json!({"version": 1, "note": 1}))),
            _ => Does::Refuses(words),
        })
        .await;
        let rig = Rig::new();
        let place = rig.connect(&url).await;
        let refused = rig.edit(&place, "h1", set("*", PolicyField::Security, "deny")).await.unwrap_err();
        assert_eq!(refused.code, code, "{words}");
        assert_eq!(rig.history().await, []);
    }
}

#[tokio::test]
async fn a_document_that_would_be_too_large_is_not_sent() {
    let long = "x".repeat(1_024 * 1_024 - 200);
    let (url, calls) = scripted(move |method, _| match method {
        "exec.approvals.get" => Does::Answers(reply(json!({"version": 1, "note": long}))),
        _ => Does::Refuses("not in the script"),
    })
    .await;
    let rig = Rig::new();
    let place = rig.connect(&url).await;
    let pattern = format!("/{}", "y".repeat(300));
    let refused = rig.edit_as(&place, "h1", add("*", &pattern), true).await.unwrap_err();
    assert!(refused.message.starts_with("expected a document of at most 1048576 bytes"), "{refused:?}");
    assert!(calls.lock().unwrap().iter().all(|call| call[0] != "exec.approvals.set"));
}
