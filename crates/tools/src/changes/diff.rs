//! What differs between two contents of a file, as hunks of lines: raw text, for whoever shows
//! it to make safe.
//!
//! A complete diff says it all: applied to what is there it gives exactly what would be written. That is
//! tried before anybody sees it, so a fault in how it was made ends in a diff that cannot be allowed.

use super::lines::{Ending, Line, LineEndings, lines};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline, group_diff_ops};
use std::collections::HashMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// What differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Diff {
    /// The changes with the lines around them, in order; none where nothing differs.
    pub hunks: Vec<Hunk>,
    /// What is there is no UTF-8 text. Its lines are not shown; those that would be written are, all of them.
    pub binary: bool,
    /// How the lines end; the lines themselves say it too.
    pub line_endings: Sides<LineEndings>,
    /// Whether the last line has no end; an empty file has none without an end.
    pub unended: Sides<bool>,
    complete: bool,
}

/// Something of what is there, and of what would be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sides<T> {
    /// Now.
    pub before: T,
    /// Then.
    pub after: T,
}

/// Changes that stand close together.
#[derive(Clone, Debug, PartialEq)]
pub struct Hunk {
    /// Its lines in what is there.
    pub before: Span,
    /// Its lines in what would be.
    pub after: Span,
    /// Removed lines stand before those that are added for them.
    pub lines: Vec<DiffLine>,
}

/// Some lines of a text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span {
    /// Number of the first, from 1; where there is none, of the line that it stands before.
    pub first: usize,
    /// How many.
    pub count: usize,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiffLine {
    /// What happens to it.
    pub kind: LineKind,
    /// Its number in what is there, from 1.
    pub before: Option<usize>,
    /// Its number in what would be, from 1.
    pub after: Option<usize>,
    /// The line as it is, without its end. Whatever an agent wrote is in it.
    pub text: String,
    /// How it ends.
    pub ending: Ending,
}

/// What happens to a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LineKind {
    /// It would be there.
    Added,
    /// It stays, and is shown for its neighbours.
    Context,
    /// It would be gone.
    Removed,
}

/// What the diffs of one plan may still show.
#[derive(Debug)]
pub(crate) struct Budget {
    lines: usize,
    bytes: usize,
}

impl Budget {
    /// For one plan.
    pub(crate) fn new() -> Self {
        Self { lines: SHOWN_LINES, bytes: SHOWN_BYTES }
    }

    /// Takes a line of it; `None` when that is too much.
    fn take(&mut self, bytes: usize) -> Option<()> {
        self.lines = self.lines.checked_sub(1)?;
        self.bytes = self.bytes.checked_sub(bytes)?;
        Some(())
    }

    /// Leaves nothing: what would come after something that did not fit is not shown either.
    fn spend(&mut self) {
        *self = Self { lines: 0, bytes: 0 };
    }
}

impl Diff {
    /// Between what is there and what would be. Bounded in time and size, whatever the texts are.
    pub(crate) fn between(before: &[u8], after: &str, budget: &mut Budget) -> Self {
        let text = std::str::from_utf8(before).ok();
        let shown = text.unwrap_or_default();
        let mut diff = Self {
            hunks: Vec::new(),
            binary: text.is_none(),
            line_endings: Sides { before: LineEndings::of(shown), after: LineEndings::of(after) },
            unended: Sides { before: unended(shown), after: unended(after) },
            complete: true,
        };
        diff.complete = diff.fill(shown, after, budget).is_some()
            && diff.applied_to(shown).is_some_and(|result| result == after);
        if !diff.complete {
            budget.spend();
        }
        diff
    }

    /// Between two texts. Bounded in time and size, whatever they are.
    pub fn of_texts(before: &str, after: &str) -> Self {
        Self::between(before.as_bytes(), after, &mut Budget::new())
    }

    /// Between two files of the same bytes, of which no line needs to be shown.
    pub(crate) fn none(bytes: &[u8]) -> Self {
        let text = std::str::from_utf8(bytes).ok();
        let (endings, open) =
            text.map_or((LineEndings::None, false), |text| (LineEndings::of(text), unended(text)));
        Self {
            hunks: Vec::new(),
            binary: text.is_none(),
            line_endings: Sides { before: endings, after: endings },
            unended: Sides { before: open, after: open },
            complete: true,
        }
    }

    /// Whether every line that differs is in it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// How the lines end now and would end, where that differs.
    pub fn line_endings_change(&self) -> Option<Sides<LineEndings>> {
        let Sides { before, after } = self.line_endings;
        (before != after && ![before, after].contains(&LineEndings::None)).then_some(self.line_endings)
    }

    /// How many lines are added and removed, of those that are shown.
    pub fn counts(&self) -> (usize, usize) {
        let count =
            |kind| self.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == kind).count();
        (count(LineKind::Added), count(LineKind::Removed))
    }

    /// What a text becomes by the hunks that are shown; `None` when they do not fit it.
    pub fn applied_to(&self, before: &str) -> Option<String> {
        let mut rest = lines(before);
        let mut number = 1;
        let mut result = String::new();
        for hunk in &self.hunks {
            while number < hunk.before.first {
                push(&mut result, rest.next()?);
                number += 1;
            }
            for line in &hunk.lines {
                let shown = Line { text: &line.text, ending: line.ending };
                if line.kind != LineKind::Added {
                    number += 1;
                    if rest.next()? != shown {
                        return None;
                    }
                }
                if line.kind != LineKind::Removed {
                    push(&mut result, shown);
                }
            }
        }
        rest.for_each(|line| push(&mut result, line));
        Some(result)
    }

    /// Adds the hunks; `None` when not all could be.
    fn fill(&mut self, before: &str, after: &str, budget: &mut Budget) -> Option<()> {
        let (start, end) = common(before, after);
        let (old, new) = (before.get(start..before.len() - end)?, after.get(start..after.len() - end)?);
        if old.is_empty() && new.is_empty() {
            return Some(());
        }
        // Lines around the part that differs belong to what is shown.
        let lead: usize = lines(before.get(..start)?).rev().take(CONTEXT_LINES).map(Line::bytes).sum();
        let tail_text = before.get(before.len() - end..)?;
        let tail: usize = lines(tail_text).take(CONTEXT_LINES).map(Line::bytes).sum();
        let part = |text: &'_ str| start - lead..text.len() - end + tail;
        let (old, new) = (before.get(part(before))?, after.get(part(after))?);
        let count = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
        if count(old).max(count(new)) >= COMPARED_LINES {
            return None;
        }
        let skipped = count(before.get(..start - lead)?);
        let old: Vec<Line<'_>> = lines(old).collect();
        let new: Vec<Line<'_>> = lines(new).collect();
        for group in group_diff_ops(compare(&old, &new), CONTEXT_LINES) {
            self.hunks.push(Hunk::start(&group, skipped)?);
            let hunk = self.hunks.last_mut()?;
            for op in group {
                hunk.extend(op, (&old, &new), skipped, budget)?;
            }
        }
        Some(())
    }
}

impl Hunk {
    fn start(group: &[DiffOp], skipped: usize) -> Option<Self> {
        let (first, last) = (group.first()?, group.last()?);
        let span = |first: Range<usize>, last: Range<usize>| Span {
            first: skipped + first.start + 1,
            count: last.end - first.start,
        };
        Some(Self {
            before: span(first.old_range(), last.old_range()),
            after: span(first.new_range(), last.new_range()),
            lines: Vec::new(),
        })
    }

    fn extend(
        &mut self,
        op: DiffOp,
        (old, new): (&[Line<'_>], &[Line<'_>]),
        skipped: usize,
        budget: &mut Budget,
    ) -> Option<()> {
        let number = |index: usize| Some(skipped + index + 1);
        let (from, to) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            for (before, after) in from.zip(to) {
                self.push(LineKind::Context, [number(before), number(after)], *old.get(before)?, budget)?;
            }
            return Some(());
        }
        for before in from {
            self.push(LineKind::Removed, [number(before), None], *old.get(before)?, budget)?;
        }
        for after in to {
            self.push(LineKind::Added, [None, number(after)], *new.get(after)?, budget)?;
        }
        Some(())
    }

    fn push(
        &mut self,
        kind: LineKind,
        [before, after]: [Option<usize>; 2],
        line: Line<'_>,
        budget: &mut Budget,
    ) -> Option<()> {
        budget.take(line.bytes())?;
        self.lines.push(DiffLine { kind, before, after, text: line.text.to_owned(), ending: line.ending });
        Some(())
    }
}

/// Bytes that both begin with, whole lines, and bytes that both end with behind those, whole lines too.
fn common(before: &str, after: &str) -> (usize, usize) {
    let (old, new) = (before.as_bytes(), after.as_bytes());
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let start = match (same == old.len(), same == new.len()) {
        (true, true) => return (same, 0),
        _ => {
            old.get(..same).unwrap_or_default().iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
        }
    };
    let (old, new) = (old.get(start..).unwrap_or_default(), new.get(start..).unwrap_or_default());
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    // A line that only ends the same is not the same line.
    let shared = old.get(old.len() - same..).unwrap_or_default();
    let end = shared.iter().position(|byte| *byte == b'\n').map_or(0, |at| same - at - 1);
    (start, end)
}

/// The steps from one list of lines to the other. Lines are compared as numbers, so that long
/// ones cost nothing.
fn compare<'a>(old: &[Line<'a>], new: &[Line<'a>]) -> Vec<DiffOp> {
    let mut known = HashMap::new();
    let mut number = |line| {
        let next = known.len();
        *known.entry(line).or_insert(next)
    };
    let old: Vec<usize> = old.iter().copied().map(&mut number).collect();
    let new: Vec<usize> = new.iter().copied().map(&mut number).collect();
    capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(Instant::now() + COMPARE_TIME))
}

fn unended(text: &str) -> bool {
    !text.is_empty() && !text.ends_with('\n')
}

fn push(text: &mut String, line: Line<'_>) {
    text.push_str(line.text);
    text.push_str(line.ending.as_str());
}

/// Lines that the diffs of one plan show together: more is not read by anybody.
pub(crate) const SHOWN_LINES: usize = 4_096;

/// Bytes that the diffs of one plan show together, like the longest command that may be allowed.
pub(crate) const SHOWN_BYTES: usize = 262_144;

/// Lines between the first and the last change, on either side, that are compared at all: more changes than
/// can be shown fit into far fewer.
pub(crate) const COMPARED_LINES: usize = 50_000;

/// Time for comparing one file. When it is over the rest is taken as replaced, which is
/// longer and still true.
pub(crate) const COMPARE_TIME: Duration = Duration::from_millis(200);

/// Lines around a change that are shown too, as `diff -u` does.
pub(crate) const CONTEXT_LINES: usize = 3;

#[cfg(test)]
mod tests;
