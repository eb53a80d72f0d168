//! Rows O444–O475, edits with their undo, and what counts as a loosening.

use countersign_policy::document::{
    self, EditError, Parsed, Use, apply, loosenings, normalised, parse, resolve, resolve_in_sandbox,
    snapshot, with_uses,
};
use countersign_policy::effective::{BUILT_IN, Requested};
use countersign_policy::meaning::{views, with_fates};
use countersign_protocol::document::Document;
use countersign_protocol::edits::{DocumentEdit, EntryKind, PolicyField};
use countersign_protocol::meaning::{Refusals, Usually};
use countersign_protocol::secret::SocketToken;
use countersign_protocol::trace::PolicyLayer;
use countersign_protocol::vocabulary::{Ask, Security};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn document(value: Value) -> Document {
    let Value::Object(root) = value else { unreachable!("a document is an object") };
    Document(root)
}

fn usable(text: &str) -> Document {
    match parse(Some(text.as_bytes())) {
        Parsed::Usable(document) => document,
        other => unreachable!("{text}: {other:?}"),
    }
}

/// Ids in order, so that what was made can be compared.
fn ids() -> impl FnMut() -> String {
    let mut next = 0;
    move || {
        next += 1;
        format!("id-{next}")
    }
}

fn check_unusable(text: &str) {
    assert!(matches!(parse(Some(text.as_bytes())), Parsed::Unusable(_)), "{text}");
}

fn security_of(document: &Document, agent: &str) -> Security {
    resolve(document, Some(agent), Requested::default()).0.security.value
}

#[test]
fn o444_nothing_stored_is_no_document_and_has_the_hash_of_nothing() {
    assert_eq!(parse(None), Parsed::Missing);
    assert_eq!(document::hash(None), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

#[test]
fn o445_to_o450_what_is_not_understood_is_unusable_and_never_empty() {
    for text in [
        "{broken",
        "",
        "null",
        "[]",
        "{\"version\":2}",
        "{\"version\":1,\"defaults\":{\"security\":\"none\"}}",
        "{\"version\":1,\"defaults\":{\"ask\":\"ON-MISS\"}}",
        "{\"version\":1,\"defaults\":{\"security\":\" full \"}}",
        "{\"version\":1,\"agents\":{\"*\":{\"security\":\"bogus\"}}}",
        "\u{feff}{\"version\":1}",
    ] {
        check_unusable(text);
    }
    assert!(matches!(parse(Some(b"\xff{\"version\":1}")), Parsed::Unusable(_)));
    let deep = format!("{{\"version\":1,\"x\":{}1{}}}", "[".repeat(50_000), "]".repeat(50_000));
    check_unusable(&deep);
}

#[test]
fn o447_o459_a_version_alone_is_the_strict_default() {
    let (policy, rules) = resolve(&usable("{\"version\":1}"), None, Requested::default());
    assert_eq!((policy.security.value, policy.security.layer), (Security::Deny, PolicyLayer::BuiltIn));
    assert_eq!((policy.ask.value, policy.ask_fallback.value), (Ask::OnMiss, Security::Deny));
    assert_eq!(rules, Vec::new());
}

#[test]
fn o451_bare_strings_are_entries() {
    let document =
        usable("{\"version\":1,\"agents\":{\"main\":{\"allowlist\":[\"/a\",{\"pattern\":\"/b\"}]}}}");
    let (_, rules) = resolve(&document, None, Requested::default());
    let patterns: Vec<&str> = rules.iter().map(|rule| rule.pattern.as_str()).collect();
    assert_eq!(patterns, ["/a", "/b"]);
    let normal = normalised(&document, &mut ids());
    assert_eq!(
        normal.0["agents"]["main"]["allowlist"],
        json!([{ "pattern": "/a", "id": "id-1" }, { "pattern": "/b", "id": "id-2" }])
    );
}

#[test]
fn o452_o453_o457_o458_values_of_the_wrong_kind_make_it_unusable() {
    for agents in [
        json!({ "main": { "allowlist": [{ "pattern": " " }] } }),
        json!({ "main": { "allowlist": [{ "pattern": "/a", "lastUsedAt": "now" }] } }),
        json!({ "main": { "allowlist": [{ "pattern": "/a", "source": null }] } }),
        json!({ "main": { "allowlist": [{ "pattern": "/a", "lastResolvedPath": null }] } }),
        json!({ "main": { "mcpTools": [{ "server": "s", "tool": "t", "source": "allow-always", "addedAt": 1, "lastUsedAt": null }] } }),
        json!({ "__proto__": {} }),
        json!({ "main": { "autoAllowSkills": "yes" } }),
        json!({ "main": { "allowlist": [7] } }),
    ] {
        check_unusable(&json!({ "version": 1, "agents": agents }).to_string());
    }
}

#[test]
fn a_use_that_is_null_is_one_that_never_was() {
    let text = |uses: &str| {
        format!(r#"{{"version":1,"agents":{{"main":{{"allowlist":[{{"pattern":"/a"{uses}}}]}}}}}}"#)
    };
    let nulls = usable(&text(r#","lastUsedAt":null,"lastUsedCommand":null"#));
    let (with, without) =
        (views(&nulls, &|_| Refusals::None), views(&usable(&text("")), &|_| Refusals::None));
    assert_eq!(with, without);
    // As the peers do, it stays where it is.
    assert!(document::serialise(&normalised(&nulls, &mut ids())).contains("null"));
}

#[test]
fn o454_unknown_members_stay_everywhere() {
    let text = r#"{"version":1,"new":{"a":1},"socket":{"mode":7},"defaults":{"note":"x"},
        "agents":{"ops":{"color":"red","allowlist":[{"pattern":"/a","id":"1","extra":1}]}}}"#;
    let document = usable(text);
    let edit =
        DocumentEdit::AddEntry { agent: "ops".into(), pattern: "/b".into(), arg_pattern: None, source: None };
    let edited = apply(&document, &[edit], &mut ids()).unwrap().document;
    for (before, after) in [
        (&document.0["new"], &edited.0["new"]),
        (&document.0["socket"], &edited.0["socket"]),
        (&document.0["defaults"], &edited.0["defaults"]),
        (&document.0["agents"]["ops"]["color"], &edited.0["agents"]["ops"]["color"]),
        (&document.0["agents"]["ops"]["allowlist"][0], &edited.0["agents"]["ops"]["allowlist"][0]),
    ] {
        assert_eq!(before, after);
    }
    assert_eq!(document.0.keys().collect::<Vec<_>>(), edited.0.keys().collect::<Vec<_>>());
}

#[test]
fn o455_o456_the_old_name_of_main_still_counts() {
    let both = document(json!({ "version": 1, "agents": {
        "default": { "security": "deny", "allowlist": [{ "pattern": "/A", "id": "2" }] },
        "main": { "allowlist": [{ "pattern": "/a", "id": "1" }] },
    }}));
    assert_eq!(security_of(&both, "main"), Security::Deny);
    let normal = normalised(&both, &mut ids());
    assert_eq!(
        normal.0["agents"],
        json!({ "main": { "security": "deny", "allowlist": [{ "pattern": "/a", "id": "1" }] } })
    );
}

#[test]
fn o462_o464_layers_decide_in_order_and_a_broken_agent_does_not_fall_into_the_wildcard() {
    let layered = document(json!({ "version": 1, "defaults": { "security": "full" }, "agents": {
        "*": { "security": "allowlist", "ask": "off", "allowlist": ["/w"] },
        "x": { "security": "deny", "allowlist": ["/x"] },
        "broken": { "security": "bogus" },
    }}));
    let (policy, rules) = resolve(&layered, Some("x"), Requested::default());
    assert_eq!((policy.security.value, policy.security.layer), (Security::Deny, PolicyLayer::Agent));
    assert_eq!((policy.ask.value, policy.ask.layer), (Ask::Off, PolicyLayer::Wildcard));
    let patterns: Vec<&str> = rules.iter().map(|rule| rule.pattern.as_str()).collect();
    assert_eq!(patterns, ["/w", "/x"]);
    let (policy, _) = resolve(&layered, Some("broken"), Requested::default());
    assert_eq!(policy.security.layer, PolicyLayer::Defaults);
}

#[test]
fn o467_o468_the_socket_survives_a_set_and_the_token_never_leaves() {
    let current = document(json!({ "version": 1, "socket": { "path": "/run/s", "token": "tok-1" } }));
    let merged = document::with_socket_of(&document(json!({ "version": 1 })), &current);
    assert_eq!(merged.0["socket"], current.0["socket"]);
    let redacted = document::serialise(&document::redacted(&merged));
    assert!(redacted.contains("/run/s") && !redacted.contains("tok-1"), "{redacted}");
    let hidden = document(json!({ "version": 1, "socket": { "token": "tok-1", "oldToken": "tok-0" } }));
    assert!(!document::serialise(&document::redacted(&hidden)).contains("tok"));
}

#[test]
fn o469_adding_the_same_entry_twice_stores_it_once_and_trimmed() {
    let add = |pattern: &str| DocumentEdit::AddEntry {
        agent: "main".into(),
        pattern: pattern.into(),
        arg_pattern: None,
        source: None,
    };
    let edited = apply(&document::empty(), &[add(" /usr/bin/x "), add("/usr/bin/x")], &mut ids()).unwrap();
    assert_eq!(
        edited.document.0["agents"]["main"]["allowlist"],
        json!([{ "id": "id-1", "pattern": "/usr/bin/x" }])
    );
}

#[test]
fn o470_o471_a_use_is_noted_where_the_entry_is_and_makes_no_empty_lists() {
    let document = document(json!({ "version": 1, "agents": { "*": { "allowlist": ["/w"] }, "main": {} } }));
    let one = Use {
        agent: "*".into(),
        pattern: "/w".into(),
        arg_pattern: None,
        at_ms: 5,
        command: "w now".into(),
        resolved_path: Some("/w".into()),
    };
    let used = with_uses(&document, &[one]);
    assert_eq!(
        used.0["agents"],
        json!({ "*": { "allowlist": [
            { "pattern": "/w", "lastUsedAt": 5, "lastUsedCommand": "w now", "lastResolvedPath": "/w" }
        ] }, "main": {} })
    );
}

#[test]
fn a_use_of_a_bound_entry_does_not_store_the_command_that_its_hash_stands_for() {
    let arguments = countersign_policy::allowlist::bound_arguments("/srv", &["--token=s3cret".into()]);
    let entry = json!({ "id": "1", "pattern": "/w", "argPattern": arguments, "source": "allow-always" });
    let document = document(json!({ "version": 1, "agents": { "main": { "allowlist": [entry] } } }));
    let one = Use {
        agent: "main".into(),
        pattern: "/w".into(),
        arg_pattern: Some(arguments),
        at_ms: 5,
        command: "w --token=s3cret".into(),
        resolved_path: None,
    };
    let used = document::serialise(&with_uses(&document, &[one]));
    assert!(used.contains("lastUsedAt") && !used.contains("s3cret"), "{used}");
}

#[test]
fn o472_a_first_document_has_the_peers_shape() {
    let mut first = document::empty();
    document::ensure_socket(&mut first, "/run/s", &SocketToken::parse("tok").unwrap());
    let expected = "{\n  \"version\": 1,\n  \"socket\": {\n    \"path\": \"/run/s\",\n    \"token\": \"tok\"\n  },\n  \"defaults\": {},\n  \"agents\": {}\n}\n";
    assert_eq!(document::serialise(&first), expected);
    document::ensure_socket(&mut first, "/other", &SocketToken::parse("other").unwrap());
    assert_eq!(document::serialise(&first), expected);
}

fn delete(agent: &str, entry: &str) -> DocumentEdit {
    DocumentEdit::DeleteEntry { agent: agent.into(), entry: entry.into() }
}

fn rewrite(agent: &str, entry: &str, pattern: &str) -> DocumentEdit {
    DocumentEdit::EditEntry { agent: agent.into(), entry: entry.into(), pattern: pattern.into() }
}

fn set(scope: &str, field: PolicyField, value: Option<&str>) -> DocumentEdit {
    DocumentEdit::SetPolicy { scope: scope.into(), field, value: value.map(Into::into) }
}

#[test]
fn editing_a_generated_entry_makes_it_a_manual_one_with_the_same_id() {
    let entry = json!({ "id": "g", "pattern": "/a", "argPattern": "sha256:cwd-argv:v1:00", "source": "allow-always",
        "lastUsedAt": 1, "lastResolvedPath": "/a", "extra": true });
    let before = document(json!({ "version": 1, "agents": { "main": { "allowlist": [entry] } } }));
    let edited = apply(&before, &[rewrite("main", "g", "/b")], &mut ids()).unwrap();
    let list = &edited.document.0["agents"]["main"]["allowlist"];
    assert_eq!(*list, json!([{ "id": "g", "pattern": "/b", "extra": true }]));
    assert_eq!(apply(&edited.document, &edited.undo, &mut ids()).unwrap().document, before);
}

#[test]
fn deleting_the_last_entry_removes_an_agent_that_says_nothing_else() {
    let before = document(
        json!({ "version": 1, "agents": { "x": { "allowlist": [{ "id": "1", "pattern": "/a" }] } } }),
    );
    let edited = apply(&before, &[delete("x", "1")], &mut ids()).unwrap();
    assert_eq!(edited.document.0["agents"], json!({}));
    assert_eq!(apply(&edited.document, &edited.undo, &mut ids()).unwrap().document, before);
}

#[test]
fn entries_without_an_id_are_found_by_their_position() {
    let before = document(
        json!({ "version": 1, "agents": { "x": { "allowlist": ["/a", { "pattern": "/b", "id": "#0" }, "/c"] } } }),
    );
    let (scopes, _) = views(&before, &|_| Refusals::None);
    let listed: Vec<_> =
        scopes[2].entries.iter().map(|entry| (entry.id.as_str(), entry.pattern.as_str())).collect();
    assert_eq!(listed, [("#0", "/a"), ("#1", "/b"), ("#2", "/c")]);
    let edited = apply(&before, &[delete("x", "#1"), rewrite("x", "#1", "/d")], &mut ids()).unwrap();
    assert_eq!(
        edited.document.0["agents"]["x"]["allowlist"],
        json!(["/a", { "pattern": "/d", "id": "id-1" }])
    );
    assert_eq!(apply(&edited.document, &edited.undo, &mut ids()).unwrap().document, before);
}

#[test]
fn edits_that_make_no_sense_change_nothing_and_say_what_is_wrong() {
    let before = document(json!({ "version": 1 }));
    let check = |edit: DocumentEdit, expected: &str| {
        let error: EditError = apply(&before, std::slice::from_ref(&edit), &mut ids()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{edit:?}");
    };
    let add = |agent: &str, pattern: &str, source: Option<&str>| DocumentEdit::AddEntry {
        agent: agent.into(),
        pattern: pattern.into(),
        arg_pattern: None,
        source: source.map(Into::into),
    };
    check(
        set("x", PolicyField::Ask, Some("sometimes")),
        "ask: expected one of off, on-miss, always, got \"sometimes\"",
    );
    let pattern = "expected a pattern such as /usr/bin/git, not blank and not beginning with =, got";
    check(add("x", " ", None), &format!("{pattern} \" \""));
    let command = "=command:aeeea9528b56de06";
    check(add("x", command, None), &format!("{pattern} {command:?}"));
    check(add("x", "/a", Some("other")), "source: expected one of allow-always, got \"other\"");
    check(add(" ", "/a", None), "agent:  ");
    check(add("__proto__", "/a", None), "agent: __proto__");
    check(add("defaults", "/a", None), "agent: defaults");
    check(delete("x", "1"), "no entry 1 for agent x");
}

#[test]
fn views_show_what_is_set_and_what_is_in_force() {
    let shown = document(json!({ "version": 1, "defaults": { "ask": "always" }, "agents": {
        "ops": { "security": "full", "allowlist": [
            { "id": "1", "pattern": "/usr/bin/*" },
            { "id": "2", "pattern": "git" },
            { "id": "3", "pattern": "*" },
            { "id": "4", "pattern": "=command:aeeea9528b56de06", "source": "allow-always" },
            { "id": "5", "pattern": "=node-command:00", "source": "allow-always" },
            { "id": "6", "pattern": "/a", "source": "allow-always", "lastUsedAt": 7.5 },
        ] },
    }}));
    let (scopes, effective) = views(&shown, &|_| Refusals::None);
    assert_eq!(scopes.iter().map(|scope| scope.scope.as_str()).collect::<Vec<_>>(), ["defaults", "*", "ops"]);
    assert_eq!((scopes[0].ask, scopes[2].security), (Some(Ask::Always), Some(Security::Full)));
    let kinds: Vec<EntryKind> = scopes[2].entries.iter().map(|entry| entry.kind).collect();
    use EntryKind::{Any, ExactCommand, Generated, Marker, Name, Path};
    assert_eq!(kinds, [Path, Name, Any, ExactCommand, Marker, Generated]);
    assert_eq!(scopes[2].entries[5].last_used_at_ms, Some(7));
    let force: Vec<_> =
        effective.iter().map(|view| (view.agent.as_str(), view.security, view.ask_layer)).collect();
    assert_eq!(
        force,
        [("*", Security::Deny, PolicyLayer::Defaults), ("ops", Security::Full, PolicyLayer::Defaults)]
    );
}

#[test]
fn a_snapshot_lists_each_rule_once_in_order() {
    let document = document(json!({ "version": 1, "agents": {
        "*": { "allowlist": ["/b", "/a"] },
        "main": { "allowlist": ["/a", { "pattern": "/a", "argPattern": "^x$", "source": "allow-always" }] },
    }}));
    let rules = snapshot(&document, None).allowlist_rules;
    let listed: Vec<_> = rules.iter().map(|rule| (rule.pattern.as_str(), rule.source.as_deref())).collect();
    assert_eq!(listed, [("/a", None), ("/a", Some("allow-always")), ("/b", None)]);
}

#[test]
fn an_entry_says_what_the_policy_after_the_change_makes_of_it() {
    let document = |ask: &str, allowlist: Value| {
        let defaults = json!({ "security": "allowlist", "ask": ask });
        document(json!({ "version": 1, "defaults": defaults, "agents": { "x": { "allowlist": allowlist } } }))
    };
    for (ask, usually) in [("on-miss", Usually::RestAsks), ("always", Usually::EverythingAsks)] {
        let after = document(ask, json!([{ "pattern": "/a" }]));
        let found = loosenings(&document(ask, json!([])), &after);
        let found = with_fates(&after, &BUILT_IN, found);
        let told: Vec<_> = found.iter().map(|loosening| loosening.usually).collect();
        assert_eq!(told, [Some(usually)], "{ask}");
    }
    let after = document("on-miss", json!([]));
    let looser = with_fates(&after, &BUILT_IN, loosenings(&document("always", json!([])), &after));
    assert!(looser.iter().all(|loosening| loosening.usually.is_none()), "{looser:?}");
}

/// The loosenings as `scope field from>to`.
fn check_in_sandbox(document_says: Value, asked_for: Requested, expected: (Security, Ask, PolicyLayer)) {
    let policy = resolve_in_sandbox(&document(document_says.clone()), Some("x"), asked_for);
    let found = (policy.security.value, policy.ask.value, policy.security.layer);
    assert_eq!(found, expected, "{document_says} {asked_for:?}");
}

#[test]
fn in_a_sandbox_only_a_spelled_out_deny_of_the_document_counts() {
    use PolicyLayer::{Agent, BuiltIn, Defaults, Requested as Asked, Wildcard};
    let nothing = Requested::default();
    let open = Requested { security: Some(Security::Full), ask: Some(Ask::Off) };
    let unsaid = (Security::Allowlist, Ask::OnMiss, BuiltIn);
    for (says, asked_for, expected) in [
        (json!({}), nothing, unsaid),
        (json!({ "defaults": { "security": "full", "ask": "off" } }), nothing, unsaid),
        (json!({ "defaults": { "security": "allowlist", "ask": "always" } }), nothing, unsaid),
        (json!({}), open, (Security::Full, Ask::Off, Asked)),
        (json!({ "defaults": { "ask": "always" } }), open, (Security::Full, Ask::Off, Asked)),
        (json!({ "defaults": { "security": "deny" } }), open, (Security::Deny, Ask::Off, Defaults)),
        (json!({ "agents": { "*": { "security": "deny" } } }), open, (Security::Deny, Ask::Off, Wildcard)),
        (json!({ "agents": { "x": { "security": "deny" } } }), open, (Security::Deny, Ask::Off, Agent)),
        // Of another agent, or taken back for this one.
        (json!({ "agents": { "y": { "security": "deny" } } }), nothing, unsaid),
        (
            json!({ "defaults": { "security": "deny" }, "agents": { "x": { "security": "allowlist" } } }),
            nothing,
            unsaid,
        ),
        // Nobody knows what was meant.
        (json!({ "agents": { "x": { "security": 7 } } }), open, (Security::Deny, Ask::Off, BuiltIn)),
    ] {
        check_in_sandbox(says, asked_for, expected);
    }
}

#[test]
fn in_a_sandbox_the_fallback_of_the_document_never_loosens() {
    let says = document(json!({ "defaults": { "security": "full", "askFallback": "full" } }));
    let policy = resolve_in_sandbox(&says, None, Requested::default());
    assert_eq!(policy.ask_fallback.value, Security::Full);
    assert_eq!(policy.fallen_back().security.value, Security::Allowlist);
}

fn check_loosenings(before: Value, after: Value, expected: &[&str]) {
    let found = loosenings(&document(before.clone()), &document(after.clone()));
    let listed: Vec<String> = found
        .iter()
        .map(|one| match one.field {
            Some(field) => format!("{} {field:?} {}>{}", one.scope, one.from, one.to),
            None => format!("{} + {}", one.scope, one.to),
        })
        .collect();
    assert_eq!(listed, expected, "{before} -> {after}");
}

#[test]
fn a_looser_value_is_reported_once_where_it_reaches_everybody() {
    let with =
        |security: &str| json!({ "defaults": { "security": security }, "agents": { "x": {}, "y": {} } });
    check_loosenings(with("deny"), with("full"), &["* Security deny>full"]);
    check_loosenings(with("full"), with("deny"), &[]);
    check_loosenings(json!({}), with("allowlist"), &["* Security deny>allowlist"]);
}

#[test]
fn an_agent_that_loses_its_own_strictness_is_a_loosening() {
    let strict = json!({ "defaults": { "security": "full" }, "agents": { "x": { "security": "deny", "ask": "always" } } });
    let gone = json!({ "defaults": { "security": "full" } });
    check_loosenings(strict, gone, &["x Security deny>full", "x Ask always>on-miss"]);
}

#[test]
fn an_added_widened_or_moved_entry_is_a_loosening_only_where_it_was_not_before() {
    let list = |agent: &str, entry: Value| json!({ "agents": { agent: { "allowlist": [entry] } } });
    let narrow = json!({ "pattern": "/a", "argPattern": "^x$" });
    check_loosenings(json!({}), list("x", json!("/a")), &["x + /a"]);
    check_loosenings(list("x", narrow), list("x", json!("/a")), &["x + /a"]);
    check_loosenings(list("x", json!("/a")), list("*", json!("/a")), &["* + /a"]);
    check_loosenings(list("*", json!("/a")), list("x", json!("/a")), &[]);
    check_loosenings(list("x", json!("/a")), list("x", json!({ "pattern": " /a", "id": "n" })), &[]);
    check_loosenings(list("default", json!("/a")), list("main", json!("/a")), &[]);
    check_loosenings(list("x", json!("/a")), json!({}), &[]);
    let generated = json!({ "pattern": "=command:00", "source": "allow-always" });
    let manual = json!({ "pattern": "=command:00" });
    check_loosenings(list("x", manual), list("x", generated), &["x + =command:00 (allow-always)"]);
}

#[test]
fn a_looser_fallback_and_trust_in_skills_are_loosenings() {
    let after = json!({ "agents": { "*": { "askFallback": "full", "autoAllowSkills": true } } });
    check_loosenings(json!({}), after, &["* AskFallback deny>full", "* AutoAllowSkills false>true"]);
}
