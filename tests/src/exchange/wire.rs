//! A connection to a gateway as frames, so that wrong ones can be sent too.

use anyhow::{Context, Result, bail};
use countersign_gateway::identity::{Identity, Proof};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// Who connects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    /// Tells devices apart.
    pub(super) seed: u8,
    pub(super) name: &'static str,
    pub(super) scopes: &'static [&'static str],
    /// What it takes as a node; an operator takes nothing.
    pub(super) commands: &'static [&'static str],
}

/// Something that came.
#[derive(Debug)]
pub(super) enum Came {
    Frame(Value),
    Closed { code: u16, reason: String },
}

/// A connection.
pub(super) struct Wire {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// Came while something else was waited for.
    kept: VecDeque<Value>,
    calls: u32,
}

impl Wire {
    /// Connects and takes the challenge.
    pub(super) async fn open(url: &str) -> Result<(Self, Value)> {
        let (socket, _) = timeout(PATIENCE, connect_async(url)).await.context("no connection in time")??;
        let mut wire = Self { socket, kept: VecDeque::new(), calls: 0 };
        match wire.next().await? {
            Came::Frame(challenge) if challenge["event"] == "connect.challenge" => Ok((wire, challenge)),
            other => bail!("expected a challenge, got {other:?}"),
        }
    }

    /// Connects and shakes hands.
    pub(super) async fn enter(url: &str, token: &str, who: Who) -> Result<Self> {
        let (mut wire, challenge) = Self::open(url).await?;
        let answer = wire.call("connect", &connect(who, token, &challenge)).await?;
        anyhow::ensure!(answer["ok"] == true, "{}: expected to be let in, got {answer}", who.name);
        Ok(wire)
    }

    /// Sends a text as it is.
    pub(super) async fn send_text(&mut self, text: String) -> Result<()> {
        Ok(self.socket.send(Message::text(text)).await?)
    }

    /// Sends a call and returns its id.
    pub(super) async fn send(&mut self, method: &str, params: &Value) -> Result<String> {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        self.send_text(json!({"type": "req", "id": id, "method": method, "params": params}).to_string())
            .await?;
        Ok(id)
    }

    /// Sends a call and waits for its first answer.
    pub(super) async fn call(&mut self, method: &str, params: &Value) -> Result<Value> {
        let id = self.send(method, params).await?;
        self.answer(&id).await.with_context(|| method.to_owned())
    }

    /// The next answer to a call.
    pub(super) async fn answer(&mut self, id: &str) -> Result<Value> {
        self.wait_for(|frame| frame["type"] == "res" && frame["id"] == id).await
    }

    /// The payload of the next event of this name that fits.
    pub(super) async fn event(&mut self, name: &str, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        let fits = |frame: &Value| frame["event"] == name && fits(&frame["payload"]);
        let mut frame = self.wait_for(fits).await.with_context(|| name.to_owned())?;
        Ok(frame["payload"].take())
    }

    /// The next frame or the end. Dropping the future loses nothing.
    pub(super) async fn next(&mut self) -> Result<Came> {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.context("nothing came in time")? {
                Some(Ok(Message::Text(text))) => return Ok(Came::Frame(serde_json::from_str(&text)?)),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Close(Some(frame)))) => {
                    return Ok(Came::Closed { code: frame.code.into(), reason: frame.reason.to_string() });
                }
                Some(Ok(other)) => bail!("expected a text frame, got {other:?}"),
                Some(Err(error)) => return Err(error.into()),
                None => bail!("the connection ended without a close"),
            }
        }
    }

    async fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        if let Some(frame) = self.kept.iter().position(&fits).and_then(|at| self.kept.remove(at)) {
            return Ok(frame);
        }
        loop {
            match self.next().await? {
                Came::Frame(frame) if fits(&frame) => return Ok(frame),
                Came::Frame(frame) => self.kept.push_back(frame),
                closed @ Came::Closed { .. } => bail!("expected a frame, got {closed:?}"),
            }
        }
    }
}

/// Parameters of a handshake that every release accepts.
pub(super) fn connect(who: Who, token: &str, challenge: &Value) -> Value {
    let nonce = challenge["payload"]["nonce"].as_str().unwrap_or_default();
    let signed_at_ms = challenge["payload"]["ts"].as_i64().unwrap_or_default();
    let identity = Identity::from_seed(&[who.seed; 32]);
    let scopes: Vec<String> = who.scopes.iter().map(|scope| (*scope).to_owned()).collect();
    let device_id = identity.device_id();
    let (role, client_id, client_mode) = match who.commands {
        [] => ("operator", "gateway-client", "ui"),
        _ => ("node", "node-host", "node"),
    };
    let proof = Proof {
        device_id: &device_id,
        client_id,
        client_mode,
        role,
        scopes: &scopes,
        signed_at_ms,
        token,
        nonce,
        platform: "linux",
        device_family: "",
    };
    json!({
        "minProtocol": 3, "maxProtocol": 4, "role": role, "scopes": scopes, "auth": {"token": token},
        "caps": ["exec-approvals", "plugin-approvals"], "commands": who.commands,
        "client": {"id": client_id, "displayName": who.name, "version": "1", "platform": "linux", "mode": client_mode},
        "device": {"id": device_id, "publicKey": identity.public_key(), "signature": identity.sign(&proof.text()),
                   "signedAt": signed_at_ms, "nonce": nonce},
    })
}

/// Longest wait for a frame. It says that an exchange fails, and never how fast the machine is; a release
/// that was just started takes seconds for its first answers.
const PATIENCE: Duration = Duration::from_secs(120);
