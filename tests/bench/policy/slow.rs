//! Commands that were made to be slow (`tests/corpus/slow`), and a machine to match: many files in one
//! folder, folders a thousand deep, thousands of rules. Each is a whole decision of the host, with its
//! looks at the disk.

use super::host::host;
use super::machine::Machine;
use crate::figures::Figure;
use anyhow::{Context, Result};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Milliseconds of each class, the worst first, and of the worst of all.
pub(super) fn measure() -> Result<Vec<Figure>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut classes = runtime.block_on(decisions())?;
    classes.sort_by(|(_, one), (_, other)| worst(other).total_cmp(&worst(one)));
    let all: Vec<f64> = classes.iter().map(|(_, samples)| worst(samples)).collect();
    let figure =
        |(name, samples): (String, Vec<f64>)| Figure::new(format!("slow: {name}"), "ms", samples, "≤ 50 p99");
    let mut figures: Vec<Figure> = classes.into_iter().map(figure).collect();
    figures.push(Figure::new("worst decision of each slow class", "ms", all, "≤ 50 at most"));
    Ok(figures)
}

fn worst(samples: &[f64]) -> f64 {
    samples.iter().copied().fold(0.0, f64::max)
}

async fn decisions() -> Result<Vec<(String, Vec<f64>)>> {
    let machine = Machine::new()?;
    fill(machine.cwd())?;
    let folder = tempfile::Builder::new().prefix("countersign-bench-").tempdir()?;
    write_rules(&folder.path().join("own"))?;
    let (tracker, stop) = (TaskTracker::new(), CancellationToken::new());
    let host = host(&machine, folder.path(), ENTRIES, OsStr::new(SYSTEM), &tracker, &stop)?;
    let cwd = machine.cwd().to_string_lossy().into_owned();
    let mut classes = Vec::new();
    for (name, text) in commands()? {
        let argv = ["sh", "-c", &text].map(str::to_owned);
        let mut samples = Vec::with_capacity(SAMPLES);
        for _ in 0..SAMPLES {
            let started = Instant::now();
            host.fallback_allows(&countersign_protocol::ids::AgentId::of(None), &argv, Some(&cwd)).await;
            samples.push(started.elapsed().as_secs_f64() * 1e3);
        }
        classes.push((name, samples));
    }
    stop.cancel();
    tracker.close();
    tracker.wait().await;
    Ok(classes)
}

/// Texts made of parts that are repeated: those of the corpus, and some about what lies on this disk.
fn commands() -> Result<Vec<(String, String)>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/slow/commands.jsonl");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let mut commands = Vec::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line)?;
        let mut whole = String::new();
        for part in case["parts"].as_array().context("parts")? {
            let (unit, times) = (part[0].as_str().context("a unit")?, part[1].as_u64().context("a number")?);
            (0..times).for_each(|at| whole.push_str(&unit.replace("{i}", &at.to_string())));
        }
        commands.push((case["name"].as_str().context("a name")?.to_owned(), whole));
    }
    let deep = "a/".repeat(DEPTH);
    commands.extend([
        (
            "patterns over many files".to_owned(),
            format!("ls{}", format!(" many/*{}z", "a".repeat(100)).repeat(16)),
        ),
        ("patterns over many folders".to_owned(), format!("ls{}", " many/*/*/c*x".repeat(60))),
        ("deep folders".to_owned(), format!("cd deep/{deep}; ").repeat(20) + "ls"),
        ("deep programs".to_owned(), format!("deep/{deep}x; ").repeat(30)),
    ]);
    Ok(commands)
}

/// The ready-made rules, and thousands that refuse something else.
fn write_rules(folder: &Path) -> Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    let refusing = |at: usize| {
        json!({
            "id": format!("no-{at}"), "agent": "*", "effect": "deny", "program": if at.is_multiple_of(2) { "git" } else { "tool*" },
            "arguments": { "shape": { "subcommand": [format!("push-{at}")], "flags": "any" } }, "createdAtMs": 0, "from": "typed",
        })
    };
    let rules = json!({ "version": 1, "presets": ["everyday"], "rules": (0..RULES).map(refusing).collect::<Vec<_>>() });
    let mut file =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(folder.join("rules.json"))?;
    Ok(file.write_all(rules.to_string().as_bytes())?)
}

/// Many files and folders, and folders in each other, more than one path could name.
fn fill(folder: &Path) -> Result<()> {
    let many = folder.join("many");
    fs::create_dir(&many)?;
    for at in 0..FILES {
        fs::write(many.join(format!("{}{at}", "a".repeat(200))), "")?;
    }
    for (outer, inner) in (0..60).flat_map(|outer| (0..40).map(move |inner| (outer, inner))) {
        fs::create_dir_all(many.join(format!("{outer}/{inner}")))?;
    }
    let mode = Mode::from_raw_mode(0o755);
    fs::create_dir(folder.join("deep"))?;
    let mut here = openat(CWD, folder.join("deep"), OFlags::DIRECTORY, Mode::empty())?;
    for _ in 0..DEPTH {
        mkdirat(&here, "a", mode)?;
        here = openat(&here, "a", OFlags::DIRECTORY, Mode::empty())?;
    }
    Ok(())
}

const SAMPLES: usize = 20;
const ENTRIES: usize = 1_000;
const RULES: usize = 2_000;
const FILES: usize = 15_000;
const DEPTH: usize = 1_500;
const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin";
