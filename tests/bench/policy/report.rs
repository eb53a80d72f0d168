//! What was measured, as a table and as data.

use crate::figures::{at, sorted};
use serde::Serialize;
use std::fmt::Write;

/// A case and how long its decision took.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    pub(super) name: &'static str,
    pub(super) command: &'static str,
    pub(super) entries: usize,
    pub(super) target: &'static str,
    pub(super) covered: bool,
    /// The decision alone, in microseconds.
    pub(super) alone: Timing,
    /// With a look at the programs that the command names, as the releases' functions take it.
    pub(super) with_files: Timing,
    pub(super) peers: Vec<Theirs>,
}

/// A release's decision on the same case.
#[derive(Debug, Serialize)]
pub(super) struct Theirs {
    pub(super) release: String,
    pub(super) covered: bool,
    #[serde(flatten)]
    pub(super) timing: Timing,
}

/// A series of microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Timing {
    count: usize,
    median: f64,
    p99: f64,
}

impl Timing {
    pub(super) fn of(samples: Vec<f64>) -> Self {
        let samples = sorted(samples);
        Self { count: samples.len(), median: at(&samples, 0.5), p99: at(&samples, 0.99) }
    }

    fn cell(self) -> String {
        format!("{} / {}", short(self.median), short(self.p99))
    }
}

/// The rows for people: median and 99th percentile of each.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text =
        format!("{:<42}{:>16}{:>18}", "a decision (µs, median / p99)", "ours alone", "ours with files");
    for theirs in rows.first().map(|row| row.peers.as_slice()).unwrap_or_default() {
        // Writing to a string cannot fail, here and below.
        let _ = write!(text, "{:>34}", theirs.release);
    }
    text.push_str("  target alone\n");
    for row in rows {
        let _ = write!(text, "{:<42}{:>16}{:>18}", row.name, row.alone.cell(), row.with_files.cell());
        for theirs in &row.peers {
            let otherwise = if theirs.covered == row.covered { "" } else { "≠" };
            let ratio = theirs.timing.median / row.with_files.median;
            let cell = format!("{} {otherwise}{}×", theirs.timing.cell(), short(ratio));
            let _ = write!(text, "{cell:>34}");
        }
        let _ = writeln!(text, "  {}", row.target);
    }
    if rows.iter().any(|row| !row.peers.is_empty()) {
        text.push_str(LEGEND);
    }
    text
}

/// Three digits or more, as many as one looks at.
fn short(number: f64) -> String {
    match number {
        n if n < 10.0 => format!("{n:.2}"),
        n if n < 100.0 => format!("{n:.1}"),
        n => format!("{n:.0}"),
    }
}

const LEGEND: &str = "\
n× is their median over ours with files: their functions also look the programs up. ≠ means that they decide otherwise.\n";
