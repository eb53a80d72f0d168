//! The way of an "always" from the card into document and rules, with everything running.

use super::*;
use crate::testing::{PATIENCE, paths};
use crate::wiring::Companion;
use countersign_approvals::actor::PresenterGuard;
use countersign_approvals::book::NotAnswered;
use countersign_approvals::remember::Memory;
use countersign_core::private;
use countersign_node::socket::server::Peer;
use countersign_protocol::edits::DocumentView;
use countersign_protocol::ids::RequestId;
use countersign_protocol::remember::{Lasting, Remember, Rung, SESSION_MS};
use countersign_protocol::rules::RuleOrigin;
use countersign_protocol::shown::Shown;
use countersign_protocol::socket::ExecRequest;
use countersign_protocol::ui::{Card, DecideParams, ErrorCode};
use countersign_protocol::vocabulary::Decision;
use countersign_questions::card::card;
use pretty_assertions::assert_eq;
use std::time::Duration;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

struct Rig {
    _home: TempDir,
    companion: Companion,
    _presenter: PresenterGuard,
}

/// Whether a command ran.
type Running = JoinHandle<bool>;

impl Rig {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let paths = paths(home.path());
        private::write(&paths.document(), ASKING.as_bytes()).unwrap();
        let (companion, presenter) = Companion::start(&paths).unwrap();
        Self { _home: home, companion, _presenter: presenter }
    }

    fn desk(&self) -> &Desk {
        self.companion.desk()
    }

    fn run(&self, argv: &[&str], session: Option<&str>) -> Running {
        let host = self.desk().inner.parts.host.clone();
        let request = ExecRequest {
            command: argv.iter().map(|word| (*word).to_owned()).collect(),
            session_key: session.map(str::to_owned),
            ..ExecRequest::default()
        };
        tokio::spawn(
            async move { host.exec(request, &Peer::default(), CancellationToken::new()).await.is_ok() },
        )
    }

    /// Runs `argv` and waits for the question about it.
    async fn ask(&self, argv: &[&str], session: Option<&str>) -> (Running, Card) {
        let mut added = self.desk().inner.parts.approvals.events();
        let running = self.run(argv, session);
        let event = tokio::time::timeout(PATIENCE, added.recv()).await.unwrap().unwrap();
        let countersign_approvals::actor::Event::Added(record) = event else { panic!("{event:?}") };
        (running, card(&record))
    }

    /// Answers as soon as that takes an answer.
    async fn answer(
        &self,
        card: &Card,
        decision: Decision,
        remember: Option<Remember>,
    ) -> Result<Outcome, CommandError> {
        let paint =
            self.desk().card_painted(&RequestId::from(card.id.as_str()), card.generation).await.unwrap();
        let params =
            DecideParams { id: card.id.clone(), generation: card.generation, paint, decision, remember };
        loop {
            match self.desk().decide(&params).await {
                Err(error) if error.code == ErrorCode::NotArmed => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                answered => return answered,
            }
        }
    }

    /// Entries of the peers' document, and rules of our own.
    async fn stored(&self) -> (usize, usize) {
        let document = self.desk().document().await;
        let entries = document.scopes.iter().map(|scope| scope.entries.len()).sum();
        (entries, self.desk().rules().await.rules.len())
    }
}

fn remember(rung: Rung, lasting: Lasting) -> Option<Remember> {
    Some(Remember { rung, lasting })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_exact_command_without_an_end_goes_where_the_peers_read_it() {
    let rig = Rig::start();
    let (running, card) = rig.ask(&["ls", "-d", "/"], None).await;
    let outcome = rig.answer(&card, Decision::AllowAlways, remember(Rung::Exact, Lasting::Always)).await;
    assert_eq!(outcome, Ok(Outcome::AllowedAlways));
    assert!(running.await.unwrap());
    assert_eq!(rig.stored().await, (1, 0));
    assert!(rig.run(&["ls", "-d", "/"], None).await.unwrap());
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_binds_arguments_by_a_digest_is_shown_with_them_and_their_folder() {
    let rig = Rig::start();
    let (running, card) = rig.ask(&["ls", "-d", "/a b", ""], None).await;
    let outcome = rig.answer(&card, Decision::AllowAlways, remember(Rung::Exact, Lasting::Always)).await;
    assert_eq!(outcome, Ok(Outcome::AllowedAlways));
    running.await.unwrap();
    let bound = |document: DocumentView| {
        let mut entries = document.scopes.into_iter().flat_map(|scope| scope.entries);
        entries.find_map(|entry| entry.bound)
    };
    let found = bound(rig.desk().document().await).unwrap();
    let text = |shown: &Shown| display::original(shown).unwrap();
    assert_eq!(found.args.iter().map(text).collect::<Vec<_>>(), ["-d", "/a b", ""]);
    let home = rig._home.path().canonicalize().unwrap();
    assert_eq!(text(&found.folder), home.display().to_string());
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_failed_has_started() {
    let rig = Rig::start();
    let (running, card) = rig.ask(&["ls", "nothing-there"], None).await;
    assert_eq!(rig.answer(&card, Decision::AllowOnce, None).await, Ok(Outcome::AllowedOnce));
    assert!(running.await.unwrap());
    let lines = rig.desk().history(None, 50).await.unwrap().entries;
    let run = lines.into_iter().find_map(|line| match line.event {
        HistoryEvent::Run { run } => Some(run),
        _ => None,
    });
    let run = run.unwrap();
    assert_eq!((run.exit_code, run.error, run.timed_out), (Some(2), None, false));
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rung_for_some_runs_lets_exactly_so_many_more_run() {
    let rig = Rig::start();
    let (running, card) = rig.ask(&["ls", "-d", "/"], None).await;
    let twice = remember(Rung::Shape, Lasting::Uses { uses: 2 });
    assert_eq!(rig.answer(&card, Decision::AllowAlways, twice).await, Ok(Outcome::AllowedAlways));
    assert!(running.await.unwrap());
    let view = rig.desk().rules().await;
    let rule = &view.rules[0].rule;
    assert_eq!((rule.agent.as_str(), &rule.from, rule.limits.uses), ("main", &RuleOrigin::Answer, Some(2)));
    for _ in 0..2 {
        assert!(rig.run(&["ls", "-d", "/"], None).await.unwrap());
    }
    let (running, card) = rig.ask(&["ls", "-d", "/"], None).await;
    let found = rig.desk().breadth_of_card(&RequestId::from(card.id.as_str())).await.unwrap();
    let exact = found.iter().find(|found| found.rung == Rung::Exact).unwrap();
    assert_eq!((exact.breadth.of, exact.breadth.matched), (3, 3), "all three ran so far");
    assert_eq!(rig.desk().breadth_of_rules().await.unwrap()[0].breadth.matched, 3);
    assert_eq!(rig.answer(&card, Decision::Deny, None).await, Ok(Outcome::Denied));
    assert!(!running.await.unwrap());
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_not_offered_is_not_stored_and_the_request_goes_on_waiting() {
    let rig = Rig::start();
    let (running, card) = rig.ask(&["rm", "nothing-there"], None).await;
    for asked in [
        remember(Rung::Program, Lasting::Always),
        remember(Rung::Shape, Lasting::Uses { uses: 1 }),
        remember(Rung::Exact, Lasting::Session),
        remember(Rung::Exact, Lasting::Uses { uses: 0 }),
        remember(Rung::Exact, Lasting::For { ms: 1 }),
        remember(Rung::Exact, Lasting::For { ms: u64::MAX }),
        None,
    ] {
        let refused = rig.answer(&card, Decision::AllowAlways, asked.clone()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Invalid, "{asked:?}");
    }
    assert_eq!(rig.stored().await, (0, 0));
    assert_eq!(rig.desk().snapshot().await.cards.len(), 1);
    assert_eq!(rig.answer(&card, Decision::Deny, None).await, Ok(Outcome::Denied));
    assert!(!running.await.unwrap());
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn t05_what_destroys_is_kept_for_the_session_at_most() {
    let rig = Rig::start();
    let (running, card) = rig.ask(&["rm", "nothing-there"], Some("s")).await;
    for asked in [
        remember(Rung::Exact, Lasting::Always),
        remember(Rung::Exact, Lasting::Uses { uses: 2 }),
        remember(Rung::Exact, Lasting::For { ms: SESSION_MS + 1 }),
    ] {
        let refused = rig.answer(&card, Decision::AllowAlways, asked.clone()).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Invalid, "{asked:?}");
    }
    assert_eq!(rig.stored().await, (0, 0));
    let session = remember(Rung::Exact, Lasting::Session);
    assert_eq!(rig.answer(&card, Decision::AllowAlways, session).await, Ok(Outcome::AllowedAlways));
    running.await.unwrap();
    assert_eq!(rig.stored().await, (0, 1));
    rig.companion.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_stored_for_an_answer_that_came_too_late_is_taken_back() {
    let rig = Rig::start();
    let (running, card) = rig.ask(&["ls", "-d", "/"], Some("s-1")).await;
    let parts = &rig.desk().inner.parts;
    let record = parts.approvals.snapshot(&RequestId::from(card.id.as_str())).await.unwrap();
    assert_eq!(rig.answer(&card, Decision::Deny, None).await, Ok(Outcome::Denied));
    running.await.unwrap();
    let (mut document, mut rules) = (parts.store.changes(), parts.rules.changes());
    let memory = Memory { store: &parts.store, rules: &parts.rules };
    for (lasting, changes) in [(Lasting::Always, (2, 0)), (Lasting::Session, (0, 2))] {
        let asked = Remember { rung: Rung::Exact, lasting };
        let late = memory.allow_always(&parts.approvals, &record, &asked, "window", 0).await;
        assert!(matches!(late, Err(NotRemembered::NotAnswered(NotAnswered::Gone))), "{late:?}");
        assert_eq!(rig.stored().await, (0, 0));
        let seen = (count(|| document.try_recv().is_ok()), count(|| rules.try_recv().is_ok()));
        assert_eq!(seen, changes, "stored, and taken back: {asked:?}");
    }
    rig.companion.stop().await;
}

fn count(next: impl FnMut() -> bool) -> usize {
    std::iter::repeat_with(next).take_while(|more| *more).count()
}

const ASKING: &str =
    r#"{"version":1,"defaults":{"security":"allowlist","ask":"on-miss","askFallback":"deny"}}"#;
