//! The channel with everything running: companion clients at its socket, tools that are called, a
//! person at the desk.

use super::*;
use crate::desk::Desk;
use crate::testing::{PATIENCE, POLL, decide, next, next_card, paths};
use crate::tools::Failure;
use crate::wiring::Companion;
use countersign_approvals::actor::PresenterGuard;
use countersign_core::paths::Paths;
use countersign_core::private;
use countersign_node::socket::server::Peer;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::{AllowBlocked, Outcome, Via};
use countersign_protocol::settings::Settings;
use countersign_protocol::tools::{ToolCall, ToolCaller, ToolFailure};
use countersign_protocol::ui::{EmbeddedEdit, Expected, LinkState, Mistake, SecretEdit, UiEvent};
use countersign_protocol::vocabulary::Decision;
use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};
use tokio_util::sync::CancellationToken;

struct Rig {
    companion: Companion,
    _presenter: PresenterGuard,
    paths: Paths,
    home: TempDir,
}

/// What a call came to.
type Called = Result<String, Failure>;

impl Rig {
    /// The app with its gateway on any free port, and the channel as it is at first.
    async fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        let tools = json!({ "tools": {
            "exec": { "host": "gateway", "security": "full", "ask": "off" },
            "pet": { "askAbout": ["exec", "read_file"] },
        }});
        private::write(&paths.tools(), tools.to_string().as_bytes()).unwrap();
        for folder in ["work", "other"] {
            fs::create_dir(home.path().join(folder)).unwrap();
            fs::write(home.path().join(folder).join("a.txt"), "one\n").unwrap();
        }
        let (companion, presenter) = Companion::start(&paths).unwrap();
        let rig = Self { companion, _presenter: presenter, paths, home };
        rig.until(|rig| matches!(rig.desk().embedded().state, EmbeddedState::Serving { .. })).await;
        rig
    }

    /// The same with the channel open.
    async fn open() -> Self {
        let rig = Self::start().await;
        rig.desk().set_pet_server(true).await.unwrap();
        rig.until(|rig| rig.desk().pets().server.address.is_some()).await;
        rig
    }

    fn desk(&self) -> &Desk {
        self.companion.desk()
    }

    async fn until(&self, fits: impl Fn(&Self) -> bool) {
        let mut messages = self.desk().messages();
        let waiting = async {
            while !fits(self) {
                messages.recv().await.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.unwrap();
    }

    fn url(&self) -> String {
        let EmbeddedState::Serving { url } = self.desk().embedded().state else { panic!("serving") };
        format!("{url}/ws")
    }

    fn token(&self) -> String {
        fs::read_to_string(self.desk().pets().server.token_file).unwrap()
    }

    async fn pet(&self, session: &str) -> Pet {
        let pet = Pet::connect(&self.url(), session, &self.token()).await.unwrap();
        self.until(|rig| rig.desk().pets().server.sessions.iter().any(|known| known.id == session)).await;
        pet
    }

    fn file(&self, folder: &str, name: &str) -> PathBuf {
        self.home.path().join(folder).join(name)
    }

    async fn call_in(&self, folder: &str, pet: Option<&str>, tool: &str, params: Value) -> Called {
        static PEER: Peer = Peer { pid: None, program: None, via: None };
        let Value::Object(params) = params else { panic!("an object") };
        let call = ToolCall {
            id: self.desk().inner.parts.ports.ids.uuid(),
            tool: tool.to_owned(),
            params,
            caller: ToolCaller {
                agent: "main".to_owned(),
                session: Some("s".to_owned()),
                workspace: self.home.path().join(folder).display().to_string(),
                pet_session: pet.map(str::to_owned),
                ..ToolCaller::default()
            },
            approval_timeout_ms: None,
            takes_command: false,
            is_quiet: false,
        };
        let (progress, _reports) = mpsc::channel(16);
        let called = self.desk().tools().call(call, &PEER, progress, CancellationToken::new());
        called.await.map(|output| output.text)
    }

    async fn call(&self, pet: Option<&str>, tool: &str, params: Value) -> Called {
        self.call_in("work", pet, tool, params).await
    }

    /// How requests ended and who said so, oldest first, once so many did.
    async fn history(&self, count: usize) -> Vec<(Outcome, Option<String>)> {
        let all = async {
            loop {
                let page = self.desk().history(None, 50).await.unwrap();
                let lines = page.entries.into_iter().rev().filter_map(|entry| match entry.event {
                    HistoryEvent::Request { outcome, by, .. } => Some((outcome, by)),
                    _ => None,
                });
                let lines: Vec<_> = lines.collect();
                if lines.len() >= count {
                    return lines;
                }
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::time::timeout(PATIENCE, all).await.unwrap()
    }
}

/// A companion client.
struct Pet {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Pet {
    /// Connects and is greeted; the status when it is refused.
    async fn connect(url: &str, session: &str, token: &str) -> Result<Self, u16> {
        match connect_async(format!("{url}?sessionId={session}&token={token}")).await {
            Ok((socket, _)) => {
                let mut pet = Self { socket };
                assert_eq!(pet.next().await["push_type"], "init_status");
                Ok(pet)
            }
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("expected an answer, got {error}"),
        }
    }

    /// The next frame that is no heartbeat.
    async fn next(&mut self) -> Value {
        loop {
            let message = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("in time");
            match message.expect("a frame").unwrap() {
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

    /// The next call: its id, and what is shown of it.
    async fn asked(&mut self) -> (String, Value) {
        let mut push = self.next().await;
        assert_eq!(push["push_type"], "tool_approval", "{push}");
        let data = push["data"].as_object_mut().unwrap();
        let id = data.remove("request_id").unwrap().as_str().unwrap().to_owned();
        (id, push["data"].take())
    }

    async fn answer(&mut self, id: &str, approved: bool, remember: bool) -> Value {
        let data = json!({"request_id": id, "approved": approved, "remember": remember});
        let action = json!({"action": "tool_approval_response", "data": data});
        self.socket.send(Message::text(action.to_string())).await.unwrap();
        self.next().await
    }

    async fn close_code(&mut self) -> u16 {
        loop {
            match self.socket.next().await.expect("a close").unwrap() {
                Message::Close(Some(frame)) => return frame.code.into(),
                Message::Text(_) => {}
                other => panic!("expected a close, got {other:?}"),
            }
        }
    }
}

fn write(content: &str) -> Value {
    json!({ "path": "b.txt", "content": content })
}

fn denied(called: Called) -> String {
    match called {
        Err(Failure { failure: ToolFailure::Denied, message }) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_companion_approves_a_call_of_its_session_and_exactly_that_is_done() {
    let rig = Rig::open().await;
    let mut cat = rig.pet("cat").await;
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "write_file", write("two\n")), async {
        let (id, shown) = cat.asked().await;
        assert_eq!(shown, json!({"tool": "write_file", "arguments": write("two\n")}));
        assert!(!rig.file("work", "b.txt").exists());
        assert_eq!(cat.answer(&id, true, false).await["status"], "ok");
    });
    called.unwrap();
    assert_eq!(fs::read_to_string(rig.file("work", "b.txt")).unwrap(), "two\n");
    // A command too, which is asked about once.
    let command = json!({ "command": "echo done > made; echo heard" });
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "exec", command), async {
        let (id, _) = cat.asked().await;
        cat.answer(&id, true, false).await;
    });
    assert!(called.unwrap().contains("heard"));
    assert!(rig.file("work", "made").exists());
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "write_file", write("three\n")), async {
        let (id, _) = cat.asked().await;
        cat.answer(&id, false, false).await;
    });
    assert!(denied(called).contains("The person denied this"));
    let by = || Some("pet cat".to_owned());
    let lines = rig.history(3).await;
    assert_eq!(
        (&lines[0], &lines[lines.len() - 1]),
        (&(Outcome::AllowedOnce, by()), &(Outcome::Denied, by()))
    );
}

#[tokio::test]
async fn t02_only_the_session_that_was_asked_can_answer() {
    let rig = Rig::open().await;
    let (mut cat, mut dog) = (rig.pet("cat").await, rig.pet("dog").await);
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "write_file", write("two\n")), async {
        let (id, _) = cat.asked().await;
        let refused = dog.answer(&id, true, true).await;
        assert_eq!(refused["status"], "error", "{refused}");
        assert_eq!(rig.desk().snapshot().await.cards.len(), 1, "it still waits");
        assert_eq!(cat.answer(&id, false, false).await["status"], "ok");
        assert_eq!(cat.answer(&id, true, false).await["status"], "error", "once");
    });
    denied(called);
    assert!(!rig.file("work", "b.txt").exists());
    assert_eq!(rig.history(1).await, [(Outcome::Denied, Some("pet cat".to_owned()))]);
}

#[tokio::test]
async fn t02_a_turn_that_came_from_elsewhere_never_reaches_a_companion() {
    let rig = Rig::open().await;
    let mut cat = rig.pet("cat").await;
    let mut messages = rig.desk().messages();
    for pet in [None, Some("dog"), Some("CAT"), Some("")] {
        let (called, ()) = tokio::join!(rig.call(pet, "write_file", write("elsewhere\n")), async {
            let card = next_card(&mut messages).await;
            decide(rig.desk(), &card, Decision::Deny).await;
        });
        assert!(denied(called).contains("The person denied this"), "{pet:?}");
    }
    // What reads is asked about in turns of the channel only.
    assert!(rig.call(None, "read_file", json!({ "path": "a.txt" })).await.unwrap().contains("one"));
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "write_file", write("own\n")), async {
        let (id, shown) = cat.asked().await;
        assert_eq!(shown["arguments"]["content"], "own\n", "the first that it is asked about");
        cat.answer(&id, true, false).await;
    });
    called.unwrap();
}

#[tokio::test]
async fn t05_without_an_answer_the_call_is_denied_after_a_minute() {
    let rig = Rig::open().await;
    let mut cat = rig.pet("cat").await;
    let mut called = std::pin::pin!(rig.call(Some("cat"), "write_file", write("two\n")));
    let (id, _) = tokio::select! {
        called = &mut called => panic!("{called:?}"),
        asked = cat.asked() => asked,
    };
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    let failure = called.await.unwrap_err();
    assert_eq!(
        (failure.failure, failure.message.contains("Nobody answered within")),
        (ToolFailure::Denied, true)
    );
    // What it took to be asked here is no longer there to wait for.
    assert!(began.elapsed().as_secs() <= 61, "{:?}", began.elapsed());
    tokio::time::resume();
    assert_eq!(cat.answer(&id, true, true).await["status"], "error");
    assert!(!rig.file("work", "b.txt").exists());
    assert_eq!(rig.history(1).await, [(Outcome::Expired, None)]);
    assert!(rig.desk().pets().server.sessions[0].remembered.is_empty());
}

#[tokio::test]
async fn t05_a_remembered_choice_holds_for_the_same_call_at_the_same_place_until_it_is_taken_back() {
    let rig = Rig::open().await;
    let mut cat = rig.pet("cat").await;
    let read = || json!({ "path": "a.txt" });
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "read_file", read()), async {
        let (id, _) = cat.asked().await;
        assert_eq!(cat.answer(&id, true, true).await["data"]["remembered"], true);
    });
    called.unwrap();
    // Nobody is asked.
    rig.call(Some("cat"), "read_file", read()).await.unwrap();
    let lines = rig.history(2).await;
    assert_eq!(lines[1], (Outcome::AllowedOnce, Some("pet cat (remembered)".to_owned())));
    let view = || rig.desk().pets().server.sessions.remove(0);
    let [kept] = &view().remembered[..] else { panic!("one choice") };
    assert_eq!((kept.approved, kept.tool.spans[0].text.as_str()), (true, "read_file"));
    assert_eq!(kept.arguments.spans[0].text, r#"{"path":"a.txt"}"#);
    // In another folder it is another call.
    let (called, ()) = tokio::join!(rig.call_in("other", Some("cat"), "read_file", read()), async {
        let (id, _) = cat.asked().await;
        cat.answer(&id, false, false).await;
    });
    denied(called);
    let id = kept.id.clone();
    assert_eq!(rig.desk().forget_pet_choice("cat", &id).await, Ok(()));
    for (session, id) in [("cat", id.as_str()), ("dog", "1"), ("cat", "one")] {
        let gone = rig.desk().forget_pet_choice(session, id).await.unwrap_err();
        assert_eq!(gone.code, ErrorCode::Gone, "{session} {id}");
    }
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "read_file", read()), async {
        let (id, _) = cat.asked().await;
        cat.answer(&id, true, true).await;
    });
    called.unwrap();
    assert_eq!(view().remembered.len(), 1);
    // It ends with its connection.
    assert_eq!(rig.desk().disconnect_pet("cat").await, Ok(()));
    assert_eq!(cat.close_code().await, 1_001);
    rig.until(|rig| rig.desk().pets().server.sessions.is_empty()).await;
    assert_eq!(rig.desk().disconnect_pet("cat").await.unwrap_err().code, ErrorCode::Gone);
    let mut cat = rig.pet("cat").await;
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "read_file", read()), async {
        let (id, _) = cat.asked().await;
        cat.answer(&id, false, false).await;
    });
    denied(called);
}

#[tokio::test]
async fn t14_a_remembered_choice_ends_when_what_would_change_is_no_longer_the_same() {
    let rig = Rig::open().await;
    let mut cat = rig.pet("cat").await;
    let edit = || json!({ "path": "a.txt", "old_text": "one", "new_text": "two" });
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "edit_file", edit()), async {
        let (id, _) = cat.asked().await;
        cat.answer(&id, true, true).await;
    });
    called.unwrap();
    fs::write(rig.file("work", "a.txt"), "one more\n").unwrap();
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "edit_file", edit()), async {
        let (id, _) = cat.asked().await;
        cat.answer(&id, false, false).await;
    });
    denied(called);
    assert_eq!(fs::read_to_string(rig.file("work", "a.txt")).unwrap(), "one more\n");
}

#[tokio::test]
async fn a_companion_that_leaves_or_is_not_there_leaves_the_call_to_the_desk() {
    let rig = Rig::open().await;
    let mut cat = rig.pet("cat").await;
    let mut messages = rig.desk().messages();
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "write_file", write("two\n")), async {
        cat.asked().await;
        drop(cat);
        rig.until(|rig| rig.desk().pets().server.sessions.is_empty()).await;
        let card = next_card(&mut messages).await;
        assert_eq!(rig.desk().snapshot().await.cards.len(), 1, "it still waits");
        decide(rig.desk(), &card, Decision::Deny).await;
    });
    denied(called);
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "write_file", write("two\n")), async {
        let card = next_card(&mut messages).await;
        assert!(card.expires_at_ms - card.created_at_ms <= 60_000);
        decide(rig.desk(), &card, Decision::AllowOnce).await;
    });
    called.unwrap();
    let window = || Some("window".to_owned());
    assert_eq!(rig.history(2).await, [(Outcome::Denied, window()), (Outcome::AllowedOnce, window())]);
}

#[tokio::test]
async fn an_answer_at_the_desk_takes_the_question_back_from_the_companion() {
    let rig = Rig::open().await;
    let mut cat = rig.pet("cat").await;
    let mut messages = rig.desk().messages();
    let mut asked = None;
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "write_file", write("two\n")), async {
        asked = Some(cat.asked().await.0);
        let card = next_card(&mut messages).await;
        decide(rig.desk(), &card, Decision::Deny).await;
    });
    denied(called);
    rig.until(|rig| rig.desk().pets().server.sessions[0].waiting == 0).await;
    let late = cat.answer(&asked.unwrap(), true, false).await;
    assert_eq!(late["status"], "error", "{late}");
    assert!(late["error"].as_str().unwrap().starts_with("withdrawn"), "{late}");
    assert!(!rig.file("work", "b.txt").exists());
}

#[tokio::test]
async fn t08_what_nobody_may_allow_is_not_for_a_companion_to_allow() {
    let rig = Rig::open().await;
    let mut cat = rig.pet("cat").await;
    let mut messages = rig.desk().messages();
    let long = write(&"x\n".repeat(200_000));
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "write_file", long), async {
        let card = next_card(&mut messages).await;
        assert_eq!(card.allow_blocked, Some(AllowBlocked::TooLong));
        decide(rig.desk(), &card, Decision::Deny).await;
    });
    denied(called);
    let (called, ()) = tokio::join!(rig.call(Some("cat"), "write_file", write("short\n")), async {
        let (id, shown) = cat.asked().await;
        assert_eq!(shown["arguments"]["content"], "short\n", "the first that it is asked about");
        cat.answer(&id, true, false).await;
    });
    called.unwrap();
}

#[tokio::test]
async fn t02_nothing_but_its_own_setting_opens_the_channel_and_nothing_but_its_own_token_opens_a_door() {
    let rig = Rig::start().await;
    let view = rig.desk().pets().server;
    assert_eq!((view.enabled, view.address), (false, None));
    assert!(!PathBuf::from(&view.token_file).exists());
    let gateway_token = fs::read_to_string(rig.paths.gateway().join("token")).unwrap();
    let knock = async |token: &str| Pet::connect(&rig.url(), "cat", token).await.err();
    assert_eq!(knock(&gateway_token).await, Some(404));
    rig.desk().set_settings(Settings::default()).unwrap();
    let on = |enabled| EmbeddedEdit { enabled, port: 18_790 };
    rig.desk().set_embedded(on(true)).await.unwrap();
    assert_eq!(knock(&gateway_token).await, Some(404));

    rig.desk().set_pet_server(true).await.unwrap();
    rig.until(|rig| rig.desk().pets().server.address.is_some()).await;
    let view = rig.desk().pets().server;
    assert_eq!(view.address.as_deref(), Some(rig.url().as_str()));
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(fs::metadata(&view.token_file).unwrap().permissions().mode() & 0o777, 0o600);
    for token in [gateway_token.as_str(), "", "x"] {
        assert_eq!(knock(token).await, Some(401), "{token:?}");
    }
    let mut cat = rig.pet("cat").await;
    assert_eq!(Pet::connect(&rig.url(), "cat", &rig.token()).await.err(), Some(409));

    rig.desk().set_pet_server(false).await.unwrap();
    assert_eq!(cat.close_code().await, 1_001);
    assert_eq!(knock(&rig.token()).await, Some(404));
    assert_eq!(rig.desk().connections().await.pets.server.address, None);
    // With the gateway it goes and comes.
    rig.desk().set_pet_server(true).await.unwrap();
    rig.until(|rig| rig.desk().pets().server.address.is_some()).await;
    rig.desk().set_embedded(on(false)).await.unwrap();
    rig.until(|rig| rig.desk().pets().server.address.is_none()).await;
    rig.desk().set_embedded(on(true)).await.unwrap();
    rig.until(|rig| rig.desk().pets().server.address.is_some()).await;
    rig.pet("cat").await;
}

#[tokio::test]
async fn t03_a_token_that_others_may_read_opens_nothing_and_says_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let rig = Rig::start().await;
    let file = rig.desk().pets().server.token_file;
    fs::write(&file, "token-that-everybody-reads").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    rig.desk().set_pet_server(true).await.unwrap();
    rig.until(|rig| rig.desk().pets().broken.is_some()).await;
    let view = rig.desk().pets();
    assert!(view.broken.unwrap().contains("others than its owner may use it"));
    assert_eq!((view.server.enabled, view.server.address), (true, None));
    assert_eq!(Pet::connect(&rig.url(), "cat", "token-that-everybody-reads").await.err(), Some(404));
}

fn source(url: &str, token: &str) -> PetSourceEdit {
    PetSourceEdit {
        id: None,
        name: "other desk".to_owned(),
        url: url.to_owned(),
        pin: None,
        session_id: "cat".to_owned(),
        enabled: true,
        secret: SecretEdit::Set { value: token.to_owned() },
    }
}

#[tokio::test]
async fn what_the_channel_of_another_app_asks_is_answered_at_this_desk() {
    let (there, here) = (Rig::open().await, Rig::start().await);
    here.desk().save_pet_source(source(&there.url(), &there.token())).await.unwrap();
    let connected = |rig: &Rig| matches!(rig.desk().pets().sources[0].state, LinkState::Connected { .. });
    here.until(connected).await;
    let mut messages = here.desk().messages();
    for (decision, content) in [(Decision::AllowOnce, "two\n"), (Decision::Deny, "three\n")] {
        let (called, ()) = tokio::join!(there.call(Some("cat"), "write_file", write(content)), async {
            let card = next_card(&mut messages).await;
            assert_eq!(card.via, Via::Pet);
            decide(here.desk(), &card, decision).await;
        });
        assert_eq!(called.is_ok(), decision.allows(), "{called:?}");
        assert_eq!(fs::read_to_string(there.file("work", "b.txt")).unwrap(), "two\n");
    }
    assert!(!here.file("work", "b.txt").exists(), "nothing runs here");
    // Answered there before, an answer from here is not taken, and that is told.
    let mut theirs = there.desk().messages();
    let mut card = None;
    let (called, ()) = tokio::join!(there.call(Some("cat"), "write_file", write("four\n")), async {
        card = Some(next_card(&mut messages).await);
        let own = next_card(&mut theirs).await;
        decide(there.desk(), &own, Decision::Deny).await;
    });
    denied(called);
    let card = card.unwrap();
    decide(here.desk(), &card, Decision::AllowOnce).await;
    let told = next(&mut messages, |event| match event {
        UiEvent::AnswerNotTaken { id, text, .. } => Some((id, text)),
        _ => None,
    })
    .await;
    assert_eq!(told.0, card.id);
    assert!(told.1.contains("withdrawn"), "{}", told.1);
    assert_eq!(fs::read_to_string(there.file("work", "b.txt")).unwrap(), "two\n");
}

#[tokio::test]
async fn the_app_does_not_answer_itself() {
    let rig = Rig::open().await;
    let url = rig.url().replace("127.0.0.1", "localhost");
    let refused = rig.desk().save_pet_source(source(&url, &rig.token())).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Invalid);
    assert!(rig.desk().pets().sources.is_empty());
    let openclaw = PetSourceEdit { secret: SecretEdit::OpenClaw, ..source("ws://127.0.0.1:9", "x") };
    let refused = rig.desk().save_pet_source(openclaw).await.unwrap_err();
    let expected = Mistake { field: Some("token".into()), expected: Expected::OwnSecret };
    assert_eq!((refused.code, refused.mistake), (ErrorCode::Invalid, Some(expected)));
    for gone in [rig.desk().remove_pet_source("x").await, rig.desk().retry_pet_source("x").await] {
        assert_eq!(gone.unwrap_err().code, ErrorCode::Gone);
    }
}
