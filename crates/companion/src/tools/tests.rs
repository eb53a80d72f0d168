//! Tools over real parts: a real host, real files and processes. A person is played by whoever
//! answers the book.

use super::*;
use crate::routing;
use crate::testing::paths;
use countersign_approvals::actor::Event;
use countersign_approvals::book::Record;
use countersign_approvals::question::Subject;
use countersign_core::Core;
use countersign_core::paths::Paths;
use countersign_core::private;
use countersign_protocol::change::{ChangeKind, ChangeView};
use countersign_protocol::question::{AllowBlocked, QuestionKind};
use countersign_protocol::vocabulary::Decision;
use pretty_assertions::assert_eq;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use tempfile::TempDir;
use tokio::sync::mpsc;

mod beside;
mod call_rules;
mod foreign;
mod gateway;
mod joint;

struct Rig {
    tools: Tools,
    core: Core,
    paths: Paths,
    home: TempDir,
    tracker: TaskTracker,
}

/// What somebody at the desk does about a question.
type Answering = fn(&Rig) -> Decision;

impl Rig {
    /// Where commands run on this machine, under allowlist and on-miss, with this `tools` in the file.
    fn new(tools: &Value) -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        let entry = |program: &str| json!({ "pattern": fs::canonicalize(program).unwrap() });
        let document = json!({
            "version": 1,
            "defaults": { "security": "allowlist", "ask": "on-miss", "askFallback": "deny" },
            "agents": { "main": { "allowlist": [entry("/usr/bin/echo"), entry("/usr/bin/uname")] } },
        });
        private::write(&paths.document(), document.to_string().as_bytes()).unwrap();
        private::write(&paths.tools(), json!({ "tools": tools }).to_string().as_bytes()).unwrap();
        fs::create_dir(home.path().join("work")).unwrap();
        let core = Core::start(&paths, Via::Socket).unwrap();
        let router = Router::new(
            &paths,
            routing::Parts {
                host: core.host.clone(),
                history: core.history.clone(),
                ports: core.ports.clone(),
                nodes: None,
                fleets: Box::new(Vec::new),
                sandbox_folders: Vec::new(),
            },
        );
        let tracker = TaskTracker::new();
        let tools = Tools::new(Parts {
            host: core.host.clone(),
            router,
            ports: core.ports.clone(),
            environment: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            events: SessionEvents::default(),
            home: paths.home.clone(),
            private: vec![paths.state.clone(), paths.config.clone()],
            pets: None,
            tracker: tracker.clone(),
            stop: CancellationToken::new(),
        });
        Self { tools, core, paths, home, tracker }
    }

    fn work(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn caller(&self) -> ToolCaller {
        ToolCaller {
            agent: "main".into(),
            session: Some("s".into()),
            client: Some("tester 1".into()),
            workspace: self.work().display().to_string(),
            ..ToolCaller::default()
        }
    }

    fn call(&self, tool: &str, params: &Value) -> ToolCall {
        ToolCall {
            id: self.core.ports.ids.uuid(),
            tool: tool.into(),
            params: params.as_object().unwrap().clone(),
            caller: self.caller(),
            approval_timeout_ms: None,
            takes_command: false,
            is_quiet: false,
        }
    }

    /// Calls while somebody at the desk answers. What they were shown comes back too.
    async fn called(
        &self,
        tool: &str,
        params: &Value,
        answer: Answering,
    ) -> (Result<String, Failure>, Option<Arc<Record>>) {
        let call = self.call(tool, params);
        let (progress, _reports) = mpsc::channel(16);
        let called = self.tools.call(call, &PEER, progress, CancellationToken::new());
        let (output, record) = self.answered(called, answer).await;
        (output.map(|output| output.text), record)
    }

    async fn permitted(
        &self,
        tool: &str,
        params: &Value,
        answer: Answering,
    ) -> (Permission, Option<Arc<Record>>) {
        let permitted = self.tools.permit(self.call(tool, params), &PEER, CancellationToken::new());
        Box::pin(self.answered(permitted, answer)).await
    }

    async fn answered<T>(
        &self,
        work: impl Future<Output = T>,
        answer: Answering,
    ) -> (T, Option<Arc<Record>>) {
        let _presenter = self.core.approvals.presenter();
        let mut events = self.core.approvals.events();
        let mut work = std::pin::pin!(work);
        let mut seen = None;
        loop {
            tokio::select! {
                biased;
                done = &mut work => return (done, seen),
                event = events.recv() => if let Event::Added(record) = event.unwrap() {
                    self.core.approvals.resolve(&record.id, answer(self), "window").await.unwrap();
                    seen = Some(record);
                },
            }
        }
    }
}

fn here() -> Value {
    json!({ "host": "gateway", "security": "full", "ask": "off" })
}

static PEER: Peer = Peer { pid: None, program: None, via: None };

const YES: Answering = |_| Decision::AllowOnce;
const NO: Answering = |_| Decision::Deny;

fn rig() -> Rig {
    Rig::new(&json!({ "exec": here() }))
}

fn changes(record: &Record) -> Vec<(ChangeKind, String)> {
    let Subject::Tool(call) = &record.question.subject else { panic!("{record:?}") };
    let change = |change: &ChangeView| (change.change, display::original(&change.path).unwrap());
    call.changes.iter().map(change).collect()
}

fn denied(result: Result<String, Failure>) -> String {
    match result {
        Err(Failure { failure: ToolFailure::Denied, message }) => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_is_offered_what_the_policy_leaves_and_told_which_step_took_the_rest() {
    let rig = Rig::new(&json!({ "deny": ["exec"], "byProvider": { "anthropic": { "deny": ["process"] } } }));
    let listing = rig.tools.list(&rig.caller()).await.unwrap();
    let names: Vec<&str> = listing.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["append_file", "edit_file", "process", "read_file", "write_file"]);
    let removed = |listing: &Listing, name: &str| {
        listing.removed.iter().find(|removed| removed.name == name).map(|removed| removed.step.clone())
    };
    assert_eq!(removed(&listing, "exec").as_deref(), Some("tools.global"));
    assert!(removed(&listing, "apply_patch").is_some(), "not for other providers than OpenAI");
    let openai = ToolCaller { provider: Some("openai".into()), ..rig.caller() };
    assert_eq!(removed(&rig.tools.list(&openai).await.unwrap(), "apply_patch"), None);
    let anthropic = ToolCaller { provider: Some("Anthropic".into()), ..rig.caller() };
    let listing = rig.tools.list(&anthropic).await.unwrap();
    assert_eq!(removed(&listing, "process").as_deref(), Some("tools.global-provider"));
    let (called, record) = rig.called("exec", &json!({ "command": "echo one" }), YES).await;
    assert_eq!(called.unwrap_err().failure, ToolFailure::NotFound);
    assert!(record.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_changes_when_a_person_allowed_what_they_saw() {
    let rig = rig();
    let (called, record) =
        rig.called("write_file", &json!({ "path": "a.txt", "content": "one\n" }), YES).await;
    called.unwrap();
    assert_eq!(fs::read_to_string(rig.work().join("a.txt")).unwrap(), "one\n");
    let record = record.unwrap();
    assert_eq!(record.question.subject.kind(), QuestionKind::Tool);
    let path = fs::canonicalize(rig.work()).unwrap().join("a.txt").display().to_string();
    assert_eq!(changes(&record), [(ChangeKind::Create, path)]);
    let (called, _) = rig.called("read_file", &json!({ "path": "a.txt" }), NO).await;
    assert!(called.unwrap().contains("one"), "reading needs nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn t16_a_file_with_another_name_is_not_read_wherever_that_is() {
    let rig = rig();
    let outside = rig.work().parent().unwrap().join("secret");
    fs::write(&outside, "nobody-s-business\n").unwrap();
    fs::hard_link(&outside, rig.work().join("a.txt")).unwrap();
    let (called, _) = rig.called("read_file", &json!({ "path": "a.txt" }), YES).await;
    let failure = called.unwrap_err();
    assert!(failure.message.contains("has another name"), "{failure:?}");
    fs::remove_file(&outside).unwrap();
    let (called, _) = rig.called("read_file", &json!({ "path": "a.txt" }), NO).await;
    assert!(called.unwrap().contains("nobody-s-business"), "it has one name now");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_stays_when_a_person_said_no_or_nobody_is_there() {
    let rig = rig();
    let params = json!({ "path": "a.txt", "content": "one\n" });
    let (called, _) = rig.called("write_file", &params, NO).await;
    assert!(denied(called).contains("The person denied this"));
    let (progress, _reports) = mpsc::channel(1);
    let call = rig.call("write_file", &params);
    let called = rig.tools.call(call, &PEER, progress, CancellationToken::new()).await;
    assert!(denied(called.map(|output| output.text)).contains("Nobody could be asked"));
    assert!(!rig.work().join("a.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn t14_a_file_that_changed_while_a_person_looked_is_not_written_over() {
    let rig = rig();
    let file = rig.work().join("a.txt");
    fs::write(&file, "one\n").unwrap();
    let edit = json!({ "path": "a.txt", "old_text": "one", "new_text": "two" });
    let (called, record) = rig
        .called("edit_file", &edit, |rig| {
            fs::write(rig.work().join("a.txt"), "one, and more\n").unwrap();
            Decision::AllowOnce
        })
        .await;
    assert!(record.is_some());
    let failure = called.unwrap_err();
    assert_eq!(failure.failure, ToolFailure::Failed, "{failure}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "one, and more\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_shown_whole_cannot_be_allowed() {
    let rig = rig();
    let content = "x\n".repeat(200_000);
    let (_, record) = rig.called("write_file", &json!({ "path": "big", "content": content }), NO).await;
    assert_eq!(record.unwrap().question.blocked, Some(AllowBlocked::TooLong));
}

#[tokio::test(flavor = "multi_thread")]
async fn t12_what_decides_about_changes_is_not_for_agents() {
    let rig = rig();
    let mut call = rig.call("write_file", &json!({ "path": "tools.json", "content": "{}" }));
    call.caller.workspace = rig.paths.config.display().to_string();
    let (progress, _reports) = mpsc::channel(1);
    let (called, record) =
        rig.answered(rig.tools.call(call, &PEER, progress, CancellationToken::new()), YES).await;
    assert!(denied(called.map(|output| output.text)).contains("not for agents"));
    assert!(record.is_none(), "nobody is even asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_by_the_rules_of_this_machine() {
    let rig = rig();
    let (called, record) = rig.called("exec", &json!({ "command": "echo one" }), NO).await;
    assert!(called.unwrap().contains("one"));
    assert!(record.is_none(), "a rule covers it");
    let (called, record) = rig.called("exec", &json!({ "command": "id -u" }), NO).await;
    assert_eq!(called.unwrap_err().failure, ToolFailure::Denied);
    let question = &record.unwrap().question;
    assert_eq!((question.subject.kind(), question.door.via), (QuestionKind::Exec, Via::Tool));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_of_a_pets_turn_is_asked_about_once_and_runs_on_that_answer() {
    let rig = rig();
    let mut call = rig.call("exec", &json!({ "command": "id -u" }));
    call.caller.pet_session = Some("p".into());
    let (progress, _reports) = mpsc::channel(1);
    let mut events = rig.core.approvals.events();
    let (called, record) =
        rig.answered(rig.tools.call(call, &PEER, progress, CancellationToken::new()), YES).await;
    assert!(called.is_ok(), "{called:?}");
    assert!(record.is_some());
    let mut asked = 0;
    while let Ok(event) = events.try_recv() {
        asked += usize::from(matches!(event, Event::Added(_)));
    }
    assert_eq!(asked, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_prints_is_heard_while_it_runs() {
    let rig = Rig::new(&json!({ "exec": here() }));
    let call = rig.call("exec", &json!({ "command": "echo early; read line < fifo; echo late $line" }));
    let fifo = rig.work().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let (progress, mut reports) = mpsc::channel(16);
    let called = rig.tools.call(call, &PEER, progress, CancellationToken::new());
    let heard = async {
        let first = reports.recv().await.unwrap();
        tokio::task::spawn_blocking(move || fs::write(fifo, "x\n").unwrap()).await.unwrap();
        first
    };
    let ((output, _), first) = tokio::join!(rig.answered(called, YES), heard);
    assert!(first.contains("early") && !first.contains("late"), "{first}");
    assert!(output.unwrap().text.contains("late x"));
}

#[tokio::test(flavor = "multi_thread")]
async fn another_agents_command_is_judged_and_not_run() {
    let rig = rig();
    let (permission, record) = rig.permitted("Bash", &json!({ "command": "uname -s" }), NO).await;
    assert_eq!(permission, Permission::Allow, "{:#?}", record.map(|record| record.question.why.clone()));
    assert!(record.is_none(), "a rule covers it");
    let touch = json!({ "command": "touch made", "description": "harmless" });
    let (permission, record) = rig.permitted("Bash", &touch, YES).await;
    assert_eq!(permission, Permission::Allow);
    assert_eq!(record.unwrap().question.subject.kind(), QuestionKind::Permit);
    let (permission, _) = rig.permitted("Bash", &touch, NO).await;
    assert!(matches!(permission, Permission::Deny { failure: ToolFailure::Denied, .. }), "{permission:?}");
    assert!(!rig.work().join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_agents_change_is_shown_as_a_diff_and_not_made() {
    let rig = rig();
    let outside = rig.home.path().join("elsewhere.txt");
    fs::write(&outside, "one\n").unwrap();
    let edit = json!({ "file_path": outside, "old_string": "one", "new_string": "two" });
    let (permission, record) = rig.permitted("Edit", &edit, YES).await;
    assert_eq!(permission, Permission::Allow);
    let real = fs::canonicalize(&outside).unwrap().display().to_string();
    assert_eq!(changes(&record.unwrap()), [(ChangeKind::Edit, real)]);
    assert_eq!(fs::read_to_string(&outside).unwrap(), "one\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_what_is_not_understood_of_another_agents_call_is_shown_as_it_is() {
    let rig = rig();
    for (tool, params) in [
        ("WebFetch", json!({ "url": "http://example.org" })),
        // A member that is not known may mean anything.
        ("Edit", json!({ "file_path": "a", "old_string": "a", "new_string": "b", "mode": "other" })),
        ("Bash", json!({ "command": 5 })),
        ("Write", json!({ "file_path": ["a"], "content": "" })),
    ] {
        let (permission, record) = rig.permitted(tool, &params, NO).await;
        assert!(matches!(permission, Permission::Deny { .. }), "{tool}");
        let subject = &record.unwrap().question.subject;
        let Subject::Tool(call) = subject else { panic!("{tool}: {subject:?}") };
        assert!(call.arguments.is_some(), "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_understood_offers_nothing() {
    for tools in [json!({ "deny": 5 }), json!({ "hooks": 5 }), json!({ "exec": { "host": 5 } })] {
        let rig = Rig::new(&tools);
        let failure = rig.tools.list(&rig.caller()).await.unwrap_err();
        assert!(failure.message.starts_with("no tool is offered: "), "{failure}");
        let (called, _) = rig.called("read_file", &json!({ "path": "a" }), YES).await;
        assert!(called.is_err());
    }
}

/// A program that reads its input and does what `script` says.
fn program(folder: &Path, name: &str, script: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_can_rewrite_what_a_person_then_sees_and_is_told_of_the_end() {
    let programs = tempfile::tempdir().unwrap();
    let rewrite = r#"cat > /dev/null; printf '%s' '{"params": {"content": "hooked\n"}}'"#;
    let before = program(programs.path(), "before", rewrite);
    let told = programs.path().join("told");
    rustix::fs::mknodat(rustix::fs::CWD, &told, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let after = program(programs.path(), "after", &format!("cat > {}", told.display()));
    let rig = Rig::new(&json!({ "hooks": [
        { "name": "before", "command": [before], "when": "before" },
        { "name": "after", "command": [after], "when": "after" },
    ]}));
    let listening = tokio::task::spawn_blocking(move || fs::read_to_string(told).unwrap());
    let (called, _) = rig.called("write_file", &json!({ "path": "a", "content": "asked\n" }), YES).await;
    called.unwrap();
    assert_eq!(fs::read_to_string(rig.work().join("a")).unwrap(), "hooked\n");
    let told = listening.await.unwrap();
    assert!(told.contains("after_tool_call") && told.contains("hooked"), "{told}");
    rig.tracker.close();
    rig.tracker.wait().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_that_fails_blocks_before_anybody_is_asked() {
    let programs = tempfile::tempdir().unwrap();
    for (name, script) in [
        ("nonsense", "cat > /dev/null; echo nonsense"),
        ("failure", "exit 1"),
        ("crash", "kill -SEGV $$"),
        ("block", r#"cat > /dev/null; echo '{"block": true, "blockReason": "not today"}'"#),
        ("long", "cat > /dev/null; head -c 3000000 /dev/zero"),
    ] {
        let command = program(programs.path(), name, script);
        let rig = Rig::new(&json!({ "hooks": [{ "name": name, "command": [command], "when": "before" }] }));
        let (called, record) = rig.called("write_file", &json!({ "path": "a", "content": "x" }), YES).await;
        let message = denied(called);
        assert!(record.is_none() && !rig.work().join("a").exists(), "{name}");
        assert_eq!(message.contains("not today"), name == "block", "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn how_long_a_command_may_take_is_the_files_where_its_call_says_nothing() {
    let exec = json!({ "host": "gateway", "security": "full", "ask": "off", "timeoutSeconds": 1, "backgroundMs": 60 });
    let rig = Rig::new(&json!({ "exec": exec }));
    let (ended, _) = rig.called("exec", &json!({ "command": "sleep 600", "yieldMs": 120_000 }), YES).await;
    assert!(ended.unwrap().contains("ended by its time limit"));
    // What goes on behind the answer goes on for longer than a slow machine needs to look.
    let patient = json!({ "host": "gateway", "security": "full", "ask": "off", "timeoutSeconds": 60, "backgroundMs": 60 });
    let patient = Rig::new(&json!({ "exec": patient }));
    let (left, _) = patient.called("exec", &json!({ "command": "sleep 30" }), YES).await;
    assert!(left.unwrap().contains("Still running"));
    let far = json!({ "host": "gateway", "timeoutSeconds": 0 });
    let (refused, _) =
        Rig::new(&json!({ "exec": far })).called("process", &json!({ "action": "list" }), YES).await;
    let message = refused.unwrap_err().message;
    assert!(message.ends_with("tools.exec.timeoutSeconds: expected 1 to 86400, got 0"), "{message}");
}
