//! Recorded calls against a scripted app behind a real socket.

use super::*;
use countersign_approvals::ports::Ports;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::limits::CONTROL_LINE_BYTES;
use countersign_protocol::tools::SubAgent;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::io::ErrorKind;
use std::path::PathBuf;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixListener;
use tokio::sync::mpsc;

mod who;

/// What the scripted app does with a question.
#[derive(Clone, Debug)]
enum App {
    /// It is not there.
    Absent,
    /// Its socket is a plain file.
    NoSocket,
    /// It answers these bytes and closes.
    Says(Vec<u8>),
    /// It reads the question and says nothing.
    Silent,
    /// It sends bytes without an end.
    Endless,
}

impl App {
    fn allows() -> Self {
        Self::permits(Permission::Allow)
    }

    fn denies(message: &str, failure: ToolFailure) -> Self {
        Self::permits(Permission::Deny { message: message.to_owned(), failure })
    }

    fn permits(permission: Permission) -> Self {
        Self::answers(&[ControlResponse::Permitted { permission, events: Vec::new() }])
    }

    fn answers(responses: &[ControlResponse]) -> Self {
        let lines = responses.iter().map(|response| serde_json::to_string(response).unwrap() + "\n");
        Self::Says(lines.collect::<String>().into_bytes())
    }
}

/// A scripted app at work, and what it was asked.
struct Rig {
    folder: TempDir,
    asked: mpsc::UnboundedReceiver<ToolCall>,
    gone: mpsc::UnboundedReceiver<()>,
}

impl Rig {
    fn new(app: App) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (asked_to, asked) = mpsc::unbounded_channel();
        let (gone_to, gone) = mpsc::unbounded_channel();
        let rig = Self { folder, asked, gone };
        match app {
            App::Absent => {}
            App::NoSocket => std::fs::create_dir(rig.socket()).unwrap(),
            app => {
                let listener = UnixListener::bind(rig.socket()).unwrap();
                tokio::spawn(serve(listener, app, asked_to, gone_to));
            }
        }
        rig
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("control.sock")
    }

    async fn answer(&self, contract: &dyn Contract, options: &Options, input: &[u8]) -> HookAnswer {
        let input = |_| Ok(input.to_vec());
        answer(contract, options, &self.socket(), (&|_| None, &|_| {}), &*Ports::system().ids, input).await
    }

    fn asked(&mut self) -> Option<ToolCall> {
        self.asked.try_recv().ok()
    }
}

async fn serve(
    listener: UnixListener,
    app: App,
    asked: mpsc::UnboundedSender<ToolCall>,
    gone: mpsc::UnboundedSender<()>,
) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (reading, mut writing) = stream.into_split();
        let mut reading = BufReader::new(reading);
        let mut line = String::new();
        reading.read_line(&mut line).await.unwrap();
        let Ok(ControlRequest::PermitTool { call, .. }) = serde_json::from_str(&line) else {
            panic!("expected a question about a tool, got {line:?}");
        };
        asked.send(*call).ok();
        match &app {
            App::Absent | App::NoSocket => {}
            // The asker may be gone by then.
            App::Says(bytes) => writing.write_all(bytes).await.unwrap_or_default(),
            App::Silent => {
                let _ = reading.read(&mut [0; 1]).await.unwrap();
                gone.send(()).ok();
            }
            App::Endless => while writing.write_all(&[b'['; 4096]).await.is_ok() {},
        }
    }
}

/// The input of a recorded call.
fn recorded(name: &str) -> Value {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/hooks");
    let text = std::fs::read_to_string(format!("{folder}/{name}.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["input"].take()
}

fn contract_of(name: &str) -> &'static dyn Contract {
    match name.trim_start_matches("recorded/") {
        name if name.starts_with("claude-code") => &ClaudeCode,
        name if name.starts_with("codex") => &Codex,
        name if name.starts_with("gemini") => &Gemini,
        _ => &Generic,
    }
}

const AGENTS: [&str; 4] = ["claude-code-bash", "codex-bash", "gemini-shell", "generic-whole"];

/// A recorded call, answered by an app: the answer, and what the app was asked.
async fn check(name: &str, options: &Options, app: App) -> (HookAnswer, Option<ToolCall>) {
    let mut rig = Rig::new(app);
    let input = recorded(name).to_string();
    let answer = rig.answer(contract_of(name), options, input.as_bytes()).await;
    (answer, rig.asked())
}

/// Whether an agent could take it for an allow.
fn may_allow(answer: &HookAnswer) -> bool {
    let text = answer.document.as_ref().map(Value::to_string).unwrap_or_default();
    text.contains("\"allow\"")
}

/// Whether it stops the agent: by the exit code, or by a decision where only that counts.
fn denies(answer: &HookAnswer) -> bool {
    let decision =
        answer.document.as_ref().map(|document| &document["hookSpecificOutput"]["decision"]["behavior"]);
    let printed =
        answer.document.as_ref().map(|document| &document["hookSpecificOutput"]["permissionDecision"]);
    answer.end != End::Printed || decision == Some(&json!("deny")) || printed == Some(&json!("deny"))
}

#[tokio::test]
async fn the_app_is_asked_in_the_agents_own_words() {
    let session = |id: &str| Some(id.to_owned());
    let claude = session("6f1d3c0e-8a55-4b1e-9f52-0d8f4a7b2c11");
    let codex = session("0199a213-81c0-7800-8aa1-bbab2a035a53");
    let gemini = session("b7c1f0aa-2a52-4c0c-9a4b-0a6f5de0c6d1");
    for (name, tool, agent, client, session) in [
        ("claude-code-bash", "Bash", "claude-code", Some("claude-code"), claude.clone()),
        ("claude-code-write", "Write", "claude-code", Some("claude-code"), claude.clone()),
        ("claude-code-edit-subagent", "Edit", "claude-code", Some("claude-code"), claude.clone()),
        ("claude-code-mcp", "mcp__filesystem__read_file", "claude-code", Some("claude-code"), claude.clone()),
        ("claude-code-permission", "Bash", "claude-code", Some("claude-code"), claude.clone()),
        ("claude-code-permission-read", "Read", "claude-code", Some("claude-code"), claude),
        ("codex-bash", "Bash", "codex", Some("codex"), codex.clone()),
        ("codex-apply-patch", "apply_patch", "codex", Some("codex"), codex.clone()),
        ("codex-mcp", "mcp__fs__read", "codex", Some("codex"), codex.clone()),
        ("codex-permission", "Bash", "codex", Some("codex"), codex),
        ("gemini-shell", "run_shell_command", "gemini", Some("gemini-cli"), gemini.clone()),
        ("gemini-replace", "replace", "gemini", Some("gemini-cli"), gemini.clone()),
        ("gemini-mcp-named-like-its-own", "read_file", "gemini", Some("gemini-cli"), gemini),
        ("generic-whole", "exec", "coder", None, session("s-1")),
    ] {
        let (_, call) = check(name, &Options::default(), App::allows()).await;
        let call = call.unwrap_or_else(|| panic!("{name}: nothing was asked"));
        let input = recorded(name);
        let params = input.get("tool_input").or(input.get("params")).unwrap();
        assert_eq!(Value::Object(call.params), *params, "{name}");
        assert_eq!(call.tool, tool, "{name}");
        let model = input["model"].as_str().map(str::to_owned);
        let expected = ToolCaller {
            agent: agent.to_owned(),
            session,
            client: client.map(str::to_owned),
            model,
            sub_agent: input["agent_id"].as_str().map(|id| SubAgent {
                id: id.to_owned(),
                kind: input["agent_type"].as_str().map(str::to_owned),
            }),
            workspace: "/home/user/my-project".to_owned(),
            call: input["tool_use_id"].as_str().map(str::to_owned),
            ..ToolCaller::default()
        };
        assert_eq!(call.caller, expected, "{name}");
        assert_eq!(call.id.len(), 36, "{name}: an id of the agent's was used");
    }
}

#[tokio::test]
async fn an_allow_is_said_as_the_agent_wants_to_hear_it() {
    for (name, expected) in [
        (
            "claude-code-bash",
            Some(json!({ "hookSpecificOutput": {
                "hookEventName": "PreToolUse",
                "permissionDecision": "allow",
                "permissionDecisionReason": "Allowed in Countersign.",
            } })),
        ),
        (
            "claude-code-permission",
            Some(json!({ "hookSpecificOutput": {
                "hookEventName": "PermissionRequest",
                "decision": { "behavior": "allow" },
            } })),
        ),
        // An allow would be reported as a failed hook.
        ("codex-bash", None),
        (
            "codex-permission",
            Some(json!({ "hookSpecificOutput": {
                "hookEventName": "PermissionRequest",
                "decision": { "behavior": "allow" },
            } })),
        ),
        ("gemini-shell", Some(json!({ "decision": "allow" }))),
        ("generic-whole", Some(json!({ "decision": "allow", "id": "call-9" }))),
        ("generic-least", Some(json!({ "decision": "allow" }))),
    ] {
        let (answer, _) = check(name, &Options::default(), App::allows()).await;
        assert_eq!(answer, HookAnswer { document: expected, reason: None, end: End::Printed }, "{name}");
    }
}

#[tokio::test]
async fn a_denial_is_said_as_the_agent_wants_to_hear_it() {
    let why = "not on a Friday";
    let permission_request = json!({ "hookSpecificOutput": {
        "hookEventName": "PermissionRequest",
        "decision": { "behavior": "deny", "message": why },
    } });
    let pre_tool_use = json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": why,
    } });
    let mut for_all_releases = pre_tool_use.clone();
    for_all_releases["decision"] = "block".into();
    for_all_releases["reason"] = why.into();
    let reason = Some(why.to_owned());
    for (name, document, reason, end) in [
        // An exit code would be shown as a fault of the hook's.
        ("claude-code-bash", for_all_releases, None, End::Printed),
        // Only the printed decision counts there.
        ("claude-code-permission", permission_request.clone(), None, End::Printed),
        ("codex-bash", pre_tool_use, reason.clone(), End::Blocked),
        ("codex-permission", permission_request, None, End::Printed),
        ("gemini-shell", json!({ "decision": "deny", "reason": why }), reason.clone(), End::Blocked),
        (
            "generic-whole",
            json!({ "decision": "deny", "message": why, "id": "call-9" }),
            reason,
            End::Told(Cause::Denied),
        ),
    ] {
        let app = App::denies("not on a Friday", ToolFailure::Denied);
        let (answer, _) = check(name, &Options::default(), app).await;
        assert_eq!(answer, HookAnswer { document: Some(document), reason, end }, "{name}");
    }
}

#[tokio::test]
async fn a_denial_without_a_reason_gets_one() {
    for message in ["", "  \n"] {
        for name in ["codex-bash", "claude-code-permission"] {
            let (answer, _) =
                check(name, &Options::default(), App::denies(message, ToolFailure::Denied)).await;
            assert!(denies(&answer), "{name}: {answer:?}");
            let text = answer.document.unwrap().to_string();
            assert!(text.contains("Countersign denied it."), "{name}: {text}");
        }
    }
    let long = "x".repeat(100_000);
    let (answer, _) = check("codex-bash", &Options::default(), App::denies(&long, ToolFailure::Denied)).await;
    assert!(answer.reason.unwrap().len() < 5_000);
}

#[tokio::test]
async fn every_kind_of_no_keeps_its_code() {
    for (failure, cause) in [
        (ToolFailure::Aborted, Cause::Failed),
        (ToolFailure::Denied, Cause::Denied),
        (ToolFailure::Expired, Cause::Expired),
        (ToolFailure::Failed, Cause::Failed),
        (ToolFailure::Invalid, Cause::Refused),
        (ToolFailure::NotFound, Cause::Refused),
    ] {
        let (answer, _) = check("generic-whole", &Options::default(), App::denies("no", failure)).await;
        assert_eq!(answer.end, End::Told(cause), "{failure:?}");
    }
}

#[tokio::test]
async fn what_needs_no_question_is_left_to_the_agent_unless_something_refuses_it() {
    let nothing = HookAnswer { document: None, reason: None, end: End::Printed };
    let empty = HookAnswer { document: Some(json!({})), ..nothing.clone() };
    let all = Options { asked: WhichCalls::All, ..Options::default() };
    for (name, expected) in [
        ("claude-code-read", &nothing),
        ("claude-code-question", &nothing),
        ("codex-plan", &nothing),
        ("gemini-read", &empty),
    ] {
        let is_question = name == "claude-code-question";
        for permission in [Permission::Unasked, Permission::Allow] {
            let (answer, call) = check(name, &Options::default(), App::permits(permission)).await;
            let quiet = call.map(|call| call.is_quiet);
            assert_eq!((&answer, quiet), (expected, (!is_question).then_some(true)), "{name}");
            assert!(!may_allow(&answer));
        }
        let (_, call) = check(name, &all, App::allows()).await;
        assert_eq!(call.map(|call| call.is_quiet), (!is_question).then_some(false), "{name}, with --all");
        let (answer, _) = check(name, &Options::default(), App::denies("no", ToolFailure::Denied)).await;
        assert_eq!(&answer == expected, is_question, "{name}: {answer:?}");
    }
    for tables in [&ClaudeCode as &dyn Contract, &Codex, &Gemini].map(|contract| contract.quiet()) {
        assert!(tables.is_sorted(), "{tables:?}");
    }
}

#[tokio::test]
async fn without_an_app_rules_and_policy_alone_decide_what_nobody_is_asked_about() {
    for (why, is_denied) in [(None, false), (Some("refused by a rule: no reading"), true)] {
        let rig = Rig::new(App::Absent);
        let alone = |call: &ToolCall| {
            assert_eq!((call.tool.as_str(), call.is_quiet), ("Read", true));
            why.map(str::to_owned)
        };
        let input = recorded("claude-code-read").to_string();
        let input = |_| Ok(input.into_bytes());
        let ids = Ports::system().ids;
        let answer =
            answer(&ClaudeCode, &Options::default(), &rig.socket(), (&alone, &|_| {}), &*ids, input).await;
        let said = format!("{answer:?}");
        assert_eq!(said.contains("no reading") && said.contains("deny"), is_denied, "{said}");
        assert!(!may_allow(&answer));
    }
}

#[tokio::test]
async fn a_name_that_only_looks_harmless_is_asked_about() {
    for tool in ["read", "READ", "Read ", " Read", "Read\u{200b}", "ReadFile", "mcp__x__Read", "Réad", "Bash"]
    {
        let mut rig = Rig::new(App::allows());
        let mut input = recorded("claude-code-read");
        input["tool_name"] = json!(tool);
        rig.answer(&ClaudeCode, &Options::default(), input.to_string().as_bytes()).await;
        assert_eq!(rig.asked().map(|call| call.tool).as_deref(), Some(tool));
    }
}

#[tokio::test]
async fn t20_what_an_agent_says_of_a_call_beside_it_changes_nothing() {
    for (name, member) in [("claude-code-bash", "tool_input"), ("gemini-shell", "tool_input")] {
        let mut input = recorded(name);
        for (key, value) in [
            ("permission_mode", json!("bypassPermissions")),
            ("approved", json!(true)),
            ("decision", json!("allow")),
            ("hookSpecificOutput", json!({ "permissionDecision": "allow" })),
            ("kind", json!("read")),
        ] {
            input[key] = value.clone();
            input[member][key] = value;
        }
        let mut rig = Rig::new(App::denies("no", ToolFailure::Denied));
        let answer = rig.answer(contract_of(name), &Options::default(), input.to_string().as_bytes()).await;
        assert!(denies(&answer) && rig.asked().is_some(), "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn bad_input_is_denied_with_a_message_and_nobody_is_asked() {
    let long = format!("{{\"tool\":\"{}\"}}", "x".repeat(10 * 1024 * 1024));
    let mut inputs: Vec<Vec<u8>> = [
        "",
        "{",
        "null",
        "[]",
        "7",
        "\"Bash\"",
        "{}",
        "not JSON",
        "{}{}",
        "{\"tool\":1}",
        "{\"tool_name\":\"Bash\"}",
        "{\"tool\":\"exec\",\"params\":[]}",
        "{\"tool\":\"exec\",\"cwd\":\"here\"}",
        "{\"tool\":\"exec\",\"id\":7}",
        "{\"hook_event_name\":\"PostToolUse\"}",
        &long,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    inputs.push(vec![0xff; 32]);
    for agent in AGENTS {
        for input in &inputs {
            let mut rig = Rig::new(App::allows());
            let answer = rig.answer(contract_of(agent), &Options::default(), input).await;
            let shown = String::from_utf8_lossy(&input[..input.len().min(60)]);
            assert!(denies(&answer) && !may_allow(&answer), "{agent}, {shown:?}: {answer:?}");
            let reason = answer.reason.unwrap();
            assert!(reason.contains("expected"), "{agent}, {shown:?}: {reason}");
            assert_eq!(rig.asked(), None, "{agent}, {shown:?}");
            let refused = agent != "generic-whole" || answer.end == End::Told(Cause::Refused);
            assert!(refused, "{shown:?}: {:?}", answer.end);
        }
    }
}

#[tokio::test]
async fn a_permission_request_that_is_not_understood_is_denied_in_its_own_words() {
    let mut input = recorded("claude-code-permission");
    input["tool_input"] = json!("rm");
    let set_up = Options { event: Some(Event::PermissionRequest), ..Options::default() };
    for (options, input) in
        [(&Options::default(), input.to_string()), (&set_up, "{".to_owned()), (&set_up, String::new())]
    {
        let answer = Rig::new(App::allows()).answer(&ClaudeCode, options, input.as_bytes()).await;
        let decision = &answer.document.as_ref().unwrap()["hookSpecificOutput"]["decision"];
        assert_eq!(decision["behavior"], "deny", "{input:?}: {answer:?}");
    }
}

#[tokio::test]
async fn a_hook_for_one_event_denies_at_another() {
    for (name, event) in [
        ("claude-code-bash", Event::PermissionRequest),
        ("claude-code-permission", Event::BeforeTool),
        ("codex-permission", Event::BeforeTool),
        ("gemini-shell", Event::PermissionRequest),
    ] {
        let options = Options { event: Some(event), ..Options::default() };
        let (answer, call) = check(name, &options, App::allows()).await;
        assert!(denies(&answer) && !may_allow(&answer), "{name}: {answer:?}");
        assert_eq!(call, None, "{name}");
    }
}

#[tokio::test]
async fn an_app_that_does_not_answer_the_question_denies() {
    let refusal = ControlResponse::Error { message: "tools are off".to_owned() };
    let output = ControlResponse::Called { output: None, failure: None, message: String::new() };
    for (app, cause, why) in [
        (App::Absent, Cause::Absent, "is not running"),
        (App::NoSocket, Cause::Absent, "is not running"),
        (App::Says(Vec::new()), Cause::Failed, "did not answer"),
        (App::Says(b"\n".to_vec()), Cause::Failed, "did not answer"),
        (App::Says(b"yes\n".to_vec()), Cause::Failed, "did not answer"),
        (App::Says(b"\"allow\"\n".to_vec()), Cause::Failed, "did not answer"),
        (App::Says(b"{\"kind\":\"permitted\"}\n".to_vec()), Cause::Failed, "did not answer"),
        (
            App::Says(b"{\"kind\":\"permitted\",\"permission\":{\"behavior\":\"perhaps\"}}\n".to_vec()),
            Cause::Failed,
            "did not answer",
        ),
        (
            App::Says(b"{\"kind\":\"permitted\",\"permission\":{\"behavior\":\"allow\"}".to_vec()),
            Cause::Failed,
            "did not answer",
        ),
        (App::Says(vec![0xff; 64]), Cause::Failed, "did not answer"),
        (App::Endless, Cause::Failed, "too long"),
        (App::answers(&[refusal]), Cause::Failed, "tools are off"),
        (App::answers(&[ControlResponse::Shown]), Cause::Failed, "something else"),
        (App::answers(&[output]), Cause::Failed, "something else"),
    ] {
        for name in AGENTS.iter().chain(&["claude-code-permission", "codex-permission"]) {
            let (answer, _) = check(name, &Options::default(), app.clone()).await;
            assert!(denies(&answer) && !may_allow(&answer), "{name}, {app:?}: {answer:?}");
            let text = answer.document.unwrap().to_string();
            assert!(text.contains(why), "{name}, {app:?}: {text}");
            if *name == "generic-whole" {
                assert_eq!(answer.end, End::Told(cause), "{app:?}");
            }
        }
    }
}

#[tokio::test]
async fn what_the_app_reports_on_the_way_is_no_answer() {
    let progress = ControlResponse::Progress { text: "allow".to_owned() };
    let allow = ControlResponse::Permitted { permission: Permission::Allow, events: Vec::new() };
    let (answer, _) = check(
        "gemini-shell",
        &Options::default(),
        App::answers(&[progress.clone(), progress.clone(), allow]),
    )
    .await;
    assert_eq!(answer.document, Some(json!({ "decision": "allow" })));
    let (answer, _) = check("gemini-shell", &Options::default(), App::answers(&[progress])).await;
    assert!(denies(&answer), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn silence_ends_in_a_denial_before_the_agent_gives_up() {
    for (name, limit) in
        [("claude-code-bash", 60), ("codex-bash", 600), ("gemini-shell", 60), ("claude-code-permission", 60)]
    {
        let started = Instant::now();
        let (answer, call) = check(name, &Options::default(), App::Silent).await;
        assert!(denies(&answer) && !may_allow(&answer), "{name}: {answer:?}");
        let text = answer.document.unwrap().to_string();
        assert!(text.contains("Nobody answered"), "{name}: {text}");
        let took = started.elapsed();
        assert!(took < Duration::from_secs(limit), "{name}: {took:?}");
        // The app ends the question first, so that the person sees that it is over.
        let given = Duration::from_millis(call.unwrap().approval_timeout_ms.unwrap());
        assert!(given < took && given > took / 2, "{name}: {given:?} of {took:?}");
    }
    // One that was set up for longer than the agent waits.
    let started = Instant::now();
    let long = Options { timeout: Some(Duration::from_secs(120)), ..Options::default() };
    let (answer, _) = check("qwen-shell", &long, App::Silent).await;
    assert!(denies(&answer) && started.elapsed() < Duration::from_secs(55), "{answer:?}");
    let options = Options { timeout: Some(Duration::from_millis(10)), ..Options::default() };
    let (answer, call) = check("generic-whole", &options, App::Silent).await;
    assert_eq!(answer.end, End::Told(Cause::Expired));
    assert!((1..10).contains(&call.unwrap().approval_timeout_ms.unwrap()));
}

#[tokio::test]
async fn the_agents_own_question_takes_the_place_of_an_absent_app_only_where_wanted() {
    let ask = Options { when_absent: WhenAbsent::Ask, ..Options::default() };
    let (answer, _) = check("claude-code-bash", &ask, App::Absent).await;
    let document = answer.document.unwrap();
    assert_eq!(document["hookSpecificOutput"]["permissionDecision"], "ask");
    for name in ["claude-code-permission", "codex-permission"] {
        let (answer, _) = check(name, &ask, App::Absent).await;
        assert_eq!(answer, HookAnswer { document: None, reason: None, end: End::Printed }, "{name}");
    }
    // These would go on without asking anybody.
    for name in ["codex-bash", "gemini-shell", "generic-whole"] {
        let (answer, _) = check(name, &ask, App::Absent).await;
        assert!(denies(&answer) && !may_allow(&answer), "{name}: {answer:?}");
    }
    // Only absence is absence.
    for app in [App::Says(Vec::new()), App::Says(b"x\n".to_vec()), App::denies("no", ToolFailure::Denied)] {
        let (answer, _) = check("claude-code-bash", &ask, app).await;
        assert!(denies(&answer) && !may_allow(&answer), "{answer:?}");
    }
}

#[tokio::test]
async fn the_name_of_the_agent_is_the_persons_word_first() {
    let named = Options { agent: Some("reviewer".to_owned()), ..Options::default() };
    for name in AGENTS {
        let (_, call) = check(name, &named, App::allows()).await;
        assert_eq!(call.unwrap().caller.agent, "reviewer", "{name}");
    }
    let (_, call) = check("generic-least", &Options::default(), App::allows()).await;
    let caller = call.unwrap().caller;
    assert_eq!((caller.agent.as_str(), caller.session), ("main", None));
    assert_eq!(caller.workspace, std::env::current_dir().unwrap().to_str().unwrap());
}

#[tokio::test]
async fn a_call_that_does_not_fit_into_a_question_is_denied() {
    for (bytes, fits) in [(CONTROL_LINE_BYTES - 100, false), (CONTROL_LINE_BYTES - 1_000, true)] {
        let mut input = recorded("generic-least");
        input["params"] = json!({ "text": "x".repeat(bytes) });
        let mut rig = Rig::new(App::allows());
        let answer = rig.answer(&Generic, &Options::default(), input.to_string().as_bytes()).await;
        assert_eq!(rig.asked().is_some(), fits, "{bytes}");
        assert_eq!(answer.end, if fits { End::Printed } else { End::Told(Cause::Refused) }, "{bytes}");
        assert!(fits || answer.reason.unwrap().contains("expected a call of at most"));
    }
}

#[tokio::test]
async fn an_agent_that_ends_its_hook_takes_the_question_back() {
    let mut rig = Rig::new(App::Silent);
    let input = recorded("claude-code-bash").to_string();
    {
        let options = Options::default();
        let waiting = rig.answer(&ClaudeCode, &options, input.as_bytes());
        tokio::pin!(waiting);
        let mut socket_asked = false;
        // As far as the question; then it is dropped.
        while !socket_asked {
            tokio::select! {
                biased;
                answer = &mut waiting => panic!("{answer:?}"),
                () = tokio::task::yield_now() => socket_asked = !rig.asked.is_empty(),
            }
        }
    }
    rig.gone.recv().await.unwrap();
}

#[tokio::test]
async fn an_agent_whose_answer_has_room_is_told_what_its_session_was_not_told_yet() {
    let event = SessionEvent {
        number: 1,
        at_ms: 2,
        run_id: "r".to_owned(),
        text: "Exec finished (gateway id=r, code 3)".to_owned(),
    };
    for (name, room) in [
        ("claude-code-bash", true),
        ("claude-code-permission", false),
        ("codex-bash", false),
        ("gemini-shell", false),
    ] {
        let answered =
            ControlResponse::Permitted { permission: Permission::Allow, events: vec![event.clone()] };
        let (answer, _) = check(name, &Options::default(), App::answers(&[answered])).await;
        let document = answer.document.unwrap_or_default();
        let context = &document["hookSpecificOutput"]["additionalContext"];
        assert_eq!(
            context.as_str() == Some("System: Exec finished (gateway id=r, code 3)"),
            room,
            "{name}: {document}"
        );
    }
}

#[test]
fn a_denial_carries_what_the_session_was_not_told_yet_where_it_is_read() {
    let verdict = Verdict::deny(Cause::Denied, "no");
    let reply = Reply { event: Event::BeforeTool, id: None, verdict: &verdict, context: "System: it ended" };
    let answer = ClaudeCode.answer(&reply);
    let document = answer.document.as_ref().unwrap();
    let reason = document["hookSpecificOutput"]["permissionDecisionReason"].as_str();
    assert!(denies(&answer) && reason == Some("no\nSystem: it ended"), "{document}");
    let answer = Qwen.answer(&reply);
    assert_eq!((answer.reason.as_deref(), answer.end), (Some("no\nSystem: it ended"), End::Blocked));
}

#[test]
fn nothing_but_an_allow_of_the_app_looks_like_one() {
    let denial = |cause| Verdict::deny(cause, "why");
    for contract in [&ClaudeCode as &dyn Contract, &Codex, &Gemini, &Generic] {
        for event in [Event::BeforeTool, Event::PermissionRequest] {
            let reply = |verdict: &Verdict| contract.answer(&Reply { event, id: None, verdict, context: "" });
            for cause in [Cause::Absent, Cause::Denied, Cause::Expired, Cause::Failed, Cause::Refused] {
                let answer = reply(&denial(cause));
                assert!(denies(&answer) && !may_allow(&answer), "{}, {event}: {answer:?}", contract.name());
            }
            for verdict in [Verdict::NoOpinion, Verdict::AskThere("why".to_owned())] {
                let answer = reply(&verdict);
                assert!(!may_allow(&answer), "{}, {event}: {answer:?}", contract.name());
                if verdict != Verdict::NoOpinion && !contract.can_ask(event) {
                    assert!(denies(&answer), "{}, {event}: {answer:?}", contract.name());
                }
            }
        }
    }
}

#[tokio::test]
async fn an_input_that_breaks_is_denied() {
    let rig = Rig::new(App::allows());
    let broken = |_| Err(std::io::Error::from(ErrorKind::ConnectionReset).into());
    let answer = answer(
        &Gemini,
        &Options::default(),
        &rig.socket(),
        (&|_| None, &|_| {}),
        &*Ports::system().ids,
        broken,
    )
    .await;
    assert!(denies(&answer) && answer.reason.unwrap().contains("cannot be read"));
}

/// Everything that the agents of today really handed to a hook: what is a question, and what is left to them.
#[tokio::test]
async fn recorded_calls_are_asked_about_unless_they_can_do_no_harm() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/hooks/recorded");
    let mut left = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let name = name.strip_suffix(".json").unwrap();
        let (_, call) = check(&format!("recorded/{name}"), &Options::default(), App::allows()).await;
        count += 1;
        match call {
            Some(call) if call.is_quiet => left.push(name.to_owned()),
            None => panic!("{name} is no question, and nobody hears of it"),
            Some(call) => assert!(!call.tool.is_empty() && call.caller.session.is_some(), "{name}"),
        }
    }
    left.sort();
    assert_eq!(count, 26);
    assert_eq!(
        left,
        ["claude-code-PreToolUse-Read", "codex-PreToolUse-get_goal", "gemini-BeforeTool-read_file"]
    );
}
