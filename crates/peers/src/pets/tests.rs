//! The client's end over real sockets: another gateway's channel, whose questions are asked here.

use super::*;
use crate::connections::{self, Connections};
use crate::testing::LIMIT;
use countersign_approvals::actor::{Event, PresenterGuard};
use countersign_approvals::book::{Ending, Record};
use countersign_approvals::history;
use countersign_core::Core;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::{AllowBlocked, CancelCause, HostKind, Outcome, QuestionKind, Via};
use countersign_protocol::ui::{Fact, LinkProblem, LinkState, SecretEdit};
use countersign_protocol::vocabulary::Decision;
use countersign_questions::card::card;
use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::server::{ErrorResponse, Request, Response};

const TOKEN: &str = "token-of-pets";

/// This machine, connected to others.
struct Here {
    folder: TempDir,
    core: Core,
    pets: PetSources,
    not_taken: mpsc::Receiver<NotTaken>,
    events: broadcast::Receiver<Event>,
    _presenter: PresenterGuard,
    tracker: TaskTracker,
    stop: CancellationToken,
}

fn paths(folder: &TempDir) -> Paths {
    let state = folder.path().to_str().unwrap().to_owned();
    let env =
        BTreeMap::from([("HOME".to_owned(), state.clone()), ("COUNTERSIGN_STATE_DIR".to_owned(), state)]);
    Paths::from_env(&env).unwrap()
}

impl Here {
    fn new() -> Self {
        Self::with(tempfile::tempdir().unwrap())
    }

    fn with(folder: TempDir) -> Self {
        let paths = paths(&folder);
        let core = Core::start(&paths, Via::Socket).unwrap();
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let parts = connections::Parts {
            approvals: core.approvals.clone(),
            host: core.host.clone(),
            ports: core.ports.clone(),
            environment: BTreeMap::new(),
        };
        let (connections, not_taken) = Connections::start(&paths, parts, &tracker, stop.clone());
        let parts = Parts {
            approvals: core.approvals.clone(),
            host: core.host.clone(),
            ports: core.ports.clone(),
            secrets: connections.secrets_in(paths.pet_secrets()),
            not_taken: connections.not_taken(),
        };
        let pets = PetSources::start(&paths, parts, &tracker, stop.clone());
        let (events, presenter) = (core.approvals.events(), core.approvals.presenter());
        Self { folder, core, pets, not_taken, events, _presenter: presenter, tracker, stop }
    }

    /// Waits until the one server is in such a state.
    async fn until(&self, fits: impl Fn(&PetSourceView) -> bool) -> PetSourceView {
        let mut changes = self.pets.changes();
        let waiting = async {
            loop {
                changes.mark_unchanged();
                let view = self.pets.views().pop().unwrap();
                if fits(&view) {
                    return view;
                }
                changes.changed().await.unwrap();
            }
        };
        match tokio::time::timeout(LIMIT, waiting).await {
            Ok(view) => view,
            Err(_) => panic!("not so in time: {:?}", self.pets.views()),
        }
    }

    async fn event(&mut self) -> Event {
        tokio::time::timeout(LIMIT, self.events.recv()).await.expect("an event in time").unwrap()
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

    async fn decide(&self, record: &Record, decision: Decision) {
        assert!(self.core.approvals.resolve(&record.id, decision, "window").await.is_ok());
    }

    /// How the requests of the history ended, oldest first, once nothing runs any more.
    async fn outcomes(self) -> Vec<(String, Outcome, Option<String>)> {
        self.stop.cancel();
        drop(self.pets);
        self.tracker.close();
        self.tracker.wait().await;
        self.core.stop().await;
        let page = history::page(&paths(&self.folder).history(), None, 100).unwrap();
        let outcomes = page.entries.into_iter().rev().filter_map(|entry| match entry.event {
            HistoryEvent::Request { command, outcome, by, via, .. } => {
                assert_eq!(via, Via::Pet);
                Some((command, outcome, by))
            }
            _ => None,
        });
        outcomes.collect()
    }
}

/// A pet server that each test scripts.
struct Server {
    socket: WebSocketStream<TcpStream>,
}

impl Server {
    /// A server that `here` connects to.
    async fn of(here: &Here) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        here.pets.save(edit(&listener, TOKEN)).await.unwrap();
        let server = Self::accept(&listener).await;
        here.until(|view| matches!(view.state, LinkState::Connected { .. })).await;
        server
    }

    async fn accept(listener: &TcpListener) -> Self {
        let (tcp, _) = listener.accept().await.unwrap();
        #[expect(clippy::result_large_err, reason = "the shape of the library's callback")]
        let check = |request: &Request, response: Response| -> Result<Response, ErrorResponse> {
            assert_eq!(request.uri(), "/ws?sessionId=cat");
            assert_eq!(request.headers()["authorization"], format!("Bearer {TOKEN}"));
            Ok(response)
        };
        Self { socket: tokio_tungstenite::accept_hdr_async(tcp, check).await.unwrap() }
    }

    async fn ask(&mut self, id: &str, tool: &str, arguments: Value) {
        let data = json!({"request_id": id, "tool": tool, "arguments": arguments});
        let push = json!({"type": "push", "push_type": "tool_approval", "timestamp": 1, "data": data});
        self.socket.send(Message::text(push.to_string())).await.unwrap();
    }

    /// The next answer.
    async fn answered(&mut self) -> Value {
        loop {
            let message = tokio::time::timeout(LIMIT, self.socket.next()).await.expect("in time");
            if let Message::Text(text) = message.expect("a frame").unwrap() {
                let frame: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(frame["action"], "tool_approval_response");
                return frame;
            }
        }
    }

    async fn confirm(&mut self, answer: &Value, status: &str, error: Option<&str>) {
        let response = json!({
            "status": status, "action": "tool_approval_response", "request_id": answer["request_id"],
            "data": {"request_id": answer["data"]["request_id"]}, "error": error,
        });
        self.socket.send(Message::text(response.to_string())).await.unwrap();
    }
}

fn edit(listener: &TcpListener, token: &str) -> PetSourceEdit {
    PetSourceEdit {
        id: None,
        name: "far away".to_owned(),
        url: format!("ws://{}", listener.local_addr().unwrap()),
        pin: None,
        session_id: "cat".to_owned(),
        enabled: true,
        secret: SecretEdit::Set { value: token.to_owned() },
    }
}

#[tokio::test]
async fn what_another_server_asks_is_a_card_and_the_answer_goes_back_to_it() {
    let mut here = Here::new();
    let mut server = Server::of(&here).await;
    for (id, decision, approved) in [("1", Decision::AllowOnce, true), ("2", Decision::Deny, false)] {
        server.ask(id, "exec", json!({"command": "touch \u{202e}made"})).await;
        let record = here.added().await;
        let card = card(&record);
        assert_eq!((card.kind, card.via, card.host.kind), (QuestionKind::Tool, Via::Pet, HostKind::Remote));
        assert_eq!(display::original(card.gateway.as_ref().unwrap()).unwrap(), "far away");
        assert_eq!(display::original(card.session.as_ref().unwrap()).unwrap(), "cat");
        assert_eq!(card.decisions, [Decision::AllowOnce, Decision::Deny]);
        let arguments = card.facts.iter().find_map(|fact| match fact {
            Fact::Arguments { text } => Some(text),
            _ => None,
        });
        assert!(arguments.unwrap().spans.iter().all(|span| !span.text.contains('\u{202e}')));
        assert_eq!(here.until(|view| view.pending == 1).await.session_id, "cat");
        here.decide(&record, decision).await;
        let answer = server.answered().await;
        assert_eq!(answer["data"], json!({"request_id": id, "approved": approved}));
        server.confirm(&answer, "ok", None).await;
        here.until(|view| view.pending == 0).await;
    }
    let window = || Some("window".to_owned());
    let exec = || "exec".to_owned();
    let expected = [(exec(), Outcome::AllowedOnce, window()), (exec(), Outcome::Denied, window())];
    assert_eq!(here.outcomes().await, expected);
}

#[tokio::test]
async fn t08_what_another_server_asks_and_cannot_be_shown_whole_cannot_be_allowed() {
    let mut here = Here::new();
    let mut server = Server::of(&here).await;
    server.ask("1", "write_file", json!({"content": "x".repeat(300_000)})).await;
    let record = here.added().await;
    assert_eq!(record.question.blocked, Some(AllowBlocked::TooLong));
    here.decide(&record, Decision::Deny).await;
    assert_eq!(server.answered().await["data"]["approved"], false);
}

#[tokio::test]
async fn t05_a_question_ends_with_the_connection_that_brought_it() {
    let mut here = Here::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    here.pets.save(edit(&listener, TOKEN)).await.unwrap();
    let mut server = Server::accept(&listener).await;
    server.ask("1", "exec", json!({"command": "ls"})).await;
    let before = here.added().await;
    drop(server);
    assert_eq!(here.ended().await, Ending::Cancelled(CancelCause::ConnectionLost));
    assert!(here.core.approvals.resolve(&before.id, Decision::AllowOnce, "window").await.is_err());
    // The next connection brings its own, under the same id.
    let mut server = Server::accept(&listener).await;
    server.ask("1", "exec", json!({"command": "rm -rf /"})).await;
    let after = here.added().await;
    assert_ne!(after.id, before.id);
    here.decide(&after, Decision::Deny).await;
    assert_eq!(server.answered().await["data"], json!({"request_id": "1", "approved": false}));
}

#[tokio::test]
async fn t01_an_answer_that_the_server_does_not_take_is_not_recorded_as_one() {
    let mut here = Here::new();
    let mut server = Server::of(&here).await;
    server.ask("1", "exec", json!({"command": "ls"})).await;
    let record = here.added().await;
    here.decide(&record, Decision::AllowOnce).await;
    let answer = server.answered().await;
    server.confirm(&answer, "error", Some("too\u{202e} late")).await;
    let told = tokio::time::timeout(LIMIT, here.not_taken.recv()).await.expect("told").unwrap();
    assert_eq!((&told.id, display::original(&told.gateway).as_deref()), (&record.id, Some("far away")));
    assert!(told.text.contains("the server did not take the answer: too"), "{}", told.text);
    assert!(!told.text.contains('\u{202e}'));
    here.until(|view| view.pending == 0).await;
    let [(_, outcome, _)] = &here.outcomes().await[..] else { panic!("one line") };
    assert!(matches!(outcome, Outcome::Refused { reason } if *reason == told.text), "{outcome:?}");
}

#[tokio::test]
async fn t05_nothing_is_said_when_the_minute_is_over() {
    let mut here = Here::new();
    let mut server = Server::of(&here).await;
    server.ask("1", "exec", json!({"command": "ls"})).await;
    let record = here.added().await;
    let wait_ms = record.expires_at_ms - record.created_at_ms;
    // What it took to come here is no longer there to wait for.
    assert!((1..=60_000).contains(&wait_ms), "{wait_ms}");
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    loop {
        if let Ok(Event::Closed(record)) = here.events.recv().await {
            assert_eq!(record.ending, Some(Ending::Expired));
            break;
        }
    }
    assert!(began.elapsed().as_secs() <= 61, "{:?}", began.elapsed());
    tokio::time::resume();
    assert!(here.core.approvals.resolve(&record.id, Decision::AllowOnce, "window").await.is_err());
    // The next that the server hears is about another call.
    server.ask("2", "exec", json!({"command": "ls"})).await;
    let record = here.added().await;
    here.decide(&record, Decision::Deny).await;
    assert_eq!(server.answered().await["data"]["request_id"], "2");
}

#[tokio::test]
async fn what_is_turned_off_or_removed_withdraws_what_waits() {
    let mut here = Here::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    here.pets.save(edit(&listener, TOKEN)).await.unwrap();
    let id = here.pets.views()[0].id.clone();
    let mut server = Server::accept(&listener).await;
    server.ask("1", "exec", json!({"command": "ls"})).await;
    here.added().await;
    let off = PetSourceEdit {
        id: Some(id.clone()),
        enabled: false,
        secret: SecretEdit::Keep,
        ..edit(&listener, TOKEN)
    };
    here.pets.save(off.clone()).await.unwrap();
    assert_eq!(here.ended().await, Ending::Cancelled(CancelCause::Withdrawn));
    assert_eq!(here.until(|view| view.state == LinkState::Off).await.has_secret, true);
    assert!(matches!(here.pets.retry(&id), Err(PeerError::Gone(_))));
    here.pets.save(PetSourceEdit { enabled: true, ..off }).await.unwrap();
    let mut server = Server::accept(&listener).await;
    server.ask("1", "exec", json!({"command": "ls"})).await;
    here.added().await;
    let secret = paths(&here.folder).pet_secrets().join(format!("{id}.secret"));
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), TOKEN);
    here.pets.remove(&id).await.unwrap();
    assert_eq!(here.ended().await, Ending::Cancelled(CancelCause::Withdrawn));
    assert!(!secret.exists() && here.pets.views().is_empty());
    assert!(matches!(here.pets.remove(&id).await, Err(PeerError::Gone(_))));
}

#[tokio::test]
async fn t03_a_token_is_asked_for_again_when_it_would_go_elsewhere() {
    let here = Here::new();
    let (first, second) =
        (TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let off = |listener, secret| PetSourceEdit { enabled: false, secret, ..edit(listener, TOKEN) };
    here.pets.save(off(&first, SecretEdit::Set { value: TOKEN.to_owned() })).await.unwrap();
    let id = Some(here.pets.views()[0].id.clone());
    let refused = |edit: PetSourceEdit| async { here.pets.save(edit).await.unwrap_err().to_string() };
    let moved = PetSourceEdit { id: id.clone(), ..off(&second, SecretEdit::Keep) };
    assert!(refused(moved).await.starts_with("token: expected it again"));
    let openclaw = PetSourceEdit { id: id.clone(), ..off(&first, SecretEdit::OpenClaw) };
    assert!(refused(openclaw).await.starts_with("token: expected one of this server's own"));
    let blanks = SecretEdit::Set { value: "two words".to_owned() };
    assert!(refused(PetSourceEdit { id: id.clone(), ..off(&first, blanks) }).await.starts_with("token: "));
    let session = PetSourceEdit { session_id: String::new(), ..off(&first, SecretEdit::Clear) };
    assert!(refused(session).await.starts_with("session: "));
    assert_eq!(here.pets.views().len(), 1);
    here.pets.save(PetSourceEdit { id, ..off(&second, SecretEdit::Clear) }).await.unwrap();
    assert!(!here.pets.views()[0].has_secret);
}

#[tokio::test]
async fn a_server_that_wants_another_token_stops_and_is_tried_again_on_demand() {
    let here = Here::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    here.pets.save(edit(&listener, TOKEN)).await.unwrap();
    let (tcp, _) = listener.accept().await.unwrap();
    #[expect(clippy::result_large_err, reason = "the shape of the library's callback")]
    let refuse = |_: &Request, _: Response| -> Result<Response, ErrorResponse> {
        let mut response = ErrorResponse::new(None);
        *response.status_mut() = 401.try_into().unwrap();
        Err(response)
    };
    assert!(tokio_tungstenite::accept_hdr_async(tcp, refuse).await.is_err());
    let wrong = LinkState::Stopped { problem: LinkProblem::SecretWrong };
    let view = here.until(|view| view.state == wrong).await;
    here.pets.retry(&view.id).unwrap();
    let _server = Server::accept(&listener).await;
    here.until(|view| matches!(view.state, LinkState::Connected { .. })).await;
}

#[tokio::test]
async fn a_file_that_is_not_understood_is_left_alone_and_connects_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = paths(&folder).pet_servers();
    countersign_core::private::write(&file, b"{").unwrap();
    let here = Here::with(folder);
    assert!(here.pets.broken().unwrap().contains("pet-servers.json: it cannot be understood"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refused = here.pets.save(edit(&listener, TOKEN)).await.unwrap_err();
    assert!(matches!(refused, PeerError::Broken(_)), "{refused}");
    assert_eq!(std::fs::read(&file).unwrap(), b"{");
}
