//! Does work get done in a box? This has the real app open a folder for each of the tasks in `tasks/`, runs
//! them there with `countersign exec --box`, real programs and the registries, and looks at what came of it.
//!
//! ```sh
//! cargo run -p countersign-tests --features boxed-tasks --bin boxed-tasks -- --only cargo
//! ```
//!
//! A task is data: what it needs, what is there before, the command's text, and what has to hold afterwards
//! (`task.rs` says how it is written). Nobody answers anything: rules that are there before the app starts
//! allow what a task says that it reaches, and a question fails the task. Programs that are not there are
//! installed below `~/.cache/countersign-interop`, or the folder that `COUNTERSIGN_INTEROP` names, and with
//! `apt-get` where root runs this. The desktop app has to be built before.
//!
//! Start it as root, or have that folder outside of `/home`: a box shows no home but that of its own person,
//! and here that is one in this folder.

mod course;
mod place;
mod report;
mod task;
mod tools;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use place::Place;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use tools::Tools;

/// Run everyday tasks in a box, and see that they get done.
#[derive(Debug, Parser)]
struct Args {
    /// Only tasks whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Only say what there is.
    #[arg(long)]
    list: bool,
    /// Write what came of each to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write the table of all tasks, `docs/box-tasks.md`, into this folder.
    #[arg(long, conflicts_with = "only")]
    write_docs: Option<PathBuf>,
    /// Leave the home with everything in it, and say where.
    #[arg(long)]
    keep: bool,
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    let mut tasks = task::all()?;
    tasks.retain(|task| args.only.as_ref().is_none_or(|only| task.name.contains(only)));
    ensure!(!tasks.is_empty(), "no task is named so; --list names all");
    let mut out = std::io::stdout().lock();
    if args.list {
        for task in &tasks {
            writeln!(out, "{:<28} {}", task.name, task.about)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let tools = Tools::ready(&tasks, &mut out)?;
    let place = Place::start(&tools, &tasks)?;
    let mut outcomes = Vec::new();
    for task in &tasks {
        let outcome = course::run(task, &tools, &place)?;
        report::told(&mut out, &outcome)?;
        outcomes.push(outcome);
        // Each time, so that a run that is ended has told what it saw.
        if let Some(file) = &args.json {
            std::fs::write(file, serde_json::to_vec_pretty(&outcomes)?)?;
        }
    }
    if args.keep {
        writeln!(out, "everything is in {}", place.keep()?.display())?;
    }
    if let Some(folder) = &args.write_docs {
        let file = folder.join("box-tasks.md");
        std::fs::write(&file, report::document(&tasks, &outcomes))
            .with_context(|| file.display().to_string())?;
    }
    Ok(if report::sum(&mut out, &outcomes)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
