//! Every order in which five requests from three doors can be asked, answered, used, expire and lose their
//! connection: not some of them, as the random walks beside this take, but all. Orders that lead to the same
//! state are followed once.

use super::*;
use pretty_assertions::assert_eq;
use std::collections::HashSet;

/// By the door that each request comes through. A cut connection takes all of its door along.
const DOORS: [Door; 5] = [Door::Socket, Door::Socket, Door::Gateway, Door::Gateway, Door::Hook];

/// How often the clock may jump to the next deadline before the end; the end itself lets all of them pass.
const JUMPS: u8 = 2;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Door {
    Socket,
    /// A connected gateway, which can be answered elsewhere.
    Gateway,
    Hook,
}

#[derive(Clone, Copy, Debug)]
enum Move {
    Ask(usize),
    Answer(usize, Decision),
    Elsewhere(usize),
    Use(usize),
    Cut(Door),
    /// The next deadline comes, and nothing has noticed yet.
    Jump,
    /// The timer notices.
    Timer,
}

/// What a request has to be, told by nothing but what was done.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum Phase {
    Unasked,
    Waiting { due_ms: i64 },
    Ended { how: How, used: bool, due_ms: i64 },
    Forgotten,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
enum How {
    Allowed,
    Denied,
    Elsewhere,
    Expired,
    Cut,
}

#[derive(Clone)]
struct State {
    book: Book,
    phases: [Phase; 5],
    /// How often each was told to have ended.
    closed: [u8; 5],
    now_ms: i64,
    jumps: u8,
}

impl State {
    /// What makes two states the same from here on: times count by their distance, and the two requests of
    /// a door are alike.
    fn key(&self) -> ([Phase; 5], bool, u8) {
        let ahead = |due_ms: i64| due_ms - self.now_ms;
        let mut phases = self.phases.map(|phase| match phase {
            Phase::Waiting { due_ms } => Phase::Waiting { due_ms: ahead(due_ms) },
            Phase::Ended { how, used, due_ms } => Phase::Ended { how, used, due_ms: ahead(due_ms) },
            other => other,
        });
        for pair in [0..2, 2..4] {
            phases[pair].sort_unstable();
        }
        let unnoticed = self.book.next_deadline_ms().is_some_and(|due_ms| due_ms <= self.now_ms);
        (phases, unnoticed, self.jumps)
    }

    fn moves(&self) -> Vec<Move> {
        let mut moves = vec![Move::Timer];
        for (at, phase) in self.phases.iter().enumerate() {
            match phase {
                Phase::Unasked => moves.push(Move::Ask(at)),
                Phase::Waiting { .. } | Phase::Ended { .. } => {
                    moves
                        .extend([Decision::AllowOnce, Decision::Deny].map(|answer| Move::Answer(at, answer)));
                    moves.push(Move::Use(at));
                    if DOORS[at] == Door::Gateway {
                        moves.push(Move::Elsewhere(at));
                    }
                }
                Phase::Forgotten => {}
            }
        }
        moves.extend([Door::Socket, Door::Gateway, Door::Hook].map(Move::Cut));
        if self.jumps < JUMPS && self.book.next_deadline_ms().is_some() {
            moves.push(Move::Jump);
        }
        moves
    }

    fn run(&mut self, step: Move) {
        if let Move::Jump = step {
            self.now_ms = self.book.next_deadline_ms().unwrap_or(self.now_ms).max(self.now_ms);
            self.jumps += 1;
            return;
        }
        self.settle();
        match step {
            Move::Ask(at) => self.ask(at),
            Move::Answer(at, decision) => {
                let how = if decision.allows() { How::Allowed } else { How::Denied };
                let step = counted(self.book.resolve(
                    &RequestId::from(id(at).as_str()),
                    decision,
                    "window",
                    self.now_ms,
                ));
                self.ended(at, how, step);
            }
            Move::Elsewhere(at) => {
                let step = self.book.elsewhere(
                    &RequestId::from(id(at).as_str()),
                    Some(Decision::Deny),
                    None,
                    self.now_ms,
                );
                self.ended(at, How::Elsewhere, step);
            }
            Move::Use(at) => {
                let step = self.book.consume_allow_once(&RequestId::from(id(at).as_str()), self.now_ms);
                let first = match &mut self.phases[at] {
                    Phase::Ended { how: How::Allowed, used, .. } => !std::mem::replace(used, true),
                    _ => false,
                };
                assert_eq!(step.outcome, first, "an answer counts once");
                self.hear(step.effects);
            }
            Move::Cut(door) => {
                for at in (0..DOORS.len()).filter(|at| DOORS[*at] == door) {
                    let step = self.book.cancel(
                        &RequestId::from(id(at).as_str()),
                        CancelCause::ConnectionLost,
                        self.now_ms,
                    );
                    self.ended(at, How::Cut, step);
                }
            }
            Move::Jump | Move::Timer => {
                let step = self.book.advance(self.now_ms);
                self.hear(step.effects);
            }
        }
        self.compare();
    }

    /// What is due by now, whoever notices it.
    fn settle(&mut self) {
        for phase in &mut self.phases {
            match *phase {
                Phase::Waiting { due_ms } if due_ms <= self.now_ms => {
                    let due_ms = self.now_ms + GRACE_MS;
                    *phase = Phase::Ended { how: How::Expired, used: false, due_ms };
                }
                Phase::Ended { due_ms, .. } if due_ms <= self.now_ms => *phase = Phase::Forgotten,
                _ => {}
            }
        }
    }

    fn ask(&mut self, at: usize) {
        let gateway = (DOORS[at] == Door::Gateway).then(|| "far away".to_owned());
        let by = RequestedBy { gateway, ..RequestedBy::default() };
        let timeout = Duration::from_millis(TIMEOUT_MS as u64);
        let record =
            Record::create(question("ls"), timeout, Some(&id(at)), by, self.now_ms, || unreachable!());
        let step = self.book.register(record, self.now_ms);
        assert!(matches!(step.outcome, Ok(Registered::Added(_))));
        self.phases[at] = Phase::Waiting { due_ms: self.now_ms + TIMEOUT_MS };
        self.hear(step.effects);
    }

    fn ended(&mut self, at: usize, how: How, step: Step<bool>) {
        let waits = matches!(self.phases[at], Phase::Waiting { .. });
        assert_eq!(step.outcome, waits, "whoever is first ends it, and nobody else");
        if waits {
            self.phases[at] = Phase::Ended { how, used: false, due_ms: self.now_ms + GRACE_MS };
        }
        self.hear(step.effects);
    }

    fn hear(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Closed(record) = effect {
                self.closed[record.id.as_str().parse::<usize>().unwrap()] += 1;
            }
        }
    }

    fn compare(&self) {
        for (at, phase) in self.phases.iter().enumerate() {
            let ending = self
                .book
                .snapshot(&RequestId::from(id(at).as_str()))
                .map(|record| record.ending.as_ref().map(how));
            let (expected, closed) = match phase {
                Phase::Unasked => (None, 0),
                Phase::Waiting { .. } => (Some(None), 0),
                Phase::Ended { how, .. } => (Some(Some(*how)), 1),
                Phase::Forgotten => (None, 1),
            };
            assert_eq!((ending, self.closed[at]), (expected, closed), "request {at}: {phase:?}");
        }
    }

    /// Everything asked, and all time over: whatever came before, each has ended once and nothing is held.
    fn finish(mut self) {
        for at in 0..DOORS.len() {
            if self.phases[at] == Phase::Unasked {
                self.run(Move::Ask(at));
            }
        }
        while let Some(due_ms) = self.book.next_deadline_ms() {
            self.now_ms = due_ms.max(self.now_ms);
            self.run(Move::Timer);
        }
        assert_eq!(self.closed, [1; 5]);
        assert!(self.book.is_empty() && self.book.due.is_empty() && self.book.loads.is_empty());
    }
}

fn id(at: usize) -> String {
    at.to_string()
}

fn how(ending: &Ending) -> How {
    match ending {
        Ending::Decided { decision, .. } if decision.allows() => How::Allowed,
        Ending::Decided { .. } => How::Denied,
        Ending::Elsewhere { .. } => How::Elsewhere,
        Ending::Expired => How::Expired,
        Ending::Contained | Ending::Cancelled(_) | Ending::NotShown => How::Cut,
    }
}

#[test]
fn in_every_order_of_five_requests_at_three_doors_each_ends_exactly_once() {
    let start = State {
        book: Book::new(DEFAULT_MAX_PENDING),
        phases: [Phase::Unasked; 5],
        closed: [0; 5],
        now_ms: 0,
        jumps: 0,
    };
    let mut seen = HashSet::from([start.key()]);
    let (mut open, mut steps) = (vec![start], 0_u64);
    while let Some(state) = open.pop() {
        for step in state.moves() {
            steps += 1;
            let mut next = state.clone();
            next.run(step);
            if seen.insert(next.key()) {
                open.push(next);
            }
        }
        state.finish();
    }
    println!("{} states, {steps} steps", seen.len());
    assert!(seen.len() > 10_000, "{} states were reached", seen.len());
}
