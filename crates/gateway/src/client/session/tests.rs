//! The client's end against any order of any frames.

use super::*;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

fn session() -> Session {
    Session::new(Introduction {
        identity: Identity::from_seed(&[7; 32]),
        client: ClientInfo { id: "gateway-client".into(), mode: "ui".into(), ..ClientInfo::default() },
        role: "operator",
        scopes: vec!["operator.approvals".into()],
        caps: Vec::new(),
        commands: Vec::new(),
        auth: None,
    })
}

fn hello() -> Value {
    json!({"type": "res", "id": "connect", "ok": true, "payload": {
        "type": "hello-ok", "protocol": 4, "server": {}, "policy":
            {"maxPayload": 1, "maxBufferedBytes": 1, "tickIntervalMs": 30_000}}})
}

fn challenge() -> Value {
    json!({"type": "event", "event": "connect.challenge", "payload": {"nonce": "n", "ts": 1}})
}

fn open() -> Session {
    let mut session = session();
    assert!(matches!(session.receive(&challenge().to_string())[..], [Output::Send(_)]));
    assert!(matches!(session.receive(&hello().to_string())[..], [Output::Opened(_)]));
    session
}

#[test]
fn nothing_is_said_before_the_challenge_and_no_call_before_the_handshake_is_over() {
    let mut session = session();
    assert!(session.call("x", Value::Null, Answers::One).is_none());
    assert_eq!(session.receive(&hello().to_string()), []);
    session.receive(&challenge().to_string());
    assert!(session.call("x", Value::Null, Answers::One).is_none());
    assert_eq!(session.receive(&challenge().to_string()), [], "a second challenge");
}

#[test]
fn a_challenge_or_hello_of_another_shape_ends_the_connection() {
    for payload in [json!({}), json!({"nonce": 1, "ts": 1}), json!({"nonce": "n"}), json!(null)] {
        let frame = json!({"type": "event", "event": "connect.challenge", "payload": payload});
        let outputs = session().receive(&frame.to_string());
        assert!(matches!(outputs[..], [Output::Broken(_)]), "{payload}");
    }
    for payload in [json!({}), json!({"type": "hello"}), json!([1]), json!(null)] {
        let mut session = session();
        session.receive(&challenge().to_string());
        let frame = json!({"type": "res", "id": "connect", "ok": true, "payload": payload});
        assert!(matches!(session.receive(&frame.to_string())[..], [Output::Broken(_)]), "{payload}");
        assert_eq!(session.receive(&hello().to_string()), [], "over is over");
    }
}

#[test]
fn calls_are_bounded_and_forgotten_ones_make_room() {
    let mut session = open();
    let (first, _) = session.call("x", Value::Null, Answers::One).unwrap();
    for _ in 1..MAX_CALLS {
        session.call("x", Value::Null, Answers::One).unwrap();
    }
    assert!(session.call("x", Value::Null, Answers::One).is_none());
    session.forget(first);
    assert!(session.call("x", Value::Null, Answers::One).is_some());
    assert_eq!(session.receive(r#"{"type":"res","id":"c0","ok":true}"#), []);
}

fn frame() -> impl Strategy<Value = String> {
    let seq = proptest::option::of(0..20_u64);
    prop_oneof![
        Just(challenge().to_string()),
        Just(hello().to_string()),
        seq.prop_map(|seq| json!({"type": "event", "event": "tick", "seq": seq}).to_string()),
        (0..6_u64, any::<bool>()).prop_map(|(id, ok)| {
            json!({"type": "res", "id": format!("c{id}"), "ok": ok, "payload": {"status": "accepted"}})
                .to_string()
        }),
        Just(r#"{"type":"req","id":"1","method":"x"}"#.to_owned()),
        Just(r#"{"type":"else"}"#.to_owned()),
        ".{0,30}",
    ]
}

proptest! {
    #[test]
    fn each_call_is_answered_at_most_once_whatever_comes(frames in proptest::collection::vec(frame(), 0..60)) {
        let mut session = session();
        let mut made = std::collections::BTreeSet::new();
        let mut answered = std::collections::BTreeSet::new();
        let mut is_over = false;
        for frame in frames {
            for output in session.receive(&frame) {
                prop_assert!(!is_over, "nothing after the end");
                match output {
                    Output::Answered(call, _) => {
                        prop_assert!(made.contains(&call));
                        prop_assert!(answered.insert(call));
                    }
                    Output::Broken(_) | Output::Refused(_) => is_over = true,
                    Output::Send(_) | Output::Opened(_) | Output::Happened(_) | Output::Gap => {}
                }
            }
            if let Some((call, _)) = session.call("x", Value::Null, Answers::AcceptedFirst) {
                prop_assert!(!is_over);
                made.insert(call);
            }
        }
    }
}
