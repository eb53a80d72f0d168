//! Messages that make no sense.

use super::*;
use pretty_assertions::assert_eq;

#[tokio::test]
async fn what_is_no_message_is_passed_over_and_the_next_one_is_served() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    for line in ["", " ", "hello", "{", "\u{0}", "{\"jsonrpc\":", "\"\\ud800\""] {
        client.write(line).await;
        client.expect_silence().await;
    }
    client.output.write_all(b"\xff\xfe\n").await.unwrap();
    client.expect_silence().await;
    client.call(1, "exec", json!({})).await;
    app.called().await.1.bring("done", None).await;
    assert_eq!(client.next().await["id"], 1);
}

#[tokio::test]
async fn what_is_json_and_no_request_is_refused_and_reaches_no_app() {
    // There is no app: whatever reached it would be answered as a failed call.
    let home = Home::new();
    let mut client = Client::new(&home).await;
    for (line, id, code) in [
        ("[]", Value::Null, -32600),
        ("7", Value::Null, -32600),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, Value::Null, -32600),
        (r#"{"id":1,"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, Value::Null, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#, json!(1), -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#, json!(1), -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"2"}}"#, json!(1), -32602),
    ] {
        client.write(line).await;
        let answer = client.next().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{line}: {answer}");
    }
    for params in [
        json!(null),
        json!({}),
        json!({"name": 7}),
        json!({"name": "exec", "arguments": []}),
        json!({"name": "exec", "arguments": "ls"}),
        json!({"name": "approve", "arguments": [{"tool_name": "Bash", "input": {}}]}),
    ] {
        client.request(1, "tools/call", params.clone()).await;
        let answer = client.next().await;
        assert!(answer["error"]["code"].is_i64() && answer["result"].is_null(), "{params}: {answer}");
    }
    client.expect_silence().await;
}

#[tokio::test]
async fn a_message_that_is_too_long_is_not_kept() {
    let home = Home::new();
    let mut client = Client::new(&home).await;
    let long = "x".repeat(MESSAGE_BYTES);
    client.call(1, "exec", json!({"command": long})).await;
    client.expect_silence().await;
}

#[tokio::test]
async fn a_message_as_long_as_may_be_reaches_the_app() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    let long = "x".repeat(MESSAGE_BYTES - 200);
    client.call(1, "exec", json!({"command": long})).await;
    let (call, asked) = app.called().await;
    assert_eq!(call.params["command"].as_str().map(str::len), Some(long.len()));
    asked.bring("done", None).await;
    assert_eq!(client.next().await["id"], 1);
}

#[tokio::test]
async fn t05_an_id_belongs_to_one_request_at_a_time() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    client.call(7, "exec", json!({"first": true})).await;
    let (_, first) = app.called().await;
    client.call(7, "exec", json!({"first": false})).await;
    let answer = client.next().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(-32600)), "{answer}");
    first.bring("first", None).await;
    let answer = client.next().await;
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(7), &json!("first")));
    // Answered, it is free again.
    client.call(7, "exec", json!({})).await;
    app.called().await.1.bring("second", None).await;
    assert_eq!(client.next().await["result"]["content"][0]["text"], "second");
}

#[tokio::test]
async fn nothing_is_served_before_the_client_says_who_it_is() {
    let home = Home::new();
    let mut client = Client::stranger(&home, options());
    client.call(1, "approve", json!({"tool_name": "Bash", "input": {}})).await;
    let answer = client.next().await;
    assert!(answer["error"]["code"].is_i64() && answer["result"].is_null(), "{answer}");
    let answer = client.ask("hello", "initialize", initialize()).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    client.leave().await;
}

#[tokio::test]
async fn a_client_that_says_something_else_first_is_not_served() {
    let home = Home::new();
    let mut client = Client::stranger(&home, options());
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    let ended = timeout(PATIENCE, client.serving).await.expect("the server ends").unwrap();
    assert!(matches!(ended, Err(ServeError::Client(_))), "{ended:?}");
}
