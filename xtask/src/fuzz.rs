//! Every parser of what others wrote, fed with inputs that libFuzzer makes of those in `tests/fuzz/corpus`.
//!
//! The targets are built by the stable compiler: libFuzzer comes with its crate, and the counters that it
//! steers by are a pass of LLVM's. No sanitizer is needed, since the product has no unsafe code; overflows
//! and assertions end a run.

use crate::process::{self, describe};
use crate::workspace::{cargo, root, target_dir, typed_here};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Options of `cargo xtask fuzz`.
#[derive(Args)]
pub(crate) struct Options {
    /// Only these targets [default: all].
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// How long each target runs [default: 60, or without end where --runs says when].
    #[arg(long)]
    seconds: Option<u64>,
    /// How many inputs each target gets.
    #[arg(long)]
    runs: Option<u64>,
    /// Put inputs that reached something new into tests/fuzz/corpus.
    #[arg(long)]
    keep: bool,
    /// Run this input alone, once, and show what it does.
    #[arg(long, conflicts_with_all = ["seconds", "runs", "keep", "json"])]
    input: Option<PathBuf>,
    /// Also write the figures to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// A target and what its inputs are bounded by.
#[derive(Clone, Copy, Debug)]
struct Target {
    name: &'static str,
    /// Longest input, in bytes: what its door takes, or where that is more than a mutation ever
    /// changes, much less.
    longest: u32,
}

/// Every target below `tests/fuzz/fuzz_targets`.
const TARGETS: [Target; 11] = [
    Target { name: "decision", longest: 4 * 1_024 },
    Target { name: "display", longest: 4 * 1_024 },
    Target { name: "document", longest: 16 * 1_024 },
    // A note about the history's chains has so much room.
    Target { name: "files", longest: 16 * 1_024 },
    // A line of the approval socket, and some more.
    Target { name: "frames", longest: 65 * 1_024 },
    Target { name: "hooks", longest: 16 * 1_024 },
    Target { name: "matching", longest: 4 * 1_024 },
    Target { name: "patch", longest: 16 * 1_024 },
    // A handshake of a gateway's client, and some more.
    Target { name: "sessions", longest: 65 * 1_024 },
    Target { name: "shell", longest: 4 * 1_024 },
    Target { name: "tool_policy", longest: 16 * 1_024 },
];

/// Build the targets, run them, print what came of it.
pub(crate) fn main(options: &Options) -> Result<()> {
    let targets = chosen(&options.targets)?;
    let programs = build()?;
    if let Some(input) = &options.input {
        let [target] = targets[..] else {
            bail!("--input: expected one target beside it, got {}", targets.len());
        };
        let memory = memory()?;
        let mut program = Command::new(programs.join(target.name));
        return process::run(program.arg(typed_here(input)).env("TMPDIR", memory.path()));
    }
    let seconds = options.seconds.or(options.runs.is_none().then_some(SECONDS));
    let limits = Limits { seconds, runs: options.runs };
    let figures = run_all(&targets, &programs, limits)?;
    if options.keep {
        for target in &targets {
            keep(target, &programs)?;
        }
    }
    print_table(&figures);
    if let Some(file) = &options.json {
        let figures: Vec<_> = figures.iter().map(Figures::json).collect();
        fs::write(typed_here(file), format!("{:#}\n", json!(figures)))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn chosen(names: &[String]) -> Result<Vec<Target>> {
    if names.is_empty() {
        return Ok(TARGETS.to_vec());
    }
    let find = |name: &String| {
        let known = || TARGETS.map(|target| target.name).join(", ");
        TARGETS
            .into_iter()
            .find(|target| target.name == name)
            .with_context(|| format!("target: expected one of {}, got {name:?}", known()))
    };
    names.iter().map(find).collect()
}

/// Builds all targets and says where they are. With `--target`, build scripts and macros are left
/// without counters.
fn build() -> Result<PathBuf> {
    let folder = target_dir().join("fuzz");
    let manifest = root().join("tests/fuzz/Cargo.toml");
    let mut build = cargo(["build", "--release", "--locked", "--bins", "--target", HOST, "--manifest-path"]);
    build.arg(manifest).arg("--target-dir").arg(&folder);
    build.env("CARGO_ENCODED_RUSTFLAGS", COUNTERS.join("\u{1f}")).env("CARGO_INCREMENTAL", "0");
    process::run(&mut build)?;
    let host = process::output_of(Command::new("rustc").args(["--print", "host-tuple"])).unwrap_or_default();
    Ok(folder.join(host.trim()).join("release"))
}

/// When a target ends by itself.
#[derive(Clone, Copy, Debug)]
struct Limits {
    seconds: Option<u64>,
    runs: Option<u64>,
}

/// What came of a target.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Figures {
    target: String,
    seconds: u64,
    inputs: u64,
    inputs_per_second: u64,
    /// Places of the code that were reached.
    edges: u64,
    /// Inputs that reached something new.
    new: u64,
    /// Most memory, in MB.
    peak_mb: u64,
}

impl Figures {
    fn json(&self) -> serde_json::Value {
        let Self { target, seconds, inputs, inputs_per_second, edges, new, peak_mb } = self;
        json!({
            "target": target, "seconds": seconds, "inputs": inputs, "inputsPerSecond": inputs_per_second,
            "edges": edges, "new": new, "peakMb": peak_mb,
        })
    }
}

/// Runs the targets, so many at a time; the first that fails ends all.
fn run_all(targets: &[Target], programs: &Path, limits: Limits) -> Result<Vec<Figures>> {
    let waiting = Mutex::new(VecDeque::from(targets.to_vec()));
    let failed = AtomicBool::new(false);
    let work = || {
        let mut done = Vec::new();
        loop {
            let next = waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).pop_front();
            let Some(target) = next.filter(|_| !failed.load(Ordering::Relaxed)) else { return Ok(done) };
            match run(target, programs, limits, &failed) {
                Ok(figures) => done.extend(figures),
                Err(error) => {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
    };
    let at_once = thread::available_parallelism().map_or(1, usize::from).min(AT_ONCE);
    let outcomes: Vec<Result<Vec<Figures>>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..at_once).map(|_| scope.spawn(work)).collect();
        let join = |worker: thread::ScopedJoinHandle<'_, _>| {
            worker.join().unwrap_or_else(|_| bail!("a worker panicked"))
        };
        workers.into_iter().map(join).collect()
    });
    let mut figures: Vec<Figures> = outcomes.into_iter().collect::<Result<Vec<_>>>()?.concat();
    figures.sort_by(|one, other| one.target.cmp(&other.target));
    Ok(figures)
}

/// Runs one target; `None` when another one failed meanwhile.
fn run(target: Target, programs: &Path, limits: Limits, failed: &AtomicBool) -> Result<Option<Figures>> {
    let places = Places::of(target)?;
    let memory = memory()?;
    let mut program = Command::new(programs.join(target.name));
    program.env("TMPDIR", memory.path());
    program.arg(&places.fresh).arg(&places.corpus);
    program.args([
        format!("-max_len={}", target.longest),
        format!("-rss_limit_mb={MOST_MB}"),
        format!("-timeout={SLOWEST_S}"),
        format!("-artifact_prefix={}/", places.failures.display()),
        "-print_final_stats=1".to_owned(),
        "-verbosity=1".to_owned(),
    ]);
    program.args(limits.seconds.map(|seconds| format!("-max_total_time={seconds}")));
    program.args(limits.runs.map(|runs| format!("-runs={runs}")));
    let log = File::create(&places.log).with_context(|| format!("cannot write {}", places.log.display()))?;
    program.stdin(std::process::Stdio::null()).stdout(log.try_clone()?).stderr(log);
    println!("{}: runs", target.name);
    let started = Instant::now();
    let child = program.spawn().with_context(|| format!("could not start `{}`", describe(&program)))?;
    let Some(status) = ended(child, failed)? else { return Ok(None) };
    let said = fs::read(&places.log)?;
    let said = String::from_utf8_lossy(&said);
    if !status.success() {
        bail!("{}", failure(target, &said));
    }
    Ok(Some(figures(target, &said, started.elapsed())))
}

/// How a program ended; `None` when it was ended because another one failed.
fn ended(mut child: Child, failed: &AtomicBool) -> Result<Option<std::process::ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if failed.load(Ordering::Relaxed) {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Where a target's inputs are.
struct Places {
    /// Committed.
    corpus: PathBuf,
    /// What reached something new, in this run.
    fresh: PathBuf,
    /// What failed.
    failures: PathBuf,
    log: PathBuf,
}

impl Places {
    /// Makes what is not there.
    fn of(target: Target) -> Result<Self> {
        let folder = target_dir().join("fuzz-runs").join(target.name);
        let places = Self {
            corpus: root().join("tests/fuzz/corpus").join(target.name),
            fresh: folder.join("new"),
            failures: folder.join("failures"),
            log: folder.join("log.txt"),
        };
        for folder in [&places.corpus, &places.fresh, &places.failures] {
            fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        }
        Ok(places)
    }
}

/// Puts what reached something new beside the committed inputs, as few and small as do.
fn keep(target: &Target, programs: &Path) -> Result<()> {
    let places = Places::of(*target)?;
    let log = File::create(places.log.with_file_name("keep.txt"))?;
    let memory = memory()?;
    let mut program = Command::new(programs.join(target.name));
    program.env("TMPDIR", memory.path());
    program.arg("-merge=1").arg(format!("-max_len={}", target.longest)).args([&places.corpus, &places.fresh]);
    process::run(program.stdout(log.try_clone()?).stderr(log))
}

/// A folder for the files that a target writes for every input: in memory, where the system has such a place.
fn memory() -> Result<tempfile::TempDir> {
    let shared = Path::new("/dev/shm");
    let parent = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    tempfile::tempdir_in(&parent).with_context(|| format!("cannot make a folder in {}", parent.display()))
}

/// What failed, with the input and how to run it again.
fn failure(target: Target, said: &str) -> String {
    let name = target.name;
    let wanted = |line: &&str| {
        line.contains(" panicked at ")
            || line.starts_with("==") && line.contains("ERROR")
            || line.starts_with("SUMMARY")
    };
    let why: Vec<&str> = said.lines().filter(wanted).collect();
    let input =
        said.lines().rev().find_map(|line| line.split_once("Test unit written to ").map(|(_, path)| path));
    match input {
        Some(input) => format!(
            "{name}: an input failed: {input}\n{}\nagain: cargo xtask fuzz {name} --input {input}",
            why.join("\n")
        ),
        None => format!("{name} ended early:\n{}", last_lines(said).join("\n")),
    }
}

fn last_lines(said: &str) -> Vec<&str> {
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec()
}

/// What libFuzzer says at its end.
fn figures(target: Target, said: &str, elapsed: Duration) -> Figures {
    let stat = |name: &str| {
        let line =
            said.lines().find_map(|line| line.strip_prefix("stat::")?.strip_prefix(name)?.strip_prefix(':'));
        line.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
    };
    let edges = said.lines().rev().find_map(|line| {
        let (_, rest) = line.split_once(" cov: ")?;
        rest.split_whitespace().next()?.parse().ok()
    });
    Figures {
        target: target.name.to_owned(),
        seconds: elapsed.as_secs(),
        inputs: stat("number_of_executed_units"),
        inputs_per_second: stat("average_exec_per_sec"),
        edges: edges.unwrap_or_default(),
        new: stat("new_units_added"),
        peak_mb: stat("peak_rss_mb"),
    }
}

fn print_table(figures: &[Figures]) {
    println!(
        "\n{:<12} {:>12} {:>9} {:>8} {:>6} {:>8}",
        "target", "inputs", "a second", "edges", "new", "memory"
    );
    for Figures { target, inputs, inputs_per_second, edges, new, peak_mb, .. } in figures {
        println!("{target:<12} {inputs:>12} {inputs_per_second:>9} {edges:>8} {new:>6} {peak_mb:>5} MB");
    }
    let inputs: u64 = figures.iter().map(|figures| figures.inputs).sum();
    println!("{} targets, {inputs} inputs, none failed", figures.len());
}

/// What counts the places of the code that an input reaches, as cargo-fuzz sets it without a sanitizer.
const COUNTERS: [&str; 7] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cforce-frame-pointers=yes",
];

/// The machine's own, whichever that is.
const HOST: &str = "host-tuple";

/// How long each target runs where nothing else is said.
const SECONDS: u64 = 60;

/// Targets at a time: each has a core, and may take [`MOST_MB`].
const AT_ONCE: usize = 2;

/// Memory of a target, in MB: several hundred times its longest input. What asks for more holds
/// more than it should.
const MOST_MB: u32 = 1_024;

/// Seconds that an input may take: thousands of times the usual, on a machine that has much else to do.
const SLOWEST_S: u32 = 25;

/// How soon the end of a target is noticed.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Lines that are repeated of a target that ended without an input.
const TAIL_LINES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_target_is_there_and_has_inputs() {
        let folder = root().join("tests/fuzz");
        let names = |path: PathBuf| -> BTreeSet<String> {
            let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
            entries.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
        };
        let listed: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
        assert_eq!(names(folder.join("fuzz_targets")), listed);
        assert_eq!(names(folder.join("corpus")), listed);
        for name in &listed {
            assert!(
                fs::read_dir(folder.join("corpus").join(name)).unwrap().next().is_some(),
                "{name} has no inputs"
            );
        }
    }

    #[test]
    fn an_unknown_target_is_told_with_those_that_are_known() {
        assert_eq!(chosen(&[]).unwrap().len(), TARGETS.len());
        assert_eq!(chosen(&["shell".to_owned()]).unwrap()[0].name, "shell");
        let error = chosen(&["shel".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("decision, display") && error.ends_with("got \"shel\""), "{error}");
    }

    #[test]
    fn figures_are_read_from_what_libfuzzer_says() {
        let said = "#2\tINITED cov: 90 ft: 91 corp: 1/1b exec/s: 0 rss: 40Mb\n\
                    #900\tNEW    cov: 1234 ft: 5000 corp: 9/80b lim: 4 exec/s: 450 rss: 41Mb L: 3/9 MS: 1 CopyPart-\n\
                    #1000\tDONE   cov: 1234 ft: 5000 corp: 9/80b lim: 4 exec/s: 500 rss: 41Mb\n\
                    stat::number_of_executed_units: 1000\n\
                    stat::average_exec_per_sec:     500\n\
                    stat::new_units_added:          8\n\
                    stat::peak_rss_mb:              41\n";
        let expected = Figures {
            target: "decision".to_owned(),
            seconds: 2,
            inputs: 1_000,
            inputs_per_second: 500,
            edges: 1_234,
            new: 8,
            peak_mb: 41,
        };
        assert_eq!(figures(TARGETS[0], said, Duration::from_secs(2)), expected);
    }

    #[test]
    fn a_failure_names_the_input_and_how_to_run_it_again() {
        let said = "thread '<unnamed>' (7) panicked at fuzz_targets/shell.rs:3:5:\nno\n==7== ERROR: libFuzzer: deadly signal\n\
                    artifact_prefix='/t/'; Test unit written to /t/crash-1\nBase64: eA==\n";
        let told = failure(TARGETS[0], said);
        assert!(told.contains("panicked at fuzz_targets/shell.rs:3:5"), "{told}");
        assert!(told.ends_with("again: cargo xtask fuzz decision --input /t/crash-1"), "{told}");
        assert!(failure(TARGETS[0], "no such file").contains("ended early"));
    }
}
