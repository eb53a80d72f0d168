//! Who answers in these stories, and a gate with everything around it.

use crate::gate::serve;
use crate::reach::{Keeper, Names};
use crate::wish::{Because, Bytes, Crossings, Refusal, Ruling, Wish};
use crate::{Client, Destination, Limits, Settings};
use futures_util::future::{BoxFuture, FutureExt as _};
use std::collections::HashMap;
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

/// What happens, for tests that wait for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) asked: Vec<Wish>,
    /// Who asked, as far as that was to be known.
    pub(super) callers: Vec<Client>,
    /// Questions that nobody waits for any more.
    pub(super) withdrawn: usize,
    pub(super) refused: Vec<(String, String)>,
    pub(super) bytes: HashMap<String, Bytes>,
}

impl Seen {
    /// Destinations and reasons of all questions.
    pub(super) fn questions(&self) -> Vec<(String, Because)> {
        self.asked.iter().map(|wish| (wish.destination.to_string(), wish.because)).collect()
    }
}

pub(super) enum Answer {
    Open,
    No,
    /// No answer comes.
    Never,
    /// Yes, as soon as there is a permit.
    After(Arc<tokio::sync::Semaphore>),
}

type Rule = Box<dyn Fn(&Wish) -> Answer + Send + Sync>;

struct Fake {
    rule: Rule,
    seen: watch::Sender<Seen>,
}

impl Crossings for Fake {
    fn rule(&self, wish: Wish) -> BoxFuture<'_, Ruling> {
        let answer = (self.rule)(&wish);
        let caller = wish.caller.clone();
        self.seen.send_modify(|seen| seen.asked.push(wish));
        let withdraw = || self.seen.send_modify(|seen| seen.withdrawn += 1);
        async move {
            let mut withdrawn = Finally(Some(withdraw));
            if let Some(caller) = caller.named().await {
                self.seen.send_modify(|seen| seen.callers.push(caller));
            }
            let ruling = match answer {
                Answer::Open => Ruling::Open,
                Answer::No => Ruling::Refuse { why: "no\x1b[2J".to_owned() },
                Answer::After(agreed) => {
                    agreed.acquire().await.unwrap().forget();
                    Ruling::Open
                }
                Answer::Never => pending().await,
            };
            withdrawn.0 = None;
            ruling
        }
        .boxed()
    }

    fn account(&self, destination: &Destination, bytes: Bytes) {
        self.seen.send_modify(|seen| {
            let sum = seen.bytes.entry(destination.to_string()).or_default();
            sum.up += bytes.up;
            sum.down += bytes.down;
        });
    }

    fn refused(&self, wish: &Wish, why: Refusal) {
        let refused = (wish.destination.to_string(), why.to_string());
        self.seen.send_modify(|seen| seen.refused.push(refused));
    }
}

struct Finally<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for Finally<F> {
    fn drop(&mut self) {
        if let Some(last) = self.0.take() {
            last();
        }
    }
}

/// A gate that is served.
pub(super) struct House {
    pub(super) socket: PathBuf,
    port: SocketAddr,
    pub(super) ends: CancellationToken,
    pub(super) served: Option<JoinHandle<io::Result<()>>>,
    seen: watch::Receiver<Seen>,
    _ends: DropGuard,
    _folder: TempDir,
}

/// Longest wait for what has to happen. It says that a test fails, and never how fast the machine is: where
/// all is well, nothing takes nearly as long, however slow and busy that is.
const WAITING: Duration = Duration::from_secs(120);

impl House {
    pub(super) fn open(rule: impl Fn(&Wish) -> Answer + Send + Sync + 'static) -> Self {
        Self::with(rule, Limits::default(), Names::System)
    }

    pub(super) fn with(
        rule: impl Fn(&Wish) -> Answer + Send + Sync + 'static,
        limits: Limits,
        names: Names,
    ) -> Self {
        Self::settled(rule, Settings { limits, ..Settings::default() }, names)
    }

    pub(super) fn settled(
        rule: impl Fn(&Wish) -> Answer + Send + Sync + 'static,
        settings: Settings,
        names: Names,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("gate.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        // What comes first hands over where the box listens.
        let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = port.local_addr().unwrap();
        let relay = crate::relay(port, &socket).unwrap();
        tokio::spawn(relay.answer());
        let (seen, watching) = watch::channel(Seen::default());
        let fake = Arc::new(Fake { rule: Box::new(rule), seen });
        let keeper = Arc::new(Keeper::new(fake, settings, names));
        let ends = CancellationToken::new();
        let served = Some(tokio::spawn(serve(listener, keeper, ends.clone())));
        let _ends = ends.clone().drop_guard();
        Self { socket, port: address, ends, served, seen: watching, _ends, _folder: folder }
    }

    /// Where the box of this gate listens.
    pub(super) fn relay(&self) -> SocketAddr {
        self.port
    }

    pub(super) fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Waits until `state` is seen.
    pub(super) async fn until(&self, state: impl FnMut(&Seen) -> bool) -> Seen {
        let mut seen = self.seen.clone();
        within(seen.wait_for(state)).await.unwrap().clone()
    }

    pub(super) async fn call(&self) -> UnixStream {
        UnixStream::connect(&self.socket).await.unwrap()
    }

    /// Sends `request` and returns everything that comes.
    pub(super) async fn say(&self, request: impl AsRef<[u8]>) -> String {
        let mut stream = self.call().await;
        stream.write_all(request.as_ref()).await.unwrap();
        rest(&mut stream).await
    }

    /// A tunnel by `CONNECT`.
    pub(super) async fn tunnel(&self, to: impl std::fmt::Display) -> UnixStream {
        let mut stream = self.call().await;
        stream.write_all(format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n").as_bytes()).await.unwrap();
        let head = head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        stream
    }
}

pub(super) async fn within<T>(happens: impl Future<Output = T>) -> T {
    tokio::time::timeout(WAITING, happens).await.expect("it has to happen soon")
}

/// Everything until the end. A connection that is reset has said what it said.
pub(super) async fn rest(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = within(stream.read(&mut chunk)).await {
        bytes.extend_from_slice(&chunk[..count]);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A head of HTTP, byte by byte so that nothing behind it is taken.
pub(super) async fn head(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match within(stream.read_u8()).await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// A server that has every connection served by `serve`.
pub(super) async fn server<F: Future<Output = ()> + Send>(
    at: &str,
    serve: impl Fn(TcpStream) -> F + Send + Sync + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind(at).await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let serve = serve.clone();
            tokio::spawn(async move { serve(stream).await });
        }
    });
    address
}

/// A server that sends back what comes, and ends after the client did.
pub(super) async fn echo() -> SocketAddr {
    server("127.0.0.1:0", async |mut stream| {
        let (mut from, mut to) = stream.split();
        let _ = tokio::io::copy(&mut from, &mut to).await;
    })
    .await
}

/// A server that answers every request with its head, `name` in front, and closes.
pub(super) async fn telling(name: &'static str) -> SocketAddr {
    server("127.0.0.1:0", move |mut stream| async move {
        let head = head(&mut stream).await;
        let body = format!("{name}|{head}");
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nKeep-Alive: 5\r\nConnection: X-One, close\r\nX-One: 1\r\n\r\n{body}",
            body.len()
        );
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
        let _ = rest(&mut stream).await;
    })
    .await
}

/// Names that are resolved so, one question after the other.
pub(super) fn names(answers: &[&[&str]]) -> Names {
    let read = |answer: &&[&str]| answer.iter().map(|text| text.parse::<IpAddr>().unwrap()).collect();
    Names::Fixed(Mutex::new(answers.iter().rev().map(read).collect()))
}
