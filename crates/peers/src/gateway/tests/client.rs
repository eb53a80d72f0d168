//! A client as peers write one. Tests of other crates take this file in as well.

use countersign_gateway::identity::{Identity, Proof};
use countersign_protocol::gateway::{Frame, Request};
use futures_util::{SinkExt as _, StreamExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::VecDeque;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// A client of the gateway.
pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// Came while something else was waited for.
    pub(crate) kept: VecDeque<Value>,
    calls: u32,
}

impl Client {
    /// Shakes hands as an operator; the error when it fails.
    pub(crate) async fn connect(url: &str, seed: u8, token: &str, scopes: &[&str]) -> Result<Self, Value> {
        Self::introduce(url, seed, token, "operator", scopes, &[]).await
    }

    /// Shakes hands as a node that takes these commands; the error when it fails.
    pub(crate) async fn node(url: &str, seed: u8, token: &str, commands: &[&str]) -> Result<Self, Value> {
        Self::introduce(url, seed, token, "node", &[], commands).await
    }

    async fn introduce(
        url: &str,
        seed: u8,
        token: &str,
        role: &str,
        scopes: &[&str],
        commands: &[&str],
    ) -> Result<Self, Value> {
        let (socket, _) = connect_async(url).await.unwrap();
        let mut client = Self { socket, kept: VecDeque::new(), calls: 0 };
        let challenge = client.next().await;
        assert_eq!(challenge["event"], "connect.challenge");
        let identity = Identity::from_seed(&[seed; 32]);
        let scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let nonce = challenge["payload"]["nonce"].as_str().unwrap();
        let signed_at_ms = challenge["payload"]["ts"].as_i64().unwrap();
        let device_id = identity.device_id();
        let proof = Proof {
            device_id: &device_id,
            client_id: "gateway-client",
            client_mode: "ui",
            role,
            scopes: &scopes,
            signed_at_ms,
            token,
            nonce,
            platform: "linux",
            device_family: "Linux",
        };
        let params = json!({
            "minProtocol": 3, "maxProtocol": 4, "role": role, "scopes": scopes, "auth": {"token": token},
            "commands": commands,
            "client": {"id": "gateway-client", "displayName": format!("client {seed}"), "version": "1",
                       "platform": "linux", "deviceFamily": "Linux", "mode": "ui"},
            "device": {"id": device_id, "publicKey": identity.public_key(), "signature": identity.sign(&proof.text()),
                       "signedAt": signed_at_ms, "nonce": nonce},
        });
        let id = client.send("connect", params).await;
        let answer = client.answer(&id).await;
        if answer["ok"] == true { Ok(client) } else { Err(answer["error"].clone()) }
    }

    pub(crate) async fn next(&mut self) -> Value {
        loop {
            match self.socket.next().await.expect("an open connection").unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("expected a text frame, got {other:?}"),
            }
        }
    }

    /// Why the gateway ends the connection.
    pub(crate) async fn close_code(&mut self) -> u16 {
        loop {
            match self.socket.next().await.expect("a close").unwrap() {
                Message::Close(Some(frame)) => return frame.code.into(),
                Message::Text(_) | Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("expected a close, got {other:?}"),
            }
        }
    }

    pub(crate) async fn send(&mut self, method: &str, params: Value) -> String {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        let request = Frame::Req(Request { id: id.clone(), method: method.to_owned(), params });
        let text = serde_json::to_string(&request).unwrap();
        self.socket.send(Message::Text(text.into())).await.unwrap();
        id
    }

    /// The next frame that fits; others are kept.
    pub(crate) async fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&fits) {
            return self.kept.remove(at).unwrap();
        }
        loop {
            let frame = self.next().await;
            if fits(&frame) {
                return frame;
            }
            self.kept.push_back(frame);
        }
    }

    pub(crate) async fn answer(&mut self, id: &str) -> Value {
        self.wait_for(|frame| frame["type"] == "res" && frame["id"] == id).await
    }

    pub(crate) async fn event(&mut self, name: &str) -> Value {
        self.wait_for(|frame| frame["event"] == name).await["payload"].clone()
    }

    /// What a call comes to: payload, or error message.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.send(method, params).await;
        let answer = self.answer(&id).await;
        match answer["ok"].as_bool() {
            Some(true) => Ok(answer["payload"].clone()),
            _ => Err(answer["error"]["message"].as_str().unwrap().to_owned()),
        }
    }
}

/// Scopes of whoever answers.
pub(crate) const APPROVER: &[&str] = &["operator.read", "operator.approvals"];
