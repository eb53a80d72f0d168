//! The published releases' own decision functions, on the same cases and documents.

use super::machine::Machine;
use super::{Case, MISSED};
use anyhow::{Context, Result, bail};
use countersign_policy::allowlist::Entry;
use countersign_tests::process::command;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::str::FromStr;

/// Releases to compare with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peers {
    /// The program that runs them; without one there are no releases.
    pub(crate) node: Option<PathBuf>,
    pub(crate) releases: Vec<Release>,
}

/// An installed release.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pub(crate) version: String,
    /// Its npm package.
    pub(crate) package: PathBuf,
}

impl FromStr for Release {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (version, package) = text.split_once('=').context("expected VERSION=FOLDER")?;
        Ok(Self { version: version.to_owned(), package: package.into() })
    }
}

/// For each case whether the release covers it, and microseconds per decision.
pub(super) fn measure(
    peers: &Peers,
    release: &Release,
    cases: &[Case],
    machine: &Machine,
) -> Result<Vec<(bool, Vec<f64>)>> {
    let node = peers.node.as_deref().context("no Node to run it with")?;
    let mut running = command(node)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/policy/peer.mjs"))
        .env("HOME", machine.home())
        .current_dir(machine.cwd())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", node.display()))?;
    let input = input(release, cases, machine).to_string();
    running.stdin.take().context("it has no standard input")?.write_all(input.as_bytes())?;
    let output = running.wait_with_output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    // A release may print something of its own first.
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    match serde_json::from_str(last).with_context(|| format!("it ended with {}", output.status))? {
        Said::Problem { problem } => bail!(problem),
        Said::Done { cases } => Ok(cases.into_iter().map(|case| (case.covered, case.micros)).collect()),
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Problem { problem: String },
    Done { cases: Vec<Timed> },
}

#[derive(Deserialize)]
struct Timed {
    covered: bool,
    micros: Vec<f64>,
}

fn input(release: &Release, cases: &[Case], machine: &Machine) -> Value {
    let documents: Map<String, Value> = cases
        .iter()
        .map(|case| (case.entries.to_string(), machine.entries(case.entries).iter().map(stored).collect()))
        .collect();
    let smallest = cases.iter().map(|case| case.entries).min();
    json!({
        "package": release.package,
        "cwd": machine.cwd(),
        "env": { "PATH": machine.search_path().to_string_lossy(), "HOME": machine.home() },
        "documents": documents,
        "cases": cases.iter().map(|case| json!({ "command": case.command, "entries": case.entries })).collect::<Vec<_>>(),
        "covered": { "command": "git status", "entries": smallest },
        "missed": { "command": MISSED, "entries": smallest },
        "samples": SAMPLES,
        "fewest": FEWEST,
        "warmUp": WARM_UP,
        "budgetMs": BUDGET_MS,
    })
}

fn stored(rule: &Entry) -> Value {
    json!({ "id": rule.id, "pattern": rule.pattern })
}

/// Decisions per case, as far as the time allows.
const SAMPLES: usize = 5_000;

/// Decisions per case, however long they take: a median needs some.
const FEWEST: usize = 11;

/// Decisions before those that count.
const WARM_UP: usize = 500;

/// Time per case in milliseconds: with many entries a single decision takes a second.
const BUDGET_MS: u64 = 5_000;
