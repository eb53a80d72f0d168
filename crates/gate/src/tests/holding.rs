//! Connections that wait for an answer, and what ends them.

use super::fake::{Answer, House, echo, names, rest, server, within};
use crate::wish::Because;
use crate::{Limits, Wish};
use pretty_assertions::assert_eq;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Mutex;

const SOCKS: &[u8] = b"\x05\x01\0\x05\x01\0\x03\x09a.example\x01\xbb";

#[tokio::test]
async fn t22_a_question_is_withdrawn_when_the_client_hangs_up() {
    for request in [
        &b"CONNECT a.example:443 HTTP/1.1\r\n\r\n"[..],
        // What was sent already does not hide the end.
        b"CONNECT a.example:443 HTTP/1.1\r\n\r\n\x16\x03\x01",
        b"GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        SOCKS,
    ] {
        let house = House::with(|_| Answer::Never, Limits::default(), names(&[]));
        let mut stream = house.call().await;
        stream.write_all(request).await.unwrap();
        let seen = house.until(|seen| seen.asked.len() == 1).await;
        assert_eq!(seen.withdrawn, 0, "{request:?}");
        drop(stream);
        house.until(|seen| seen.withdrawn == 1).await;
    }
}

#[tokio::test]
async fn a_question_that_nobody_answers_ends_as_a_refusal() {
    let limits = Limits { hold: Duration::from_millis(50), ..Limits::default() };
    let house = House::with(|_| Answer::Never, limits, names(&[]));
    let answer = house.say("CONNECT a.example:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("nobody answered in time"), "{answer}");
    let reply = house.say(SOCKS).await;
    assert_eq!(reply.as_bytes()[..4], [5, 0, 5, 2]);
    assert_eq!(house.seen().withdrawn, 2);
}

#[tokio::test]
async fn only_so_many_questions_wait_and_answers_that_are_known_are_not_held_up() {
    let limits = Limits { held: 1, ..Limits::default() };
    let rule = |wish: &Wish| if wish.destination.port == 443 { Answer::Never } else { Answer::No };
    let house = House::with(rule, limits, names(&[]));
    let mut waiting = house.call().await;
    waiting.write_all(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
    house.until(|seen| seen.asked.len() == 1).await;
    let answer = house.say("CONNECT b.example:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    let answer = house.say("CONNECT b.example:80 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[tokio::test]
async fn the_end_of_a_gate_closes_everything() {
    let server = echo().await;
    let mut house =
        House::open(
            move |wish| if wish.destination.port == server.port() { Answer::Open } else { Answer::Never },
        );
    let mut open = house.tunnel(server).await;
    let mut held = house.call().await;
    held.write_all(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
    let mut silent = house.call().await;
    house.until(|seen| seen.asked.len() == 2).await;
    house.ends.cancel();
    within(house.served.take().unwrap()).await.unwrap().unwrap();
    for stream in [&mut open, &mut held, &mut silent] {
        assert_eq!(rest(stream).await, "");
    }
    assert_eq!(house.seen().withdrawn, 1);
    tokio::net::UnixStream::connect(&house.socket).await.unwrap_err();
}

/// A gate that lets 1000 bytes pass to a server, and what that server got.
async fn measured(
    answer: impl Fn() -> Answer + Send + Sync + 'static,
) -> (House, std::net::SocketAddr, Arc<Mutex<usize>>) {
    let got = Arc::new(Mutex::new(0));
    let counting = got.clone();
    let server = server("127.0.0.1:0", move |mut stream| {
        let got = counting.clone();
        async move {
            let mut chunk = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut chunk).await {
                *got.lock().await += count;
                let _ = stream.write_all(b"+").await;
            }
        }
    })
    .await;
    let rule = move |wish: &Wish| {
        if matches!(wish.because, Because::Upload { .. }) { answer() } else { Answer::Open }
    };
    let limits = Limits { upload: 1000, ..Limits::default() };
    (House::with(rule, limits, names(&[])), server, got)
}

/// Sends as many bytes in a tunnel and waits until the server has got them.
async fn send(stream: &mut tokio::net::UnixStream, bytes: usize) {
    stream.write_all(&vec![1; bytes]).await.unwrap();
    within(stream.read_u8()).await.unwrap();
}

#[tokio::test]
async fn t22_what_would_exceed_the_limit_on_uploads_is_not_sent_when_that_is_refused() {
    let (house, server, got) = measured(|| Answer::No).await;
    // The sum over connections counts.
    for _ in 0..2 {
        send(&mut house.tunnel(server).await, 450).await;
    }
    let mut stream = house.tunnel(server).await;
    stream.write_all(&[1; 300]).await.unwrap();
    assert_eq!(rest(&mut stream).await, "");
    let seen = house.until(|seen| !seen.refused.is_empty()).await;
    assert_eq!(seen.asked.last().unwrap().because, Because::Upload { sent: 1200 });
    assert_eq!(*got.lock().await, 900);
    // A little still passes: what was not sent does not count.
    send(&mut house.tunnel(server).await, 50).await;
    assert_eq!(*got.lock().await, 950);
}

#[tokio::test]
async fn what_waits_for_the_limit_on_uploads_is_held() {
    let (house, server, got) = measured(|| Answer::Never).await;
    let mut stream = house.tunnel(server).await;
    send(&mut stream, 900).await;
    stream.write_all(&[1; 300]).await.unwrap();
    house.until(|seen| seen.asked.len() == 2).await;
    assert_eq!(*got.lock().await, 900);
    // A plain request to the same place is held by the same limit, and by its head.
    let mut plain = house.call().await;
    let path = "a".repeat(200);
    let request = format!("GET http://{server}/{path} HTTP/1.1\r\nHost: {server}\r\n\r\n");
    plain.write_all(request.as_bytes()).await.unwrap();
    house.until(|seen| seen.asked.len() == 3).await;
    assert_eq!(*got.lock().await, 900);
}

/// A tunnel by way of the relay.
async fn relayed(house: &House, to: std::net::SocketAddr) -> tokio::net::TcpStream {
    let mut stream = tokio::net::TcpStream::connect(house.relay()).await.unwrap();
    stream.write_all(format!("CONNECT {to} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    assert!(super::fake::head(&mut stream).await.starts_with("HTTP/1.1 200"));
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_about_an_upload_is_withdrawn_when_the_client_is_gone() {
    // A little, which all reached the gate, and more than every buffer on the way holds.
    for bytes in [2000, 64 * 1024 * 1024] {
        let (house, server, _) = measured(|| Answer::Never).await;
        let mut stream = relayed(&house, server).await;
        let content = vec![1; bytes];
        tokio::select! {
            sent = stream.write_all(&content) => {
                sent.unwrap();
                house.until(|seen| seen.asked.len() == 2).await;
            }
            _ = house.until(|seen| seen.asked.len() == 2) => {}
        }
        assert_eq!(house.seen().withdrawn, 0);
        drop(stream);
        house.until(|seen| seen.withdrawn == 1).await;
    }
    // Without a relay too.
    let (house, server, _) = measured(|| Answer::Never).await;
    let mut stream = house.tunnel(server).await;
    stream.write_all(&[1; 2000]).await.unwrap();
    house.until(|seen| seen.asked.len() == 2).await;
    drop(stream);
    house.until(|seen| seen.withdrawn == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_has_said_all_is_not_gone_while_its_upload_is_held() {
    let (agreed, agreeing) = (Arc::new(tokio::sync::Semaphore::new(0)), crate::guest::LOOKED * 3);
    let waits = agreed.clone();
    let (house, server, got) = measured(move || Answer::After(waits.clone())).await;
    let mut stream = relayed(&house, server).await;
    stream.write_all(&[1; 2000]).await.unwrap();
    stream.shutdown().await.unwrap();
    let seen = house.until(|seen| seen.asked.len() == 2).await;
    // As long as the relay looks several times.
    let withdrawn = tokio::time::timeout(agreeing, house.until(|seen| seen.withdrawn == 1)).await;
    assert!(withdrawn.is_err() && seen.withdrawn == 0);
    agreed.add_permits(1);
    assert!(rest(&mut stream).await.starts_with('+'));
    assert_eq!(*got.lock().await, 2000);
}

#[tokio::test]
async fn the_limit_on_uploads_is_asked_about_once_when_it_is_lifted() {
    let (house, server, got) = measured(|| Answer::Open).await;
    let mut stream = house.tunnel(server).await;
    for _ in 0..5 {
        send(&mut stream, 900).await;
    }
    let uploads = house.seen().asked.iter().filter(|wish| wish.because != Because::First).count();
    assert_eq!((uploads, *got.lock().await), (1, 4500));
}

#[tokio::test]
async fn t22_a_body_is_held_by_the_limit_on_uploads_too() {
    let (house, server, got) = measured(|| Answer::No).await;
    let mut stream = house.call().await;
    let head = format!("POST http://{server}/ HTTP/1.1\r\nHost: {server}\r\nContent-Length: 5000\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&[b'a'; 5000]).await.unwrap();
    let answer = rest(&mut stream).await;
    assert!(
        answer.starts_with("HTTP/1.1 403 ") && answer.contains(&format!("refused {server}: no")),
        "{answer}"
    );
    assert!(*got.lock().await < 1000);
}
