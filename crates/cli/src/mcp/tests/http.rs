//! Clients over HTTP: who is let in, and what is one session's.

use super::*;
use crate::mcp::sessions::SESSIONS;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::tools::Permission;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::handshake;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use pretty_assertions::assert_eq;
use std::os::unix::fs::PermissionsExt as _;
use tokio::net::TcpStream;

struct Server {
    home: Home,
    url: String,
    token: String,
    stop: CancellationToken,
    serving: JoinHandle<()>,
}

impl Server {
    async fn new() -> Self {
        let home = Home::new();
        let stop = CancellationToken::new();
        let http = Http::bind(&home.paths, options(), 0, stop.clone()).await.unwrap();
        let url = http.url();
        let file = http.token_file().clone();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let token = std::fs::read_to_string(file).unwrap();
        let serving = tokio::spawn(http.serve());
        Self { home, url, token, stop, serving }
    }

    fn host(&self) -> &str {
        self.url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap()
    }

    /// What a client of the usual kind sends, to be changed by the test.
    fn request(&self, session: Option<&str>, message: &Value) -> Request<Full<Bytes>> {
        let mut request = Request::builder()
            .method(Method::POST)
            .uri("/mcp")
            .header("host", self.host())
            .header("authorization", format!("Bearer {}", self.token))
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session).header("mcp-protocol-version", "2025-06-18");
        }
        request.body(Full::new(Bytes::from(message.to_string()))).unwrap()
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        let stream = TcpStream::connect(self.host()).await.unwrap();
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        timeout(PATIENCE, sender.send_request(request)).await.expect("an answer in time").unwrap()
    }

    async fn status(&self, request: Request<Full<Bytes>>) -> StatusCode {
        self.send(request).await.status()
    }

    /// Opens a session.
    async fn session(&self) -> String {
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize()});
        let answer = self.send(self.request(None, &message)).await;
        assert_eq!(answer.status(), StatusCode::OK);
        answer.headers()["mcp-session-id"].to_str().unwrap().to_owned()
    }

    async fn call(&self, session: &str, id: i32, tool: &str, arguments: Value) -> Response<Incoming> {
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        let message = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        let answer = self.send(self.request(Some(session), &message)).await;
        assert_eq!(answer.status(), StatusCode::OK);
        answer
    }
}

/// The next message of a stream.
async fn message(answer: &mut Response<Incoming>) -> Value {
    loop {
        let frame = timeout(PATIENCE, answer.body_mut().frame()).await.expect("a message in time");
        let data = frame.expect("another message").unwrap().into_data().unwrap();
        let text = String::from_utf8(data.to_vec()).unwrap();
        let mut found = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        if let Some(found) = found.rfind(|text| !text.is_empty()) {
            return serde_json::from_str(found).unwrap();
        }
    }
}

fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 9, "method": "ping"})
}

#[tokio::test]
async fn two_sessions_have_nothing_to_do_with_each_other() {
    let server = Server::new().await;
    let app = server.home.app();
    let (one, two) = (server.session().await, server.session().await);
    assert_ne!(one, two);
    // Both use the same id.
    let mut first = server.call(&one, 1, "exec", json!({"command": "one"})).await;
    let (called_first, mut asked_first) = app.called().await;
    let mut second = server.call(&two, 1, "exec", json!({"command": "two"})).await;
    let (called_second, asked_second) = app.called().await;
    assert_ne!(called_first.caller.session, called_second.caller.session);
    assert_eq!(called_first.caller.agent, "claude-code");
    asked_first.report("soon").await;
    asked_second.bring("two", None).await;
    assert_eq!(message(&mut second).await["result"]["content"][0]["text"], "two");
    assert_eq!(
        message(&mut first).await["params"],
        json!({"progressToken": 1, "progress": 1.0, "message": "soon"})
    );
    // What one calls off is its own.
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(server.status(server.request(Some(&two), &cancelled)).await, StatusCode::ACCEPTED);
    asked_first.bring("one", None).await;
    assert_eq!(message(&mut first).await["result"]["content"][0]["text"], "one");
    let mut third =
        server.call(&one, 2, "approve", json!({"tool_name": "Bash", "input": {"command": "ls"}})).await;
    let (called, asked) = app.called().await;
    assert_eq!(called.caller.session, called_first.caller.session);
    asked.answer(ControlResponse::Permitted { permission: Permission::Allow, events: Vec::new() }).await;
    let said = &message(&mut third).await["result"]["content"][0]["text"];
    assert_eq!(said, r#"{"behavior":"allow","updatedInput":{"command":"ls"}}"#);
}

/// Gemini CLI 0.61.0 reads each event as a message: one without data ends its connection.
#[tokio::test]
async fn no_stream_has_an_event_without_data() {
    let server = Server::new().await;
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize()});
    let opened = server.send(server.request(None, &initialize)).await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let called = server.send(server.request(Some(&session), &call)).await;
    for answer in [opened, called] {
        let body = timeout(PATIENCE, answer.into_body().collect()).await.expect("an end in time").unwrap();
        let text = String::from_utf8(body.to_bytes().to_vec()).unwrap();
        let events: Vec<&str> = text.split("\n\n").filter(|event| !event.trim().is_empty()).collect();
        assert!(!events.is_empty(), "nothing came");
        for event in events {
            let mut data = event.lines().filter_map(|line| line.strip_prefix("data:"));
            assert!(data.any(|data| !data.trim().is_empty()), "{text:?}");
        }
    }
}

#[tokio::test]
async fn t03_nobody_comes_in_without_the_token() {
    let server = Server::new().await;
    let session = server.session().await;
    let with = |value: Option<&str>| {
        let mut request = server.request(Some(&session), &ping());
        request.headers_mut().remove("authorization");
        if let Some(value) = value {
            request.headers_mut().insert("authorization", value.parse().unwrap());
        }
        request
    };
    let right = server.token.clone();
    for (given, status) in [
        (None, StatusCode::UNAUTHORIZED),
        (Some(""), StatusCode::UNAUTHORIZED),
        (Some("Bearer"), StatusCode::UNAUTHORIZED),
        (Some("Bearer "), StatusCode::UNAUTHORIZED),
        (Some("Bearer wrong"), StatusCode::UNAUTHORIZED),
        (Some(&*right), StatusCode::UNAUTHORIZED),
        (Some(&*format!("Basic {right}")), StatusCode::UNAUTHORIZED),
        (Some(&*format!("Bearer {right}x")), StatusCode::UNAUTHORIZED),
        (Some(&*format!("Bearer {}", &right[1..])), StatusCode::UNAUTHORIZED),
        (Some(&*format!("bearer  {right}")), StatusCode::OK),
    ] {
        assert_eq!(server.status(with(given)).await, status, "{given:?}");
    }
    // Neither may another end a session, nor listen to it.
    for method in [Method::GET, Method::DELETE] {
        let mut request = with(None);
        *request.method_mut() = method;
        assert_eq!(server.status(request).await, StatusCode::UNAUTHORIZED);
    }
}

#[tokio::test]
async fn t03_a_page_of_a_browser_is_turned_away_even_with_the_token() {
    let server = Server::new().await;
    let session = server.session().await;
    let port = server.host().strip_prefix("127.0.0.1:").unwrap();
    let own = format!("http://{}", server.host());
    for (header, value, status) in [
        ("origin", "https://evil.example", StatusCode::FORBIDDEN),
        ("origin", "null", StatusCode::FORBIDDEN),
        ("origin", &own, StatusCode::FORBIDDEN),
        ("host", "evil.example", StatusCode::FORBIDDEN),
        ("host", &format!("evil.example:{port}"), StatusCode::FORBIDDEN),
        ("host", "127.0.0.1:1", StatusCode::FORBIDDEN),
        ("host", &format!("localhost:{port}"), StatusCode::OK),
    ] {
        let mut request = server.request(Some(&session), &ping());
        request.headers_mut().insert(header, value.parse().unwrap());
        assert_eq!(server.status(request).await, status, "{header}: {value}");
    }
}

#[tokio::test]
async fn what_is_no_message_of_a_session_is_refused() {
    let server = Server::new().await;
    let session = server.session().await;
    let mut elsewhere = server.request(Some(&session), &ping());
    *elsewhere.uri_mut() = "/".parse().unwrap();
    let long =
        json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"x": "x".repeat(MESSAGE_BYTES)}});
    let mut text = server.request(Some(&session), &ping());
    text.headers_mut().insert("content-type", "text/plain".parse().unwrap());
    let mut put = server.request(Some(&session), &ping());
    *put.method_mut() = Method::PUT;
    for (what, request, status) in [
        ("elsewhere", elsewhere, StatusCode::NOT_FOUND),
        ("too long", server.request(Some(&session), &long), StatusCode::PAYLOAD_TOO_LARGE),
        ("another form", text, StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("another method", put, StatusCode::METHOD_NOT_ALLOWED),
        ("no session", server.request(None, &ping()), StatusCode::BAD_REQUEST),
        ("a session of nobody's", server.request(Some("x"), &ping()), StatusCode::NOT_FOUND),
        ("no object", server.request(Some(&session), &json!(7)), StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("a ping", server.request(Some(&session), &ping()), StatusCode::OK),
    ] {
        assert_eq!(server.status(request).await, status, "{what}");
    }
}

#[tokio::test]
async fn a_session_that_ends_calls_off_what_it_called_at_once() {
    let server = Server::new().await;
    let app = server.home.app();
    let session = server.session().await;
    let _answer = server.call(&session, 1, "exec", json!({})).await;
    let (_, asked) = app.called().await;
    let mut end = server.request(Some(&session), &json!(null));
    *end.method_mut() = Method::DELETE;
    assert_eq!(server.status(end).await, StatusCode::ACCEPTED);
    asked.gone().await;
    assert_eq!(server.status(server.request(Some(&session), &ping())).await, StatusCode::NOT_FOUND);
}

/// Killed, it says nothing: only its connections are gone.
#[tokio::test]
async fn t05_what_a_client_asked_for_is_called_off_when_it_is_gone() {
    let server = Server::new().await;
    let app = server.home.app();
    let session = server.session().await;
    let answer = server.call(&session, 1, "exec", json!({})).await;
    let (_, asked) = app.called().await;
    drop(answer);
    asked.gone().await;
    // Its session is still there for who comes back.
    let again = server.call(&session, 2, "exec", json!({})).await;
    let (call, _held) = app.called().await;
    assert_eq!(call.tool, "exec");
    drop(again);
}

#[tokio::test]
async fn a_cancelled_call_ends_in_the_app_and_its_answer_ends_empty() {
    let server = Server::new().await;
    let app = server.home.app();
    let session = server.session().await;
    let answer = server.call(&session, 1, "exec", json!({})).await;
    let (_, asked) = app.called().await;
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    assert_eq!(server.status(server.request(Some(&session), &cancelled)).await, StatusCode::ACCEPTED);
    asked.gone().await;
    let rest = timeout(PATIENCE, answer.into_body().collect()).await.expect("it ends").unwrap().to_bytes();
    assert!(!String::from_utf8_lossy(&rest).contains("result"), "{rest:?}");
}

#[tokio::test]
async fn t05_an_id_belongs_to_one_request_of_a_session() {
    let server = Server::new().await;
    let app = server.home.app();
    let session = server.session().await;
    let mut first = server.call(&session, 1, "approve", json!({"tool_name": "Bash", "input": {}})).await;
    let (_, asked) = app.called().await;
    let params = json!({"name": "approve", "arguments": {"tool_name": "Write", "input": {}}});
    let again = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let refused = server.status(server.request(Some(&session), &again)).await;
    assert_eq!(refused, StatusCode::INTERNAL_SERVER_ERROR);
    asked.answer(ControlResponse::Permitted { permission: Permission::Allow, events: Vec::new() }).await;
    let said = &message(&mut first).await["result"]["content"][0]["text"];
    assert_eq!(said, r#"{"behavior":"allow","updatedInput":{}}"#);
}

#[tokio::test]
async fn there_are_only_so_many_sessions_and_one_that_ends_makes_room() {
    let server = Server::new().await;
    let mut sessions = Vec::new();
    for _ in 0..SESSIONS {
        sessions.push(server.session().await);
    }
    let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": initialize()});
    let refused = server.status(server.request(None, &message)).await;
    assert_eq!(refused, StatusCode::SERVICE_UNAVAILABLE);
    // Those that are open go on.
    assert_eq!(server.status(server.request(Some(&sessions[0]), &ping())).await, StatusCode::OK);
    let mut end = server.request(Some(&sessions[0]), &json!(null));
    *end.method_mut() = Method::DELETE;
    assert_eq!(server.status(end).await, StatusCode::ACCEPTED);
    server.session().await;
}

#[tokio::test]
async fn a_client_that_keeps_no_session_is_served_and_its_going_calls_off_its_call() {
    let server = Server::new().await;
    let app = server.home.app();
    let request = |method: &str, name: Option<&str>| {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "newer", "version": "3"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut params = json!({"_meta": meta});
        if let Some(name) = name {
            params["name"] = name.into();
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut request = server.request(None, &message);
        request.headers_mut().insert("mcp-protocol-version", "2026-07-28".parse().unwrap());
        request.headers_mut().insert("mcp-method", method.parse().unwrap());
        if let Some(name) = name {
            request.headers_mut().insert("mcp-name", name.parse().unwrap());
        }
        request
    };
    let answered = async {
        let asked = app.asked().await;
        let ControlRequest::Tools { caller } = &asked.request else { panic!("{:?}", asked.request) };
        assert_eq!((caller.agent.as_str(), caller.client.as_deref()), ("newer", Some("newer 3")));
        asked
            .answer(ControlResponse::Tools {
                tools: vec![],
                removed: vec![],
                warnings: vec![],
                steps: Vec::new(),
                standing: Default::default(),
            })
            .await;
    };
    let (mut answer, ()) = tokio::join!(server.send(request("tools/list", None)), answered);
    assert_eq!(message(&mut answer).await["result"]["tools"][0]["name"], "approve");

    let calling = server.send(request("tools/call", Some("exec")));
    let asked = tokio::select! {
        answer = calling => panic!("{answer:?}"),
        (_, asked) = app.called() => asked,
    };
    asked.gone().await;
}

#[tokio::test]
async fn told_to_end_the_server_calls_off_everything_and_ends() {
    let server = Server::new().await;
    let app = server.home.app();
    let session = server.session().await;
    let _answer = server.call(&session, 1, "exec", json!({})).await;
    let (_, asked) = app.called().await;
    server.stop.cancel();
    asked.gone().await;
    timeout(PATIENCE, server.serving).await.expect("the server ends").unwrap();
}

#[tokio::test]
async fn a_port_that_is_taken_and_a_token_that_others_may_read_are_errors() {
    let server = Server::new().await;
    let port = server.host().rsplit(':').next().unwrap().parse().unwrap();
    let bind = |port| Http::bind(&server.home.paths, options(), port, CancellationToken::new());
    assert!(matches!(bind(port).await, Err(ServeError::Bind { port: taken, .. }) if taken == port));
    let file = server.home.paths.mcp().join("token");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let Err(error) = bind(0).await else { panic!("expected no server") };
    assert!(error.to_string().contains("chmod 600"), "{error}");
}
