//! A figure at several amounts of work, and how it grows with them.

use serde::Serialize;
use std::borrow::Cow;
use std::fmt::Write;

/// One figure at growing amounts of work.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Curve {
    /// What was measured.
    name: Cow<'static, str>,
    /// What there is more and more of.
    work: &'static str,
    unit: &'static str,
    points: Vec<Point>,
    /// What it is meant to be, in words.
    target: &'static str,
}

#[derive(Debug, Serialize)]
struct Point {
    work: usize,
    value: f64,
    /// How many times the value a doubling of the work brought, since the point before.
    growth: Option<f64>,
}

/// All of them, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Curves {
    curves: Vec<Curve>,
}

impl Curves {
    /// The points that are to come, at this amount of work.
    pub(super) fn at(&mut self, work: &'static str, amount: usize) -> At<'_> {
        At { curves: self, work, amount }
    }

    /// All of them as data.
    pub(crate) fn into_inner(self) -> Vec<Curve> {
        self.curves
    }
}

/// Curves at one amount of work.
pub(super) struct At<'a> {
    curves: &'a mut Curves,
    work: &'static str,
    amount: usize,
}

impl At<'_> {
    /// Adds a point to the curve of this name.
    pub(super) fn add(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        unit: &'static str,
        value: f64,
        target: &'static str,
    ) {
        let name = name.into();
        let known = self.curves.curves.iter().position(|curve| curve.name == name && curve.work == self.work);
        let at = known.unwrap_or_else(|| {
            self.curves.curves.push(Curve { name, work: self.work, unit, points: Vec::new(), target });
            self.curves.curves.len() - 1
        });
        if let Some(curve) = self.curves.curves.get_mut(at) {
            let growth = curve.points.last().and_then(|before| growth(before, self.amount, value));
            curve.points.push(Point { work: self.amount, value, growth });
        }
    }
}

/// What a doubling of the work would have brought.
fn growth(before: &Point, work: usize, value: f64) -> Option<f64> {
    let doublings = (work as f64 / before.work as f64).log2();
    (doublings > 0.0 && before.value > 0.0).then(|| (value / before.value).powf(1.0 / doublings))
}

/// The curves for people. Growth beyond the bound is marked.
pub(crate) fn table(curves: &[Curve]) -> String {
    let mut text = format!("{:<62} {:>10} {:>12} {:>8}  target\n", "what", "work", "value", "growth");
    for curve in curves {
        for (at, point) in curve.points.iter().enumerate() {
            let name = if at == 0 {
                format!("{} ({}), by {}", curve.name, curve.unit, curve.work)
            } else {
                String::new()
            };
            let growth = point.growth.map_or_else(String::new, |growth| {
                format!("{growth:.2}{}", if growth > MOST_GROWTH { " !" } else { "" })
            });
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{name:<62} {:>10} {:>12.3} {growth:>8}  {}",
                point.work, point.value, curve.target
            );
        }
    }
    text.push_str("growth: what doubling the work multiplies the value by; ! is more than two.\n");
    text
}

/// Doubling the work at most doubles time and memory.
const MOST_GROWTH: f64 = 2.0;
