//! The server's end without a socket: who may answer, when, and what hostile frames come to.

use super::*;
use countersign_protocol::pet::{
    FromServer, MAX_ACTION_BYTES, MAX_ARGUMENTS_BYTES, MAX_ID_BYTES, MAX_NAME_BYTES,
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::Value;
use std::time::Duration;

const NOW_MS: i64 = 1_714_896_000_123;

fn moment(after: Duration) -> Moment {
    // One origin for all moments of a test.
    thread_local!(static ORIGIN: Instant = Instant::now());
    let ms = i64::try_from(after.as_millis()).unwrap();
    Moment { at: ORIGIN.with(|origin| *origin) + after, unix_ms: NOW_MS + ms }
}

fn start() -> Moment {
    moment(Duration::ZERO)
}

fn session() -> Session<&'static str> {
    Session::new(&SessionId::parse("main").unwrap(), start()).0
}

/// Asks for `exec` and takes the push, as a connection does.
fn asked(session: &mut Session<&'static str>, id: &str, waiter: &'static str) -> Value {
    let arguments = json!({"command": "uname -a"});
    assert_eq!(ask(session, id, &arguments, waiter).unwrap(), Submitted::Waits);
    serde_json::from_str(&session.take_push().expect("a push")).unwrap()
}

fn ask(
    session: &mut Session<&'static str>,
    id: &str,
    arguments: &Value,
    waiter: &'static str,
) -> Result<Submitted, Unasked> {
    let call = Call { tool: "exec", arguments, context: "" };
    session.ask(id, call, start().at + Duration::from_secs(60), waiter, start())
}

fn response(id: &str, approved: bool) -> String {
    json!({"action": RESPONSE_ACTION, "data": {"request_id": id, "approved": approved}}).to_string()
}

fn remembering(id: &str, approved: bool) -> String {
    let data = json!({"request_id": id, "approved": approved, "remember": true});
    json!({"action": RESPONSE_ACTION, "data": data}).to_string()
}

/// The waiter that was told, the answer that is sent, and the code of the close.
fn told<T>(outputs: Vec<Output<T>>) -> (Option<(T, Ending)>, Option<Value>, Option<u16>) {
    let mut told = (None, None, None);
    for output in outputs {
        match output {
            Output::Ended { waiter, ending } => told.0 = Some((waiter, ending)),
            Output::Send(text) => told.1 = Some(serde_json::from_str(&text).unwrap()),
            Output::Close { code, .. } => told.2 = Some(code),
        }
    }
    told
}

/// Checks that an answer comes to an error and to nothing else.
fn check_refused(session: &mut Session<&'static str>, frame: &str, now: Moment, expected: &str) {
    let (waiter, answer, close) = told(session.receive(frame, now));
    assert_eq!((waiter, close), (None, None), "{frame}");
    let answer = answer.expect("an answer");
    assert_eq!(answer["status"], "error", "{answer}");
    let error = answer["error"].as_str().unwrap();
    assert!(error.starts_with(expected), "expected {expected:?}, got {error:?}");
}

#[test]
fn a_connection_is_greeted_and_asked_in_the_documented_shape() {
    let (mut session, greeting) = Session::new(&SessionId::parse("main").unwrap(), start());
    let FromServer::Push(greeting) = FromServer::read(&greeting).unwrap() else { panic!("a push") };
    assert_eq!((greeting.push_type.as_str(), greeting.timestamp), ("init_status", 1_714_896_000));
    assert_eq!(greeting.data["session_id"], "main");
    let FromServer::Push(heartbeat) = FromServer::read(&heartbeat(start())).unwrap() else {
        panic!("a push")
    };
    assert_eq!((heartbeat.push_type.as_str(), heartbeat.timestamp), ("heartbeat", 1_714_896_000));
    assert_eq!(
        asked(&mut session, "tool_approval_1", "a"),
        json!({"type": "push", "push_type": "tool_approval", "timestamp": 1_714_896_000, "data": {
            "request_id": "tool_approval_1", "tool": "exec", "arguments": {"command": "uname -a"}}})
    );
    assert_eq!(session.take_push(), None);
    let frame = json!({"action": RESPONSE_ACTION, "request_id": "r-1",
                       "data": {"request_id": "tool_approval_1", "approved": true}});
    let (waiter, answer, close) = told(session.receive(&frame.to_string(), start()));
    assert_eq!((waiter, close), (Some(("a", Ending::Chosen(Choice::Approve))), None));
    assert_eq!(
        answer,
        Some(json!({"status": "ok", "action": "tool_approval_response", "request_id": "r-1",
            "data": {"request_id": "tool_approval_1", "approved": true, "remembered": false}}))
    );
}

#[test]
fn ids_are_nanoseconds_and_never_the_same_whatever_the_clock_does() {
    let mut ids = RequestIds::default();
    let all: Vec<String> =
        [NOW_MS, NOW_MS, NOW_MS - 5_000, -1, i64::MIN, NOW_MS + 1].iter().map(|now| ids.next(*now)).collect();
    assert_eq!(
        all,
        [
            "tool_approval_1714896000123000000",
            "tool_approval_1714896000123000001",
            "tool_approval_1714896000123000002",
            "tool_approval_1714896000123000003",
            "tool_approval_1714896000123000004",
            "tool_approval_1714896000124000000",
        ]
    );
}

#[test]
fn every_waiter_hears_its_own_answer() {
    let mut session = session();
    for (id, waiter) in [("1", "first"), ("2", "second"), ("3", "third")] {
        asked(&mut session, id, waiter);
    }
    let check = |session: &mut Session<&'static str>, id: &str, approved: bool, expected| {
        assert_eq!(told(session.receive(&response(id, approved), start())).0, Some(expected));
    };
    check(&mut session, "3", false, ("third", Ending::Chosen(Choice::Deny)));
    check(&mut session, "1", true, ("first", Ending::Chosen(Choice::Approve)));
    check(&mut session, "2", false, ("second", Ending::Chosen(Choice::Deny)));
    assert_eq!(session.waiting(), 0);
}

#[test]
fn t02_nothing_answers_a_call_that_was_asked_over_another_connection() {
    let (mut one, mut other) = (session(), session());
    asked(&mut one, "1", "a");
    asked(&mut other, "2", "b");
    let unknown = "unknown request_id: this connection was not asked about it";
    check_refused(&mut other, &response("1", true), start(), unknown);
    check_refused(&mut one, &response("2", true), start(), unknown);
    assert_eq!((one.waiting(), other.waiting()), (1, 1));
    assert_eq!(
        told(one.receive(&response("1", false), start())).0,
        Some(("a", Ending::Chosen(Choice::Deny)))
    );
}

#[test]
fn t02_a_call_is_not_answered_before_it_was_shown() {
    let mut session = session();
    ask(&mut session, "1", &json!({}), "a").unwrap();
    check_refused(&mut session, &response("1", true), start(), "unknown request_id");
    assert_eq!(session.waiting(), 1);
    session.take_push().unwrap();
    assert!(told(session.receive(&response("1", true), start())).0.is_some());
}

#[test]
fn t05_an_answer_counts_once() {
    let mut session = session();
    asked(&mut session, "1", "a");
    assert!(told(session.receive(&response("1", false), start())).0.is_some());
    for _ in 0..2 {
        check_refused(&mut session, &response("1", true), start(), "already answered");
    }
    // A later call has another id: an earlier answer says nothing about it.
    asked(&mut session, "2", "b");
    check_refused(&mut session, &response("1", true), start(), "already answered");
    assert_eq!(session.waiting(), 1);
}

#[test]
fn unknown_expired_and_withdrawn_calls_are_told_apart() {
    let mut session = session();
    for (id, waiter) in [("1", "a"), ("2", "b"), ("3", "c")] {
        asked(&mut session, id, waiter);
    }
    assert!(session.expire("1") && !session.expire("1"));
    session.withdraw("2");
    check_refused(&mut session, &response("1", true), start(), "expired");
    check_refused(&mut session, &response("2", true), start(), "withdrawn");
    check_refused(&mut session, &response("4", true), start(), "unknown request_id");
    // At the very moment of its deadline it is too late, although nobody has looked at the clock yet.
    let almost = moment(Duration::from_millis(59_999));
    let late = moment(Duration::from_secs(60));
    asked(&mut session, "5", "e");
    assert_eq!(
        told(session.receive(&response("5", true), almost)).0,
        Some(("e", Ending::Chosen(Choice::Approve)))
    );
    let (waiter, answer, _) = told(session.receive(&response("3", true), late));
    assert_eq!(waiter, Some(("c", Ending::Expired)));
    assert_eq!(answer.unwrap()["status"], "error");
    check_refused(&mut session, &response("3", true), late, "expired");
    assert!(!session.expire("3"));
    assert_eq!(session.waiting(), 0);
}

#[test]
fn what_is_withdrawn_before_its_push_is_never_pushed() {
    let mut session = session();
    ask(&mut session, "1", &json!({}), "a").unwrap();
    ask(&mut session, "2", &json!({}), "b").unwrap();
    session.withdraw("1");
    let push: Value = serde_json::from_str(&session.take_push().unwrap()).unwrap();
    assert_eq!(push["data"]["request_id"], "2");
    assert_eq!(session.take_push(), None);
    check_refused(&mut session, &response("1", true), start(), "unknown request_id");
}

#[test]
fn t05_a_choice_is_remembered_only_on_demand_and_for_exactly_the_same_call() {
    let mut session = session();
    let arguments = json!({"command": "uname -a"});
    asked(&mut session, "1", "a");
    session.receive(&response("1", true), start());
    asked(&mut session, "2", "b");
    let (_, answer, _) = told(session.receive(&remembering("2", true), start()));
    assert_eq!(answer.unwrap()["data"]["remembered"], true);
    assert_eq!(ask(&mut session, "3", &arguments, "c").unwrap(), Submitted::Remembered(Choice::Approve));
    assert_eq!((session.waiting(), session.take_push()), (0, None));
    // Everything else is asked about.
    for other in [json!({"command": "uname"}), json!({"command": "uname -a", "cwd": "/"}), Value::Null] {
        assert_eq!(ask(&mut session, &other.to_string(), &other, "d").unwrap(), Submitted::Waits, "{other}");
    }
    let deadline = start().at + Duration::from_secs(60);
    let call = Call { tool: "spawn", arguments: &arguments, context: "" };
    assert_eq!(session.ask("4", call, deadline, "e", start()).unwrap(), Submitted::Waits);
    let elsewhere = Call { tool: "exec", arguments: &arguments, context: "another folder" };
    assert_eq!(session.ask("6", elsewhere, deadline, "g", start()).unwrap(), Submitted::Waits);
    let [kept] = session.remembered() else { panic!("one choice") };
    assert_eq!((kept.tool.as_str(), kept.since_ms), ("exec", NOW_MS));
    assert_eq!(kept.arguments, r#"{"command":"uname -a"}"#);
    // And this too, once it was taken back.
    let id = kept.id;
    assert!(session.forget(id) && !session.forget(id));
    assert_eq!(ask(&mut session, "5", &arguments, "f").unwrap(), Submitted::Waits);
}

#[test]
fn t05_what_came_too_late_or_twice_is_not_remembered() {
    let mut session = session();
    asked(&mut session, "1", "a");
    asked(&mut session, "2", "b");
    session.receive(&response("1", false), start());
    session.receive(&remembering("1", true), start());
    session.receive(&remembering("2", true), moment(Duration::from_secs(61)));
    session.receive(&remembering("3", true), start());
    assert_eq!(session.remembered(), []);
}

#[test]
fn a_denial_can_be_remembered_too() {
    let mut session = session();
    asked(&mut session, "1", "a");
    session.receive(&remembering("1", false), start());
    let again = ask(&mut session, "2", &json!({"command": "uname -a"}), "b").unwrap();
    assert_eq!(again, Submitted::Remembered(Choice::Deny));
}

#[test]
fn what_waits_is_bounded_in_number_and_in_bytes() {
    let mut session = session();
    let full =
        |result: Result<Submitted, Unasked>| assert!(matches!(result, Err(Unasked::Full)), "{result:?}");
    for n in 0..MAX_WAITING {
        ask(&mut session, &n.to_string(), &json!(n), "a").unwrap();
    }
    full(ask(&mut session, "more", &json!(0), "a"));
    session.withdraw("7");
    ask(&mut session, "more", &json!(0), "a").unwrap();
    let mut session = self::session();
    let large = Value::String("x".repeat(MAX_ARGUMENTS_BYTES - 2));
    for n in 0..MAX_WAITING_BYTES / MAX_ARGUMENTS_BYTES {
        ask(&mut session, &n.to_string(), &large, "a").unwrap();
    }
    full(ask(&mut session, "more", &json!(0), "a"));
    session.expire("0");
    ask(&mut session, "more", &large, "a").unwrap();
}

#[test]
fn what_is_too_long_to_be_pushed_is_not_asked_about() {
    let mut session = session();
    let deadline = start().at + Duration::from_secs(60);
    let large = Value::String("x".repeat(MAX_ARGUMENTS_BYTES));
    assert!(matches!(ask(&mut session, "1", &large, "a"), Err(Unasked::Frame(_))));
    for tool in [String::new(), "x".repeat(MAX_NAME_BYTES + 1)] {
        let asked = session.ask(
            "1",
            Call { tool: &tool, arguments: &json!({}), context: "" },
            deadline,
            "a",
            start(),
        );
        assert!(matches!(asked, Err(Unasked::Frame(_))), "{asked:?}");
    }
    assert_eq!((session.waiting(), session.take_push()), (0, None));
}

#[test]
fn another_action_is_answered_with_its_own_id_and_does_no_harm() {
    let mut session = session();
    asked(&mut session, "1", "a");
    for action in ["chat", "TOOL_APPROVAL_RESPONSE", "tool_approval_response "] {
        let frame = json!({"action": action, "request_id": "r-9",
                           "data": {"request_id": "1", "approved": true}});
        let (waiter, answer, close) = told(session.receive(&frame.to_string(), start()));
        assert_eq!((waiter, close), (None, None));
        assert_eq!(
            answer,
            Some(
                json!({"status": "error", "action": action, "error": "unknown action", "request_id": "r-9"})
            )
        );
    }
    assert_eq!(session.waiting(), 1);
}

#[test]
fn t02_an_answer_that_is_not_clearly_one_changes_nothing() {
    let mut session = session();
    asked(&mut session, "1", "a");
    let check = |session: &mut Session<&'static str>, data: Value, expected: &str| {
        let frame = json!({"action": RESPONSE_ACTION, "data": data}).to_string();
        check_refused(session, &frame, start(), expected);
        assert_eq!((session.waiting(), session.remembered().len()), (1, 0), "{data}");
    };
    check(&mut session, Value::Null, "data: expected an object");
    check(&mut session, json!(["1", true]), "data: expected an object");
    check(&mut session, json!({"request_id": "1"}), "data: missing field `approved`");
    check(&mut session, json!({"approved": true}), "data: missing field `request_id`");
    for approved in [json!("true"), json!(1), Value::Null, json!({})] {
        check(&mut session, json!({"request_id": "1", "approved": approved}), "data: invalid type");
    }
    check(&mut session, json!({"request_id": "1", "approved": true, "remember": 1}), "data: invalid type");
    check(&mut session, json!({"request_id": ["1"], "approved": true}), "data: invalid type");
    check(&mut session, json!({"request_id": " 1", "approved": true}), "unknown request_id");
    let long = "1".repeat(MAX_ID_BYTES + 1);
    check(&mut session, json!({"request_id": long, "approved": true}), "data.request_id: expected");
}

#[test]
fn frames_that_are_no_actions_are_told_so_until_there_are_too_many() {
    let mut session = session();
    asked(&mut session, "1", "a");
    let hostile = ["", "{", "null", "[]", "\"x\"", "{}", r#"{"action":1}"#, "\u{0}", r#"{"action":""}"#];
    for frame in hostile {
        let (waiter, push, close) = told(session.receive(frame, start()));
        assert_eq!((waiter, close), (None, None), "{frame}");
        let push = push.unwrap();
        assert_eq!((&push["push_type"], &push["data"]["code"]), (&json!("error"), &json!("invalid_frame")));
    }
    // One that is understood still is.
    check_refused(&mut session, &response("2", true), start(), "unknown request_id");
    assert_eq!(told(session.receive("{", start())).2, Some(close::POLICY));
    // From now on nothing counts, and whoever waits is let go.
    assert_eq!(session.waiting(), 0);
    assert_eq!(session.receive(&response("1", true), start()), []);
    assert!(matches!(ask(&mut session, "3", &json!({}), "c"), Err(Unasked::Over)));
}

#[test]
fn long_and_binary_frames_end_the_connection() {
    let mut session = session();
    asked(&mut session, "1", "a");
    let long = format!("{}{}", response("1", true), " ".repeat(MAX_ACTION_BYTES));
    let (waiter, push, close) = told(session.receive(&long, start()));
    assert_eq!((waiter, close), (None, Some(close::TOO_BIG)));
    assert_eq!(push.unwrap()["data"]["code"], "frame_too_long");
    let mut session = self::session();
    let (_, push, close) = told(session.receive_binary(start()));
    assert_eq!(
        (push.unwrap()["data"]["code"].as_str(), close),
        (Some("binary_frame"), Some(close::UNSUPPORTED))
    );
    assert_eq!(session.receive_binary(start()), []);
}

/// What can happen to a connection.
#[derive(Clone, Debug)]
enum Step {
    Ask,
    Push,
    AskOutcome(usize, bool, bool),
    Expire(usize),
    Withdraw(usize),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Ask),
        3 => Just(Step::Push),
        4 => (0..12_usize, any::<bool>(), any::<bool>()).prop_map(|(n, yes, keep)| Step::AskOutcome(n, yes, keep)),
        1 => (0..12_usize).prop_map(Step::Expire),
        1 => (0..12_usize).prop_map(Step::Withdraw),
        1 => (0..40_u64).prop_map(Step::Wait),
    ]
}

proptest! {
    #[test]
    fn a_call_ends_once_and_is_approved_only_by_its_own_timely_answer(
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let (mut session, _) = Session::<usize>::new(&SessionId::parse("main").unwrap(), start());
        let mut after = Duration::ZERO;
        let mut deadlines: Vec<Duration> = Vec::new();
        let mut pushed = Vec::new();
        let mut ended = Vec::new();
        for step in steps {
            let now = moment(after);
            match step {
                Step::Ask => {
                    let n = deadlines.len();
                    let deadline = now.at + Duration::from_secs(60);
                    // Every call is another one, so that nothing is answered from memory.
                    let call = Call { tool: "exec", arguments: &json!(n), context: "" };
                    session.ask(&n.to_string(), call, deadline, n, now).unwrap();
                    deadlines.push(after + Duration::from_secs(60));
                }
                Step::Push => {
                    if let Some(push) = session.take_push() {
                        let push: Value = serde_json::from_str(&push).unwrap();
                        pushed.push(push["data"]["request_id"].as_str().unwrap().parse::<usize>().unwrap());
                    }
                }
                Step::AskOutcome(n, approved, remember) => {
                    let data = json!({"request_id": n.to_string(), "approved": approved, "remember": remember});
                    let frame = json!({"action": RESPONSE_ACTION, "data": data}).to_string();
                    if let Some((waiter, ending)) = told(session.receive(&frame, now)).0 {
                        prop_assert_eq!(waiter, n);
                        prop_assert!(pushed.contains(&n) && !ended.contains(&n));
                        ended.push(n);
                        let is_in_time = after < deadlines[n];
                        let expected = match (is_in_time, approved) {
                            (false, _) => Ending::Expired,
                            (true, true) => Ending::Chosen(Choice::Approve),
                            (true, false) => Ending::Chosen(Choice::Deny),
                        };
                        prop_assert_eq!(ending, expected);
                    }
                }
                Step::Expire(n) => {
                    if session.expire(&n.to_string()) {
                        prop_assert!(!ended.contains(&n));
                        ended.push(n);
                    }
                }
                Step::Withdraw(n) => {
                    let before = session.waiting();
                    session.withdraw(&n.to_string());
                    if session.waiting() < before {
                        prop_assert!(!ended.contains(&n));
                        ended.push(n);
                    }
                }
                Step::Wait(seconds) => after += Duration::from_secs(seconds),
            }
            prop_assert_eq!(session.waiting(), deadlines.len() - ended.len());
        }
    }

    #[test]
    fn no_text_approves_what_it_does_not_name(text in ".{0,200}") {
        let mut session = session();
        asked(&mut session, "tool_approval_1", "a");
        let (waiter, ..) = told(session.receive(&text, start()));
        prop_assert!(waiter.is_none());
    }
}
