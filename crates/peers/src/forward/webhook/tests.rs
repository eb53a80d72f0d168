//! Real servers of HTTP and HTTPS, good ones and bad ones.

use super::*;
use pretty_assertions::assert_eq;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A server that reads requests and gives each the next of some answers; without one it says nothing.
pub(in crate::forward) struct Server {
    pub(in crate::forward) port: u16,
    pub(in crate::forward) requests: mpsc::UnboundedReceiver<String>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(in crate::forward) async fn answering(answers: Vec<String>) -> Self {
        Self::start(answers, None).await
    }

    /// Over TLS with a certificate of its own, and its fingerprint.
    async fn secured(answers: Vec<String>, names: &[&str]) -> (Self, Pin) {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        let pin = Pin::of(cert.der());
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(signing_key.serialize_der()).into();
        let config =
            rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(vec![cert.der().clone()], key)
                .unwrap();
        (Self::start(answers, Some(Arc::new(config))).await, pin)
    }

    async fn start(answers: Vec<String>, tls: Option<Arc<rustls::ServerConfig>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, requests) = mpsc::unbounded_channel();
        let task = tokio::spawn(async move {
            let mut answers = answers.into_iter();
            let mut open = Vec::new();
            loop {
                let (tcp, _) = listener.accept().await.unwrap();
                let answer = answers.next();
                let mut stream: Box<dyn Stream> = match &tls {
                    None => Box::new(tcp),
                    Some(config) => {
                        match tokio_rustls::TlsAcceptor::from(Arc::clone(config)).accept(tcp).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => continue,
                        }
                    }
                };
                let _ = sender.send(read(&mut stream).await);
                match answer {
                    Some(answer) => {
                        let _ = stream.write_all(answer.as_bytes()).await;
                        let _ = stream.flush().await;
                        open.push(stream);
                    }
                    None => open.push(stream),
                }
            }
        });
        Self { port, requests, task }
    }

    pub(in crate::forward) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook?a=1", self.port)
    }
}

/// One whole request.
async fn read(stream: &mut Box<dyn Stream>) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4_096];
    loop {
        let count = stream.read(&mut buffer).await.unwrap_or(0);
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            if count == 0 {
                return text;
            }
            continue;
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
        if count == 0 || body.len() >= length.parse().unwrap() {
            return text;
        }
    }
}

pub(in crate::forward) fn status(line: &str) -> String {
    format!("HTTP/1.1 {line}\r\ncontent-length: 0\r\n\r\n")
}

fn webhook(url: &str, pin: Option<Pin>, auth: WebhookAuth) -> Webhook {
    let secret = (auth != WebhookAuth::None).then(|| Zeroizing::new("the secret".to_owned()));
    Webhook { address: Address::parse(url).unwrap(), pin, auth, secret }
}

fn message() -> Message {
    Message { delivery: "d-1".to_owned(), body: Arc::from(&b"{\"a\":1}"[..]) }
}

#[tokio::test]
async fn a_message_is_posted_with_what_it_is_known_by() {
    let check = async |auth: WebhookAuth, header: Option<&str>| {
        let mut server = Server::answering(vec![status("204 No Content")]).await;
        webhook(&server.url(), None, auth).post(&message(), 1_700).await.unwrap();
        let request = server.requests.recv().await.unwrap();
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "{\"a\":1}");
        assert!(head.starts_with("POST /hook?a=1 HTTP/1.1\r\n"), "{head}");
        for line in
            ["content-type: application/json", "x-countersign-delivery: d-1", "x-countersign-timestamp: 1700"]
        {
            assert!(head.contains(line), "{head}");
        }
        let known = head.lines().find(|line| line.starts_with("authorization") || line.contains("signature"));
        assert_eq!(known, header);
    };
    check(WebhookAuth::None, None).await;
    check(WebhookAuth::Bearer, Some("authorization: Bearer the secret")).await;
    // printf '1700.{"a":1}' | openssl dgst -sha256 -hmac 'the secret'
    let digits = "107c6445977b4c1fae9200409429fbf260b471a3762d3fbf01c686b4802cee37";
    check(WebhookAuth::Hmac, Some(&format!("x-countersign-signature: sha256={digits}"))).await;
}

#[tokio::test]
async fn only_success_is_success_and_what_may_pass_is_tried_again() {
    let check = async |answer: String, expected: Result<(), (&str, Again)>| {
        let server = Server::answering(vec![answer.clone()]).await;
        let posted = webhook(&server.url(), None, WebhookAuth::None).post(&message(), 0).await;
        let got = posted.as_ref().map_err(|error| (error.text.as_str(), error.again));
        match (got, expected) {
            (Err((text, again)), Err((part, expected))) => {
                assert!(text.contains(part) && again == expected, "{answer:?}: {text} {again:?}");
            }
            (got, expected) => assert_eq!(got.is_ok(), expected.is_ok(), "{answer:?}: {posted:?}"),
        }
    };
    check(status("200 OK"), Ok(())).await;
    check(status("202 Accepted"), Ok(())).await;
    check(status("400 Bad Request"), Err(("got 400 Bad Request", Again::No))).await;
    check(status("401 Unauthorized"), Err(("got 401", Again::No))).await;
    check(status("408 Request Timeout"), Err(("got 408", Again::Yes))).await;
    check(status("429 Too Many Requests"), Err(("got 429", Again::Yes))).await;
    check(status("503 Service Unavailable"), Err(("got 503", Again::Yes))).await;
    check("SSH-2.0-OpenSSH\r\n".to_owned(), Err(("", Again::Yes))).await;
    check(format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(100_000)), Err(("", Again::Yes))).await;
    // A body without an end is not read.
    let endless =
        format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1000\r\n{}\r\n", "x".repeat(4_096));
    check(endless, Ok(())).await;
}

#[tokio::test]
async fn t03_a_redirect_takes_no_secret_along() {
    let mut other = Server::answering(vec![status("200 OK")]).await;
    let answer =
        format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", other.url());
    let server = Server::answering(vec![answer]).await;
    let posted = webhook(&server.url(), None, WebhookAuth::Bearer).post(&message(), 0).await;
    let undelivered = posted.unwrap_err();
    assert!(undelivered.text.contains("redirects are not followed"), "{}", undelivered.text);
    assert!(!undelivered.text.contains("the secret"));
    assert_eq!(undelivered.again, Again::No);
    assert!(other.requests.try_recv().is_err());
}

#[tokio::test]
async fn t03_only_the_pinned_certificate_or_a_trusted_one_hears_anything() {
    let (mut server, pin) = Server::secured(vec![status("200 OK"); 4], &["127.0.0.1"]).await;
    let url = format!("https://127.0.0.1:{}/", server.port);
    let post = async |pin| webhook(&url, pin, WebhookAuth::Bearer).post(&message(), 0).await;
    assert!(post(Some(pin)).await.is_ok());
    assert!(server.requests.recv().await.unwrap().contains("Bearer the secret"));
    for (pin, text) in [(None, "is not trusted"), (Some(Pin::of(b"another")), "is not the pinned one")] {
        let undelivered = post(pin).await.unwrap_err();
        assert!(undelivered.text.contains(text), "{}", undelivered.text);
        assert_eq!(undelivered.again, Again::No);
        assert!(server.requests.try_recv().is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_says_nothing_is_not_waited_for() {
    let server = Server::answering(Vec::new()).await;
    let posted = webhook(&server.url(), None, WebhookAuth::None).post(&message(), 0).await;
    let undelivered = posted.unwrap_err();
    assert_eq!((undelivered.text.as_str(), undelivered.again), ("no answer within 10 s", Again::Yes));
}

#[tokio::test]
async fn a_closed_port_may_open_again() {
    let port = Server::answering(Vec::new()).await.port;
    let url = format!("http://[::1]:{port}/");
    let undelivered = webhook(&url, None, WebhookAuth::None).post(&message(), 0).await.unwrap_err();
    assert_eq!(undelivered.again, Again::Yes);
}

#[test]
fn t03_nothing_leaves_the_machine_unprotected() {
    let check = |text: &str, expected: Result<(&str, u16, bool), AddressError>| {
        let address = Address::parse(text);
        let got = address.as_ref().map(|address| (address.host.as_str(), address.port, address.tls));
        assert_eq!(got.map_err(Clone::clone), expected, "{text}");
    };
    check("https://Hooks.example/x?y", Ok(("hooks.example", 443, true)));
    check(" https://192.0.2.1:8443 ", Ok(("192.0.2.1", 8_443, true)));
    check("http://127.0.0.1:8080/", Ok(("127.0.0.1", 8_080, false)));
    check("http://127.9.9.9/", Ok(("127.9.9.9", 80, false)));
    check("http://[::1]/", Ok(("::1", 80, false)));
    for host in ["hooks.example", "localhost", "192.0.2.1", "0.0.0.0", "127.0.0.1.example"] {
        check(&format!("http://{host}/"), Err(AddressError::Unprotected(host.to_owned())));
    }
    check("http://[::ffff:192.0.2.1]/", Err(AddressError::Unprotected("::ffff:192.0.2.1".to_owned())));
    check("https://user:secret@host/", Err(AddressError::Credentials));
    for text in
        ["", "host", "ftp://host/", "https://", "https://host:0/", "https://host:x/", "https:// x/", "/path"]
    {
        check(text, Err(AddressError::Form));
    }
}
