//! Measures attention: how often recorded agents would have interrupted a person, under which rules.
//!
//! Replays a stream of commands (one JSON object per line: `source`, `session`, `command`, `cwd`,
//! `sensitive`), never running any. Prints a table and, with `--json`, the same figures as JSON.

mod boxes;
mod files;
mod judge;
mod replay;
mod report;
mod stream;

use anyhow::{Context, Result};
use clap::Parser;
use std::io::Write;
use std::path::PathBuf;

/// Measure how often a person would be asked.
#[derive(Debug, Parser)]
struct Args {
    /// The stream, one JSON object per line.
    #[arg(long)]
    streams: PathBuf,
    /// Programs that count as installed in /usr/bin, and scripts that count as existing:
    /// `{"programs":[…],"scripts":[…]}`. Without it, `programs.json` beside the stream; without that,
    /// every bare name.
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Measure what asks when folders can be opened and what runs there runs in a box.
    #[arg(long = "box")]
    boxed: bool,
    /// Also write the figures to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let lines = stream::read(&args.streams)?;
    let machine = stream::Machine::read(args.programs.as_deref(), &args.streams)?;
    let mut files = files::Files::default();
    let judged: Vec<judge::Judged> =
        lines.iter().map(|line| judge::Judged::of(line, &machine, &mut files)).collect();
    let settings = if args.boxed { replay::BOX_SETTINGS } else { replay::SETTINGS };
    let outcomes: Vec<replay::Outcome> =
        settings.iter().map(|setting| replay::replay(*setting, &lines, &judged)).collect();
    let report = report::Report::of(&lines, &outcomes);
    std::io::stdout().lock().write_all(report.table().as_bytes())?;
    if let Some(path) = args.json {
        let json = serde_json::to_vec_pretty(&report)?;
        std::fs::write(&path, json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
