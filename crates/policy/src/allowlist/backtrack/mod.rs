//! Expressions that no linear-time engine can run: look-around and back references. They are tried step by step, and one
//! that needs more than [`STEPS`] steps does not match: an entry that nobody can afford to ask covers nothing.

mod compile;
mod parse;

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
        let mut machine = Machine { code: &self.code, subject: &subject, left: STEPS };
        (0..=subject.len())
            .map(|start| machine.run(0, start, &mut vec![None; self.slots]))
            .find(|outcome| !matches!(outcome, Ok(None)))
            .is_some_and(|outcome| matches!(outcome, Ok(Some(_))))
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
    /// Runs from instruction `at` to the end of its part. `slots` are changed only on a match.
    fn run(
        &mut self,
        mut at: usize,
        mut position: usize,
        slots: &mut [Option<usize>],
    ) -> Result<Option<usize>, Exhausted> {
        let mut saved: Vec<Saved> = Vec::new();
        loop {
            self.left = self.left.checked_sub(1).ok_or(Exhausted)?;
            let next = match self.code.get(at) {
                None | Some(Instruction::Match) => return Ok(Some(position)),
                Some(Instruction::Unit(set, direction)) => self.unit(position, set, *direction),
                Some(Instruction::Start) => (position == 0).then_some(position),
                Some(Instruction::End) => (position == self.subject.len()).then_some(position),
                Some(Instruction::Boundary(wanted)) => {
                    ((self.is_boundary(position)) == (*wanted == Wanted::Present)).then_some(position)
                }
                Some(Instruction::Back(group, direction)) => self.back(position, *group, *direction, slots),
                Some(Instruction::Jump(target)) => {
                    at = *target;
                    continue;
                }
                Some(Instruction::Split { first, second }) => {
                    saved.push(Saved::Way { at: *second, position });
                    at = *first;
                    continue;
                }
                Some(Instruction::Save(slot)) => {
                    set_slot(slots, &mut saved, *slot, Some(position));
                    Some(position)
                }
                Some(Instruction::Forget { from, to }) => {
                    (*from..*to).for_each(|slot| set_slot(slots, &mut saved, slot, None));
                    Some(position)
                }
                Some(Instruction::Moved(slot)) => {
                    (slots.get(*slot).copied().flatten() != Some(position)).then_some(position)
                }
                Some(Instruction::Look { wanted, after }) => {
                    let (wanted, after) = (*wanted, *after);
                    let mut inner = slots.to_vec();
                    let found = self.run(at + 1, position, &mut inner)?.is_some();
                    if found == (wanted == Wanted::Present) {
                        if found {
                            for (slot, value) in inner.iter().enumerate() {
                                set_slot(slots, &mut saved, slot, *value);
                            }
                        }
                        at = after;
                        continue;
                    }
                    None
                }
            };
            if let Some(next) = next {
                position = next;
                at += 1;
                continue;
            }
            match back_up(slots, &mut saved) {
                Some((way, before)) => (at, position) = (way, before),
                None => return Ok(None),
            }
        }
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
        &self,
        position: usize,
        group: usize,
        direction: Direction,
        slots: &[Option<usize>],
    ) -> Option<usize> {
        let slot = |index: usize| slots.get(index).copied().flatten();
        let (Some(one), Some(other)) = (slot(group * 2), slot(group * 2 + 1)) else { return Some(position) };
        let taken = self.subject.get(one.min(other)..one.max(other))?;
        match direction {
            Direction::Forward => {
                let end = position + taken.len();
                (self.subject.get(position..end)? == taken).then_some(end)
            }
            Direction::Backward => {
                let start = position.checked_sub(taken.len())?;
                (self.subject.get(start..position)? == taken).then_some(start)
            }
        }
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
    }
}
