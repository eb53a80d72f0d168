//! Inputs for the property tests.

use super::{CWD, World, person, rule, workspace};
use countersign_policy::evaluate::{Answer, Origin};
use countersign_protocol::document::Document;
use countersign_protocol::edits::{DocumentEdit, PolicyField};
use countersign_protocol::rules::Attendance;
use countersign_protocol::vocabulary::{Ask, Decision, Security};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

pub(crate) fn security() -> impl Strategy<Value = Security> {
    prop::sample::select(Security::ALL)
}

pub(crate) fn ask() -> impl Strategy<Value = Ask> {
    prop::sample::select(Ask::ALL)
}

pub(crate) fn decision() -> impl Strategy<Value = Decision> {
    prop::sample::select(Decision::ALL)
}

pub(crate) fn origin() -> impl Strategy<Value = Origin> {
    prop_oneof![
        Just(Origin::Fresh),
        Just(Origin::AskFallback),
        Just(Origin::AutoReview),
        decision().prop_map(Origin::Forwarded),
    ]
}

pub(crate) fn answer() -> impl Strategy<Value = Option<Answer>> {
    option::of(prop_oneof![Just(Answer::Nobody), decision().prop_map(person)])
}

/// Texts in which what matters is likely: blanks, quotes, hidden characters, foreign letters, secrets.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => any::<char>().prop_map(String::from),
        4 => "[ -~]{0,6}",
        1 => prop::sample::select(
            &["\u{202e}", "\u{200b}", "\\", "\"", "'", "\\u{41}", "\u{301}\u{301}\u{301}\u{301}\u{301}", "\u{e0041}", "\r\n",
              "p\u{430}ypal", "\u{ff0f}", "--token=", "Bearer abcdefgh12345", "ghp_0123456789abcdefghij", "••••••••", "\u{0}"][..]
        ).prop_map(str::to_owned),
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

pub(crate) fn pattern() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(&["/usr/bin/scan", "/usr/bin/*", "/usr/**", "scan", "s*", "*", "**", "/usr/bin/s?an", "/opt/x"][..])
            .prop_map(str::to_owned),
        "[/a-z*?]{0,12}",
    ]
}

pub(crate) fn world() -> impl Strategy<Value = World> {
    let argv = prop::sample::select(COMMANDS);

    let attendance = prop::sample::select(&[Attendance::Attended, Attendance::Unattended][..]);
    let open = option::of(attendance);
    (argv, security(), ask(), security(), vec(pattern(), 0..4), any::<bool>(), origin(), open).prop_map(
        |(argv, security, ask, fallback, patterns, unusual, origin, open)| {
            let mut world = World::new(argv, security, ask).with_fallback(fallback).from(origin);
            world.rules = patterns.iter().map(|pattern| rule(pattern)).collect();
            world.open = open.map(|attendance| workspace(CWD, attendance));
            world.unusual_env = if unusual { vec!["ODD".into()] } else { Vec::new() };
            world
        },
    )
}

/// Commands of every kind that analysis tells apart.
const COMMANDS: &[&[&str]] = &[
    &["scan", "-q"],
    &["sh", "-c", "scan -q"],
    &["bash", "-c", "scan"],
    &["env", "scan"],
    &["/usr/bin/scan"],
    &["scan", "a b", ""],
    &["python3", "x.py"],
    &["sh", "-lc", "scan"],
];

/// An entry, well-formed and mostly with a member that nobody knows.
fn entry() -> impl Strategy<Value = Value> {
    let arguments = option::of(prop::sample::select(&["^a$", "", "x"][..]));
    (pattern(), option::of("[a-c]"), arguments, any::<bool>(), any::<bool>()).prop_map(
        |(pattern, id, arguments, generated, bare)| {
            let pattern = if pattern.trim().is_empty() { "/a".to_owned() } else { pattern };
            if bare {
                return Value::String(pattern);
            }
            let mut entry = json!({ "pattern": pattern, "kept": 1 });
            if let Some(id) = id {
                entry["id"] = id.into();
            }
            if let Some(arguments) = arguments {
                entry["argPattern"] = arguments.into();
            }
            if generated {
                entry["source"] = "allow-always".into();
            }
            entry
        },
    )
}

/// Defaults or an agent.
fn scope() -> impl Strategy<Value = Value> {
    let values =
        (option::of(security()), option::of(ask()), option::of(security()), option::of(any::<bool>()));
    (values, vec(entry(), 0..4)).prop_map(|((security, ask, fallback, skills), entries)| {
        let mut scope = json!({ "note": "kept" });
        let values = [
            ("security", json!(security)),
            ("ask", json!(ask)),
            ("askFallback", json!(fallback)),
            ("autoAllowSkills", json!(skills)),
        ];
        for (name, value) in values {
            if !value.is_null() {
                scope[name] = value;
            }
        }
        if !entries.is_empty() {
            scope["allowlist"] = entries.into();
        }
        scope
    })
}

/// Usable documents.
pub(crate) fn documents() -> impl Strategy<Value = Document> {
    let names = prop::sample::select(&["*", "main", "ops", "default"][..]);
    let agents = prop::collection::btree_map(names, scope(), 0..4);
    (scope(), agents, any::<bool>()).prop_map(|(mut defaults, agents, bare)| {
        if let Some(members) = defaults.as_object_mut() {
            members.remove("allowlist");
        }
        let document = if bare {
            json!({ "version": 1, "agents": agents })
        } else {
            json!({ "version": 1, "other": true, "defaults": defaults, "agents": agents })
        };
        let Value::Object(root) = document else { unreachable!("made as an object") };
        Document(root)
    })
}

/// Edits, many of which fit.
pub(crate) fn edit() -> impl Strategy<Value = DocumentEdit> {
    let agent =
        || prop::sample::select(&["*", "main", "ops", "default", "fresh"][..]).prop_map(str::to_owned);
    let entry = || prop::sample::select(&["a", "b", "c", "#0", "#1", "#2"][..]).prop_map(str::to_owned);
    let scope = prop::sample::select(&["defaults", "*", "main", "ops", "fresh"][..]).prop_map(str::to_owned);
    let policy = prop_oneof![
        option::of(security()).prop_map(|value| (PolicyField::Security, value.map(|v| v.to_string()))),
        option::of(security()).prop_map(|value| (PolicyField::AskFallback, value.map(|v| v.to_string()))),
        option::of(ask()).prop_map(|value| (PolicyField::Ask, value.map(|v| v.to_string()))),
        option::of(any::<bool>())
            .prop_map(|value| (PolicyField::AutoAllowSkills, value.map(|v| v.to_string()))),
    ];
    prop_oneof![
        (scope, policy).prop_map(|(scope, (field, value))| DocumentEdit::SetPolicy { scope, field, value }),
        (agent(), pattern(), option::of(Just("^a$".to_owned())), any::<bool>()).prop_map(
            |(agent, pattern, arg_pattern, generated)| {
                DocumentEdit::AddEntry {
                    agent,
                    pattern,
                    arg_pattern,
                    source: generated.then(|| "allow-always".to_owned()),
                }
            }
        ),
        (agent(), entry(), pattern()).prop_map(|(agent, entry, pattern)| DocumentEdit::EditEntry {
            agent,
            entry,
            pattern
        }),
        (agent(), entry()).prop_map(|(agent, entry)| DocumentEdit::DeleteEntry { agent, entry }),
    ]
}
