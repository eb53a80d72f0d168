//! A gateway on a real port whose tools do what the test says, and programs that speak to it.

use crate::embedded::*;
use countersign_protocol::gateway::policy::PolicyFile;
use countersign_protocol::tools::{RemovedTool, ToolCall, ToolCaller, ToolFailure, ToolOutput, ToolView};
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use std::os::fd::BorrowedFd;
use std::sync::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

pub(in crate::embedded) const TOKEN: &str = "a token of this test";

/// Longest wait for what has to happen; the gateway's own longest wait for a body is shorter. It says that a
/// test fails, and never how fast the machine is: where all is well, nothing takes nearly as long, however
/// slow and busy that is.
pub(in crate::embedded) const IN_TIME: Duration = Duration::from_secs(120);

/// What comes in time.
async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(IN_TIME, what).await.expect("in time")
}

/// A call that the tool service has and did not answer yet.
pub(in crate::embedded) struct Running {
    pub(in crate::embedded) call: ToolCall,
    pub(in crate::embedded) gone: CancellationToken,
    pub(in crate::embedded) answer: oneshot::Sender<Result<ToolOutput, ToolError>>,
}

impl Running {
    /// Waits until it is called off.
    pub(in crate::embedded) async fn called_off(&self) {
        in_time(self.gone.cancelled()).await;
    }

    /// Ends it with a text.
    pub(in crate::embedded) fn bring(self, text: &str) {
        let _ = self.answer.send(Ok(ToolOutput { text: text.to_owned(), details: None, events: Vec::new() }));
    }
}

/// Tools that the test answers for. Approvals are none of its business.
pub(in crate::embedded) struct Scripted {
    listed: Mutex<Vec<ToolCaller>>,
    listing: Result<Listing, ToolError>,
    running: mpsc::UnboundedSender<Running>,
    events: broadcast::Sender<Happened>,
}

impl Backend for Scripted {
    async fn submit(&self, _: Submission) -> Result<Arc<KnownApproval>, NotTaken> {
        Err(NotTaken::Unavailable("no approvals here".to_owned()))
    }

    async fn resolve(&self, _: &str, _: Verdict) -> Result<(), NotCounted> {
        Err(NotCounted::Gone)
    }

    async fn pending(&self) -> Vec<Arc<KnownApproval>> {
        Vec::new()
    }

    async fn find(&self, _: &str) -> Option<Arc<KnownApproval>> {
        None
    }

    fn past(&self) -> Vec<Arc<KnownApproval>> {
        Vec::new()
    }

    async fn wait(&self, _: &str) -> Option<Option<Decision>> {
        None
    }

    async fn consume(&self, _: &str, _: Use) -> bool {
        false
    }

    fn agreed(&self, _: &[String], _: Option<&str>) -> Option<Agreed> {
        None
    }

    fn events(&self) -> broadcast::Receiver<Happened> {
        self.events.subscribe()
    }

    fn has_own_presenter(&self) -> bool {
        false
    }

    fn is_handed_on(&self, _: &Submission) -> bool {
        false
    }

    async fn policy(&self) -> Result<PolicyFile, PolicyError> {
        Err(PolicyError::Unavailable("no document here".to_owned()))
    }

    async fn set_policy(&self, _: Map<String, Value>, _: String) -> Result<PolicyFile, PolicyError> {
        Err(PolicyError::Unavailable("no document here".to_owned()))
    }

    async fn say(&self, _: &str, _: &str, _: &str) -> Result<Heard, NotHeard> {
        Err(NotHeard::Unavailable("no sessions here".to_owned()))
    }

    fn tell_session(&self, _: &SessionKey, _: &str, _: String) {}

    fn take_events(&self, _: &SessionKey) -> Vec<SessionEvent> {
        Vec::new()
    }

    async fn tools(&self, caller: ToolCaller) -> Result<Listing, ToolError> {
        self.listed.lock().unwrap().push(caller);
        self.listing.clone()
    }

    async fn call_tool(&self, call: ToolCall, gone: CancellationToken) -> Result<ToolOutput, ToolError> {
        let (answer, answered) = oneshot::channel();
        self.running.send(Running { call, gone, answer }).unwrap();
        answered.await.unwrap_or_else(|_| {
            Err(ToolError::Failed { failure: ToolFailure::Aborted, message: "called off".to_owned() })
        })
    }

    fn shown(&self, text: &str) -> String {
        text.to_owned()
    }

    fn has_room_for(&self, _: BorrowedFd<'_>) -> bool {
        true
    }

    fn now_ms(&self) -> i64 {
        1_760_000_000_000
    }

    fn steady_ms(&self) -> i64 {
        1_000
    }
}

/// What the tools of these tests are.
pub(in crate::embedded) fn listing() -> Listing {
    let tool = |name: &str, properties: Value| ToolView {
        name: name.to_owned(),
        description: format!("Does {name}.\n\nAnd more."),
        parameters: json!({ "type": "object", "properties": properties }),
    };
    let catalogued = |name: &str, section: &str, profiles: &[&str]| Catalogued {
        name: name.to_owned(),
        description: format!("Does {name}.\n\nAnd more."),
        section: section.to_owned(),
        profiles: profiles.iter().map(|profile| (*profile).to_owned()).collect(),
    };
    Listing {
        profile: Some("coding".to_owned()),
        tools: vec![
            tool("exec", json!({ "command": { "type": "string" } })),
            tool("process", json!({ "action": { "type": "string" } })),
        ],
        declarations: vec![json!({ "name": "exec", "input_schema": {} })],
        removed: vec![RemovedTool { name: "write_file".to_owned(), step: "tools.global".to_owned() }],
        warnings: vec!["tools: unknown entry".to_owned()],
        catalog: vec![
            catalogued("exec", "runtime", &["coding", "mine"]),
            catalogued("odd", "elsewhere", &[]),
            catalogued("process", "runtime", &["coding"]),
            catalogued("write_file", "fs", &["coding"]),
        ],
    }
}

/// A gateway that serves until it is dropped.
pub(in crate::embedded) struct Rig {
    pub(in crate::embedded) address: SocketAddr,
    pub(in crate::embedded) running: mpsc::UnboundedReceiver<Running>,
    pub(in crate::embedded) stop: CancellationToken,
    pub(in crate::embedded) serving: JoinHandle<std::io::Result<()>>,
    pub(in crate::embedded) gateway: Embedded<Scripted>,
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Rig {
    pub(in crate::embedded) async fn new() -> Self {
        Self::of(Ok(listing())).await
    }

    pub(in crate::embedded) async fn of(listing: Result<Listing, ToolError>) -> Self {
        Self::of_person(rustix::process::geteuid().as_raw(), listing).await
    }

    /// The gateway of the person with this number.
    pub(in crate::embedded) async fn of_person(own: u32, listing: Result<Listing, ToolError>) -> Self {
        let (sender, running) = mpsc::unbounded_channel();
        let backend = Scripted {
            listed: Mutex::default(),
            listing,
            running: sender,
            events: broadcast::Sender::new(1),
        };
        let config = Config {
            token: TOKEN.to_owned().into(),
            local_pairing: LocalPairing::Silent,
            devices: Vec::new(),
            keep: Box::new(|_| {}),
        };
        let gateway = Embedded::of(own, backend, config);
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let (served, ending) = (gateway.clone(), stop.clone());
        let serving = tokio::spawn(async move { served.serve(listener, ending).await });
        Self { address, running, stop, serving, gateway }
    }

    /// Who was listed the tools for, since this was asked last.
    pub(in crate::embedded) fn listed(&self) -> Vec<ToolCaller> {
        std::mem::take(&mut *self.gateway.backend().listed.lock().unwrap())
    }

    /// The next call that reaches the tools.
    pub(in crate::embedded) async fn call(&mut self) -> Running {
        in_time(self.running.recv()).await.unwrap()
    }

    /// Fails when a call reached the tools.
    pub(in crate::embedded) fn assert_quiet(&mut self, why: &str) {
        if let Ok(running) = self.running.try_recv() {
            panic!("{why}: {:?} was called", running.call);
        }
    }

    /// Calls a tool with the token; the request is on its way.
    pub(in crate::embedded) async fn post(&self, body: &Value) -> Exchange {
        self.send(&post(TOKEN, &[], &body.to_string())).await
    }

    /// Calls a tool with the token, which is not expected to reach it.
    pub(in crate::embedded) async fn posted(&self, body: &Value) -> Answer {
        self.post(body).await.answer().await
    }

    /// Gets a path with the token.
    pub(in crate::embedded) async fn get(&self, path: &str) -> Answer {
        let text = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n", bearer(TOKEN));
        self.send(&text).await.answer().await
    }

    /// Sends this text as a request of its own.
    pub(in crate::embedded) async fn send(&self, text: &str) -> Exchange {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        Exchange(stream)
    }

    /// An operator or node over the WebSocket.
    pub(in crate::embedded) async fn client(&self, role: &str, scopes: &[&str]) -> Result<Client, Value> {
        self.client_with(TOKEN, role, scopes).await
    }

    /// The same with a token of one's own.
    pub(in crate::embedded) async fn client_with(
        &self,
        token: &str,
        role: &str,
        scopes: &[&str],
    ) -> Result<Client, Value> {
        let (socket, _) = connect_async(format!("ws://{}", self.address)).await.unwrap();
        let mut client = Client(socket);
        client.next().await;
        let params = json!({
            "minProtocol": 3, "maxProtocol": 4, "role": role, "scopes": scopes, "auth": { "token": token },
            "client": { "id": "cli", "displayName": "a client", "version": "1", "platform": "linux", "mode": "cli" },
        });
        client.call("connect", params).await.map(|_| client)
    }
}

/// The header with a token.
pub(in crate::embedded) fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}")
}

/// The text of a call.
pub(in crate::embedded) fn post(token: &str, headers: &[&str], body: &str) -> String {
    let mut text = format!("POST /tools/invoke HTTP/1.1\r\nHost: 127.0.0.1\r\n{}\r\n", bearer(token));
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    format!("{text}Content-Length: {}\r\n\r\n{body}", body.len())
}

/// A request that was sent.
pub(in crate::embedded) struct Exchange(TcpStream);

/// What came back.
#[derive(Debug)]
pub(in crate::embedded) struct Answer {
    pub(in crate::embedded) status: u16,
    head: String,
    pub(in crate::embedded) body: Value,
}

impl Exchange {
    /// Reads all that comes until the connection ends.
    pub(in crate::embedded) async fn text(mut self) -> String {
        let mut text = String::new();
        in_time(self.0.read_to_string(&mut text)).await.unwrap();
        text
    }

    /// Waits until the connection ends, however it does.
    pub(in crate::embedded) async fn over(mut self) {
        let _ = in_time(self.0.read_to_end(&mut Vec::new())).await;
    }

    /// Reads the answer.
    pub(in crate::embedded) async fn answer(mut self) -> Answer {
        let mut bytes = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&bytes);
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = header(head, "content-length").and_then(|length| length.parse::<usize>().ok());
                if body.len() == length.expect("a length") {
                    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                    return Answer {
                        status,
                        head: head.to_owned(),
                        body: serde_json::from_str(body).unwrap(),
                    };
                }
            }
            let before = bytes.len();
            in_time(self.0.read_buf(&mut bytes)).await.unwrap();
            assert_ne!(
                bytes.len(),
                before,
                "the connection ended after {:?}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}

impl Answer {
    /// A header, by its name in small letters.
    pub(in crate::embedded) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    /// Status, type and message of what is no result.
    pub(in crate::embedded) fn error(&self) -> (u16, &str, &str) {
        assert_eq!(self.body["ok"], false, "{self:?}");
        let text = |name: &str| self.body["error"][name].as_str().unwrap();
        (self.status, text("type"), text("message"))
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let named = |line: &'a str| line.split_once(": ").filter(|(found, _)| found.eq_ignore_ascii_case(name));
    head.lines().find_map(named).map(|(_, value)| value)
}

/// A program over the WebSocket.
pub(in crate::embedded) struct Client(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Client {
    async fn next(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.0.next().await.expect("an open connection").unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// What a call comes to: payload, or error.
    pub(in crate::embedded) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let request = json!({ "type": "req", "id": method, "method": method, "params": params }).to_string();
        self.0.send(Message::Text(request.into())).await.unwrap();
        loop {
            let mut frame = self.next().await;
            if frame["type"] == "res" && frame["id"] == method {
                return if frame["ok"] == true {
                    Ok(frame["payload"].take())
                } else {
                    Err(frame["error"].take())
                };
            }
        }
    }
}
