//! Figures and how they are printed.

use serde::Serialize;
use std::borrow::Cow;
use std::time::Duration;

/// One measured series.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figure {
    /// What was measured.
    pub(crate) name: Cow<'static, str>,
    /// `ms`, `µs` or `MB`.
    pub(crate) unit: &'static str,
    /// How often.
    pub(crate) count: usize,
    /// Half were below.
    pub(crate) median: f64,
    /// 95 of 100 were below.
    pub(crate) p95: f64,
    /// The least.
    pub(crate) min: f64,
    /// The most.
    pub(crate) max: f64,
    /// What it is meant to be, in words.
    pub(crate) target: &'static str,
}

impl Figure {
    /// A series of samples, at least one.
    pub(crate) fn new(
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        samples: Vec<f64>,
        target: &'static str,
    ) -> Self {
        let samples = sorted(samples);
        let at = |share| at(&samples, share);
        Self {
            name: name.into(),
            unit,
            count: samples.len(),
            median: at(0.5),
            p95: at(0.95),
            min: at(0.0),
            max: at(1.0),
            target,
        }
    }

    /// A series of times, in milliseconds.
    pub(crate) fn times(
        name: impl Into<Cow<'static, str>>,
        samples: &[Duration],
        target: &'static str,
    ) -> Self {
        Self::new(name, "ms", samples.iter().map(|time| time.as_secs_f64() * 1e3).collect(), target)
    }
}

/// From the least to the most.
pub(crate) fn sorted(mut samples: Vec<f64>) -> Vec<f64> {
    samples.sort_by(f64::total_cmp);
    samples
}

/// What this share of the sorted samples does not exceed; 0.5 is the median.
pub(crate) fn at(sorted: &[f64], share: f64) -> f64 {
    let index = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(index.clamp(1, sorted.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

/// The figures for people.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut text = format!(
        "{:<52} {:>5} {:>9} {:>9} {:>9} {:>9}  {}\n",
        "what", "n", "median", "p95", "min", "max", "target"
    );
    for figure in figures {
        text.push_str(&format!(
            "{:<52} {:>5} {:>9.3} {:>9.3} {:>9.3} {:>9.3}  {}\n",
            format!("{} ({})", figure.name, figure.unit),
            figure.count,
            figure.median,
            figure.p95,
            figure.min,
            figure.max,
            figure.target
        ));
    }
    text
}
