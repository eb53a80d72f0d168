//! The tools behind the app's own gateway: what its token opens, and what it does not.

use super::*;
use countersign_gateway::embedded::ToolError;
use countersign_peers::gateway::{self, EmbeddedGateway, TOKEN_FILE, Tools as Served};
use countersign_protocol::ui::EmbeddedState;
use pretty_assertions::assert_eq;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

impl Rig {
    fn over_gateway(&self, tool: &str, params: &Value) -> ToolCall {
        let mut call = self.call(tool, params);
        call.caller.client = Some("script 1".into());
        call
    }

    async fn called_over_gateway(
        &self,
        call: ToolCall,
        answer: Answering,
    ) -> (Result<String, ToolError>, Option<Arc<Record>>) {
        let called = Served::call(&self.tools, call, CancellationToken::new());
        let (output, record) = self.answered(called, answer).await;
        (output.map(|output| output.text), record)
    }

    /// The app's own gateway with these tools, and its address.
    async fn serve(&self) -> (EmbeddedGateway, String) {
        let gateway = EmbeddedGateway::start(
            gateway::Parts {
                approvals: self.core.approvals.clone(),
                store: self.core.store.clone(),
                host: self.core.host.clone(),
                ports: self.core.ports.clone(),
                events: self.tools.inner.parts.events.clone(),
                paths: self.paths.clone(),
                folder: self.paths.gateway(),
                settings: self.core.settings.watch_gateway(),
                pet: self.core.settings.watch_pet(),
                port: Some(0),
            },
            &self.tracker,
            CancellationToken::new(),
        );
        gateway.offer(Arc::new(self.tools.clone()));
        let mut changes = gateway.changes();
        loop {
            if let EmbeddedState::Serving { url } = gateway.view().state {
                return (gateway, url.trim_start_matches("ws://").to_owned());
            }
            changes.changed().await.unwrap();
        }
    }

    fn token(&self) -> String {
        fs::read_to_string(self.paths.gateway().join(TOKEN_FILE)).unwrap().trim().to_owned()
    }
}

async fn http(address: &str, head: &str, token: &str, body: &str) -> (u16, Value) {
    let text = format!(
        "{head} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn t03_the_gateways_token_reads_no_file_unasked() {
    let rig = rig();
    fs::write(rig.work().join("a.txt"), "mine\n").unwrap();
    let call = || rig.over_gateway("read_file", &json!({ "path": "a.txt" }));
    let (called, record) = rig.called_over_gateway(call(), NO).await;
    assert!(matches!(called, Err(ToolError::Failed { failure: ToolFailure::Denied, .. })), "{called:?}");
    assert!(record.is_some());
    let (called, _) = rig.called_over_gateway(call(), YES).await;
    assert!(called.unwrap().contains("mine"));
    let trusting = Rig::new(&json!({ "gateway": { "askAbout": [] } }));
    fs::write(trusting.work().join("a.txt"), "mine\n").unwrap();
    let call = trusting.over_gateway("read_file", &json!({ "path": "a.txt" }));
    let (called, record) = trusting.called_over_gateway(call, NO).await;
    assert!(called.unwrap().contains("mine") && record.is_none(), "the person set it so");
}

#[tokio::test(flavor = "multi_thread")]
async fn t03_the_gateways_token_learns_nothing_of_what_there_is_without_a_question() {
    let rig = rig();
    fs::write(rig.work().join("there.txt"), "mine\n").unwrap();
    fs::create_dir(rig.work().join("folder")).unwrap();
    let edit = |path: &str| ("edit_file", json!({ "path": path, "old_text": "a", "new_text": "b" }));
    let read = |path: &str| ("read_file", json!({ "path": path }));
    let mut told = Vec::new();
    for (tool, params) in
        [read("there.txt"), read("missing.txt"), read("folder"), read("no/folder/x"), edit("missing.txt")]
    {
        let (called, record) = rig.called_over_gateway(rig.over_gateway(tool, &params), NO).await;
        assert!(record.is_some(), "{params}: nobody was asked");
        told.push(called.unwrap_err());
    }
    assert!(told.iter().all(|error| error == &told[0]), "{told:?}");
    let (called, _) =
        rig.called_over_gateway(rig.over_gateway("read_file", &read("missing.txt").1), YES).await;
    let Err(ToolError::Failed { failure: ToolFailure::Failed, message }) = called else {
        panic!("{called:?}")
    };
    assert!(message.contains("missing.txt"), "{message}");
    let trusting = Rig::new(&json!({ "gateway": { "askAbout": [] } }));
    let call = trusting.over_gateway("read_file", &read("missing.txt").1);
    let (called, record) = trusting.called_over_gateway(call, NO).await;
    assert!(called.is_err() && record.is_none(), "the person set it so");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_workspace_file_tools_are_refused_and_commands_start_in_the_home() {
    let rig = rig();
    let mut call = rig.over_gateway("write_file", &json!({ "path": "a.txt", "content": "x" }));
    call.caller.workspace = String::new();
    let (called, record) = rig.called_over_gateway(call, YES).await;
    let Err(ToolError::Failed { failure: ToolFailure::Invalid, message }) = called else {
        panic!("{called:?}")
    };
    assert!(message.starts_with("workspace: write_file needs"), "{message}");
    assert!(record.is_none() && !rig.home.path().join("a.txt").exists());
    let mut call = rig.over_gateway("exec", &json!({ "command": "pwd" }));
    call.caller.workspace = String::new();
    let (called, _) = rig.called_over_gateway(call, YES).await;
    let home = fs::canonicalize(rig.home.path()).unwrap();
    assert!(called.unwrap().contains(&home.display().to_string()));
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_there_is_is_catalogued_with_the_profiles_that_let_it_through() {
    let rig = Rig::new(&json!({ "profile": "coding", "deny": ["exec"] }));
    let listing = Served::list(&rig.tools, rig.caller()).await.unwrap();
    assert_eq!(listing.profile.as_deref(), Some("coding"));
    let found = |name: &str| listing.catalog.iter().find(|tool| tool.name == name).unwrap().clone();
    let exec = found("exec");
    assert_eq!((exec.section.as_str(), exec.profiles), ("runtime", vec!["coding".into(), "full".into()]));
    let patch = found("apply_patch");
    assert_eq!((patch.section.as_str(), patch.profiles), ("fs", vec!["coding".into(), "full".into()]));
    assert!(!listing.tools.iter().any(|tool| tool.name == "exec"));
    assert!(listing.declarations.is_empty(), "no provider, no declarations");
    let gemini = ToolCaller { provider: Some("google".into()), ..rig.caller() };
    let listing = Served::list(&rig.tools, gemini).await.unwrap();
    assert_eq!(listing.declarations.len(), listing.tools.len());
    assert!(listing.declarations.iter().all(|tool| tool["parameters"]["type"] == "object"));
    let anthropic = ToolCaller { provider: Some("anthropic".into()), ..rig.caller() };
    let listing = Served::list(&rig.tools, anthropic).await.unwrap();
    assert!(listing.declarations.iter().all(|tool| tool["input_schema"]["type"] == "object"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_over_http_goes_the_way_of_every_call() {
    let rig = rig();
    let (_gateway, address) = rig.serve().await;
    let token = rig.token();
    let work = rig.work().display().to_string();
    let body = |command: &str| {
        json!({ "tool": "exec", "args": { "command": command }, "sessionKey": "agent:main:main",
                "workspace": work })
        .to_string()
    };
    let (status, answer) = http(&address, "POST /tools/invoke", &token, &body("echo one")).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer["result"]["content"][0]["text"].as_str().unwrap().contains("one"), "{answer}");
    let asked = body("id -u");
    let ((status, answer), record) =
        rig.answered(http(&address, "POST /tools/invoke", &token, &asked), YES).await;
    assert_eq!((status, record.is_some()), (200, true), "{answer}");
    let ((status, answer), _) = rig.answered(http(&address, "POST /tools/invoke", &token, &asked), NO).await;
    assert_eq!((status, &answer["error"]["type"]), (403, &json!("tool_call_blocked")), "{answer}");
    let (status, answer) = http(&address, "POST /tools/invoke", "wrong", &body("echo one")).await;
    assert_eq!((status, &answer["ok"]), (401, &json!(false)));
    let (status, answer) = http(&address, "GET /tools?provider=openai", &token, "").await;
    assert_eq!(status, 200, "{answer}");
    let declared = answer["tools"].as_array().unwrap();
    assert!(declared.iter().any(|tool| tool["function"]["name"] == "exec"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_stops_waiting_over_http_takes_the_question_back() {
    let rig = rig();
    let (_gateway, address) = rig.serve().await;
    let body = json!({ "tool": "exec", "args": { "command": "id -u" }, "workspace": rig.work() }).to_string();
    let _presenter = rig.core.approvals.presenter();
    let mut events = rig.core.approvals.events();
    let text = format!(
        "POST /tools/invoke HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        rig.token(),
        body.len()
    );
    let mut stream = TcpStream::connect(&address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    // Only once it waits is there something to take back.
    assert!(matches!(events.recv().await.unwrap(), Event::Added(_)));
    drop(stream);
    assert!(matches!(events.recv().await.unwrap(), Event::Closed(_)));
    assert!(rig.core.approvals.pending().await.is_empty());
}

/// At every door, whoever calls says the same of themselves as whoever lists, and gets no more.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_listed_cannot_be_called_at_any_door() {
    let policies = [
        json!({}),
        json!({ "deny": ["exec"] }),
        json!({ "profile": "minimal" }),
        json!({ "byProvider": { "anthropic": { "deny": ["write_file", "exec"] } } }),
        json!({ "byProvider": { "anthropic/claude-x": { "allow": ["read_file"] } } }),
        json!({ "profile": "coding", "byProvider": { "openai": { "profile": "minimal" } } }),
    ];
    let models = [
        (None, None),
        (Some("anthropic"), None),
        (Some("anthropic"), Some("claude-x")),
        (Some("openai"), None),
    ];
    for policy in &policies {
        let rig = Rig::new(policy);
        let (_gateway, address) = rig.serve().await;
        let token = rig.token();
        let all: Vec<String> = Served::list(&rig.tools, rig.caller())
            .await
            .unwrap()
            .catalog
            .into_iter()
            .map(|tool| tool.name)
            .collect();
        for (provider, model) in models {
            let caller = ToolCaller {
                provider: provider.map(str::to_owned),
                model: model.map(str::to_owned),
                ..rig.caller()
            };
            let here: Vec<String> =
                rig.tools.list(&caller).await.unwrap().tools.into_iter().map(|tool| tool.name).collect();
            let over_gateway: Vec<String> = Served::list(&rig.tools, caller.clone())
                .await
                .unwrap()
                .tools
                .into_iter()
                .map(|tool| tool.name)
                .collect();
            let mut query = format!("GET /tools?workspace={}", rig.work().display());
            for (name, word) in [("provider", provider), ("model", model)] {
                query.extend(word.map(|word| format!("&{name}={word}")));
            }
            let (status, listed) = http(&address, &query, &token, "").await;
            assert_eq!(status, 200, "{listed}");
            let removed = listed["removed"].as_array().unwrap();
            let is_removed = |name: &str| removed.iter().any(|tool| tool["name"] == name);
            let over_http: Vec<String> = all.iter().filter(|name| !is_removed(name)).cloned().collect();
            assert_eq!(here, over_gateway, "{policy} {provider:?} {model:?}");
            assert_eq!(here.len(), over_http.len(), "{policy} {provider:?} {model:?}");
            for name in all.iter().filter(|name| !here.contains(name)) {
                let case = format!("{policy} {provider:?} {model:?} {name}");
                assert!(!over_http.contains(name), "{case}");
                let call = ToolCall { caller: caller.clone(), ..rig.call(name, &json!({})) };
                let (progress, _) = mpsc::channel(1);
                let called = rig.tools.call(call.clone(), &PEER, progress, CancellationToken::new()).await;
                assert_eq!(called.unwrap_err().failure, ToolFailure::NotFound, "{case}");
                let called = Served::call(&rig.tools, call, CancellationToken::new()).await;
                assert!(
                    matches!(called, Err(ToolError::Failed { failure: ToolFailure::NotFound, .. })),
                    "{case}"
                );
                let body =
                    json!({ "tool": name, "provider": provider, "model": model, "workspace": rig.work() });
                let (status, answer) = http(&address, "POST /tools/invoke", &token, &body.to_string()).await;
                assert_eq!((status, &answer["error"]["type"]), (404, &json!("not_found")), "{case}");
            }
        }
    }
}
