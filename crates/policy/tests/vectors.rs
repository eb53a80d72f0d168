//! Cases whose expected results came from running published peers (`tests/vectors/*.jsonl`). Where this crate
//! refuses what a peer accepts the ids or classes are listed with the reason; nowhere does it accept what the
//! newest peer refuses.

use crate::support::documented;
use countersign_commands::environment;
use countersign_commands::raw_command;
use countersign_policy::allowlist::{self, Entry, Target};
use countersign_policy::document::{self, Parsed};
use countersign_policy::effective::{BUILT_IN, Layered, Requested};
use countersign_policy::evaluate::{Covered, needs_prompt};
use countersign_policy::facts::ProgramFacts;
use countersign_policy::{currency, display};
use countersign_protocol::document::Document;
use countersign_protocol::secret::SocketToken;
use countersign_protocol::shown::SpanKind;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::{Ask, Security};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Where the peers' fixture tree was, for cases that name it.
const ROOT: &str = "/fx";

/// What our side says about a case.
enum Ours {
    /// The members of `expect` that it can speak about.
    Says(Value),
    /// It refuses, or knows nothing of this, for this reason.
    Differs(&'static str),
}

/// Runs every case of a file. `deviations` pairs reasons with the number of cases that differ for them.
fn check(file: &str, run: fn(&Value) -> Ours, deviations: &[(&'static str, usize)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors").join(file);
    let text = std::fs::read_to_string(path).unwrap().replace("$FX", ROOT);
    let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut agreed = 0;
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        match run(&case) {
            Ours::Differs(reason) => *counted.entry(reason).or_default() += 1,
            Ours::Says(ours) => {
                let differs = ours
                    .as_object()
                    .unwrap()
                    .iter()
                    .any(|(name, value)| case["expect"].get(name) != Some(value));
                if differs {
                    wrong.push(format!(
                        "{} {}\n  expected {}\n  got {ours}",
                        case["id"], case["input"], case["expect"]
                    ));
                } else {
                    agreed += 1;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {file} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(agreed > 0, "no case of {file} says anything");
    assert_eq!(counted, deviations.iter().copied().collect(), "{file}: deviations and how often");
}

#[test]
fn matching_agrees_with_the_newest_peer() {
    check("match-pattern.jsonl", run_matching, &[]);
}

fn run_matching(case: &Value) -> Ours {
    let input = &case["input"];
    let rules = rules(&input["entries"]);
    let target = &input["target"];
    let program = ProgramFacts {
        path: target["path"].as_str().map(PathBuf::from),
        real_path: target["realPath"].as_str().map(PathBuf::from),
        ..ProgramFacts::default()
    };
    let argv = strings(&input["argv"]);
    let args = argv.get(1..).unwrap_or_default();
    let home = PathBuf::from(format!("{ROOT}/home"));
    let target = Target {
        typed: target["typed"].as_str().unwrap_or_default(),
        program: &program,
        args,
        cwd: input["cwd"].as_str(),
        home: &home,
    };
    let index = allowlist::matching(&rules, target);
    Ours::Says(json!({ "matches": index.is_some(), "index": index }))
}

fn rules(entries: &Value) -> Vec<Entry> {
    let entries = entries.as_array().into_iter().flatten();
    entries
        .map(|entry| Entry {
            agent: "main".into(),
            id: String::new(),
            pattern: entry.as_str().or_else(|| entry["pattern"].as_str()).unwrap_or_default().into(),
            arg_pattern: entry["argPattern"].as_str().map(Into::into),
            generated: entry["source"] == "allow-always",
        })
        .collect()
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap().to_owned()).collect()
}

#[test]
fn hashes_agree_with_the_peers() {
    check("hash.jsonl", run_hash, HASHES);
}

fn run_hash(case: &Value) -> Ours {
    let input = &case["input"];
    let value = match input["fn"].as_str().unwrap() {
        "command" => allowlist::exact_command(input["text"].as_str().unwrap()),
        "cwd-argv" if input["platform"] == "win32" => return Ours::Differs("Windows paths"),
        "cwd-argv" => {
            let argv = strings(&input["argv"]);
            allowlist::bound_arguments(input["cwd"].as_str().unwrap(), argv.get(1..).unwrap_or_default())
        }
        _ => return Ours::Differs("of the socket, tested where the key is"),
    };
    Ours::Says(json!({ "value": value }))
}

#[test]
fn policies_combine_as_the_peers_combine_them() {
    check("policy.jsonl", run_policy, POLICIES);
}

fn run_policy(case: &Value) -> Ours {
    let input = &case["input"];
    let word = |name: &str| input[name].as_str().unwrap_or_default();
    let mut policy = BUILT_IN;
    let requested = match input["fn"].as_str().unwrap() {
        "min-security" => {
            policy.security.value = word("a").parse().unwrap();
            Requested { security: word("b").parse().ok(), ask: None }
        }
        "max-ask" => {
            policy.ask.value = word("a").parse().unwrap();
            Requested { security: None, ask: word("b").parse().ok() }
        }
        _ => return Ours::Differs("modes belong to a gateway's configuration"),
    };
    let hardened = policy.hardened(requested);
    let value =
        if input["fn"] == "max-ask" { hardened.ask.value.as_str() } else { hardened.security.value.as_str() };
    Ours::Says(json!({ "value": value }))
}

#[test]
fn prompts_are_needed_where_the_peers_need_them() {
    check("requires-approval.jsonl", run_requires_approval, PROMPTS);
}

fn run_requires_approval(case: &Value) -> Ours {
    let input = &case["input"];
    let rules = rules(&input["allowlist"]);
    let exact = || allowlist::exact_grant(&rules, input["commandText"].as_str().unwrap()).is_some();
    match input["kind"].as_str() {
        Some("decisions") => Ours::Differs("what a card offers, tested where cards are made"),
        Some(_)
            if input["allowlist"]
                .as_array()
                .unwrap()
                .iter()
                .any(|entry| entry["commandText"].is_string()) =>
        {
            Ours::Differs("a legacy member that the peers remove on reading grants nothing here")
        }
        Some("exact-command") => Ours::Says(json!({ "durable": exact() })),
        Some(_) => {
            let entries = input["segmentEntries"].as_array().unwrap();
            let all = !entries.is_empty() && entries.iter().all(|entry| entry["source"] == "allow-always");
            Ours::Says(json!({ "durable": exact() || (input["analysisOk"] == true && all) }))
        }
        None => {
            let covered =
                (input["analysisOk"] == true && input["satisfied"] == true) || input["durable"] == true;
            let covered = if covered { Covered::ByRules } else { Covered::No };
            let security = input["security"].as_str().unwrap().parse::<Security>().unwrap();
            let ask = input["ask"].as_str().unwrap().parse::<Ask>().unwrap();
            Ours::Says(json!({ "required": needs_prompt(security, ask, covered) }))
        }
    }
}

#[test]
fn environments_are_cleaned_as_the_newest_peer_cleans_them() {
    check("env-override.jsonl", run_environment, ENVIRONMENT);
}

fn run_environment(case: &Value) -> Ours {
    let input = &case["input"];
    let (key, value) =
        (input["key"].as_str().unwrap().to_owned(), input["value"].as_str().unwrap().to_owned());
    let says = |verdict: &str, key: Option<String>, value: Option<String>| {
        Ours::Says(json!({ "verdict": verdict, "key": key, "value": value }))
    };
    if input["scope"] == "inherited" {
        return match environment::inherited([(key, value)]).pop_first() {
            Some((key, value)) => says("kept", Some(key), Some(value)),
            None => says("removed", None, None),
        };
    }
    let is_shell = input["shellWrapper"] == true;
    let target = if is_shell { environment::Target::ShellWrapper } else { environment::Target::Program };
    match environment::overrides(&BTreeMap::from([(key, value)]), target) {
        Ok(mut checked) => match checked.accepted.pop_first() {
            Some((key, value)) => says(if is_shell { "kept" } else { "accepted" }, Some(key), Some(value)),
            None => says("dropped", None, None),
        },
        Err(_) if is_shell && case["expect"]["verdict"] == "dropped" => {
            Ours::Differs("a blocked name is refused before a shell could drop it")
        }
        Err(rejected) => match rejected.blocked.into_iter().next() {
            Some(key) => says("blocked", Some(key), None),
            None => says("invalid", rejected.invalid.into_iter().next(), None),
        },
    }
}

#[test]
fn raw_commands_agree_with_the_newest_peer() {
    check("raw-command.jsonl", run_raw_command, RAW_COMMANDS);
}

fn run_raw_command(case: &Value) -> Ours {
    let input = &case["input"];
    if input["version"] == "2026.2.19" {
        return Ours::Differs("an older contract, looser than the newest one");
    }
    match raw_command::check(&strings(&input["argv"]), input["rawCommand"].as_str()) {
        Ok(agreed) => Ours::Says(json!({ "ok": true, "commandText": agreed.command_text })),
        Err(_) if case["expect"]["ok"] == true => {
            Ours::Differs("a payload behind a wrapper or an uncommon shell does not stand for the command")
        }
        Err(mismatch) if input["argv"] == json!([]) => {
            let _ = mismatch;
            Ours::Says(json!({ "ok": false }))
        }
        Err(mismatch) => Ours::Says(json!({ "ok": false, "message": mismatch.to_string() })),
    }
}

#[test]
fn shown_text_hides_at_least_what_the_peers_hide() {
    check("display.jsonl", run_display, DISPLAY);
}

fn run_display(case: &Value) -> Ours {
    let (input, expect) = (&case["input"], &case["expect"]);
    let text = input["text"].as_str().unwrap_or_default();
    match input["kind"].as_str().unwrap() {
        "output-tail" => {
            let max = usize::try_from(input["max"].as_u64().unwrap()).unwrap();
            let ours = display::output_tail(text, max);
            if text.chars().any(|c| c.len_utf16() == 2) {
                return Ours::Differs("characters are counted here, UTF-16 units there");
            }
            Ours::Says(json!({ "text": ours }))
        }
        "command" if expect["truncated"] == true || expect["oversized"] == true => {
            Ours::Differs("nothing is cut here: what is too long cannot be allowed")
        }
        "command" => {
            let ours = peer_form(text);
            let theirs = expect["text"].as_str().unwrap();
            if ours != theirs && hides_more(&ours, theirs) {
                return Ours::Differs("more is hidden here");
            }
            Ours::Says(json!({ "text": ours }))
        }
        _ => Ours::Differs("previews and warnings of a gateway are not shown"),
    }
}

/// Spans written as the peers write a command.
fn peer_form(text: &str) -> String {
    let shown = display::shown(text, display::Secrets::Show);
    assert_eq!(display::original(&shown).as_deref(), Some(text));
    let span = |span: &countersign_protocol::shown::Span| match span.kind {
        SpanKind::Escape | SpanKind::Layout => {
            format!("\\u{{{}}}", span.text.trim_start_matches("U+").trim_start_matches('0'))
        }
        SpanKind::Plain | SpanKind::Lookalike | SpanKind::Space | SpanKind::Secret => span.text.clone(),
    };
    shown.spans.iter().map(span).collect::<String>().replace("\\u{}", "\\u{0}")
}

/// Whether everything that `theirs` writes as a code is one in `ours` too.
fn hides_more(ours: &str, theirs: &str) -> bool {
    let codes = |text: &str| text.matches("\\u{").count();
    codes(ours) > codes(theirs)
}

#[test]
fn documents_mean_what_the_peers_take_them_to_mean() {
    check("document.jsonl", run_document, DOCUMENTS);
}

fn run_document(case: &Value) -> Ours {
    let input = &case["input"];
    if ["DO-d0165", "DO-d0166"].contains(&case["id"].as_str().unwrap()) {
        return Ours::Differs(
            "a use that an older release left null is absent, as the newest one imports it",
        );
    }
    if ["DO-d0183", "DO-d0235", "DO-d0307", "DO-d0313"].contains(&case["id"].as_str().unwrap()) {
        return Ours::Differs("the older release keeps what the newest one drops, and the reverse");
    }
    match input["action"].as_str().unwrap() {
        "load" => load(case),
        "resolve" => resolve(case),
        "normalise" => {
            Ours::Says(json!({ "document": normal(&input["document"], &case["expect"]["document"]) }))
        }
        "redact" => {
            let redacted = document::redacted(&normalised(&input["document"]));
            Ours::Says(json!({ "document": without_unknown(redacted, &case["expect"]["document"]) }))
        }
        "serialise" => {
            let expected: Value = serde_json::from_str(case["expect"]["text"].as_str().unwrap()).unwrap();
            let Value::Object(document) = normal(&input["document"], &expected) else { unreachable!() };
            Ours::Says(json!({ "text": document::serialise(&Document(document)) }))
        }
        "merge-socket" => merge_socket(case),
        "snapshot" => {
            let document =
                with_built_in(&input["document"], &Value::Null, input["version"].as_str().unwrap());
            let snapshot = document::snapshot(&document, input["agentId"].as_str());
            Ours::Says(json!({ "snapshot": snapshot }))
        }
        _ => {
            let snapshot = |name: &str| {
                let document = with_built_in(&input[name], &Value::Null, input["version"].as_str().unwrap());
                document::snapshot(&document, input["agentId"].as_str())
            };
            let current = currency::still_current(&snapshot("before"), &snapshot("after")).is_ok();
            Ours::Says(json!({ "current": current }))
        }
    }
}

fn load(case: &Value) -> Ours {
    let (input, expect) = (&case["input"], &case["expect"]);
    let text = input["text"].as_str();
    let mut ours = Map::new();
    ours.insert("exists".into(), text.is_some().into());
    if text.is_some() || input["version"] == "2026.2.19" {
        ours.insert("hash".into(), document::hash(text.map(str::as_bytes)).into());
    }
    let valid = match document::parse(text.map(str::as_bytes)) {
        Parsed::Unusable(_) if input["version"] == "2026.2.19" => {
            return Ours::Differs(
                "an unusable document denies everything instead of being taken for an empty one",
            );
        }
        Parsed::Unusable(_) => false,
        Parsed::Missing => true,
        Parsed::Usable(document) => {
            let document = normal(&Value::Object(document.0), &expect["document"]);
            ours.insert("document".into(), document);
            true
        }
    };
    if input["version"] == "2026.9.6" {
        ours.insert("valid".into(), valid.into());
    }
    Ours::Says(Value::Object(ours))
}

fn resolve(case: &Value) -> Ours {
    let (input, expect) = (&case["input"], &case["expect"]);
    let document = match document::parse(input["text"].as_str().map(str::as_bytes)) {
        Parsed::Missing => json!({}),
        Parsed::Usable(document) => Value::Object(document.0),
        Parsed::Unusable(_) if expect["agent"]["security"] == "deny" => {
            return Ours::Differs(
                "an unusable document denies everything, asks nobody and has no values to compare",
            );
        }
        Parsed::Unusable(_) => {
            return Ours::Differs(
                "an unusable document denies everything instead of being taken for an empty one",
            );
        }
    };
    let document = with_built_in(&document, &input["overrides"], input["version"].as_str().unwrap());
    if input["agentId"].is_null() && input["version"] == "2026.9.6" {
        return Ours::Differs("a request without an agent is the main agent's");
    }
    let (policy, rules) = document::resolve(&document, input["agentId"].as_str(), Requested::default());
    let patterns: Vec<&str> = rules.iter().map(|rule| rule.pattern.trim()).collect();
    let mut expected: Vec<&str> = expect["patterns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pattern| pattern.as_str().unwrap().trim())
        .collect();
    if input["agentId"] == "*" {
        // The peers list the entries of `*` twice for an agent of that name.
        expected.truncate(expected.len() / 2);
    }
    assert_eq!(patterns, expected, "{}", case["id"]);
    Ours::Says(json!({ "agent": {
        "security": policy.security.value,
        "ask": policy.ask.value,
        "askFallback": policy.ask_fallback.value,
        "autoAllowSkills": policy.auto_allow_skills,
    }}))
}

fn merge_socket(case: &Value) -> Ours {
    let input = &case["input"];
    let object = |name: &str| Document(input[name].as_object().cloned().unwrap_or_default());
    if case["expect"]["socket"]["token"] == "" {
        return Ours::Differs("a missing token is made at once instead of being stored blank");
    }
    let mut merged = document::with_socket_of(&object("incoming"), &object("current"));
    let token = SocketToken::parse("<generated>").unwrap();
    document::ensure_socket(&mut merged, &format!("{ROOT}/home/.openclaw/exec-approvals.sock"), &token);
    let (path, token) = document::socket(&merged);
    Ours::Says(json!({ "socket": { "path": path, "token": token.unwrap().expose() } }))
}

fn normalised(value: &Value) -> Document {
    let document = Document(value.as_object().cloned().unwrap_or_default());
    document::normalised(&document, &mut || "<uuid>".into())
}

fn normal(value: &Value, expected: &Value) -> Value {
    without_unknown(normalised(value), expected)
}

/// The peers drop unknown members of the root, the socket and the defaults; here they stay. Known
/// ones must agree.
fn without_unknown(document: Document, expected: &Value) -> Value {
    let mut root = document.0;
    root.retain(|name, _| {
        expected.get(name).is_some() || ["version", "socket", "defaults", "agents"].contains(&name.as_str())
    });
    let known = ["path", "token", "security", "ask", "askFallback", "autoAllowSkills"];
    for part in ["socket", "defaults"] {
        if let Some(Value::Object(members)) = root.get_mut(part) {
            members.retain(|name, _| known.contains(&name.as_str()));
        }
    }
    Value::Object(root)
}

/// The document with a peer's built-in values, or those of its configuration, written out as defaults:
/// ours are stricter.
fn with_built_in(value: &Value, overrides: &Value, version: &str) -> Document {
    let mut document = Document(value.as_object().cloned().unwrap_or_default());
    let newest = version == "2026.9.6";
    let built_in = [
        ("security", json!(if newest { "full" } else { "deny" })),
        ("ask", json!(if newest { "off" } else { "on-miss" })),
        ("askFallback", json!("deny")),
        ("autoAllowSkills", json!(false)),
    ];
    let defaults = document.0.entry("defaults").or_insert_with(|| json!({})).as_object_mut().unwrap();
    for (name, value) in built_in {
        let value = overrides.get(name).cloned().unwrap_or(value);
        defaults.entry(name).or_insert(value);
    }
    document
}

#[test]
fn built_in_values_are_the_strict_ones() {
    let built_in = |value| Layered { value, layer: PolicyLayer::BuiltIn };
    let (policy, rules) = document::resolve(&document::empty(), None, Requested::default());
    assert_eq!(policy.security, built_in(Security::Deny));
    assert_eq!(policy.ask_fallback, built_in(Security::Deny));
    assert_eq!(policy.ask.value, Ask::OnMiss);
    assert!(rules.is_empty() && !policy.auto_allow_skills);
}

#[test]
fn every_deviation_is_documented() {
    let all = [DISPLAY, DOCUMENTS, ENVIRONMENT, HASHES, POLICIES, PROMPTS, RAW_COMMANDS];
    assert_eq!(documented::counts("library"), documented::asserted(&all));
}

/// Reasons for differing from the peers, each with the number of cases.
type Deviations = &'static [(&'static str, usize)];

const DISPLAY: Deviations = &[
    ("characters are counted here, UTF-16 units there", 3),
    ("more is hidden here", 8),
    ("nothing is cut here: what is too long cannot be allowed", 4),
    ("previews and warnings of a gateway are not shown", 55),
];

const DOCUMENTS: Deviations = &[
    ("a missing token is made at once instead of being stored blank", 2),
    ("a request without an agent is the main agent's", 5),
    ("a use that an older release left null is absent, as the newest one imports it", 2),
    ("an unusable document denies everything instead of being taken for an empty one", 41),
    ("an unusable document denies everything, asks nobody and has no values to compare", 59),
    ("the older release keeps what the newest one drops, and the reverse", 4),
];

const ENVIRONMENT: Deviations = &[("a blocked name is refused before a shell could drop it", 1)];

const HASHES: Deviations = &[("Windows paths", 2), ("of the socket, tested where the key is", 17)];

const POLICIES: Deviations = &[("modes belong to a gateway's configuration", 3)];

const PROMPTS: Deviations = &[
    ("what a card offers, tested where cards are made", 8),
    ("a legacy member that the peers remove on reading grants nothing here", 5),
];

const RAW_COMMANDS: Deviations = &[
    ("a payload behind a wrapper or an uncommon shell does not stand for the command", 10),
    ("an older contract, looser than the newest one", 29),
];
