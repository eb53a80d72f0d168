//! The decision table of a forwarded or fresh request (rows M404–M429), against a real document, a real book
//! and real processes. A person is played by whoever answers the book.

use super::*;
use crate::testing::PATIENCE;
use countersign_approvals::actor::Event;
use countersign_approvals::book::Record;
use countersign_approvals::history::Places;
use countersign_approvals::ports::Clock;
use countersign_approvals::question::{Door, Finding};
use countersign_approvals::rules::Folders;
use countersign_policy::always::Choice;
use countersign_policy::document;
use countersign_policy::effective::Requested;
use countersign_policy::evaluate::Trust;
use countersign_protocol::question::{AlwaysUnavailable, QuestionKind};
use countersign_protocol::remember::Rung;
use countersign_protocol::settings::ForwardedGrants;
use countersign_protocol::shown::ArgRole;
use countersign_protocol::socket::{NodeRun, PolicySnapshot, SnapshotRule};
use pretty_assertions::assert_eq;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio_util::task::TaskTracker;

mod containing;
mod facts;
mod grants;
mod inquiries;
mod keys;
mod limits;
mod neighbours;
mod permit;
mod placement;
mod recorded;
mod scratches;
mod scripts;

/// Who sits at the desk.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Person {
    /// Answers everything so.
    Answers(Decision),
    /// Nobody can be shown anything.
    Empty,
}

/// What came of a request, in short.
#[derive(Debug, Eq, PartialEq)]
enum Came {
    /// It ran, and this is what it printed.
    Ran(String),
    /// It did not: message, reason.
    Refused(String, String),
}

/// Where these tests keep the history.
fn history_places(dir: &Path) -> Places {
    Places { lines: dir.join("history"), head: dir.join("history.head") }
}

/// The system's clock, which the test may set.
struct SettableClock {
    system: Arc<dyn Clock>,
    set_by_ms: AtomicI64,
}

impl Clock for SettableClock {
    fn now_ms(&self) -> i64 {
        self.system.now_ms() + self.set_by_ms.load(Ordering::SeqCst)
    }

    fn steady_ms(&self) -> i64 {
        self.system.steady_ms()
    }
}

struct Rig {
    _dir: TempDir,
    clock: Arc<SettableClock>,
    host: Host,
    approvals: Approvals,
    store: Store,
    own_rules: RuleStore,
    work: PathBuf,
    own: PathBuf,
    settings: watch::Sender<Settings>,
    stop: CancellationToken,
}

impl Rig {
    async fn new(document: &str, grants: ForwardedGrants) -> Self {
        Self::with_rules(document, None, grants).await
    }

    async fn with_rules(document: &str, rules: Option<&str>, grants: ForwardedGrants) -> Self {
        Self::within(tempfile::tempdir().unwrap(), document, rules, grants).await
    }

    async fn within(dir: TempDir, document: &str, rules: Option<&str>, grants: ForwardedGrants) -> Self {
        Self::in_environment(dir, document, rules, grants, &[]).await
    }

    async fn in_environment(
        dir: TempDir,
        document: &str,
        rules: Option<&str>,
        grants: ForwardedGrants,
        variables: &[(&str, &str)],
    ) -> Self {
        let state = dir.path().join("openclaw");
        let work = dir.path().join("work");
        let own = dir.path().join("own");
        for folder in [&state, &work, &own] {
            std::fs::create_dir(folder).unwrap();
            private(folder, 0o700);
        }
        std::fs::write(state.join("exec-approvals.json"), document).unwrap();
        private(&state.join("exec-approvals.json"), 0o600);
        if let Some(rules) = rules {
            std::fs::write(own.join("rules.json"), rules).unwrap();
            private(&own.join("rules.json"), 0o600);
        }
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let Ports { clock: system, ids } = Ports::system();
        let clock = Arc::new(SettableClock { system, set_by_ms: AtomicI64::new(0) });
        let shared: Arc<dyn Clock> = clock.clone();
        let ports = Ports { clock: shared, ids };
        let approvals = Approvals::start(ports.clone(), 8, &tracker, stop.clone());
        let store = Store::open(state, ports.clone(), &tracker, stop.clone());
        let folders = Folders { config: own.clone(), state: own.clone() };
        let rules = RuleStore::open(folders, ports.clone(), &tracker, stop.clone());
        let history =
            History::open(history_places(dir.path()), ports.clone(), &tracker, stop.clone()).unwrap();
        let settings = watch::Sender::new(Settings { forwarded_grants: grants, ..Settings::default() });
        let host = Host::new(Parts {
            approvals: approvals.clone(),
            store: store.clone(),
            rules: rules.clone(),
            history,
            ports,
            settings: settings.subscribe(),
            trusts: Box::new(Arc::new(Trust::default())),
            environment: [("PATH", "/usr/bin:/bin")]
                .iter()
                .chain(variables)
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            home: work.clone(),
            private: vec![own.clone(), dir.path().join("history")],
            boxes: own.join("boxes"),
            via: Via::Socket,
        });
        Self { _dir: dir, clock, host, approvals, store, own_rules: rules, work, own, settings, stop }
    }

    /// Sends `request` while `desk` answers, and tells whether a person was asked.
    async fn send(&self, request: ExecRequest, desk: Person) -> (Came, Option<Arc<Record>>) {
        self.send_to(Placement::default(), request, desk).await
    }

    /// The same for a run somewhere.
    async fn send_to(
        &self,
        placement: Placement,
        request: ExecRequest,
        desk: Person,
    ) -> (Came, Option<Arc<Record>>) {
        let mut events = self.approvals.events();
        let presenter = (desk != Person::Empty).then(|| self.approvals.presenter());
        let approvals = self.approvals.clone();
        let asked: Arc<Mutex<Option<Arc<Record>>>> = Arc::default();
        let seen = asked.clone();
        let answering = tokio::spawn(async move {
            while let Ok(event) = events.recv().await {
                if let (Event::Added(record), Person::Answers(decision)) = (event, desk) {
                    *seen.lock().unwrap() = Some(record.clone());
                    approvals.resolve(&record.id, decision, "window").await.unwrap();
                }
            }
        });
        let result = self.host.exec_at(request, placement, &Peer::default(), CancellationToken::new()).await;
        answering.abort();
        let record = asked.lock().unwrap().take();
        drop(presenter);
        let came = match result {
            Ok(payload) => Came::Ran(payload.stdout),
            Err(refusal) => Came::Refused(refusal.error.message, refusal.error.reason.unwrap_or_default()),
        };
        (came, record)
    }

    fn rules(&self) -> Vec<String> {
        let current = self.store.current();
        let (_, rules) = document::resolve(current.document.as_ref().unwrap(), None, Requested::default());
        rules.into_iter().map(|rule| rule.pattern).collect()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn private(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn policy(security: &str, ask: &str, fallback: &str, allowlist: &[&str]) -> String {
    let entries: Vec<_> = allowlist.iter().map(|pattern| serde_json::json!({ "pattern": pattern })).collect();
    serde_json::json!({
        "version": 1,
        "defaults": { "security": security, "ask": ask, "askFallback": fallback },
        "agents": { "main": { "allowlist": entries } },
    })
    .to_string()
}

fn echo() -> ExecRequest {
    ExecRequest { command: vec!["echo".into(), "ran".into()], ..ExecRequest::default() }
}

fn snapshot_of(security: Security, ask: Ask, rules: &[&str]) -> PolicySnapshot {
    PolicySnapshot {
        security,
        ask,
        ask_fallback: Security::Deny,
        auto_allow_skills: false,
        allowlist_rules: rules
            .iter()
            .map(|pattern| SnapshotRule { pattern: (*pattern).to_owned(), arg_pattern: None, source: None })
            .collect(),
    }
}

fn echo_path() -> String {
    std::fs::canonicalize("/usr/bin/echo").unwrap().to_str().unwrap().to_owned()
}

/// One row of the table: what the policy says, what is sent, what comes.
struct Row<'a> {
    policy: (&'a str, &'a str, &'a str),
    allowlist: &'a [&'a str],
    request: ExecRequest,
    desk: Person,
    ran: bool,
    reason: &'a str,
    asked: bool,
}

async fn check(name: &str, row: Row<'_>) {
    let (security, ask, fallback) = row.policy;
    let rig = Rig::new(&policy(security, ask, fallback, row.allowlist), ForwardedGrants::WithSnapshot).await;
    let (came, record) = rig.send(row.request, row.desk).await;
    match came {
        Came::Ran(output) => assert!(row.ran && output == "ran\n", "{name}: ran and printed {output:?}"),
        Came::Refused(message, reason) => {
            assert!(!row.ran, "{name}: refused with {message}");
            assert_eq!(reason, row.reason, "{name}: {message}");
        }
    }
    assert_eq!(record.is_some(), row.asked, "{name}: whether a person was asked");
}

const YES: Person = Person::Answers(Decision::AllowOnce);
const NO: Person = Person::Answers(Decision::Deny);

#[tokio::test(flavor = "multi_thread")]
async fn m404_to_m414_fresh_requests() {
    let echo_path = echo_path();
    let hit: &[&str] = &[&echo_path];
    let granted = |decision| ExecRequest {
        approval_decision: Some(decision),
        policy_snapshot: Some(snapshot_of(Security::Deny, Ask::Always, &[])),
        ..echo()
    };
    let login = || ExecRequest {
        command: vec!["bash".into(), "-lc".into(), "echo ran".into()],
        ..ExecRequest::default()
    };
    for (name, policy, allowlist, request, desk, ran, reason, asked) in [
        (
            "m404",
            ("deny", "always", "deny"),
            &[][..],
            granted(Decision::AllowOnce),
            YES,
            false,
            "security=deny",
            false,
        ),
        ("m405", ("full", "off", "deny"), &[], granted(Decision::Deny), YES, false, "user-denied", false),
        ("m406", ("full", "off", "deny"), &[], echo(), NO, true, "", false),
        ("m407", ("full", "on-miss", "deny"), &[], echo(), NO, true, "", false),
        ("m408 yes", ("full", "always", "deny"), &[], echo(), YES, true, "", true),
        ("m408 no", ("full", "always", "deny"), &[], echo(), NO, false, "user-denied", true),
        ("m409", ("allowlist", "off", "deny"), &[], echo(), YES, false, "allowlist-miss", false),
        ("m410 yes", ("allowlist", "on-miss", "deny"), &[], echo(), YES, true, "", true),
        ("m410 no", ("allowlist", "on-miss", "deny"), &[], echo(), NO, false, "user-denied", true),
        ("m411", ("allowlist", "on-miss", "deny"), hit, echo(), NO, true, "", false),
        ("m412", ("allowlist", "on-miss", "deny"), hit, login(), NO, false, "user-denied", true),
        ("m414", ("allowlist", "always", "deny"), hit, echo(), NO, false, "user-denied", true),
    ] {
        check(name, Row { policy, allowlist, request, desk, ran, reason, asked }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn m415_to_m424_what_was_decided_elsewhere() {
    let sent =
        |decision: Option<Decision>, source: Option<&str>, snapshot: bool, security, ask| ExecRequest {
            approval_decision: decision,
            approval_source: source.map(str::to_owned),
            policy_snapshot: snapshot.then(|| snapshot_of(security, ask, &[])),
            ..echo()
        };
    let (miss, full, off, always) = (Security::Allowlist, Security::Full, Ask::Off, Ask::Always);
    let once = Some(Decision::AllowOnce);
    for (name, policy, request, ran, reason) in [
        (
            "m415",
            ("allowlist", "on-miss", "deny"),
            sent(once, None, false, miss, Ask::OnMiss),
            false,
            "invalid",
        ),
        ("m416", ("allowlist", "on-miss", "deny"), sent(once, None, true, miss, Ask::OnMiss), true, ""),
        ("m417", ("full", "off", "deny"), sent(Some(Decision::AllowAlways), None, true, full, off), true, ""),
        ("m418", ("full", "always", "full"), sent(None, Some("ask-fallback"), false, full, always), true, ""),
        (
            "m419",
            ("full", "always", "allowlist"),
            sent(None, Some("ask-fallback"), false, full, always),
            false,
            "allowlist-miss",
        ),
        (
            "m420",
            ("full", "always", "deny"),
            sent(None, Some("ask-fallback"), false, full, always),
            false,
            "security=deny",
        ),
        (
            "m421",
            ("allowlist", "on-miss", "deny"),
            sent(None, Some("auto-review"), true, miss, Ask::OnMiss),
            true,
            "",
        ),
        (
            "m422",
            ("full", "always", "deny"),
            sent(None, Some("auto-review"), true, full, always),
            false,
            "ask=always",
        ),
        ("m423", ("full", "off", "deny"), sent(once, Some("auto-review"), true, full, off), false, "invalid"),
        ("m424", ("full", "off", "deny"), sent(None, Some("other"), false, full, off), false, "invalid"),
    ] {
        check(name, Row { policy, allowlist: &[], request, desk: NO, ran, reason, asked: false }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn m416_a_forwarded_always_is_stored_and_m417_not_under_full() {
    for (security, ask, stored) in [("allowlist", "on-miss", 1), ("full", "off", 0)] {
        let rig = Rig::new(&policy(security, ask, "deny", &[]), ForwardedGrants::WithSnapshot).await;
        let request = ExecRequest {
            approval_decision: Some(Decision::AllowAlways),
            policy_snapshot: Some(snapshot_of(security.parse().unwrap(), ask.parse().unwrap(), &[])),
            ..echo()
        };
        assert_eq!(rig.send(request, NO).await.0, Came::Ran("ran\n".into()), "{security}");
        assert_eq!(rig.rules().len(), stored, "{security}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn m425_to_m427_a_grant_is_as_good_as_the_policy_it_was_given_under() {
    for (name, live, shown, ran) in [
        ("m425 rule revoked", &[][..], &["/opt/a"][..], false),
        ("m426 rule added", &["/opt/a", "/opt/b"], &["/opt/a"], true),
    ] {
        let rig =
            Rig::new(&policy("allowlist", "on-miss", "deny", live), ForwardedGrants::WithSnapshot).await;
        let request = ExecRequest {
            approval_decision: Some(Decision::AllowOnce),
            policy_snapshot: Some(snapshot_of(Security::Allowlist, Ask::OnMiss, shown)),
            ..echo()
        };
        match rig.send(request, NO).await.0 {
            Came::Ran(_) => assert!(ran, "{name}"),
            Came::Refused(_, reason) => {
                assert!(!ran, "{name}");
                assert_eq!(reason, "approval-store-unavailable", "{name}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn m428_and_m429_after_the_policy_said_yes() {
    let request = ExecRequest { needs_screen_recording: Some(true), ..echo() };
    let policy = ("full", "off", "deny");
    let row =
        |request, reason| Row { policy, allowlist: &[], request, desk: NO, ran: false, reason, asked: false };
    check("m428", row(request, "permission:screenRecording")).await;
    let request = ExecRequest { cwd: Some("/nonexistent/folder".into()), ..echo() };
    check("m429", row(request, "cwd-unavailable")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_judged_by_the_document_as_it_is_then() {
    let with = policy("allowlist", "off", "deny", &[&echo_path()]);
    let without = policy("allowlist", "off", "deny", &[]);
    let rig = Rig::new(&with, ForwardedGrants::WithSnapshot).await;
    for (document, runs) in [(&with, true), (&without, false), (&with, true)] {
        std::fs::write(&rig.store.current().path, document).unwrap();
        let (came, _) = rig.send(echo(), Person::Empty).await;
        assert_eq!(matches!(came, Came::Ran(_)), runs, "{document}: {came:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_changes_while_the_person_looks_must_not_be_stricter() {
    let asking = policy("allowlist", "on-miss", "deny", &["/opt/a"]);
    let more = policy("allowlist", "on-miss", "deny", &["/opt/a", "/opt/b"]);
    let fewer = policy("allowlist", "on-miss", "deny", &[]);
    let denying = policy("deny", "on-miss", "deny", &["/opt/a"]);
    for (after, runs) in [(&asking, true), (&more, true), (&fewer, false), (&denying, false)] {
        let rig = Rig::new(&asking, ForwardedGrants::WithSnapshot).await;
        let mut events = rig.approvals.events();
        let _presenter = rig.approvals.presenter();
        let (approvals, path, after) =
            (rig.approvals.clone(), rig.store.current().path.clone(), after.clone());
        let shown = after.clone();
        let answering = tokio::spawn(async move {
            let Ok(Event::Added(record)) = events.recv().await else { panic!("expected a request") };
            std::fs::write(&path, after).unwrap();
            approvals.resolve(&record.id, Decision::AllowOnce, "window").await.unwrap();
        });
        let result = rig.host.exec(echo(), &Peer::default(), CancellationToken::new()).await;
        answering.await.unwrap();
        let came = result.map(|payload| payload.stdout).map_err(|refusal| refusal.error.message);
        assert_eq!(came.is_ok(), runs, "{shown}: {came:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t01_a_grant_from_the_wire_is_asked_about_when_the_person_never_trusts_them() {
    let rig = Rig::new(&policy("allowlist", "on-miss", "deny", &[]), ForwardedGrants::Never).await;
    let request = ExecRequest {
        approval_decision: Some(Decision::AllowOnce),
        policy_snapshot: Some(snapshot_of(Security::Allowlist, Ask::OnMiss, &[])),
        ..echo()
    };
    let (came, record) = rig.send(request, NO).await;
    assert_eq!(came, Came::Refused("SYSTEM_RUN_DENIED: user denied".into(), "user-denied".into()));
    assert!(record.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn without_anybody_to_ask_the_fallback_decides() {
    let path = echo_path();
    for (fallback, allowlist, ran) in
        [("deny", &[][..], false), ("allowlist", &[], false), ("full", &[], true)]
    {
        let rig =
            Rig::new(&policy("full", "always", fallback, allowlist), ForwardedGrants::WithSnapshot).await;
        let came = rig.send(echo(), Person::Empty).await.0;
        assert_eq!(matches!(came, Came::Ran(_)), ran, "{fallback}: {came:?}");
    }
    let rig = Rig::new(&policy("full", "always", "allowlist", &[&path]), ForwardedGrants::WithSnapshot).await;
    assert_eq!(rig.send(echo(), Person::Empty).await.0, Came::Ran("ran\n".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn t08_bad_argument_lists_are_refused_before_anybody_is_asked() {
    for command in [
        vec![],
        vec![String::new()],
        vec!["  ".to_owned()],
        vec![" echo ".to_owned(), "ran".to_owned()],
        vec!["echo".to_owned(), "a\0b".to_owned()],
    ] {
        let request = ExecRequest { command, ..ExecRequest::default() };
        check(
            "bad argv",
            Row {
                policy: ("full", "always", "full"),
                allowlist: &[],
                request,
                desk: YES,
                ran: false,
                reason: "invalid",
                asked: false,
            },
        )
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t17_a_blocked_override_refuses_and_an_unusual_one_is_asked_about() {
    let path = echo_path();
    let with =
        |name: &str| ExecRequest { env: Some(BTreeMap::from([(name.to_owned(), "x".to_owned())])), ..echo() };
    let row = |request, reason, asked| Row {
        policy: ("allowlist", "on-miss", "deny"),
        allowlist: &[],
        request,
        desk: NO,
        ran: false,
        reason,
        asked,
    };
    check("blocked", row(with("LD_PRELOAD"), "invalid", false)).await;
    let mut unusual = row(with("SOMETHING_ELSE"), "user-denied", true);
    let allowlist = [path.as_str()];
    unusual.allowlist = &allowlist;
    check("unusual", unusual).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ask_frame_runs_nothing_and_offers_what_the_asker_offers() {
    let rig = Rig::new(&policy("allowlist", "on-miss", "deny", &[]), ForwardedGrants::WithSnapshot).await;
    let marker = rig.work.join("marker");
    let request = AskRequest { command: format!("touch {}", marker.display()), ..AskRequest::default() };
    let mut events = rig.approvals.events();
    let _presenter = rig.approvals.presenter();
    let approvals = rig.approvals.clone();
    let answering = tokio::spawn(async move {
        let Ok(Event::Added(record)) = events.recv().await else { panic!("expected a request") };
        approvals.resolve(&record.id, Decision::AllowOnce, "window").await.unwrap();
        record
    });
    let decision = rig.host.ask(request, &Peer::default(), CancellationToken::new()).await;
    assert_eq!(decision, Some(Decision::AllowOnce));
    assert!(!marker.exists());
    let record = answering.await.unwrap();
    assert_eq!(record.question.subject.kind(), QuestionKind::Ask);
    assert!(record.question.offer.choices.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_card_offers_a_ladder_from_the_exact_command_and_says_why_when_it_cannot() {
    let rig = Rig::new(&policy("allowlist", "on-miss", "deny", &[]), ForwardedGrants::WithSnapshot).await;
    let record = rig.send(echo(), NO).await.1.unwrap();
    assert_eq!(record.question.offer.decisions.len(), 3);
    assert_eq!(rungs(&record), ["exact", "shape", "no-subcommand", "nothing-more"]);
    let removing = ExecRequest { command: vec!["rm".into(), "x".into()], ..ExecRequest::default() };
    let record = rig.send(removing, NO).await.1.unwrap();
    assert_eq!(rungs(&record), ["exact", "dangerous", "dangerous", "dangerous"]);
    let shell =
        ExecRequest { command: vec!["bash".into(), "-c".into(), "id".into()], ..ExecRequest::default() };
    let record = rig.send(shell, NO).await.1.unwrap();
    assert_eq!(record.question.offer.unavailable, Some(AlwaysUnavailable::Carrier));
}

/// The rungs that are there: their own name where they are offered, the cause where they are not.
fn rungs(record: &Record) -> Vec<String> {
    let name = |value: serde_json::Value| value.as_str().unwrap().to_owned();
    let word = |choice: &Choice| match &choice.rules {
        Ok(_) => name(serde_json::to_value(choice.rung).unwrap()),
        Err(cause) => name(serde_json::to_value(cause).unwrap()),
    };
    record.question.offer.choices.iter().map(word).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_shows_its_parts_marks_every_missed_one_and_offers_a_rule_for_each() {
    let rig = Rig::new(&policy("allowlist", "on-miss", "deny", &[]), ForwardedGrants::WithSnapshot).await;
    let chain = |text: &str| ExecRequest {
        command: vec!["sh".into(), "-c".into(), text.into()],
        cwd: Some(rig.work.display().to_string()),
        ..ExecRequest::default()
    };
    let record = rig.send(chain("cd . && uname -a | ls -l"), NO).await.1.unwrap();
    let view = record.question.subject.view();
    assert_eq!(view.shell.len(), 2, "{view:?}");
    let missed: Vec<bool> = view.segments.iter().map(|segment| segment.missed).collect();
    assert_eq!(missed, [false, true, true]);
    let exact = record.question.offer.choices.iter().find(|choice| choice.rung == Rung::Exact).unwrap();
    assert_eq!(exact.rules.as_ref().map(Vec::len), Ok(2), "one for uname, one for ls");
    // What cannot be taken apart is shown as the text that the shell gets, whole, and nothing
    // is offered for it.
    let record = rig.send(chain("while uname; do uname; done"), NO).await.1.unwrap();
    let view = record.question.subject.view();
    assert_eq!((view.shell.len(), view.segments.len(), view.segments[0].args.len()), (2, 1, 1), "{view:?}");
    assert_eq!(view.segments[0].args[0].role, ArgRole::Text);
    assert!(record.question.offer.choices.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn past_requests_that_a_rung_would_have_let_run_are_counted() {
    let rig = Rig::new(&policy("allowlist", "on-miss", "deny", &[]), ForwardedGrants::WithSnapshot).await;
    let record = rig.send(echo(), NO).await.1.unwrap();
    let past = |argv: &[&str], agent: &str, denied| Past {
        agent: AgentId::of(Some(agent)),
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        cwd: Some(rig.work.display().to_string()),
        denied,
    };
    let past = [
        past(&["echo", "other"], "main", true),
        past(&["uname"], "main", false),
        past(&["echo", "other"], "somebody", false),
    ];
    let found = rig.host.breadth_of_choices(&AgentId::of(None), &record.question.offer.choices, &past).await;
    let shape = found.iter().find(|found| found.rung == Rung::Shape).unwrap().breadth;
    assert_eq!((shape.of, shape.matched, shape.denied), (2, 1, 1));
    let exact = found.iter().find(|found| found.rung == Rung::Exact).unwrap().breadth;
    assert_eq!(exact.matched, 0);
    assert!(found.iter().all(|found| found.rung != Rung::Subcommand), "it was not offered: {found:?}");
}

/// A document of our own with one rule about `echo`, changed by `more`.
fn own(more: serde_json::Value) -> String {
    let mut rule = serde_json::json!({
        "id": "r-1", "agent": "*", "effect": "allow", "program": "echo", "arguments": "any",
        "createdAtMs": 0, "from": "typed",
    });
    rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::json!({ "version": 1, "rules": [rule] }).to_string()
}

/// Sends the same request again and again; whether it ran, and whether a person was asked.
async fn check_own(policy: &str, rules: &str, desk: Person, expected: &[(bool, bool)]) -> Rig {
    let rig = Rig::with_rules(policy, Some(rules), ForwardedGrants::WithSnapshot).await;
    for (time, expected) in expected.iter().enumerate() {
        let (came, record) = rig.send(echo(), desk).await;
        let ran = matches!(came, Came::Ran(_));
        assert_eq!((ran, record.is_some()), *expected, "time {time}: {came:?}");
    }
    rig
}

fn asking() -> String {
    policy("allowlist", "on-miss", "deny", &[])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_of_our_own_lets_run_as_often_as_it_says() {
    let once = own(serde_json::json!({ "limits": { "uses": 1 } }));
    let rig = check_own(&asking(), &once, NO, &[(true, false), (false, true)]).await;
    let uses = std::fs::read_to_string(rig.own.join("rule-uses.json")).unwrap();
    assert!(uses.contains("\"uses\": 1"), "{uses}");
    check_own(&asking(), &own(serde_json::json!({})), NO, &[(true, false), (true, false)]).await;
    let over = own(serde_json::json!({ "limits": { "untilMs": 1 } }));
    check_own(&asking(), &over, NO, &[(false, true)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_use_that_cannot_be_counted_is_asked_about() {
    let once = own(serde_json::json!({ "limits": { "uses": 9 } }));
    let rig = Rig::with_rules(&asking(), Some(&once), ForwardedGrants::WithSnapshot).await;
    std::fs::create_dir(rig.own.join("rule-uses.json.lock")).unwrap();
    let (came, record) = rig.send(echo(), YES).await;
    assert!(matches!(came, Came::Ran(_)) && record.is_some(), "{came:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_that_refuses_wins_over_policy_entries_and_grants() {
    let refuse = own(serde_json::json!({ "effect": "deny" }));
    let open = policy("full", "off", "full", &["*"]);
    let rig = check_own(&open, &refuse, YES, &[(false, false)]).await;
    let granted = ExecRequest {
        approval_decision: Some(Decision::AllowAlways),
        policy_snapshot: Some(snapshot_of(Security::Full, Ask::Off, &[])),
        ..echo()
    };
    for request in [echo(), granted] {
        let (came, _) = rig.send(request, YES).await;
        let message = "SYSTEM_RUN_DENIED: refused by a rule: refuse echo with any arguments".to_owned();
        assert_eq!(came, Came::Refused(message, "rule".to_owned()));
    }
    let request = AskRequest { command: "ls && echo x".to_owned(), ..AskRequest::default() };
    let decision = rig.host.ask(request, &Peer::default(), CancellationToken::new()).await;
    assert_eq!(decision, Some(Decision::Deny));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_that_comes_while_the_person_looks_wins_over_the_answer() {
    let rig = Rig::with_rules(&asking(), None, ForwardedGrants::WithSnapshot).await;
    let mut events = rig.approvals.events();
    let _presenter = rig.approvals.presenter();
    let (approvals, rules) = (rig.approvals.clone(), rig.own.join("rules.json"));
    let answering = tokio::spawn(async move {
        let Ok(Event::Added(record)) = events.recv().await else { panic!("expected a request") };
        std::fs::write(&rules, own(serde_json::json!({ "effect": "deny" }))).unwrap();
        private(&rules, 0o600);
        approvals.resolve(&record.id, Decision::AllowOnce, "window").await.unwrap();
    });
    let result = rig.host.exec(echo(), &Peer::default(), CancellationToken::new()).await;
    answering.await.unwrap();
    assert_eq!(result.unwrap_err().error.reason.as_deref(), Some("rule"));
}

#[tokio::test(flavor = "multi_thread")]
async fn with_rules_that_cannot_be_read_everything_is_asked_about() {
    let open = policy("full", "off", "full", &["*"]);
    for unreadable in ["", "{", "{\"version\":9,\"rules\":[]}"] {
        check_own(&open, unreadable, YES, &[(true, true)]).await;
        check_own(&open, unreadable, NO, &[(false, true)]).await;
        check_own(&open, unreadable, Person::Empty, &[(false, false)]).await;
    }
}
