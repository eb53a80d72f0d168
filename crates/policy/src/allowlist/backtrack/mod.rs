//! Expressions that no linear-time engine can run: look-around and back references. They are tried step by
//! step, and one that needs more than [`STEPS`] steps does not match: an entry that nobody can afford to
//! ask covers nothing.

mod compile;
mod parse;

use crate::work;
use compile::{Instruction, compile};

/// An expression ready to be run.
#[derive(Debug)]
pub(super) struct Program {
    code: Vec<Instruction>,
    /// Two for each group, then one for each repetition that could take nothing.
    slots: usize,
}

impl Program {
    /// The pattern, or `None` when it is no expression or one that is not understood.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let units: Vec<u16> = pattern.encode_utf16().collect();
        let (expression, groups) = parse::parse(&units)?;
        compile(&expression, groups)
    }

    /// Whether it is found anywhere in `subject`.
    pub(super) fn is_match(&self, subject: &str) -> bool {
        let subject: Vec<u16> = subject.encode_utf16().collect();
        let steps = STEPS.min(work::left() / STEP_UNITS);
        let mut machine = Machine { code: &self.code, subject: &subject, left: steps };
        let found = machine.find(self.slots);
        let paid = work::pay((steps - machine.left) * STEP_UNITS + subject.len());
        paid && matches!(found, Ok(true))
    }
}

/// A set of units.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Set {
    pub(super) ranges: Vec<(u16, u16)>,
    pub(super) negated: bool,
}

impl Set {
    fn contains(&self, unit: u16) -> bool {
        self.ranges.iter().any(|(from, to)| (*from..=*to).contains(&unit)) != self.negated
    }
}

/// Which way a text is read: look-behind reads it backwards.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Direction {
    Forward,
    Backward,
}

/// Whether something must or must not be there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Wanted {
    Present,
    Absent,
}

struct Machine<'a> {
    code: &'a [Instruction],
    subject: &'a [u16],
    /// Steps that may still be taken.
    left: usize,
}

/// What to go back to.
enum Saved {
    /// Another way on.
    Way { at: usize, position: usize },
    /// A slot's value before.
    Slot { slot: usize, value: Option<usize> },
}

/// More steps than are affordable.
struct Exhausted;

impl Machine<'_> {
    fn find(&mut self, slots: usize) -> Result<bool, Exhausted> {
        for start in 0..=self.subject.len() {
            if self.attempt(start, slots)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn attempt(&mut self, start: usize, slots: usize) -> Result<Option<usize>, Exhausted> {
        self.pay(slots)?;
        self.run(0, start, &mut vec![None; slots])
    }

    /// Takes one step, and what goes through `items` things as many as a processor does at once.
    fn pay(&mut self, items: usize) -> Result<(), Exhausted> {
        self.left = self.left.checked_sub(1 + items / ITEMS_IN_A_STEP).ok_or(Exhausted)?;
        Ok(())
    }

    /// Runs from instruction `at` to the end of its part.
    fn run(
        &mut self,
        mut at: usize,
        mut position: usize,
        slots: &mut [Option<usize>],
    ) -> Result<Option<usize>, Exhausted> {
        let mut saved: Vec<Saved> = Vec::new();
        loop {
            let code = self.code;
            let next = match code.get(at) {
                None | Some(Instruction::Match) => return Ok(Some(position)),
                Some(instruction) => self.step(instruction, at, position, slots, &mut saved)?,
            };
            match next.or_else(|| back_up(slots, &mut saved)) {
                Some(next) => (at, position) = next,
                None => return Ok(None),
            }
        }
    }

    /// The instruction and position to go on with, or `None` at a dead end.
    fn step(
        &mut self,
        instruction: &Instruction,
        at: usize,
        position: usize,
        slots: &mut [Option<usize>],
        saved: &mut Vec<Saved>,
    ) -> Result<Option<(usize, usize)>, Exhausted> {
        self.pay(0)?;
        let moved_to = match instruction {
            Instruction::Unit(set, direction) => {
                self.pay(set.ranges.len())?;
                self.unit(position, set, *direction)
            }
            Instruction::Start => (position == 0).then_some(position),
            Instruction::End => (position == self.subject.len()).then_some(position),
            Instruction::Boundary(wanted) => {
                (self.is_boundary(position) == (*wanted == Wanted::Present)).then_some(position)
            }
            Instruction::Back(group, direction) => self.back(position, *group, *direction, slots)?,
            Instruction::Jump(target) => return Ok(Some((*target, position))),
            Instruction::Split { first, second } => {
                saved.push(Saved::Way { at: *second, position });
                return Ok(Some((*first, position)));
            }
            Instruction::Save(slot) => {
                set_slot(slots, saved, *slot, Some(position));
                Some(position)
            }
            Instruction::Forget { from, to } => {
                self.pay(to - from)?;
                (*from..*to).for_each(|slot| set_slot(slots, saved, slot, None));
                Some(position)
            }
            Instruction::Moved(slot) => {
                (slots.get(*slot).copied().flatten() != Some(position)).then_some(position)
            }
            Instruction::Look { wanted, after } => {
                let is_right = self.look(at + 1, position, *wanted, slots, saved)?;
                return Ok(is_right.then_some((*after, position)));
            }
            Instruction::Match => Some(position),
        };
        Ok(moved_to.map(|position| (at + 1, position)))
    }

    /// Whether the part at `at` is there, or not, as wanted. What its groups took stays theirs.
    fn look(
        &mut self,
        at: usize,
        position: usize,
        wanted: Wanted,
        slots: &mut [Option<usize>],
        saved: &mut Vec<Saved>,
    ) -> Result<bool, Exhausted> {
        self.pay(slots.len())?;
        let mut inner = slots.to_vec();
        let found = self.run(at, position, &mut inner)?.is_some();
        if found && wanted == Wanted::Present {
            for (slot, value) in inner.iter().enumerate() {
                set_slot(slots, saved, slot, *value);
            }
        }
        Ok(found == (wanted == Wanted::Present))
    }

    fn unit(&self, position: usize, set: &Set, direction: Direction) -> Option<usize> {
        let (index, next) = match direction {
            Direction::Forward => (position, position + 1),
            Direction::Backward => (position.checked_sub(1)?, position - 1),
        };
        set.contains(*self.subject.get(index)?).then_some(next)
    }

    fn is_boundary(&self, position: usize) -> bool {
        let is_word = |index: Option<usize>| {
            let unit = index.and_then(|index| self.subject.get(index)).copied();
            unit.and_then(|unit| u8::try_from(unit).ok())
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        is_word(position.checked_sub(1)) != is_word(Some(position))
    }

    /// A group that took no part is nothing.
    fn back(
        &mut self,
        position: usize,
        group: usize,
        direction: Direction,
        slots: &[Option<usize>],
    ) -> Result<Option<usize>, Exhausted> {
        let slot = |index: usize| slots.get(index).copied().flatten();
        let (Some(one), Some(other)) = (slot(group * 2), slot(group * 2 + 1)) else {
            return Ok(Some(position));
        };
        let (from, to) = (one.min(other), one.max(other));
        self.pay(to - from)?;
        let place = match direction {
            Direction::Forward => Some((position, position + (to - from))),
            Direction::Backward => position.checked_sub(to - from).map(|start| (start, position)),
        };
        let Some((start, end)) = place else { return Ok(None) };
        let is_same =
            self.subject.get(start..end).is_some_and(|text| self.subject.get(from..to) == Some(text));
        Ok(is_same.then_some(if direction == Direction::Forward { end } else { start }))
    }
}

fn set_slot(slots: &mut [Option<usize>], saved: &mut Vec<Saved>, slot: usize, value: Option<usize>) {
    let Some(current) = slots.get_mut(slot).filter(|current| **current != value) else { return };
    saved.push(Saved::Slot { slot, value: *current });
    *current = value;
}

/// Undoes everything since the last other way, and takes that.
fn back_up(slots: &mut [Option<usize>], saved: &mut Vec<Saved>) -> Option<(usize, usize)> {
    loop {
        match saved.pop()? {
            Saved::Way { at, position } => return Some((at, position)),
            Saved::Slot { slot, value } => {
                if let Some(current) = slots.get_mut(slot) {
                    *current = value;
                }
            }
        }
    }
}

/// How many small things are gone through in the time of one step.
const ITEMS_IN_A_STEP: usize = 8;

/// Work of one step.
const STEP_UNITS: usize = 4;

/// Most steps for one expression and one subject: some milliseconds.
const STEPS: usize = 500_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, subject: &str, expected: bool) {
        let program = Program::new(pattern).unwrap_or_else(|| panic!("{pattern:?} is not understood"));
        assert_eq!(program.is_match(subject), expected, "{pattern:?} {subject:.60?}");
    }

    #[test]
    fn look_around_looks_without_taking() {
        check("^(?!.*--force).*push", "push origin", true);
        check("^(?!.*--force).*push", "push --force", false);
        check("a(?=b)b$", "ab", true);
        check("a(?=b)$", "ab", false);
        check("^(?<!x)a$", "a", true);
        check("(?<!x)a", "xa", false);
        check("(?<=\\d{2})x", "12x", true);
        check("(?<=\\d{2})x", "1x", false);
        check("^(?<=(\\w)\\1)x", "aax", false);
        check("(?<=\\1(\\w))x", "aax", true);
        check("(?<=\\1(\\w))x", "bax", false);
        check("(?=(a+))\\1$", "aa", true);
        check("(?!(a))\\1b", "b", true);
    }

    #[test]
    fn a_back_reference_repeats_what_its_group_took() {
        check("^(a|b)\\1$", "bb", true);
        check("^(a|b)\\1$", "ab", false);
        check("^(?<n>x)\\k<n>$", "xx", true);
        check("^(?:(a)|b)*\\1$", "ab", true);
        check("^\\1(a)$", "a", true);
        check("^(a*)*$", "aaab", false);
        check("^(?:a?)*?b\\B", "aab", false);
        check("^(.)\\1$", "\u{1f600}", false);
    }

    #[test]
    fn what_is_no_expression_or_not_understood_is_none() {
        for pattern in [
            "(",
            ")",
            "a)",
            "(?=a)*",
            "(?<n>a)(?<n>b)",
            "\\k<n>",
            "(?<n>a)\\k<m>",
            "\\2(a)",
            "(?:\\k<n>){0}",
            "(?i:a)",
            "a**",
            "*",
            "[b-a]",
            "\\q",
            "(a){1001}{1001}",
            "{1}",
            "(?:){99999999999}",
            "(?:(?:){9999}){9999}",
            "a{2,1}",
            "\\p{L}",
        ] {
            assert!(Program::new(pattern).is_none(), "{pattern:?}");
        }
    }

    #[test]
    fn an_expression_that_takes_too_long_does_not_match() {
        check("^(?=a)(a+)+$", &("a".repeat(40) + "!"), false);
        check("^(?=a)(?:a|aa)+b\\B", &"a".repeat(30_000), false);
        check("(?=a)(a*)\\1b", &"a".repeat(100_000), false);
        check(&format!("(?=a){}b", "(a)".repeat(900)), &"a".repeat(100_000), false);
    }
}
