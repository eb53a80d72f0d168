//! Frames of both ends, as the channel's documentation writes them and otherwise.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

fn check<T: Serialize + DeserializeOwned + PartialEq + fmt::Debug>(frame: &T, text: &Value) {
    assert_eq!(&serde_json::to_value(frame).unwrap(), text);
    assert_eq!(&serde_json::from_value::<T>(text.clone()).unwrap(), frame);
}

fn refused<T: fmt::Debug>(read: Result<T, FrameError>, expected: &str) {
    let error = read.expect_err(expected).to_string();
    assert!(error.starts_with(expected), "expected {expected:?}, got {error:?}");
}

#[test]
fn frames_have_the_documented_shape() {
    let id = "tool_approval_1714896000123456789";
    let approval = ToolApproval {
        request_id: id.to_owned(),
        tool: "exec".to_owned(),
        arguments: json!({"command": "uname -a"}),
    };
    let push = Push::new(push_type::TOOL_APPROVAL, serde_json::to_value(&approval).unwrap(), 1_714_896_000);
    check(
        &push,
        &json!({"type": "push", "push_type": "tool_approval", "timestamp": 1_714_896_000,
                "data": {"request_id": id, "tool": "exec", "arguments": {"command": "uname -a"}}}),
    );
    assert_eq!(ToolApproval::read(push.data).unwrap(), approval);
    let data = ToolApprovalResponse { request_id: id.to_owned(), approved: true, remember: false };
    let action = Action {
        action: RESPONSE_ACTION.to_owned(),
        data: serde_json::to_value(&data).unwrap(),
        request_id: None,
    };
    check(
        &action,
        &json!({"action": "tool_approval_response", "data": {"request_id": id, "approved": true}}),
    );
    assert_eq!(ToolApprovalResponse::read(action.data).unwrap(), data);
    check(
        &ToolApprovalResponse { remember: true, ..data },
        &json!({"request_id": id, "approved": true, "remember": true}),
    );
    let answer = Response {
        status: Status::Error,
        action: "dance".to_owned(),
        data: None,
        error: Some("unknown action".to_owned()),
        request_id: Some("r1".to_owned()),
    };
    check(
        &answer,
        &json!({"status": "error", "action": "dance", "error": "unknown action", "request_id": "r1"}),
    );
    let error = ErrorData {
        level: "error".to_owned(),
        code: fault::BINARY.to_owned(),
        message: "expected text".to_owned(),
        timestamp: 1,
        context: None,
    };
    check(
        &error,
        &json!({"level": "error", "code": "binary_frame", "message": "expected text", "timestamp": 1}),
    );
}

#[test]
fn a_frame_that_was_written_is_read_back() {
    let push = Push { is_final: Some(true), ..Push::new("ai_chat", json!({"text": "hi"}), 7) };
    let text = serde_json::to_string(&push).unwrap();
    assert_eq!(FromServer::read(&text).unwrap(), FromServer::Push(push));
    let answer = Response {
        status: Status::Pending,
        action: "chat".to_owned(),
        data: Some(json!([1])),
        error: None,
        request_id: None,
    };
    let text = serde_json::to_string(&answer).unwrap();
    assert_eq!(FromServer::read(&text).unwrap(), FromServer::Response(answer));
    let action =
        Action { action: "chat".to_owned(), data: json!({"text": "hi"}), request_id: Some("1".to_owned()) };
    assert_eq!(Action::read(&serde_json::to_string(&action).unwrap()).unwrap(), action);
}

#[test]
fn what_a_later_version_adds_does_no_harm() {
    let read = |value: Value| FromServer::read(&value.to_string()).unwrap();
    let FromServer::Push(push) = read(json!({"type": "push", "push_type": "hologram", "x": {"y": 1}})) else {
        panic!("a push")
    };
    assert_eq!((push.push_type.as_str(), push.timestamp, &push.data), ("hologram", 0, &Value::Null));
    assert_eq!(read(json!({"type": "stream", "push_type": "tool_approval"})), FromServer::Other);
    assert_eq!(read(json!({})), FromServer::Other);
    let action = Action::read(r#"{"action":"dance","tempo":120}"#).unwrap();
    assert_eq!((action.action.as_str(), &action.data), ("dance", &Value::Null));
    let data = json!({"request_id": "1", "approved": false, "mood": "cheerful"});
    assert!(!ToolApprovalResponse::read(data).unwrap().remember);
    let bare = ToolApproval::read(json!({"request_id": "1", "tool": "spawn", "priority": 3})).unwrap();
    assert_eq!(bare.arguments, Value::Null);
}

#[test]
fn every_number_is_a_moment() {
    let check = |timestamp: Value, expected: i64| {
        let text = json!({"type": "push", "push_type": "heartbeat", "timestamp": timestamp}).to_string();
        let FromServer::Push(push) = FromServer::read(&text).unwrap() else { panic!("a push") };
        assert_eq!(push.timestamp, expected, "{timestamp}");
    };
    check(json!(1_714_896_000), 1_714_896_000);
    check(json!(1_714_896_000.75), 1_714_896_000);
    check(json!(-1), -1);
    check(json!(1e300), i64::MAX);
    check(json!(u64::MAX), i64::MAX);
}

#[test]
fn what_is_of_another_type_is_refused_with_what_was_expected() {
    let action = |text: &str, expected: &str| refused(Action::read(text), expected);
    action("", "expected JSON: ");
    action("{", "expected JSON: ");
    action("\"chat\"", "a frame: expected an object, got a text");
    action("null", "a frame: expected an object, got null");
    // A list whose items would fit is still none.
    action(r#"["tool_approval_response",{"request_id":"1","approved":true}]"#, "a frame: expected an object");
    action("{}", "a frame: missing field `action`");
    action(r#"{"action":7}"#, "a frame: invalid type");
    action(r#"{"action":""}"#, "action: expected 1 to 200 bytes, got 0");
    action(r#"{"action":"a","request_id":1}"#, "a frame: invalid type");
    action(r#"{"action":"a","request_id":""}"#, "request_id: expected 1 to 200 bytes");
    let deep = format!(r#"{{"action":"a","data":{}{}}}"#, "[".repeat(500), "]".repeat(500));
    action(&deep, "expected JSON: ");
    let response = |data: Value, expected: &str| refused(ToolApprovalResponse::read(data), expected);
    response(Value::Null, "data: expected an object, got null");
    response(json!(["1", true]), "data: expected an object, got a list");
    response(json!({"request_id": "1"}), "data: missing field `approved`");
    response(json!({"approved": true}), "data: missing field `request_id`");
    response(json!({"request_id": 1, "approved": true}), "data: invalid type");
    for approved in [json!("true"), json!(1), json!(null), json!([true])] {
        response(json!({"request_id": "1", "approved": approved}), "data: invalid type");
    }
    response(json!({"request_id": "1", "approved": true, "remember": "yes"}), "data: invalid type");
    response(json!({"request_id": "", "approved": true}), "data.request_id: expected 1 to 200 bytes, got 0");
    let server = |text: &str, expected: &str| refused(FromServer::read(text), expected);
    server("[]", "a frame: expected an object, got a list");
    server(r#"{"type":"push"}"#, "a push: missing field `push_type`");
    server(r#"{"type":"push","push_type":[]}"#, "a push: invalid type");
    server(r#"{"type":"push","push_type":"heartbeat","timestamp":"now"}"#, "a push: invalid type");
    server(r#"{"status":"fine","action":"a"}"#, "an answer: unknown variant");
    let approval = |data: Value, expected: &str| refused(ToolApproval::read(data), expected);
    approval(json!(["1", "exec", {}]), "tool_approval: data: expected an object, got a list");
    approval(json!({"tool": "exec"}), "tool_approval: data: missing field `request_id`");
    approval(json!({"request_id": "1", "tool": ["exec"]}), "tool_approval: data: invalid type");
    approval(json!({"request_id": "1", "tool": ""}), "tool: expected 1 to 200 bytes, got 0");
}

#[test]
fn bounds_hold_to_the_byte() {
    let text = |bytes: usize| {
        let frame = r#"{"action":"a","data":""}"#;
        format!(r#"{{"action":"a","data":"{}"}}"#, "x".repeat(bytes - frame.len()))
    };
    assert!(Action::read(&text(MAX_ACTION_BYTES)).is_ok());
    refused(Action::read(&text(MAX_ACTION_BYTES + 1)), "expected a frame of at most 65536 bytes, got 65537");
    let approval = |bytes: usize| {
        let arguments = Value::String("x".repeat(bytes - 2));
        ToolApproval::read(json!({"request_id": "1", "tool": "write_file", "arguments": arguments}))
    };
    assert!(approval(MAX_ARGUMENTS_BYTES).is_ok());
    refused(approval(MAX_ARGUMENTS_BYTES + 1), "arguments: expected 1 to 1048576 bytes, got 1048577");
    let named = |bytes: usize| {
        ToolApproval::read(json!({"request_id": "x".repeat(bytes), "tool": "x".repeat(bytes)}))
    };
    assert!(named(MAX_ID_BYTES.min(MAX_NAME_BYTES)).is_ok());
    refused(named(MAX_ID_BYTES + 1), "request_id: expected 1 to 200 bytes, got 201");
    let huge = " ".repeat(MAX_FRAME_BYTES + 1);
    refused(FromServer::read(&huge), "expected a frame of at most 16777216 bytes");
}

#[test]
fn a_session_is_named_by_a_text_that_can_be_shown() {
    for text in ["main", "agent:main:pet:cat:1", "mis à jour", &"x".repeat(MAX_ID_BYTES)] {
        assert_eq!(SessionId::parse(text).unwrap().as_str(), text);
    }
    refused(SessionId::parse(""), "sessionId: expected 1 to 200 bytes, got 0");
    refused(SessionId::parse(&"x".repeat(MAX_ID_BYTES + 1)), "sessionId: expected 1 to 200 bytes, got 201");
    for text in ["a\nb", "\u{0}", "a\u{7f}", "\u{85}"] {
        refused(SessionId::parse(text), "sessionId: expected no control characters");
    }
}
