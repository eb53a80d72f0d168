//! The real app on the desktops that people use. Each is started, asked everything that is promised on every
//! one, and ended; what one cannot be asked is said with its reason.
//!
//! ```text
//! cargo xtask test --desktops
//! ```

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it tells a terminal what it does")]

mod checks;
mod endurance;
mod table;

use anyhow::{Context, Result, ensure};
use checks::{Report, Verdict};
use clap::Parser;
use countersign_tests::desktops::kind::Kind;
use countersign_tests::desktops::place;
use countersign_tests::process;
use endurance::{Counts, Endurance};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// The real app on the desktops that people use.
#[derive(Parser)]
struct Options {
    /// Only desktops of these names.
    #[arg(long = "on", value_name = "NAME")]
    on: Vec<String>,
    /// Instead of asking everything once, do one thing again and again.
    #[arg(long, value_enum)]
    endure: Option<Endurance>,
    #[command(flatten)]
    counts: Counts,
    /// Write the table with its pictures into this folder of documents.
    #[arg(long, value_name = "FOLDER")]
    write_docs: Option<PathBuf>,
    /// Where pictures are kept.
    #[arg(long, default_value = "target/desktops")]
    pictures: PathBuf,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<ExitCode> {
    be_nobody_special()?;
    fs::create_dir_all(&options.pictures)?;
    let kinds = chosen(options)?;
    for kind in &kinds {
        let missing = place::missing(*kind);
        ensure!(missing.is_empty(), "{kind} needs {}: cargo xtask setup --for desktops", missing.join(", "));
    }
    if let Some(endurance) = options.endure {
        return Ok(endure(endurance, &kinds, &options.counts));
    }
    let reports: Vec<Report> = kinds.iter().map(|kind| checks::ask(*kind, &options.pictures)).collect();
    if let Some(docs) = &options.write_docs {
        table::write(&reports, &options.pictures, docs)?;
    }
    let verdicts = || reports.iter().flat_map(|report| &report.verdicts);
    let failed = verdicts().filter(|(_, verdict)| matches!(verdict, Verdict::Broken(_))).count();
    let passed = verdicts().filter(|(_, verdict)| *verdict == Verdict::Kept).count();
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn endure(endurance: Endurance, kinds: &[Kind], counts: &Counts) -> ExitCode {
    let mut failed = 0;
    for kind in kinds {
        match endurance::endure(endurance, *kind, counts) {
            Ok(told) => println!("{kind}: {told}"),
            Err(error) => {
                failed += 1;
                println!("{kind}: FAILED: {error:#}");
            }
        }
    }
    println!("{} passed, {failed} failed", kinds.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn chosen(options: &Options) -> Result<Vec<Kind>> {
    if options.on.is_empty() {
        return Ok(Kind::ALL.to_vec());
    }
    let named = |name: &String| {
        let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        found.with_context(|| format!("no desktop is called {name:?}"))
    };
    options.on.iter().map(named).collect()
}

/// Compositors do not start for root, and people are not root: root goes on as somebody else, in a user name
/// space where its files are still its own.
fn be_nobody_special() -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let mut again = process::command("unshare");
    again.envs(std::env::vars_os());
    again.args(["--user", "--map-user=1000", "--map-group=1000", "--"]);
    Err(again.arg(std::env::current_exe()?).args(std::env::args_os().skip(1)).exec())
        .context("could not leave root")
}
