//! A client of the Model Context Protocol by the official SDK (`tests/mcp/client.mjs`), told what to do and asked what happened.

use crate::home::Home;
use crate::process::{PATIENCE, countersign};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
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

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp/client.mjs")
}

/// Names the folder of the SDK.
const VARIABLE: &str = "COUNTERSIGN_MCP_SDK";
