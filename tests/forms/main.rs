//! Do programs read their words as the tables of harmless flags say? Forms are made up for every program of
//! the first preset that is installed: flags alone and in clusters, with values glued and apart, abbreviated,
//! behind `--`, between operands. Each one that a rule lets run unasked is really run, in a folder of its
//! own, and must leave it as it was.
#![allow(clippy::panic, reason = "a test fails by panicking")]

use anyhow::{Context, Result};
use countersign_policy::facts::{ProgramFacts, Reached};
use countersign_policy::rules::{Argument, Invocation, PRESETS, matches};
use countersign_protocol::rules::{ArgumentRule, CommandRule, FlagSet};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// What lies in the folder before a run.
const FILES: &[(&str, &str)] = &[
    ("a.txt", "one\ntwo\n"),
    ("b.txt", "{\"a\": 1}\n"),
    ("c", "p\n"),
    ("o", "x\n"),
    ("sub/d.txt", "three\n"),
    (".hidden", "secret\n"),
];

/// Words between flags: names of files that are there and that are not, values, scripts, and what only looks
/// like one of them.
const WORDS: &[&str] = &[
    "a.txt",
    "b.txt",
    "c",
    "o",
    "sub",
    "OUT",
    "OUT",
    "*",
    "+1",
    "-",
    "--",
    "1",
    "5",
    "1p",
    ".",
    "e",
    "x",
    "{print}",
    "-o",
    "-oOUT",
    "--output=OUT",
    "--outp=OUT",
    "-c",
    "-b",
    "=OUT",
];

/// Forms in which a flag takes another word than the tables would think, so that a file was written.
const KNOWN: &[&str] = &[
    "tree -Po x OUT",
    "tree -aIo x OUT",
    "tree -PRHo x . OUT",
    "xxd -bc a.txt -b",
    "xxd -pc a.txt -ps=OUT",
    "xxd -us a.txt -i",
    "sort -uo OUT a.txt",
    "sort --outp=OUT a.txt",
    "uniq -c a.txt OUT",
    "sed -ni w a.txt",
    "sed -n wOUT a.txt",
    "find . -name x -o -fprint OUT",
];

/// What would wait, run for long, or end what it should not.
const NOT_RUN: &[&str] = &["lsof", "sleep", "sync", "type", "vmstat", "yes"];

/// Forms that are made up for each program.
const FORMS: usize = 1_500;

/// Most runs of one program.
const RUNS: usize = 12;

/// Longest that one run may take.
const RUN_TIME: Duration = Duration::from_secs(20);

/// Programs without which little would be compared.
const LEAST_PROGRAMS: usize = 20;

/// The same numbers every time, from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end.max(1) as u64).unwrap_or(0)
    }

    fn of<'a>(&mut self, words: &'a [&'a str]) -> &'a str {
        words.get(self.below(words.len())).copied().unwrap_or("x")
    }
}

/// One word more of a form, made of the flags of a program or of none.
fn word(random: &mut Random, flags: &[&str]) -> String {
    let flag = random.of(flags).to_owned();
    let letters: Vec<&str> = flags.iter().filter(|flag| flag.len() == 2).map(|flag| &flag[1..]).collect();
    match random.below(9) {
        0 | 1 => flag,
        2 => format!("{flag}={}", random.of(WORDS)),
        3 => format!("{flag}{}", random.of(WORDS)),
        4 if flag.starts_with("--") => flag[..2 + random.below(flag.len() - 2)].to_owned(),
        4 | 5 => {
            let mut cluster = "-".to_owned();
            for _ in 0..=random.below(3) {
                let known = random.below(4) > 0;
                cluster.push_str(if known {
                    random.of(&letters)
                } else {
                    random.of(&["o", "e", "f", "i", "P", "w", "s"])
                });
            }
            cluster
        }
        _ => random.of(WORDS).to_owned(),
    }
}

/// Where a program of this name is.
fn installed(name: &str) -> Option<PathBuf> {
    ["/usr/bin", "/bin"].iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// Everything below a folder, with its content.
fn snapshot(folder: &Path) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path.clone());
                all.insert(path, Vec::new());
            } else {
                let content = fs::read(&path)?;
                all.insert(path, content);
            }
        }
    }
    Ok(all)
}

fn furnish(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder.join("sub"))?;
    for (name, content) in FILES {
        fs::write(folder.join(name), content)?;
    }
    Ok(())
}

/// Runs a program to its end, or to the end of its time.
#[expect(clippy::disallowed_methods, reason = "programs are what the tables are compared with")]
fn run(program: &Path, words: &[String], folder: &Path) -> Result<()> {
    let mut child = Command::new(program)
        .args(words)
        .current_dir(folder)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let until = Instant::now() + RUN_TIME;
    while child.try_wait()?.is_none() {
        if Instant::now() > until {
            child.kill()?;
            child.wait()?;
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

/// Whether any of `rules` lets these words run.
fn is_allowed(
    rules: &[&CommandRule],
    name: &str,
    program: &ProgramFacts,
    words: &[String],
    folder: &Path,
) -> bool {
    let arguments: Vec<Argument<'_>> = words.iter().map(|text| Argument { text, expands: false }).collect();
    let invocation = Invocation {
        typed: name,
        program,
        arguments: &arguments,
        folder: folder.to_str(),
        home: Path::new("/home/nobody"),
        script: None,
        settled: true,
        reached: Reached::NOT_LOOKED,
    };
    rules.iter().any(|rule| matches(rule, invocation))
}

#[test]
fn t12_what_runs_unasked_reads_its_words_as_the_tables_say() -> Result<()> {
    let rules = PRESETS.first().context("there is no preset")?.rules(0);
    let mut by_program: BTreeMap<&str, Vec<&CommandRule>> = BTreeMap::new();
    for rule in &rules {
        by_program.entry(&rule.program).or_default().push(rule);
    }
    let (mut programs, mut runs) = (0, 0);
    for (name, rules) in by_program {
        // A repository is needed to try git, which is done for itself.
        let Some(path) = installed(name).filter(|_| name != "git" && !NOT_RUN.contains(&name)) else {
            continue;
        };
        let listed = |rule: &&&CommandRule| match &rule.arguments {
            ArgumentRule::Shape(shape) => match &shape.flags {
                FlagSet::Listed(flags) => flags.iter().flat_map(|flag| flag.names.clone()).collect(),
                FlagSet::Any => Vec::new(),
            },
            ArgumentRule::Any | ArgumentRule::Exact { .. } => Vec::new(),
        };
        let flags: Vec<String> =
            rules.iter().flat_map(|rule| listed(&rule)).filter(|flag| flag.is_ascii()).collect();
        let flags: Vec<&str> = flags.iter().map(String::as_str).chain(["-o"]).collect();
        let program = ProgramFacts {
            path: Some(path.clone()),
            real_path: Some(path.clone()),
            ..ProgramFacts::default()
        };
        let mut random = Random(name.bytes().fold(1, |seed, byte| seed * 31 + u64::from(byte)));
        let mut done = 0;
        let known = KNOWN.iter().filter_map(|form| form.strip_prefix(name)?.strip_prefix(' '));
        let mut known = known.map(|form| form.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for _ in 0..FORMS {
            if done == RUNS {
                break;
            }
            let made_up = || (0..1 + random.below(5)).map(|_| word(&mut random, &flags)).collect();
            let words: Vec<String> = known.next().unwrap_or_else(made_up);
            let folder = tempfile::tempdir()?;
            let here = folder.path().canonicalize()?;
            if !is_allowed(&rules, name, &program, &words, &here) {
                continue;
            }
            furnish(&here)?;
            let before = snapshot(&here)?;
            run(&path, &words, &here)?;
            assert_eq!(snapshot(&here)?, before, "{name} {words:?} left something else behind");
            done += 1;
        }
        programs += usize::from(done > 0);
        runs += done;
    }
    assert!(programs >= LEAST_PROGRAMS, "only {programs} programs are installed");
    println!("{runs} runs of {programs} programs");
    Ok(())
}
