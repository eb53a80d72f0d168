//! Where a run takes place, and what holds there.

use super::*;
use crate::host::placement::{Backend, Sandbox};
use countersign_approvals::history;
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::HostKind;
use countersign_protocol::trace::TraceStep;
use pretty_assertions::assert_eq;

const BUBBLEWRAP: Sandbox = Sandbox { backend: Backend::Bubblewrap, network: false };

fn boxed(security: Option<Security>, ask: Option<Ask>) -> Placement {
    Placement::Sandbox { policy: Requested { security, ask }, sandbox: BUBBLEWRAP }
}

/// What only succeeds in a sandbox, in a folder of its own.
fn in_project(rig: &Rig, argv: &[&str]) -> ExecRequest {
    let project = rig.work.join("project");
    std::fs::create_dir_all(&project).unwrap();
    ExecRequest {
        command: argv.iter().map(|word| (*word).to_owned()).collect(),
        cwd: Some(project.to_str().unwrap().to_owned()),
        ..ExecRequest::default()
    }
}

struct Boxed<'a> {
    name: &'a str,
    document: serde_json::Value,
    policy: (Option<Security>, Option<Ask>),
    desk: Person,
    ran: bool,
    reason: &'a str,
    asked: bool,
}

async fn check_boxed(row: Boxed<'_>) {
    let Boxed { name, document, policy: (security, ask), desk, ran, reason, asked } = row;
    let rig = Rig::new(&document.to_string(), ForwardedGrants::Never).await;
    let request = in_project(&rig, &["echo", "ran"]);
    let (came, record) = rig.send_to(boxed(security, ask), request, desk).await;
    let expected = if ran { "ran\n" } else { reason };
    let found = match &came {
        Came::Ran(output) => output,
        Came::Refused(_, reason) => reason,
    };
    assert_eq!((matches!(came, Came::Ran(_)), found.as_str()), (ran, expected), "{name}: {came:?}");
    assert_eq!(record.is_some(), asked, "{name}: whether a person was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn in_a_sandbox_the_routers_policy_holds_with_the_documents_entries_and_denials() {
    let says = |defaults: serde_json::Value| serde_json::json!({ "version": 1, "defaults": defaults });
    let covered = |defaults: serde_json::Value| {
        let entry = serde_json::json!([{ "pattern": echo_path() }]);
        serde_json::json!({ "version": 1, "defaults": defaults, "agents": { "main": { "allowlist": entry } } })
    };
    let deny = || serde_json::json!({ "security": "deny" });
    let open = || serde_json::json!({ "security": "full", "ask": "off" });
    let nothing = || serde_json::json!({});
    let (unsaid, full) = ((None, None), (Some(Security::Full), Some(Ask::Off)));
    let listed = (Some(Security::Allowlist), Some(Ask::Off));
    let always = (Some(Security::Full), Some(Ask::Always));
    for (name, document, policy, desk, ran, reason, asked) in [
        ("nothing said, a person allows", says(nothing()), unsaid, YES, true, "", true),
        ("nothing said, a person denies", says(nothing()), unsaid, NO, false, "user-denied", true),
        ("nothing said, covered", covered(nothing()), unsaid, NO, true, "", false),
        ("the machine is open, the sandbox is not", says(open()), unsaid, NO, false, "user-denied", true),
        ("nobody to ask", says(nothing()), unsaid, Person::Empty, false, "security=deny", false),
        ("full", says(nothing()), full, NO, true, "", false),
        ("full, always", says(nothing()), always, NO, false, "user-denied", true),
        ("listed and covered", covered(open()), listed, NO, true, "", false),
        ("listed and missed", says(open()), listed, YES, false, "allowlist-miss", false),
        (
            "denied by the router",
            covered(open()),
            (Some(Security::Deny), None),
            YES,
            false,
            "security=deny",
            false,
        ),
        ("denied by the document", covered(deny()), full, YES, false, "security=deny", false),
    ] {
        check_boxed(Boxed { name, document, policy, desk, ran, reason, asked }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_that_cannot_be_read_denies_in_a_sandbox_too() {
    let rig = Rig::new("{broken", ForwardedGrants::Never).await;
    let request = in_project(&rig, &["echo", "ran"]);
    let (came, _) = rig.send_to(boxed(Some(Security::Full), Some(Ask::Off)), request, YES).await;
    assert!(matches!(&came, Came::Refused(_, reason) if reason == "security=deny"), "{came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusing_rule_refuses_in_a_sandbox_too() {
    let rules = own(serde_json::json!({ "effect": "deny" }));
    let document = policy("full", "off", "deny", &[]);
    let rig = Rig::with_rules(&document, Some(&rules), ForwardedGrants::Never).await;
    let request = in_project(&rig, &["echo", "ran"]);
    let (came, _) = rig.send_to(boxed(Some(Security::Full), Some(Ask::Off)), request, YES).await;
    assert!(matches!(&came, Came::Refused(_, reason) if reason.starts_with("rule")), "{came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_card_and_the_history_say_that_it_is_a_sandbox_and_nothing_is_remembered_from_there() {
    let rig = Rig::new(&policy("allowlist", "on-miss", "deny", &[]), ForwardedGrants::Never).await;
    let outside = rig.work.join("outside");
    let text = format!("echo x > {}; pwd", outside.display());
    let request = in_project(&rig, &["sh", "-c", &text]);
    let (came, record) = rig.send_to(boxed(None, None), request, YES).await;
    let project = std::fs::canonicalize(rig.work.join("project")).unwrap();
    assert_eq!(came, Came::Ran(format!("{}\n", project.display())));
    assert!(!outside.exists(), "it ran outside of the sandbox");
    let question = &record.unwrap().question;
    assert_eq!(
        (&question.place, question.offer.decisions.as_slice()),
        (&Place::Sandbox, &[Decision::AllowOnce, Decision::Deny][..])
    );
    assert_eq!(question.offer.unavailable, Some(AlwaysUnavailable::Sandbox));
    assert_eq!(question.why.trace.first(), Some(&TraceStep::Sandbox { network: false }));
    let told = question.facts.iter().find_map(|fact| match fact {
        Finding::Sandbox { network, folder, image } => Some((*network, folder.clone(), image.is_some())),
        _ => None,
    });
    assert_eq!(told, Some((false, project, false)));
    let lines = history::page(&rig.own.parent().unwrap().join("history"), None, 10).unwrap().entries;
    let hosts: Vec<_> = lines
        .iter()
        .filter_map(|line| match &line.event {
            HistoryEvent::Request { host, .. } => Some(*host),
            _ => None,
        })
        .collect();
    assert_eq!(hosts, [Some(HostKind::Sandbox)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_sandbox_nobody_is_asked_and_nothing_runs() {
    let rig = Rig::new(&policy("full", "off", "deny", &[]), ForwardedGrants::Never).await;
    let missing = Backend::Container { program: "/nowhere/docker".into(), image: "debian:12".into() };
    let nowhere = Placement::Sandbox {
        policy: Requested::default(),
        sandbox: Sandbox { backend: missing, network: false },
    };
    let at_home = ExecRequest { cwd: None, ..echo() };
    for (placement, request, says) in [
        (nowhere, in_project(&rig, &["echo", "ran"]), "/nowhere/docker"),
        (boxed(None, None), at_home, "somebody's home"),
    ] {
        let (came, record) = rig.send_to(placement, request, YES).await;
        match came {
            Came::Refused(message, reason) => {
                assert!(message.starts_with("exec host sandbox: ") && message.contains(says), "{message}");
                assert_eq!(reason, "sandbox-unavailable");
            }
            Came::Ran(output) => panic!("ran: {output}"),
        }
        assert!(record.is_none(), "a person was asked: {says}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deny_that_is_spelled_out_while_a_person_looks_counts() {
    let rig = Rig::new(&serde_json::json!({ "version": 1 }).to_string(), ForwardedGrants::Never).await;
    let request = in_project(&rig, &["echo", "ran"]);
    let mut events = rig.approvals.events();
    let _presenter = rig.approvals.presenter();
    let gone = CancellationToken::new();
    let peer = Peer::default();
    let running = rig.host.exec_at(request, boxed(None, None), &peer, gone);
    let answering = async {
        loop {
            if let Ok(Event::Added(record)) = events.recv().await {
                let state = rig.own.parent().unwrap().join("openclaw/exec-approvals.json");
                let denies = serde_json::json!({ "version": 1, "defaults": { "security": "deny" } });
                std::fs::write(state, denies.to_string()).unwrap();
                rig.approvals.resolve(&record.id, Decision::AllowOnce, "window").await.unwrap();
                return;
            }
        }
    };
    let (result, ()) = tokio::join!(running, answering);
    let refusal = result.unwrap_err();
    assert_eq!(refusal.error.reason.as_deref(), Some("approval-store-unavailable"), "{refusal:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_this_machine_a_wish_hardens_the_document_and_never_loosens_it() {
    let wish = |security, ask| Requested { security, ask };
    let (full, off) = (Some(Security::Full), Some(Ask::Off));
    for (name, document, policy, ran, asked) in [
        ("nothing asked for", ("full", "off", "deny"), wish(None, None), true, false),
        ("denied", ("full", "off", "deny"), wish(Some(Security::Deny), None), false, false),
        ("missed", ("full", "off", "deny"), wish(Some(Security::Allowlist), None), false, false),
        ("asked", ("full", "off", "deny"), wish(None, Some(Ask::Always)), true, true),
        ("not looser than deny", ("deny", "off", "deny"), wish(full, off), false, false),
        ("not looser than always", ("full", "always", "deny"), wish(full, off), true, true),
        ("not looser than the list", ("allowlist", "on-miss", "deny"), wish(full, off), true, true),
    ] {
        let (security, ask, fallback) = document;
        let rig = Rig::new(&super::policy(security, ask, fallback, &[]), ForwardedGrants::Never).await;
        let (came, record) = rig.send_to(Placement::Here { policy }, echo(), YES).await;
        assert_eq!(matches!(came, Came::Ran(_)), ran, "{name}: {came:?}");
        assert_eq!(record.is_some(), asked, "{name}: whether a person was asked");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_that_cannot_be_had_is_refused_before_anybody_is_asked() {
    let rig = Rig::new(&policy("full", "off", "deny", &[]), ForwardedGrants::Never).await;
    let backend = Backend::Container { program: "/usr/bin/docker".into(), image: "debian:12".into() };
    let container =
        Placement::Sandbox { policy: Requested::default(), sandbox: Sandbox { backend, network: false } };
    let (came, record) = rig.send_to(container, ExecRequest { pty: Some(true), ..echo() }, YES).await;
    let refused = "pty: a container gives a command no terminal; run it without";
    assert_eq!(came, Came::Refused(refused.to_owned(), "invalid".to_owned()));
    assert!(record.is_none());
    let here = ExecRequest { command: vec!["tty".into()], pty: Some(true), ..ExecRequest::default() };
    let (came, _) = rig.send(here, Person::Empty).await;
    assert!(matches!(&came, Came::Ran(output) if output.starts_with("/dev/pts/")), "{came:?}");
}
