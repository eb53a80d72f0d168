//! Verdicts of the newest peer about cases that `tests/conformance` makes up (`tests/vectors/2026.9.6`): the
//! reference profile is nowhere looser, and nearly always says the same.

use super::{Profile, answers, documented, fixture, without_generated};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Operations and the members that count, in the order of the documented table.
const OPERATIONS: &[(&str, &[&str])] = &[
    ("allow-always", &["offered", "entries"]),
    ("analyze-shell", &["ok", "argvs"]),
    ("display", &["text", "truncated", "oversized"]),
    (
        "document",
        &[
            "exists", "valid", "hash", "document", "agent", "defaults", "patterns", "socket", "text",
            "snapshot", "current",
        ],
    ),
    ("env-override", &["verdict", "key", "value"]),
    ("evaluate", &["satisfied"]),
    ("evaluate-argv", &["satisfied"]),
    ("hash", &["value"]),
    ("inline-eval", &["hit", "interpreterLike"]),
    ("match-pattern", &["matches", "index"]),
    ("raw-command", &["ok", "commandText"]),
    ("requires-approval", &["required", "durable", "decisions"]),
    ("safe-bin", &["satisfied"]),
    ("windows", &["ok", "argv", "escaped"]),
    ("wrapper", &["satisfied"]),
];

/// How an answer of ours stands to the peer's.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Comparison {
    Same,
    Stricter,
    Differs,
    Looser,
}

/// Members that allow something when they are true, and those that forbid something.
const ALLOWING: [&str; 7] = ["satisfied", "matches", "ok", "offered", "durable", "valid", "current"];
const FORBIDDING: [&str; 3] = ["hit", "interpreterLike", "required"];

fn standing(members: &[&str], theirs: &Value, ours: &Value) -> Comparison {
    let says = |member: &&&str| theirs.get(**member).is_some();
    if members.iter().filter(says).all(|member| theirs[*member] == ours[*member]) {
        return Comparison::Same;
    }
    let flags = ALLOWING.map(|name| (name, true)).into_iter().chain(FORBIDDING.map(|name| (name, false)));
    for (name, allowing) in flags {
        if let (Some(theirs), Some(ours)) = (theirs[name].as_bool(), ours[name].as_bool())
            && theirs != ours
        {
            return if ours == allowing { Comparison::Looser } else { Comparison::Stricter };
        }
    }
    let more = |name: &str| {
        let list = |value: &Value| value[name].as_array().cloned().unwrap_or_default();
        list(ours).iter().any(|one| !list(theirs).contains(one))
    };
    if ["entries", "patterns", "decisions"].into_iter().any(|name| theirs[name].is_array() && more(name)) {
        return Comparison::Looser;
    }
    let passes = |value: &Value| matches!(value["verdict"].as_str(), Some("accepted" | "kept"));
    if theirs["verdict"].is_string() && passes(theirs) != passes(ours) {
        return if passes(ours) { Comparison::Looser } else { Comparison::Stricter };
    }
    let levels = [
        ("security", ["deny", "allowlist", "full"]),
        ("ask", ["always", "on-miss", "off"]),
        ("askFallback", ["deny", "allowlist", "full"]),
    ];
    for (name, words) in levels {
        let level = |value: &Value| words.iter().position(|word| value["agent"][name] == *word);
        if let (Some(theirs), Some(ours)) = (level(theirs), level(ours))
            && ours > theirs
        {
            return Comparison::Looser;
        }
    }
    Comparison::Differs
}

/// The members that count, with the words of all commands as one of them, and without what was
/// made up on the way.
fn view(value: &Value) -> Value {
    let mut view = value.clone();
    without_generated(&mut view);
    if view["ok"] == true && view["segments"].is_array() {
        let words = |segment: &Value| segment["argv"].clone();
        view["argvs"] = view["segments"].as_array().into_iter().flatten().map(words).collect();
    }
    if view["ok"] == false {
        view["commandText"] = Value::Null;
    }
    view
}

#[test]
fn the_reference_profile_is_nowhere_looser_than_the_newest_peer() {
    let dir = fixture();
    let root = dir.path().canonicalize().unwrap();
    let mut rows = Vec::new();
    let (mut all, mut same, mut looser) = (0, 0, Vec::new());
    for (op, members) in OPERATIONS {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/vectors/2026.9.6/{op}.jsonl"));
        let text = std::fs::read_to_string(file).unwrap().replace("$FX", root.to_str().unwrap());
        let mut counted: BTreeMap<Comparison, usize> = BTreeMap::new();
        for (line, answer) in text.lines().zip(answers(&text, Profile::Reference, &root)) {
            let case: Value = serde_json::from_str(line).unwrap();
            assert!(answer["result"].is_object(), "{answer}");
            let standing = standing(members, &view(&case["expect"]), &view(&answer["result"]));
            if standing == Comparison::Looser {
                looser.push(format!(
                    "{} {}\n  expected {}\n  got {answer}",
                    case["id"], case["input"], case["expect"]
                ));
            }
            *counted.entry(standing).or_default() += 1;
        }
        let count = |standing| counted.get(&standing).copied().unwrap_or(0);
        let cases: usize = counted.values().sum();
        (all, same) = (all + cases, same + count(Comparison::Same));
        let numbers = [cases, count(Comparison::Stricter), count(Comparison::Differs)];
        rows.push([vec![(*op).to_owned()], numbers.map(|number| number.to_string()).to_vec()].concat());
    }
    assert!(looser.is_empty(), "{} are looser:\n{}", looser.len(), looser.join("\n"));
    assert!(all >= 3000 && same * 100 >= all * 99, "{same} of {all} agree");
    assert_eq!(documented("newest", 4), rows);
}

#[test]
fn an_answer_that_allows_more_is_looser_whatever_says_so() {
    for (members, theirs, ours, expected) in [
        (&["satisfied"][..], json!({ "satisfied": false }), json!({ "satisfied": true }), Comparison::Looser),
        (&["hit"], json!({ "hit": true }), json!({ "hit": false }), Comparison::Looser),
        (&["current"], json!({ "current": true }), json!({ "current": false }), Comparison::Stricter),
        (&["entries"], json!({ "entries": ["a"] }), json!({ "entries": ["a", "b"] }), Comparison::Looser),
        (&["verdict"], json!({ "verdict": "blocked" }), json!({ "verdict": "accepted" }), Comparison::Looser),
        (
            &["agent"],
            json!({ "agent": { "ask": "always" } }),
            json!({ "agent": { "ask": "off" } }),
            Comparison::Looser,
        ),
        (&["text"], json!({ "text": "a" }), json!({ "text": "b" }), Comparison::Differs),
        (&["text"], json!({ "text": "a" }), json!({ "text": "a", "more": 1 }), Comparison::Same),
    ] {
        assert_eq!(standing(members, &theirs, &ours), expected, "{theirs} {ours}");
    }
}
