//! What the desk says of itself, with everything running.

use super::*;
use crate::testing::{PATIENCE, paths};
use crate::wiring::Companion;
use countersign_approvals::actor::PresenterGuard;
use countersign_core::private;
use countersign_protocol::edits::{DocumentEdit, PolicyField};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::meaning::{Reach, Whose};
use countersign_protocol::question::{Outcome, QuestionKind, Via};
use countersign_protocol::state::{PageEnd, SocketState};
use countersign_protocol::ui::{ChangedBy, EditParams, PolicyPreviewParams};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;

struct Rig {
    _home: TempDir,
    companion: Companion,
    _presenter: PresenterGuard,
}

impl Rig {
    async fn start() -> Self {
        Self::with(&json!({}), &json!({ "exec": { "host": "sandbox" } })).await
    }

    /// With these defaults in the document, and this in `tools.json`.
    async fn with(defaults: &Value, tools: &Value) -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        let document = json!({ "version": 1, "defaults": defaults, "agents": {} });
        private::write(&paths.document(), document.to_string().as_bytes()).unwrap();
        private::write(&paths.tools(), json!({ "tools": tools }).to_string().as_bytes()).unwrap();
        let (companion, presenter) = Companion::start(&paths).unwrap();
        let rig = Self { _home: home, companion, _presenter: presenter };
        // By then the document has its socket, so that nothing but the test writes it.
        let mut socket = rig.desk().inner.parts.socket.clone();
        let waited =
            tokio::time::timeout(PATIENCE, socket.wait_for(|state| *state == SocketState::Listening));
        waited.await.expect("the socket is not served").unwrap();
        rig
    }

    fn desk(&self) -> &Desk {
        self.companion.desk()
    }

    async fn set(&self, agent: &str, field: PolicyField, value: &str) {
        let edit = DocumentEdit::SetPolicy { scope: agent.to_owned(), field, value: Some(value.to_owned()) };
        let base_hash = self.desk().document().await.hash;
        let params = EditParams { base_hash, edits: vec![edit], confirmed: true };
        assert!(self.desk().edit(params).await.unwrap().applied);
    }

    /// Waits until the one line is this one.
    async fn stands(&self, expected: impl Fn(&Standing) -> bool) -> Standing {
        let mut standing = self.desk().standing();
        let waited = tokio::time::timeout(PATIENCE, standing.wait_for(expected)).await;
        waited.expect("the line does not change").unwrap().clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn full_with_ask_on_miss_runs_unasked_and_the_line_names_who_says_so() {
    let rig = Rig::with(&json!({ "security": "allowlist", "ask": "on-miss" }), &json!({})).await;
    assert_eq!(rig.stands(|_| true).await, Standing::Asking);
    rig.set("ops", PolicyField::Security, "full").await;
    let Standing::RunsUnasked { cause } = rig.stands(|line| *line != Standing::Asking).await else {
        panic!("{:?}", rig.desk().status())
    };
    assert_eq!((cause.agent.as_str(), cause.layer, cause.others), ("ops", Some(PolicyLayer::Agent), 0));
    assert_eq!((cause.place, cause.when), (UnaskedPlace::Here, UnaskedWhen::Always));
    // Everybody comes before one, and one is not forgotten beside everybody.
    rig.set("defaults", PolicyField::Security, "full").await;
    rig.stands(|line| {
        let Standing::RunsUnasked { cause } = line else { return false };
        (cause.agent.as_str(), cause.layer, cause.others) == ("*", Some(PolicyLayer::Defaults), 1)
    })
    .await;
    rig.set("defaults", PolicyField::Ask, "always").await;
    assert_eq!(rig.stands(|line| *line == Standing::Asking).await, Standing::Asking);
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_line_is_the_worst_of_what_is_true() {
    let all = json!({ "security": "full", "ask": "always", "askFallback": "full" });
    let rig = Rig::with(&all, &json!({})).await;
    let desk = rig.desk();
    assert_eq!(desk.status().standing, Standing::Asking);
    desk.set_paused(Pause::Paused);
    assert_eq!(desk.status().standing, Standing::Paused { until_ms: None });
    // Nobody can be asked, and everything is allowed then: that is no mere fault of the windows.
    desk.set_display(DisplayState::Failed { end: PageEnd::Hung });
    let Standing::RunsUnasked { cause } = desk.status().standing else { panic!("{:?}", desk.status()) };
    assert_eq!((cause.agent.as_str(), cause.when), ("*", UnaskedWhen::NobodyAsked));
    rig.set("defaults", PolicyField::AskFallback, "deny").await;
    assert_eq!(desk.status().standing, Standing::CannotShow { end: PageEnd::Hung });
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_with_an_end_says_when_and_ends_by_itself() {
    let rig = Rig::with(&json!({ "security": "allowlist", "ask": "on-miss" }), &json!({})).await;
    let desk = rig.desk();
    desk.pause_for(Duration::from_secs(3_600));
    let Standing::Paused { until_ms: Some(_) } = desk.status().standing else {
        panic!("{:?}", desk.status())
    };
    desk.pause_for(Duration::from_millis(50));
    rig.stands(|line| *line == Standing::Asking).await;
    assert_eq!(*desk.pause().borrow(), Pause::Prompting);
    desk.pause_for(Duration::from_secs(3_600));
    desk.set_paused(Pause::Paused);
    assert_eq!(desk.status().standing, Standing::Paused { until_ms: None });
    rig.companion.stop().await;
}

#[test]
fn a_pause_lasts_as_long_as_was_said_whatever_the_clock_is_set_to() {
    struct Clocks {
        now_ms: i64,
        steady_ms: i64,
    }
    impl Clock for Clocks {
        fn now_ms(&self) -> i64 {
            self.now_ms
        }
        fn steady_ms(&self) -> i64 {
            self.steady_ms
        }
    }
    let until = Until::after(Duration::from_secs(60), &Clocks { now_ms: 1_000_000, steady_ms: 5_000 });
    for (now_ms, steady_ms, left_s, shown_ms) in [
        (1_000_000, 5_000, 60, 1_060_000),
        // A correction of less than a second is not shown.
        (1_020_900, 25_000, 40, 1_060_000),
        (9_000_000, 25_000, 40, 9_040_000),
        (-9_000_000, 25_000, 40, -8_960_000),
        (1_000_000, 75_000, 0, 990_000),
    ] {
        let clocks = Clocks { now_ms, steady_ms };
        assert_eq!((until.left(&clocks).as_secs(), until.shown_ms(&clocks)), (left_s, shown_ms), "{now_ms}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_runs_unasked_in_a_sandbox_is_said_with_its_place() {
    let exec = json!({ "exec": { "host": "sandbox", "security": "full", "ask": "on-miss" } });
    let rig = Rig::with(&json!({ "security": "allowlist", "ask": "on-miss" }), &exec).await;
    let there = rig.desk().routing().await.sandbox.missing.is_none();
    let standing = rig.desk().looked_at().await.standing;
    match standing {
        Standing::RunsUnasked { cause } => {
            assert_eq!((cause.place, cause.layer), (UnaskedPlace::Sandbox, None));
            assert!(there, "nothing runs in a sandbox that cannot be made");
        }
        other => assert_eq!((other, there), (Standing::Asking, false)),
    }
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dangerous_edit_says_what_it_would_do_and_counts_what_would_have_run() {
    let rig = Rig::with(&json!({ "security": "allowlist", "ask": "on-miss" }), &json!({})).await;
    for number in 0..3 {
        let event = HistoryEvent::Request {
            agent: "main".to_owned(),
            session: None,
            via: Via::CommandLine,
            card: QuestionKind::Exec,
            host: None,
            command: format!("ls -d /{number}"),
            command_sha256: String::new(),
            cwd: None,
            outcome: Outcome::Denied,
            by: None,
            answered_after_ms: None,
        };
        rig.desk().inner.parts.history.append(Some(number.to_string().into()), event).await.unwrap();
    }
    let consider = async |edit: DocumentEdit| {
        let base_hash = rig.desk().document().await.hash;
        let params = EditParams { base_hash, edits: vec![edit], confirmed: false };
        let result = rig.desk().edit(params).await.unwrap();
        assert!(!result.applied);
        result.impact.unwrap()
    };
    let value = Some("full".to_owned());
    let scope = "defaults".to_owned();
    let full = consider(DocumentEdit::SetPolicy { scope, field: PolicyField::Security, value }).await;
    assert_eq!((full.of, full.more), (3, 3));
    let widening = full.widening.unwrap();
    assert_eq!((widening.whose, widening.kind), (Whose::Everybody, Reach::Anything));
    let add = |pattern: &str| DocumentEdit::AddEntry {
        agent: "*".to_owned(),
        pattern: pattern.to_owned(),
        arg_pattern: None,
        source: None,
    };
    let one = consider(add("/opt/tool")).await;
    assert_eq!((one.of, one.more, one.widening), (3, 0, None));
    assert_eq!(consider(add("/usr/bin/*")).await.widening.unwrap().kind, Reach::Programs);
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_changed_the_document_is_named() {
    let rig = Rig::with(&json!({ "security": "allowlist" }), &json!({})).await;
    let mut messages = rig.desk().messages();
    rig.set("*", PolicyField::Ask, "always").await;
    let waited = tokio::time::timeout(PATIENCE, async {
        loop {
            if let UiEvent::DocumentChanged { by, .. } = messages.recv().await.unwrap().event
                && !matches!(by, ChangedBy::FirstRun | ChangedBy::Upkeep)
            {
                return by;
            }
        }
    });
    assert_eq!(waited.await.unwrap(), ChangedBy::Window);
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_draft_is_told_what_it_comes_to_and_nothing_is_written() {
    let rig = Rig::with(&json!({ "security": "allowlist", "ask": "on-miss" }), &json!({})).await;
    let before = rig.desk().document().await;
    let value = Some("full".to_owned());
    let edit = DocumentEdit::SetPolicy { scope: "*".to_owned(), field: PolicyField::Security, value };
    let params = PolicyPreviewParams { place: None, edits: vec![edit] };
    let effective = rig.desk().preview(&params).unwrap();
    assert_eq!(effective[0].meaning.usually, Usually::EverythingRuns);
    assert_eq!(before.effective[0].meaning.usually, Usually::RestAsks);
    assert_eq!(rig.desk().document().await, before);
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_windows_say_of_the_display_is_told_to_everybody_once() {
    let rig = Rig::start().await;
    let desk = rig.desk();
    assert_eq!(desk.status().display, DisplayState::Ok);
    let mut messages = desk.messages();
    let failed = DisplayState::Failed { end: PageEnd::Crashed };
    desk.set_display(failed.clone());
    desk.set_display(failed.clone());
    desk.set_display(DisplayState::Ok);
    let mut told = vec![DisplayState::Ok];
    while let Ok(message) = messages.try_recv() {
        if let UiEvent::StatusChanged { status } = message.event
            && told.last() != Some(&status.display)
        {
            told.push(status.display);
        }
    }
    assert_eq!(told, [DisplayState::Ok, failed, DisplayState::Ok]);
    rig.companion.stop().await;
}
