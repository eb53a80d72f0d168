//! Our gateway without an app, and a program that speaks to the app's own, with a device of its own.

use crate::home::Home;
use crate::process::{Background, countersign};
use anyhow::{Context, Result, bail, ensure};
use countersign_approvals::ports::Ports;
use countersign_gateway::identity::{Identity, Proof};
use countersign_gateway::pairing::{Device, LetInBy};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::net::TcpStream;
use std::time::Duration;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

/// `countersign gateway`, serving a home without an app. It is ended when dropped.
#[derive(Debug)]
pub struct Alone {
    process: Background,
    url: String,
    /// What it serves.
    pub home: Home,
}

impl Alone {
    /// Starts it and waits until it serves. Who knows [`Alone::TOKEN`] is let in.
    pub fn start(home: Home) -> Result<Self> {
        Self::start_at(home, 0)
    }

    /// The same at a port.
    pub fn start_at(home: Home, port: u16) -> Result<Self> {
        let mut program = home.command(countersign()?);
        program
            .args(["--json", "gateway", "--port", &port.to_string()])
            .env("COUNTERSIGN_GATEWAY_TOKEN", Self::TOKEN);
        let (process, ready) = Background::start_and_read_line(&mut program)?;
        let ready: Value =
            serde_json::from_str(&ready).with_context(|| format!("expected JSON, got {ready:?}"))?;
        let url = ready["url"].as_str().context("it did not say where it serves")?.to_owned();
        Ok(Self { process, url, home })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A program that may do what these scopes say.
    pub fn client(&self, device: u8, scopes: &[&str]) -> Result<Client> {
        Client::connect_to(self.url(), Self::TOKEN, device, scopes)?.welcome()
    }

    /// Its token.
    pub const TOKEN: &str = "alone-token-alone-token-alone-to";
}

/// A connection. Dropping it is the program's end.
#[derive(Debug)]
pub struct Client {
    socket: WebSocket<TcpStream>,
    /// Came while something else was waited for.
    kept: VecDeque<Value>,
    calls: u32,
}

/// How a gateway answered a handshake.
#[derive(Debug)]
pub enum Greeting {
    /// It let the device in.
    Welcome(Box<Client>),
    /// It did not, with this error.
    Refused(Value),
}

impl Client {
    /// Connects to the gateway of the app that serves this home, as the device with this number and
    /// for these scopes.
    pub fn connect(home: &Home, device: u8, scopes: &[&str]) -> Result<Greeting> {
        Self::connect_to(&home.gateway_url()?, &home.gateway_token()?, device, scopes)
    }

    /// Connects to the gateway at `url`, whose token is this.
    pub fn connect_to(url: &str, token: &str, device: u8, scopes: &[&str]) -> Result<Greeting> {
        let stream = TcpStream::connect(url.trim_start_matches("ws://"))?;
        stream.set_read_timeout(Some(ANSWER_WAIT))?;
        let (socket, _) = client(url, stream).context("no WebSocket")?;
        let mut this = Self { socket, kept: VecDeque::new(), calls: 0 };
        let challenge = this.event("connect.challenge")?;
        let identity = identity(device);
        let scopes = words(scopes);
        let signed_at_ms = challenge["ts"].as_i64().context("a challenge with its time")?;
        let nonce = challenge["nonce"].as_str().context("a challenge with its nonce")?;
        let proof = Proof {
            device_id: &identity.device_id(),
            client_id: PROGRAM,
            client_mode: MODE,
            role: "operator",
            scopes: &scopes,
            signed_at_ms,
            token,
            nonce,
            platform: PLATFORM,
            device_family: "",
        };
        let params = json!({
            "minProtocol": 3, "maxProtocol": 4, "role": "operator", "scopes": scopes,
            "auth": { "token": token },
            "client": { "id": PROGRAM, "displayName": name(device), "version": "1", "platform": PLATFORM,
                        "mode": MODE },
            "device": { "id": identity.device_id(), "publicKey": identity.public_key(),
                        "signature": identity.sign(&proof.text()), "signedAt": signed_at_ms, "nonce": nonce },
        });
        match this.call("connect", &params)? {
            Ok(_) => Ok(Greeting::Welcome(Box::new(this))),
            Err(error) => Ok(Greeting::Refused(error)),
        }
    }

    /// Sends a call; its id.
    pub fn send(&mut self, method: &str, params: &Value) -> Result<String> {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        let call = json!({ "type": "req", "id": id, "method": method, "params": params });
        self.socket.send(Message::Text(call.to_string().into()))?;
        Ok(id)
    }

    /// The next answer to a call: payload, or error.
    pub fn answer(&mut self, id: &str) -> Result<Result<Value, Value>> {
        let mut frame = self.wait_for(|frame| frame["type"] == "res" && frame["id"] == id)?;
        Ok(if frame["ok"] == true { Ok(frame["payload"].take()) } else { Err(frame["error"].take()) })
    }

    /// Calls and waits for the answer.
    pub fn call(&mut self, method: &str, params: &Value) -> Result<Result<Value, Value>> {
        let id = self.send(method, params)?;
        self.answer(&id)
    }

    /// Has a node do something; the id of the call.
    pub fn invoke(&mut self, node: &str, command: &str, params: &Value) -> Result<String> {
        self.invoke_within(60_000, node, command, params)
    }

    /// The same with another limit, in milliseconds.
    pub fn invoke_within(
        &mut self,
        limit_ms: u64,
        node: &str,
        command: &str,
        params: &Value,
    ) -> Result<String> {
        let key = Ports::system().ids.uuid();
        let invoke = json!({ "nodeId": node, "command": command, "params": params, "timeoutMs": limit_ms,
            "idempotencyKey": key });
        self.send("node.invoke", &invoke)
    }

    /// The payload of the next event of this name.
    pub fn event(&mut self, name: &str) -> Result<Value> {
        Ok(self.wait_for(|frame| frame["event"] == name)?["payload"].take())
    }

    fn wait_for(&mut self, fits: impl Fn(&Value) -> bool) -> Result<Value> {
        if let Some(frame) = self.kept.iter().position(&fits).and_then(|at| self.kept.remove(at)) {
            return Ok(frame);
        }
        loop {
            match self.socket.read().context("the gateway said nothing more")? {
                Message::Text(text) => {
                    let frame: Value = serde_json::from_str(&text)?;
                    if fits(&frame) {
                        return Ok(frame);
                    }
                    self.kept.push_back(frame);
                }
                Message::Ping(_) | Message::Pong(_) => {}
                other => bail!("expected a text frame, got {other:?}"),
            }
        }
    }
}

impl Greeting {
    /// The connection of a device that was let in.
    pub fn welcome(self) -> Result<Client> {
        match self {
            Self::Welcome(client) => Ok(*client),
            Self::Refused(error) => bail!("expected to be let in, got {error}"),
        }
    }

    /// The error of a device that was not.
    pub fn refused(self) -> Result<Value> {
        match self {
            Self::Refused(error) => Ok(error),
            Self::Welcome(_) => bail!("expected to be refused, and was let in"),
        }
    }
}

/// Has these devices known in a home before its app starts, as if a person had let them in earlier.
pub fn let_in(home: &Home, devices: &[(u8, &[&str])]) -> Result<()> {
    let now_ms = Ports::system().clock.now_ms();
    let devices: Vec<Device> = devices
        .iter()
        .map(|(number, scopes)| Device {
            device_id: identity(*number).device_id(),
            public_key: identity(*number).public_key(),
            display_name: Some(name(*number)),
            platform: PLATFORM.to_owned(),
            device_family: None,
            client_id: PROGRAM.to_owned(),
            client_mode: MODE.to_owned(),
            roles: BTreeMap::from([("operator".to_owned(), words(scopes))]),
            let_in_by: LetInBy::Person,
            created_at_ms: now_ms,
            approved_at_ms: now_ms,
        })
        .collect();
    let file = home.gateway().join("devices.json");
    ensure!(!file.exists(), "devices are known already");
    fs::create_dir_all(home.gateway())?;
    home.write_private(&file, json!({ "version": 1, "devices": devices }).to_string().as_bytes())
}

/// The identity of the device with this number.
pub fn identity(device: u8) -> Identity {
    Identity::from_seed(&[device; 32])
}

fn name(device: u8) -> String {
    format!("device {device}")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// What the program says it is.
const PROGRAM: &str = "gateway-client";
const MODE: &str = "ui";
const PLATFORM: &str = "linux";

/// Longest wait for a frame: a person's part of a story takes a few seconds.
const ANSWER_WAIT: Duration = Duration::from_secs(60);
