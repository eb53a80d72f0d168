//! How much work one decision may cost. Whoever writes a command chooses how long it takes to be judged: many
//! parts, folders, patterns and rules multiply. So what goes through them counts its steps, and a decision
//! that needs more than [`UNITS`] ends there: the command is one that nobody here understands, and a
//! person is asked.
//!
//! Steps are counted and no time is taken: the same command comes to the same verdict on every machine. Where
//! nobody set a limit nothing is counted.
//!
//! ```
//! use countersign_policy::work;
//! let (sum, spent) = work::measured(|| 1 + 1);
//! assert_eq!((sum, spent), (2, 0));
//! ```

use std::cell::Cell;

/// Most steps of one decision. A step is about a byte that is compared, some nanoseconds: all of them take a
/// fraction of the 50 ms that a decision may take, which also goes to looking at files.
pub const UNITS: usize = 8_000_000;

/// Whether the work that a limit was set for was done to its end.
#[must_use]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Effort {
    /// It was, and what came of it counts.
    Done,
    /// It was broken off: whatever came of it counts for nothing.
    TooMuch,
}

/// Does `job` with at most [`UNITS`] steps, or those that are left where a limit is in force already.
pub(crate) fn limited<T>(job: impl FnOnce() -> T) -> (T, Effort) {
    let limit = Limit::set(UNITS);
    let result = job();
    let effort = if is_over() { Effort::TooMuch } else { Effort::Done };
    drop(limit);
    (result, effort)
}

/// Does `job` and says how many steps were counted. For tests, which compare work.
pub fn measured<T>(job: impl FnOnce() -> T) -> (T, usize) {
    let limit = Limit::set(MEASURED);
    let result = job();
    let spent = limit.spent();
    drop(limit);
    (result, spent)
}

/// Counts steps. False when there are none left: what comes of the work does not count any more, so the
/// caller can stop.
pub(crate) fn pay(units: usize) -> bool {
    LEFT.with(|left| match left.get() {
        None => true,
        Some(some) => {
            left.set(Some(some.saturating_sub(units)));
            some > units
        }
    })
}

/// Steps that are left, for work that counts its own and [`pay`]s for them later.
pub(crate) fn left() -> usize {
    LEFT.get().unwrap_or(usize::MAX)
}

fn is_over() -> bool {
    LEFT.get() == Some(0)
}

/// A limit in force until it is dropped; what was spent below it counts above it too.
struct Limit {
    before: Option<usize>,
    set: usize,
}

impl Limit {
    fn set(units: usize) -> Self {
        let before = LEFT.get();
        let set = before.map_or(units, |left| left.min(units));
        LEFT.set(Some(set));
        Self { before, set }
    }

    fn spent(&self) -> usize {
        self.set - LEFT.get().unwrap_or(0).min(self.set)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        let spent = self.spent();
        LEFT.set(self.before.map(|before| before.saturating_sub(spent)));
    }
}

/// More than any test spends, and still a number.
const MEASURED: usize = usize::MAX / 2;

thread_local! {
    /// A decision is made on one thread, without a pause.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_beyond_the_limit_is_broken_off_and_the_next_begins_anew() {
        let (_, effort) = limited(|| {
            assert!(pay(UNITS - 1));
            assert!(!pay(1));
        });
        assert_eq!(effort, Effort::TooMuch);
        assert_eq!(limited(|| pay(UNITS - 1)), (true, Effort::Done));
        assert!(pay(usize::MAX), "without a limit nothing is counted");
    }

    #[test]
    fn a_limit_within_a_limit_takes_from_it() {
        let ((), spent) = measured(|| {
            let (_, effort) = limited(|| pay(UNITS));
            assert_eq!(effort, Effort::TooMuch);
            let (_, effort) = limited(|| pay(7));
            assert_eq!(effort, Effort::Done);
        });
        assert_eq!(spent, UNITS + 7);
    }

    #[test]
    fn a_limit_ends_with_a_panic_too() {
        let caught = std::panic::catch_unwind(|| limited(|| panic!("on purpose")));
        assert!(caught.is_err() && pay(usize::MAX));
    }
}
