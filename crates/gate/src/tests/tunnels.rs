//! What goes through a tunnel, and where it may lead.

use super::fake::{Answer, House, Seen, echo, head, names, rest, server, within};
use crate::reach::Names;
use crate::wish::Because;
use crate::{Limits, NotConnected, Place, Settings, Upstream, connect};
use pretty_assertions::assert_eq;
use rustls::pki_types::{PrivateKeyDer, ServerName};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_rustls::{TlsAcceptor, TlsConnector};

#[tokio::test]
async fn both_ends_are_heard_to_their_end_and_counted() {
    let server = echo().await;
    let house = House::open(|_| Answer::Open);
    let relay = house.relay();
    let mut stream = tokio::net::TcpStream::connect(relay).await.unwrap();
    stream.write_all(format!("CONNECT {server} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
    let sent = vec![b'\x01'; 700_000];
    let (mut from, mut to) = stream.split();
    let sending = async {
        to.write_all(&sent).await.unwrap();
        to.shutdown().await.unwrap();
    };
    // What comes back ends only after all was sent: one half is closed, and the other is not.
    let (back, ()) = tokio::join!(rest(&mut from), sending);
    assert_eq!(back.len(), sent.len());
    let complete = |seen: &Seen| {
        seen.bytes.get(&server.to_string()).is_some_and(|bytes| (bytes.up, bytes.down) == (700_000, 700_000))
    };
    house.until(complete).await;
}

/// Bytes that are more than every buffer on the way holds.
const MUCH: usize = 64 * 1024 * 1024;

#[tokio::test(flavor = "multi_thread")]
async fn much_is_carried_both_ways_without_a_byte_more_or_less() {
    let server = echo().await;
    let house = House::with(|_| Answer::Open, Limits::default(), names(&[]));
    let mut stream = tokio::net::TcpStream::connect(house.relay()).await.unwrap();
    stream.write_all(format!("CONNECT {server} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
    // A length that fills no page, and a pattern that no page repeats.
    let sent: Vec<u8> = (0..MUCH + 77).map(|at| (at % 251) as u8 | 0x80).collect();
    let (mut from, mut to) = stream.split();
    let sending = async {
        to.write_all(&sent).await.unwrap();
        to.shutdown().await.unwrap();
    };
    let reading = async {
        let mut back = Vec::new();
        from.read_to_end(&mut back).await.unwrap();
        back
    };
    let (back, ()) = within(async { tokio::join!(reading, sending) }).await;
    assert!(back == sent, "{} of {} bytes came back", back.len(), sent.len());
    let both = sent.len() as u64;
    let complete = |seen: &Seen| {
        seen.bytes.get(&server.to_string()).is_some_and(|bytes| (bytes.up, bytes.down) == (both, both))
    };
    house.until(complete).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_holds_the_server_up_and_its_end_ends_the_connection() {
    let sent = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (counted, (stopped, mut has_stopped)) = (sent.clone(), tokio::sync::mpsc::channel(1));
    let server = server("127.0.0.1:0", move |mut stream| {
        let (counted, stopped) = (counted.clone(), stopped.clone());
        async move {
            let chunk = vec![1; 1 << 18];
            let mut told = false;
            // Far more than is ever taken, so that it ends only by an error.
            for _ in 0..(8 * MUCH) / chunk.len() {
                let sending = stream.write_all(&chunk);
                match tokio::time::timeout(Duration::from_millis(500), sending).await {
                    Ok(Ok(())) => counted.fetch_add(chunk.len(), std::sync::atomic::Ordering::Relaxed),
                    Ok(Err(_)) => break,
                    Err(_) if told => continue,
                    Err(_) => {
                        told = true;
                        stopped.send(()).await.unwrap();
                        continue;
                    }
                };
            }
            stopped.send(()).await.unwrap();
        }
    })
    .await;
    let house = House::open(|_| Answer::Open);
    let mut stream = tokio::net::TcpStream::connect(house.relay()).await.unwrap();
    stream.write_all(format!("CONNECT {server} HTTP/1.1\r\n\r\n").as_bytes()).await.unwrap();
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 200"));
    within(has_stopped.recv()).await.unwrap();
    let on_the_way = sent.load(std::sync::atomic::Ordering::Relaxed);
    assert!(on_the_way < 2 * MUCH, "{on_the_way} bytes are somewhere");
    drop(stream);
    within(has_stopped.recv()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_speaks_first_is_heard_at_once() {
    let server = server("127.0.0.1:0", async |mut stream| {
        stream.write_all(b"220 hello\r\n").await.unwrap();
        let said = rest(&mut stream).await;
        assert_eq!(said, "QUIT\r\n");
    })
    .await;
    let house = House::open(|_| Answer::Open);
    let mut stream = house.tunnel(server).await;
    let mut banner = [0; 11];
    within(stream.read_exact(&mut banner)).await.unwrap();
    stream.write_all(b"QUIT\r\n").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut stream).await, "");
}

/// A server of TLS that answers with the name it was asked for.
async fn secure() -> (SocketAddr, TlsConnector) {
    let made = rcgen::generate_simple_self_signed(["a.example".to_owned(), "b.example".to_owned()]).unwrap();
    let certificate = made.cert.der().clone();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let address = server("127.0.0.1:0", move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            let name = stream.get_ref().1.server_name().unwrap_or("-").to_owned();
            stream.write_all(name.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    })
    .await;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (address, TlsConnector::from(Arc::new(client)))
}

#[tokio::test]
async fn t22_tls_reaches_the_name_that_was_asked_for_and_no_other() {
    let (server, connector) = secure().await;
    let port = server.port();
    for (asked, said, opens) in [
        (format!("a.example:{port}"), "a.example", true),
        (format!("a.example:{port}"), "b.example", false),
        (server.to_string(), "a.example", false),
    ] {
        let house = House::with(|_| Answer::Open, Limits::default(), names(&[&["127.0.0.1"]]));
        let stream = house.tunnel(&asked).await;
        let name = ServerName::try_from(said).unwrap();
        let secured = within(connector.connect(name, stream)).await;
        if opens {
            assert_eq!(rest(&mut secured.unwrap()).await, said);
            assert_eq!(house.seen().refused, []);
        } else {
            secured.unwrap_err();
            let why = format!("it was asked for, and {said:?} is named in what was sent");
            let seen = house.until(|seen| !seen.refused.is_empty()).await;
            assert_eq!(seen.refused, [(asked.clone(), why)]);
            // Not one byte of it was sent.
            let seen = house.until(|seen| !seen.asked.is_empty()).await;
            assert_eq!(seen.bytes.get(&asked), None);
        }
    }
}

#[tokio::test]
async fn t22_a_plain_request_in_a_tunnel_is_told_that_it_names_another() {
    let server = echo().await;
    let house = House::open(|_| Answer::Open);
    let mut stream = house.tunnel(server).await;
    // In pieces, as one that wants to be overlooked would send it.
    for piece in ["GET / HT", "TP/1.1\r\nHost: evil.exa", "mple\r\n\r\n"] {
        stream.write_all(piece.as_bytes()).await.unwrap();
    }
    let answer = rest(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("\"evil.example\" is named"), "{answer}");
}

#[tokio::test]
async fn t22_first_bytes_that_never_become_readable_are_not_sent() {
    let server = echo().await;
    let limits = Limits { first: Duration::from_millis(50), ..Limits::default() };
    for said in [&b"GET / HTTP/1.1\r\nHost: evil"[..], b"\x16\x03\x01\x02\x00\x01"] {
        let house = House::with(|_| Answer::Open, limits.clone(), names(&[]));
        let mut stream = house.tunnel(server).await;
        stream.write_all(said).await.unwrap();
        assert!(!rest(&mut stream).await.contains("evil"));
        let seen = house.until(|seen| !seen.refused.is_empty()).await;
        assert_eq!(seen.bytes.len(), 0);
    }
}

#[tokio::test]
async fn t22_a_name_that_is_refused_is_never_looked_up() {
    let house = House::with(|_| Answer::No, Limits::default(), names(&[&["127.0.0.1"]]));
    let answer = house.say("CONNECT secret.evil.example:80 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    let seen = house.seen();
    assert_eq!(seen.questions(), [("secret.evil.example:80".to_owned(), Because::First)]);
    assert_eq!((seen.asked[0].addresses.len(), seen.asked[0].place), (0, Place::Internet));
}

#[tokio::test]
async fn t22_a_name_that_leads_to_this_machine_is_asked_about_as_this_machine() {
    let server = echo().await;
    for address in ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1"] {
        let rule = |wish: &crate::Wish| if wish.place == Place::Internet { Answer::Open } else { Answer::No };
        let house = House::with(rule, Limits::default(), names(&[&["1.1.1.1", address]]));
        let asked = format!("a.example:{}", server.port());
        let answer = house.say(format!("CONNECT {asked} HTTP/1.1\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
        let seen = house.seen();
        assert_eq!(seen.questions(), [(asked.clone(), Because::First), (asked, Because::Resolved)]);
        assert_eq!((seen.asked[1].addresses.len(), seen.asked[1].place), (2, Place::ThisMachine));
    }
}

#[tokio::test]
async fn t22_a_connection_is_made_to_the_addresses_that_were_judged() {
    let judged = server("127.0.0.2:0", async |mut stream| {
        let _ = stream.write_all(b"judged").await;
    })
    .await;
    let _other = server(&format!("127.0.0.1:{}", judged.port()), async |mut stream| {
        let _ = stream.write_all(b"another").await;
    })
    .await;
    // The second look-up would lead elsewhere: there is none for the connection that was judged.
    let house = House::with(|_| Answer::Open, Limits::default(), names(&[&["127.0.0.2"], &["127.0.0.1"]]));
    let asked = format!("a.example:{}", judged.port());
    assert_eq!(rest(&mut house.tunnel(&asked).await).await, "judged");
    // Another connection is judged anew.
    assert_eq!(rest(&mut house.tunnel(&asked).await).await, "another");
    assert_eq!(house.seen().asked[3].addresses, ["127.0.0.1".parse::<std::net::IpAddr>().unwrap()]);
}

#[tokio::test]
async fn ssh_is_connected_or_told_why_not() {
    let server = echo().await;
    let house = House::open(
        move |wish| if wish.destination.port == server.port() { Answer::Open } else { Answer::No },
    );
    let relay = house.relay();
    let mut heard = Vec::new();
    let destination = server.to_string();
    let destination = crate::Destination::parse(&destination, None).unwrap();
    within(connect(relay, &destination, &b"SSH-2.0-me\r\n"[..], &mut heard)).await.unwrap();
    assert_eq!(heard, b"SSH-2.0-me\r\n");
    let refused = crate::Destination::parse("git.example:22", None).unwrap();
    let error = within(connect(relay, &refused, &b""[..], &mut heard)).await.unwrap_err();
    assert!(matches!(error, NotConnected::Refused { status: 403, .. }), "{error:?}");
    assert_eq!(error.to_string(), "countersign: the box refused git.example:22: no\\u{1b}[2J");
}

#[tokio::test]
async fn what_is_on_the_internet_is_reached_through_the_proxy_outside() {
    let server = echo().await;
    // Another gate is the proxy; the first one can resolve nothing.
    let proxy = House::with(|_| Answer::Open, Limits::default(), names(&[&["127.0.0.1"]]));
    let outside = proxy.relay();
    let upstream = Upstream::parse(&format!("http://me:word@{outside}")).unwrap();
    let settings = Settings { upstream: Some(Ok(upstream)), ..Settings::default() };
    let house = House::settled(|_| Answer::Open, settings, names(&[]));
    let mut stream = house.tunnel(format!("a.example:{}", server.port())).await;
    stream.write_all(b"\x01hello").await.unwrap();
    stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut stream).await, "\x01hello");
    assert_eq!(proxy.seen().questions()[0].0, format!("a.example:{}", server.port()));
    // This machine is reached without it.
    let mut stream = house.tunnel(server).await;
    stream.shutdown().await.unwrap();
    assert_eq!(rest(&mut stream).await, "");
    assert_eq!(proxy.seen().asked.len(), 2);
}

#[tokio::test]
async fn the_proxy_outside_can_refuse() {
    let proxy = House::open(|_| Answer::No);
    let upstream = Upstream::parse(&proxy.relay().to_string()).unwrap();
    let settings = Settings { upstream: Some(Ok(upstream)), ..Settings::default() };
    let house = House::settled(|_| Answer::Open, settings, Names::Fixed(std::sync::Mutex::default()));
    let answer = house.say("CONNECT a.example:443 HTTP/1.1\r\n\r\n").await;
    assert!(
        answer.starts_with("HTTP/1.1 502 ") && answer.contains("the proxy outside refused it"),
        "{answer}"
    );
}
