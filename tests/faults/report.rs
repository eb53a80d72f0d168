//! What came of the runs, for people.

use crate::course::Outcome;
use crate::promises::Promise;
use anyhow::Result;
use std::collections::BTreeSet;
use std::io::Write;

/// Tells what came of one run as soon as it is over.
pub(crate) fn told(out: &mut impl Write, outcome: &Outcome) -> Result<()> {
    let Outcome { fault, seed, .. } = outcome;
    for broken in &outcome.broken {
        writeln!(out, "BROKEN {fault} --seed {seed}: {}: {}", broken.promise.name(), broken.what)?;
    }
    write!(out, "{}", outcome.log)?;
    if let Some(why) = &outcome.failed {
        writeln!(out, "FAILED {fault} --seed {seed}: {why}")?;
    }
    if let Some(why) = &outcome.impossible {
        writeln!(out, "NOT TRIED {fault}: {why}")?;
    }
    Ok(out.flush()?)
}

/// The table: a row for each fault. Whether every promise held in every run that this machine can make.
pub(crate) fn table(out: &mut impl Write, outcomes: &[Outcome]) -> Result<bool> {
    let mut names: Vec<&str> = Vec::new();
    for outcome in outcomes {
        if !names.contains(&outcome.fault.as_str()) {
            names.push(&outcome.fault);
        }
    }
    writeln!(out, "\n{:<34} {:>5}  {:<24} {:>9}  doctor", "fault", "runs", "promises", "again")?;
    let mut all_hold = true;
    for name in names {
        let runs: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.fault == name).collect();
        let broken: BTreeSet<Promise> =
            runs.iter().flat_map(|run| run.broken.iter().map(|broken| broken.promise)).collect();
        let promises = if runs.iter().any(|run| run.impossible.is_some()) {
            "not possible here".to_owned()
        } else if runs.iter().any(|run| run.failed.is_some()) {
            all_hold = false;
            "harness failed".to_owned()
        } else if broken.is_empty() {
            format!("all {} hold", Promise::ALL.len())
        } else {
            all_hold = false;
            let names: Vec<&str> = broken.iter().map(|promise| promise.name()).collect();
            format!("BROKEN {}", names.join(" "))
        };
        let slowest = runs.iter().filter_map(|run| run.again_ms).max();
        let again = slowest.map_or_else(|| "-".to_owned(), |ms| format!("{ms} ms"));
        let doctor = runs.first().map_or("", |run| &run.doctor);
        writeln!(
            out,
            "{name:<34} {:>5}  {promises:<24} {again:>9}  {}",
            runs.len(),
            crate::promises::cut(doctor)
        )?;
    }
    let held = outcomes.iter().filter(|run| run.broken.is_empty() && run.failed.is_none()).count();
    let untried = outcomes.iter().filter(|run| run.impossible.is_some()).count();
    writeln!(
        out,
        "{} runs, {} with every promise held, {untried} not possible here",
        outcomes.len(),
        held - untried
    )?;
    Ok(all_hold)
}
