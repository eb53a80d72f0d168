//! Handshakes and calls, right and wrong ones (docs/protocol/gateway.md, "Failed handshakes").

use super::*;
use crate::identity::Identity;
use crate::pairing::{Devices, LetInBy, LocalPairing, Moment};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

const NOW: i64 = 1_760_000_000_000;
const MOMENT: Moment = Moment { now_ms: NOW, steady_ms: 1_000 };
const NONCE: &str = "11111111-2222-4333-8444-555555555555";
const TOKEN: &str = "gateway-token-0123456789";

/// A gateway with one token.
struct Door {
    devices: Devices,
    local: LocalPairing,
    limited: bool,
}

impl Door {
    fn new(local: LocalPairing) -> Self {
        Self { devices: Devices::default(), local, limited: false }
    }
}

impl Gate for Door {
    fn secret(&mut self, auth: Option<&Auth>, _: Option<&DeviceId>) -> Result<(), Locked> {
        match auth.and_then(|auth| auth.token.as_deref()) {
            _ if self.limited => Err(Locked::RateLimited(5_000)),
            None => Err(Locked::Missing),
            Some(TOKEN) => Ok(()),
            Some(_) => Err(Locked::Mismatch),
        }
    }

    fn admit(&mut self, applicant: &Applicant<'_>) -> Admission {
        self.devices.admit(applicant, self.local, MOMENT, || "knock-1".to_owned())
    }

    fn lets_in_by_secret(&self) -> bool {
        self.local == LocalPairing::Silent
    }

    fn uptime_ms(&self) -> u64 {
        12
    }
}

fn identity() -> Identity {
    Identity::from_seed(&[7; 32])
}

/// A `connect` as a careful client sends it, signed after `change`; `spoil` changes what was signed.
fn connect(change: impl FnOnce(&mut ConnectParams), spoil: impl FnOnce(&mut Value)) -> String {
    let identity = identity();
    let mut params = ConnectParams {
        min_protocol: 3,
        max_protocol: 4,
        client: ClientInfo {
            id: "gateway-client".into(),
            display_name: Some("Here".into()),
            version: "1".into(),
            platform: "linux".into(),
            device_family: Some("Linux".into()),
            mode: "ui".into(),
            ..ClientInfo::default()
        },
        caps: vec!["exec-approvals".into()],
        commands: Vec::new(),
        permissions: None,
        path_env: None,
        role: Some("operator".into()),
        scopes: vec!["operator.read".into(), "operator.approvals".into()],
        device: None,
        auth: Some(Auth { token: Some(TOKEN.into()), ..Auth::default() }),
        locale: None,
        user_agent: None,
    };
    params.device = Some(DeviceProof {
        id: identity.device_id().into(),
        public_key: identity.public_key(),
        signature: String::new(),
        signed_at: NOW,
        nonce: Some(NONCE.into()),
    });
    change(&mut params);
    if let Some(device) = &mut params.device {
        let proof = Proof {
            device_id: &DeviceId::from(device.id.as_str()),
            client_id: &params.client.id,
            client_mode: &params.client.mode,
            role: params.role.as_deref().unwrap_or("operator"),
            scopes: &params.scopes,
            signed_at_ms: device.signed_at,
            token: params.auth.as_ref().map(Auth::signed_token).unwrap_or_default(),
            nonce: device.nonce.as_deref().unwrap_or_default(),
            platform: &params.client.platform,
            device_family: params.client.device_family.as_deref().unwrap_or_default(),
        };
        device.signature = identity.sign(&proof.text());
    }
    let mut params = serde_json::to_value(&params).unwrap();
    spoil(&mut params);
    json!({"type": "req", "id": "h1", "method": "connect", "params": params}).to_string()
}

fn session() -> Session {
    Session::new("conn-1".to_owned(), NONCE.to_owned(), NOW).0
}

fn nothing<T>(_: &mut T) {}

/// What a handshake comes to: the message and close code, or the client.
fn knock(door: &mut Door, text: &str) -> Result<Arc<Client>, (String, u16, Value)> {
    let mut session = session();
    let outputs = session.receive(text, door, NOW);
    match outputs.as_slice() {
        [Output::Opened(client), Output::Send(Frame::Res(answer))] => {
            assert!(answer.ok && answer.payload.as_ref().unwrap()["type"] == "hello-ok");
            assert_eq!(session.client(), Some(client));
            Ok(Arc::clone(client))
        }
        [.., Output::Send(Frame::Res(answer)), Output::Close { code, reason }] => {
            let error = answer.error.clone().unwrap();
            assert_eq!((&error.message, session.client()), (reason, None));
            assert_eq!(session.receive(text, door, NOW), Vec::new(), "a closed session is silent");
            Err((error.message, *code, error.details.map(|details| *details).unwrap_or_default()))
        }
        [Output::Close { code, reason }] => Err((reason.clone(), *code, Value::Null)),
        other => panic!("{other:?}"),
    }
}

fn check(text: &str, message: &str, code: u16, word: &str) {
    let refused = knock(&mut Door::new(LocalPairing::Silent), text).unwrap_err();
    assert_eq!((refused.0.as_str(), refused.1), (message, code), "{text}");
    assert_eq!(refused.2.get("code").and_then(Value::as_str).unwrap_or_default(), word, "{text}");
}

#[test]
fn a_challenge_comes_first_and_a_good_answer_opens() {
    let (_, challenge) = Session::new("c".into(), NONCE.into(), NOW);
    let payload = Some(json!({"nonce": NONCE, "ts": NOW}));
    assert_eq!(challenge, Frame::Event(Event { event: "connect.challenge".into(), payload, seq: None }));
    let client = knock(&mut Door::new(LocalPairing::Silent), &connect(nothing, nothing)).unwrap();
    assert_eq!((client.name(), client.role), ("Here", Role::Operator));
    assert_eq!(client.scopes.words(), ["operator.approvals", "operator.read"]);
    assert_eq!(client.device_id, Some(identity().device_id()));
}

#[test]
fn both_generations_are_spoken_and_no_other() {
    for (min, max, answered) in
        [(3, 3, Some(3)), (3, 4, Some(4)), (4, 9, Some(4)), (1, 2, None), (5, 6, None)]
    {
        let text = connect(|params| (params.min_protocol, params.max_protocol) = (min, max), nothing);
        let mut session = session();
        let outputs = session.receive(&text, &mut Door::new(LocalPairing::Silent), NOW);
        let Some(Output::Send(Frame::Res(answer))) = outputs.get(usize::from(answered.is_some())) else {
            panic!("{outputs:?}");
        };
        assert_eq!(answer.payload.as_ref().map(|hello| hello["protocol"].clone()), answered.map(Value::from));
    }
    let text = connect(|params| params.min_protocol = 5, nothing);
    check(&text, "protocol mismatch", close::PROTOCOL, "PROTOCOL_MISMATCH");
}

#[test]
fn what_is_no_handshake_is_closed() {
    let first = "invalid handshake: first request must be connect";
    for text in [
        "",
        "{",
        "[]",
        r#"{"type":"req","id":"1","method":"health"}"#,
        r#"{"type":"req","id":"","method":"connect"}"#,
        r#"{"type":"event","event":"connect"}"#,
    ] {
        check(text, first, close::POLICY, "");
    }
    check(&" ".repeat(MAX_HANDSHAKE_BYTES + 1), "preauth payload too large", close::TOO_BIG, "");
    let refused = knock(
        &mut Door::new(LocalPairing::Silent),
        r#"{"type":"req","id":"1","method":"connect","params":{"minProtocol":"x"}}"#,
    );
    let (message, code, _) = refused.unwrap_err();
    assert!(message.starts_with("invalid connect params: "), "{message}");
    assert_eq!(code, close::POLICY);
}

#[test]
fn what_a_device_says_of_itself_is_bounded() {
    let come = |change: &dyn Fn(&mut ConnectParams)| {
        let (mut session, _) = Session::new("conn-1".to_owned(), NONCE.to_owned(), NOW);
        let text = connect(change, |_| {});
        session.receive(&text, &mut Door::new(LocalPairing::Silent), NOW)
    };
    let opened = come(&|params| params.client.display_name = Some("A\n".repeat(20_000)));
    let Some(Output::Opened(client)) = opened.first() else { panic!("{opened:?}") };
    assert_eq!(client.name().chars().count(), 100);
    assert!(!client.name().contains('\n'));
    let long = || "x".repeat(257);
    let refused = |change: &dyn Fn(&mut ConnectParams), why: &str| {
        let outputs = come(change);
        let Some(Output::Send(Frame::Res(Response { error: Some(error), .. }))) = outputs.first() else {
            panic!("{why}: {outputs:?}")
        };
        assert_eq!(error.message, format!("invalid connect params: {why}"));
    };
    let bytes = |name: &str| format!("{name}: expected at most 256 bytes, got 257");
    refused(&|params| params.client.platform = long(), &bytes("client.platform"));
    refused(&|params| params.client.model_identifier = Some(long()), &bytes("client.modelIdentifier"));
    refused(&|params| params.scopes = vec![long()], &bytes("scopes"));
    refused(&|params| params.caps = vec!["x".to_owned(); 257], "caps: expected at most 256, got 257");
}

#[test]
fn t03_a_wrong_secret_opens_nothing() {
    let with = |token: Option<&str>| {
        let auth = token.map(|token| Auth { token: Some(token.into()), ..Auth::default() });
        connect(|params| params.auth = auth, nothing)
    };
    let missing = "unauthorized: gateway token missing (provide gateway auth token)";
    check(&with(None), missing, close::POLICY, "AUTH_TOKEN_MISSING");
    let other = "unauthorized: gateway token mismatch (provide gateway auth token)";
    for token in ["", " ", "x", &TOKEN[1..], &format!("{TOKEN} ")] {
        check(&with(Some(token)), other, close::POLICY, "AUTH_TOKEN_MISMATCH");
    }
    let mut door = Door { limited: true, ..Door::new(LocalPairing::Silent) };
    let refused = knock(&mut door, &connect(nothing, nothing)).unwrap_err();
    assert_eq!(refused.2["code"], "AUTH_RATE_LIMITED");
}

#[test]
fn t03_a_device_is_who_it_proves_to_be() {
    type Spoil = fn(&mut Value);
    let attacks: [(Spoil, &str, &str); 9] = [
        (|p| p["device"]["id"] = "0".repeat(64).into(), "device identity mismatch", "DEVICE_ID_MISMATCH"),
        (|p| p["device"]["publicKey"] = "AAAA".into(), "device public key invalid", "PUBLIC_KEY_INVALID"),
        (|p| p["device"]["signature"] = "AAAA".into(), "device signature invalid", "SIGNATURE_INVALID"),
        (|p| p["scopes"] = json!(["operator.admin"]), "device signature invalid", "SIGNATURE_INVALID"),
        (|p| p["role"] = "node".into(), "device signature invalid", "SIGNATURE_INVALID"),
        (|p| p["client"]["id"] = "cli".into(), "device signature invalid", "SIGNATURE_INVALID"),
        (|p| p["device"]["nonce"] = "other".into(), "device nonce mismatch", "NONCE_MISMATCH"),
        (|p| p["device"]["nonce"] = Value::Null, "device nonce required", "NONCE_REQUIRED"),
        (
            |p| p["device"]["signedAt"] = (NOW - SKEW_MS - 1).into(),
            "device signature expired",
            "SIGNATURE_EXPIRED",
        ),
    ];
    for (spoil, message, word) in attacks {
        check(&connect(nothing, spoil), message, close::POLICY, &format!("DEVICE_AUTH_{word}"));
    }
    // A signature over another connection's challenge.
    let replayed = connect(|params| params.device.as_mut().unwrap().nonce = Some("old".into()), nothing);
    check(&replayed, "device nonce mismatch", close::POLICY, "DEVICE_AUTH_NONCE_MISMATCH");
}

#[test]
fn t03_whoever_does_not_say_who_it_is_may_do_nothing() {
    let text = connect(|params| params.device = None, nothing);
    let client = knock(&mut Door::new(LocalPairing::Silent), &text).unwrap();
    assert_eq!(client.scopes.words(), Vec::<String>::new());
    let node = connect(
        |params| {
            params.device = None;
            params.role = Some("node".into());
        },
        nothing,
    );
    check(&node, "device identity required", close::POLICY, "DEVICE_IDENTITY_REQUIRED");
    let odd = connect(|params| params.role = Some("root".into()), nothing);
    check(&odd, "invalid role", close::POLICY, "");
}

#[test]
fn t02_the_peers_command_line_needs_no_device_where_the_secret_lets_every_device_in() {
    let check = |local: LocalPairing, id: &str, mode: &str, scopes: &[&str]| {
        let text = connect(
            |params| {
                params.device = None;
                (params.client.id, params.client.mode) = (id.into(), mode.into());
            },
            nothing,
        );
        let client = knock(&mut Door::new(local), &text).unwrap();
        assert_eq!(client.scopes.words(), scopes, "{local:?} {id} {mode}");
    };
    check(LocalPairing::Silent, "cli", "cli", &["operator.approvals", "operator.read"]);
    check(LocalPairing::Silent, "cli", "ui", &[]);
    check(LocalPairing::Silent, "gateway-client", "cli", &[]);
    check(LocalPairing::Ask, "cli", "cli", &[]);
}

#[test]
fn a_device_that_is_not_known_waits_and_is_told_so_once() {
    let mut door = Door::new(LocalPairing::Ask);
    let text = connect(nothing, nothing);
    let mut first = session();
    let outputs = first.receive(&text, &mut door, NOW);
    assert!(matches!(outputs.first(), Some(Output::Knocked(pending)) if pending.request_id == "knock-1"));
    let (message, code, details) = knock(&mut door, &text).unwrap_err();
    assert!(message.starts_with("pairing required: "), "{message}");
    assert_eq!(
        (code, &details["reason"], &details["requestId"]),
        (close::POLICY, &json!("not-paired"), &json!("knock-1"))
    );
    door.devices.approve("knock-1", LetInBy::Person, MOMENT).unwrap();
    assert!(knock(&mut door, &text).is_ok());
    let more = connect(|params| params.scopes = vec!["operator.admin".into()], nothing);
    assert_eq!(knock(&mut door, &more).unwrap_err().2["reason"], "scope-upgrade");
}

/// An open session with these scopes.
fn open(role: &str, scopes: &[&str]) -> (Session, Door) {
    let (mut session, mut door) = (session(), Door::new(LocalPairing::Silent));
    let text = connect(
        |params| {
            params.role = Some(role.into());
            params.scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        },
        nothing,
    );
    session.receive(&text, &mut door, NOW);
    assert!(session.client().is_some());
    (session, door)
}

/// The error of a call, if it is not let through.
fn call(session: &mut Session, door: &mut Door, text: &str) -> Option<(String, String)> {
    match session.receive(text, door, NOW).as_slice() {
        [Output::Call { .. }] => None,
        [Output::Send(Frame::Res(answer)), ..] => {
            Some((answer.id.clone(), answer.error.clone().unwrap().message))
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_call_needs_its_scope() {
    for method in Method::all() {
        let text = json!({"type": "req", "id": "1", "method": method.as_str()}).to_string();
        for scope in ["operator.read", "operator.write", "operator.approvals", "operator.pairing"] {
            let (mut session, mut door) = open("operator", &[scope]);
            let refused = call(&mut session, &mut door, &text);
            let allowed = match method {
                Method::Operator(method) => method.scope().is_none_or(|wanted| {
                    wanted.as_str() == scope || (wanted == Scope::Read && scope == "operator.write")
                }),
                Method::Node(_) => false,
            };
            assert_eq!(refused.is_none(), allowed, "{method:?} {scope}: {refused:?}");
        }
        let (mut session, mut door) = open("operator", &["operator.admin"]);
        assert_eq!(call(&mut session, &mut door, &text).is_none(), matches!(method, Method::Operator(_)));
        let (mut session, mut door) = open("node", &[]);
        let refused = call(&mut session, &mut door, &text);
        assert_eq!(refused.is_none(), matches!(method, Method::Node(_)), "{method:?}");
    }
}

#[test]
fn a_wrong_frame_is_answered_under_its_id() {
    let (mut session, mut door) = open("operator", &["operator.admin"]);
    for (text, id, start) in [
        ("{", "invalid", "invalid request frame: "),
        ("[1]", "invalid", "invalid request frame: "),
        (r#"{"type":"req","id":7,"method":"health"}"#, "invalid", "invalid request frame: "),
        (r#"{"type":"req","id":"7"}"#, "7", "invalid request frame: "),
        (r#"{"type":"req","id":"7","method":""}"#, "7", "invalid request frame: expected a method"),
        (r#"{"type":"res","id":"7","ok":true}"#, "7", "invalid request frame: expected a request"),
        (r#"{"type":"req","id":"7","method":"no.such"}"#, "7", "unknown method: no.such"),
    ] {
        let (found, message) = call(&mut session, &mut door, text).unwrap();
        assert_eq!(found, id, "{text}");
        assert!(message.starts_with(start), "{text}: {message}");
    }
}

#[test]
fn a_flood_of_calls_for_another_role_ends_the_connection() {
    let (mut session, mut door) = open("node", &[]);
    let text = r#"{"type":"req","id":"1","method":"exec.approval.list"}"#;
    for _ in 0..MAX_ROLE_ERRORS {
        assert_eq!(call(&mut session, &mut door, text).unwrap().1, "unauthorized role: node");
    }
    let last = session.receive(text, &mut door, NOW);
    assert!(matches!(last.as_slice(), [_, Output::Close { code: close::POLICY, .. }]), "{last:?}");
    assert_eq!(session.client(), None);
}

proptest! {
    // Keys are slow without optimisation.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn t03_nothing_is_called_before_the_handshake_whatever_comes(texts in prop::collection::vec(".{0,80}", 0..8)) {
        let (mut session, mut door) = (session(), Door::new(LocalPairing::Silent));
        for text in texts {
            let outputs = session.receive(&text, &mut door, NOW);
            let harmless = |output: &Output| matches!(output, Output::Send(_) | Output::Close { .. });
            prop_assert!(outputs.iter().all(harmless), "{:?}", outputs);
        }
        prop_assert!(session.client().is_none());
    }

    #[test]
    fn any_frame_has_at_most_one_answer(text in any::<String>(), method in "[a-z.]{0,20}", id in ".{0,5}") {
        let (mut session, mut door) = open("operator", &["operator.admin"]);
        let frame = json!({"type": "req", "id": id, "method": method}).to_string();
        for text in [text, frame] {
            prop_assert_eq!(session.receive(&text, &mut door, NOW).len(), 1);
        }
    }
}
