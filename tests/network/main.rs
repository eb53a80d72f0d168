//! Two machines and a wire between them that can be cut, by network namespaces: the companion here, a gateway
//! behind TLS there. Needs root.

#![expect(clippy::print_stdout, reason = "what was kept is told as it is seen")]

use anyhow::{Context, Result, bail, ensure};
use countersign_companion::Companion;
use countersign_core::paths::Paths;
use countersign_gateway::client::{
    self, Address, Answers, Credentials, DeviceToken, Live, Notice, Pin, Withheld,
};
use countersign_gateway::identity::Identity;
use countersign_peers::gateway::{self, Options};
use countersign_protocol::gateway::connect::Auth;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::ids::RequestId;
use countersign_protocol::question::{CancelCause, Outcome};
use countersign_protocol::ui::{
    Card, DecideParams, GatewayEdit, LinkProblem, LinkState, SecretEdit, SecretKind,
};
use countersign_protocol::vocabulary::Decision;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc as channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const TOKEN: &str = "a token of this test";

/// How long the wire is cut.
const CUT: Duration = Duration::from_secs(30);

/// Longest wait for anything.
const LIMIT: Duration = Duration::from_secs(90);

/// The other machine: a name space of its own, joined to this one by a pair of interfaces.
struct Wire {
    name: String,
    here: String,
    there: String,
}

impl Wire {
    fn lay() -> Result<Self> {
        let id = std::process::id() % 10_000;
        let net = id % 250;
        let wire = Self {
            name: format!("countersign-{id}"),
            here: format!("cs{id}a"),
            there: format!("10.213.{net}.2"),
        };
        let Self { name, here, there } = &wire;
        let far = format!("cs{id}b");
        ip(&["netns", "add", name])?;
        ip(&["link", "add", here, "type", "veth", "peer", "name", &far, "netns", name])?;
        ip(&["addr", "add", &format!("10.213.{net}.1/24"), "dev", here])?;
        ip(&["link", "set", here, "up"])?;
        ip(&["-n", name, "addr", "add", &format!("{there}/24"), "dev", &far])?;
        ip(&["-n", name, "link", "set", &far, "up"])?;
        ip(&["-n", name, "link", "set", "lo", "up"])?;
        Ok(wire)
    }

    fn cut(&self) -> Result<()> {
        ip(&["link", "set", &self.here, "down"])
    }

    fn mend(&self) -> Result<()> {
        ip(&["link", "set", &self.here, "up"])
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // The interfaces go with the name space.
        let _ = ip(&["netns", "del", &self.name]);
    }
}

#[expect(clippy::disallowed_methods, reason = "a test, and nothing of a request")]
fn ip(arguments: &[&str]) -> Result<()> {
    let done = Command::new("ip").args(arguments).output().context("cannot run ip")?;
    if !done.status.success() {
        bail!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&done.stderr).trim());
    }
    Ok(())
}

/// What the other machine is told to do.
enum Order {
    /// Raise a request with this id; what it came to is sent back.
    Ask(String, channel::Sender<Result<Value>>),
    /// Drop every connection from outside, as a middle box does that lost its memory.
    Forget,
}

/// The other machine at work.
struct Far {
    orders: mpsc::UnboundedSender<Order>,
    port: u16,
    pin: Pin,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Far {
    fn start(wire: &Wire) -> Result<Self> {
        let (orders, inbox) = mpsc::unbounded_channel();
        let (ready, is_ready) = channel::channel();
        let name_space = File::open(Path::new("/run/netns").join(&wire.name))?;
        let address = wire.there.clone();
        let thread = std::thread::spawn(move || {
            // Sockets belong to the name space of the thread that makes them.
            move_into_link_name_space(name_space.as_fd(), Some(LinkNameSpaceType::Network))?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(far(&address, inbox, &ready))
        });
        match is_ready.recv_timeout(LIMIT) {
            Ok((port, pin)) => Ok(Self { orders, port, pin, thread: Some(thread) }),
            Err(_) => match thread.join() {
                Ok(Err(error)) => Err(error.context("the other machine did not start")),
                _ => bail!("the other machine did not start"),
            },
        }
    }

    fn ask(&self, id: &str) -> Result<channel::Receiver<Result<Value>>> {
        let (reply, answer) = channel::channel();
        self.orders.send(Order::Ask(id.to_owned(), reply)).ok().context("the other machine is gone")?;
        Ok(answer)
    }

    fn forget(&self) -> Result<()> {
        self.orders.send(Order::Forget).ok().context("the other machine is gone")
    }

    fn stop(mut self) -> Result<()> {
        let thread = self.thread.take();
        drop(self);
        match thread.map(JoinHandle::join) {
            Some(Ok(done)) => done,
            _ => bail!("the other machine panicked"),
        }
    }
}

/// A gateway on loopback, a program that asks there, and TLS towards the outside.
async fn far(
    address: &str,
    mut orders: mpsc::UnboundedReceiver<Order>,
    ready: &channel::Sender<(u16, Pin)>,
) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let options = Options { port: 0, token: Some(TOKEN.to_owned()), token_file: None };
    let serving = gateway::serve_alone(&paths(folder.path())?, options).await?;
    let listener = TcpListener::bind((address, 0)).await?;
    let port = listener.local_addr()?.port();
    let (pin, acceptor) = certificate()?;
    let forget = watch::Sender::new(0_u32);
    tokio::spawn(forward(listener, acceptor, serving.address, forget.subscribe()));
    let asker = Asker::connect(&format!("ws://{}", serving.address)).await?;
    // What is asked while nobody could answer ends at once; somebody else could, and does not.
    let _somebody = Asker::connect(&format!("ws://{}", serving.address)).await?;
    ready.send((port, pin)).ok().context("nobody waits")?;
    while let Some(order) = orders.recv().await {
        match order {
            Order::Forget => forget.send_modify(|times| *times += 1),
            Order::Ask(id, reply) => {
                let live = asker.live.clone();
                tokio::spawn(async move {
                    let params = json!({"id": id, "command": format!("touch {id}"), "cwd": "/w", "host": "gateway",
                        "timeoutMs": 600_000, "twoPhase": true});
                    let wait = Duration::from_secs(600);
                    let asked =
                        live.call_within("exec.approval.request", params, Answers::AcceptedFirst, wait).await;
                    let _ = reply.send(asked.map_err(Into::into));
                });
            }
        }
    }
    serving.stop().await;
    Ok(())
}

/// Hands TLS connections on to the gateway, until it is told to forget them.
async fn forward(
    listener: TcpListener,
    acceptor: TlsAcceptor,
    to: std::net::SocketAddr,
    forget: watch::Receiver<u32>,
) {
    while let Ok((outside, _)) = listener.accept().await {
        let (acceptor, mut forget) = (acceptor.clone(), forget.clone());
        forget.mark_unchanged();
        tokio::spawn(async move {
            let Ok(mut outside) = acceptor.accept(outside).await else { return };
            let Ok(mut inside) = TcpStream::connect(to).await else { return };
            let Ok(head) = head_for(&mut outside, to).await else { return };
            if inside.write_all(&head).await.is_err() {
                return;
            }
            tokio::select! {
                _ = copy_bidirectional(&mut outside, &mut inside) => {}
                _ = forget.changed() => {}
            }
        });
    }
}

/// The head of the first request, under the name that the gateway knows itself by: it serves no other.
async fn head_for(outside: &mut (impl AsyncRead + Unpin), to: std::net::SocketAddr) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        ensure!(head.len() < 16_384, "expected the head of a request");
        head.push(outside.read_u8().await?);
    }
    let lines = std::str::from_utf8(&head)?.split("\r\n").map(|line| {
        let is_host = line.to_ascii_lowercase().starts_with("host:");
        if is_host { format!("Host: {to}") } else { line.to_owned() }
    });
    Ok(lines.collect::<Vec<_>>().join("\r\n").into_bytes())
}

fn certificate() -> Result<(Pin, TlsAcceptor)> {
    let made = rcgen::generate_simple_self_signed(["gateway.example".to_owned()])?;
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der());
    let key = key.map_err(|error| anyhow::anyhow!(error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    Ok((Pin::of(made.cert.der()), TlsAcceptor::from(Arc::new(config))))
}

/// A program there that asks.
struct Asker {
    live: Live,
    _link: client::Link,
}

struct Known;

impl Credentials for Known {
    async fn secret(&self) -> Result<Option<Auth>, Withheld> {
        Ok(Some(Auth { token: Some(TOKEN.to_owned()), ..Auth::default() }))
    }

    async fn device_token(&self) -> Result<Option<DeviceToken>, Withheld> {
        Ok(None)
    }

    async fn keep_device_token(&self, _: Option<DeviceToken>) {}
}

impl Asker {
    async fn connect(url: &str) -> Result<Self> {
        let options = client::Options {
            address: Address::parse(url)?,
            pin: None,
            identity: Identity::generate().map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?,
            role: "operator",
            scopes: vec!["operator.approvals".to_owned()],
            caps: Vec::new(),
            commands: Vec::new(),
            display_name: "asker".to_owned(),
        };
        let (link, mut notices) =
            client::connect(options, Known, &TaskTracker::new(), &CancellationToken::new());
        loop {
            match notices.recv().await.context("the link ended")? {
                Notice::Opened(live) => {
                    tokio::spawn(async move { while notices.recv().await.is_some() {} });
                    return Ok(Self { live, _link: link });
                }
                Notice::Lost { problem, .. } => bail!("the asker is not let in: {problem:?}"),
                Notice::Connecting | Notice::Event(_) | Notice::Gap | Notice::Narrow { .. } => {}
            }
        }
    }
}

fn paths(folder: &Path) -> Result<Paths> {
    let state = folder.display().to_string();
    let variables =
        [("HOME", state.as_str()), ("COUNTERSIGN_STATE_DIR", &state), ("COUNTERSIGN_GATEWAY_PORT", "0")];
    let env: BTreeMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Ok(Paths::from_env(&env)?)
}

/// Everything that happens on this machine.
async fn here(wire: &Wire, far: &Far) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (companion, presenter) = Companion::start(&paths(folder.path())?)?;
    let desk = companion.desk().clone();
    let url = format!("wss://{}:{}", wire.there, far.port);
    let edit = |pin: &str| GatewayEdit {
        id: None,
        name: "the other machine".to_owned(),
        url: url.clone(),
        pin: Some(pin.to_owned()),
        enabled: true,
        sees_agents: false,
        runs_on_nodes: false,
        session_filter: None,
        secret_kind: SecretKind::Token,
        secret: SecretEdit::Set { value: TOKEN.to_owned() },
    };
    let command = |error: countersign_protocol::ui::CommandError| anyhow::anyhow!(error.message);

    desk.save_gateway(edit(&"0".repeat(64))).await.map_err(command)?;
    let refused = until("a wrong pin is refused", async || {
        let view = desk.connections().await.gateways.pop()?;
        match &view.state {
            LinkState::Stopped { problem: LinkProblem::PinMismatch { found } } => {
                Some((view.id.clone(), found.clone()))
            }
            _ => None,
        }
    });
    let (id, found) = refused.await?;
    ensure!(found == far.pin.to_string(), "expected the pin {}, got {found}", far.pin);
    println!("a wrong pin is refused, and the right one is told");

    desk.save_gateway(GatewayEdit { id: Some(id), ..edit(&found) }).await.map_err(command)?;
    let connected = async || {
        let view = desk.connections().await.gateways.pop()?;
        matches!(view.state, LinkState::Connected { .. }).then_some(())
    };
    until("the pinned certificate is trusted", connected).await?;
    println!("the pinned certificate is trusted");

    let first = far.ask("before-the-cut")?;
    let card = async |text: &str| -> Result<Card> {
        until(text, async || {
            let cards = desk.snapshot().await.cards;
            cards.into_iter().find(|card| card.command.copy.contains(text))
        })
        .await
    };
    let before = card("before-the-cut").await?;
    wire.cut()?;
    let second = far.ask("during-the-cut")?;
    far.forget()?;
    tokio::time::sleep(CUT).await;
    wire.mend()?;
    let again = until("the wire is mended and everything is asked again", async || {
        let cards = desk.snapshot().await.cards;
        let anew = cards.iter().all(|card| card.generation != before.generation);
        (cards.len() == 2 && anew).then_some(cards)
    });
    let again = again.await?;
    ensure!(!again.iter().any(|card| card.id == before.id), "a card of the lost connection is still there");
    println!("after {} s without a wire nothing is lost", CUT.as_secs());

    for card in &again {
        let paint =
            desk.card_painted(&RequestId::from(card.id.as_str()), card.generation).await.map_err(command)?;
        let answered = until("the answer is armed", async || {
            let params = DecideParams {
                id: card.id.clone(),
                generation: card.generation,
                paint,
                decision: Decision::AllowOnce,
                remember: None,
            };
            desk.decide(&params).await.ok()
        });
        answered.await?;
    }
    for (what, answer) in [("first", first), ("second", second)] {
        let payload = tokio::task::spawn_blocking(move || answer.recv_timeout(LIMIT)).await??;
        let payload = payload.with_context(|| format!("the {what} request"))?;
        ensure!(payload["decision"] == "allow-once", "the {what} request: {payload}");
    }
    let mut written = Vec::new();
    let all = until("every end is written down", async || {
        let page = desk.history(None, 100).await.ok()?;
        let outcomes = page.entries.iter().filter_map(|entry| match &entry.event {
            HistoryEvent::Request { outcome, .. } => Some(outcome),
            _ => None,
        });
        written = outcomes.cloned().collect();
        let allowed = written.iter().filter(|outcome| **outcome == Outcome::AllowedOnce).count();
        // What was asked over the lost connection ended with it, unanswered.
        let lost = Outcome::Cancelled { cause: CancelCause::ConnectionLost };
        let others = written.iter().filter(|outcome| **outcome == lost).count();
        (allowed == 2 && others >= 1 && allowed + others == written.len()).then_some(())
    });
    all.await.with_context(|| format!("{written:?}"))?;
    println!("each request was answered once");
    drop(presenter);
    companion.stop().await;
    Ok(())
}

/// Waits for a state.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = look().await {
            return Ok(found);
        }
        ensure!(started.elapsed() < LIMIT, "not so within {} s: {what}", LIMIT.as_secs());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn main() -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "this needs root, for network name spaces");
    let started = Instant::now();
    let wire = Wire::lay()?;
    let far = Far::start(&wire)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let told = runtime.block_on(here(&wire, &far));
    drop(runtime);
    far.stop()?;
    told?;
    println!("two machines: all promises kept in {} s", started.elapsed().as_secs());
    Ok(())
}
