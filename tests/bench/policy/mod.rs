//! The decision: a command taken apart and held against a document's entries, beside the
//! published releases' own.

mod host;
mod machine;
mod peers;
mod report;
mod slow;

use crate::figures::Figure;
use anyhow::Result;
use countersign_commands::analysis::{Analysis, analyze_argv, analyze_text};
use countersign_node::facts::{gather, name_files};
use countersign_policy::allowlist::EntryIndex;
use countersign_policy::effective::{BUILT_IN, Effective, Layered};
use countersign_policy::evaluate::{LocalRules, Origin, Subject, Trust, Verdict, Walls, evaluate};
use countersign_policy::facts::Facts;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::Security;
use machine::Machine;
pub(crate) use peers::{Peers, Release};
pub(crate) use report::{Row, table};
use report::{Theirs, Timing};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

/// A command and how many entries it is held against.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    command: &'static str,
    entries: usize,
    /// Microseconds, in words.
    target: &'static str,
}

const fn case(name: &'static str, command: &'static str, entries: usize, target: &'static str) -> Case {
    Case { name, command, entries, target }
}

/// Every program here but `deploy` has an entry, the last ones of their document.
const CASES: &[Case] = &[
    case("one command", "git status --short", 40, "≤ 5"),
    case("one command that no entry covers", MISSED, 40, "≤ 5"),
    case("pipeline of 2", "git log --oneline | head -n 20", 40, ""),
    case("pipeline of 4", "git log --oneline | rg -v merge | sort | head", 40, "≤ 20"),
    case("chain of 4", CHAIN, 40, "≤ 20"),
    case("wrapped", "timeout 5 git status", 40, "≤ 20"),
    case("wrapped twice", "env nice -n 5 git log", 40, "≤ 20"),
    case("wrapped in a shell", "sh -c 'git status && rg -n needle'", 40, "≤ 20"),
    case("one command, 10 000 entries", "git status --short", 10_000, "≤ 50"),
    case("one that none of 10 000 entries covers", MISSED, 10_000, "≤ 50"),
    case("wrapped, 10 000 entries", "timeout 5 git status", 10_000, "≤ 50"),
    case("chain of 4, 10 000 entries", CHAIN, 10_000, "≤ 50"),
    case("one command, 100 000 entries", "git status --short", 100_000, ""),
    case("one that none of 100 000 entries covers", MISSED, 100_000, ""),
    case("chain of 4, 100 000 entries", CHAIN, 100_000, ""),
];

const CHAIN: &str = "git fetch && git status && rg -n needle src && ls -la";
const MISSED: &str = "deploy --now";

/// Times every case, ours first and then each release in turn. What a release could not do is a
/// note, not an error.
pub(crate) fn measure(peers: &Peers) -> Result<(Vec<Row>, Vec<String>)> {
    let machine = Machine::new()?;
    let documents: BTreeMap<usize, EntryIndex> =
        CASES.iter().map(|case| (case.entries, EntryIndex::new(machine.entries(case.entries)))).collect();
    let mut rows: Vec<Row> =
        CASES.iter().filter_map(|case| Some(ours(case, &machine, documents.get(&case.entries)?))).collect();
    let mut notes = Vec::new();
    for release in &peers.releases {
        writeln!(std::io::stderr(), "measuring OpenClaw {} …", release.version)?;
        match peers::measure(peers, release, CASES, &machine) {
            Ok(timings) => {
                for (row, (covered, micros)) in rows.iter_mut().zip(timings) {
                    let timing = Timing::of(micros);
                    row.peers.push(Theirs { release: release.version.clone(), covered, timing });
                }
            }
            Err(error) => notes.push(format!("OpenClaw {} was not measured: {error:#}", release.version)),
        }
    }
    Ok((rows, notes))
}

/// The whole decision of the host, with its document on disk, and about commands that were made to be slow.
pub(crate) fn host() -> Result<Vec<Figure>> {
    let mut figures = host::measure()?;
    figures.extend(slow::measure()?);
    Ok(figures)
}

fn ours(case: &Case, machine: &Machine, entries: &EntryIndex) -> Row {
    let argv = argv(case.command);
    let policy = Effective {
        security: Layered { value: Security::Allowlist, layer: PolicyLayer::Defaults },
        ..BUILT_IN
    };
    let trust = Trust::default();
    let judge = |facts: &Facts, analysis: &Analysis| {
        let subject = Subject {
            argv: &argv,
            analysis,
            facts,
            policy: &policy,
            entries,
            local: LocalRules::None,
            trust: &trust,
            walls: Walls::None,
            unusual_env: &[],
            origin: Origin::Fresh,
        };
        black_box(evaluate(&subject, None).verdict)
    };
    let with_files = || {
        let mut analysis = analyze_argv(black_box(&argv));
        name_files(&mut analysis, machine.places());
        judge(&gather(&argv, &analysis, machine.places()), &analysis)
    };
    let known = gather(&argv, &analyze_argv(&argv), machine.places());
    let alone = || judge(&known, &analyze_argv(black_box(&argv)));
    Row {
        name: case.name,
        command: case.command,
        entries: case.entries,
        target: case.target,
        covered: matches!(with_files(), Verdict::Allow(_)),
        alone: Timing::of(samples(20_000, alone)),
        with_files: Timing::of(samples(5_000, with_files)),
        peers: Vec::new(),
    }
}

/// A command text as the host gets it: one plain command as its words, everything else for a shell.
fn argv(command: &str) -> Vec<String> {
    let text = analyze_text(command);
    match text.segments.as_slice() {
        [only] if text.words_say_it_all() => only.words.iter().map(|word| word.text.clone()).collect(),
        _ => ["sh", "-c", command].map(str::to_owned).into(),
    }
}

/// Microseconds of each of `count` decisions, after a tenth as many to warm up.
fn samples(count: usize, decide: impl Fn() -> Verdict) -> Vec<f64> {
    for _ in 0..count / 10 {
        let _ = decide();
    }
    let time = |_| {
        let started = Instant::now();
        let _ = decide();
        started.elapsed().as_secs_f64() * 1e6
    };
    (0..count).map(time).collect()
}
