//! Measure the release build.

use crate::session::Session;
use crate::setup::Purpose;
use crate::workspace::{Profile, cargo, root};
use crate::{process, run, setup};
use anyhow::Result;
use clap::Args;
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Options of `cargo xtask bench`.
#[derive(Args)]
pub(crate) struct Options {
    /// Also write the figures to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Arguments of the bench program.
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

/// Build both programs with optimisation, then run the bench in a private session.
pub(crate) fn main(options: &Options) -> Result<()> {
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
        // The bench starts at the root, the path was typed elsewhere.
        bench.arg("--json").arg(env::current_dir().unwrap_or_else(|_| root()).join(file));
    }
    bench.args(&options.arguments).envs(binaries.environment());
    process::run(session.enter(&mut bench))
}
