//! What is told, read back as JSON.

use super::*;
use countersign_approvals::book::RequestedBy;
use countersign_approvals::question::{Command, Door, Environment, Offer, Runner, peer_asks};
use countersign_commands::analysis::analyze_text;
use countersign_protocol::ids::{AgentId, RequestId, SessionKey};
use countersign_protocol::trace::PolicyLayer;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// A question about running this list here.
pub(in crate::forward) fn question(argv: &[&str]) -> Question {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    let view = display::command_view(&argv, &[]);
    Question {
        subject: Subject::Command(Box::new(Command {
            folder: Some(Folder::named("/work")),
            argv: Some(argv.clone()),
            ..Command::of_text(Runner::App, display::argv_line(&argv), view)
        })),
        door: Door { via: Via::Socket, gateway: None, program: None, generation: 1 },
        agent: AgentId::of(Some("coder")),
        session: SessionKey::of(Some("agent:coder:main")),
        place: Place::ThisMachine,
        why: peer_asks(PolicyLayer::BuiltIn),
        facts: Vec::new(),
        offer: Offer { decisions: Decision::ALL.to_vec(), ..Offer::default() },
        blocked: None,
    }
}

/// The same about a text that somebody else runs.
fn text_question(text: &str) -> Question {
    let view = display::text_view(text, &analyze_text(text));
    let subject = Subject::Command(Box::new(Command::of_text(Runner::Asker, text.to_owned(), view)));
    Question { subject, ..question(&["x"]) }
}

/// The same with something of the command changed.
fn changed(argv: &[&str], change: impl FnOnce(&mut Command)) -> Question {
    let mut question = question(argv);
    let Subject::Command(command) = &mut question.subject else { panic!("{question:?}") };
    change(command);
    question
}

fn variable(name: &str, value: &str) -> Environment {
    Environment::Values([(name.to_owned(), value.to_owned())].into())
}

fn record(question: Question) -> Record {
    let wait = std::time::Duration::from_secs(60);
    Record::create(question, wait, Some("r-1"), RequestedBy::default(), 1_000, || RequestId::from("r"))
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
    assert_eq!(body(&record(question(&["rm", "-rf", "my build"])), What::Requested), expected);
}

#[test]
fn every_end_has_words_of_its_own() {
    let record = record(question(&["ls"]));
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
    let check = |question: Question, text: &str, whole: bool| {
        let told = told(&question);
        assert_eq!((told.text.as_str(), is_told_whole(&question)), (text, whole));
    };
    check(question(&["ls", "a b", "it's"]), "ls 'a b' 'it'\\''s'", true);
    check(question(&["sh", "-c", "echo a && rm b"]), "sh -c 'echo a && rm b'", true);
    check(text_question("echo a\n\techo b"), "echo a\n\techo b", true);
    let here = "cat <<'EOF'\na\nEOF";
    check(text_question(here), "cat <<'EOF'\\u{A}a\\u{A}EOF", false);
    check(question(&["git", "commit", "-m", "a\nb"]), "git commit -m \"a\\u{A}b\"", false);
    // Something is masked, or written as a code, or not told at all.
    check(question(&["curl", "--password", "hunter2hunter2"]), "curl --password ••••••••", false);
    check(question(&["ls", "a\u{202e}b"]), "ls \"a\\u{202E}b\"", false);
    check(text_question("ls \u{1b}[2J"), "ls \\u{1B}[2J", false);
    check(changed(&["ls"], |command| command.environment = variable("PAGER", "evil")), "ls", false);
    check(
        changed(&["ls"], |command| command.environment = Environment::Names(vec!["A".into()])),
        "ls",
        false,
    );
    check(changed(&["rm"], |command| command.text_differs = true), "rm", false);
    let long = "x".repeat(MAX_COMMAND + 1);
    let told_long = told(&question(&["echo", &long]));
    assert!(!told_long.exact && told_long.text.len() <= MAX_COMMAND && told_long.text.ends_with(CUT));
}

#[test]
fn t03_no_secret_and_no_value_of_a_variable_is_told() {
    let argv = ["curl", "-H", "Authorization: Bearer sk-verysecretverysecret1234567890"];
    let question = changed(&argv, |command| command.environment = variable("API_KEY", "alsosecret"));
    let body = body(&record(question), What::Requested);
    let text = body.to_string();
    assert!(!text.contains("verysecret") && !text.contains("alsosecret"), "{text}");
    assert_eq!(body["request"]["environmentNames"], json!(["API_KEY"]));
}

#[test]
fn t09_nothing_hidden_is_told_as_it_is() {
    let mut hostile = question(&["ls"]);
    hostile.agent = AgentId::of(Some("a\u{202e}\u{7}b"));
    hostile.session = SessionKey::of(Some(&"\u{200b}".repeat(5_000)));
    let body = body(&record(hostile), What::Requested);
    assert_eq!(body["request"]["agentId"], "a\\u{202E}\\u{7}b");
    let session = body["request"]["sessionKey"].as_str().unwrap();
    assert!(session.len() <= MAX_TEXT && session.starts_with("\\u{200B}"), "{session}");
}
