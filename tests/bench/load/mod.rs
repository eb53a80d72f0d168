//! More than a day of a person's has: requests of all doors, many that wait, many gateways, long histories,
//! many rules. Each is measured at several amounts, so that what grows faster than the work is seen.

mod crowd;
mod curve;
mod doors;
mod history;
mod requests;
mod rules;
pub(crate) mod soak;
mod usage;

use anyhow::{Context, Result};
use countersign_tests::home::Home;
use countersign_tests::process::countersign;
use curve::Curves;
pub(crate) use curve::{Curve, table};
use serde_json::Value;
use std::io::Write;
use std::time::Duration;
pub(crate) use usage::Usage;

/// What can be measured alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Part {
    Requests,
    Waiting,
    Gateways,
    History,
    Rules,
}

/// Measures one part or all of them; requests come for `time` at each pace.
pub(crate) fn measure(part: Option<Part>, time: Duration) -> Result<Vec<Curve>> {
    let mut curves = Curves::default();
    let wanted = |one| part.is_none_or(|part| part == one);
    if wanted(Part::Requests) {
        say("requests of all doors")?;
        requests::measure(&mut curves, time)?;
    }
    if wanted(Part::Waiting) {
        crowd::waiting(&mut curves)?;
    }
    if wanted(Part::Gateways) {
        crowd::gateways(&mut curves)?;
    }
    if wanted(Part::History) {
        history::measure(&mut curves)?;
    }
    if wanted(Part::Rules) {
        rules::measure(&mut curves)?;
    }
    Ok(curves.into_inner())
}

/// What `countersign` says with these arguments, as JSON.
fn told(home: &Home, arguments: &[&str]) -> Result<Value> {
    let output = home.command(countersign()?).arg("--json").args(arguments).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .with_context(|| format!("expected JSON, got {text:?} {}", String::from_utf8_lossy(&output.stderr)))
}

fn say(what: &str) -> Result<()> {
    Ok(writeln!(std::io::stderr(), "measuring {what} …")?)
}
