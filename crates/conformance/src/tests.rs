//! The peers' vectors, in the reference profile as the peers answer and in our own with every deviation
//! counted by reason; and lines that are no cases.

mod newest;

use super::*;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Where the peers' fixture tree was, for cases that name it.
const ROOT: &str = "/fx";

/// Why an answer may differ, for the cases that a function picks.
type Deviations<'a> = &'a [(&'static str, usize, fn(&Value) -> bool)];

fn surroundings(profile: Profile, root: &Path) -> Surroundings {
    Surroundings { profile, fixture: Some(root.to_owned()), home: root.join("home") }
}

fn vectors(file: &str, root: &Path) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    std::fs::read_to_string(path).unwrap().replace("$FX", root.to_str().unwrap())
}

fn answers(text: &str, profile: Profile, root: &Path) -> Vec<Value> {
    let mut out = Vec::new();
    answer_all(text.as_bytes(), &mut out, &surroundings(profile, root)).unwrap();
    out.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// Runs every case of a file and compares the members that count.
fn check(file: &str, profile: Profile, members: &[&str], deviations: Deviations<'_>) {
    let text = vectors(file, Path::new(ROOT));
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (line, answer) in text.lines().zip(answers(&text, profile, Path::new(ROOT))) {
        let case: Value = serde_json::from_str(line).unwrap();
        let mut ours = answer["result"].clone();
        without_generated(&mut ours);
        let agrees =
            |member: &&str| case["expect"].get(*member).is_none_or(|theirs| *theirs == ours[*member]);
        if ours.is_object() && members.iter().all(agrees) {
            continue;
        }
        match deviations.iter().find(|(_, _, explains)| explains(&case)) {
            Some((reason, _, _)) if ours.is_object() => *counted.entry(reason).or_default() += 1,
            _ => wrong.push(format!(
                "{} {}\n  expected {}\n  got {answer}",
                case["id"], case["input"], case["expect"]
            )),
        }
    }
    assert!(wrong.is_empty(), "{} of {file} differ:\n{}", wrong.len(), wrong.join("\n"));
    let expected = deviations.iter().map(|(reason, count, _)| (*reason, *count)).collect();
    assert_eq!(counted, expected, "{file}: deviations and how often");
}

/// Ids and tokens that are made up on the way, as the vectors write them.
fn without_generated(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_generated),
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str() {
                    Some(text) if name == "id" && uuid::Uuid::parse_str(text).is_ok() => {
                        *value = json!("<uuid>")
                    }
                    Some(text) if name == "token" && text.len() == 32 => *value = json!("<generated>"),
                    _ => without_generated(value),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_old(case: &Value) -> bool {
    case["input"]["version"] == "2026.2.19"
}

const DOCUMENT: &[&str] = &[
    "exists", "valid", "hash", "document", "agent", "defaults", "patterns", "socket", "text", "snapshot",
    "current",
];

const OPERAND: &str = "what the peer takes for the value of an option is a file to the program";

const DISPLAY: &[&str] = &["text", "truncated", "oversized", "commandText", "commandPreview"];

#[test]
fn what_both_profiles_answer_alike_agrees_with_the_newest_peer() {
    for profile in [Profile::Attentive, Profile::Reference] {
        check(
            "safe-bin.jsonl",
            profile,
            &["satisfied"],
            &[(OPERAND, 1, |case| case["expect"]["satisfied"] == true)],
        );
        check("inline-eval.jsonl", profile, &["hit", "interpreterLike", "executable", "flag", "label"], &[]);
        check("windows.jsonl", profile, &["ok", "argv", "escaped", "reason"], &[]);
        check("policy.jsonl", profile, &["value"], &[]);
        check("hash.jsonl", profile, &["value"], &[]);
        check("match-pattern.jsonl", profile, &["matches", "index"], &[]);
    }
}

#[test]
fn the_reference_profile_answers_as_the_peers_do() {
    let profile = Profile::Reference;
    check("display.jsonl", profile, DISPLAY, &[]);
    check("document.jsonl", profile, DOCUMENT, &[]);
    check("env-override.jsonl", profile, &["verdict", "key", "value"], &[]);
    check("raw-command.jsonl", profile, &["ok", "commandText", "shellPayload", "preview", "code"], &[]);
    check("requires-approval.jsonl", profile, &["required", "durable", "decisions"], &[]);
}

/// Everything but commands in our own profile: a file, the members that count, and where and why we differ.
const PRODUCT: &[(&str, &[&str], Deviations<'static>)] = &[
    (
        "env-override.jsonl",
        &["verdict", "key", "value"],
        &[("a blocked name is refused before a shell could drop it", 1, |case| {
            case["expect"]["verdict"] == "dropped"
        })],
    ),
    (
        "raw-command.jsonl",
        &["ok", "commandText"],
        &[
            ("an older contract, looser than the newest one", 10, is_old),
            ("a payload behind a wrapper or an uncommon shell does not stand for the command", 10, |case| {
                case["expect"]["ok"] == true
            }),
        ],
    ),
    (
        "requires-approval.jsonl",
        &["required", "durable", "decisions"],
        &[("a legacy member that the peers remove on reading grants nothing here", 3, |case| {
            case["expect"]["durable"] == true
        })],
    ),
    (
        "document.jsonl",
        &["exists", "valid", "document", "patterns", "socket", "text", "current"],
        &[
            (
                "the older release takes what it cannot read for empty, and keeps words that mean nothing",
                56,
                is_old,
            ),
            ("a use that an older release left null is absent, as the newest one imports it", 2, |case| {
                case["input"]["text"].as_str().is_some_and(|text| text.contains(r#""lastUsedAt":null"#))
            }),
            ("what cannot be read is no document at all", 42, |case| case["expect"]["valid"] == false),
            ("members that nobody knows are kept", 4, |case| case["input"].to_string().contains("note")),
            ("a request without an agent is the main agent's", 1, |case| case["input"]["agentId"].is_null()),
            ("the entries of all agents count once", 2, |case| case["input"]["agentId"] == "*"),
        ],
    ),
    (
        "display.jsonl",
        DISPLAY,
        &[
            ("characters are counted here, UTF-16 units there", 3, |case| {
                case["input"]["kind"] == "output-tail"
            }),
            ("nothing is cut here: what is too long cannot be allowed", 4, |case| {
                case["expect"]["truncated"] == true || case["expect"]["oversized"] == true
            }),
            ("a preview of the requester is not shown", 10, |case| case["input"]["kind"] == "preview"),
            ("line ends are codes in a warning too", 4, |case| {
                case["expect"]["text"].as_str().is_some_and(|text| text.contains('\n'))
            }),
            ("more is hidden here", 9, |_| true),
        ],
    ),
];

#[test]
fn our_own_profile_is_stricter_where_we_mean_it() {
    for (file, members, deviations) in PRODUCT {
        check(file, Profile::Attentive, members, deviations);
    }
}

/// Rows of a table of `docs/conformance.md`: the first cells, sorted.
fn documented(table: &str, cells: usize) -> Vec<Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/conformance.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(&format!("<!-- {table} -->\n")).unwrap();
    let (rows, _) = rest.split_once("<!-- end -->").unwrap();
    let cells = |row: &str| -> Vec<String> {
        row.trim_matches('|').split('|').take(cells).map(|cell| cell.trim().to_owned()).collect()
    };
    let mut rows: Vec<_> = rows.lines().skip(2).map(cells).collect();
    rows.sort();
    rows
}

#[test]
fn every_deviation_of_our_own_profile_is_documented() {
    let row = |(reason, count, _): &(&str, usize, fn(&Value) -> bool)| {
        vec![(*reason).to_owned(), count.to_string()]
    };
    let mut asserted: Vec<_> = PRODUCT.iter().flat_map(|(_, _, deviations)| *deviations).map(row).collect();
    asserted.sort();
    assert_eq!(documented("product", 2), asserted);
    assert_eq!(documented("reference", 2), [[OPERAND.to_owned(), "1".to_owned()]]);
}

/// How our answer about a command stands to the peer's, and the reason that we give; `None` where
/// both are the same.
fn standing(case: &Value, ours: &Value) -> Option<(&'static str, String)> {
    let (theirs, verdict) = (
        &case["expect"],
        match case["op"].as_str().unwrap() {
            "analyze-shell" => "ok",
            "allow-always" => "offered",
            _ => "satisfied",
        },
    );
    let lists = |result: &Value| -> Vec<Value> {
        result["segments"].as_array().into_iter().flatten().map(|segment| segment["argv"].clone()).collect()
    };
    let kind = match (theirs[verdict] == true, ours[verdict] == true) {
        (true, false) => "stricter",
        (false, true) => "looser",
        (true, true) if verdict == "ok" && lists(theirs) != lists(ours) => "differs",
        (true, true) if verdict == "offered" && theirs["entries"] != ours["entries"] => "differs",
        (true, true) | (false, false) => return None,
    };
    let reason = ["unbound", "reason"].into_iter().find_map(|name| ours[name].as_str());
    let reason = reason.or_else(|| ours["reasons"].as_array()?.first()?.as_str()).unwrap_or("-");
    Some((kind, reason.to_owned()))
}

#[test]
fn every_disagreement_about_commands_is_documented() {
    let dir = fixture();
    let root = dir.path().canonicalize().unwrap();
    let mut counted: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for file in ["allow-always", "analyze-shell", "evaluate", "evaluate-argv", "wrapper"] {
        let text = vectors(&format!("{file}.jsonl"), &root);
        for (line, answer) in text.lines().zip(answers(&text, Profile::Attentive, &root)) {
            let case: Value = serde_json::from_str(line).unwrap();
            let Some((kind, reason)) = standing(&case, &answer["result"]) else { continue };
            *counted.entry(vec![file.to_owned(), kind.to_owned(), reason]).or_default() += 1;
        }
    }
    let rows = |looser: bool| -> Vec<Vec<String>> {
        let row = |(key, count): (&Vec<String>, &usize)| {
            let mut row = key.clone();
            row.push(count.to_string());
            row
        };
        counted.iter().filter(|(key, _)| (key[1] == "looser") == looser).map(row).collect()
    };
    assert_eq!(documented("commands", 4), rows(false));
    let looser: Vec<Vec<String>> =
        rows(true).into_iter().map(|row| vec![row[0].clone(), row[3].clone()]).collect();
    let old = vec!["raw-command".to_owned(), "2".to_owned()];
    let mut expected = [looser, vec![old]].concat();
    expected.sort();
    assert_eq!(documented("looser", 2), expected);
}

/// Puts the peers' fixture tree on disk.
fn fixture() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let fixture: Value = serde_json::from_str(&vectors("fixture.json", &root)).unwrap();
    for entry in fixture["entries"].as_array().unwrap() {
        let path = Path::new(entry["path"].as_str().unwrap());
        let mode = |entry: &Value| u32::from_str_radix(entry["mode"].as_str().unwrap(), 8).unwrap();
        match entry["kind"].as_str().unwrap() {
            "dir" => std::fs::create_dir_all(path).unwrap(),
            "symlink" => std::os::unix::fs::symlink(entry["linkTarget"].as_str().unwrap(), path).unwrap(),
            _ => {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, entry["content"].as_str().unwrap_or_default()).unwrap();
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode(entry))).unwrap();
            }
        }
    }
    dir
}

/// Runs every case of a file in the tree: never looser than the peer, and like it in all but
/// `stricter` cases.
fn check_commands(file: &str, root: &Path, verdict: &str, stricter: usize) {
    let text = vectors(file, root);
    let mut refused = 0;
    for (line, answer) in text.lines().zip(answers(&text, Profile::Reference, root)) {
        let case: Value = serde_json::from_str(line).unwrap();
        let (theirs, ours) = (&case["expect"][verdict], &answer["result"][verdict]);
        assert!(ours.is_boolean(), "{} {answer}", case["id"]);
        assert!(ours == theirs || *theirs == true, "{} {} is allowed", case["id"], case["input"]);
        refused += usize::from(ours != theirs);
        if *ours == true && verdict == "ok" {
            let lists = |result: &Value| -> Vec<Value> {
                result["segments"].as_array().unwrap().iter().map(|segment| segment["argv"].clone()).collect()
            };
            assert_eq!(lists(&answer["result"]), lists(&case["expect"]), "{}", case["id"]);
        }
        if *ours == true && verdict == "offered" {
            assert_eq!(answer["result"]["entries"], case["expect"]["entries"], "{}", case["id"]);
        }
    }
    assert_eq!(refused, stricter, "{file}: how many are refused although the peer allows them");
}

#[test]
fn commands_are_judged_on_real_files_as_the_newest_peer_judges_them() {
    let dir = fixture();
    let root = dir.path().canonicalize().unwrap();
    check_commands("analyze-shell.jsonl", &root, "ok", 0);
    check_commands("evaluate.jsonl", &root, "satisfied", 0);
    check_commands("evaluate-argv.jsonl", &root, "satisfied", 0);
    check_commands("wrapper.jsonl", &root, "satisfied", 0);
    check_commands("allow-always.jsonl", &root, "offered", 0);
}

#[test]
fn our_own_profile_also_says_why_a_covered_command_cannot_be_pinned() {
    let dir = fixture();
    let root = dir.path().canonicalize().unwrap();
    let case = json!({ "id": "x", "op": "evaluate", "input": {
        "command": "scan *.log",
        "allowlist": [root.join("bin/scan")],
    } });
    let answer = answers(&case.to_string(), Profile::Attentive, &root).remove(0);
    assert_eq!(answer["result"]["satisfied"], false);
    assert_eq!(answer["result"]["satisfiedBy"], json!(["allowlist"]));
    assert_eq!(answer["result"]["unbound"], "a shell would expand a word");
}

#[test]
fn a_line_that_is_no_case_says_what_was_expected_and_what_came() {
    let line = |text: &str| answers(text, Profile::Attentive, Path::new(ROOT)).remove(0);
    let answer = line(r#"{"id":"x","op":"safe-bin","input":{"argv":"head"}}"#);
    assert_eq!(answer["id"], "x");
    assert_eq!(answer["error"]["got"], r#"{"argv":"head"}"#);
    assert!(answer["error"]["expected"].as_str().unwrap().starts_with("argv and resolvedPath"));
    assert!(answer["error"]["problem"].as_str().unwrap().contains("expected a sequence"));
    assert_eq!(line(r#"{"id":7,"op":"nothing","input":{}}"#)["error"]["got"], "\"nothing\"");
    assert_eq!(line("{broken")["id"], Value::Null);
    assert_eq!(line(r#"{"id":"x"}"#)["error"]["expected"], "{\"id\":…,\"op\":…,\"input\":{…}}");
}

#[test]
fn a_bad_or_endless_line_does_not_stop_the_rest() {
    let good = r#"{"id":"good","op":"policy","input":{"fn":"mode","mode":"deny"}}"#;
    let text = format!("\n{}\n{good}\n", "x".repeat(LINE_BYTES + 10));
    let mut out = Vec::new();
    let failed =
        answer_all(text.as_bytes(), &mut out, &surroundings(Profile::Attentive, Path::new(ROOT))).unwrap();
    assert_eq!(failed, 1);
    let last: Value =
        serde_json::from_slice(out.trim_ascii().rsplit(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(
        last,
        json!({ "id": "good", "result": { "value": { "security": "deny", "ask": "off", "autoReview": false } } })
    );
}
