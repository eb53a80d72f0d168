//! How the app gets in at the gateway, and what the person is told when it does not.

use crate::Story;
use crate::companion::{Agents, Companion, Connection};
use crate::rig::{Rig, request_of};
use anyhow::{Context, Result, ensure};
use countersign_protocol::ui::Outcome;
use countersign_tests::app::Window;
use countersign_tests::peer::{Relay, Seen, Store};
use serde_json::json;

pub(crate) fn an_app_on_another_machine_tells_what_to_approve_there_and_connects_after_that(
    rig: &mut Rig,
) -> Story {
    let relay = Relay::start(rig.gateway.port(), Seen::Remote)?;
    let companion = Companion::start(&relay.url(), rig.gateway.token(), Agents::Seen)?;
    approve_as_told(rig, &companion)?;
    let task = rig.task()?;
    let id = companion.wait_for_request(&task)?;
    companion.wait_for_prompt(&id)?;
    companion.app.allow_once()?;
    rig.wait_until_ran(&task)?;
    companion.expect_outcome(&Outcome::AllowedOnce)
}

pub(crate) fn a_wrong_token_is_told_as_what_it_is(rig: &mut Rig) -> Story {
    let companion = Companion::start(&rig.gateway.url(), "another token", Agents::Seen)?;
    companion.wait_for_connection("the page says that the token is wrong", |connection| {
        !connection.is_connected() && connection.has("secret-wrong")
    })?;
    Ok(())
}

pub(crate) fn a_scope_that_is_missing_is_told_and_has_to_be_approved(rig: &mut Rig) -> Story {
    let relay = Relay::start(rig.gateway.port(), Seen::Remote)?;
    let companion = Companion::start(&relay.url(), rig.gateway.token(), Agents::NotSeen)?;
    let connected = approve_as_told(rig, &companion)?;
    let hides = rig.gateway.release().store() == Store::Database;
    ensure!(
        connected.has("agents-hidden") == hides,
        "expected the gap to be told: {hides}, got {connected:?}"
    );
    if hides {
        let person = rig.person()?;
        let task = rig.task()?;
        let request = request_of(&person, &task)?;
        companion.expect_nothing_waits()?;
        person.call("exec.approval.resolve", json!({ "id": request["id"], "decision": "deny" }))?;
    }
    // The person turns on that the app sees what agents raise: more than was approved for this device.
    companion.app.click(Window::Main, "gateway-edit")?;
    companion.app.click(Window::Main, "gateway-agents")?;
    companion.app.click(Window::Main, "gateway-save")?;
    let connected = approve_as_told(rig, &companion)?;
    ensure!(!connected.has("agents-hidden"), "expected no gap any more, got {connected:?}");
    Ok(())
}

/// Waits until the page names a command to be typed on the gateway's machine, types exactly that with the release's own
/// command line, and waits until the app is connected.
fn approve_as_told(rig: &Rig, companion: &Companion) -> Result<Connection> {
    let told = companion.wait_for_connection("the page says what to approve", |connection| {
        connection.has("not-paired") && connection.commands.len() == 1
    })?;
    let command = told.commands.first().context("no command")?;
    let mut words = command.split_whitespace();
    ensure!(words.next() == Some("openclaw"), "expected a command line of the release, got {command:?}");
    rig.gateway.command_line(&words.collect::<Vec<_>>())?.expect_code(0)?;
    companion.retry()?;
    companion.wait_for_connection("the app is connected", |connection| connection.is_connected())
}
