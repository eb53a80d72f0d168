//! This machine as a node of the app's own gateway: the real runner beside the real app, with
//! nothing else installed.

use crate::{Story, story};
use anyhow::{Context, Result, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_protocol::question::{Outcome, Via};
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::gateway::{Client, let_in};
use countersign_tests::home::Home;
use countersign_tests::mcp::PlainClient;
use countersign_tests::process::PATIENCE;
use countersign_tests::runner::Runner;
use serde_json::{Value, json};
use std::path::Path;

const SCOPES: &[&str] = &["operator.read", "operator.write", "operator.approvals"];

/// A story in this home, with a runner that the person let in by a click, and a program that may ask and have
/// nodes do things.
pub(crate) fn with_node(
    home: Result<Home>,
    tell: impl FnOnce(&App, &mut Client, &mut Runner) -> Story,
) -> Story {
    let home = home.and_then(|home| {
        let_in(&home, &[(1, SCOPES)])?;
        Ok(home)
    });
    story(home, Shell::Full, |app| {
        let url = app.home.gateway_url()?;
        let token = app.home.gateway_token()?;
        let mut runner = Runner::start(&app.home, &url, &token)?;
        runner.wait_until("the runner waits to be let in", |told| {
            told.last().filter(|news| news["state"] == "lost").map(|_| ())
        })?;
        app.start_again(&[])?;
        app.wait_for_element(Window::Main, "[data-testid=pairing]")?;
        app.click_armed(Window::Main, "pairing-let-in")?;
        runner.wait_until_connected()?;
        let mut client = Client::connect(&app.home, 1, SCOPES)?.welcome()?;
        tell(app, &mut client, &mut runner)
    })
}

pub(crate) fn payload(answer: Result<Value, Value>) -> Result<Value> {
    Ok(answer.map_err(anyhow::Error::msg)?["payload"].take())
}

#[test]
fn a_command_on_this_machines_node_is_asked_about_in_the_app_and_runs_in_it() -> Story {
    with_node(Home::asking(), |app, client, runner| {
        let node = runner.id()?;
        let file = app.home.file("made");
        let params = json!({ "command": ["touch", file], "cwd": app.home.work(), "agentId": "main", "sessionKey": "s" });
        let call = client.invoke(&node, "system.run", &params)?;
        app.wait_for_card("touch")?;
        ensure!(!Path::new(&file).exists(), "it ran before the click");
        app.allow_once()?;
        assert_eq!(payload(client.answer(&call)?)?["exitCode"], 0);
        ensure!(Path::new(&file).exists(), "it did not run");
        app.wait_for_blank()?;
        let call = client.invoke(&node, "system.run", &params)?;
        app.wait_for_card("touch")?;
        app.deny()?;
        let error = client.answer(&call)?.err().context("a denied command has an answer")?;
        ensure!(error["message"].as_str().is_some_and(|text| text.contains("user denied")), "{error}");
        let vias: Vec<Via> = app
            .home
            .history()?
            .into_iter()
            .filter_map(|entry| match entry.event {
                HistoryEvent::Request { via, .. } => Some(via),
                _ => None,
            })
            .collect();
        assert_eq!(vias, [Via::Node, Via::Node]);
        Ok(())
    })
}

#[test]
fn t05_an_approval_lets_its_own_run_through_once_and_no_other() -> Story {
    with_node(Home::asking(), |app, client, runner| {
        let node = runner.id()?;
        let file = app.home.file("made");
        let text = format!("touch {file}");
        let argv = json!(["/bin/sh", "-lc", text]);
        let id = "approval-of-this-story";
        let plan = json!({ "argv": argv, "cwd": app.home.work(), "commandText": text, "agentId": "main",
            "sessionKey": "s" });
        let request = json!({ "id": id, "command": text, "systemRunPlan": plan, "host": "node", "nodeId": node,
            "cwd": app.home.work(), "agentId": "main", "sessionKey": "s", "twoPhase": true });
        let asked = client.send("exec.approval.request", &request)?;
        let accepted = client.answer(&asked)?.map_err(anyhow::Error::msg)?;
        assert_eq!(accepted["status"], "accepted", "{accepted}");
        let prompt = app.wait_for_card("touch")?;
        assert_eq!(prompt.card.as_deref(), Some(id));
        app.shoot(Window::Prompt, "node-run-here")?;
        app.allow_once()?;
        assert_eq!(client.answer(&asked)?.map_err(anyhow::Error::msg)?["decision"], "allow-once");
        let run = json!({ "command": argv, "rawCommand": text, "systemRunPlan": plan, "cwd": app.home.work(),
            "agentId": "main", "sessionKey": "s", "runId": id, "approved": true, "approvalDecision": "allow-once" });
        // Another command under the same approval, however it is called.
        let mut other = run.clone();
        other["sessionKey"] = json!("t");
        let call = client.invoke(&node, "system.run", &other)?;
        client.answer(&call)?.err().context("another session was taken")?;
        ensure!(!Path::new(&file).exists(), "it ran for another session");
        let call = client.invoke(&node, "system.run", &run)?;
        let answer = payload(client.answer(&call)?)?;
        assert_eq!(answer["exitCode"], 0, "{answer}");
        ensure!(app.pending_ids()?.is_empty(), "it was asked about twice");
        let call = client.invoke(&node, "system.run", &run)?;
        client.answer(&call)?.err().context("an approval was taken twice")?;
        assert_eq!(app.home.outcomes()?, [Outcome::AllowedOnce], "one question, one answer, one run");
        Ok(())
    })
}

#[test]
fn a_command_that_belongs_on_this_machines_node_is_asked_about_once() -> Story {
    with_node(Home::asking(), |app, _, runner| {
        let tools = json!({ "tools": { "exec": { "host": "node", "security": "allowlist", "ask": "on-miss",
            "node": runner.id()? } } });
        app.home.write_private(&app.home.state().join("tools.json"), tools.to_string().as_bytes())?;
        let file = app.home.file("made");
        let running = app.home.start(&["exec", "--host", "node", "--", "touch", &file])?;
        app.wait_for_card("touch")?;
        ensure!(!Path::new(&file).exists(), "it ran before the click");
        app.allow_once()?;
        running.finish()?.expect_code(0)?;
        ensure!(Path::new(&file).exists(), "it did not run");
        ensure!(app.pending_ids()?.is_empty(), "it was asked about twice");
        Ok(())
    })
}

#[test]
fn a_command_on_this_apps_own_node_gets_a_terminal_when_its_agent_wants_one() -> Story {
    with_node(Home::asking(), |app, _, runner| {
        let tools = json!({ "tools": { "exec": { "host": "node", "security": "allowlist", "ask": "on-miss",
            "node": runner.id()? } } });
        app.home.write_private(&app.home.state().join("tools.json"), tools.to_string().as_bytes())?;
        let mut agent = PlainClient::start(&app.home, &[])?;
        let id = agent.call("exec", json!({ "command": "test -t 0 && stty size", "pty": true }))?;
        app.wait_for_card("stty")?;
        app.allow_once()?;
        let answer = agent.answer(id)?;
        let text = answer["result"]["content"][0]["text"].as_str().with_context(|| answer.to_string())?;
        ensure!(text.trim() == "30 120", "{answer}");
        Ok(())
    })
}

#[test]
fn a_runner_that_runs_everything_itself_has_the_app_ask() -> Story {
    let gateway = countersign_tests::gateway::Alone::start(Home::empty()?)?;
    story(Home::asking(), Shell::Bare, |app| {
        let token = countersign_tests::gateway::Alone::TOKEN;
        let mut runner = Runner::start_with(&app.home, gateway.url(), token, &["--here"])?;
        runner.wait_until_connected()?;
        let (node, worker) = (runner.id()?, runner.worker()?);
        let mut client = gateway.client(1, SCOPES)?;
        let parent = json!({ "command": ["sh", "-c", "echo $PPID"], "agentId": "main", "sessionKey": "s" });
        let call = client.invoke(&node, "system.run", &parent)?;
        app.wait_for_card("PPID")?;
        app.allow_once()?;
        let ran = payload(client.answer(&call)?)?;
        assert_eq!(ran["stdout"], format!("{worker}\n"), "{ran}");
        let call = client.invoke(&node, "system.run", &parent)?;
        app.wait_for_card("PPID")?;
        app.deny()?;
        let error = client.answer(&call)?.err().context("a denied command has an answer")?;
        ensure!(error["message"].as_str().is_some_and(|text| text.contains("user denied")), "{error}");
        // What nobody waits for is not asked any more.
        let mut asker = gateway.client(2, SCOPES)?;
        asker.invoke(&node, "system.run", &parent)?;
        app.wait_for_card("PPID")?;
        runner.end(PATIENCE)?;
        app.wait_for_pending(0)
    })
}

#[test]
fn without_its_app_a_runner_falls_back_and_comes_back_to_it() -> Story {
    // The gateway is another program here, so that it outlives the app.
    let gateway = countersign_tests::gateway::Alone::start(Home::empty()?)?;
    let home = Home::asking()?;
    let mut runner = Runner::start(&home, gateway.url(), countersign_tests::gateway::Alone::TOKEN)?;
    runner.wait_until_connected()?;
    let node = runner.id()?;
    let mut client = gateway.client(1, SCOPES)?;
    let params = json!({ "command": ["touch", home.file("made")], "agentId": "main", "sessionKey": "s" });
    let call = client.invoke(&node, "system.run", &params)?;
    client.answer(&call)?.err().context("nobody could be asked, and it ran")?;
    story(Ok(home), Shell::Bare, |app| {
        let call = client.invoke(&node, "system.run", &params)?;
        app.wait_for_card("touch")?;
        app.allow_once()?;
        assert_eq!(payload(client.answer(&call)?)?["exitCode"], 0);
        assert_eq!(app.home.outcomes()?, [Outcome::NotShown, Outcome::AllowedOnce]);
        runner.end(PATIENCE)
    })
}
