//! An app that answers what a test says, on a real control socket.

use super::PATIENCE;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::tools::{ToolCall, ToolFailure, ToolOutput};
use serde_json::Value;
use std::path::Path;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

pub(super) struct App {
    listener: UnixListener,
}

/// A request that waits for what the test says.
pub(super) struct HeldRequest {
    pub(super) request: ControlRequest,
    stream: BufReader<UnixStream>,
}

impl App {
    pub(super) fn listen(path: &Path) -> Self {
        Self { listener: UnixListener::bind(path).unwrap() }
    }

    /// The next request.
    pub(super) async fn asked(&self) -> HeldRequest {
        let (stream, _) = timeout(PATIENCE, self.listener.accept()).await.expect("the app is asked").unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        timeout(PATIENCE, stream.read_line(&mut line)).await.expect("a whole request").unwrap();
        HeldRequest { request: serde_json::from_str(&line).unwrap(), stream }
    }

    /// The next request, which calls a tool.
    pub(super) async fn called(&self) -> (ToolCall, HeldRequest) {
        let asked = self.asked().await;
        match &asked.request {
            ControlRequest::CallTool { call } | ControlRequest::PermitTool { call, .. } => {
                (call.as_ref().clone(), asked)
            }
            other => panic!("expected a call, got {other:?}"),
        }
    }
}

impl HeldRequest {
    pub(super) async fn write(&mut self, line: &str) {
        self.try_write(line).await.unwrap();
    }

    /// The same to somebody who may be gone.
    pub(super) async fn try_write(&mut self, line: &str) -> std::io::Result<()> {
        self.stream.write_all(line.as_bytes()).await
    }

    async fn say(&mut self, response: &ControlResponse) {
        self.write(&format!("{}\n", serde_json::to_string(response).unwrap())).await;
    }

    pub(super) async fn report(&mut self, text: &str) {
        self.say(&ControlResponse::Progress { text: text.to_owned() }).await;
    }

    pub(super) async fn answer(mut self, response: ControlResponse) {
        self.say(&response).await;
    }

    pub(super) async fn bring(self, text: &str, details: Option<Value>) {
        let output = Some(ToolOutput { text: text.to_owned(), details, events: Vec::new() });
        self.answer(ControlResponse::Called { output, failure: None, message: String::new() }).await;
    }

    pub(super) async fn fail(self, failure: ToolFailure, message: &str) {
        let (failure, message) = (Some(failure), message.to_owned());
        self.answer(ControlResponse::Called { output: None, failure, message }).await;
    }

    /// Waits until whoever asked has gone.
    pub(super) async fn gone(mut self) {
        let mut rest = [0_u8; 1];
        let read = timeout(PATIENCE, self.stream.read(&mut rest)).await.expect("the connection is closed");
        assert_eq!(read.unwrap(), 0);
    }
}
