//! Command texts whose expected parts came from running published peers (`tests/vectors`). The parser alone
//! is looked at: shells with a text of their own and wrappers are taken apart elsewhere. Where it refuses
//! what a peer accepts the reasons are counted; nowhere does it accept what the newest peer refuses.

use crate::support::documented;
use countersign_commands::analysis::{OpaqueReason, Operator};
use countersign_commands::shell::{self, Script};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Where the peers' fixture tree was, for cases that name it.
const ROOT: &str = "/fx";

/// How we stand to a peer on one case.
enum Verdict {
    Agrees,
    /// Refused here, or the same verdict in other words, for this reason.
    Differs(&'static str),
    Wrong(String),
}

/// Runs every case of a file that takes a text apart. `deviations` pairs reasons with the number of cases.
fn check(
    file: &str,
    judge: fn(&str, &Value) -> Verdict,
    agreeing: usize,
    deviations: &[(&'static str, usize)],
) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    let text = std::fs::read_to_string(path).unwrap().replace("$FX", ROOT);
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut wrong, mut agreed) = (Vec::new(), 0);
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        if case["op"] != "analyze-shell" {
            continue;
        }
        let command = case["input"]["command"].as_str().unwrap();
        match judge(command, &case["expect"]) {
            Verdict::Agrees => agreed += 1,
            Verdict::Differs(reason) => *counted.entry(reason).or_default() += 1,
            Verdict::Wrong(why) => wrong.push(format!("{} {command:?}\n  {why}", case["id"])),
        }
    }
    assert!(wrong.is_empty(), "{} of {file} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(counted, deviations.iter().copied().collect(), "{file}: deviations and how often");
    assert_eq!(agreed, agreeing, "{file}: how many agree");
}

fn judge(command: &str, expect: &Value) -> Verdict {
    let direct = segments(expect).all(|segment| segment["transport"] == "direct");
    if !direct || command.starts_with("sh -c") || command.starts_with("bash -c") {
        return Verdict::Differs("a shell's own text is taken apart elsewhere");
    }
    match (as_the_newest_peer(command), expect["ok"] == true) {
        (Err(reason), false) if Some(reason) == expect["reason"].as_str() => Verdict::Agrees,
        (Err(_), false) => Verdict::Differs("refused at the first culprit, whatever stands behind it"),
        (Ok(script), false) => Verdict::Wrong(format!("accepted: {:?}", words(&script))),
        (Err(reason), true) => stricter(command, reason, expect),
        (Ok(script), true) => compare(&script, expect),
    }
}

/// A profile without extensions.
fn as_the_newest_peer(command: &str) -> Result<Script, &'static str> {
    let script = shell::parse(command).map_err(|opaque| peer_word(opaque.reason))?;
    match script.extensions.first() {
        Some((extension, _)) => Err(peer_word(extension.reason())),
        None => Ok(script),
    }
}

fn peer_word(reason: OpaqueReason) -> &'static str {
    match reason {
        OpaqueReason::Empty => "no commands to authorize",
        OpaqueReason::TooLong => "too-large",
        other => other.as_str(),
    }
}

fn compare(script: &Script, expect: &Value) -> Verdict {
    let ours: Vec<Value> = words(script).into_iter().map(|words| json!(words)).collect();
    let theirs: Vec<Value> = segments(expect).map(|segment| segment["argv"].clone()).collect();
    let operators: Vec<&str> =
        script.commands.iter().filter_map(|command| command.operator).map(peer_operator).collect();
    if ours == theirs && json!(operators) == expect["operators"] {
        return Verdict::Agrees;
    }
    let starts = |word: &str| script.commands.iter().any(|command| command.words[0].text == word);
    let has =
        |part: fn(&shell::Word) -> bool| script.commands.iter().flat_map(|command| &command.words).any(part);
    if starts("unset") {
        Verdict::Differs("a peer leaves `unset` out")
    } else if starts("[") {
        Verdict::Differs("a peer leaves the operator of a test out")
    } else if has(|word| word.expands && word.quoted && word.text.contains('{')) {
        Verdict::Differs("a peer keeps the quotes within braces")
    } else {
        Verdict::Wrong(format!("got {ours:?} {operators:?}\n  expected {theirs:?} {}", expect["operators"]))
    }
}

fn segments(expect: &Value) -> impl Iterator<Item = &Value> {
    expect["segments"].as_array().unwrap().iter()
}

/// The words of the commands, without the end of a test as the peers have it.
fn words(script: &Script) -> Vec<Vec<String>> {
    let texts = |command: &shell::SimpleCommand| {
        let mut texts: Vec<String> = command.words.iter().map(|word| word.text.clone()).collect();
        if texts[0] == "[" {
            texts.pop();
        }
        texts
    };
    script.commands.iter().map(texts).collect()
}

fn peer_operator(operator: Operator) -> &'static str {
    match operator {
        Operator::PipeBoth => "|",
        other => other.as_str(),
    }
}

/// Why this parser refuses what a peer accepts.
fn stricter(command: &str, reason: &str, expect: &Value) -> Verdict {
    let grammar = ["do", "done", "else", "fi", "in", "then", "}"];
    let starts = |word: &str| segments(expect).any(|segment| segment["argv"][0] == word);
    let is_blank = |segment: &Value| segment["argv"][0].as_str().unwrap().trim().is_empty();
    Verdict::Differs(match reason {
        "assignment" => "an assignment to some shells only",
        "compound" if starts("[[") => "a test with a grammar of its own",
        "dynamic-argument" if command.contains("$[") => "arithmetic to some shells only",
        "dynamic-argument" => "an expansion in an assignment",
        "group" if command.contains("! {") => "a negated group",
        "no commands to authorize" => "an empty word in place of a program",
        "syntax-error" if command.contains('\0') => "a NUL is no part of an argument",
        "syntax-error" if command.contains("$'\\") => "an escape that a shell decodes otherwise",
        "syntax-error" if command.contains(" \\ ") || command.contains(" \\\t") => {
            "an escaped blank before a word, which a peer loses"
        }
        "syntax-error" if segments(expect).any(is_blank) => "an executable of blanks",
        "syntax-error" if grammar.into_iter().any(starts) => {
            "grammar in place of a program, an error to every shell"
        }
        "syntax-error" if command.contains("| !") => "a negation within a pipeline, an error to most shells",
        _ => return Verdict::Wrong(format!("refused as {reason}, expected {}", expect["segments"])),
    })
}

#[test]
fn texts_are_taken_apart_as_the_newest_peer_does() {
    check("analyze-shell.jsonl", judge, 756, NEWEST);
}

#[test]
fn texts_on_which_the_newest_peer_is_too_lenient_are_refused_or_read_as_shells_do() {
    check("oracle-too-lenient.jsonl", judge_lenient, 30, LENIENT);
}

fn judge_lenient(command: &str, expect: &Value) -> Verdict {
    if command.starts_with("bash -c") {
        return Verdict::Differs("a shell's own text is taken apart elsewhere");
    }
    match as_the_newest_peer(command) {
        Err(_) => Verdict::Agrees,
        Ok(script) if script.commands.iter().any(|command| command.words[0].text == "exec") => {
            Verdict::Differs("what `exec` does is not the parser's")
        }
        Ok(script) => {
            Verdict::Wrong(format!("accepted {:?}, the peer {}", words(&script), expect["segments"]))
        }
    }
}

#[test]
fn every_deviation_of_the_parser_is_documented() {
    assert_eq!(documented::counts("parser"), documented::asserted(&[NEWEST, LENIENT]));
}

/// Where the parser differs from the newest peer, and how often.
const NEWEST: &[(&str, usize)] = &[
    ("a NUL is no part of an argument", 1),
    ("a negated group", 2),
    ("a negation within a pipeline, an error to most shells", 4),
    ("a peer keeps the quotes within braces", 2),
    ("a peer leaves `unset` out", 3),
    ("a peer leaves the operator of a test out", 1),
    ("a shell's own text is taken apart elsewhere", 121),
    ("a test with a grammar of its own", 4),
    ("an assignment to some shells only", 8),
    ("an empty word in place of a program", 1),
    ("an escape that a shell decodes otherwise", 4),
    ("an escaped blank before a word, which a peer loses", 3),
    ("an executable of blanks", 3),
    ("an expansion in an assignment", 1),
    ("arithmetic to some shells only", 2),
    ("grammar in place of a program, an error to every shell", 11),
    ("refused at the first culprit, whatever stands behind it", 84),
];

/// The same where the peer is too lenient.
const LENIENT: &[(&str, usize)] =
    &[("a shell's own text is taken apart elsewhere", 1), ("what `exec` does is not the parser's", 2)];
