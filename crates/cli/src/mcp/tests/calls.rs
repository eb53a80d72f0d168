//! Listing and calling tools.

use super::*;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::tools::{ToolCaller, ToolFailure, ToolView};
use pretty_assertions::assert_eq;

fn views(names: &[&str]) -> ControlResponse {
    let view = |name: &&str| ToolView {
        name: (*name).to_owned(),
        description: format!("what {name} does"),
        parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
    };
    ControlResponse::Tools {
        tools: names.iter().map(view).collect(),
        removed: vec![],
        warnings: vec![],
        steps: Vec::new(),
        standing: Default::default(),
    }
}

async fn listed(client: &mut Client, app: &App, answer: ControlResponse) -> Value {
    client.request("list", "tools/list", json!({})).await;
    let asked = app.asked().await;
    assert!(matches!(asked.request, ControlRequest::Tools { .. }), "{:?}", asked.request);
    asked.answer(answer).await;
    client.next().await
}

fn names(answer: &Value) -> Vec<&str> {
    answer["result"]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_apps_tools_are_asked_for_each_time_and_listed_before_approve() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    let answer = listed(&mut client, &app, views(&["exec", "read_file"])).await;
    assert_eq!(names(&answer), ["exec", "read_file", "approve"]);
    assert_eq!(
        answer["result"]["tools"][0],
        json!({
            "name": "exec",
            "description": "what exec does",
            "inputSchema": {"type": "object", "properties": {"command": {"type": "string"}}},
            "annotations": {"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true},
        })
    );
    let answer = listed(&mut client, &app, views(&["exec"])).await;
    assert_eq!(names(&answer), ["exec", "approve"]);
    // A tool of the app's that nobody could call is not shown.
    let answer = listed(&mut client, &app, views(&["approve", "exec"])).await;
    assert_eq!(names(&answer), ["exec", "approve"]);
    client.leave().await;
}

#[tokio::test]
async fn approve_can_be_left_out() {
    let home = Home::new();
    let app = home.app();
    // Claude Code, as the client of these tests calls itself, uses it.
    let mut client = Client::with(&home, Options { approve: Approve::WhereUsed, ..options() }).await;
    assert_eq!(names(&listed(&mut client, &app, views(&["exec"])).await), ["exec", "approve"]);
    let mut client = Client::stranger(&home, Options { approve: Approve::WhereUsed, ..options() });
    let mut hello = initialize();
    hello["clientInfo"]["name"] = json!("codex-mcp-client");
    client.ask("hello", "initialize", hello).await;
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!(names(&listed(&mut client, &app, views(&["exec"])).await), ["exec"]);
    let mut client = Client::with(&home, Options { approve: Approve::Withheld, ..options() }).await;
    assert_eq!(names(&listed(&mut client, &app, views(&["exec"])).await), ["exec"]);
    client.call(1, "approve", json!({"tool_name": "Bash", "input": {}})).await;
    let (call, asked) = app.called().await;
    assert_eq!(call.tool, "approve");
    asked.fail(ToolFailure::NotFound, "").await;
    assert_eq!(client.next().await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_schema_of_another_root_spoils_no_list() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    let tool =
        |parameters: Value| ToolView { name: "odd".to_owned(), description: String::new(), parameters };
    let tools = vec![tool(json!("text")), tool(json!({"type": "array"})), tool(json!({"required": []}))];
    let answer = ControlResponse::Tools {
        tools,
        removed: vec![],
        warnings: vec![],
        steps: Vec::new(),
        standing: Default::default(),
    };
    let answer = listed(&mut client, &app, answer).await;
    for tool in answer["result"]["tools"].as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
    }
}

#[tokio::test]
async fn the_app_is_told_who_calls_what() {
    let home = Home::new();
    let app = home.app();
    let mut client =
        Client::with(&home, Options { approval_timeout: Some(Duration::from_secs(90)), ..options() }).await;
    client.request(1, "tools/list", json!({})).await;
    let asked = app.asked().await;
    let ControlRequest::Tools { caller } = asked.request.clone() else { panic!("{:?}", asked.request) };
    let expected = ToolCaller {
        agent: "claude-code".to_owned(),
        session: caller.session.clone(),
        client: Some("Claude Code 2.1".to_owned()),
        workspace: "/work".to_owned(),
        ..ToolCaller::default()
    };
    assert_eq!(caller, expected);
    assert_eq!(caller.session.as_ref().map(String::len), Some(36));
    asked.answer(views(&[])).await;
    client.next().await;

    let arguments = json!({"z": 1, "a": {"command": "ls"}});
    client.call(2, "exec", arguments.clone()).await;
    client.request(3, "tools/call", json!({"name": "exec"})).await;
    let (first, one) = app.called().await;
    let (second, two) = app.called().await;
    assert!(matches!(one.request, ControlRequest::CallTool { .. }));
    assert_eq!((&first.caller, &second.caller), (&caller, &caller));
    assert_eq!((first.tool.as_str(), Value::Object(first.params.clone())), ("exec", arguments));
    assert_eq!(first.params.keys().collect::<Vec<_>>(), ["z", "a"]);
    assert_eq!((second.params.len(), first.approval_timeout_ms), (0, Some(90_000)));
    assert_ne!(first.id, second.id);
    two.bring("two", None).await;
    assert_eq!(client.next().await["id"], 3);
    one.bring("one", None).await;
    assert_eq!(client.next().await["id"], 2);
}

#[tokio::test]
async fn what_a_call_brings_is_text_and_the_text_is_in_the_data_too() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    for (details, data) in [
        (None, Value::Null),
        (Some(json!([1, 2])), Value::Null),
        (Some(json!({"exitCode": 0})), json!({"exitCode": 0, "text": "done"})),
        (Some(json!({"text": "its own"})), json!({"text": "its own"})),
    ] {
        client.call(1, "exec", json!({"command": "true"})).await;
        app.called().await.1.bring("done", details).await;
        let answer = client.next().await;
        assert_eq!(answer["result"]["content"], json!([{"type": "text", "text": "done"}]));
        assert_eq!(answer["result"]["isError"], false);
        assert_eq!(answer["result"]["structuredContent"], data);
    }
}

#[tokio::test]
async fn a_failure_is_a_result_that_the_agent_reads() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    for (failure, message, text) in [
        (ToolFailure::Denied, "the person said no", "the person said no"),
        (ToolFailure::Denied, " ", "It is not allowed."),
        (ToolFailure::Expired, "", "Nobody answered in time, so it is not allowed."),
        (ToolFailure::Invalid, "command: expected a text", "command: expected a text"),
        (ToolFailure::Invalid, "", "Its parameters make no sense."),
        (ToolFailure::Failed, "no such file", "no such file"),
        (ToolFailure::Aborted, "", "It was called off."),
    ] {
        client.call(1, "exec", json!({})).await;
        app.called().await.1.fail(failure, message).await;
        let answer = client.next().await;
        let expected = json!({"content": [{"type": "text", "text": text}], "isError": true});
        assert_eq!(answer["result"], expected, "{failure:?}");
    }
    // With an output beside it, a failure is one.
    client.call(1, "exec", json!({})).await;
    let output = Some(countersign_protocol::tools::ToolOutput {
        text: "done".to_owned(),
        details: None,
        events: Vec::new(),
    });
    let answer =
        ControlResponse::Called { output, failure: Some(ToolFailure::Denied), message: "no".to_owned() };
    app.called().await.1.answer(answer).await;
    assert_eq!(client.next().await["result"]["isError"], true);
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_an_error_of_the_protocol() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    client.call("x", "exce", json!({})).await;
    app.called().await.1.fail(ToolFailure::NotFound, "no tool exce for this agent").await;
    let expected = json!({"code": -32602, "message": "Unknown tool: exce"});
    assert_eq!(client.next().await, json!({"jsonrpc": "2.0", "id": "x", "error": expected}));
}

#[tokio::test]
async fn reports_are_counted_and_reach_a_client_that_wants_them_before_the_answer() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    let params = json!({"name": "exec", "arguments": {}, "_meta": {"progressToken": "t-1"}});
    client.request(1, "tools/call", params).await;
    let (_, mut asked) = app.called().await;
    for text in ["waits for a person", "line 1", "line 2"] {
        asked.report(text).await;
    }
    asked.bring("done", None).await;
    for (count, text) in [(1.0, "waits for a person"), (2.0, "line 1"), (3.0, "line 2")] {
        let report = client.next().await;
        assert_eq!(report["method"], "notifications/progress");
        assert_eq!(report["params"], json!({"progressToken": "t-1", "progress": count, "message": text}));
    }
    assert_eq!(client.next().await["result"]["content"][0]["text"], "done");

    client.call(2, "exec", json!({})).await;
    let (_, mut asked) = app.called().await;
    asked.report("nobody wants to know").await;
    asked.bring("done", None).await;
    assert_eq!(client.next().await["id"], 2);
    client.expect_silence().await;
}

#[tokio::test]
async fn a_flood_of_reports_is_cut_and_the_answer_still_comes() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    let params = json!({"name": "exec", "_meta": {"progressToken": 7}});
    client.request(1, "tools/call", params).await;
    let (_, mut asked) = app.called().await;
    let line = format!("{}\n", json!({"kind": "progress", "text": "x"}));
    // In one write, as nothing may be taken from the queue in between.
    asked.write(&line.repeat(PROGRESS_FLOOD)).await;
    asked.bring("done", None).await;
    let mut last = 0.0;
    let mut count = 0;
    let answer = loop {
        let message = client.next().await;
        match message["params"]["progress"].as_f64() {
            Some(progress) => {
                assert!(progress > last);
                (last, count) = (progress, count + 1);
            }
            None => break message,
        }
    };
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    assert!((1..=PROGRESS_FLOOD).contains(&count), "{count}");
}

#[tokio::test]
async fn a_call_that_its_client_cancels_ends_in_the_app_and_gets_no_answer() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    client.call(1, "exec", json!({})).await;
    client.call(2, "exec", json!({})).await;
    let (_, one) = app.called().await;
    let (_, two) = app.called().await;
    client.cancel(1).await;
    one.gone().await;
    client.expect_silence().await;
    two.bring("still here", None).await;
    assert_eq!(client.next().await["id"], 2);
    // Too late, of another's, of nobody's.
    for id in [json!(2), json!("2"), json!(99), Value::Null] {
        client.cancel(id).await;
    }
    client.expect_silence().await;
    client.call(1, "exec", json!({})).await;
    app.called().await.1.bring("again", None).await;
    assert_eq!(client.next().await["result"]["content"][0]["text"], "again");
}

#[tokio::test]
async fn when_the_client_goes_its_calls_end_in_the_app_and_so_does_the_server() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    client.call(1, "exec", json!({})).await;
    client.call(2, "approve", json!({"tool_name": "Bash", "input": {}})).await;
    let (_, one) = app.called().await;
    let (_, two) = app.called().await;
    let Client { lines, mut output, serving, .. } = client;
    // It may listen on: what it asked for is called off all the same.
    output.shutdown().await.unwrap();
    one.gone().await;
    two.gone().await;
    timeout(PATIENCE, serving).await.expect("the server ends").unwrap().unwrap();
    drop(lines);
}

#[tokio::test]
async fn when_the_server_is_told_to_end_its_calls_end_in_the_app() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    client.call(1, "exec", json!({})).await;
    let (_, asked) = app.called().await;
    client.stop.cancel();
    asked.gone().await;
    timeout(PATIENCE, &mut client.serving).await.expect("the server ends").unwrap().unwrap();
}

#[tokio::test]
async fn a_server_that_nobody_greets_ends_with_its_input() {
    let home = Home::new();
    Client::stranger(&home, options()).leave().await;
    let told = Client::stranger(&home, options());
    told.stop.cancel();
    timeout(PATIENCE, told.serving).await.expect("the server ends").unwrap().unwrap();
}

#[tokio::test]
async fn of_a_thousand_calls_at_once_the_app_gets_as_many_as_it_may_and_the_others_fail() {
    const MANY: usize = 1_000;
    let home = Home::new();
    let app = home.app();
    let client = Client::new(&home).await;
    let Client { mut lines, mut output, serving, stop } = client;
    // Beside the reading, as a client that only writes is not listened to for long.
    let writing = tokio::spawn(async move {
        for id in 0..MANY {
            let params = json!({"name": "exec", "arguments": {"id": id}});
            let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
            output.write_all(format!("{call}\n").as_bytes()).await.unwrap();
        }
        output
    });
    let mut busy = 0;
    let mut line = String::new();
    while busy < MANY - server::CALLS {
        line.clear();
        timeout(PATIENCE, lines.read_line(&mut line)).await.expect("an answer in time").unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("64 calls are under way"), "{text}");
        busy += 1;
    }
    let mut under_way = Vec::new();
    for _ in 0..server::CALLS {
        under_way.push(app.called().await.1);
    }
    for asked in under_way {
        asked.bring("done", None).await;
    }
    for _ in 0..server::CALLS {
        line.clear();
        timeout(PATIENCE, lines.read_line(&mut line)).await.expect("an answer in time").unwrap();
        assert!(line.contains("done"), "{line}");
    }
    drop((lines, writing.await.unwrap(), stop));
    timeout(PATIENCE, serving).await.expect("the server ends").unwrap().unwrap();
}

#[tokio::test]
async fn lists_are_given_while_all_calls_are_taken() {
    let home = Home::new();
    let app = home.app();
    let mut client = Client::new(&home).await;
    let mut under_way = Vec::new();
    for id in 0..server::CALLS {
        client.call(id, "exec", json!({})).await;
        under_way.push(app.called().await);
    }
    assert_eq!(names(&listed(&mut client, &app, views(&["exec"])).await), ["exec", "approve"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_is_not_listened_to_for_ever() {
    let home = Home::new();
    let mut client = Client::new(&home).await;
    let mut sent = 0;
    let ping = |id: usize| format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
    // Time only passes when nothing else can happen.
    while timeout(PATIENCE, client.output.write_all(ping(sent).as_bytes())).await.is_ok() {
        sent += 1;
        assert!(sent < 20_000, "it reads on");
    }
    let mut answered = 0;
    while answered < sent {
        assert_eq!(client.next().await["result"], json!({}));
        answered += 1;
    }
}

/// Reports that come all at once: more than are kept.
const PROGRESS_FLOOD: usize = 500;
