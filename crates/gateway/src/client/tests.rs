//! The link over real sockets, against a gateway that each test scripts frame by frame.

mod trouble;

use super::*;
use crate::access::Role;
use countersign_protocol::ids::DeviceId;
use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// A gateway's end of one connection.
struct Peer<S> {
    socket: WebSocketStream<S>,
}

impl Peer<TcpStream> {
    async fn accept(listener: &TcpListener) -> Self {
        let (tcp, _) = listener.accept().await.unwrap();
        Self::greet(tcp).await
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    /// Upgrades and sends the challenge.
    async fn greet(stream: S) -> Self {
        let socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        let mut peer = Self { socket };
        let payload = json!({"nonce": "n-1", "ts": 1_760_000_000_000_i64});
        peer.send(json!({"type": "event", "event": "connect.challenge", "payload": payload})).await;
        peer
    }

    async fn send(&mut self, frame: Value) {
        self.socket.send(Message::text(frame.to_string())).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        loop {
            match self.socket.next().await.expect("a frame").unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Close(frame) => panic!("closed: {frame:?}"),
                _ => {}
            }
        }
    }

    /// Lets the client in. Its `connect` parameters.
    async fn welcome(&mut self) -> Value {
        let connect = self.next().await;
        assert_eq!(connect["method"], "connect");
        self.send(hello(&connect["id"], 4)).await;
        connect["params"].clone()
    }

    /// Turns the client away.
    async fn refuse(mut self, error: Value) {
        let connect = self.next().await;
        self.send(json!({"type": "res", "id": connect["id"], "ok": false, "error": error})).await;
        self.socket.close(None).await.unwrap();
    }
}

fn hello(id: &Value, protocol: u32) -> Value {
    json!({"type": "res", "id": id, "ok": true, "payload": {
        "type": "hello-ok", "protocol": protocol, "server": {"version": "2026.9.6", "connId": "1"},
        "features": {"methods": ["exec.approval.list"], "events": []}, "snapshot": {},
        "auth": {"role": "operator", "scopes": ["operator.approvals"], "deviceToken": "given"},
        "policy": {"maxPayload": 1, "maxBufferedBytes": 1, "tickIntervalMs": 30_000},
    }})
}

/// Secrets in memory.
#[derive(Clone, Default)]
struct Purse {
    secret: Option<String>,
    token: Arc<Mutex<Option<DeviceToken>>>,
}

impl Credentials for Purse {
    async fn secret(&self) -> Result<Option<Auth>, Withheld> {
        Ok(self.secret.clone().map(|token| Auth { token: Some(token), ..Auth::default() }))
    }

    async fn device_token(&self) -> Result<Option<DeviceToken>, Withheld> {
        Ok(self.token.lock().unwrap().clone())
    }

    async fn keep_device_token(&self, token: Option<DeviceToken>) {
        *self.token.lock().unwrap() = token;
    }
}

struct Rig {
    listener: TcpListener,
    link: Link,
    notices: mpsc::Receiver<Notice>,
    purse: Purse,
}

impl Rig {
    async fn new(secret: Option<&str>) -> Self {
        Self::with("ws", None, secret).await
    }

    async fn with(scheme: &str, pin: Option<Pin>, secret: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let options = Options {
            address: Address::parse(&url).unwrap(),
            pin,
            identity: Identity::generate().unwrap(),
            role: Role::Operator.as_str(),
            scopes: vec!["operator.approvals".to_owned()],
            caps: vec!["exec-approvals".to_owned()],
            commands: Vec::new(),
            display_name: "Countersign".to_owned(),
        };
        let purse = Purse { secret: secret.map(str::to_owned), ..Purse::default() };
        let (link, notices) = connect(options, purse.clone(), &TaskTracker::new(), &CancellationToken::new());
        Self { listener, link, notices, purse }
    }

    /// The next notice that is not about being on the way.
    async fn next(&mut self) -> Notice {
        loop {
            match self.notices.recv().await.expect("a notice") {
                Notice::Connecting => {}
                notice => return notice,
            }
        }
    }

    async fn opened(&mut self) -> Live {
        match self.next().await {
            Notice::Opened(live) => live,
            other => panic!("expected a connection, got {other:?}"),
        }
    }

    async fn lost(&mut self) -> (LinkProblem, Option<Duration>) {
        match self.next().await {
            Notice::Lost { problem, retry_in } => (problem, retry_in),
            other => panic!("expected a loss, got {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_client_introduces_itself_so_that_every_release_understands() {
    let mut rig = Rig::new(Some("s3cret")).await;
    let mut peer = Peer::accept(&rig.listener).await;
    let params = peer.welcome().await;
    assert_eq!((&params["minProtocol"], &params["maxProtocol"]), (&json!(3), &json!(4)));
    assert_eq!(params["client"]["mode"], "ui");
    assert_eq!(params["caps"], json!(["exec-approvals"]));
    assert_eq!(params["auth"], json!({"token": "s3cret"}));
    let device = &params["device"];
    assert_eq!((&device["nonce"], &device["signedAt"]), (&json!("n-1"), &json!(1_760_000_000_000_i64)));
    let scopes = ["operator.approvals".to_owned()];
    let proof = crate::identity::Proof {
        device_id: &DeviceId::from(device["id"].as_str().unwrap()),
        client_id: "openclaw-linux",
        client_mode: "ui",
        role: "operator",
        scopes: &scopes,
        signed_at_ms: 1_760_000_000_000,
        token: "s3cret",
        nonce: "n-1",
        platform: "linux",
        device_family: "Linux",
    };
    let key = crate::identity::decode_public_key(device["publicKey"].as_str().unwrap()).unwrap();
    assert!(crate::identity::verify(&key, &proof.text(), device["signature"].as_str().unwrap()));
    let live = rig.opened().await;
    assert_eq!(live.may(Scope::Approvals), Some(true));
    assert_eq!(live.may(Scope::Admin), Some(false));
    assert!(live.has("exec.approval.list"));
    assert!((1_760_000_000_000..1_760_000_060_000).contains(&live.gateway_now_ms()));
    assert_eq!(rig.purse.token.lock().unwrap().as_ref().unwrap().token, "given");
}

#[tokio::test]
async fn a_release_that_does_not_know_our_name_is_told_a_common_one() {
    let mut rig = Rig::new(None).await;
    let message = "invalid connect params: at /client/id: must be equal to one of the allowed values";
    let refusal = json!({"code": "INVALID_REQUEST", "message": message});
    Peer::accept(&rig.listener).await.refuse(refusal).await;
    let mut peer = Peer::accept(&rig.listener).await;
    assert_eq!(peer.welcome().await["client"]["id"], "gateway-client");
    rig.opened().await;
}

#[tokio::test]
async fn calls_find_their_answers_in_any_order_and_only_once() {
    let mut rig = Rig::new(None).await;
    let mut peer = Peer::accept(&rig.listener).await;
    peer.welcome().await;
    let live = rig.opened().await;
    let script = async {
        let (first, second, third) = (peer.next().await, peer.next().await, peer.next().await);
        let find = |method: &str| {
            [&first, &second, &third].into_iter().find(|frame| frame["method"] == method).unwrap()["id"]
                .clone()
        };
        let (a, b, c) = (find("a"), find("b"), find("c"));
        let answer =
            |id: &Value, payload: Value| json!({"type": "res", "id": id, "ok": true, "payload": payload});
        peer.send(answer(&json!("never asked"), json!(0))).await;
        peer.send(answer(&c, json!({"status": "accepted"}))).await;
        peer.send(answer(&b, json!("b"))).await;
        peer.send(answer(&b, json!("again"))).await;
        peer.send(json!({"type": "later-kind", "x": 1})).await;
        peer.send(json!({"type": "res", "id": a, "ok": false, "error": {"code": "X", "message": "no"}}))
            .await;
        peer.send(answer(&c, json!("c"))).await;
        peer
    };
    let wait = Duration::from_secs(30);
    let (a, b, c, _peer) = tokio::join!(
        live.call("a", json!({})),
        live.call("b", json!({})),
        live.call_within("c", json!({}), Answers::AcceptedFirst, wait),
        script,
    );
    assert!(matches!(a, Err(CallError::Refused(error)) if error.message == "no"));
    assert_eq!((b, c), (Ok(json!("b")), Ok(json!("c"))));
}

#[tokio::test]
async fn what_was_meant_for_a_lost_connection_never_leaves_over_the_next() {
    let mut rig = Rig::new(None).await;
    let mut peer = Peer::accept(&rig.listener).await;
    peer.welcome().await;
    let before = rig.opened().await;
    let (asked, ()) = tokio::join!(before.call("resolve", json!({})), async {
        peer.next().await;
        peer.socket.close(None).await.unwrap();
    });
    assert_eq!(asked, Err(CallError::Gone));
    let (problem, retry_in) = rig.lost().await;
    assert!(matches!(problem, LinkProblem::Closed { .. }), "{problem:?}");
    assert_eq!(retry_in, Some(Duration::from_secs(1)));
    rig.link.retry();
    let mut peer = Peer::accept(&rig.listener).await;
    peer.welcome().await;
    let after = rig.opened().await;
    assert!(!after.is(&before) && after.is(&after.clone()));
    assert_eq!(before.call("resolve", json!({})).await, Err(CallError::Gone));
    let ((), answered) = tokio::join!(
        async {
            let frame = peer.next().await;
            assert_eq!(frame["method"], "other");
            peer.send(json!({"type": "res", "id": frame["id"], "ok": true})).await;
        },
        after.call("other", json!({})),
    );
    assert_eq!(answered, Ok(Value::Null));
}

#[tokio::test]
async fn gaps_are_told_where_events_are_counted_for_us_alone() {
    let event = |seq: u64| json!({"type": "event", "event": "tick", "payload": {}, "seq": seq});
    let check = async |protocol: u32, expected: &[Option<u64>]| {
        let mut rig = Rig::new(None).await;
        let mut peer = Peer::accept(&rig.listener).await;
        let connect = peer.next().await;
        // Before the handshake is over nothing counts.
        peer.send(event(90)).await;
        peer.send(hello(&connect["id"], protocol)).await;
        rig.opened().await;
        for seq in [5, 6, 9] {
            peer.send(event(seq)).await;
        }
        let mut told = Vec::new();
        while told.last() != Some(&Some(9)) {
            told.push(match rig.next().await {
                Notice::Event(event) => event.seq,
                Notice::Gap => None,
                other => panic!("expected an event, got {other:?}"),
            });
        }
        assert_eq!(told, expected, "protocol {protocol}");
    };
    check(4, &[Some(5), Some(6), None, Some(9)]).await;
    check(3, &[Some(5), Some(6), Some(9)]).await;
}

#[tokio::test]
async fn a_slow_taker_hears_of_a_gap_instead_of_everything() {
    let mut rig = Rig::new(None).await;
    let mut peer = Peer::accept(&rig.listener).await;
    peer.welcome().await;
    let live = rig.opened().await;
    let many = u64::try_from(NOTICES).unwrap() + 100;
    for seq in 1..=many {
        peer.send(json!({"type": "event", "event": "tick", "seq": seq})).await;
    }
    // The answer comes behind all events, so all were handled.
    let ((), answered) = tokio::join!(
        async {
            let frame = peer.next().await;
            peer.send(json!({"type": "res", "id": frame["id"], "ok": true, "payload": 1})).await;
        },
        live.call("x", json!({})),
    );
    assert_eq!(answered, Ok(json!(1)));
    let mut events = 0;
    while let Ok(notice) = rig.notices.try_recv() {
        assert!(matches!(notice, Notice::Event(_)), "{notice:?}");
        events += 1;
    }
    assert_eq!(events, NOTICES);
    peer.send(json!({"type": "event", "event": "tick", "seq": many + 1})).await;
    assert!(matches!(rig.next().await, Notice::Gap));
    assert!(matches!(rig.next().await, Notice::Event(event) if event.seq == Some(many + 1)));
}

#[tokio::test]
async fn what_no_gateway_says_ends_the_connection() {
    let check = async |frame: Message| {
        let mut rig = Rig::new(None).await;
        let mut peer = Peer::accept(&rig.listener).await;
        peer.welcome().await;
        rig.opened().await;
        peer.socket.send(frame.clone()).await.unwrap();
        let (problem, retry_in) = rig.lost().await;
        assert!(matches!(problem, LinkProblem::NotAGateway { .. }), "{frame:?}: {problem:?}");
        assert_eq!(retry_in, Some(Duration::from_secs(20)));
    };
    check(Message::text("not JSON")).await;
    check(Message::text("[]")).await;
    check(Message::text(r#"{"type":"event"}"#)).await;
    check(Message::text(r#"{"type":"res","id":1,"ok":true}"#)).await;
    check(Message::binary(vec![0])).await;
}

#[tokio::test]
async fn a_page_of_the_web_is_no_gateway() {
    use tokio::io::AsyncWriteExt as _;
    let mut rig = Rig::new(None).await;
    let (mut tcp, _) = rig.listener.accept().await.unwrap();
    tcp.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await.unwrap();
    let (problem, _) = rig.lost().await;
    assert!(matches!(problem, LinkProblem::NotAGateway { .. }), "{problem:?}");
}

#[tokio::test]
async fn what_trying_again_cannot_mend_is_not_tried_again_by_itself() {
    let mut rig = Rig::new(Some("wrong")).await;
    let refusal = json!({"code": "INVALID_REQUEST", "message": "unauthorized",
                         "details": {"code": "AUTH_TOKEN_MISMATCH", "canRetryWithDeviceToken": true}});
    // It has no token of its own, so there is nothing else to try.
    Peer::accept(&rig.listener).await.refuse(refusal).await;
    assert_eq!(rig.lost().await, (LinkProblem::SecretWrong, None));
    rig.link.retry();
    let mut peer = Peer::accept(&rig.listener).await;
    peer.welcome().await;
    rig.opened().await;
}

#[tokio::test]
async fn the_devices_own_token_is_tried_once_where_nobody_is_in_between() {
    let mut rig = Rig::new(Some("old")).await;
    let kept = DeviceToken { token: "given".into(), scopes: vec!["operator.read".into()] };
    rig.purse.keep_device_token(Some(kept)).await;
    let refusal = json!({"code": "INVALID_REQUEST", "message": "unauthorized",
                         "details": {"code": "AUTH_TOKEN_MISMATCH", "canRetryWithDeviceToken": true}});
    Peer::accept(&rig.listener).await.refuse(refusal.clone()).await;
    let mut peer = Peer::accept(&rig.listener).await;
    let connect = peer.next().await;
    assert_eq!(connect["params"]["auth"], json!({"token": "given"}));
    assert_eq!(connect["params"]["scopes"], json!(["operator.read"]));
    peer.send(json!({"type": "res", "id": connect["id"], "ok": false, "error": refusal})).await;
    assert_eq!(rig.lost().await, (LinkProblem::SecretWrong, None));
}

#[tokio::test(start_paused = true)]
async fn tries_are_made_less_and_less_often() {
    let rig = Rig::new(None).await;
    let Rig { listener, link: _link, mut notices, .. } = rig;
    drop(listener);
    let mut waits = Vec::new();
    while waits.len() < 7 {
        if let Notice::Lost { problem, retry_in } = notices.recv().await.unwrap() {
            assert!(matches!(problem, LinkProblem::Unreachable { .. }), "{problem:?}");
            waits.push(retry_in.unwrap().as_secs());
        }
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
}

/// A link whose kept token is good for less than it wants, and the other end of its connection. The gateway
/// has these methods.
async fn narrow(methods: Value) -> (Rig, Peer<TcpStream>) {
    let mut rig = Rig::new(None).await;
    let kept = DeviceToken { token: "small".into(), scopes: vec!["operator.read".into()] };
    rig.purse.keep_device_token(Some(kept)).await;
    // The link has begun without it.
    rig.link.retry();
    let refusal = json!({"code": "UNAVAILABLE", "message": "starting", "retryAfterMs": 1});
    Peer::accept(&rig.listener).await.refuse(refusal).await;
    rig.lost().await;
    let mut peer = Peer::accept(&rig.listener).await;
    let connect = peer.next().await;
    assert_eq!(connect["params"]["auth"], json!({"token": "small"}));
    assert_eq!(connect["params"]["scopes"], json!(["operator.read"]));
    let mut hello = hello(&connect["id"], 4);
    hello["payload"]["features"]["methods"] = methods;
    hello["payload"]["auth"] =
        json!({"role": "operator", "scopes": ["operator.read"], "deviceToken": "small"});
    peer.send(hello).await;
    rig.opened().await;
    (rig, peer)
}

fn upgrades() -> Value {
    json!(["device.scopes.requestUpgrade", "device.scopes.waitUpgrade"])
}

/// The link asks for more, and to hear what becomes of it; the id of that call.
async fn asked_for_more(rig: &mut Rig, peer: &mut Peer<TcpStream>, request_id: &str) -> Value {
    let asked = peer.next().await;
    assert_eq!(asked["method"], "device.scopes.requestUpgrade");
    assert_eq!(asked["params"], json!({"scopes": ["operator.read", "operator.approvals"]}));
    let payload = json!({"requestId": request_id});
    peer.send(json!({"type": "res", "id": asked["id"], "ok": true, "payload": payload})).await;
    let Notice::Narrow { request_id: told } = rig.next().await else { panic!("expected what waits") };
    assert_eq!(told.as_deref(), Some(request_id));
    let waits = peer.next().await;
    assert_eq!(waits["method"], "device.scopes.waitUpgrade");
    assert_eq!(waits["params"], json!({"requestId": request_id}));
    waits["id"].clone()
}

#[tokio::test]
async fn more_than_a_kept_token_is_good_for_is_asked_for_and_used_once_it_is_given() {
    let (mut rig, mut peer) = narrow(upgrades()).await;
    let waits = asked_for_more(&mut rig, &mut peer, "r-1").await;
    // Nobody looked in time: what is named is always one that waits.
    let expired = json!({"status": "expired", "requestId": "r-1"});
    peer.send(json!({"type": "res", "id": waits, "ok": true, "payload": expired})).await;
    let waits = asked_for_more(&mut rig, &mut peer, "r-2").await;
    let scopes = json!(["operator.read", "operator.approvals"]);
    let approved =
        json!({"status": "approved", "requestId": "r-2", "deviceToken": "large", "scopes": scopes});
    peer.send(json!({"type": "res", "id": waits, "ok": true, "payload": approved})).await;
    let mut peer = Peer::accept(&rig.listener).await;
    let params = peer.welcome().await;
    assert_eq!((&params["auth"], &params["scopes"]), (&json!({"token": "large"}), &scopes));
    rig.opened().await;
}

#[tokio::test]
async fn where_more_is_not_to_be_had_the_connection_stays_and_the_token_too() {
    let check = async |methods: Value, answer: Option<Value>| {
        let (mut rig, mut peer) = narrow(methods).await;
        if let Some(answer) = answer {
            let waits = asked_for_more(&mut rig, &mut peer, "r-1").await;
            peer.send(json!({"type": "res", "id": waits, "ok": true, "payload": answer})).await;
        }
        let notice = rig.next().await;
        assert!(matches!(notice, Notice::Narrow { request_id: None }), "{notice:?}");
        peer.send(json!({"type": "event", "event": "tick"})).await;
        assert!(matches!(rig.next().await, Notice::Event(_)));
        assert_eq!(rig.purse.token.lock().unwrap().as_ref().unwrap().token, "small");
    };
    check(json!([]), None).await;
    check(upgrades(), Some(json!({"status": "rejected", "requestId": "r-1"}))).await;
    check(upgrades(), Some(json!({"status": "of a later release"}))).await;
    check(upgrades(), Some(json!({"status": "approved", "scopes": []}))).await;
}

/// A certificate and the acceptor that shows it.
fn certificate() -> (Pin, tokio_rustls::TlsAcceptor) {
    let made = rcgen::generate_simple_self_signed(["elsewhere.example".to_owned()]).unwrap();
    let pin = Pin::of(made.cert.der());
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    (pin, tokio_rustls::TlsAcceptor::from(Arc::new(config)))
}

#[tokio::test]
async fn t02_a_pinned_certificate_is_trusted_and_no_other() {
    let (pin, acceptor) = certificate();
    let mut rig = Rig::with("wss", Some(pin), None).await;
    let (tcp, _) = rig.listener.accept().await.unwrap();
    let mut peer = Peer::greet(acceptor.accept(tcp).await.unwrap()).await;
    peer.welcome().await;
    rig.opened().await;

    let (other, _) = certificate();
    let mut rig = Rig::with("wss", Some(other), None).await;
    let (tcp, _) = rig.listener.accept().await.unwrap();
    assert!(acceptor.accept(tcp).await.is_err());
    assert_eq!(rig.lost().await, (LinkProblem::PinMismatch { found: pin.to_string() }, None));

    let mut rig = Rig::with("wss", None, None).await;
    let (tcp, _) = rig.listener.accept().await.unwrap();
    assert!(acceptor.accept(tcp).await.is_err());
    let (problem, retry_in) = rig.lost().await;
    assert!(matches!(problem, LinkProblem::Certificate { .. }), "{problem:?}");
    assert_eq!(retry_in, None);
}
