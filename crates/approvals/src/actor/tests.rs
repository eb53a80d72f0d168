use super::*;
use crate::book::{DEFAULT_MAX_PENDING, DEFAULT_TIMEOUT, GRACE_MS};
use crate::ports::Clock;
use crate::testing::{ports, question};
use pretty_assertions::assert_eq;
use std::sync::atomic::AtomicI64;
use tokio::time::Instant;

/// Both clocks of a machine, which go by tokio's (paused) time; somebody may set the one, and sleep moves both.
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
struct Desk {
    approvals: Approvals,
    clock: Arc<MachineClock>,
    tracker: TaskTracker,
    stop: CancellationToken,
    events: broadcast::Receiver<Event>,
}

impl Desk {
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
                return (record.id.clone(), record.ending.clone().unwrap());
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
    let mut desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    let ticket = desk.submit(" x ").await;
    assert_eq!(ticket.id(), "x");
    let Event::Added(record) = desk.events.try_recv().unwrap() else { panic!() };
    assert_eq!(record.id, "x");
    assert_eq!(record.created_at_ms, 1_000_000);
    assert_eq!(record.expires_at_ms, 1_120_000);
    assert_eq!(desk.approvals.pending().await, [record]);
    assert_eq!(*desk.approvals.count().borrow(), 1);
    assert!(desk.approvals.resolve("x", Decision::AllowOnce, "window").await.is_ok());
    assert!(desk.approvals.resolve("x", Decision::Deny, "tray").await.is_err());
    assert_eq!(*desk.approvals.count().borrow(), 0);
    assert_eq!(ticket.ended().await, decided(Decision::AllowOnce, "window"));
    assert!(desk.approvals.consume_allow_once("x").await);
    assert!(!desk.approvals.consume_allow_once("x").await);
    assert_eq!(desk.closed().await, ("x".to_owned(), decided(Decision::AllowOnce, "window")));
    desk.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_blank_id_becomes_a_fresh_one() {
    let desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    let by = RequestedBy::default();
    let one = desk.approvals.submit(question("ls"), DEFAULT_TIMEOUT, None, by).await.unwrap();
    let other = desk.submit("  ").await;
    assert_eq!(one.id().len(), 36);
    assert_ne!(one.id(), other.id());
    desk.end().await;
}

#[tokio::test(start_paused = true)]
async fn nobody_answering_ends_at_the_deadline_without_a_decision() {
    let desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    let begin = Instant::now();
    let ticket = desk.submit("x").await;
    assert_eq!(ticket.ended().await, Ending::Expired);
    assert_eq!(begin.elapsed(), DEFAULT_TIMEOUT);
    assert!(desk.approvals.resolve("x", Decision::AllowOnce, "window").await.is_err());
    desk.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_leaves_a_request_its_time() {
    for by_ms in [HOUR_MS, -HOUR_MS, YEAR_MS, -YEAR_MS, CLOCK_SET_MS] {
        let mut desk = Desk::start();
        let _presenter = desk.approvals.presenter();
        let begin = Instant::now();
        let ticket = desk.submit("x").await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        desk.clock.set(by_ms);
        loop {
            match desk.events.recv().await.unwrap() {
                Event::ClockSet => break,
                Event::Added(record) => assert_eq!(record.id, "x"),
                Event::Closed(record) => panic!("{by_ms}: {record:?}"),
            }
        }
        // Within the next look.
        assert!(begin.elapsed() <= Duration::from_secs(20) + LOOK, "{by_ms}");
        let [waits] = desk.approvals.pending().await.try_into().unwrap();
        let shown = (1_000_000 + by_ms, 1_120_000 + by_ms);
        assert_eq!((waits.created_at_ms, waits.expires_at_ms), shown);
        let later = desk.submit("y").await;
        assert_eq!(later.record().created_at_ms, desk.clock.now_ms());
        assert!(desk.approvals.resolve("y", Decision::Deny, "window").await.is_ok());
        assert_eq!(ticket.ended().await, Ending::Expired);
        assert_eq!(begin.elapsed(), DEFAULT_TIMEOUT, "{by_ms}");
        desk.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_keeps_an_ended_request_known_for_its_grace() {
    for by_ms in [YEAR_MS, -YEAR_MS] {
        let desk = Desk::start();
        let _presenter = desk.approvals.presenter();
        let _ticket = desk.submit("x").await;
        assert!(desk.approvals.resolve("x", Decision::AllowOnce, "window").await.is_ok());
        desk.clock.set(by_ms);
        assert!(desk.approvals.snapshot("x").await.is_some());
        tokio::time::sleep(Duration::from_millis(GRACE_MS.unsigned_abs())).await;
        assert_eq!(desk.approvals.snapshot("x").await, None, "{by_ms}");
        desk.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_machine_slept_through_the_deadline_is_late() {
    let desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    let ticket = desk.submit("x").await;
    desk.clock.sleep(120_000);
    assert!(desk.approvals.resolve("x", Decision::AllowOnce, "window").await.is_err());
    assert_eq!(ticket.ended().await, Ending::Expired);
    desk.end().await;
}

const HOUR_MS: i64 = 3_600_000;
const YEAR_MS: i64 = 365 * 24 * HOUR_MS;

#[tokio::test(start_paused = true)]
async fn with_nobody_to_show_it_to_a_request_ends_at_once() {
    let mut desk = Desk::start();
    let ticket = desk.submit("x").await;
    assert_eq!(desk.closed().await, ("x".to_owned(), Ending::NotShown));
    assert_eq!(ticket.ended().await, Ending::NotShown);
    let guards = [desk.approvals.presenter(), desk.approvals.presenter()];
    let [one, other] = guards;
    drop(one);
    let ticket = desk.submit("y").await;
    drop(other);
    assert_eq!(desk.approvals.pending().await.len(), 1, "what waits keeps waiting");
    let _back = desk.approvals.presenter();
    assert!(desk.approvals.resolve("y", Decision::Deny, "window").await.is_ok());
    assert_eq!(ticket.ended().await, decided(Decision::Deny, "window"));
    desk.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_nobody_sees_any_more_ends_as_not_shown_and_is_never_answered() {
    let mut desk = Desk::start();
    let presenter = desk.approvals.presenter();
    let ticket = desk.submit("x").await;
    assert_eq!(desk.approvals.nobody_sees().await, 0, "somebody still can");
    let of_gateway = RequestedBy { gateway: Some("g".to_owned()), ..RequestedBy::default() };
    let far =
        desk.approvals.submit(question("ls"), DEFAULT_TIMEOUT, Some("far".to_owned()), of_gateway).await;
    drop(presenter);
    assert_eq!(desk.approvals.nobody_sees().await, 1);
    assert_eq!(desk.closed().await, ("x".to_owned(), Ending::NotShown));
    assert!(desk.approvals.resolve("x", Decision::AllowOnce, "window").await.is_err());
    assert_eq!(ticket.ended().await, Ending::NotShown);
    let waiting = desk.approvals.pending().await;
    assert_eq!(waiting.iter().map(|record| record.id.as_str()).collect::<Vec<_>>(), ["far"]);
    drop(far);
    desk.end().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_the_ticket_withdraws_the_request() {
    let mut desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    drop(desk.submit("x").await);
    assert_eq!(desk.closed().await, ("x".to_owned(), Ending::Cancelled(CancelCause::RequesterGone)));
    let ticket = desk.submit("y").await;
    {
        let ended = ticket.ended();
        tokio::pin!(ended);
        assert!(tokio::time::timeout(Duration::from_millis(1), &mut ended).await.is_err());
    }
    assert_eq!(desk.closed().await, ("y".to_owned(), Ending::Cancelled(CancelCause::RequesterGone)));
    desk.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_after_the_requester_left_allows_nothing() {
    let desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    // Often enough to meet every order in which the task could take what is ready.
    for round in 0..64 {
        let id = round.to_string();
        drop(desk.submit(&id).await);
        assert!(desk.approvals.resolve(&id, Decision::AllowOnce, "window").await.is_err());
        assert!(!desk.approvals.consume_allow_once(&id).await);
    }
    desk.end().await;
}

#[tokio::test(start_paused = true)]
async fn dropping_submit_half_way_withdraws_the_request() {
    let mut desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    // Polled until it has sent its message and waits for the answer, which comes into a dropped future.
    {
        let submit = desk.try_submit("x", "ls");
        tokio::pin!(submit);
        assert!(poll_once(submit.as_mut()).await.is_none());
    }
    assert_eq!(desk.approvals.pending().await, []);
    // Answered, but the answer was never taken.
    {
        let mut events = desk.approvals.events();
        let submit = desk.try_submit("y", "ls");
        tokio::pin!(submit);
        assert!(poll_once(submit.as_mut()).await.is_none());
        assert!(matches!(events.recv().await.unwrap(), Event::Added(record) if record.id == "y"));
    }
    assert_eq!(desk.closed().await, ("y".to_owned(), Ending::Cancelled(CancelCause::RequesterGone)));
    desk.end().await;
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
    let mut desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    let one = desk.submit("x").await;
    let other = desk.submit("x").await;
    assert_eq!(desk.approvals.pending().await.len(), 1);
    drop(one);
    assert_eq!(desk.approvals.pending().await.len(), 1);
    assert!(desk.approvals.resolve("x", Decision::AllowOnce, "window").await.is_ok());
    assert_eq!(other.ended().await, decided(Decision::AllowOnce, "window"));
    let _ = desk.closed().await;
    let (one, other) = (desk.submit("y").await, desk.submit("y").await);
    drop((one, other));
    assert_eq!(desk.closed().await, ("y".to_owned(), Ending::Cancelled(CancelCause::RequesterGone)));
    desk.end().await;
}

#[tokio::test(start_paused = true)]
async fn t05_an_answer_to_one_command_is_no_answer_to_another() {
    let desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    let _ticket = desk.submit("x").await;
    let refused = desk.try_submit("x", "rm -r /").await.unwrap_err();
    assert_eq!(refused, SubmitError::AnotherRequest("x".to_owned()));
    assert!(desk.approvals.resolve("x", Decision::AllowOnce, "window").await.is_ok());
    let refused = desk.try_submit("x", "ls").await.unwrap_err();
    assert_eq!(refused.to_string(), "approval id 'x' already resolved");
    desk.end().await;
}

#[tokio::test(start_paused = true)]
async fn waiting_learns_the_end_and_withdraws_nothing() {
    let desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    assert_eq!(desk.approvals.wait("x").await, None);
    let ticket = desk.submit("x").await;
    let impatient = desk.approvals.wait("x");
    assert!(tokio::time::timeout(Duration::from_millis(1), impatient).await.is_err());
    let (waited, resolved) =
        tokio::join!(desk.approvals.wait("x"), desk.approvals.resolve("x", Decision::Deny, "tray"));
    assert_eq!(resolved, Ok(()));
    assert_eq!(waited, Some(decided(Decision::Deny, "tray")));
    drop(ticket);
    assert_eq!(desk.approvals.wait("x").await, Some(decided(Decision::Deny, "tray")), "within the grace");
    tokio::time::advance(Duration::from_millis(GRACE_MS as u64)).await;
    assert_eq!(desk.approvals.wait("x").await, None);
    assert_eq!(desk.approvals.snapshot("x").await, None);
    desk.end().await;
}

#[tokio::test(start_paused = true)]
async fn stopping_cancels_what_waits_and_takes_nothing_more() {
    let mut desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    let ticket = desk.submit("x").await;
    desk.stop.cancel();
    assert_eq!(ticket.ended().await, Ending::Cancelled(CancelCause::Shutdown));
    assert_eq!(desk.closed().await, ("x".to_owned(), Ending::Cancelled(CancelCause::Shutdown)));
    desk.tracker.close();
    desk.tracker.wait().await;
    assert_eq!(desk.try_submit("y", "ls").await.unwrap_err(), SubmitError::Closing);
    assert!(desk.approvals.resolve("x", Decision::AllowOnce, "window").await.is_err());
    assert!(!desk.approvals.consume_allow_once("x").await);
    assert_eq!(desk.approvals.pending().await, []);
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
    let desk = Desk::start();
    let _presenter = desk.approvals.presenter();
    for round in 0..200 {
        let id = round.to_string();
        let ticket = desk.submit(&id).await;
        let answers = [Decision::AllowOnce, Decision::Deny, Decision::AllowAlways].map(|decision| {
            let (approvals, id) = (desk.approvals.clone(), id.clone());
            tokio::spawn(async move {
                approvals.resolve(&id, decision, "window").await.is_ok().then_some(decision)
            })
        });
        let mut winners = Vec::new();
        for answer in answers {
            winners.extend(answer.await.unwrap());
        }
        assert_eq!(winners.len(), 1);
        assert_eq!(ticket.ended().await, decided(winners[0], "window"));
    }
    desk.end().await;
}
