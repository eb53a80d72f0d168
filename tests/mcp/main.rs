//! `countersign mcp` and the official SDK's client, told by `cargo xtask interop mcp`. Behind the server
//! stands a control socket that answers what the story says; in `app` the real app does.

mod app;
mod control;

use anyhow::{Context, Result, ensure};
use control::Control;
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::tools::{Permission, ToolFailure, ToolView};
use countersign_tests::home::Home;
use countersign_tests::mcp::{McpClient, Sdk};
use countersign_tests::process::{Background, PATIENCE, countersign};
use serde_json::{Value, json};
use std::fs;

fn tools() -> ControlResponse {
    let exec = ToolView {
        name: "exec".to_owned(),
        description: "Runs a command".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { "command": { "type": "string" } },
            "required": ["command"],
        }),
    };
    ControlResponse::Tools {
        tools: vec![exec],
        removed: Vec::new(),
        warnings: Vec::new(),
        steps: Vec::new(),
        standing: Default::default(),
    }
}

fn text(answered: &Value) -> &Value {
    &answered["result"]["content"][0]["text"]
}

/// What the SDK's client does with a server, whatever lies between them.
fn tell(control: &Control, client: &mut McpClient) -> Result<()> {
    client.list()?;
    let asked = control.asked()?;
    ensure!(matches!(asked.request, ControlRequest::Tools { .. }), "{:?}", asked.request);
    asked.answer(&tools())?;
    let listed = client.expect("listed")?;
    let names: Vec<_> =
        listed["tools"].as_array().into_iter().flatten().map(|tool| tool["name"].clone()).collect();
    ensure!(names == ["exec", "approve"], "{listed}");

    client.call("allowed", "exec", json!({ "command": "true" }))?;
    let mut asked = control.asked()?;
    let call = asked.call()?;
    ensure!(
        call.tool == "exec" && call.params["command"] == "true" && call.caller.agent == "story",
        "{call:?}"
    );
    asked.report("waits for a person")?;
    let report = client.expect("report")?;
    ensure!(report["message"] == "waits for a person" && report["progress"] == 1, "{report}");
    asked.bring("done", json!({ "exitCode": 0 }))?;
    let answered = client.expect("answered")?;
    ensure!(text(&answered) == "done" && answered["result"]["isError"] == false, "{answered}");
    ensure!(answered["result"]["structuredContent"]["exitCode"] == 0, "{answered}");

    client.call("denied", "exec", json!({ "command": "false" }))?;
    control.asked()?.fail(ToolFailure::Denied, "the person said no")?;
    let answered = client.expect("answered")?;
    ensure!(text(&answered) == "the person said no" && answered["result"]["isError"] == true, "{answered}");

    client.call("unknown", "exce", json!({}))?;
    control.asked()?.fail(ToolFailure::NotFound, "")?;
    let failed = client.expect("failed")?;
    ensure!(failed["code"] == -32602, "{failed}");

    client.call("cancelled", "exec", json!({ "command": "sleep 60" }))?;
    let asked = control.asked()?;
    client.cancel("cancelled")?;
    let failed = client.expect("failed")?;
    ensure!(failed["id"] == "cancelled", "{failed}");
    asked.gone()?;

    let input = json!({ "z": 0.1, "command": "ls -l", "a": { "y": null, "b": [] } });
    client.call(
        "permitted",
        "approve",
        json!({ "tool_name": "Bash", "input": input, "tool_use_id": "toolu_1" }),
    )?;
    let asked = control.asked()?;
    ensure!(matches!(asked.request, ControlRequest::PermitTool { .. }), "{:?}", asked.request);
    asked.answer(&ControlResponse::Permitted { permission: Permission::Allow, events: Vec::new() })?;
    let expected = format!(r#"{{"behavior":"allow","updatedInput":{input}}}"#);
    let answered = client.expect("answered")?;
    ensure!(*text(&answered) == expected, "{answered}");
    Ok(())
}

#[test]
fn the_sdks_client_lists_and_calls_over_standard_input_and_output() -> Result<()> {
    let home = Home::empty()?;
    let control = Control::listen(&home)?;
    let mut client = McpClient::start(&Sdk::from_env()?, &home, &["--approve"])?;
    tell(&control, &mut client)?;
    client.call("left", "exec", json!({ "command": "sleep 60" }))?;
    let asked = control.asked()?;
    client.end()?;
    asked.gone()
}

#[test]
fn the_sdks_clients_list_and_call_over_http() -> Result<()> {
    let home = Home::empty()?;
    let control = Control::listen(&home)?;
    let sdk = Sdk::from_env()?;
    let mut server = home.command(countersign()?);
    server.args(["mcp", "--json", "--approve", "--http", "0"]);
    let (server, ready) = Background::start_and_read_line(&mut server)?;
    let ready: Value = serde_json::from_str(&ready)?;
    let url = ready["url"].as_str().context("a url")?;
    let token = fs::read_to_string(ready["tokenFile"].as_str().context("a file with the token")?)?;
    ensure!(McpClient::reach(&sdk, &home, url, "wrong").is_err(), "a wrong token came in");
    let mut one = McpClient::reach(&sdk, &home, url, &token)?;
    let mut two = McpClient::reach(&sdk, &home, url, &token)?;
    tell(&control, &mut one)?;
    tell(&control, &mut two)?;
    one.end()?;
    // What is under way when the server is told to end is called off.
    two.call("left", "exec", json!({ "command": "sleep 60" }))?;
    let asked = control.asked()?;
    server.end(PATIENCE)?;
    asked.gone()
}

#[test]
fn without_the_app_the_sdks_client_is_told_how_to_start_it() -> Result<()> {
    let home = Home::empty()?;
    let mut client = McpClient::start(&Sdk::from_env()?, &home, &["--approve"])?;
    client.list()?;
    let listed = client.expect("listed")?;
    ensure!(listed["tools"].as_array().is_some_and(|tools| tools.len() > 2), "{listed}");
    client.call("called", "exec", json!({ "command": "ls" }))?;
    let answered = client.expect("answered")?;
    ensure!(text(&answered).as_str().is_some_and(|text| text.contains("countersign-desktop")), "{answered}");
    client.call("permitted", "approve", json!({ "tool_name": "Bash", "input": { "command": "ls" } }))?;
    let answered = client.expect("answered")?;
    let verdict: Value = serde_json::from_str(text(&answered).as_str().context("a text")?)?;
    ensure!(verdict["behavior"] == "deny", "{verdict}");
    client.end()
}
