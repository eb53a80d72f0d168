//! What came of the steps: a line for each, the slowest tests, and what a failed step said.

use super::watch::said;
use anyhow::Result;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// What came of one step.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) elapsed: Duration,
    /// Percent of the processors' time that was work; the rest was waiting.
    pub(super) busy: Option<u64>,
    /// Tests that passed.
    pub(super) tests: usize,
    pub(super) outcome: Result<()>,
    /// Its slowest tests.
    pub(super) slow: Vec<Slow>,
}

/// A test and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slow {
    pub(super) name: String,
    pub(super) seconds: f64,
}

impl Row {
    /// Reads what the log of a step says of its tests.
    pub(super) fn read(
        name: &str,
        log: &Path,
        elapsed: Duration,
        busy: Option<u64>,
        outcome: Result<()>,
    ) -> Self {
        let text = said(log);
        Self {
            name: name.to_owned(),
            elapsed,
            busy,
            tests: text.lines().filter_map(passed_in_line).sum(),
            outcome,
            slow: slowest(times(&text)),
        }
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "step": self.name,
            "seconds": (self.elapsed.as_secs_f64() * 10.0).round() / 10.0,
            "busyPercent": self.busy,
            "tests": self.tests,
            "passed": self.outcome.is_ok(),
        })
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let word = if self.outcome.is_ok() { "passed" } else { "FAILED" };
        write!(out, "{word}  {:>7.1} s", self.elapsed.as_secs_f64())?;
        match self.busy {
            Some(busy) => write!(out, "  {busy:>3} % busy")?,
            None => write!(out, "            ")?,
        }
        if self.tests > 0 {
            write!(out, "  {:>5} tests", self.tests)?;
        }
        Ok(())
    }
}

/// Prints the table, the slowest tests, and a last line that counts the steps.
pub(super) fn print_summary(rows: &[Row], planned: usize, elapsed: Duration) {
    println!("\nSteps");
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
    for row in rows {
        println!("  {:<width$}  {row}", row.name);
    }
    if rows.len() < planned {
        println!("  {} more steps did not run", planned - rows.len());
    }
    let slow = slowest(rows.iter().flat_map(|row| row.slow.iter().cloned()).collect());
    if !slow.is_empty() {
        println!("\nSlowest tests");
    }
    for Slow { name, seconds } in slow {
        println!("  {seconds:>7.1} s  {name}");
    }
    let failed = rows.iter().filter(|row| row.outcome.is_err()).count();
    let tests: usize = rows.iter().map(|row| row.tests).sum();
    println!("\n{} s, {tests} tests", elapsed.as_secs());
    println!("{} passed, {failed} failed", rows.len() - failed);
}

/// The same as figures, for whoever compares runs.
pub(super) fn write_json(file: &Path, rows: &[Row], elapsed: Duration) -> Result<()> {
    let steps: Vec<_> = rows.iter().map(Row::json).collect();
    let slow: Vec<_> = slowest(rows.iter().flat_map(|row| row.slow.iter().cloned()).collect())
        .into_iter()
        .map(|Slow { name, seconds }| json!({ "test": name, "seconds": seconds }))
        .collect();
    let told = json!({ "seconds": elapsed.as_secs(), "steps": steps, "slowest": slow });
    fs::write(file, format!("{told:#}\n"))?;
    Ok(())
}

fn slowest(mut all: Vec<Slow>) -> Vec<Slow> {
    all.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    all.truncate(SLOWEST);
    all
}

/// Prints what a failed step said: first what failed, because whoever keeps this output may cut it.
pub(super) fn print_failure(log: &Path, error: &anyhow::Error) {
    let text = said(log);
    let lines: Vec<&str> = text.lines().collect();
    for line in failures(&lines) {
        println!("        ! {line}");
    }
    for line in &lines[lines.len().saturating_sub(TAIL_LINES)..] {
        println!("        | {line}");
    }
    println!("        {error:#}");
    if log.exists() {
        println!("        all of its output: {}", log.display());
    }
}

/// What a step's output says failed, as rustc, cargo's, vitest's and Node's test runners put it.
fn failures<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut message = 0;
    for line in lines {
        let text = line.trim_start();
        let failed = text.contains("... FAILED")
            || ["error:", "Error: ", "error[", "not ok ", "✖ ", "FAIL ", "failed: "]
                .iter()
                .any(|word| text.starts_with(word));
        let panicked = text.starts_with("thread '") && text.contains(" panicked at ");
        if panicked {
            message = PANIC_LINES;
        }
        if failed || message > 0 {
            found.push(*line);
            message = usize::saturating_sub(message, 1);
        }
        if found.len() == FAILURE_LINES {
            break;
        }
    }
    found
}

/// How many tests a log says have passed.
pub(super) fn tests_in(log: &Path) -> usize {
    said(log).lines().filter_map(passed_in_line).sum()
}

/// How many tests a line says have passed, as cargo, vitest, Node's test runner and the socket client put it.
fn passed_in_line(line: &str) -> Option<usize> {
    let line = line.trim();
    if let Some(count) = line.strip_prefix("# pass ").or_else(|| line.strip_prefix("ℹ pass ")) {
        return count.parse().ok();
    }
    if let Some((count, failed)) = line.split_once(" passed, ") {
        return failed.ends_with(" failed").then(|| count.parse().ok()).flatten();
    }
    let counted = line.strip_prefix("test result: ok. ").or_else(|| line.strip_prefix("Tests "))?;
    let (count, _) = counted.split_once(" passed")?;
    count.split_whitespace().last()?.parse().ok()
}

/// Tests and their times, as the harness of Rust and Node's test runner put them.
pub(super) fn times(text: &str) -> Vec<Slow> {
    let mut found = Vec::new();
    // The runner says the time of a test on a line below its name.
    let mut named = None;
    for line in text.lines().map(str::trim) {
        if let Some(test) = line.strip_prefix("ok ").or_else(|| line.strip_prefix("not ok ")) {
            named = test.split_once(" - ").map(|(_, name)| name);
        } else if let Some(time) = line.strip_prefix("duration_ms: ") {
            let seconds = time.parse::<f64>().ok().map(|milliseconds| milliseconds / 1_000.0);
            let slow = named.take().zip(seconds);
            found.extend(slow.map(|(name, seconds)| Slow { name: name.to_owned(), seconds }));
        } else {
            found.extend(time_in_line(line));
        }
    }
    found
}

/// A test and its time in one line of Rust's harness.
fn time_in_line(line: &str) -> Option<Slow> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let seconds = outcome.split_once('<')?.1.strip_suffix("s>")?.parse().ok()?;
    Some(Slow { name: name.to_owned(), seconds })
}

/// So many of the slowest tests are named.
const SLOWEST: usize = 20;

/// Lines of a failed step's output that are repeated: a compiler error or a test's report with its context.
const TAIL_LINES: usize = 120;

/// Lines that are repeated because they tell of a failure: enough to know what to look at.
const FAILURE_LINES: usize = 40;

/// A panic's place, and the values that an assertion compared.
const PANIC_LINES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted_from_the_lines_of_each_runner() {
        let check = |line, expected| assert_eq!(passed_in_line(line), expected, "{line}");
        check("test result: ok. 12 passed; 0 failed; 0 ignored", Some(12));
        check("      Tests  45 passed (45)", Some(45));
        check(" Test Files  6 passed (6)", None);
        check("# pass 17", Some(17));
        check("ℹ pass 17", Some(17));
        check("83 passed, 0 failed", Some(83));
        check("Compiling passed (thing)", None);
    }

    #[test]
    fn tests_are_counted_in_colours_too() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        fs::write(
            &log,
            "\u{1b}[2m      Tests \u{1b}[22m \u{1b}[1m\u{1b}[32m233 passed\u{1b}[39m\u{1b}[22m (233)\n",
        )
        .unwrap();
        let row = Row::read("UI unit tests", &log, Duration::ZERO, None, Ok(()));
        assert_eq!((row.tests, tests_in(&log)), (233, 233));
    }

    #[test]
    fn the_time_of_a_test_is_read_from_the_lines_of_each_runner() {
        let check = |text, expected: &[(&str, f64)]| {
            let told = |(name, seconds): &(&str, f64)| Slow { name: (*name).to_owned(), seconds: *seconds };
            assert_eq!(times(text), expected.iter().map(told).collect::<Vec<_>>(), "{text}");
        };
        check("test a::b ... ok <1.250s>\ntest a::c ... ok", &[("a::b", 1.25)]);
        check("test a::b ... FAILED <0.001s>\ntest result: ok. 12 passed", &[("a::b", 0.001)]);
        check("ok 1 - opens - it\n  ---\n  duration_ms: 1500\n  ...", &[("opens - it", 1.5)]);
        check(
            "not ok 2 - opens\n  ---\n  duration_ms: 250.5\n1..2\n# duration_ms 9000",
            &[("opens", 0.2505)],
        );
    }

    #[test]
    fn the_slowest_tests_come_first_and_only_some_are_named() {
        let all = (0..30).map(|at| Slow { name: format!("t{at}"), seconds: f64::from(at) }).collect();
        let slow = slowest(all);
        assert_eq!((slow.len(), slow[0].name.as_str(), slow[19].name.as_str()), (20, "t29", "t10"));
    }

    #[test]
    fn what_failed_is_found_between_other_lines() {
        let lines = [
            "test a::b ... ok",
            "test a::c ... FAILED <0.1s>",
            "thread 'a::c' (7) panicked at src/a.rs:1:2:",
            "not equal",
            "  left: 1",
            " right: 2",
            "stack backtrace:",
            "not ok 3 - opens the page",
            "Error: did not happen within 30000 ms: the prompt shows",
            "the page says: blank",
        ];
        assert_eq!(failures(&lines), [&lines[1..6], &lines[7..9]].concat());
    }
}
