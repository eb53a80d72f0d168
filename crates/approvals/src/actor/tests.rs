use super::*;
use crate::book::{DEFAULT_MAX_PENDING, DEFAULT_TIMEOUT, GRACE_MS};
use crate::ports::Clock;
use crate::testing::{ports, question};
use pretty_assertions::assert_eq;
use std::sync::atomic::AtomicI64;
use tokio::time::Instant;

/// Both clocks of a machine, which go by tokio's (paused) time; somebody may set the one, and
/// sleep moves both.
struct MachineClock {
    started: Instant,
    set_ms: AtomicI64,
    slept_ms: AtomicI64,
}

impl MachineClock {
    fn set(&self, by_ms: i64) {
        self.set_ms.fetch_add(by_ms, Ordering::SeqCst);
    }

    fn sleep(&self, ms: i64) {
        self.slept_ms.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for MachineClock {
    fn now_ms(&self) -> i64 {
        1_000_000 + self.steady_ms() + self.set_ms.load(Ordering::SeqCst)
    }

    fn steady_ms(&self) -> i64 {
        i64::try_from(self.started.elapsed().as_millis()).unwrap() + self.slept_ms.load(Ordering::SeqCst)
    }
}

/// A running actor on such a machine.
struct Rig {
    approvals: Approvals,
    clock: Arc<MachineClock>,
    tracker: TaskTracker,
    stop: CancellationToken,
    events: broadcast::Receiver<Event>,
}

impl Rig {
    fn start() -> Self {
        let (set_ms, slept_ms) = (AtomicI64::new(0), AtomicI64::new(0));
        let clock = Arc::new(MachineClock { started: Instant::now(), set_ms, slept_ms });
        let shared: Arc<dyn Clock> = clock.clone();
        let ports = Ports { clock: shared, ..ports().0 };
        let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
        let approvals = Approvals::start(ports, DEFAULT_MAX_PENDING, &tracker, stop.clone());
        let events = approvals.events();
        Self { approvals, clock, tracker, stop, events }
    }

    async fn submit(&self, id: &str) -> Ticket {
        self.try_submit(id, "ls").await.unwrap()
    }

    async fn try_submit(&self, id: &str, command: &str) -> Result<Ticket, SubmitError> {
        let by = RequestedBy::default();
        self.approvals.submit(question(command), DEFAULT_TIMEOUT, Some(id.to_owned()), by).await
    }

    /// The next end that is announced.
    async fn closed(&mut self) -> (String, Ending) {
        loop {
            if let Event::Closed(record) = self.events.recv().await.unwrap() {
                return (record.id.to_string(), record.ending.clone().unwrap());
            }
        }
    }

    async fn end(self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

fn decided(decision: Decision, by: &str) -> Ending {
    Ending::Decided { decision, by: by.to_owned() }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_presented_before_submit_returns_and_answered_once() {
    let mut rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    let ticket = rig.submit(" x ").await;
    assert_eq!(ticket.id(), "x");
    let Event::Added(record) = rig.events.try_recv().unwrap() else { panic!() };
    assert_eq!(record.id, "x");
    assert_eq!(record.created_at_ms, 1_000_000);
    assert_eq!(record.expires_at_ms, 1_120_000);
    assert_eq!(rig.approvals.pending().await, [record]);
    assert_eq!(*rig.approvals.count().borrow(), 1);
    assert!(rig.approvals.resolve(&"x".into(), Decision::AllowOnce, "window").await.is_ok());
    assert!(rig.approvals.resolve(&"x".into(), Decision::Deny, "tray").await.is_err());
    assert_eq!(*rig.approvals.count().borrow(), 0);
    assert_eq!(ticket.ended().await, decided(Decision::AllowOnce, "window"));
    assert!(rig.approvals.consume_allow_once(&"x".into()).await);
    assert!(!rig.approvals.consume_allow_once(&"x".into()).await);
    assert_eq!(rig.closed().await, ("x".to_owned(), decided(Decision::AllowOnce, "window")));
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_blank_id_becomes_a_fresh_one() {
    let rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    let by = RequestedBy::default();
    let one = rig.approvals.submit(question("ls"), DEFAULT_TIMEOUT, None, by).await.unwrap();
    let other = rig.submit("  ").await;
    assert_eq!(one.id().as_str().len(), 36);
    assert_ne!(one.id(), other.id());
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_answering_ends_at_the_deadline_without_a_decision() {
    let rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    let begin = Instant::now();
    let ticket = rig.submit("x").await;
    assert_eq!(ticket.ended().await, Ending::Expired);
    assert_eq!(begin.elapsed(), DEFAULT_TIMEOUT);
    assert!(rig.approvals.resolve(&"x".into(), Decision::AllowOnce, "window").await.is_err());
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_leaves_a_request_its_time() {
    for by_ms in [HOUR_MS, -HOUR_MS, YEAR_MS, -YEAR_MS, CLOCK_SET_MS] {
        let mut rig = Rig::start();
        let _presenter = rig.approvals.presenter();
        let begin = Instant::now();
        let ticket = rig.submit("x").await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        rig.clock.set(by_ms);
        loop {
            match rig.events.recv().await.unwrap() {
                Event::ClockSet => break,
                Event::Added(record) => assert_eq!(record.id, "x"),
                Event::Closed(record) => panic!("{by_ms}: {record:?}"),
            }
        }
        // Within the next look.
        assert!(begin.elapsed() <= Duration::from_secs(20) + LOOK, "{by_ms}");
        let [waits] = rig.approvals.pending().await.try_into().unwrap();
        let shown = (1_000_000 + by_ms, 1_120_000 + by_ms);
        assert_eq!((waits.created_at_ms, waits.expires_at_ms), shown);
        let later = rig.submit("y").await;
        assert_eq!(later.record().created_at_ms, rig.clock.now_ms());
        assert!(rig.approvals.resolve(&"y".into(), Decision::Deny, "window").await.is_ok());
        assert_eq!(ticket.ended().await, Ending::Expired);
        assert_eq!(begin.elapsed(), DEFAULT_TIMEOUT, "{by_ms}");
        rig.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_keeps_an_ended_request_known_for_its_grace() {
    for by_ms in [YEAR_MS, -YEAR_MS] {
        let rig = Rig::start();
        let _presenter = rig.approvals.presenter();
        let _ticket = rig.submit("x").await;
        assert!(rig.approvals.resolve(&"x".into(), Decision::AllowOnce, "window").await.is_ok());
        rig.clock.set(by_ms);
        assert!(rig.approvals.snapshot(&"x".into()).await.is_some());
        tokio::time::sleep(Duration::from_millis(GRACE_MS.unsigned_abs())).await;
        assert_eq!(rig.approvals.snapshot(&"x".into()).await, None, "{by_ms}");
        rig.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_machine_slept_through_the_deadline_is_late() {
    let rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    let ticket = rig.submit("x").await;
    rig.clock.sleep(120_000);
    assert!(rig.approvals.resolve(&"x".into(), Decision::AllowOnce, "window").await.is_err());
    assert_eq!(ticket.ended().await, Ending::Expired);
    rig.end().await;
}

const HOUR_MS: i64 = 3_600_000;
const YEAR_MS: i64 = 365 * 24 * HOUR_MS;

#[tokio::test(start_paused = true)]
async fn with_nobody_to_show_it_to_a_request_ends_at_once() {
    let mut rig = Rig::start();
    let ticket = rig.submit("x").await;
    assert_eq!(rig.closed().await, ("x".to_owned(), Ending::NotShown));
    assert_eq!(ticket.ended().await, Ending::NotShown);
    let guards = [rig.approvals.presenter(), rig.approvals.presenter()];
    let [one, other] = guards;
    drop(one);
    let ticket = rig.submit("y").await;
    drop(other);
    assert_eq!(rig.approvals.pending().await.len(), 1, "what waits keeps waiting");
    let _back = rig.approvals.presenter();
    assert!(rig.approvals.resolve(&"y".into(), Decision::Deny, "window").await.is_ok());
    assert_eq!(ticket.ended().await, decided(Decision::Deny, "window"));
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_sees_any_more_ends_as_not_shown_and_is_never_answered() {
    let mut rig = Rig::start();
    let presenter = rig.approvals.presenter();
    let ticket = rig.submit("x").await;
    assert_eq!(rig.approvals.nobody_sees().await, 0, "somebody still can");
    let of_gateway = RequestedBy { gateway: Some("g".to_owned()), ..RequestedBy::default() };
    let far = rig.approvals.submit(question("ls"), DEFAULT_TIMEOUT, Some("far".to_owned()), of_gateway).await;
    drop(presenter);
    assert_eq!(rig.approvals.nobody_sees().await, 1);
    assert_eq!(rig.closed().await, ("x".to_owned(), Ending::NotShown));
    assert!(rig.approvals.resolve(&"x".into(), Decision::AllowOnce, "window").await.is_err());
    assert_eq!(ticket.ended().await, Ending::NotShown);
    let waiting = rig.approvals.pending().await;
    assert_eq!(waiting.iter().map(|record| record.id.as_str()).collect::<Vec<_>>(), ["far"]);
    drop(far);
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_ticket_withdraws_the_request() {
    let mut rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    drop(rig.submit("x").await);
    assert_eq!(rig.closed().await, ("x".to_owned(), Ending::Cancelled(CancelCause::RequesterGone)));
    let ticket = rig.submit("y").await;
    {
        let ended = ticket.ended();
        tokio::pin!(ended);
        assert!(tokio::time::timeout(Duration::from_millis(1), &mut ended).await.is_err());
    }
    assert_eq!(rig.closed().await, ("y".to_owned(), Ending::Cancelled(CancelCause::RequesterGone)));
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_requester_left_allows_nothing() {
    let rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    // Often enough to meet every order in which the task could take what is ready.
    for round in 0..64 {
        let id = round.to_string();
        drop(rig.submit(&id).await);
        assert!(
            rig.approvals
                .resolve(&RequestId::from(id.as_str()), Decision::AllowOnce, "window")
                .await
                .is_err()
        );
        assert!(!rig.approvals.consume_allow_once(&RequestId::from(id.as_str())).await);
    }
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_submit_half_way_withdraws_the_request() {
    let mut rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    // Polled until it has sent its message and waits for the answer, which comes into a dropped future.
    {
        let submit = rig.try_submit("x", "ls");
        tokio::pin!(submit);
        assert!(poll_once(submit.as_mut()).await.is_none());
    }
    assert_eq!(rig.approvals.pending().await, []);
    // Answered, but the answer was never taken.
    {
        let mut events = rig.approvals.events();
        let submit = rig.try_submit("y", "ls");
        tokio::pin!(submit);
        assert!(poll_once(submit.as_mut()).await.is_none());
        assert!(matches!(events.recv().await.unwrap(), Event::Added(record) if record.id == "y"));
    }
    assert_eq!(rig.closed().await, ("y".to_owned(), Ending::Cancelled(CancelCause::RequesterGone)));
    rig.end().await;
}

async fn poll_once<F: Future + Unpin>(mut future: F) -> Option<F::Output> {
    std::future::poll_fn(|cx| {
        std::task::Poll::Ready(match std::pin::Pin::new(&mut future).poll(cx) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        })
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_joined_request_is_withdrawn_only_with_its_last_ticket() {
    let mut rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    let one = rig.submit("x").await;
    let other = rig.submit("x").await;
    assert_eq!(rig.approvals.pending().await.len(), 1);
    drop(one);
    assert_eq!(rig.approvals.pending().await.len(), 1);
    assert!(rig.approvals.resolve(&"x".into(), Decision::AllowOnce, "window").await.is_ok());
    assert_eq!(other.ended().await, decided(Decision::AllowOnce, "window"));
    let _ = rig.closed().await;
    let (one, other) = (rig.submit("y").await, rig.submit("y").await);
    drop((one, other));
    assert_eq!(rig.closed().await, ("y".to_owned(), Ending::Cancelled(CancelCause::RequesterGone)));
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn t05_an_answer_to_one_command_is_no_answer_to_another() {
    let rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    let _ticket = rig.submit("x").await;
    let refused = rig.try_submit("x", "rm -r /").await.unwrap_err();
    assert_eq!(refused, SubmitError::AnotherRequest("x".into()));
    assert!(rig.approvals.resolve(&"x".into(), Decision::AllowOnce, "window").await.is_ok());
    let refused = rig.try_submit("x", "ls").await.unwrap_err();
    assert_eq!(refused.to_string(), "approval id 'x' already resolved");
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn waiting_learns_the_end_and_withdraws_nothing() {
    let rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    assert_eq!(rig.approvals.wait(&"x".into()).await, None);
    let ticket = rig.submit("x").await;
    let id = RequestId::from("x");
    let impatient = rig.approvals.wait(&id);
    assert!(tokio::time::timeout(Duration::from_millis(1), impatient).await.is_err());
    let (waited, resolved) =
        tokio::join!(rig.approvals.wait(&id), rig.approvals.resolve(&id, Decision::Deny, "tray"));
    assert_eq!(resolved, Ok(()));
    assert_eq!(waited, Some(decided(Decision::Deny, "tray")));
    drop(ticket);
    assert_eq!(
        rig.approvals.wait(&"x".into()).await,
        Some(decided(Decision::Deny, "tray")),
        "within the grace"
    );
    tokio::time::advance(Duration::from_millis(GRACE_MS as u64)).await;
    assert_eq!(rig.approvals.wait(&"x".into()).await, None);
    assert_eq!(rig.approvals.snapshot(&"x".into()).await, None);
    rig.end().await;
}

#[tokio::test(start_paused = true)]
async fn stopping_cancels_what_waits_and_takes_nothing_more() {
    let mut rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    let ticket = rig.submit("x").await;
    rig.stop.cancel();
    assert_eq!(ticket.ended().await, Ending::Cancelled(CancelCause::Shutdown));
    assert_eq!(rig.closed().await, ("x".to_owned(), Ending::Cancelled(CancelCause::Shutdown)));
    rig.tracker.close();
    rig.tracker.wait().await;
    assert_eq!(rig.try_submit("y", "ls").await.unwrap_err(), SubmitError::Closing);
    assert!(rig.approvals.resolve(&"x".into(), Decision::AllowOnce, "window").await.is_err());
    assert!(!rig.approvals.consume_allow_once(&"x".into()).await);
    assert_eq!(rig.approvals.pending().await, []);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_wait() {
    let (ports, _) = ports();
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let approvals = Approvals::start(ports, 1, &tracker, stop.clone());
    let _presenter = approvals.presenter();
    let submit = || approvals.submit(question("ls"), DEFAULT_TIMEOUT, None, RequestedBy::default());
    let _ticket = submit().await.unwrap();
    assert_eq!(submit().await.unwrap_err(), SubmitError::Full { pending: 1, limit: 1 });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_answers_from_many_threads_give_one_winner_each() {
    let rig = Rig::start();
    let _presenter = rig.approvals.presenter();
    for round in 0..200 {
        let id = round.to_string();
        let ticket = rig.submit(&id).await;
        let answers = [Decision::AllowOnce, Decision::Deny, Decision::AllowAlways].map(|decision| {
            let (approvals, id) = (rig.approvals.clone(), id.clone());
            tokio::spawn(async move {
                approvals
                    .resolve(&RequestId::from(id.as_str()), decision, "window")
                    .await
                    .is_ok()
                    .then_some(decision)
            })
        });
        let mut winners = Vec::new();
        for answer in answers {
            winners.extend(answer.await.unwrap());
        }
        assert_eq!(winners.len(), 1);
        assert_eq!(ticket.ended().await, decided(winners[0], "window"));
    }
    rig.end().await;
}
