//! What a requester can cost.

use super::*;
use pretty_assertions::assert_eq;
use std::time::Instant;

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

#[tokio::test(start_paused = true)]
async fn a_requester_that_sends_nothing_is_closed_after_fifteen_seconds() {
    let rig = Rig::start();
    let began = tokio::time::Instant::now();
    let stream = rig.send("{").await;
    assert_eq!(read_all(stream).await, "");
    assert_eq!(began.elapsed().as_secs(), 15);
}

#[tokio::test]
async fn wrong_tokens_lose_their_answers_and_right_ones_do_not() {
    let mut rig = Rig::start();
    let mut answers = Vec::new();
    let began = Instant::now();
    for _ in 0..30 {
        answers.push(!rig.answer_to(&question("wrong")).await.is_empty());
    }
    // Two come back for every second that this takes.
    let answered = answers.iter().filter(|answered| **answered).count();
    let refilled = usize::try_from(began.elapsed().as_secs() * 2 + 2).unwrap();
    assert!((20..=20 + refilled).contains(&answered), "{answered}");
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
    assert!(refused > 0, "400 requests went through at once");
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
    assert!(answered >= 128, "{answered}");
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
