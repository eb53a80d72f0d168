//! The official SDK's client and the real app: what a person answers in the real window is
//! what the agent gets.

#![expect(clippy::print_stdout, reason = "what was seen is told, for whoever asks to hear it")]

use anyhow::{Context, Result, ensure};
use countersign_protocol::question::Outcome;
use countersign_tests::app::App;
use countersign_tests::bus::Shell;
use countersign_tests::home::Home;
use countersign_tests::mcp::{McpClient, Sdk};
use serde_json::{Value, json};
use std::fs;

/// The text of an answer.
fn text(answered: &Value) -> Result<&str> {
    answered["result"]["content"][0]["text"].as_str().with_context(|| answered.to_string())
}

#[test]
fn a_person_answers_the_calls_of_the_sdks_client() -> Result<()> {
    let home = Home::asking()?;
    let here =
        json!({ "tools": { "exec": { "host": "gateway", "security": "allowlist", "ask": "on-miss" } } });
    home.write_private(&home.state().join("tools.json"), here.to_string().as_bytes())?;
    let app = App::start(home, Shell::Bare)?;
    tell(&app).with_context(|| app.log())
}

fn tell(app: &App) -> Result<()> {
    let work = app.home.work();
    let workspace = work.display().to_string();
    let mut client =
        McpClient::start(&Sdk::from_env()?, &app.home, &["--approve", "--workspace", &workspace])?;

    client.list()?;
    let listed = client.expect("listed")?;
    let names: Vec<_> =
        listed["tools"].as_array().into_iter().flatten().filter_map(|tool| tool["name"].as_str()).collect();
    ensure!(["approve", "exec", "process", "read_file"].iter().all(|name| names.contains(name)), "{names:?}");
    println!("listed: {}", names.join(" "));

    // What it prints is reported while it goes on: it ends only when this story wrote into its pipe.
    let fifo = work.join("fifo");
    ensure!(app.command("mkfifo").arg(&fifo).status()?.success(), "no pipe could be made");
    client.call("allowed", "exec", json!({ "command": "echo early; read line < fifo; echo late $line" }))?;
    app.wait_for_card("early")?;
    app.allow_once()?;
    let report = loop {
        let report = client.expect("report")?;
        if report["message"].as_str().is_some_and(|message| message.contains("early")) {
            break report;
        }
    };
    println!("progress: {report}");
    fs::write(&fifo, "x\n")?;
    let answered = loop {
        let next = client.next()?;
        if next["event"] != "report" {
            break next;
        }
    };
    ensure!(answered["event"] == "answered" && answered["result"]["isError"] == false, "{answered}");
    ensure!(text(&answered)?.contains("late x"), "{answered}");
    println!("allowed: {}", text(&answered)?);

    client.call("denied", "exec", json!({ "command": "touch denied" }))?;
    app.wait_for_card("denied")?;
    app.deny()?;
    let answered = client.expect("answered")?;
    ensure!(answered["result"]["isError"] == true, "{answered}");
    println!("denied: {}", text(&answered)?);

    client.call("cancelled", "exec", json!({ "command": "touch cancelled" }))?;
    app.wait_for_card("cancelled")?;
    client.cancel("cancelled")?;
    let failed = client.expect("failed")?;
    ensure!(failed["id"] == "cancelled", "{failed}");
    app.wait_for_pending(0)?;
    println!("cancelled: {failed}");
    ensure!(!work.join("denied").exists() && !work.join("cancelled").exists(), "something ran");
    client.end()?;
    let outcomes = app.home.outcomes()?;
    ensure!(outcomes[..2] == [Outcome::AllowedOnce, Outcome::Denied], "{outcomes:?}");
    Ok(())
}
