//! One frame in, its answer out.

use super::*;
use pretty_assertions::assert_eq;

const TRUE: &str = r#"{"command":["/usr/bin/true"]}"#;

#[tokio::test]
async fn l365_another_user_is_denied_before_it_is_read() {
    let me = rustix::process::geteuid().as_raw();
    let mut rig = Rig::owned_by(me + 1);
    for line in [question("right"), order("right", "n", NOW, TRUE)] {
        let answer = rig.answer_to(&line).await;
        assert_eq!(answer, decision("00000000-0000-4000-8000-000000000001", "deny"));
    }
    let silent = rig.connect().await;
    assert_eq!(read_all(silent).await, decision("00000000-0000-4000-8000-000000000001", "deny"));
    assert!(rig.heard_nothing());
}

#[tokio::test]
async fn l366_a_decision_carries_the_requests_id() {
    let mut rig = Rig::start();
    let stream = rig.send(format!("{}\n", question("right"))).await;
    let asked = rig.asked().await;
    assert_eq!((asked.call.id.as_str(), asked.call.request.command.as_str()), ("q1", "id"));
    let myself = std::fs::canonicalize("/proc/self/exe").unwrap();
    assert_eq!(asked.call.peer.pid, i32::try_from(std::process::id()).ok());
    assert_eq!(asked.call.peer.program.as_deref(), myself.to_str());
    asked.reply.send(Some(Decision::AllowOnce)).unwrap();
    assert_eq!(read_all(stream).await, decision("q1", "allow-once"));
}

#[tokio::test]
async fn l367_a_wrong_token_is_denied_without_a_question() {
    let mut rig = Rig::start();
    for wrong in ["", "righ", "right ", "RIGHT", "other"] {
        assert_eq!(rig.answer_to(&question(wrong)).await, decision("q1", "deny"), "{wrong:?}");
    }
    assert!(rig.heard_nothing());
}

#[tokio::test]
async fn l369_silence_closes_without_a_line() {
    let mut rig = Rig::start();
    let stream = rig.send(format!("{}\n", question("right"))).await;
    rig.asked().await.reply.send(None).unwrap();
    assert_eq!(read_all(stream).await, "");
}

#[tokio::test]
async fn l370_l374_what_is_not_understood_is_closed_without_a_line() {
    let mut rig = Rig::start();
    for line in [
        r#"{"type":"request","token":"right","id":"q1","request":{"cwd":"/"}}"#,
        r#"{"type":"request","id":"q1","request":{"command":"id"}}"#,
        r#"{"type":"request","token":"right","request":{"command":"id"}}"#,
        r#"{"type":"ping","token":"right","id":"q1"}"#,
        r#"{"token":"right","id":"q1","request":{"command":"id"}}"#,
        r#"{"type":"exec","id":"e1","nonce":"n","ts":1.5,"hmac":"x","requestJson":"{}"}"#,
        r#"{"type":"exec","id":"e1","nonce":"n","ts":99999999999999999999,"hmac":"x","requestJson":"{}"}"#,
        "",
        "{",
        "null",
        "[]",
        "\u{0}",
    ] {
        let stream = rig.send(format!("{line}\n")).await;
        assert_eq!(read_all(stream).await, "", "{line}");
    }
    let stream = rig
        .send(
            b"{\"type\":\"request\",\"token\":\"right\",\"id\":\"\xFF\",\"request\":{\"command\":\"id\"}}\n",
        )
        .await;
    assert_eq!(read_all(stream).await, "");
    assert!(rig.heard_nothing());
}

#[tokio::test]
async fn l376_the_end_of_the_stream_ends_the_line() {
    let mut rig = Rig::start();
    let mut stream = rig.send(question("right").to_string()).await;
    stream.shutdown().await.unwrap();
    rig.asked().await.reply.send(Some(Decision::Deny)).unwrap();
    assert_eq!(read_all(stream).await, decision("q1", "deny"));
}

#[tokio::test]
async fn l377_half_close_does_not_withdraw_the_request() {
    let mut rig = Rig::start();
    let mut stream = rig.send(format!("{}\n", question("right"))).await;
    stream.shutdown().await.unwrap();
    let asked = rig.asked().await;
    // A second request goes all the way while the first one waits.
    let other = rig.send(format!("{}\n", question("right"))).await;
    rig.asked().await.reply.send(Some(Decision::Deny)).unwrap();
    assert_eq!(read_all(other).await, decision("q1", "deny"));
    assert!(!asked.call.gone.is_cancelled());
    asked.reply.send(Some(Decision::AllowOnce)).unwrap();
    assert_eq!(read_all(stream).await, decision("q1", "allow-once"));
}

#[tokio::test]
async fn l378_full_close_withdraws_the_request() {
    let mut rig = Rig::start();
    for half_close_first in [false, true] {
        let mut stream =
            rig.send(format!("{}\n", order("right", &format!("n{half_close_first}"), NOW, TRUE))).await;
        if half_close_first {
            stream.shutdown().await.unwrap();
        }
        let ordered = rig.ordered().await;
        assert!(!ordered.call.gone.is_cancelled());
        drop(stream);
        within(ordered.call.gone.cancelled()).await;
        // The handler's future has ended or been dropped: nobody takes the answer any more.
        let mut reply = ordered.reply;
        within(reply.closed()).await;
    }
}

#[tokio::test]
async fn l379_to_l382_time_is_checked_first_and_exactly() {
    let mut rig = Rig::start();
    for (index, ts) in [NOW - 10_000, NOW, NOW + 10_000].into_iter().enumerate() {
        let line = order("right", &format!("n{index}"), ts, TRUE);
        let stream = rig.send(format!("{line}\n")).await;
        rig.ordered().await.reply.send(Ok(ExecPayload::default())).unwrap();
        assert!(read_all(stream).await.contains(r#""ok":true"#), "{ts}");
    }
    let expired = refusal("expired request", "ttl");
    for ts in [NOW - 10_001, NOW + 10_001, i64::MIN, i64::MAX] {
        assert_eq!(rig.answer_to(&order("right", "n", ts, TRUE)).await, expired, "{ts}");
        assert_eq!(rig.answer_to(&order("wrong", "n", ts, TRUE)).await, expired, "l386 {ts}");
    }
    assert!(rig.heard_nothing());
}

#[tokio::test]
async fn l383_to_l385_only_the_exact_lower_case_signature_counts() {
    let mut rig = Rig::start();
    let right = order("right", "n", NOW, TRUE);
    let signature = right["hmac"].as_str().unwrap().to_owned();
    let other = order("other", "n", NOW, TRUE)["hmac"].as_str().unwrap().to_owned();
    for bad in
        [other, signature.to_uppercase(), signature[..63].to_owned(), format!("{signature}0"), String::new()]
    {
        let mut line = right.clone();
        line["hmac"] = bad.clone().into();
        assert_eq!(rig.answer_to(&line).await, refusal("invalid auth", "hmac"), "{bad}");
    }
    let mut changed = right.clone();
    changed["requestJson"] = r#"{"command":["/usr/bin/false"]}"#.into();
    assert_eq!(rig.answer_to(&changed).await, refusal("invalid auth", "hmac"));
    assert!(rig.heard_nothing());
}

#[tokio::test]
async fn l387_a_signed_payload_that_is_no_request_is_refused() {
    let mut rig = Rig::start();
    for (index, payload) in
        [r#"{"command":"ls"}"#, "{}", "", "[]", r#"{"command":[1]}"#].into_iter().enumerate()
    {
        let line = order("right", &format!("n{index}"), NOW, payload);
        assert_eq!(rig.answer_to(&line).await, refusal("invalid payload", "json"), "{payload}");
    }
    assert!(rig.heard_nothing());
}

#[tokio::test]
async fn l392_t05_a_frame_is_taken_once() {
    let mut rig = Rig::start();
    let line = order("right", "n", NOW, TRUE);
    let stream = rig.send(format!("{line}\n")).await;
    let first = rig.ordered().await;
    // Neither while the first is at work nor afterwards.
    assert_eq!(rig.answer_to(&line).await, refusal("replayed request", "replay"));
    first.reply.send(Ok(ExecPayload::default())).unwrap();
    assert!(read_all(stream).await.contains(r#""ok":true"#));
    assert_eq!(rig.answer_to(&line).await, refusal("replayed request", "replay"));
    assert!(rig.heard_nothing());
}

#[tokio::test]
async fn a_refused_order_is_answered_with_its_error() {
    let mut rig = Rig::start();
    let stream = rig.send(format!("{}\n", order("right", "n", NOW, r#"{"command":["a"],"cwd":"/x"}"#))).await;
    let ordered = rig.ordered().await;
    assert_eq!(
        (ordered.call.request.command.as_slice(), ordered.call.request.cwd.as_deref()),
        (&["a".to_owned()][..], Some("/x"))
    );
    let error = ExecError {
        code: "UNAVAILABLE".into(),
        message: "SYSTEM_RUN_DENIED: user denied".into(),
        reason: Some("user-denied".into()),
    };
    ordered.reply.send(Err(error)).unwrap();
    assert_eq!(
        read_all(stream).await,
        concat!(
            r#"{"type":"exec-res","id":"e1","ok":false,"error":{"code":"UNAVAILABLE","#,
            r#""message":"SYSTEM_RUN_DENIED: user denied","reason":"user-denied"}}"#,
            "\n"
        )
    );
}

#[tokio::test]
async fn a_rotated_token_takes_effect_at_once() {
    let mut rig = Rig::start();
    *rig.token.lock().unwrap() = Some(token("new"));
    assert_eq!(rig.answer_to(&question("right")).await, decision("q1", "deny"));
    let stream = rig.send(format!("{}\n", question("new"))).await;
    rig.asked().await.reply.send(Some(Decision::AllowAlways)).unwrap();
    assert_eq!(read_all(stream).await, decision("q1", "allow-always"));
    *rig.token.lock().unwrap() = None;
    assert_eq!(rig.answer_to(&question("new")).await, decision("q1", "deny"));
    assert_eq!(rig.answer_to(&order("new", "n", NOW, TRUE)).await, refusal("invalid auth", "hmac"));
    assert!(rig.heard_nothing());
}

#[tokio::test]
async fn the_client_asks_and_gets_the_decision() {
    let mut rig = Rig::start();
    let path = rig.path();
    let request = AskRequest { command: "id".into(), ..AskRequest::default() };
    let right = token("right");
    let (decision, ()) = tokio::join!(client::ask(&path, &right, &request, PATIENCE), async {
        rig.asked().await.reply.send(Some(Decision::AllowOnce)).unwrap();
    });
    assert_eq!(decision.unwrap(), Decision::AllowOnce);
    let denied = client::ask(&path, &token("wrong"), &request, PATIENCE).await;
    assert_eq!(denied.unwrap(), Decision::Deny);
}

#[tokio::test]
async fn the_client_orders_a_run_and_gets_its_output() {
    let mut rig = Rig::start();
    let path = rig.path();
    let request = ExecRequest { command: vec!["héllo".into()], ..ExecRequest::default() };
    let right = token("right");
    let payload = ExecPayload { stdout: "é\n".repeat(100_000), ..ExecPayload::default() };
    let (answer, ()) = tokio::join!(client::exec(&path, &right, &request, NOW, PATIENCE), async {
        let ordered = rig.ordered().await;
        assert_eq!(ordered.call.request, request);
        ordered.reply.send(Ok(payload.clone())).unwrap();
    });
    assert_eq!(answer.unwrap().payload, Some(payload));
}

#[tokio::test]
async fn dropping_the_client_withdraws_the_request() {
    let mut rig = Rig::start();
    let (path, right) = (rig.path(), token("right"));
    let request = AskRequest { command: "id".into(), ..AskRequest::default() };
    let asked = tokio::select! {
        answer = client::ask(&path, &right, &request, PATIENCE) => panic!("answered: {answer:?}"),
        asked = rig.asked() => asked,
    };
    within(asked.call.gone.cancelled()).await;
}
