//! What a requester can cost.

use super::*;
use crate::socket::connection::{self, FAILURE_BURST, REQUEST_BURST};
use crate::socket::places::{MAX_RUNNING, MAX_UNDECIDED, Readers};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use tokio::time::Instant;

#[tokio::test]
async fn l375_a_line_over_the_limit_is_closed_without_a_line() {
    let mut rig = Rig::start();
    let mut stream = rig.connect().await;
    // The server closes while this is still being written.
    let _ = stream.write_all(&[b'a'; 300_000]).await;
    assert_eq!(read_all(stream).await, "");
    assert!(rig.heard_nothing());
}

#[tokio::test]
async fn a_line_of_exactly_the_limit_is_read() {
    let mut rig = Rig::start();
    let mut line = question("right");
    let short = line.to_string().len();
    line["pad"] = "x".repeat(256_000 - short - r#","pad":"""#.len()).into();
    assert_eq!(line.to_string().len(), 256_000);
    let stream = rig.send(line.to_string()).await;
    rig.asked().await.reply.send(Some(Decision::Deny)).unwrap();
    assert_eq!(read_all(stream).await, decision("q1", "deny"));
}

/// What the connections of a server share, with a handler that hands every request to the receivers.
fn shared() -> (Arc<Shared<Answering>>, mpsc::UnboundedReceiver<Asked>, mpsc::UnboundedReceiver<Ordered>) {
    let (asked_in, asked) = mpsc::unbounded_channel();
    let (ordered_in, ordered) = mpsc::unbounded_channel();
    let ports = fake_ports();
    let shared = Shared {
        handler: Arc::new(Answering { asked: asked_in, ordered: ordered_in }),
        gate: Gate::new(Arc::clone(&ports.clock)),
        ports,
        token: Box::new(|| Some(token("right"))),
        owner: rustix::process::geteuid().as_raw(),
        room: Room::new(),
    };
    (Arc::new(shared), asked, ordered)
}

// At the server's end: the other one hears of the end only when no process that another test starts just now
// has a copy of it.
#[tokio::test(start_paused = true)]
async fn a_requester_that_sends_nothing_more_is_closed_after_fifteen_seconds() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    theirs.write_all(b"{").await.unwrap();
    let began = Instant::now();
    connection::serve(ours, shared().0, Readers::new(1).enter().await, CancellationToken::new()).await;
    assert_eq!(began.elapsed().as_secs(), 15);
    assert_eq!(theirs.read(&mut [0]).await.unwrap(), 0);
}

#[tokio::test]
async fn wrong_tokens_lose_their_answers_and_right_ones_do_not() {
    let mut rig = Rig::start();
    let mut answers = Vec::new();
    for _ in 0..30 {
        answers.push(!rig.answer_to(&question("wrong")).await.is_empty());
    }
    let (answered, ignored) = answers.split_at(FAILURE_BURST as usize);
    assert!(answered.iter().all(|answered| *answered) && !ignored.contains(&true), "{answers:?}");
    let stream = rig.send(format!("{}\n", question("right"))).await;
    rig.asked().await.reply.send(Some(Decision::AllowOnce)).unwrap();
    assert_eq!(read_all(stream).await, decision("q1", "allow-once"));
}

#[tokio::test]
async fn a_flood_of_requests_is_refused_as_such() {
    let mut rig = Rig::start();
    let mut refused = 0;
    for index in 0..400 {
        let line = order("right", &format!("n{index}"), NOW, "{}");
        let answer = rig.answer_to(&line).await;
        if answer == refusal("invalid payload", "json") {
            continue;
        }
        assert_eq!(
            answer,
            concat!(
                r#"{"type":"exec-res","id":"e1","ok":false,"error":{"code":"UNAVAILABLE","#,
                r#""message":"too many requests","reason":"rate-limited"}}"#,
                "\n"
            )
        );
        refused += 1;
    }
    assert_eq!(refused, 400 - REQUEST_BURST);
    assert!(rig.heard_nothing());
}

#[tokio::test]
async fn a_thousand_connections_at_once_are_all_served() {
    let mut rig = Rig::start();
    let path = rig.path();
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let path = path.clone();
        clients.spawn(async move {
            // Silence and a closed connection are answers as well; hanging is not.
            let request = AskRequest { command: "id".into(), ..AskRequest::default() };
            client::ask(&path, &token("right"), &request, PATIENCE).await
        });
    }
    let mut answered = 0;
    loop {
        tokio::select! {
            asked = rig.asked() => asked.reply.send(Some(Decision::Deny)).unwrap(),
            ended = clients.join_next() => match ended {
                Some(Ok(Ok(_))) => answered += 1,
                Some(Ok(Err(error))) => assert!(matches!(error, client::ClientError::NoAnswer), "{error}"),
                Some(Err(error)) => panic!("{error}"),
                None => break,
            },
        }
    }
    assert!(answered >= REQUEST_BURST, "{answered}");
    rig.finish().await;
}

#[tokio::test]
async fn idle_connections_do_not_stop_the_server_from_stopping() {
    let rig = Rig::start();
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(rig.connect().await);
    }
    let path = rig.path();
    rig.finish().await;
    assert!(!path.exists());
    for stream in idle {
        assert_eq!(read_all(stream).await, "");
    }
}

/// Serves one connection that sends `line` and returns what came back and whether the handler heard of it.
fn outcome_of(line: &[u8]) -> (String, bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (shared, mut asked, mut ordered) = shared();
        let reader = Readers::new(1).enter().await;
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let client = async move {
            let _ = theirs.write_all(line).await;
            let _ = theirs.shutdown().await;
            read_all(theirs).await
        };
        let server = connection::serve(ours, shared, reader, CancellationToken::new());
        let mut heard = false;
        let handler = async {
            tokio::select! {
                Some(asked) = asked.recv() => { heard = true; drop(asked.reply) }
                Some(ordered) = ordered.recv() => { heard = true; ordered.reply.send(Ok(ExecPayload::default())).unwrap() }
                else => {}
            }
        };
        let (answer, (), ()) = tokio::join!(client, server, handler);
        (answer, heard)
    })
}

fn mutated(line: Value) -> impl Strategy<Value = Vec<u8>> {
    let bytes = line.to_string().into_bytes();
    let places = 0..bytes.len();
    proptest::collection::vec((places, any::<u8>()), 0..3).prop_map(move |changes| {
        let mut bytes = bytes.clone();
        for (place, byte) in changes {
            bytes[place] = byte;
        }
        bytes
    })
}

proptest! {
    #[test]
    fn whatever_arrives_without_the_token_gets_silence_or_a_refusal(
        line in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            mutated(question("wrong")),
            mutated(order("wrong", "n", NOW, "{\"command\":[\"id\"]}")),
        ],
    ) {
        let (answer, heard) = outcome_of(&line);
        prop_assert!(!heard);
        prop_assert!(
            answer.is_empty()
                || answer.contains(r#""decision":"deny""#)
                || answer.contains(r#""ok":false,"error":{"code":"INVALID_REQUEST""#),
            "{answer}"
        );
    }

    #[test]
    fn a_changed_frame_is_not_a_signed_frame(line in mutated(order("right", "n", NOW, "{\"command\":[\"id\"]}"))) {
        let original: Value = order("right", "n", NOW, "{\"command\":[\"id\"]}");
        let (answer, heard) = outcome_of(&line);
        let same = serde_json::from_slice::<Value>(line.split(|byte| *byte == b'\n').next().unwrap())
            .is_ok_and(|changed| ["type", "nonce", "ts", "hmac", "requestJson"].iter().all(|key| changed[*key] == original[*key]));
        prop_assert_eq!(heard, same && answer.contains(r#""ok":true"#), "{}", answer);
    }
}

/// Sends orders one after the other, slowly enough for the limit of requests, and keeps them waiting.
async fn order_and_wait(rig: &mut Rig, from: usize, count: usize) -> Vec<(UnixStream, Ordered)> {
    let mut waiting = Vec::new();
    for index in from..from + count {
        loop {
            let line =
                order("right", &format!("n{index}-{}", uuid::Uuid::new_v4()), NOW, r#"{"command":["id"]}"#);
            let mut stream = rig.send(format!("{line}\n")).await;
            let mut answer = [0; 4_096];
            tokio::select! {
                ordered = rig.ordered() => {
                    waiting.push((stream, ordered));
                    break;
                }
                read = stream.read(&mut answer) => {
                    let text = String::from_utf8_lossy(&answer[..read.unwrap()]).into_owned();
                    assert!(text.contains("rate-limited"), "{text}");
                    rig.second_passes();
                }
            }
        }
    }
    waiting
}

#[tokio::test]
async fn a_run_goes_on_at_once_while_256_wait() {
    let mut rig = Rig::start();
    let waiting = order_and_wait(&mut rig, 0, 256).await;
    let (stream, by_rule) = order_and_wait(&mut rig, 256, 1).await.pop().unwrap();
    by_rule.reply.send(Ok(ExecPayload::default())).unwrap();
    assert!(read_all(stream).await.contains(r#""ok":true"#));
    assert!(waiting.iter().all(|(_, ordered)| !ordered.call.gone.is_cancelled()));
}

#[tokio::test]
async fn who_finds_no_place_is_told_at_once_and_what_runs_gives_its_place_back() {
    let mut rig = Rig::start();
    let mut waiting = order_and_wait(&mut rig, 0, MAX_UNDECIDED).await;
    let line = |nonce: &str| order("right", nonce, NOW, r#"{"command":["id"]}"#);
    let busy = within(async {
        loop {
            let answer = rig.answer_to(&line(&uuid::Uuid::new_v4().to_string())).await;
            if !answer.contains("rate-limited") {
                return answer;
            }
            rig.second_passes();
        }
    })
    .await;
    assert!(busy.contains(r#""reason":"busy""#), "{busy}");
    for (_, ordered) in &waiting[..MAX_RUNNING - 1] {
        ordered.call.started.cancel();
    }
    waiting.extend(order_and_wait(&mut rig, MAX_UNDECIDED, 1).await);
    assert_eq!(waiting.len(), MAX_UNDECIDED + 1);
}

#[tokio::test(start_paused = true)]
async fn four_hundred_silent_callers_delay_nobody_who_has_something_to_say() {
    let mut rig = Rig::start();
    let mut silent = Vec::new();
    for _ in 0..400 {
        silent.push(rig.connect().await);
    }
    let began = Instant::now();
    let _stream = rig.send(format!("{}\n", question("right"))).await;
    let _asked = rig.asked().await;
    // Each would have had two seconds, 64 at a time. The clock goes on only while nobody has anything to do.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}
