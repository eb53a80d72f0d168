//! Measure the release build.

use crate::session::Session;
use crate::setup::Purpose;
use crate::workspace::{Binaries, Profile, cargo, typed_here};
use crate::{interop, process, run, setup};
use anyhow::Result;
use clap::{Args, Subcommand};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    /// Time decisions alone, beside those of published OpenClaw releases as far as they are installed.
    Policy {
        /// Also write the figures to this file.
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Time approvals through gateways: ours, and those of published OpenClaw releases; those that are
    /// missing are installed.
    Gateway {
        /// Also write the figures to this file.
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Time commands that a gateway has a node run, ours beside those of published OpenClaw releases; those
    /// that are missing are installed.
    Node {
        /// Also write the figures to this file.
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Time the tool policy, calls of tools, and commands that an agent calls over MCP.
    Tools {
        /// Also write the figures to this file.
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Count how often recorded agents would have interrupted a person. Runs none of the recorded commands.
    Attention {
        /// The recorded commands, one JSON object per line.
        #[arg(long)]
        streams: PathBuf,
        /// Programs that count as installed; by default `programs.json` beside the stream.
        #[arg(long)]
        programs: Option<PathBuf>,
        /// Measure what asks when folders can be opened and what runs there runs in a box.
        #[arg(long = "box")]
        boxed: bool,
        /// Also write the figures to this file.
        #[arg(long)]
        json: Option<PathBuf>,
    },
}

/// Build both programs with optimisation, then run the bench in a private session.
pub(crate) fn main(options: &Options) -> Result<()> {
    match &options.what {
        Some(What::Attention { streams, programs, boxed, json }) => {
            let mut bench = attention(streams, programs.as_deref(), json.as_deref());
            if *boxed {
                bench.arg("--box");
            }
            return process::run(&mut bench);
        }
        Some(What::Gateway { json }) => return gateway(json.as_deref()),
        Some(What::Node { json }) => return node(json.as_deref()),
        Some(What::Policy { json }) => return policy(json.as_deref()),
        Some(What::Tools { json }) => {
            let mut bench = program(json.as_deref());
            return with_app(bench.args(["--only", "tools"]));
        }
        None => {}
    }
    let mut bench = program(options.json.as_deref());
    with_app(bench.args(&options.arguments))
}

/// In a private session, with the app and the command built with optimisation.
fn with_app(bench: &mut Command) -> Result<()> {
    setup::ensure(Purpose::Test)?;
    let binaries = run::build(Profile::Release, run::Driver::MayAct)?;
    let session = Session::start()?;
    process::run(session.enter(bench.envs(binaries.environment())))
}

/// Decisions need no app and no session. Releases that are not installed are named, and how to get them.
fn policy(json: Option<&Path>) -> Result<()> {
    let mut bench = program(json);
    bench.args(["--only", "policy"]);
    let missing = add_releases(&mut bench)?;
    process::run(&mut bench)?;
    if !missing.is_empty() {
        let missing = missing.join(" ");
        println!("\nTo compare with OpenClaw {missing}: cargo xtask interop install {missing}");
    }
    Ok(())
}

/// Ours is the release build of the command.
fn gateway(json: Option<&Path>) -> Result<()> {
    interop::ensure_compared()?;
    process::run(&mut cargo(["build", "--release", "--package", "countersign"]))?;
    let mut bench = program(json);
    bench.args(["--only", "gateway"]).envs(Binaries::locate(Profile::Release).environment());
    add_releases(&mut bench)?;
    process::run(&mut bench)
}

/// The app is the same for all of them.
fn node(json: Option<&Path>) -> Result<()> {
    interop::ensure_compared()?;
    setup::ensure(Purpose::Test)?;
    let binaries = run::build(Profile::Release, run::Driver::MayAct)?;
    let mut bench = program(json);
    bench.args(["--only", "node"]).envs(binaries.environment());
    add_releases(&mut bench)?;
    process::run(&mut bench)
}

/// Name the releases that are installed; returns those that are not.
fn add_releases(bench: &mut Command) -> Result<Vec<String>> {
    let cache = interop::Cache::locate()?;
    bench.arg("--node").arg(cache.node());
    let mut missing = Vec::new();
    for version in interop::compared()? {
        let Some(package) = cache.package(&version) else {
            missing.push(version.to_string());
            continue;
        };
        let mut release = OsString::from(format!("{version}="));
        release.push(package);
        bench.arg("--release").arg(release);
    }
    Ok(missing)
}

/// The bench program, built with optimisation.
fn program(json: Option<&Path>) -> Command {
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
    if let Some(file) = json {
        bench.arg("--json").arg(typed_here(file));
    }
    bench
}

/// Figures of attention are counts: they need no optimisation, no app and no session.
fn attention(streams: &Path, programs: Option<&Path>, json: Option<&Path>) -> Command {
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
    bench
}
