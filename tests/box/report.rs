//! What came of the tasks, for people.

use crate::course::{End, Outcome};
use crate::task::Task;
use anyhow::Result;
use std::fmt::Write as _;
use std::io::Write;

/// Tells what came of one task as soon as it is over.
pub(crate) fn told(out: &mut impl Write, outcome: &Outcome) -> Result<()> {
    let Outcome { name, end, took_ms, .. } = outcome;
    match end {
        End::Passed => writeln!(out, "passed {name:<28} {took_ms:>6} ms")?,
        End::Absent { program } => writeln!(out, "absent {name:<28} {program}")?,
        End::Failed { why, printed } => {
            writeln!(out, "FAILED {name:<28} {took_ms:>6} ms  {why}")?;
            for line in printed.lines() {
                writeln!(out, "       | {line}")?;
            }
        }
    }
    Ok(out.flush()?)
}

/// Counts. Whether enough passed.
pub(crate) fn sum(out: &mut impl Write, outcomes: &[Outcome]) -> Result<bool> {
    let Counts { passed, failed, absent } = Counts::of(outcomes);
    writeln!(out, "\n{} tasks: {passed} passed, {failed} failed, {absent} absent", outcomes.len())?;
    for Outcome { name, end, .. } in outcomes {
        if let End::Failed { why, .. } = end {
            writeln!(out, "  {name}: {why}")?;
        }
    }
    Ok(passed * 100 >= (passed + failed) * ENOUGH_PERCENT)
}

/// The document about what gets done in a box.
pub(crate) fn document(tasks: &[Task], outcomes: &[Outcome]) -> String {
    let Counts { passed, failed, absent } = Counts::of(outcomes);
    let mut text = BEFORE.to_owned();
    for of_kind in tasks.chunk_by(|one, other| one.kind == other.kind) {
        let Some(first) = of_kind.first() else { continue };
        let _ =
            writeln!(text, "\n## {}\n\n| task | what it does | reaches | |\n|---|---|---|---|", first.kind);
        for task in of_kind {
            let came = outcomes.iter().find(|outcome| outcome.name == task.name).map(|outcome| &outcome.end);
            let came = match came {
                Some(End::Passed) => "passed".to_owned(),
                Some(End::Failed { why, .. }) => format!("failed: {}", cell(why)),
                Some(End::Absent { program }) => format!("absent: {program}"),
                None => continue,
            };
            let reaches = task.reaches.iter().map(|reach| reach.destination.to_string());
            let reaches: Vec<String> = task.groups.iter().cloned().chain(reaches).collect();
            let (name, about, reaches) = (&task.name, cell(&task.about), reaches.join(", "));
            let _ = writeln!(text, "| `{name}` | {about} | {reaches} | {came} |");
        }
    }
    let _ = writeln!(text, "\n{} tasks: {passed} passed, {failed} failed, {absent} absent.", outcomes.len());
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

struct Counts {
    passed: usize,
    failed: usize,
    absent: usize,
}

impl Counts {
    fn of(outcomes: &[Outcome]) -> Self {
        let count = |wanted: fn(&End) -> bool| outcomes.iter().filter(|outcome| wanted(&outcome.end)).count();
        Self {
            passed: count(|end| matches!(end, End::Passed)),
            failed: count(|end| matches!(end, End::Failed { .. })),
            absent: count(|end| matches!(end, End::Absent { .. })),
        }
    }
}

/// Share of the tasks that were tried which has to pass, in percent: 76 of 80.
const ENOUGH_PERCENT: usize = 95;

const BEFORE: &str = "# Everyday tasks in a box

Written by `cargo run -p countersign-tests --features boxed-tasks --bin boxed-tasks -- --write-docs docs`; do not edit.

What agents do every day, run with `countersign exec --box` under the real app, with real programs. Each task has a folder of its
own, which is open. Beyond that it reaches only what its row says, by rules: registries by their group's name in [the box](box.md),
and what else it names. A question that somebody would have had to answer fails the task. The tasks are in `tests/box/tasks`.
";
