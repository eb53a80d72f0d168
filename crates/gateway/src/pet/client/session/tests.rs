//! The client's end without a socket: what is asked, what is passed over, and how answers are confirmed.

use super::*;
use countersign_protocol::pet::{MAX_ARGUMENTS_BYTES, MAX_ID_BYTES};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::Value;
use std::time::Duration;

fn push(id: &str, arguments: Value) -> String {
    let data = json!({"request_id": id, "tool": "exec", "arguments": arguments});
    json!({"type": "push", "push_type": "tool_approval", "timestamp": 1, "data": data}).to_string()
}

/// Hears a call that must be new.
fn asked(session: &mut Session<&'static str>, id: &str, now: Instant) -> ToolApproval {
    match session.receive(&push(id, json!({"command": "ls"})), now) {
        Heard::Asked(approval, deadline) => {
            assert_eq!(deadline - now, Duration::from_secs(60));
            approval
        }
        other => panic!("expected a call, got {other:?}"),
    }
}

fn answered(session: &mut Session<&'static str>, id: &str, reply: &'static str, now: Instant) -> Value {
    let text = session.answer(id, Choice::Approve, Keep::Once, reply, now).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn a_call_is_heard_and_answered_letter_for_letter() {
    let (mut session, now) = (Session::new(), Instant::now());
    let approval = asked(&mut session, "tool_approval_1714896000123456789", now);
    assert_eq!((approval.tool.as_str(), approval.arguments), ("exec", json!({"command": "ls"})));
    asked(&mut session, " odd\u{e9} ", now);
    let check = |session: &mut Session<&'static str>, id: &str, choice, keep, expected: Value| {
        let text = session.answer(id, choice, keep, "a", now).unwrap();
        let action: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&action["action"], &action["data"]), (&json!("tool_approval_response"), &expected));
    };
    let id = "tool_approval_1714896000123456789";
    let expected = json!({"request_id": id, "approved": true});
    check(&mut session, id, Choice::Approve, Keep::Once, expected);
    let expected = json!({"request_id": " odd\u{e9} ", "approved": false, "remember": true});
    check(&mut session, " odd\u{e9} ", Choice::Deny, Keep::Session, expected);
}

#[test]
fn t05_an_id_counts_once() {
    let (mut session, now) = (Session::new(), Instant::now());
    asked(&mut session, "1", now);
    // While it waits, another call under its name would borrow its answer.
    let other = push("1", json!({"command": "rm -rf /"}));
    assert_eq!(session.receive(&other, now), Heard::Nothing);
    answered(&mut session, "1", "a", now);
    assert_eq!(session.receive(&other, now), Heard::Nothing);
    let again = session.answer("1", Choice::Approve, Keep::Once, "b", now);
    assert_eq!(again, Err(("b", AnswerError::Answered)));
}

#[test]
fn t05_what_expired_or_was_never_asked_is_not_answered() {
    let (mut session, now) = (Session::new(), Instant::now());
    asked(&mut session, "1", now);
    asked(&mut session, "2", now + Duration::from_millis(1));
    let late = now + APPROVAL_WAIT;
    let answer = |session: &mut Session<&'static str>, id: &str| {
        session.answer(id, Choice::Approve, Keep::Once, "a", late).map_err(|(_, error)| error)
    };
    assert_eq!(answer(&mut session, "1"), Err(AnswerError::Expired));
    assert!(answer(&mut session, "2").is_ok());
    assert_eq!(answer(&mut session, "3"), Err(AnswerError::Expired));
    // Not even under the same id again.
    assert_eq!(session.receive(&push("1", json!({})), late), Heard::Nothing);
}

#[test]
fn everything_else_that_a_server_says_is_passed_over() {
    let (mut session, now) = (Session::<&'static str>::new(), Instant::now());
    for frame in [
        r#"{"type":"push","push_type":"init_status","data":{},"timestamp":1}"#,
        r#"{"type":"push","push_type":"ai_chat","data":{"text":"hi"},"timestamp":1,"is_final":true}"#,
        r#"{"type":"push","push_type":"error","data":{"code":7}}"#,
        r#"{"type":"push","push_type":"hologram","data":null}"#,
        r#"{"type":"push","push_type":"TOOL_APPROVAL","data":{"request_id":"1","tool":"exec"}}"#,
        r#"{"type":"event","push_type":"tool_approval","data":{"request_id":"1","tool":"exec"}}"#,
        r#"{"status":"ok","action":"chat","request_id":"answer_1"}"#,
        r#"{"status":"ok","action":"tool_approval_response","request_id":"answer_1"}"#,
        r#"{"status":"ok"}"#,
        "{}",
        "[]",
        "",
        "\u{0}{",
    ] {
        assert_eq!(session.receive(frame, now), Heard::Nothing, "{frame}");
    }
    for data in [
        Value::Null,
        json!([]),
        json!({"tool": "exec"}),
        json!({"request_id": 1, "tool": "exec"}),
        json!({"request_id": "", "tool": "exec"}),
        json!({"request_id": "x".repeat(MAX_ID_BYTES + 1), "tool": "exec"}),
        json!({"request_id": "1", "tool": "exec", "arguments": "x".repeat(MAX_ARGUMENTS_BYTES)}),
    ] {
        let frame = json!({"type": "push", "push_type": "tool_approval", "timestamp": 1, "data": data});
        assert_eq!(session.receive(&frame.to_string(), now), Heard::Nothing);
    }
    assert!(session.waiting.is_empty());
}

#[test]
fn a_confirmation_finds_its_answer_by_what_the_server_names() {
    let (mut session, now) = (Session::new(), Instant::now());
    let mut echoes = Vec::new();
    for (id, reply) in [("1", "a"), ("2", "b"), ("3", "c"), ("4", "d")] {
        asked(&mut session, id, now);
        echoes.push(answered(&mut session, id, reply, now)["request_id"].as_str().unwrap().to_owned());
    }
    let confirm = |session: &mut Session<&'static str>, status: &str, more: Value| {
        let mut frame = json!({"status": status, "action": "tool_approval_response"});
        frame.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        session.receive(&frame.to_string(), now)
    };
    assert_eq!(confirm(&mut session, "pending", json!({"request_id": echoes[2]})), Heard::Nothing);
    assert_eq!(confirm(&mut session, "ok", json!({"request_id": echoes[2]})), Heard::Confirmed("c", Ok(())));
    assert_eq!(confirm(&mut session, "ok", json!({"request_id": echoes[2]})), Heard::Nothing);
    assert_eq!(confirm(&mut session, "ok", json!({"request_id": "other"})), Heard::Nothing);
    let by_call = json!({"data": {"request_id": "2"}, "error": "already answered"});
    assert_eq!(
        confirm(&mut session, "error", by_call),
        Heard::Confirmed("b", Err(AnswerError::Refused("already answered".to_owned())))
    );
    let long = json!({"error": "x".repeat(10_000)});
    assert_eq!(
        confirm(&mut session, "error", long),
        Heard::Confirmed("a", Err(AnswerError::Refused("x".repeat(MAX_TEXT))))
    );
    assert_eq!(confirm(&mut session, "ok", json!({})), Heard::Confirmed("d", Ok(())));
    assert_eq!(confirm(&mut session, "ok", json!({})), Heard::Nothing);
}

#[test]
fn what_waits_is_bounded_and_what_ends_makes_room() {
    let (mut session, now) = (Session::new(), Instant::now());
    for n in 0..MAX_WAITING {
        asked(&mut session, &n.to_string(), now);
    }
    assert_eq!(session.receive(&push("more", json!({})), now), Heard::Nothing);
    answered(&mut session, "0", "a", now);
    asked(&mut session, "more", now);
    session.leave("1");
    asked(&mut session, "even more", now);
    assert_eq!(session.receive(&push("one more", json!({})), now), Heard::Nothing);
    let later = now + APPROVAL_WAIT;
    asked(&mut session, "later", later);
    assert_eq!(session.waiting.len(), 1);
    let mut session = Session::<&'static str>::new();
    let large = Value::String("x".repeat(MAX_ARGUMENTS_BYTES - 2));
    let heard: Vec<bool> = (0..8)
        .map(|n| session.receive(&push(&n.to_string(), large.clone()), now) == Heard::Nothing)
        .collect();
    assert_eq!(heard, [false, false, false, true, true, true, true, true]);
}

#[test]
fn a_server_that_never_confirms_fills_nothing() {
    let (mut session, now) = (Session::new(), Instant::now());
    for n in 0..MAX_WAITING + 10 {
        asked(&mut session, &n.to_string(), now);
        answered(&mut session, &n.to_string(), "a", now);
    }
    assert_eq!((session.unconfirmed.len(), session.waiting.len()), (MAX_WAITING, 0));
    for n in 0..MAX_PAST {
        asked(&mut session, &format!("p{n}"), now);
        session.leave(&format!("p{n}"));
    }
    assert_eq!((session.past.len(), session.waiting_bytes), (MAX_PAST, 0));
}

proptest! {
    #[test]
    fn no_text_asks_or_confirms_by_accident(text in ".{0,200}") {
        let mut session = Session::new();
        asked(&mut session, "1", Instant::now());
        answered(&mut session, "1", "a", Instant::now());
        prop_assert_eq!(session.receive(&text, Instant::now()), Heard::Nothing);
    }
}
