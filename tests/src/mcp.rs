//! Clients of the Model Context Protocol: one by the official SDK (`tests/mcp/client.mjs`), told what to do
//! and asked what happened, and plain ones that speak nothing but lines of JSON, or one request of HTTP at a
//! time, with nothing around that would take time of its own.

use crate::home::Home;
use crate::process::{PATIENCE, countersign};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

/// The folder in which the SDK is installed.
#[derive(Clone, Debug)]
pub struct Sdk(PathBuf);

impl Sdk {
    /// The one that the environment names, as `cargo xtask interop mcp` sets it.
    pub fn from_env() -> Result<Self> {
        let folder = env::var_os(VARIABLE)
            .with_context(|| format!("{VARIABLE} is not set: cargo xtask interop mcp sets it"))?;
        Ok(Self(folder.into()))
    }
}

/// The client, connected. It is ended when this is dropped, and so is a server that it started.
#[derive(Debug)]
pub struct McpClient {
    child: Child,
    input: Option<ChildStdin>,
    events: Receiver<Value>,
}

impl McpClient {
    /// Has it start `countersign mcp` in `home`, with more arguments.
    pub fn start(sdk: &Sdk, home: &Home, arguments: &[&str]) -> Result<Self> {
        let mut client = home.command("node");
        client.arg(script()).arg(&sdk.0).arg(countersign()?).arg("mcp").args(arguments);
        Self::connect(&mut client)
    }

    /// Has it call a server that listens at `url` and knows its clients by `token`.
    pub fn reach(sdk: &Sdk, home: &Home, url: &str, token: &str) -> Result<Self> {
        let mut client = home.command("node");
        client.arg(script()).arg(&sdk.0).arg(url).env("TOKEN", token);
        Self::connect(&mut client)
    }

    fn connect(client: &mut Command) -> Result<Self> {
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = client.spawn().context("could not start node")?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("standard output was not piped")?);
        let (sender, events) = channel();
        thread::spawn(move || {
            // Ends with its output, or when nobody wants to know any more.
            for line in output.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "event": line }));
                if sender.send(event).is_err() {
                    return;
                }
            }
        });
        let client = Self { child, input, events };
        let first = client.next()?;
        ensure!(first["event"] == "connected", "expected a connection, got {first}");
        Ok(client)
    }

    /// Tells it to call a tool; what comes of it has the same id.
    pub fn call(&mut self, id: &str, tool: &str, arguments: Value) -> Result<()> {
        self.tell(&json!({ "do": "call", "id": id, "tool": tool, "arguments": arguments }))
    }

    /// Tells it to call off a call.
    pub fn cancel(&mut self, id: &str) -> Result<()> {
        self.tell(&json!({ "do": "cancel", "id": id }))
    }

    /// Tells it to ask for the list of tools.
    pub fn list(&mut self) -> Result<()> {
        self.tell(&json!({ "do": "list" }))
    }

    fn tell(&mut self, command: &Value) -> Result<()> {
        let input = self.input.as_mut().context("the client was ended before")?;
        writeln!(input, "{command}").context("the client has ended")
    }

    /// The next thing that happens, in the form that `client.mjs` describes.
    pub fn next(&self) -> Result<Value> {
        self.events.recv_timeout(PATIENCE).context("nothing more happened at the client")
    }

    /// The same, which must be of this kind.
    pub fn expect(&self, event: &str) -> Result<Value> {
        let next = self.next()?;
        ensure!(next["event"] == event, "expected {event}, got {next}");
        Ok(next)
    }

    /// Has it end in an orderly way, and waits until it has.
    pub fn end(mut self) -> Result<()> {
        self.input = None;
        let status = self.child.wait()?;
        ensure!(status.success(), "the client ended with {status}");
        Ok(())
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        // One that ended by itself cannot be killed, which is fine; its server sees its input end.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Speaks with a `countersign mcp` of its own over standard input and output. That ends when this is dropped.
#[derive(Debug)]
pub struct PlainClient {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl PlainClient {
    /// Starts `countersign mcp` in `home`, with more arguments, and greets it.
    pub fn start(home: &Home, arguments: &[&str]) -> Result<Self> {
        let mut server = home.command(countersign()?);
        server.arg("mcp").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = server.spawn().context("could not start countersign mcp")?;
        let input = server.stdin.take().context("standard input was not piped")?;
        let output = BufReader::new(server.stdout.take().context("standard output was not piped")?);
        let mut client = Self { server, input, output, last: 0 };
        let id = client.ask("initialize", hello())?;
        let answer = client.answer(id)?;
        ensure!(answer["result"]["serverInfo"].is_object(), "expected a server, got {answer}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    /// Its server's process.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// Calls a tool; its answer has the id that comes back.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<u64> {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    /// Waits for an answer; what else comes is passed over.
    pub fn answer(&mut self, id: u64) -> Result<Value> {
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "countersign mcp ended");
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                return Ok(message);
            }
        }
    }

    /// Waits until it is told this; what else comes is passed over.
    pub fn told(&mut self, method: &str) -> Result<Value> {
        loop {
            let mut line = String::new();
            ensure!(self.output.read_line(&mut line)? > 0, "countersign mcp ended");
            let mut message: Value = serde_json::from_str(&line)?;
            if message["method"] == method {
                return Ok(message["params"].take());
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<u64> {
        self.last += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }))?;
        Ok(self.last)
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        // In one piece: a line in two would cost the server a second look.
        let mut line = message.to_string();
        line.push('\n');
        self.input.write_all(line.as_bytes()).context("countersign mcp has ended")
    }
}

impl Drop for PlainClient {
    fn drop(&mut self) {
        // One that ended by itself cannot be killed, which is fine.
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

/// Speaks with a server that `countersign mcp` serves over HTTP. Each of its calls is a connection, which
/// ends with the answer.
#[derive(Debug)]
pub struct HttpClient {
    address: String,
    token: String,
    session: String,
    last: u64,
}

impl HttpClient {
    /// Greets the server at `url`, which knows its clients by `token`.
    pub fn connect(url: &str, token: &str) -> Result<Self> {
        let address = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.with_context(|| format!("expected an address of MCP, got {url}"))?.to_owned();
        let mut client = Self { address, token: token.to_owned(), session: String::new(), last: 0 };
        let greeted = client.ask("initialize", hello())?;
        let head = BufReader::new(greeted).lines().map_while(Result::ok);
        let mut head = head.take_while(|line| !line.is_empty());
        let session = head.find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
        });
        client.session = session.context("the server began no session")?;
        let told = client.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        ensure!(std::io::read_to_string(told)?.starts_with("HTTP/1.1 202 "), "the server took no greeting");
        Ok(client)
    }

    /// Calls a tool. What is read from the connection to its end is all of the answer, with HTTP's own lines.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Result<TcpStream> {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<TcpStream> {
        self.last += 1;
        self.post(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }))
    }

    fn post(&self, message: &Value) -> Result<TcpStream> {
        let Self { address, token, session, .. } = self;
        let (body, session) = (
            message.to_string(),
            match session.as_str() {
                "" => String::new(),
                session => format!("Mcp-Session-Id: {session}\r\nMcp-Protocol-Version: {PROTOCOL}\r\n"),
            },
        );
        let mut stream = TcpStream::connect(address)?;
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{session}\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )?;
        Ok(stream)
    }
}

/// What a plain client says of itself.
fn hello() -> Value {
    json!({
        "protocolVersion": PROTOCOL,
        "capabilities": {},
        "clientInfo": { "name": "plain", "version": "1" },
    })
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp/client.mjs")
}

/// The version of the protocol that the plain clients speak.
const PROTOCOL: &str = "2025-06-18";

/// Names the folder of the SDK.
const VARIABLE: &str = "COUNTERSIGN_MCP_SDK";
