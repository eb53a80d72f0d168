//! What breaks, and what holds then. This starts the real app, this machine's runner, a gateway, and agents
//! of all doors, puts their requests in flight, makes one fault, and looks at the same five
//! promises after each.
//!
//! ```sh
//! cargo run -p countersign-tests --features faults --bin faults -- --only kill-app --runs 20 --seed 7
//! ```

mod course;
mod disk;
mod docs;
mod fuse;
mod making;
mod place;
mod processes;
mod promises;
#[path = "../harmless/random.rs"]
mod random;
mod report;
mod requests;
mod rig;
mod table;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use course::Measure;
use place::Place;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Break one thing at a time, and see that the promises hold.
#[derive(Debug, Parser)]
struct Args {
    /// Only faults whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// How often each is tried.
    #[arg(long, default_value_t = 1)]
    runs: u64,
    /// Where the random choices begin: the same seed makes the same.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Requests that wait when the fault comes.
    #[arg(long, default_value_t = 40)]
    requests: usize,
    /// Only some faults, each cut short: for every change.
    #[arg(long)]
    short: bool,
    /// Only say what there is.
    #[arg(long)]
    list: bool,
    /// Write what came of it to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Run nothing; take what earlier runs wrote with --json.
    #[arg(long)]
    from: Vec<PathBuf>,
    /// Write the document about what survives what into this folder.
    #[arg(long)]
    write_docs: Option<PathBuf>,
    /// The part inside the name spaces.
    #[arg(long, hide = true)]
    inside: Option<PathBuf>,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let mut faults = table::all();
    faults.retain(|fault| match &args.only {
        Some(only) => fault.name.contains(only),
        None => fault.often || !args.short,
    });
    ensure!(!faults.is_empty(), "no fault is named so; --list names all");
    let mut out = std::io::stdout().lock();
    if args.list {
        for fault in &faults {
            writeln!(out, "{}", fault.name)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if !args.from.is_empty() {
        let mut outcomes = Vec::new();
        for file in &args.from {
            let text = std::fs::read(file).with_context(|| file.display().to_string())?;
            outcomes.extend(serde_json::from_slice::<Vec<course::Outcome>>(&text)?);
        }
        return finish(&args, &mut out, &outcomes);
    }
    let Some(root) = &args.inside else { return place::isolate() };
    let place = Place::enter(root)?;
    let measure = Measure { requests: args.requests, is_short: args.short };
    let mut outcomes = Vec::new();
    for fault in &faults {
        for seed in args.seed..args.seed + args.runs {
            let outcome = course::run(fault, &place, seed, measure);
            report::told(&mut out, &outcome)?;
            outcomes.push(outcome);
            // Each time, so that a run that is ended has told what it saw.
            if let Some(file) = &args.json {
                std::fs::write(file, serde_json::to_vec_pretty(&outcomes)?)?;
            }
        }
    }
    finish(&args, &mut out, &outcomes)
}

fn finish(args: &Args, out: &mut impl Write, outcomes: &[course::Outcome]) -> Result<ExitCode> {
    let all_hold = report::table(out, outcomes)?;
    if let Some(folder) = &args.write_docs {
        let file = folder.join("faults.md");
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        let text = docs::document(&table::all(), outcomes, &before);
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
    }
    Ok(if all_hold { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
