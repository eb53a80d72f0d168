//! One connection to a gateway as an operator's program holds it: handshake, calls out, frames in. Whoever
//! has one answers for reading it; [`super::Operator`] does that for stories.

use crate::process::Background;
use anyhow::{Context, Result, bail};
use countersign_gateway::identity::{Identity, Proof};
use countersign_protocol::gateway::ErrorShape;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::fmt::{self, Display};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

/// Who connects, and what for.
#[derive(Clone)]
pub struct Access {
    /// Its device; without one, a gateway gives no scopes.
    pub identity: Option<Identity>,
    /// How it calls itself.
    pub name: String,
    /// The gateway's token.
    pub token: String,
    /// The scopes that it wants.
    pub scopes: Vec<String>,
    /// What it says that it can do.
    pub caps: Vec<String>,
}

impl Access {
    /// A new device that answers approvals.
    pub fn operator(name: &str, token: &str, scopes: &[&str]) -> Result<Self> {
        Ok(Self {
            identity: Some(Identity::generate().context("no randomness")?),
            name: name.to_owned(),
            token: token.to_owned(),
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
            caps: vec!["exec-approvals".to_owned()],
        })
    }

    /// A device that only asks: no release takes it for one that could answer.
    #[must_use]
    pub fn without_caps(mut self) -> Self {
        self.caps.clear();
        self
    }

    fn connect_params(&self, challenge: &Value) -> Value {
        let nonce = challenge["payload"]["nonce"].as_str().unwrap_or_default();
        let signed_at_ms = challenge["payload"]["ts"].as_i64().unwrap_or_default();
        let mut params = json!({
            "minProtocol": 3, "maxProtocol": 4, "role": ROLE, "scopes": self.scopes, "caps": self.caps,
            "auth": { "token": self.token },
            "client": { "id": CLIENT, "displayName": self.name, "version": "1.0.0", "platform": PLATFORM, "mode": CLIENT },
        });
        if let Some(identity) = &self.identity {
            let device_id = identity.device_id();
            let proof = Proof {
                device_id: &device_id,
                client_id: CLIENT,
                client_mode: CLIENT,
                role: ROLE,
                scopes: &self.scopes,
                signed_at_ms,
                token: &self.token,
                nonce,
                platform: PLATFORM,
                device_family: "",
            };
            params["device"] = json!({
                "id": device_id, "publicKey": identity.public_key(), "signature": identity.sign(&proof.text()),
                "signedAt": signed_at_ms, "nonce": nonce,
            });
        }
        params
    }
}

/// Why there is no connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// Nobody answers, or nobody who speaks the protocol.
    Unreachable(String),
    /// The gateway said no.
    Refused(Box<ErrorShape>),
}

impl Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "the gateway cannot be reached: {why}"),
            Self::Refused(error) => {
                let details = error.details.as_deref().map(Value::to_string).unwrap_or_default();
                write!(f, "the gateway refused: {}: {} {details}", error.code, error.message)
            }
        }
    }
}

impl std::error::Error for Refusal {}

/// A connection past its handshake.
#[derive(Debug)]
pub struct Link {
    socket: WebSocketStream<TcpStream>,
    calls: u64,
    hello: Value,
}

impl Link {
    /// Connects to a `ws://` address on loopback and shakes hands.
    pub async fn connect(url: &str, access: &Access) -> Result<Self, Refusal> {
        let connecting = timeout(HANDSHAKE_LIMIT, Self::shake_hands(url, access)).await;
        connecting.unwrap_or_else(|_| Err(Refusal::Unreachable("no answer in time".to_owned())))
    }

    async fn shake_hands(url: &str, access: &Access) -> Result<Self, Refusal> {
        let mut link = Self::open(url).await.map_err(|error| Refusal::Unreachable(format!("{error:#}")))?;
        let unreachable = |error: anyhow::Error| Refusal::Unreachable(format!("{error:#}"));
        let ended = || Refusal::Unreachable("it closed the connection".to_owned());
        let challenge = link.next().await.map_err(unreachable)?.ok_or_else(ended)?;
        if challenge["event"] != "connect.challenge" {
            return Err(Refusal::Unreachable(format!("expected a challenge, got {challenge}")));
        }
        let id = link.send("connect", &access.connect_params(&challenge)).await.map_err(unreachable)?;
        loop {
            let mut frame = link.next().await.map_err(unreachable)?.ok_or_else(ended)?;
            if frame["type"] != "res" || frame["id"] != id.as_str() {
                continue;
            }
            if frame["ok"] == true {
                link.hello = frame["payload"].take();
                return Ok(link);
            }
            let error = serde_json::from_value(frame["error"].take())
                .map_err(|error| Refusal::Unreachable(format!("an error that is none: {error}")))?;
            return Err(Refusal::Refused(Box::new(error)));
        }
    }

    async fn open(url: &str) -> Result<Self> {
        let address = url.strip_prefix("ws://").context("expected a ws:// address")?.trim_end_matches('/');
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (socket, _) = client_async(url, stream).await?;
        Ok(Self { socket, calls: 0, hello: Value::Null })
    }

    /// What the gateway said of itself and of us.
    pub fn hello(&self) -> &Value {
        &self.hello
    }

    /// Sends a call and returns its id.
    pub async fn send(&mut self, method: &str, params: &Value) -> Result<String> {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        self.send_as(&id, method, params).await?;
        Ok(id)
    }

    /// The same with an id that is used once.
    pub async fn send_as(&mut self, id: &str, method: &str, params: &Value) -> Result<()> {
        let request = json!({ "type": "req", "id": id, "method": method, "params": params });
        Ok(self.socket.send(Message::text(request.to_string())).await?)
    }

    /// The next frame; `None` once the connection is closed. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Value>> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => return Ok(Some(serde_json::from_str(&text)?)),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                None | Some(Ok(Message::Close(_))) => return Ok(None),
                Some(Ok(other)) => bail!("expected a text frame, got {other:?}"),
                Some(Err(error)) => return Err(error.into()),
            }
        }
    }

    /// Calls and waits for the answer. Frames that come before it are dropped, the first of two answers too.
    pub async fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        let id = self.send(method, params).await?;
        loop {
            let mut frame = self.next().await?.context("the gateway closed the connection")?;
            if frame["type"] == "res" && frame["id"] == id.as_str() && !is_first_of_two(&frame) {
                anyhow::ensure!(frame["ok"] == true, "{method} failed: {}", frame["error"]);
                return Ok(frame["payload"].take());
            }
        }
    }

    /// Says goodbye.
    pub async fn close(mut self) -> Result<()> {
        Ok(self.socket.close(None).await?)
    }
}

/// Whether an answer only says that another one will come.
pub fn is_first_of_two(response: &Value) -> bool {
    response["payload"]["status"] == "accepted"
}

/// Tries until a gateway whose program was just started lets an operator in. A release can send challenges
/// for seconds before it accepts anybody, so nothing less counts.
pub fn wait_until_open(url: &str, token: &str, limit: Duration, process: &mut Background) -> Result<()> {
    let nobody = Access { identity: None, ..Access::operator("rig", token, &[])?.without_caps() };
    let opening = async {
        loop {
            if let Some(code) = process.ended()? {
                bail!("the gateway ended early with {code}");
            }
            match Link::connect(url, &nobody).await {
                Ok(_) => return Ok(()),
                Err(Refusal::Unreachable(_)) => sleep(TRY_AGAIN).await,
                Err(Refusal::Refused(error)) if error.code == "UNAVAILABLE" => sleep(ASK_AGAIN).await,
                Err(refused) => return Err(refused.into()),
            }
        }
    };
    let opened = block_on(async { timeout(limit, opening).await })?;
    opened.with_context(|| format!("not open within {} s", limit.as_secs()))?
}

/// Runs a connection's future from code that waits.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(runtime.block_on(future))
}

/// The program that operators here say they are: every release knows it.
const CLIENT: &str = "cli";

const PLATFORM: &str = "linux";

const ROLE: &str = "operator";

/// Pause between two looks whether anybody listens.
const TRY_AGAIN: Duration = Duration::from_millis(2);

/// Pause between two tries while a gateway says that it is starting, which each try makes slower.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Longer than the gateways' own limit of 15 s.
const HANDSHAKE_LIMIT: Duration = Duration::from_secs(20);
