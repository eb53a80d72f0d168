//! Asking through the handle, over connections in memory: the clock is paused, so every wait is exact.

use super::*;
use crate::pet::{APPROVAL_WAIT, Choice};
use axum::Error;
use axum::extract::ws::Message;
use countersign_protocol::pet::close;
use futures_util::{SinkExt as _, stream};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::pin::pin;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::PollSender;

const NOW_MS: i64 = 1_714_896_000_123;

fn open() -> Pets {
    let pets = Pets::new(|| NOW_MS);
    pets.open(PetToken::parse("secret").unwrap());
    pets
}

fn id(text: &str) -> SessionId {
    SessionId::parse(text).unwrap()
}

/// A client's end of a connection.
struct Client {
    to_server: mpsc::Sender<Result<Message, Error>>,
    from_server: mpsc::Receiver<Message>,
    serving: JoinHandle<()>,
    stop: CancellationToken,
}

impl Client {
    /// Connected and greeted.
    async fn connect(pets: &Pets, session: &str) -> Self {
        let mut client = Self::silent(pets, session, 8);
        assert_eq!(client.next().await["push_type"], "init_status");
        client
    }

    /// Frames that nobody reads fill `room`.
    fn silent(pets: &Pets, session: &str, room: usize) -> Self {
        let (to_server, incoming) = mpsc::channel(8);
        let (outgoing, from_server) = mpsc::channel(room);
        let incoming =
            stream::unfold(incoming, async |mut incoming| Some((incoming.recv().await?, incoming)));
        let outgoing =
            PollSender::new(outgoing).sink_map_err(|_| Error::new(std::io::Error::other("no reader")));
        let stop = CancellationToken::new();
        let seated = pets.seat(id(session)).unwrap();
        let serving = tokio::spawn(run(seated, Box::pin(incoming), outgoing, stop.clone()));
        Self { to_server, from_server, serving, stop }
    }

    /// The next message that is no ping; pings are answered, as every WebSocket does.
    async fn message(&mut self) -> Message {
        loop {
            match self.from_server.recv().await.expect("a message") {
                // The connection may have ended meanwhile.
                Message::Ping(data) => drop(self.to_server.send(Ok(Message::Pong(data))).await),
                message => return message,
            }
        }
    }

    async fn next(&mut self) -> Value {
        match self.message().await {
            Message::Text(text) => serde_json::from_str(&text).unwrap(),
            other => panic!("expected a text, got {other:?}"),
        }
    }

    /// The id of the call that is asked about next.
    async fn asked(&mut self) -> String {
        let push = self.next().await;
        assert_eq!(push["push_type"], "tool_approval", "{push}");
        push["data"]["request_id"].as_str().unwrap().to_owned()
    }

    async fn send(&self, frame: Value) {
        self.to_server.send(Ok(Message::text(frame.to_string()))).await.unwrap();
    }

    /// Answers, and hears what came of it.
    async fn answer(&mut self, request_id: &str, more: Value) -> Value {
        let mut data = json!({"request_id": request_id});
        data.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.send(json!({"action": "tool_approval_response", "data": data})).await;
        self.next().await
    }

    async fn close_code(&mut self) -> Option<u16> {
        loop {
            match self.message().await {
                Message::Close(frame) => return frame.map(|frame| frame.code),
                Message::Text(_) => {}
                other => panic!("expected a close, got {other:?}"),
            }
        }
    }
}

fn command() -> Value {
    json!({"command": "uname -a"})
}

fn call<'a>(tool: &'a str, arguments: &'a Value) -> Call<'a> {
    Call { tool, arguments, context: "" }
}

async fn ask(pets: &Pets, session: &str) -> AskOutcome {
    pets.ask(session, call("exec", &command()), APPROVAL_WAIT).await
}

#[tokio::test(start_paused = true)]
async fn two_sessions_are_asked_and_answer_each_for_itself() {
    let pets = open();
    let (mut one, mut two) = (Client::connect(&pets, "one").await, Client::connect(&pets, "two").await);
    let (first, second, ()) = tokio::join!(ask(&pets, "one"), ask(&pets, "two"), async {
        let (first, second) = (one.asked().await, two.asked().await);
        assert_ne!(first, second);
        assert_eq!(two.answer(&second, json!({"approved": false})).await["status"], "ok");
        assert_eq!(one.answer(&first, json!({"approved": true})).await["status"], "ok");
    });
    assert_eq!((first, second), (AskOutcome::Approved(By::Client), AskOutcome::Denied(By::Client)));
}

#[tokio::test(start_paused = true)]
async fn t02_the_other_session_cannot_answer_although_it_knows_the_id() {
    let pets = open();
    let (mut one, mut two) = (Client::connect(&pets, "one").await, Client::connect(&pets, "two").await);
    let (answer, ()) = tokio::join!(ask(&pets, "one"), async {
        let request_id = one.asked().await;
        let refused = two.answer(&request_id, json!({"approved": true})).await;
        assert_eq!(refused["status"], "error");
        assert!(refused["error"].as_str().unwrap().starts_with("unknown request_id"), "{refused}");
        assert_eq!(pets.sessions()[0].waiting, 1);
        one.answer(&request_id, json!({"approved": false})).await;
    });
    assert_eq!(answer, AskOutcome::Denied(By::Client));
}

#[tokio::test(start_paused = true)]
async fn t05_an_answer_is_worth_nothing_on_the_next_connection_of_the_session() {
    let pets = open();
    let mut first = Client::connect(&pets, "one").await;
    let (answer, request_id) = tokio::join!(ask(&pets, "one"), async {
        let request_id = first.asked().await;
        drop(first.to_server);
        first.serving.await.unwrap();
        request_id
    });
    assert_eq!(answer, AskOutcome::Gone);
    let mut second = Client::connect(&pets, "one").await;
    let (answer, ()) = tokio::join!(ask(&pets, "one"), async {
        let fresh = second.asked().await;
        let replayed = second.answer(&request_id, json!({"approved": true})).await;
        assert_eq!(replayed["status"], "error", "{replayed}");
        assert_eq!(pets.sessions()[0].waiting, 1);
        second.answer(&fresh, json!({"approved": false})).await;
    });
    assert_eq!(answer, AskOutcome::Denied(By::Client));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_at_once_is_not_too_early() {
    let pets = open();
    let mut client = Client::connect(&pets, "one").await;
    // The client answers before whoever asks gets to run again.
    let asking = pets.clone();
    let asking = tokio::spawn(async move { ask(&asking, "one").await });
    let request_id = client.asked().await;
    assert!(!asking.is_finished());
    assert_eq!(client.answer(&request_id, json!({"approved": true})).await["status"], "ok");
    assert_eq!(asking.await.unwrap(), AskOutcome::Approved(By::Client));
}

#[tokio::test(start_paused = true)]
async fn after_sixty_seconds_without_an_answer_the_call_is_over() {
    let pets = open();
    let mut client = Client::connect(&pets, "one").await;
    let began = Instant::now();
    let answer = ask(&pets, "one").await;
    assert_eq!((answer, began.elapsed()), (AskOutcome::Expired, Duration::from_secs(60)));
    assert!(!matches!(answer, AskOutcome::Approved(_)));
    let request_id = client.asked().await;
    // Two heartbeats came meanwhile.
    for _ in 0..2 {
        assert_eq!(client.next().await["push_type"], "heartbeat");
    }
    let late = client.answer(&request_id, json!({"approved": true})).await;
    assert!(late["error"].as_str().unwrap().starts_with("expired"), "{late}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_the_last_moment_counts_and_one_of_the_next_does_not() {
    for (after_ms, expected) in [(59_999, AskOutcome::Approved(By::Client)), (60_000, AskOutcome::Expired)] {
        let pets = open();
        let mut client = Client::connect(&pets, "one").await;
        let (answer, ()) = tokio::join!(ask(&pets, "one"), async {
            let began = Instant::now();
            let request_id = client.asked().await;
            tokio::time::sleep_until(began + Duration::from_millis(after_ms)).await;
            let data = json!({"request_id": request_id, "approved": true});
            client.send(json!({"action": "tool_approval_response", "data": data})).await;
        });
        assert_eq!(answer, expected, "{after_ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_hears_a_heartbeat_every_thirty_seconds() {
    let pets = open();
    let mut client = Client::connect(&pets, "one").await;
    let began = Instant::now();
    for n in 1..=5 {
        let push = client.next().await;
        assert_eq!(
            (push["push_type"].as_str(), push["timestamp"].as_i64()),
            (Some("heartbeat"), Some(1_714_896_000))
        );
        assert_eq!(began.elapsed(), Duration::from_secs(30 * n));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_answers_no_ping_is_gone() {
    let pets = open();
    let mut client = Client::connect(&pets, "one").await;
    let began = Instant::now();
    let code = loop {
        match client.from_server.recv().await.expect("a message") {
            Message::Close(frame) => break frame.map(|frame| frame.code),
            _ => assert!(began.elapsed() <= Duration::from_secs(120), "{:?}", began.elapsed()),
        }
    };
    assert_eq!(code, Some(close::GOING_AWAY));
    assert_eq!(ask(&pets, "one").await, AskOutcome::NoSuchSession);
}

#[tokio::test(start_paused = true)]
async fn whoever_stops_waiting_withdraws_the_call() {
    let pets = open();
    let mut client = Client::connect(&pets, "one").await;
    let request_id = {
        let mut asking = pin!(ask(&pets, "one"));
        tokio::select! {
            answer = &mut asking => panic!("answered: {answer:?}"),
            request_id = client.asked() => request_id,
        }
    };
    assert_eq!(pets.sessions()[0].waiting, 0);
    let late = client.answer(&request_id, json!({"approved": true, "remember": true})).await;
    assert!(late["error"].as_str().unwrap().starts_with("withdrawn"), "{late}");
    assert_eq!(pets.remembered("one"), []);
}

#[tokio::test(start_paused = true)]
async fn t05_a_remembered_choice_holds_for_its_session_and_connection_alone() {
    let pets = open();
    let mut one = Client::connect(&pets, "one").await;
    let mut two = Client::connect(&pets, "two").await;
    let remember = json!({"approved": true, "remember": true});
    let (answer, ()) = tokio::join!(ask(&pets, "one"), async {
        let request_id = one.asked().await;
        assert_eq!(one.answer(&request_id, remember).await["data"]["remembered"], true);
    });
    assert_eq!(answer, AskOutcome::Approved(By::Client));
    // Without a push, at once.
    assert_eq!(ask(&pets, "one").await, AskOutcome::Approved(By::Memory));
    let sessions: Vec<_> = pets
        .sessions()
        .into_iter()
        .map(|session| (session.session_id.to_string(), session.remembered))
        .collect();
    assert_eq!(sessions, [("one".to_owned(), 1), ("two".to_owned(), 0)]);
    // Another session, other arguments and another tool are asked about.
    let other = json!({"command": "uname -a "});
    let (answers, ()) = tokio::join!(
        async {
            [
                ask(&pets, "two").await,
                pets.ask("one", call("exec", &other), APPROVAL_WAIT).await,
                pets.ask("one", call("spawn", &command()), APPROVAL_WAIT).await,
            ]
        },
        async {
            for client in [&mut two, &mut one] {
                let request_id = client.asked().await;
                client.answer(&request_id, json!({"approved": false})).await;
            }
            let request_id = one.asked().await;
            one.answer(&request_id, json!({"approved": false})).await;
        }
    );
    assert_eq!(answers, [AskOutcome::Denied(By::Client); 3]);
    let [kept] = &pets.remembered("one")[..] else { panic!("one choice") };
    assert_eq!((kept.tool.as_str(), kept.choice, kept.since_ms), ("exec", Choice::Approve, NOW_MS));
    // Nor does it survive its connection.
    drop(one.to_server);
    one.serving.await.unwrap();
    assert_eq!(ask(&pets, "one").await, AskOutcome::NoSuchSession);
    let _one = Client::connect(&pets, "one").await;
    assert_eq!(pets.remembered("one"), []);
    assert_eq!(ask(&pets, "one").await, AskOutcome::Expired);
}

#[tokio::test(start_paused = true)]
async fn a_remembered_choice_can_be_taken_back() {
    let pets = open();
    let mut client = Client::connect(&pets, "one").await;
    let (answer, ()) = tokio::join!(ask(&pets, "one"), async {
        let request_id = client.asked().await;
        client.answer(&request_id, json!({"approved": true, "remember": true})).await;
    });
    assert!(matches!(answer, AskOutcome::Approved(_)));
    let kept = pets.remembered("one").remove(0);
    assert!(!pets.forget("two", kept.id) && !pets.forget("one", kept.id + 1));
    assert_eq!(ask(&pets, "one").await, AskOutcome::Approved(By::Memory));
    assert!(pets.forget("one", kept.id) && !pets.forget("one", kept.id));
    assert_eq!(ask(&pets, "one").await, AskOutcome::Expired);
}

#[tokio::test(start_paused = true)]
async fn without_a_client_nothing_is_asked_and_nobody_waits() {
    let pets = open();
    let _client = Client::connect(&pets, "one").await;
    let began = Instant::now();
    for session in ["two", "ONE", "one ", "", "\u{0}"] {
        assert_eq!(ask(&pets, session).await, AskOutcome::NoSuchSession, "{session:?}");
    }
    let large = json!("x".repeat(2 * 1024 * 1024));
    assert_eq!(pets.ask("one", call("write_file", &large), APPROVAL_WAIT).await, AskOutcome::TooLarge);
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_bound_are_not_asked_about_and_the_others_still_are() {
    let pets = open();
    let client = Client::connect(&pets, "one").await;
    let asking: Vec<_> = (0..100)
        .map(|_| {
            let pets = pets.clone();
            tokio::spawn(async move { ask(&pets, "one").await })
        })
        .collect();
    let mut full = 0;
    let mut over = 0;
    for asking in asking {
        match asking.await.unwrap() {
            AskOutcome::Full => full += 1,
            // This client does not read everything: it counts as gone before the time of the calls is over.
            AskOutcome::Gone => over += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((over, full), (64, 36));
    drop(client);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_gone_after_ten_seconds() {
    let pets = open();
    // The greeting fills all room.
    let client = Client::silent(&pets, "one", 1);
    let began = Instant::now();
    let answer = ask(&pets, "one").await;
    assert_eq!((answer, began.elapsed()), (AskOutcome::Gone, Duration::from_secs(10)));
    assert_eq!(pets.sessions(), []);
    client.serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn hostile_frames_end_their_connection_and_no_other() {
    let check = async |message: Result<Message, Error>, times: usize, expected: Option<u16>| {
        let pets = open();
        let (mut bad, mut good) = (Client::connect(&pets, "bad").await, Client::connect(&pets, "good").await);
        let (answers, ()) =
            tokio::join!(async { (ask(&pets, "bad").await, ask(&pets, "good").await) }, async {
                bad.asked().await;
                let mut message = Some(message);
                for _ in 0..times {
                    let message = message.take().unwrap_or_else(|| Ok(Message::text("{")));
                    bad.to_server.send(message).await.unwrap();
                }
                assert_eq!(bad.close_code().await, expected);
                let request_id = good.asked().await;
                good.answer(&request_id, json!({"approved": true})).await;
            });
        assert_eq!(answers, (AskOutcome::Gone, AskOutcome::Approved(By::Client)));
        assert_eq!(pets.sessions().len(), 1);
    };
    check(Ok(Message::binary(vec![0xff; 10])), 1, Some(close::UNSUPPORTED)).await;
    check(Ok(Message::text("x".repeat(70_000))), 1, Some(close::TOO_BIG)).await;
    check(Ok(Message::text("{")), 10, Some(close::POLICY)).await;
    check(Ok(Message::Close(None)), 1, None).await;
    check(Err(Error::new(std::io::Error::other("reset"))), 1, None).await;
    let too_long =
        tokio_tungstenite::tungstenite::error::CapacityError::MessageTooLong { size: 9, max_size: 1 };
    let too_long = tokio_tungstenite::tungstenite::Error::Capacity(too_long);
    check(Err(Error::new(too_long)), 1, Some(close::TOO_BIG)).await;
}

#[tokio::test(start_paused = true)]
async fn the_owner_and_the_server_end_connections_and_nobody_is_left_waiting() {
    let check = async |end: fn(&Pets, &Client), expected: u16| {
        let pets = open();
        let mut client = Client::connect(&pets, "one").await;
        let (answer, ()) = tokio::join!(ask(&pets, "one"), async {
            client.asked().await;
            end(&pets, &client);
            assert_eq!(client.close_code().await, Some(expected));
        });
        assert_eq!((answer, pets.sessions()), (AskOutcome::Gone, vec![]));
    };
    check(|pets, _| assert!(pets.disconnect("one") && !pets.disconnect("two")), close::GOING_AWAY).await;
    check(|pets, _| pets.close(), close::GOING_AWAY).await;
    check(|_, client| client.stop.cancel(), close::RESTART).await;
}

#[tokio::test]
async fn t02_a_session_has_one_connection_and_a_second_one_takes_nothing_over() {
    let pets = open();
    let first = pets.seat(id("one")).unwrap();
    assert_eq!(pets.seat(id("one")).err(), Some(Unseated::Taken));
    assert_eq!(pets.sessions().len(), 1);
    drop(first);
    assert!(pets.seat(id("one")).is_ok());
}

#[tokio::test]
async fn connections_are_bounded_and_a_closed_channel_takes_none() {
    let pets = open();
    let seats: Vec<_> = (0..MAX_SESSIONS).map(|n| pets.seat(id(&n.to_string())).unwrap()).collect();
    assert_eq!(pets.seat(id("more")).err(), Some(Unseated::Full));
    drop(seats);
    assert!(pets.seat(id("more")).is_ok());
    pets.close();
    assert_eq!(pets.seat(id("more")).err(), Some(Unseated::Closed));
    assert!(pets.token().is_none());
    // Opened again, it is another channel.
    pets.open(PetToken::parse("other").unwrap());
    assert!(pets.seat(id("more")).is_ok());
    assert_eq!(pets.token().unwrap().expose(), "other");
}

#[tokio::test(start_paused = true)]
async fn whoever_watches_hears_of_every_change() {
    let pets = open();
    let mut changes = pets.changes();
    let mut check = |what: &str| {
        assert!(changes.has_changed().unwrap(), "{what}");
        changes.borrow_and_update();
    };
    let mut client = Client::connect(&pets, "one").await;
    check("a client came");
    let (answer, ()) = tokio::join!(ask(&pets, "one"), async {
        let request_id = client.asked().await;
        check("a call waits");
        client.answer(&request_id, json!({"approved": true, "remember": true})).await;
    });
    assert!(matches!(answer, AskOutcome::Approved(_)));
    check("a call ended");
    assert!(pets.forget("one", pets.remembered("one")[0].id));
    check("a choice was forgotten");
    drop(client.to_server);
    client.serving.await.unwrap();
    check("a client left");
    assert!(!changes.has_changed().unwrap());
}
