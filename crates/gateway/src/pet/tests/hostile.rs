//! Those that must not come in, and those that come in and misbehave.

use super::*;
use pretty_assertions::assert_eq;

#[tokio::test]
async fn t02_only_the_channels_own_token_lets_in() {
    let rig = Rig::new().await;
    let url = rig.url("cat");
    let check = async |suffix: &str, headers: &[(&'static str, &str)], expected: Option<u16>| {
        let refused = Pet::with(&format!("{url}{suffix}"), headers).await.err();
        assert_eq!(refused, expected, "{suffix} {headers:?}");
        rig.sessions(0).await;
    };
    check("", &[], Some(401)).await;
    check("&token=", &[], Some(401)).await;
    check("&token=wrong", &[], Some(401)).await;
    check(&format!("&token={}", &TOKEN[1..]), &[], Some(401)).await;
    // Who may speak to the gateway may not answer for a session by that.
    check(&format!("&token={GATEWAY_TOKEN}"), &[], Some(401)).await;
    check("", &[("authorization", &format!("Basic {TOKEN}"))], Some(401)).await;
    check(&format!("&token={TOKEN}&token=other"), &[], Some(400)).await;
    check(&format!("&token={TOKEN}"), &[], None).await;
    check("", &[("authorization", &format!("Bearer {TOKEN}"))], None).await;
    check("&token=wrong", &[("authorization", &format!("Bearer {TOKEN}"))], None).await;
    // A token of its own instead of the one before; who is in stays.
    let mut pet = rig.pet("cat").await;
    rig.pets.open(PetToken::parse("another-token").unwrap());
    let dog = rig.url("dog");
    assert_eq!(Pet::connect(&format!("{dog}&token={TOKEN}")).await.err(), Some(401));
    assert!(Pet::connect(&format!("{dog}&token=another-token")).await.is_ok());
    let (answer, ()) = tokio::join!(rig.ask("cat"), async {
        let request_id = pet.asked().await;
        pet.answer(json!({"request_id": request_id, "approved": true})).await;
    });
    assert!(matches!(answer, AskOutcome::Approved(_)));
}

#[tokio::test]
async fn t02_a_channel_that_nobody_opened_takes_nobody() {
    let rig = Rig::closed().await;
    for token in ["", TOKEN, GATEWAY_TOKEN] {
        let url = format!("{}&token={token}", rig.url("cat"));
        assert_eq!(Pet::connect(&url).await.err(), Some(404), "{token}");
    }
    rig.pets.open(PetToken::parse(TOKEN).unwrap());
    let mut pet = rig.pet("cat").await;
    rig.pets.close();
    assert_eq!(pet.close_code().await, 1_001);
    assert_eq!(rig.ask("cat").await, AskOutcome::NoSuchSession);
}

#[tokio::test]
async fn t02_ten_wrong_tokens_lock_the_door_for_everybody() {
    let rig = Rig::new().await;
    let inside = rig.pet("inside").await;
    for n in 0..10 {
        let url = format!("{}&token=guess-{n}", rig.url("cat"));
        assert_eq!(Pet::connect(&url).await.err(), Some(401));
    }
    assert_eq!(Pet::connect(&format!("{}&token={TOKEN}", rig.url("cat"))).await.err(), Some(429));
    let mut request = format!("{}&token={TOKEN}", rig.url("cat")).into_client_request().unwrap();
    request.headers_mut().insert("x-test", "1".parse().unwrap());
    match connect_async(request).await {
        Err(Error::Http(response)) => assert_eq!(response.headers()["retry-after"], "300"),
        other => panic!("expected a refusal, got {other:?}"),
    }
    // Who is in stays in.
    assert_eq!(rig.pets.sessions().len(), 1);
    drop(inside);
}

#[tokio::test]
async fn t02_pages_of_browsers_and_bent_names_are_refused_and_cannot_lock_the_door() {
    let rig = Rig::new().await;
    let url = format!("{}&token={TOKEN}", rig.url("cat"));
    for (name, value) in [
        ("origin", "http://localhost"),
        ("origin", "null"),
        ("origin", "tauri://localhost"),
        ("host", "attacker.example"),
        ("x-forwarded-for", "10.0.0.1"),
    ] {
        assert_eq!(Pet::with(&url, &[(name, value)]).await.err(), Some(403), "{name}: {value}");
    }
    // A page can send these without an Origin; they are no guesses.
    for _ in 0..20 {
        assert_eq!(status_of(&rig, "/ws?sessionId=cat&token=wrong").await, 400);
    }
    // Nor are those of a page that opens sockets.
    for _ in 0..20 {
        let wrong = format!("{}&token=wrong", rig.url("cat"));
        assert_eq!(Pet::with(&wrong, &[("origin", "http://attacker.example")]).await.err(), Some(403));
    }
    assert!(Pet::connect(&url).await.is_ok());
}

/// The status of a plain request.
async fn status_of(rig: &Rig, target: &str) -> u16 {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut tcp = TcpStream::connect(rig.address).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", rig.address);
    tcp.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).await.unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_session_must_be_named_once_and_readably() {
    let rig = Rig::new().await;
    let check = async |query: &str, expected: Option<u16>| {
        let url = format!("ws://{}/ws?token={TOKEN}{query}", rig.address);
        assert_eq!(Pet::connect(&url).await.err(), expected, "{query}");
        rig.sessions(0).await;
    };
    check("", Some(400)).await;
    check("&sessionId=", Some(400)).await;
    check("&sessionid=cat", Some(400)).await;
    check("&sessionId=a&sessionId=b", Some(400)).await;
    check("&sessionId=a%0Ab", Some(400)).await;
    check("&sessionId=a%00", Some(400)).await;
    check(&format!("&sessionId={}", "x".repeat(201)), Some(400)).await;
    check(&format!("&sessionId={}", "x".repeat(200)), None).await;
    check("&sessionId=agent%3Amain%3Apet%3Acat%3A1&more=1", None).await;
}

#[tokio::test]
async fn a_thousand_connections_are_bounded_and_the_first_still_work() {
    let rig = Rig::new().await;
    let mut first = rig.pet("first").await;
    let mut open: Vec<Pet> = Vec::new();
    let mut refused = 0;
    for n in 1..1_000 {
        if n % 50 == 0 {
            // However long all of them take, none is silent for too long.
            for pet in open.iter_mut().chain([&mut first]) {
                pet.socket.send(Message::Pong(Vec::new().into())).await.unwrap();
            }
        }
        match Pet::connect(&format!("{}&token={TOKEN}", rig.url(&n.to_string()))).await {
            Ok(pet) => open.push(pet),
            Err(status) => {
                assert_eq!(status, 503);
                refused += 1;
            }
        }
    }
    let max = crate::pet::server::MAX_SESSIONS;
    assert_eq!((open.len() + 1, refused, rig.pets.sessions().len()), (max, 1_000 - max, max));
    let (answer, ()) = tokio::join!(rig.ask("first"), async {
        let request_id = first.asked().await;
        first.answer(json!({"request_id": request_id, "approved": true})).await;
    });
    assert!(matches!(answer, AskOutcome::Approved(_)));
    // Whoever leaves makes room.
    drop(open);
    rig.sessions(1).await;
    rig.pet("later").await;
}

#[tokio::test]
async fn hostile_frames_are_told_what_is_wrong_and_approve_nothing() {
    let rig = Rig::new().await;
    let check = async |frames: &[Message], told: &[&str], code: Option<u16>| {
        let (mut pet, mut good) = (rig.pet("cat").await, rig.pet("dog").await);
        let (answers, ()) = tokio::join!(async { tokio::join!(rig.ask("cat"), rig.ask("dog")) }, async {
            let request_id = pet.asked().await;
            for frame in frames {
                pet.socket.send(frame.clone()).await.unwrap();
            }
            for told in told {
                let push = pet.next().await;
                assert_eq!((&push["push_type"], &push["data"]["code"]), (&json!("error"), &json!(told)));
            }
            match code {
                Some(code) => assert_eq!(pet.close_code().await, code),
                None => {
                    pet.answer(json!({"request_id": request_id, "approved": false})).await;
                }
            }
            let request_id = good.asked().await;
            good.answer(json!({"request_id": request_id, "approved": true})).await;
        });
        let expected = if code.is_some() { AskOutcome::Gone } else { AskOutcome::Denied(By::Client) };
        assert_eq!(answers, (expected, AskOutcome::Approved(By::Client)), "{told:?}");
        drop((pet, good));
        rig.sessions(0).await;
    };
    let text = |text: &str| Message::text(text.to_owned());
    check(&[text("{"), text("[]"), text("")], &["invalid_frame"; 3], None).await;
    check(&vec![text("null"); 10], &["invalid_frame"; 10], Some(1_008)).await;
    check(&[Message::binary(vec![0; 100])], &["binary_frame"], Some(1_003)).await;
    check(&[text(&"x".repeat(70_000))], &["frame_too_long"], Some(1_009)).await;
    // Longer than is read at all.
    check(&[text(&"x".repeat(300_000))], &[], Some(1_009)).await;
}
