//! Tools over real connections, with tools that do what the test says.

use super::*;
use crate::access::Method;
use crate::embedded::tests::scripted::{self, Exchange, Rig, TOKEN, bearer, post};
use countersign_protocol::tools::{ToolCall, ToolCaller, ToolOutput};
use pretty_assertions::assert_eq;

/// A caller as the tools see it.
fn caller(agent: &str, session: Option<&str>) -> ToolCaller {
    ToolCaller { agent: agent.to_owned(), session: session.map(str::to_owned), ..ToolCaller::default() }
}

#[tokio::test]
async fn a_tool_is_called_with_what_was_asked_and_its_output_comes_back() {
    let mut rig = Rig::new().await;
    let body = json!({
        "tool": " exec ", "args": { "command": "id -u" }, "sessionKey": "agent:coder:main", "workspace": "/w",
        "idempotencyKey": "mine", "provider": " anthropic ", "model": "claude x",
    });
    let headers = ["User-Agent: probe/1", "x-openclaw-message-channel: slack", "x-openclaw-account-id: 7"];
    let exchange = rig.send(&post(TOKEN, &headers, &body.to_string())).await;
    let running = rig.call().await;
    assert!(running.call.id.starts_with("http-"), "{:?}", running.call.id);
    let expected = ToolCall {
        id: running.call.id.clone(),
        tool: "exec".to_owned(),
        params: json!({ "command": "id -u" }).as_object().unwrap().clone(),
        caller: ToolCaller {
            client: Some("probe/1".to_owned()),
            provider: Some("anthropic".to_owned()),
            model: Some("claude x".to_owned()),
            workspace: "/w".to_owned(),
            ..caller("coder", Some("agent:coder:main"))
        },
        approval_timeout_ms: None,
        takes_command: false,
        is_quiet: false,
    };
    assert_eq!(running.call, expected);
    let details = json!({ "exitCode": 0 });
    running
        .answer
        .send(Ok(ToolOutput { text: "0\n".to_owned(), details: Some(details.clone()), events: Vec::new() }))
        .unwrap();
    let answer = exchange.answer().await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let result = json!({ "content": [{ "type": "text", "text": "0\n" }], "details": details });
    assert_eq!(answer.body, json!({ "ok": true, "result": result }));
    // Nobody had to be listed anything for it.
    assert_eq!(rig.listed(), []);
    let exchange = rig.post(&json!({ "tool": "exec" })).await;
    rig.call().await.bring("fine");
    assert_eq!(
        exchange.answer().await.body["result"],
        json!({ "content": [{ "type": "text", "text": "fine" }] })
    );
}

#[tokio::test]
async fn what_came_of_a_call_is_told_in_the_peers_statuses() {
    let mut rig = Rig::new().await;
    let check = async |rig: &mut Rig, error: ToolError, status: u16, kind: &str, requires: Value| {
        let exchange = rig.post(&json!({ "tool": "exec" })).await;
        rig.call().await.answer.send(Err(error.clone())).unwrap();
        let answer = exchange.answer().await;
        assert_eq!(answer.error(), (status, kind, "why not"));
        assert_eq!(answer.body["error"]["requiresApproval"], requires, "{error:?}");
    };
    let failed = |failure| ToolError::Failed { failure, message: "why not".to_owned() };
    check(&mut rig, failed(ToolFailure::Denied), 403, "tool_call_blocked", json!(false)).await;
    check(&mut rig, failed(ToolFailure::Expired), 403, "tool_call_blocked", json!(true)).await;
    check(&mut rig, failed(ToolFailure::NotFound), 404, "not_found", Value::Null).await;
    check(&mut rig, failed(ToolFailure::Invalid), 400, "tool_error", Value::Null).await;
    check(&mut rig, failed(ToolFailure::Failed), 500, "tool_error", Value::Null).await;
    check(&mut rig, failed(ToolFailure::Aborted), 500, "tool_error", Value::Null).await;
    check(&mut rig, ToolError::Unavailable("why not".to_owned()), 503, "unavailable", Value::Null).await;
}

#[tokio::test]
async fn calls_that_make_no_sense_reach_no_tool() {
    let mut rig = Rig::new().await;
    let check = async |rig: &mut Rig, body: Value, message: &str| {
        let answer = rig.posted(&body).await;
        assert_eq!(answer.error(), (400, "invalid_request", message), "{body}");
        rig.assert_quiet(&body.to_string());
    };
    let rig = &mut rig;
    for body in
        [json!({}), json!({ "args": {} }), json!({ "tool": " " }), json!({ "tool": null, "name": "" })]
    {
        check(rig, body, "tools.invoke requires name").await;
    }
    for name in [
        "name",
        "tool",
        "action",
        "sessionKey",
        "agentId",
        "provider",
        "model",
        "workspace",
        "idempotencyKey",
    ] {
        for (value, got) in [(json!(7), "a number"), (json!(["exec"]), "an array"), (json!({}), "an object")]
        {
            let mut body = json!({ "tool": "exec" });
            body[name] = value;
            check(rig, body, &format!("{name}: expected a string, got {got}")).await;
        }
    }
    for (value, got) in [(json!([]), "an array"), (json!("ls"), "a string"), (json!(true), "a boolean")] {
        check(rig, json!({ "tool": "exec", "args": value }), &format!("args: expected an object, got {got}"))
            .await;
    }
    for (value, got) in [(json!("true"), "a string"), (json!(1), "a number")] {
        let message = format!("dryRun: expected true or false, got {got}");
        check(rig, json!({ "tool": "exec", "dryRun": value }), &message).await;
    }
    let long = "x".repeat(257);
    for name in ["tool", "action", "sessionKey", "agentId", "provider", "model", "idempotencyKey"] {
        let mut body = json!({ "tool": "exec" });
        body[name] = long.as_str().into();
        check(rig, body, &format!("{name}: expected at most 256, got 257")).await;
    }
    for workspace in ["w", "./w", "~/w", "/w\0"] {
        let message = format!("workspace: expected an absolute path, got {workspace:?}");
        check(rig, json!({ "tool": "exec", "workspace": workspace }), &message).await;
    }
    let path = format!("/{}", "x".repeat(4_096));
    check(rig, json!({ "tool": "exec", "workspace": path }), "workspace: expected at most 4096, got 4097")
        .await;
    for session in ["agent:", "agent:coder", "agent::main", "agent: :main", "agent:coder:"] {
        let message = format!("sessionKey: expected agent:<id>:<rest>, got {session:?}");
        check(rig, json!({ "tool": "exec", "sessionKey": session }), &message).await;
    }
    let other = json!({ "tool": "exec", "sessionKey": "agent:coder:main", "agentId": "main" });
    check(rig, other, "agent id \"main\" does not match session agent \"coder\"").await;
}

#[tokio::test]
async fn bodies_that_are_no_objects_reach_no_tool() {
    let mut rig = Rig::new().await;
    let mut check = async |body: &str, start: &str| {
        let answer = rig.send(&post(TOKEN, &[], body)).await.answer().await;
        let (status, kind, message) = answer.error();
        assert_eq!((status, kind), (400, "invalid_request_error"), "{body}");
        assert!(message.starts_with(start), "{body}: {message}");
        rig.assert_quiet(body);
    };
    check("{\"tool\":\"exec\"", "body: expected JSON: ").await;
    check("tool=exec", "body: expected JSON: ").await;
    check("{\"tool\":\"exec\"} {}", "body: expected JSON: ").await;
    check("[\"exec\"]", "body: expected an object, got an array").await;
    check("null", "body: expected an object, got null").await;
    check("\"exec\"", "body: expected an object, got a string").await;
    // Deeper than anything that is read without end.
    check(&format!("{{\"tool\":\"exec\",\"args\":{}", "[".repeat(100_000)), "body: expected JSON: ").await;
    // None at all counts as an empty one.
    let answer = rig.send(&post(TOKEN, &[], " \n")).await.answer().await;
    assert_eq!(answer.error(), (400, "invalid_request", "tools.invoke requires name"));
}

#[tokio::test]
async fn who_asks_is_told_by_session_and_agent() {
    let mut rig = Rig::new().await;
    let mut check = async |asked: Value, agent: &str, session: &str| {
        let mut body = json!({ "tool": "exec" });
        body.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let exchange = rig.post(&body).await;
        let running = rig.call().await;
        assert_eq!(running.call.caller, caller(agent, Some(session)), "{body}");
        running.bring("");
        assert_eq!(exchange.answer().await.status, 200);
    };
    check(json!({}), "main", "agent:main:main").await;
    check(json!({ "sessionKey": "main", "agentId": null }), "main", "agent:main:main").await;
    check(json!({ "sessionKey": "main", "agentId": " coder " }), "coder", "agent:coder:main").await;
    check(json!({ "sessionKey": "agent:coder:telegram:dm:1" }), "coder", "agent:coder:telegram:dm:1").await;
    check(json!({ "sessionKey": "agent:coder:s", "agentId": "coder" }), "coder", "agent:coder:s").await;
    check(json!({ "sessionKey": "global", "agentId": "coder" }), "coder", "global").await;
    // What is newer wins.
    check(json!({ "name": "exec", "tool": "other" }), "main", "agent:main:main").await;
}

#[tokio::test]
async fn an_action_goes_into_the_parameters_of_a_tool_that_takes_one() {
    let mut rig = Rig::new().await;
    let mut check = async |tool: &str, args: Value, expected: Value| {
        let exchange = rig.post(&json!({ "tool": tool, "action": "list", "args": args })).await;
        let running = rig.call().await;
        assert_eq!(Value::from(running.call.params.clone()), expected, "{tool}");
        running.bring("");
        assert_eq!(exchange.answer().await.status, 200);
    };
    check("process", json!({ "id": 1 }), json!({ "id": 1, "action": "list" })).await;
    check("process", json!({ "action": "kill" }), json!({ "action": "kill" })).await;
    check("process", json!({ "action": null }), json!({ "action": null })).await;
    check("exec", json!({}), json!({})).await;
    let answer = rig.posted(&json!({ "tool": "write_file", "action": "list" })).await;
    assert_eq!(answer.error(), (404, "not_found", "Tool not available: write_file"));
    rig.assert_quiet("a tool that was removed");
}

#[tokio::test]
async fn a_dry_run_looks_and_calls_nothing() {
    let mut rig = Rig::new().await;
    let answer = rig.posted(&json!({ "tool": "exec", "dryRun": true, "agentId": "coder" })).await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body["result"]["details"], json!({ "dryRun": true }));
    assert_eq!(rig.listed(), [caller("coder", Some("agent:coder:main"))]);
    let answer = rig.posted(&json!({ "tool": "write_file", "dryRun": true })).await;
    assert_eq!(answer.error(), (404, "not_found", "Tool not available: write_file"));
    rig.assert_quiet("a dry run");
}

#[tokio::test]
async fn t01_a_body_that_says_it_was_approved_says_nothing() {
    let mut rig = Rig::new().await;
    let plain = json!({ "tool": "exec", "args": { "command": "id" } });
    let mut told = plain.clone();
    for name in ["approved", "confirm", "force", "elevated", "senderIsOwner"] {
        told[name] = true.into();
    }
    told["approvalDecision"] = "allow-always".into();
    told["approvalSource"] = "ask-fallback".into();
    told["caller"] = json!({ "agent": "trusted", "workspace": "/" });
    told["approvalTimeoutMs"] = 1.into();
    told["petSession"] = "p".into();
    let headers = ["x-openclaw-scopes: operator.admin", "x-openclaw-approved: true"];
    let mut calls = Vec::new();
    for text in [post(TOKEN, &[], &plain.to_string()), post(TOKEN, &headers, &told.to_string())] {
        let exchange = rig.send(&text).await;
        let running = rig.call().await;
        calls.push(ToolCall { id: String::new(), ..running.call.clone() });
        running.answer.send(Err(ToolError::Unavailable("no".to_owned()))).unwrap();
        assert_eq!(exchange.answer().await.status, 503);
    }
    assert_eq!(calls[0], calls[1]);
}

#[tokio::test]
async fn t02_what_approves_is_no_tool_of_a_token() {
    let mut rig = Rig::new().await;
    // A method of the gateway is but the name of a tool here, and there is none of that name.
    for method in Method::all().map(Method::as_str) {
        let exchange =
            rig.post(&json!({ "tool": method, "args": { "id": "a-1", "decision": "allow-once" } })).await;
        let running = rig.call().await;
        assert_eq!(running.call.tool, method);
        let message = format!("Tool not available: {method}");
        running.answer.send(Err(ToolError::Failed { failure: ToolFailure::NotFound, message })).unwrap();
        assert_eq!(exchange.answer().await.status, 404, "{method}");
    }
    for path in ["/tools/invoke/", "/tools/exec", "/exec.approval.resolve", "/"] {
        let text = post(TOKEN, &["Connection: close"], "{}").replacen("/tools/invoke", path, 1);
        let answer = rig.send(&text).await.text().await;
        assert!(answer.starts_with("HTTP/1.1 405 "), "{path}: {answer}");
        rig.assert_quiet(path);
    }
}

#[tokio::test]
async fn t02_tools_are_listed_to_operators_that_may_read() {
    let rig = Rig::new().await;
    let params = |method: &str| match method {
        "tools.effective" => json!({ "sessionKey": "main" }),
        _ => json!({}),
    };
    for method in ["tools.catalog", "tools.effective"] {
        for scope in ["operator.read", "operator.write", "operator.admin"] {
            let mut client = rig.client("operator", &[scope]).await.unwrap();
            assert_eq!(client.call(method, params(method)).await.unwrap()["agentId"], "main", "{scope}");
        }
        for scope in ["operator.approvals", "operator.pairing"] {
            let mut client = rig.client("operator", &[scope]).await.unwrap();
            let error = client.call(method, params(method)).await.unwrap_err();
            assert_eq!(error["message"], "missing scope: operator.read", "{scope}");
        }
    }
    let mut client = rig.client("operator", &["operator.admin"]).await.unwrap();
    let error = client.call("tools.invoke", json!({ "name": "exec" })).await.unwrap_err();
    assert_eq!(error["message"], "unknown method: tools.invoke");
}

#[tokio::test]
async fn t03_a_browser_or_another_name_of_this_machine_gets_nothing_even_with_the_token() {
    let mut rig = Rig::new().await;
    let call = post(TOKEN, &[], &json!({ "tool": "exec" }).to_string());
    let list = format!("GET /tools HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n", bearer(TOKEN));
    for text in [call, list] {
        for header in [
            "Origin: http://localhost",
            "Origin: null",
            "X-Forwarded-For: 10.0.0.1",
            "Forwarded: for=10.0.0.1",
        ] {
            let with = text.replacen("Authorization", &format!("{header}\r\nAuthorization"), 1);
            let answer = rig.send(&with).await.answer().await;
            assert_eq!(answer.error().0, 403, "{header}");
        }
        let host = text.replacen("Host: ", "Host: example.com.", 1);
        assert_eq!(rig.send(&host).await.answer().await.error().1, "forbidden");
    }
    rig.assert_quiet("a browser");
    assert_eq!(rig.listed(), []);
}

#[tokio::test]
async fn t03_nobody_gets_in_by_guessing_and_guesses_are_counted_with_those_of_connections() {
    let mut rig = Rig::new().await;
    let body = json!({ "tool": "exec" }).to_string();
    let right = post(TOKEN, &[], &body);
    for text in [
        right.replacen("Authorization", "X-Other", 1),
        right.replacen("Bearer", "Basic", 1),
        right.replacen(&format!("Bearer {TOKEN}"), "Bearer", 1),
        right.replacen(&format!("Bearer {TOKEN}"), TOKEN, 1),
    ] {
        // These are no guesses, however many come.
        for _ in 0..6 {
            let answer = rig.send(&text).await.answer().await;
            assert_eq!(answer.error(), (401, "unauthorized", "Unauthorized"), "{text}");
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    for _ in 0..9 {
        assert_eq!(rig.send(&post("a guess", &[], &body)).await.answer().await.status, 401);
    }
    // Looking at the list counts too.
    let list = format!("GET /tools HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\n", bearer(&TOKEN[1..]));
    assert_eq!(rig.send(&list).await.answer().await.status, 401);
    for text in [right, list] {
        let answer = rig.send(&text).await.answer().await;
        assert_eq!(answer.error().1, "rate_limited");
        assert_eq!(answer.status, 429);
        let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((200..=300).contains(&seconds), "{seconds}");
    }
    rig.assert_quiet("a guess");
    assert_eq!(rig.listed(), []);
    let error = rig.client("operator", &["operator.read"]).await.err().unwrap();
    assert_eq!(error["details"]["code"], "AUTH_RATE_LIMITED", "{error}");
}

#[tokio::test]
async fn each_path_takes_one_method() {
    let mut rig = Rig::new().await;
    let check = async |rig: &Rig, method: &str, path: &str, allow: &str| {
        let text = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{{}}");
        let answer = rig.send(&text).await.answer().await;
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)), "{method} {path}");
    };
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        check(&rig, method, "/tools/invoke", "POST").await;
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        check(&rig, method, "/tools", "GET").await;
    }
    rig.assert_quiet("another method");
}

/// A call in parts of one mebibyte that says nothing of its length, followed by `more` bytes.
async fn in_parts(rig: &Rig, parts: usize, more: usize) -> Exchange {
    let start = "{\"tool\":\"exec\",\"args\":{\"text\":\"";
    let end = "\"}}";
    let head = post(TOKEN, &["Transfer-Encoding: chunked"], "").replace("Content-Length: 0\r\n", "");
    let mut text = format!("{head}{:x}\r\n{start}\r\n", start.len());
    let letters = parts * 1_024 * 1_024 - start.len() - end.len() + more;
    text.push_str(&format!(
        "{letters:x}\r\n{}\r\n{:x}\r\n{end}\r\n0\r\n\r\n",
        "x".repeat(letters),
        end.len()
    ));
    rig.send(&text).await
}

#[tokio::test]
async fn a_body_may_have_two_mebibytes_and_no_byte_more() {
    let mut rig = Rig::new().await;
    let exchange = in_parts(&rig, 2, 0).await;
    let running = rig.call().await;
    assert!(running.call.params["text"].as_str().unwrap().len() > 2_000_000);
    running.bring("");
    assert_eq!(exchange.answer().await.status, 200);
    let text = "expected at most 2097152 bytes";
    let answer = in_parts(&rig, 2, 1).await.answer().await;
    assert_eq!(answer.error(), (413, "invalid_request_error", text));
    // One that says so and asks first need not come at all.
    let head =
        post(TOKEN, &["Expect: 100-continue"], "").replace("Content-Length: 0", "Content-Length: 2097153");
    assert_eq!(rig.send(&head).await.answer().await.error(), (413, "invalid_request_error", text));
    // One that comes all the same is heard out, as its sender would not hear the answer otherwise.
    let answer = in_parts(&rig, 20, 0).await.answer().await;
    assert_eq!(answer.error(), (413, "invalid_request_error", text));
    rig.assert_quiet("too large");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_gives_up_its_seat() {
    let rig = Rig::new().await;
    let head = post(TOKEN, &[], "").replace("Content-Length: 0", "Content-Length: 10");
    let answer = rig.send(&head).await.answer().await;
    assert_eq!(answer.error(), (408, "invalid_request_error", "the body took too long"));
}

#[tokio::test]
async fn a_caller_that_goes_away_calls_its_tool_off() {
    let mut rig = Rig::new().await;
    let exchange = rig.post(&json!({ "tool": "exec" })).await;
    let running = rig.call().await;
    assert!(!running.gone.is_cancelled());
    drop(exchange);
    running.called_off().await;
    // It may still end in its own way.
    assert!(running.answer.send(Err(ToolError::Unavailable("called off".to_owned()))).is_ok());
}

#[tokio::test]
async fn only_so_many_tools_are_under_way_and_what_ignores_its_end_counts() {
    let mut rig = Rig::new().await;
    let (mut callers, mut calls) = (Vec::new(), Vec::new());
    for at in 0..64 {
        callers.push(rig.post(&json!({ "tool": "exec", "args": { "at": at } })).await);
        calls.push(rig.call().await);
    }
    let full = async |rig: &mut Rig| {
        let answer = rig.posted(&json!({ "tool": "exec" })).await;
        assert_eq!(answer.error(), (429, "rate_limited", "too many tools are under way"));
        assert_eq!(answer.header("retry-after"), Some("1"));
        rig.assert_quiet("one too many");
    };
    full(&mut rig).await;
    // Nobody waits for the last one any more, but it goes on.
    drop(callers.pop());
    let ignoring = calls.pop().unwrap();
    ignoring.called_off().await;
    full(&mut rig).await;
    // Listing takes no seat.
    assert_eq!(rig.get("/tools").await.status, 200);
    calls.pop().unwrap().bring("done");
    assert_eq!(callers.pop().unwrap().answer().await.status, 200);
    let exchange = rig.post(&json!({ "tool": "exec" })).await;
    rig.call().await.bring("next");
    assert_eq!(exchange.answer().await.status, 200);
}

#[tokio::test]
async fn the_end_of_the_gateway_calls_every_tool_off() {
    let mut rig = Rig::new().await;
    let exchange = rig.post(&json!({ "tool": "exec" })).await;
    let running = rig.call().await;
    rig.stop.cancel();
    running.called_off().await;
    let aborted = ToolError::Failed { failure: ToolFailure::Aborted, message: "called off".to_owned() };
    running.answer.send(Err(aborted)).unwrap();
    assert_eq!(exchange.answer().await.error(), (503, "unavailable", "the gateway is stopping"));
    (&mut rig.serving).await.unwrap().unwrap();
}

#[tokio::test]
async fn tools_are_listed_as_a_provider_declares_them() {
    let rig = Rig::new().await;
    let listing = scripted::listing();
    let answer = rig.get("/tools").await;
    assert_eq!(answer.status, 200);
    let expected = json!({
        "ok": true, "agentId": "main", "sessionKey": "agent:main:main",
        "tools": listing.tools, "removed": listing.removed, "warnings": listing.warnings,
    });
    assert_eq!(answer.body, expected);
    assert_eq!(rig.listed(), [caller("main", Some("agent:main:main"))]);
    let path = "/tools?provider=anthropic&model=claude%20x&sessionKey=agent%3Acoder%3As&agentId=coder&workspace=%2Fw";
    let answer = rig.get(path).await;
    let expected = json!({
        "ok": true, "agentId": "coder", "sessionKey": "agent:coder:s", "provider": "anthropic", "model": "claude x",
        "tools": listing.declarations, "removed": listing.removed, "warnings": listing.warnings,
    });
    assert_eq!(answer.body, expected);
    let expected = ToolCaller {
        provider: Some("anthropic".to_owned()),
        model: Some("claude x".to_owned()),
        workspace: "/w".to_owned(),
        ..caller("coder", Some("agent:coder:s"))
    };
    assert_eq!(rig.listed(), [expected]);
    let check = async |query: &str, message: &str| {
        let answer = rig.get(&format!("/tools?{query}")).await;
        assert_eq!(answer.error(), (400, "invalid_request", message), "{query}");
    };
    check("providr=x", "\"providr\": expected provider, model, sessionKey, agentId or workspace").await;
    check("provider=a&provider=b", "provider: expected it once").await;
    check("workspace=w", "workspace: expected an absolute path, got \"w\"").await;
    check("sessionKey=agent:x", "sessionKey: expected agent:<id>:<rest>, got \"agent:x\"").await;
    check(&format!("model={}", "x".repeat(257)), "model: expected at most 256, got 257").await;
    assert_eq!(rig.listed(), []);
}

#[tokio::test]
async fn without_tools_everybody_is_told_so() {
    let rig = Rig::of(Err(ToolError::Unavailable("tools are not served here".to_owned()))).await;
    assert_eq!(rig.get("/tools").await.error(), (503, "unavailable", "tools are not served here"));
    let answer = rig.posted(&json!({ "tool": "exec", "dryRun": true })).await;
    assert_eq!(answer.error(), (503, "unavailable", "tools are not served here"));
    let mut client = rig.client("operator", &["operator.read"]).await.unwrap();
    let error = client.call("tools.catalog", json!({})).await.unwrap_err();
    assert_eq!(error, json!({ "code": "UNAVAILABLE", "message": "tools are not served here" }));
}

#[tokio::test]
async fn the_catalog_has_the_peers_shape() {
    let rig = Rig::new().await;
    let mut client = rig.client("operator", &["operator.read"]).await.unwrap();
    let params = json!({ "agentId": "coder", "includePlugins": false });
    let shown = client.call("tools.catalog", params).await.unwrap();
    let tool = |name: &str, profiles: &[&str]| {
        json!({ "id": name, "label": name, "description": format!("Does {name}."), "source": "core",
                "fullDescription": format!("Does {name}.\n\nAnd more."), "defaultProfiles": profiles })
    };
    let group = |id: &str, label: &str, tools: Value| json!({ "id": id, "label": label, "source": "core", "tools": tools });
    let expected = json!({
        "agentId": "coder",
        "profiles": [
            { "id": "minimal", "label": "Minimal" }, { "id": "coding", "label": "Coding" },
            { "id": "messaging", "label": "Messaging" }, { "id": "full", "label": "Full" },
        ],
        "groups": [
            group("fs", "Files", json!([tool("write_file", &["coding"])])),
            group("runtime", "Runtime", json!([tool("exec", &["coding"]), tool("process", &["coding"])])),
            group("elsewhere", "elsewhere", json!([tool("odd", &[])])),
        ],
    });
    assert_eq!(shown, expected);
    assert_eq!(rig.listed(), [ToolCaller { client: Some("a client".to_owned()), ..caller("coder", None) }]);
    let mut check = async |params: Value, message: &str| {
        let error = client.call("tools.catalog", params).await.unwrap_err();
        assert_eq!((&error["code"], &error["message"]), (&json!("INVALID_REQUEST"), &json!(message)));
    };
    check(json!([]), "invalid tools.catalog params: must be object").await;
    check(json!({ "agentId": 1 }), "invalid tools.catalog params: at /agentId: must be string").await;
    check(
        json!({ "includePlugins": 1 }),
        "invalid tools.catalog params: at /includePlugins: must be boolean",
    )
    .await;
}

#[tokio::test]
async fn what_is_left_for_a_session_has_the_peers_shape() {
    let rig = Rig::new().await;
    let mut client = rig.client("operator", &["operator.read"]).await.unwrap();
    let shown = client.call("tools.effective", json!({ "sessionKey": "agent:coder:s" })).await.unwrap();
    let tool = |name: &str| {
        json!({ "id": name, "label": name, "description": format!("Does {name}."), "source": "core",
                "rawDescription": format!("Does {name}.\n\nAnd more.") })
    };
    let expected = json!({
        "agentId": "coder",
        "profile": "coding",
        "groups": [{ "id": "core", "label": "Built-in tools", "source": "core",
                     "tools": [tool("exec"), tool("process")] }],
        "notices": [
            { "id": "tool-policy:0", "severity": "warning", "message": "tools: unknown entry" },
            { "id": "tool-removed:write_file", "severity": "info",
              "message": "write_file is not available: removed by tools.global" },
        ],
    });
    assert_eq!(shown, expected);
    let expected =
        ToolCaller { client: Some("a client".to_owned()), ..caller("coder", Some("agent:coder:s")) };
    assert_eq!(rig.listed(), [expected]);
    let mut check = async |params: Value, message: &str| {
        let error = client.call("tools.effective", params).await.unwrap_err();
        assert_eq!((&error["code"], &error["message"]), (&json!("INVALID_REQUEST"), &json!(message)));
    };
    check(json!({}), "invalid tools.effective params: must have required property 'sessionKey'").await;
    check(json!({ "sessionKey": 1 }), "invalid tools.effective params: at /sessionKey: must be string").await;
    check(
        json!({ "sessionKey": "agent:coder:s", "agentId": "main" }),
        "agent id \"main\" does not match session agent \"coder\"",
    )
    .await;
}

#[tokio::test]
async fn a_session_without_tools_has_no_group() {
    let rig = Rig::of(Ok(Listing::default())).await;
    let mut client = rig.client("operator", &["operator.read"]).await.unwrap();
    let shown = client.call("tools.effective", json!({ "sessionKey": "main" })).await.unwrap();
    assert_eq!(shown, json!({ "agentId": "main", "profile": "full", "groups": [] }));
}

#[test]
fn a_summary_is_one_line_of_a_description() {
    let check = |description: &str, expected: &str| assert_eq!(summary(description), expected);
    check("", "Tool");
    check(" \n\n", "Tool");
    check("\n Runs a command. \n\nMore.", "Runs a command.");
    check(&"x".repeat(120), &"x".repeat(120));
    check(&"ü".repeat(121), &format!("{}…", "ü".repeat(119)));
}
