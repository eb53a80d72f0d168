//! Every check that must hold before a change lands, and with `--all` everything that can be tried.
//!
//! [`steps`] is the one list of both. Whatever is compiled is compiled once, by [`programs`]; [`watch`] ends
//! what does not end.

mod busy;
mod programs;
mod report;
mod step;
mod steps;
mod watch;

pub(crate) use programs::of_packages;
pub(crate) use step::keeping_types;

use crate::workspace::{state_dir, typed_here};
use anyhow::{Result, anyhow};
use busy::Ticks;
use clap::Args;
use report::Row;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use step::{Step, Tier};

/// Options of `cargo xtask test`.
#[derive(Args, Default)]
pub(crate) struct Options {
    /// Everything: also what takes long, longer fuzzing, every fault, every desktop, published OpenClaw
    /// releases and agents of other vendors; what is missing for that is installed.
    #[arg(long)]
    all: bool,
    /// Only the UI: lint, types, unit tests, build, browser tests.
    #[arg(long, conflicts_with_all = ["all", "desktop"])]
    ui: bool,
    /// Only the desktop app's end-to-end tests.
    #[arg(long, conflicts_with = "all")]
    desktop: bool,
    /// Only the app on every desktop that people use, or on the one that the filter names; what is
    /// missing is installed.
    #[arg(long, conflicts_with_all = ["all", "ui", "desktop"])]
    desktops: bool,
    /// With --desktops: write what came of it to docs/desktops.md, with pictures.
    #[arg(long, requires = "desktops", conflicts_with = "filter")]
    write_docs: bool,
    /// Go on after a failure.
    #[arg(long)]
    keep_going: bool,
    /// Only say which steps the run would have.
    #[arg(long)]
    list: bool,
    /// Also write what came of the steps to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Only tests whose name contains this: neither formats nor runs the browser tests.
    filter: Option<String>,
}

/// Run the steps; the last line of output is `N passed, N failed`.
pub(crate) fn main(options: &Options) -> Result<ExitCode> {
    let mut steps = steps::select(options)?;
    if options.list {
        list(&steps);
        return Ok(ExitCode::SUCCESS);
    }
    let planned = steps.len();
    let logs = state_dir().join("logs");
    if logs.is_dir() {
        fs::remove_dir_all(&logs)?;
    }
    fs::create_dir_all(&logs)?;
    let started = Instant::now();
    let mut rows = Vec::new();
    for (index, step) in steps.iter_mut().enumerate() {
        println!("[{:>2}/{planned}] {}", index + 1, step.name);
        let log = logs.join(format!("{:02}-{}.log", index + 1, step.name.replace(' ', "-")));
        let mut row = run(step, &log);
        if row.tests == 0 && row.outcome.is_ok() && step.counts_tests() && options.filter.is_none() {
            row.outcome = Err(anyhow!("ran no test"));
        }
        println!("        {row}");
        if let Err(error) = &row.outcome {
            report::print_failure(&log, error);
        }
        let failed = row.outcome.is_err();
        rows.push(row);
        if failed && !options.keep_going {
            break;
        }
    }
    report::print_summary(&rows, planned, started.elapsed());
    if let Some(file) = &options.json {
        report::write_json(&typed_here(file), &rows, started.elapsed())?;
    }
    let failed = rows.iter().any(|row| row.outcome.is_err());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn run(step: &mut Step, log: &Path) -> Row {
    let (then, begun) = (Ticks::now(), Instant::now());
    let outcome = step.run(log);
    let elapsed = begun.elapsed();
    let busy = then.zip(Ticks::now()).map(|(then, now)| now.busy_since(then));
    Row::read(&step.name, log, elapsed, busy, outcome)
}

fn list(steps: &[Step]) {
    for step in steps {
        let tier = match step.tier {
            Tier::Every => "each change and --all",
            Tier::Change => "each change",
            Tier::All => "--all",
        };
        println!("{:<36} {tier}; ends after {} minutes", step.name, step.deadline.as_secs() / 60);
    }
}
