//! `approve`: the contract, and that nothing but a clear yes is one.

use super::*;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::tools::{Permission, ToolFailure, ToolView};
use pretty_assertions::assert_eq;

async fn ask(client: &mut Client, arguments: Value) {
    client.call("ask", "approve", arguments).await;
}

/// The one text of an answer.
async fn verdict(client: &mut Client) -> String {
    let answer = client.next().await;
    assert_eq!(answer["id"], "ask", "{answer}");
    let result = &answer["result"];
    assert_eq!((&result["isError"], &result["structuredContent"]), (&json!(false), &Value::Null), "{answer}");
    let content = result["content"].as_array().unwrap();
    assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")), "{answer}");
    content[0]["text"].as_str().unwrap().to_owned()
}

fn permitted(permission: Permission) -> ControlResponse {
    ControlResponse::Permitted { permission, events: Vec::new() }
}

fn bash() -> Value {
    json!({"tool_name": "Bash", "input": {"command": "ls"}, "tool_use_id": "toolu_01"})
}

#[tokio::test]
async fn a_yes_gives_the_input_back_as_it_came() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    let input = r#"{"file_path":"/work/a.txt","new_string":"ä\t\"\u0007","n":[0.1,3,51.2481783755054],"a":{"z":null,"b":[]}}"#;
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":"ask","method":"tools/call","params":{{"name":"approve","arguments":{{"tool_name":"Edit","input":{input},"tool_use_id":"toolu_01"}}}}}}"#
    );
    client.write(&line).await;
    let (call, asked) = app.called().await;
    assert!(matches!(asked.request, ControlRequest::PermitTool { .. }));
    assert_eq!((call.tool.as_str(), call.caller.agent.as_str()), ("Edit", "claude-code"));
    assert_eq!(serde_json::to_string(&call.params).unwrap(), input);
    asked.answer(permitted(Permission::Allow)).await;
    assert_eq!(verdict(&mut client).await, format!(r#"{{"behavior":"allow","updatedInput":{input}}}"#));
}

#[tokio::test]
async fn a_no_says_why() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    for (failure, message, said) in [
        (ToolFailure::Denied, "Denied by the person.", "Denied by the person."),
        (ToolFailure::Expired, "", "Nobody answered in time, so it is not allowed."),
        (ToolFailure::Invalid, " ", "Its parameters make no sense."),
    ] {
        ask(&mut client, bash()).await;
        let permission = Permission::Deny { message: message.to_owned(), failure };
        app.called().await.1.answer(permitted(permission)).await;
        let expected = json!({"behavior": "deny", "message": said}).to_string();
        assert_eq!(verdict(&mut client).await, expected, "{failure:?}");
    }
}

#[tokio::test]
async fn malformed_arguments_are_denied_and_nobody_is_asked() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    for (arguments, problem) in [
        (json!({}), "tool_name: expected the name of a tool, got nothing"),
        (json!({"tool_name": ["Bash"], "input": {}}), "tool_name: expected the name of a tool, got a list"),
        (json!({"tool_name": "Bash", "input": "ls"}), "input: expected an object, got a text"),
        (json!({"toolName": "Bash", "input": {}}), "tool_name: expected the name of a tool, got nothing"),
    ] {
        ask(&mut client, arguments).await;
        let expected = json!({"behavior": "deny", "message": problem}).to_string();
        assert_eq!(verdict(&mut client).await, expected);
    }
    client.request("ask", "tools/call", json!({"name": "approve"})).await;
    assert!(verdict(&mut client).await.starts_with(r#"{"behavior":"deny""#));
    // The next that the app hears of is this one.
    ask(&mut client, bash()).await;
    assert_eq!(app.called().await.0.tool, "Bash");
}

#[tokio::test]
async fn without_the_app_everything_fails_and_says_what_to_do() {
    let home = Home::new();
    let mut client = Client::new(&home).await;
    ask(&mut client, bash()).await;
    let said: Value = serde_json::from_str(&verdict(&mut client).await).unwrap();
    assert_eq!(said["behavior"], "deny");
    let message = said["message"].as_str().unwrap().to_owned();
    assert!(message.contains("is not running") && message.contains("countersign-desktop"), "{message}");

    client.call(1, "exec", json!({})).await;
    let answer = client.next().await;
    let expected = json!({"content": [{"type": "text", "text": message}], "isError": true});
    assert_eq!(answer["result"], expected);

    // What there is, is there to be called: an agent that starts first need not be started again.
    let answer = client.ask("list", "tools/list", json!({})).await;
    let tools = answer["result"]["tools"].as_array().unwrap();
    let named = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(named("read_file")["annotations"]["readOnlyHint"], true);
    assert_eq!(named("exec")["annotations"]["destructiveHint"], true);
    assert!(named("approve")["inputSchema"].is_object() && named("process")["inputSchema"].is_object());

    // It is looked for anew each time, and its client hears when it is there.
    let app = home.app();
    let asked = app.asked().await;
    assert!(matches!(asked.request, ControlRequest::Tools { .. }), "{:?}", asked.request);
    asked.answer(ControlResponse::Error { message: "later".to_owned() }).await;
    assert_eq!(client.next().await["method"], "notifications/tools/list_changed");
    ask(&mut client, bash()).await;
    app.called().await.1.answer(permitted(Permission::Allow)).await;
    assert_eq!(verdict(&mut client).await, r#"{"behavior":"allow","updatedInput":{"command":"ls"}}"#);
}

#[tokio::test]
async fn an_app_that_makes_no_sense_allows_nothing() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    let long = format!("{{\"kind\":\"permitted\",\"x\":\"{}", "x".repeat(5 * 1_024 * 1_024));
    for said in [
        "",
        "\n",
        "allow\n",
        "{}\n",
        r#"{"kind":"permitted","permission":{"behavior":"allow"}"#,
        "{\"kind\":\"permitted\",\"permission\":{\"behavior\":\"Allow\"}}\n",
        "{\"kind\":\"permitted\",\"permission\":\"allow\"}\n",
        "{\"kind\":\"permitted\",\"permission\":{\"behavior\":\"deny\"}}\n",
        "{\"kind\":\"permitted\"}\n",
        "{\"kind\":\"shown\"}\n",
        "{\"kind\":\"called\",\"output\":{\"text\":\"allow\"}}\n",
        "{\"kind\":\"error\",\"message\":\"expected a control request\"}\n",
        &long,
    ] {
        ask(&mut client, bash()).await;
        let (_, mut asked) = app.called().await;
        // A server that gave up already takes no more of it.
        let _ = timeout(PATIENCE, asked.try_write(said)).await;
        drop(asked);
        let verdict: Value = serde_json::from_str(&verdict(&mut client).await).unwrap();
        let start: String = said.chars().take(60).collect();
        assert_eq!(verdict["behavior"], "deny", "{start}");
        assert!(!verdict["message"].as_str().unwrap().is_empty(), "{start}");
    }
}

#[tokio::test]
async fn a_question_that_is_called_off_is_taken_back_and_not_answered() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    ask(&mut client, bash()).await;
    let (_, asked) = app.called().await;
    client.cancel("ask").await;
    asked.gone().await;
    client.expect_silence().await;
}

#[tokio::test]
async fn when_all_calls_are_taken_a_question_is_denied() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    let mut under_way: Vec<HeldRequest> = Vec::new();
    for id in 0..server::CALLS {
        client.call(id, "exec", json!({})).await;
        under_way.push(app.called().await.1);
    }
    ask(&mut client, bash()).await;
    let said = verdict(&mut client).await;
    assert!(said.starts_with(r#"{"behavior":"deny""#) && said.contains("under way"), "{said}");
}

#[tokio::test]
async fn about_tools_of_this_very_server_nobody_is_asked_twice() {
    let home = Home::new();
    let app = home.app();
    let named = Options { known_as: Some("countersign".to_owned()), ..options() };
    let mut client = Client::with(&home, named).await;
    let question = |tool: &str| json!({"tool_name": tool, "input": {"command": "ls"}});
    let listed = || ControlResponse::Tools {
        tools: vec![ToolView { name: "exec".to_owned(), description: String::new(), parameters: json!({}) }],
        removed: vec![],
        warnings: vec![],
        steps: Vec::new(),
        standing: Default::default(),
    };
    ask(&mut client, question("mcp__countersign__exec")).await;
    app.asked().await.answer(listed()).await;
    assert!(verdict(&mut client).await.starts_with(r#"{"behavior":"allow""#));
    // No tool of this server's: somebody has to look.
    ask(&mut client, question("mcp__countersign__other")).await;
    app.asked().await.answer(listed()).await;
    assert_eq!(app.called().await.0.tool, "mcp__countersign__other");
    let mut unnamed = Client::new(&home).await;
    ask(&mut unnamed, question("mcp__countersign__exec")).await;
    assert_eq!(app.called().await.0.tool, "mcp__countersign__exec");
}
