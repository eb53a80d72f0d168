//! One connection against a server that each test scripts, in memory: the clock is paused, so
//! every wait is exact.

use super::*;
use crate::client::socket::Stream;
use crate::pet::client::{AnswerError, address};
use crate::pet::{Choice, Keep};
use countersign_protocol::pet::SessionId;
use countersign_protocol::secret::PetToken;
use futures_util::SinkExt as _;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

/// A server's end of one connection, and what its client tells.
struct Rig {
    server: WebSocketStream<DuplexStream>,
    notices: mpsc::Receiver<Notice>,
    stop: CancellationToken,
    attending: JoinHandle<(Over, Life)>,
}

fn options() -> Options {
    Options {
        address: address("ws://127.0.0.1").unwrap(),
        pin: None,
        session_id: SessionId::parse("agent:main + cat").unwrap(),
        token: PetToken::parse("s3cret"),
    }
}

impl Rig {
    async fn new() -> Self {
        Self::with_room(64).await
    }

    /// With room for so many notices.
    async fn with_room(room: usize) -> Self {
        let (ours, theirs) = tokio::io::duplex(8 * 1024 * 1024);
        let server = WebSocketStream::from_raw_socket(theirs, Role::Server, None).await;
        let ours: Box<dyn Stream> = Box::new(ours);
        let socket = WebSocketStream::from_raw_socket(ours, Role::Client, None).await;
        let (sender, mut notices) = mpsc::channel(room);
        let stop = CancellationToken::new();
        let link = LinkTask::new(options(), sender, stop.clone(), Arc::default());
        let attending = tokio::spawn(async move { link.attend(socket).await });
        assert!(matches!(notices.recv().await, Some(Notice::Opened)));
        Self { server, notices, stop, attending }
    }

    async fn push(&mut self, push_type: &str, data: Value) {
        let push = json!({"type": "push", "push_type": push_type, "timestamp": 1, "data": data});
        self.server.send(Message::text(push.to_string())).await.unwrap();
    }

    async fn asks(&mut self, id: &str) -> PetCall {
        self.push("tool_approval", json!({"request_id": id, "tool": "exec", "arguments": {"command": id}}))
            .await;
        match self.notices.recv().await {
            Some(Notice::Asked(asked)) => asked,
            other => panic!("expected a call, got {other:?}"),
        }
    }

    async fn hears(&mut self) -> Value {
        match self.server.next().await.expect("a frame").unwrap() {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("expected a text, got {other:?}"),
        }
    }

    /// Hears an answer and confirms it. Its data.
    async fn confirms(&mut self, status: &str, error: Option<&str>) -> Value {
        let action = self.hears().await;
        assert_eq!(action["action"], "tool_approval_response");
        let confirmed = json!({"status": status, "action": "tool_approval_response", "error": error,
                               "request_id": action["request_id"]});
        self.server.send(Message::text(confirmed.to_string())).await.unwrap();
        action["data"].clone()
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_on_the_connection_that_brought_it() {
    let mut rig = Rig::new().await;
    let (first, second) = (rig.asks("1").await, rig.asks("2").await);
    assert_eq!((first.tool.as_str(), &first.arguments), ("exec", &json!({"command": "1"})));
    assert_eq!(first.deadline - first.received_at, Duration::from_secs(60));
    assert!(!format!("{first:?}").contains("command"), "arguments are not written into logs");
    let (answered, data) = tokio::join!(second.answer(Choice::Deny, Keep::Session), rig.confirms("ok", None));
    assert_eq!(answered, Ok(()));
    assert_eq!(data, json!({"request_id": "2", "approved": false, "remember": true}));
    let (answered, data) =
        tokio::join!(first.answer(Choice::Approve, Keep::Once), rig.confirms("error", Some("too late")));
    assert_eq!(answered, Err(AnswerError::Refused("too late".to_owned())));
    assert_eq!(data, json!({"request_id": "1", "approved": true}));
}

#[tokio::test(start_paused = true)]
async fn silence_for_three_heartbeats_is_the_end_and_every_frame_ends_the_silence() {
    let mut rig = Rig::new().await;
    let began = Instant::now();
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(89)).await;
        rig.push("heartbeat", json!({})).await;
    }
    tokio::time::sleep(Duration::from_secs(89)).await;
    assert!(!rig.attending.is_finished());
    let (over, life) = rig.attending.await.unwrap();
    assert!(matches!(over, Over::Problem(LinkProblem::TimedOut, Retry::BackOff)), "{over:?}");
    // And a moment for a goodbye that this server does not answer.
    let after = began.elapsed().as_secs();
    assert!((4 * 89 + 90..=4 * 89 + 91).contains(&after), "{after} s");
    assert_eq!(life, Life::Lived);
}

#[tokio::test(start_paused = true)]
async fn t05_no_answer_leaves_once_its_connection_is_lost() {
    let mut rig = Rig::new().await;
    let (one, two) = (rig.asks("1").await, rig.asks("2").await);
    assert!(!one.is_gone());
    rig.server.close(None).await.unwrap();
    drop(rig.server);
    one.gone().await;
    assert!(one.is_gone());
    assert_eq!(one.answer(Choice::Approve, Keep::Once).await, Err(AnswerError::Gone));
    assert_eq!(two.answer(Choice::Deny, Keep::Once).await, Err(AnswerError::Gone));
    let (over, _) = rig.attending.await.unwrap();
    assert!(matches!(over, Over::Problem(LinkProblem::Closed { .. }, Retry::BackOff)), "{over:?}");
}

#[tokio::test(start_paused = true)]
async fn t05_a_call_is_not_answered_after_its_sixty_seconds() {
    let mut rig = Rig::new().await;
    let asked = rig.asks("1").await;
    tokio::time::sleep_until(asked.deadline).await;
    assert_eq!(asked.answer(Choice::Approve, Keep::Once).await, Err(AnswerError::Expired));
    let asked = rig.asks("2").await;
    let (answered, data) = tokio::join!(asked.answer(Choice::Approve, Keep::Once), rig.confirms("ok", None));
    assert_eq!((answered, &data["request_id"]), (Ok(()), &json!("2")), "nothing was sent for the first");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_confirmed_is_not_known_to_count() {
    let mut rig = Rig::new().await;
    let asked = rig.asks("1").await;
    let began = Instant::now();
    assert_eq!(asked.answer(Choice::Approve, Keep::Once).await, Err(AnswerError::Unconfirmed));
    assert_eq!(began.elapsed(), Duration::from_secs(10));
    assert_eq!(rig.hears().await["data"]["approved"], true);
}

#[tokio::test(start_paused = true)]
async fn calls_that_nobody_takes_are_left_to_their_end_and_delay_nothing() {
    let mut rig = Rig::with_room(2).await;
    for id in ["1", "2", "3", "4"] {
        rig.push("tool_approval", json!({"request_id": id, "tool": "exec"})).await;
    }
    // An answer to a ping says that everything before it was read.
    rig.server.send(Message::Ping("x".into())).await.unwrap();
    assert!(matches!(rig.server.next().await, Some(Ok(Message::Pong(_)))));
    let mut taken = Vec::new();
    while let Ok(Notice::Asked(asked)) = rig.notices.try_recv() {
        taken.push(asked.request_id.clone());
    }
    assert_eq!(taken, ["1", "2"]);
    // What was left is not asked about again under its id; others are.
    rig.push("tool_approval", json!({"request_id": "3", "tool": "exec"})).await;
    assert_eq!(rig.asks("5").await.request_id, "5");
}

#[tokio::test(start_paused = true)]
async fn a_stop_says_goodbye_and_what_is_no_text_ends_the_connection() {
    let mut rig = Rig::new().await;
    rig.stop.cancel();
    assert!(matches!(rig.server.next().await, Some(Ok(Message::Close(_)))));
    assert!(matches!(rig.attending.await.unwrap().0, Over::Stopped));
    let mut rig = Rig::new().await;
    rig.server.send(Message::binary(vec![1, 2, 3])).await.unwrap();
    let (over, life) = rig.attending.await.unwrap();
    assert!(matches!(over, Over::Problem(LinkProblem::NotAGateway { .. }, Retry::Slowly)), "{over:?}");
    assert_eq!(life, Life::None);
}

#[test]
fn t03_the_token_is_in_a_header_and_the_session_in_the_address() {
    let link = |address: &str, token: Option<&str>| {
        let options = Options {
            address: crate::pet::client::address(address).unwrap(),
            token: token.and_then(PetToken::parse),
            ..options()
        };
        LinkTask::new(options, mpsc::channel(1).0, CancellationToken::new(), Arc::default())
    };
    let request = link("ws://localhost", Some("s3cret")).request().unwrap();
    assert_eq!(request.uri().to_string(), "ws://localhost:8080/ws?sessionId=agent%3Amain+%2B+cat");
    let bearer = &request.headers()[header::AUTHORIZATION];
    assert_eq!(bearer.to_str().unwrap(), "Bearer s3cret");
    assert!(bearer.is_sensitive() && !request.headers().contains_key(header::ORIGIN));
    assert!(!format!("{:?}", options()).contains("s3cret"));
    let request = link("wss://pet.example/deep/ws", None).request().unwrap();
    assert_eq!(request.uri().path(), "/deep/ws");
    assert!(!request.headers().contains_key(header::AUTHORIZATION));
}

#[test]
fn a_refusal_says_what_helps() {
    let check = |status: u16, body: Option<&str>, has_token: bool, expected: LinkProblem, again: Retry| {
        let mut response = Response::new(body.map(|body| body.as_bytes().to_vec()));
        *response.status_mut() = status.try_into().unwrap();
        match refused(&response, has_token) {
            Over::Problem(problem, retry) => assert_eq!((problem, retry), (expected, again), "{status}"),
            Over::Stopped => panic!("{status}: stopped"),
        }
    };
    let refused =
        |code: &str, text: &str| LinkProblem::Refused { code: code.to_owned(), text: text.to_owned() };
    check(401, None, false, LinkProblem::SecretMissing, Retry::Never);
    check(401, None, true, LinkProblem::SecretWrong, Retry::Never);
    check(429, None, true, LinkProblem::RateLimited, Retry::Slowly);
    check(404, Some("turned off\n"), true, refused("404", "turned off"), Retry::Slowly);
    check(409, Some("taken"), true, refused("409", "taken"), Retry::BackOff);
    check(503, None, true, refused("503", "Service Unavailable"), Retry::BackOff);
    check(302, None, true, refused("302", "Found"), Retry::Never);
    check(403, Some("  "), false, refused("403", "Forbidden"), Retry::Never);
    let long = "x".repeat(1_000);
    check(400, Some(&long), false, refused("400", &long[..MAX_TEXT]), Retry::Never);
}
