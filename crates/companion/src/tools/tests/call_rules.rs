//! Rules about calls that are no commands: changes of files, fetches, and tools that look at something.

use super::*;
use countersign_approvals::remember::{Memory, NotRemembered};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::AlwaysUnavailable;
use countersign_protocol::remember::{Lasting, Remember, Rung};
use pretty_assertions::assert_eq;

impl Rig {
    /// With these rules about calls, each with its effect.
    fn with_calls(self, rules: &[(&str, Value)]) -> Self {
        let calls: Vec<Value> = rules
            .iter()
            .enumerate()
            .map(|(at, (effect, about))| {
                json!({
                    "id": format!("c-{at}"), "agent": "main", "effect": effect, "about": about,
                    "note": "as agreed", "createdAtMs": 0, "from": "typed",
                })
            })
            .collect();
        let document = json!({ "version": 1, "rules": [], "calls": calls });
        private::write(&self.rules_file(), document.to_string().as_bytes()).unwrap();
        self
    }

    fn real_work(&self) -> String {
        fs::canonicalize(self.work()).unwrap().display().to_string()
    }

    /// Whether a call is let through, and whether a person, who denies it, was asked.
    async fn check(&self, tool: &str, params: &Value, expected: Told) {
        let (permission, record) = self.permitted(tool, params, NO).await;
        let told = match (permission, record.is_some()) {
            (Permission::Inside { .. } | Permission::Unasked, _) => panic!("it is asked about"),
            (Permission::Allow, false) => Told::Allowed,
            (Permission::Deny { .. }, true) => Told::Asked,
            (Permission::Deny { .. }, false) => Told::Refused,
            (Permission::Allow, true) => panic!("{tool} {params}: a denial allowed it"),
        };
        assert_eq!(told, expected, "{tool} {params}");
    }
}

#[derive(Debug, Eq, PartialEq)]
enum Told {
    Allowed,
    Asked,
    Refused,
}

fn write(path: &str) -> Value {
    json!({ "file_path": path, "content": "x\n" })
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_below_a_folder_are_made_without_asking_and_written_down() {
    let rig = rig();
    let below = rig.real_work();
    let rig = rig.with_calls(&[("allow", json!({ "files": { "below": below } }))]);
    fs::write(rig.work().join("a.txt"), "one\n").unwrap();
    let mut lines = rig.core.history.appended();
    rig.check("Write", &write("new.txt"), Told::Allowed).await;
    let line = lines.recv().await.unwrap().event;
    assert!(matches!(line, HistoryEvent::Request { outcome: Outcome::AllowedByRule, .. }), "{line:?}");
    rig.check(
        "Edit",
        &json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" }),
        Told::Allowed,
    )
    .await;
    // The same through our own server, and there it is done.
    let own = json!({ "path": "made.txt", "content": "made\n" });
    let (output, record) = rig.called("write_file", &own, NO).await;
    assert!(output.is_ok() && record.is_none(), "{output:?}");
    assert_eq!(fs::read_to_string(rig.work().join("made.txt")).unwrap(), "made\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn t12_a_rule_for_a_folder_is_none_for_what_runs_by_itself_or_lies_elsewhere() {
    let rig = rig();
    let below = rig.real_work();
    let rig = rig.with_calls(&[("allow", json!({ "files": { "below": below } }))]);
    for name in [".git", "sub", "real"] {
        fs::create_dir(rig.work().join(name)).unwrap();
    }
    let outside = rig.home.path().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, rig.work().join("link")).unwrap();
    fs::write(rig.work().join("two"), "x").unwrap();
    fs::hard_link(rig.work().join("two"), outside.join("names")).unwrap();
    for path in [
        "Makefile",
        "package.json",
        ".git/config",
        ".env",
        "sub/.bashrc",
        "CLAUDE.md",
        "../elsewhere/a.txt",
        "link/a.txt",
        "two",
    ] {
        rig.check("Write", &write(path), Told::Asked).await;
    }
    rig.check("Write", &json!({ "file_path": "run", "content": "#!/bin/sh\n" }), Told::Asked).await;
    let removal = "*** Begin Patch\n*** Delete File: two\n*** End Patch\n";
    rig.check("apply_patch", &json!({ "input": removal }), Told::Asked).await;
    // What is not understood is no change of files.
    rig.check("Write", &json!({ "file_path": "a", "content": "", "mode": "x" }), Told::Asked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_from_a_host_go_by_that_host_alone() {
    let rig = rig().with_calls(&[
        ("allow", json!({ "host": { "host": "docs.rs" } })),
        ("deny", json!({ "host": { "host": "*.evil.example" } })),
    ]);
    for (url, expected) in [
        ("https://docs.rs/serde", Told::Allowed),
        ("https://DOCS.rs./serde", Told::Allowed),
        ("https://docs.rs:8443/", Told::Asked),
        ("https://u:p@docs.rs/", Told::Asked),
        ("https://docs.rs@other.example/", Told::Asked),
        ("https://docs.rs.other.example/", Told::Asked),
        ("https://docs.rs:443/x?q=a#b", Told::Allowed),
        // Programs differ about where these lead.
        ("https:///docs.rs", Told::Asked),
        ("https:docs.rs", Told::Asked),
        ("https:/docs.rs", Told::Asked),
        ("https://docs.rs\\@other.example/", Told::Asked),
        ("https://docs.rs/\\other.example/", Told::Asked),
        ("https://do\tcs.rs/", Told::Asked),
        ("https://docs.rs/x\ny", Told::Asked),
        ("https://docs%2Ers/", Told::Asked),
        ("https://docs\u{3002}rs/", Told::Asked),
        ("https://docs.rs:80/", Told::Asked),
        ("ftp://docs.rs/", Told::Asked),
        ("docs.rs", Told::Asked),
        ("https://a.evil.example/x", Told::Refused),
    ] {
        rig.check("WebFetch", &json!({ "url": url, "prompt": "sum up" }), expected).await;
    }
    // What else a fetch may be told nobody knows.
    let posted = json!({ "url": "https://docs.rs/x", "method": "POST", "body": "all" });
    rig.check("WebFetch", &posted, Told::Asked).await;
    // Where it is not known what is fetched, every address may be.
    let several = json!({ "prompt": "see https://docs.rs,HTTPS://c.evil.example/x" });
    rig.check("web_fetch", &several, Told::Refused).await;
    rig.check("web_fetch", &json!({ "prompt": "read https://docs.rs/x" }), Told::Asked).await;
    rig.check("web_fetch", &json!({ "prompt": "read (https://b.evil.example/x)" }), Told::Refused).await;
    rig.check("mcp__browser__open", &json!({ "to": ["https://b.evil.example"] }), Told::Refused).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t20_a_rule_about_a_tool_allows_no_command_no_change_and_no_secret() {
    let tools = ["Read", "Write", "Bash", "mcp__db__get_rows"]
        .map(|name| ("allow", json!({ "tool": { "name": name } })));
    let rig = rig().with_calls(&tools);
    rig.check("Read", &json!({ "file_path": "/etc/hosts" }), Told::Allowed).await;
    rig.check("mcp__db__get_rows", &json!({ "table": "a" }), Told::Allowed).await;
    rig.check("mcp__db__get_rows", &json!({ "table": "a", "command": "id" }), Told::Asked).await;
    rig.check("Read", &json!({ "file_path": "~/.ssh/id_rsa" }), Told::Asked).await;
    rig.check("Read", &json!({ "file_path": rig.home.path().join(".aws/credentials") }), Told::Asked).await;
    for folder in ["/", "~", "../..", "a/../../.ssh"] {
        rig.check("Read", &json!({ "path": folder }), Told::Asked).await;
    }
    rig.check("Write", &write("a.txt"), Told::Asked).await;
    rig.check("Write", &json!({ "file_path": ["a"], "content": "" }), Told::Asked).await;
    rig.check("Bash", &json!({ "command": 5 }), Told::Asked).await;
    rig.check("mcp__db__put_rows", &json!({}), Told::Asked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_cannot_be_understood_allow_nothing_here_either() {
    let rig = Rig::under("full", "off");
    private::write(&rig.rules_file(), br#"{"version":1,"rules":[],"calls":[{}]}"#).unwrap();
    rig.check("Write", &write("a.txt"), Told::Asked).await;
    rig.check("WebFetch", &json!({ "url": "https://docs.rs" }), Told::Asked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_deny_or_always_no_rule_allows() {
    for (security, ask, expected) in [
        ("deny", "off", Told::Refused),
        ("allowlist", "always", Told::Asked),
        ("full", "always", Told::Asked),
    ] {
        let rig =
            Rig::under(security, ask).with_calls(&[("allow", json!({ "host": { "host": "docs.rs" } }))]);
        rig.check("WebFetch", &json!({ "url": "https://docs.rs" }), expected).await;
    }
}

impl Rig {
    /// Asks about a call, answers it with "always", and gives the rungs that were offered.
    async fn remembered(
        &self,
        tool: &str,
        params: &Value,
        remember: Remember,
    ) -> Result<Vec<Rung>, NotRemembered> {
        let _presenter = self.core.approvals.presenter();
        let mut events = self.core.approvals.events();
        let permitted = self.tools.permit(self.call(tool, params), &PEER, CancellationToken::new());
        let answered = async {
            let Event::Added(record) = events.recv().await.unwrap() else { panic!("no question") };
            let memory = Memory { store: &self.core.store, rules: &self.core.rules };
            let kept = memory.allow_always(&self.core.approvals, &record, &remember, "window", 0).await;
            if kept.is_err() {
                self.core.approvals.resolve(&record.id, Decision::Deny, "window").await.unwrap();
            }
            kept.map(|()| record.question.offer.calls.iter().map(|choice| choice.rung).collect())
        };
        let (permission, kept) = tokio::join!(permitted, answered);
        assert_eq!(permission == Permission::Allow, kept.is_ok());
        kept
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_in_this_folder_are_remembered_for_this_session() {
    let rig = rig();
    fs::create_dir(rig.work().join("src")).unwrap();
    let remember = Remember { rung: Rung::Folder, lasting: Lasting::Session };
    let offered = rig.remembered("Write", &write("src/a.ts"), remember).await.unwrap();
    assert_eq!(offered, [Rung::File, Rung::Kind, Rung::Folder]);
    rig.check("Write", &write("src/b.rs"), Told::Allowed).await;
    rig.check("Write", &write("Makefile"), Told::Asked).await;
    let mut other = rig.call("Write", &write("src/b.rs"));
    other.caller.session = Some("another".into());
    let (permission, record) =
        Box::pin(rig.answered(rig.tools.permit(other, &PEER, CancellationToken::new()), NO)).await;
    assert!(permission != Permission::Allow && record.is_some(), "{permission:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_of_calls_is_counted_down() {
    let rig = rig();
    let fetch = json!({ "url": "https://docs.rs/x" });
    let remember = Remember { rung: Rung::Host, lasting: Lasting::Uses { uses: 2 } };
    assert_eq!(rig.remembered("WebFetch", &fetch, remember).await.unwrap(), [Rung::Host]);
    for expected in [Told::Allowed, Told::Allowed, Told::Asked] {
        rig.check("WebFetch", &fetch, expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_offered_is_not_remembered_and_the_card_says_why() {
    let rig = rig();
    let wide = Remember { rung: Rung::Folder, lasting: Lasting::Always };
    let unasked = rig.remembered("WebFetch", &json!({ "url": "https://docs.rs" }), wide.clone()).await;
    assert!(matches!(unasked, Err(NotRemembered::NotOffered)), "{unasked:?}");
    let beyond = rig.remembered("mcp__db__get_rows", &json!({}), Remember { rung: Rung::Tool, ..wide }).await;
    assert!(matches!(beyond, Err(NotRemembered::Lasting(_))), "{beyond:?}");
    for (tool, params, why) in [
        ("Write", write("Makefile"), AlwaysUnavailable::RunsByItself),
        ("Agent", json!({ "prompt": "x" }), AlwaysUnavailable::NoEffect),
    ] {
        let (_, record) = rig.permitted(tool, &params, NO).await;
        let offer = &record.unwrap().question.offer;
        assert_eq!((offer.unavailable, offer.calls.len()), (Some(why), 0), "{tool}");
        assert!(!offer.decisions.contains(&Decision::AllowAlways), "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_changes_reaches_every_tool_that_names_a_file_there() {
    let rig = rig();
    let below = rig.real_work();
    let elsewhere = rig.home.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(rig.work(), elsewhere.join("link")).unwrap();
    let linked = elsewhere.join("link/a.txt").display().to_string();
    let rig = rig.with_calls(&[("deny", json!({ "files": { "below": below } }))]);
    for (tool, params) in [
        ("Write", write("a.txt")),
        ("Write", json!({ "file_path": "a.txt" })),
        ("Edit", json!({ "file_path": "missing", "old_string": "a", "new_string": "b" })),
        ("NotebookEdit", json!({ "notebook_path": "n.ipynb", "new_source": "x" })),
        ("notebook_edit", json!({ "notebook_path": "n.ipynb", "new_source": "x" })),
        ("mcp__files__write_file", json!({ "path": "a.txt", "content": "x" })),
        ("mcp__files__move_file", json!({ "from": { "path": "/x/y" }, "to": ["a.txt", "b.txt"] })),
        ("mcp__files__write_file", json!({ "path": linked, "content": "x" })),
        ("Bash", json!({ "command": "echo x > a.txt" })),
        ("Bash", json!({ "command": "cd sub; echo x >> ../a.txt" })),
    ] {
        rig.check(tool, &params, Told::Refused).await;
    }
    // What only looks at files there changes none, and what lies elsewhere is not refused.
    rig.check("mcp__files__read_file", &json!({ "path": "a.txt" }), Told::Asked).await;
    rig.check("mcp__files__write_file", &json!({ "path": "/elsewhere/a.txt" }), Told::Asked).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_of_a_tool_or_a_host_reaches_commands_too() {
    let rig = rig().with_calls(&[
        ("deny", json!({ "tool": { "name": "Bash" } })),
        ("deny", json!({ "host": { "host": "docs.rs" } })),
    ]);
    rig.check("Bash", &json!({ "command": "ls" }), Told::Refused).await;
    for text in ["curl https://docs.rs/x", "wget -q docs.rs/x", "tool --from https://docs.rs."] {
        rig.check("exec_command", &json!({ "cmd": text }), Told::Refused).await;
    }
    rig.check("exec_command", &json!({ "cmd": "grep docs.rs a.txt" }), Told::Asked).await;
    for params in [
        json!({ "url": "ws://docs.rs/x" }),
        json!({ "where": ["//docs.rs/x"] }),
        json!({ "text": "{\"url\": \"docs.rs/x\"}" }),
    ] {
        rig.check("mcp__web__get", &params, Told::Refused).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_is_asked_about_is_refused_by_a_rule_and_by_a_policy_of_deny() {
    let quiet = async |rig: &Rig, tool: &str| {
        let call = ToolCall { is_quiet: true, ..rig.call(tool, &json!({ "file_path": "a.txt" })) };
        rig.tools.permit(call, &PEER, CancellationToken::new()).await
    };
    let open = rig().with_calls(&[("deny", json!({ "tool": { "name": "Gr*" } }))]);
    assert_eq!(quiet(&open, "Read").await, Permission::Unasked);
    assert!(matches!(quiet(&open, "Grep").await, Permission::Deny { failure: ToolFailure::Denied, .. }));
}
