//! The policy of another machine's gateway on the pages of the app.

use crate::{Story, story};
use anyhow::{Context, ensure};
use countersign_protocol::history::HistoryEvent;
use countersign_tests::app::{App, Window};
use countersign_tests::bus::Shell;
use countersign_tests::home::{Home, Rights};
use countersign_tests::process::{Background, PATIENCE, countersign, wait_for};
use countersign_tests::runner::Runner;
use serde_json::{Value, json};
use std::path::Path;

/// The person's name for the other gateway.
const NAME: &str = "harbor";

/// A story with the app, connected to a gateway that serves another home's document.
fn with_gateway(rights: Rights, tell: impl FnOnce(&App, &Home) -> Story) -> Story {
    let far = Home::with_defaults("allowlist", "on-miss", "deny")?;
    far.edit_document(|document| document["note"] = json!("theirs"))?;
    let mut command = far.command(countersign()?);
    let serving = Background::start_and_read_line(command.args(["--json", "gateway", "--port", "0"]))?;
    let (gateway, line) = serving;
    let ready: Value = serde_json::from_str(&line).context(line)?;
    let url = ready["url"].as_str().context("the gateway did not say where it is")?;
    let token = std::fs::read_to_string(far.gateway().join("token"))?;
    let home = Home::asking()?;
    home.connect_to(NAME, url, token.trim(), rights)?;
    let told = story(Ok(home), Shell::Bare, |app| {
        app.start_again(&[])?;
        app.wait_for_element(Window::Main, "body[data-ready=\"true\"]")?;
        app.click(Window::Main, "nav-policy")?;
        tell(app, &far)
    });
    gateway.end(PATIENCE)?;
    told
}

#[test]
fn the_policy_of_another_gateway_is_changed_in_the_window_and_what_loosens_is_confirmed() -> Story {
    with_gateway(Rights::All, |app, far| {
        app.choose(Window::Main, "store", NAME)?;
        let ours = app.home.document()?;
        let full = "[data-testid=\"switch-security\"] label:has(input[value=\"full\"]:enabled)";
        app.wait_for_element(Window::Main, full)?;
        app.browser()?.click(full)?;
        app.click(Window::Main, "draft-apply")?;
        app.wait_for_element(Window::Main, "[data-testid=\"loosening\"]")?;
        assert_eq!(far.document()?["defaults"]["security"], "allowlist");
        app.shoot(Window::Main, "policy-far")?;
        let whole = "const content = document.querySelector('[data-testid=\"confirm-loosening\"] .content');
            return content.scrollHeight <= content.clientHeight";
        app.wait_in(Window::Main, "the dialog shows all of what gets looser", whole)?;
        app.click_armed(Window::Main, "loosen-apply")?;
        app.wait_for_element(Window::Main, "[data-testid=\"applied\"]")?;
        let there = far.document()?;
        assert_eq!((&there["defaults"]["security"], &there["note"]), (&json!("full"), &json!("theirs")));
        assert_eq!(app.home.document()?, ours, "this machine's own is another one");
        wait_for("the history names the document", PATIENCE, || {
            let found = app.home.history()?.into_iter().any(|entry| {
                matches!(entry.event, HistoryEvent::Document { store: Some(store), loosenings, .. }
                    if store == NAME && !loosenings.is_empty())
            });
            Ok(found.then_some(()))
        })
    })
}

#[test]
fn a_policy_that_the_connection_may_not_read_says_so_and_what_helps() -> Story {
    with_gateway(Rights::Least, |app, _| {
        app.choose(Window::Main, "store", &format!("{NAME} (not permitted)"))?;
        app.wait_for_element(
            Window::Main,
            "[data-testid=\"store-access-kind\"][data-kind=\"not-permitted\"]",
        )?;
        let place = json!({ "gateway": "none" });
        let read = app.invoke(Window::Main, "policy", json!({ "place": place }))?;
        ensure!(read.as_ref().is_ok_and(|read| read["access"]["kind"] == "gone"), "{read:?}");
        app.click(Window::Main, "store-connections")?;
        app.wait_for_element(Window::Main, "body[data-page=\"connections\"]")
    })
}

#[test]
fn a_command_for_another_gateways_node_is_asked_about_here_and_decided_there() -> Story {
    with_gateway(Rights::Nodes, |app, far| {
        let attic = Home::with_defaults("full", "off", "deny")?;
        let gateways: Value =
            serde_json::from_slice(&std::fs::read(app.home.state().join("gateways.json"))?)?;
        let url = gateways["gateways"][0]["url"].as_str().context("no address")?;
        let token = std::fs::read_to_string(far.gateway().join("token"))?;
        let mut runner = Runner::start(&attic, url, token.trim())?;
        runner.wait_until_connected()?;
        let node = runner.id()?;
        let file = attic.file("made");
        let tools =
            json!({ "tools": { "exec": { "host": "node", "security": "allowlist", "ask": "on-miss" } } });
        app.home.write_private(&app.home.state().join("tools.json"), tools.to_string().as_bytes())?;
        let start = || app.home.start(&["exec", "--host", "node", "--node", &node, "--", "touch", &file]);

        let running = start()?;
        app.wait_for_card("touch")?;
        let named = format!("return document.body.innerText.includes('@ {NAME}')");
        app.wait_in(Window::Prompt, "the prompt names the gateway", &named)?;
        app.shoot(Window::Prompt, "prompt-far-node")?;
        app.deny()?;
        running.finish()?.expect_code(200)?;
        ensure!(!Path::new(&file).exists(), "a denied command ran");

        let running = start()?;
        app.wait_for_card("touch")?;
        app.allow_once()?;
        running.finish()?.expect_code(0)?;
        ensure!(Path::new(&file).exists(), "it did not run");

        // What is allowed here is claimed nowhere: the node's own policy decides.
        std::fs::remove_file(&file)?;
        attic.edit_document(|document| document["defaults"]["security"] = json!("deny"))?;
        let running = start()?;
        app.wait_for_card("touch")?;
        app.allow_once()?;
        let refused = running.finish()?;
        ensure!(refused.code != 0 && refused.stderr.contains("SYSTEM_RUN"), "unexpected end {refused:?}");
        ensure!(!Path::new(&file).exists(), "it ran although the node denies it");
        runner.end(PATIENCE)
    })
}
