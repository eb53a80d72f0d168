//! Tools behind the gateway's own backend.

use super::*;
use countersign_approvals::book::DEFAULT_MAX_PENDING;
use countersign_gateway::embedded::{Backend as _, Listing, ToolError};
use countersign_protocol::tools::{ToolCall, ToolCaller, ToolOutput};
use futures_util::future::BoxFuture;
use pretty_assertions::assert_eq;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Tools that say who called.
struct Echo;

impl super::super::tools::Tools for Echo {
    fn list(&self, caller: ToolCaller) -> BoxFuture<'_, Result<Listing, ToolError>> {
        Box::pin(async move { Ok(Listing { warnings: vec![caller.agent], ..Listing::default() }) })
    }

    fn call(&self, call: ToolCall, gone: CancellationToken) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            gone.cancelled().await;
            Ok(ToolOutput { text: call.tool, details: None, events: Vec::new() })
        })
    }
}

#[tokio::test]
async fn tools_are_those_of_whoever_has_them() {
    let rig = Rig::new().await;
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let ports = Ports::system();
    let approvals = Approvals::start(ports.clone(), DEFAULT_MAX_PENDING, &tracker, stop.clone());
    let parts = forward::Parts {
        approvals: approvals.clone(),
        ports: ports.clone(),
        environment: BTreeMap::new(),
        connections: None,
    };
    let presence = Presence::ClientsOnly(Forward::start(&rig.paths, parts, &tracker, stop.clone()));
    let policies = Policies::open(&rig.paths, ports.clone(), &tracker, stop.clone()).unwrap();
    let offered = Offered::default();
    offered.set(Arc::new(Echo));
    let backend = GatewayBackend::new(approvals, policies, ports, presence, offered, tracker, stop.clone());
    let caller = ToolCaller { agent: "coder".to_owned(), ..ToolCaller::default() };
    assert_eq!(backend.tools(caller.clone()).await.unwrap().warnings, ["coder"]);
    let call = ToolCall {
        id: "1".to_owned(),
        tool: "exec".to_owned(),
        params: serde_json::Map::new(),
        caller,
        approval_timeout_ms: None,
        takes_command: false,
        is_quiet: false,
    };
    let gone = CancellationToken::new();
    gone.cancel();
    assert_eq!(backend.call_tool(call, gone).await.unwrap().text, "exec");
    stop.cancel();
}

#[tokio::test]
async fn a_gateway_alone_serves_no_tools_to_whoever_holds_its_token() {
    let rig = Rig::new().await;
    let body = r#"{"tool":"exec","args":{"command":"id"}}"#;
    let text = format!(
        "POST /tools/invoke HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(rig.serving.address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.ends_with(r#""message":"tools are not served here"}}"#), "{answer}");
    rig.serving.stop().await;
}
