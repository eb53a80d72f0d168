use super::*;
use crate::testing::question;
use countersign_protocol::question::AllowBlocked;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

mod explorer;

/// Deadline of requests made by [`book_with`].
const TIMEOUT_MS: i64 = 1_000;

fn record_of(id: &str, command: &str, now_ms: i64) -> Record {
    let timeout = Duration::from_millis(TIMEOUT_MS as u64);
    Record::create(question(command), timeout, Some(id), RequestedBy::default(), now_ms, || unreachable!())
}

/// A book in which `id` waits since 0.
fn book_with(id: &str) -> Book {
    let mut book = Book::new(DEFAULT_MAX_PENDING);
    assert!(matches!(book.register(record_of(id, "ls", 0), 0).outcome, Ok(Registered::Added(_))));
    book
}

fn decided(decision: Decision) -> Ending {
    Ending::Decided { decision, by: "window".to_owned() }
}

fn ending(book: &Book, id: &str) -> Option<Ending> {
    book.snapshot(&RequestId::from(id)).unwrap().ending.clone()
}

#[test]
fn creating_a_record_stamps_it_and_touches_no_book() {
    let by = RequestedBy { client: Some("cli".to_owned()), ..RequestedBy::default() };
    let timeout = Duration::from_millis(5);
    let made = Record::create(question("ls"), timeout, Some(" a b \n"), by.clone(), 10, || unreachable!());
    assert_eq!((made.id.as_str(), made.created_at_ms, made.expires_at_ms), ("a b", 10, 15));
    assert_eq!(made.requested_by, by);
    for blank in [None, Some(""), Some(" \t\n")] {
        let made = Record::create(question("ls"), timeout, blank, by.clone(), 10, || "fresh".into());
        assert_eq!(made.id, "fresh");
    }
}

#[test]
fn timeouts_are_clamped() {
    let check = |timeout, expected_ms: i64| {
        let by = RequestedBy::default();
        let made = Record::create(question("ls"), timeout, Some("x"), by, 7, || unreachable!());
        assert_eq!(made.expires_at_ms - 7, expected_ms, "{timeout:?}");
    };
    check(Duration::ZERO, 1);
    check(Duration::from_nanos(1), 1);
    check(DEFAULT_TIMEOUT, 120_000);
    check(Duration::from_millis(2_147_000_000), 2_147_000_000);
    check(Duration::MAX, 2_147_000_000);
}

/// Whether an answer counted.
fn counted(step: Step<Result<(), NotAnswered>>) -> Step<bool> {
    Step { outcome: step.outcome.is_ok(), effects: step.effects }
}

#[test]
fn only_what_is_offered_and_can_be_read_is_allowed() {
    let with = |decisions: &[Decision], blocked: Option<AllowBlocked>| {
        let mut book = Book::new(DEFAULT_MAX_PENDING);
        let mut asked = question("ls");
        (asked.offer.decisions, asked.blocked) = (decisions.to_vec(), blocked);
        let record =
            Record::create(asked, DEFAULT_TIMEOUT, Some("x"), RequestedBy::default(), 0, || unreachable!());
        assert!(book.register(record, 0).outcome.is_ok());
        book
    };
    use Decision::{AllowAlways, AllowOnce, Deny};
    for (decisions, blocked, decision, why) in [
        (&[AllowOnce, Deny][..], None, AllowAlways, NotAnswered::NotOffered(AllowAlways)),
        (&[Deny], None, AllowOnce, NotAnswered::NotOffered(AllowOnce)),
        (&[], None, AllowOnce, NotAnswered::NotOffered(AllowOnce)),
        (&[AllowOnce, Deny], Some(AllowBlocked::TooLong), AllowOnce, NotAnswered::Blocked),
        (&[AllowOnce, AllowAlways], Some(AllowBlocked::TooManyArguments), AllowAlways, NotAnswered::Blocked),
    ] {
        let mut book = with(decisions, blocked);
        assert_eq!(
            book.resolve(&"x".into(), decision, "window", 1),
            Step { outcome: Err(why), effects: vec![] }
        );
        // It still waits, and can be denied, whether or not that was offered.
        assert_eq!(book.pending_count(), 1);
        assert_eq!(book.resolve(&"x".into(), Deny, "window", 2).outcome, Ok(()));
        assert_eq!(book.resolve(&"x".into(), decision, "window", 3).outcome, Err(NotAnswered::Gone));
    }
}

#[test]
fn a_request_is_answered_once() {
    let mut book = book_with("x");
    let step = counted(book.resolve(&"x".into(), Decision::Deny, "window", 5));
    assert!(step.outcome);
    let closed = book.snapshot(&"x".into()).unwrap();
    assert_eq!(step.effects, [Effect::Closed(Arc::clone(&closed))]);
    assert_eq!((closed.resolved_at_ms, closed.ending.clone()), (Some(5), Some(decided(Decision::Deny))));
    for step in [
        counted(book.resolve(&"x".into(), Decision::AllowOnce, "window", 6)),
        book.cancel(&"x".into(), CancelCause::RequesterGone, 6),
        book.not_shown(&"x".into(), 6),
        counted(book.resolve(&"unknown".into(), Decision::AllowOnce, "window", 6)),
    ] {
        assert_eq!(step, Step { outcome: false, effects: vec![] });
    }
    assert_eq!(ending(&book, "x"), Some(decided(Decision::Deny)));
}

#[test]
fn nobody_answering_is_no_decision() {
    let mut book = book_with("x");
    assert_eq!(book.next_deadline_ms(), Some(TIMEOUT_MS));
    assert_eq!(book.advance(TIMEOUT_MS - 1).effects, []);
    let step = book.advance(TIMEOUT_MS);
    assert_eq!(step.effects, [Effect::Closed(book.snapshot(&"x".into()).unwrap())]);
    assert_eq!(ending(&book, "x"), Some(Ending::Expired));
}

#[test]
fn an_answer_at_the_deadline_is_late_even_before_the_timer() {
    let mut book = book_with("x");
    let step = counted(book.resolve(&"x".into(), Decision::AllowOnce, "window", TIMEOUT_MS));
    assert!(!step.outcome);
    assert_eq!(step.effects, [Effect::Closed(book.snapshot(&"x".into()).unwrap())]);
    assert_eq!(ending(&book, "x"), Some(Ending::Expired));
    assert!(!book.consume_allow_once(&"x".into(), TIMEOUT_MS).outcome);
}

#[test]
fn an_ended_request_is_known_for_the_grace_and_its_id_is_refused() {
    let mut book = book_with("x");
    let _ = book.resolve(&"x".into(), Decision::AllowOnce, "window", 10);
    let end = 10 + GRACE_MS;
    assert_eq!(book.next_deadline_ms(), Some(end));
    let refused = book.register(record_of("x", "ls", end - 1), end - 1).outcome;
    assert_eq!(refused, Err(RegisterError::AlreadyResolved("x".into())));
    assert_eq!(refused.unwrap_err().to_string(), "approval id 'x' already resolved");
    assert!(book.snapshot(&"x".into()).is_some());
    assert_eq!(book.advance(end).effects, []);
    assert!(book.snapshot(&"x".into()).is_none() && book.is_empty());
    assert!(matches!(book.register(record_of("x", "ls", end), end).outcome, Ok(Registered::Added(_))));
}

#[test]
fn the_grace_of_an_old_entry_does_not_remove_a_new_one() {
    let mut book = book_with("x");
    let _ = book.resolve(&"x".into(), Decision::Deny, "window", 0);
    let again = GRACE_MS;
    assert!(book.register(record_of("x", "ls", again), again).outcome.is_ok());
    assert_eq!(book.advance(again).effects, []);
    assert_eq!(book.pending_count(), 1);
    assert_eq!(ending(&book, "x"), None);
}

#[test]
fn the_same_request_joins_the_one_that_waits() {
    let mut book = book_with("x");
    let first = book.snapshot(&"x".into()).unwrap();
    let step = book.register(record_of("x", "ls", 50), 50);
    assert_eq!(step.outcome, Ok(Registered::Joined(first)), "the first deadline counts");
    assert_eq!(step.effects, []);
    assert_eq!(book.pending_count(), 1);
}

#[test]
fn t05_another_command_cannot_join_the_answer_to_an_id() {
    let mut book = book_with("x");
    let another = Err(RegisterError::AnotherRequest("x".into()));
    assert_eq!(book.register(record_of("x", "rm -r /", 1), 1).outcome, another);
    let mut stranger = record_of("x", "ls", 1);
    stranger.requested_by.client = Some("stranger".to_owned());
    assert_eq!(book.register(stranger, 1).outcome, another);
    let mut reconnected = record_of("x", "ls", 1);
    reconnected.requested_by.connection = Some("2".to_owned());
    assert!(matches!(book.register(reconnected, 1).outcome, Ok(Registered::Joined(_))));
}

#[test]
fn t05_a_consumed_allow_once_cannot_be_replayed() {
    let mut book = book_with("x");
    assert!(!book.consume_allow_once(&"x".into(), 1).outcome, "nothing is allowed while it waits");
    let _ = book.resolve(&"x".into(), Decision::AllowOnce, "window", 2);
    assert!(book.consume_allow_once(&"x".into(), 3).outcome);
    assert!(!book.consume_allow_once(&"x".into(), 3).outcome);
    let record = book.snapshot(&"x".into()).unwrap();
    assert!(record.consumed);
    assert_eq!(record.ending, Some(decided(Decision::AllowOnce)), "how it ended stays known");
    assert!(!book.consume_allow_once(&"x".into(), 2 + GRACE_MS).outcome, "nor after the grace");
}

#[test]
fn only_an_allow_once_can_be_consumed() {
    for decision in [Decision::AllowAlways, Decision::Deny] {
        let mut book = book_with("x");
        let _ = book.resolve(&"x".into(), decision, "window", 2);
        assert!(!book.consume_allow_once(&"x".into(), 3).outcome, "{decision:?}");
    }
    let mut book = book_with("x");
    let _ = book.cancel(&"x".into(), CancelCause::RequesterGone, 2);
    assert!(!book.consume_allow_once(&"x".into(), 3).outcome);
    assert!(!book.consume_allow_once(&"unknown".into(), 3).outcome);
}

#[test]
fn only_so_many_may_wait() {
    let mut book = Book::new(2);
    for id in ["a", "b"] {
        assert!(book.register(record_of(id, "ls", 0), 0).outcome.is_ok());
    }
    let full = Err(RegisterError::Full { waiting: 2, limit: 2 });
    assert_eq!(book.register(record_of("c", "ls", 0), 0).outcome, full);
    assert!(matches!(book.register(record_of("a", "ls", 0), 0).outcome, Ok(Registered::Joined(_))));
    let _ = book.resolve(&"a".into(), Decision::Deny, "window", 0);
    assert!(book.register(record_of("c", "ls", 0), 0).outcome.is_ok());
    assert_eq!(book.pending().iter().map(|record| record.id.as_str()).collect::<Vec<_>>(), ["b", "c"]);
}

#[test]
fn a_flood_of_requests_that_end_at_once_is_bounded() {
    let mut book = Book::new(DEFAULT_MAX_PENDING);
    for n in 0..MAX_HELD {
        let id = n.to_string();
        assert!(book.register(record_of(&id, "ls", 0), 0).outcome.is_ok());
        assert!(book.not_shown(&RequestId::from(id.as_str()), 0).outcome);
    }
    let full = Err(RegisterError::Busy);
    assert_eq!(book.register(record_of("one more", "ls", 0), 0).outcome, full);
    assert!(book.register(record_of("later", "ls", GRACE_MS), GRACE_MS).outcome.is_ok());
}

#[test]
fn closing_cancels_everything_oldest_first() {
    let mut book = Book::new(3);
    for id in ["c", "a", "b"] {
        let _ = book.register(record_of(id, "ls", 0), 0);
    }
    let _ = book.resolve(&"a".into(), Decision::Deny, "window", 1);
    let step = book.cancel_all(CancelCause::Shutdown, 2);
    assert_eq!(step.outcome, 2);
    let closed = |id| Effect::Closed(book.snapshot(id).unwrap());
    assert_eq!(step.effects, [closed(&"c".into()), closed(&"b".into())]);
    assert_eq!(ending(&book, "c"), Some(Ending::Cancelled(CancelCause::Shutdown)));
    assert_eq!(ending(&book, "a"), Some(decided(Decision::Deny)));
}

#[test]
fn a_clock_that_is_set_back_extends_nothing() {
    let mut book = book_with("x");
    let _ = book.advance(TIMEOUT_MS - 1);
    let _ = book.resolve(&"x".into(), Decision::Deny, "window", -1_000_000);
    assert_eq!(book.snapshot(&"x".into()).unwrap().resolved_at_ms, Some(TIMEOUT_MS - 1));
}

/// What the book should hold, kept naively: every id that was ever used, and how it stands.
#[derive(Default)]
struct Model {
    held: HashMap<String, Modelled>,
    now_ms: i64,
}

struct Modelled {
    expires_at_ms: i64,
    ended: Option<(i64, Ending)>,
    consumed: bool,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Register(u8, u16),
    Resolve(u8, Decision),
    Cancel(u8),
    NotShown(u8),
    Consume(u8),
    Pass(u16),
    CancelAll,
}

impl Model {
    /// Does what is due. The book notices it with the next operation, and then counts from there.
    fn settle(&mut self) {
        let now_ms = self.now_ms;
        for held in self.held.values_mut() {
            if held.ended.is_none() && held.expires_at_ms <= now_ms {
                held.ended = Some((now_ms, Ending::Expired));
            }
        }
        self.held.retain(|_, held| held.ended.as_ref().is_none_or(|(at_ms, _)| now_ms < at_ms + GRACE_MS));
    }

    fn pending(&self) -> usize {
        self.held.values().filter(|held| held.ended.is_none()).count()
    }

    fn end(&mut self, id: &str, ending: Ending) -> bool {
        let now_ms = self.now_ms;
        match self.held.get_mut(id).filter(|held| held.ended.is_none()) {
            Some(held) => {
                held.ended = Some((now_ms, ending));
                true
            }
            None => false,
        }
    }

    fn consume(&mut self, id: &str) -> bool {
        let Some(held) = self.held.get_mut(id) else { return false };
        let allowed = matches!(held.ended, Some((_, Ending::Decided { decision: Decision::AllowOnce, .. })));
        allowed && !std::mem::replace(&mut held.consumed, true)
    }
}

/// A book and its model in step, and the endings that were announced.
struct Race {
    book: Book,
    model: Model,
    limit: usize,
    /// How often each registration was announced as closed, by its number.
    open: HashMap<RequestId, u64>,
    added: u64,
    closed: u64,
    template: Question,
}

impl Race {
    fn new(limit: usize) -> Self {
        Self {
            book: Book::new(limit),
            model: Model::default(),
            limit,
            open: HashMap::new(),
            added: 0,
            closed: 0,
            template: question("ls"),
        }
    }

    fn hear(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Added(record) => {
                    self.added += 1;
                    assert!(record.ending.is_none());
                    assert!(
                        self.open.insert(record.id.to_string().into(), self.added).is_none(),
                        "added while open"
                    );
                }
                Effect::Closed(record) => {
                    self.closed += 1;
                    assert!(record.ending.is_some() && record.resolved_at_ms.is_some());
                    assert!(self.open.remove(&record.id).is_some(), "closed twice");
                }
            }
        }
    }

    fn take<T: PartialEq + std::fmt::Debug>(&mut self, step: Step<T>, expected: T) {
        assert_eq!(step.outcome, expected);
        self.hear(step.effects);
    }

    fn run(&mut self, op: Op) {
        if let Op::Pass(ms) = op {
            self.model.now_ms += i64::from(ms);
            // Half the time it is for the next operation to notice what is due.
            if ms % 2 == 1 {
                return;
            }
        }
        self.model.settle();
        let now_ms = self.model.now_ms;
        match op {
            Op::Register(id, timeout_ms) => self.register(&id.to_string(), i64::from(timeout_ms).max(1)),
            Op::Resolve(id, decision) => {
                let id = id.to_string();
                let expected = self.model.end(&id, decided(decision));
                let step =
                    counted(self.book.resolve(&RequestId::from(id.as_str()), decision, "window", now_ms));
                self.take(step, expected);
            }
            Op::Cancel(id) => {
                let id = id.to_string();
                let expected = self.model.end(&id, Ending::Cancelled(CancelCause::RequesterGone));
                let step =
                    self.book.cancel(&RequestId::from(id.as_str()), CancelCause::RequesterGone, now_ms);
                self.take(step, expected);
            }
            Op::NotShown(id) => {
                let id = id.to_string();
                let expected = self.model.end(&id, Ending::NotShown);
                let step = self.book.not_shown(&RequestId::from(id.as_str()), now_ms);
                self.take(step, expected);
            }
            Op::Consume(id) => {
                let id = id.to_string();
                let expected = self.model.consume(&id);
                let step = self.book.consume_allow_once(&RequestId::from(id.as_str()), now_ms);
                self.take(step, expected);
            }
            Op::Pass(_) => {
                let step = self.book.advance(now_ms);
                self.take(step, ());
            }
            Op::CancelAll => {
                let expected = self.model.pending();
                for held in self.model.held.values_mut().filter(|held| held.ended.is_none()) {
                    held.ended = Some((now_ms, Ending::Cancelled(CancelCause::Shutdown)));
                }
                let step = self.book.cancel_all(CancelCause::Shutdown, now_ms);
                self.take(step, expected);
            }
        }
    }

    fn register(&mut self, id: &str, timeout_ms: i64) {
        let now_ms = self.model.now_ms;
        let timeout = Duration::from_millis(timeout_ms as u64);
        let by = RequestedBy::default();
        let made = Record::create(self.template.clone(), timeout, Some(id), by, now_ms, || unreachable!());
        let step = self.book.register(made, now_ms);
        let pending = self.model.pending();
        let held = self.model.held.get(id).map(|held| held.ended.is_some());
        match (step.outcome, held) {
            (Ok(Registered::Joined(_)), Some(false))
            | (Err(RegisterError::AlreadyResolved(_)), Some(true)) => {}
            (Ok(Registered::Added(_)), None) => {
                assert!(pending < self.limit && self.model.held.len() < MAX_HELD);
                let expires_at_ms = now_ms + timeout_ms;
                let held = Modelled { expires_at_ms, ended: None, consumed: false };
                self.model.held.insert(id.to_owned(), held);
            }
            (Err(RegisterError::Full { .. }), None) => assert!(pending == self.limit),
            other => panic!("{other:?}"),
        }
        self.hear(step.effects);
    }

    /// Compares everything. The book is brought to the model's time first.
    fn compare(&mut self) {
        self.model.settle();
        let step = self.book.advance(self.model.now_ms);
        self.take(step, ());
        assert_eq!(self.book.pending_count(), self.model.pending());
        assert!(self.book.pending_count() <= self.limit);
        assert_eq!(self.book.entries.len(), self.model.held.len());
        assert_eq!(self.book.due.len(), self.model.held.len(), "one timer each, none left over");
        assert_eq!(self.open.len(), self.model.pending());
        for (id, held) in &self.model.held {
            let record = self.book.snapshot(&RequestId::from(id.as_str())).unwrap();
            assert_eq!(record.ending, held.ended.as_ref().map(|(_, ending)| ending.clone()));
            assert_eq!(record.resolved_at_ms, held.ended.as_ref().map(|(at_ms, _)| *at_ms));
            assert_eq!(record.consumed, held.consumed);
        }
    }

    fn finish(&mut self) {
        self.compare();
        let step = self.book.cancel_all(CancelCause::Shutdown, self.model.now_ms);
        self.hear(step.effects);
        assert_eq!(self.added, self.closed, "every request ended exactly once");
        assert!(self.open.is_empty());
    }
}

/// A small generator, so that a million steps need no recorded input: xorshift64*.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn op(&mut self) -> Op {
        let dice = self.next();
        let id = (dice >> 8) as u8 % 48;
        let small = (dice >> 16) as u16;
        match dice % 100 {
            0..=29 => Op::Register(id, small % 4_000),
            30..=44 => Op::Resolve(
                id,
                [Decision::AllowOnce, Decision::AllowAlways, Decision::Deny][usize::from(small % 3)],
            ),
            45..=51 => Op::Cancel(id),
            52..=54 => Op::NotShown(id),
            55..=69 => Op::Consume(id),
            70..=98 => Op::Pass(small % 700),
            _ => Op::CancelAll,
        }
    }
}

#[test]
fn a_million_interleaved_steps_end_every_request_exactly_once() {
    let mut race = Race::new(24);
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for step in 0..1_000_000 {
        race.run(dice.op());
        if step % 512 == 0 {
            race.compare();
        }
    }
    race.finish();
    assert!(race.added > 50_000, "{} requests were made", race.added);
}

fn op() -> impl Strategy<Value = Op> {
    let decision = prop_oneof![Just(Decision::AllowOnce), Just(Decision::AllowAlways), Just(Decision::Deny)];
    let id = 0u8..4;
    prop_oneof![
        3 => (id.clone(), 0u16..2_000).prop_map(|(id, ms)| Op::Register(id, ms)),
        2 => (id.clone(), decision).prop_map(|(id, decision)| Op::Resolve(id, decision)),
        1 => id.clone().prop_map(Op::Cancel),
        1 => id.clone().prop_map(Op::NotShown),
        2 => id.prop_map(Op::Consume),
        3 => (0u16..16_000).prop_map(Op::Pass),
        1 => Just(Op::CancelAll),
    ]
}

proptest! {
    #[test]
    fn no_order_of_operations_differs_from_the_model(ops in prop::collection::vec(op(), 0..200)) {
        let mut race = Race::new(3);
        for op in ops {
            race.run(op);
            race.compare();
        }
        race.finish();
    }
}
