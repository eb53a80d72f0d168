//! Tools of other agents under each policy, and by rules that refuse.

use super::*;
use countersign_protocol::history::HistoryEvent;
use pretty_assertions::assert_eq;

impl Rig {
    pub(super) fn under(security: &str, ask: &str) -> Self {
        let rig = rig();
        let document = json!({
            "version": 1,
            "defaults": { "security": security, "ask": ask, "askFallback": "deny" },
        });
        private::write(&rig.paths.document(), document.to_string().as_bytes()).unwrap();
        rig
    }

    fn refusing(self, program: &str, note: &str) -> Self {
        let rules = json!({ "version": 1, "rules": [{
            "id": "r-1", "agent": "*", "effect": "deny", "program": program, "arguments": "any", "note": note,
            "createdAtMs": 0, "from": "typed",
        }] });
        private::write(&self.rules_file(), rules.to_string().as_bytes()).unwrap();
        self
    }

    pub(super) fn rules_file(&self) -> PathBuf {
        self.paths.rules().config.join("rules.json")
    }
}

fn message(permission: Permission) -> String {
    match permission {
        Permission::Inside { .. } | Permission::Unasked => panic!("it is asked about"),
        Permission::Deny { message, .. } => message,
        Permission::Allow => panic!("expected a denial, got an allow"),
    }
}

/// The recorded calls of real agents, as what each is known. The last one could be anything that may
/// start something.
#[tokio::test]
async fn recorded_calls_are_known_as_what_they_are() {
    let rig = rig();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/corpus/hooks");
    let mut known: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let folders = [folder.to_owned(), format!("{folder}/recorded")];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    for path in entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        let input: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        // What is written for `generic` names its tool in another way.
        let Some(tool) = input["input"]["tool_name"].as_str() else { continue };
        let params = &input["input"]["tool_input"];
        let call = call_of(rig.call(tool, params), &PEER, Entrance::Machine).unwrap();
        let kind = match crate::tools::foreign::recognise(&call, rig.home.path()) {
            Foreign::Command(_) => "command",
            Foreign::Change(..) => "change",
            Foreign::Other(_) => "other",
        };
        known.entry(kind).or_default().push(tool.to_owned());
    }
    let mut named = |kind: &str| {
        let mut tools = known.remove(kind).unwrap_or_default();
        tools.sort();
        tools.dedup();
        tools
    };
    assert_eq!(named("command"), ["Bash", "Monitor", "run_in_terminal", "run_shell_command"]);
    assert_eq!(named("change"), ["Edit", "Write", "apply_patch", "replace", "write_file"]);
    let other = [
        "Agent",
        "AskUserQuestion",
        "Read",
        "WebFetch",
        "countersign-exec",
        "get_goal",
        "mcp__countersign__exec",
        "mcp__filesystem__read_file",
        "mcp__fs__read",
        "read_file",
        "spawn_agent",
        "update_plan",
        "web_fetch",
    ];
    assert_eq!(named("other"), other);
}

#[tokio::test]
async fn changes_are_known_by_each_agents_own_words_for_them() {
    let rig = rig();
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch\n";
    let is_change = |tool: &str, params: &Value| {
        let call = call_of(rig.call(tool, params), &PEER, Entrance::Machine).unwrap();
        matches!(crate::tools::foreign::recognise(&call, rig.home.path()), Foreign::Change(..))
    };
    for (tool, params, change) in [
        ("Write", json!({ "path": "a.txt", "file_text": "one" }), true),
        ("Edit", json!({ "path": "a.txt", "old_str": "one", "new_str": "two" }), true),
        ("edit", json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" }), true),
        ("apply_patch", json!({ "command": patch }), true),
        ("apply_patch", json!({ "command": "wipe" }), false),
        ("apply_patch", json!({ "command": patch, "then": "wipe" }), false),
        ("Write", json!({ "command": patch }), false),
        ("Write", json!({ "path": "a.txt", "file_text": "one", "mode": "0777" }), false),
    ] {
        assert_eq!(is_change(tool, &params), change, "{tool} {params}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_reaches_tools_that_are_no_commands() {
    let write = json!({ "file_path": "new.txt", "content": "x\n" });
    let fetch = json!({ "url": "https://example.org" });
    for (tool, params) in [("Write", &write), ("WebFetch", &fetch)] {
        let deny = Rig::under("deny", "off");
        let (permission, record) = deny.permitted(tool, params, YES).await;
        assert!(message(permission).contains("security=deny") && record.is_none(), "{tool}");
        let full = Rig::under("full", "off");
        let mut lines = full.core.history.appended();
        let (permission, record) = full.permitted(tool, params, NO).await;
        let line = lines.recv().await.unwrap().event;
        let by_policy = Outcome::AllowedByPolicy;
        assert!(matches!(line, HistoryEvent::Request { outcome, .. } if outcome == by_policy), "{tool}");
        assert_eq!((permission, record.is_none()), (Permission::Allow, true), "{tool}");
        for (security, ask) in [("full", "always"), ("allowlist", "on-miss"), ("allowlist", "off")] {
            let rig = Rig::under(security, ask);
            let (permission, record) = rig.permitted(tool, params, NO).await;
            assert!(message(permission).contains("The person denied this"), "{tool} {security} {ask}");
            assert!(record.is_some(), "{tool} {security} {ask}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_everything_unasked_is_no_way_to_the_apps_own_files() {
    let rig = Rig::under("full", "off");
    let own = json!({ "file_path": rig.rules_file(), "content": "{}" });
    let (permission, record) = rig.permitted("Write", &own, YES).await;
    assert!(message(permission).contains("not for agents") && record.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn t10_rules_that_refuse_reach_commands_wherever_they_are_carried() {
    for (tool, params) in [
        ("Bash", json!({ "command": "echo no" })),
        ("Monitor", json!({ "command": "echo no", "description": "w", "timeout_ms": 1000 })),
        ("exec_command", json!({ "cmd": "echo no", "workdir": "." })),
        ("write_stdin", json!({ "session_id": 1, "chars": "echo no\n" })),
        ("mcp__remote__run", json!({ "command": "echo no", "host": "far" })),
        ("mcp__remote__run", json!({ "script": "uname; echo no" })),
        ("whatever", json!({ "cmd": ["echo", "no"] })),
    ] {
        let rig = Rig::under("allowlist", "on-miss").refusing("echo", "never aloud");
        let (permission, record) = rig.permitted(tool, &params, YES).await;
        let said = "Refused by the person's rule: never aloud (refuse echo with any arguments)";
        assert_eq!(message(permission), said, "{tool} {params}");
        assert!(record.is_none(), "{tool} {params}: somebody was asked");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_what_may_be_a_command_is_never_allowed_by_an_entry_for_commands() {
    let rig = rig();
    let (permission, record) = rig.permitted("Bash", &json!({ "command": "uname" }), NO).await;
    assert_eq!((permission, record.is_none()), (Permission::Allow, true), "an entry covers it");
    let (permission, record) = rig.permitted("mcp__remote__run", &json!({ "command": "uname" }), NO).await;
    assert!(matches!(permission, Permission::Deny { .. }) && record.is_some(), "it may run anywhere");
}

/// What two hooks of one agent ask about its call.
fn asked_twice(rig: &Rig, params: [&Value; 2]) -> [ToolCall; 2] {
    params.map(|params| {
        let mut call = rig.call("Bash", params);
        call.caller.call = Some("toolu_1".into());
        call
    })
}

/// Waits until so many questions wait.
async fn waiting(rig: &Rig, count: usize) -> Vec<Arc<Record>> {
    let mut events = rig.core.approvals.events();
    loop {
        let pending = rig.core.approvals.pending().await;
        if pending.len() == count {
            return pending;
        }
        events.recv().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_that_ask_about_one_call_ask_one_question() {
    let rig = rig();
    let touch = json!({ "command": "touch made" });
    let [one, other] = asked_twice(&rig, [&touch, &touch]);
    let gone = CancellationToken::new;
    let both =
        async { tokio::join!(rig.tools.permit(one, &PEER, gone()), rig.tools.permit(other, &PEER, gone())) };
    let mut asked = 0;
    let mut events = rig.core.approvals.events();
    let (answers, _) = Box::pin(rig.answered(both, YES)).await;
    while let Ok(event) = events.try_recv() {
        asked += usize::from(matches!(event, Event::Added(_)));
    }
    assert_eq!((answers, asked), ((Permission::Allow, Permission::Allow), 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn t05_two_calls_share_no_answer_and_who_goes_leaves_the_question_to_the_other() {
    let rig = rig();
    let _presenter = rig.core.approvals.presenter();
    let (one, other) = (json!({ "command": "touch one" }), json!({ "command": "touch other" }));
    let [first, second] = asked_twice(&rig, [&one, &other]);
    let stop = CancellationToken::new();
    let asking = |call: ToolCall, gone: CancellationToken| {
        let tools = rig.tools.clone();
        tokio::spawn(async move { tools.permit(call, &PEER, gone).await })
    };
    let both = [asking(first, stop.clone()), asking(second, stop.clone())];
    waiting(&rig, 2).await;
    stop.cancel();
    for asked in both {
        assert!(matches!(asked.await.unwrap(), Permission::Deny { failure: ToolFailure::Aborted, .. }));
    }
    let [first, second] = asked_twice(&rig, [&one, &one]);
    let stop = CancellationToken::new();
    let first = asking(first, stop.clone());
    let before = waiting(&rig, 1).await[0].id.clone();
    let second = asking(second, CancellationToken::new());
    tokio::task::yield_now().await;
    stop.cancel();
    assert!(matches!(first.await.unwrap(), Permission::Deny { failure: ToolFailure::Aborted, .. }));
    let mut events = rig.core.approvals.events();
    while !rig.core.approvals.pending().await.iter().any(|record| record.id != before) {
        events.recv().await.unwrap();
    }
    second.abort();
}
