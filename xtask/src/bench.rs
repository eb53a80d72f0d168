//! Measure the release build.

use crate::session::Session;
use crate::setup::Purpose;
use crate::workspace::{Profile, cargo, typed_here};
use crate::{process, run, setup};
use anyhow::Result;
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Options of `cargo xtask bench`.
#[derive(Args)]
pub(crate) struct Options {
    /// Something else than what people wait for.
    #[command(subcommand)]
    what: Option<What>,
    /// Also write the figures to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Arguments of the bench program.
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

#[derive(Subcommand)]
enum What {
    /// Count how often recorded agents would have interrupted a person. Runs none of the recorded commands.
    Attention {
        /// The recorded commands, one JSON object per line.
        #[arg(long)]
        streams: PathBuf,
        /// Programs that count as installed; by default `programs.json` beside the stream.
        #[arg(long)]
        programs: Option<PathBuf>,
        /// Also write the figures to this file.
        #[arg(long)]
        json: Option<PathBuf>,
    },
}

/// Build both programs with optimisation, then run the bench in a private session.
pub(crate) fn main(options: &Options) -> Result<()> {
    if let Some(What::Attention { streams, programs, json }) = &options.what {
        return attention(streams, programs.as_deref(), json.as_deref());
    }
    setup::ensure(Purpose::Test)?;
    let binaries = run::build(Profile::Release)?;
    let session = Session::start()?;
    let mut bench = cargo([
        "run",
        "--release",
        "--package",
        "countersign-tests",
        "--features",
        "bench",
        "--bin",
        "bench",
        "--",
    ]);
    if let Some(file) = &options.json {
        bench.arg("--json").arg(typed_here(file));
    }
    bench.args(&options.arguments).envs(binaries.environment());
    process::run(session.enter(&mut bench))
}

/// Figures of attention are counts: they need no optimisation, no app and no session.
fn attention(streams: &Path, programs: Option<&Path>, json: Option<&Path>) -> Result<()> {
    let mut bench = cargo([
        "run",
        "--package",
        "countersign-tests",
        "--features",
        "attention",
        "--bin",
        "attention",
        "--",
        "--streams",
    ]);
    bench.arg(typed_here(streams));
    for (name, file) in [("--programs", programs), ("--json", json)] {
        if let Some(file) = file {
            bench.arg(name).arg(typed_here(file));
        }
    }
    process::run(&mut bench)
}
