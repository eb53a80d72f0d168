//! The server as its clients meet it, with a scripted app behind it.

mod calls;
mod http;
mod malformed;
mod permission;
mod scripted;

use super::*;
use pretty_assertions::assert_eq;
use scripted::{App, HeldRequest};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// A folder for the state, and what is served there.
struct Home {
    _folder: TempDir,
    paths: Paths,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().to_str().unwrap().to_owned();
        let env =
            BTreeMap::from([("HOME".to_owned(), state.clone()), ("COUNTERSIGN_STATE_DIR".to_owned(), state)]);
        Self { paths: Paths::from_env(&env).unwrap(), _folder: folder }
    }

    /// An app that waits to be told what to answer.
    fn app(&self) -> App {
        App::listen(&self.paths.control_socket())
    }
}

fn options() -> Options {
    let identity = Identity { workspace: "/work".to_owned(), ..Identity::default() };
    Options { identity, approval_timeout: None, approve: Approve::Offered, known_as: None }
}

/// A client over lines.
struct Client {
    lines: BufReader<ReadHalf<DuplexStream>>,
    output: WriteHalf<DuplexStream>,
    stop: CancellationToken,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl Client {
    /// One that the server does not know yet.
    fn stranger(home: &Home, options: Options) -> Self {
        let (near, far) = duplex(PIPE);
        let stop = CancellationToken::new();
        let paths = home.paths.clone();
        let serving = tokio::spawn({
            let stop = stop.clone();
            async move { serve(&paths, options, split(far), stop).await }
        });
        let (input, output) = split(near);
        Self { lines: BufReader::new(input), output, stop, serving }
    }

    async fn with(home: &Home, options: Options) -> Self {
        let mut client = Self::stranger(home, options);
        let answer = client.ask("hello", "initialize", initialize()).await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "countersign", "{answer}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn new(home: &Home) -> Self {
        Self::with(home, options()).await
    }

    async fn send(&mut self, message: &Value) {
        self.write(&message.to_string()).await;
    }

    async fn write(&mut self, line: &str) {
        self.output.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// The next message.
    async fn next(&mut self) -> Value {
        let mut line = String::new();
        timeout(PATIENCE, self.lines.read_line(&mut line)).await.expect("a message in time").unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id: Value = id.into();
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    async fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        self.request(id, "tools/call", json!({"name": tool, "arguments": arguments})).await;
    }

    async fn cancel(&mut self, id: impl Into<Value>) {
        let id: Value = id.into();
        let params = json!({"requestId": id, "reason": "the person pressed escape"});
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    }

    /// The answer to a request that needs no app.
    async fn ask(&mut self, id: &str, method: &str, params: Value) -> Value {
        self.request(id, method, params).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// That nothing more was said: the next message answers this.
    async fn expect_silence(&mut self) {
        let answer = self.ask("anything else?", "ping", json!({})).await;
        assert_eq!(answer["result"], json!({}));
    }

    /// Goes, and waits for the server's end.
    async fn leave(self) {
        let Self { lines, output, serving, .. } = self;
        drop((lines, output));
        timeout(PATIENCE, serving).await.expect("the server ends").unwrap().unwrap();
    }
}

fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "Claude Code", "version": "2.1"},
    })
}

/// Bytes between a client and the server, as in a pipe.
const PIPE: usize = 64 * 1_024;

/// Longest wait for what has to happen. It says that a test fails, and never how fast the machine is: where
/// all is well, nothing takes nearly as long, however slow and busy that is.
const PATIENCE: Duration = Duration::from_secs(120);
