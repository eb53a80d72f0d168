//! Measures the release build: what a person waits for, what a run costs on top, what it takes to
//! be there all day.
//!
//! Prints a table and, with `--json`, the same figures as JSON. Nothing here is a test: figures
//! are read by people.

mod boxed;
mod boxes;
mod exec;
mod figures;
mod gateway;
mod hook;
mod inbox;
mod load;
mod memory;
mod node;
mod policy;
mod prompt;
mod screen;
mod start;
mod tools;
mod weston;

use anyhow::{Context, Result};
use clap::Parser;
use figures::{Figure, table};
use policy::{Peers, Release};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Measure Countersign.
#[derive(Debug, Parser)]
struct Args {
    /// Also write the figures to this file.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Only this series.
    #[arg(long, value_enum)]
    only: Option<Series>,
    /// Prompts per series.
    #[arg(long, default_value_t = 20)]
    prompts: usize,
    /// Runs per series of the exec path.
    #[arg(long, default_value_t = 300)]
    runs: usize,
    /// Node for published releases of OpenClaw.
    #[arg(long)]
    node: Option<PathBuf>,
    /// A published release to compare decisions with, as VERSION=FOLDER of its npm package; can be
    /// given more than once.
    #[arg(long, requires = "node")]
    release: Vec<Release>,
    /// Also measure memory this many minutes after a prompt was closed; its window is given up after 9.
    #[arg(long)]
    idle_minutes: Option<u64>,
    /// Only this part of the series `load`.
    #[arg(long, value_enum)]
    part: Option<load::Part>,
    /// Seconds for which the series `load` has requests come at each pace.
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Minutes that the day of the series `soak` takes.
    #[arg(long, default_value_t = 30)]
    minutes: u64,
    /// Whose sessions and pauses that day has: a file with one JSON object a line, each with its `session`
    /// and, where it is known, its time `atMs`. Its commands are not read.
    #[arg(long)]
    stream: Option<PathBuf>,
}

/// What can be measured alone.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Series {
    /// Only when it is asked for: it starts every release.
    Gateway,
    /// The same.
    Node,
    /// Only when it is asked for: it takes many minutes.
    Load,
    /// The same.
    Soak,
    Policy,
    Start,
    Exec,
    /// Runs in boxes, by the number that `--runs` says.
    Box,
    /// Only when it is asked for: 200 boxes at once, and as many one after the other as `--runs` says, and
    /// what is left of them.
    Boxes,
    Hook,
    Tools,
    Prompt,
    Memory,
    Inbox,
    /// Prompts and memory on Wayland.
    Weston,
}

/// What was measured.
#[derive(Serialize)]
struct Report {
    figures: Vec<Figure>,
    policy: Vec<policy::Row>,
    gateways: Vec<gateway::Row>,
    curves: Vec<load::Curve>,
    soak: Vec<load::soak::Check>,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut stdout = std::io::stdout().lock();
    let wanted = |series: Series| args.only.is_none_or(|only| only == series);
    let mut figures: Vec<Figure> = Vec::new();
    let (mut decisions, mut gateways) = (Vec::new(), Vec::new());
    let (mut curves, mut soak) = (Vec::new(), Vec::new());
    let peers = Peers { node: args.node, releases: args.release };
    if args.only == Some(Series::Gateway) {
        gateways = gateway::measure(&peers)?;
        stdout.write_all(gateway::table(&gateways).as_bytes())?;
    }
    if args.only == Some(Series::Node) {
        figures.extend(node::measure(args.runs, &peers)?);
    }
    if args.only == Some(Series::Boxes) {
        figures.extend(boxes::measure(args.runs)?);
    }
    if args.only == Some(Series::Load) {
        curves = load::measure(args.part, Duration::from_secs(args.seconds))?;
        stdout.write_all(load::table(&curves).as_bytes())?;
    }
    if args.only == Some(Series::Soak) {
        soak = load::soak::run(Duration::from_secs(args.minutes * 60), args.stream.as_deref())?;
        stdout.write_all(load::soak::table(&soak).as_bytes())?;
    }
    if wanted(Series::Policy) {
        say("policy decisions")?;
        let (rows, notes) = policy::measure(&peers)?;
        stdout.write_all(policy::table(&rows).as_bytes())?;
        notes.iter().try_for_each(|note| writeln!(stdout, "{note}"))?;
        writeln!(stdout)?;
        decisions = rows;
        figures.extend(policy::host()?);
    }
    if wanted(Series::Start) {
        say("starts")?;
        figures.extend(start::measure(STARTS)?);
    }
    if wanted(Series::Exec) {
        say("exec path")?;
        figures.extend(exec::measure(args.runs)?);
    }
    if wanted(Series::Box) {
        say("boxes")?;
        figures.extend(boxed::measure(args.runs)?);
    }
    if wanted(Series::Hook) {
        say("the hook")?;
        figures.extend(hook::measure(args.runs)?);
    }
    if wanted(Series::Tools) {
        say("tools")?;
        figures.extend(tools::measure(args.runs)?);
    }
    if wanted(Series::Prompt) {
        say("prompts")?;
        figures.extend(prompt::measure(args.prompts)?);
    }
    if wanted(Series::Memory) {
        say("memory")?;
        figures.extend(memory::measure(args.idle_minutes.map(|minutes| Duration::from_secs(minutes * 60)))?);
    }
    if wanted(Series::Inbox) {
        say("a full inbox")?;
        figures.extend(inbox::measure()?);
    }
    if wanted(Series::Weston) {
        say("prompts on Weston")?;
        figures.extend(weston::measure(args.prompts)?);
    }
    if !figures.is_empty() {
        stdout.write_all(table(&figures).as_bytes())?;
    }
    // Figures are kept, whatever is thought of them.
    let judged = load::soak::judge(&soak);
    if let Some(path) = args.json {
        let report = Report { figures, policy: decisions, gateways, curves, soak };
        let json = serde_json::to_vec_pretty(&report)?;
        std::fs::write(&path, json).with_context(|| format!("cannot write {}", path.display()))?;
    }
    judged
}

/// Progress: a series takes up to a minute.
fn say(what: &str) -> Result<()> {
    Ok(writeln!(std::io::stderr(), "measuring {what} …")?)
}

/// Starts of the app: each takes a second.
const STARTS: usize = 12;
