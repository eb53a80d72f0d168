//! The channel over real sockets, on the port of an embedded gateway, spoken to as companions speak to it.

mod client;
mod hostile;

use super::*;
use crate::embedded::{
    Agreed, Backend, Config, Embedded, Happened, KnownApproval, Listing, NotCounted, NotHeard, NotTaken,
    PolicyError, Submission, ToolError, Use, Verdict,
};
use crate::pairing::LocalPairing;
use countersign_protocol::gateway::policy::PolicyFile;
use countersign_protocol::ids::SessionKey;
use countersign_protocol::secret::PetToken;
use countersign_protocol::session_events::SessionEvent;
use countersign_protocol::tools::{ToolCall, ToolCaller, ToolOutput};
use countersign_protocol::vocabulary::Decision;
use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

const TOKEN: &str = "token-of-pets";
const GATEWAY_TOKEN: &str = "token-of-the-gateway";
const NOW_MS: i64 = 1_714_896_000_123;

/// Keeps no approvals: the channel has nothing to do with those of the gateway.
struct Nobody(broadcast::Sender<Happened>);

impl Backend for Nobody {
    async fn submit(&self, _: Submission) -> Result<Arc<KnownApproval>, NotTaken> {
        Err(NotTaken::Unavailable("a test".to_owned()))
    }
    async fn resolve(&self, _: &str, _: Verdict) -> Result<(), NotCounted> {
        Err(NotCounted::Gone)
    }
    async fn pending(&self) -> Vec<Arc<KnownApproval>> {
        Vec::new()
    }
    async fn find(&self, _: &str) -> Option<Arc<KnownApproval>> {
        None
    }
    fn past(&self) -> Vec<Arc<KnownApproval>> {
        Vec::new()
    }
    async fn wait(&self, _: &str) -> Option<Option<Decision>> {
        None
    }
    async fn consume(&self, _: &str, _: Use) -> bool {
        false
    }
    fn agreed(&self, _: &[String], _: Option<&str>) -> Option<Agreed> {
        None
    }
    fn events(&self) -> broadcast::Receiver<Happened> {
        self.0.subscribe()
    }
    fn has_own_presenter(&self) -> bool {
        false
    }
    fn is_handed_on(&self, _: &Submission) -> bool {
        false
    }
    async fn policy(&self) -> Result<PolicyFile, PolicyError> {
        Err(PolicyError::Unavailable("a test".to_owned()))
    }
    async fn set_policy(&self, _: Map<String, Value>, _: String) -> Result<PolicyFile, PolicyError> {
        Err(PolicyError::Unavailable("a test".to_owned()))
    }
    async fn say(&self, _: &str, _: &str, _: &str) -> Result<crate::embedded::Heard, NotHeard> {
        Err(NotHeard::Unavailable("no sessions here".to_owned()))
    }

    fn tell_session(&self, _: &SessionKey, _: &str, _: String) {}
    fn take_events(&self, _: &SessionKey) -> Vec<SessionEvent> {
        Vec::new()
    }
    async fn tools(&self, _: ToolCaller) -> Result<Listing, ToolError> {
        Err(ToolError::Unavailable("a test".to_owned()))
    }
    async fn call_tool(&self, _: ToolCall, _: CancellationToken) -> Result<ToolOutput, ToolError> {
        Err(ToolError::Unavailable("a test".to_owned()))
    }
    fn shown(&self, text: &str) -> String {
        text.to_owned()
    }
    fn has_room_for(&self, _: BorrowedFd<'_>) -> bool {
        true
    }

    fn now_ms(&self) -> i64 {
        NOW_MS
    }

    fn steady_ms(&self) -> i64 {
        0
    }
}

/// A gateway that serves, with its channel open.
struct Rig {
    pets: Pets,
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Rig {
    async fn new() -> Self {
        let rig = Self::closed().await;
        rig.pets.open(PetToken::parse(TOKEN).unwrap());
        rig
    }

    async fn closed() -> Self {
        let config = Config {
            token: Zeroizing::new(GATEWAY_TOKEN.to_owned()),
            local_pairing: LocalPairing::Ask,
            devices: Vec::new(),
            keep: Box::new(|_| {}),
        };
        let gateway = Embedded::new(Nobody(broadcast::Sender::new(1)), config);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let (pets, serving, ending) = (gateway.pets(), gateway.clone(), stop.clone());
        let serving = tokio::spawn(async move { serving.serve(listener, ending).await });
        Self { pets, address, stop, serving }
    }

    fn url(&self, session: &str) -> String {
        format!("ws://{}/ws?sessionId={session}", self.address)
    }

    async fn pet(&self, session: &str) -> Pet {
        Pet::connect(&format!("{}&token={TOKEN}", self.url(session))).await.expect("an open connection")
    }

    async fn ask(&self, session: &str) -> AskOutcome {
        let arguments = json!({"command": "uname -a"});
        self.pets.ask(session, Call { tool: "exec", arguments: &arguments, context: "" }, APPROVAL_WAIT).await
    }

    /// Waits until the handle knows so many sessions.
    async fn sessions(&self, count: usize) {
        let mut changes = self.pets.changes();
        while self.pets.sessions().len() != count {
            changes.changed().await.unwrap();
        }
    }
}

/// A companion.
struct Pet {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Pet {
    /// Connects with headers and is greeted; the status when it is refused.
    async fn with(url: &str, headers: &[(&'static str, &str)]) -> Result<Self, u16> {
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        match connect_async(request).await {
            Ok((socket, _)) => {
                let mut pet = Self { socket };
                assert_eq!(pet.next().await["push_type"], "init_status");
                Ok(pet)
            }
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("expected an answer, got {error}"),
        }
    }

    async fn connect(url: &str) -> Result<Self, u16> {
        Self::with(url, &[]).await
    }

    /// The next frame that is no heartbeat: a busy machine may be slow.
    async fn next(&mut self) -> Value {
        loop {
            match self.socket.next().await.expect("a frame").unwrap() {
                Message::Text(text) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    if frame["push_type"] != "heartbeat" {
                        return frame;
                    }
                }
                Message::Ping(_) => {}
                other => panic!("expected a text, got {other:?}"),
            }
        }
    }

    async fn asked(&mut self) -> String {
        let push = self.next().await;
        assert_eq!(push["push_type"], "tool_approval", "{push}");
        push["data"]["request_id"].as_str().unwrap().to_owned()
    }

    async fn send(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.unwrap();
    }

    async fn answer(&mut self, data: Value) -> Value {
        self.send(&json!({"action": "tool_approval_response", "data": data}).to_string()).await;
        self.next().await
    }

    /// The code with which the server ends the connection.
    async fn close_code(&mut self) -> u16 {
        loop {
            match self.socket.next().await.expect("a close").unwrap() {
                Message::Close(Some(frame)) => return frame.code.into(),
                Message::Text(_) | Message::Ping(_) => {}
                other => panic!("expected a close, got {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn an_approval_goes_to_its_session_and_back() {
    let rig = Rig::new().await;
    let (mut cat, mut dog) = (rig.pet("cat").await, rig.pet("dog").await);
    let (answers, ()) = tokio::join!(async { tokio::join!(rig.ask("cat"), rig.ask("dog")) }, async {
        let push = cat.next().await;
        assert_eq!((&push["type"], &push["timestamp"]), (&json!("push"), &json!(1_714_896_000)));
        assert_eq!(push["data"]["arguments"], json!({"command": "uname -a"}));
        let (cats, dogs) = (push["data"]["request_id"].as_str().unwrap().to_owned(), dog.asked().await);
        assert!(cats.starts_with("tool_approval_1714896000123"), "{cats}");
        // Each knows the other's id: it helps neither.
        for (pet, other) in [(&mut cat, &dogs), (&mut dog, &cats)] {
            let refused = pet.answer(json!({"request_id": other, "approved": true})).await;
            assert_eq!(refused["status"], "error", "{refused}");
        }
        assert_eq!(cat.answer(json!({"request_id": cats, "approved": true})).await["status"], "ok");
        assert_eq!(dog.answer(json!({"request_id": dogs, "approved": false})).await["status"], "ok");
    });
    assert_eq!(answers, (AskOutcome::Approved(By::Client), AskOutcome::Denied(By::Client)));
}

#[tokio::test]
async fn a_hundred_calls_that_are_answered_at_once_lose_no_answer() {
    let rig = Rig::new().await;
    let mut pet = rig.pet("cat").await;
    let (approved, ()) = tokio::join!(
        async {
            let mut approved = 0;
            for _ in 0..100 {
                approved += usize::from(rig.ask("cat").await == AskOutcome::Approved(By::Client));
            }
            approved
        },
        async {
            for _ in 0..100 {
                let request_id = pet.asked().await;
                let answer = pet.answer(json!({"request_id": request_id, "approved": true})).await;
                assert_eq!(answer["status"], "ok");
            }
        }
    );
    assert_eq!(approved, 100);
}

#[tokio::test]
async fn t02_a_second_connection_of_a_session_is_refused_while_the_first_lives() {
    let rig = Rig::new().await;
    let mut first = rig.pet("cat").await;
    let url = format!("{}&token={TOKEN}", rig.url("cat"));
    assert_eq!(Pet::connect(&url).await.err(), Some(409));
    let (answer, ()) = tokio::join!(rig.ask("cat"), async {
        let request_id = first.asked().await;
        first.answer(json!({"request_id": request_id, "approved": true})).await;
    });
    assert_eq!(answer, AskOutcome::Approved(By::Client));
    drop(first);
    rig.sessions(0).await;
    Pet::connect(&url).await.unwrap();
}

#[tokio::test]
async fn who_goes_away_leaves_nobody_waiting_and_a_stop_is_told() {
    let rig = Rig::new().await;
    let mut pet = rig.pet("cat").await;
    let (answer, ()) = tokio::join!(rig.ask("cat"), async {
        pet.asked().await;
        drop(pet);
    });
    assert_eq!(answer, AskOutcome::Gone);
    assert_eq!(rig.ask("cat").await, AskOutcome::NoSuchSession);
    let mut pet = rig.pet("cat").await;
    let (answer, ()) = tokio::join!(rig.ask("cat"), async {
        pet.asked().await;
        rig.stop.cancel();
        assert_eq!(pet.close_code().await, 1_012);
    });
    assert_eq!(answer, AskOutcome::Gone);
    rig.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_gateway_beside_it_is_still_there() {
    let rig = Rig::new().await;
    for path in ["", "ws/", "ws/x", "other?sessionId=cat"] {
        let (mut socket, _) = connect_async(format!("ws://{}/{path}", rig.address)).await.unwrap();
        match socket.next().await.unwrap().unwrap() {
            Message::Text(text) => assert!(text.contains("connect.challenge"), "{path}: {text}"),
            other => panic!("{path}: expected a challenge, got {other:?}"),
        }
    }
    assert_eq!(rig.pets.sessions(), []);
}
