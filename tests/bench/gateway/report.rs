//! What was measured, as a table and as data.

use super::contender::Contender;
use super::milliseconds;
use crate::figures::{at, sorted};
use serde::Serialize;
use std::fmt::Write;

/// A gateway and its figures.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Row {
    gateway: String,
    round_trip_ms: Timing,
    request_to_event_ms: Timing,
    /// Of each round, with everything waiting at once.
    round_trips_per_second: Vec<f64>,
    events_lost: usize,
    start_to_hello_s: f64,
    rss_start_mb: f64,
    rss_end_mb: f64,
}

/// A series of milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
struct Timing {
    count: usize,
    median: f64,
    p99: f64,
}

impl Timing {
    fn of(sorted: &[f64]) -> Self {
        Self { count: sorted.len(), median: at(sorted, 0.5), p99: at(sorted, 0.99) }
    }

    fn cell(self) -> String {
        format!("{:.3} / {:.3}", self.median, self.p99)
    }
}

impl Row {
    pub(super) fn new(measured: Contender, rss_end_mb: f64) -> Self {
        Self {
            round_trip_ms: Timing::of(&milliseconds(&measured.total)),
            request_to_event_ms: Timing::of(&milliseconds(&measured.to_event)),
            round_trips_per_second: sorted(measured.per_second),
            events_lost: measured.lost,
            start_to_hello_s: measured.started_in.as_secs_f64(),
            rss_start_mb: measured.rss_at_start,
            rss_end_mb,
            gateway: measured.name,
        }
    }

    fn per_second(&self) -> f64 {
        at(&self.round_trips_per_second, 0.5)
    }
}

/// The rows for people, and ours beside the first release.
pub(crate) fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<12}{:>22}{:>22}{:>20}{:>8}{:>12}{:>20}\n",
        "gateway",
        "round trip (ms)",
        "to event (ms)",
        "200 at once (/s)",
        "lost",
        "start (s)",
        "RSS start/end (MB)"
    );
    for row in rows {
        let [least, .., most] = row.round_trips_per_second.as_slice() else { continue };
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            text,
            "{:<12}{:>22}{:>22}{:>20}{:>8}{:>12.3}{:>20}",
            row.gateway,
            row.round_trip_ms.cell(),
            row.request_to_event_ms.cell(),
            format!("{:.0} ({least:.0}–{most:.0})", row.per_second()),
            row.events_lost,
            row.start_to_hello_s,
            format!("{:.1} / {:.1}", row.rss_start_mb, row.rss_end_mb),
        );
    }
    if let [ours, first, ..] = rows {
        let _ = writeln!(
            text,
            "ours over {}: round trip {:.2} median, {:.2} p99; at once {:.2}",
            first.gateway,
            ours.round_trip_ms.median / first.round_trip_ms.median,
            ours.round_trip_ms.p99 / first.round_trip_ms.p99,
            ours.per_second() / first.per_second(),
        );
    }
    text.push_str(LEGEND);
    text
}

const LEGEND: &str = "\
Times are median / p99 of 500 requests, one after the other. The same client, in one process, asked and answered all of them.
Targets: round trip ≤ 0.9 of the first release's, median and p99; at once at least its rate; 0 lost; start ≤ 0.1 s; RSS ≤ 20 MB.
";
