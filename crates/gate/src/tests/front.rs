//! What is understood, what is refused, and in which words.

use super::fake::{Answer, House, Seen, echo, names, rest, telling, within};
use crate::wish::{Because, Protocol};
use crate::{Limits, Place};
use pretty_assertions::assert_eq;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Says `request` to a gate where everything is open, and compares the status, words of the answer, and
/// how often it asked.
async fn check(request: &str, status: u16, words: &str, questions: usize) {
    let house = House::open(|_| Answer::Open);
    let answer = house.say(request).await;
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{request:?}: {answer}");
    assert!(answer.contains(words), "{request:?}: {answer}");
    assert_eq!(house.seen().asked.len(), questions, "{request:?}");
}

#[tokio::test]
async fn t22_what_is_no_request_to_a_proxy_is_not_asked_about() {
    for (request, status, words) in [
        ("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", 400, "this is a proxy"),
        ("GET https://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400, "CONNECT"),
        ("GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400, "only http://"),
        ("GET http://a.example/ HTTP/1.1\r\n\r\n", 400, "no Host"),
        (
            "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n\r\n",
            400,
            "several Hosts",
        ),
        ("GET http://me@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", 400, "a user in front"),
        ("GET http://a.example:0/ HTTP/1.1\r\nHost: a.example:0\r\n\r\n", 400, "a port"),
        ("CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n\r\n", 400, "a port"),
        ("CONNECT a.example:0 HTTP/1.1\r\nHost: a.example:0\r\n\r\n", 400, "a port"),
        ("CONNECT me@a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", 400, "a user in front"),
        ("CONNECT :443 HTTP/1.1\r\nHost: :443\r\n\r\n", 400, ""),
        ("GET http:// HTTP/1.1\r\nHost: \r\n\r\n", 400, ""),
        (
            "GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            400,
            "",
        ),
        ("BOMB\0", 400, ""),
    ] {
        check(request, status, words, 0).await;
    }
}

#[tokio::test]
async fn t22_a_host_that_is_not_the_target_is_refused_and_told() {
    for request in [
        "GET http://a.example/ HTTP/1.1\r\nHost: b.example\r\n\r\n",
        "GET http://a.example/ HTTP/1.1\r\nHost: a.example:8080\r\n\r\n",
        "GET http://a.example:8080/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "GET http://127.0.0.1/ HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "CONNECT a.example:443 HTTP/1.1\r\nHost: b.example:443\r\n\r\n",
    ] {
        let house = House::open(|_| Answer::Open);
        let answer = house.say(request).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        assert!(answer.contains("is named in what was sent"), "{answer}");
        assert_eq!((house.seen().asked.len(), house.seen().refused.len()), (0, 1), "{request}");
    }
}

#[tokio::test]
async fn a_refusal_is_told_at_once_in_plain_words() {
    let house = House::open(|_| Answer::No);
    for request in [
        "CONNECT A.example.:443 HTTP/1.1\r\n\r\n",
        "GET http://a.example:443/ HTTP/1.1\r\nHost: a.example:443\r\n\r\n",
    ] {
        let answer = house.say(request).await;
        let words = "countersign: the box refused a.example:443: no\\u{1b}[2J";
        assert!(answer.starts_with(&format!("HTTP/1.1 403 {words}\r\n")), "{answer}");
        assert!(answer.ends_with(&format!("\r\n\r\n{words}\n")), "{answer}");
    }
    let seen = house.seen();
    assert_eq!(seen.asked[0].protocol, Protocol::Connect);
    assert_eq!(seen.asked[1].protocol, Protocol::Forward);
    assert_eq!(seen.refused.len(), 2);
}

#[tokio::test]
async fn what_the_network_refuses_is_told_apart() {
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    check(&format!("CONNECT {closed} HTTP/1.1\r\n\r\n"), 502, "the connection failed", 1).await;
    check("CONNECT 224.0.0.1:80 HTTP/1.1\r\n\r\n", 403, "for no connections", 0).await;
    let house = House::with(|_| Answer::Open, Limits::default(), names(&[]));
    let answer = house.say("CONNECT a.example:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("could not be resolved"), "{answer}");
}

#[tokio::test]
async fn a_plain_request_is_passed_on_without_what_is_for_the_proxy() {
    let server = telling("server").await;
    let house = House::open(|_| Answer::Open);
    let answer = house
        .say(format!(
            "GET http://{server}/a?b HTTP/1.1\r\nHost: {server}\r\nX-Kept: 1\r\nX-Named: 1\r\n\
             Connection: X-Named, close, Host\r\nProxy-Authorization: Basic x\r\nProxy-Connection: keep-alive\r\n\
             TE: trailers\r\nUpgrade: h2c\r\n\r\n"
        ))
        .await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200 OK") && !head.contains("X-One") && !head.contains("Keep-Alive"),
        "{head}"
    );
    assert_eq!(
        body.to_ascii_lowercase(),
        format!("server|get /a?b http/1.1\r\nhost: {server}\r\nx-kept: 1\r\nconnection: close\r\n\r\n")
    );
    let seen = house.until(|seen| seen.bytes.contains_key(&server.to_string())).await;
    let bytes = seen.bytes[&server.to_string()];
    assert!(bytes.up > 20 && bytes.down > body.len() as u64, "{bytes:?}");
}

#[tokio::test]
async fn t22_every_request_of_a_connection_is_judged_on_its_own() {
    let (good, evil) = (telling("good").await, telling("evil").await);
    let house =
        House::open(move |wish| if wish.destination.port == good.port() { Answer::Open } else { Answer::No });
    let request = |server| format!("GET http://{server}/ HTTP/1.1\r\nHost: {server}\r\n\r\n");
    // Pipelined: the second comes before the first is answered.
    let answer = house.say(request(good) + &request(good) + &request(evil) + &request(good)).await;
    assert_eq!(answer.matches("good|").count(), 2, "{answer}");
    assert!(answer.contains(&format!("the box refused {evil}")) && !answer.contains("evil|"), "{answer}");
    let asked: Vec<_> = [good, good, evil].map(|server| (server.to_string(), Because::First)).into();
    assert_eq!(house.seen().questions(), asked);
}

#[tokio::test]
async fn t22_a_body_has_one_length_however_many_were_said() {
    let server = telling("server").await;
    let house = House::open(|_| Answer::Open);
    let answer = house
        .say(format!(
            "POST http://{server}/ HTTP/1.1\r\nHost: {server}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n\
             0\r\n\r\nGET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        ))
        .await
        .to_ascii_lowercase();
    let (first, _) = answer.split_once("\r\n\r\nhttp/1.1").unwrap_or((&answer, ""));
    assert!(first.contains("transfer-encoding: chunked") && !first.contains("content-length: 5"), "{answer}");
    // What was behind the body is a request of its own, or nothing.
    for (destination, _) in house.seen().questions() {
        assert!([server.to_string(), "evil.example:80".to_owned()].contains(&destination), "{destination}");
    }
}

#[tokio::test]
async fn t22_a_request_without_end_is_refused() {
    let many: String = (0..300).map(|n| format!("X-{n}: 1\r\n")).collect();
    let long = format!("X: {}\r\n", "a".repeat(200_000));
    for headers in [many, long] {
        let house = House::open(|_| Answer::Open);
        let mut stream = house.call().await;
        let request = format!("GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n{headers}\r\n");
        // The gate may have closed before all was sent.
        let _ = stream.write_all(request.as_bytes()).await;
        let answer = rest(&mut stream).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431 "), "{answer}");
        assert_eq!(house.seen().asked.len(), 0);
    }
}

#[tokio::test]
async fn t22_a_client_that_never_says_what_it_wants_is_closed() {
    let limits = Limits { handshake: Duration::from_millis(50), ..Limits::default() };
    let house = House::with(|_| Answer::Open, limits, names(&[]));
    for said in
        [&b""[..], b"\0", b"\0\0\x10{", b"\x05", b"\x05\x01\0\x05", b"GET http://a.example/ HTTP/1.1\r\nHost"]
    {
        let mut stream = house.call().await;
        stream.write_all(said).await.unwrap();
        let answer = rest(&mut stream).await;
        assert!(!answer.contains("200"), "{said:?} {answer}");
    }
    assert_eq!(house.seen().asked.len(), 0);
}

/// Asks by SOCKS and returns the code of the reply.
async fn socks(house: &House, command: u8, target: &[u8]) -> u8 {
    let mut stream = house.call().await;
    stream.write_all(&[5, 1, 0]).await.unwrap();
    let mut method = [0; 2];
    within(stream.read_exact(&mut method)).await.unwrap();
    assert_eq!(method, [5, 0]);
    stream.write_all(&[&[5, command, 0], target].concat()).await.unwrap();
    let mut reply = [0; 10];
    within(stream.read_exact(&mut reply)).await.unwrap();
    reply[1]
}

fn named(name: &str, port: u16) -> Vec<u8> {
    [&[3, name.len() as u8], name.as_bytes(), &port.to_be_bytes()[..]].concat()
}

#[tokio::test]
async fn socks_is_answered_in_the_words_of_its_standard() {
    let server = echo().await;
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let at = |port: u16| [&[1, 127, 0, 0, 1], &port.to_be_bytes()[..]].concat();
    let open = House::with(|_| Answer::Open, Limits::default(), names(&[]));
    for (command, target, expected) in [
        (1, at(server.port()), 0),
        (1, named("127.1", server.port()), 0),
        (1, at(closed.port()), 5),
        (1, named("a.example", 80), 4),
        (1, named("", 80), 8),
        (1, named("a b", 80), 8),
        (1, at(0), 8),
        (1, vec![9, 1, 2, 3, 4, 5, 6], 8),
        // BIND, UDP ASSOCIATE, and nothing.
        (2, at(80), 7),
        (3, at(80), 7),
        (9, at(80), 7),
        (1, [&[4], &std::net::Ipv6Addr::UNSPECIFIED.octets()[..], &[0, 0]].concat(), 8),
        (1, vec![1, 255, 255, 255, 255, 0, 80], 2),
    ] {
        assert_eq!(socks(&open, command, &target).await, expected, "{command} {target:?}");
    }
    let shut = House::open(|_| Answer::No);
    assert_eq!(socks(&shut, 1, &named("A.example.", 443)).await, 2);
    let Seen { asked, .. } = shut.seen();
    assert_eq!(
        (asked[0].destination.to_string(), asked[0].protocol),
        ("a.example:443".into(), Protocol::Socks)
    );
    // A client that wants to log in is told that it cannot.
    let mut stream = shut.call().await;
    stream.write_all(&[5, 1, 2]).await.unwrap();
    assert_eq!(within(stream.read_u16()).await.unwrap(), 0x05ff);
}

#[tokio::test]
async fn t22_an_address_is_asked_about_as_what_it_wraps() {
    let house = House::open(|_| Answer::No);
    for (target, expected, place) in [
        ("[::ffff:127.0.0.1]:80", "127.0.0.1:80", Place::ThisMachine),
        ("[2002:7f00:1::]:80", "[2002:7f00:1::]:80", Place::ThisMachine),
        ("[64:ff9b::a9fe:a9fe]:80", "[64:ff9b::a9fe:a9fe]:80", Place::Metadata),
        ("0x7f.1:80", "127.0.0.1:80", Place::ThisMachine),
        ("2130706433:80", "127.0.0.1:80", Place::ThisMachine),
        ("1.1.1.1:80", "1.1.1.1:80", Place::Internet),
        ("localhost:80", "localhost:80", Place::ThisMachine),
    ] {
        let answer = house.say(format!("CONNECT {target} HTTP/1.1\r\n\r\n")).await;
        assert!(answer.contains(&format!("refused {expected}:")), "{answer}");
        assert_eq!(house.seen().asked.last().unwrap().place, place, "{target}");
    }
}

#[tokio::test]
async fn t22_a_flood_is_refused_quickly_and_none_of_it_is_asked_about() {
    let limits = Limits { connections: 8, ..Limits::default() };
    let house = House::with(|_| Answer::Never, limits, names(&[]));
    let mut idle = Vec::new();
    for _ in 0..8 {
        let mut stream = house.call().await;
        stream.write_all(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n").await.unwrap();
        idle.push(stream);
    }
    house.until(|seen| seen.asked.len() == 8).await;
    let mut flood = Vec::new();
    for _ in 0..1000 {
        flood.push(house.call().await);
    }
    for mut stream in flood {
        let answer = rest(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("too many are open"), "{answer}");
    }
    assert_eq!(house.seen().asked.len(), 8);
    // Places come back.
    idle.clear();
    house.until(|seen| seen.withdrawn == 8).await;
    let again = async {
        while house.say("CONNECT 224.0.0.1:80 HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 503 ") {}
    };
    within(again).await;
}
