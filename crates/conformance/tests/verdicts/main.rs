//! Whole commands whose verdicts came from running published peers (`tests/vectors`), judged in the peers'
//! fixture tree. Where this crate refuses what a peer accepts the reasons are counted; nowhere does it accept
//! what the newest peer refuses.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod fixture;

use countersign_commands::analysis::{Analysis, analyze_argv_as, analyze_text_as};
use countersign_commands::command::Divided;
use countersign_commands::profile::Profile;
use countersign_conformance::reference::words::listed;
use countersign_policy::allowlist::{Entry, EntryIndex};
use countersign_policy::always::{Remembered, remembered};
use countersign_policy::bind::{Bound, bind};
use countersign_policy::evaluate::{Cover, InlineEval, Miss, SkillBin, Skills, Trust, covers};
use countersign_policy::facts::Facts;
use countersign_policy::safe_bins::{SafeBins, Settings};
use fixture::{Places, ROOT, Tree};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What we say about a case.
struct Ours {
    analysis: Analysis,
    facts: Facts,
    covers: Vec<Result<Cover, Miss>>,
}

impl Ours {
    fn of(tree: &Tree, case: &Value, profile: Profile) -> Self {
        let input = &case["input"];
        let analysis = match input["command"].as_str() {
            Some(command) => analyze_text_as(command, profile),
            None => analyze_argv_as(&strings(&input["argv"]), profile),
        };
        let path = input["path"].as_str().map_or_else(|| format!("{ROOT}/bin:{ROOT}/safe"), str::to_owned);
        let cwd = input["cwd"].as_str().map_or_else(|| format!("{ROOT}/work"), str::to_owned);
        let facts = tree.facts(&analysis, &Places { path: &path, cwd: &cwd });
        let dirs = match &input["trustedDirs"] {
            Value::Null => vec![PathBuf::from(format!("{ROOT}/safe"))],
            dirs => strings(dirs).into_iter().map(PathBuf::from).collect(),
        };
        let names = (!input["safeBins"].is_null()).then(|| strings(&input["safeBins"]));
        let skill = |skill: &Value| SkillBin {
            name: skill["name"].as_str().unwrap().to_owned(),
            real_path: skill["resolvedPath"].as_str().unwrap().into(),
        };
        let trust = Trust {
            safe_bins: SafeBins::new(Settings { names, trusted_dirs: Some(dirs), ..Settings::default() }),
            skills: input["skillBins"].as_array().into_iter().flatten().map(skill).collect(),
            ..Trust::default()
        };
        let skills = if input["autoAllowSkills"] == true { Skills::Allowed } else { Skills::NotAllowed };
        let rules = EntryIndex::new(input["allowlist"].as_array().into_iter().flatten().map(rule).collect());
        let covers = covers(&analysis, &facts, &rules, &trust, skills);
        Self { analysis, facts, covers }
    }

    fn satisfied(&self) -> bool {
        self.analysis.opaque.is_none() && !self.covers.is_empty() && self.covers.iter().all(Result::is_ok)
    }

    fn lists(&self) -> Value {
        json!(self.analysis.segments.iter().map(listed).collect::<Vec<_>>())
    }
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn rule(entry: &Value) -> Entry {
    let pattern = entry.as_str().or_else(|| entry["pattern"].as_str()).unwrap().to_owned();
    Entry {
        agent: "main".into(),
        id: pattern.clone(),
        pattern,
        arg_pattern: entry["argPattern"].as_str().map(str::to_owned),
        generated: entry["source"] == "allow-always",
    }
}

fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    let text = std::fs::read_to_string(path).unwrap().replace("$FX", ROOT);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// How we stand to a peer on one case.
enum Comparison {
    Agrees,
    /// The peer allows or takes apart, we do not, for this reason.
    Stricter(String),
    /// Taken apart by both, into other words.
    Differs,
    /// We allow or take apart what the peer does not.
    Looser,
}

fn standing(case: &Value, ours: &Ours) -> Comparison {
    let expect = &case["expect"];
    let analysed = case["op"] == "analyze-shell";
    let peer = if analysed { expect["ok"] == true } else { expect["satisfied"] == true };
    let we = if analysed { ours.analysis.opaque.is_none() } else { ours.satisfied() };
    match (peer, we) {
        (true, false) => Comparison::Stricter(match &ours.analysis.opaque {
            Some(opaque) => opaque.reason.as_str().to_owned(),
            None => "no entry covers it".to_owned(),
        }),
        (false, true) => Comparison::Looser,
        (true, true) if analysed && ours.lists() != peers_lists(expect) => Comparison::Differs,
        (true, true) | (false, false) => Comparison::Agrees,
    }
}

fn peers_lists(expect: &Value) -> Value {
    expect["segments"].as_array().unwrap().iter().map(|segment| segment["argv"].clone()).collect()
}

/// Runs every case of a file. `stricter` counts what we refuse, by our reason.
fn check(file: &str, agreeing: usize, differing: usize, stricter: &[(&str, usize)]) {
    let tree = Tree::load();
    let (mut agrees, mut differs) = (0, 0);
    let mut counted: BTreeMap<String, usize> = BTreeMap::new();
    let mut looser = Vec::new();
    for case in cases(file) {
        match standing(&case, &Ours::of(&tree, &case, Profile::Reference)) {
            Comparison::Agrees => agrees += 1,
            Comparison::Differs => differs += 1,
            Comparison::Stricter(reason) => *counted.entry(reason).or_default() += 1,
            Comparison::Looser => looser.push(format!("{} {}", case["id"], case["input"])),
        }
    }
    assert!(looser.is_empty(), "{file}: allowed although the newest peer refuses:\n{}", looser.join("\n"));
    let expected: BTreeMap<String, usize> =
        stricter.iter().map(|(reason, count)| ((*reason).to_owned(), *count)).collect();
    assert_eq!((agrees, differs, counted), (agreeing, differing, expected), "{file}");
}

#[test]
fn texts_are_taken_apart_like_by_the_newest_peer() {
    check("analyze-shell.jsonl", 1011, 0, &[]);
}

#[test]
fn texts_are_covered_like_by_the_newest_peer() {
    check("evaluate.jsonl", 937, 0, &[]);
}

#[test]
fn argument_lists_are_covered_like_by_the_newest_peer() {
    check("evaluate-argv.jsonl", 148, 0, &[]);
}

#[test]
fn wrappers_are_looked_through_like_by_the_newest_peer() {
    check("wrapper.jsonl", 738, 0, &[]);
}

#[test]
fn what_always_would_store_is_what_the_newest_peer_stores() {
    let tree = Tree::load();
    for case in cases("allow-always.jsonl") {
        let ours = Ours::of(&tree, &case, Profile::Reference);
        let strict = case["input"]["strictInlineEval"] == true;
        let strictness = if strict { InlineEval::NeedsApproval } else { InlineEval::Covered };
        let stored = match remembered(&ours.analysis, &ours.facts, strictness) {
            Ok(Remembered { entries, marker }) => json!({
                "offered": true,
                "kind": "patterns",
                "reasons": [],
                "entries": entries
                    .iter()
                    .map(|entry| json!({"pattern": entry.pattern, "argPattern": entry.arg_pattern}))
                    .collect::<Vec<_>>(),
                "marker": marker,
            }),
            Err(reason) => json!({
                "offered": false, "kind": "one-shot", "reasons": [reason.as_str()], "entries": [], "marker": false,
            }),
        };
        assert_eq!(stored, case["expect"], "{} {}", case["id"], case["input"]);
    }
}

#[test]
fn what_the_newest_peer_allows_too_easily_is_refused() {
    let tree = Tree::load();
    for case in cases("oracle-too-lenient.jsonl") {
        let ours = Ours::of(&tree, &case, Profile::ATTENTIVE);
        let taken_apart = ours.analysis.opaque.is_none();
        let lenient = if case["op"] == "analyze-shell" { taken_apart } else { ours.satisfied() };
        assert!(!lenient, "{} {}", case["id"], case["input"]);
        // The reference profile says how the peer takes it apart, but not that it may run.
        let peers = Ours::of(&tree, &case, Profile::Reference);
        assert!(!peers.satisfied(), "{} {}", case["id"], case["input"]);
    }
}

#[test]
fn what_shells_read_otherwise_than_the_newest_peer_is_never_pinned_nor_remembered() {
    let tree = Tree::load();
    let mut divided = 0;
    for file in ["analyze-shell.jsonl", "evaluate.jsonl", "oracle-too-lenient.jsonl"] {
        for case in cases(file) {
            let ours = Ours::of(&tree, &case, Profile::Reference);
            if ours.analysis.segments.iter().all(|segment| segment.candidate.divided == Divided::Nothing) {
                continue;
            }
            divided += 1;
            assert!(bind(&ours.analysis, &ours.facts).is_err(), "{} {}", case["id"], case["input"]);
            let stored = remembered(&ours.analysis, &ours.facts, InlineEval::Covered);
            assert!(stored.is_err(), "{} {}", case["id"], case["input"]);
            let product = Ours::of(&tree, &case, Profile::ATTENTIVE);
            assert!(bind(&product.analysis, &product.facts).is_err(), "{} {}", case["id"], case["input"]);
        }
    }
    assert!(divided > 30, "{divided}");
}

#[test]
fn what_may_be_read_otherwise_is_covered_only_by_entries_that_cover_every_reading() {
    let tree = Tree::load();
    let covered = |command: &str, pattern: &str| {
        let case = json!({ "input": { "command": command, "allowlist": [pattern] } });
        Ours::of(&tree, &case, Profile::Reference).satisfied()
    };
    let narrow = |command: &str| {
        let entry = json!({ "pattern": format!("{ROOT}/bin/scan"), "argPattern": "q" });
        let case = json!({ "input": { "command": command, "allowlist": [entry] } });
        Ours::of(&tree, &case, Profile::Reference).satisfied()
    };
    let scan = format!("{ROOT}/bin/scan");
    for (text, by_its_entry, by_any) in [
        ("scan q", true, true),
        // Arguments.
        ("scan $'\\q'", true, true),
        ("scan \"$[1]\"", true, true),
        ("scan \\\ta", true, true),
        ("nice scan q\u{a0}", true, true),
        // The program.
        ("V+=x scan", false, true),
        ("1V=x scan", false, true),
        ("- scan", false, true),
        ("nice $'\\q' scan", false, true),
        // Where words end.
        ("scan\u{b}q", false, false),
        ("scan\rq", false, false),
        ("\\\tscan", false, false),
        ("scan\u{a0}q", false, false),
        ("\"scan \" q", false, false),
        // Shells within shells.
        ("nice sh -c scan", false, true),
        ("sh -c 'nice sh -c scan'", false, false),
        ("sh -c 'sh -c \"sudo scan\"'", false, false),
        ("sh -c 'sh -c scan'", false, true),
        ("env sh -c scan", false, true),
        ("env bash -c", false, false),
        ("env tcsh -c scan", false, false),
        ("sh -c '-x scan'", false, false),
    ] {
        assert_eq!((covered(text, &scan), covered(text, "*")), (by_its_entry, by_any), "{text:?}");
    }
    assert!(narrow("scan q") && !narrow("scan $'\\q'"));
}

#[test]
fn attempts_to_run_an_unlisted_program_are_refused_whatever_texts_are_understood() {
    let tree = Tree::load();
    let mut attempts = 0;
    for file in ["evaluate.jsonl", "evaluate-argv.jsonl", "wrapper.jsonl"] {
        for case in cases(file).iter().filter(|case| case["mustNotAllow"] == true) {
            for profile in [Profile::Reference, Profile::ATTENTIVE] {
                let ours = Ours::of(&tree, case, profile);
                assert!(!ours.satisfied(), "{profile:?} {} {}", case["id"], case["input"]);
            }
            attempts += 1;
        }
    }
    assert!(attempts > 500, "{attempts}");
}

#[test]
fn what_is_covered_and_bound_runs_listed_programs_only() {
    let tree = Tree::load();
    let mut bound_texts = 0;
    for file in ["evaluate.jsonl", "wrapper.jsonl", "oracle-too-lenient.jsonl"] {
        for case in cases(file).iter().filter(|case| case["op"] != "analyze-shell") {
            let ours = Ours::of(&tree, case, Profile::ATTENTIVE);
            let plain = case["input"]["allowlist"].as_array().unwrap().iter().all(Value::is_string);
            if !plain || !ours.satisfied() {
                continue;
            }
            let Ok(bound) = bind(&ours.analysis, &ours.facts) else { continue };
            bound_texts += usize::from(matches!(bound, Bound::Shell { .. }));
            let listed = strings(&case["input"]["allowlist"]);
            let real = |path| ours.facts.started_at(path)?.real_path.as_deref()?.to_str();
            let programs = bound.programs().map(|path| real(path).unwrap_or(path));
            for program in programs.filter(|program| !program.ends_with("/bin/sh")) {
                let covered = listed
                    .iter()
                    .any(|entry| entry.contains(['*', '?']) || entry == program || !entry.contains('/'));
                let safe = program.starts_with(&format!("{ROOT}/safe/"));
                let skill = !case["input"]["skillBins"].is_null();
                assert!(covered || safe || skill, "{} {} runs {program}", case["id"], case["input"]);
            }
        }
    }
    assert!(bound_texts > 20, "{bound_texts}");
}
