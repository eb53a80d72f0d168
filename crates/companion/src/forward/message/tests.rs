//! What is told, read back as JSON.

use super::*;
use countersign_approvals::book::{Request, RequestedBy};
use countersign_policy::analysis::analyze_text;
use countersign_protocol::ui::{Card, EnvOverride, HostView, OnExpiry, PolicyLayer, Why, WhyReason};
use countersign_protocol::vocabulary::{Ask, Security};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A request to run this list here, at time 0 for a minute.
pub(in crate::forward) fn request(argv: &[&str]) -> Request {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    let plain = |text: &str| display::shown(text, display::Secrets::Show);
    let card = Card {
        id: String::new(),
        generation: 1,
        kind: CardKind::Exec,
        via: Via::Socket,
        gateway: None,
        agent: plain("coder"),
        session: Some(plain("agent:coder:main")),
        peer: None,
        host: HostView { kind: HostKind::ThisMachine, name: None },
        created_at_ms: 0,
        expires_at_ms: 0,
        on_expiry: OnExpiry::NotRun,
        command: display::command_view(&argv, &[]),
        facts: vec![Fact::Folder { path: plain("/work"), given: None }],
        why: Why {
            reason: WhyReason::AllowlistMiss,
            opaque: None,
            cause: None,
            unbound: None,
            segments: Vec::new(),
            security: Security::Allowlist,
            ask: Ask::OnMiss,
            layer: PolicyLayer::BuiltIn,
            entries_checked: 0,
            trace: Vec::new(),
        },
        decisions: vec![Decision::AllowOnce, Decision::AllowAlways, Decision::Deny],
        always: Vec::new(),
        always_unavailable: None,
        allow_blocked: None,
    };
    Request {
        card,
        proposals: Vec::new(),
        choices: Vec::new(),
        agent: "coder".to_owned(),
        session: Some("agent:coder:main".to_owned()),
    }
}

fn text_request(text: &str) -> Request {
    let mut request = request(&["x"]);
    request.card.command = display::text_view(text, &analyze_text(text));
    request
}

fn record(request: Request) -> Record {
    let wait = std::time::Duration::from_secs(60);
    Record::create(request, wait, Some("r-1"), RequestedBy::default(), 1_000, String::new)
}

fn body(record: &Record, what: What<'_>) -> Value {
    let message = Message::new(record, what, "d-1".to_owned(), 5_000, Sample::No);
    serde_json::from_slice(&message.body).unwrap()
}

#[test]
fn a_request_is_told_as_a_person_sees_it() {
    let expected = json!({
        "version": 1, "type": "requested", "deliveryId": "d-1", "atMs": 5_000, "sample": false,
        "request": {
            "id": "r-1", "kind": "exec", "via": "socket", "command": "rm -rf 'my build'", "exact": true,
            "cwd": "/work", "host": "this-machine", "agentId": "coder", "sessionKey": "agent:coder:main",
            "environmentNames": [], "decisions": ["allow-once", "allow-always", "deny"],
            "createdAtMs": 1_000, "expiresAtMs": 61_000,
        },
    });
    assert_eq!(body(&record(request(&["rm", "-rf", "my build"])), What::Requested), expected);
}

#[test]
fn every_end_has_words_of_its_own() {
    let record = record(request(&["ls"]));
    let check = |ending: Ending, r#type: &str, expected: Value| {
        let body = body(&record, What::Ended(&ending));
        assert_eq!((&body["type"], &body["ending"]), (&json!(r#type), &expected), "{ending:?}");
    };
    let by = "window".to_owned();
    let decided = |decision| Ending::Decided { decision, by: by.clone() };
    let resolved = |decision: &str| json!({"decision": decision, "resolvedBy": "window", "elsewhere": false});
    check(decided(Decision::AllowOnce), "resolved", resolved("allow-once"));
    check(decided(Decision::Deny), "resolved", resolved("deny"));
    let elsewhere = Ending::Elsewhere { decision: None, by: Some("A\u{202e}b".to_owned()) };
    check(elsewhere, "resolved", json!({"resolvedBy": "A\\u{202E}b", "elsewhere": true}));
    check(Ending::Expired, "expired", Value::Null);
    check(Ending::NotShown, "cancelled", json!({"cause": "not-shown"}));
    check(Ending::Cancelled(CancelCause::Shutdown), "cancelled", json!({"cause": "shutdown"}));
    assert_eq!(body(&record, What::Lost)["ending"], json!({"cause": "unknown"}));
}

#[test]
fn t08_only_a_command_that_is_told_whole_counts_as_such() {
    let check = |request: Request, text: &str, whole: bool| {
        let record = record(request);
        let told = told(&record);
        assert_eq!((told.text.as_str(), is_told_whole(&record)), (text, whole));
    };
    check(request(&["ls", "a b", "it's"]), "ls 'a b' 'it'\\''s'", true);
    check(request(&["sh", "-c", "echo a && rm b"]), "sh -c 'echo a && rm b'", true);
    check(text_request("echo a\n\techo b"), "echo a\n\techo b", true);
    // Something is masked, or written as a code, or not told at all.
    check(request(&["curl", "--password", "hunter2hunter2"]), "curl --password ••••••••", false);
    check(request(&["ls", "a\u{202e}b"]), "ls \"a\\u{202E}b\"", false);
    check(text_request("ls \u{1b}[2J"), "ls \\u{1B}[2J", false);
    let mut variables = request(&["ls"]);
    let plain = |text: &str| display::shown(text, display::Secrets::Show);
    let overrides = vec![EnvOverride { name: plain("PAGER"), value: plain("evil") }];
    variables.card.facts.push(Fact::Environment { overrides });
    check(variables, "ls", false);
    let mut other = request(&["rm"]);
    other.card.facts.push(Fact::OtherText { text: plain("ls") });
    check(other, "rm", false);
    let long = "x".repeat(MAX_COMMAND + 1);
    let told_long = told(&record(request(&["echo", &long])));
    assert!(!told_long.exact && told_long.text.len() <= MAX_COMMAND && told_long.text.ends_with(CUT));
}

#[test]
fn t03_no_secret_and_no_value_of_a_variable_is_told() {
    let mut request = request(&["curl", "-H", "Authorization: Bearer sk-verysecretverysecret1234567890"]);
    let plain = |text: &str| display::shown(text, display::Secrets::Show);
    let overrides = vec![EnvOverride { name: plain("API_KEY"), value: plain("alsosecret") }];
    request.card.facts.push(Fact::Environment { overrides });
    let body = body(&record(request), What::Requested);
    let text = body.to_string();
    assert!(!text.contains("verysecret") && !text.contains("alsosecret"), "{text}");
    assert_eq!(body["request"]["environmentNames"], json!(["API_KEY"]));
}

#[test]
fn t09_nothing_hidden_is_told_as_it_is() {
    let mut hostile = request(&["ls"]);
    hostile.card.agent = display::shown("a\u{202e}\u{7}b", display::Secrets::Show);
    hostile.card.session = Some(display::shown(&"\u{200b}".repeat(5_000), display::Secrets::Show));
    let body = body(&record(hostile), What::Requested);
    assert_eq!(body["request"]["agentId"], "a\\u{202E}\\u{7}b");
    let session = body["request"]["sessionKey"].as_str().unwrap();
    assert!(session.len() <= MAX_TEXT && session.starts_with("\\u{200B}"), "{session}");
}
