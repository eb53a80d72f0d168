//! Both ends of a gateway's and of a pet channel's connection, fed with lines, and what is asked over HTTP.
//! Nobody is in without the secret, and nothing is called before; what ended says nothing any more; an answer
//! is to what was asked. The first byte tells which end listens.
#![no_main]

use countersign_gateway::access::Scope;
use countersign_gateway::client::{self, Answers, Introduction};
use countersign_gateway::embedded::fuzzing;
use countersign_gateway::identity::Identity;
use countersign_gateway::pairing::{Admission, Applicant};
use countersign_gateway::session::{Gate, Locked, Output, Session};
use countersign_protocol::ids::DeviceId;
use countersign_protocol::gateway::Frame;
use countersign_protocol::gateway::connect::{Auth, ClientInfo};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::sync::OnceLock;

fuzz_target!(|text: &str| {
    let Some((kind, text)) = text.split_at_checked(1) else { return };
    match kind.as_bytes()[0] % 8 {
        0 => server(text),
        1 => operator(text),
        2 => client(text),
        3 => introduced(text),
        4 => countersign_gateway::pet::fuzzing::server(text),
        5 => countersign_gateway::pet::client::fuzzing::client(text),
        6 => fuzzing::tool_list(text),
        _ => {
            if let Ok(body) = serde_json::from_str(text) {
                fuzzing::tool_call(body);
            }
        }
    }
});

const NOW: i64 = 1_760_000_000_000;
const TOKEN: &str = "gateway-token-0123456789";

/// A gateway that lets every device in that has the token.
struct Door;

impl Gate for Door {
    fn secret(&mut self, auth: Option<&Auth>, _: Option<&DeviceId>) -> Result<(), Locked> {
        match auth.and_then(|auth| auth.token.as_deref()) {
            None => Err(Locked::Missing),
            Some(TOKEN) => Ok(()),
            Some(_) => Err(Locked::Mismatch),
        }
    }

    fn admit(&mut self, _: &Applicant<'_>) -> Admission {
        Admission::Admitted { changed: false }
    }

    fn lets_in_by_secret(&self) -> bool {
        true
    }

    fn uptime_ms(&self) -> u64 {
        12
    }
}

fn fresh() -> (Session, Frame) {
    Session::new("conn-1".to_owned(), "11111111-2222-4333-8444-555555555555".to_owned(), NOW)
}

fn server(text: &str) {
    hear(fresh().0, text);
}

/// A gateway to which somebody is connected that may approve.
fn operator(text: &str) {
    let (mut session, _) = fresh();
    session.receive(connect(), &mut Door, NOW);
    assert!(session.client().is_some_and(|client| client.may(Scope::Approvals)));
    hear(session, text);
}

fn hear(mut session: Session, text: &str) {
    let mut is_open = session.client().is_some();
    let mut is_over = false;
    for line in text.lines() {
        let outputs = session.receive(line, &mut Door, NOW);
        assert!(!is_over || outputs.is_empty(), "a closed session is silent");
        for output in outputs {
            match output {
                Output::Opened(client) => {
                    assert!(!is_open && line.contains(TOKEN), "in without the token: {line}");
                    let has_proof = client.device_id.is_some();
                    assert!(has_proof || !client.may(Scope::Admin) || client.client.id == "cli", "{line}");
                    is_open = true;
                }
                Output::Call { id, .. } => assert!(is_open && !id.is_empty()),
                Output::Close { .. } => is_over = true,
                Output::Send(frame) => drop(serde_json::to_string(&frame).unwrap()),
                Output::Knocked(_) => {}
            }
        }
    }
}

fn client(text: &str) {
    listen(client::Session::new(introduction()), text, 0);
}

/// A client that is in, and waits for the answer to a call.
fn introduced(text: &str) {
    let (mut server, challenge) = fresh();
    let mut session = client::Session::new(introduction());
    session.receive(&serde_json::to_string(&challenge).unwrap());
    for output in server.receive(connect(), &mut Door, NOW) {
        if let Output::Send(frame) = output {
            session.receive(&serde_json::to_string(&frame).unwrap());
        }
    }
    session.call("exec.approval.resolve", json!({}), Answers::One).expect("it is in");
    listen(session, text, 1);
}

fn listen(mut session: client::Session, text: &str, mut waiting: u32) {
    let mut is_over = false;
    for line in text.lines() {
        let outputs = session.receive(line);
        assert!(!is_over || outputs.is_empty(), "a broken session is silent");
        for output in outputs {
            match output {
                client::Output::Answered(_, answer) => {
                    waiting = waiting.checked_sub(1).expect("an answer to a call");
                    let said: Value = serde_json::from_str(line).unwrap();
                    assert_eq!(answer.is_ok(), said["ok"] == true);
                }
                client::Output::Broken(_) | client::Output::Refused(_) => is_over = true,
                client::Output::Send(_)
                | client::Output::Opened(_)
                | client::Output::Happened(_)
                | client::Output::Gap => {}
            }
        }
    }
}

/// What a careful client says first. It is the same every time, as the challenge is.
fn connect() -> &'static str {
    static CONNECT: OnceLock<String> = OnceLock::new();
    CONNECT.get_or_init(|| {
        let mut session = client::Session::new(introduction());
        match session.receive(&serde_json::to_string(&fresh().1).unwrap()).remove(0) {
            client::Output::Send(text) => text,
            other => panic!("{other:?}"),
        }
    })
}

fn introduction() -> Introduction {
    Introduction {
        identity: Identity::from_seed(&[7; 32]),
        client: ClientInfo {
            id: "gateway-client".into(),
            version: "1".into(),
            platform: "linux".into(),
            mode: "ui".into(),
            ..ClientInfo::default()
        },
        role: "operator",
        scopes: vec!["operator.read".into(), "operator.approvals".into()],
        caps: Vec::new(),
        commands: Vec::new(),
        auth: Some(Auth { token: Some(TOKEN.into()), ..Auth::default() }),
    }
}
